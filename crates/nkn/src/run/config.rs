//! Configuration files: data, model and training of one run, checked before anything starts.

use super::data::{Data, DataConfig};
use crate::field::{Symmetry, moved};
use crate::model::{Batch, BatchOptions, ModelConfig, Normalisers};
use crate::train::{Augment, TrainConfig};
use crate::{Device, Error, Result};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// A whole configuration file.
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

impl RunConfig {
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
        let hint = "see configs/poisson.toml for every key and its meaning";
        let config: Self = parse_with(text, origin, overrides, hint)?;
        config.model.check()?;
        config.train.check()?;
        Ok(config)
    }

    /// The configuration with everything filled in that depends on the data.
    pub fn resolve(mut self, data: &Data) -> Result<Self> {
        if self.model.fields.is_empty() {
            self.model.fields = data.train.fields().iter().map(|field| field.name.clone()).collect();
        }
        self.model.check()?;
        if self.train.augment == Augment::Square {
            moved(&data.train.select(&[0]), &[Symmetry(0)], &self.train.vectors)?;
        }
        // One sample through the preparation finds what does not fit (fields, radius, quadrature) before a run begins.
        let normalisers = Normalisers::fit(&self.model, &data.train)?;
        for samples in std::iter::once(&data.train).chain(&data.test) {
            let options = BatchOptions::new(self.train.depths[0], &Device::flex());
            Batch::new(&self.model, &normalisers, &samples.select(&[0]), &options)?;
        }
        Ok(self)
    }

    /// Whether this is `other` with, perhaps, more depths at the end of the ladder.
    pub fn extends(&self, other: &Self) -> bool {
        self.data == other.data && self.model == other.model && self.train.extends(&other.train)
    }

    /// The configuration as a file.
    pub fn to_toml(&self) -> String {
        toml::to_string_pretty(self).expect("a configuration is plain data")
    }
}

/// Parses a configuration file with some settings replaced.
pub(crate) fn parse_with<T: DeserializeOwned>(
    text: &str,
    origin: &Path,
    overrides: &[String],
    hint: &str,
) -> Result<T> {
    let wrong = |error: toml::de::Error| {
        Error::file(origin, format!("is not a valid configuration\n{}", error.to_string().trim_end()), hint)
    };
    // First as it is: mistakes in the file are then told with their line.
    let config: T = toml::from_str(text).map_err(wrong)?;
    if overrides.is_empty() {
        return Ok(config);
    }
    let mut table: toml::Table = toml::from_str(text).map_err(wrong)?;
    for assignment in overrides {
        apply_override(&mut table, assignment)?;
    }
    table.try_into().map_err(|error: toml::de::Error| {
        Error::invalid("--set", "a known key with a value of its type", error.to_string().trim_end(), hint)
    })
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

    fn parse(text: &str) -> Result<RunConfig> {
        RunConfig::parse(text, Path::new("run.toml"), &[])
    }

    #[test]
    fn a_resolved_configuration_reads_back() {
        let config =
            parse("[train]\ndepths = [1, 2]\nepochs = [10, 5]\n[model]\nradius = 0.1\nquadrature = \"mean\"").unwrap();
        assert_eq!(parse(&config.to_toml()).unwrap(), config);
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
            ("[train]\nepochs = [1, 2]", vec!["train.epochs", "one per depth"]),
            ("[train]\nlearning_rate = -1.0", vec!["train.learning_rate", "positive"]),
            ("[train.schedule]\nfactor = 0.0", vec!["train.schedule.factor"]),
            ("[model]\nquadrature = \"simpson\"", vec!["run.toml", "line 2"]),
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
        assert_eq!(set("model.kind=gkn").unwrap().model.kind, crate::model::Kind::Gkn);
        assert_eq!(
            set("train.schedule.kind=constant").unwrap().train.schedule.kind,
            crate::train::ScheduleKind::Constant
        );
        for wrong in ["train.sed=7", "train.seed", "train.seed=x", "model.width=0"] {
            assert!(set(wrong).is_err(), "{wrong}");
        }
    }
}
