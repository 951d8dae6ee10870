//! The figure of errors against depth: a panel per set of samples, a line per model.

use super::super::cell::Cell;
use super::super::names::{class, network, shape};
use super::super::paper;
use super::super::problem::{Problem, Task};
use super::super::row::Data;
use super::super::table::Cells;
use super::{TOP, on};
use crate::report::color::Palette;
use crate::report::scale::{Axis, Ticks, extent};
use crate::report::svg::{self, Entry, Frame, WIDTH, interrupted, label, path, pixel, polyline};
use crate::report::text::escape;
use std::collections::{BTreeMap, BTreeSet};

const PANEL_HEIGHT: f64 = 210.0;
const LEFT: f64 = 78.0;
const GAP: f64 = 66.0;

/// The errors of a model over its depths.
type Series<'a> = Vec<(usize, &'a Cell)>;

/// Training or test samples at a resolution, and the errors on them by model in the order of the paper.
type Panels<'a> = BTreeMap<(bool, usize), BTreeMap<(usize, &'a str), Series<'a>>>;

/// A figure per training grid and kind of data.
pub fn errors_against_depth(problem: &Problem, cells: &Cells) -> Vec<String> {
    let mut figures: BTreeMap<(usize, Option<Data>), Panels> = BTreeMap::new();
    for (key, cell) in cells {
        let (Some(depth), true) = (key.depth, !key.is_test() || key.split == problem.split) else { continue };
        let panels = figures.entry((key.trained_at, key.data)).or_default();
        let models = panels.entry((key.is_test(), key.tested_at)).or_default();
        models.entry((paper::rank(problem.name, &key.model), &key.model)).or_default().push((depth, cell));
    }
    figures.iter().filter_map(|(trained, panels)| figure(problem, *trained, panels)).collect()
}

/// The figure; none if nothing was run, or with a single depth, at which there is no line to draw.
fn figure(problem: &Problem, (trained_at, data): (usize, Option<Data>), panels: &Panels) -> Option<String> {
    let all = || panels.values().flat_map(|models| models.values().flatten());
    let depths: BTreeSet<usize> = all().map(|(depth, _)| *depth).collect();
    let models: BTreeSet<(usize, &str)> = panels.values().flat_map(|models| models.keys().copied()).collect();
    if depths.len() < 2 || !all().any(|(_, cell)| cell.is_run()) {
        return None;
    }
    let (mut content, legend_height) = svg::legend(LEFT, 14.0, &legend(&models));
    let width = (WIDTH - LEFT - GAP - 16.0) / 2.0;
    for (k, (&(is_test, tested_at), models)) in panels.iter().enumerate() {
        let (column, line) = ((k % 2) as f64, (k / 2) as f64);
        let own = panels.iter().filter(|((other, _), _)| *other == is_test);
        let frame = Frame {
            left: LEFT + column * (width + GAP),
            top: legend_height + 34.0 + line * (PANEL_HEIGHT + 74.0),
            width,
            height: PANEL_HEIGHT,
            x: Axis::doublings(depths.iter().copied()),
            y: error_axis(own.flat_map(|(_, models)| models.values().flatten().map(|(_, cell)| *cell))),
        };
        let title = match (problem.task, is_test) {
            (_, false) => "train".to_owned(),
            (Task::Functions, true) => format!("test {}", problem.resolution_name(tested_at).replace('s', "s′")),
            (Task::Images, true) => format!("tested on {} images", problem.resolution_name(tested_at)),
        };
        content.push_str(&panel(&frame, problem.task, &depths, &title, models));
    }
    let height = legend_height + 34.0 + panels.len().div_ceil(2) as f64 * (PANEL_HEIGHT + 74.0) - 26.0;
    let trained = format!("{}, trained at {}{}", problem.title, problem.resolution_name(trained_at), on(data));
    let title = format!("{trained}: errors against depth");
    let description = "Errors of each model, ours and the paper's, over the depth, one panel per set of samples.";
    let caption = format!(
        "<strong>{}: does depth help or hurt?</strong> A method that is stable in depth has a line that falls and \
         then stays flat; a line that turns upwards is lost again with more layers. Solid, with standard errors: \
         ours; dashed: the paper's. Where solid lies above dashed of the same colour, we are worse than the paper. \
         The axis of train is its own, those of the tests are the same; arrows at the upper edge are errors beyond \
         it, up to INF.",
        escape(&trained)
    );
    Some(svg::figure(&svg::drawing(height, &title, description, &content), &caption))
}

