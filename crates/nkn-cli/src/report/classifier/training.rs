//! The training: error rates at each resolution over the epochs, and the training loss below.

use std::collections::BTreeSet;

use super::{CurvePoint, ResolutionPart, rate, size};
use crate::report::color::Palette;
use crate::report::scale::{Axis, Ticks, extent};
use crate::report::svg::{self, Entry, Frame, WIDTH};
use crate::report::text::fixed;

/// Line styles, so that the lines differ without colour too.
const STYLES: [&str; 4] = ["line", "line dashed", "line dash-dotted", "line dotted"];

/// Error rates evaluated at most this often are marked.
const SPARSE: usize = 60;

/// Error rates that differ by at least this factor have a logarithmic axis.
const WIDE: f64 = 5.0;

const LEFT: f64 = 84.0;
const HEIGHTS: (f64, f64) = (270.0, 130.0);

/// The figure, or nothing without curves.
pub fn figure(curves: &[CurvePoint], resolutions: &[ResolutionPart]) -> String {
    let sides: BTreeSet<usize> = curves.iter().flat_map(|point| &point.errors).map(|error| error.0).collect();
    let Some(last) = curves.iter().map(|point| point.epoch).max() else { return String::new() };
    let trained = |side| resolutions.iter().any(|part| part.is_training && part.side == side);
    let palette = Palette::new(sides.iter().copied());
    let lines: Vec<Line> = (sides.iter().enumerate())
        .map(|(k, &side)| Line {
            name: if trained(side) { format!("{} (training)", size(side)) } else { size(side) },
            style: format!("{} {}", STYLES[k % STYLES.len()], palette.class(side)),
            side,
            points: points(curves, side),
        })
        .collect();
    let (mut content, legend_height) = svg::legend(LEFT, 14.0, &entries(&lines, &palette));
    let axis = Axis::linear((0.0, last.max(1) as f64));
    let epochs = epoch_ticks(last.max(1));
    let frame = |top, height, y| Frame { left: LEFT, top, width: WIDTH - LEFT - 24.0, height, x: axis, y };

    let mut bottom = legend_height + 14.0;
    if !lines.is_empty() {
        let frame = frame(bottom, HEIGHTS.0, rate_axis(&lines));
        let y_ticks = ticks(frame.y, frame.height, (100.0, " %"));
        content.push_str(&frame.axes_at((&epochs, ""), (&y_ticks, "error rate")));
        content.push_str(&lines.iter().map(|line| line.draw(&frame, &palette)).collect::<String>());
        bottom += HEIGHTS.0 + 44.0;
    }
    let losses = || curves.iter().map(|point| (point.epoch as f64, point.train_loss));
    let frame = frame(bottom, HEIGHTS.1, loss_axis(losses().map(|point| point.1)));
    let y_ticks = ticks(frame.y, frame.height, (f64::INFINITY, ""));
    content.push_str(&frame.axes_at((&epochs, "epoch"), (&y_ticks, "training loss")));
    content.push_str(&frame.line(losses(), "line"));
    let description = "Error rates over the epochs, a line per resolution; below, the training loss.";
    let drawing = svg::drawing(bottom + HEIGHTS.1 + 46.0, "Training", description, &content);
    svg::figure(&drawing, &caption(&lines, curves))
}

/// The error rates at one resolution.
struct Line {
    name: String,
    style: String,
    side: usize,
    /// Epochs and error rates in percent.
    points: Vec<(f64, f64)>,
}

impl Line {
    fn draw(&self, frame: &Frame, palette: &Palette) -> String {
        let mut content = frame.line(self.points.iter().copied(), &self.style);
        if self.points.len() <= SPARSE {
            let places = self.points.iter().filter_map(|&point| frame.point(point));
            let markers: String = places.map(|(x, y)| palette.marker(self.side, x, y)).collect();
            content.push_str(&format!("<path class=\"marker {}\" d=\"{markers}\"/>\n", palette.class(self.side)));
        }
        content
    }
}

