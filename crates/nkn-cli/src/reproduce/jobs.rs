//! The trainings that the paper's tables are made of: model x seed x normalisation x training grid, each a ladder of depths in
//! a run folder of its own.

use anyhow::Result;
use clap::ValueEnum;
use nkn::field::NormaliserKind;
use nkn::model::{Kind, ModelConfig};
use nkn::run::RunConfig;
use nkn::train::{Initialisation, OptimiserKind, PerDepth};
use std::path::{Path, PathBuf};

/// An example of the paper.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Experiment {
    /// 1D Poisson: NKN, GKN and FNO at depths 1 to 32, with and without normalisation
    Poisson,
    /// 2D Darcy flow: NKN, GKN and FNO, tested at several resolutions
    Darcy,
}

/// How long to train.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Budget {
    /// A few steps: shows how it works, in minutes
    Quick,
    /// The numbers to compare with the paper
    Full,
}

/// Which half of the paper's tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Halves {
    /// Trained on normalised data
    Normalised,
    /// Trained on the original data
    Original,
    /// One after the other
    Both,
}

/// Depths of the paper's ladder for which settings are given below.
const LADDER: [usize; 7] = [1, 2, 4, 8, 16, 32, 64];

impl Experiment {
    /// The name in files.
    pub fn name(self) -> &'static str {
        match self {
            Experiment::Poisson => "poisson",
            Experiment::Darcy => "darcy",
        }
    }

    /// Space dimensions.
    pub fn dim(self) -> usize {
        match self {
            Experiment::Poisson => 1,
            Experiment::Darcy => 2,
        }
    }

    /// The configuration that the trainings start from.
    fn base(self) -> nkn::Result<RunConfig> {
        let (text, name) = match self {
            Experiment::Poisson => (include_str!("../../../../configs/poisson.toml"), "configs/poisson.toml"),
            Experiment::Darcy => (include_str!("../../../../configs/darcy.toml"), "configs/darcy.toml"),
        };
        RunConfig::parse(text, Path::new(name), &[])
    }

    /// The grid of the training, unless others are asked for.
    pub fn usual_grids(self) -> Vec<usize> {
        match self {
            Experiment::Poisson => vec![101],
            Experiment::Darcy => vec![16],
        }
    }

    /// The grids of the tests.
    pub fn usual_tests(self, budget: Budget) -> Vec<usize> {
        match (self, budget) {
            (Experiment::Poisson, _) => vec![101],
            (Experiment::Darcy, Budget::Quick) => vec![16, 31],
            (Experiment::Darcy, Budget::Full) => vec![16, 31, 61],
        }
    }

    /// The depths of a model, unless others are asked for.
    pub fn usual_depths(self, kind: Kind, budget: Budget) -> Vec<usize> {
        match (self, budget, kind) {
            (Experiment::Poisson, ..) => vec![1, 2, 4, 8, 16, 32],
            (Experiment::Darcy, Budget::Quick, _) => vec![1, 2, 4],
            (Experiment::Darcy, Budget::Full, Kind::Gkn) => vec![1, 2, 4, 8],
            (Experiment::Darcy, Budget::Full, _) => vec![1, 2, 4, 8, 16],
        }
    }
}

/// One training.
#[derive(Clone, Debug, PartialEq)]
pub struct Job {
    /// The example.
    pub experiment: Experiment,
    /// The model.
    pub kind: Kind,
    /// The seed of the weights; the data are the same for all.
    pub seed: u64,
    /// Whether the data are normalised.
    pub normalised: bool,
    /// Points per side of the training grid.
    pub trained_at: usize,
    /// How the depths after the first begin.
    pub initialisation: Initialisation,
    /// The ladder.
    pub depths: Vec<usize>,
}

impl Job {
    /// The name of its folder.
    pub fn name(&self) -> String {
        let half = if self.normalised { "normalised" } else { "original" };
        let start = if self.initialisation == Initialisation::Random { "-random" } else { "" };
        format!("{}-s{}-{half}-seed{}{start}", self.kind, self.trained_at, self.seed)
    }

