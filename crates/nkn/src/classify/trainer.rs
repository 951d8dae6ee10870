//! The training of a classifier: cross entropy, Adam, one pass after the other.

use super::config::ClassifierTraining;
use super::data::{ImageSplits, Motion, TestSet, batch};
use crate::engine::Engine;
use crate::model::image::{Network, Norms, Pass, Running};
use crate::model::{ParameterTensors, Parameters};
use crate::problem::images::{Images, Resampler};
use crate::seed::{Seed, uniform};
use crate::train::{Optimiser, OptimiserKind, Outcome, TrainConfig};
use crate::{Error, Result};
use burn::tensor::{DType, Device, Tensor, TensorData, activation::log_softmax};
use serde::{Deserialize, Serialize};
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// The share of a batch in the running averages of the normalisations.
const MOMENTUM: f64 = 0.1;
/// Numbers in a state of a batch in evaluations: bounds their memory, and makes batches large enough that a kernel evaluated once per batch does not show.
const STATE: usize = 16_000_000;

/// Everything that changes while training: with it a training continues to the bit.
#[derive(Clone, Debug, PartialEq)]
pub struct ClassifierState {
    /// Epochs done.
    pub epoch: usize,
    /// Steps done in this epoch.
    pub step: usize,
    /// The weights.
    pub parameters: Parameters,
    /// Running averages of the normalisations.
    pub running: Running,
    /// The optimiser's moments.
    pub optimiser: Optimiser,
    /// Sum of the losses of this epoch's steps, times their images.
    pub loss: f64,
    /// Finished epochs.
    pub records: Vec<EpochRecord>,
    /// Seconds spent, over all sessions.
    pub seconds: f64,
}

/// A finished epoch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EpochRecord {
    /// Its number, from 1.
    pub epoch: usize,
    /// Mean loss of its steps.
    pub loss: f64,
    /// Error rate on the first test set at the training's resolution.
    pub error_rate: f64,
}

/// How a network does on a test set at a resolution.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TestResult {
    /// `validation` or `official`.
    pub set: String,
    /// Pixels along a side.
    pub side: usize,
    /// The share of wrong answers.
    pub error_rate: f64,
    /// Images of each class (rows) by answer (columns).
    pub confusion: Vec<Vec<usize>>,
}

/// An answer that is wrong.
#[derive(Clone, Debug, PartialEq)]
pub struct Mistake {
    /// The number of the image in its set.
    pub image: usize,
    /// Its class.
    pub truth: usize,
    /// The answer.
    pub answer: usize,
    /// The probability that the network gave to it.
    pub probability: f64,
}

/// What a training tells.
pub enum Happening<'a> {
    /// A step is done.
    Step {
        /// The state after it.
        state: &'a ClassifierState,
        /// Steps of an epoch.
        steps: usize,
    },
    /// An epoch is done.
    Epoch(&'a EpochRecord),
    /// The state is to be saved.
    Checkpoint(&'a ClassifierState),
}

/// A training made of its parts.
pub struct ClassifierTrainer<'a> {
    /// The network.
    pub network: &'a Network,
    /// The settings.
    pub config: &'a ClassifierTraining,
    /// The images.
    pub splits: &'a ImageSplits,
    /// Where to compute.
    pub device: Device,
    /// Asked before every step: true stops the training after a checkpoint.
    pub should_stop: &'a dyn Fn() -> bool,
    /// Told what happens; an error stops the training.
    pub observer: &'a mut dyn FnMut(Happening) -> Result<()>,
}

