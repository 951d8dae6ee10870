//! Runs the trainings one after the other; what is finished is never run again, what was stopped continues to the bit.

use super::jobs::{Job, Request, set_of};
use super::{Budget as Spent, Measured, output};
use crate::Global;
use crate::commands::bench::peak_gflops;
use crate::commands::data::prepare_images;
use crate::commands::images::expected_seconds;
use crate::progress::{ImageProgress, should_stop};
use crate::reproduce::jobs::Budget;
use crate::reproduce::runner::in_words;
use anyhow::{Context, Result};
use nkn::classify::{ImageRunFolder, ImageSplits, Network};
use nkn::run::Existing;
use nkn::train::Outcome;
use std::path::PathBuf;
use std::time::{Duration, Instant};

fn folder_of(request: &Request, job: &Job) -> PathBuf {
    request.out.join("jobs").join(job.name())
}

/// Whether all of a job is there.
fn is_finished(request: &Request, job: &Job) -> Result<bool> {
    let path = folder_of(request, job);
    if !path.join("config.toml").is_file() {
        return Ok(false);
    }
    let folder = ImageRunFolder::open(&path)?;
    if folder.config()? != job.config {
        anyhow::bail!(
            "{}: was trained with other settings\n  hint: choose another folder with --out, or remove it to train it again",
            path.join("config.toml").display()
        );
    }
    Ok(folder.results()?.is_some())
}

/// Runs what is not finished; false if it was stopped before the end.
pub fn run(global: &Global, request: &Request, limit: Option<Duration>) -> Result<bool> {
    let jobs = request.jobs();
    let mut open = Vec::new();
    for job in &jobs {
        if !is_finished(request, job)? {
            open.push(job);
        }
    }
    if open.is_empty() {
        return Ok(true);
    }
    let splits = match open[0].config.data.load() {
        Ok(splits) => splits,
        // Something is missing or unreadable: fetch it, or say what is wrong with what is there.
        Err(_) => {
            prepare_images(set_of(request.task), &request.images)?;
            open[0].config.data.load()?
        }
    };
    let peak = peak_gflops();
    let expected: Vec<f64> = open.iter().map(|job| estimate(job, &splits, peak)).collect::<Result<_>>()?;
    eprintln!(
        "{} trainings, {} of them finished; about {} for the rest on this machine{}",
        jobs.len(),
        jobs.len() - open.len(),
        in_words(expected.iter().sum()),
        if request.budget == Budget::Quick { " (quick budget: few images, few steps)" } else { "" }
    );
    let begun = Instant::now();
    let is_over = || should_stop() || limit.is_some_and(|limit| begun.elapsed() >= limit);
    let (mut planned, mut spent) = (0.0, 0.0);
    for (index, (job, seconds)) in open.iter().zip(&expected).enumerate() {
        if is_over() {
            return Ok(false);
        }
        // The estimate learns from the jobs so far.
        let pace = if spent > 10.0 { spent / planned } else { 1.0 };
        let left: f64 = expected[index..].iter().map(|seconds| pace * seconds).sum();
        eprintln!("training {} of {}: {}; about {} left in all", index + 1, open.len(), job.name(), in_words(left));
        let path = folder_of(request, job);
        let existing = if path.join("config.toml").is_file() { Existing::Resume } else { Existing::Refuse };
        let folder = ImageRunFolder::create(&path, &job.config, existing)?;
        let mut progress = ImageProgress::new(global, &job.name(), job.config.train.epochs);
        let started = Instant::now();
        let outcome = folder.train(&splits, &is_over, &mut |event| progress.show(event));
        progress.finish();
        if outcome? == Outcome::Interrupted {
            return Ok(false);
        }
        spent += started.elapsed().as_secs_f64();
        planned += seconds;
        write(request)?;
    }
    Ok(true)
}

/// About how many seconds a training takes, its tests included.
fn estimate(job: &Job, splits: &ImageSplits, peak: f64) -> Result<f64> {
    let config = &job.config;
    let network = Network::new(config.model.clone(), config.data.shape(splits))?;
    let batch = config.train.batch.min(splits.train.count);
    let steps = config.train.epochs * splits.train.count.div_ceil(batch);
    Ok(expected_seconds(&network, 3.0 * network.flops(batch)? / 1e9, steps, peak))
}

/// Writes tables and page from all finished trainings with the request's settings, also those that this request did not ask for.
pub fn write(request: &Request) -> Result<PathBuf> {
    let all = Request {
        models: Vec::new(),
        depths: Vec::new(),
        radii: Vec::new(),
        seeds: (0..16).chain(request.seeds.iter().copied().filter(|&seed| seed >= 16)).collect(),
        trained_at: Vec::new(),
        ..request.clone()
    };
    let mut jobs = all.jobs();
    jobs.extend(request.jobs());
    let mut names: Vec<String> = Vec::new();
    let mut measured = Vec::new();
    for job in jobs {
        let path = folder_of(request, &job);
        if names.contains(&job.name()) || !path.join("results.json").is_file() {
            continue;
        }
        names.push(job.name());
        let folder = ImageRunFolder::open(&path)?;
        let Some(results) = folder.results()? else { continue };
        measured.extend(results.tests.iter().map(|test| Measured {
            row: results.model.clone(),
            trained_at: results.trained_at,
            tested_at: test.side,
            seed: results.seed,
            set: test.set.clone(),
            error_rate: test.error_rate,
            epochs: results.epochs,
            seconds: results.seconds,
            parameters: results.parameters,
            complete: true,
        }));
    }
    let budget = Spent { words: request.budget_in_words(), is_quick: request.budget == Budget::Quick };
    let files = output::write(&request.out, request.task, &budget, &measured)?;
    files.into_iter().next_back().context("a page is among the files")
}
