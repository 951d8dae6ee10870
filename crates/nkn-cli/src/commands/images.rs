//! Runs of image classifiers: what `nkn train` does with them.

use crate::Global;
use crate::progress::{ImageProgress, should_stop, stop_on_ctrl_c};
use anyhow::{Context, Result, bail};
use nkn::classify::{Architecture, Block, ImageRunConfig, ImageRunFolder, Network, is_about_images};
use nkn::run::Existing;
use nkn::train::Outcome;
use std::path::Path;
use std::process::ExitCode;

/// Whether a configuration file is one of images.
pub fn is_image_config(path: &Path) -> bool {
    std::fs::read_to_string(path).is_ok_and(|text| is_about_images(&text))
}

/// Refuses the folder of an image run where a network on functions is needed.
pub fn refuse(run: &Path, command: &str) -> Result<()> {
    if is_image_config(&run.join("config.toml")) {
        bail!(
            "{}: is the run of an image classifier, and `nkn {command}` is for runs on functions\n  hint: `nkn report` shows its errors at every resolution",
            run.display()
        );
    }
    Ok(())
}

/// Trains what a configuration file of images describes.
pub fn train(global: &Global, config: &ImageRunConfig, out: &Path, existing: Existing) -> Result<ExitCode> {
    let splits = config.data.load()?;
    let folder = ImageRunFolder::create(out, config, existing)?;
    stop_on_ctrl_c()?;
    let mut progress = ImageProgress::new(global, &config.model.name(), config.train.epochs);
    let outcome = folder.train(&splits, &should_stop, &mut |event| progress.show(event));
    progress.finish();
    if outcome? == Outcome::Interrupted {
        eprintln!("interrupted; the checkpoint is in {}: run the same command with --resume", out.display());
        return Ok(ExitCode::from(130));
    }
    let results = folder.results()?.context("a finished training has results")?;
    for test in &results.tests {
        if global.json {
            let line = serde_json::json!({ "model": results.model, "set": test.set, "resolution": test.side, "error_rate": test.error_rate });
            println!("{line}");
        } else {
            println!("{} images, {} x {}: {:.2} % wrong", test.set, test.side, test.side, 100.0 * test.error_rate);
        }
    }
    if !global.json {
        eprintln!("done: {}", out.display());
    }
    Ok(ExitCode::SUCCESS)
}

/// What the run would take.
pub fn dry_run(global: &Global, config: &ImageRunConfig) -> Result<ExitCode> {
    let splits = config.data.load()?;
    let network = Network::new(config.model.clone(), config.data.shape(&splits))?;
    let (parameters, batch) = (network.layout()?.count(), config.train.batch.min(splits.train.count));
    let steps = config.train.epochs * splits.train.count.div_ceil(batch);
    let gflop = 3.0 * network.flops(batch)? / 1e9;
    let seconds = expected_seconds(&network, gflop, steps, super::bench::peak_gflops());
    let name = config.model.name();
    if global.json {
        let line = serde_json::json!({ "model": name, "parameters": parameters, "gflop_per_step": gflop, "steps": steps, "expected_seconds": seconds });
        println!("{line}");
    } else {
        println!("{name}: {parameters} parameters, {gflop:.2} GFLOP a step, {steps} steps, about {seconds:.0} s");
    }
    Ok(ExitCode::SUCCESS)
}

/// About how long so many steps take, from their operations and the machine's peak.
pub fn expected_seconds(network: &Network, gflop: f64, steps: usize, peak: f64) -> f64 {
    // Affinities are made of exponentials, which are not counted as operations.
    let has_affinity = network.config.architecture == Architecture::Nnn || network.config.block == Block::Nnn;
    let share = if has_affinity { 0.15 } else { 0.35 };
    gflop * steps as f64 / (share * peak)
}
