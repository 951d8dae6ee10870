//! Test samples in two dimensions: input, truth, prediction and error as heat maps, a row per resolution.

use super::heat::Scale;
use super::samples::Comparison;
use super::scale::{Axis, drawable};
use super::svg::{self, Frame, label};
use super::text::percent;
use nkn::domain::Grid;

/// Left edges of the four panels: truth and prediction stand close together, as they share a colour bar.
const LEFTS: [f64; 4] = [46.0, 276.0, 462.0, 692.0];

/// Width of a panel in pixels.
const ACROSS: f64 = 166.0;

/// Height of a panel in pixels, at least and at most; in between, both axes have the same scale.
const HEIGHTS: (f64, f64) = (60.0, 280.0);

/// Room above a row for its label and its titles.
const HEAD: f64 = 44.0;

/// The longest title in characters.
const TITLE: usize = 24;

/// A sample with its grid in the plane. The value at the node (x_i, y_j) is at i * ny + j.
type Row<'a> = (&'a Comparison, &'a Grid);

/// The figure of the samples in the plane, those with the same number together; nothing without any.
pub fn figure(fields: &[Comparison]) -> String {
    let mut samples: Vec<Vec<Row>> = Vec::new();
    for field in fields {
        let Some(grid) = field.plane() else { continue };
        match samples.iter_mut().find(|rows| rows[0].0.index == field.index) {
            Some(rows) => rows.push((field, grid)),
            None => samples.push(vec![(field, grid)]),
        }
    }
    if samples.is_empty() {
        return String::new();
    }
    let drawings: String = samples.iter_mut().map(|rows| sample(rows)).collect();
    svg::figure(&drawings, &caption(&samples))
}

fn caption(samples: &[Vec<Row>]) -> String {
    let (question, same) = if samples.iter().any(|rows| rows.len() > 1) {
        ("Is the picture right, on every grid?", ", the same at all resolutions of a sample,")
    } else {
        ("Is the picture right?", "")
    };
    let is_whole =
        |(field, _): &Row| [&field.input, &field.truth, &field.prediction].into_iter().flatten().copied().all(drawable);
    let grey =
        if samples.iter().flatten().all(is_whole) { "" } else { " Grey cells contain values that are not finite." };
    format!(
        "<strong>{question}</strong> Truth and prediction share one colour scale{same} and should look alike. The right panel \
         shows where they differ: red where the prediction is too large, blue where it is too small. Its scale is another one \
         in each row, so read the numbers. Each node is one cell; cells end at the boundary of the domain.{grey}"
    )
}

/// The rows of one sample under its heading.
fn sample(rows: &mut [Row]) -> String {
    rows.sort_by_key(|(_, grid)| grid.shape()[0]);
    let input = Scale::of(rows.iter().flat_map(|(field, _)| &field.input).copied());
    let solution = Scale::of(rows.iter().flat_map(|(field, _)| field.truth.iter().chain(&field.prediction)).copied());
    let (mut content, mut y) = (String::new(), 0.0);
    for (k, row) in rows.iter().enumerate() {
        content += &draw(row, y, k + 1 == rows.len(), (input, solution));
        y += HEAD + height(row.1) + 10.0;
    }
    let index = rows[0].0.index;
    let labels = rows.iter().map(row_label).collect::<Vec<_>>().join("; ");
    let description =
        format!("Heat maps over x and y of input, truth, prediction, and prediction minus truth. Rows: {labels}.");
    let drawing = svg::drawing(y + 36.0, &format!("Fields of test sample {index}"), &description, &content);
    format!("<h3>Test sample {index}</h3>\n{drawing}")
}

fn row_label((field, grid): &Row) -> String {
    format!("sample {}, {} × {}, error {}", field.index, grid.shape()[0], grid.shape()[1], percent(field.relative_l2))
}

/// The height of a panel that keeps the domain's proportions.
fn height(grid: &Grid) -> f64 {
    let [width, height] = [0, 1].map(|axis| grid.upper()[axis] - grid.lower()[axis]);
    (ACROSS * height / width).clamp(HEIGHTS.0, HEIGHTS.1)
}

