//! `nkn bench`: our own speed, as a share of the machine's peak.

use crate::Global;
use crate::report::growth::Growth;
use crate::report::{Report, render};
use anyhow::Result;
use clap::{Args, ValueEnum};
use nkn::Device;
use nkn::domain::Quadrature;
use nkn::field::Samples;
use nkn::io::write_atomically;
pub use nkn::model::peak_gflops;
use nkn::model::{ModelConfig, Work};
use nkn::problem::darcy;
use nkn::run::DataConfig;
use nkn::seed::Seed;
use nkn::train::{TrainConfig, Trainer};
use serde::Serialize;
use std::path::PathBuf;
use std::process::ExitCode;

/// Options of `nkn bench`.
#[derive(Args)]
pub struct Options {
    /// What to measure
    #[arg(default_value = "poisson")]
    name: Name,
    /// Depths [default: 1,32 for poisson, 16 for darcy, 4 for fno, 2 for mnist]
    #[arg(long, value_delimiter = ',')]
    depth: Vec<usize>,
    /// Points per side of the grid [default: 101 for poisson, 16 for darcy and fno]
    #[arg(long)]
    resolution: Option<usize>,
    /// Samples of the batch [default: 500 for poisson, 10 for darcy, 20 for fno, 128 for images]
    #[arg(long)]
    batch: Option<usize>,
    /// Quadrature rule of darcy and mnist
    #[arg(long, default_value = "mean")]
    quadrature: Quadrature,
    /// Radius of mnist's neighbourhoods, in pixels
    #[arg(long, default_value_t = 3.0)]
    radius: f64,
    /// Memory that the evolution may take, in GiB
    #[arg(long, default_value_t = 4.0)]
    memory_gib: f64,
    /// A training step, or a prediction
    #[arg(long, default_value = "train")]
    mode: Mode,
    /// Growth: the page to write, with the drawings; a .csv of the same name goes beside it
    #[arg(long, value_name = "FILE", default_value = "growth.html")]
    out: PathBuf,
    /// Repetitions; the best one counts [default: 20 for poisson and fno, 3 for darcy, 10 for images]
    #[arg(long)]
    repeats: Option<usize>,
}

/// What can be measured.
#[derive(Clone, Copy, ValueEnum)]
enum Name {
    /// The matrix product that everything is compared with
    Peak,
    /// The paper's 1D network, all samples in one batch
    Poisson,
    /// The paper's 2D network on Darcy flow
    Darcy,
    /// The paper's 2D Fourier neural operator on Darcy flow
    Fno,
    /// The nonlocal kernel network on images of MNIST's size
    Mnist,
    /// The pre-activation residual network of 20 layers on images of CIFAR-10's size
    Preresnet,
    /// The time of a step on Darcy flow against the number of nodes (each with 8 neighbours) and against the depth
    Growth,
}

/// What is timed.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Mode {
    /// Forward, backward and the optimiser's step
    Train,
    /// Forward
    Predict,
}

/// A result. The operations are those of the full products of one step; where whole columns of a block are zero
/// (see `kernel/fused.rs`) they are not carried out, so the share of the peak can exceed 1.
#[derive(Serialize)]
struct Line {
    bench: &'static str,
    case: String,
    seconds: f64,
    gflop: f64,
    share_of_peak: f64,
    peak_rss_mb: f64,
}

/// Runs the command.
pub fn run(global: &Global, options: &Options) -> Result<ExitCode> {
    let mut peak = peak_gflops();
    if matches!(options.name, Name::Peak) {
        show(
            global,
            &Line {
                bench: "peak",
                case: "best f32 product".into(),
                seconds: 1.0 / peak,
                gflop: 1.0,
                share_of_peak: 1.0,
                peak_rss_mb: peak_rss_mb(),
            },
        );
        return Ok(ExitCode::SUCCESS);
    }
    if matches!(options.name, Name::Growth) {
        return growth(global, options, peak);
    }
    if matches!(options.name, Name::Mnist | Name::Preresnet) {
        return images(global, options, peak);
    }
    let case = Case::new(options)?;
    for &depth in &case.depths {
        anyhow::ensure!(depth > 0, "--depth: expected 1 or more, got 0");
        let (seconds, work) = case.measure(options, depth)?;
        // Machines are noisy: the peak is the best seen before and after.
        peak = peak.max(peak_gflops());
        let mode = if options.mode == Mode::Train { "train" } else { "predict" };
        show(
            global,
            &Line {
                bench: case.name,
                case: format!("{mode} depth={depth} batch={} resolution={}", case.samples.count(), case.resolution),
                seconds,
                gflop: work.gflop,
                share_of_peak: work.gflop / seconds / peak,
                peak_rss_mb: peak_rss_mb(),
            },
        );
    }
    Ok(ExitCode::SUCCESS)
}

