//! The training curves: a panel per metric over the epochs, the depths one after the other.

use super::color::{Palette, STYLES};
use super::measure;
use super::scale::{Axis, Ticks, drawable, extent};
use super::svg::{self, Entry, Frame, label, path, pixel};
use super::text::unique;

/// Test errors evaluated at most this often are marked by dots.
const SPARSE: usize = 60;

/// Heights of the first panel and of those below it.
const HEIGHTS: (f64, f64) = (300.0, 150.0);

/// What was measured during the training of one depth.
#[derive(Debug, Clone, Default)]
pub struct Curve {
    /// The number of layers.
    pub depth: usize,
    /// What was measured.
    pub lines: Vec<Line>,
}

/// One metric on one set of samples.
#[derive(Debug, Clone, Default)]
pub struct Line {
    /// The metric, as in metrics.csv.
    pub metric: String,
    /// "train" or "test".
    pub split: String,
    /// Epochs, counted from the start of this depth, and values.
    pub points: Vec<(f64, f64)>,
}

/// The figure, or nothing without curves.
pub fn figure(curves: &[Curve], palette: &Palette) -> String {
    if curves.iter().all(|curve| curve.lines.is_empty()) {
        return String::new();
    }
    match drawing("Training curves", curves, Some(palette)) {
        Some(drawing) => svg::figure(&drawing, &caption(curves)),
        None => "<p>Nothing that was measured in the training is a finite positive number.</p>\n".to_owned(),
    }
}

/// A panel per metric; none if nothing can be drawn. Lines have the colours of their depths in the palette, or without one
/// colours of their own.
pub fn drawing(title: &str, curves: &[Curve], palette: Option<&Palette>) -> Option<String> {
    let lines = || curves.iter().flat_map(|curve| &curve.lines);
    let mut splits = unique(lines().map(|line| line.split.as_str()));
    splits.sort_by_key(|&split| split != "train");
    let own = Palette::new(0..splits.len());
    let style = |split: &str, depth: Option<usize>| {
        let k = splits.iter().position(|&name| name == split).unwrap_or(0);
        let class = match (palette, depth) {
            (None, _) => own.class(k),
            (Some(palette), Some(depth)) => palette.class(depth),
            // In the legend, which is about all depths.
            (Some(_), None) => String::new(),
        };
        format!("{} {class}", STYLES[k % STYLES.len()])
    };
    let (starts, total) = starts(curves);
    let mut panels = Vec::new();
    for metric in unique(lines().map(|line| line.metric.as_str())) {
        let values = lines().filter(|line| line.metric == metric).flat_map(|line| &line.points).map(|point| point.1);
        panels.extend(measure::axis(metric, values).map(|axis| (metric, axis)));
    }
    let last = panels.len().checked_sub(1)?;
    let entries: Vec<_> = splits.iter().map(|&split| Entry::line(split, style(split, None))).collect();
    let (mut content, mut top) = (svg::legend(84.0, 14.0, &entries).0, 62.0);
    for (k, &(metric, y)) in panels.iter().enumerate() {
        let height = if k == 0 { HEIGHTS.0 } else { HEIGHTS.1 };
        let frame = Frame::wide(top, height, Axis::linear((0.0, total)), y);
        let epochs = match curves.len() {
            _ if k < last => "",
            1 => "epoch",
            _ => "epoch, counted through all depths",
        };
        let y_ticks = measure::ticks(metric, y, height);
        content += &frame.axes_at((&epoch_ticks(total as usize), epochs), (&y_ticks, measure::title(metric)));
        for (curve, range) in curves.iter().zip(starts.windows(2)) {
            if k == 0 || curves.len() > 1 {
                let class = palette.map_or("c6".to_owned(), |palette| palette.class(curve.depth));
                content += &ladder_step(&frame, curve.depth, (range[0], range[1]), &class);
            }
            for line in curve.lines.iter().filter(|line| line.metric == metric) {
                content += &draw(&frame, line, range[0], &style(&line.split, Some(curve.depth)));
            }
        }
        top += height + if k == last { 46.0 } else { 62.0 };
    }
    let names = curves.iter().map(|curve| curve.depth.to_string()).collect::<Vec<_>>().join(", ");
    let description = format!("What was measured over the epochs for the depths {names}, one after the other.");
    Some(svg::drawing(top, title, &description, &content))
}

