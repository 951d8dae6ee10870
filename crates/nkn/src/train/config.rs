//! How a network is trained: the `[train]` table of a configuration file.

use super::optimiser::OptimiserKind;
use super::schedule::ScheduleConfig;
use crate::error::ensure;
use crate::{Error, Result};
use serde::{Deserialize, Serialize};

/// What is minimised.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LossKind {
    /// Mean over samples of ||û - u|| / ||u||, on physical values.
    #[default]
    RelativeL2,
    /// Mean over samples and nodes of (û - u)², on physical values.
    Mse,
    /// Mean over images of -log p(class).
    CrossEntropy,
}

/// The name in configuration files.
impl std::fmt::Display for LossKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.serialize(f)
    }
}

/// Which weights a depth ends with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Keep {
    /// Those with the lowest training error.
    #[default]
    Best,
    /// Those with the lowest error on the validation samples; of the depths, the best in this sense is the run's model.
    Validation,
    /// The last ones.
    Last,
}

/// Where a depth starts from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Initialisation {
    /// From the best weights of the depth before.
    #[default]
    ShallowToDeep,
    /// From random weights.
    Random,
}

/// What is done to the training samples before each step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Augment {
    /// Nothing.
    #[default]
    None,
    /// Each sample is moved by a random symmetry of the square: for equations that do not prefer a direction.
    Square,
}

/// One value for every depth of the ladder, or one per depth.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged, expecting = "expected a number, or a list with one number per depth")]
pub enum PerDepth<T> {
    /// The same everywhere.
    Same(T),
    /// In the order of `depths`.
    Each(Vec<T>),
}

impl<T> From<T> for PerDepth<T> {
    fn from(value: T) -> Self {
        PerDepth::Same(value)
    }
}

impl<T, const N: usize> From<[T; N]> for PerDepth<T> {
    fn from(values: [T; N]) -> Self {
        PerDepth::Each(values.into())
    }
}

impl<T: Copy> PerDepth<T> {
    /// The value for the rung with this number.
    pub fn at(&self, rung: usize) -> T {
        match self {
            PerDepth::Same(value) => *value,
            PerDepth::Each(values) => values[rung],
        }
    }

    /// For how many depths it says something of their own.
    fn given(&self) -> Option<usize> {
        matches!(self, PerDepth::Each(_)).then(|| self.values().len())
    }

    fn values(&self) -> &[T] {
        match self {
            PerDepth::Same(value) => std::slice::from_ref(value),
            PerDepth::Each(values) => values,
        }
    }
}

/// The settings of a training.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TrainConfig {
    /// The ladder: train at the first depth, then at the next, and so on.
    pub depths: Vec<usize>,
    /// Where each rung after the first starts from.
    pub initialisation: Initialisation,
    /// Passes over the data, per depth.
    pub epochs: PerDepth<usize>,
    /// Samples per step; without it all samples are one batch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub batch: Option<usize>,
    /// What is done to the samples before each step.
    pub augment: Augment,
    /// Pairs of fields that are the components of a vector, for `augment`.
    pub vectors: Vec<[String; 2]>,
    /// Images: whether they are mirrored at random.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub flip: bool,
    /// Images: moved at random by up to this many pixels along each axis.
    #[serde(skip_serializing_if = "is_zero")]
    pub shift: usize,
    /// Images: whether they are moved by fractions of a pixel too, the pixels interpolated bilinearly.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub subpixel: bool,
    /// What is minimised.
    pub loss: LossKind,
    /// Which weights a depth ends with.
    pub keep: Keep,
    /// Functions: so many of the training samples, chosen by the seed, are not learned from but followed.
    #[serde(skip_serializing_if = "is_zero")]
    pub validation: usize,
    /// The algorithm.
    pub optimiser: OptimiserKind,
    /// Peak learning rate, per depth.
    pub learning_rate: PerDepth<f64>,
    /// Decay of the first and second moments.
    pub betas: [f64; 2],
    /// L2 regularisation (adam) or decoupled weight decay (adamw, soap).
    pub weight_decay: f64,
    /// Steps between two updates of the eigenbases (soap).
    pub basis_every: usize,
    /// How the learning rate changes within a depth.
    pub schedule: ScheduleConfig,
    /// Largest allowed norm of the gradient; longer ones are shortened to it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clip: Option<f64>,
    /// The share of a depth's steps, the last ones, whose weights are averaged: the mean is tested and kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub average: Option<f64>,
    /// Dissipative networks: after every step kernel and reaction are scaled, if they must be, so that on the training
    /// samples no state can grow at this depth.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub certified: bool,
    /// Stop a depth after this many epochs without a better training error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop_after: Option<usize>,
    /// What counts as better: an error below `1 - stop_tolerance` times the best.
    pub stop_tolerance: f64,
    /// Epochs between two rows of the training error in metrics.csv.
    pub record_every: usize,
    /// Epochs between two evaluations of the test set.
    pub evaluate_every: usize,
    /// Seconds between two checkpoints.
    pub checkpoint_seconds: f64,
    /// Memory that a step may take, in GiB.
    pub memory_gib: f64,
    /// Where all randomness comes from.
    pub seed: u64,
}

