//! Runs of image classifiers: what `nkn train` and `nkn report` do with them.

use crate::Global;
use crate::progress::{ImageProgress, should_stop, stop_on_ctrl_c};
use crate::report::classifier::{ClassifierPage, CurvePoint, ResolutionPart, StencilPart, WrongExample, page};
use anyhow::{Context, Result, bail};
use nkn::classify::{
    Architecture, Block, Classifier, ImageRunConfig, ImageRunFolder, Mistake, Network, TestSet, evaluate,
    is_about_images, stencil,
};
use nkn::io::write_atomically;
use nkn::problem::images::Resampler;
use nkn::run::Existing;
use nkn::train::Outcome;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Wrong examples per resolution.
const EXAMPLES: usize = 24;

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

/// Writes the report of a classifier's run into its folder.
pub fn report(folder: &ImageRunFolder) -> Result<PathBuf> {
    let config = folder.config()?;
    let model = folder.model()?;
    let results = folder.results()?.context("the run is not finished: continue it with --resume")?;
    let splits = config.data.load()?;
    let classes = config.data.problem.classes().map(String::from).to_vec();
    let first = splits.tests.first().context("there are test images")?;
    let mut resolutions = Vec::new();
    for &side in &config.data.tested_at {
        let (result, mut mistakes) =
            evaluate(&model.network, &model.parameters, &model.running, first, side, &model.statistics)?;
        mistakes.sort_by(|a, b| b.probability.total_cmp(&a.probability).then(a.image.cmp(&b.image)));
        mistakes.truncate(EXAMPLES);
        let official = results.tests.iter().find(|t| t.side == side && t.set == "official" && t.set != first.name);
        resolutions.push(ResolutionPart {
            side,
            is_training: side == config.data.side,
            error_rate: result.error_rate,
            official_error_rate: official.map(|t| t.error_rate),
            count: first.images.count,
            confusion: result.confusion,
            wrong: examples(first, side, &mistakes)?,
        });
    }
    let curve = |record: &nkn::classify::EpochRecord| CurvePoint {
        epoch: record.epoch,
        train_loss: record.loss,
        errors: vec![(config.data.side, record.error_rate)],
    };
    let facts = [
        ("network", config.model.title()),
        ("parameters", results.parameters.to_string()),
        (
            "images",
            format!("{} of {} x {} pixels to learn from", splits.train.count, config.data.side, config.data.side),
        ),
        ("epochs", format!("{}, batches of {}", results.epochs, config.train.batch)),
        ("learning rate", format!("{}, {:?}", config.train.learning_rate, config.train.decay).to_lowercase()),
        ("seed", results.seed.to_string()),
        ("time", format!("{:.0} s", results.seconds)),
    ];
    let data = ClassifierPage {
        title: format!("{}: {}", config.data.problem.title(), config.model.title()),
        summary: facts.map(|(name, value)| (name.to_string(), value)).to_vec(),
        classes,
        curves: results.records.iter().map(curve).collect(),
        resolutions,
        stencils: stencils(&model)?,
    };
    let path = folder.path().join("report.html");
    write_atomically(&path, page(&data).as_bytes())?;
    Ok(path)
}

/// Wrongly classified images as the network saw them.
fn examples(test: &TestSet, side: usize, mistakes: &[Mistake]) -> Result<Vec<WrongExample>> {
    let resampler = Resampler::new(test.images.side, side)?;
    let one = |mistake: &Mistake| {
        let values = test.images.values(&[mistake.image], &resampler);
        WrongExample {
            pixels: values.iter().map(|v| (255.0 * v).round().clamp(0.0, 255.0) as u8).collect(),
            channels: test.images.channels,
            side,
            truth: mistake.truth,
            predicted: mistake.answer,
            probability: mistake.probability,
        }
    };
    Ok(mistakes.iter().map(one).collect())
}

/// The kernels in the middle of the image.
fn stencils(model: &Classifier) -> Result<Vec<StencilPart>> {
    let network = &model.network;
    if !network.config.uses_kernel() {
        return Ok(Vec::new());
    }
    let prefixes: Vec<(String, String)> = match network.config.block {
        Block::Nkn => (0..network.config.depth)
            .map(|step| (format!("nonlocal.{step}."), format!("Step {} of the nonlocal block", step + 1)))
            .collect(),
        _ => vec![(String::new(), "The kernel in the middle of the image".into())],
    };
    let middle = network.shape.side / 2;
    let part = |(prefix, title): &(String, String)| -> Result<StencilPart> {
        let found = stencil(network, &model.parameters, prefix, (middle, middle))?;
        Ok(StencilPart {
            title: title.clone(),
            radius: found.radius,
            x: (found.at.1, found.at.0),
            offsets: found.offsets.iter().map(|&(rows, columns)| (columns, rows)).collect(),
            cell: found.cell,
            blocks: found.blocks,
            width: network.config.width,
        })
    };
    prefixes.iter().map(part).collect()
}
