//! Test samples in two dimensions: input, truth, prediction and error as heat maps, a row per resolution.

use super::heat::Scale;
use super::scale::{Axis, drawable};
use super::svg::{self, Frame, label};
use super::text::percent;

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

/// One test sample in two dimensions at one resolution: fields on the nodes of the same grid. The value at the node
/// (x_i, y_j) is at i * ny + j.
#[derive(Debug, Clone, Default)]
pub struct FieldComparison {
    /// Its number in the test set; comparisons with the same number are shown together.
    pub index: usize,
    /// The resolution, by which the comparisons of a sample are ordered.
    pub resolution: usize,
    /// The numbers of nodes (nx, ny).
    pub shape: [usize; 2],
    /// The first and the last node's x, then y: x0, x1, y0, y1.
    pub extent: [f64; 4],
    /// What the input is, for example "permeability".
    pub input_name: String,
    /// The input at the nodes.
    pub input: Vec<f64>,
    /// The true solution at the nodes.
    pub truth: Vec<f64>,
    /// The network's solution at the nodes.
    pub prediction: Vec<f64>,
    /// Relative L² error of the prediction.
    pub relative_l2: f64,
}

/// The figure, or nothing without comparisons that can be drawn.
pub fn figure(fields: &[FieldComparison]) -> String {
    let mut samples: Vec<Vec<&FieldComparison>> = Vec::new();
    for field in fields.iter().filter(|field| fits(field)) {
        match samples.iter_mut().find(|rows| rows[0].index == field.index) {
            Some(rows) => rows.push(field),
            None => samples.push(vec![field]),
        }
    }
    if samples.is_empty() {
        return String::new();
    }
    let drawings: String = samples.iter_mut().map(|rows| sample(rows)).collect();
    svg::figure(&drawings, &caption(&samples))
}

/// Whether there is something to draw: a grid with values of truth and prediction at its nodes.
fn fits(field: &FieldComparison) -> bool {
    let nodes = field.shape[0] * field.shape[1];
    let [x0, x1, y0, y1] = field.extent;
    nodes > 0
        && field.truth.len() == nodes
        && field.prediction.len() == nodes
        && field.extent.into_iter().all(drawable)
        && x0 < x1
        && y0 < y1
}

fn caption(samples: &[Vec<&FieldComparison>]) -> String {
    let resolutions = if samples.iter().any(|rows| rows.len() > 1) {
        ("<strong>Is the picture right, on every grid?</strong>", ", the same at all resolutions of a sample,")
    } else {
        ("<strong>Is the picture right?</strong>", "")
    };
    let mut caption = format!(
        "{} Truth and prediction share one colour scale{} and should look alike. The right panel shows where they \
         differ: red where the prediction is too large, blue where it is too small. Its scale is another one in each \
         row, so read the numbers. Each node is one cell; cells end at the boundary of the domain.",
        resolutions.0, resolutions.1
    );
    let values = |field: &&FieldComparison| {
        [&field.input, &field.truth, &field.prediction].into_iter().flatten().copied().all(drawable)
    };
    if !samples.iter().flatten().all(values) {
        caption.push_str(" Grey cells contain values that are not finite.");
    }
    caption
}

/// The rows of one sample under its heading.
fn sample(rows: &mut [&FieldComparison]) -> String {
    rows.sort_by_key(|row| row.resolution);
    let input = Scale::of(rows.iter().flat_map(|row| &row.input).copied());
    let values = rows.iter().flat_map(|row| row.truth.iter().chain(&row.prediction)).copied();
    let solution = Scale::of(values);
    let (mut content, mut y) = (String::new(), 0.0);
    for (k, field) in rows.iter().enumerate() {
        content.push_str(&draw(field, y, k + 1 == rows.len(), (input, solution)));
        y += HEAD + height(field) + 10.0;
    }
    let index = rows[0].index;
    let labels = rows.iter().map(|row| row_label(row)).collect::<Vec<_>>().join("; ");
    let title = format!("Fields of test sample {index}");
    let description =
        format!("Heat maps over x and y of input, truth, prediction, and prediction minus truth. Rows: {labels}.");
    let drawing = svg::drawing(y + 36.0, &title, &description, &content);
    format!("<h3>Test sample {index}</h3>\n{drawing}")
}

fn row_label(field: &FieldComparison) -> String {
    let [nx, ny] = field.shape;
    format!("sample {}, {nx} × {ny}, error {}", field.index, percent(field.relative_l2))
}

/// The height of a panel that keeps the domain's proportions.
fn height(field: &FieldComparison) -> f64 {
    let [x0, x1, y0, y1] = field.extent;
    (ACROSS * (y1 - y0) / (x1 - x0)).clamp(HEIGHTS.0, HEIGHTS.1)
}

