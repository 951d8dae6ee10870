//! `nkn spectrum`: eigenvalues of the trained operator and what they say about its steps.

use crate::Global;
use anyhow::Result;
use clap::Args;
use nkn::analysis::spectrum::spectrum;
use nkn::analysis::{Elliptic, Spectrum};
use nkn::field::Samples;
use nkn::io::write_atomically;
use nkn::model::{Kind, Model};
use nkn::run::RunFolder;
use std::path::PathBuf;
use std::process::ExitCode;

/// Up to this size the matrix is formed and all eigenvalues are computed.
const DENSE_LIMIT: usize = 2000;
/// Eigenvalues at each end beyond that.
const WANTED: usize = 20;

/// Options of `nkn spectrum`.
#[derive(Args)]
pub struct Options {
    /// The folder of a trained run
    run: PathBuf,
    /// Only this depth [default: every depth of the run]
    #[arg(long)]
    depth: Option<usize>,
}

/// The spectrum of one depth.
pub struct DepthSpectrum {
    /// dt.
    pub step: f64,
    /// Eigenvalues of the elliptic operator.
    pub spectrum: Spectrum,
    /// The smallest depth from which the steps are stable.
    pub stable_from: Option<usize>,
}

impl DepthSpectrum {
    /// The spectrum of a model on the first of the samples.
    pub fn of(model: &Model, samples: &Samples) -> Result<Self> {
        let operator = Elliptic::new(model, samples)?;
        let spectrum = spectrum(&operator, DENSE_LIMIT, WANTED)?;
        // A GKN layer has no time step that a greater depth would shrink.
        let stable_from = match model.config.kind {
            Kind::Nkn => spectrum.stable_depth(model.config.time),
            Kind::Gkn | Kind::Fno => None,
        };
        Ok(Self { step: operator.step(), spectrum, stable_from })
    }
}

/// Runs the command.
pub fn run(global: &Global, options: &Options) -> Result<ExitCode> {
    super::images::refuse(&options.run, "spectrum")?;
    let folder = RunFolder::open(&options.run)?;
    let data = folder.config()?.data.load_with(&crate::progress::generating())?;
    let depths = match options.depth {
        Some(depth) => vec![depth],
        None => folder.depths(),
    };
    if !global.json {
        println!(
            "eigenvalues λ of the elliptic operator (R - L_k for NKN, 1 - R - A_k for GKN) on the first training sample"
        );
        println!(
            "{:>6} {:>9} {:>12} {:>12} {:>15} {:>15} {:>8} {:>13}",
            "depth", "dt", "max Re λ", "min Re λ", "max |1 - dt λ|", "min sym. part", "stable", "stable from L"
        );
    }
    let mut csv = String::from("depth,real,imaginary\n");
    for depth in depths {
        let result = DepthSpectrum::of(&folder.model_at(depth)?, &data.train)?;
        let s = &result.spectrum;
        for (real, imaginary) in &s.eigenvalues {
            csv += &format!("{depth},{real:e},{imaginary:e}\n");
        }
        let amplification = s.amplification(result.step);
        if global.json {
            println!(
                "{}",
                serde_json::json!({
                    "depth": depth, "step": result.step, "largest_real": s.largest_real, "smallest_real": s.smallest_real,
                    "amplification": amplification, "smallest_symmetric": s.smallest_symmetric,
                    "stable": s.is_stable(result.step), "stable_from": result.stable_from, "complete": s.complete, "residual": s.residual,
                })
            );
            continue;
        }
        println!(
            "{depth:>6} {:>9.4} {:>12.4} {:>12.4} {amplification:>15.6} {:>15.4} {:>8} {:>13}",
            result.step,
            s.largest_real,
            s.smallest_real,
            s.smallest_symmetric,
            if s.is_stable(result.step) { "yes" } else { "no" },
            result.stable_from.map_or("none".into(), |depth| depth.to_string()),
        );
        if !s.complete {
            println!("       (ends of the spectrum by a Krylov method, residual {:.1e})", s.residual);
        }
    }
    write_atomically(&folder.path().join("spectrum.csv"), csv.as_bytes())?;
    Ok(ExitCode::SUCCESS)
}
