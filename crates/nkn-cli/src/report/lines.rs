//! Samples on a line: input, truth with prediction, and error as curves; vectors component by component.

use super::samples::{Comparison, Row};
use super::scale::{Axis, extent};
use super::svg::{self, Entry, Frame};
use super::text::{escape, scientific};

/// Left edges of the three panels.
const LEFTS: [f64; 3] = [52.0, 360.0, 668.0];

/// The height of a row with its legend and its labels.
const ROW: f64 = 226.0;

/// The longest name in a legend, in characters.
const NAME: usize = 12;

/// Values over x with their name and their style.
type Curve = (Vec<f64>, String, &'static str);

/// The figure of the samples on a line, or nothing without any.
pub fn figure(samples: &[Comparison]) -> String {
    let drawings: String = samples.iter().filter(|sample| sample.domain.dim() == 1).map(sample).collect();
    if drawings.is_empty() {
        return drawings;
    }
    svg::figure(
        &drawings,
        "<strong>What goes in, what comes out.</strong> The prediction should lie on the truth so well that only the \
         right panel tells them apart: mind its own, smaller axis, and look for where the error sits (at the boundary? \
         where the input wiggles?).",
    )
}

/// The rows of one sample under its heading.
fn sample(whole: &Comparison) -> String {
    let sample = whole.by_component();
    let x = sample.domain.coordinates();
    // Points of a cloud are in any order.
    let mut order: Vec<usize> = (0..x.len()).collect();
    order.sort_by(|&a, &b| x[a].total_cmp(&x[b]));
    let x: Vec<f64> = order.iter().map(|&node| x[node]).collect();
    let rows = sample.rows();
    let content: String = rows.iter().enumerate().map(|(k, row)| draw(row, &x, &order, ROW * k as f64)).collect();
    let error = scientific(whole.relative_l2);
    let description = format!("Input, truth with prediction, and error over x. Relative L² error: {error}.");
    let drawing = svg::drawing(ROW * rows.len() as f64, &whole.title(), &description, &content);
    whole.heading(&format!("relative L² error {error}{}", errors(whole))) + &drawing
}

/// The errors of several outputs and of the components of a vector.
fn errors(sample: &Comparison) -> String {
    if sample.is_plain() {
        return String::new();
    }
    let each = sample.outputs.iter().map(|output| format!("; {}: {}", output.truth.name, output.error_in_words()));
    escape(&each.collect::<String>())
}

/// The panels of a row below an upper edge.
fn draw(row: &Row, x: &[f64], order: &[usize], top: f64) -> String {
    let sorted = |values: &[f64]| -> Vec<f64> { order.iter().map(|&node| values[node]).collect() };
    let mut panels: Vec<(usize, Vec<Curve>)> = Vec::new();
    for (column, input) in row.inputs.iter().enumerate() {
        panels.push((column, vec![(sorted(&input.values), format!("input {}(x)", short(&input.name)), "line c2")]));
    }
    if let Some(output) = row.output {
        let truth = (sorted(&output.truth.values), format!("truth {}(x)", short(&output.truth.name)), "line truth");
        let prediction = (sorted(&output.prediction), "prediction".to_owned(), "line dashed c1");
        panels.push((1, vec![truth, prediction]));
        panels.push((2, vec![(sorted(&output.error()), "prediction − truth".to_owned(), "line c3")]));
    }
    let mut content = String::new();
    for (column, lines) in panels.iter().filter(|(column, _)| *column < LEFTS.len()) {
        // An error is compared with zero.
        let zero = (*column == 2 && row.output.is_some()).then_some(0.0);
        let frame = Frame {
            left: LEFTS[*column],
            top: top + 34.0,
            width: 246.0,
            height: 150.0,
            x: Axis::linear(extent(x.iter().copied()).unwrap_or((0.0, 1.0))),
            y: Axis::around(lines.iter().flat_map(|line| &line.0).copied().chain(zero)),
        };
        let entries: Vec<_> = lines.iter().map(|(_, name, class)| Entry::line(name, *class)).collect();
        content += &(frame.axes("x", "") + &svg::legend(frame.left + 4.0, top + 16.0, &entries).0);
        for (values, _, class) in lines {
            content += &frame.line(x.iter().copied().zip(values.iter().copied()), class);
        }
    }
    content
}

/// A name that leaves room for the rest of its legend.
fn short(name: &str) -> String {
    svg::shortened(name, NAME)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::samples::tests::{scalar, wave};
    use crate::report::tests::assert_well_formed;
    use nkn::domain::PointCloud;

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
        broken.outputs[0].prediction[20..30].fill(f64::NAN);
        assert_eq!((pieces(wave(&[70])), pieces(broken)), (Some(1), Some(2)));
    }

    #[test]
    fn several_functions_and_components_have_rows() {
        let mut sample = wave(&[40]);
        sample.inputs.extend([scalar("a<", vec![1.0; 40]), scalar("g", vec![2.0; 40])]);
        sample.outputs.push(sample.outputs[0].clone());
        sample.outputs[1].truth.components = 2;
        sample.outputs[1].truth.name = "v".into();
        sample.outputs[1].truth.values = [wave(&[40]).outputs[0].truth.values.as_slice(); 2].concat();
        sample.outputs[1].prediction = vec![0.5; 80];
        let html = figure(&[sample]);
        assert_well_formed(&html);
        for name in ["input f(x)", "input a&lt;(x)", "input g(x)", "truth u(x)", "truth v.0(x)", "truth v.1(x)"] {
            assert!(html.contains(&format!(">{name}</text>")), "{name}");
        }
        assert!(html.contains("v: 0.10 % (components "), "{html}");
        // Three rows with three panels each.
        assert_eq!(html.matches(">x</text>").count(), 9);
    }

    #[test]
    fn points_in_any_order_make_one_line() {
        let mut sample = wave(&[3]);
        sample.domain = PointCloud::new(1, vec![1.0, 0.0, 0.5], 1.0).unwrap().into();
        sample.inputs[0].values = vec![2.0, 0.0, 1.0];
        let html = figure(&[sample]);
        let path =
            html.split("class=\"line c2\" d=\"").nth(1).expect("the input").split('"').next().unwrap_or_default();
        let x: Vec<f64> = path.split(['M', 'L']).skip(1).filter_map(|p| p.split(' ').next()?.parse().ok()).collect();
        assert!(x.len() == 3 && x.is_sorted(), "{path}");
    }

    #[test]
    fn nothing_other_samples_and_broken_ones() {
        assert_eq!(figure(&[]), "");
        assert_eq!(figure(&[wave(&[4, 5])]), "", "samples in the plane have a figure of their own");
        for value in [f64::NAN, f64::INFINITY, -f64::MAX] {
            let mut broken = Comparison { relative_l2: value, ..wave(&[70]) };
            broken.inputs[0].values.fill(value);
            let html = figure(&[broken, wave(&[1])]);
            assert_well_formed(&html);
            assert!(!html.contains("NaN") && !html.contains("inf"), "{html}");
        }
    }
}
