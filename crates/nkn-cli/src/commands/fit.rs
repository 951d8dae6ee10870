//! `nkn fit`: the best network that the time allows, without a configuration.

use crate::Global;
use crate::progress::{Progress, should_stop, stop_on_ctrl_c};
use anyhow::{Result, bail, ensure};
use clap::Args;
use nkn::auto::{Auto, Fitted, Record, Wanted};
use nkn::run::{Data, DataConfig, Problem};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// Options of `nkn fit`.
#[derive(Args)]
#[command(after_help = "Every choice is printed with its reason. The run's config.toml repeats the result: \
    nkn train RUN/config.toml --out AGAIN")]
pub struct Options {
    /// The samples to learn from: inputs and outputs on a grid or on points (see docs/formats.md)
    train: PathBuf,
    /// Samples for the final error; they decide nothing. What is kept is decided by samples split off from TRAIN
    #[arg(long, value_name = "FILE")]
    test: Option<PathBuf>,
    /// The time for everything: looking, trying, training
    #[arg(long, default_value_t = 10.0, value_name = "M")]
    minutes: f64,
    /// The outputs to learn, by the names of their arrays; all others are inputs [default: u]
    #[arg(long, value_delimiter = ',', value_name = "NAME")]
    outputs: Vec<String>,
    /// nkn, gkn, fno, or auto: what fits the data better in the same time
    #[arg(long, default_value = "auto")]
    kind: Wanted,
    /// Where all randomness comes from: the split, the weights, the order of samples
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// The run's folder [default: runs/NAME of the training file]
    #[arg(short, long, value_name = "RUN")]
    out: Option<PathBuf>,
    /// Continue an interrupted search; minutes, kind and seed are those of its beginning
    #[arg(long, conflicts_with = "force")]
    resume: bool,
    /// Replace a search that is already there
    #[arg(long)]
    force: bool,
}

/// Runs the command.
pub fn run(global: &Global, options: &Options) -> Result<u8> {
    let root = options.out.clone().unwrap_or_else(|| {
        let name = options.train.file_stem().unwrap_or_default();
        Path::new("runs").join(name)
    });
    let config = DataConfig {
        problem: Problem::Files,
        train: Some(absolute(&options.train)?),
        test: options.test.as_deref().map(absolute).transpose()?,
        outputs: options.outputs.clone(),
        ..DataConfig::default()
    };
    let Data::Functions { train, test } = config.load()? else { bail!("functions are fitted, not images") };
    if options.force {
        remove(&root)?;
    }
    stop_on_ctrl_c()?;
    let progress = Arc::new(Mutex::new(Progress::new(global)));
    let shown = |progress: &Arc<Mutex<Progress>>| {
        let progress = progress.clone();
        move |show: &mut dyn FnMut(&mut Progress)| show(&mut progress.lock().unwrap_or_else(|p| p.into_inner()))
    };
    let (events, choices, json) = (shown(&progress), shown(&progress), global.json);
    let auto = Auto::new()
        .minutes(options.minutes)
        .kind(options.kind)
        .seed(options.seed)
        .device(global.device)
        .data(config)
        .stop_when(should_stop)
        .observe(move |event| events(&mut |progress| progress.show(event)))
        .tell(move |choice| {
            let line = if json { serde_json::to_string(choice).unwrap_or_default() } else { choice.to_string() };
            choices(&mut |progress| progress.print(&line));
        });
    let auto = if options.resume { auto.resume(&root) } else { auto.run(&root) };
    let fitted = match &test {
        Some(test) => auto.fit_tested(&train, test),
        None => auto.fit(&train),
    };
    shown(&progress)(&mut |progress| progress.finish());
    match fitted {
        Ok(fitted) => finish(&root, &fitted, global.json),
        Err(nkn::Error::Stopped) => {
            eprintln!("interrupted; run the same command with --resume to go on in {}", root.display());
            Ok(crate::INTERRUPTED)
        }
        Err(error) => Err(error.into()),
    }
}

/// Says how good the network is, and writes the report.
fn finish(root: &Path, fitted: &Fitted, json: bool) -> Result<u8> {
    let report = crate::report::source::write(root)?;
    let Fitted { model, validation, test, .. } = fitted;
    if json {
        let line = serde_json::json!({ "network": model.title(), "validation": validation, "test": test });
        println!("{line}");
        return Ok(crate::SUCCESS);
    }
    println!("{}: relative L2 error {validation:.2e} on the validation samples", model.title());
    if let Some(test) = test {
        println!("{}: relative L2 error {test:.2e} on the test samples, which decided nothing", model.title());
    }
    println!("the same again: nkn train {} --out AGAIN", root.join("config.toml").display());
    println!("open the report: {}", report.display());
    Ok(crate::SUCCESS)
}

/// Paths that mean the same from every folder, so that the run's configuration can be used anywhere.
fn absolute(path: &Path) -> Result<PathBuf> {
    Ok(std::fs::canonicalize(path).map_err(nkn::Error::io(path, "read"))?)
}

/// Removes the folder of a search, and nothing else.
fn remove(root: &Path) -> Result<()> {
    if !root.exists() {
        return Ok(());
    }
    ensure!(
        Record::read(root)?.is_some(),
        "{}: is not the folder of a search, so --force does not touch it\n  hint: choose another place with --out",
        root.display()
    );
    std::fs::remove_dir_all(root).map_err(nkn::Error::io(root, "remove"))?;
    Ok(())
}
