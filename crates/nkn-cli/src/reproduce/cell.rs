//! One cell of a comparison: our number, the paper's, and how they relate.

use super::paper::Published;
use crate::report::text::{rate, scientific, two_digits};

/// Ratios up to this factor, up or down, count as the same.
pub const ALIKE: f64 = 1.1;
/// Ratios from this factor on are strongly coloured, …
pub const CLEAR: f64 = 1.5;
/// … and from this one on most strongly.
pub const FAR: f64 = 3.0;

/// An error above this counts as infinite: the paper prints INF.
const LARGEST: f64 = 1e5;

/// What stands for a number that was not measured.
pub const NOT_RUN: &str = "–";

/// What the numbers of a table are, which decides how they are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Relative errors, as in 2.32e-3.
    Error,
    /// Shares, as in 3.20 %.
    Percent,
    /// Ratios, as in 1.52.
    Factor,
}

/// Our number beside the paper's.
#[derive(Debug, Clone, PartialEq)]
pub struct Cell {
    /// Ours, one per seed; empty if it was not run.
    pub ours: Vec<f64>,
    /// The paper's; none if it does not print one.
    pub paper: Option<Published>,
    /// What Tao et al. report, where the paper quotes it.
    pub tao: Option<f64>,
    /// What the numbers are.
    pub unit: Unit,
    /// The number from which a network counts as collapsed: it is no better than a prediction that does not look at its input.
    pub collapse: f64,
    /// Whether ours is the smallest of all networks on the same samples, whatever they were trained on; the paper's bold.
    pub is_best: bool,
    /// Whether ours is the smallest of all networks that were trained on the same data.
    pub leads: bool,
}

impl Cell {
    /// Whether it was measured.
    pub fn is_run(&self) -> bool {
        !self.ours.is_empty()
    }

    /// Our mean, infinite if it is larger than the paper prints or not a number.
    pub fn mean(&self) -> Option<f64> {
        let mean = self.ours.iter().sum::<f64>() / self.ours.len() as f64;
        self.is_run().then_some(if mean <= LARGEST { mean } else { f64::INFINITY })
    }

    /// The standard error of the mean, as in the paper: none for a single seed or if a value is not finite.
    pub fn standard_error(&self) -> Option<f64> {
        let (count, mean) = (self.ours.len() as f64, self.mean()?);
        let squares: f64 = self.ours.iter().map(|value| (value - mean).powi(2)).sum();
        Some((squares / (count - 1.0) / count).sqrt()).filter(|error| count > 1.0 && error.is_finite())
    }

    /// Our mean if the network has learned something: only such a network can win.
    pub fn learned(&self) -> Option<f64> {
        self.mean().filter(|&mean| mean < self.collapse)
    }

    /// Ours divided by the paper's; one if both are infinite.
    pub fn ratio(&self) -> Option<f64> {
        let (ours, paper) = (self.mean()?, self.paper?.mean);
        Some(if ours == paper { 1.0 } else { ours / paper })
    }

    /// How ours compares with the paper's, from -3 (much better) over 0 (within ten percent) to 3 (much worse).
    pub fn level(&self) -> Option<i8> {
        let ratio = self.ratio()?;
        // Steps of the logarithm, so that half and double are equally far from one.
        let size = ratio.log2().abs();
        let steps = [ALIKE, CLEAR, FAR].iter().filter(|&factor| size > factor.log2()).count() as i8;
        Some(if ratio < 1.0 { -steps } else { steps })
    }

    /// A number as the paper prints it.
    pub fn write(&self, value: f64) -> String {
        match self.unit {
            _ if !value.is_finite() => "INF".into(),
            Unit::Error if (1.0..9.995).contains(&value) => format!("{value:.2}"),
            Unit::Error => scientific(value),
            Unit::Percent => rate(value),
            Unit::Factor => format!("{value:.*}", if value < 9.995 { 2 } else { usize::from(value < 99.95) }),
        }
    }

    fn plus_minus(&self, error: Option<f64>) -> String {
        match (error, self.unit) {
            (None, _) => String::new(),
            (Some(error), Unit::Error) => format!("±{error:.1e}"),
            (Some(error), Unit::Percent) => format!("±{:.2}", 100.0 * error),
            (Some(error), Unit::Factor) => format!("±{error:.2}"),
        }
    }

    /// Our mean as it is printed.
    pub fn mean_text(&self) -> String {
        self.mean().map_or_else(|| NOT_RUN.to_owned(), |mean| self.write(mean))
    }

    /// Our standard error, or nothing.
    pub fn error_text(&self) -> String {
        self.plus_minus(self.standard_error())
    }

    /// The mark of collapsed seeds: † if all have, with numbers if only some have: a mean over both describes neither.
    pub fn mark(&self) -> String {
        // Written so that not-a-number counts as failed.
        let learned = self.ours.iter().filter(|&&value| value < self.collapse).count();
        match (self.ours.len() - learned, self.ours.len()) {
            (0, _) => String::new(),
            _ if self.mean().is_some_and(f64::is_infinite) => String::new(),
            (failed, seeds) if failed == seeds => "†".to_owned(),
            (failed, seeds) => format!("†{failed}/{seeds}"),
        }
    }