fn show(global: &Global, line: &Line) {
    if global.json {
        println!("{}", serde_json::to_string(line).unwrap_or_default());
    } else {
        println!(
            "{} {}: {:.2} ms, {:.2} GFLOP, {:.0} GFLOPS, {:.0} % of peak, {:.0} MB",
            line.bench,
            line.case,
            1e3 * line.seconds,
            line.gflop,
            line.gflop / line.seconds,
            100.0 * line.share_of_peak,
            line.peak_rss_mb
        );
    }
}

/// Image networks.
fn images(global: &Global, options: &Options, mut peak: f64) -> Result<ExitCode> {
    let batch = options.batch.unwrap_or(128);
    anyhow::ensure!(batch > 0, "--batch: expected 1 or more, got 0");
    let is_mnist = matches!(options.name, Name::Mnist);
    let depths = if options.depth.is_empty() || !is_mnist { vec![2] } else { options.depth.clone() };
    for depth in depths {
        anyhow::ensure!(depth > 0, "--depth: expected 1 or more, got 0");
        let (bench, case, what) = if is_mnist {
            let case = super::bench_images::Case::mnist(options.radius, depth, options.quadrature, batch)?;
            ("mnist", case, format!("radius={} depth={depth} batch={batch}", options.radius))
        } else {
            ("preresnet", super::bench_images::Case::preresnet(batch)?, format!("batch={batch}"))
        };
        let repeats = options.repeats.unwrap_or(10);
        let (mode, measured) = match options.mode {
            Mode::Train => ("train", case.train(repeats)?),
            Mode::Predict => ("predict", case.predict(repeats)?),
        };
        peak = peak.max(peak_gflops());
        let share_of_peak = measured.gflop / measured.seconds / peak;
        let (seconds, gflop) = (measured.seconds, measured.gflop);
        let case = format!("{mode} {what}");
        show(global, &Line { bench, case, seconds, gflop, share_of_peak, peak_rss_mb: peak_rss_mb() });
    }
    Ok(ExitCode::SUCCESS)
}

/// Steps at several sizes and depths, and how their time grows.
fn growth(global: &Global, options: &Options, peak: f64) -> Result<ExitCode> {
    let batch = options.batch.unwrap_or(10);
    let mut csv = String::from("bench,nodes,depth,batch,seconds,gflop,share_of_peak,peak_rss_mb\n");
    let mut measure = |side: usize, depth: usize| -> Result<f64> {
        let mut case = Case::darcy(options, batch, side)?;
        // Eight neighbours at any spacing.
        case.model.radius = Some(1.5 / (side - 1) as f64);
        let (seconds, work) = case.measure(options, depth)?;
        let line = Line {
            bench: "growth",
            case: format!("train depth={depth} batch={batch} resolution={side}"),
            seconds,
            gflop: work.gflop,
            share_of_peak: work.gflop / seconds / peak,
            peak_rss_mb: peak_rss_mb(),
        };
        show(global, &line);
        let Line { gflop, share_of_peak, peak_rss_mb, .. } = line;
        let nodes = side * side;
        csv += &format!("growth,{nodes},{depth},{batch},{seconds},{gflop},{share_of_peak:.3},{peak_rss_mb:.0}\n");
        Ok(seconds)
    };
    let sides = [11, 16, 22, 31, 44];
    let by_nodes: Vec<(f64, f64)> =
        sides.iter().map(|&side| Ok(((side * side) as f64, measure(side, 16)?))).collect::<Result<_>>()?;
    let depths = [1, 2, 4, 8, 16, 32, 64];
    let by_depth: Vec<(f64, f64)> =
        depths.iter().map(|&depth| Ok((depth as f64, measure(16, depth)?))).collect::<Result<_>>()?;
    let ratio = by_depth[by_depth.len() - 1].1 / by_depth[0].1;
    let growths = vec![
        Growth {
            quantity: "nodes".into(),
            setting: format!("A training step of {batch} samples at depth 16, every node with 8 neighbours."),
            exponent: exponent(&by_nodes),
            points: by_nodes,
        },
        Growth {
            quantity: "depth".into(),
            setting: format!(
                "A training step of {batch} samples on 16 x 16 nodes; depth 64 takes {ratio:.2} times as long as depth 1."
            ),
            exponent: exponent(&by_depth),
            points: by_depth,
        },
    ];
    for growth in &growths {
        eprintln!("seconds ~ {}^{:.2}. {}", growth.quantity, growth.exponent, growth.setting);
    }
    let page = Report { title: "How the time of a step grows".into(), growth: growths, ..Report::default() };
    write_atomically(&options.out, render(&page).as_bytes())?;
    write_atomically(&options.out.with_extension("csv"), csv.as_bytes())?;
    eprintln!("{}", options.out.display());
    Ok(ExitCode::SUCCESS)
}

