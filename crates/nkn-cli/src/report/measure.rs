//! How a measure stands on the page: its name, its numbers, its axis. Error rates are shares of images and are written in
//! percent; all other measures are positive numbers whose order of magnitude counts.

use super::scale::{Axis, Ticks, extent};
use super::text::{fixed, rate, scientific};

/// Error rates that differ by at least this factor have a logarithmic axis.
const WIDE: f64 = 5.0;

fn is_rate(metric: &str) -> bool {
    metric == "error_rate"
}

/// The name of a metric in words, in plain text.
pub fn title(metric: &str) -> &str {
    match metric {
        "relative_l2" => "relative L² error",
        "relative_l2_squared" => "squared relative L² error",
        "error_rate" => "error rate",
        other => other,
    }
}

/// A value as it stands in a table.
pub fn written(metric: &str, value: f64) -> String {
    if is_rate(metric) { rate(value) } else { scientific(value) }
}

/// The axis for these values; none if none of them can be drawn.
pub fn axis(metric: &str, values: impl Iterator<Item = f64> + Clone) -> Option<Axis> {
    let positive = extent(values.clone().filter(|&value| value > 0.0));
    if !is_rate(metric) {
        return positive.map(Axis::logarithmic);
    }
    match extent(values)? {
        (low, high) if low > 0.0 && high / low >= WIDE => Some(Axis::logarithmic((low, high))),
        (_, high) => Some(Axis::linear((0.0, 1.05 * high.max(1e-5)))),
    }
}

/// Round values on such an axis; of an error rate as plain percentages up to 100 %.
pub fn ticks(metric: &str, axis: Axis, height: f64) -> Ticks {
    let mut ticks = axis.ticks((height / 40.0) as usize);
    if !is_rate(metric) {
        return ticks;
    }
    let inside = |value: &f64| axis.position(*value).is_some_and(|place| (0.0..=1.0).contains(&place));
    let values = |digits: &[f64]| -> Vec<f64> {
        let all = (-6..=0).flat_map(|exponent| digits.iter().map(move |digit| digit * 10f64.powi(exponent)));
        all.filter(inside).collect()
    };
    let is_logarithmic = axis.position(0.0).is_none();
    let fitting = |values: &Vec<f64>| (2..=(height / 20.0) as usize).contains(&values.len());
    let choices = [&[1.0, 2.0, 5.0][..], &[1.0, 3.0], &[1.0]].map(values);
    let chosen = choices.into_iter().find(|values| is_logarithmic && fitting(values));
    let chosen = chosen.unwrap_or_else(|| ticks.labelled.iter().map(|tick| tick.0).collect());
    let label = |value: f64| (value, format!("{} %", fixed(100.0 * value, 4)));
    ticks.labelled = chosen.into_iter().filter(|&value| value < 1.000_001).map(label).collect();
    ticks.factor = None;
    ticks
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(metric: &str, values: &[f64]) -> Vec<String> {
        let axis = axis(metric, values.iter().copied()).expect("values");
        ticks(metric, axis, 270.0).labelled.into_iter().map(|tick| tick.1).collect()
    }

    #[test]
    fn error_rates_are_percentages_and_end_at_one_hundred() {
        assert_eq!(labels("error_rate", &[0.02, 0.6]), ["2 %", "5 %", "10 %", "20 %", "50 %"]);
        assert_eq!(labels("error_rate", &[0.0, 0.98]).last().expect("ticks"), "100 %");
        assert!(labels("error_rate", &[0.0, 0.0]).contains(&"0 %".to_owned()), "no errors at all");
        assert_eq!(labels("error_rate", &[0.012, 0.018])[0], "0 %", "close ones are compared from zero");
    }

    #[test]
    fn errors_of_functions_are_powers_of_ten() {
        assert_eq!(labels("relative_l2", &[1e-3, 0.5, f64::NAN, 0.0]), ["10⁻³", "10⁻²", "10⁻¹"]);
        assert!(axis("loss", [0.0, f64::NAN, -1.0].into_iter()).is_none());
        assert!(axis("error_rate", [f64::INFINITY].into_iter()).is_none());
    }

    #[test]
    fn names_and_numbers() {
        assert_eq!(["relative_l2", "error_rate", "loss"].map(title), ["relative L² error", "error rate", "loss"]);
        assert_eq!(written("error_rate", 0.123_45), "12.35 %");
        assert_eq!(written("relative_l2", 0.002_318), "2.32e-3");
        assert_eq!(written("error_rate", f64::NAN), "not finite");
    }
}