    /// The paper's mean as it is printed, or nothing.
    pub fn paper_text(&self) -> String {
        self.paper.map(|paper| self.write(paper.mean)).unwrap_or_default()
    }

    /// The paper's standard error, or nothing.
    pub fn paper_error_text(&self) -> String {
        self.plus_minus(self.paper.and_then(|paper| paper.deviation))
    }

    /// The ratio as in ×1.3, or nothing where it would not be a number.
    pub fn ratio_text(&self) -> String {
        let ratio = self.ratio().filter(|ratio| ratio.is_finite() && *ratio > 0.0);
        ratio.map(|ratio| format!("×{}", two_digits(ratio))).unwrap_or_default()
    }

    /// The number of Tao et al. with their name, or nothing.
    pub fn tao_text(&self) -> String {
        self.tao.map(|tao| format!("Tao et al. {}", self.write(tao))).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A cell with a threshold of 0.9.
    fn cell(ours: &[f64], paper: Option<f64>) -> Cell {
        let paper = paper.map(|mean| Published { mean, deviation: Some(mean / 10.0) });
        let ours = ours.to_vec();
        Cell { ours, paper, tao: None, unit: Unit::Error, collapse: 0.9, is_best: false, leads: false }
    }

    #[test]
    fn the_standard_error_is_that_of_the_sample() {
        let three = cell(&[1.0, 2.0, 3.0], None);
        assert_eq!(three.mean(), Some(2.0));
        assert!((three.standard_error().unwrap() - 1.0 / 3f64.sqrt()).abs() < 1e-15);
        assert_eq!(cell(&[1.0], None).standard_error(), None);
        assert_eq!(cell(&[1.0, f64::INFINITY], None).standard_error(), None);
    }

    #[test]
    fn levels_are_symmetric_in_the_logarithm() {
        let level = |ours: f64, paper: f64| cell(&[ours], Some(paper)).level();
        assert_eq!([1.05, 1.2, 2.0, 4.0].map(|ours| level(0.1 * ours, 0.1)), [0, 1, 2, 3].map(Some));
        assert_eq!([1.05, 1.2, 2.0, 4.0].map(|paper| level(0.1, 0.1 * paper)), [0, -1, -2, -3].map(Some));
    }

    #[test]
    fn infinities_compare() {
        assert_eq!(cell(&[2e5], Some(0.1)).level(), Some(3));
        assert_eq!(cell(&[0.1], Some(f64::INFINITY)).level(), Some(-3));
        assert_eq!(cell(&[2e5], Some(f64::INFINITY)).level(), Some(0));
        assert_eq!(cell(&[f64::NAN], Some(0.1)).mean_text(), "INF");
        assert_eq!(cell(&[f64::NAN], Some(0.1)).ratio_text(), "");
        assert_eq!(cell(&[f64::NAN, 1.0], None).error_text(), "");
    }

    #[test]
    fn numbers_are_printed_as_in_the_paper() {
        let both = cell(&[2e-3, 4e-3], Some(2e-3));
        assert_eq!([both.mean_text(), both.error_text(), both.mark()], ["3.00e-3", "±1.0e-3", ""]);
        assert_eq!([both.paper_text(), both.paper_error_text()], ["2.00e-3", "±2.0e-4"]);
        assert_eq!(both.ratio_text(), "×1.5");
        assert_eq!([0.999, 1.004, 9.996].map(|value| both.write(value)), ["9.99e-1", "1.00", "1.00e1"]);
        let missing = cell(&[], None);
        assert_eq!([missing.mean_text(), missing.error_text(), missing.paper_text()], ["–", "", ""]);
        assert_eq!((missing.level(), missing.standard_error()), (None, None));
        let percent = Cell { unit: Unit::Percent, tao: Some(0.0737), ..cell(&[0.01, 0.03], Some(0.04)) };
        assert_eq!([percent.mean_text(), percent.error_text(), percent.paper_text()], ["2.00 %", "±1.00", "4.00 %"]);
        assert_eq!(percent.tao_text(), "Tao et al. 7.37 %");
        let factor = Cell { unit: Unit::Factor, ..missing };
        let factors = [1.0, 9.994, 9.996, 53.82, 99.96, 250.4].map(|value| factor.write(value));
        assert_eq!(factors, ["1.00", "9.99", "10.0", "53.8", "100", "250"]);
    }

    #[test]
    fn collapsed_seeds_are_marked_and_do_not_win() {
        assert_eq!(cell(&[0.99, 1.0], None).mark(), "†");
        assert_eq!(cell(&[0.01, 1.0], None).mark(), "†1/2");
        assert_eq!(cell(&[0.9], None).learned(), None);
        assert_eq!(cell(&[0.01, 0.02], None).learned(), Some(0.015));
        assert_eq!([cell(&[1e6], None).mark(), cell(&[0.1, f64::NAN], None).mark()], ["", ""]);
    }
}
