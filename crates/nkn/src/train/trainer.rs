//! The training loop: a ladder of depths, each trained from the best weights of the one before.

use super::config::{Augment, Initialisation, TrainConfig};
use super::evaluation::Evaluation;
use super::optimiser::Optimiser;
use super::schedule::ScheduleKind;
use super::state::{DepthResult, Event, Outcome, Record, State};
use super::steps::{Steps, prepare, step};
use crate::Result;
use crate::engine::Engine;
use crate::field::{Samples, check_square, mean};
use crate::model::{Batch, BatchOptions, Geometry, Kind, Model, ModelConfig, Normalisers, Parameters, Work, forward};
use crate::seed::Seed;
use burn::tensor::{DType, Device};
use std::time::{Duration, Instant};

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
            None => self.random(0, self.config.depths[0])?,
        };
        Ok(State {
            rung: 0,
            epoch: 0,
            depth: self.config.depths[0],
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
        let geometry = Geometry::new(self.model, &normalisers, &self.train.domain, None)?;
        let (batch, truth) = prepare(self, &geometry, depth, self.train)?;
        let mut state = self.start(Some(self.random(0, depth)?))?;
        let mut seconds = Vec::with_capacity(count);
        for _ in 0..count {
            let begun = Instant::now();
            step(self, &batch, &truth, depth, 1e-4, &mut state)?;
            seconds.push(begun.elapsed().as_secs_f64());
        }
        Ok((seconds, Work::of(self.model, self.train.domain.dim(), &batch, &self.options(depth, true))?))
    }

    /// The same for predictions.
    pub fn time_predictions(&self, depth: usize, count: usize) -> Result<(Vec<f64>, Work)> {
        let normalisers = Normalisers::fit(self.model, self.train)?;
        let options = self.options(depth, false);
        let batch = Batch::new(self.model, &normalisers, self.train, &options)?;
        let parameters = self.random(0, depth)?;
        let mut seconds = Vec::with_capacity(count);
        for _ in 0..count {
            let begun = Instant::now();
            let tensors = parameters.tensors(&self.device, DType::F32);
            forward(self.model, &tensors, &batch, Engine::Automatic)?;
            seconds.push(begun.elapsed().as_secs_f64());
        }
        Ok((seconds, Work::of(self.model, self.train.domain.dim(), &batch, &options)?))
    }

    fn random(&self, rung: usize, depth: usize) -> Result<Parameters> {
        let seed = Seed::new(self.config.seed).derive("parameters", rung as u64);
        let mut parameters = Parameters::init(self.model, self.train.domain.dim(), depth, seed)?;
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
        if self.config.augment == Augment::Square {
            check_square(&self.train.domain)?;
        }
        let normalisers = Normalisers::fit(self.model, self.train)?;
        let mut clock = Clock { since: Instant::now(), saved: Instant::now() };
        while state.rung < self.config.depths.len() {
            let depth = self.config.depths[state.rung];
            if state.epoch == 0 && state.rung > 0 {
                self.begin_rung(&mut state)?;
            }
            let outcome = self.train_depth(depth, &normalisers, &mut state, &mut clock)?;
            if outcome == Outcome::Interrupted {
                return Ok(outcome);
            }
            state.rung += 1;
            state.epoch = 0;
            self.checkpoint(&mut state, &mut clock)?;
        }
        Ok(Outcome::Complete)
    }

    /// Weights, optimiser and schedule of a new depth, from the best weights of the one before. Beginning twice does no harm, so a state between two
    /// rungs can be continued, also by a ladder that was longer than planned.
    fn begin_rung(&self, state: &mut State) -> Result<()> {
        // A Fourier neural operator has weights of its own in every layer: there is nothing to hand down.
        let is_fresh = self.config.initialisation == Initialisation::Random || self.model.kind == Kind::Fno;
        state.parameters =
            if is_fresh { self.random(state.rung, self.config.depths[state.rung])? } else { state.best.clone() };
        state.depth = self.config.depths[state.rung];
        state.best = state.parameters.clone();
        state.optimiser = Optimiser::new(self.config.optimiser, &state.parameters);
        (state.best_loss, state.improved_loss) = (f64::INFINITY, f64::INFINITY);
        (state.improved_at, state.reductions, state.reduced_at) = (0, 0, 0);
        Ok(())
    }

    pub(super) fn options(&self, depth: usize, autodiff: bool) -> BatchOptions {
        let device = if autodiff { self.device.clone().autodiff() } else { self.device.clone() };
        let budget = self.config.memory_gib * (1u64 << 30) as f64;
        BatchOptions { budget, training: autodiff, ..BatchOptions::new(depth, &device) }
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
        let work = steps.work(self, depth)?;
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
            let (loss, norm) = steps.epoch(self, depth, rate, state)?;
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

    pub(super) fn is_full_batch(&self) -> bool {
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
