//! A classifier's run: its configuration file and its folder.
//!
//! | file | content |
//! |---|---|
//! | `config.toml` | the configuration |
//! | `model.safetensors` | the network after the last epoch |
//! | `checkpoint/state.safetensors` | everything needed to continue to the bit |
//! | `metrics.csv` | loss and error rate of every epoch |
//! | `results.json`, `results.csv` | error rates and confusion matrices at every resolution |

use super::config::{ClassifierConfig, ClassifierTraining};
use super::data::{ImageDataConfig, ImageSplits};
use super::files::Classifier;
use super::trainer::{ClassifierState, ClassifierTrainer, EpochRecord, Happening, TestResult};
use crate::io::write_atomically;
use crate::model::image::Network;
use crate::run::{Existing, is_occupied, parse_with};
use crate::train::Outcome;
use crate::{Device, Error, Result};
use serde::{Deserialize, Serialize};
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

/// A whole configuration file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ImageRunConfig {
    /// The images.
    pub data: ImageDataConfig,
    /// The network.
    #[serde(default)]
    pub model: ClassifierConfig,
    /// The training.
    #[serde(default)]
    pub train: ClassifierTraining,
}

impl ImageRunConfig {
    /// Reads a configuration file; `overrides` are `a.b=value`.
    pub fn read(path: &Path, overrides: &[String]) -> Result<Self> {
        let text = fs::read_to_string(path).map_err(Error::io(path, "read"))?;
        Self::parse(&text, path, overrides)
    }

    /// Parses a configuration; `origin` is what messages call it.
    pub fn parse(text: &str, origin: &Path, overrides: &[String]) -> Result<Self> {
        let hint = "see configs/mnist.toml for every key and its meaning";
        let config: Self = parse_with(text, origin, overrides, hint)?;
        config.data.check()?;
        config.model.check()?;
        config.train.check()?;
        Ok(config)
    }

    fn to_toml(&self) -> String {
        toml::to_string_pretty(self).expect("a configuration is plain data")
    }
}

/// What results.json says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ImageResults {
    /// The table's row in the paper.
    pub model: String,
    /// Pixels along a side of the training images.
    pub trained_at: usize,
    /// The seed.
    pub seed: u64,
    /// Number of parameters.
    pub parameters: usize,
    /// Epochs.
    pub epochs: usize,
    /// Seconds of the training.
    pub seconds: f64,
    /// Error rates.
    pub tests: Vec<TestResult>,
    /// The epochs.
    pub records: Vec<EpochRecord>,
}

/// A classifier's folder.
#[derive(Clone, Debug)]
pub struct ImageRunFolder {
    path: PathBuf,
}

impl ImageRunFolder {
    /// A folder that holds a classifier's run.
    pub fn open(path: &Path) -> Result<Self> {
        let folder = Self { path: path.to_owned() };
        folder.config()?;
        Ok(folder)
    }

    /// Makes the folder of a new run, or takes up an old one.
    pub fn create(path: &Path, config: &ImageRunConfig, existing: Existing) -> Result<Self> {
        let folder = Self { path: path.to_owned() };
        let place = "choose another place with --out";
        if path.exists() && !path.is_dir() {
            return Err(Error::file(path, "is not a folder", place));
        }
        if is_occupied(path) {
            match existing {
                Existing::Refuse => {
                    let hint = "continue it with --resume, replace it with --force, or choose another place with --out";
                    return Err(Error::file(path, "exists already", hint));
                }
                Existing::Resume => {
                    if folder.config()? != *config {
                        let hint = "resume with the same settings, or start another run with --out";
                        let problem = "differs from the configuration given now";
                        return Err(Error::file(&folder.config_path(), problem, hint));
                    }
                    return Ok(folder);
                }
                Existing::Replace => folder.clear()?,
            }
        }
        let checkpoint = path.join("checkpoint");
        fs::create_dir_all(&checkpoint).map_err(Error::io(&checkpoint, "create"))?;
        write_atomically(&folder.config_path(), config.to_toml().as_bytes())?;
        Ok(folder)
    }

    /// Removes what a run writes, and nothing else.
    fn clear(&self) -> Result<()> {
        self.config().map_err(|_| {
            let problem = "is not the folder of an image run, so --force does not touch it";
            Error::file(&self.path, problem, "choose another place with --out")
        })?;
        let files = ["checkpoint/state.safetensors", "model.safetensors", "metrics.csv", "results.csv", "results.json"];
        for name in files.into_iter().chain(["report.html", "config.toml"]) {
            let path = self.path.join(name);
            if path.exists() {
                fs::remove_file(&path).map_err(Error::io(&path, "remove"))?;
            }
        }
        Ok(())
    }

    fn config_path(&self) -> PathBuf {
        self.path.join("config.toml")
    }

