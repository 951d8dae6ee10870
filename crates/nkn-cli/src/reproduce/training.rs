//! What is asked of the library: training, testing, estimating and reading a run. Nothing else here knows its run folders.

use super::figures::losses::LossCurve;
use super::names::RANDOM;
use super::problem::Job;
use super::row::{Row, from_csv, to_csv};
use crate::Global;
use crate::progress::{ImageProgress, Progress, generating, preparing, should_stop};
use crate::report::FieldComparison;
use anyhow::{Context, Result, bail};
use nkn::Device;
use nkn::analysis::{Elliptic, spectrum::spectrum};
use nkn::classify::{Architecture, Block, ImageRunConfig, ImageRunFolder, ImageSplits, Network};
use nkn::domain::Domain;
use nkn::field::{Samples, mean, relative_l2};
use nkn::io::write_atomically;
use nkn::model::{Batch, BatchOptions, Kind, Model, Normalisers, Work};
use nkn::run::{Data, Existing, Problem, RunConfig, RunFolder};
use nkn::train::{OptimiserKind, Outcome};
use std::path::Path;

/// What a training reaches of the peak, all told: kernel networks, Fourier layers with their small products, convolutions, and
/// affinities, whose exponentials are not counted as operations.
const SHARE: f64 = 0.6;
const FOURIER_SHARE: f64 = 0.2;
const IMAGE_SHARE: f64 = 0.35;
const AFFINITY_SHARE: f64 = 0.15;
/// A step with the optimiser SOAP against one without.
const SOAP: f64 = 1.6;
/// Up to this size all eigenvalues are computed, beyond it so many at each end.
const DENSE_LIMIT: usize = 2000;
const WANTED: usize = 20;

/// What is trained.
#[derive(Clone, Debug, PartialEq)]
pub enum Config {
    /// A network on functions.
    Function(RunConfig),
    /// A classifier of images.
    Image(ImageRunConfig),
}

/// What it is trained on.
pub enum Loaded {
    /// Functions.
    Function(Data),
    /// Images, at their original resolution.
    Image(ImageSplits),
}

/// How a training stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Nothing is there.
    New,
    /// It was begun.
    Begun,
    /// All of it is there, or it has diverged.
    Finished,
}

impl Config {
    /// What decides which samples are loaded: trainings for which it is the same share them.
    pub fn samples(&self) -> usize {
        match self {
            Self::Function(config) => config.data.resolution.unwrap_or(config.data.points),
            Self::Image(_) => 0,
        }
    }

    /// What a training may take, in words; nothing where it differs between the models.
    pub fn in_words(&self) -> String {
        let Self::Image(ImageRunConfig { data, train, .. }) = self else { return String::new() };
        let moved = if train.flip { ", images mirrored and moved by up to 4 pixels" } else { "" };
        format!(
            "{} epochs each over {} images, batches of {}, Adam from {:e} down along a cosine{moved}",
            train.epochs, data.train_images, train.batch, train.learning_rate
        )
    }

    /// Generates the samples, or finds or fetches them.
    pub fn load(&self) -> Result<Loaded> {
        match self {
            Self::Function(config) => Ok(Loaded::Function(config.data.load_with(&generating())?)),
            Self::Image(ImageRunConfig { data, .. }) => {
                let found = data.load().or_else(|_| {
                    // Something is missing or unreadable: fetch it, or say what is wrong with what is there.
                    let set = data.problem.set();
                    nkn::problem::images::prepare(set, &data.folder, &mut preparing(set.name()))?;
                    data.load()
                });
                Ok(Loaded::Image(found?))
            }
        }
    }
}

/// Looks at what is there; a training with other settings is an error.
pub fn standing(folder: &Path, job: &Job, config: &Config) -> Result<Standing> {
    let path = folder.join("config.toml");
    if !path.is_file() {
        return Ok(Standing::New);
    }
    let (is_same, is_finished) = match config {
        Config::Function(wanted) => {
            let run = RunFolder::open(folder)?;
            let (old, done) = (run.config()?, run.depths());
            let is_finished = job.depths.iter().all(|depth| done.contains(depth)) || diverged_at(folder).is_some();
            (old.extends(wanted) || wanted.extends(&old), is_finished)
        }
        Config::Image(wanted) => {
            let run = ImageRunFolder::open(folder)?;
            (run.config()? == *wanted, run.results()?.is_some())
        }
    };
    if !is_same {
        let hint = "choose another folder with --out, or remove it to train it again";
        bail!("{}: was trained with other settings\n  hint: {hint}", path.display());
    }
    Ok(if is_finished { Standing::Finished } else { Standing::Begun })
}

