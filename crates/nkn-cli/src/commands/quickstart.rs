//! `nkn quickstart`: the whole path on the smallest problem.

use crate::Global;
use anyhow::Result;
use clap::Args;
use nkn::run::{Existing, RunConfig, RunFolder};
use std::path::{Path, PathBuf};

/// The configuration, as part of the program.
const CONFIG: &str = include_str!("../../../../configs/quickstart.toml");

/// Options of `nkn quickstart`.
#[derive(Args)]
pub struct Options {
    /// The run's folder [default: runs/quickstart, or the next free number]
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
}

/// Runs the command.
pub fn run(global: &Global, options: &Options) -> Result<u8> {
    let config = RunConfig::parse(CONFIG, Path::new("configs/quickstart.toml"), &[])?;
    let data = config.data.load_with(&crate::progress::generating())?;
    let config = config.resolve(&data)?;
    let free = || {
        let names = std::iter::once("quickstart".to_string()).chain((2..).map(|i| format!("quickstart-{i}")));
        names.map(|name| Path::new("runs").join(name)).find(|path| !path.exists()).unwrap_or_default()
    };
    let out = options.out.clone().unwrap_or_else(free);
    let folder = RunFolder::create(&out, &config, Existing::Refuse)?;
    eprintln!(
        "learning f -> u for -u'' = f from {} samples on {} points, depths {:?}",
        data.count(),
        data.resolution(),
        config.train.depths
    );
    let code = super::train::train(global, &folder, &data, None)?;
    if code != crate::SUCCESS {
        return Ok(code);
    }
    let report = crate::report::source::write(folder.path())?;
    if !global.json {
        println!("the same weights on other grids:");
        let model = folder.model()?;
        for points in [51, 101, 201, 401] {
            let test = config.data.tests_at(&[points], &|_, _| {})?.remove(0);
            println!("  {points:>4} points: relative L2 error {:.2e}", model.error(&test)?);
        }
        println!("open the report: {}", report.display());
    }
    Ok(crate::SUCCESS)
}
