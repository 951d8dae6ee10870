//! The size of the state over the layers, a line per depth.

use super::color::Palette;
use super::scale::{Axis, extent};
use super::svg::{self, Entry, Frame};
use super::text::compact;
use maud::html;

/// The size of the state of a network.
#[derive(Debug, Clone, PartialEq)]
pub struct Energy {
    /// The number of layers.
    pub depth: usize,
    /// |h| after each layer over |h| before the first.
    pub sizes: Vec<f64>,
}

/// A line per depth over t / T, or nothing.
pub fn figure(energies: &[Energy], palette: &Palette) -> String {
    let all = energies.iter().flat_map(|energy| energy.sizes.iter().copied()).chain([0.0]);
    let Some(range) = extent(all).filter(|range| range.1 > 0.0) else { return String::new() };
    let entries: Vec<Entry> =
        energies.iter().map(|e| Entry::line(format!("L = {}", e.depth), palette.line(e.depth))).collect();
    let (mut content, height) = svg::legend(84.0, 14.0, &entries);
    let frame = Frame::wide(24.0 + height, 220.0, Axis::linear((0.0, 1.0)), Axis::linear((range.0, 1.05 * range.1)));
    content += &frame.axes("t / T", "|h(t)| / |h(0)|");
    for Energy { depth, sizes } in energies {
        let points = || sizes.iter().enumerate().map(|(l, &size)| (l as f64 / *depth as f64, size));
        content += &frame.line(points(), &palette.line(*depth));
        content += &frame.markers(points(), palette, *depth);
    }
    let drawing = frame.drawing("Size of the state over the layers", "A line per depth.", &content);
    let most = |energy: &Energy| energy.sizes.windows(2).map(|pair| pair[1] / pair[0]).fold(0.0, f64::max);
    let caption = html! {
        strong { "Does the state grow?" } " Its size after each layer over that before the first, without the source, the \
        mean over some samples. "
        @for energy in energies {
            "A layer changes it by a factor of at most " (compact(most(energy))) " at depth " (energy.depth) ". "
        }
    };
    svg::figure(&drawing, &caption.into_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::tests::assert_well_formed;

    #[test]
    fn a_line_per_depth() {
        let energies =
            [Energy { depth: 1, sizes: vec![1.0, 0.5] }, Energy { depth: 2, sizes: vec![1.0, 1.5, f64::NAN] }];
        let html = figure(&energies, &Palette::new([1, 2].into_iter()));
        assert_well_formed(&html);
        assert!(html.contains("at most 0.5 at depth 1") && html.contains("L = 2") && !html.contains("NaN"), "{html}");
        assert_eq!(figure(&[], &Palette::new(0..1)), "");
    }
}
