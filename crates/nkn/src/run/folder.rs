//! The folder of a run: configuration, models, checkpoint, metrics and results.
//!
//! | file | content |
//! |---|---|
//! | `config.toml` | the configuration, fully resolved |
//! | `model.safetensors` | the best weights of the last finished depth |
//! | `depths/L4.safetensors` | the best weights of each finished depth |
//! | `checkpoint/state.safetensors` | everything needed to continue to the bit |
//! | `metrics.csv` | losses and errors while training; the same to the bit however often the run was interrupted |
//! | `results.json`, `results.csv` | errors by depth and resolution, parameters, time |

use super::config::RunConfig;
use super::data::Data;
use crate::io::{read_model, write_atomically, write_model};
use crate::model::{Model, Parameters};
use crate::train::{DepthResult, Event, Outcome, Record, State, Trainer};
use crate::{Error, Result};
use burn::tensor::Device;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
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

/// The columns of metrics.csv and results.csv.
const COLUMNS: &str = "run,model,depth,seed,epoch,split,resolution,metric,value\n";

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
        if occupied && existing == Existing::Refuse {
            return Err(Error::file(
                path,
                "exists already",
                "continue it with --resume, replace it with --force, or choose another place with --out",
            ));
        }
        if existing == Existing::Resume {
            let folder = Self::open(path)?;
            let old = folder.config()?;
            if old != *config && config.extends(&old) {
                write_atomically(&folder.config_path(), config.to_toml().as_bytes())?;
            } else if old != *config {
                return Err(Error::file(
                    &folder.config_path(),
                    "differs from the configuration given now",
                    "resume with the same settings, or start another run with --out",
                ));
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
            Error::file(
                &self.path,
                "is not the folder of a run, so --force does not touch it",
                "choose another place with --out",
            )
        })?;
        for name in ["checkpoint", "depths"] {
            let path = self.path.join(name);
            if path.exists() {
                fs::remove_dir_all(&path).map_err(Error::io(&path, "remove"))?;
            }
        }
        for name in ["model.safetensors", "metrics.csv", "results.csv", "results.json", "report.html", "config.toml"] {
            let path = self.path.join(name);
            if path.exists() {
                fs::remove_file(&path).map_err(Error::io(&path, "remove"))?;
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
        RunConfig::parse(&text, &path, &[])
    }

    fn checkpoint_path(&self) -> PathBuf {
        self.path.join("checkpoint/state.safetensors")
    }

    /// The best model of the last finished depth.
    pub fn model(&self) -> Result<Model> {
        read_model(&self.path.join("model.safetensors"))
    }

    /// The best model of a depth.
    pub fn model_at(&self, depth: usize) -> Result<Model> {
        read_model(&self.path.join(format!("depths/L{depth}.safetensors")))
    }

    /// The finished depths, shallow first.
    pub fn depths(&self) -> Vec<usize> {
        let entries = fs::read_dir(self.path.join("depths")).into_iter().flatten().flatten();
        let depth = |name: String| name.strip_prefix('L')?.strip_suffix(".safetensors")?.parse().ok();
        let mut depths: Vec<usize> = entries.filter_map(|e| depth(e.file_name().into_string().ok()?)).collect();
        depths.sort_unstable();
        depths
    }

    /// The rows of metrics.csv.
    pub fn metrics(&self) -> Result<Vec<Record>> {
        let path = self.path.join("metrics.csv");
        let text = fs::read_to_string(&path).map_err(Error::io(&path, "read"))?;
        let parse = |line: &str| -> Option<Record> {
            let cells: Vec<&str> = line.split(',').collect();
            let known = |name: &str| {
                ["train", "test", "loss", "relative_l2", "relative_l2_squared", "learning_rate", "gradient_norm"]
                    .into_iter()
                    .find(|k| *k == name)
            };
            Some(Record {
                depth: cells.get(2)?.parse().ok()?,
                epoch: cells.get(4)?.parse().ok()?,
                split: known(cells.get(5)?)?,
                metric: known(cells.get(7)?)?,
                value: cells.get(8)?.parse().ok()?,
            })
        };
        Ok(text.lines().skip(1).filter_map(parse).collect())
    }

    /// The finished depths' results, from results.json.
    pub fn results(&self) -> Result<Vec<DepthResult>> {
        let path = self.path.join("results.json");
        let text = fs::read_to_string(&path).map_err(Error::io(&path, "read"))?;
        let unreadable =
            |error: serde_json::Error| Error::file(&path, format!("is not readable ({error})"), "train the run again");
        let value: serde_json::Value = serde_json::from_str(&text).map_err(unreadable)?;
        serde_json::from_value(value["depths"].clone()).map_err(unreadable)
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
        let checkpoint = self.checkpoint_path();
        let (model, settings) = (&config.model, &config.train);
        let resumed = checkpoint.is_file().then(|| State::read(&checkpoint, model, settings)).transpose()?;
        let mut metrics = Metrics::open(self, &config, data, resumed.as_ref().map_or(0, |state| state.recorded_bytes))?;
        let dim = data.train.domain().dim();
        let mut done: Vec<DepthResult> = resumed.as_ref().map_or(Vec::new(), |state| state.results.clone());
        let mut observer = |mut event: Event| -> Result<()> {
            match &mut event {
                Event::Records(records) => metrics.append(records)?,
                Event::Finished { result, model } => {
                    write_model(&self.path.join(format!("depths/L{}.safetensors", result.depth)), model)?;
                    write_model(&self.path.join("model.safetensors"), model)?;
                    done.push((*result).clone());
                    self.write_results(&config, data, &done, model.parameters.count())?;
                }
                Event::Checkpoint(state) => {
                    metrics.flush()?;
                    state.recorded_bytes = metrics.length;
                    state.write(&checkpoint, model, settings, dim)?;
                }
                _ => {}
            }
            watch(&event);
            Ok(())
        };
        let mut trainer = Trainer {
            model,
            config: settings,
            train: &data.train,
            test: data.test.as_ref(),
            device,
            should_stop,
            observer: &mut observer,
        };
        let state = match resumed {
            Some(state) => state,
            None => trainer.start(initial)?,
        };
        trainer.run(state)
    }

    fn name(&self) -> String {
        let name = self.path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
        name.replace([',', '"', '\n'], "_")
    }

    fn write_results(&self, config: &RunConfig, data: &Data, done: &[DepthResult], parameters: usize) -> Result<()> {
        let value = serde_json::json!({
            "run": self.name(),
            "model": config.model.kind,
            "parameters": parameters,
            "seed": config.train.seed,
            "resolution": resolution(data),
            "seconds": done.last().map(|result| result.seconds),
            "depths": done,
        });
        let text = serde_json::to_string_pretty(&value).expect("results are plain data");
        write_atomically(&self.path.join("results.json"), text.as_bytes())?;
        let mut rows = String::from(COLUMNS);
        for result in done {
            let values = [
                ("train", "relative_l2", Some(result.train)),
                ("train", "relative_l2_squared", Some(result.train_squared)),
                ("test", "relative_l2", result.test),
                ("test", "relative_l2_squared", result.test_squared),
                ("train", "seconds", Some(result.seconds)),
            ];
            for (split, metric, value) in values {
                let Some(value) = value else { continue };
                let record = Record { depth: result.depth, epoch: result.epochs, split, metric, value };
                rows += &self.row(config, resolution(data), &record);
            }
        }
        write_atomically(&self.path.join("results.csv"), rows.as_bytes())
    }

    fn row(&self, config: &RunConfig, resolution: usize, record: &Record) -> String {
        let (run, model, seed) = (self.name(), config.model.kind, config.train.seed);
        let Record { depth, epoch, split, metric, value } = record;
        format!("{run},{model},{depth},{seed},{epoch},{split},{resolution},{metric},{value:e}\n")
    }
}

