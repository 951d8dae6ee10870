//! The training curves: errors over epochs, the depths one after the other.

use super::Curve;
use super::color::Palette;
use super::scale::{Axis, drawable, extent};
use super::svg::{self, Entry, Frame, WIDTH, label, pixel};

/// Test errors evaluated at most this often are marked by dots.
const SPARSE: usize = 60;

/// The figure, or nothing without curves.
pub fn figure(curves: &[Curve], palette: &Palette) -> String {
    if curves.is_empty() {
        return String::new();
    }
    let errors = curves.iter().flat_map(|curve| curve.train.iter().chain(&curve.test)).copied();
    let Some(range) = extent(errors.filter(|&error| error > 0.0)) else {
        return "<p>No error of the training is a finite positive number.</p>\n".to_owned();
    };
    let mut ends = Vec::new();
    let mut total = 0.0;
    for curve in curves {
        total += extent(curve.epoch.iter().copied()).map_or(0.0, |(_, last)| last.max(0.0));
        ends.push(total);
    }
    let frame = Frame {
        left: 84.0,
        top: 62.0,
        width: WIDTH - 108.0,
        height: 320.0,
        x: Axis::linear((0.0, if drawable(total) && total > 0.0 { total } else { 1.0 })),
        y: Axis::logarithmic(range),
    };
    let epochs = if curves.len() > 1 { "epoch, counted through all depths" } else { "epoch" };
    let mut content = frame.axes(epochs, "relative L² error");
    let mut start = 0.0;
    for (curve, &end) in curves.iter().zip(&ends) {
        content.push_str(&ladder_step(&frame, curve.depth, (start, end), &palette.class(curve.depth)));
        content.push_str(&lines(&frame, curve, start, &palette.class(curve.depth)));
        start = end;
    }
    let entries = [("train", "line"), ("test", "line dashed")]
        .map(|(text, class)| Entry { text: text.into(), symbol: vec![(class.into(), svg::dash(0.0, 0.0))] });
    content.push_str(&svg::legend(frame.left, 14.0, &entries).0);
    let names = curves.iter().map(|curve| curve.depth.to_string()).collect::<Vec<_>>().join(", ");
    let description =
        format!("Training and test errors on a logarithmic axis for the depths {names}, one after the other.");
    svg::figure(
        &svg::drawing(frame.top + frame.height + 46.0, "Training curves", &description, &content),
        &caption(curves),
    )
}

/// The bar above one depth's part of the axis with its name, and the line that separates it from the next.
pub fn ladder_step(frame: &Frame, depth: usize, (start, end): (f64, f64), class: &str) -> String {
    let (Some(left), Some(right)) = (frame.across(start), frame.across(end)) else {
        return String::new();
    };
    let (bar, bottom) = (pixel(frame.top - 5.0), pixel(frame.top + frame.height));
    let name = match right - left {
        wide if wide > 52.0 => format!("L = {depth}"),
        narrow if narrow > 18.0 => depth.to_string(),
        _ => String::new(),
    };
    let separator = if start > 0.0 {
        format!("<path class=\"frame\" d=\"M{} {bar}V{bottom}\"/>\n", pixel(left))
    } else {
        String::new()
    };
    format!(
        "{separator}<path class=\"line bar {class}\" d=\"M{} {bar}H{}\"/>\n{}",
        pixel(left + 2.0),
        pixel((right - 2.0).max(left + 2.0)),
        label((left + right) / 2.0, frame.top - 13.0, "strong middle", &name)
    )
}

/// One depth's training and test errors.
fn lines(frame: &Frame, curve: &Curve, start: f64, class: &str) -> String {
    let along = |errors: &[f64]| -> Vec<(f64, f64)> {
        let epochs = curve.epoch.iter().map(|epoch| start + epoch);
        epochs.zip(errors.iter().copied()).collect()
    };
    let mut content = frame.line(along(&curve.train).into_iter(), &format!("line {class}"));
    // Between two evaluations the test error is not missing, just not known: the line goes on.
    let mut test = along(&curve.test);
    test.retain(|&point| frame.point(point).is_some());
    if test.len() <= SPARSE {
        let dots =
            test.iter().filter_map(|&point| frame.point(point)).map(|(x, y)| format!("M{} {}h0", pixel(x), pixel(y)));
        content.push_str(&format!("<path class=\"dots {class}\" d=\"{}\"/>\n", dots.collect::<String>()));
    }
    content + &frame.line(test.into_iter(), &format!("line dashed {class}"))
}

fn caption(curves: &[Curve]) -> String {
    let left_out = curves.iter().flat_map(|curve| &curve.train).filter(|error| !error.is_finite()).count();
    let question = if curves.len() > 1 {
        "<strong>Does training carry over to deeper networks?</strong> Each depth starts from the one before it: look \
         at whether a curve begins near where its left neighbour ended, and whether"
    } else {
        "<strong>Does the network learn, or does it memorise?</strong> Look at whether"
    };
    let mut caption = format!("{question} test (dashed) stays close to train (solid); a growing gap is overfitting.");
    if left_out > 0 {
        caption.push_str(&format!(" Training errors that are not finite and therefore not drawn: {left_out}."));
    }
    caption
}
