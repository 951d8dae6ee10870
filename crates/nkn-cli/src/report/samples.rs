//! Test samples: input, solution and error of each, side by side.

use super::scale::{Axis, extent};
use super::svg::{self, Frame, label};
use super::text::scientific;

/// One test sample: functions on the same points.
#[derive(Debug, Clone, Default)]
pub struct Sample {
    /// Its number in the test set.
    pub index: usize,
    /// The points, in increasing order.
    pub x: Vec<f64>,
    /// The input f at the points.
    pub input: Vec<f64>,
    /// The true solution at the points.
    pub truth: Vec<f64>,
    /// The network's solution at the points.
    pub prediction: Vec<f64>,
    /// Relative L² error of the prediction.
    pub relative_l2: f64,
}

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::tests::assert_well_formed;

    fn sample() -> Sample {
        let x: Vec<f64> = (0..70).map(|k| f64::from(k) / 69.0).collect();
        let wave: Vec<f64> = x.iter().map(|x| (6.0 * x).sin()).collect();
        Sample { index: 7, x, input: wave.clone(), truth: wave.clone(), prediction: wave, relative_l2: 1e-3 }
    }

    #[test]
    fn three_panels_with_names_and_the_error() {
        let html = figure(&[sample()]);
        assert_well_formed(&html);
        assert!(html.contains("Test sample 7 <span class=\"aside\">relative L² error 1.00e-3</span>"));
        for name in ["input f(x)", "truth u(x)", "prediction", "prediction − truth"] {
            assert!(html.contains(&format!(">{name}</text>")), "{name}");
        }
        assert_eq!(html.matches(">x</text>").count(), 3);
    }

    #[test]
    fn a_line_is_interrupted_where_it_is_not_known() {
        let pieces = |sample: Sample| {
            let (html, class) = (figure(&[sample]), "line dashed c1\" d=\"");
            let path = &html[html.find(class).expect("a prediction") + class.len()..];
            path.split('"').next().map(|path| path.matches('M').count())
        };
        let mut broken = sample();
        broken.prediction[20..30].fill(f64::NAN);
        assert_eq!((pieces(sample()), pieces(broken)), (Some(1), Some(2)));
    }

    #[test]
    fn nothing_and_broken_samples() {
        assert_eq!(figure(&[]), "");
        for value in [f64::NAN, f64::INFINITY, -f64::MAX] {
            let mut broken = Sample { relative_l2: value, ..sample() };
            broken.input.fill(value);
            let html = figure(&[broken, Sample::default()]);
            assert_well_formed(&html);
            assert!(!html.contains("NaN") && !html.contains("inf"), "{html}");
        }
    }
}
