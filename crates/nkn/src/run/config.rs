//! Configuration files: data, model and training of one run, checked before anything starts.

use super::data::{Data, DataConfig, Problem};
use crate::domain::Quadrature;
use crate::field::{Symmetry, moved};
use crate::io::legacy::{merge, upgrade_config};
use crate::model::{Batch, BatchOptions, ModelConfig, Normalisers, Parameters, Space};
use crate::train::{Augment, LossKind, TrainConfig};
use crate::{Device, Error, Result};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::path::Path;

/// A whole configuration file.
///
/// ```
/// use nkn::run::RunConfig;
/// let text = "[data]\nproblem = \"mnist\"\n[model]\nkind = \"cnn\"\n[train]\ndepths = [2]";
/// let config = RunConfig::parse(text, "mnist.toml".as_ref(), &["train.epochs=1".into()])?;
/// assert_eq!((config.model.width, config.train.batch), (16, Some(128)));
/// # Ok::<(), nkn::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RunConfig {
    /// The samples.
    pub data: DataConfig,
    /// The network.
    pub model: ModelConfig,
    /// The training.
    pub train: TrainConfig,
}

/// What to do about a setting that is none.
pub(crate) const HINT: &str = "see configs/poisson.toml and configs/mnist.toml for every key and its meaning";

impl RunConfig {
    /// What a problem's settings are unless something else is said.
    pub fn of(problem: Problem) -> Self {
        let data = DataConfig::of(problem);
        if problem.is_images() {
            return Self { data, model: ModelConfig::images(), train: TrainConfig::images() };
        }
        Self { data, ..Self::default() }
    }

    /// These settings with others put over them.
    pub(crate) fn with(self, given: &Value) -> serde_json::Result<Self> {
        let mut all = serde_json::to_value(self)?;
        merge(&mut all, given);
        serde_json::from_value(all)
    }

    /// Reads a configuration file; relative paths in it are relative to its folder.
    pub fn read(path: &Path, overrides: &[String]) -> Result<Self> {
        let text = std::fs::read_to_string(path).map_err(Error::io(path, "read"))?;
        let mut config = Self::parse(&text, path, overrides)?;
        let folder = path.parent().unwrap_or(Path::new(""));
        for file in [&mut config.data.train, &mut config.data.test].into_iter().flatten() {
            *file = folder.join(&*file);
        }
        Ok(config)
    }

    /// Parses a configuration; `origin` is what messages call it, `overrides` are `a.b=value`.
    pub fn parse(text: &str, origin: &Path, overrides: &[String]) -> Result<Self> {
        let wrong = |error: toml::de::Error| {
            Error::file(origin, format!("is not a valid configuration\n{}", error.to_string().trim_end()), HINT)
        };
        let mut table: toml::Table = toml::from_str(text).map_err(wrong)?;
        if !upgrade_config(&mut json(&table)) {
            // As it stands: mistakes in the file are then told with their line.
            toml::from_str::<Self>(text).map_err(wrong)?;
        }
        for assignment in overrides {
            apply_override(&mut table, assignment)?;
        }
        let mut given = json(&table);
        upgrade_config(&mut given);
        let mistake =
            |error: serde_json::Error| Error::invalid("--set", "a known key with a value of its type", error, HINT);
        let problem = serde_json::from_value::<Option<Problem>>(given["data"]["problem"].clone()).map_err(mistake)?;
        let config = Self::of(problem.unwrap_or_default()).with(&given).map_err(mistake)?;
        config.data.check()?;
        config.model.check()?;
        config.train.check()?;
        Ok(config)
    }

