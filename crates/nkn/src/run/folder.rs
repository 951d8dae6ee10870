//! The folder of a run: configuration, models, checkpoint, metrics and results.
//!
//! | file | content |
//! |---|---|
//! | `config.toml` | the configuration, fully resolved |
//! | `model.safetensors` | the best weights of the last finished depth; with `keep = "validation"` of the best one |
//! | `depths/L4.safetensors` | the best weights of each finished depth |
//! | `checkpoint/state.safetensors` | everything needed to continue to the bit |
//! | `metrics.csv` | losses and errors while training; the same to the bit however often the run was interrupted |
//! | `results.json`, `results.csv` | errors by depth and resolution, parameters, time |

use super::config::RunConfig;
use super::data::Data;
use super::table::{COLUMNS, MetricsFile, Rows, parse_row};
use crate::device::Device;
use crate::error::ensure;
use crate::io::legacy::upgrade_results;
use crate::io::write_atomically;
use crate::model::{Model, Parameters};
use crate::train::{DepthResult, Event, Keep, Measure, Outcome, Record, State, Trainer};
use crate::{Error, Result};
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::{Path, PathBuf};

/// What to do about a folder that is already there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Existing {
    /// Refuse.
    Refuse,
    /// Continue the run in it.
    Resume,
    /// Replace the run in it.
    Replace,
}

/// What results.json says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunResults {
    /// The folder's name.
    pub run: String,
    /// The network's kind.
    pub model: String,
    /// Number of parameters at the last depth.
    pub parameters: usize,
    /// The seed of the training.
    pub seed: u64,
    /// Nodes along a side of the training samples.
    pub resolution: usize,
    /// The finished depths.
    pub depths: Vec<DepthResult>,
}

/// A run's folder.
#[derive(Clone, Debug)]
pub struct RunFolder {
    path: PathBuf,
}

impl RunFolder {
    /// A folder that holds a run.
    pub fn open(path: &Path) -> Result<Self> {
        let folder = Self { path: path.to_owned() };
        if !folder.config_path().is_file() {
            let problem = if path.exists() { "is not the folder of a run (no config.toml)" } else { "does not exist" };
            return Err(Error::file(path, problem, "give the folder that `nkn train` or `nkn quickstart` wrote"));
        }
        Ok(folder)
    }

    /// Makes the folder of a new run, or takes up an old one; the configuration of a resumed run must be the same, or go on to
    /// more depths.
    pub fn create(path: &Path, config: &RunConfig, existing: Existing) -> Result<Self> {
        let folder = Self { path: path.to_owned() };
        let occupied = is_occupied(path);
        if path.exists() && !path.is_dir() {
            return Err(Error::file(path, "is not a folder", "choose another place with --out"));
        }
        let hint = "continue it with --resume (from Python resume=True), replace it with --force, or choose another place with --out";
        ensure!(!occupied || existing != Existing::Refuse, Error::file(path, "exists already", hint));
        if existing == Existing::Resume {
            let folder = Self::open(path)?;
            let old = folder.config()?;
            if old != *config && config.extends(&old) {
                write_atomically(&folder.config_path(), config.to_toml().as_bytes())?;
            } else if old != *config {
                let hint = "resume with the same settings, or start another run with --out";
                let problem = format!("differs from the configuration given now: {}", config.differences(&old));
                return Err(Error::file(&folder.config_path(), problem, hint));
            }
            return Ok(folder);
        }
        if occupied {
            folder.clear()?;
        }
        for folder in [path.to_owned(), folder.path.join("checkpoint"), folder.path.join("depths")] {
            fs::create_dir_all(&folder).map_err(Error::io(&folder, "create"))?;
        }
        write_atomically(&folder.config_path(), config.to_toml().as_bytes())?;
        Ok(folder)
    }

