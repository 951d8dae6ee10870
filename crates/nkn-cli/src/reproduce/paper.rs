//! The numbers that the paper prints, cell by cell, under the keys of ours.
//!
//! Transcribed as printed, also where a number cannot be right:
//! - Poisson, original data, GKN, L = 4, train: 6.03e-3 ± 2.43e-1, while its test error is 6.04e-1 ± 2.44e-1. The
//!   mean is probably 6.03e-1.
//! - Poisson, original data, FNO, L = 2, test: 6.48e-2 ± 5.0e-1. The standard error is eight times the mean; its
//!   exponent is probably wrong.
//! - Darcy, s = 31, normalised, GKN, L = 1: train and test s' = 31 are both 8.29e-2 ± 1.94e-4.
//! - Darcy, s = 31, normalised, L = 4, test s' = 61: FNO's 4.80e-2 is bold though NKN's 4.57e-2 is smaller.
//! - The parameter counts of GKN and NKN in 2D, 473.20k and 945.31k, are those of the stated widths divided by ten.
//! - The eigenvalues are of R - L_k, the negative of the matrix in the text. The text calls NKN's operator positive
//!   definite; at L = 1 its smallest eigenvalue is negative.
//! - The model "multiscale-cnn-haber" quotes Haber et al. (2018), the metric "error_rate_tao" Tao et al. (2018).
//! - The baseline's error on fine CIFAR images is printed as 50 %, without decimals.
//! - The caption of MNIST says test, its columns say validation: both are 10,000 of the 60,000 training images.

use super::row::{Key, lines};
use crate::report::text::unique;
use std::path::Path;
use std::sync::LazyLock;

/// A number that the paper prints.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Published {
    /// For errors the mean over five runs; infinite where the paper says INF.
    pub mean: f64,
    /// Its standard error.
    pub deviation: Option<f64>,
}

/// The lines in the order of the paper.
static LINES: LazyLock<Vec<(Key, Published)>> = LazyLock::new(|| {
    let entry = |line: &super::row::Line| {
        let value = Published { mean: line.number(&["value"]).ok()??, deviation: line.number(&["deviation"]).ok()? };
        Some((line.key(&Key::default()).ok()?, value))
    };
    let lines = lines(include_str!("paper.csv"), Path::new("paper.csv")).unwrap_or_default();
    lines.iter().filter_map(entry).collect()
});

/// The paper's number, if it has one.
pub fn published(key: &Key) -> Option<Published> {
    LINES.iter().find(|(known, _)| known == key).map(|(_, value)| *value)
}

/// The keys of a metric, in the order of the paper.
pub fn keys(problem: &str, metric: &str) -> impl Iterator<Item = &'static Key> {
    LINES.iter().map(|(key, _)| key).filter(move |key| key.problem == problem && key.metric == metric)
}

/// The place of a model in the paper's tables; models that it does not have come last.
pub fn rank(problem: &str, model: &str) -> usize {
    let models = unique(LINES.iter().filter(|(key, _)| key.problem == problem).map(|(key, _)| key.model.as_str()));
    models.iter().position(|&name| name == model).unwrap_or(models.len())
}

#[cfg(test)]
mod tests {
    use super::super::row::Data::{Normalised, Original};
    use super::super::row::tests::{function, image};
    use super::*;

    #[test]
    fn every_number_is_there_once() {
        let count = |problem, metric| keys(problem, metric).count();
        assert_eq!([count("poisson", "relative_l2"), count("darcy", "relative_l2")], [72, 168 + 144]);
        assert_eq!([count("mnist", "error_rate"), count("cifar", "error_rate")], [19 * 4, 14 * 3]);
        assert_eq!([count("mnist", "error_rate_tao"), count("cifar", "error_rate_tao")], [0, 5]);
        assert_eq!([count("poisson", "parameters"), count("darcy", "parameters")], [18, 18]);
        let eigenvalues = ["eigenvalue_smallest", "eigenvalue_largest"].map(|metric| count("poisson", metric));
        assert_eq!(eigenvalues, [12, 12]);
        // All lines were read, and no key stands twice.
        let distinct = LINES.iter().map(|(key, _)| key).collect::<std::collections::BTreeSet<_>>().len();
        assert_eq!((LINES.len(), distinct), (include_str!("paper.csv").lines().count() - 1, LINES.len()));
        assert_eq!(LINES.iter().filter(|(_, value)| value.mean.is_infinite()).count(), 12);
        let functions = LINES.iter().filter(|(key, _)| key.metric == "relative_l2");
        assert!(functions.clone().all(|(_, value)| value.mean.is_infinite() == value.deviation.is_none()));
        assert!(functions.clone().all(|(key, _)| key.is_test() || key.tested_at == key.trained_at));
    }

