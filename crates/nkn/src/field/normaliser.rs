//! Shifting and scaling of fields to mean 0 and standard deviation 1.

use super::resample::resample;
use crate::Result;
use crate::domain::Domain;
use serde::{Deserialize, Serialize};

/// Added to a standard deviation, so that a constant field does not divide by zero.
const FLOOR: f64 = 1e-5;

/// The same as a share of the deviation over all values, where that is less: in small units 1e-5 may be large.
const SHARE: f64 = 1e-2;

/// Over what mean and deviation are taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NormaliserKind {
    /// The field is used as it is.
    #[default]
    None,
    /// One mean and one deviation over all samples and nodes.
    Scalar,
    /// One mean and one deviation per node, over the samples.
    Pointwise,
}

/// The statistics of one field: none, one number each, or one per node of the training domain.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Normaliser {
    /// Means.
    pub mean: Vec<f64>,
    /// Deviations, unbiased, with a small floor added.
    pub std: Vec<f64>,
}

impl Normaliser {
    /// Takes the statistics of samples x nodes x components values. The components of a vector have a mean each and one
    /// deviation together, so that its direction stays what it is.
    pub fn fit(kind: NormaliserKind, values: &[f64], nodes: usize, components: usize) -> Self {
        let (_, spread) = statistics(values.iter().copied(), 0.0);
        let floor = if spread > 0.0 { FLOOR.min(SHARE * spread) } else { FLOOR };
        match kind {
            NormaliserKind::None => Self::default(),
            NormaliserKind::Scalar => {
                let of =
                    |component: usize| statistics(values.iter().skip(component).step_by(components).copied(), floor);
                let (mean, deviations): (Vec<f64>, Vec<f64>) = (0..components).map(of).unzip();
                let std = match deviations[..] {
                    [one] => one,
                    _ => (deviations.iter().map(|s| s * s).sum::<f64>() / components as f64).sqrt(),
                };
                Self { mean, std: vec![std; components] }
            }
            NormaliserKind::Pointwise => {
                let size = nodes * components;
                let at = |place: usize| values.iter().skip(place).step_by(size).copied();
                let (mean, std) = (0..size).map(|place| statistics(at(place), floor)).unzip();
                Self { mean, std }
            }
        }
    }

    /// The statistics for another domain: pointwise ones are interpolated from the training domain, deviations to none
    /// that is smaller than those at its nodes.
    pub fn on(&self, training: Option<&Domain>, domain: &Domain, components: usize) -> Result<Self> {
        match training {
            Some(training) if self.mean.len() > components && training != domain => {
                let on = |values: &[f64]| resample(values, training, domain, components);
                let least = self.std.iter().copied().fold(f64::INFINITY, f64::min);
                Ok(Self { mean: on(&self.mean)?, std: on(&self.std)?.into_iter().map(|std| std.max(least)).collect() })
            }
            _ => Ok(self.clone()),
        }
    }

    /// Physical to normalised values.
    pub fn encode(&self, values: &[f64]) -> Vec<f64> {
        self.map(values, |value, mean, std| (value - mean) / std)
    }

    /// Normalised to physical values.
    pub fn decode(&self, values: &[f64]) -> Vec<f64> {
        self.map(values, |value, mean, std| value * std + mean)
    }

    fn map(&self, values: &[f64], f: impl Fn(f64, f64, f64) -> f64) -> Vec<f64> {
        let length = self.mean.len();
        let apply = |(i, &value): (usize, &f64)| match length {
            0 => value,
            _ => f(value, self.mean[i % length], self.std[i % length]),
        };
        values.iter().enumerate().map(apply).collect()
    }
}

/// Mean and unbiased standard deviation, with something added.
fn statistics(values: impl Iterator<Item = f64> + Clone, floor: f64) -> (f64, f64) {
    let count = values.clone().count() as f64;
    let mean = values.clone().sum::<f64>() / count.max(1.0);
    let squares: f64 = values.map(|v| (v - mean) * (v - mean)).sum();
    (mean, (squares / (count - 1.0).max(1.0)).sqrt() + floor)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Grid;
    use proptest::prelude::*;

    #[test]
    fn scalar_and_pointwise_statistics() {
        let values = [1.0, 10.0, 3.0, 30.0];
        let scalar = Normaliser::fit(NormaliserKind::Scalar, &values, 2, 1);
        assert!((scalar.mean[0] - 11.0).abs() < 1e-12);
        // Deviations -10, -1, -8, 19: squares sum to 526, over three degrees of freedom.
        assert!((scalar.std[0] - (526.0f64 / 3.0).sqrt() - FLOOR).abs() < 1e-12);
        let pointwise = Normaliser::fit(NormaliserKind::Pointwise, &values, 2, 1);
        assert_eq!(pointwise.mean, [2.0, 20.0]);
        assert!((pointwise.std[1] - 200f64.sqrt() - FLOOR).abs() < 1e-12);
    }

    /// Metres or kilometres: the network sees the same numbers.
    #[test]
    fn units_do_not_matter() {
        let values = [1.0, 0.0, 3.0, 0.0, -2.0, 0.0, 5.0, 0.0];
        for kind in [NormaliserKind::Scalar, NormaliserKind::Pointwise] {
            let encoded = |unit: f64| {
                let values = values.map(|v| unit * v);
                Normaliser::fit(kind, &values, 2, 1).encode(&values)
            };
            for (small, usual) in encoded(1e-9).iter().zip(encoded(1e-2)) {
                assert!((small - usual).abs() < 0.02 * usual.abs().max(1e-3), "{kind:?}: {small} {usual}");
            }
        }
        assert_eq!(Normaliser::fit(NormaliserKind::Scalar, &[2.0; 4], 2, 1).std, [FLOOR]);
    }

    #[test]
    fn pointwise_statistics_follow_the_resolution() {
        let coarse = Domain::Grid(Grid::unit(&[3]).unwrap());
        let fine = Domain::Grid(Grid::unit(&[5]).unwrap());
        let normaliser = Normaliser { mean: vec![0.0, 1.0, 4.0], std: vec![1.0, 1.0, 2.0] };
        let finer = normaliser.on(Some(&coarse), &fine, 1).unwrap();
        assert_eq!(finer.mean, [0.0, 0.25, 1.0, 2.25, 4.0]);
        assert_eq!(finer.std, [1.0, 1.0, 1.0, 1.375, 2.0], "a parabola that would fall below 1");
    }

    proptest! {
        #[test]
        fn decoding_undoes_encoding(values in prop::collection::vec(-1e3..1e3f64, 12), kind in 0..3) {
            let kind = [NormaliserKind::None, NormaliserKind::Scalar, NormaliserKind::Pointwise][kind as usize];
            let normaliser = Normaliser::fit(kind, &values, 4, 1);
            for (a, b) in normaliser.decode(&normaliser.encode(&values)).iter().zip(&values) {
                prop_assert!((a - b).abs() < 1e-9);
            }
        }
    }
}
