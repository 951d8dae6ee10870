//! `fit.json` in a run's folder: what was asked, what was chosen and why, and how far it is.
//!
//! It is written before the first step of a training and after every decision, each time as a whole. Killed before it
//! is there, a search begins anew; killed later, it goes on with the choices that stand in it.

use super::choice::Choice;
use super::ladder::{Price, Rung, climb, ladder, single};
use crate::io::write_atomically;
use crate::model::Kind;
use crate::run::{DataConfig, RunConfig, RunFolder};
use crate::train::{DepthResult, can_deepen};
use crate::{Error, Result};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// The file's name.
const FILE: &str = "fit.json";

/// Which networks are looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Wanted {
    /// What fits the data better: on grids NKN or FNO, on scattered points NKN or GKN.
    #[default]
    Auto,
    /// Nonlocal kernel networks.
    Nkn,
    /// Graph kernel networks.
    Gkn,
    /// Fourier neural operators.
    Fno,
}

impl std::str::FromStr for Wanted {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        match name {
            "auto" => Ok(Wanted::Auto),
            "nkn" => Ok(Wanted::Nkn),
            "gkn" => Ok(Wanted::Gkn),
            "fno" => Ok(Wanted::Fno),
            other => Err(Error::invalid("kind", "nkn, gkn, fno or auto", other, "auto takes what fits better")),
        }
    }
}

/// The whole file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// Where the samples are.
    pub data: DataConfig,
    /// The time for everything.
    pub minutes: f64,
    /// What was asked for.
    pub kind: Wanted,
    /// Where all randomness comes from.
    pub seed: u64,
    /// All decisions so far, in their order.
    pub choices: Vec<Choice>,
    /// What looking at the data and trying took.
    pub(super) searched: f64,
    /// The networks that are trained.
    pub candidates: Vec<Candidate>,
    /// The one with the lowest validation error.
    pub winner: Option<Kind>,
}

/// A network that is trained.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Candidate {
    /// Its kind.
    pub kind: Kind,
    /// Its settings, with the whole ladder that is planned.
    pub config: RunConfig,
    pub(super) price: Price,
    pub(super) rates: (f64, usize, f64),
    pub(super) deepest: usize,
    pub(super) least: usize,
    pub(super) steps_per_epoch: usize,
    /// Whether its training is at an end.
    pub(super) is_done: bool,
    /// Its lowest validation error.
    pub validation: Option<f64>,
    /// Seconds of its training.
    pub seconds: f64,
}

impl Record {
    /// The record in a run's folder; nothing if the run was not made by a search.
    pub fn read(folder: &Path) -> Result<Option<Self>> {
        let path = folder.join(FILE);
        if !path.is_file() {
            return Ok(None);
        }
        let text = std::fs::read_to_string(&path).map_err(Error::io(&path, "read"))?;
        let unreadable = |error: serde_json::Error| {
            Error::file(&path, format!("is not readable ({error})"), "search again in another folder")
        };
        serde_json::from_str(&text).map(Some).map_err(unreadable)
    }

    pub(super) fn write(&self, folder: &Path) -> Result<()> {
        let text = serde_json::to_string_pretty(self).expect("a record is plain data");
        write_atomically(&folder.join(FILE), text.as_bytes())
    }
}

impl Candidate {
    /// Where it is trained.
    pub(super) fn home(&self, root: &Path) -> PathBuf {
        root.join("candidates").join(self.kind.to_string())
    }

    /// What it has reached: the finished depths.
    pub(super) fn results(&self, root: &Path) -> Result<Vec<DepthResult>> {
        let home = self.home(root);
        if !home.join("config.toml").is_file() {
            return Ok(Vec::new());
        }
        Ok(RunFolder::open(&home)?.results()?.map_or(Vec::new(), |results| results.depths))
    }

    /// The settings up to a rung.
    pub(super) fn up_to(&self, rungs: usize) -> RunConfig {
        RunConfig { train: self.config.train.first_rungs(rungs), ..self.config.clone() }
    }

    /// Plans the rungs after the first `kept` for so many seconds, on a machine that is `slowness` times slower than
    /// when it was measured.
    pub(super) fn plan(&mut self, kept: usize, seconds: f64, slowness: f64) {
        let price = self.price.times(slowness);
        let above = kept.checked_sub(1).map_or(0, |last| self.config.train.depths[last]);
        let rungs = match (can_deepen(&self.config.model), kept) {
            (true, _) => ladder(price, seconds, above, (self.deepest, self.least)),
            (false, 0) => self.fourier(price, seconds),
            (false, _) => Vec::new(),
        };
        climb(&mut self.config.train, kept, &rungs, self.steps_per_epoch, self.rates);
    }

    /// Beyond so many epochs a Fourier operator only learns its samples by heart.
    fn fourier(&self, price: Price, seconds: f64) -> Vec<Rung> {
        const EPOCHS: usize = 1500;
        let mut rungs = single(price, seconds, self.deepest);
        rungs[0].steps = rungs[0].steps.min(EPOCHS * self.steps_per_epoch);
        rungs
    }

    /// Seconds that the rungs from `kept` on should take.
    pub(super) fn planned_seconds(&self, rungs: std::ops::Range<usize>) -> f64 {
        let train = &self.config.train;
        let one =
            |rung: usize| (train.epochs.at(rung) * self.steps_per_epoch) as f64 * self.price.at(train.depths[rung]);
        rungs.map(one).sum()
    }
}

/// The lowest validation error of finished depths.
pub(super) fn lowest(results: &[DepthResult]) -> Option<f64> {
    let errors = results.iter().filter_map(|result| result.get("validation", "relative_l2"));
    errors.min_by(f64::total_cmp)
}
