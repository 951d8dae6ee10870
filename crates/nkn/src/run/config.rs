//! Configuration files: data, model and training of one run, checked before anything starts.

use super::data::{Data, DataConfig, Problem};
use crate::domain::Quadrature;
use crate::error::ensure;
use crate::field::{Symmetry, moved};
use crate::io::legacy::{merge, upgrade_config};
use crate::model::{Batch, BatchOptions, ModelConfig, Normalisers, Parameters, Space};
use crate::train::{Augment, TrainConfig};
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

    /// Reads a configuration file. Data files are relative to its folder, those of an override to where the program was started; from here on
    /// their paths are absolute.
    pub fn read(path: &Path, overrides: &[String]) -> Result<Self> {
        let text = std::fs::read_to_string(path).map_err(Error::io(path, "read"))?;
        Self::parse(&text, path, overrides)?.with_files_from(path.parent().unwrap_or(Path::new("")), overrides)
    }

    /// With data files by absolute paths: relative ones are in this folder, or, by an override, where the program was started.
    pub(super) fn with_files_from(mut self, folder: &Path, overrides: &[String]) -> Result<Self> {
        for (key, file) in [("data.train", &mut self.data.train), ("data.test", &mut self.data.test)] {
            let is_override = overrides.iter().any(|set| set.split('=').next().is_some_and(|name| name.trim() == key));
            if let Some(file) = file {
                let found = if is_override { file.clone() } else { folder.join(&*file) };
                // The same file by the same name, wherever the program was started.
                let path = found.canonicalize().or_else(|_| std::path::absolute(&found));
                *file = path.map_err(Error::io(&found, "find"))?;
            }
        }
        Ok(self)
    }

    /// The settings in which it differs from another, with both values; of many the first.
    pub(crate) fn differences(&self, other: &Self) -> String {
        let plain = |config: &Self| serde_json::to_value(config).expect("a configuration is plain data");
        let mut found = Vec::new();
        differences("", &plain(self), &plain(other), &mut found);
        let more = if found.len() > 3 { ", …" } else { "" };
        found.truncate(3);
        found.join(", ") + more
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
        let own = table.clone();
        for assignment in overrides {
            apply_override(&mut table, assignment)?;
        }
        check_finite("", &table)?;
        let config = Self::from_table(&table).map_err(|error| {
            // Whose mistake it is: the file's, or that of the first setting with which it does not do.
            let does = |set: &String| {
                let mut table = own.clone();
                apply_override(&mut table, set).is_ok() && Self::from_table(&table).is_ok()
            };
            match overrides.iter().find(|set| !does(set)) {
                Some(set) if Self::from_table(&own).is_ok() => {
                    Error::invalid(format!("--set {set}"), "a known key with a value of its type", error, HINT)
                }
                _ => Error::file(origin, format!("is not a valid configuration: {error}"), HINT),
            }
        })?;
        config.data.check()?;
        config.model.check()?;
        config.train.check()?;
        Ok(config)
    }

    /// What a table says, over the settings of its problem.
    fn from_table(table: &toml::Table) -> serde_json::Result<Self> {
        let mut given = json(table);
        upgrade_config(&mut given);
        let problem = serde_json::from_value::<Option<Problem>>(given["data"]["problem"].clone())?;
        Self::of(problem.unwrap_or_default()).with(&given)
    }

    /// The configuration with everything filled in that depends on the data. What no training can begin with is refused.
    pub fn resolve(mut self, data: &Data) -> Result<Self> {
        let space = data.space();
        for &depth in &self.train.depths {
            Parameters::check_size(&self.model, &space, depth)?;
        }
        let Data::Functions { train, test } = data else {
            data.task(&self.model, &self.train, Device::Cpu)?;
            return Ok(self);
        };
        self.model.resolve(train)?;
        data.task(&self.model, &self.train, Device::Cpu)?;
        if self.train.augment == Augment::Square {
            moved(&train.select(&[0]), &[Symmetry(0)], &self.train.vectors)?;
        }
        // One sample through the preparation finds what does not fit (fields, radius, quadrature) before a run begins.
        let normalisers = Normalisers::fit(&self.model, train)?;
        for samples in std::iter::once(train).chain(test) {
            let options = BatchOptions::new(self.train.depths[0], &Device::Cpu.burn());
            let batch = Batch::new(&self.model, &normalisers, &samples.select(&[0]), &options)?;
            let edges = batch.kernel().map_or(1, |kernel| kernel.plan.edges());
            ensure!(edges > 0 || samples.nodes() == 1, {
                let got =
                    self.model.radius.map_or_else(|| "no neighbour of any node".into(), |radius| radius.to_string());
                let hint = "no node has a neighbour: choose a larger radius, for example three spacings of the nodes";
                Error::invalid("model.radius", "a ball that contains more than its own centre", got, hint)
            });
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
        if self.quadrature == Quadrature::Stencil {
            let expected = "trapezoid, mean, uniform or overlap for a training";
            let hint = "stencil repeats a training's rule on other grids: give it to `nkn eval` or `nkn predict`";
            return Err(Error::invalid("model.quadrature", expected, "stencil", hint));
        }
        self.quadrature = self.quadrature.chosen_for(train.domain(), &self.extent());
        self.check_for(&Space::Functions { dim: train.domain().dim() })
    }
}

