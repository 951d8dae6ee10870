//! Every developer's task: `cargo xtask test`, `cargo xtask bench`.

use std::process::{Command, ExitCode};
use std::time::Instant;

/// What `cargo xtask test` runs, in this order: cheap checks first.
const TEST: &[(&str, &[&str])] = &[
    ("format", &["fmt", "--all", "--check"]),
    ("lints", &["clippy", "--release", "--workspace", "--all-targets", "--", "-D", "warnings"]),
    ("unit, property and command tests", &["test", "--release", "--workspace"]),
];

/// What `cargo xtask bench` runs.
const BENCH: &[(&str, &[&str])] = &[
    ("speed on Poisson", &["run", "--release", "--", "bench", "poisson"]),
    ("speed on Darcy", &["run", "--release", "--", "bench", "darcy"]),
];

fn main() -> ExitCode {
    let task = std::env::args().nth(1).unwrap_or_default();
    let steps = match task.as_str() {
        "test" => TEST,
        "bench" => BENCH,
        _ => {
            eprintln!(
                "cargo xtask test    format, lints, unit, property, doc and command tests\ncargo xtask bench   our own speed"
            );
            return ExitCode::from(2);
        }
    };
    for (name, arguments) in steps {
        println!("== {name}: cargo {}", arguments.join(" "));
        let begun = Instant::now();
        let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".into());
        let status = Command::new(cargo).args(*arguments).status();
        if !status.is_ok_and(|status| status.success()) {
            eprintln!("== {name}: failed after {:.0} s", begun.elapsed().as_secs_f64());
            return ExitCode::FAILURE;
        }
        println!("== {name}: passed in {:.0} s", begun.elapsed().as_secs_f64());
    }
    ExitCode::SUCCESS
}
