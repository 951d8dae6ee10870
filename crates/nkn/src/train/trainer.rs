//! The training loop: a ladder of depths, each trained from the best weights of the one before.

use super::config::{Initialisation, TrainConfig};
use super::evaluation::Evaluation;
use super::loss::loss;
use super::optimiser::Optimiser;
use super::schedule::ScheduleKind;
use crate::engine::Engine;
use crate::field::{Samples, mean};
use crate::model::{Batch, BatchOptions, Model, ModelConfig, Normalisers, Parameters, Work, forward};
use crate::seed::Seed;
use crate::{Error, Result};
use burn::tensor::{DType, Device, Tensor, TensorData};
use std::time::{Duration, Instant};

/// Everything that changes while training: with it a training continues to the bit.
#[derive(Clone, Debug, PartialEq)]
pub struct State {
    /// Position on the ladder.
    pub rung: usize,
    /// Epochs done at this depth.
    pub epoch: usize,
    /// The weights.
    pub parameters: Parameters,
    /// The optimiser's moments.
    pub optimiser: Optimiser,
    /// The weights with the lowest training loss at this depth, and that loss.
    pub best: Parameters,
    /// Infinite before the first epoch.
    pub best_loss: f64,
    /// The epoch of the last improvement that counts for plateaus, and its loss.
    pub improved_at: usize,
    /// Infinite before the first epoch.
    pub improved_loss: f64,
    /// Reductions that a plateau schedule has made, and the epoch of the last.
    pub reductions: u32,
    /// Epoch of the last reduction.
    pub reduced_at: usize,
    /// Finished depths.
    pub results: Vec<DepthResult>,
    /// Length of metrics.csv when the state was taken.
    pub recorded_bytes: u64,
    /// Seconds spent, over all sessions.
    pub seconds: f64,
}

/// A finished depth.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct DepthResult {
    /// L.
    pub depth: usize,
    /// Epochs trained.
    pub epochs: usize,
    /// Mean relative L2 error on the training samples, best weights.
    pub train: f64,
    /// The mean of the squares.
    pub train_squared: f64,
    /// On the test samples, if there are any.
    pub test: Option<f64>,
    /// The mean of the squares.
    pub test_squared: Option<f64>,
    /// Seconds spent at this depth and before.
    pub seconds: f64,
}

/// A row of metrics.csv.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// L.
    pub depth: usize,
    /// Epochs done at this depth.
    pub epoch: usize,
    /// `train` or `test`.
    pub split: &'static str,
    /// `loss`, `relative_l2`, `learning_rate`, `gradient_norm`.
    pub metric: &'static str,
    /// The value.
    pub value: f64,
}

/// What a training tells while it runs.
pub enum Event<'a> {
    /// A depth begins, or is taken up again.
    Depth {
        /// L.
        depth: usize,
        /// Epochs that it will take at most.
        epochs: usize,
        /// What one step takes.
        work: Work,
    },
    /// An epoch is done.
    Epoch {
        /// The state after it.
        state: &'a State,
        /// Mean loss of its steps.
        loss: f64,
        /// The newest test error.
        test: Option<f64>,
    },
    /// Numbers for metrics.csv.
    Records(&'a [Record]),
    /// A depth is finished.
    Finished {
        /// Its errors.
        result: &'a DepthResult,
        /// The best weights.
        model: &'a Model,
    },
    /// The state is to be saved; the receiver fills in what it has recorded.
    Checkpoint(&'a mut State),
}

/// How a training ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// All depths are done.
    Complete,
    /// It was asked to stop, and has saved its state.
    Interrupted,
}

/// A training made of its parts.
pub struct Trainer<'a> {
    /// The architecture.
    pub model: &'a ModelConfig,
    /// The settings.
    pub config: &'a TrainConfig,
    /// What to learn from.
    pub train: &'a Samples,
    /// What to test with.
    pub test: Option<&'a Samples>,
    /// Where to compute.
    pub device: Device,
    /// Asked before every step: true stops the training after a checkpoint.
    pub should_stop: &'a dyn Fn() -> bool,
    /// Told what happens; an error stops the training.
    pub observer: &'a mut dyn FnMut(Event) -> Result<()>,
}