/// The depth at which a training has diverged.
fn diverged_at(folder: &Path) -> Option<usize> {
    let text = std::fs::read_to_string(folder.join("diverged.json")).ok()?;
    let value: serde_json::Value = serde_json::from_str(&text).ok()?;
    value["depth"].as_u64().map(|depth| depth as usize)
}

/// About how many seconds the rest of a training takes, from its operations and the machine's peak.
pub fn estimate(folder: &Path, config: &Config, loaded: &Loaded, peak: f64) -> Result<f64> {
    match (config, loaded) {
        (Config::Function(config), Loaded::Function(data)) => {
            let done = RunFolder::open(folder).map_or(Vec::new(), |run| run.depths());
            let expected = seconds_per_depth(config, &data.train, peak)?;
            Ok(expected.iter().filter(|(depth, _)| !done.contains(depth)).map(|(_, seconds)| seconds).sum::<f64>()
                + 0.0)
        }
        (Config::Image(config), Loaded::Image(splits)) => {
            let network = Network::new(config.model.clone(), config.data.shape(splits))?;
            let batch = config.train.batch.min(splits.train.count);
            let steps = config.train.epochs * splits.train.count.div_ceil(batch);
            let has_affinity = config.model.architecture == Architecture::Nnn || config.model.block == Block::Nnn;
            let share = if has_affinity { AFFINITY_SHARE } else { IMAGE_SHARE };
            Ok(3.0 * network.flops(batch)? / 1e9 * steps as f64 / (share * peak))
        }
        _ => bail!("the samples are those of another problem"),
    }
}

/// About how many seconds each depth of a training on functions takes.
pub fn seconds_per_depth(config: &RunConfig, train: &Samples, peak: f64) -> Result<Vec<(usize, f64)>> {
    let normalisers = Normalisers::fit(&config.model, train)?;
    let count = config.train.batch.unwrap_or(train.count).min(train.count);
    let samples = train.select(&(0..count).collect::<Vec<_>>());
    let one = |(rung, &depth): (usize, &usize)| -> Result<(usize, f64)> {
        let budget = config.train.memory_gib * (1u64 << 30) as f64;
        let options = BatchOptions { budget, training: true, ..BatchOptions::new(depth, &Device::flex()) };
        let batch = Batch::new(&config.model, &normalisers, &samples, &options)?;
        let work = Work::of(&config.model, train.domain.dim(), &batch, &options)?;
        let steps = train.count.div_ceil(count) * config.train.epochs.at(rung);
        let factor = if config.train.optimiser == OptimiserKind::Soap { SOAP } else { 1.0 };
        let share = if config.model.kind == Kind::Fno { FOURIER_SHARE } else { SHARE };
        Ok((depth, factor * work.gflop * steps as f64 / (share * peak)))
    };
    config.train.depths.iter().enumerate().map(one).collect()
}

/// Trains, from the start or from the checkpoint.
pub fn train(
    global: &Global,
    folder: &Path,
    job: &Job,
    (config, loaded): (&Config, &Loaded),
    is_over: &dyn Fn() -> bool,
) -> Result<Outcome> {
    let existing = if folder.join("config.toml").is_file() { Existing::Resume } else { Existing::Refuse };
    match (config, loaded) {
        (Config::Function(config), Loaded::Function(data)) => {
            let mut config = config.clone().resolve(data)?;
            if let Ok(old) = RunFolder::open(folder).and_then(|run| run.config()) {
                config = if old.extends(&config) { old } else { config };
            }
            let run = RunFolder::create(folder, &config, existing)?;
            let mut progress = Progress::new(global);
            let outcome = run.train(data, None, Device::flex(), is_over, &mut |event| progress.show(event));
            progress.finish();
            match outcome {
                Err(error @ nkn::Error::NotFinite { .. }) => diverged(folder, job, &run.depths(), &error.to_string()),
                outcome => Ok(outcome?),
            }
        }
        (Config::Image(config), Loaded::Image(splits)) => {
            let run = ImageRunFolder::create(folder, config, existing)?;
            let mut progress = ImageProgress::new(global, &job.name(), config.train.epochs);
            let outcome = run.train(splits, is_over, &mut |event| progress.show(event));
            progress.finish();
            Ok(outcome?)
        }
        _ => bail!("the samples are those of another problem"),
    }
}