    /// The configuration with everything filled in that depends on the data.
    pub fn resolve(mut self, data: &Data) -> Result<Self> {
        let space = data.space();
        for &depth in &self.train.depths {
            Parameters::check_size(&self.model, &space, depth)?;
        }
        let Data::Functions { train, test } = data else {
            self.model.check_for(&space)?;
            return Ok(self);
        };
        self.model.resolve(train)?;
        if self.train.loss == LossKind::RelativeL2 {
            train.check_trainable()?;
        }
        if self.train.augment == Augment::Square {
            moved(&train.select(&[0]), &[Symmetry(0)], &self.train.vectors)?;
        }
        // One sample through the preparation finds what does not fit (fields, radius, quadrature) before a run begins.
        let normalisers = Normalisers::fit(&self.model, train)?;
        for samples in std::iter::once(train).chain(test) {
            let options = BatchOptions::new(self.train.depths[0], &Device::Cpu.burn());
            Batch::new(&self.model, &normalisers, &samples.select(&[0]), &options)?;
        }
        Ok(self)
    }

    /// Whether this is `other` with, perhaps, more depths at the end of the ladder.
    pub fn extends(&self, other: &Self) -> bool {
        self.data == other.data
            && self.model.settled(&other.model) == other.model.settled(&self.model)
            && self.train.extends(&other.train)
    }

    /// The configuration as a file.
    pub fn to_toml(&self) -> String {
        toml::to_string_pretty(self).expect("a configuration is plain data")
    }
}

impl ModelConfig {
    /// The same with what is left to the samples taken from another.
    fn settled(&self, other: &Self) -> Self {
        let mut settled = self.clone();
        if self.fields.is_empty() {
            settled.fields.clone_from(&other.fields);
        }
        if self.quadrature == Quadrature::Automatic {
            settled.quadrature = other.quadrature;
        }
        settled
    }

    /// Fills in what depends on the samples: all fields where none are named, and the rule for the integral.
    pub(crate) fn resolve(&mut self, train: &crate::field::Samples) -> Result<()> {
        if self.fields.is_empty() {
            self.fields = train.fields().iter().map(|field| field.name.clone()).collect();
        }
        // An only output called u is what every network has.
        if self.outputs.is_empty() && !matches!(train.outputs(), [one] if one.name == "u") {
            self.outputs = train.outputs().iter().map(|output| output.name.clone()).collect();
        }
        let outputs = train.outputs_named(&self.output_names())?;
        self.components.clear();
        for field in train.fields().iter().filter(|field| self.fields.contains(&field.name)).chain(outputs) {
            if field.components > 1 {
                self.components.insert(field.name.clone(), field.components);
            }
        }
        self.quadrature = self.quadrature.chosen_for(train.domain(), &self.extent());
        self.check_for(&Space::Functions { dim: train.domain().dim() })
    }
}

fn json(table: &toml::Table) -> Value {
    serde_json::to_value(table).expect("a table is plain data")
}

