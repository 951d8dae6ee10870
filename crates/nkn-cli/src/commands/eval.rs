//! `nkn eval`: errors at any resolution.

use crate::report::errors::{ErrorRow, Errors};
use crate::report::{Report, depths, render, source};
use crate::{Global, progress};
use anyhow::{Context, Result, ensure};
use clap::Args;
use nkn::Samples;
use nkn::domain::Quadrature;
use nkn::io::{Need, read_dataset, read_images, write_atomically};
use nkn::model::{Depth, Model, Predicting};
use nkn::run::{Data, RunConfig, RunFolder};
use nkn::task::TestSet;
use nkn::train::Measure;
use std::path::{Path, PathBuf};

/// Options of `nkn eval`.
#[derive(Args)]
pub struct Options {
    /// The folder of a trained run
    run: PathBuf,
    /// A data set with inputs and u, or images with labels [default: the run's own test samples]
    #[arg(long, value_name = "FILE")]
    pub(super) data: Option<PathBuf>,
    /// Points or pixels per side: the run's test samples at other resolutions, such as 16,31,61
    #[arg(long, value_delimiter = ',', value_name = "S")]
    pub(super) resolution: Vec<usize>,
    /// Functions: quadrature rules to compare: mean,overlap,stencil [default: the one that fits training and resolution]
    #[arg(long, value_delimiter = ',', value_name = "RULE")]
    pub(super) quadrature: Vec<Quadrature>,
    #[command(flatten)]
    pub(super) time: super::steps::Options,
    /// Memory that a prediction may take, in GiB
    #[arg(long, default_value_t = 8.0)]
    pub(super) memory_gib: f64,
    /// Only this depth [default: every depth of the run]
    #[arg(long)]
    pub(super) depth: Option<usize>,
    /// The weights of that depth (or of the deepest) at depths that they were not trained at: 16,32,64,infinite (nkn)
    #[arg(long, value_delimiter = ',', value_name = "L", conflicts_with = "steps")]
    depths: Vec<Depth>,
    /// The relative error that may be left on the way to infinite depth [default: what single precision allows]
    #[arg(long, value_name = "ERROR")]
    tolerance: Option<f64>,
}

/// What a run is tested with.
enum TestSets {
    /// Functions, at one resolution each.
    Functions(Vec<Samples>),
    /// Images, each at all of these sides.
    Images(Vec<TestSet>, Vec<usize>),
}

impl TestSets {
    /// A run's own test samples, at their own resolution or at others.
    fn of(config: &RunConfig, resolutions: &[usize]) -> Result<Self> {
        if !config.data.problem.is_images() && !resolutions.is_empty() {
            return Ok(Self::Functions(config.data.tests_at(resolutions, &progress::generating())?));
        }
        match config.data.load_with(&progress::generating())? {
            Data::Functions { test, .. } => {
                let hint = "the run has no test samples\n  hint: give some with --data";
                Ok(Self::Functions(vec![test.context(hint)?]))
            }
            Data::Images(splits) => {
                let sides = if resolutions.is_empty() { splits.tested_at } else { resolutions.to_vec() };
                Ok(Self::Images(splits.tests, sides))
            }
        }
    }

    fn read(path: &Path, config: &RunConfig, resolutions: &[usize]) -> Result<Self> {
        if config.data.problem.is_images() {
            let images = read_images(path, true)?;
            let sides = if resolutions.is_empty() { vec![images.side] } else { resolutions.to_vec() };
            return Ok(Self::Images(vec![TestSet { name: "data", images }], sides));
        }
        ensure!(
            resolutions.is_empty(),
            "--resolution: a data file of functions has one resolution\n  hint: leave out --data to use the run's test samples"
        );
        Ok(Self::Functions(vec![read_dataset(path, Need::Output, &config.model.output_names())?]))
    }

    /// The measures of a model on all of them.
    fn measure(&self, model: &Model, how: &Predicting) -> Result<Vec<Measure>> {
        let measures: nkn::Result<Vec<_>> = match self {
            Self::Functions(sets) => {
                let placed = |set: &Samples| model.measures(&*model.placed(set)?, "test", None, how);
                sets.iter().map(placed).collect()
            }
            Self::Images(tests, sides) => {
                let pairs = tests.iter().flat_map(|test| sides.iter().map(move |&side| (test, side)));
                pairs.map(|(test, side)| model.measures(&test.images, test.name, Some(side), how)).collect()
            }
        };
        Ok(measures?.concat())
    }
}

