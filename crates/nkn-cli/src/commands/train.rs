//! `nkn train`: from a configuration file to a run's folder.

use super::images;
use crate::Global;
use crate::progress::{Progress, should_stop, stop_on_ctrl_c};
use crate::reproduce::training::seconds_per_depth;
use anyhow::Result;
use clap::Args;
use nkn::Device;
use nkn::classify::ImageRunConfig;
use nkn::model::{Batch, BatchOptions, Normalisers, Parameters, Work};
use nkn::run::{Data, RunConfig, RunFolder};
use nkn::train::Outcome;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Options of `nkn train`.
#[derive(Args)]
pub struct Options {
    /// The configuration file (see configs/ for commented examples)
    config: PathBuf,
    /// Change a setting: --set train.seed=1 --set train.depths=[1,2]
    #[arg(long = "set", value_name = "KEY=VALUE")]
    set: Vec<String>,
    #[command(flatten)]
    destination: super::Destination,
    /// Only say what the run would take: parameters, kernel rows, operations, memory
    #[arg(long)]
    dry_run: bool,
}

/// Runs the command.
pub fn run(global: &Global, options: &Options) -> Result<ExitCode> {
    let out = options.destination.out.clone().unwrap_or_else(|| {
        let name = options.config.file_stem().unwrap_or_default();
        Path::new("runs").join(name)
    });
    if images::is_image_config(&options.config) {
        let config = ImageRunConfig::read(&options.config, &options.set)?;
        if options.dry_run {
            return images::dry_run(global, &config);
        }
        return images::train(global, &config, &out, options.destination.existing());
    }
    let config = RunConfig::read(&options.config, &options.set)?;
    let data = config.data.load_with(&crate::progress::generating())?;
    let config = config.resolve(&data)?;
    if options.dry_run {
        return dry_run(global, &config, &data);
    }
    let folder = RunFolder::create(&out, &config, options.destination.existing())?;
    train(global, &folder, &data, None)
}

/// Trains in a folder and says how it ended.
pub fn train(global: &Global, folder: &RunFolder, data: &Data, initial: Option<Parameters>) -> Result<ExitCode> {
    stop_on_ctrl_c()?;
    let mut progress = Progress::new(global);
    let outcome = folder.train(data, initial, Device::flex(), &should_stop, &mut |event| progress.show(event));
    progress.finish();
    match outcome? {
        Outcome::Complete => {
            if !global.json {
                eprintln!("done: {}", folder.path().display());
            }
            Ok(ExitCode::SUCCESS)
        }
        Outcome::Interrupted => {
            eprintln!(
                "interrupted; the checkpoint is in {}: run the same command with --resume",
                folder.path().display()
            );
            Ok(ExitCode::from(130))
        }
    }
}

/// What the run would take, per depth.
fn dry_run(global: &Global, config: &RunConfig, data: &Data) -> Result<ExitCode> {
    let normalisers = Normalisers::fit(&config.model, &data.train)?;
    let dim = data.train.domain.dim();
    let count = config.train.batch.unwrap_or(data.train.count).min(data.train.count);
    let samples = data.train.select(&(0..count).collect::<Vec<_>>());
    let expected = seconds_per_depth(config, &data.train, super::bench::peak_gflops())?;
    for (rung, &depth) in config.train.depths.iter().enumerate() {
        let budget = config.train.memory_gib * (1u64 << 30) as f64;
        let batch_options = BatchOptions { budget, training: true, ..BatchOptions::new(depth, &Device::flex()) };
        let batch = Batch::new(&config.model, &normalisers, &samples, &batch_options)?;
        let work = Work::of(&config.model, dim, &batch, &batch_options)?;
        let steps = data.train.count.div_ceil(count) * config.train.epochs.at(rung);
        let seconds = expected[rung].1;
        let mut line = serde_json::json!({
            "depth": depth,
            "parameters": config.model.parameter_count(dim, depth)?,
            "nodes": samples.nodes(),
            "gflop_per_step": work.gflop,
            "gflop_per_epoch": work.gflop * data.train.count.div_ceil(count) as f64,
            "steps": steps,
            "memory_mb": work.bytes / 1e6,
            "expected_seconds": seconds,
        });
        let mut kernel = String::new();
        if let Some(layers) = batch.kernel() {
            let plan = &layers.plan;
            let order = format!("{:?}", plan.order).to_lowercase();
            kernel = format!(", {} edges, {} kernel rows, order {order}", plan.edges(), plan.kernel_rows());
            line["edges"] = plan.edges().into();
            line["kernel_rows"] = plan.kernel_rows().into();
            line["order"] = order.into();
        }
        if global.json {
            println!("{line}");
        } else {
            println!(
                "L = {depth}: {} parameters, {} nodes{kernel}, {:.2} GFLOP a step, {:.2} an epoch, {steps} steps, {:.0} MB, about {seconds:.0} s",
                line["parameters"],
                samples.nodes(),
                work.gflop,
                work.gflop * data.train.count.div_ceil(count) as f64,
                work.bytes / 1e6,
            );
        }
    }
    Ok(ExitCode::SUCCESS)
}
