//! Time steps in `nkn predict` and `nkn eval`: the output of a step is the input of the next.

use super::{eval, predict};
use crate::Global;
use crate::report::source;
use anyhow::{Context, Result, ensure};
use clap::Args;
use nkn::domain::Quadrature;
use nkn::io::{Need, read_dataset, read_trajectories, write_atomically, write_trajectories};
use nkn::model::{Model, Predicting};
use nkn::run::RunFolder;
use nkn::train::Measure;
use serde_json::json;

/// Options of time steps.
#[derive(Args)]
pub struct Options {
    /// Functions: so many steps in time, each begun with what the one before said
    #[arg(long, value_name = "N")]
    pub steps: Option<usize>,
    /// Which input gets which output in the next step [default: by their names, u_0=u; or the only input]
    #[arg(long, value_delimiter = ',', value_name = "INPUT=OUTPUT", requires = "steps", value_parser = pair)]
    pub feed: Vec<(String, String)>,
}

fn pair(text: &str) -> Result<(String, String), String> {
    let (input, output) = text.split_once('=').ok_or("expected INPUT=OUTPUT, such as u_0=u")?;
    Ok((input.trim().into(), output.trim().into()))
}

/// Writes all states of the input's samples: of each output an array samples x (1 + steps) x nodes.
pub fn predict(
    global: &Global,
    options: &predict::Options,
    steps: usize,
    model: &Model,
    how: &Predicting,
) -> Result<()> {
    let feeds = model.feeds(&options.time.feed)?;
    let outputs = model.config().output_names();
    // The file may also have whole trajectories, which begin with the first of their states.
    let read = read_dataset(&options.input, Need::Inputs, &outputs).or_else(|error| {
        let states = read_trajectories(&options.input, &outputs, &feeds, 1);
        states.ok().and_then(|mut states| states.pop()).ok_or(error)
    });
    let read = read?;
    let samples = model.placed(&read)?;
    let after = model.rollout_fed(&samples, steps, &feeds, how)?;
    write_trajectories(&options.out, &samples, &after, &feeds)?;
    let fed: Vec<String> = feeds.iter().map(|feed| format!("{} gets {}", feed.input, feed.output)).collect();
    let (samples, nodes) = (samples.count(), samples.nodes());
    let out = &options.out;
    let words = format!("{}: {steps} steps of {samples} samples on {nodes} nodes; {}", out.display(), fed.join(", "));
    super::say(global, words, json!({ "out": out, "samples": samples, "nodes": nodes, "steps": steps }));
    Ok(())
}

/// Prints the errors of every step and writes them into the run's folder, for the report.
pub fn evaluate(global: &Global, options: &eval::Options, steps: usize, folder: &RunFolder) -> Result<()> {
    let path = options.data.as_ref().context(
        "--steps: the run's test samples have one step\n  hint: give trajectories with --data, u as samples x times x nodes",
    )?;
    ensure!(options.resolution.is_empty(), "--resolution: trajectories have one resolution\n  hint: leave it out");
    let config = folder.config()?;
    let (run, kind, seed) = (source::name(folder.path()), config.model.kind, config.train.seed);
    let rules: Vec<Option<Quadrature>> = match options.quadrature.as_slice() {
        [] => vec![None],
        rules => rules.iter().copied().map(Some).collect(),
    };
    if !global.json {
        println!(
            "{:>6} {:>6} {:>11} {:>11} {:>20} {:>11}",
            "depth", "step", "resolution", "quadrature", "measure", "value"
        );
    }
    let mut csv = String::from("run,model,depth,seed,step,split,resolution,quadrature,metric,value\n");
    for depth in source::depths(folder, options.depth)? {
        let model = folder.model_at(depth)?;
        let feeds = model.feeds(&options.time.feed)?;
        let read = read_trajectories(path, &model.config().output_names(), &feeds, steps)?;
        let truth =
            read.iter().map(|samples| Ok(model.placed(samples)?.into_owned())).collect::<nkn::Result<Vec<_>>>()?;
        for &quadrature in &rules {
            let (memory_gib, device) = (options.memory_gib, global.device);
            let how = Predicting { quadrature, memory_gib, device, ..Predicting::default() };
            let rule = quadrature.map_or("default".into(), |rule| rule.to_string());
            let measures = model.rollout_measures(&truth, &feeds, "test", &how)?;
            for (step, measure) in (1..).zip(&measures).flat_map(|(step, all)| all.iter().map(move |one| (step, one))) {
                let Measure { split, resolution, metric, value, .. } = measure;
                csv += &format!("{run},{kind},{depth},{seed},{step},{split},{resolution},{rule},{metric},{value:e}\n");
                if global.json {
                    let line = json!({ "depth": depth, "step": step, "split": split, "resolution": resolution, "quadrature": rule, "metric": metric, "value": value });
                    println!("{line}");
                } else {
                    println!("{depth:>6} {step:>6} {resolution:>11} {rule:>11} {metric:>20} {value:>11.3e}");
                }
            }
        }
    }
    write_atomically(&folder.path().join("steps.csv"), csv.as_bytes())?;
    Ok(())
}
