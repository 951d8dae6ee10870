//! Learned kernels around one pixel: how strongly each neighbour acts, and the entries of its block that vary most.

use std::collections::BTreeMap;

use super::color::{ColorMap, hex};
use super::heat::Scale;
use super::scale::{Axis, Ticks, drawable, extent};
use super::svg::{self, Frame, label, pixel};
use super::text::{compact, fixed, minus};
use maud::html;

/// The largest number of entries that are drawn, and of panels side by side.
const ENTRIES: usize = 16;

/// Left edge and width of the panel of norms.
const NORMS: (f64, f64) = (60.0, 262.0);

/// Left edge and largest width of the grid of entries.
const GRID: (f64, f64) = (482.0, 366.0);

/// Upper edge of all panels.
const TOP: f64 = 44.0;

/// Room between the panels of entries: across, and down with their titles.
const GAPS: (f64, f64) = (12.0, 24.0);

const INTRODUCTION: &str = "<p>Where does the network look, and what does it take from there? Each square is a \
                            neighbour of the pixel at the cross, <i>Δx</i> to the right and <i>Δy</i> downwards as in \
                            the image; the circle is the radius. A neighbour acts through a matrix <i>w K</i>, the \
                            kernel times the neighbour's weight in the integral.</p>\n";

/// A learned kernel around one pixel.
#[derive(Debug, Clone, Default)]
pub struct Stencil {
    /// What kernel it is, in plain text.
    pub title: String,
    /// The radius of the neighbourhood, in fine pixels.
    pub radius: f64,
    /// The pixel at which the kernel is looked at, in pixels.
    pub x: (f64, f64),
    /// Where each neighbour lies from there: to the right and downwards, in fine pixels.
    pub offsets: Vec<(f64, f64)>,
    /// The width of a neighbour's cell, in fine pixels.
    pub cell: f64,
    /// The block w K of each neighbour, row by row.
    pub blocks: Vec<Vec<f64>>,
    /// The number of rows and of columns of a block.
    pub width: usize,
}

/// A figure per kernel, or nothing without kernels.
pub fn figure(stencils: &[Stencil]) -> String {
    if stencils.is_empty() {
        return String::new();
    }
    INTRODUCTION.to_owned() + &stencils.iter().map(one).collect::<String>()
}

fn one(stencil: &Stencil) -> String {
    let remark = format!(
        "at the pixel ({}, {}), radius {} pixels, {} neighbours",
        compact(stencil.x.0),
        compact(stencil.x.1),
        compact(stencil.radius),
        stencil.offsets.len()
    );
    let heading = html! { h3 { (stencil.title) " " span.aside { (remark) } } }.into_string();
    if !stencil.fits() {
        return format!("{heading}<p>The blocks do not fit the neighbours, so there is no picture.</p>\n");
    }
    let entries = stencil.entries_that_vary();
    let columns = (entries.len() as f64).sqrt().ceil();
    let panel = ((GRID.1 - GAPS.0 * (columns - 1.0)) / columns).min(NORMS.1);
    let [grid_width, grid_height] = [GAPS.0, GAPS.1].map(|gap| columns * panel + (columns - 1.0) * gap);

    let mut content = stencil.norms();
    let signed = Scale::signed(entries.iter().flat_map(|&entry| stencil.values(entry)));
    for (k, &entry) in entries.iter().enumerate() {
        let (column, row) = ((k % columns as usize) as f64, (k / columns as usize) as f64);
        let frame = stencil.frame(GRID.0 + column * (panel + GAPS.0), TOP + row * (panel + GAPS.1), panel);
        let is_lowest = k + columns as usize >= entries.len();
        let values: Vec<_> = stencil.values(entry).collect();
        content.push_str(&stencil.panel(&frame, &values, signed, (is_lowest, column == 0.0)));
        let name = format!("({}, {})", entry / stencil.width + 1, entry % stencil.width + 1);
        content.push_str(&label(frame.left, frame.top - 6.0, "tick", &name));
    }
    content.push_str(&signed.bar(GRID.0 + grid_width + 10.0, TOP, grid_height));
    let title = format!("Kernel {}", stencil.title);
    let description = "Left: the Frobenius norm of w K at each neighbour. Right: the entries of w K that vary most.";
    let height = TOP + grid_height.max(NORMS.1) + 46.0;
    heading + &svg::figure(&svg::drawing(height, &title, description, &content), &caption(stencil, entries.len()))
}