/// The tests share their axis. Training errors can be far smaller and have their own: on a common one the tests would
/// be squeezed at its upper end.
fn error_axis<'a>(cells: impl Iterator<Item = &'a Cell>) -> Axis {
    let means = cells.flat_map(|cell| [cell.mean(), cell.paper.map(|paper| paper.mean)]).flatten();
    Axis::logarithmic(extent(means.filter(|&mean| mean > 0.0 && mean <= TOP)).unwrap_or((0.1, 1.0)))
}

fn panel(
    frame: &Frame,
    task: Task,
    depths: &BTreeSet<usize>,
    title: &str,
    models: &BTreeMap<(usize, &str), Series>,
) -> String {
    let x_ticks = Ticks::at(depths.iter().copied());
    let name = if task == Task::Functions { "relative L² error" } else { "error rate" };
    let y_label = if frame.left > LEFT { "" } else { name };
    let mut content = frame.axes_at((&x_ticks, "depth L"), (&frame.y.ticks(6), y_label));
    content += &label(frame.left + frame.width / 2.0, frame.top - 9.0, "strong middle", title);
    for ((_, model), series) in models {
        content.push_str(&paper_line(frame, model, series));
    }
    for (k, ((_, model), series)) in models.iter().enumerate() {
        // Side by side, so that error bars of several models do not hide each other.
        let shift = 5.0 * (k as f64 - (models.len() as f64 - 1.0) / 2.0);
        content.push_str(&our_line(frame, model, series, shift));
    }
    content
}

/// The pixels of errors over depth; what lies beyond the axis is at the upper edge.
fn place(frame: &Frame, depth: usize, error: f64) -> Option<(f64, f64)> {
    let x = frame.across(depth as f64)?;
    let y = if error > TOP { frame.top } else { frame.down(error)? };
    Some((x, y.clamp(frame.top, frame.top + frame.height)))
}

/// An arrow that leaves the panel at its upper edge.
fn arrow(x: f64, y: f64) -> String {
    format!("M{} {}v14m-4.5-8l4.5-6l4.5 6", pixel(x), pixel(y))
}

fn paper_line(frame: &Frame, model: &str, series: &Series) -> String {
    let errors = series.iter().filter_map(|(depth, cell)| Some((*depth, cell.paper?.mean)));
    let points: Vec<_> = errors.filter_map(|(depth, error)| place(frame, depth, error)).collect();
    path(&format!("line dashed paper {}", class(model)), &polyline(&points))
}

fn our_line(frame: &Frame, model: &str, series: &Series, shift: f64) -> String {
    let place = |depth, error| place(frame, depth, error).map(|(x, y)| (x + shift, y));
    // A depth that was not run interrupts the line.
    let points: Vec<_> = series.iter().map(|(depth, cell)| cell.mean().and_then(|mean| place(*depth, mean))).collect();
    let (mut whiskers, mut markers, mut arrows) = (String::new(), String::new(), String::new());
    for (&(depth, cell), point) in series.iter().zip(&points) {
        let (Some(mean), &Some((x, y))) = (cell.mean(), point) else { continue };
        if mean > TOP {
            arrows += &arrow(x, y);
            continue;
        }
        markers += &marker(model, x, y);
        if let Some(error) = cell.standard_error().filter(|&error| error > 0.0) {
            let bottom = frame.top + frame.height;
            let end = |error| pixel(place(depth, error).map_or(bottom, |(_, y)| y));
            let (low, high, x, left) = (end(mean - error), end(mean + error), pixel(x), pixel(x - 2.5));
            whiskers += &format!("M{x} {low}V{high}M{left} {low}h5M{left} {high}h5");
        }
    }
    let parts = [("line", interrupted(&points)), ("whisker", whiskers), ("solid", markers), ("arrow", arrows)];
    parts.map(|(kind, data)| path(&format!("{kind} {}", class(model)), &data)).concat()
}

