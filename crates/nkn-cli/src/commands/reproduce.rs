//! `nkn reproduce`: the paper's tables with one command.

use crate::Global;
use crate::progress::stop_on_ctrl_c;
use crate::reproduce::jobs::{Budget, Experiment, Halves, Request};
use crate::reproduce::{output, runner};
use anyhow::{Context, Result, ensure};
use clap::{Args, ValueEnum};
use nkn::model::Kind;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

/// Options of `nkn reproduce`.
#[derive(Args)]
pub struct Options {
    /// The example
    experiment: Experiment,
    /// How long to train
    #[arg(long, default_value = "full")]
    budget: Budget,
    /// Models
    #[arg(long, value_delimiter = ',', default_value = "nkn,gkn,fno")]
    models: Vec<Name>,
    /// Depths, rising [default: poisson 1,2,4,8,16,32; darcy 1,2,4,8,16, gkn to 8; quick darcy 1,2,4]
    #[arg(long, value_delimiter = ',', value_name = "L")]
    depths: Vec<usize>,
    /// Seeds of the weights [default: 0,1; 0 for quick and for darcy]
    #[arg(long, value_delimiter = ',', value_name = "N")]
    seeds: Vec<u64>,
    /// Points per side of the training grids [default: poisson 101; darcy 16; 31 is the paper's fine set]
    #[arg(long, value_delimiter = ',', value_name = "S")]
    trained_at: Vec<usize>,
    /// Points per side of the test grids [default: poisson 101; darcy 16,31,61; quick darcy 16,31]
    #[arg(long, value_delimiter = ',', value_name = "S")]
    tested_at: Vec<usize>,
    /// Which half of the tables
    #[arg(long, default_value = "both")]
    data: Halves,
    /// Stop after this time, with a checkpoint; the same command continues
    #[arg(long, value_name = "HOURS")]
    max_hours: Option<f64>,
    /// Where everything goes [default: runs/reproduce-EXPERIMENT, with -quick for quick]
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    /// Train nothing: write tables and page from what is there
    #[arg(long)]
    only_page: bool,
}

/// A model on the command line.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Name {
    /// Nonlocal kernel network
    Nkn,
    /// Graph kernel network
    Gkn,
    /// Fourier neural operator
    Fno,
}

/// Runs the command.
pub fn run(global: &Global, options: &Options) -> Result<ExitCode> {
    let (experiment, budget) = (options.experiment, options.budget);
    ensure!(
        options.depths.iter().all(|&depth| depth > 0) && options.depths.is_sorted_by(|a, b| a < b),
        "--depths: expected rising numbers from 1, got {:?}\n  hint: deeper networks start from shallower ones",
        options.depths
    );
    let sides = options.trained_at.iter().chain(&options.tested_at);
    for &side in sides {
        let fits = experiment == Experiment::Poisson && side > 2 || side > 1 && 240_usize.is_multiple_of(side - 1);
        ensure!(
            fits,
            "--trained-at, --tested-at: expected a grid that is part of the 241 x 241 nodes of the data, got {side}\n  hint: for example 16, 31, 61 or 121"
        );
    }
    let limit = match options.max_hours {
        Some(hours) => Some(Duration::try_from_secs_f64(3600.0 * hours).map_err(|_| {
            anyhow::anyhow!("--max-hours: expected a positive number, got {hours}\n  hint: for example 0.5")
        })?),
        None => None,
    };
    let usual = || {
        let suffix = if budget == Budget::Quick { "-quick" } else { "" };
        Path::new("runs").join(format!("reproduce-{}{suffix}", experiment.name()))
    };
    let or = |given: &[usize], usual: Vec<usize>| if given.is_empty() { usual } else { given.to_vec() };
    let seeds = match (options.seeds.as_slice(), experiment, budget) {
        ([], Experiment::Poisson, Budget::Full) => vec![0, 1],
        ([], ..) => vec![0],
        (seeds, ..) => seeds.to_vec(),
    };
    let kind = |name: &Name| match name {
        Name::Nkn => Kind::Nkn,
        Name::Gkn => Kind::Gkn,
        Name::Fno => Kind::Fno,
    };
    let mut models: Vec<Kind> = Vec::new();
    for kind in options.models.iter().map(kind) {
        if !models.contains(&kind) {
            models.push(kind);
        }
    }
    let request = Request {
        experiment,
        budget,
        models,
        seeds,
        depths: options.depths.clone(),
        grids: or(&options.trained_at, experiment.usual_grids()),
        halves: options.data,
        out: options.out.clone().unwrap_or_else(usual),
    };
    let tests = or(&options.tested_at, experiment.usual_tests(budget));
    std::fs::create_dir_all(&request.out).with_context(|| {
        format!("{}: could not create\n  hint: choose another place with --out", request.out.display())
    })?;
    stop_on_ctrl_c()?;
    let is_complete = if options.only_page {
        runner::test(&request, &[])?;
        true
    } else {
        runner::run(global, &request, &tests, limit)?
    };
    let page = output::write(&request, &tests, &command_line())?;
    eprintln!("{}", page.display());
    if is_complete {
        return Ok(ExitCode::SUCCESS);
    }
    eprintln!("stopped before the end; the same command continues");
    Ok(ExitCode::from(130))
}

/// What was typed, for the page.
fn command_line() -> String {
    std::iter::once("nkn".to_owned()).chain(std::env::args().skip(1)).collect::<Vec<_>>().join(" ")
}