    /// Removes what a run writes, and nothing else: a folder that is no run is refused.
    fn clear(&self) -> Result<()> {
        Self::open(&self.path).map_err(|_| {
            let hint = "choose another place with --out";
            Error::file(&self.path, "is not the folder of a run, so --force does not touch it", hint)
        })?;
        let files = [
            "model.safetensors",
            "metrics.csv",
            "results.csv",
            "results.json",
            "eval.csv",
            "eval.html",
            "depths.csv",
            "depths.html",
            "steps.csv",
            "spectrum.csv",
            "report.html",
            "config.toml",
        ];
        for path in ["checkpoint", "depths"].iter().chain(&files).map(|name| self.path.join(name)) {
            let remove = if path.is_dir() { fs::remove_dir_all } else { fs::remove_file };
            if path.exists() {
                remove(&path).map_err(Error::io(&path, "remove"))?;
            }
        }
        Ok(())
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn config_path(&self) -> PathBuf {
        self.path.join("config.toml")
    }

    /// The run's configuration.
    pub fn config(&self) -> Result<RunConfig> {
        let path = self.config_path();
        let text = fs::read_to_string(&path).map_err(Error::io(&path, "read"))?;
        // Runs of earlier versions have paths that are relative to where they were started.
        RunConfig::parse(&text, &path, &[])?.with_files_from("".as_ref(), &[])
    }

    /// The best model of the last finished depth.
    pub fn model(&self) -> Result<Model> {
        let path = self.path.join("model.safetensors");
        if !path.is_file() {
            return Err(Error::file(&path, "is not there: no depth is finished", "continue the run with --resume"));
        }
        Model::load(&path)
    }

    /// The best model of a depth.
    pub fn model_at(&self, depth: usize) -> Result<Model> {
        let path = self.path.join(format!("depths/L{depth}.safetensors"));
        if path.is_file() {
            return Model::load(&path);
        }
        // Runs of images once kept the last model alone.
        self.model().ok().filter(|model| model.depth() == depth).ok_or_else(|| {
            let finished = format!("has no finished depth {depth}, only {:?}", self.depths());
            Error::file(&self.path, finished, format!("train it with `nkn deepen RUN --to {depth}`"))
        })
    }

    /// The finished depths, shallow first.
    pub fn depths(&self) -> Vec<usize> {
        let entries = fs::read_dir(self.path.join("depths")).into_iter().flatten().flatten();
        let depth = |name: String| name.strip_prefix('L')?.strip_suffix(".safetensors")?.parse().ok();
        let mut depths: Vec<usize> = entries.filter_map(|e| depth(e.file_name().into_string().ok()?)).collect();
        if depths.is_empty() {
            depths.extend(self.model().ok().map(|model| model.depth()));
        }
        depths.sort_unstable();
        depths
    }

    /// The rows of metrics.csv.
    pub fn metrics(&self) -> Result<Vec<Record>> {
        let path = self.path.join("metrics.csv");
        let text = fs::read_to_string(&path).map_err(Error::io(&path, "read"))?;
        let usual = self.config()?.train.depths[0];
        let lines = text.lines().enumerate().skip(1);
        lines.map(|(number, line)| parse_row(&path, number + 1, line, usual)).collect()
    }

    /// What has come out, from results.json; nothing before the end of the first depth.
    pub fn results(&self) -> Result<Option<RunResults>> {
        let path = self.path.join("results.json");
        if !path.is_file() {
            return Ok(None);
        }
        let text = fs::read_to_string(&path).map_err(Error::io(&path, "read"))?;
        let usual = self.config()?.train.depths[0];
        let read = || -> serde_json::Result<RunResults> {
            let mut results = serde_json::from_str(&text)?;
            upgrade_results(&mut results, &self.name(), usual);
            serde_json::from_value(results)
        };
        let unreadable = |error| Error::file(&path, format!("is not readable ({error})"), "train the run again");
        read().map(Some).map_err(unreadable)
    }

    /// Trains, from the start or from the checkpoint, and keeps the folder up to date.
    pub fn train(
        &self,
        data: &Data,
        initial: Option<Parameters>,
        device: Device,
        should_stop: &dyn Fn() -> bool,
        watch: &mut dyn FnMut(&Event),
    ) -> Result<Outcome> {
        let config = self.config()?;
        let checkpoint = self.path.join("checkpoint/state.safetensors");
        let (model, settings) = (&config.model, &config.train);
        let task = data.task(model, settings, device)?;
        let resumed = checkpoint.is_file().then(|| State::read(&checkpoint, model, settings)).transpose()?;
        let rows = Rows { run: self.name(), model: model.kind.to_string(), seed: settings.seed };
        let recorded = resumed.as_ref().map_or(0, |state| state.recorded_bytes);
        let mut metrics = MetricsFile::open(self.path.join("metrics.csv"), &rows, recorded)?;
        let space = data.space();
        let mut done: Vec<DepthResult> = resumed.as_ref().map_or(Vec::new(), |state| state.results.clone());
        let mut observer = |mut event: Event| -> Result<()> {
            match &mut event {
                Event::Records(records) => metrics.append(records)?,
                Event::Finished { result, model } => {
                    model.save(self.path.join(format!("depths/L{}.safetensors", result.depth)))?;
                    if is_best(settings.keep, result, &done) {
                        model.save(self.path.join("model.safetensors"))?;
                    }
                    done.push((*result).clone());
                    self.write_results(&rows, data.resolution(), &done, model.parameters().count())?;
                }
                Event::Checkpoint(state) => {
                    metrics.flush()?;
                    state.recorded_bytes = metrics.length();
                    state.write(&checkpoint, model, settings, &space)?;
                }
                _ => {}
            }
            watch(&event);
            Ok(())
        };
        let mut trainer = Trainer { task, config: settings, should_stop, observer: &mut observer };
        let mut state = match resumed {
            Some(state) => state,
            None => trainer.start(initial)?,
        };
        trainer.run(&mut state)
    }

    /// The run's name in tables.
    fn name(&self) -> String {
        let name = self.path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
        name.replace([',', '"', '\n'], "_")
    }

    fn write_results(&self, rows: &Rows, resolution: usize, done: &[DepthResult], parameters: usize) -> Result<()> {
        let results = RunResults {
            run: rows.run.clone(),
            model: rows.model.clone(),
            parameters,
            seed: rows.seed,
            resolution,
            depths: done.to_vec(),
        };
        let text = serde_json::to_string_pretty(&results).expect("results are plain data");
        write_atomically(&self.path.join("results.json"), text.as_bytes())?;
        let mut table = String::from(COLUMNS);
        for result in done {
            let seconds = Measure::new("train", resolution, "seconds", result.seconds);
            for measure in result.measures.iter().chain([&seconds]) {
                let (depth, epoch) = (result.depth, result.epochs);
                table += &rows.line(&Record { depth, epoch, measure: measure.clone() });
            }
        }
        write_atomically(&self.path.join("results.csv"), table.as_bytes())
    }
}

/// Whether a depth's network is the run's: the last one, or with validation samples the best one.
fn is_best(keep: Keep, result: &DepthResult, before: &[DepthResult]) -> bool {
    let error = |result: &DepthResult| result.get("validation", "relative_l2").unwrap_or(f64::INFINITY);
    keep != Keep::Validation || before.iter().all(|other| error(result) < error(other))
}

/// Whether there is something in a folder, besides what a run leaves that was killed before its first file.
fn is_occupied(path: &Path) -> bool {
    let is_trace = |entry: &fs::DirEntry| match entry.file_name().to_str() {
        Some("config.toml.tmp") => true,
        Some("checkpoint" | "depths") => fs::read_dir(entry.path()).is_ok_and(|mut inner| inner.next().is_none()),
        _ => false,
    };
    fs::read_dir(path).is_ok_and(|entries| entries.flatten().any(|entry| !is_trace(&entry)))
}