fn marker(model: &str, x: f64, y: f64) -> String {
    Palette::new(0..7).marker(shape(model), x, y)
}

fn legend(models: &BTreeSet<(usize, &str)>) -> Vec<Entry> {
    let model = |(_, model): &(usize, &str)| {
        let line = Entry::line(network(model, None), format!("line {}", class(model)));
        line.with(format!("solid {}", class(model)), marker(model, 12.0, 0.0))
    };
    let paper = Entry::line("the paper's", "line dashed paper");
    let beyond = Entry { text: "beyond the axis, or INF".into(), symbol: vec![("arrow".into(), arrow(12.0, -7.0))] };
    models.iter().map(model).chain([paper, beyond]).collect()
}

#[cfg(test)]
mod tests {
    use super::super::super::problem::tests::request;
    use super::super::super::row::{Key, Row};
    use super::super::super::table::errors;
    use super::super::super::table::tests::{digit_rows, function_rows};
    use super::*;

    fn figures(problem: &str, rows: Vec<Row>) -> Vec<String> {
        let rows: Vec<Row> = rows.into_iter().filter(|row| row.key.problem == problem).collect();
        let problem = request(problem).problem;
        errors_against_depth(problem, &errors(problem, &rows))
    }

    #[test]
    fn there_is_a_panel_per_set_of_samples() {
        let panels = |figure: &String| figure.matches("class=\"strong middle\"").count();
        let poisson = figures("poisson", function_rows());
        assert_eq!(poisson.iter().map(panels).collect::<Vec<_>>(), [2, 2]);
        assert!(!poisson[0].contains("NaN") && !poisson[0].contains("inf "));
        // The half that was not run has no figure.
        let darcy = figures("darcy", function_rows());
        assert_eq!(darcy.iter().map(panels).collect::<Vec<_>>(), [4]);
        assert!(darcy[0].contains(">test s′ = 61<"));
        // Digits: trained on coarse and on fine images, tested on both; official images have no paper to compare with.
        let digits = figures("mnist", digit_rows());
        assert_eq!(digits.iter().map(panels).collect::<Vec<_>>(), [2, 2]);
        assert!(digits[0].contains(">tested on fine images<") && digits[0].contains(">NKN, r = 4<"));
    }

    #[test]
    fn infinite_errors_are_arrows_at_the_upper_edge() {
        let (x, y) = (Axis::doublings([1, 64]), Axis::logarithmic((1e-3, 1.0)));
        let frame = Frame { left: 10.0, top: 20.0, width: 100.0, height: 50.0, x, y };
        assert_eq!(place(&frame, 4, f64::INFINITY).map(|point| point.1), Some(20.0));
        assert_eq!(place(&frame, 4, 302.0).map(|point| point.1), Some(20.0));
        assert_eq!(place(&frame, 4, 1e-9).map(|point| point.1), Some(70.0));
        assert_eq!(place(&frame, 4, f64::NAN), None);
        let poisson = request("poisson").problem;
        let cells = errors(poisson, &function_rows());
        let is_gkn = |key: &&Key| key.model == "gkn" && key.is_test();
        let series: Series =
            cells.iter().filter(|(key, _)| is_gkn(key)).filter_map(|(key, c)| Some((key.depth?, c))).collect();
        assert!(our_line(&frame, "gkn", &series, 0.0).contains("v14m-4.5-8l4.5-6l4.5 6"));
    }
}