/// A training that has diverged is a result too: the paper prints INF.
fn diverged(folder: &Path, job: &Job, done: &[usize], message: &str) -> Result<Outcome> {
    let depth = job.depths.iter().find(|depth| !done.contains(depth)).copied().unwrap_or_default();
    let value = serde_json::json!({ "depth": depth, "message": message });
    write_atomically(&folder.join("diverged.json"), value.to_string().as_bytes())?;
    eprintln!("{}: diverged at depth {depth}: {message}", job.name());
    Ok(Outcome::Complete)
}

/// The tests on other grids than the training's, kept in the folder so that none is evaluated twice.
fn tested(folder: &Path, job: &Job) -> Result<Vec<Row>> {
    let path = folder.join("cells.csv");
    let common = job.row(None, ("test", job.trained_at), ("relative_l2", f64::NAN));
    match std::fs::read_to_string(&path) {
        Ok(text) => from_csv(&text, &path, &common),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error).with_context(|| format!("{}: could not read", path.display())),
    }
}

/// Tests the finished depths of a training on functions where that is missing. Images are tested at the end of their training.
pub fn test(folder: &Path, job: &Job, tests: &[usize]) -> Result<()> {
    if job.data.is_none() || job.model.ends_with(RANDOM) || !folder.join("config.toml").is_file() {
        return Ok(());
    }
    let (run, mut known) = (RunFolder::open(folder)?, tested(folder, job)?);
    let config = run.config()?;
    for &tested_at in tests.iter().filter(|&&tested_at| tested_at != job.trained_at) {
        let row = |depth, error| job.row(Some(depth), ("test", tested_at), ("relative_l2", error));
        let is_known = |depth: &usize| known.iter().any(|known| known.key == row(*depth, 0.0).key);
        let missing: Vec<usize> = run.depths().into_iter().filter(|depth| !is_known(depth)).collect();
        if missing.is_empty() {
            continue;
        }
        let samples = config.data.tests_at(&[tested_at], &generating())?.remove(0);
        for depth in missing {
            if should_stop() {
                return Ok(());
            }
            eprintln!("testing {} at depth {depth} on {tested_at} points per side", job.name());
            known.push(row(depth, error(&run.model_at(depth)?, &samples)?));
            write_atomically(&folder.join("cells.csv"), to_csv(&known).as_bytes())?;
        }
    }
    Ok(())
}

/// The mean error of a model on samples.
fn error(model: &Model, samples: &Samples) -> Result<f64> {
    let budget = 8.0 * (1u64 << 30) as f64;
    let options = BatchOptions { budget, ..BatchOptions::new(model.depth, &Device::flex()) };
    let prediction = model.predict_with(samples, &options)?;
    Ok(mean(&relative_l2(&prediction, samples.output()?, samples.nodes())))
}

