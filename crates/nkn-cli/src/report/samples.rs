//! Test samples: input, solution and error of each, side by side.

use super::Sample;
use super::scale::{Axis, extent};
use super::svg::{self, Frame, label};
use super::text::scientific;

/// The figure, or nothing without samples.
pub fn figure(samples: &[Sample]) -> String {
    if samples.is_empty() {
        return String::new();
    }
    let rows: String = samples.iter().map(row).collect();
    svg::figure(
        &rows,
        "<strong>What goes in, what comes out.</strong> The prediction should lie on the truth so well that only the \
         right panel tells them apart: mind its own, smaller axis, and look for where the error sits (at the boundary? \
         where <var>f</var> wiggles?).",
    )
}

/// Three panels of one sample.
fn row(sample: &Sample) -> String {
    let Sample { index, x, input, truth, prediction, relative_l2 } = sample;
    let error: Vec<f64> = prediction.iter().zip(truth).map(|(prediction, truth)| prediction - truth).collect();
    let frame = |column: f64, values: &mut dyn Iterator<Item = f64>| Frame {
        left: 52.0 + 308.0 * column,
        top: 34.0,
        width: 246.0,
        height: 150.0,
        x: Axis::linear(extent(x.iter().copied()).unwrap_or((0.0, 1.0))),
        y: Axis::around(values),
    };
    let panels = [
        (frame(0.0, &mut input.iter().copied()), vec![(input, "input f(x)", "line c2")]),
        (
            frame(1.0, &mut truth.iter().chain(prediction).copied()),
            vec![(truth, "truth u(x)", "line truth"), (prediction, "prediction", "line dashed c1")],
        ),
        (frame(2.0, &mut error.iter().copied().chain([0.0])), vec![(&error, "prediction − truth", "line c3")]),
    ];
    let mut content = String::new();
    for (frame, lines) in &panels {
        content.push_str(&frame.axes("x", ""));
        let mut place = frame.left;
        for (values, name, class) in lines {
            content.push_str(&frame.line(x.iter().copied().zip(values.iter().copied()), class));
            content.push_str(&format!("<path class=\"{class}\" d=\"{}\"/>\n", svg::dash(place + 4.0, 16.0)));
            content.push_str(&label(place + 34.0, 20.0, "", name));
            place += 124.0;
        }
    }
    let error = scientific(*relative_l2);
    let title = format!("Test sample {index}");
    let description = format!("Input, truth with prediction, and error over x. Relative L² error: {error}.");
    let drawing = svg::drawing(226.0, &title, &description, &content);
    format!("<h3>Test sample {index} <span class=\"aside\">relative L² error {error}</span></h3>\n{drawing}")
}
