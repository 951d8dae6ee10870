//! `nkn deepen`: continue a run at greater depth.

use crate::Global;
use anyhow::{Result, bail};
use clap::Args;
use nkn::run::RunFolder;
use nkn::train::{Initialisation, PerDepth, can_deepen};
use std::path::PathBuf;

/// Options of `nkn deepen`.
#[derive(Args)]
pub struct Options {
    /// The folder of a trained run
    run: PathBuf,
    /// The new depth
    #[arg(long, value_name = "L")]
    to: usize,
    /// Epochs to train [default: as in the run's last depth]
    #[arg(long)]
    epochs: Option<usize>,
    /// Learning rate [default: as in the run's last depth]
    #[arg(long)]
    learning_rate: Option<f64>,
    #[command(flatten)]
    destination: super::Destination,
}

/// Runs the command.
pub fn run(global: &Global, options: &Options) -> Result<u8> {
    let from = RunFolder::open(&options.run)?;
    let model = from.model()?;
    let run = options.run.display();
    if options.to <= model.depth() {
        bail!(
            "--to: expected more than {}, the depth of {run}, got {}\n  hint: deeper networks start from shallower ones",
            model.depth(),
            options.to
        );
    }
    let mut config = from.config()?;
    if !can_deepen(&config.model) {
        bail!(
            "{run}: expected a network whose layers share their weights (nkn or gkn), got {}\n  hint: train the depth itself: nkn train {} --set train.depths=[{}]",
            config.model.kind,
            options.run.join("config.toml").display(),
            options.to
        );
    }
    let last = config.train.depths.len() - 1;
    config.train.epochs = PerDepth::Same(options.epochs.unwrap_or(config.train.epochs.at(last)));
    config.train.learning_rate = PerDepth::Same(options.learning_rate.unwrap_or(config.train.learning_rate.at(last)));
    config.train.depths = vec![options.to];
    config.train.initialisation = Initialisation::ShallowToDeep;
    config.train.check()?;
    let data = config.data.load_with(&crate::progress::generating())?;
    let out = options.destination.out.clone().unwrap_or_else(|| {
        let mut name = options.run.file_name().unwrap_or_default().to_os_string();
        name.push(format!("-L{}", options.to));
        options.run.with_file_name(name)
    });
    let folder = RunFolder::create(&out, &config, options.destination.existing())?;
    super::train::train(global, &folder, &data, Some(model.parameters().clone()))
}
