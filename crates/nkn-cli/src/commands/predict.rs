//! `nkn predict`: apply a trained network to new inputs.

use crate::Global;
use anyhow::{Result, bail};
use clap::Args;
use nkn::Device;
use nkn::domain::Quadrature;
use nkn::io::{Need, read_dataset, read_model, write_dataset};
use nkn::model::BatchOptions;
use nkn::run::RunFolder;
use std::path::PathBuf;
use std::process::ExitCode;

/// Options of `nkn predict`.
#[derive(Args)]
pub struct Options {
    /// The folder of a trained run, or a model file
    run: PathBuf,
    /// The inputs: an .npz file with the run's input fields, at any resolution
    input: PathBuf,
    /// The file to write: the inputs and the predicted u
    #[arg(short, long, value_name = "FILE")]
    out: PathBuf,
    /// Another quadrature rule than the one of training
    #[arg(long)]
    quadrature: Option<Quadrature>,
    /// Replace a file that is already there
    #[arg(long)]
    force: bool,
}

/// Runs the command.
pub fn run(_: &Global, options: &Options) -> Result<ExitCode> {
    if options.out.exists() && !options.force {
        bail!("{}: exists already\n  hint: replace it with --force, or choose another name", options.out.display());
    }
    let model = match options.run.is_file() {
        true => read_model(&options.run)?,
        false => {
            super::images::refuse(&options.run, "predict")?;
            RunFolder::open(&options.run)?.model()?
        }
    };
    let samples = read_dataset(&options.input, Need::Inputs)?;
    if samples.domain().dim() != model.dim {
        bail!(
            "{}: expected points in {} dimensions, got {}\n  hint: the model was trained in {} dimensions",
            options.input.display(),
            model.dim,
            samples.domain().dim(),
            model.dim
        );
    }
    let batch = BatchOptions { quadrature: options.quadrature, ..BatchOptions::new(model.depth, &Device::flex()) };
    let prediction = model.predict_with(&samples, &batch)?;
    let samples = samples.output("u", prediction)?;
    write_dataset(&options.out, &samples)?;
    eprintln!("{}: {} samples on {} nodes", options.out.display(), samples.count(), samples.nodes());
    Ok(ExitCode::SUCCESS)
}