impl Trainer<'_> {
    /// The state before the first step: random weights, or given ones.
    pub fn start(&self, initial: Option<Parameters>) -> Result<State> {
        let parameters = match initial {
            Some(parameters) => parameters,
            None => self.random(0)?,
        };
        Ok(State {
            rung: 0,
            epoch: 0,
            optimiser: Optimiser::new(self.config.optimiser, &parameters),
            best: parameters.clone(),
            parameters,
            best_loss: f64::INFINITY,
            improved_at: 0,
            improved_loss: f64::INFINITY,
            reductions: 0,
            reduced_at: 0,
            results: Vec::new(),
            recorded_bytes: 0,
            seconds: 0.0,
        })
    }

    /// Seconds of single full-batch steps at a depth, and the work of one: a measurement, not a training.
    pub fn time_steps(&self, depth: usize, count: usize) -> Result<(Vec<f64>, Work)> {
        let normalisers = Normalisers::fit(self.model, self.train)?;
        let (batch, truth) = prepare(self, &normalisers, depth, self.train)?;
        let mut state = self.start(None)?;
        let mut seconds = Vec::with_capacity(count);
        for _ in 0..count {
            let begun = Instant::now();
            step(self, &batch, &truth, depth, 1e-4, &mut state)?;
            seconds.push(begun.elapsed().as_secs_f64());
        }
        Ok((seconds, Work::of(self.model, self.train.domain.dim(), &batch)?))
    }

    /// The same for predictions.
    pub fn time_predictions(&self, depth: usize, count: usize) -> Result<(Vec<f64>, Work)> {
        let normalisers = Normalisers::fit(self.model, self.train)?;
        let batch = Batch::new(self.model, &normalisers, self.train, &self.options(depth, false))?;
        let parameters = self.start(None)?.parameters;
        let mut seconds = Vec::with_capacity(count);
        for _ in 0..count {
            let begun = Instant::now();
            let tensors = parameters.tensors(&self.device, DType::F32);
            forward(self.model, &tensors, &batch, Engine::Automatic)?;
            seconds.push(begun.elapsed().as_secs_f64());
        }
        Ok((seconds, Work::of(self.model, self.train.domain.dim(), &batch)?))
    }

    fn random(&self, rung: usize) -> Result<Parameters> {
        let seed = Seed::new(self.config.seed).derive("parameters", rung as u64);
        let mut parameters = Parameters::init(self.model, self.train.domain.dim(), seed)?;
        self.scale_lift(&mut parameters)?;
        Ok(parameters)
    }

    /// Divides the lift's weight of each field by the field's root mean square, so that h starts with size one whether
    /// the data are normalised or not: without this a load of size 400 starts the network far from anything useful.
    fn scale_lift(&self, parameters: &mut Parameters) -> Result<()> {
        let normalisers = Normalisers::fit(self.model, self.train)?;
        let dim = self.train.domain.dim();
        let columns = dim + self.model.fields.len();
        for (index, (name, normaliser)) in self.model.fields.iter().zip(&normalisers.fields).enumerate() {
            let values = normaliser.encode(&self.train.field(name)?.values);
            let size = mean(&values.iter().map(|v| v * v).collect::<Vec<_>>()).sqrt();
            if size > 0.0 && size.is_finite() {
                let weight = &mut parameters.group_mut("lift").values[..columns * self.model.width];
                for row in weight.chunks_exact_mut(columns) {
                    row[dim + index] /= size as f32;
                }
            }
        }
        Ok(())
    }

    /// Trains from a state to the end of the ladder.
    pub fn run(&mut self, mut state: State) -> Result<Outcome> {
        self.model.check()?;
        self.config.check()?;
        let normalisers = Normalisers::fit(self.model, self.train)?;
        let mut clock = Clock { since: Instant::now(), saved: Instant::now() };
        while state.rung < self.config.depths.len() {
            let depth = self.config.depths[state.rung];
            let outcome = self.train_depth(depth, &normalisers, &mut state, &mut clock)?;
            if outcome == Outcome::Interrupted {
                return Ok(outcome);
            }
            self.next_rung(&mut state)?;
            self.checkpoint(&mut state, &mut clock)?;
        }
        Ok(Outcome::Complete)
    }

    /// Weights, optimiser and schedule of the next depth.
    fn next_rung(&self, state: &mut State) -> Result<()> {
        state.rung += 1;
        state.epoch = 0;
        state.parameters = match self.config.initialisation {
            Initialisation::ShallowToDeep => state.best.clone(),
            Initialisation::Random => self.random(state.rung)?,
        };
        state.best = state.parameters.clone();
        state.optimiser = Optimiser::new(self.config.optimiser, &state.parameters);
        (state.best_loss, state.improved_loss) = (f64::INFINITY, f64::INFINITY);
        (state.improved_at, state.reductions, state.reduced_at) = (0, 0, 0);
        Ok(())
    }

    fn options(&self, depth: usize, autodiff: bool) -> BatchOptions {
        let device = if autodiff { self.device.clone().autodiff() } else { self.device.clone() };
        let budget = self.config.memory_gib * (1u64 << 30) as f64;
        BatchOptions { budget, ..BatchOptions::new(depth, &device) }
    }

    fn train_depth(
        &mut self,
        depth: usize,
        normalisers: &Normalisers,
        state: &mut State,
        clock: &mut Clock,
    ) -> Result<Outcome> {
        let epochs = self.config.epochs.at(state.rung);
        let evaluation =
            |samples: &Samples| Evaluation::new(self.model, normalisers, samples, self.options(depth, false));
        let test = self.test.map(evaluation).transpose()?;
        let train = evaluation(self.train)?;
        let mut steps = Steps::new(self, depth, normalisers)?;
        let work = steps.work(self, normalisers, depth)?;
        (self.observer)(Event::Depth { depth, epochs, work })?;
        let mut test_error = None;
        while state.epoch < epochs && !self.has_stalled(state) {
            if (self.should_stop)() {
                clock.charge(state);
                self.checkpoint(state, clock)?;
                return Ok(Outcome::Interrupted);
            }
            let share = self.config.schedule.share(state.epoch, epochs, state.reductions);
            let rate = self.config.learning_rate.at(state.rung) * share;
            let before = self.is_full_batch().then(|| state.parameters.clone());
            let (loss, norm) = steps.epoch(self, normalisers, depth, rate, state)?;
            state.epoch += 1;
            if loss < state.best_loss {
                state.best_loss = loss;
                // A full batch's loss belongs to the weights before the step.
                state.best = before.unwrap_or_else(|| state.parameters.clone());
            }
            self.follow_plateau(state, loss);
            let mut records = Vec::new();
            let record = |split, metric, value| Record { depth, epoch: state.epoch, split, metric, value };
            let is_last = state.epoch == epochs;
            if state.epoch.is_multiple_of(self.config.record_every) || is_last {
                records.push(record("train", "loss", loss));
                records.push(record("train", "learning_rate", rate));
                records.push(record("train", "gradient_norm", norm));
            }
            if let Some(test) = &test
                && (state.epoch.is_multiple_of(self.config.evaluate_every) || is_last)
            {
                let error = mean(&test.errors(self.model, &state.parameters)?);
                records.push(record("test", "relative_l2", error));
                test_error = Some(error);
            }
            if !records.is_empty() {
                (self.observer)(Event::Records(&records))?;
            }
            clock.charge(state);
            (self.observer)(Event::Epoch { state, loss, test: test_error })?;
            if clock.saved.elapsed() >= Duration::from_secs_f64(self.config.checkpoint_seconds) {
                self.checkpoint(state, clock)?;
            }
        }
        self.finish_depth(depth, normalisers, &train, test.as_ref(), state)?;
        Ok(Outcome::Complete)
    }

    /// The last weights take part in the contest for the best, then the depth's errors are taken.
    fn finish_depth(
        &mut self,
        depth: usize,
        normalisers: &Normalisers,
        train: &Evaluation,
        test: Option<&Evaluation>,
        state: &mut State,
    ) -> Result<()> {
        let best = train.errors(self.model, &state.best)?;
        let last = train.errors(self.model, &state.parameters)?;
        let train_errors = if mean(&last) < mean(&best) {
            state.best = state.parameters.clone();
            last
        } else {
            best
        };
        let test_errors = test.map(|test| test.errors(self.model, &state.best)).transpose()?;
        let squared = |errors: &[f64]| mean(&errors.iter().map(|e| e * e).collect::<Vec<_>>());
        let result = DepthResult {
            depth,
            epochs: state.epoch,
            train: mean(&train_errors),
            train_squared: squared(&train_errors),
            test: test_errors.as_deref().map(mean),
            test_squared: test_errors.as_deref().map(squared),
            seconds: state.seconds,
        };
        let mut records =
            vec![("train", "relative_l2", result.train), ("train", "relative_l2_squared", result.train_squared)];
        records.extend(result.test.map(|v| ("test", "relative_l2", v)));
        records.extend(result.test_squared.map(|v| ("test", "relative_l2_squared", v)));
        let records: Vec<Record> = records
            .into_iter()
            .map(|(split, metric, value)| Record { depth, epoch: state.epoch, split, metric, value })
            .collect();
        (self.observer)(Event::Records(&records))?;
        let model = Model {
            config: self.model.clone(),
            dim: self.train.domain.dim(),
            depth,
            parameters: state.best.clone(),
            normalisers: normalisers.clone(),
        };
        state.results.push(result.clone());
        (self.observer)(Event::Finished { result: &result, model: &model })
    }

    fn is_full_batch(&self) -> bool {
        self.config.batch.is_none_or(|batch| batch >= self.train.count)
    }

    fn follow_plateau(&self, state: &mut State, loss: f64) {
        if loss < state.improved_loss * (1.0 - self.config.stop_tolerance) {
            state.improved_loss = loss;
            state.improved_at = state.epoch;
        }
        let schedule = &self.config.schedule;
        let waiting_since = state.improved_at.max(state.reduced_at);
        if schedule.kind == ScheduleKind::Plateau && state.epoch >= waiting_since + schedule.patience {
            state.reductions += 1;
            state.reduced_at = state.epoch;
        }
    }

    fn has_stalled(&self, state: &State) -> bool {
        let patience = self.config.stop_after;
        patience.is_some_and(|patience| state.epoch >= state.improved_at + patience)
    }

    fn checkpoint(&mut self, state: &mut State, clock: &mut Clock) -> Result<()> {
        (self.observer)(Event::Checkpoint(state))?;
        clock.saved = Instant::now();
        Ok(())
    }
}