/// The slope of the line of best fit through the logarithms.
fn exponent(points: &[(f64, f64)]) -> f64 {
    let logarithms: Vec<(f64, f64)> = points.iter().map(|(x, y)| (x.ln(), y.ln())).collect();
    let count = logarithms.len() as f64;
    let (sum_x, sum_y) = logarithms.iter().fold((0.0, 0.0), |(a, b), (x, y)| (a + x, b + y));
    let (mean_x, mean_y) = (sum_x / count, sum_y / count);
    let (mut up, mut across) = (0.0, 0.0);
    for (x, y) in &logarithms {
        up += (x - mean_x) * (y - mean_y);
        across += (x - mean_x).powi(2);
    }
    up / across
}

/// A problem at one size.
struct Case {
    name: &'static str,
    model: ModelConfig,
    samples: Samples,
    resolution: usize,
    depths: Vec<usize>,
    repeats: usize,
}

impl Case {
    fn new(options: &Options) -> Result<Self> {
        let depths = |usual: &[usize]| if options.depth.is_empty() { usual.to_vec() } else { options.depth.clone() };
        let (usual_resolution, usual_batch) = match options.name {
            Name::Darcy => (16, 10),
            Name::Fno => (16, 20),
            _ => (101, 500),
        };
        let resolution = options.resolution.unwrap_or(usual_resolution);
        let batch = options.batch.unwrap_or(usual_batch);
        anyhow::ensure!(batch > 0, "--batch: expected 1 or more, got 0");
        if matches!(options.name, Name::Darcy) {
            return Ok(Self { depths: depths(&[16]), ..Self::darcy(options, batch, resolution)? });
        }
        if matches!(options.name, Name::Fno) {
            return Ok(Self {
                name: "fno",
                model: ModelConfig::fno_2d(),
                depths: depths(&[4]),
                repeats: options.repeats.unwrap_or(20),
                ..Self::darcy(options, batch, resolution)?
            });
        }
        Ok(Self {
            name: "poisson",
            model: ModelConfig { fields: vec!["f".into()], ..ModelConfig::default() },
            samples: DataConfig { points: resolution, train_samples: batch, ..DataConfig::default() }.load()?.train,
            resolution,
            depths: depths(&[1, 32]),
            repeats: options.repeats.unwrap_or(20),
        })
    }

    fn darcy(options: &Options, batch: usize, resolution: usize) -> Result<Self> {
        Ok(Self {
            name: "darcy",
            model: ModelConfig { quadrature: options.quadrature, ..ModelConfig::darcy() },
            samples: darcy_samples(batch, resolution)?,
            resolution,
            depths: Vec::new(),
            repeats: options.repeats.unwrap_or(3),
        })
    }

    /// The best step or prediction.
    fn measure(&self, options: &Options, depth: usize) -> Result<(f64, Work)> {
        let config = TrainConfig { depths: vec![depth], memory_gib: options.memory_gib, ..TrainConfig::default() };
        let trainer = Trainer {
            model: &self.model,
            config: &config,
            train: &self.samples,
            test: None,
            device: Device::flex(),
            should_stop: &|| false,
            observer: &mut |_| Ok(()),
        };
        // The first ones meet cold memory.
        let warm = if self.repeats > 3 { 2 } else { 1 };
        let count = self.repeats.max(1) + warm;
        let (seconds, work) = match options.mode {
            Mode::Train => trainer.time_steps(depth, count)?,
            Mode::Predict => trainer.time_predictions(depth, count)?,
        };
        Ok((seconds.into_iter().skip(warm).fold(f64::INFINITY, f64::min), work))
    }
}

/// Darcy samples at a resolution, solved on a grid twice as fine: good enough to measure with.
fn darcy_samples(count: usize, side: usize) -> Result<Samples> {
    let samples = darcy::generate(Seed::new(0), 0, count, 2 * side - 1, &|_| {})?;
    Ok(samples.coarsen(side)?)
}

/// The largest memory that this process has taken.
fn peak_rss_mb() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes: f64 = line.and_then(|l| l.trim().trim_end_matches(" kB").parse().ok()).unwrap_or(0.0);
    kilobytes / 1024.0
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_exponent_of_a_power_is_found() {
        let points: Vec<(f64, f64)> = [1.0, 2.0, 5.0, 9.0].map(|x: f64| (x, 3.0 * x.powf(1.25))).to_vec();
        assert!((super::exponent(&points) - 1.25).abs() < 1e-12);
    }
}