    /// What is trained: the settings were chosen by trials, see docs/results/README.md.
    pub fn config(&self, budget: Budget, data: &Path) -> Result<RunConfig> {
        let mut config = self.experiment.base()?;
        config.data.folder = data.to_owned();
        match self.experiment {
            Experiment::Poisson => config.data.points = self.trained_at,
            Experiment::Darcy => config.data.resolution = Some(self.trained_at),
        }
        let settings = Settings::of(self.experiment, self.kind, budget);
        match self.kind {
            Kind::Nkn => {}
            Kind::Gkn => {
                config.model.kind = Kind::Gkn;
                // Without it most of the deeper ladders end in numbers that are not finite.
                config.train.clip = Some(1.0);
            }
            Kind::Fno => {
                config.model = if self.experiment.dim() == 1 { ModelConfig::fno_1d() } else { ModelConfig::fno_2d() };
                config.train.optimiser = OptimiserKind::Adamw;
                config.train.betas = [0.9, 0.999];
                config.train.batch = Some(20);
                config.train.weight_decay = 1e-2;
                config.train.vectors.clear();
            }
        }
        let statistics = match self.kind {
            _ if !self.normalised => NormaliserKind::None,
            Kind::Fno => NormaliserKind::Pointwise,
            _ => NormaliserKind::Scalar,
        };
        config.model.normalise_input = statistics;
        config.model.normalise_output = statistics;
        config.train.depths = self.depths.clone();
        config.train.initialisation = self.initialisation;
        config.train.epochs = PerDepth::Each(self.depths.iter().map(|&d| at(d, &settings.epochs)).collect());
        config.train.learning_rate = PerDepth::Each(self.depths.iter().map(|&d| at(d, &settings.rates)).collect());
        let shortest = settings.epochs.iter().copied().min().unwrap_or(1);
        config.train.schedule.warm_up = config.train.schedule.warm_up.min(shortest / 5);
        if budget == Budget::Quick || self.kind == Kind::Fno {
            config.train.record_every = (shortest / 100).max(1);
            config.train.evaluate_every = (shortest / 5).max(1);
        }
        config.train.seed = self.seed;
        config.model.check()?;
        config.train.check()?;
        Ok(config)
    }
}

/// The setting of the paper's depth that is nearest from below.
fn at<T: Copy>(depth: usize, values: &[T; 7]) -> T {
    let rung = LADDER.iter().rposition(|&rung| rung <= depth).unwrap_or(0);
    values[rung]
}

/// Epochs and learning rates of the paper's seven depths.
struct Settings {
    epochs: [usize; 7],
    rates: [f64; 7],
}

impl Settings {
    fn of(experiment: Experiment, kind: Kind, budget: Budget) -> Self {
        use {Budget::*, Experiment::*};
        let epochs = match (experiment, kind, budget) {
            (Poisson, Kind::Fno, Full) => [25; 7],
            (Poisson, Kind::Fno, Quick) => [12; 7],
            (Poisson, _, Full) => [1000; 7],
            (Poisson, _, Quick) => [250; 7],
            (Darcy, Kind::Fno, Full) => [300; 7],
            (Darcy, Kind::Fno, Quick) => [60; 7],
            (Darcy, Kind::Gkn, Full) => [60, 60, 100, 200, 200, 200, 200],
            (Darcy, _, Full) => [150, 150, 250, 450, 900, 300, 300],
            (Darcy, _, Quick) => [10; 7],
        };
        let rates = match (experiment, kind) {
            (_, Kind::Fno) => [1e-3; 7],
            // Too few steps to recover from a large one.
            (Poisson, _) if budget == Quick => [1e-2, 2e-3, 2e-3, 2e-3, 2e-3, 2e-3, 2e-3],
            (Poisson, _) => [1e-2, 5e-3, 5e-3, 5e-3, 5e-3, 5e-3, 5e-3],
            (Darcy, _) => [3e-3, 3e-3, 3e-3, 2e-3, 2e-3, 1e-3, 1e-3],
        };
        Self { epochs, rates }
    }
}