/// Refuses numbers that are none, which JSON would take for something left out.
fn check_finite(prefix: &str, table: &toml::Table) -> Result<()> {
    for (key, value) in table {
        let key = format!("{prefix}{key}");
        let numbers = value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice);
        if let Some(number) = numbers.iter().filter_map(toml::Value::as_float).find(|number| !number.is_finite()) {
            return Err(Error::invalid(key, "a finite number", number, "leave the key out to have its default"));
        }
        if let Some(table) = value.as_table() {
            check_finite(&format!("{key}."), table)?;
        }
    }
    Ok(())
}

/// The keys under which two settings differ, with both values.
fn differences(key: &str, ours: &Value, theirs: &Value, found: &mut Vec<String>) {
    let (Some(one), Some(other)) = (ours.as_object(), theirs.as_object()) else {
        if ours != theirs {
            found.push(format!("{key} is {theirs} there and {ours} here"));
        }
        return;
    };
    let missing = Value::Null;
    let keys: std::collections::BTreeSet<&String> = one.keys().chain(other.keys()).collect();
    for name in keys {
        let key = if key.is_empty() { name.clone() } else { format!("{key}.{name}") };
        differences(&key, one.get(name).unwrap_or(&missing), other.get(name).unwrap_or(&missing), found);
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
    use crate::train::{Keep, LossKind, PerDepth, ScheduleKind};

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
        // The one that is wrong is named, or the file with its old keys.
        let all = ["train.epochs=3".into(), "train.seed=x".into()];
        let message = RunConfig::parse("[model]", Path::new("run.toml"), &all).unwrap_err().to_string();
        assert!(message.contains("--set train.seed=x") && !message.contains("epochs=3"), "{message}");
        let old = "[data]\nproblem = \"mnist\"\nside = 14\n[model]\nwidht = 3";
        let message = RunConfig::parse(old, Path::new("old.toml"), &all[..1]).unwrap_err().to_string();
        assert!(message.contains("old.toml") && message.contains("widht") && !message.contains("--set"), "{message}");
    }

    #[test]
    fn numbers_that_are_none() {
        for (text, words) in [
            ("[model]\nradius = nan", ["model.radius", "a finite number, got NaN"]),
            ("[train]\nclip = inf", ["train.clip", "a finite number, got inf"]),
            ("[train]\nlearning_rate = [1e-3, nan]", ["train.learning_rate", "a finite number"]),
            ("[train.schedule]\nfactor = nan", ["train.schedule.factor", "a finite number"]),
        ] {
            let message = parse(text).unwrap_err().to_string();
            assert!(words.iter().all(|word| message.contains(word)), "{text:?}: {message}");
        }
    }

    #[test]
    fn differences_are_named() {
        let (one, other) = (parse("").unwrap(), parse("[train]\nseed = 3\nclip = 0.5").unwrap());
        assert_eq!(one.differences(&one), "");
        assert_eq!(other.differences(&one), "train.clip is null there and 0.5 here, train.seed is 0 there and 3 here");
        assert_eq!(
            one.differences(&parse("[train]\nclip = 1.0\nseed = 1\nbatch = 2\nvalidation = 5").unwrap())
                .matches("there")
                .count(),
            3
        );
    }

    /// A file's paths are its neighbours, a setting's are the user's, and both stay what they are wherever the run goes.
    #[test]
    fn data_files_by_absolute_paths() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.toml");
        std::fs::write(&path, "[data]\nproblem = \"files\"\ntrain = \"a.npz\"\ntest = \"b.npz\"").unwrap();
        let config = RunConfig::read(&path, &["data.test=c.npz".into()]).unwrap();
        assert_eq!(config.data.train, Some(folder.path().join("a.npz")));
        assert_eq!(config.data.test, Some(std::env::current_dir().unwrap().join("c.npz")));
        // By another way to the same place it is the same file.
        std::fs::create_dir(folder.path().join("sub")).unwrap();
        std::fs::write(folder.path().join("a.npz"), "").unwrap();
        let of = |path: &Path| RunConfig::read(path, &[]).unwrap().data.train;
        assert_eq!(of(&folder.path().join("sub/../run.toml")), of(&path));
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
