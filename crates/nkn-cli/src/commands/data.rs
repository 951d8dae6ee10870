//! `nkn data`: write a data set, or look at one.

use crate::{Global, progress};
use anyhow::{Result, bail};
use clap::{Args, Subcommand};
use nkn::Images;
use nkn::domain::Domain;
use nkn::field::{Field, Samples, mean};
use nkn::io::{Need, check_ending, read_dataset, write_dataset};
use nkn::problem::images::{ImageSet, load, prepare};
use nkn::problem::{darcy, poisson};
use nkn::run::usual_folder;
use nkn::seed::Seed;
use serde_json::json;
use std::path::PathBuf;

/// Which data set.
#[derive(Subcommand)]
pub enum Options {
    /// 1D Poisson: loads f and solutions u of -u'' = f, u(0) = u(1) = 0
    Poisson(Poisson),
    /// 2D Darcy flow: coefficients b and solutions u of -div(b grad u) = 1 on the unit square, u = 0 on the boundary
    Darcy(Darcy),
    /// Handwritten digits, 28 x 28: uses what is there, fetches the rest, checks all
    Mnist(ImageFiles),
    /// Pieces of clothing in the format of MNIST: uses what is there, fetches the rest, checks all
    FashionMnist(ImageFiles),
    /// Animals and vehicles, 32 x 32 in colour: uses what is there, fetches the rest, checks all
    Cifar10(ImageFiles),
    /// What is in a data set of any format, what is wrong with it, and what nkn would make of it
    Inspect(super::inspect::Options),
}

/// Options of the sets of images.
#[derive(Args)]
pub struct ImageFiles {
    /// The folder of the files [default: data/NAME]
    #[arg(long, value_name = "FOLDER")]
    dir: Option<PathBuf>,
    /// Where the files are fetched: a folder on the web [default: the set's usual public mirror, then npm]
    #[arg(long, value_name = "URL")]
    mirror: Option<String>,
}

/// Options of `nkn data darcy`.
#[derive(Args)]
pub struct Darcy {
    /// The file to write (.npz with the arrays b, b_eps, b_eps_x, b_eps_y and u)
    #[arg(short, long, value_name = "FILE")]
    out: PathBuf,
    /// Number of samples
    #[arg(long, default_value_t = 140)]
    samples: usize,
    /// Number of the first sample: the paper's runs train with 0 to 99 and test with 100 to 139 of seed 0
    #[arg(long, default_value_t = 0)]
    first: usize,
    /// Nodes along a side of the grid on which the equation is solved
    #[arg(long, default_value_t = darcy::SIDE)]
    side: usize,
    /// Add the flux v = -b grad u, samples x side x side x 2, computed where the equation is solved
    #[arg(long)]
    flux: bool,
    /// How far b_eps is smoothed: the standard deviation of the Gaussian in cells of that grid [default: sqrt(5)]
    #[arg(long, value_name = "CELLS")]
    smoothing: Option<f64>,
    /// Keep every n-th node only, so that a side has this many nodes
    #[arg(long)]
    resolution: Option<usize>,
    /// Which random coefficients
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Solve for the coefficients b (samples x side x side, positive) of this .npz or .mat file instead of random ones
    #[arg(long, value_name = "FILE", conflicts_with_all = ["samples", "first", "seed", "side"])]
    coefficients: Option<PathBuf>,
    /// Replace a file that is already there
    #[arg(long)]
    force: bool,
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
pub fn run(global: &Global, options: &Options) -> Result<()> {
    let (out, samples) = match options {
        Options::Poisson(Poisson { out, force, samples, first, points, seed }) => {
            super::refuse_existing(out, *force)?;
            check_ending(out)?;
            (out, poisson::generate(Seed::new(*seed), *first, *samples, *points)?)
        }
        Options::Darcy(options) => {
            super::refuse_existing(&options.out, options.force)?;
            check_ending(&options.out)?;
            (&options.out, darcy_samples(options)?)
        }
        Options::Mnist(files) => return images(global, ImageSet::Mnist, files),
        Options::FashionMnist(files) => return images(global, ImageSet::FashionMnist, files),
        Options::Cifar10(files) => return images(global, ImageSet::Cifar10, files),
        Options::Inspect(options) => return super::inspect::run(global, options),
    };
    write_dataset(out, &samples)?;
    let nodes = match samples.domain() {
        Domain::Grid(grid) => grid.shape().iter().map(usize::to_string).collect::<Vec<_>>().join(" x "),
        cloud => cloud.len().to_string(),
    };
    let count = samples.count();
    let words = format!("{}: {count} samples on {nodes} points", out.display());
    super::say(global, words, json!({ "out": out, "samples": count, "points": samples.nodes() }));
    for Field { name, values, .. } in samples.fields().iter().chain(samples.outputs()) {
        let average = mean(values);
        let deviation = mean(&values.iter().map(|v| (v - average).powi(2)).collect::<Vec<_>>()).sqrt();
        let statistics = format!("mean {average:.5e}, standard deviation {deviation:.5e}");
        let words = format!("  {name}: {statistics} over all nodes, boundary included");
        super::say(global, words, json!({ "field": name, "mean": average, "standard_deviation": deviation }));
    }
    Ok(())
}

/// Makes sure that the files of a set of images are there.
fn images(global: &Global, set: ImageSet, files: &ImageFiles) -> Result<()> {
    progress::stop_on_ctrl_c()?;
    let folder = files.dir.clone().unwrap_or_else(|| usual_folder(set));
    let prepared = prepare(set, &folder, files.mirror.as_deref(), &mut progress::preparing(set.name()))?;
    if let Some(note) = prepared.note {
        eprintln!("{note}");
    }
    if !prepared.fetched.is_empty() {
        eprintln!("{}: fetched and checked {} files", folder.display(), prepared.fetched.len());
    }
    let data = load(set, &folder)?;
    let Images { side, channels, .. } = data.training;
    let colours = if channels == 1 { "grey" } else { "in colour" };
    let (training, testing) = (data.training.count, data.testing.count);
    let words = format!(
        "{}: {training} training and {testing} test images of {side} x {side} pixels, {colours}",
        folder.display()
    );
    let json =
        json!({ "folder": folder, "training": training, "testing": testing, "side": side, "channels": channels });
    super::say(global, words, json);
    Ok(())
}

fn darcy_samples(options: &Darcy) -> Result<Samples> {
    let shown = progress::generating();
    let samples = match &options.coefficients {
        None => {
            let count = options.samples;
            let progress = |done: usize| shown(done, count);
            darcy::generate(Seed::new(options.seed), options.first, count, options.side, &progress)?
        }
        Some(path) => {
            let given = read_dataset(path, Need::Inputs, &[])?;
            let side = match given.domain() {
                Domain::Grid(grid) if grid.dim() == 2 && grid.shape()[0] == grid.shape()[1] => grid.shape()[0],
                _ => bail!("{}: expected a field b on a square grid, samples x side x side", path.display()),
            };
            let progress = |done: usize| shown(done, given.count());
            darcy::solve(&given.field("b")?.values, side, &progress)?
        }
    };
    let samples = match options.smoothing {
        Some(cells) => darcy::with_smoothing(samples, cells)?,
        None => samples,
    };
    let samples = if options.flux { darcy::with_flux(samples)? } else { samples };
    Ok(match options.resolution {
        Some(resolution) => samples.coarsen(resolution)?,
        None => samples,
    })
}
