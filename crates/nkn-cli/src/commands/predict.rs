//! `nkn predict`: apply a trained network to new inputs.

use super::meshes;
use crate::Global;
use anyhow::{Result, bail};
use clap::Args;
use nkn::domain::Quadrature;
use nkn::io::{Need, check_ending, read_dataset, read_images, write_atomically, write_dataset};
use nkn::model::{Depth, Model, Predicting, Space};
use serde_json::json;
use std::path::PathBuf;

/// Options of `nkn predict`.
#[derive(Args)]
pub struct Options {
    /// The folder of a trained run, or a model file
    run: PathBuf,
    /// The inputs at any resolution: a data set with the run's input fields, or a mesh (.vtu, .vti); or images (.npz with an array `images`, or a PNG file)
    pub(super) input: PathBuf,
    /// The file to write: of functions a data set (.npz, .h5) or a mesh (.vtu, .vti, or a folder such as out/ with one per sample) with the inputs
    /// and the predicted u, of images a table (.csv) with class and probabilities
    #[arg(short, long, value_name = "FILE")]
    pub(super) out: PathBuf,
    /// Functions: another depth than the training's, or infinite: the equation that the layers are steps of (nkn)
    #[arg(long, value_name = "L")]
    depth: Option<Depth>,
    /// The relative error that may be left on the way to infinite depth [default: what single precision allows]
    #[arg(long, value_name = "ERROR")]
    tolerance: Option<f64>,
    /// Functions: another quadrature rule than the one of training
    #[arg(long)]
    quadrature: Option<Quadrature>,
    #[command(flatten)]
    pub(super) time: super::steps::Options,
    /// Memory that a prediction may take, in GiB
    #[arg(long, default_value_t = 4.0)]
    memory_gib: f64,
    /// Replace a file that is already there
    #[arg(long)]
    force: bool,
}

/// Runs the command.
pub fn run(global: &Global, options: &Options) -> Result<()> {
    let are_meshes = meshes::wanted(&options.out);
    if !are_meshes {
        super::refuse_existing(&options.out, options.force)?;
    }
    let model = super::model_of(&options.run)?;
    let how = Predicting {
        quadrature: options.quadrature,
        depth: options.depth,
        tolerance: options.tolerance,
        memory_gib: options.memory_gib,
        device: global.device,
        ..Predicting::default()
    };
    match model.space() {
        Space::Functions { .. } => functions(global, options, &model, &how),
        Space::Images(_) if are_meshes => {
            bail!("--out: images have no mesh\n  hint: give the name of a table, such as classes.csv")
        }
        Space::Images(shape) => images(global, options, &model, shape.classes, &how),
    }
}

fn functions(global: &Global, options: &Options, model: &Model, how: &Predicting) -> Result<()> {
    if !meshes::wanted(&options.out) {
        check_ending(&options.out)?;
    }
    if let Some(steps) = options.time.steps {
        if meshes::wanted(&options.out) {
            bail!(
                "--steps: expected an .npz or .h5 file to write, got {}\n  hint: give another --out",
                options.out.display()
            );
        }
        return super::steps::predict(global, options, steps, model, how);
    }
    let given = read_dataset(&options.input, Need::Inputs, &model.config().output_names())?;
    let given = model.placed(&given)?;
    // What cannot be written is said before the work.
    let files = meshes::files(&options.out, &options.input, &given, options.force)?;
    let samples = model.predicted(&given, how)?;
    match files {
        Some(files) => meshes::write(&files, &options.input, &given, &samples)?,
        None => write_dataset(&options.out, &samples)?,
    }
    let (out, count, nodes) = (&options.out, samples.count(), samples.nodes());
    let words = format!("{}: {count} samples on {nodes} nodes", out.display());
    super::say(global, words, json!({ "out": out, "samples": count, "nodes": nodes }));
    Ok(())
}

/// One line per image: its number, its class, and the probability of every class.
fn images(global: &Global, options: &Options, model: &Model, classes: usize, how: &Predicting) -> Result<()> {
    if options.quadrature.is_some() {
        bail!("--quadrature: images have one rule\n  hint: leave it out");
    }
    if options.time.steps.is_some() {
        bail!("--steps: images have none\n  hint: leave it out");
    }
    let images = read_images(&options.input, false)?;
    let probabilities = model.probabilities(&images, images.side, how)?;
    let names: Vec<String> = (0..classes).map(|class| format!("p{class}")).collect();
    let mut table = format!("image,class,{}\n", names.join(","));
    for (image, row) in probabilities.chunks_exact(classes).enumerate() {
        let class = (0..classes).max_by(|&a, &b| row[a].total_cmp(&row[b])).unwrap_or(0);
        let row: Vec<String> = row.iter().map(|p| format!("{p:e}")).collect();
        table += &format!("{image},{class},{}\n", row.join(","));
    }
    write_atomically(&options.out, table.as_bytes())?;
    let plural = if images.count == 1 { "" } else { "s" };
    let (out, count, side) = (&options.out, images.count, images.side);
    let words = format!("{}: {count} image{plural} of {side} x {side} pixels", out.display());
    super::say(global, words, json!({ "out": out, "images": count, "side": side }));
    Ok(())
}