/// One resolution of a sample below an upper edge; the last one of its sample has the labels of the x axis.
fn draw((field, grid): &Row, y: f64, is_last: bool, (input, solution): (Scale, Scale)) -> String {
    let error = field.error();
    let difference = Scale::signed(error.iter().copied());
    // Truth has no colour bar of its own.
    let panels = [
        (field.input_name.as_str(), &field.input, input, true),
        ("truth", &field.truth, solution, false),
        ("prediction", &field.prediction, solution, true),
        ("prediction − truth", &error, difference, true),
    ];
    let [across, up] = [0, 1].map(|axis| Axis::linear((grid.lower()[axis], grid.upper()[axis])));
    let mut content = label(0.0, y + 15.0, "strong", &row_label(&(field, grid)));
    for ((title, values, scale, has_bar), left) in panels.into_iter().zip(LEFTS) {
        let frame = Frame { left, top: y + HEAD, width: ACROSS, height: height(grid), x: across, y: up };
        // Labels on the left and at the bottom of the figure only; all panels of a sample have the same axes.
        let (x_ticks, x_label) = if is_last { (across.ticks(2), "x") } else { Default::default() };
        let (y_ticks, y_label) = if left == LEFTS[0] { (up.ticks(2), "y") } else { Default::default() };
        content += &frame.axes_at((&x_ticks, x_label), (&y_ticks, y_label));
        content += &label(left, frame.top - 9.0, "", &shortened(title));
        content += &scale.cells(&frame, [grid.shape()[0], grid.shape()[1]], values);
        if has_bar {
            content += &scale.bar(left + ACROSS + 8.0, frame.top, frame.height);
        }
    }
    content
}

/// A title that fits above its panel.
fn shortened(title: &str) -> String {
    if title.chars().count() <= TITLE {
        return title.to_owned();
    }
    title.chars().take(TITLE - 1).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::color::ColorMap;
    use crate::report::pixels::data_uri;
    use crate::report::samples::tests::wave;
    use crate::report::tests::{assert_well_formed, text_of};

    /// A sample on a grid of n by n + 1 nodes with two values of the permeability.
    fn field(index: usize, n: usize) -> Comparison {
        let truth: Vec<f64> = (0..n * (n + 1)).map(|k| 1e-3 * k as f64).collect();
        Comparison {
            index,
            input_name: "permeability".into(),
            input: (0..truth.len()).map(|k| if k % 3 == 0 { 12.0 } else { 3.0 }).collect(),
            prediction: truth.iter().map(|value| 1.01 * value).collect(),
            truth,
            relative_l2: 0.0213,
            ..wave(&[n, n + 1])
        }
    }

    #[test]
    fn fields_are_grouped_by_sample_and_ordered_by_resolution() {
        let mut fields = vec![field(9, 5), field(3, 7), field(3, 5)];
        let html = figure(&fields);
        assert_well_formed(&html);
        let parts = ["<h3>Test sample 9</h3>", ">sample 9, 5 × 6, error 2.1 %<", "<h3>Test sample 3</h3>"];
        let parts = parts.into_iter().chain([">sample 3, 5 × 6, error 2.1 %<", ">sample 3, 7 × 8, error 2.1 %<"]);
        assert!(parts.map(|part| html.find(part).expect(part)).is_sorted());
        // Four panels and three colour bars for each of three rows.
        assert_eq!(html.matches("<image").count(), 3 * 7);
        assert!(html.contains(">12</text>") && html.contains(">3</text>"), "the two values of the permeability");
        assert!(!html.contains("Grey cells"));
        fields[0].input[2] = f64::NAN;
        assert!(figure(&fields).contains("Grey cells"));
        assert_eq!(figure(&[wave(&[5])]), "", "samples on a line have a figure of their own");
    }

    #[test]
    fn x_goes_to_the_right_and_y_upwards() {
        // The value is 1 at (x_1, y_0) only: in the image's last row, second of three pixels.
        let mut field = field(1, 3);
        field.truth.fill(0.0);
        field.truth[4] = 1.0;
        field.prediction.fill(0.0);
        let mut pixels = [ColorMap::Viridis.rgb(0); 12];
        pixels[10] = ColorMap::Viridis.rgb(63);
        assert!(figure(&[field]).contains(&data_uri(3, &pixels)));
    }

    #[test]
    fn a_single_node_and_a_long_domain() {
        let one = Comparison { relative_l2: f64::NAN, ..wave(&[1, 1]) };
        let html = figure(&[one]);
        assert_well_formed(&html);
        assert!(html.contains("not finite") && !text_of(&html).contains("NaN"));
        assert_eq!(figure(&[]), "");
        // Both axes have the same scale, as far as the panels stay readable.
        let height_of = |upper: f64| height(&Grid::new(vec![2, 2], vec![0.0; 2], vec![1.0, upper]).unwrap());
        assert_eq!([1e-3, 1.0, 1.5, 9.0].map(height_of), [HEIGHTS.0, ACROSS, 1.5 * ACROSS, HEIGHTS.1]);
    }

    #[test]
    fn names_are_escaped_and_shortened() {
        let html = figure(&[Comparison { input_name: "<k> & a name that is too long".into(), ..field(1, 3) }]);
        assert_well_formed(&html);
        assert!(
            html.contains(">&lt;k&gt; &amp; a name that is too…</text>") || html.contains("&lt;k&gt; &amp; a name")
        );
        assert!(!html.contains("too long"));
    }
}
