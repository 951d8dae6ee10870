//! The paper's examples: what each of them trains, and what is particular to its tables.

mod cifar;
mod darcy;
mod functions;
mod images;
mod mnist;
mod poisson;

use super::cell::Unit;
use super::names::RANDOM;
use super::row::{Data, Key, Row};
use anyhow::{Result, bail};
use clap::ValueEnum;
use nkn::run::RunConfig;
use std::path::PathBuf;

/// The four examples.
pub static PROBLEMS: [&Problem; 4] = [&poisson::POISSON, &darcy::DARCY, &mnist::MNIST, &cifar::CIFAR];

/// How long to train.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Budget {
    /// A few steps: shows how it works, in minutes
    Quick,
    /// The numbers to compare with the paper
    Full,
}

/// What is learned, which decides how the paper arranges its table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Task {
    /// A function from a function. A training climbs a ladder of depths, which are the columns.
    Functions,
    /// The class of an image. Each depth is a training and a row; the columns are pairs of resolutions.
    Images,
}

/// An example of the paper.
#[derive(Debug)]
pub struct Problem {
    /// The name in commands and files.
    pub name: &'static str,
    /// The name for people.
    pub title: &'static str,
    /// What is learned.
    pub task: Task,
    /// The models, in the order in which they are trained.
    pub models: &'static [&'static str],
    /// The depths of a model; none for a network without a depth.
    pub depths: fn(&str, Budget) -> &'static [usize],
    /// The seeds of the trainings with a full budget.
    pub seeds: &'static [u64],
    /// Whether NKN is trained from random weights at every depth too: what shallow-to-deep is for. Once, on a cheap example.
    pub compares_initialisations: bool,
    /// The samples that the paper tests with.
    pub split: &'static str,
    /// Points or pixels per side in training, unless others are asked for.
    pub trained_at: &'static [usize],
    /// Points or pixels per side in tests.
    pub tested_at: fn(Budget) -> &'static [usize],
    /// Whether the data have a resolution, and which do.
    pub has_resolution: (fn(usize) -> bool, &'static str),
    /// What the paper calls resolutions.
    pub resolution_names: &'static [(usize, &'static str)],
    /// The heading of a table that has this number.
    pub table_title: fn(&Key) -> String,
    /// The error from which a network counts as collapsed.
    pub collapse: fn(&Key) -> f64,
    /// What is trained: the settings were chosen by trials, see docs/results/README.md.
    pub config: fn(&Job, &Request) -> Result<RunConfig>,
    /// What a reader should know.
    pub notes: &'static [&'static str],
}

impl Problem {
    /// The name of a resolution, as in "s = 16", "fine" or "56 × 56".
    pub fn resolution_name(&self, side: usize) -> String {
        match (self.resolution_names.iter().find(|(known, _)| *known == side), self.task) {
            (Some((_, name)), _) => name.to_string(),
            (None, Task::Functions) => format!("s = {side}"),
            (None, Task::Images) => format!("{side} × {side}"),
        }
    }
}

impl Task {
    /// The metric of the paper's tables.
    pub fn metric(self) -> &'static str {
        if self == Self::Functions { "relative_l2" } else { "error_rate" }
    }

    /// How its numbers are written.
    pub fn unit(self) -> Unit {
        if self == Self::Functions { Unit::Error } else { Unit::Percent }
    }
}

/// What is asked for; empty lists stand for the usual ones.
#[derive(Clone)]
pub struct Request {
    /// The example.
    pub problem: &'static Problem,
    /// How long.
    pub budget: Budget,
    /// Of [`Problem::models`].
    pub models: Vec<String>,
    /// L.
    pub depths: Vec<usize>,
    /// Images: radii of NKN in pixels.
    pub radii: Vec<usize>,
    /// Seeds of the weights; the data are the same for all.
    pub seeds: Vec<u64>,
    /// Points or pixels per side in training.
    pub trained_at: Vec<usize>,
    /// In tests.
    pub tested_at: Vec<usize>,
    /// Functions: halves of the tables.
    pub data: Vec<Data>,
    /// Epochs of each training, if not the budget's.
    pub epochs: Option<usize>,
    /// Where the images are.
    pub images: PathBuf,
    /// Where the runs go.
    pub out: PathBuf,
}

/// One training.
#[derive(Clone, Debug, PartialEq)]
pub struct Job {
    /// The example.
    pub problem: &'static str,
    /// As in [`Key::model`].
    pub model: String,
    /// Functions: what it is trained on.
    pub data: Option<Data>,
    /// The ladder, or the one depth of a network, or nothing.
    pub depths: Vec<usize>,
    /// Points or pixels per side.
    pub trained_at: usize,
    /// The seed of the weights.
    pub seed: u64,
}

impl Job {
    /// The name of its folder.
    pub fn name(&self) -> String {
        let Self { model, trained_at, seed, .. } = self;
        match (self.data, self.depths.first()) {
            (Some(data), _) => {
                let (kind, start) = model.strip_suffix(RANDOM).map_or((model.as_str(), ""), |kind| (kind, RANDOM));
                format!("{kind}-s{trained_at}-{data}-seed{seed}{start}")
            }
            (None, Some(depth)) => format!("{model}-l{depth}-at{trained_at}-seed{seed}"),
            (None, None) => format!("{model}-at{trained_at}-seed{seed}"),
        }
    }