/// Runs the command.
pub fn run(global: &Global, options: &Options) -> Result<()> {
    let folder = RunFolder::open(&options.run)?;
    if let Some(steps) = options.time.steps {
        return super::steps::evaluate(global, options, steps, &folder);
    }
    let config = folder.config()?;
    let sets = match &options.data {
        Some(path) => TestSets::read(path, &config, &options.resolution)?,
        None => TestSets::of(&config, &options.resolution)?,
    };
    ensure!(
        options.quadrature.is_empty() || matches!(sets, TestSets::Functions(_)),
        "--quadrature: images have one rule\n  hint: leave it out"
    );
    let trained_at = folder.results()?.map_or(0, |results| results.resolution);
    let mut depths = source::depths(&folder, options.depth)?;
    // Of other depths the deepest network is asked, and of each depth its own.
    if !options.depths.is_empty() {
        depths.drain(..depths.len() - 1);
    }
    let asked = |trained: usize| match options.depths.as_slice() {
        [] => vec![Depth::Layers(trained)],
        depths => depths.to_vec(),
    };
    let rules: Vec<Option<Quadrature>> = match options.quadrature.as_slice() {
        [] => vec![None],
        rules => rules.iter().copied().map(Some).collect(),
    };
    if !global.json {
        println!(
            "{:>6} {:>11} {:>11} {:>11} {:>20} {:>11}",
            "depth", "samples", "resolution", "quadrature", "measure", "value"
        );
    }
    let mut csv = String::from("run,model,depth,seed,epoch,split,resolution,quadrature,metric,value\n");
    let mut others = String::from("run,model,trained,depth,seed,split,resolution,quadrature,metric,value\n");
    let (run, kind, seed) = (source::name(folder.path()), config.model.kind, config.train.seed);
    let mut rows = Vec::new();
    let pairs: Vec<(usize, Depth)> =
        depths.into_iter().flat_map(|trained| asked(trained).into_iter().map(move |depth| (trained, depth))).collect();
    for (trained, depth) in pairs {
        let model = folder.model_at(trained)?;
        for &quadrature in &rules {
            let (memory_gib, device, tolerance) = (options.memory_gib, global.device, options.tolerance);
            let how = Predicting {
                quadrature,
                memory_gib,
                device,
                tolerance,
                depth: (!options.depths.is_empty()).then_some(depth),
                ..Predicting::default()
            };
            let rule = quadrature.map_or("default".into(), |rule| rule.to_string());
            for measure in sets.measure(&model, &how)? {
                let Measure { split, resolution, metric, value, .. } = &measure;
                csv += &format!("{run},{kind},{depth},{seed},,{split},{resolution},{rule},{metric},{value:e}\n");
                others +=
                    &format!("{run},{kind},{trained},{depth},{seed},{split},{resolution},{rule},{metric},{value:e}\n");
                if global.json {
                    let asked = match depth {
                        Depth::Layers(layers) => serde_json::json!(layers),
                        Depth::Infinite => serde_json::json!("infinite"),
                    };
                    let line = serde_json::json!({ "depth": asked, "split": split, "resolution": resolution, "quadrature": rule, "metric": metric, "value": value });
                    println!("{line}");
                } else {
                    println!(
                        "{:>6} {split:>11} {resolution:>11} {rule:>11} {metric:>20} {value:>11.3e}",
                        depth.to_string()
                    );
                }
                let quadrature = quadrature.map_or(String::new(), |rule| rule.to_string());
                rows.push(ErrorRow { depth: trained, quadrature, measure });
            }
        }
    }
    if !options.depths.is_empty() {
        write_atomically(&folder.path().join("depths.csv"), others.as_bytes())?;
        let title = format!("{run}: errors by depth");
        let page = Report { title, depths: depths::read(folder.path()), ..Report::default() };
        let path = folder.path().join("depths.html");
        write_atomically(&path, render(&page).as_bytes())?;
        eprintln!("{}", path.display());
        return Ok(());
    }
    write_atomically(&folder.path().join("eval.csv"), csv.as_bytes())?;
    if rows.iter().any(|row| row.measure.resolution != rows[0].measure.resolution) {
        let path = folder.path().join("eval.html");
        let is_square = match &sets {
            TestSets::Functions(sets) => source::is_square(sets[0].domain()),
            TestSets::Images(..) => true,
        };
        let title = format!("{run}: errors by resolution");
        let page = Report { title, errors: Errors { trained_at, is_square, rows }, ..Report::default() };
        write_atomically(&path, render(&page).as_bytes())?;
        eprintln!("{}", path.display());
    }
    Ok(())
}
