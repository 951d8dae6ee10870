//! The training loop: a ladder of depths, each trained from the best weights of the one before.

use super::config::{Initialisation, Keep, TrainConfig};
use super::schedule::ScheduleKind;
use super::state::{DepthResult, Event, Outcome, Record, State};
use super::step::step;
use super::task::{Measure, Place, Task, can_deepen};
use crate::Result;
use crate::model::{Model, Parameters, Work};
use std::time::{Duration, Instant};

/// A training made of its parts.
pub(crate) struct Trainer<'a> {
    /// What is learned, and from what.
    pub task: Box<dyn Task + 'a>,
    /// The settings.
    pub config: &'a TrainConfig,
    /// Asked before every step: true stops the training after a checkpoint.
    pub should_stop: &'a dyn Fn() -> bool,
    /// Told what happens; an error stops the training.
    pub observer: &'a mut dyn FnMut(Event) -> Result<()>,
}

impl Trainer<'_> {
    /// The state before the first step: random weights, or given ones.
    pub fn start(&self, initial: Option<Parameters>) -> Result<State> {
        self.config.check()?;
        let depth = self.config.depths[0];
        let parameters = match initial {
            Some(parameters) => {
                let setup = self.task.setup();
                parameters.fitting(setup.model, &setup.space, depth)?
            }
            None => self.task.random(0, depth)?,
        };
        Ok(State::new(depth, parameters, self.task.averages(depth)?, self.config.optimiser))
    }

    /// Seconds of single steps at a depth with the samples of one batch, and the work of one: a measurement, not a training.
    pub fn time_steps(&mut self, depth: usize, count: usize) -> Result<(Vec<f64>, Work)> {
        let work = self.task.begin(depth)?;
        let averages = self.task.averages(depth)?;
        let mut state = State::new(depth, self.task.random(0, depth)?, averages, self.config.optimiser);
        let samples: Vec<usize> = (0..self.config.batch_of(self.task.count())).collect();
        let mut seconds = Vec::with_capacity(count);
        for _ in 0..count {
            let begun = Instant::now();
            step(&*self.task, (Place { rung: 0, epoch: 0 }, &samples), 1e-4, &mut state)?;
            seconds.push(begun.elapsed().as_secs_f64());
        }
        Ok((seconds, work))
    }

    /// Trains from a state to the end of the ladder. An interrupted state can be continued.
    pub fn run(&mut self, state: &mut State) -> Result<Outcome> {
        let mut clock = Clock { since: Instant::now(), saved: Instant::now() };
        while state.rung < self.config.depths.len() {
            let depth = self.config.depths[state.rung];
            if state.epoch == 0 && state.step == 0 && state.rung > 0 {
                self.begin_rung(state)?;
            }
            if self.train_depth(depth, state, &mut clock)? == Outcome::Interrupted {
                return Ok(Outcome::Interrupted);
            }
            state.rung += 1;
            state.epoch = 0;
            self.checkpoint(state, &mut clock)?;
        }
        Ok(Outcome::Complete)
    }

    /// Weights, optimiser and schedule of a new depth, from the best weights of the one before. Beginning twice does no harm, so a state between two
    /// rungs can be continued, also by a ladder that was longer than planned.
    fn begin_rung(&self, state: &mut State) -> Result<()> {
        let depth = self.config.depths[state.rung];
        let is_fresh = self.config.initialisation == Initialisation::Random || !can_deepen(self.task.setup().model);
        let (parameters, averages) = if is_fresh {
            (self.task.random(state.rung, depth)?, self.task.averages(depth)?)
        } else {
            (state.best.clone(), state.best_averages.clone())
        };
        let fresh = State::new(depth, parameters, averages, self.config.optimiser);
        let (rung, results) = (state.rung, std::mem::take(&mut state.results));
        let (recorded_bytes, seconds) = (state.recorded_bytes, state.seconds);
        *state = State { rung, results, recorded_bytes, seconds, ..fresh };
        Ok(())
    }

    fn train_depth(&mut self, depth: usize, state: &mut State, clock: &mut Clock) -> Result<Outcome> {
        let epochs = self.config.epochs.at(state.rung);
        let work = self.task.begin(depth)?;
        (self.observer)(Event::Depth { depth, epochs, work })?;
        if (state.epoch, state.step) == (0, 0) {
            self.task.constrain(&mut state.parameters)?;
            self.task.constrain(&mut state.best)?;
        }
        let (mut validation_error, mut test_error) = (None, None);
        while state.epoch < epochs && !self.has_stalled(state) {
            let Some((loss, rate)) = self.epoch(epochs, state, clock)? else { return Ok(Outcome::Interrupted) };
            let mut records = Vec::new();
            let is_last = state.epoch == epochs;
            if state.epoch.is_multiple_of(self.config.record_every) || is_last {
                let values = [("loss", loss), ("learning_rate", rate), ("gradient_norm", state.gradient_norm)];
                let resolution = self.task.resolution();
                records.extend(values.map(|(metric, value)| Measure::new("train", resolution, metric, value)));
            }
            if state.epoch.is_multiple_of(self.config.evaluate_every) || is_last {
                let (parameters, averages) = state.tested();
                let model = self.task.setup().network(depth, parameters, averages);
                if let Some(measure) = self.task.validation(&model)? {
                    validation_error = Some(measure.value);
                    self.follow_validation(state, measure.value);
                    records.push(measure);
                }
                if let Some(measure) = self.task.test(&model)? {
                    test_error = Some(measure.value);
                    records.push(measure);
                }
            }
            self.record(state, &records)?;
            clock.charge(state);
            (self.observer)(Event::Epoch { state, loss, validation: validation_error, test: test_error })?;
        }
        self.finish_depth(depth, state)?;
        Ok(Outcome::Complete)
    }

    /// The rest of an epoch: the mean loss of its steps and the last one's learning rate; nothing if it was interrupted.
    fn epoch(&mut self, epochs: usize, state: &mut State, clock: &mut Clock) -> Result<Option<(f64, f64)>> {
        let place = Place { rung: state.rung, epoch: state.epoch };
        let (count, size) = (self.task.count(), self.config.batch_of(self.task.count()));
        let steps = count.div_ceil(size);
        let order = self.task.order(place);
        let mut before = None;
        let (mut loss, mut rate) = (0.0, 0.0);
        while state.step < steps {
            let stop = (self.should_stop)();
            if stop || clock.saved.elapsed() >= Duration::from_secs_f64(self.config.checkpoint_seconds) {
                clock.charge(state);
                self.checkpoint(state, clock)?;
            }
            if stop {
                return Ok(None);
            }
            let share = self.config.schedule.share((state.epoch, epochs), (state.step, steps), state.reductions);
            rate = self.config.learning_rate.at(state.rung) * share;
            // A full batch's loss belongs to the weights before the step.
            before = (steps == 1 && self.config.keep == Keep::Best)
                .then(|| (state.parameters.clone(), state.averages.clone()));
            let samples = &order[state.step * size..count.min((state.step + 1) * size)];
            (loss, state.gradient_norm) = step(&*self.task, (place, samples), rate, state)?;
            state.constrained += u64::from(self.task.constrain(&mut state.parameters)?);
            if !self.task.is_fixed() {
                state.loss += loss * samples.len() as f64;
                loss = state.loss / count as f64;
            }
            state.average(self.config, steps);
            state.step += 1;
            (self.observer)(Event::Step { state, steps })?;
        }
        (state.epoch, state.step, state.loss) = (state.epoch + 1, 0, 0.0);
        if loss < state.best_loss && self.config.keep == Keep::Best {
            let own = || (state.parameters.clone(), state.averages.clone());
            (state.best_loss, (state.best, state.best_averages)) = (loss, before.unwrap_or_else(own));
        }
        if self.config.keep != Keep::Validation {
            self.follow_plateau(state, loss);
        }
        Ok(Some((loss, rate)))
    }

    /// The last weights take part in the contest for the best, a mean of the last ones wins it; then the depth's errors are taken.
    fn finish_depth(&mut self, depth: usize, state: &mut State) -> Result<()> {
        let (parameters, averages) = state.tested();
        let last = self.task.setup().network(depth, parameters, averages);
        let mut errors = self.task.training_error(&last)?;
        let mut model = last;
        let takes_last = self.config.keep == Keep::Last || (self.config.keep == Keep::Best && state.averaged > 0);
        if !takes_last {
            let best = self.task.setup().network(depth, state.best.clone(), state.best_averages.clone());
            let best_errors = self.task.training_error(&best)?;
            let is_last_better = self.config.keep == Keep::Best
                && errors.first().zip(best_errors.first()).is_some_and(|(l, b)| l.value < b.value);
            if !is_last_better {
                (model, errors) = (best, best_errors);
            }
        }
        // A mean of weights that keep a promise need not keep it.
        if self.task.constrain(&mut model.parameters)? {
            errors = self.task.training_error(&model)?;
        }
        (state.best, state.best_averages) = (model.parameters.clone(), model.averages.clone());
        errors.extend(self.task.measures(&model)?);
        self.record(state, &errors)?;
        let (epochs, seconds, constrained) = (state.epoch, state.seconds, state.constrained);
        let result = DepthResult { depth, epochs, seconds, constrained, measures: errors };
        state.results.push(result.clone());
        (self.observer)(Event::Finished { result: &result, model: &model })
    }

    fn record(&mut self, state: &State, measures: &[Measure]) -> Result<()> {
        if measures.is_empty() {
            return Ok(());
        }
        let record = |measure: &Measure| Record { depth: state.depth, epoch: state.epoch, measure: measure.clone() };
        let records: Vec<Record> = measures.iter().map(record).collect();
        (self.observer)(Event::Records(&records))
    }

    fn follow_validation(&self, state: &mut State, error: f64) {
        if self.config.keep != Keep::Validation {
            return;
        }
        if error < state.best_loss {
            state.best_loss = error;
            (state.best, state.best_averages) = state.tested();
        }
        self.follow_plateau(state, error);
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
        // An error that is not taken after every epoch can only be judged where it was taken.
        let is_judged = self.config.keep != Keep::Validation || state.epoch.is_multiple_of(self.config.evaluate_every);
        state.step == 0 && is_judged && patience.is_some_and(|patience| state.epoch >= state.improved_at + patience)
    }

    fn checkpoint(&mut self, state: &mut State, clock: &mut Clock) -> Result<()> {
        (self.observer)(Event::Checkpoint(state))?;
        clock.saved = Instant::now();
        Ok(())
    }

    /// The best network so far: of the last finished depth, or of the one that was interrupted.
    pub fn model(&self, state: &State) -> Model {
        self.task.setup().network(state.depth, state.best.clone(), state.best_averages.clone())
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
