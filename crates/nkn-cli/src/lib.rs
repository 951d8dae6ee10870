//! The command `nkn`: nonlocal kernel networks from data to report. The program `nkn` and the Python package both call [`run`]; the
//! package also writes the report of a [`Training`] of its own, and shares the program's allocator.

mod commands;
pub mod memory;
mod progress;
mod report;
mod reproduce;

pub use report::Training;

use clap::{Args, Parser, Subcommand};
use std::ffi::OsString;

/// All went well.
pub const SUCCESS: u8 = 0;
/// The arguments or the data cannot be used; nothing was changed.
pub const REFUSED: u8 = 2;
/// Ctrl-C was pressed; what was done is saved.
pub const INTERRUPTED: u8 = 130;

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
struct Global {
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

/// Runs the program with its arguments, the first of which is its name, and says how it ended.
///
/// Ctrl-C is handled from where a command trains on: the process should be the program's own.
pub fn run(arguments: impl IntoIterator<Item = impl Into<OsString> + Clone>) -> u8 {
    let cli = match Cli::try_parse_from(arguments) {
        Ok(cli) => cli,
        Err(message) => {
            // There is nobody to tell that nobody listens.
            let _ = message.print();
            return message.exit_code() as u8;
        }
    };
    command(cli).unwrap_or_else(|error| {
        eprintln!("error: {error:#}");
        REFUSED
    })
}

fn command(cli: Cli) -> anyhow::Result<u8> {
    let global = cli.global;
    if let Some(threads) = global.threads {
        anyhow::ensure!(threads > 0, "--threads: expected 1 or more, got 0\n  hint: leave it out to use all cores");
        rayon::ThreadPoolBuilder::new().num_threads(threads).build_global()?;
    }
    // On a thread of the pool: its loops begin where they stand, where the main thread would hand each of hundreds of them in a step over to the
    // pool and sleep until it is done.
    rayon::scope(|_| perform(&global, cli.command))
}

fn perform(global: &Global, command: Command) -> anyhow::Result<u8> {
    match command {
        // Trainings can be stopped, which their code says.
        Command::Quickstart(options) => return commands::quickstart::run(global, &options),
        Command::Fit(options) => return commands::fit::run(global, &options),
        Command::Train(options) => return commands::train::run(global, &options),
        Command::Deepen(options) => return commands::deepen::run(global, &options),
        Command::Reproduce(options) => return commands::reproduce::run(global, &options),
        Command::Data(options) => commands::data::run(global, &options),
        Command::Eval(options) => commands::eval::run(global, &options),
        Command::Predict(options) => commands::predict::run(global, &options),
        Command::Spectrum(options) => commands::spectrum::run(global, &options),
        Command::Report(options) => commands::report::run(global, &options),
        Command::Bench(options) => commands::bench::run(global, &options),
    }?;
    Ok(SUCCESS)
}
