//! `nkn reproduce`: the paper's tables with one command.

use crate::Global;
use crate::progress::stop_on_ctrl_c;
use crate::reproduce::images::{Task, jobs as image_jobs, runner as image_runner};
use crate::reproduce::jobs::{Budget, Experiment, Halves, Request};
use crate::reproduce::{output, runner};
use anyhow::{Context, Result, bail, ensure};
use clap::{Args, ValueEnum};
use nkn::classify::usual_folder;
use nkn::model::Kind;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

/// Options of `nkn reproduce`.
#[derive(Args)]
pub struct Options {
    /// The example
    example: Example,
    /// How long to train
    #[arg(long, default_value = "full")]
    budget: Budget,
    /// Models [default: all of the example]
    #[arg(long, value_delimiter = ',')]
    models: Vec<Name>,
    /// Depths, rising [default: poisson 1,2,4,8,16,32; darcy 1,2,4,8,16, gkn to 8; quick darcy 1,2,4; images: the paper's]
    #[arg(long, value_delimiter = ',', value_name = "L")]
    depths: Vec<usize>,
    /// Seeds of the weights [default: 0,1; 0 for quick, for darcy and for images]
    #[arg(long, value_delimiter = ',', value_name = "N")]
    seeds: Vec<u64>,
    /// Points per side of the training grids [default: poisson 101; darcy 16, 31 is the paper's fine set; mnist 28,14; cifar 32]
    #[arg(long, value_delimiter = ',', value_name = "S")]
    trained_at: Vec<usize>,
    /// Points per side of the test grids [default: poisson 101; darcy 16,31,61, quick 16,31; mnist 28,14; cifar 32,64,16]
    #[arg(long, value_delimiter = ',', value_name = "S")]
    tested_at: Vec<usize>,
    /// Which half of the tables (poisson and darcy)
    #[arg(long, default_value = "both")]
    data: Halves,
    /// Radii of the nonlocal kernel networks on images, in pixels [default: 2,3,4]
    #[arg(long, value_delimiter = ',', value_name = "R")]
    radii: Vec<usize>,
    /// Epochs of each training on images, instead of the budget's [the paper: 200]
    #[arg(long, value_name = "N")]
    epochs: Option<usize>,
    /// Where the images are; what is missing is fetched [default: data/mnist, data/cifar10]
    #[arg(long, value_name = "FOLDER")]
    images: Option<PathBuf>,
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
    /// Convolutional network
    Cnn,
    /// Multiscale convolutional network
    MultiscaleCnn,
    /// Nonlocal neural network
    Nnn,
    /// Pre-activation residual network of 20 layers
    Preresnet20,
}

/// An example of the paper.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Example {
    /// 1D Poisson: NKN, GKN and FNO at depths 1 to 32, with and without normalisation
    Poisson,
    /// 2D Darcy flow: NKN, GKN and FNO, tested at several resolutions
    Darcy,
    /// Handwritten digits: NKN, CNN, multiscale CNN and NNN, trained and tested at 28 x 28 and 14 x 14
    Mnist,
    /// CIFAR-10: PreResNet-20 plain, with NNN blocks and with NKN blocks, tested at 32 x 32, 64 x 64 and 16 x 16
    Cifar,
}

/// Runs the command.
pub fn run(global: &Global, options: &Options) -> Result<ExitCode> {
    let experiment = match options.example {
        Example::Poisson => Experiment::Poisson,
        Example::Darcy => Experiment::Darcy,
        Example::Mnist => return run_images(global, options, Task::Mnist),
        Example::Cifar => return run_images(global, options, Task::Cifar),
    };
    let budget = options.budget;
    ensure!(
        options.radii.is_empty() && options.epochs.is_none() && options.images.is_none(),
        "--radii, --epochs, --images: expected none of them for {}\n  hint: they are for mnist and cifar",
        experiment.name()
    );
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
    let limit = options.limit()?;
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
        Name::Nkn => Ok(Kind::Nkn),
        Name::Gkn => Ok(Kind::Gkn),
        Name::Fno => Ok(Kind::Fno),
        _ => bail!("--models: expected nkn, gkn or fno for {}", experiment.name()),
    };
    let mut models: Vec<Kind> = Vec::new();
    let all = [Name::Nkn, Name::Gkn, Name::Fno];
    for name in if options.models.is_empty() { all.as_slice() } else { &options.models } {
        let kind = kind(name)?;
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

impl Options {
    /// The time after which to stop.
    fn limit(&self) -> Result<Option<Duration>> {
        let wrong = |hours: f64| {
            anyhow::anyhow!("--max-hours: expected a positive number, got {hours}\n  hint: for example 0.5")
        };
        self.max_hours.map(|hours| Duration::try_from_secs_f64(3600.0 * hours).map_err(|_| wrong(hours))).transpose()
    }
}

/// The tables of images.
fn run_images(global: &Global, options: &Options, task: Task) -> Result<ExitCode> {
    let model = |name: &Name| match (task, name) {
        (_, Name::Nkn) => Ok("nkn"),
        (_, Name::Nnn) => Ok("nnn"),
        (Task::Mnist, Name::Cnn) => Ok("cnn"),
        (Task::Mnist, Name::MultiscaleCnn) => Ok("multiscale-cnn"),
        (Task::Cifar, Name::Preresnet20) => Ok("preresnet20"),
        (Task::Mnist, _) => bail!("--models: expected cnn, multiscale-cnn, nnn or nkn for mnist"),
        (Task::Cifar, _) => bail!("--models: expected preresnet20, nnn or nkn for cifar"),
    };
    ensure!(options.epochs != Some(0), "--epochs: expected 1 or more, got 0");
    for &side in options.trained_at.iter().chain(&options.tested_at) {
        ensure!((2..=512).contains(&side), "--trained-at, --tested-at: expected 2 to 512 pixels, got {side}");
    }
    for &number in options.depths.iter().chain(&options.radii) {
        ensure!(number > 0, "--depths, --radii: expected 1 or more, got 0");
    }
    let suffix = if options.budget == Budget::Quick { "-quick" } else { "" };
    let request = image_jobs::Request {
        task,
        budget: options.budget,
        models: options.models.iter().map(model).collect::<Result<_>>()?,
        depths: options.depths.clone(),
        radii: options.radii.clone(),
        seeds: if options.seeds.is_empty() { vec![0] } else { options.seeds.clone() },
        trained_at: options.trained_at.clone(),
        tested_at: options.tested_at.clone(),
        epochs: options.epochs,
        images: options.images.clone().unwrap_or_else(|| usual_folder(image_jobs::set_of(task))),
        out: options
            .out
            .clone()
            .unwrap_or_else(|| Path::new("runs").join(format!("reproduce-{}{suffix}", image_jobs::name_of(task)))),
    };
    std::fs::create_dir_all(&request.out).with_context(|| {
        format!("{}: could not create\n  hint: choose another place with --out", request.out.display())
    })?;
    stop_on_ctrl_c()?;
    let is_complete = options.only_page || image_runner::run(global, &request, options.limit()?)?;
    let page = image_runner::write(&request)?;
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