/// What is known of a resolution; between two evaluations the line goes on.
fn points(curves: &[CurvePoint], side: usize) -> Vec<(f64, f64)> {
    let errors = |point: &CurvePoint| point.errors.iter().find(|error| error.0 == side).map(|error| error.1);
    curves.iter().filter_map(|point| Some((point.epoch as f64, 100.0 * errors(point)?))).collect()
}

fn entries(lines: &[Line], palette: &Palette) -> Vec<Entry> {
    let entry = |line: &Line| {
        let marker = (format!("marker {}", palette.class(line.side)), palette.marker(line.side, 12.0, 0.0));
        Entry { text: line.name.clone(), symbol: vec![(line.style.clone(), svg::dash(0.0, 0.0)), marker] }
    };
    lines.iter().map(entry).collect()
}

/// Logarithmic if the error rates differ much and none is zero, from zero otherwise.
fn rate_axis(lines: &[Line]) -> Axis {
    let rates = lines.iter().flat_map(|line| &line.points).map(|point| point.1);
    match extent(rates).unwrap_or((0.0, 1.0)) {
        (low, high) if low > 0.0 && high / low >= WIDE => Axis::logarithmic((low, high)),
        (_, high) => Axis::linear((0.0, 1.05 * high.max(1e-3))),
    }
}

/// Logarithmic if all losses are positive.
fn loss_axis(losses: impl Iterator<Item = f64> + Clone) -> Axis {
    match extent(losses.clone()) {
        Some(range) if range.0 > 0.0 => Axis::logarithmic(range),
        _ => Axis::around(losses),
    }
}

/// Whole epochs, at most a dozen of them.
fn epoch_ticks(last: usize) -> Ticks {
    let steps = (0..).flat_map(|exponent| [1, 2, 5].map(|digit| digit * 10usize.pow(exponent)));
    let step = steps.into_iter().find(|step| last / step <= 12).unwrap_or(last);
    let labelled = (0..=last).step_by(step).map(|epoch| (epoch as f64, epoch.to_string())).collect();
    Ticks { labelled, ..Ticks::default() }
}

/// Round values up to `largest`, on a logarithmic axis as plain decimals: powers of ten are hard to read as error rates.
fn ticks(axis: Axis, height: f64, (largest, unit): (f64, &str)) -> Ticks {
    let mut ticks = axis.ticks((height / 40.0) as usize);
    let inside = |value: f64| axis.position(value).is_some_and(|place| (0.0..=1.0).contains(&place));
    let decimals = |digits: &[f64]| -> Vec<(f64, String)> {
        let values = (-4..=4).flat_map(|exponent| digits.iter().map(move |digit| digit * 10f64.powi(exponent)));
        values.filter(|&value| inside(value)).map(|value| (value, fixed(value, 4))).collect()
    };
    let is_logarithmic = axis.position(0.0).is_none();
    let choices = [&[1.0, 2.0, 5.0][..], &[1.0, 3.0], &[1.0]].map(decimals);
    let fitting = |labelled: &Vec<_>| (2..=(height / 20.0) as usize).contains(&labelled.len());
    if let Some(labelled) = choices.into_iter().find(|labelled| is_logarithmic && fitting(labelled)) {
        ticks = Ticks { labelled, ..Ticks::default() };
    }
    ticks.labelled.retain(|tick| tick.0 <= largest);
    ticks.labelled.iter_mut().for_each(|tick| tick.1.push_str(unit));
    ticks
}

fn caption(lines: &[Line], curves: &[CurvePoint]) -> String {
    let last = lines.iter().filter_map(|line| Some((line, line.points.last()?)));
    let rates: Vec<_> = last.map(|(line, (_, error))| format!("{} at {}", rate(error / 100.0), line.name)).collect();
    let mut caption = if rates.is_empty() {
        "<strong>Does the network learn?</strong> The training loss over the epochs.".to_owned()
    } else {
        format!(
            "<strong>Does it learn at all resolutions?</strong> The lines are the same weights on images of other sizes; \
             where one turns upwards while the loss still falls, the network fits its training grid instead of the \
             picture. At the end: {}.",
            rates.join(", ")
        )
    };
    if curves.iter().any(|point| !point.train_loss.is_finite()) {
        caption.push_str(" Losses that are not finite are not drawn.");
    }
    caption
}
