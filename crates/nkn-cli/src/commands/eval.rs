//! `nkn eval`: errors on data of any resolution.

use crate::report::errors::{ErrorRow, Errors};
use crate::report::{Report, render};
use crate::{Global, progress};
use anyhow::{Result, bail};
use clap::Args;
use nkn::Device;
use nkn::domain::{Domain, Quadrature};
use nkn::field::{Samples, mean, relative_l2};
use nkn::io::{Need, read_dataset, write_atomically};
use nkn::model::{BatchOptions, Model};
use nkn::run::{Problem, RunConfig, RunFolder};
use serde::Serialize;
use std::path::PathBuf;
use std::process::ExitCode;

/// Options of `nkn eval`.
#[derive(Args)]
pub struct Options {
    /// The folder of a trained run
    run: PathBuf,
    /// A data set with inputs and u [default: the run's own test samples]
    #[arg(long, value_name = "FILE")]
    data: Option<PathBuf>,
    /// Points per side: the run's test samples at other resolutions, such as 16,31,61
    #[arg(long, value_delimiter = ',', value_name = "S")]
    resolution: Vec<usize>,
    /// Quadrature rules to compare: mean,overlap,stencil [default: the one that fits training and resolution]
    #[arg(long, value_delimiter = ',', value_name = "RULE")]
    quadrature: Vec<Quadrature>,
    /// Memory that a prediction may take, in GiB
    #[arg(long, default_value_t = 8.0)]
    memory_gib: f64,
    /// Only this depth [default: every depth of the run]
    #[arg(long)]
    depth: Option<usize>,
}

/// The errors of one depth at one resolution.
#[derive(Serialize)]
pub struct Row {
    /// The rule that was asked for, or "default".
    pub quadrature: String,
    /// L.
    pub depth: usize,
    /// Nodes per side, or number of points.
    pub resolution: usize,
    /// Mean relative L2 error.
    pub relative_l2: f64,
    /// Mean of its square.
    pub relative_l2_squared: f64,
}

impl Row {
    /// The row as it stands on the page.
    fn shown(&self) -> ErrorRow {
        let quadrature = if self.quadrature == "default" { String::new() } else { self.quadrature.clone() };
        let (metric, split) = ("relative_l2".into(), "test".into());
        ErrorRow { metric, depth: self.depth, quadrature, split, resolution: self.resolution, value: self.relative_l2 }
    }
}

/// Runs the command.
pub fn run(global: &Global, options: &Options) -> Result<ExitCode> {
    super::images::refuse(&options.run, "eval")?;
    let folder = RunFolder::open(&options.run)?;
    let config = folder.config()?;
    let sets: Vec<Samples> = match &options.data {
        Some(path) => {
            if !options.resolution.is_empty() {
                bail!(
                    "--resolution: a data file has one resolution\n  hint: leave out --data to generate the run's test samples"
                );
            }
            vec![read_dataset(path, Need::Output)?]
        }
        None if options.resolution.is_empty() => {
            let test = config.data.load_with(&progress::generating())?.test;
            vec![test.ok_or_else(|| anyhow::anyhow!("the run has no test samples\n  hint: give some with --data"))?]
        }
        None => config.data.tests_at(&options.resolution, &progress::generating())?,
    };
    let depths = match options.depth {
        Some(depth) => vec![depth],
        None => folder.depths(),
    };
    let rules: Vec<Option<Quadrature>> = match options.quadrature.as_slice() {
        [] => vec![None],
        rules => rules.iter().copied().map(Some).collect(),
    };
    let mut csv = String::from("run,model,depth,seed,epoch,split,resolution,quadrature,metric,value\n");
    if !global.json {
        println!("{:>6} {:>11} {:>11} {:>13} {:>13}", "depth", "resolution", "quadrature", "relative L2", "squared");
    }
    let mut rows = Vec::new();
    for depth in depths {
        let model = folder.model_at(depth)?;
        for (&rule, samples) in rules.iter().flat_map(|rule| sets.iter().map(move |samples| (rule, samples))) {
            let row = evaluate_within(&model, samples, rule, options.memory_gib)?;
            let (run, kind, seed) = (name(&folder), config.model.kind, config.train.seed);
            let Row { quadrature, resolution, relative_l2, relative_l2_squared, .. } = &row;
            for (metric, value) in [("relative_l2", relative_l2), ("relative_l2_squared", relative_l2_squared)] {
                csv += &format!("{run},{kind},{depth},{seed},,test,{resolution},{quadrature},{metric},{value:e}\n");
            }
            if global.json {
                println!("{}", serde_json::to_string(&row)?);
            } else {
                println!(
                    "{depth:>6} {resolution:>11} {quadrature:>11} {relative_l2:>13.3e} {relative_l2_squared:>13.3e}"
                );
            }
            rows.push(row);
        }
    }
    write_atomically(&folder.path().join("eval.csv"), csv.as_bytes())?;
    if sets.len() > 1 {
        let path = folder.path().join("eval.html");
        let is_square = sets[0].domain.dim() == 2 && matches!(sets[0].domain, Domain::Grid(_));
        let rows = rows.iter().map(Row::shown).collect();
        let page = Report {
            title: format!("{}: errors by resolution", name(&folder)),
            errors: Errors { trained_at: trained_at(&config)?, is_square, rows },
            ..Report::default()
        };
        write_atomically(&path, render(&page).as_bytes())?;
        eprintln!("{}", path.display());
    }
    Ok(ExitCode::SUCCESS)
}

/// Nodes along the first axis of the training grid.
pub fn trained_at(config: &RunConfig) -> Result<usize> {
    Ok(match config.data.problem {
        Problem::Poisson => config.data.points,
        _ => match config.data.resolution {
            Some(resolution) => resolution,
            None => resolution_of(&config.data.load()?.train),
        },
    })
}

/// The folder's own name.
pub fn name(folder: &RunFolder) -> String {
    folder.path().file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default()
}

/// The error of a model on samples.
pub fn evaluate(model: &Model, samples: &Samples, quadrature: Option<Quadrature>) -> Result<Row> {
    evaluate_within(model, samples, quadrature, 8.0)
}

fn evaluate_within(model: &Model, samples: &Samples, quadrature: Option<Quadrature>, gib: f64) -> Result<Row> {
    let budget = gib * (1u64 << 30) as f64;
    let options = BatchOptions { quadrature, budget, ..BatchOptions::new(model.depth, &Device::flex()) };
    let prediction = model.predict_with(samples, &options)?;
    let errors = relative_l2(&prediction, samples.output()?, samples.nodes());
    Ok(Row {
        quadrature: quadrature.map_or("default".into(), |rule| rule.to_string()),
        depth: model.depth,
        resolution: resolution_of(samples),
        relative_l2: mean(&errors),
        relative_l2_squared: mean(&errors.iter().map(|e| e * e).collect::<Vec<_>>()),
    })
}

/// Nodes along the first axis, or the number of points.
pub fn resolution_of(samples: &Samples) -> usize {
    match &samples.domain {
        Domain::Grid(grid) => grid.shape()[0],
        cloud => cloud.len(),
    }
}
