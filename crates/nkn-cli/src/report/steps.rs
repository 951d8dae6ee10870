//! The error against the step in time, from the table that `nkn eval --steps` leaves in the run's folder.

use super::color::Palette;
use super::measure;
use super::scale::{Axis, extent};
use super::svg::{self, Entry, Frame};
use super::text::scientific;
use maud::html;
use std::path::Path;

/// The error after a step.
#[derive(Debug, Clone, PartialEq)]
pub struct StepError {
    /// The number of layers.
    pub depth: usize,
    /// How often the network was applied.
    pub step: usize,
    /// The mean relative error.
    pub value: f64,
}

/// What steps.csv says, with the first of its quadrature rules; nothing where there is none, or a foreign one.
pub fn read(run: &Path) -> Vec<StepError> {
    let text = std::fs::read_to_string(run.join("steps.csv")).unwrap_or_default();
    let mut lines = text.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let header = lines.next().unwrap_or_default();
    let places = ["depth", "step", "quadrature", "metric", "value"];
    let Some(places) =
        places.map(|name| header.iter().position(|own| *own == name)).into_iter().collect::<Option<Vec<_>>>()
    else {
        return Vec::new();
    };
    let rows: Vec<Vec<&str>> = lines
        .filter_map(|line| places.iter().map(|&place| line.get(place).copied()).collect())
        .filter(|row: &Vec<&str>| row[3] == "relative_l2")
        .collect();
    let own = rows.iter().filter(|row| row[2] == rows[0][2]);
    let parse = |row: &Vec<&str>| {
        Some(StepError { depth: row[0].parse().ok()?, step: row[1].parse().ok()?, value: row[4].parse().ok()? })
    };
    own.filter_map(parse).collect()
}

/// A line per depth, or nothing without steps.
pub fn figure(errors: &[StepError], palette: &Palette) -> String {
    let Some(axis) = measure::axis("relative_l2", errors.iter().map(|error| error.value)) else { return String::new() };
    let Some((_, last)) = extent(errors.iter().map(|error| error.step as f64)) else { return String::new() };
    let mut depths: Vec<usize> = errors.iter().map(|error| error.depth).collect();
    depths.sort_unstable();
    depths.dedup();
    let entries: Vec<Entry> =
        depths.iter().map(|&depth| Entry::line(format!("L = {depth}"), palette.line(depth))).collect();
    let (mut content, height) = svg::legend(84.0, 14.0, &entries);
    let frame = Frame::wide(24.0 + height, 240.0, Axis::linear((0.0, last.max(1.0))), axis);
    content += &frame.axes("step", measure::title("relative_l2"));
    for &depth in &depths {
        let points =
            || errors.iter().filter(|error| error.depth == depth).map(|error| (error.step as f64, error.value));
        content += &frame.line(points(), &palette.line(depth));
        content += &frame.markers(points(), palette, depth);
    }
    let description = "The mean relative error of the test trajectories over the number of steps.";
    let drawing = frame.drawing("Error against the step", description, &content);
    let of = |step: usize| errors.iter().filter(|error| error.step == step).max_by_key(|error| error.depth);
    let caption = html! {
        "What the network says is its next input. "
        @if let (Some(first), Some(last)) = (of(1), of(last as usize)) {
            "At depth " (first.depth) " the error is " strong { (scientific(first.value)) } " after one step and "
            strong { (scientific(last.value)) } " after " (last.step) "."
        }
    };
    svg::figure(&drawing, &caption.into_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::tests::assert_well_formed;

    #[test]
    fn a_table_becomes_a_line_per_depth() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(read(folder.path()), []);
        let mut table = String::from("run,model,depth,seed,step,split,resolution,quadrature,metric,value\n");
        for (depth, rule) in [(1, "default"), (2, "default"), (2, "mean")] {
            for step in 1..4 {
                let value = 0.01 * f64::from(step) / f64::from(depth);
                table += &format!("a,nkn,{depth},0,{step},test,9,{rule},relative_l2,{value:e}\n");
                table += &format!("a,nkn,{depth},0,{step},test,9,{rule},relative_l2_squared,1\n");
            }
        }
        std::fs::write(folder.path().join("steps.csv"), table).unwrap();
        let errors = read(folder.path());
        assert_eq!(errors.len(), 6);
        assert_eq!(errors[5], StepError { depth: 2, step: 3, value: 0.015 });
        let html = figure(&errors, &Palette::new([1, 2].into_iter()));
        assert_well_formed(&html);
        assert!(html.contains("At depth 2 the error is <strong>5.0") && html.contains("after 3."), "{html}");
        assert_eq!(figure(&[], &Palette::new(0..1)), "");
        std::fs::write(folder.path().join("steps.csv"), "a,b\n1,2\n").unwrap();
        assert_eq!(read(folder.path()), []);
    }
}