/// What is asked for.
#[derive(Clone, Debug)]
pub struct Request {
    /// The example.
    pub experiment: Experiment,
    /// How long.
    pub budget: Budget,
    /// Which models.
    pub models: Vec<Kind>,
    /// Which seeds.
    pub seeds: Vec<u64>,
    /// Depths, if not the usual ones.
    pub depths: Vec<usize>,
    /// Training grids.
    pub grids: Vec<usize>,
    /// Halves of the tables.
    pub halves: Halves,
    /// Where the runs go.
    pub out: PathBuf,
}

impl Request {
    /// The trainings, first seed first, so that every table is filled before any is refined.
    pub fn jobs(&self) -> Vec<Job> {
        let halves: &[bool] = match self.halves {
            Halves::Normalised => &[true],
            Halves::Original => &[false],
            Halves::Both => &[true, false],
        };
        let mut jobs = Vec::new();
        for (index, &seed) in self.seeds.iter().enumerate() {
            for &trained_at in &self.grids {
                for &normalised in halves {
                    for &kind in &self.models {
                        let depths = match self.depths.as_slice() {
                            [] => self.experiment.usual_depths(kind, self.budget),
                            depths => depths.to_vec(),
                        };
                        let initialisation = Initialisation::ShallowToDeep;
                        let experiment = self.experiment;
                        jobs.push(Job { experiment, kind, seed, normalised, trained_at, initialisation, depths });
                    }
                }
            }
            // What shallow-to-deep is for: the same network from random weights at every depth. Once, on the cheap example.
            let first = jobs.iter().find(|job| job.kind == Kind::Nkn && job.seed == seed && !job.normalised).cloned();
            if let (0, Experiment::Poisson, Some(job)) = (index, self.experiment, first) {
                jobs.push(Job { initialisation: Initialisation::Random, ..job });
            }
        }
        jobs
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(experiment: Experiment) -> Request {
        Request {
            experiment,
            budget: Budget::Quick,
            models: vec![Kind::Nkn, Kind::Gkn, Kind::Fno],
            seeds: vec![0, 1],
            depths: Vec::new(),
            grids: experiment.usual_grids(),
            halves: Halves::Both,
            out: PathBuf::new(),
        }
    }

    #[test]
    fn every_job_has_a_name_and_a_valid_configuration() {
        for experiment in [Experiment::Poisson, Experiment::Darcy] {
            let jobs = request(experiment).jobs();
            assert_eq!(jobs.len(), if experiment == Experiment::Poisson { 13 } else { 12 });
            let names: std::collections::BTreeSet<String> = jobs.iter().map(Job::name).collect();
            assert_eq!(names.len(), jobs.len());
            for job in &jobs {
                for budget in [Budget::Quick, Budget::Full] {
                    let config = job.config(budget, Path::new("data")).unwrap();
                    assert_eq!(config.model.kind, job.kind);
                    assert_eq!(config.model.normalise_output == NormaliserKind::None, !job.normalised);
                }
            }
        }
    }

    /// The full Darcy ladder is the one of the configuration file, so that a run of it counts as a cell.
    #[test]
    fn the_full_nkn_ladder_is_the_configuration_file() {
        let job = request(Experiment::Darcy).jobs().remove(0);
        let job = Job { depths: vec![1, 2, 4, 8, 16], ..job };
        let config = job.config(Budget::Full, Path::new("data")).unwrap();
        let file = Experiment::Darcy.base().unwrap();
        assert_eq!(config.model, file.model);
        for rung in 0..5 {
            assert_eq!(config.train.epochs.at(rung), file.train.epochs.at(rung));
            assert_eq!(config.train.learning_rate.at(rung), file.train.learning_rate.at(rung));
        }
    }

    #[test]
    fn a_depth_between_two_of_the_paper_takes_the_lower_ones_settings() {
        assert_eq!(at(3, &[1, 2, 3, 4, 5, 6, 7]), 2);
        assert_eq!(at(100, &[1, 2, 3, 4, 5, 6, 7]), 7);
    }
}
