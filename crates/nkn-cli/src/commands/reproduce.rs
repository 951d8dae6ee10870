//! `nkn reproduce`: the paper's tables with one command.

use crate::Global;
use crate::progress::stop_on_ctrl_c;
use crate::reproduce::output::{self, Extent};
use crate::reproduce::problem::{Budget, PROBLEMS, Problem, Request, Task};
use crate::reproduce::row::Data;
use crate::reproduce::runner::{Plan, test_all};
use anyhow::{Context, Result, anyhow, bail};
use clap::Args;
use nkn::run::peak_gflops;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

/// Options of `nkn reproduce`.
#[derive(Args)]
pub struct Options {
    /// The example: poisson, darcy, mnist or cifar
    #[arg(value_parser = ["poisson", "darcy", "mnist", "cifar"])]
    example: String,
    /// How long to train
    #[arg(long, default_value = "full")]
    budget: Budget,
    /// Models [default: all of the example: nkn, gkn, fno; mnist cnn, multiscale-cnn, nnn, nkn; cifar preresnet20, nnn, nkn]
    #[arg(long, value_delimiter = ',', value_name = "MODEL")]
    models: Vec<String>,
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
    /// Which half of the tables (poisson and darcy): normalised, original or both [default: both]
    #[arg(long, value_name = "HALF", value_parser = ["normalised", "original", "both"])]
    data: Option<String>,
    /// Radii of the nonlocal kernel networks in pixels (mnist and cifar) [default: 2,3,4]
    #[arg(long, value_delimiter = ',', value_name = "R")]
    radii: Vec<usize>,
    /// Epochs of each depth or network, instead of the budget's [the paper: 1000 for functions, 200 for images]
    #[arg(long, value_name = "N")]
    epochs: Option<usize>,
    /// Where the images are (mnist and cifar); what is missing is fetched [default: data/mnist, data/cifar10]
    #[arg(long, value_name = "FOLDER")]
    images: Option<PathBuf>,
    /// Stop after this time, with a checkpoint; the same command continues
    #[arg(long, value_name = "HOURS")]
    max_hours: Option<f64>,
    /// Where everything goes [default: runs/reproduce-EXAMPLE, with -quick for quick]
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    /// Train nothing: write tables and page from what is there
    #[arg(long, conflicts_with = "dry_run")]
    only_page: bool,
    /// Only say which trainings are left and about how long they take
    #[arg(long)]
    dry_run: bool,
}

/// Runs the command.
pub fn run(global: &Global, options: &Options) -> Result<ExitCode> {
    let (request, limit) = (options.request()?, options.limit()?);
    if options.dry_run {
        let plan = Plan::new(&request, peak_gflops)?;
        println!("{}{}", plan.lines(), plan.in_words(&request));
        return Ok(ExitCode::SUCCESS);
    }
    std::fs::create_dir_all(&request.out).with_context(|| {
        format!("{}: could not create\n  hint: choose another place with --out", request.out.display())
    })?;
    stop_on_ctrl_c()?;
    let mut is_complete = true;
    if !options.only_page {
        let plan = Plan::new(&request, peak_gflops)?;
        eprintln!("{}", plan.in_words(&request));
        is_complete = plan.run(global, &request, limit)?;
        test_all(&request)?;
    }
    let page = output::write(&request, &command_line(), Extent::All)?;
    eprintln!("{}", page.display());
    if is_complete {
        return Ok(ExitCode::SUCCESS);
    }
    eprintln!("stopped before the end; the same command continues");
    Ok(ExitCode::from(130))
}

impl Options {
    /// What is asked for; an option that has no meaning for the example is an error.
    fn request(&self) -> Result<Request> {
        let problem =
            *PROBLEMS.iter().find(|problem| problem.name == self.example).context("clap knows the examples")?;
        self.refuse_others(problem)?;
        let suffix = if self.budget == Budget::Quick { "-quick" } else { "" };
        let out = || Path::new("runs").join(format!("reproduce-{}{suffix}", problem.name));
        let images = || Path::new("data").join(if problem.name == "cifar" { "cifar10" } else { problem.name });
        let request = Request {
            problem,
            budget: self.budget,
            models: self.models.clone(),
            depths: self.depths.clone(),
            radii: self.radii.clone(),
            seeds: self.seeds.clone(),
            trained_at: self.trained_at.clone(),
            tested_at: self.tested_at.clone(),
            data: match self.data.as_deref() {
                Some("normalised") => vec![Data::Normalised],
                Some("original") => vec![Data::Original],
                _ => Vec::new(),
            },
            epochs: self.epochs,
            images: self.images.clone().unwrap_or_else(images),
            out: self.out.clone().unwrap_or_else(out),
        };
        request.check()?;
        Ok(request)
    }

    fn refuse_others(&self, problem: &Problem) -> Result<()> {
        let (functions, images) = ("poisson and darcy", "mnist and cifar");
        let is_images = problem.task == Task::Images;
        let options = [
            ("--data", is_images && self.data.is_some(), functions),
            ("--radii", !is_images && !self.radii.is_empty(), images),
            ("--images", !is_images && self.images.is_some(), images),
        ];
        match options.iter().find(|(_, is_wrong, _)| *is_wrong) {
            Some((option, _, those)) => {
                bail!("{option}: has no meaning for {}\n  hint: it is for {those}", problem.name)
            }
            None => Ok(()),
        }
    }

    /// The time after which to stop.
    fn limit(&self) -> Result<Option<Duration>> {
        let wrong =
            |hours: f64| anyhow!("--max-hours: expected a positive number, got {hours}\n  hint: for example 0.5");
        self.max_hours.map(|hours| Duration::try_from_secs_f64(3600.0 * hours).map_err(|_| wrong(hours))).transpose()
    }
}

/// What was typed, for the page.
fn command_line() -> String {
    std::iter::once("nkn".to_owned()).chain(std::env::args().skip(1)).collect::<Vec<_>>().join(" ")
}