/// The epoch at which each depth starts and the end of the last, and how long the axis of all is.
fn starts(curves: &[Curve]) -> (Vec<f64>, f64) {
    let mut starts = vec![0.0];
    for curve in curves {
        let epochs = curve.lines.iter().flat_map(|line| &line.points).map(|point| point.0);
        let length = extent(epochs).map_or(0.0, |(_, last)| last.max(0.0));
        starts.push(starts[starts.len() - 1] + length);
    }
    let total = starts.last().copied().filter(|&total| drawable(total) && total > 0.0).unwrap_or(1.0);
    (starts, total)
}

/// Whole epochs, at most a dozen of them.
fn epoch_ticks(last: usize) -> Ticks {
    let steps = (0..15).flat_map(|exponent| [1, 2, 5].map(|digit| digit * 10usize.pow(exponent)));
    let step = steps.into_iter().find(|step| last / step <= 12).unwrap_or(last);
    Ticks::at((0..=last).step_by(step.max(1)))
}

/// The bar above one depth's part of the axis with its name, and the line that separates it from the next.
fn ladder_step(frame: &Frame, depth: usize, (start, end): (f64, f64), class: &str) -> String {
    let (Some(left), Some(right)) = (frame.across(start), frame.across(end)) else {
        return String::new();
    };
    let (bar, bottom) = (pixel(frame.top - 5.0), pixel(frame.top + frame.height));
    let name = match right - left {
        wide if wide > 52.0 => format!("L = {depth}"),
        narrow if narrow > 18.0 => depth.to_string(),
        _ => String::new(),
    };
    let separator =
        if start > 0.0 { path("frame", &format!("M{} {bar}V{bottom}", pixel(left))) } else { String::new() };
    let [from, to] = [left + 2.0, (right - 2.0).max(left + 2.0)].map(pixel);
    let bar = path(&format!("line bar {class}"), &format!("M{from} {bar}H{to}"));
    separator + &bar + &label((left + right) / 2.0, frame.top - 13.0, "strong middle", &name)
}

/// A line through what is known: between two evaluations an error is not missing, just not known.
fn draw(frame: &Frame, line: &Line, start: f64, class: &str) -> String {
    let points = || line.points.iter().map(|point| (start + point.0, point.1)).filter(|&p| frame.point(p).is_some());
    let mut content = frame.line(points(), class);
    if line.split == "test" && points().count() <= SPARSE {
        let dots = points().filter_map(|point| frame.point(point));
        let dots: String = dots.map(|(x, y)| format!("M{} {}h0", pixel(x), pixel(y))).collect();
        content += &path(&format!("dots {class}"), &dots);
    }
    content
}