struct Clock {
    since: Instant,
    saved: Instant,
}

impl Clock {
    /// Adds the time since the last call to the state's.
    fn charge(&mut self, state: &mut State) {
        state.seconds += self.since.elapsed().as_secs_f64();
        self.since = Instant::now();
    }
}

/// The batches of a depth.
struct Steps {
    /// The whole set as one batch, prepared once.
    full: Option<(Batch, Tensor<2>)>,
}

impl Steps {
    fn new(trainer: &Trainer, depth: usize, normalisers: &Normalisers) -> Result<Self> {
        let full = trainer.is_full_batch().then(|| prepare(trainer, normalisers, depth, trainer.train)).transpose()?;
        Ok(Self { full })
    }

    /// What a step takes, before the first one.
    fn work(&self, trainer: &Trainer, normalisers: &Normalisers, depth: usize) -> Result<Work> {
        let dim = trainer.train.domain.dim();
        if let Some((batch, _)) = &self.full {
            return Work::of(trainer.model, dim, batch);
        }
        let first: Vec<usize> = (0..trainer.config.batch.unwrap_or(1)).collect();
        let (batch, _) = prepare(trainer, normalisers, depth, &trainer.train.select(&first))?;
        Work::of(trainer.model, dim, &batch)
    }

    /// One pass over the data: the mean loss and the last gradient's norm.
    fn epoch(
        &mut self,
        trainer: &Trainer,
        normalisers: &Normalisers,
        depth: usize,
        rate: f64,
        state: &mut State,
    ) -> Result<(f64, f64)> {
        if let Some((batch, truth)) = &self.full {
            return step(trainer, batch, truth, depth, rate, state);
        }
        let size = trainer.config.batch.unwrap_or(trainer.train.count);
        let seed = Seed::new(trainer.config.seed).derive("shuffle", state.rung as u64);
        let order = seed.derive("epoch", state.epoch as u64).permutation(trainer.train.count);
        let (mut total, mut norm) = (0.0, 0.0);
        for indices in order.chunks(size) {
            let (batch, truth) = prepare(trainer, normalisers, depth, &trainer.train.select(indices))?;
            let (loss, length) = step(trainer, &batch, &truth, depth, rate, state)?;
            total += loss * indices.len() as f64;
            norm = length;
        }
        Ok((total / trainer.train.count as f64, norm))
    }
}

