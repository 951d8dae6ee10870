//! `nkn reproduce`: the paper's tables with one command.

use crate::Global;
use crate::progress::stop_on_ctrl_c;
use crate::reproduce::output;
use crate::reproduce::problem::Request;
use crate::reproduce::runner::{Plan, test_all};
use crate::reproduce::training::Training;
use anyhow::{Context, Result, anyhow};
use clap::Args;
use nkn::run::peak_gflops;
use std::time::Duration;

/// Options of `nkn reproduce`.
#[derive(Args)]
pub struct Options {
    #[command(flatten)]
    request: Request,
    /// Stop after this time, with a checkpoint; the same command continues
    #[arg(long, value_name = "HOURS")]
    max_hours: Option<f64>,
    /// Train nothing: write tables and page from what is there
    #[arg(long, conflicts_with = "dry_run")]
    only_page: bool,
    /// Only say which trainings are left and about how long they take
    #[arg(long)]
    dry_run: bool,
}

/// Runs the command.
pub fn run(global: &Global, options: &Options) -> Result<u8> {
    let (request, limit) = (&options.request, options.limit()?);
    request.check()?;
    // What cannot be read is said before hours of work.
    output::joining(request)?;
    if options.dry_run {
        let plan = Plan::new(request, peak_gflops, Training::find)?;
        match global.json {
            true => plan.json().iter().for_each(|line| println!("{line}")),
            false => println!("{}{}", plan.lines(), plan.in_words(request)),
        }
        return Ok(crate::SUCCESS);
    }
    let out = request.out();
    std::fs::create_dir_all(&out)
        .with_context(|| format!("{}: could not create\n  hint: choose another place with --out", out.display()))?;
    stop_on_ctrl_c()?;
    let mut is_complete = true;
    if !options.only_page {
        let plan = Plan::new(request, peak_gflops, Training::load)?;
        eprintln!("{}", plan.in_words(request));
        is_complete = plan.run(global, request, limit)?;
        test_all(request)?;
    }
    // What was typed.
    let command = std::iter::once("nkn".to_owned()).chain(std::env::args().skip(1)).collect::<Vec<_>>().join(" ");
    let page = output::write(request, Some(command))?;
    eprintln!("{}", page.display());
    if is_complete {
        return Ok(crate::SUCCESS);
    }
    eprintln!("stopped before the end; the same command continues");
    Ok(crate::INTERRUPTED)
}

impl Options {
    /// The time after which to stop.
    fn limit(&self) -> Result<Option<Duration>> {
        let wrong =
            |hours: f64| anyhow!("--max-hours: expected a positive number, got {hours}\n  hint: for example 0.5");
        let limit = |hours: f64| match Duration::try_from_secs_f64(3600.0 * hours) {
            Ok(limit) if !limit.is_zero() => Ok(limit),
            _ => Err(wrong(hours)),
        };
        self.max_hours.map(limit).transpose()
    }
}