/// Puts `a.b=value` into a table; a value that is not TOML is taken as a string.
fn apply_override(table: &mut toml::Table, assignment: &str) -> Result<()> {
    let malformed =
        || Error::invalid("--set", "key=value, such as train.seed=1", assignment, "put the key's table before a dot");
    let (path, value) = assignment.split_once('=').ok_or_else(malformed)?;
    let keys: Vec<&str> = path.trim().split('.').collect();
    let (last, tables) = keys.split_last().ok_or_else(malformed)?;
    let parsed = toml::from_str::<toml::Table>(&format!("v = {value}")).ok().and_then(|mut t| t.remove("v"));
    let value = parsed.unwrap_or_else(|| toml::Value::String(value.trim().to_string()));
    let mut current = table;
    for key in tables {
        let entry = current.entry(key.to_string()).or_insert_with(|| toml::Table::new().into());
        current = entry.as_table_mut().ok_or_else(malformed)?;
    }
    current.insert(last.to_string(), value);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Block, Kind};
    use crate::train::{Keep, PerDepth, ScheduleKind};

    fn parse(text: &str) -> Result<RunConfig> {
        RunConfig::parse(text, Path::new("run.toml"), &[])
    }

    #[test]
    fn a_resolved_configuration_reads_back() {
        let functions = "[train]\ndepths = [1, 2]\nepochs = [10, 5]\n[model]\nradius = 0.1\nquadrature = \"mean\"";
        let images =
            "[data]\nproblem = \"cifar10\"\n[model]\nkind = \"preresnet\"\nblock = \"nkn\"\n[train]\nflip = true";
        for text in [functions, images] {
            let config = parse(text).unwrap();
            assert_eq!(parse(&config.to_toml()).unwrap(), config);
        }
    }

    #[test]
    fn mistakes_name_file_line_and_key() {
        for (text, words) in [
            ("[model]\nwidht = 3", vec!["run.toml", "line 2", "widht"]),
            ("[train]\nepochs = \"many\"", vec!["run.toml", "line 2", "number"]),
            ("[model]\nradius = -0.1", vec!["model.radius", "positive", "-0.1"]),
            ("[model]\nwidth = 0", vec!["model.width", "1 or more"]),
            ("[model]\nkernel = [256, 0]", vec!["model.kernel", "1 or more"]),
            ("[train]\ndepths = []", vec!["train.depths"]),
            ("[train]\nkeep = \"validation\"", vec!["train.validation", "1 or more"]),
            ("[train]\nepochs = [1, 2]", vec!["train.epochs", "one per depth"]),
            ("[train]\nlearning_rate = -1.0", vec!["train.learning_rate", "positive"]),
            ("[train.schedule]\nfactor = 0.0", vec!["train.schedule.factor"]),
            ("[model]\nquadrature = \"simpson\"", vec!["run.toml", "line 2"]),
            ("[data]\nproblem = \"minst\"", vec!["line 2", "minst", "poisson", "darcy", "files", "mnist", "cifar10"]),
            ("[model]\nkind = \"resnet\"", vec!["line 2", "nkn", "gkn", "fno", "cnn", "nnn", "preresnet"]),
        ] {
            let message = parse(text).unwrap_err().to_string();
            for word in words {
                assert!(message.contains(word), "{text:?} gave {message:?}, which lacks {word:?}");
            }
        }
    }

    #[test]
    fn settings_from_the_command_line() {
        let set = |s: &str| RunConfig::parse("[train]\nseed = 1", Path::new("x"), &[s.to_string()]);
        assert_eq!(set("train.seed=7").unwrap().train.seed, 7);
        assert_eq!(set("train.depths=[1, 8]").unwrap().train.depths, [1, 8]);
        assert_eq!(set("model.kind=gkn").unwrap().model.kind, Kind::Gkn);
        assert_eq!(set("train.schedule.kind=constant").unwrap().train.schedule.kind, ScheduleKind::Constant);
        assert_eq!(set("data.problem=mnist").unwrap().train.loss, LossKind::CrossEntropy);
        for wrong in ["train.sed=7", "train.seed", "train.seed=x", "model.width=0"] {
            assert!(set(wrong).is_err(), "{wrong}");
        }
    }

    /// Files that earlier versions read and wrote for images.
    #[test]
    fn the_old_keys_of_images() {
        let old = "[data]\nproblem = \"mnist\"\nfolder = \"d\"\nside = 14\ntested_at = [14]\n\
            [model]\narchitecture = \"preresnet\"\nblock = \"nnn\"\ndepth = 2\n[train]\nepochs = 3\ndecay = \"steps\"";
        let config = RunConfig::parse(old, Path::new("x"), &["model.depth=4".into()]).unwrap();
        assert_eq!((config.data.resolution, config.data.train_samples), (Some(14), 50_000));
        assert_eq!((config.model.kind, config.model.block), (Kind::Preresnet, Block::Nnn));
        assert_eq!((config.train.depths.as_slice(), &config.train.epochs), ([4].as_slice(), &PerDepth::Same(3)));
        assert_eq!((config.train.schedule.kind, config.train.keep), (ScheduleKind::Milestones, Keep::Last));
        assert!(config.train.schedule.by_step);
    }
}
