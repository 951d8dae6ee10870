//! Dependencies point one way: a folder may use the ones above it, never the ones below. This reads the code and says where that is broken.

use std::fs;
use std::path::{Path, PathBuf};

/// The library, top to bottom, as in ARCHITECTURE.md.
const LIBRARY: &[&str] = &[
    "error",
    "seed",
    "parallel",
    "linalg",
    "engine",
    "device",
    "operation",
    "domain",
    "field",
    "kernel",
    "operator",
    "convolution",
    "model",
    "io",
    "train",
    "task",
    "analysis",
    "problem",
    "run",
    "fit",
    "auto",
];

/// The command.
const COMMAND: &[&str] = &["memory", "progress", "report", "reproduce", "commands"];

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        if entry.is_dir() {
            sources(&entry, found);
        } else if entry.extension().is_some_and(|extension| extension == "rs") {
            found.push(entry);
        }
    }
}

/// The code of a file, without its tests, its comments and what stands in quotes.
fn code(text: &str) -> String {
    let end = text.find("#[cfg(test)]\nmod tests").unwrap_or(text.len());
    let lines = text[..end].lines().map(|line| line.split("//").next().unwrap_or(""));
    lines.collect::<Vec<_>>().join("\n")
}

/// The names that follow `crate::`, also in braces.
fn used(code: &str) -> Vec<String> {
    let mut names = Vec::new();
    for rest in code.split("crate::").skip(1) {
        let list = match rest.strip_prefix('{') {
            Some(inner) => inner.split('}').next().unwrap_or("").to_string(),
            None => rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect(),
        };
        names.extend(list.split(',').map(|name| name.trim().split("::").next().unwrap_or("").to_string()));
    }
    names
}

/// Where a file of one layer uses a layer below it.
fn violations(source: &Path, layers: &[&str]) -> Vec<String> {
    let mut files = Vec::new();
    sources(source, &mut files);
    assert!(files.len() > 20, "{} has no sources", source.display());
    let level = |name: &str| layers.iter().position(|layer| *layer == name);
    let mut broken = Vec::new();
    for file in &files {
        let relative = file.strip_prefix(source).unwrap().to_string_lossy().into_owned();
        let own = relative.split('/').next().unwrap().trim_end_matches(".rs").to_string();
        // The front page ties everything together, and tests may look everywhere.
        if ["lib", "main", "checks"].contains(&own.as_str()) || relative.ends_with("tests.rs") {
            continue;
        }
        let own_level =
            level(&own).unwrap_or_else(|| panic!("{relative}: a folder that ARCHITECTURE.md does not name"));
        for name in used(&code(&fs::read_to_string(file).unwrap())) {
            if level(&name).is_some_and(|used| used > own_level) {
                broken.push(format!("{relative} uses {name}, which stands below it"));
            }
        }
    }
    broken
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

#[test]
fn no_folder_uses_one_below_it() {
    for (source, layers) in [("crates/nkn/src", LIBRARY), ("crates/nkn-cli/src", COMMAND)] {
        let broken = violations(&root().join(source), layers);
        assert!(broken.is_empty(), "{source}:\n{}", broken.join("\n"));
    }
}

/// The check itself: it finds what it is for.
#[test]
fn a_use_from_below_is_found() {
    let text = "use crate::{domain::Grid, Result};\n// crate::run\nfn f() { crate::model::g() }\n#[cfg(test)]\nmod tests { use crate::fit; }";
    assert_eq!(used(&code(text)), ["domain", "Result", "model"]);
}

/// The map names every folder.
#[test]
fn the_map_is_complete() {
    let map = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    for layer in LIBRARY.iter().chain(COMMAND) {
        assert!(map.contains(&format!("`{layer}/")) || map.contains(&format!("`{layer}.rs`")), "{layer}");
    }
}
