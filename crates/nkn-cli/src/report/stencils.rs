//! Learned kernels around one pixel: how strongly each neighbour acts, and the entries of its block that vary most.

use super::color::{ColorMap, hex};
use super::heat::Scale;
use super::scale::{Axis, Ticks, drawable, extent};
use super::svg::{self, Frame, label, path, pixel};
use super::text::{compact, fixed, minus};
use maud::html;
use nkn::model::Stencil;
use std::collections::BTreeMap;

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

/// A figure per kernel with its title, or nothing without kernels.
pub fn figure(stencils: &[(String, Stencil)]) -> String {
    let figures: String = stencils.iter().map(|(title, stencil)| one(title, stencil)).collect();
    if figures.is_empty() { figures } else { INTRODUCTION.to_owned() + &figures }
}

fn one(title: &str, stencil: &Stencil) -> String {
    let [y, x, radius] = [stencil.at.0, stencil.at.1, stencil.radius].map(compact);
    let remark = format!("at the pixel ({x}, {y}), radius {radius} pixels, {} neighbours", stencil.offsets.len());
    let heading = html! { h3 { (title) " " span.aside { (remark) } } }.into_string();
    let size = stencil.blocks.first().map_or(0, Vec::len);
    let width = size.isqrt();
    let entries = entries_that_vary(stencil, size);
    let columns = (entries.len() as f64).sqrt().ceil();
    let panel_width = ((GRID.1 - GAPS.0 * (columns - 1.0)) / columns).min(NORMS.1);
    let [grid_width, grid_height] = [GAPS.0, GAPS.1].map(|gap| columns * panel_width + (columns - 1.0) * gap);

    let mut content = norms(stencil) + &label(GRID.0, 18.0, "strong", "entries of w K");
    let signed = Scale::signed(entries.iter().flat_map(|&entry| values(stencil, entry)));
    for (k, &entry) in entries.iter().enumerate() {
        let (column, row) = ((k % columns as usize) as f64, (k / columns as usize) as f64);
        let corner = (GRID.0 + column * (panel_width + GAPS.0), TOP + row * (panel_width + GAPS.1));
        let is_lowest = k + columns as usize >= entries.len();
        let values: Vec<_> = values(stencil, entry).collect();
        content += &panel(stencil, (corner, panel_width), &values, signed, (is_lowest, column == 0.0));
        let name = format!("({}, {})", entry / width + 1, entry % width + 1);
        content += &label(corner.0, corner.1 - 6.0, "tick", &name);
    }
    content += &signed.bar(GRID.0 + grid_width + 10.0, TOP, grid_height);
    let description = "Left: the Frobenius norm of w K at each neighbour. Right: the entries of w K that vary most.";
    let height = TOP + grid_height.max(NORMS.1) + 46.0;
    let drawing = svg::drawing(height, &format!("Kernel {title}"), description, &content);

    let which = if entries.len() < size {
        format!("the {} of its {size} entries (row, column) that vary most from neighbour to neighbour", entries.len())
    } else {
        "its entries (row, column)".to_owned()
    };
    let is_whole = stencil.blocks.iter().flatten().copied().all(drawable);
    let grey = if is_whole { "" } else { " Grey squares contain values that are not finite." };
    let caption = format!(
        "<strong>Left:</strong> the Frobenius norm of the {width} × {width} matrix. <strong>Right:</strong> {which}, the \
         most varying first, on one scale: blue is negative, red positive.{grey}"
    );
    heading + &svg::figure(&drawing, &caption)
}

/// One entry of the blocks of all neighbours.
fn values(stencil: &Stencil, entry: usize) -> impl Iterator<Item = f64> {
    stencil.blocks.iter().map(move |block| block[entry])
}

/// The entries whose values spread most over the neighbours, in falling order.
fn entries_that_vary(stencil: &Stencil, size: usize) -> Vec<usize> {
    let variance = |entry| {
        let known = || values(stencil, entry).filter(|&value| drawable(value));
        let count = known().count().max(1) as f64;
        let mean = known().sum::<f64>() / count;
        known().map(|value| (value - mean) * (value - mean)).sum::<f64>() / count
    };
    let mut entries: Vec<(usize, f64)> = (0..size).map(|entry| (entry, variance(entry))).collect();
    entries.sort_by(|a, b| b.1.total_cmp(&a.1));
    entries.into_iter().take(ENTRIES).map(|entry| entry.0).collect()
}

/// The panel of norms with its colour bar.
fn norms(stencil: &Stencil) -> String {
    let norm = |block: &Vec<f64>| block.iter().map(|value| value * value).sum::<f64>().sqrt();
    let norms: Vec<f64> = stencil.blocks.iter().map(norm).collect();
    let largest = extent(norms.iter().copied()).map_or(0.0, |range| range.1);
    let scale = Scale::new((0.0, if largest > 0.0 { largest } else { 1.0 }), ColorMap::Viridis);
    let panel = panel(stencil, ((NORMS.0, TOP), NORMS.1), &norms, scale, (true, true));
    label(NORMS.0, 18.0, "strong", "‖w K‖ at each neighbour")
        + &panel
        + &scale.bar(NORMS.0 + NORMS.1 + 10.0, TOP, NORMS.1)
}

