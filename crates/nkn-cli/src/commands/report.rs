//! `nkn report`: one HTML file about a run.

use crate::report;
use anyhow::Result;
use clap::Args;
use std::path::PathBuf;

/// Options of `nkn report`.
#[derive(Args)]
pub struct Options {
    /// The folders of trained runs; each gets its report.html
    #[arg(required = true)]
    runs: Vec<PathBuf>,
}

/// Runs the command.
pub fn run(options: &Options) -> Result<()> {
    for run in &options.runs {
        eprintln!("{}", report::source::write(run)?.display());
    }
    Ok(())
}
