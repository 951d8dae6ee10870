//! Runs the jobs one after the other; what is finished is never run again, what was stopped continues to the bit.

use super::cells::{Cells, evaluate};
use super::jobs::{Budget, Job, Request};
use crate::Global;
use crate::commands::bench::peak_gflops;
use crate::progress::{Progress, should_stop};
use anyhow::{Context, Result};
use nkn::Device;
use nkn::field::Samples;
use nkn::io::write_atomically;
use nkn::model::{Batch, BatchOptions, Kind, Normalisers, Work};
use nkn::run::{Data, Existing, RunConfig, RunFolder};
use nkn::train::{OptimiserKind, Outcome};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// What a training reaches of the peak, all told: kernel networks, and Fourier layers with their small products.
const SHARE: f64 = 0.6;
const FOURIER_SHARE: f64 = 0.2;
/// A step with the optimiser SOAP against one without.
const SOAP: f64 = 1.6;

/// Where the jobs' folders are.
pub fn folder_of(request: &Request, job: &Job) -> PathBuf {
    request.out.join("jobs").join(job.name())
}

/// How a job stands.
#[derive(Clone, Debug, PartialEq)]
pub enum Standing {
    /// Nothing is there.
    New,
    /// It was begun.
    Begun,
    /// All depths are there, or the training has diverged.
    Finished,
}

/// Looks at what is there.
pub fn standing(request: &Request, job: &Job) -> Result<Standing> {
    let path = folder_of(request, job);
    if !path.join("config.toml").is_file() {
        return Ok(Standing::New);
    }
    let folder = RunFolder::open(&path)?;
    let (old, wanted) = (folder.config()?, job.config(request.budget, &data_folder(request))?);
    if !old.extends(&wanted) && !wanted.extends(&old) {
        anyhow::bail!(
            "{}: was trained with other settings\n  hint: choose another folder with --out, or remove it to train it again",
            path.join("config.toml").display()
        );
    }
    let done = folder.depths();
    let all_there = job.depths.iter().all(|depth| done.contains(depth));
    Ok(if all_there || diverged_at(&path).is_some() { Standing::Finished } else { Standing::Begun })
}

/// Generated samples, kept beside the jobs.
fn data_folder(request: &Request) -> PathBuf {
    request.out.join("data")
}

/// The depth at which a training has diverged.
pub fn diverged_at(path: &Path) -> Option<usize> {
    let text = std::fs::read_to_string(path.join("diverged.json")).ok()?;
    let value: serde_json::Value = serde_json::from_str(&text).ok()?;
    value["depth"].as_u64().map(|depth| depth as usize)
}

/// About how many seconds each depth of a training takes, from its operations and the machine's peak.
pub fn estimate(config: &RunConfig, train: &Samples, peak: f64) -> Result<Vec<(usize, f64)>> {
    let normalisers = Normalisers::fit(&config.model, train)?;
    let count = config.train.batch.unwrap_or(train.count()).min(train.count());
    let samples = train.select(&(0..count).collect::<Vec<_>>());
    let one = |(rung, &depth): (usize, &usize)| -> Result<(usize, f64)> {
        let budget = config.train.memory_gib * (1u64 << 30) as f64;
        let options = BatchOptions { budget, training: true, ..BatchOptions::new(depth, &Device::flex()) };
        let batch = Batch::new(&config.model, &normalisers, &samples, &options)?;
        let work = Work::of(&config.model, train.domain().dim(), &batch, &options)?;
        let steps = train.count().div_ceil(count) * config.train.epochs.at(rung);
        let factor = if config.train.optimiser == OptimiserKind::Soap { SOAP } else { 1.0 };
        let share = if config.model.kind == Kind::Fno { FOURIER_SHARE } else { SHARE };
        Ok((depth, factor * work.gflop * steps as f64 / (share * peak)))
    };
    config.train.depths.iter().enumerate().map(one).collect()
}

/// The samples of one training grid.
struct Grid {
    trained_at: usize,
    data: Data,
}