/// All numbers of a training: errors, sizes, times, eigenvalues. Depths at which it has diverged have infinite errors.
pub fn rows_of(folder: &Path, job: &Job, config: &Config, tests: &[usize]) -> Result<Vec<Row>> {
    let home = job.trained_at;
    let mut rows = Vec::new();
    let Config::Function(config) = config else {
        let Some(results) = ImageRunFolder::open(folder)?.results()? else { return Ok(rows) };
        let depth = job.depths.first().copied();
        let row = |split: &str, side, metric, value| job.row(depth, (split, side), (metric, value));
        rows.extend(results.tests.iter().map(|test| row(&test.set, test.side, "error_rate", test.error_rate)));
        let sizes = [("parameters", results.parameters as f64), ("epochs", results.epochs as f64)];
        let sizes = sizes.into_iter().chain([("seconds", results.seconds)]);
        rows.extend(sizes.map(|(metric, value)| row("train", home, metric, value)));
        return Ok(rows);
    };
    let run = RunFolder::open(folder)?;
    let results = if run.depths().is_empty() { Vec::new() } else { run.results()? };
    for result in &results {
        let row = |split: &str, metric, value| job.row(Some(result.depth), (split, home), (metric, value));
        rows.push(row("train", "relative_l2", result.train));
        rows.extend(result.test.map(|test| row("test", "relative_l2", test)));
        rows.push(row("train", "epochs", result.epochs as f64));
        rows.push(row("train", "seconds", result.seconds));
        let model = run.model_at(result.depth)?;
        rows.push(row("train", "parameters", model.parameters.count() as f64));
        if config.data.problem == Problem::Poisson && config.model.kind != Kind::Fno {
            let operator = Elliptic::new(&model, &config.data.load()?.train)?;
            let found = spectrum(&operator, DENSE_LIMIT, WANTED)?;
            rows.push(row("train", "eigenvalue_smallest", found.smallest_real));
            rows.push(row("train", "eigenvalue_largest", found.largest_real));
            rows.push(row("train", "amplification", found.amplification(operator.step())));
            rows.push(row("train", "eigenvalue_symmetric", found.smallest_symmetric));
        }
    }
    let first = diverged_at(folder).unwrap_or(usize::MAX);
    for &depth in job.depths.iter().filter(|&&depth| depth >= first) {
        let sets = std::iter::once(("train", home)).chain(tests.iter().map(|&tested_at| ("test", tested_at)));
        rows.extend(sets.map(|set| job.row(Some(depth), set, ("relative_l2", f64::INFINITY))));
    }
    for row in tested(folder, job)? {
        if rows.iter().all(|known| known.key != row.key) {
            rows.push(row);
        }
    }
    Ok(rows)
}

/// The training losses of a ladder, a curve per depth.
pub fn losses(folder: &Path, name: &str) -> Result<Vec<LossCurve>> {
    let run = RunFolder::open(folder)?;
    let records = if run.depths().is_empty() { Vec::new() } else { run.metrics()? };
    let curve = |depth: usize| {
        let own = records.iter().filter(|record| record.depth == depth && record.metric == "loss");
        let (epochs, losses) = own.map(|record| (record.epoch as f64, record.value)).unzip();
        LossCurve { name: name.into(), depth, epochs, losses }
    };
    Ok(run.depths().into_iter().map(curve).collect())
}

/// The first test samples beside the predictions of the deepest network at every resolution, and its depth; none for images
/// and for functions on a line.
pub fn fields(folder: &Path, config: &Config, tests: &[usize]) -> Result<Option<(usize, Vec<FieldComparison>)>> {
    let Config::Function(config) = config else { return Ok(None) };
    let run = RunFolder::open(folder)?;
    if config.data.problem != Problem::Darcy || run.depths().is_empty() {
        return Ok(None);
    }
    let model = run.model()?;
    let mut shown = Vec::new();
    for set in config.data.tests_at(tests, &generating())? {
        let picks: Vec<usize> = (0..set.count.min(3)).collect();
        let (samples, Domain::Grid(grid)) = (set.select(&picks), &set.domain) else { continue };
        let (nodes, truth) = (samples.nodes(), samples.output()?);
        let prediction = model.predict(&samples, &Device::flex())?;
        let errors = relative_l2(&prediction, truth, nodes);
        let input_name = model.config.fields.first().cloned().unwrap_or_default();
        let input = &samples.field(&input_name)?.values;
        let (lower, upper) = (grid.lower(), grid.upper());
        shown.extend(picks.into_iter().map(|index| {
            let of = |values: &[f64]| values[index * nodes..(index + 1) * nodes].to_vec();
            FieldComparison {
                index,
                resolution: grid.shape()[0],
                shape: [grid.shape()[0], grid.shape()[1]],
                extent: [lower[0], upper[0], lower[1], upper[1]],
                input_name: input_name.clone(),
                input: of(input),
                truth: of(truth),
                prediction: of(&prediction),
                relative_l2: errors[index],
            }
        }));
    }
    shown.sort_by_key(|comparison| comparison.index);
    Ok(Some((model.depth, shown)))
}