    /// Where its runs are.
    pub fn folder(&self, request: &Request) -> PathBuf {
        request.out.join("jobs").join(self.name())
    }

    /// A number of this training.
    pub fn row(&self, depth: Option<usize>, (split, tested_at): (&str, usize), (metric, value): (&str, f64)) -> Row {
        let key = Key {
            problem: self.problem.into(),
            model: self.model.clone(),
            data: self.data,
            depth,
            split: split.into(),
            trained_at: self.trained_at,
            tested_at,
            metric: metric.into(),
        };
        Row { key, seed: self.seed, value }
    }
}

fn or<T: Clone>(given: &[T], usual: &[T]) -> Vec<T> {
    if given.is_empty() { usual.to_vec() } else { given.to_vec() }
}

impl Request {
    /// Refuses what the example does not have.
    pub fn check(&self) -> Result<()> {
        let (problem, name) = (self.problem, self.problem.name);
        for model in &self.models {
            if !problem.models.contains(&model.as_str()) {
                let models = problem.models.join(", ");
                bail!("--models: expected some of {models} for {name}, got {model}");
            }
        }
        let is_rising = self.depths.is_sorted_by(|a, b| a < b);
        if self.depths.contains(&0) || problem.task == Task::Functions && !is_rising {
            let depths = &self.depths;
            bail!(
                "--depths: expected rising numbers from 1, got {depths:?}\n  hint: deeper networks start from shallower ones"
            );
        }
        for (option, given) in [("--radii", self.radii.contains(&0)), ("--epochs", self.epochs == Some(0))] {
            if given {
                bail!("{option}: expected 1 or more, got 0");
            }
        }
        let (fits, which) = problem.has_resolution;
        if let Some(side) = self.trained_at.iter().chain(&self.tested_at).find(|&&side| !fits(side)) {
            bail!("--trained-at, --tested-at: expected {which}, got {side}");
        }
        Ok(())
    }

    /// The resolutions of the tests.
    pub fn tests(&self) -> Vec<usize> {
        or(&self.tested_at, (self.problem.tested_at)(self.budget))
    }

    /// The trainings, first seed first, so that every table is filled before any is refined.
    pub fn jobs(&self) -> Vec<Job> {
        let problem = self.problem;
        let halves = match problem.task {
            Task::Functions => or(&self.data, &[Data::Normalised, Data::Original]).into_iter().map(Some).collect(),
            Task::Images => vec![None],
        };
        let usual: Vec<String> = problem.models.iter().map(|model| model.to_string()).collect();
        let mut jobs: Vec<Job> = Vec::new();
        for (index, &seed) in
            or(&self.seeds, if self.budget == Budget::Full { problem.seeds } else { &[0] }).iter().enumerate()
        {
            for &trained_at in &or(&self.trained_at, problem.trained_at) {
                for &data in &halves {
                    for (model, depths) in or(&self.models, &usual).iter().flat_map(|model| self.networks(model)) {
                        jobs.push(Job { problem: problem.name, model, data, depths, trained_at, seed });
                    }
                }
            }
            let first = jobs.iter().find(|job| job.model == "nkn" && job.data == Some(Data::Original));
            if let (0, true, Some(job)) = (index, problem.compares_initialisations, first.cloned()) {
                jobs.push(Job { model: job.model.clone() + RANDOM, ..job });
            }
        }
        let mut names: Vec<String> = Vec::new();
        jobs.retain(|job| {
            !names.contains(&job.name()) && {
                names.push(job.name());
                true
            }
        });
        jobs
    }

    /// The trainings of a model: one ladder, or one per radius and depth.
    fn networks(&self, model: &str) -> Vec<(String, Vec<usize>)> {
        let depths = match (self.problem.depths)(model, self.budget) {
            [] => return vec![(model.to_owned(), Vec::new())],
            usual => or(&self.depths, usual),
        };
        let models = match (self.problem.task, model) {
            (Task::Functions, _) => return vec![(model.to_owned(), depths)],
            (Task::Images, "nkn") => or(&self.radii, &[2, 3, 4]).iter().map(|r| format!("nkn-r{r}")).collect(),
            (Task::Images, _) => vec![model.to_owned()],
        };
        models.iter().flat_map(|model| depths.iter().map(|&depth| (model.clone(), vec![depth]))).collect()
    }

    /// The same with all models, depths, halves and grids and with any small seed: for what was trained before.
    pub fn everything(&self) -> Self {
        let others = self.seeds.iter().copied().filter(|&seed| seed >= 16);
        Self {
            models: Vec::new(),
            depths: if self.problem.task == Task::Functions { self.depths.clone() } else { Vec::new() },
            radii: Vec::new(),
            seeds: (0..16).chain(others).collect(),
            trained_at: Vec::new(),
            data: Vec::new(),
            ..self.clone()
        }
    }
}

#[cfg(test)]
pub mod tests;
