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
use anyhow::{Result, bail, ensure};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use nkn::run::RunConfig;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

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

/// A ladder of which both ways to begin a depth are compared.
#[derive(Clone, Copy, Debug)]
pub struct Initialisations {
    /// The model.
    pub model: &'static str,
    /// What it is trained on.
    pub data: Data,
    /// No deeper than this.
    pub deepest: usize,
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
    /// The ladder that is trained from random weights at every depth too, with the first seed: what shallow-to-deep is for.
    pub compares_initialisations: Option<Initialisations>,
    /// The samples that the paper tests with.
    pub split: &'static str,
    /// Points or pixels per side in training, unless others are asked for.
    pub trained_at: &'static [usize],
    /// Finer grids that the paper trains on too, for those who ask for them.
    pub finer: &'static [usize],
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

/// What is asked for, in the command's options; empty lists stand for the usual ones.
#[derive(Args, Clone)]
pub struct Request {
    /// The example: poisson, darcy, mnist or cifar
    #[arg(value_name = "EXAMPLE", value_parser = PossibleValuesParser::new(PROBLEMS.map(|one| one.name)).try_map(named))]
    pub problem: &'static Problem,
    /// How long to train
    #[arg(long, default_value = "full")]
    pub budget: Budget,
    /// Models [default: all of the example: nkn, gkn, fno, for darcy nkn-small and gkn-small too; mnist cnn, multiscale-cnn, nnn, nkn; cifar preresnet20, nnn, nkn]
    #[arg(long, value_delimiter = ',', value_name = "MODEL")]
    pub models: Vec<String>,
    /// Depths, rising [default: poisson 1,2,4,8,16,32; darcy 1,2,4,8,16,32,64, gkn and fno to 16; quick darcy 1,2,4; images: the paper's]
    #[arg(long, value_delimiter = ',', value_name = "L")]
    pub depths: Vec<usize>,
    /// Seeds of the weights [default: 0,1; 0 for quick, for darcy and for images]
    #[arg(long, value_delimiter = ',', value_name = "N")]
    pub seeds: Vec<u64>,
    /// Points per side of the training grids [default: poisson 101; darcy 16; 31, the paper's fine set, begins with the weights
    /// of 16; mnist 28,14; cifar 32]
    #[arg(long, value_delimiter = ',', value_name = "S")]
    pub trained_at: Vec<usize>,
    /// Points per side of the test grids [default: poisson 101; darcy 16,31,61, quick 16,31; mnist 28,14; cifar 32,64,16]
    #[arg(long, value_delimiter = ',', value_name = "S")]
    pub tested_at: Vec<usize>,
    /// Which half of the tables (poisson and darcy): normalised, original or both [default: both]
    #[arg(long, value_name = "HALF", value_parser = ["normalised", "original", "both"])]
    pub data: Option<String>,
    /// Radii of the nonlocal kernel networks in pixels (mnist and cifar) [default: 2,3,4]
    #[arg(long, value_delimiter = ',', value_name = "R")]
    pub radii: Vec<usize>,
    /// Epochs of each depth or network, instead of the budget's [the paper: 1000 for functions, 200 for images]
    #[arg(long, value_name = "N")]
    pub epochs: Option<usize>,
    /// Where the images are (mnist and cifar); what is missing is fetched [default: data/mnist, data/cifar10]
    #[arg(long, value_name = "FOLDER")]
    pub images: Option<PathBuf>,
    /// Tables with the numbers of other runs too: their results.csv, from another folder or machine. A depth that was trained here
    /// too, or in an earlier file, is taken from there
    #[arg(long, value_delimiter = ',', value_name = "FILE")]
    pub join: Vec<PathBuf>,
    /// Where everything goes [default: runs/reproduce-EXAMPLE, with -quick for quick]
    #[arg(long, value_name = "FOLDER")]
    pub out: Option<PathBuf>,
}

fn named(name: String) -> Result<&'static Problem, &'static str> {
    PROBLEMS.into_iter().find(|problem| problem.name == name).ok_or("no such example")
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
    /// The training on the example's first grid whose weights it begins with: a finer grid makes a step expensive, and what the
    /// coarse one teaches holds there too. A Fourier layer has other weights at every depth and starts anew.
    pub fn coarse(&self) -> Option<Self> {
        let problem = PROBLEMS.iter().find(|problem| problem.name == self.problem)?;
        let is_finer = !problem.finer.is_empty() && self.trained_at > problem.trained_at[0];
        (is_finer && self.model != "fno").then(|| Self { trained_at: problem.trained_at[0], ..self.clone() })
    }

    /// The name of its folder.
    pub fn name(&self) -> String {
        let Self { model, trained_at, seed, .. } = self;
        match (self.data, self.depths.first()) {
            (Some(data), _) => {
                let (kind, start) = model.strip_suffix(RANDOM).map_or((model.as_str(), ""), |kind| (kind, RANDOM));
                let depth = self.coarse().map(|_| format!("-l{}", self.depths[0])).unwrap_or_default();
                format!("{kind}-s{trained_at}-{data}-seed{seed}{start}{depth}")
            }
            (None, Some(depth)) => format!("{model}-l{depth}-at{trained_at}-seed{seed}"),
            (None, None) => format!("{model}-at{trained_at}-seed{seed}"),
        }
    }

    /// Where its runs are.
    pub fn folder(&self, request: &Request) -> PathBuf {
        request.out().join("jobs").join(self.name())
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
    /// Refuses what the example does not have; an option that has no meaning for it is an error.
    pub fn check(&self) -> Result<()> {
        let (problem, name) = (self.problem, self.problem.name);
        let is_images = problem.task == Task::Images;
        for (option, is_wrong, those) in [
            ("--data", is_images && self.data.is_some(), "poisson and darcy"),
            ("--radii", !is_images && !self.radii.is_empty(), "mnist and cifar"),
            ("--images", !is_images && self.images.is_some(), "mnist and cifar"),
        ] {
            ensure!(!is_wrong, "{option}: has no meaning for {name}\n  hint: it is for {those}");
        }
        if let Some(model) = self.models.iter().find(|model| !problem.models.contains(&model.as_str())) {
            bail!("--models: expected some of {} for {name}, got {model}", problem.models.join(", "));
        }
        let is_rising = self.depths.is_sorted_by(|a, b| a < b);
        ensure!(
            !self.depths.contains(&0) && (is_images || is_rising),
            "--depths: expected rising numbers from 1, got {:?}\n  hint: deeper networks start from shallower ones",
            self.depths
        );
        for (option, is_zero) in [("--radii", self.radii.contains(&0)), ("--epochs", self.epochs == Some(0))] {
            ensure!(!is_zero, "{option}: expected 1 or more, got 0");
        }
        let (fits, which) = problem.has_resolution;
        if let Some(side) = self.trained_at.iter().chain(&self.tested_at).find(|&&side| !fits(side)) {
            bail!("--trained-at, --tested-at: expected {which}, got {side}");
        }
        Ok(())
    }

    /// Where everything goes.
    pub fn out(&self) -> PathBuf {
        let suffix = if self.budget == Budget::Quick { "-quick" } else { "" };
        let usual = || Path::new("runs").join(format!("reproduce-{}{suffix}", self.problem.name));
        self.out.clone().unwrap_or_else(usual)
    }

    /// Where the images are.
    pub fn images(&self) -> PathBuf {
        let name = if self.problem.name == "cifar" { "cifar10" } else { self.problem.name };
        self.images.clone().unwrap_or_else(|| Path::new("data").join(name))
    }

    /// The resolutions of the tests.
    pub fn tests(&self) -> Vec<usize> {
        or(&self.tested_at, (self.problem.tested_at)(self.budget))
    }

    /// The trainings, first seed first, so that every table is filled before any is refined.
    pub fn jobs(&self) -> Vec<Job> {
        let problem = self.problem;
        let is_asked = |half: &Data| self.data.as_deref().is_none_or(|data| data == "both" || data == half.to_string());
        let halves: Vec<Option<Data>> = match problem.task {
            Task::Functions => [Data::Normalised, Data::Original].into_iter().filter(is_asked).map(Some).collect(),
            Task::Images => vec![None],
        };
        let usual: Vec<String> = problem.models.iter().map(|model| model.to_string()).collect();
        let mut jobs: Vec<Job> = Vec::new();
        let seeds = or(&self.seeds, if self.budget == Budget::Full { problem.seeds } else { &[0] });
        for (index, &seed) in seeds.iter().enumerate() {
            for &trained_at in &or(&self.trained_at, problem.trained_at) {
                for &data in &halves {
                    for (model, depths) in or(&self.models, &usual).iter().flat_map(|model| self.networks(model)) {
                        let job = Job { problem: problem.name, model, data, depths, trained_at, seed };
                        match job.coarse() {
                            None => jobs.push(job),
                            // Each depth begins with the coarse training's weights of that depth.
                            Some(_) => {
                                let depths = job.depths.iter();
                                jobs.extend(depths.map(|&depth| Job { depths: vec![depth], ..job.clone() }));
                            }
                        }
                    }
                }
            }
            if let (0, Some(compared)) = (index, problem.compares_initialisations) {
                let is_it = |job: &&Job| job.model == compared.model && job.data == Some(compared.data);
                let ladder = jobs.iter().find(|job| is_it(job) && job.coarse().is_none()).cloned();
                jobs.extend(ladder.map(|mut job| {
                    job.depths.retain(|&depth| depth <= compared.deepest);
                    Job { model: job.model + RANDOM, ..job }
                }));
            }
        }
        let mut names = BTreeSet::new();
        jobs.retain(|job| names.insert(job.name()));
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
            trained_at: [self.problem.trained_at, self.problem.finer].concat(),
            data: None,
            ..self.clone()
        }
    }
}

#[cfg(test)]
pub mod tests;
