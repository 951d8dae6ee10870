//! The figure of errors against depth.

use super::html::model_class;
use super::model::display_name;
use super::table::{ComparisonTable, Half, Row, Samples};
use crate::report::color::Palette;
use crate::report::scale::{Axis, Ticks, extent};
use crate::report::svg::{self, Entry, Frame, WIDTH, label, pixel};
use crate::report::text::escape;

/// Errors above this are failures, by whatever factor: they are drawn at the upper edge, so that the others keep their
/// room.
const TOP: f64 = 3.0;

const PANEL_HEIGHT: f64 = 210.0;
const LEFT: f64 = 78.0;
const GAP: f64 = 66.0;

/// Errors against depth for one half of a table: a panel per set of samples. Nothing if that half was not run.
pub fn errors_against_depth(table: &ComparisonTable, normalised: bool) -> String {
    let Some(half) = table.halves.iter().find(|half| half.normalised == normalised && half.is_run()) else {
        return String::new();
    };
    let samples = table.samples();
    let (legend, legend_height) = svg::legend(LEFT, 14.0, &depth_legend(half));
    let width = (WIDTH - LEFT - GAP - 16.0) / 2.0;
    let mut content = legend;
    for (k, &samples) in samples.iter().enumerate() {
        let (column, line) = ((k % 2) as f64, (k / 2) as f64);
        let frame = Frame {
            left: LEFT + column * (width + GAP),
            top: legend_height + 34.0 + line * (PANEL_HEIGHT + 74.0),
            width,
            height: PANEL_HEIGHT,
            x: depth_axis(&table.depths),
            y: error_axis(half, samples.is_test),
        };
        content.push_str(&panel(&frame, table, half, samples));
    }
    let height = legend_height + 34.0 + samples.len().div_ceil(2) as f64 * (PANEL_HEIGHT + 74.0) - 26.0;
    let title = format!("{}: errors against depth, {}", table.title(), half.title());
    let description =
        "Relative L2 errors of each model, ours and the paper's, over the depth, one panel per set of samples.";
    let caption = format!(
        "<strong>{}, {}: does depth help or hurt?</strong> A method that is stable in depth has a line that falls and \
         then stays flat; a line that turns upwards is lost again with more layers. Solid, with standard errors: \
         ours; dashed: the paper's. Where solid lies above dashed of the same colour, we are worse than the paper. \
         The axis of train is its own, those of the tests are the same; arrows at the upper edge are errors beyond \
         it, up to INF.",
        escape(&table.title()),
        if normalised { "normalised data" } else { "original data" }
    );
    svg::figure(&svg::drawing(height, &title, description, &content), &caption)
}

/// The tests share their axis. Training errors can be far smaller and have their own: on a common one the tests would
/// be squeezed at its upper end.
fn error_axis(half: &Half, is_test: bool) -> Axis {
    let cells = half.rows.iter().filter(|row| row.samples.is_test == is_test).flat_map(|row| &row.cells);
    let means = cells.flat_map(|cell| [cell.mean(), cell.paper.map(|paper| paper.mean)]).flatten();
    Axis::logarithmic(extent(means.filter(|&mean| mean > 0.0 && mean <= TOP)).unwrap_or((0.1, 1.0)))
}

/// Equal steps for doubled depths.
fn depth_axis(depths: &[usize]) -> Axis {
    let (low, high) = extent(depths.iter().map(|&depth| (depth as f64).log2())).unwrap_or((0.0, 1.0));
    Axis::linear((low - 0.3, high + 0.3))
}

fn panel(frame: &Frame, table: &ComparisonTable, half: &Half, samples: Samples) -> String {
    let depths = table.depths.iter().map(|&depth| ((depth as f64).log2(), depth.to_string())).collect();
    let x_ticks = Ticks { labelled: depths, ..Ticks::default() };
    let y_ticks = frame.y.ticks(6);
    let y_label = if frame.left > LEFT { "" } else { "relative L² error" };
    let mut content = frame.axes_at((&x_ticks, "depth L"), (&y_ticks, y_label));
    let middle = frame.left + frame.width / 2.0;
    content.push_str(&label(middle, frame.top - 9.0, "strong middle", &table.samples_name(samples)));
    let rows: Vec<_> = half.rows_on(samples).collect();
    for row in &rows {
        content.push_str(&paper_line(frame, &table.depths, row));
    }
    for (k, row) in rows.iter().enumerate() {
        // Side by side, so that error bars of several models do not hide each other.
        let shift = 5.0 * (k as f64 - (rows.len() as f64 - 1.0) / 2.0);
        content.push_str(&our_line(frame, &table.depths, row, shift));
    }
    content
}

/// The pixels of errors over depth; what lies beyond the axis is at the upper edge.
fn place(frame: &Frame, depth: usize, error: f64) -> Option<(f64, f64)> {
    let x = frame.across((depth as f64).log2())?;
    let y = if error > TOP { frame.top } else { frame.down(error)? };
    Some((x, y.clamp(frame.top, frame.top + frame.height)))
}

fn path(points: &[(f64, f64)]) -> String {
    let points: Vec<_> = points.iter().map(|&(x, y)| format!("{} {}", pixel(x), pixel(y))).collect();
    if points.is_empty() { String::new() } else { format!("M{}", points.join("L")) }
}