fn caption(stencil: &Stencil, shown: usize) -> String {
    let (width, total) = (stencil.width, stencil.width * stencil.width);
    let which = if shown < total {
        format!("the {shown} of its {total} entries (row, column) that vary most from neighbour to neighbour")
    } else {
        "its entries (row, column)".to_owned()
    };
    let mut caption = format!(
        "<strong>Left:</strong> the Frobenius norm of the {width} × {width} matrix. <strong>Right:</strong> {which}, the \
         most varying first, on one scale: blue is negative, red positive."
    );
    if !stencil.blocks.iter().flatten().copied().all(drawable) {
        caption.push_str(" Grey squares contain values that are not finite.");
    }
    caption
}

impl Stencil {
    /// Whether there is something to draw: a block for each neighbour, and finite places.
    fn fits(&self) -> bool {
        let size = self.width * self.width;
        size > 0
            && !self.offsets.is_empty()
            && self.offsets.len() == self.blocks.len()
            && self.blocks.iter().all(|block| block.len() == size)
            && self.offsets.iter().all(|&(x, y)| drawable(x) && drawable(y))
            && [self.radius, self.cell].into_iter().all(|length| drawable(length) && length > 0.0)
    }

    /// One entry of the blocks of all neighbours.
    fn values(&self, entry: usize) -> impl Iterator<Item = f64> {
        self.blocks.iter().map(move |block| block[entry])
    }

    /// The entries whose values spread most over the neighbours, in falling order.
    fn entries_that_vary(&self) -> Vec<usize> {
        let variance = |entry| {
            let known = || self.values(entry).filter(|&value| drawable(value));
            let count = known().count().max(1) as f64;
            let mean = known().sum::<f64>() / count;
            known().map(|value| (value - mean) * (value - mean)).sum::<f64>() / count
        };
        let mut entries: Vec<(usize, f64)> =
            (0..self.width * self.width).map(|entry| (entry, variance(entry))).collect();
        entries.sort_by(|a, b| b.1.total_cmp(&a.1));
        entries.into_iter().take(ENTRIES).map(|entry| entry.0).collect()
    }

    /// The panel of norms with its colour bar.
    fn norms(&self) -> String {
        let norm = |block: &Vec<f64>| block.iter().map(|value| value * value).sum::<f64>().sqrt();
        let norms: Vec<f64> = self.blocks.iter().map(norm).collect();
        let largest = extent(norms.iter().copied()).map_or(0.0, |range| range.1);
        let scale = Scale::new((0.0, if largest > 0.0 { largest } else { 1.0 }), ColorMap::Viridis);
        let frame = self.frame(NORMS.0, TOP, NORMS.1);
        let title = label(frame.left, 18.0, "strong", "‖w K‖ at each neighbour");
        let entries = label(GRID.0, 18.0, "strong", "entries of w K");
        let bar = scale.bar(frame.left + frame.width + 10.0, frame.top, frame.height);
        title + &entries + &self.panel(&frame, &norms, scale, (true, true)) + &bar
    }

    /// A square panel with the pixel in its centre.
    fn frame(&self, left: f64, top: f64, width: f64) -> Frame {
        let farthest = self.offsets.iter().flat_map(|&(x, y)| [x.abs(), y.abs()]).fold(0.0, f64::max);
        let reach = 1.05 * self.radius.max(farthest + self.cell / 2.0);
        let axis = Axis::linear((-reach, reach));
        Frame { left, top, width, height: width, x: axis, y: axis }
    }

    /// Round values in a large panel; in a small one three, far enough from its edges for the next one's.
    fn ticks(&self, frame: &Frame) -> Ticks {
        if frame.width > 150.0 {
            return frame.x.ticks((frame.width / 40.0) as usize);
        }
        let end = if self.radius < 1.25 { self.radius } else { (0.8 * self.radius).floor() };
        let labelled = [-end, 0.0, end].map(|value| (value, minus(&fixed(value, 2)))).into();
        Ticks { labelled, ..Ticks::default() }
    }

    /// One value per neighbour as squares, with the radius, the centre and the axes, of which some are labelled.
    fn panel(&self, frame: &Frame, values: &[f64], scale: Scale, (has_x, has_y): (bool, bool)) -> String {
        let axis = |is_labelled: bool, label| if is_labelled { (self.ticks(frame), label) } else { Default::default() };
        let ((across, x_label), (mut down, y_label)) = (axis(has_x, "Δx in pixels"), axis(has_y, "Δy in pixels"));
        // Rows of pixels are counted downwards.
        down.labelled.iter_mut().for_each(|tick| tick.0 = -tick.0);
        let axes = frame.axes_at((&across, x_label), (&down, y_label));
        let per_pixel = frame.width / frame.x.span();
        let centre = format!("{} {}", pixel(frame.left + frame.width / 2.0), pixel(frame.top + frame.height / 2.0));
        let arm = if frame.width > 150.0 { 4.0 } else { 2.5 };
        let cross = format!("M{centre}m-{arm} 0h{}m-{arm}-{arm}v{}", 2.0 * arm, 2.0 * arm);
        let radius = pixel(self.radius * per_pixel);
        format!(
            "{axes}<g class=\"cells\" transform=\"translate({centre}) scale({per_pixel:.5})\">\n{}</g>\n\
             <circle class=\"radius\" transform=\"translate({centre})\" r=\"{radius}\"/>\n\
             <path class=\"centre-ground\" d=\"{cross}\"/>\n<path class=\"centre\" d=\"{cross}\"/>\n\
             <path class=\"frame\" d=\"{}\"/>\n",
            self.squares(values, scale),
            frame.border()
        )
    }

