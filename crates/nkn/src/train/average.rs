//! The mean of the weights over the last steps of a depth (Polyak and Juditsky 1992): steps that still move to and fro
//! around a minimum have it nearer to its middle than any one of them.
//!
//! The running averages of batch normalisations are averaged alike. The mean is part of the state, so a training that
//! is continued ends with the same bits.

use super::config::TrainConfig;
use super::state::State;
use crate::convolution::Statistics;
use crate::model::{Averages, Parameters};

/// Weights with the running averages that belong to them.
pub(super) type Weights = (Parameters, Averages);

impl State {
    /// The weights after a step join the mean, if it is one of the last; an epoch has so many steps.
    pub(super) fn average(&mut self, config: &TrainConfig, steps: usize) {
        let Some(share) = config.average else { return };
        let all = config.epochs.at(self.rung) * steps;
        let left_out = all - ((share * all as f64).ceil() as usize).clamp(1, all);
        if self.epoch * steps + self.step < left_out {
            return;
        }
        self.averaged += 1;
        if self.averaged == 1 {
            (self.mean, self.mean_averages) = (self.parameters.clone(), self.averages.clone());
            return;
        }
        let part = 1.0 / self.averaged as f64;
        for (mean, own) in self.mean.groups.iter_mut().zip(&self.parameters.groups) {
            mean.values.iter_mut().zip(&own.values).for_each(|(mean, &own)| *mean += part as f32 * (own - *mean));
        }
        for (mean, own) in self.mean_averages.values_mut().zip(self.averages.values()) {
            let Statistics { mean: means, variance } = mean;
            let pairs = means.iter_mut().zip(&own.mean).chain(variance.iter_mut().zip(&own.variance));
            pairs.for_each(|(mean, own)| *mean += part * (own - *mean));
        }
    }

    /// What is tested: the mean as soon as there is one, before it the weights themselves.
    pub(super) fn tested(&self) -> Weights {
        if self.averaged > 0 {
            return (self.mean.clone(), self.mean_averages.clone());
        }
        (self.parameters.clone(), self.averages.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{ModelConfig, Space};
    use crate::seed::Seed;
    use crate::train::{OptimiserKind, PerDepth};

    /// The last 3 of 2 x 5 steps: 30 %, and what is a little more than two steps is three.
    #[test]
    fn the_mean_of_the_last_steps_and_no_others() {
        let space = Space::Functions { dim: 1 };
        let model = ModelConfig { fields: vec!["f".into()], kernel: vec![2], ..ModelConfig::default() };
        for share in [0.3, 0.21] {
            let config = TrainConfig { epochs: PerDepth::Same(2), average: Some(share), ..TrainConfig::default() };
            let weights = Parameters::init(&model, &space, 1, Seed::new(0)).unwrap();
            let averages: Averages =
                [("norm".to_string(), Statistics { mean: vec![0.0], variance: vec![1.0] })].into_iter().collect();
            let mut state = State::new(1, weights, averages, OptimiserKind::Adam);
            for step in 0..10 {
                (state.epoch, state.step) = (step / 5, step % 5);
                state.parameters.groups[0].values.fill(step as f32);
                state.averages.get_mut("norm").unwrap().mean = vec![10.0 * step as f64];
                let expected = if step < 8 { step as f32 } else { (7 + step - 1) as f32 / 2.0 };
                assert_eq!(state.tested().0.groups[0].values[0], expected);
                state.average(&config, 5);
            }
            let (weights, averages) = state.tested();
            assert_eq!((state.averaged, weights.groups[0].values[0], averages["norm"].mean[0]), (3, 8.0, 80.0));
            assert_eq!(averages["norm"].variance[0], 1.0);
        }
    }
}
