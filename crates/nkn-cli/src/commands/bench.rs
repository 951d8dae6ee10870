//! `nkn bench`: our own speed, as a share of the machine's peak.

use crate::Global;
use anyhow::Result;
use clap::{Args, ValueEnum};
use nkn::Device;
use nkn::linalg::{Matrix, gemm_parallel};
use nkn::model::{ModelConfig, Work};
use nkn::run::DataConfig;
use nkn::train::{TrainConfig, Trainer};
use serde::Serialize;
use std::process::ExitCode;
use std::time::Instant;

/// Options of `nkn bench`.
#[derive(Args)]
pub struct Options {
    /// What to measure
    #[arg(default_value = "poisson")]
    name: Name,
    /// Depths [default: 1 and 32]
    #[arg(long, value_delimiter = ',', default_values_t = [1, 32])]
    depth: Vec<usize>,
    /// Points of the grid
    #[arg(long, default_value_t = 101)]
    resolution: usize,
    /// Samples of the batch
    #[arg(long, default_value_t = 500)]
    batch: usize,
    /// A training step, or a prediction
    #[arg(long, default_value = "train")]
    mode: Mode,
    /// Repetitions; the best one counts
    #[arg(long, default_value_t = 20)]
    repeats: usize,
}

/// What can be measured.
#[derive(Clone, Copy, ValueEnum)]
enum Name {
    /// The matrix product that everything is compared with
    Peak,
    /// The paper's 1D network, all samples in one batch
    Poisson,
}

/// What is timed.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Mode {
    /// Forward, backward and the optimiser's step
    Train,
    /// Forward
    Predict,
}

/// A result. The operations are those of the full products of one step; where whole columns of a block are zero
/// (see `kernel/fused.rs`) they are not carried out, so the share of the peak can exceed 1.
#[derive(Serialize)]
struct Line {
    bench: &'static str,
    case: String,
    seconds: f64,
    gflop: f64,
    share_of_peak: f64,
    peak_rss_mb: f64,
}

/// Runs the command.
pub fn run(global: &Global, options: &Options) -> Result<ExitCode> {
    let mut peak = peak_gflops();
    if matches!(options.name, Name::Peak) {
        show(
            global,
            &Line {
                bench: "peak",
                case: "best f32 product".into(),
                seconds: 1.0 / peak,
                gflop: 1.0,
                share_of_peak: 1.0,
                peak_rss_mb: peak_rss_mb(),
            },
        );
        return Ok(ExitCode::SUCCESS);
    }
    for &depth in &options.depth {
        anyhow::ensure!(depth > 0, "--depth: expected 1 or more, got 0");
        let (seconds, work) = poisson(options, depth)?;
        // Machines are noisy: the peak is the best seen before and after.
        peak = peak.max(peak_gflops());
        let share = if options.mode == Mode::Train { 1.0 } else { 1.0 / 3.0 };
        let gflop = work.gflop * share;
        let case = format!(
            "{} depth={depth} batch={} resolution={}",
            if options.mode == Mode::Train { "train" } else { "predict" },
            options.batch,
            options.resolution
        );
        show(
            global,
            &Line {
                bench: "poisson",
                case,
                seconds,
                gflop,
                share_of_peak: gflop / seconds / peak,
                peak_rss_mb: peak_rss_mb(),
            },
        );
    }
    Ok(ExitCode::SUCCESS)
}

fn show(global: &Global, line: &Line) {
    if global.json {
        println!("{}", serde_json::to_string(line).unwrap_or_default());
    } else {
        println!(
            "{} {}: {:.2} ms, {:.2} GFLOP, {:.0} GFLOPS, {:.0} % of peak, {:.0} MB",
            line.bench,
            line.case,
            1e3 * line.seconds,
            line.gflop,
            line.gflop / line.seconds,
            100.0 * line.share_of_peak,
            line.peak_rss_mb
        );
    }
}

/// The best step of the paper's network on the Poisson problem.
fn poisson(options: &Options, depth: usize) -> Result<(f64, Work)> {
    let data =
        DataConfig { points: options.resolution, train_samples: options.batch, ..DataConfig::default() }.load()?;
    let model = ModelConfig { fields: vec!["f".into()], ..ModelConfig::default() };
    let config = TrainConfig { depths: vec![depth], ..TrainConfig::default() };
    let trainer = Trainer {
        model: &model,
        config: &config,
        train: &data.train,
        test: None,
        device: Device::flex(),
        should_stop: &|| false,
        observer: &mut |_| Ok(()),
    };
    let count = options.repeats.max(1) + 2;
    let (seconds, work) = match options.mode {
        Mode::Train => trainer.time_steps(depth, count)?,
        Mode::Predict => trainer.time_predictions(depth, count)?,
    };
    Ok((seconds.into_iter().skip(2).fold(f64::INFINITY, f64::min), work))
}

/// The machine's measured f32 matrix product on all threads, in units of 10^9 operations per second: the best of several sizes.
pub fn peak_gflops() -> f64 {
    let measure = |size: usize| {
        let values: Vec<f32> = (0..size * size).map(|i| (i % 17) as f32).collect();
        let mut result = vec![0.0f32; size * size];
        let matrix = Matrix::new(&values, size, size);
        let repeats = (1usize << 33) / size.pow(3);
        let seconds = (0..repeats.clamp(3, 32)).map(|_| {
            let begun = Instant::now();
            gemm_parallel(&mut result, 0.0, 1.0, matrix, matrix);
            begun.elapsed().as_secs_f64()
        });
        2.0 * (size as f64).powi(3) / seconds.fold(f64::INFINITY, f64::min) / 1e9
    };
    [512, 1024, 2048].into_iter().map(measure).fold(0.0, f64::max)
}

/// The largest memory that this process has taken.
fn peak_rss_mb() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes: f64 = line.and_then(|l| l.trim().trim_end_matches(" kB").parse().ok()).unwrap_or(0.0);
    kilobytes / 1024.0
}
