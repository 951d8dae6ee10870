//! `nkn bench`: our own speed, as a share of the machine's peak.

use crate::Global;
use crate::report::growth::Growth;
use crate::report::{Report, render};
use anyhow::Result;
use clap::{Args, ValueEnum};
use nkn::domain::{PointCloud, Quadrature};
use nkn::field::images::CLASSES;
use nkn::io::write_atomically;
use nkn::model::{Block, Kind, ModelConfig};
use nkn::problem::darcy::generate;
use nkn::run::{Data, DataConfig, Problem, Rates, RunConfig, peak_gflops, rates, time_predictions, time_steps};
use nkn::seed::{Seed, uniform};
use nkn::task::ImageSplits;
use nkn::{Images, Samples};
use serde::de::IntoDeserializer;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::path::PathBuf;

/// Options of `nkn bench`.
#[derive(Args)]
pub struct Options {
    /// What to measure
    #[arg(default_value = "poisson")]
    name: Name,
    /// Depths [default: 1,32 for poisson, 16 for darcy, 4 for fno and cloud, 2 for mnist and preresnet]
    #[arg(long, value_delimiter = ',')]
    depth: Vec<usize>,
    /// Points per side of the grid, or points of the cloud [default: 101 for poisson, 16 for darcy and fno, 28 for mnist, 32 for preresnet, 100000 for cloud]
    #[arg(long)]
    resolution: Option<usize>,
    /// Samples of the batch [default: 500 for poisson, 10 for darcy, 20 for fno, 1 for cloud, 128 for images]
    #[arg(long)]
    batch: Option<usize>,
    /// Quadrature rule of darcy, mnist, cloud and growth
    #[arg(long, default_value = "mean")]
    quadrature: Quadrature,
    /// Radius of the neighbourhoods of mnist and of preresnet's block, in pixels [default: 3 and 4]
    #[arg(long)]
    radius: Option<f64>,
    /// The nonlocal block of preresnet: none, nkn or nnn; the depth is the number of its steps
    #[arg(long, default_value = "none", value_parser = block)]
    block: Block,
    /// Memory that the evolution may take, in GiB
    #[arg(long, default_value_t = 4.0)]
    memory_gib: f64,
    /// A training step, or a prediction
    #[arg(long, default_value = "train")]
    mode: Mode,
    /// Growth: the page to write, with the drawings; a .csv of the same name goes beside it
    #[arg(long, value_name = "FILE", default_value = "growth.html")]
    out: PathBuf,
    /// Repetitions; the best one counts [default: 20 for poisson and fno, 3 for darcy and cloud, 10 for images]
    #[arg(long)]
    repeats: Option<usize>,
}

/// What can be measured.
#[derive(Clone, Copy, ValueEnum)]
enum Name {
    /// The matrix product that everything is compared with
    Peak,
    /// Operations a second of the parts of an evolution: what the choice of an order rests on
    Rates,
    /// The paper's 1D network, all samples in one batch
    Poisson,
    /// The paper's 2D network on Darcy flow
    Darcy,
    /// The paper's 2D Fourier neural operator on Darcy flow
    Fno,
    /// Random points of the unit square, each with its 30 nearest ones: width 16, kernel 6-64-64-256
    Cloud,
    /// The nonlocal kernel network on images of MNIST's size
    Mnist,
    /// The pre-activation residual network of 20 layers on images of CIFAR-10's size
    Preresnet,
    /// The time of a step on Darcy flow against the number of nodes (each with 8 neighbours) and against the depth
    Growth,
}

