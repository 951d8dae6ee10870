//! Every developer's task: `cargo xtask test`, `python`, `bench`, `wheel`.

mod python;

use std::process::{Command, ExitCode};
use std::time::Instant;

/// What `cargo xtask test` runs, in this order: cheap checks first.
const TEST: &[(&str, &[&str])] = &[
    ("format", &["fmt", "--all", "--check"]),
    ("lints", &["clippy", "--release", "--workspace", "--all-targets", "--", "-D", "warnings"]),
    ("unit, property and command tests", &["test", "--release", "--workspace"]),
    ("the command and the extension", &["build", "--release", "--workspace"]),
];

/// What `cargo xtask python` runs before the tests of the package.
const PYTHON: &[(&str, &[&str])] = &[("the command and the extension", &["build", "--release", "--workspace"])];

/// What `cargo xtask bench` runs.
const BENCH: &[(&str, &[&str])] = &[
    ("speed on Poisson", &["run", "--release", "--", "bench", "poisson"]),
    ("speed on Darcy", &["run", "--release", "--", "bench", "darcy"]),
];

/// The draws of the property tests follow from it: the same commit passes or fails everywhere alike. Set in the
/// environment to another number, it draws others.
const SEED: &str = "PROPTEST_RNG_SEED";

/// Without what cargo tells a program that it runs: build scripts look at some of it, and would be run again, with all
/// that depends on them, whenever a build begins from here instead of from a shell.
fn plain(command: &mut Command) -> &mut Command {
    let told = |name: &str| name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_");
    std::env::vars_os()
        .filter(|(name, _)| name.to_str().is_some_and(told))
        .fold(command, |c, (name, _)| c.env_remove(name))
}

fn main() -> ExitCode {
    let task = std::env::args().nth(1).unwrap_or_default();
    let (steps, last): (_, fn() -> Result<(), String>) = match task.as_str() {
        "test" => (TEST, python::test),
        "python" => (PYTHON, python::test),
        "bench" => (BENCH, || Ok(())),
        "wheel" => (&[], python::wheel),
        _ => {
            eprintln!("cargo xtask test    format, lints, unit, property, doc and command tests, the Python package");
            eprintln!("cargo xtask python  the tests of the Python package alone");
            eprintln!("cargo xtask bench   our own speed");
            eprintln!("cargo xtask wheel   the release wheel of the Python package, in target/wheels");
            return ExitCode::from(2);
        }
    };
    let seed = std::env::var(SEED).unwrap_or_else(|_| "0".into());
    for (name, arguments) in steps {
        println!("== {name}: cargo {}", arguments.join(" "));
        let begun = Instant::now();
        let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".into());
        let status = plain(&mut Command::new(cargo)).env(SEED, &seed).args(*arguments).status();
        if !status.is_ok_and(|status| status.success()) {
            eprintln!("== {name}: failed after {:.0} s", begun.elapsed().as_secs_f64());
            return ExitCode::FAILURE;
        }
        println!("== {name}: passed in {:.0} s", begun.elapsed().as_secs_f64());
    }
    let begun = Instant::now();
    if let Err(error) = last() {
        eprintln!("== failed after {:.0} s: {error}", begun.elapsed().as_secs_f64());
        return ExitCode::FAILURE;
    }
    println!("== all passed ({SEED}={seed})");
    ExitCode::SUCCESS
}
