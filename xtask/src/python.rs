//! The Python package: its tests in a virtual environment under the target folder, and its wheel.
//!
//! The tests take the extension that `cargo build` has made, so that Burn is not built a second time for them.

use crate::plain;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What the tests need besides the package itself.
const PACKAGES: &[&str] = &["numpy", "scikit-learn", "joblib", "mypy", "pytest", "pandas", "matplotlib", "tqdm"];

/// PyTorch where its wheel is for the processor alone; elsewhere it brings gigabytes for graphics cards.
const HAS_SMALL_TORCH: bool = !(cfg!(target_os = "linux") && cfg!(target_arch = "x86_64"));

/// A step's name, program, arguments and the folder in which it runs.
type Step = (&'static str, PathBuf, Vec<String>, PathBuf);

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask stands in the workspace").into()
}

fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}

fn python() -> PathBuf {
    let programs = if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" };
    target().join("python").join(programs)
}

/// Copies the package and the built extension to where the environment finds them.
fn install() -> Result<PathBuf, String> {
    let (from, site) = (root().join("crates/nkn-py/python/nkn"), target().join("python/package"));
    let folder = site.join("nkn");
    let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
    std::fs::create_dir_all(&folder).map_err(failed)?;
    for entry in std::fs::read_dir(&from).map_err(failed)?.flatten().filter(|entry| entry.path().is_file()) {
        std::fs::copy(entry.path(), folder.join(entry.file_name())).map_err(failed)?;
    }
    let (library, module) = match () {
        _ if cfg!(windows) => ("_nkn.dll", "_nkn.pyd"),
        _ if cfg!(target_os = "macos") => ("lib_nkn.dylib", "_nkn.abi3.so"),
        _ => ("lib_nkn.so", "_nkn.abi3.so"),
    };
    // A new file: one that a process has loaded must not change under it.
    let module = folder.join(module);
    let _ = std::fs::remove_file(&module);
    std::fs::copy(target().join("release").join(library), module).map_err(failed)?;
    Ok(site)
}

/// The steps of the tests; the environment is made if it is not there.
fn steps(site: &Path) -> Vec<Step> {
    let (package, words) = (root().join("crates/nkn-py"), |all: &[&str]| all.iter().map(|w| w.to_string()).collect());
    let (folder, sources) = (target().join("python"), site.join("nkn"));
    let source = |name: &str| sources.join(name).display().to_string();
    let mut install: Vec<String> = words(&["-m", "pip", "install", "--quiet"]);
    install.extend(PACKAGES.iter().map(|name| name.to_string()));
    if HAS_SMALL_TORCH || std::env::var_os("NKN_TEST_TORCH").is_some() {
        install.push("torch".into());
    } else {
        println!("== python: PyTorch is tested if it is in {}: pip's brings gigabytes here,", folder.display());
        println!("   NKN_TEST_TORCH=1 cargo xtask test installs it");
    }
    let mut doctests: Vec<String> = words(&["-m", "pytest", "-q", "-p", "no:cacheprovider", "--doctest-modules"]);
    let with_examples = ["__init__", "_samples", "_functions", "_images", "_auto", "_load", "problems"];
    doctests.extend(with_examples.map(|name| source(&format!("{name}.py"))));
    let mut types: Vec<String> = words(&["-m", "mypy", "--strict", "--config-file"]);
    types.extend([package.join("pyproject.toml").display().to_string(), source("")]);
    types.push(package.join("tests/typed.py").display().to_string());
    let base = std::env::var_os("PYTHON").map_or_else(|| PathBuf::from("python3"), PathBuf::from);
    let environment = words(&["-m", "venv", &folder.display().to_string()]);
    vec![
        ("environment", base, environment, root()),
        ("packages", python(), install, root()),
        // As pip does when it installs: the environment may forbid Python to keep its bytecode.
        ("bytecode", python(), words(&["-m", "compileall", "-q", "nkn"]), site.into()),
        ("pytest", python(), words(&["-m", "pytest", "-q", "-rs", "tests"]), package.clone()),
        ("doctests", python(), doctests, site.into()),
        ("types", python(), types, site.into()),
        ("notebooks", python(), words(&["tests/notebooks.py", "../../docs/guide/notebooks"]), package),
    ]
}

/// Runs the tests of the package; the extension must have been built.
pub fn test() -> Result<(), String> {
    let site = install()?;
    for (name, program, arguments, folder) in steps(&site) {
        let is_made = python().is_file();
        if name == "environment" && is_made {
            continue;
        }
        run(name, &program, &arguments, &folder, &site)?;
    }
    Ok(())
}

/// What makes the release wheel small: packed well, and functions with the same machine code kept once where the linker
/// that comes with Rust can.
const SMALL: &str = if cfg!(all(target_os = "linux", target_arch = "x86_64")) {
    "--compression-level 9 -- -C link-arg=-Wl,--icf=all"
} else {
    "--compression-level 9"
};

/// Makes the release wheel in target/wheels.
pub fn wheel() -> Result<(), String> {
    let folder = target().join("wheels");
    if !python().is_file() {
        let base = std::env::var_os("PYTHON").map_or_else(|| PathBuf::from("python3"), PathBuf::from);
        let environment =
            ["-m", "venv"].map(String::from).into_iter().chain([target().join("python").display().to_string()]);
        run("environment", &base, &environment.collect::<Vec<_>>(), &root(), &root())?;
    }
    let words = ["-m", "pip", "wheel", "--no-deps", "--wheel-dir"].map(String::from).into_iter();
    let settings = format!("--config-settings=build-args={SMALL}");
    let arguments: Vec<String> =
        words.chain([folder.display().to_string(), settings, "./crates/nkn-py".into()]).collect();
    run("wheel", &python(), &arguments, &root(), &root())
}

fn run(name: &str, program: &Path, arguments: &[String], folder: &Path, site: &Path) -> Result<(), String> {
    println!("== python {name}: {} {}", program.display(), arguments.join(" "));
    let status = plain(&mut Command::new(program))
        .args(arguments)
        .current_dir(folder)
        .env("PYTHONPATH", site)
        .env("NKN_COMMAND", target().join("release/nkn"))
        .env("MPLBACKEND", "agg")
        .status();
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("python {name}: {status}")),
        Err(error) => Err(format!("python {name}: {} does not start: {error}", program.display())),
    }
}
