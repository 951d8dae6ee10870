//! The trainings behind the paper's tables of images: a network and a resolution each, in a run folder of its own.

use super::Task;
use crate::reproduce::jobs::Budget;
use nkn::classify::{
    Architecture, Block, ClassifierConfig, ClassifierTraining, ImageDataConfig, ImageRunConfig, Problem,
};
use nkn::problem::images::ImageSet;
use std::path::PathBuf;

/// The set of a task.
pub fn set_of(task: Task) -> ImageSet {
    problem_of(task).set()
}

fn problem_of(task: Task) -> Problem {
    match task {
        Task::Mnist => Problem::Mnist,
        Task::Cifar => Problem::Cifar10,
    }
}

/// The name in commands and folders.
pub fn name_of(task: Task) -> &'static str {
    match task {
        Task::Mnist => "mnist",
        Task::Cifar => "cifar",
    }
}

/// What is asked for; empty lists stand for the paper's.
#[derive(Clone, Debug)]
pub struct Request {
    /// The table.
    pub task: Task,
    /// How long.
    pub budget: Budget,
    /// `cnn`, `multiscale-cnn`, `nnn`, `nkn`, `preresnet20`.
    pub models: Vec<&'static str>,
    /// L.
    pub depths: Vec<usize>,
    /// r.
    pub radii: Vec<usize>,
    /// Seeds of the trainings.
    pub seeds: Vec<u64>,
    /// Pixels along a side of the training images.
    pub trained_at: Vec<usize>,
    /// Of the test images.
    pub tested_at: Vec<usize>,
    /// Epochs, if not the budget's.
    pub epochs: Option<usize>,
    /// Where the images are.
    pub images: PathBuf,
    /// Where the runs go.
    pub out: PathBuf,
}

/// One training.
#[derive(Clone, Debug, PartialEq)]
pub struct Job {
    /// What is trained.
    pub config: ImageRunConfig,
}

impl Job {
    /// The name of its folder.
    pub fn name(&self) -> String {
        format!("{}-at{}-seed{}", self.config.model.name(), self.config.data.side, self.config.train.seed)
    }
}

fn or<T: Clone>(given: &[T], usual: &[T]) -> Vec<T> {
    if given.is_empty() { usual.to_vec() } else { given.to_vec() }
}

impl Request {
    /// The trainings, first seed first.
    pub fn jobs(&self) -> Vec<Job> {
        let sides = match self.task {
            Task::Mnist => or(&self.trained_at, &[28, 14]),
            Task::Cifar => or(&self.trained_at, &[32]),
        };
        let mut jobs = Vec::new();
        for &seed in &self.seeds {
            for &side in &sides {
                jobs.extend(self.networks().into_iter().map(|model| self.job(model, side, seed)));
            }
        }
        jobs
    }

    /// The networks in the order of the paper's rows.
    fn networks(&self) -> Vec<ClassifierConfig> {
        let all: &[&'static str] = match self.task {
            Task::Mnist => &["cnn", "multiscale-cnn", "nnn", "nkn"],
            Task::Cifar => &["preresnet20", "nnn", "nkn"],
        };
        let radii = or(&self.radii, &[2, 3, 4]);
        let mut networks = Vec::new();
        for model in or(&self.models, all) {
            let (architecture, block) = match (self.task, model) {
                (Task::Mnist, "cnn") => (Architecture::Cnn, Block::None),
                (Task::Mnist, "multiscale-cnn") => (Architecture::MultiscaleCnn, Block::None),
                (Task::Mnist, "nnn") => (Architecture::Nnn, Block::None),
                (Task::Mnist, _) => (Architecture::Nkn, Block::None),
                (Task::Cifar, "nnn") => (Architecture::Preresnet, Block::Nnn),
                (Task::Cifar, "nkn") => (Architecture::Preresnet, Block::Nkn),
                (Task::Cifar, _) => (Architecture::Preresnet, Block::None),
            };
            let base = ClassifierConfig { architecture, block, ..ClassifierConfig::default() };
            let depths: &[usize] = match (self.task, block) {
                (Task::Mnist, _) => &[1, 2, 4],
                (Task::Cifar, Block::None) => &[],
                (Task::Cifar, Block::Nnn) => &[2, 3, 4, 5],
                (Task::Cifar, Block::Nkn) => &[2, 3, 4],
            };
            if depths.is_empty() {
                networks.push(base);
                continue;
            }
            let radii = if base.uses_kernel() { radii.clone() } else { vec![3] };
            for radius in radii {
                let at = |depth| ClassifierConfig { depth, radius: radius as f64, ..base.clone() };
                networks.extend(or(&self.depths, depths).into_iter().map(at));
            }
        }
        networks
    }