/// A block by its name in configuration files.
fn block(name: &str) -> std::result::Result<Block, serde::de::value::Error> {
    Block::deserialize(name.into_deserializer())
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
pub fn run(global: &Global, options: &Options) -> Result<()> {
    let mut peak = peak_gflops();
    match options.name {
        Name::Peak => {
            let line = Line::new("peak", "best f32 product".into(), (1.0 / peak, 1.0), peak);
            Line { share_of_peak: 1.0, ..line }.show(global);
        }
        Name::Rates => {
            for found in rates()? {
                show_rates(global, &found);
            }
        }
        Name::Growth => growth(global, options, peak)?,
        _ => {
            let case = Case::new(options)?;
            for &depth in &case.depths {
                anyhow::ensure!(depth > 0, "--depth: expected 1 or more, got 0");
                let measured = case.measure(options, depth)?;
                // Machines are noisy: the peak is the best seen before and after.
                peak = peak.max(peak_gflops());
                Line::new(case.name, case.describe(options, depth), measured, peak).show(global);
            }
        }
    }
    Ok(())
}

impl Line {
    fn new(bench: &'static str, case: String, (seconds, gflop): (f64, f64), peak: f64) -> Self {
        let share_of_peak = gflop / seconds / peak;
        Self { bench, case, seconds, gflop, share_of_peak, peak_rss_mb: peak_rss_mb() }
    }

    fn show(&self, global: &Global) {
        if global.json {
            println!("{}", serde_json::to_string(self).unwrap_or_default());
            return;
        }
        let Self { bench, case, seconds, gflop, share_of_peak, peak_rss_mb } = self;
        println!(
            "{bench} {case}: {:.2} ms, {gflop:.2} GFLOP, {:.0} GFLOPS, {:.0} % of peak, {peak_rss_mb:.0} MB",
            1e3 * seconds,
            gflop / seconds,
            100.0 * share_of_peak
        );
    }
}

fn show_rates(global: &Global, Rates { order, training, layers, form, evaluate }: &Rates) {
    let mode = if *training { "train" } else { "predict" };
    if global.json {
        let rates = json!({"layers": layers, "form": form, "evaluate": evaluate});
        println!("{}", json!({"bench": "rates", "mode": mode, "order": order, "flops": rates}));
        return;
    }
    let form = form.map_or(String::new(), |form| format!("form {:.0}, ", form / 1e9));
    println!("rates {mode} {order}: layers {:.0}, {form}evaluate {:.0} GFLOPS", layers / 1e9, evaluate / 1e9);
}

/// Steps at several sizes and depths, and how their time grows.
fn growth(global: &Global, options: &Options, peak: f64) -> Result<()> {
    let batch = options.batch.unwrap_or(10);
    let mut csv = String::from("bench,nodes,depth,batch,seconds,gflop,share_of_peak,peak_rss_mb\n");
    let mut measure = |side: usize, depth: usize| -> Result<f64> {
        let (mut config, data) = darcy(options, (side, batch))?;
        // Eight neighbours at any spacing.
        config.model.radius = Some(1.5 / (side - 1) as f64);
        let case = Case { name: "growth", depths: vec![depth], repeats: 3, config, data };
        let what = format!("train depth={depth} batch={batch} resolution={side}");
        let line = Line::new(case.name, what, case.measure(options, depth)?, peak);
        line.show(global);
        let Line { seconds, gflop, share_of_peak, peak_rss_mb, .. } = line;
        let nodes = side * side;
        csv += &format!("growth,{nodes},{depth},{batch},{seconds},{gflop},{share_of_peak:.3},{peak_rss_mb:.0}\n");
        Ok(seconds)
    };
    let sides = [11, 16, 22, 31, 44].into_iter();
    let by_nodes: Vec<_> = sides.map(|side| Ok(((side * side) as f64, measure(side, 16)?))).collect::<Result<_>>()?;
    let depths = [1, 2, 4, 8, 16, 32, 64].into_iter();
    let by_depth: Vec<_> = depths.map(|depth| Ok((depth as f64, measure(16, depth)?))).collect::<Result<_>>()?;
    let ratio = by_depth[by_depth.len() - 1].1 / by_depth[0].1;
    let settings = [
        ("nodes", by_nodes, "at depth 16, every node with 8 neighbours.".to_owned()),
        ("depth", by_depth, format!("on 16 x 16 nodes; depth 64 takes {ratio:.2} times as long as depth 1.")),
    ];
    let growths = settings.map(|(quantity, points, setting)| Growth {
        quantity: quantity.into(),
        setting: format!("A training step of {batch} samples {setting}"),
        exponent: exponent(&points),
        points,
    });
    for growth in &growths {
        eprintln!("seconds ~ {}^{:.2}. {}", growth.quantity, growth.exponent, growth.setting);
    }
    let page = Report { title: "How the time of a step grows".into(), growth: growths.into(), ..Report::default() };
    write_atomically(&options.out, render(&page).as_bytes())?;
    write_atomically(&options.out.with_extension("csv"), csv.as_bytes())?;
    eprintln!("{}", options.out.display());
    Ok(())
}

/// The slope of the line of best fit through the logarithms.
fn exponent(points: &[(f64, f64)]) -> f64 {
    let logarithms: Vec<(f64, f64)> = points.iter().map(|(x, y)| (x.ln(), y.ln())).collect();
    let mean = |part: fn(&(f64, f64)) -> f64| logarithms.iter().map(part).sum::<f64>() / logarithms.len() as f64;
    let (mean_x, mean_y) = (mean(|point| point.0), mean(|point| point.1));
    let up: f64 = logarithms.iter().map(|(x, y)| (x - mean_x) * (y - mean_y)).sum();
    up / logarithms.iter().map(|(x, _)| (x - mean_x).powi(2)).sum::<f64>()
}

/// A problem at one size.
struct Case {
    name: &'static str,
    depths: Vec<usize>,
    repeats: usize,
    config: RunConfig,
    data: Data,
}

impl Case {
    fn new(options: &Options) -> Result<Self> {
        let size = |resolution, batch| (options.resolution.unwrap_or(resolution), options.batch.unwrap_or(batch));
        anyhow::ensure!(options.batch != Some(0), "--batch: expected 1 or more, got 0");
        let (name, depths, repeats, (mut config, data)): (_, &[usize], _, _) = match options.name {
            Name::Darcy => ("darcy", &[16], 3, darcy(options, size(16, 10))?),
            Name::Fno => {
                let (config, data) = darcy(options, size(16, 20))?;
                ("fno", &[4], 20, (RunConfig { model: ModelConfig::fno_2d(), ..config }, data))
            }
            Name::Cloud => ("cloud", &[4], 3, cloud(options, size(100_000, 1))?),
            Name::Mnist => {
                let (radius, quadrature) = (options.radius.or(Some(3.0)), options.quadrature);
                let model = ModelConfig { radius, quadrature, ..ModelConfig::images() };
                ("mnist", &[2], 10, images(model, 1, size(28, 128))?)
            }
            Name::Preresnet => {
                let (kind, radius) = (Kind::Preresnet, options.radius.or(Some(4.0)));
                let model = ModelConfig { kind, block: options.block, radius, ..ModelConfig::images() };
                ("preresnet", &[2], 10, images(model, 3, size(32, 128))?)
            }
            _ => ("poisson", &[1, 32], 20, poisson(size(101, 500))?),
        };
        config.train.memory_gib = options.memory_gib;
        let depths = if options.depth.is_empty() { depths } else { &options.depth };
        Ok(Self { name, depths: depths.to_vec(), repeats: options.repeats.unwrap_or(repeats), config, data })
    }

    /// What was measured, in words.
    fn describe(&self, options: &Options, depth: usize) -> String {
        let mode = if options.mode == Mode::Train { "train" } else { "predict" };
        let ModelConfig { kind, block, radius, .. } = &self.config.model;
        let network = match (self.name, radius) {
            ("mnist", Some(radius)) => format!("radius={radius} "),
            _ if *kind == Kind::Preresnet && *block != Block::None => format!("block={block:?} ").to_lowercase(),
            _ => String::new(),
        };
        format!("{mode} {network}depth={depth} batch={} resolution={}", self.data.count(), self.data.resolution())
    }

    /// Seconds of the best step or prediction, and its operations.
    fn measure(&self, options: &Options, depth: usize) -> Result<(f64, f64)> {
        let mut config = self.config.clone();
        config.train.depths = vec![depth];
        config.train.batch = config.train.batch.map(|_| self.data.count());
        // The first ones meet cold memory.
        let warm = if self.repeats > 3 { 2 } else { 1 };
        let count = self.repeats.max(1) + warm;
        let time = if options.mode == Mode::Train { time_steps } else { time_predictions };
        let (seconds, work) = time(&config, &self.data, depth, count)?;
        Ok((seconds.into_iter().skip(warm).fold(f64::INFINITY, f64::min), work.gflop))
    }
}

fn poisson((points, train_samples): (usize, usize)) -> Result<(RunConfig, Data)> {
    let data = DataConfig { points, train_samples, ..DataConfig::default() };
    let config = RunConfig { data, ..RunConfig::default() };
    let data = config.data.load()?;
    Ok((config.resolve(&data)?, data))
}

/// Darcy samples, solved on a grid twice as fine: good enough to measure with.
fn darcy(options: &Options, (side, batch): (usize, usize)) -> Result<(RunConfig, Data)> {
    let train = generate(Seed::new(0), 0, batch, 2 * side - 1, &|_| {})?.coarsen(side)?;
    let model = ModelConfig { quadrature: options.quadrature, ..ModelConfig::darcy() };
    Ok((RunConfig { model, ..RunConfig::default() }, Data::Functions { train, test: None }))
}

/// Samples on random points; the kernel sees a coefficient that is another at every point.
fn cloud(options: &Options, (points, batch): (usize, usize)) -> Result<(RunConfig, Data)> {
    let mut random = Seed::new(0).rng();
    let mut numbers = |count: usize| (0..count).map(|_| uniform(&mut random, 0.0, 1.0)).collect::<Vec<f64>>();
    let (square, b) = (PointCloud::new(2, numbers(2 * points), 1.0)?, numbers(batch * points));
    let u: Vec<f64> = b.iter().zip(square.coordinates().chunks(2).cycle()).map(|(b, x)| 1.0 + b * x[0]).collect();
    let train = Samples::on(square).input("b", b)?.output("u", u)?;
    let model = ModelConfig {
        width: 16,
        kernel: vec![64, 64],
        reaction: vec![64],
        fields: vec!["b".into()],
        kernel_fields: vec!["b".into()],
        neighbours: Some(30),
        quadrature: options.quadrature,
        ..ModelConfig::default()
    };
    Ok((RunConfig { model, ..RunConfig::default() }, Data::Functions { train, test: None }))
}

/// Random images.
fn images(model: ModelConfig, channels: usize, (side, count): (usize, usize)) -> Result<(RunConfig, Data)> {
    let pixels = (0..count * channels * side * side).map(|i| ((i * 2_654_435_761) >> 7) as u8).collect();
    let labels = (0..count).map(|i| (i % CLASSES) as u8).collect();
    let train = Images::new(side, channels, pixels, labels)?;
    let splits = ImageSplits { train, tests: Vec::new(), side, tested_at: Vec::new(), resampling: Default::default() };
    Ok((RunConfig { model, ..RunConfig::of(Problem::Mnist) }, Data::Images(splits)))
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
