//! The command `nkn`: nonlocal kernel networks from data to report.

mod commands;
mod memory;
mod progress;
mod report;
mod reproduce;

use clap::{Args, Parser, Subcommand};
use std::process::ExitCode;

/// Nonlocal kernel networks: learn the map from one function to another, at any depth and any resolution.
#[derive(Parser)]
#[command(name = "nkn", version, propagate_version = true)]
struct Cli {
    #[command(flatten)]
    global: Global,
    #[command(subcommand)]
    command: Command,
}

/// Options of every command.
#[derive(Args, Clone)]
pub struct Global {
    /// Threads to use; the results do not depend on it [default: all cores]
    #[arg(long, global = true, value_name = "N")]
    pub threads: Option<usize>,
    /// Print results as JSON, one object a line
    #[arg(long, global = true)]
    pub json: bool,
    /// Where to compute
    #[arg(long, global = true, default_value = "cpu")]
    pub device: nkn::Device,
}

/// What nkn can do.
#[derive(Subcommand)]
enum Command {
    /// One minute: learn the 1D Poisson problem, deepen, evaluate, report
    Quickstart(commands::quickstart::Options),
    /// Write a data set, or say what is in one
    #[command(subcommand)]
    Data(commands::data::Options),
    /// Fit the best network that the time allows to your samples, without a configuration
    Fit(commands::fit::Options),
    /// Train what a configuration file describes
    Train(commands::train::Options),
    /// Continue a run at greater depth (shallow-to-deep)
    Deepen(commands::deepen::Options),
    /// Errors of a run on data of any resolution
    Eval(commands::eval::Options),
    /// Apply a trained network to new inputs, at any resolution
    Predict(commands::predict::Options),
    /// Eigenvalues of the trained operator, amplification, and the depth from which its steps are stable
    Spectrum(commands::spectrum::Options),
    /// One HTML file: errors, curves, fields, Green's function, spectrum
    Report(commands::report::Options),
    /// The paper's tables and figures beside ours: trains what they need, resumable at any point
    Reproduce(commands::reproduce::Options),
    /// Our own speed, in operations and as a share of the machine's peak
    Bench(commands::bench::Options),
}

#[global_allocator]
static ALLOCATOR: memory::Allocator = memory::Allocator;

/// A training step allocates and frees the same tens of megabytes again and again. By default glibc gives them back to the
/// system each time, and a quarter of a step goes into mapping fresh pages.
fn keep_freed_memory() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        unsafe extern "C" {
            fn mallopt(parameter: i32, value: i32) -> i32;
        }
        const TRIM_THRESHOLD: i32 = -1;
        const MMAP_THRESHOLD: i32 = -3;
        // SAFETY: mallopt only changes numbers inside the allocator and is called before any thread starts.
        unsafe {
            mallopt(MMAP_THRESHOLD, 32 << 20);
            mallopt(TRIM_THRESHOLD, 1 << 30);
        }
    }
}

fn main() -> ExitCode {
    keep_freed_memory();
    let cli = Cli::parse();
    match run(cli) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(2)
        }
    }
}

fn run(cli: Cli) -> anyhow::Result<ExitCode> {
    let global = cli.global;
    if let Some(threads) = global.threads {
        anyhow::ensure!(threads > 0, "--threads: expected 1 or more, got 0\n  hint: leave it out to use all cores");
        rayon::ThreadPoolBuilder::new().num_threads(threads).build_global()?;
    }
    match cli.command {
        // Trainings can be stopped, which their code says.
        Command::Quickstart(options) => return commands::quickstart::run(&global, &options),
        Command::Fit(options) => return commands::fit::run(&global, &options),
        Command::Train(options) => return commands::train::run(&global, &options),
        Command::Deepen(options) => return commands::deepen::run(&global, &options),
        Command::Reproduce(options) => return commands::reproduce::run(&global, &options),
        Command::Data(options) => commands::data::run(&global, &options),
        Command::Eval(options) => commands::eval::run(&global, &options),
        Command::Predict(options) => commands::predict::run(&global, &options),
        Command::Spectrum(options) => commands::spectrum::run(&global, &options),
        Command::Report(options) => commands::report::run(&options),
        Command::Bench(options) => commands::bench::run(&global, &options),
    }?;
    Ok(ExitCode::SUCCESS)
}