fn prepare(
    trainer: &Trainer,
    normalisers: &Normalisers,
    depth: usize,
    samples: &Samples,
) -> Result<(Batch, Tensor<2>)> {
    let options = trainer.options(depth, true);
    let batch = Batch::new(trainer.model, normalisers, samples, &options)?;
    let truth = TensorData::new(samples.output()?.to_vec(), [samples.count, samples.nodes()]);
    Ok((batch, Tensor::from_data(truth, (&options.device, options.dtype))))
}

/// One step of the optimiser: the loss before it and the gradient's norm.
fn step(
    trainer: &Trainer,
    batch: &Batch,
    truth: &Tensor<2>,
    depth: usize,
    rate: f64,
    state: &mut State,
) -> Result<(f64, f64)> {
    let (value, mut gradients) = gradients(trainer, batch, truth, &state.parameters)?;
    let place = || format!("at depth {depth}, epoch {}", state.epoch + 1);
    let hint = "lower train.learning_rate, add train.clip, or normalise the data; the last checkpoint is intact";
    let finite = |what: String, got: f64| {
        if got.is_finite() {
            return Ok(());
        }
        Err(Error::NotFinite { what, got, place: place(), hint: hint.into() })
    };
    finite("the training loss".into(), value)?;
    let mut square = 0.0;
    for (gradient, group) in gradients.iter().zip(&state.parameters.groups) {
        let own: f64 = gradient.iter().map(|&g| g as f64 * g as f64).sum();
        finite(format!("the gradient of {:?}", group.name), own)?;
        square += own;
    }
    let norm = square.sqrt();
    if let Some(clip) = trainer.config.clip
        && norm > clip
    {
        let scale = (clip / norm) as f32;
        gradients.iter_mut().flatten().for_each(|g| *g *= scale);
    }
    state.optimiser.step(trainer.config, rate, &mut state.parameters, &mut gradients);
    Ok((value, norm))
}

/// The loss of a batch and its gradients, one vector per parameter group.
fn gradients(
    trainer: &Trainer,
    batch: &Batch,
    truth: &Tensor<2>,
    parameters: &Parameters,
) -> Result<(f64, Vec<Vec<f32>>)> {
    let tensors = parameters.tensors(&batch.points.device(), DType::F32).require_grad();
    let prediction = forward(trainer.model, &tensors, batch, Engine::Automatic)?;
    let loss = loss(trainer.config.loss, prediction, truth.clone());
    let mut computed = loss.backward();
    let value = loss.into_scalar::<f32>() as f64;
    let gradients = tensors
        .iter()
        .zip(&parameters.groups)
        .map(|((_, tensor), group)| match tensor.grad_remove(&mut computed) {
            Some(gradient) => gradient.into_data().try_into_vec::<f32>().expect("single precision"),
            None => vec![0.0; group.values.len()],
        })
        .collect();
    Ok((value, gradients))
}