impl ClassifierTrainer<'_> {
    /// The state before the first step.
    pub fn start(&self) -> Result<ClassifierState> {
        let parameters = self.network.init(Seed::new(self.config.seed).derive("parameters", 0))?;
        Ok(ClassifierState {
            epoch: 0,
            step: 0,
            optimiser: Optimiser::new(OptimiserKind::Adam, &parameters),
            parameters,
            running: self.network.running()?,
            loss: 0.0,
            records: Vec::new(),
            seconds: 0.0,
        })
    }

    /// Trains from a state to the end.
    pub fn run(&mut self, state: &mut ClassifierState) -> Result<Outcome> {
        self.config.check()?;
        let images = &self.splits.train;
        let resampler = Resampler::new(images.side, self.network.shape.side)?;
        let size = self.config.batch.min(images.count);
        let steps = images.count.div_ceil(size);
        let mut since = Instant::now();
        let mut saved = Instant::now();
        while state.epoch < self.config.epochs {
            let seed = Seed::new(self.config.seed).derive("shuffle", state.epoch as u64);
            let order = seed.permutation(images.count);
            while state.step < steps {
                let stop = (self.should_stop)();
                if stop || saved.elapsed() >= Duration::from_secs_f64(self.config.checkpoint_seconds) {
                    state.seconds += since.elapsed().as_secs_f64();
                    since = Instant::now();
                    (self.observer)(Happening::Checkpoint(state))?;
                    saved = Instant::now();
                }
                if stop {
                    return Ok(Outcome::Interrupted);
                }
                let indices = &order[state.step * size..images.count.min((state.step + 1) * size)];
                let motions: Vec<Motion> =
                    indices.iter().map(|&image| Motion::draw(self.config, state.epoch, image)).collect();
                let device = self.device.clone().autodiff();
                let input = batch(images, indices, &motions, &self.splits.statistics, &resampler, &device);
                let labels: Vec<u8> = indices.iter().map(|&image| images.labels[image]).collect();
                let done = (state.epoch * steps + state.step) as f64;
                let share = self.config.decay.share(done / (self.config.epochs * steps) as f64);
                let loss = self.step(state, input, &labels, self.config.learning_rate * share)?;
                state.loss += loss * indices.len() as f64;
                state.step += 1;
                (self.observer)(Happening::Step { state, steps })?;
            }
            let error_rate = match self.splits.tests.first() {
                Some(test) => self.evaluate(state, test, self.network.shape.side)?.0.error_rate,
                None => f64::NAN,
            };
            (state.epoch, state.step) = (state.epoch + 1, 0);
            let record = EpochRecord { epoch: state.epoch, loss: state.loss / images.count as f64, error_rate };
            state.loss = 0.0;
            state.records.push(record.clone());
            (self.observer)(Happening::Epoch(&record))?;
        }
        state.seconds += since.elapsed().as_secs_f64();
        (self.observer)(Happening::Checkpoint(state))?;
        Ok(Outcome::Complete)
    }

    /// One step of the optimiser; the loss before it.
    pub fn step(&self, state: &mut ClassifierState, input: Tensor<3>, labels: &[u8], rate: f64) -> Result<f64> {
        let seen = Mutex::new(Running::new());
        let tensors = state.parameters.tensors(&input.device(), DType::F32).require_grad();
        let dropout = self.dropout(state, labels.len(), &input.device());
        let pass = Pass {
            network: self.network,
            parameters: &tensors,
            norms: Norms::Batch(&seen),
            side: self.network.shape.side,
            engine: Engine::Automatic,
            dropout,
        };
        let samples = labels.len() as f64;
        let nodes = input.dims()[0] as f64;
        let loss = cross_entropy(pass.forward(input)?, labels);
        let mut computed = loss.backward();
        let value = f64::from(loss.into_scalar::<f32>());
        let mut gradients = take_gradients(&tensors, &state.parameters, &mut computed);
        let square: f64 = gradients.iter().flatten().map(|&g| f64::from(g) * f64::from(g)).sum();
        if !(value.is_finite() && square.is_finite()) {
            return Err(Error::NotFinite {
                what: "the training loss or its gradient".into(),
                got: value,
                place: format!("in epoch {}, step {}", state.epoch + 1, state.step + 1),
                hint: "lower train.learning_rate; the last checkpoint is intact".into(),
            });
        }
        let settings = TrainConfig { weight_decay: self.config.weight_decay, ..TrainConfig::default() };
        state.optimiser.step(&settings, rate, &mut state.parameters, &mut gradients);
        for (name, statistics) in seen.into_inner().expect("nobody panics with it") {
            let running = state.running.get_mut(&name).expect("the same normalisations");
            // The variance of the population, not of the batch.
            let count = samples * nodes;
            let unbiased = count / (count - 1.0).max(1.0);
            let mix = |old: &mut [f64], new: &[f64], factor: f64| {
                old.iter_mut().zip(new).for_each(|(o, n)| *o += MOMENTUM * (factor * n - *o));
            };
            mix(&mut running.mean, &statistics.mean, 1.0);
            mix(&mut running.variance, &statistics.variance, unbiased);
        }
        Ok(value)
    }

    /// Factors that leave out a share of the dense layer's inputs.
    fn dropout(&self, state: &ClassifierState, samples: usize, device: &Device) -> Option<Tensor<2>> {
        let share = self.network.config.dropout;
        if share == 0.0 {
            return None;
        }
        let inputs = self.network.head_inputs();
        let seed = Seed::new(self.config.seed).derive("dropout", state.optimiser.steps());
        let mut rng = seed.rng();
        let kept = (1.0 / (1.0 - share)) as f32;
        let factor = |_| if uniform(&mut rng, 0.0, 1.0) < share { 0.0 } else { kept };
        let factors: Vec<f32> = (0..samples * inputs).map(factor).collect();
        Some(Tensor::from_data(TensorData::new(factors, [samples, inputs]), (device, DType::F32)))
    }

    /// The errors on a test set at a resolution, and the mistakes.
    pub fn evaluate(&self, state: &ClassifierState, test: &TestSet, side: usize) -> Result<(TestResult, Vec<Mistake>)> {
        evaluate(self.network, &state.parameters, &state.running, test, side, &self.splits.statistics)
    }
}