/// Whether there is something in a folder, besides what a run leaves that was killed before its first file.
pub(crate) fn is_occupied(path: &Path) -> bool {
    let is_trace = |entry: &fs::DirEntry| match entry.file_name().to_str() {
        Some("config.toml.tmp") => true,
        Some("checkpoint" | "depths") => fs::read_dir(entry.path()).is_ok_and(|mut inner| inner.next().is_none()),
        _ => false,
    };
    fs::read_dir(path).is_ok_and(|entries| entries.flatten().any(|entry| !is_trace(&entry)))
}

/// Nodes per side of a grid, or the number of points.
fn resolution(data: &Data) -> usize {
    match data.train.domain() {
        crate::domain::Domain::Grid(grid) => grid.shape()[0],
        cloud => cloud.len(),
    }
}

/// metrics.csv, cut back to what the checkpoint knows of.
struct Metrics<'a> {
    folder: &'a RunFolder,
    config: RunConfig,
    path: PathBuf,
    file: File,
    length: u64,
    resolution: usize,
}

impl<'a> Metrics<'a> {
    fn open(folder: &'a RunFolder, config: &RunConfig, data: &Data, recorded: u64) -> Result<Self> {
        let path = folder.path.join("metrics.csv");
        let file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&path)
            .map_err(Error::io(&path, "open"))?;
        file.set_len(recorded).map_err(Error::io(&path, "cut"))?;
        let mut metrics = Self { folder, config: config.clone(), path, file, length: 0, resolution: resolution(data) };
        if recorded == 0 {
            metrics.write(COLUMNS)?;
        } else {
            use std::io::Seek;
            metrics.length = recorded;
            metrics.file.seek(std::io::SeekFrom::End(0)).map_err(Error::io(&metrics.path, "open"))?;
        }
        Ok(metrics)
    }

    fn write(&mut self, text: &str) -> Result<()> {
        self.file.write_all(text.as_bytes()).map_err(Error::io(&self.path, "write"))?;
        self.length += text.len() as u64;
        Ok(())
    }

    fn append(&mut self, records: &[Record]) -> Result<()> {
        let rows: String =
            records.iter().map(|record| self.folder.row(&self.config, self.resolution, record)).collect();
        self.write(&rows)
    }

    fn flush(&mut self) -> Result<()> {
        self.file.sync_data().map_err(Error::io(&self.path, "write"))
    }
}