/// One resolution of a sample below an upper edge; the last one of its sample has the labels of the x axis.
fn draw(field: &FieldComparison, y: f64, is_last: bool, (input, solution): (Scale, Scale)) -> String {
    let error: Vec<f64> = field.prediction.iter().zip(&field.truth).map(|(p, t)| p - t).collect();
    let difference = Scale::signed(error.iter().copied());
    let name = if field.input_name.is_empty() { "input" } else { &field.input_name };
    // Truth has no colour bar of its own.
    let panels = [
        (name, &field.input, input, true),
        ("truth", &field.truth, solution, false),
        ("prediction", &field.prediction, solution, true),
        ("prediction − truth", &error, difference, true),
    ];
    let [x0, x1, y0, y1] = field.extent;
    let (across, up) = (Axis::linear((x0, x1)), Axis::linear((y0, y1)));
    let mut content = label(0.0, y + 15.0, "strong", &row_label(field));
    for ((title, values, scale, bar), left) in panels.into_iter().zip(LEFTS) {
        let frame = Frame { left, top: y + HEAD, width: ACROSS, height: height(field), x: across, y: up };
        // Labels on the left and at the bottom of the figure only; all panels of a sample have the same axes.
        let (x_ticks, x_label) = if is_last { (across.ticks(2), "x") } else { Default::default() };
        let (y_ticks, y_label) = if left == LEFTS[0] { (up.ticks(2), "y") } else { Default::default() };
        content.push_str(&frame.axes_at((&x_ticks, x_label), (&y_ticks, y_label)));
        if values.len() != field.truth.len() {
            let middle = (left + ACROSS / 2.0, frame.top + frame.height / 2.0);
            content.push_str(&label(middle.0, middle.1, "tick middle", "not known"));
            continue;
        }
        content.push_str(&label(left, frame.top - 9.0, "", &shortened(title)));
        content.push_str(&scale.cells(&frame, field.shape, values));
        if bar {
            content.push_str(&scale.bar(left + ACROSS + 8.0, frame.top, frame.height));
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
    use crate::report::tests::{assert_well_formed, text_of};

    /// A sample on a grid of n by n + 1 nodes with two values of the permeability.
    fn field(index: usize, n: usize) -> FieldComparison {
        let truth: Vec<f64> = (0..n * (n + 1)).map(|k| 1e-3 * k as f64).collect();
        FieldComparison {
            index,
            resolution: n,
            shape: [n, n + 1],
            extent: [0.0, 1.0, 0.0, 1.0],
            input_name: "permeability".into(),
            input: (0..truth.len()).map(|k| if k % 3 == 0 { 12.0 } else { 3.0 }).collect(),
            prediction: truth.iter().map(|value| 1.01 * value).collect(),
            truth,
            relative_l2: 0.0213,
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
        fields.iter_mut().for_each(|field| _ = field.truth.pop());
        assert_eq!(figure(&fields), "", "values that do not fit the grid are not drawn");
    }

    #[test]
    fn x_goes_to_the_right_and_y_upwards() {
        // The value is 1 at (x_1, y_0) only: in the image's last row, second of three pixels.
        let mut field = field(1, 3);
        field.truth.fill(0.0);
        field.truth[field.shape[1]] = 1.0;
        field.prediction.fill(0.0);
        let mut pixels = [ColorMap::Viridis.rgb(0); 12];
        pixels[10] = ColorMap::Viridis.rgb(63);
        assert!(figure(&[field]).contains(&data_uri(3, &pixels)));
    }

    #[test]
    fn a_missing_input_and_a_single_node() {
        let one = FieldComparison {
            shape: [1, 1],
            extent: [0.0, 1.0, 0.0, 2.0],
            truth: vec![2.0],
            prediction: vec![2.0],
            relative_l2: f64::NAN,
            ..FieldComparison::default()
        };
        let html = figure(&[FieldComparison::default(), one]);
        assert_well_formed(&html);
        assert!(html.contains("not known") && html.contains("not finite") && !text_of(&html).contains("NaN"));
        assert_eq!(figure(&[]), "");
    }

    #[test]
    fn names_are_escaped_and_shortened() {
        let html = figure(&[FieldComparison { input_name: "<k> & a name that is too long".into(), ..field(1, 3) }]);
        assert_well_formed(&html);
        assert!(
            html.contains(">&lt;k&gt; &amp; a name that is too…</text>") || html.contains("&lt;k&gt; &amp; a name")
        );
        assert!(!html.contains("too long"));
    }
}