/// An arrow that leaves the panel at its upper edge.
fn arrow(x: f64, y: f64) -> String {
    format!("M{} {}v14m-4.5-8l4.5-6l4.5 6", pixel(x), pixel(y))
}

fn paper_line(frame: &Frame, depths: &[usize], row: &Row) -> String {
    let errors = depths.iter().zip(&row.cells).filter_map(|(&depth, cell)| Some((depth, cell.paper?.mean)));
    let points: Vec<_> = errors.filter_map(|(depth, error)| place(frame, depth, error)).collect();
    format!("<path class=\"line dashed paper {}\" d=\"{}\"/>\n", model_class(&row.model), path(&points))
}

fn our_line(frame: &Frame, depths: &[usize], row: &Row, shift: f64) -> String {
    let class = model_class(&row.model);
    let mut runs: Vec<Vec<(f64, f64)>> = vec![Vec::new()];
    let (mut whiskers, mut markers, mut arrows) = (String::new(), String::new(), String::new());
    for (&depth, cell) in depths.iter().zip(&row.cells) {
        let point = cell.mean().and_then(|mean| Some((mean, place(frame, depth, mean)?)));
        let Some((mean, (x, y))) = point.map(|(mean, (x, y))| (mean, (x + shift, y))) else {
            // A depth that was not run interrupts the line.
            runs.push(Vec::new());
            continue;
        };
        if let Some(run) = runs.last_mut() {
            run.push((x, y));
        }
        if mean > TOP {
            arrows.push_str(&arrow(x, y));
            continue;
        }
        markers.push_str(&marker(&row.model, x, y));
        let error = cell.ours.as_ref().and_then(|ours| ours.standard_error()).unwrap_or(0.0);
        let bottom = frame.top + frame.height;
        let [low, high] = [mean - error, mean + error].map(|end| place(frame, depth, end).map_or(bottom, |(_, y)| y));
        if error > 0.0 {
            let (left, low, high) = (pixel(x - 2.5), pixel(low), pixel(high));
            whiskers.push_str(&format!("M{} {low}V{high}M{left} {low}h5M{left} {high}h5", pixel(x)));
        }
    }
    let lines: String = runs.iter().map(|run| path(run)).collect();
    format!(
        "<path class=\"line {class}\" d=\"{lines}\"/>\n<path class=\"whisker {class}\" d=\"{whiskers}\"/>\n\
         <path class=\"solid {class}\" d=\"{markers}\"/>\n<path class=\"arrow {class}\" d=\"{arrows}\"/>\n"
    )
}

/// One shape per model, so that they differ without colour too: circle, triangle, square.
fn marker(model: &str, x: f64, y: f64) -> String {
    let shape = match model_class(model) {
        "nkn" => 0,
        "gkn" => 1,
        "fno" => 3,
        _ => 2,
    };
    Palette::new(0..7).marker(shape, x, y)
}

fn depth_legend(half: &Half) -> Vec<Entry> {
    let mut models: Vec<&str> = half.rows.iter().map(|row| row.model.as_str()).collect();
    models.dedup();
    let model = |model: &&str| {
        let class = model_class(model);
        let symbol =
            vec![(format!("line {class}"), svg::dash(0.0, 0.0)), (format!("solid {class}"), marker(model, 12.0, 0.0))];
        Entry { text: display_name(model), symbol }
    };
    let mut entries: Vec<_> = models.iter().map(model).collect();
    let paper = vec![("line dashed paper".into(), svg::dash(0.0, 0.0))];
    entries.push(Entry { text: "the paper's".into(), symbol: paper });
    entries.push(Entry { text: "beyond the axis, or INF".into(), symbol: vec![("arrow".into(), arrow(12.0, -7.0))] });
    entries
}

#[cfg(test)]
mod tests {
    use super::super::table::tests::example;
    use super::*;

    #[test]
    fn there_is_a_panel_per_set_of_samples() {
        let tables = example();
        let poisson = errors_against_depth(&tables[0], true);
        assert_eq!(poisson.matches("class=\"strong middle\"").count(), 2);
        let darcy = errors_against_depth(&tables[1], true);
        assert_eq!(darcy.matches("class=\"strong middle\"").count(), 4);
        assert!(darcy.contains(">test s′ = 61<"));
        assert_eq!(errors_against_depth(&tables[1], false), "");
        assert!(!poisson.contains("NaN") && !poisson.contains("inf "));
    }

    #[test]
    fn infinite_errors_are_arrows_at_the_upper_edge() {
        let (x, y) = (Axis::linear((-0.3, 6.3)), Axis::logarithmic((1e-3, 1.0)));
        let frame = Frame { left: 10.0, top: 20.0, width: 100.0, height: 50.0, x, y };
        assert_eq!(place(&frame, 4, f64::INFINITY).map(|point| point.1), Some(20.0));
        assert_eq!(place(&frame, 4, 302.0).map(|point| point.1), Some(20.0));
        assert_eq!(place(&frame, 4, 1e-9).map(|point| point.1), Some(70.0));
        assert_eq!(place(&frame, 4, f64::NAN), None);
        let table = &example()[0];
        let row = table.halves[0].rows.iter().find(|row| row.model == "gkn" && row.samples.is_test).unwrap();
        assert!(our_line(&frame, &table.depths, row, 0.0).contains("v14m-4.5-8l4.5-6l4.5 6"));
    }
}