/// The errors of a network on a test set at a resolution, and its mistakes.
pub fn evaluate(
    network: &Network,
    parameters: &Parameters,
    running: &Running,
    test: &TestSet,
    side: usize,
    statistics: &[(f32, f32)],
) -> Result<(TestResult, Vec<Mistake>)> {
    let classes = network.shape.classes;
    let probabilities = predict(network, parameters, running, &test.images, side, statistics)?;
    let mut confusion = vec![vec![0; classes]; classes];
    let mut mistakes = Vec::new();
    for (image, row) in probabilities.chunks_exact(classes).enumerate() {
        let answer = (0..classes).max_by(|&a, &b| row[a].total_cmp(&row[b])).unwrap_or(0);
        let truth = usize::from(test.images.labels[image]);
        confusion[truth][answer] += 1;
        if answer != truth {
            mistakes.push(Mistake { image, truth, answer, probability: f64::from(row[answer]) });
        }
    }
    let error_rate = mistakes.len() as f64 / test.images.count.max(1) as f64;
    Ok((TestResult { set: test.name.into(), side, error_rate, confusion }, mistakes))
}

/// The probability of every class for images at a resolution, images x classes.
pub fn predict(
    network: &Network,
    parameters: &Parameters,
    running: &Running,
    images: &Images,
    side: usize,
    statistics: &[(f32, f32)],
) -> Result<Vec<f32>> {
    let device = Device::flex();
    let tensors = parameters.tensors(&device, DType::F32);
    let resampler = Resampler::new(images.side, side)?;
    let size = (STATE / (side * side * network.config.width)).clamp(1, 256);
    let mut result = Vec::with_capacity(images.count * network.shape.classes);
    let all: Vec<usize> = (0..images.count).collect();
    for indices in all.chunks(size) {
        let input = batch(images, indices, &[], statistics, &resampler, &device);
        let pass = Pass {
            network,
            parameters: &tensors,
            norms: Norms::Running(running),
            side,
            engine: Engine::Automatic,
            dropout: None,
        };
        let scores = log_softmax(pass.forward(input)?, 1).exp();
        result.extend(scores.into_data().iter::<f32>());
    }
    Ok(result)
}

/// The mean of -log p(class).
fn cross_entropy(scores: Tensor<2>, labels: &[u8]) -> Tensor<1> {
    let [samples, classes] = scores.dims();
    let mut marks = vec![0.0f32; samples * classes];
    for (row, &label) in labels.iter().enumerate() {
        marks[row * classes + usize::from(label)] = -1.0 / samples as f32;
    }
    let marks = Tensor::<2>::from_data(TensorData::new(marks, [samples, classes]), (&scores.device(), scores.dtype()));
    (log_softmax(scores, 1) * marks).sum()
}

fn take_gradients(
    tensors: &ParameterTensors,
    parameters: &Parameters,
    computed: &mut burn::tensor::Gradients,
) -> Vec<Vec<f32>> {
    let groups = tensors.iter().zip(&parameters.groups);
    groups
        .map(|((_, tensor), group)| match tensor.grad_remove(computed) {
            Some(gradient) => gradient.into_data().try_into_vec::<f32>().expect("single precision"),
            None => vec![0.0; group.values.len()],
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cross_entropy_by_hand() {
        let scores = Tensor::<2>::from_data([[0.0, 0.0], [1.0, 3.0]], &Device::flex());
        let value = cross_entropy(scores, &[0, 1]).into_scalar::<f32>();
        let expected = 0.5 * (2f32.ln() + (1.0 + (-2f32).exp()).ln());
        assert!((value - expected).abs() < 1e-6, "{value} {expected}");
    }
}
