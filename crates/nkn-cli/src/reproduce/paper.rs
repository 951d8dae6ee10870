//! The numbers that the paper prints, cell by cell.
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

use std::collections::BTreeMap;
use std::sync::LazyLock;

use super::model::{Key, Published};

/// A table that is parsed when it is first asked for.
type Embedded<K, V> = LazyLock<BTreeMap<K, V>>;

static ERRORS: Embedded<Key, Published> =
    LazyLock::new(|| rows(include_str!("paper.csv")).filter_map(|row| error(&row)).collect());

static COUNTS: Embedded<(&str, &str, usize), &str> = LazyLock::new(|| {
    let row = |row: Vec<&'static str>| match row[..] {
        [experiment, model, depth, printed] => Some(((experiment, model, depth.parse().ok()?), printed)),
        _ => None,
    };
    rows(include_str!("paper_counts.csv")).filter_map(row).collect()
});

static EIGENVALUES: Embedded<(&str, usize), (f64, f64)> = LazyLock::new(|| {
    let row = |row: Vec<&'static str>| match row[..] {
        [model, depth, largest, smallest] => {
            Some(((model, depth.parse().ok()?), (smallest.parse().ok()?, largest.parse().ok()?)))
        }
        _ => None,
    };
    rows(include_str!("paper_eigenvalues.csv")).filter_map(row).collect()
});

/// The fields of each line after the heading.
fn rows(csv: &'static str) -> impl Iterator<Item = Vec<&'static str>> {
    csv.lines().skip(1).map(|line| line.split(',').collect())
}

/// One line of the table of errors.
fn error(row: &[&str]) -> Option<(Key, Published)> {
    let &[experiment, model, depth, split, trained_at, tested_at, normalised, mean, error] = row else {
        return None;
    };
    let key = Key {
        experiment: experiment.into(),
        model: model.into(),
        depth: depth.parse().ok()?,
        split: split.into(),
        trained_at: trained_at.parse().ok()?,
        tested_at: tested_at.parse().ok()?,
        normalised: normalised.parse().ok()?,
    };
    Some((key, Published { mean: mean.parse().ok()?, error: error.parse().ok() }))
}

/// The paper's error, if it has one.
pub fn published(key: &Key) -> Option<Published> {
    ERRORS.get(key).copied()
}

/// The keys of one of the paper's tables.
pub fn keys(experiment: &str, trained_at: usize) -> impl Iterator<Item = &'static Key> {
    ERRORS.keys().filter(move |key| key.experiment == experiment && key.trained_at == trained_at)
}

/// The number of parameters as printed, as in 66.82k.
pub fn published_count(experiment: &str, model: &str, depth: usize) -> Option<&'static str> {
    COUNTS.get(&(experiment, model, depth)).copied()
}

/// The depths for which the paper prints the number of parameters.
pub fn count_depths(experiment: &str) -> impl Iterator<Item = usize> {
    COUNTS.keys().filter(move |key| key.0 == experiment).map(|key| key.2)
}

/// The smallest and the largest eigenvalue of the operator R - L_k on Poisson.
pub fn published_eigenvalues(model: &str, depth: usize) -> Option<(f64, f64)> {
    EIGENVALUES.get(&(model, depth)).copied()
}

/// The depths for which the paper prints eigenvalues.
pub fn eigenvalue_depths() -> impl Iterator<Item = usize> {
    EIGENVALUES.keys().map(|key| key.1)
}

#[cfg(test)]
mod tests {
    use super::super::model::tests::key;
    use super::*;

    fn pair(key: &Key) -> (f64, Option<f64>) {
        published(key).map(|cell| (cell.mean, cell.error)).unwrap()
    }

    #[test]
    fn every_cell_of_the_three_tables_is_there() {
        assert_eq!(ERRORS.len(), 72 + 168 + 144);
        let cells = |experiment, trained_at| keys(experiment, trained_at).count();
        assert_eq!([cells("poisson", 101), cells("darcy", 16), cells("darcy", 31)], [72, 168, 144]);
        assert_eq!(ERRORS.values().filter(|cell| cell.mean.is_infinite()).count(), 12);
        assert!(ERRORS.values().all(|cell| cell.mean.is_infinite() == cell.error.is_none()));
        assert!(ERRORS.keys().all(|key| key.split == "test" || key.tested_at == key.trained_at));
        assert_eq!((COUNTS.len(), EIGENVALUES.len()), (36, 12));
    }

    /// A digit that changes anywhere changes a sum of logarithms, which gives small and large numbers the same weight.
    #[test]
    fn no_digit_has_changed() {
        let sum =
            |values: &mut dyn Iterator<Item = f64>| values.filter(|value| value.is_finite()).map(f64::log10).sum();
        let means: f64 = sum(&mut ERRORS.values().map(|cell| cell.mean));
        let errors: f64 = sum(&mut ERRORS.values().filter_map(|cell| cell.error));
        assert!((means + 423.556468).abs() < 1e-5 && (errors + 1008.542737).abs() < 1e-5, "{means} {errors}");
    }

    #[test]
    fn known_errors_are_as_printed() {
        assert_eq!(pair(&key("poisson", "nkn", 2, Some(101), false)), (1.50e-3, Some(5.76e-5)));
        assert_eq!(pair(&key("poisson", "gkn", 4, None, false)), (6.03e-3, Some(2.43e-1)));
        assert_eq!(pair(&key("poisson", "fno", 32, Some(101), true)), (1.0, Some(8.05e-5)));
        assert_eq!(pair(&key("darcy", "nkn", 16, Some(16), true)), (1.29e-2, Some(7.61e-4)));
        assert_eq!(pair(&key("darcy", "gkn", 16, None, false)), (302.0, Some(177.0)));
        assert_eq!(pair(&key("darcy", "gkn", 64, Some(61), false)), (f64::INFINITY, None));
        // The rows that the source breaks over two lines.
        assert_eq!(pair(&key("poisson", "fno", 4, Some(101), false)), (1.08e-1, Some(3.50e-3)));
        assert_eq!(pair(&key("darcy", "fno", 64, Some(61), true)), (2.81e-1, Some(8.39e-5)));
        let fine = Key { trained_at: 31, ..key("darcy", "nkn", 16, Some(61), true) };
        assert_eq!(pair(&fine), (1.38e-2, Some(8.82e-4)));
        assert_eq!(published(&Key { depth: 64, ..fine }), None);
    }

    #[test]
    fn counts_and_eigenvalues_are_as_printed() {
        assert_eq!(published_count("poisson", "nkn", 32), Some("67.02k"));
        assert_eq!(published_count("darcy", "fno", 32), Some("5.35M"));
        assert_eq!(published_count("darcy", "fno", 64), None);
        assert_eq!(published_eigenvalues("nkn", 1), Some((-0.1183, 1.6012)));
        assert_eq!(published_eigenvalues("gkn", 32), Some((36.3245, 48.8081)));
    }
}