fn caption(curves: &[Curve]) -> String {
    let lines = || curves.iter().flat_map(|curve| &curve.lines);
    let metrics = |split: &str| unique(lines().filter(|line| line.split == split).map(|line| line.metric.as_str()));
    let question = if curves.len() > 1 {
        "<strong>Does training carry over to deeper networks?</strong> Each depth starts from the one before it: look at \
         where a curve begins and whether it ends lower than its left neighbour."
    } else {
        "<strong>Does the network learn, or does it memorise?</strong>"
    };
    let test = match metrics("test") {
        test if test.is_empty() => "There are no test samples, so only the training is shown.",
        test if test == metrics("train") => "Test should stay close to train; a growing gap is overfitting.",
        _ => "Where the test error rises while the training loss still falls, the network learns its samples by heart.",
    };
    let left_out = match lines().flat_map(|line| &line.points).filter(|point| !point.1.is_finite()).count() {
        0 => String::new(),
        count => format!(" Values that are not finite and therefore not drawn: {count}."),
    };
    format!("{question} {test}{left_out}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::tests::assert_well_formed;

    fn line(metric: &str, split: &str, points: &[(f64, f64)]) -> Line {
        Line { metric: metric.into(), split: split.into(), points: points.into() }
    }

    fn draw_all(curves: &[Curve]) -> String {
        let html = figure(curves, &Palette::new(curves.iter().map(|curve| curve.depth)));
        assert_well_formed(&html);
        assert!(!html.contains("NaN") && !html.contains("inf"), "{html}");
        html
    }

    /// Functions: training and test errors of two depths on one axis.
    fn ladder() -> Vec<Curve> {
        let errors = |split, first: f64| line("relative_l2", split, &[(1.0, first), (10.0, first / 100.0)]);
        let curve = |depth, first| Curve { depth, lines: vec![errors("train", first), errors("test", 1.1 * first)] };
        vec![curve(1, 1.0), curve(2, 0.5)]
    }

    /// Images: the training loss and the error rate, on an axis each.
    fn images() -> Curve {
        let rates = line("error_rate", "test", &[(1.0, 0.9), (2.0, 0.1), (3.0, 0.03)]);
        Curve { depth: 4, lines: vec![rates, line("loss", "train", &[(1.0, 2.0), (2.0, 0.3), (3.0, 0.1)])] }
    }

    #[test]
    fn depths_follow_each_other() {
        let html = draw_all(&ladder());
        assert!(html.contains(">L = 1<") && html.contains(">L = 2<") && html.contains(">relative L² error<"));
        assert!(html.contains(">20<"), "ten epochs each");
        // Train solid and test dashed with its evaluations as dots, in the depth's colour.
        for class in ["line c0", "line dashed c0", "line c1", "line dashed c1"] {
            assert_eq!(html.matches(&format!("class=\"{class}\"")).count(), 1, "{class}");
            let dots = html.matches(&format!("class=\"dots {class}\"")).count();
            assert_eq!(dots == 1, class.contains("dashed"), "{class}");
        }
        assert!(html.contains("carry over") && html.contains("a growing gap is overfitting"));
    }

    #[test]
    fn metrics_of_other_kinds_have_panels_of_their_own() {
        let html = draw_all(&[images()]);
        assert!(html.contains(">error rate<") && html.contains(">loss<") && html.contains(">50 %<"));
        assert_eq!(html.matches(">epoch<").count(), 1, "below the last panel");
        assert!(html.contains(">2</text>") && !html.contains(">2.5</text>"), "epochs are whole");
        assert!(html.contains("memorise") && html.contains("by heart"));
    }

    #[test]
    fn what_is_missing_is_left_out_and_said() {
        assert_eq!(figure(&[], &Palette::new(0..0)), "");
        assert_eq!(figure(&[Curve::default()], &Palette::new(0..1)), "");
        let mut curves = vec![images()];
        curves[0].lines.remove(0);
        assert!(draw_all(&curves).contains("There are no test samples"));
        curves[0].lines[0].points[1].1 = f64::NAN;
        assert!(draw_all(&curves).contains("not drawn: 1."));
        for value in [f64::NAN, f64::INFINITY, -f64::MAX, 0.0] {
            curves[0].lines[0].points.iter_mut().for_each(|point| point.1 = value);
            assert!(draw_all(&curves).contains("<p>Nothing that was measured"));
            curves[0].lines[0].points[0] = (value, 0.5);
            draw_all(&curves);
        }
    }

    #[test]
    fn names_are_escaped() {
        let html = draw_all(&[Curve { depth: 1, lines: vec![line("<m>&\"", "<s>&\"", &[(1.0, 2.0)])] }]);
        assert!(html.contains("&lt;m&gt;&amp;&quot;") && html.contains("&lt;s&gt;&amp;&quot;"));
    }
}
