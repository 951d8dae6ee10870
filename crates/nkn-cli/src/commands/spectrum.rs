//! `nkn spectrum`: eigenvalues of the trained operator and what they say about its steps.

use crate::Global;
use crate::report::source;
use anyhow::Result;
use clap::Args;
use nkn::analysis::{Elliptic, Stability};
use nkn::io::write_atomically;
use nkn::model::{Block, Model};
use nkn::run::{Data, RunFolder};
use std::path::PathBuf;

/// Options of `nkn spectrum`.
#[derive(Args)]
pub struct Options {
    /// The folder of a trained run
    run: PathBuf,
    /// Only this depth [default: every depth of the run]
    #[arg(long)]
    depth: Option<usize>,
}

/// The operators of a network: one, or one for each step of the nonlocal block of a residual network.
fn operators(model: &Model, data: &Data) -> nkn::Result<Vec<Elliptic>> {
    let steps = if model.config().block == Block::Nkn { model.depth() } else { 1 };
    (0..steps).map(|step| source::operator(model, data, step)).collect()
}

/// Runs the command.
pub fn run(global: &Global, options: &Options) -> Result<()> {
    let folder = RunFolder::open(&options.run)?;
    let data = folder.config()?.data.load_with(&crate::progress::generating())?;
    let depths = source::depths(&folder, options.depth)?;
    let models = depths.iter().map(|&depth| folder.model_at(depth)).collect::<nkn::Result<Vec<_>>>()?;
    if let Some(model) = models.first() {
        // Whether the question has a meaning, before anything is printed.
        operators(model, &data)?;
    }
    if !global.json {
        let samples = if matches!(data, Data::Images(_)) { "images" } else { "the first training sample" };
        println!("eigenvalues λ of the elliptic operator (R - L_k for NKN, 1 - R - A_k for GKN) on {samples}");
        println!(
            "{:>6} {:>9} {:>12} {:>12} {:>15} {:>15} {:>8} {:>13} {:>13}",
            "depth",
            "dt",
            "max Re λ",
            "min Re λ",
            "max |1 - dt λ|",
            "min sym. part",
            "stable",
            "stable from L",
            "proven from L"
        );
    }
    let mut csv = String::from("depth,real,imaginary\n");
    for model in &models {
        let depth = model.depth();
        for operator in operators(model, &data)? {
            let result = Stability::of(model, &operator)?;
            for (real, imaginary) in &result.spectrum.eigenvalues {
                csv += &format!("{depth},{real:e},{imaginary:e}\n");
            }
            show(global, &result);
        }
    }
    write_atomically(&folder.path().join("spectrum.csv"), csv.as_bytes())?;
    Ok(())
}

fn show(global: &Global, result: &Stability) {
    let (s, depth, amplification) = (&result.spectrum, result.depth, result.amplification());
    if global.json {
        let line = serde_json::json!({
            "depth": depth, "step": result.step, "largest_real": s.largest_real, "smallest_real": s.smallest_real,
            "amplification": amplification, "smallest_symmetric": s.smallest_symmetric,
            "stable": result.is_stable(), "stable_from": result.stable_from, "certified_from": result.certified_from,
            "certified_by_row_sums_from": result.certificate.map(|one| one.depth_by_row_sums(result.time)),
            "complete": s.complete, "residual": s.residual,
        });
        println!("{line}");
        return;
    }
    println!(
        "{depth:>6} {:>9.4} {:>12.4} {:>12.4} {amplification:>15.6} {:>15.4} {:>8} {:>13} {:>13}",
        result.step,
        s.largest_real,
        s.smallest_real,
        s.smallest_symmetric,
        if result.is_stable() { "yes" } else { "no" },
        result.stable_from.map_or("none".into(), |depth| depth.to_string()),
        result.certified_from.map_or("none".into(), |depth| depth.to_string()),
    );
    if let Some(certificate) = &result.certificate {
        println!(
            "       proven: no state grows if dt <= {:.3e} (by sums of rows from L = {})",
            certificate.step(),
            certificate.depth_by_row_sums(result.time),
        );
    }
    if let Some(safe) = result.certified_from.filter(|&safe| safe > depth) {
        eprintln!("warning: depth {depth} is below the certificate: from depth {safe} on no state can grow");
    }
    if !s.complete {
        println!("       (ends of the spectrum by a Krylov method, residual {:.1e})", s.residual);
    }
}
