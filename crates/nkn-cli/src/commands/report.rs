//! `nkn report`: one HTML file about a run.

use crate::{Global, report};
use anyhow::Result;
use clap::Args;
use serde_json::json;
use std::path::PathBuf;

/// Options of `nkn report`.
#[derive(Args)]
pub struct Options {
    /// The folders of trained runs; each gets its report.html
    #[arg(required = true)]
    runs: Vec<PathBuf>,
}

/// Runs the command.
pub fn run(global: &Global, options: &Options) -> Result<()> {
    for run in &options.runs {
        let page = report::source::write(run)?;
        super::say(global, page.display(), json!({ "run": run, "report": page }));
    }
    Ok(())
}
