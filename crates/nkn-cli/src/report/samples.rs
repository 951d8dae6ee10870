//! Test samples beside predictions: those on a line as curves; those in the plane are drawn by `fields`.

use super::scale::{Axis, extent};
use super::svg::{self, Entry, Frame};
use super::text::scientific;
use nkn::domain::{Domain, Grid};

/// A test sample beside the network's prediction, on the same points.
#[derive(Debug, Clone)]
pub struct Comparison {
    /// Its number in the test set.
    pub index: usize,
    /// The points.
    pub domain: Domain,
    /// What the input is, for example "permeability".
    pub input_name: String,
    /// The input at the points.
    pub input: Vec<f64>,
    /// The true solution at the points.
    pub truth: Vec<f64>,
    /// The network's solution at the points.
    pub prediction: Vec<f64>,
    /// Relative L² error of the prediction.
    pub relative_l2: f64,
}

impl Comparison {
    /// Prediction minus truth.
    pub fn error(&self) -> Vec<f64> {
        self.prediction.iter().zip(&self.truth).map(|(prediction, truth)| prediction - truth).collect()
    }

    /// The grid of a sample in the plane.
    pub fn plane(&self) -> Option<&Grid> {
        match &self.domain {
            Domain::Grid(grid) if grid.dim() == 2 => Some(grid),
            _ => None,
        }
    }
}

/// The figure of the samples on a line, or nothing without any.
pub fn figure(samples: &[Comparison]) -> String {
    let rows: String = samples.iter().filter(|sample| sample.domain.dim() == 1).map(row).collect();
    if rows.is_empty() {
        return rows;
    }
    svg::figure(
        &rows,
        "<strong>What goes in, what comes out.</strong> The prediction should lie on the truth so well that only the \
         right panel tells them apart: mind its own, smaller axis, and look for where the error sits (at the boundary? \
         where <var>f</var> wiggles?).",
    )
}

/// Three panels of one sample.
fn row(sample: &Comparison) -> String {
    let (x, error, index) = (sample.domain.coordinates(), sample.error(), sample.index);
    let panels = [
        vec![(&sample.input, "input f(x)", "line c2")],
        vec![(&sample.truth, "truth u(x)", "line truth"), (&sample.prediction, "prediction", "line dashed c1")],
        vec![(&error, "prediction − truth", "line c3")],
    ];
    let mut content = String::new();
    for (column, lines) in panels.iter().enumerate() {
        // An error is compared with zero.
        let zero = (column == 2).then_some(0.0);
        let frame = Frame {
            left: 52.0 + 308.0 * column as f64,
            top: 34.0,
            width: 246.0,
            height: 150.0,
            x: Axis::linear(extent(x.iter().copied()).unwrap_or((0.0, 1.0))),
            y: Axis::around(lines.iter().flat_map(|line| line.0).copied().chain(zero)),
        };
        let entries: Vec<_> = lines.iter().map(|&(_, name, class)| Entry::line(name, class)).collect();
        content += &(frame.axes("x", "") + &svg::legend(frame.left + 4.0, 16.0, &entries).0);
        for (values, _, class) in lines {
            content += &frame.line(x.iter().copied().zip(values.iter().copied()), class);
        }
    }
    let error = scientific(sample.relative_l2);
    let description = format!("Input, truth with prediction, and error over x. Relative L² error: {error}.");
    let drawing = svg::drawing(226.0, &format!("Test sample {index}"), &description, &content);
    format!("<h3>Test sample {index} <span class=\"aside\">relative L² error {error}</span></h3>\n{drawing}")
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use crate::report::tests::assert_well_formed;

    /// A wave on the nodes of a grid in the unit interval or square, predicted without an error.
    pub fn wave(shape: &[usize]) -> Comparison {
        let grid = Grid::unit(shape).unwrap();
        let wave: Vec<f64> = (0..grid.len()).map(|node| (6.0 * grid.point(node)[0]).sin()).collect();
        Comparison {
            index: 7,
            domain: grid.into(),
            input_name: "f".into(),
            input: wave.clone(),
            truth: wave.clone(),
            prediction: wave,
            relative_l2: 1e-3,
        }
    }

    #[test]
    fn three_panels_with_names_and_the_error() {
        let html = figure(&[wave(&[70])]);
        assert_well_formed(&html);
        assert!(html.contains("Test sample 7 <span class=\"aside\">relative L² error 1.00e-3</span>"));
        for name in ["input f(x)", "truth u(x)", "prediction", "prediction − truth"] {
            assert!(html.contains(&format!(">{name}</text>")), "{name}");
        }
        assert_eq!(html.matches(">x</text>").count(), 3);
    }

    #[test]
    fn a_line_is_interrupted_where_it_is_not_known() {
        let pieces = |sample: Comparison| {
            let (html, class) = (figure(&[sample]), "line dashed c1\" d=\"");
            let path = &html[html.find(class).expect("a prediction") + class.len()..];
            path.split('"').next().map(|path| path.matches('M').count())
        };
        let mut broken = wave(&[70]);
        broken.prediction[20..30].fill(f64::NAN);
        assert_eq!((pieces(wave(&[70])), pieces(broken)), (Some(1), Some(2)));
    }

    #[test]
    fn nothing_other_samples_and_broken_ones() {
        assert_eq!(figure(&[]), "");
        assert_eq!(figure(&[wave(&[4, 5])]), "", "samples in the plane have a figure of their own");
        for value in [f64::NAN, f64::INFINITY, -f64::MAX] {
            let mut broken = Comparison { relative_l2: value, ..wave(&[70]) };
            broken.input.fill(value);
            let html = figure(&[broken, wave(&[1])]);
            assert_well_formed(&html);
            assert!(!html.contains("NaN") && !html.contains("inf"), "{html}");
        }
    }
}
