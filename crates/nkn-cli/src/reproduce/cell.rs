//! One cell of a comparison: our error, the paper's, and how they relate.

use super::model::{Measured, Published, State};
use crate::report::text::{scientific, two_digits};

/// Ratios up to this factor, up or down, count as the same.
pub const ALIKE: f64 = 1.1;
/// Ratios from this factor on are strongly coloured, …
pub const CLEAR: f64 = 1.5;
/// … and from this one on most strongly.
pub const FAR: f64 = 3.0;

/// What stands for an error that was not measured.
pub const NOT_RUN: &str = "–";
/// What stands for an infinite error, as in the paper.
pub const INFINITE: &str = "INF";

/// Our error beside the paper's.
#[derive(Debug, Clone, PartialEq)]
pub struct Cell {
    /// Ours; none if it was not run.
    pub ours: Option<Measured>,
    /// The paper's; none if it does not print one.
    pub paper: Option<Published>,
    /// The error from which a network counts as collapsed.
    pub collapse: f64,
    /// Whether ours is the smallest of all models on normalised and original data; the paper's bold.
    pub is_best: bool,
    /// Whether ours is the smallest of all models trained on the same data.
    pub leads: bool,
}

impl Cell {
    /// The state of our error.
    pub fn state(&self) -> Option<State> {
        Some(self.ours.as_ref()?.state(self.collapse))
    }

    /// Our mean error, infinite if it is larger than the paper prints.
    pub fn mean(&self) -> Option<f64> {
        let ours = self.ours.as_ref()?;
        Some(if self.state()? == State::Infinite { f64::INFINITY } else { ours.mean() })
    }

    /// Our mean error if the network has learned something: only such a network can win.
    pub fn learned(&self) -> Option<f64> {
        self.mean().filter(|_| self.state() == Some(State::Ok))
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

    /// Our mean as it is printed.
    pub fn mean_text(&self) -> String {
        self.mean().map_or_else(|| NOT_RUN.to_owned(), number)
    }

    /// Our standard error with so many decimals, or nothing.
    pub fn error_text(&self, decimals: usize) -> String {
        let error = self.ours.as_ref().filter(|_| self.mean().is_some_and(f64::is_finite));
        error.and_then(Measured::standard_error).map(|error| plus_minus(error, decimals)).unwrap_or_default()
    }

    /// The mark of collapsed seeds: † if the mean is that of a collapsed network, with numbers if only some have.
    pub fn mark(&self) -> String {
        let Some(ours) = &self.ours else { return String::new() };
        match (ours.failed_seeds(self.collapse), ours.values.len()) {
            _ if self.state() == Some(State::Infinite) => String::new(),
            (0, _) => String::new(),
            (failed, seeds) if failed == seeds => "†".to_owned(),
            (failed, seeds) => format!("†{failed}/{seeds}"),
        }
    }

    /// The paper's mean as it is printed, or nothing.
    pub fn paper_mean_text(&self) -> String {
        self.paper.map(|paper| number(paper.mean)).unwrap_or_default()
    }

    /// The paper's standard error with so many decimals, or nothing; it is printed with two.
    pub fn paper_error_text(&self, decimals: usize) -> String {
        self.paper.and_then(|paper| paper.error).map(|error| plus_minus(error, decimals)).unwrap_or_default()
    }

    /// The ratio as in ×1.3, or nothing where it would not be a number.
    pub fn ratio_text(&self) -> String {
        let ratio = self.ratio().filter(|ratio| ratio.is_finite() && *ratio > 0.0);
        ratio.map(|ratio| format!("×{}", two_digits(ratio))).unwrap_or_default()
    }
}

/// As the paper prints it: 2.32e-3, 1.00, INF.
fn number(value: f64) -> String {
    match value {
        value if !value.is_finite() => INFINITE.to_owned(),
        value if (1.0..9.995).contains(&value) => format!("{value:.2}"),
        value => scientific(value),
    }
}

fn plus_minus(error: f64, decimals: usize) -> String {
    format!("±{error:.decimals$e}")
}

#[cfg(test)]
pub mod tests {
    use super::super::model::tests::measured;
    use super::*;

    /// A cell with a threshold of 0.9.
    pub fn cell(ours: &[f64], paper: Option<f64>) -> Cell {
        Cell {
            ours: (!ours.is_empty()).then(|| measured(ours)),
            paper: paper.map(|mean| Published { mean, error: Some(mean / 10.0) }),
            collapse: 0.9,
            is_best: false,
            leads: false,
        }
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
        assert_eq!(cell(&[f64::NAN, 1.0], None).error_text(1), "");
    }

    #[test]
    fn numbers_are_printed_as_in_the_paper() {
        let both = cell(&[2e-3, 4e-3], Some(2e-3));
        assert_eq!([both.mean_text(), both.error_text(1), both.mark()], ["3.00e-3", "±1.0e-3", ""]);
        assert_eq!([both.paper_mean_text(), both.paper_error_text(2)], ["2.00e-3", "±2.00e-4"]);
        assert_eq!(both.ratio_text(), "×1.5");
        assert_eq!([0.999, 1.004, 9.996].map(number), ["9.99e-1", "1.00", "1.00e1"]);
        let missing = cell(&[], None);
        assert_eq!([missing.mean_text(), missing.error_text(1), missing.paper_mean_text()], ["–", "", ""]);
        assert_eq!(missing.level(), None);
    }

    #[test]
    fn collapsed_seeds_are_marked_and_do_not_win() {
        assert_eq!(cell(&[0.99, 1.0], None).mark(), "†");
        assert_eq!(cell(&[0.01, 1.0], None).mark(), "†1/2");
        assert_eq!(cell(&[0.99, 1.0], None).learned(), None);
        assert_eq!(cell(&[0.01, 0.02], None).learned(), Some(0.015));
        assert_eq!(cell(&[1e6], None).mark(), "");
    }
}