    /// The neighbours' squares, one path per colour, in pixels of the image.
    fn squares(&self, values: &[f64], scale: Scale) -> String {
        let mut by_color: BTreeMap<String, String> = BTreeMap::new();
        let side = fixed(self.cell, 3);
        for (&(x, y), &value) in self.offsets.iter().zip(values) {
            let corner = [x, y].map(|place| fixed(place - self.cell / 2.0, 3));
            let square = format!("M{} {}h{side}v{side}h-{side}z", corner[0], corner[1]);
            by_color.entry(hex(scale.rgb(value))).or_default().push_str(&square);
        }
        by_color.iter().map(|(color, path)| format!("<path fill=\"{color}\" d=\"{path}\"/>\n")).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::tests::{assert_well_formed, text_of};

    /// Three neighbours of one pixel, with 2 × 2 blocks: entry (2, 1) varies most, then (1, 2), (1, 1) and (2, 2).
    fn stencil() -> Stencil {
        Stencil {
            title: "layer".into(),
            radius: 2.5,
            x: (13.5, 7.0),
            offsets: vec![(2.0, 0.0), (0.0, 2.0), (-2.0, -2.0)],
            cell: 2.0,
            blocks: vec![vec![0.2, 3.0, -4.0, 1.0], vec![0.1, 0.0, 4.0, 1.0], vec![0.0, 0.0, 0.5, 1.0]],
            width: 2,
        }
    }

    #[test]
    fn kernels_are_drawn_where_they_act() {
        let html = figure(&[stencil()]);
        assert_well_formed(&html);
        assert!(html.contains("at the pixel (13.5, 7), radius 2.5 pixels, 3 neighbours"));
        // The first neighbour, to the right, has the largest norm; the second, below, the largest entry (2, 1).
        let (viridis, red) = (hex(ColorMap::Viridis.rgb(63)), hex(ColorMap::BlueWhiteRed.rgb(63)));
        let panels: Vec<_> = html.split("<g class=\"cells\"").skip(1).collect();
        assert_eq!(panels.len(), 1 + 4);
        assert!(panels[0].contains(&format!("<path fill=\"{viridis}\" d=\"M1 -1h2v2h-2z\"/>")), "‖(0.2, 3, -4, 1)‖");
        assert!(panels[1].contains(&format!("<path fill=\"{red}\" d=\"M-1 1h2v2h-2z\"/>")));
        let names = ["(2, 1)", "(1, 2)", "(1, 1)", "(2, 2)"].map(|name| html.find(&format!(">{name}<")).expect(name));
        assert!(names.is_sorted(), "{names:?}");
    }

    #[test]
    fn of_many_entries_those_that_vary_are_shown() {
        let blocks = (0..3).map(|k| (0..25).map(|entry| f64::from(k * entry)).collect()).collect();
        let html = figure(&[Stencil { width: 5, blocks, ..stencil() }]);
        assert!(html.contains("the 16 of its 25 entries") && html.contains(">(5, 5)<") && !html.contains(">(1, 1)<"));
    }

    #[test]
    fn what_does_not_fit_is_explained() {
        assert_eq!(figure(&[]), "");
        let mut short = stencil();
        short.blocks.pop();
        for broken in [short, Stencil { radius: f64::NAN, ..stencil() }, Stencil { cell: 0.0, ..stencil() }] {
            let html = figure(&[broken]);
            assert!(
                html.contains("so there is no picture") && !html.contains("‖w K‖") && !text_of(&html).contains("NaN")
            );
        }
        let mut grey = stencil();
        grey.blocks[0][1] = f64::INFINITY;
        let html = figure(&[grey]);
        assert_well_formed(&html);
        assert!(html.contains("Grey squares") && !text_of(&html).contains("inf"));
    }

    #[test]
    fn titles_are_escaped() {
        let html = figure(&[Stencil { title: "<t>&\"".into(), ..stencil() }]);
        assert_well_formed(&html);
        assert!(!html.contains("<t>") && html.contains("&lt;t&gt;&amp;&quot;"));
    }
}