impl Default for TrainConfig {
    fn default() -> Self {
        Self {
            depths: vec![1],
            initialisation: Initialisation::ShallowToDeep,
            epochs: PerDepth::Same(1000),
            batch: None,
            augment: Augment::None,
            vectors: Vec::new(),
            flip: false,
            shift: 0,
            subpixel: false,
            loss: LossKind::RelativeL2,
            keep: Keep::Best,
            validation: 0,
            optimiser: OptimiserKind::Adam,
            learning_rate: PerDepth::Same(1e-3),
            betas: [0.9, 0.999],
            weight_decay: 0.0,
            basis_every: 10,
            schedule: ScheduleConfig::default(),
            clip: None,
            average: None,
            certified: false,
            stop_after: None,
            stop_tolerance: 1e-4,
            record_every: 10,
            evaluate_every: 100,
            checkpoint_seconds: 30.0,
            memory_gib: 8.0,
            seed: 0,
        }
    }
}

fn is_zero(value: &usize) -> bool {
    *value == 0
}

impl TrainConfig {
    /// What networks on images are usually trained with.
    pub fn images() -> Self {
        Self {
            epochs: PerDepth::Same(5),
            batch: Some(128),
            loss: LossKind::CrossEntropy,
            keep: Keep::Last,
            schedule: ScheduleConfig { by_step: true, ..ScheduleConfig::default() },
            record_every: 1,
            evaluate_every: 1,
            ..Self::default()
        }
    }

    /// Whether these are the settings of `other` with, perhaps, more depths at the end of the ladder.
    pub fn extends(&self, other: &Self) -> bool {
        let rungs = other.depths.len();
        rungs <= self.depths.len() && self.first_rungs(rungs) == other.first_rungs(rungs)
    }

    /// Memory that a step may take, in bytes.
    pub(crate) fn budget(&self) -> f64 {
        self.memory_gib * (1u64 << 30) as f64
    }

    /// The samples of a step, of so many in all.
    pub(crate) fn batch_of(&self, count: usize) -> usize {
        self.batch.unwrap_or(count).min(count)
    }

    /// The first rungs of the ladder.
    pub(crate) fn first_rungs(&self, rungs: usize) -> Self {
        Self {
            depths: self.depths[..rungs].to_vec(),
            epochs: PerDepth::Each((0..rungs).map(|rung| self.epochs.at(rung)).collect()),
            learning_rate: PerDepth::Each((0..rungs).map(|rung| self.learning_rate.at(rung)).collect()),
            ..self.clone()
        }
    }

