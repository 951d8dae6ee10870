//! Samples in two and three dimensions: input, truth, prediction and error in colours, a row per output and resolution;
//! of vectors their length, with arrows.

use super::arrows;
use super::color::ColorMap;
use super::heat::Scale;
use super::plane::{MOST, Plane};
use super::samples::{Comparison, Output, Row};
use super::scale::{drawable, extent};
use super::svg::{self, Frame, label};
use super::text::percent;
use nkn::field::Field;

/// Left edges of the four panels: truth and prediction stand close together, as they share a colour bar.
const LEFTS: [f64; 4] = [46.0, 276.0, 462.0, 692.0];

/// Left edges of inputs without an output beside them, each with its colour bar.
const INPUT_LEFTS: [f64; 4] = [46.0, 276.0, 506.0, 736.0];

/// Width of a panel in pixels.
const ACROSS: f64 = 166.0;

/// Height of a panel in pixels, at least and at most; in between, both axes have the same scale.
const HEIGHTS: (f64, f64) = (60.0, 280.0);

/// Room above a row for its label and its titles.
const HEAD: f64 = 44.0;

/// The longest title in characters.
const TITLE: usize = 24;

/// A sample at one resolution, with its nodes in the plane.
type Shown<'a> = (&'a Comparison, Plane);

/// The figure of the samples in the plane and in space, those with the same number together; nothing without any.
pub fn figure(fields: &[Comparison]) -> String {
    let mut samples: Vec<Vec<Shown>> = Vec::new();
    for field in fields {
        let Some(plane) = Plane::of(&field.domain) else { continue };
        match samples.iter_mut().find(|shown| shown[0].0.index == field.index) {
            Some(shown) => shown.push((field, plane)),
            None => samples.push(vec![(field, plane)]),
        }
    }
    if samples.is_empty() {
        return String::new();
    }
    let drawings: String = samples.iter_mut().map(|shown| sample(shown)).collect();
    svg::figure(&drawings, &caption(&samples))
}

fn caption(samples: &[Vec<Shown>]) -> String {
    let all = || samples.iter().flatten();
    let (question, same) = if samples.iter().any(|shown| shown.len() > 1) {
        ("Is the picture right, on every grid?", ", the same at all resolutions of a sample,")
    } else {
        ("Is the picture right?", "")
    };
    let mut caption = format!(
        "<strong>{question}</strong> Truth and prediction share one colour scale{same} and should look alike. The right panel \
         shows where they differ: red where the prediction is too large, blue where it is too small. Its scale is another one \
         in each row, so read the numbers."
    );
    if all().any(|(_, plane)| !plane.is_cloud()) {
        caption += " Each node is one cell; cells end at the boundary of the domain.";
    }
    if all().any(|(_, plane)| plane.is_cloud()) {
        caption += " Each point is a disc as large as the mean distance between points.";
    }
    if all().any(|(_, plane)| plane.label.contains(" of ")) {
        caption += &format!(" Of more than {MOST} points only so many are drawn; errors are those of all.");
    }
    if all().any(|(field, _)| field.domain.dim() == 3) {
        caption += " Of three dimensions the first two are seen: of a grid its middle layer, of points all, those with \
                    the largest third coordinate in front.";
    }
    if all().any(|(field, _)| field.functions().any(|function| function.components > 1)) {
        caption += " Of vectors the colour is the length, and that of the difference on the right. Arrows, where there are as \
                    many components as axes, show the first two components at some of the nodes, in truth and \
                    prediction on one scale.";
    }
    let is_whole = |(field, _): &Shown| {
        let predictions = field.outputs.iter().flat_map(|output| &output.prediction);
        field.functions().flat_map(|function| &function.values).chain(predictions).copied().all(drawable)
    };
    if !all().all(is_whole) {
        caption += " Grey cells contain values that are not finite.";
    }
    caption
}

/// What the rows of a sample have in common: the colours of each input, and those of each output with its longest arrow.
struct Scales {
    inputs: Vec<Scale>,
    outputs: Vec<(Scale, f64)>,
}

impl Scales {
    fn of(shown: &[Shown]) -> Self {
        let input = |k: usize| colors(shown.iter().map(|(field, _)| (&field.inputs[k].values, &field.inputs[k])));
        let output = |k: usize| {
            let both = || {
                shown
                    .iter()
                    .map(|(field, _)| &field.outputs[k])
                    .flat_map(|output| [&output.truth.values, &output.prediction].map(|values| (values, &output.truth)))
            };
            let vectors = both().flat_map(|(values, field)| values.chunks_exact(field.components));
            (colors(both()), arrows::longest(vectors))
        };
        let first = shown[0].0;
        Self {
            inputs: (0..first.inputs.len()).map(input).collect(),
            outputs: (0..first.outputs.len()).map(output).collect(),
        }
    }
}

/// The colours of functions: all values of a scalar, the lengths of a vector from zero.
fn colors<'a>(functions: impl Iterator<Item = (&'a Vec<f64>, &'a Field)> + Clone) -> Scale {
    let is_vector = functions.clone().any(|(_, field)| field.components > 1);
    let values = functions.flat_map(|(values, field)| values.chunks_exact(field.components)).map(size);
    match extent(values.clone()) {
        Some((_, longest)) if is_vector => Scale::new((0.0, longest), ColorMap::Viridis),
        _ => Scale::of(values),
    }
}

/// What has a colour: a number itself, of a vector its length.
fn size(value: &[f64]) -> f64 {
    match value {
        [scalar] => *scalar,
        vector => vector.iter().map(|component| component * component).sum::<f64>().sqrt(),
    }
}