    /// A digit that changes anywhere changes a sum of logarithms, which gives small and large numbers the same weight.
    #[test]
    fn no_digit_has_changed() {
        let sum = |metric: &str, problem: &str, number: fn(&Published) -> f64| {
            let lines = LINES.iter().filter(|(key, _)| key.metric == metric && key.problem.contains(problem));
            lines
                .map(|(_, value)| number(value))
                .filter(|value| value.is_finite())
                .map(|v| v.abs().log10())
                .sum::<f64>()
        };
        let deviation = |value: &Published| value.deviation.unwrap_or(f64::INFINITY);
        let percent = |value: &Published| 100.0 * value.mean;
        let sums = [
            sum("relative_l2", "", |value| value.mean),
            sum("relative_l2", "", deviation),
            sum("error_rate", "mnist", percent),
            sum("error_rate", "cifar", percent),
            sum("error_rate_tao", "", percent),
        ];
        let expected = [-423.556468, -1008.542737, 59.671956, 47.358445, 4.414175];
        assert!(sums.iter().zip(expected).all(|(sum, expected)| (sum - expected).abs() < 1e-5), "{sums:?}");
    }

    #[test]
    fn known_numbers_are_as_printed() {
        let pair = |key: &Key| published(key).map(|cell| (cell.mean, cell.deviation)).unwrap();
        assert_eq!(pair(&function("poisson", "nkn", Original, 2, Some(101))), (1.50e-3, Some(5.76e-5)));
        assert_eq!(pair(&function("poisson", "gkn", Original, 4, None)), (6.03e-3, Some(2.43e-1)));
        assert_eq!(pair(&function("darcy", "nkn", Normalised, 16, Some(16))), (1.29e-2, Some(7.61e-4)));
        assert_eq!(pair(&function("darcy", "gkn", Original, 64, Some(61))), (f64::INFINITY, None));
        let fine = Key { trained_at: 31, ..function("darcy", "nkn", Normalised, 16, Some(61)) };
        assert_eq!(pair(&fine), (1.38e-2, Some(8.82e-4)));
        assert_eq!(published(&Key { depth: Some(64), ..fine }), None);
        assert_eq!(pair(&image("cnn", Some(4), 28, 14)).0, 0.9042);
        assert_eq!(pair(&image("multiscale-cnn-haber", None, 14, 14)).0, 0.0172);
        let cifar = |model: &str, depth, tested_at, metric: &str| Key {
            problem: "cifar".into(),
            split: "official".into(),
            metric: metric.into(),
            ..image(model, depth, 32, tested_at)
        };
        assert_eq!(pair(&cifar("preresnet20", None, 64, "error_rate")).0, 0.5);
        assert_eq!(pair(&cifar("nkn-r4", Some(3), 16, "error_rate")).0, 0.2316);
        assert_eq!(pair(&cifar("nnn", Some(4), 32, "error_rate_tao")).0, 0.0737);
        let of = |metric: &str, depth| Key {
            data: None,
            metric: metric.into(),
            ..function("poisson", "nkn", Original, depth, None)
        };
        assert_eq!(pair(&of("parameters", 32)).0, 67_020.0);
        assert_eq!(pair(&of("eigenvalue_smallest", 1)).0, -0.1183);
    }

    #[test]
    fn models_are_in_the_papers_order() {
        assert_eq!(["gkn", "fno", "nkn", "other"].map(|model| rank("darcy", model)), [0, 1, 2, 3]);
        let mnist = ["cnn", "multiscale-cnn-haber", "multiscale-cnn", "nnn", "nkn-r2", "nkn-r3", "nkn-r4", "nkn-r9"];
        assert_eq!(mnist.map(|model| rank("mnist", model)), [0, 1, 2, 3, 4, 5, 6, 7]);
    }
}
