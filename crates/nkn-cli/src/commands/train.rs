//! `nkn train`: from a configuration file to a run's folder.

use crate::Global;
use crate::progress::{Progress, should_stop, stop_on_ctrl_c};
use anyhow::Result;
use clap::Args;
use nkn::model::Parameters;
use nkn::run::{Data, RunConfig, RunFolder, estimate, peak_gflops};
use nkn::train::Outcome;
use std::path::{Path, PathBuf};

/// Options of `nkn train`.
#[derive(Args)]
pub struct Options {
    /// The configuration file (see configs/ for commented examples)
    config: PathBuf,
    /// Change a setting: --set train.seed=1 --set train.depths=[1,2]
    #[arg(long = "set", value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Begin with the weights of another run or model file whose shapes fit; its data, resolution and quadrature may differ
    #[arg(long, value_name = "RUN")]
    from: Option<PathBuf>,
    #[command(flatten)]
    destination: super::Destination,
    /// Only say what the run would take: parameters, kernel rows, operations, memory, time
    #[arg(long)]
    dry_run: bool,
}

/// Runs the command.
pub fn run(global: &Global, options: &Options) -> Result<u8> {
    let out = options.destination.out.clone().unwrap_or_else(|| {
        let name = options.config.file_stem().unwrap_or_default();
        Path::new("runs").join(name)
    });
    let config = RunConfig::read(&options.config, &options.set)?;
    let data = config.data.load_with(&crate::progress::generating())?;
    let config = config.resolve(&data)?;
    if options.dry_run {
        return dry_run(global, &config, &data);
    }
    // What does not fit is said before a folder is made.
    let initial = options.from.as_deref().map(|from| super::weights_of(from, &config, &data)).transpose()?;
    let folder = RunFolder::create(&out, &config, options.destination.existing())?;
    train(global, &folder, &data, initial)
}

/// Trains in a folder and says how it ended.
pub fn train(global: &Global, folder: &RunFolder, data: &Data, initial: Option<Parameters>) -> Result<u8> {
    stop_on_ctrl_c()?;
    let mut progress = Progress::new(global);
    let outcome = folder.train(data, initial, global.device, &should_stop, &mut |event| progress.show(event));
    progress.finish();
    match outcome? {
        Outcome::Complete => {
            if !global.json {
                eprintln!("done: {}", folder.path().display());
            }
            Ok(crate::SUCCESS)
        }
        Outcome::Interrupted => {
            eprintln!(
                "interrupted; the checkpoint is in {}: run the same command with --resume",
                folder.path().display()
            );
            Ok(crate::INTERRUPTED)
        }
    }
}

/// What the run would take, per depth.
fn dry_run(global: &Global, config: &RunConfig, data: &Data) -> Result<u8> {
    for one in estimate(config, data, peak_gflops())? {
        let per_epoch = one.work.gflop * one.steps_per_epoch as f64;
        if global.json {
            let (edges, rows, order) = one.kernel.map_or((None, None, None), |(e, r, o)| (Some(e), Some(r), Some(o)));
            let line = serde_json::json!({
                "depth": one.depth, "parameters": one.parameters, "nodes": data.nodes(),
                "gflop_per_step": one.work.gflop, "gflop_per_epoch": per_epoch, "steps": one.steps,
                "memory_mb": one.work.bytes / 1e6, "expected_seconds": one.seconds,
                "edges": edges, "kernel_rows": rows, "order": order,
            });
            println!("{line}");
            continue;
        }
        let kernel = one.kernel.as_ref().map_or(String::new(), |(edges, rows, order)| {
            format!(", {edges} edges, {rows} kernel rows, order {order}")
        });
        println!(
            "{}: {} parameters, {} nodes{kernel}, {:.2} GFLOP a step, {per_epoch:.2} an epoch, {} steps, {:.0} MB, about {:.0} s",
            config.model.title(one.depth),
            one.parameters,
            data.nodes(),
            one.work.gflop,
            one.steps,
            one.work.bytes / 1e6,
            one.seconds
        );
    }
    Ok(crate::SUCCESS)
}