/// The rows of one sample under its heading.
fn sample(shown: &mut [Shown]) -> String {
    shown.sort_by_key(|(field, _)| field.domain.resolution());
    let scales = Scales::of(shown);
    let (mut content, mut y, mut labels) = (String::new(), 0.0, Vec::new());
    for (k, (field, plane)) in shown.iter().enumerate() {
        let is_finest = k + 1 == shown.len();
        let mut rows = field.rows();
        // Inputs without an output beside them are seen once.
        rows.retain(|row| row.output.is_some() || is_finest);
        for (place, row) in rows.iter().enumerate() {
            let title = row_label(field, plane, row);
            let is_last = is_finest && place + 1 == rows.len();
            content += &label(0.0, y + 15.0, "strong", &title);
            content += &draw(&panels(row, place, &scales), plane, y + HEAD, is_last);
            labels.push(title);
            y += HEAD + height(plane) + 10.0;
        }
    }
    let description = format!(
        "Pictures over x and y of input, truth, prediction, and prediction minus truth. Rows: {}.",
        labels.join("; ")
    );
    let field = shown[0].0;
    let drawing = svg::drawing(y + 36.0, &format!("Fields: {}", field.title()), &description, &content);
    let error = if field.is_plain() { String::new() } else { format!("error {}", percent(field.relative_l2)) };
    field.heading(&error) + &drawing
}

fn row_label(field: &Comparison, plane: &Plane, row: &Row) -> String {
    let start = format!("sample {}, {}", field.index, plane.label);
    match row.output {
        None => format!("{start}, further inputs"),
        Some(output) if field.is_plain() => format!("{start}, error {}", percent(output.relative_l2)),
        Some(output) => format!("{start}, {}: error {}", output.truth.name, output.error_in_words()),
    }
}

/// The height of a panel that keeps the domain's proportions.
fn height(plane: &Plane) -> f64 {
    (ACROSS * plane.proportion()).clamp(HEIGHTS.0, HEIGHTS.1)
}

/// One picture of a row.
struct Panel {
    title: String,
    left: f64,
    /// nodes x components.
    values: Vec<f64>,
    components: usize,
    scale: Scale,
    /// The length of the longest arrow of the scale; none without arrows.
    longest: Option<f64>,
    /// Truth has no colour bar of its own.
    has_bar: bool,
}

/// The pictures of the row at this place of its sample.
fn panels(row: &Row, place: usize, scales: &Scales) -> Vec<Panel> {
    let lefts = if row.output.is_some() { LEFTS } else { INPUT_LEFTS };
    let first = if row.output.is_some() { place } else { scales.outputs.len() };
    let input = |(k, field): (usize, &Field)| Panel {
        title: name(field, ""),
        left: lefts[k],
        values: field.values.clone(),
        components: field.components,
        scale: scales.inputs[first + k],
        longest: Some(arrows::longest(field.values.chunks_exact(field.components))),
        has_bar: true,
    };
    let mut panels: Vec<_> = row.inputs.iter().take(lefts.len()).enumerate().map(input).collect();
    let Some(output) = row.output else { return panels };
    let (scale, longest) = scales.outputs[place];
    let several = scales.outputs.len() > 1 || output.truth.components > 1;
    let titled = |what: &str| if several { name(&output.truth, what) } else { what.to_owned() };
    let both = [("truth", LEFTS[1], &output.truth.values), ("prediction", LEFTS[2], &output.prediction)];
    panels.extend(both.map(|(what, left, values)| Panel {
        title: titled(what),
        left,
        values: values.clone(),
        components: output.truth.components,
        scale,
        longest: Some(longest),
        has_bar: what == "prediction",
    }));
    panels.push(difference(output));
    panels
}

/// Where prediction and truth differ: by a signed number, of vectors by the length of their difference.
fn difference(output: &Output) -> Panel {
    let (components, error) = (output.truth.components, output.error());
    let (title, scale) = match components {
        1 => ("prediction − truth", Scale::signed(error.iter().copied())),
        _ => ("|prediction − truth|", colors([(&error, &output.truth)].into_iter())),
    };
    let title = title.to_owned();
    Panel { title, left: LEFTS[3], values: error, components, scale, longest: None, has_bar: true }
}

/// The name of what is seen of a function, after what it is.
fn name(field: &Field, what: &str) -> String {
    let own = if field.components > 1 { format!("|{}|", field.name) } else { field.name.clone() };
    if what.is_empty() { own } else { format!("{what} {own}") }
}

/// The pictures below an upper edge; the last row of a sample has the labels of the x axis.
fn draw(panels: &[Panel], plane: &Plane, top: f64, is_last: bool) -> String {
    let [across, up] = plane.axes();
    let mut content = String::new();
    for (k, panel) in panels.iter().enumerate() {
        let frame = Frame { left: panel.left, top, width: ACROSS, height: height(plane), x: across, y: up };
        // Labels on the left and at the bottom of the figure only; all panels of a sample have the same axes.
        let (x_ticks, x_label) = if is_last { (across.ticks(2), "x") } else { Default::default() };
        let (y_ticks, y_label) = if k == 0 { (up.ticks(2), "y") } else { Default::default() };
        content += &frame.axes_at((&x_ticks, x_label), (&y_ticks, y_label));
        content += &label(panel.left, top - 9.0, "", &svg::shortened(&panel.title, TITLE));
        let values = plane.drawn(&panel.values, panel.components);
        let sizes: Vec<f64> = values.iter().map(|value| size(value)).collect();
        content += &plane.paint(&frame, &panel.scale, &sizes);
        if let Some(longest) = panel.longest.filter(|_| panel.components == plane.dim()) {
            content += &arrows::draw(&frame, plane, &values, longest);
        }
        if panel.has_bar {
            content += &panel.scale.bar(panel.left + ACROSS + 8.0, top, frame.height);
        }
    }
    content
}

#[cfg(test)]
mod tests;
