//! Runs the trainings one after the other; what is finished is never run again, what was stopped continues to the bit.

use super::output;
use super::problem::{Budget, Request};
use super::training::Training;
use crate::Global;
use crate::progress::should_stop;
use anyhow::Result;
use nkn::run::Data;
use nkn::train::Outcome;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::time::{Duration, Instant};

/// What is left to do, with the samples for it.
pub struct Plan {
    jobs: usize,
    /// Trainings that are not finished, and about how many seconds they take.
    open: Vec<(Training, f64)>,
    samples: BTreeMap<String, Data>,
}

impl Plan {
    /// Looks at what is there and estimates the rest; `peak` measures the machine, if that is needed, `load` brings the samples.
    pub fn new(request: &Request, peak: fn() -> f64, load: fn(&Training) -> Result<Data>) -> Result<Self> {
        let jobs = request.jobs();
        let mut plan = Self { jobs: jobs.len(), open: Vec::new(), samples: BTreeMap::new() };
        for job in jobs {
            let training = Training::new(job, request)?;
            if !training.is_finished()? {
                plan.open.push((training, 0.0));
            }
        }
        let peak = if plan.open.is_empty() { 0.0 } else { peak() };
        for (training, seconds) in &mut plan.open {
            let loaded = match plan.samples.entry(training.samples()) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(place) => place.insert(load(training)?),
            };
            *seconds = training.seconds_left(loaded, peak)?;
        }
        Ok(plan)
    }

    /// What there is to do, in a sentence.
    pub fn in_words(&self, request: &Request) -> String {
        format!(
            "{}: {} trainings, {} of them finished; about {} for the rest on this machine{}",
            request.problem.name,
            self.jobs,
            self.jobs - self.open.len(),
            in_words(self.open.iter().map(|open| open.1).sum::<f64>() + 0.0),
            if request.budget == Budget::Quick { " (quick budget: few steps)" } else { "" }
        )
    }

    /// The open trainings and what they would take, a line each.
    pub fn lines(&self) -> String {
        let line = |(open, seconds): &(Training, f64)| {
            format!("{}: {}, about {}\n", open.job.name(), open.size_in_words(), in_words(*seconds))
        };
        self.open.iter().map(line).collect()
    }

    /// The same for programs.
    pub fn json(&self) -> Vec<Value> {
        let line = |(open, seconds): &(Training, f64)| json!({ "training": open.job.name(), "seconds": seconds });
        self.open.iter().map(line).collect()
    }

    /// Trains what is open; false if it was stopped before the end. Tables and page are kept up to date.
    pub fn run(&self, global: &Global, request: &Request, limit: Option<Duration>) -> Result<bool> {
        let begun = Instant::now();
        let is_over = || should_stop() || limit.is_some_and(|limit| begun.elapsed() >= limit);
        let (mut planned, mut spent) = (0.0, 0.0);
        for (index, (training, seconds)) in self.open.iter().enumerate() {
            if is_over() {
                return Ok(false);
            }
            // The estimate learns from the trainings so far.
            let pace = if spent > 10.0 { spent / planned } else { 1.0 };
            let left: f64 = self.open[index..].iter().map(|open| pace * open.1).sum();
            let (number, count, name) = (index + 1, self.open.len(), training.job.name());
            eprintln!("training {number} of {count}: {name}; about {} left in all", in_words(left));
            let started = Instant::now();
            let outcome = training.run(global, request, &self.samples[&training.samples()], &is_over)?;
            spent += started.elapsed().as_secs_f64();
            planned += seconds;
            if outcome == Outcome::Interrupted {
                return Ok(false);
            }
            output::write(request, None)?;
        }
        Ok(true)
    }
}

/// Tests all trainings on the request's grids, also those that were trained before; who stops does not want to wait for that.
pub fn test_all(request: &Request) -> Result<()> {
    let tests = request.tests();
    let mut jobs = request.jobs().into_iter().take_while(|_| !should_stop());
    jobs.try_for_each(|job| Training::new(job, request)?.test(&tests))
}

/// A time to plan with.
pub fn in_words(seconds: f64) -> String {
    match seconds {
        s if s < 90.0 => format!("{s:.0} s"),
        s if s < 5400.0 => format!("{:.0} min", s / 60.0),
        s => format!("{:.1} h", s / 3600.0),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn times_are_said_in_a_unit_that_fits() {
        assert_eq!(super::in_words(12.3), "12 s");
        assert_eq!(super::in_words(600.0), "10 min");
        assert_eq!(super::in_words(9000.0), "2.5 h");
    }
}
