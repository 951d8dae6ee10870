//! The learned Green's function as heat maps, beside the exact one.

use std::collections::BTreeMap;

use super::Green;
use super::color::{ColorMap, hex};
use super::heat::Scale;
use super::scale::{Axis, drawable, extent};
use super::svg::{self, Frame, label, pixel};
use super::text::scientific;

/// The largest number of cells of a map in each direction; finer data are averaged over square blocks.
const CELLS: usize = 64;

/// The figure, or nothing if the matrix does not fit the points.
pub fn figure(green: &Green) -> String {
    let n = green.x.len();
    let Some((first, last)) = extent(green.x.iter().copied()) else {
        return String::new();
    };
    if green.effective.len() != n * n {
        return String::new();
    }
    let exact: &[f64] = if green.exact.len() == n * n { &green.exact } else { &[] };
    let pairs = green.effective.iter().zip(exact);
    let difference: Vec<f64> = pairs.map(|(effective, exact)| effective - exact).collect();
    let half_cell = if n > 1 { (last - first) / (n - 1) as f64 / 2.0 } else { 0.5 };
    let axis = Axis::linear((first - half_cell, last + half_cell));

    // Colours are scaled by what is drawn: the block averages.
    let [effective, exact_blocks, difference_blocks] =
        [&green.effective, exact, &difference].map(|values| blocks(values, n));
    let range = extent(effective.iter().chain(&exact_blocks).copied()).unwrap_or((0.0, 1.0));

    let learned = format!("learned, L = {}", green.depth);
    let map = |title, cells, scale| Map { title, n, cells, scale };
    let values = Scale::new(range, ColorMap::Viridis);
    let mut content = map(&learned, &effective, values).draw(0.0, axis);
    if !exact.is_empty() {
        content.push_str(&map("exact", &exact_blocks, values).draw(1.0, axis));
        let signed = Scale::signed(difference_blocks.iter().copied());
        content.push_str(&map("learned − exact", &difference_blocks, signed).draw(2.0, axis));
    }
    let description = "Heat maps over x and y: the learned Green's function, the exact one, and their difference.";
    let drawing = svg::drawing(274.0, "Green's function", description, &content);
    svg::figure(&drawing, &caption(&green.effective, exact, &difference, n.div_ceil(CELLS)))
}

fn caption(effective: &[f64], exact: &[f64], difference: &[f64], block: usize) -> String {
    let mut caption =
        "<strong>What the network has understood.</strong> The network is affine in <var>f</var>, so its \
                       Jacobian is a matrix: the Green's function <var>G</var>(<var>x</var>, <var>y</var>) it has \
                       learned, the response at <var>x</var> to a unit source at <var>y</var>."
            .to_owned();
    if !exact.is_empty() {
        let norm = |values: &[f64]| values.iter().map(|value| value * value).sum::<f64>().sqrt();
        let relative = scientific(norm(difference) / norm(exact));
        caption.push_str(&format!(
            " The left and the middle map share one colour scale and should look alike; the right one shows where they \
             differ. Relative difference in the Frobenius norm: {relative}."
        ));
    }
    if block > 1 {
        caption.push_str(&format!(" Each cell is the average of {block} × {block} entries."));
    }
    if !effective.iter().chain(exact).copied().all(drawable) {
        caption.push_str(" Grey cells contain values that are not finite.");
    }
    caption
}

/// Averages a row-major n by n matrix over square blocks so that at most [`CELLS`] remain in each direction. Blocks at
/// the end may be smaller; one entry that is not finite makes its block not finite.
fn blocks(values: &[f64], n: usize) -> Vec<f64> {
    if values.is_empty() {
        return Vec::new();
    }
    let block = n.div_ceil(CELLS);
    let starts = || (0..n).step_by(block);
    let average = |i: usize, j: usize| {
        let (rows, columns) = (i..(i + block).min(n), j..(j + block).min(n));
        let count = (rows.len() * columns.len()) as f64;
        let row_sum = |row: usize| columns.clone().map(|column| values[row * n + column]).sum::<f64>();
        rows.map(row_sum).sum::<f64>() / count
    };
    starts().flat_map(|i| starts().map(move |j| average(i, j))).collect()
}

/// One heat map.
struct Map<'a> {
    title: &'a str,
    /// The number of matrix entries in each direction.
    n: usize,
    /// Their block averages.
    cells: &'a [f64],
    /// Their colours.
    scale: Scale,
}

impl Map<'_> {
    /// The map with its axes and colour bar, in the given column of the figure.
    fn draw(&self, column: f64, axis: Axis) -> String {
        let left = 50.0 + 300.0 * column;
        let frame = Frame { left, top: 36.0, width: 190.0, height: 190.0, x: axis, y: axis };
        format!(
            "{}{}<g class=\"cells\" transform=\"translate({} {}) scale({:.5})\">\n{}</g>\n{}\
             <path class=\"frame\" d=\"{}\"/>\n",
            frame.axes("x", "y"),
            label(left, 20.0, "strong", self.title),
            pixel(left),
            pixel(frame.top),
            frame.width / self.n as f64,
            self.colored(),
            self.scale.bar(left + frame.width + 10.0, frame.top, frame.height),
            frame.border(),
        )
    }

    /// The cells, one path per colour, in units of matrix entries: x to the right, y upwards.
    fn colored(&self) -> String {
        let n = self.n;
        let block = n.div_ceil(CELLS);
        let per_side = n.div_ceil(block);
        let mut by_color: BTreeMap<String, String> = BTreeMap::new();
        for (k, &value) in self.cells.iter().enumerate() {
            let (x, y) = (k / per_side * block, k % per_side * block);
            let (width, height) = (block.min(n - x), block.min(n - y));
            let cell = format!("M{x} {}h{width}v{height}h-{width}z", n - y - height);
            by_color.entry(hex(self.scale.rgb(value))).or_default().push_str(&cell);
        }
        let path = |(color, path)| format!("<path fill=\"{color}\" d=\"{path}\"/>\n");
        by_color.iter().map(path).collect()
    }
}
