//! `nkn eval`: errors on data of any resolution.

use crate::{Global, progress};
use anyhow::{Result, bail};
use clap::Args;
use nkn::Device;
use nkn::domain::{Domain, Quadrature};
use nkn::field::{Samples, mean, relative_l2};
use nkn::io::{Need, read_dataset, write_atomically};
use nkn::model::{BatchOptions, Model};
use nkn::run::RunFolder;
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
    /// Another quadrature rule than the one of training
    #[arg(long)]
    quadrature: Option<Quadrature>,
    /// Only this depth [default: every depth of the run]
    #[arg(long)]
    depth: Option<usize>,
}

/// One number of the result.
pub struct Row {
    /// L.
    pub depth: usize,
    /// Nodes per side, or number of points.
    pub resolution: usize,
    /// Mean relative L2 error.
    pub relative_l2: f64,
    /// Mean of its square.
    pub relative_l2_squared: f64,
}

/// Runs the command.
pub fn run(global: &Global, options: &Options) -> Result<ExitCode> {
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
    let mut csv = String::from("run,model,depth,seed,epoch,split,resolution,metric,value\n");
    if !global.json {
        println!("{:>6} {:>11} {:>13} {:>13}", "depth", "resolution", "relative L2", "squared");
    }
    for depth in depths {
        let model = folder.model_at(depth)?;
        for samples in &sets {
            let row = evaluate(&model, samples, options.quadrature)?;
            let (run, kind, seed) = (name(&folder), config.model.kind, config.train.seed);
            for (metric, value) in [("relative_l2", row.relative_l2), ("relative_l2_squared", row.relative_l2_squared)]
            {
                csv += &format!("{run},{kind},{depth},{seed},,test,{},{metric},{value:e}\n", row.resolution);
            }
            if global.json {
                println!(
                    "{}",
                    serde_json::json!({"depth": depth, "resolution": row.resolution, "relative_l2": row.relative_l2, "relative_l2_squared": row.relative_l2_squared})
                );
            } else {
                println!(
                    "{depth:>6} {:>11} {:>13.3e} {:>13.3e}",
                    row.resolution, row.relative_l2, row.relative_l2_squared
                );
            }
        }
    }
    write_atomically(&folder.path().join("eval.csv"), csv.as_bytes())?;
    Ok(ExitCode::SUCCESS)
}

/// The folder's own name.
pub fn name(folder: &RunFolder) -> String {
    folder.path().file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default()
}

/// The error of a model on samples.
pub fn evaluate(model: &Model, samples: &Samples, quadrature: Option<Quadrature>) -> Result<Row> {
    let options = BatchOptions { quadrature, ..BatchOptions::new(model.depth, &Device::flex()) };
    let prediction = model.predict_with(samples, &options)?;
    let errors = relative_l2(&prediction, samples.output()?, samples.nodes());
    let resolution = match &samples.domain {
        Domain::Grid(grid) => grid.shape()[0],
        cloud => cloud.len(),
    };
    Ok(Row {
        depth: model.depth,
        resolution,
        relative_l2: mean(&errors),
        relative_l2_squared: mean(&errors.iter().map(|e| e * e).collect::<Vec<_>>()),
    })
}