    fn job(&self, model: ClassifierConfig, side: usize, seed: u64) -> Job {
        let quick = self.budget == Budget::Quick;
        let usual = match (self.task, quick) {
            (Task::Mnist, false) => 5,
            (Task::Cifar, false) => 15,
            (_, true) => 2,
        };
        let is_cifar = self.task == Task::Cifar;
        let data = ImageDataConfig {
            problem: problem_of(self.task),
            folder: self.images.clone(),
            side,
            tested_at: or(&self.tested_at, if is_cifar { &[32, 64, 16] } else { &[28, 14] }),
            train_images: if quick { 2_000 } else { 50_000 },
            test_images: quick.then_some(500),
        };
        let train = ClassifierTraining {
            epochs: self.epochs.unwrap_or(usual),
            learning_rate: if is_cifar { 3e-3 } else { 1e-3 },
            weight_decay: if is_cifar { 1e-4 } else { 0.0 },
            flip: is_cifar,
            shift: if is_cifar { 4 } else { 0 },
            seed,
            ..ClassifierTraining::default()
        };
        Job { config: ImageRunConfig { data, model, train } }
    }

    /// What each training may take, for the tables.
    pub fn budget_in_words(&self) -> String {
        let jobs = self.jobs();
        let Some(ImageRunConfig { data, train, .. }) = jobs.first().map(|job| &job.config) else {
            return "nothing".into();
        };
        let moved = if train.flip { ", images mirrored and moved by up to 4 pixels" } else { "" };
        format!(
            "{} epochs each over {} images, batches of {}, Adam from {:e} down along a cosine{moved}",
            train.epochs, data.train_images, train.batch, train.learning_rate
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(task: Task) -> Request {
        Request {
            task,
            budget: Budget::Full,
            models: Vec::new(),
            depths: Vec::new(),
            radii: Vec::new(),
            seeds: vec![0],
            trained_at: Vec::new(),
            tested_at: Vec::new(),
            epochs: None,
            images: PathBuf::from("data"),
            out: PathBuf::new(),
        }
    }

    /// Every row of the paper is trained once, at each resolution.
    #[test]
    fn every_row_has_a_training() {
        let names = |task| request(task).jobs().iter().map(Job::name).collect::<std::collections::BTreeSet<_>>();
        let mnist = names(Task::Mnist);
        assert_eq!(mnist.len(), 2 * (3 + 3 + 3 + 9));
        assert!(mnist.contains("nkn-r3-l2-at14-seed0") && mnist.contains("multiscale-cnn-l4-at28-seed0"));
        let cifar = names(Task::Cifar);
        assert_eq!(cifar.len(), 1 + 4 + 9);
        assert!(cifar.contains("preresnet20-at32-seed0") && cifar.contains("nnn-l5-at32-seed0"));
        for job in request(Task::Cifar).jobs() {
            job.config.model.check().unwrap();
            job.config.train.check().unwrap();
            assert_eq!(job.config.train.epochs, 15);
        }
    }

    #[test]
    fn parts_can_be_asked_for() {
        let part =
            Request { models: vec!["nkn"], depths: vec![2], radii: vec![4], epochs: Some(200), ..request(Task::Cifar) };
        let jobs = part.jobs();
        assert_eq!(jobs.len(), 1);
        assert_eq!(jobs[0].name(), "nkn-r4-l2-at32-seed0");
        assert_eq!(jobs[0].config.train.epochs, 200);
        assert!(part.budget_in_words().starts_with("200 epochs"));
    }
}
