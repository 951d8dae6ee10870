//! How the errors of samples are spread: a histogram of the relative error, one per output.

use super::scale::{Axis, extent};
use super::svg::{self, Entry, Frame, path, pixel};
use super::text::percent;
use nkn::field::mean;

/// Fewer samples than this have no histogram.
const FEWEST: usize = 4;

/// Errors that differ by more than this factor have a logarithmic axis.
const WIDE: f64 = 8.0;

/// The height of a histogram in pixels.
const HEIGHT: f64 = 110.0;

/// Room above the first histogram and between two, in pixels, for legends and labels.
const ROOMS: (f64, f64) = (26.0, 52.0);

/// The relative errors of samples.
#[derive(Debug, Clone)]
pub struct Spread {
    /// The set of samples: "Test", or "Training" where nothing is kept for tests.
    pub split: &'static str,
    /// The output; empty if they are errors of all outputs.
    pub name: String,
    /// An error per sample.
    pub errors: Vec<f64>,
}

impl Spread {
    /// The errors that can be drawn, from the smallest to the largest.
    fn sorted(&self) -> Vec<f64> {
        let mut errors: Vec<f64> = self.errors.iter().copied().filter(|&error| error > 0.0 && error < 1e9).collect();
        errors.sort_by(f64::total_cmp);
        errors
    }
}

/// The histograms over one axis, or nothing for less than a few samples.
pub fn figure(spreads: &[Spread]) -> String {
    let drawn: Vec<(&Spread, Vec<f64>)> = spreads.iter().map(|spread| (spread, spread.sorted())).collect();
    let drawn: Vec<_> = drawn.into_iter().filter(|(_, errors)| errors.len() >= FEWEST).collect();
    let Some((low, high)) = extent(drawn.iter().flat_map(|(_, errors)| errors).copied()) else { return String::new() };
    let axis = match high / low {
        ratio if ratio > WIDE => Axis::logarithmic((low, high)),
        _ => Axis::around([low, high]),
    };
    let mut content = String::new();
    for (k, (spread, errors)) in drawn.iter().enumerate() {
        let top = ROOMS.0 + (HEIGHT + ROOMS.1) * k as f64;
        let x_label = if k + 1 == drawn.len() { "relative L² error" } else { "" };
        content += &histogram(spread, errors, Frame::wide(top, HEIGHT, axis, axis), x_label);
    }
    let count = drawn.iter().map(|(_, errors)| errors.len()).max().unwrap_or_default();
    let samples = format!("{} samples", drawn[0].0.split.to_lowercase());
    let description = format!("Histograms of the relative L² errors of {count} {samples}.");
    let bottom = ROOMS.0 + (HEIGHT + ROOMS.1) * drawn.len() as f64;
    let drawing = svg::drawing(bottom, &format!("Errors of the {samples}"), &description, &content);
    let left = spreads.iter().flat_map(|spread| &spread.errors).any(|error| !error.is_finite());
    let left = if left { " Errors that are not finite are left out." } else { "" };
    let caption = format!(
        "<strong>Are all samples predicted alike?</strong> The number of {samples} by their relative L² error. A mean \
         far to the right of the median comes from a few bad samples: the worst is drawn below.{left}"
    );
    svg::figure(&drawing, &caption)
}

/// The numbers of errors in equal parts of an axis.
fn counts(errors: &[f64], axis: Axis) -> Vec<usize> {
    let parts = ((2.0 * (errors.len() as f64).sqrt()) as usize).clamp(8, 40);
    let mut counts = vec![0; parts];
    for place in errors.iter().filter_map(|&error| axis.position(error)) {
        counts[((place * parts as f64) as usize).min(parts - 1)] += 1;
    }
    counts
}

/// One histogram over the frame's horizontal axis.
fn histogram(spread: &Spread, errors: &[f64], frame: Frame, x_label: &str) -> String {
    let counts = counts(errors, frame.x);
    let most = counts.iter().copied().max().unwrap_or_default().max(1);
    let frame = Frame { y: Axis::linear((0.0, 1.08 * most as f64)), ..frame };
    let mut y_ticks = frame.y.ticks(3);
    // There are no halves of samples.
    y_ticks.labelled.retain(|(value, _)| value.fract() == 0.0);
    let mut content = frame.axes_at((&frame.x.ticks(8), x_label), (&y_ticks, "samples"));
    let width = frame.width / counts.len() as f64;
    let bottom = pixel(frame.top + frame.height);
    let bar = |(k, &count): (usize, &usize)| {
        let left = frame.left + width * k as f64;
        let y = frame.down(count as f64).filter(|_| count > 0)?;
        Some(format!("M{} {bottom}V{}h{}V{bottom}z", pixel(left + 0.5), pixel(y), pixel(width - 1.0)))
    };
    content += &path("bars c0", &counts.iter().enumerate().filter_map(bar).collect::<String>());
    let (median, mean) = (errors[errors.len() / 2], mean(errors));
    let marks = [("median", median, "line c1"), ("mean", mean, "line dashed c6")];
    for (_, value, class) in marks {
        let Some(x) = frame.across(value) else { continue };
        content += &path(class, &format!("M{} {}V{bottom}", pixel(x), pixel(frame.top)));
    }
    let entry = |(what, value, class): (&str, f64, &str)| Entry::line(format!("{what} {}", percent(value)), class);
    let entries = marks.map(entry);
    let name = if spread.name.is_empty() { "all outputs" } else { &spread.name };
    content += &svg::label(frame.left, frame.top - 10.0, "strong", &svg::shortened(name, 40));
    content + &svg::legend(frame.left + 360.0, frame.top - 14.0, &entries).0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::tests::assert_well_formed;

    fn spread(name: &str, errors: &[f64]) -> Spread {
        Spread { split: "Test", name: name.into(), errors: errors.to_vec() }
    }

    #[test]
    fn every_error_is_counted_once() {
        let errors: Vec<f64> = (1..=100).map(|k| 1e-4 * f64::from(k)).collect();
        for axis in [Axis::around([1e-4, 1e-2]), Axis::logarithmic((1e-4, 1e-2))] {
            let counts = counts(&errors, axis);
            assert_eq!((counts.len(), counts.iter().sum::<usize>()), (20, 100));
        }
    }

    #[test]
    fn median_and_mean_are_marked_for_every_output() {
        let errors = [0.01, 0.02, 0.02, 0.03, 0.42];
        let html = figure(&[spread("", &errors), spread("<v>", &errors)]);
        assert_well_formed(&html);
        assert_eq!(html.matches(">median 2.0 %</text>").count(), 2);
        assert_eq!(html.matches(">mean 10 %</text>").count(), 2);
        assert!(html.contains(">all outputs</text>") && html.contains(">&lt;v&gt;</text>"));
        assert!(html.contains(">samples</text>") && html.contains(">relative L² error</text>"));
        // Four parts of the axis have samples.
        let bars = html.split("class=\"bars c0\" d=\"").nth(1).unwrap().split('"').next().unwrap();
        assert_eq!(bars.matches('z').count(), 4, "{bars}");
    }

    #[test]
    fn few_samples_and_broken_errors() {
        assert_eq!(figure(&[]), "");
        assert_eq!(figure(&[spread("", &[0.1, 0.2, 0.3])]), "");
        assert_eq!(figure(&[spread("", &[f64::NAN; 9])]), "");
        let html = figure(&[spread("u", &[0.1, 0.1, 0.1, 0.1, 0.0, f64::NAN, f64::INFINITY])]);
        assert_well_formed(&html);
        assert!(!html.contains("NaN") && html.contains("not finite are left out"), "{html}");
    }
}
