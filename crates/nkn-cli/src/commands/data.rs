//! `nkn data`: write a data set.

use crate::Global;
use anyhow::{Result, bail};
use clap::{Args, Subcommand};
use nkn::io::write_dataset;
use nkn::problem::poisson;
use nkn::seed::Seed;
use std::path::PathBuf;
use std::process::ExitCode;

/// Which data set.
#[derive(Subcommand)]
pub enum Options {
    /// 1D Poisson: loads f and solutions u of -u'' = f, u(0) = u(1) = 0
    Poisson(Poisson),
}

/// Options of `nkn data poisson`.
#[derive(Args)]
pub struct Poisson {
    /// The file to write (.npz with the arrays f and u)
    #[arg(short, long, value_name = "FILE")]
    out: PathBuf,
    /// Number of samples
    #[arg(long, default_value_t = 600)]
    samples: usize,
    /// Number of the first sample: training takes 0 to 499, testing 500 to 599 of seed 0
    #[arg(long, default_value_t = 0)]
    first: usize,
    /// Points of the grid; the functions are the same on every grid
    #[arg(long, default_value_t = 101)]
    points: usize,
    /// Which random functions
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Replace a file that is already there
    #[arg(long)]
    force: bool,
}

/// Runs the command.
pub fn run(_: &Global, options: &Options) -> Result<ExitCode> {
    let Options::Poisson(options) = options;
    if options.out.exists() && !options.force {
        bail!("{}: exists already\n  hint: replace it with --force, or choose another name", options.out.display());
    }
    let samples = poisson::generate(Seed::new(options.seed), options.first, options.samples, options.points)?;
    write_dataset(&options.out, &samples.into_samples()?)?;
    eprintln!("{}: {} samples on {} points", options.out.display(), options.samples, options.points);
    Ok(ExitCode::SUCCESS)
}