/// Round values in a large panel; in a small one three, far enough from its edges for the next one's.
fn ticks(stencil: &Stencil, frame: &Frame) -> Ticks {
    if frame.width > 150.0 {
        return frame.x.ticks((frame.width / 40.0) as usize);
    }
    let end = if stencil.radius < 1.25 { stencil.radius } else { (0.8 * stencil.radius).floor() };
    let labelled = [-end, 0.0, end].map(|value| (value, minus(&fixed(value, 2)))).into();
    Ticks { labelled, ..Ticks::default() }
}

/// One value per neighbour as squares in a square panel around the pixel, with the radius and the axes, of which some are
/// labelled.
fn panel(
    stencil: &Stencil,
    ((left, top), width): ((f64, f64), f64),
    values: &[f64],
    scale: Scale,
    (has_x, has_y): (bool, bool),
) -> String {
    let farthest = stencil.offsets.iter().flat_map(|&(y, x)| [x.abs(), y.abs()]).fold(0.0, f64::max);
    let reach = 1.05 * stencil.radius.max(farthest + stencil.cell / 2.0);
    let axis = Axis::linear((-reach, reach));
    let frame = Frame { left, top, width, height: width, x: axis, y: axis };
    let labels = |is_labelled, label| if is_labelled { (ticks(stencil, &frame), label) } else { Default::default() };
    let ((across, x_label), (mut down, y_label)) = (labels(has_x, "Δx in pixels"), labels(has_y, "Δy in pixels"));
    // Rows of pixels are counted downwards.
    down.labelled.iter_mut().for_each(|tick| tick.0 = -tick.0);
    let per_pixel = width / axis.span();
    let centre = format!("{} {}", pixel(left + width / 2.0), pixel(top + width / 2.0));
    let arm = if width > 150.0 { 4.0 } else { 2.5 };
    let cross = format!("M{centre}m-{arm} 0h{0}m-{arm}-{arm}v{0}", 2.0 * arm);
    let squares = format!(
        "<g class=\"cells\" transform=\"translate({centre}) scale({per_pixel:.5})\">\n{}</g>\n\
         <circle class=\"radius\" transform=\"translate({centre})\" r=\"{}\"/>\n",
        squares(stencil, values, scale),
        pixel(stencil.radius * per_pixel)
    );
    let centre = path("centre-ground", &cross) + &path("centre", &cross);
    frame.axes_at((&across, x_label), (&down, y_label)) + &squares + &centre + &path("frame", &frame.border())
}

/// The neighbours' squares, one path per colour, in pixels of the image.
fn squares(stencil: &Stencil, values: &[f64], scale: Scale) -> String {
    let mut by_color: BTreeMap<String, String> = BTreeMap::new();
    let side = fixed(stencil.cell, 3);
    for (&(y, x), &value) in stencil.offsets.iter().zip(values) {
        let [x, y] = [x, y].map(|place| fixed(place - stencil.cell / 2.0, 3));
        by_color.entry(hex(scale.rgb(value))).or_default().push_str(&format!("M{x} {y}h{side}v{side}h-{side}z"));
    }
    by_color.iter().map(|(color, path)| format!("<path fill=\"{color}\" d=\"{path}\"/>\n")).collect()
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use crate::report::tests::{assert_well_formed, text_of};

    /// Three neighbours of one pixel, with 2 × 2 blocks: entry (2, 1) varies most, then (1, 2), (1, 1) and (2, 2).
    pub fn stencil() -> Stencil {
        Stencil {
            radius: 2.5,
            at: (7.0, 13.5),
            offsets: vec![(0.0, 2.0), (2.0, 0.0), (-2.0, -2.0)],
            cell: 2.0,
            blocks: vec![vec![0.2, 3.0, -4.0, 1.0], vec![0.1, 0.0, 4.0, 1.0], vec![0.0, 0.0, 0.5, 1.0]],
        }
    }

    fn draw(stencil: Stencil) -> String {
        let html = figure(&[("<t>&\"".into(), stencil)]);
        assert_well_formed(&html);
        assert!(!html.contains("<t>") && html.contains("&lt;t&gt;&amp;&quot;"), "titles are escaped");
        html
    }

    #[test]
    fn kernels_are_drawn_where_they_act() {
        let html = draw(stencil());
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
        let html = draw(Stencil { blocks, ..stencil() });
        assert!(html.contains("the 16 of its 25 entries") && html.contains("the 5 × 5 matrix"));
        assert!(html.contains(">(5, 5)<") && !html.contains(">(1, 1)<"));
    }

    #[test]
    fn nothing_and_values_that_are_not_finite() {
        assert_eq!(figure(&[]), "");
        let mut grey = stencil();
        grey.blocks[0][1] = f64::INFINITY;
        let html = draw(grey);
        assert!(html.contains("Grey squares") && !text_of(&html).contains("inf"));
        assert!(!draw(stencil()).contains("Grey squares"));
    }

    #[test]
    fn a_small_radius_keeps_its_labels_inside() {
        // Sixteen small panels: three labels each, at most as far as the radius.
        let blocks = vec![(0..16).map(f64::from).collect(); 3];
        for (radius, end) in [(1.0, "1"), (2.5, "2"), (4.0, "3")] {
            let html = draw(Stencil { radius, blocks: blocks.clone(), ..stencil() });
            let labels = html.matches(&format!("class=\"tick middle\">−{end}<")).count();
            assert!(labels >= 4, "{radius}: {labels}");
        }
    }
}
