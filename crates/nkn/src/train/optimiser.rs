//! The algorithms that turn gradients into steps. They work on plain vectors, so that their state is plain data
//! and a resumed training continues to the bit.

use super::config::TrainConfig;
use super::soap::Soap;
use crate::linalg::vectorised;
use crate::model::Parameters;
use crate::parallel::Parallel;
use serde::{Deserialize, Serialize};

/// Which algorithm.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OptimiserKind {
    /// Adam; weight decay is added to the gradient.
    #[default]
    Adam,
    /// Adam with decoupled weight decay.
    Adamw,
    /// Adam in the eigenbasis of Shampoo's preconditioner, layer by layer; decoupled weight decay. On small,
    /// full-batch problems it takes several times fewer steps than Adam.
    Soap,
}

/// Added to the root of the second moment.
const EPSILON: f32 = 1e-8;

/// The state of the algorithm.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Optimiser {
    /// Steps taken.
    pub(crate) steps: u64,
    /// First moments, one vector per group.
    pub(crate) first: Vec<Vec<f32>>,
    /// Second moments.
    pub(crate) second: Vec<Vec<f32>>,
    /// Bases of the layers (soap).
    pub(crate) bases: Vec<Soap>,
}

impl Optimiser {
    /// A fresh state.
    pub fn new(kind: OptimiserKind, parameters: &Parameters) -> Self {
        let zeros = || parameters.groups.iter().map(|g| vec![0.0; g.values.len()]).collect();
        let bases = match kind {
            OptimiserKind::Soap => Soap::for_layers(parameters),
            _ => Vec::new(),
        };
        Self { steps: 0, first: zeros(), second: zeros(), bases }
    }

    /// All vectors of the state with their names in a checkpoint.
    pub(super) fn vectors(&mut self, parameters: &Parameters) -> Vec<(String, &mut Vec<f32>)> {
        let mut all = Vec::new();
        for (name, moments) in [("first", &mut self.first), ("second", &mut self.second)] {
            let groups = parameters.groups.iter().zip(moments);
            all.extend(groups.map(|(group, moments)| (format!("{name}.{}", group.name), moments)));
        }
        for (index, soap) in self.bases.iter_mut().enumerate() {
            for (name, side) in [("left", &mut soap.left), ("right", &mut soap.right)] {
                let Some(side) = side else { continue };
                all.push((format!("soap.{index}.{name}.average"), &mut side.average));
                all.push((format!("soap.{index}.{name}.basis"), &mut side.basis));
            }
        }
        all
    }

    /// One step against the gradients (one vector per group) at the given learning rate.
    pub fn step(&mut self, config: &TrainConfig, rate: f64, parameters: &mut Parameters, gradients: &mut [Vec<f32>]) {
        self.steps += 1;
        let decay = config.weight_decay as f32;
        if config.optimiser == OptimiserKind::Adam && decay > 0.0 {
            for (group, gradient) in parameters.groups.iter().zip(gradients.iter_mut()) {
                for (g, p) in gradient.iter_mut().zip(&group.values) {
                    *g += decay * p;
                }
            }
        }
        let adam = Adam::new(config, rate, self.steps);
        if config.optimiser == OptimiserKind::Soap {
            for soap in &mut self.bases {
                let (group, range) = (soap.group, soap.range.clone());
                let state = (&mut self.first[group][range.clone()], &mut self.second[group][range.clone()]);
                let values = &mut parameters.groups[group].values[range.clone()];
                soap.step(&adam, self.steps, values, state, &gradients[group][range]);
            }
            if self.steps.is_multiple_of(config.basis_every as u64) {
                Soap::refresh_all(&mut self.bases, &mut self.first, &mut self.second);
            }
        }
        for (index, group) in parameters.groups.iter_mut().enumerate() {
            // What soap has not taken care of.
            for span in uncovered(group.values.len(), &self.bases, index) {
                let pieces = (&mut self.first[index][span.clone()], &mut self.second[index][span.clone()]);
                adam.step(&mut group.values[span.clone()], pieces, &gradients[index][span]);
            }
        }
    }
}

/// The parts of a group that no eigenbasis covers.
fn uncovered(length: usize, bases: &[Soap], group: usize) -> Vec<std::ops::Range<usize>> {
    let mut spans = Vec::new();
    let mut start = 0;
    for soap in bases.iter().filter(|soap| soap.group == group) {
        spans.push(start..soap.range.start);
        start = soap.range.end;
    }
    spans.push(start..length);
    spans.retain(|span| !span.is_empty());
    spans
}

/// The numbers of one Adam step.
pub(crate) struct Adam {
    pub rate: f32,
    pub beta1: f32,
    pub beta2: f32,
    /// 1 - beta, rounded once: in single precision 1 - 0.999 would be off in the fifth digit.
    pub rest1: f32,
    pub rest2: f32,
    /// 1 / (1 - beta^t).
    pub correction1: f32,
    pub correction2: f32,
    /// Decoupled weight decay times the rate.
    pub decay: f32,
}

