//! From samples to the best network that the time allows: search, train the candidates rung by rung, keep the one with
//! the lowest validation error.

use super::choice::Choice;
use super::record::{Candidate, Record, lowest};
use crate::device::Device;
use crate::field::Samples;
use crate::io::write_atomically;
use crate::model::{Kind, Model};
use crate::run::{Data, Existing, RunFolder};
use crate::train::{DepthResult, Event, Outcome};
use crate::{Error, Result};
use std::fs;
use std::path::Path;

/// A plan stays as it is while the time for its rest is within these shares of what it needs.
const KEPT: std::ops::RangeInclusive<f64> = 0.8..=1.5;
/// What a learning rate is divided by when a training has diverged.
const SLOWER: f64 = 3.0;

/// A search and its trainings.
pub(super) struct Session<'a> {
    pub train: &'a Samples,
    pub test: Option<&'a Samples>,
    /// The run's folder.
    pub root: &'a Path,
    pub record: Record,
    pub device: Device,
    pub should_stop: &'a dyn Fn() -> bool,
    pub watch: &'a mut dyn FnMut(&Event),
    pub say: &'a mut dyn FnMut(&Choice),
}

impl Session<'_> {
    /// All the time, in seconds.
    pub(super) fn seconds(&self) -> f64 {
        60.0 * self.record.minutes
    }

    /// Notes a decision and tells it.
    pub(super) fn decide(&mut self, choice: Choice) {
        (self.say)(&choice);
        self.record.choices.push(choice);
    }

    fn save(&self) -> Result<()> {
        self.record.write(self.root)
    }

    /// Goes on from wherever the record is; the winner's files are then in the run's folder.
    pub(super) fn run(&mut self) -> Result<Model> {
        if self.record.candidates.is_empty() {
            self.search()?;
            self.save()?;
        }
        for index in 0..self.record.candidates.len() {
            while !self.record.candidates[index].is_done {
                self.next_rung(index)?;
                self.save()?;
            }
        }
        if self.record.winner.is_none() {
            let choice = self.contest()?;
            self.decide(choice);
            self.save()?;
        }
        self.publish()?;
        RunFolder::open(self.root)?.model()
    }

    /// The time for a candidate: an equal part of what is left when the ones before it are done.
    fn share(&self, index: usize) -> f64 {
        let candidates = &self.record.candidates;
        let spent: f64 = candidates[..index].iter().map(|candidate| candidate.seconds).sum();
        (self.seconds() - self.record.searched - spent).max(0.0) / (candidates.len() - index) as f64
    }

    /// Decides whether another depth is worth it, and trains it.
    fn next_rung(&mut self, index: usize) -> Result<()> {
        let share = self.share(index);
        let root = self.root;
        let mut candidate = self.record.candidates[index].clone();
        let results = candidate.results(root)?;
        let done = results.len();
        (candidate.validation, candidate.seconds) = (lowest(&results), results.last().map_or(0.0, |last| last.seconds));
        let home = candidate.home(root);
        let begun = home.join("config.toml").is_file().then(|| RunFolder::open(&home)?.config()).transpose()?;
        // A rung that has begun is finished as it was planned.
        let is_begun = begun.is_some_and(|config| config.train.depths.len() > done);
        let end = if is_begun { None } else { self.plan_rest(&mut candidate, &results, share) };
        candidate.is_done = end.is_some();
        self.record.candidates[index] = candidate.clone();
        if let Some(choice) = end {
            self.decide(choice);
            return Ok(());
        }
        self.save()?;
        match self.train_rung(&candidate, done + 1) {
            Err(Error::NotFinite { what, .. }) if done == 0 && candidate.rates.0 > 1e-4 => {
                candidate.rates = (candidate.rates.0 / SLOWER, candidate.rates.1, candidate.rates.2 / SLOWER);
                candidate.rates = (short(candidate.rates.0), candidate.rates.1, short(candidate.rates.2));
                fs::remove_dir_all(&home).map_err(Error::io(&home, "remove"))?;
                let what = format!("{what} was not finite: a third of the rate");
                self.decide(Choice::new(format!("{} learning_rate", candidate.kind), candidate.rates.0, what));
                candidate.plan(0, share, 1.0);
                self.record.candidates[index] = candidate;
                Ok(())
            }
            Err(Error::NotFinite { what, .. }) => {
                let why = format!("{what} was not finite at depth {}", candidate.config.train.depths[done]);
                if done > 0 {
                    // The run ends where it was still well, and its configuration says so.
                    write_atomically(&home.join("config.toml"), candidate.up_to(done).to_toml().as_bytes())?;
                }
                self.record.candidates[index].is_done = true;
                self.decide(Choice::new(format!("{} depth", candidate.kind), "no deeper", why));
                Ok(())
            }
            Ok(Outcome::Complete) => Ok(()),
            Ok(Outcome::Interrupted) => Err(Error::Stopped),
            Err(other) => Err(other),
        }
    }

    /// The plan for the depths that are not begun; a choice is the reason why there are none.
    fn plan_rest(&mut self, candidate: &mut Candidate, results: &[DepthResult], share: f64) -> Option<Choice> {
        let done = results.len();
        let what = format!("{} depth", candidate.kind);
        if let [before @ .., last] = results {
            let (best, error) = (lowest(before), lowest(std::slice::from_ref(last)));
            if let (Some(best), Some(error)) = (best, error)
                && error >= best
            {
                let why = format!("validation error {error:.2e} at depth {}, {best:.2e} before", last.depth);
                return Some(Choice::new(what, "no deeper", why));
            }
        }
        let planned = candidate.planned_seconds(0..done);
        let slowness = if planned > 0.0 { candidate.seconds / planned } else { 1.0 };
        let left = share - candidate.seconds;
        let rest = slowness * candidate.planned_seconds(done..candidate.config.train.depths.len());
        if done == 0 || !KEPT.contains(&(left / rest)) {
            candidate.plan(done, left, slowness);
            let train = &candidate.config.train;
            if train.depths.len() > done {
                let rungs: Vec<String> = (done..train.depths.len())
                    .map(|rung| format!("{} at {}", train.epochs.at(rung), train.depths[rung]))
                    .collect();
                let slower = if done == 0 {
                    String::new()
                } else {
                    format!("; a step takes {slowness:.1} times what was measured")
                };
                let why = format!("epochs at each depth that fill {left:.0} s{slower}");
                self.decide(Choice::new(format!("{} ladder", candidate.kind), rungs.join(", "), why));
            }
        }
        if candidate.config.train.depths.len() > done {
            return None;
        }
        let deepest = candidate.config.train.depths[done - 1];
        let why = if deepest >= candidate.deepest {
            "the ladder is done".into()
        } else {
            format!("{:.0} s are left", left.max(0.0))
        };
        Some(Choice::new(what, deepest, why))
    }

    fn train_rung(&mut self, candidate: &Candidate, rungs: usize) -> Result<Outcome> {
        let home = candidate.home(self.root);
        let existing = if home.join("config.toml").is_file() { Existing::Resume } else { Existing::Refuse };
        let folder = RunFolder::create(&home, &candidate.up_to(rungs), existing)?;
        let data = Data::Functions { train: self.train.clone(), test: self.test.cloned() };
        folder.train(&data, None, self.device, self.should_stop, self.watch)
    }

    /// The winner, by the lowest validation error.
    fn contest(&mut self) -> Result<Choice> {
        let reached = |candidate: &Candidate| Some((candidate.kind, candidate.validation?));
        let mut all: Vec<(Kind, f64)> = self.record.candidates.iter().filter_map(reached).collect();
        all.sort_by(|a, b| a.1.total_cmp(&b.1));
        let Some(&(winner, error)) = all.first() else {
            let hint = "give it more minutes, or look at the data: ranges, units, outliers";
            return Err(Error::invalid("fit", "a training that gets through", "none that did", hint));
        };
        self.record.winner = Some(winner);
        let why = match all.get(1) {
            Some(&(other, second)) => {
                format!("validation error {error:.2e}; {other} has {second:.2e}, {:.2} times as much", second / error)
            }
            None => format!("validation error {error:.2e}"),
        };
        Ok(Choice::new("network", winner, why))
    }

    /// Moves the winner's files into the run's folder, the configuration last. Doing it twice does no harm.
    fn publish(&self) -> Result<()> {
        let Some(winner) = self.record.candidates.iter().find(|candidate| Some(candidate.kind) == self.record.winner)
        else {
            return Ok(());
        };
        let home = winner.home(self.root);
        if !home.is_dir() {
            return Ok(());
        }
        let mut entries: Vec<_> = fs::read_dir(&home).map_err(Error::io(&home, "read"))?.flatten().collect();
        entries.sort_by_key(|entry| (entry.file_name() == "config.toml", entry.file_name()));
        for entry in entries {
            let to = self.root.join(entry.file_name());
            fs::rename(entry.path(), &to).map_err(Error::io(&to, "write"))?;
        }
        fs::remove_dir(&home).map_err(Error::io(&home, "remove"))?;
        // Empty unless another candidate is kept there.
        let _ = fs::remove_dir(self.root.join("candidates"));
        Ok(())
    }
}

/// A number that files hold exactly.
fn short(value: f64) -> f64 {
    format!("{value:.1e}").parse().unwrap_or(value)
}
