//! What is compared: an error of the paper and ours, under the same key.

use std::cmp::Ordering;

/// A loss above this counts as infinite: the paper prints INF.
pub const LARGEST_LOSS: f64 = 1e5;

/// The models in the order of the paper's tables.
pub const MODELS: [&str; 3] = ["gkn", "fno", "nkn"];

/// Where an error belongs.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    /// "poisson" or "darcy".
    pub experiment: String,
    /// "gkn", "fno" or "nkn".
    pub model: String,
    /// The number of layers.
    pub depth: usize,
    /// "train" or "test".
    pub split: String,
    /// Points per axis of the training grid.
    pub trained_at: usize,
    /// Points per axis of the grid of the error; for "train" that of the training.
    pub tested_at: usize,
    /// Whether the model was trained on normalised data.
    pub normalised: bool,
}

/// An error that the paper prints.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Published {
    /// The mean over five runs; infinite where the paper says INF.
    pub mean: f64,
    /// Its standard error.
    pub error: Option<f64>,
}

/// Our errors, one per seed.
#[derive(Debug, Clone, PartialEq)]
pub struct Measured {
    /// Relative L² errors.
    pub values: Vec<f64>,
}

/// What to make of a measured error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// The network has learned something.
    Ok,
    /// It is no better than a prediction that does not look at its input.
    Collapsed,
    /// It has blown up.
    Infinite,
}

impl Measured {
    /// The mean over the seeds; not a number without seeds.
    pub fn mean(&self) -> f64 {
        self.values.iter().sum::<f64>() / self.values.len() as f64
    }

    /// The standard error of the mean, as in the paper; none for a single seed or if a value is not finite.
    pub fn standard_error(&self) -> Option<f64> {
        let (count, mean) = (self.values.len() as f64, self.mean());
        let squares: f64 = self.values.iter().map(|value| (value - mean).powi(2)).sum();
        Some((squares / (count - 1.0) / count).sqrt()).filter(|error| count > 1.0 && error.is_finite())
    }

    /// The state of the mean; errors from `collapse` upwards are those of a collapsed network.
    pub fn state(&self, collapse: f64) -> State {
        match self.mean() {
            mean if !mean.is_finite() || mean > LARGEST_LOSS => State::Infinite,
            mean if mean >= collapse => State::Collapsed,
            _ => State::Ok,
        }
    }

    /// How many seeds have collapsed or blown up. A mean over good and collapsed seeds describes neither.
    pub fn failed_seeds(&self, collapse: f64) -> usize {
        // Written so that not-a-number counts as failed.
        self.values.iter().filter(|&&value| !matches!(value.partial_cmp(&collapse), Some(Ordering::Less))).count()
    }
}

/// The error from which a network counts as collapsed.
///
/// A network that ignores its input predicts one function for all samples. On Poisson the best such function has an error of
/// 0.49 (zero has 1), on Darcy a constant has 0.57 to 0.63. A pointwise normaliser, which FNO has, already carries the mean solution: what is left
/// then is 0.28 on Darcy.
pub fn collapse_threshold(key: &Key) -> f64 {
    match (key.experiment.as_str(), key.model.as_str(), key.normalised) {
        ("darcy", "fno", true) => 0.25,
        ("darcy", ..) => 0.5,
        _ => 0.48,
    }
}

/// A model's name as it is printed.
pub fn display_name(model: &str) -> String {
    model.to_uppercase()
}

/// The place of a model in tables and legends; models that the paper does not have come last.
pub fn model_rank(model: &str) -> usize {
    MODELS.iter().position(|&name| name == model).unwrap_or(MODELS.len())
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// A key of the coarse Darcy table or of the Poisson table.
    pub fn key(experiment: &str, model: &str, depth: usize, test: Option<usize>, normalised: bool) -> Key {
        let trained_at = if experiment == "poisson" { 101 } else { 16 };
        Key {
            experiment: experiment.into(),
            model: model.into(),
            depth,
            split: if test.is_some() { "test" } else { "train" }.into(),
            trained_at,
            tested_at: test.unwrap_or(trained_at),
            normalised,
        }
    }

    /// Values over seeds.
    pub fn measured(values: &[f64]) -> Measured {
        Measured { values: values.to_vec() }
    }

    #[test]
    fn the_standard_error_is_that_of_the_sample() {
        let three = measured(&[1.0, 2.0, 3.0]);
        assert_eq!(three.mean(), 2.0);
        assert!((three.standard_error().unwrap() - 1.0 / 3f64.sqrt()).abs() < 1e-15);
        assert_eq!(measured(&[1.0]).standard_error(), None);
        assert_eq!(measured(&[1.0, f64::INFINITY]).standard_error(), None);
    }

    #[test]
    fn the_state_follows_the_mean() {
        assert_eq!(measured(&[0.1]).state(0.9), State::Ok);
        assert_eq!(measured(&[0.9]).state(0.9), State::Collapsed);
        assert_eq!(measured(&[1e5]).state(0.9), State::Collapsed);
        assert_eq!(measured(&[1.01e5]).state(0.9), State::Infinite);
        assert_eq!(measured(&[0.1, f64::NAN]).state(0.9), State::Infinite);
        assert_eq!(measured(&[0.1, 0.95, f64::NAN]).failed_seeds(0.9), 2);
    }

    #[test]
    fn a_pointwise_normaliser_lowers_the_threshold() {
        assert_eq!(collapse_threshold(&key("poisson", "fno", 1, None, true)), 0.48);
        assert_eq!(collapse_threshold(&key("darcy", "nkn", 1, None, true)), 0.5);
        assert!(collapse_threshold(&key("darcy", "fno", 32, None, true)) < 0.279);
    }
}