impl Adam {
    fn new(config: &TrainConfig, rate: f64, step: u64) -> Self {
        let [beta1, beta2] = config.betas;
        let correction = |beta: f64| (1.0 / (1.0 - beta.powi(step.min(i32::MAX as u64) as i32))) as f32;
        let decoupled = config.optimiser != OptimiserKind::Adam;
        Self {
            rate: rate as f32,
            beta1: beta1 as f32,
            beta2: beta2 as f32,
            rest1: (1.0 - beta1) as f32,
            rest2: (1.0 - beta2) as f32,
            correction1: correction(beta1),
            correction2: correction(beta2),
            decay: if decoupled { (rate * config.weight_decay) as f32 } else { 0.0 },
        }
    }

    /// The direction for one number, after its moments are updated.
    #[inline(always)]
    pub fn direction(&self, gradient: f32, first: &mut f32, second: &mut f32) -> f32 {
        *first = self.beta1 * *first + self.rest1 * gradient;
        *second = self.beta2 * *second + self.rest2 * gradient * gradient;
        *first * self.correction1 / ((*second * self.correction2).sqrt() + EPSILON)
    }

    fn step(&self, values: &mut [f32], (first, second): (&mut [f32], &mut [f32]), gradient: &[f32]) {
        const PIECE: usize = 1 << 16;
        values
            .chunks_mut(PIECE)
            .zip(first.chunks_mut(PIECE))
            .zip(second.chunks_mut(PIECE))
            .zip(gradient.chunks(PIECE))
            .parallel()
            .for_each(|(((values, first), second), gradient)| {
                vectorised!({
                    for (((v, m), s), &g) in values.iter_mut().zip(first).zip(second).zip(gradient) {
                        let direction = self.direction(g, m, s);
                        *v -= self.rate * direction + self.decay * *v;
                    }
                })
            });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::parameters::Group;
    use crate::model::{ModelConfig, Space};

    fn parameters() -> Parameters {
        let config = ModelConfig { kernel: vec![8, 8], fields: vec!["f".into()], ..Default::default() };
        Parameters::init(&config, &Space::Functions { dim: 1 }, 1, crate::seed::Seed::new(3)).unwrap()
    }

    /// The first steps of Adam and AdamW, computed by hand.
    #[test]
    fn adam_by_hand() {
        let mut parameters = parameters();
        parameters.groups = vec![Group { name: "a".into(), entries: vec![], values: vec![1.0, -2.0] }];
        let config = TrainConfig { betas: [0.9, 0.999], ..Default::default() };
        let mut optimiser = Optimiser::new(config.optimiser, &parameters);
        optimiser.step(&config, 0.1, &mut parameters, &mut [vec![0.5, -4.0]]);
        // Bias correction makes the first step rate * sign(gradient).
        assert!((parameters.groups[0].values[0] - 0.9).abs() < 1e-6);
        assert!((parameters.groups[0].values[1] + 1.9).abs() < 1e-6);
        optimiser.step(&config, 0.1, &mut parameters, &mut [vec![0.0, -4.0]]);
        let first = (0.9 * 0.05) / (1.0 - 0.81);
        let second: f64 = (0.999 * 0.00025) / (1.0 - 0.999f64.powi(2));
        assert!((parameters.groups[0].values[0] as f64 - (0.9 - 0.1 * first / second.sqrt())).abs() < 1e-6);
        let config = TrainConfig { optimiser: OptimiserKind::Adamw, weight_decay: 0.5, ..config };
        let mut fresh = Optimiser::new(config.optimiser, &parameters);
        parameters.groups[0].values = vec![1.0, -2.0];
        fresh.step(&config, 0.1, &mut parameters, &mut [vec![0.5, -4.0]]);
        assert!((parameters.groups[0].values[0] - (1.0 - 0.1 - 0.05)).abs() < 1e-6);
    }

    /// All algorithms find the minimum of an ill-conditioned quadratic form.
    #[test]
    fn all_algorithms_minimise() {
        for optimiser in [OptimiserKind::Adam, OptimiserKind::Adamw, OptimiserKind::Soap] {
            let mut parameters = parameters();
            let config = TrainConfig { optimiser, betas: [0.9, 0.95], ..Default::default() };
            let mut state = Optimiser::new(optimiser, &parameters);
            let objective = |p: &Parameters| -> f64 {
                let values = p.groups.iter().flat_map(|g| g.values.iter().enumerate());
                values.map(|(i, &v)| (1.0 + (i % 7) as f64) * (v as f64 - 0.3).powi(2)).sum()
            };
            let start = objective(&parameters);
            for step in 0..400 {
                let rate = 0.03 * (1.0 - step as f64 / 400.0);
                let mut gradients: Vec<Vec<f32>> = parameters
                    .groups
                    .iter()
                    .map(|g| {
                        g.values.iter().enumerate().map(|(i, v)| 2.0 * (1.0 + (i % 7) as f32) * (v - 0.3)).collect()
                    })
                    .collect();
                state.step(&config, rate, &mut parameters, &mut gradients);
            }
            let end = objective(&parameters);
            assert!(end < 1e-4 * start, "{optimiser:?}: {start} to {end}");
        }
    }
}
