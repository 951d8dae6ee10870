//! The examples are built with the tests; here each is run, small, and must say what it promises.

use std::path::PathBuf;
use std::process::Command;

/// Runs an example, which cargo has built beside this test.
fn run(name: &str, arguments: &[&str]) -> String {
    let mut folder: PathBuf = std::env::current_exe().unwrap();
    folder.pop();
    folder.pop();
    let program = folder.join("examples").join(name);
    assert!(program.is_file(), "{} is built by `cargo test --workspace`", program.display());
    let output = Command::new(program).args(arguments).output().unwrap();
    assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// The number that follows these words.
fn number(text: &str, words: &str) -> f64 {
    let rest = text.split(words).nth(1).unwrap_or_else(|| panic!("{text} lacks {words}"));
    let digits: String = rest.trim_start().chars().take_while(|c| !c.is_whitespace() && *c != ',').collect();
    digits.parse().unwrap_or_else(|_| panic!("{digits} in {text}"))
}

#[test]
fn poisson() {
    let text = run("poisson", &["60"]);
    assert!(number(&text, "error") < 0.3, "{text}");
    assert!(number(&text, "51 points,") < 0.3, "{text}");
}

#[test]
fn own_arrays() {
    let text = run("own_arrays", &["30"]);
    assert!(number(&text, "error") < 0.2, "{text}");
}

#[test]
fn darcy_resolutions() {
    let text = run("darcy_resolutions", &["20"]);
    let (coarse, fine) = (number(&text, "16 x 16: error"), number(&text, "31 x 31: error"));
    assert!(coarse < 0.4 && fine < 1.3 * coarse, "{text}");
}

#[test]
fn digits() {
    let text = run("digits", &["6"]);
    assert!(number(&text, "L = 2:") < 40.0 && text.contains("at 32 x 32"), "{text}");
}