/// Runs what is not finished; false if it was stopped before the end.
pub fn run(global: &Global, request: &Request, tests: &[usize], limit: Option<Duration>) -> Result<bool> {
    let jobs = request.jobs();
    let begun = Instant::now();
    let mut grids: Vec<Grid> = Vec::new();
    let peak = peak_gflops();
    let mut open: Vec<(&Job, f64)> = Vec::new();
    for job in &jobs {
        if standing(request, job)? == Standing::Finished {
            continue;
        }
        let config = job.config(request.budget, &data_folder(request))?;
        if !grids.iter().any(|grid| grid.trained_at == job.trained_at) {
            let data = config.data.load_with(&crate::progress::generating())?;
            grids.push(Grid { trained_at: job.trained_at, data });
        }
        let grid = grids.iter().find(|grid| grid.trained_at == job.trained_at).context("loaded above")?;
        let done = RunFolder::open(&folder_of(request, job)).map_or(Vec::new(), |folder| folder.depths());
        let left = estimate(&config, &grid.data.train, peak)?;
        open.push((job, left.iter().filter(|(depth, _)| !done.contains(depth)).map(|(_, seconds)| seconds).sum()));
    }
    let total: f64 = open.iter().map(|(_, seconds)| seconds).sum();
    eprintln!(
        "{}: {} trainings, {} of them finished; about {} for the rest on this machine{}",
        request.experiment.name(),
        jobs.len(),
        jobs.len() - open.len(),
        in_words(total + 0.0),
        if request.budget == Budget::Quick { " (quick budget: few steps)" } else { "" }
    );
    let (mut expected, mut spent) = (0.0, 0.0);
    let mut is_complete = true;
    for (index, (job, seconds)) in open.iter().enumerate() {
        let is_over = || should_stop() || limit.is_some_and(|limit| begun.elapsed() >= limit);
        if is_over() {
            is_complete = false;
            break;
        }
        // The estimate learns from the jobs so far.
        let pace = if spent > 10.0 { spent / expected } else { 1.0 };
        let left: f64 = open[index..].iter().map(|(_, seconds)| pace * seconds).sum();
        eprintln!("training {} of {}: {}; about {} left in all", index + 1, open.len(), job.name(), in_words(left));
        let grid = grids.iter().find(|grid| grid.trained_at == job.trained_at).context("loaded above")?;
        let started = Instant::now();
        let outcome = train(global, request, job, &grid.data, &is_over)?;
        spent += started.elapsed().as_secs_f64();
        expected += seconds;
        is_complete &= outcome == Outcome::Complete;
    }
    // Who stops does not want to wait for tests, only for what is known already.
    test(request, if should_stop() { &[] } else { tests })?;
    Ok(is_complete && !should_stop())
}

/// Collects the errors of all trainings, and tests them on grids where that is missing: also those that were trained before.
pub fn test(request: &Request, tests: &[usize]) -> Result<()> {
    for job in &request.jobs() {
        let path = folder_of(request, job);
        if path.join("config.toml").is_file() && job.initialisation != nkn::train::Initialisation::Random {
            evaluate(&RunFolder::open(&path)?, &mut Cells::read(&path)?, tests)?;
        }
    }
    Ok(())
}

fn train(global: &Global, request: &Request, job: &Job, data: &Data, is_over: &dyn Fn() -> bool) -> Result<Outcome> {
    let path = folder_of(request, job);
    let config = job.config(request.budget, &data_folder(request))?.resolve(data)?;
    let folder = match standing(request, job)? {
        Standing::New => RunFolder::create(&path, &config, Existing::Refuse)?,
        _ => {
            let old = RunFolder::open(&path)?.config()?;
            let config = if old.extends(&config) { old } else { config };
            RunFolder::create(&path, &config, Existing::Resume)?
        }
    };
    let mut progress = Progress::new(global);
    let outcome = folder.train(data, None, Device::flex(), is_over, &mut |event| progress.show(event));
    progress.finish();
    match outcome {
        Err(error @ nkn::Error::NotFinite { .. }) => {
            // A result too: the paper prints INF.
            let done = folder.depths();
            let depth = job.depths.iter().find(|depth| !done.contains(depth)).copied().unwrap_or_default();
            let value = serde_json::json!({ "depth": depth, "message": error.to_string() });
            write_atomically(&path.join("diverged.json"), value.to_string().as_bytes())?;
            eprintln!("{}: diverged at depth {depth}: {error}", job.name());
            Ok(Outcome::Complete)
        }
        outcome => Ok(outcome?),
    }
}

/// A time to plan with.
pub fn in_words(seconds: f64) -> String {
    match seconds {
        s if s < 90.0 => format!("{s:.0} s"),
        s if s < 5400.0 => format!("{:.0} min", s / 60.0),
        s => format!("{:.1} h", s / 3600.0),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn times_are_said_in_a_unit_that_fits() {
        assert_eq!(super::in_words(12.3), "12 s");
        assert_eq!(super::in_words(600.0), "10 min");
        assert_eq!(super::in_words(9000.0), "2.5 h");
    }
}