    /// Refuses settings that cannot be trained with.
    pub fn check(&self) -> Result<()> {
        let (depths, rungs) = (format!("{:?}", self.depths), self.depths.len());
        ensure!(rungs > 0 && !self.depths.contains(&0), {
            let hint = "for example depths = [1, 2, 4]";
            Error::invalid("train.depths", "a list of depths, each 1 or more", depths, hint)
        });
        for (name, given) in [("epochs", self.epochs.given()), ("learning_rate", self.learning_rate.given())] {
            let expected = format!("one number, or one per depth: {rungs}");
            let hint = format!("depths = {depths} has {rungs} entries");
            ensure!(
                given.is_none_or(|given| given == rungs),
                Error::invalid(format!("train.{name}"), expected, format!("a list of {}", given.unwrap_or(0)), hint)
            );
        }
        let number = |name: &str, ok: bool, value: f64, expected: &str| {
            let hint = "see configs/poisson.toml for usual values";
            ensure!(ok && value.is_finite(), Error::invalid(format!("train.{name}"), expected, value, hint));
            Ok(())
        };
        for &rate in self.learning_rate.values() {
            number("learning_rate", rate > 0.0, rate, "a positive number")?;
        }
        for &epochs in self.epochs.values() {
            number("epochs", epochs > 0, epochs as f64, "1 or more")?;
        }
        for beta in self.betas {
            number("betas", (0.0..1.0).contains(&beta), beta, "two numbers from 0 to below 1")?;
        }
        number("weight_decay", self.weight_decay >= 0.0, self.weight_decay, "0 or more")?;
        let tolerance = self.stop_tolerance;
        number("stop_tolerance", (0.0..=1.0).contains(&tolerance), tolerance, "a share from 0 to 1")?;
        number("memory_gib", self.memory_gib > 0.0, self.memory_gib, "a positive number")?;
        number("checkpoint_seconds", self.checkpoint_seconds >= 0.0, self.checkpoint_seconds, "0 or more")?;
        let whole = [
            ("batch", self.batch.unwrap_or(1)),
            ("record_every", self.record_every),
            ("evaluate_every", self.evaluate_every),
            ("basis_every", self.basis_every),
            ("stop_after", self.stop_after.unwrap_or(1)),
        ];
        for (name, value) in whole {
            number(name, value > 0, value as f64, "1 or more")?;
        }
        if self.keep == Keep::Validation && self.loss == LossKind::CrossEntropy {
            let hint = "images have test sets of their own, and none is split off";
            return Err(Error::invalid("train.keep", "best or last for images", "validation", hint));
        }
        if self.keep == Keep::Validation && self.validation == 0 {
            let hint = "for example a sixth of the samples";
            return Err(Error::invalid("train.validation", "1 or more with keep = \"validation\"", 0, hint));
        }
        if self.subpixel && self.shift == 0 {
            let hint = "set train.shift to the pixels by which images are moved, or leave subpixel out";
            return Err(Error::invalid("train.shift", "1 or more with subpixel = true", 0, hint));
        }
        if let Some(clip) = self.clip {
            number("clip", clip > 0.0, clip, "a positive number")?;
        }
        if let Some(share) = self.average {
            number("average", share > 0.0 && share <= 1.0, share, "a share of the steps, above 0 and up to 1")?;
        }
        self.schedule.check()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_for_each_depth_or_one_for_all() {
        let config = |epochs: PerDepth<usize>| TrainConfig { depths: vec![1, 2, 4], epochs, ..Default::default() };
        config(7.into()).check().unwrap();
        config([7, 8, 9].into()).check().unwrap();
        let message = config([7, 8].into()).check().unwrap_err().to_string();
        assert!(message.contains("train.epochs: expected one number, or one per depth: 3"), "{message}");
        assert!(config([7, 0, 9].into()).check().unwrap_err().to_string().contains("1 or more, got 0"));
        for depths in [vec![], vec![1, 0]] {
            let message = TrainConfig { depths, ..Default::default() }.check().unwrap_err().to_string();
            assert!(message.contains("train.depths"), "{message}");
        }
    }

    #[test]
    fn fractions_of_a_pixel_need_pixels() {
        let config = |shift: usize| TrainConfig { subpixel: true, shift, ..TrainConfig::images() };
        let message = config(0).check().unwrap_err().to_string();
        assert!(message.contains("train.shift: expected 1 or more with subpixel = true"), "{message}");
        config(1).check().unwrap();
    }

    #[test]
    fn a_longer_ladder_extends_a_shorter_one() {
        let ladder = |depths: &[usize], epochs: PerDepth<usize>| TrainConfig {
            depths: depths.to_vec(),
            epochs,
            ..Default::default()
        };
        let (short, long) = (ladder(&[1, 2], 5.into()), ladder(&[1, 2, 4], [5, 5, 9].into()));
        assert!(long.extends(&short) && short.extends(&short) && !short.extends(&long));
        assert!(!ladder(&[1, 3, 4], 5.into()).extends(&short), "another depth");
        assert!(!ladder(&[1, 2, 4], [5, 6, 9].into()).extends(&short), "other epochs at a depth that both have");
        assert!(!TrainConfig { seed: 1, ..long }.extends(&short));
        assert_eq!([1, 4, 9].map(|count| TrainConfig { batch: Some(4), ..short.clone() }.batch_of(count)), [1, 4, 4]);
    }
}