    fn checkpoint_path(&self) -> PathBuf {
        self.path.join("checkpoint/state.safetensors")
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The run's configuration.
    pub fn config(&self) -> Result<ImageRunConfig> {
        let path = self.config_path();
        let text = fs::read_to_string(&path).map_err(Error::io(&path, "read"))?;
        ImageRunConfig::parse(&text, &path, &[])
    }

    /// The trained network.
    pub fn model(&self) -> Result<Classifier> {
        Classifier::read(&self.path.join("model.safetensors"))
    }

    /// What has come out; nothing before the end of the training.
    pub fn results(&self) -> Result<Option<ImageResults>> {
        let path = self.path.join("results.json");
        if !path.is_file() {
            return Ok(None);
        }
        let text = fs::read_to_string(&path).map_err(Error::io(&path, "read"))?;
        let results = serde_json::from_str(&text)
            .map_err(|error| Error::file(&path, format!("is not readable ({error})"), "train the run again"))?;
        Ok(Some(results))
    }

    /// Trains, from the start or from the checkpoint, tests at every resolution, and keeps the folder up to date.
    pub fn train(
        &self,
        splits: &ImageSplits,
        should_stop: &dyn Fn() -> bool,
        watch: &mut dyn FnMut(&Happening),
    ) -> Result<Outcome> {
        let config = self.config()?;
        let network = Network::new(config.model.clone(), config.data.shape(splits))?;
        let checkpoint = self.checkpoint_path();
        let mut observer = |event: Happening| -> Result<()> {
            if let Happening::Checkpoint(state) = &event {
                state.write(&checkpoint, &network, &config.train)?;
                self.write_metrics(&config, &state.records)?;
            }
            watch(&event);
            Ok(())
        };
        let device = Device::flex();
        let mut trainer = ClassifierTrainer {
            network: &network,
            config: &config.train,
            splits,
            device,
            should_stop,
            observer: &mut observer,
        };
        let mut state = if checkpoint.is_file() {
            ClassifierState::read(&checkpoint, &network, &config.train)?
        } else {
            trainer.start()?
        };
        if trainer.run(&mut state)? == Outcome::Interrupted {
            return Ok(Outcome::Interrupted);
        }
        let mut tests = Vec::new();
        for test in &splits.tests {
            for &side in &config.data.tested_at {
                tests.push(trainer.evaluate(&state, test, side)?.0);
            }
        }
        let results = ImageResults {
            model: config.model.name(),
            trained_at: config.data.side,
            seed: config.train.seed,
            parameters: state.parameters.count(),
            epochs: state.epoch,
            seconds: state.seconds,
            tests,
            records: state.records,
        };
        let statistics = splits.statistics.clone();
        let model = Classifier { network, parameters: state.parameters, running: state.running, statistics };
        model.write(&self.path.join("model.safetensors"))?;
        self.write_results(&results)?;
        Ok(Outcome::Complete)
    }

    fn write_metrics(&self, config: &ImageRunConfig, records: &[EpochRecord]) -> Result<()> {
        let mut text = COLUMNS.to_string();
        let (model, side) = (config.model.name(), config.data.side);
        let row = Row { run: self.name(), model, seed: config.train.seed };
        for record in records {
            row.append(&mut text, record.epoch, "train", side, ("loss", record.loss));
            row.append(&mut text, record.epoch, "test", side, ("error_rate", record.error_rate));
        }
        write_atomically(&self.path.join("metrics.csv"), text.as_bytes())
    }

    fn write_results(&self, results: &ImageResults) -> Result<()> {
        let mut text = COLUMNS.to_string();
        let row = Row { run: self.name(), model: results.model.clone(), seed: results.seed };
        for test in &results.tests {
            row.append(&mut text, results.epochs, &test.set, test.side, ("error_rate", test.error_rate));
        }
        row.append(&mut text, results.epochs, "train", results.trained_at, ("seconds", results.seconds));
        write_atomically(&self.path.join("results.csv"), text.as_bytes())?;
        let json = serde_json::to_string_pretty(results).expect("results are plain data");
        write_atomically(&self.path.join("results.json"), json.as_bytes())
    }

    /// The run's name in tables.
    fn name(&self) -> String {
        self.path.file_name().unwrap_or_default().to_string_lossy().replace([',', '\n', '"'], "_")
    }
}

/// What all lines of a run's tables have in common.
struct Row {
    run: String,
    model: String,
    seed: u64,
}

impl Row {
    fn append(&self, text: &mut String, epoch: usize, split: &str, side: usize, (metric, value): (&str, f64)) {
        let Self { run, model, seed } = self;
        let depth = model.rsplit("-l").next().filter(|rest| rest.parse::<usize>().is_ok()).unwrap_or("");
        let _ = writeln!(text, "{run},{model},{depth},{seed},{epoch},{split},{side},{metric},{value}");
    }
}

/// The columns of metrics.csv and results.csv.
const COLUMNS: &str = "run,model,depth,seed,epoch,split,resolution,metric,value\n";
