//! `nkn data inspect`: what is in a data set, what is wrong with it, and what nkn would make of it.

mod picture;

use crate::Global;
use crate::report::text;
use anyhow::{Context, Result, ensure};
use clap::Args;
use nkn::io::{ArrayFacts, Inspection, Place, Role, inspect, write_atomically};
use std::path::PathBuf;

/// Options of `nkn data inspect`.
#[derive(Args)]
pub struct Options {
    /// A data set of any format: .npz, .h5, .mat, .vtu, .vti, a folder of .npy files or of meshes
    path: PathBuf,
    /// The arrays to predict [default: u]
    #[arg(long, value_delimiter = ',', value_name = "NAME")]
    outputs: Vec<String>,
    /// Draw a sample into this file: .svg, or .html with everything that was found
    #[arg(short, long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Which sample to draw, counted from 0
    #[arg(long, default_value_t = 0, value_name = "N")]
    sample: usize,
    /// Replace a file that is already there
    #[arg(long)]
    force: bool,
}

/// Runs the command.
pub fn run(global: &Global, options: &Options) -> Result<()> {
    let is_page = match options.out.as_deref().map(|out| (out, out.extension().and_then(|ending| ending.to_str()))) {
        None => false,
        Some((out, Some(ending @ ("svg" | "html")))) => {
            super::refuse_existing(out, options.force)?;
            ending == "html"
        }
        Some((out, _)) => {
            anyhow::bail!("{}: expected a name that ends with .svg or .html\n  hint: rename it", out.display())
        }
    };
    let found = inspect(&options.path, &options.outputs)?;
    match global.json {
        true => println!("{}", serde_json::to_string(&found)?),
        false => print!("{}", lines(&options.path.display().to_string(), &found)),
    }
    let Some(out) = &options.out else { return Ok(()) };
    if let Some(count) = found.samples {
        let hint = "samples are counted from 0";
        ensure!(
            options.sample < count,
            "--sample: expected at most {}, got {}\n  hint: {hint}",
            count - 1,
            options.sample
        );
    }
    let (domain, fields) = found.sample(options.sample).context(
        "there is no sample to draw: the arrays do not fit together\n  hint: see what is said about the problem",
    )?;
    let name = options.path.file_name().unwrap_or(options.path.as_os_str()).to_string_lossy();
    let drawing = picture::draw(&format!("{name}, sample {}", options.sample), &domain, &fields);
    let content = if is_page { picture::page(&name, &drawing, &lines(&name, &found)) } else { drawing.standalone() };
    write_atomically(out, content.as_bytes())?;
    eprintln!("{}: sample {}", out.display(), options.sample);
    Ok(())
}

/// All that was found, in lines.
fn lines(name: &str, found: &Inspection) -> String {
    let mut answer = format!("{name}: {}\n", found.format);
    if let (Some(count), Some(place)) = (found.samples, &found.place) {
        let samples = if count == 1 { "1 sample".into() } else { format!("{count} samples") };
        answer += &format!("{samples} on {}\n", place_text(place, count));
    }
    answer += &table(&found.arrays);
    if let Some(mask) = found.arrays.iter().find(|array| array.name == "mask") {
        answer += &format!("mask: {} of the nodes exist\n", text::rate(mask.columns[0].mean));
    }
    for array in &found.arrays {
        if let Some(gap) = &array.gap {
            let sample = gap.sample.map_or(String::new(), |sample| format!("sample {sample}, "));
            let component =
                if array.columns.len() > 1 { format!(", component {}", gap.component) } else { String::new() };
            let values = if gap.count == 1 { "value is" } else { "values are" };
            let is_finite = gap.value.parse().is_ok_and(f64::is_finite);
            let what = if is_finite { "beyond single precision" } else { "not finite" };
            answer += &format!(
                "missing: {} {values} {what} in `{}`, the first is {} at {sample}node {}{component}\n",
                gap.count, array.name, gap.value, gap.node
            );
        }
    }
    if let Some(problem) = &found.problem {
        answer += &format!("it cannot be used as it is:\n  {problem}\n");
    }
    if !found.advice.is_empty() {
        answer += "what nkn would make of it:\n";
        found.advice.iter().for_each(|line| answer += &format!("  - {line}\n"));
    }
    answer
}

fn place_text(place: &Place, count: usize) -> String {
    let joined = |numbers: &[f64], sign: &str| numbers.iter().map(|&n| number(n)).collect::<Vec<_>>().join(sign);
    let sides = |lower: &[f64], upper: &[f64]| -> String {
        let side = |(low, high): (&f64, &f64)| format!("[{}, {}]", number(*low), number(*high));
        lower.iter().zip(upper).map(side).collect::<Vec<_>>().join(" x ")
    };
    match place {
        Place::Grid { shape, lower, upper, spacing } => {
            let nodes: Vec<String> = shape.iter().map(usize::to_string).collect();
            let (nodes, corners, spacing) = (nodes.join(" x "), sides(lower, upper), joined(spacing, " x "));
            format!("a regular grid of {nodes} nodes in {corners}, spacing {spacing}")
        }
        Place::Points { dim, clouds, points: (fewest, mean, most), lower, upper, spacing, coinciding, weights } => {
            let points = match fewest == most {
                true => fewest.to_string(),
                false => format!("{fewest} to {most} (mean {})", number(*mean)),
            };
            let whose = match clouds {
                1 => "the same in all samples".into(),
                several if *several == count => "others in every sample".into(),
                several => format!("{several} different sets"),
            };
            let mut text = format!("{points} scattered points in {dim}D, {whose}, in {}", sides(lower, upper));
            if let Some([low, median, high]) = spacing.map(|spacing| spacing.map(number)) {
                text += &format!("\nnearest neighbours are {low} to {high} apart, median {median}");
            }
            if *coinciding > 0 {
                text += &format!("; {coinciding} points lie on another one");
            }
            text += &match weights {
                Some(total) => format!("\nweights are given and sum to {} in the first sample", number(*total)),
                None => "\nno weights are given: each point stands for its Voronoi cell".into(),
            };
            text
        }
    }
}

/// A line for each component of each array.
fn table(arrays: &[ArrayFacts]) -> String {
    let wide = arrays.iter().map(|array| array.name.chars().count() + 3).max().unwrap_or(0).max(6);
    let mut text = format!(
        "{:<wide$} {:<6} {:>16} {:>11} {:>11} {:>11} {:>11}  different values\n",
        "array", "role", "shape", "smallest", "largest", "mean", "deviation"
    );
    for array in arrays {
        let shape = array.shape.iter().map(usize::to_string).collect::<Vec<_>>().join(" x ");
        let role = match array.role {
            Role::Input => "input",
            Role::Output => "output",
            Role::Place => "place",
        };
        for (at, column) in array.columns.iter().enumerate() {
            let name = if array.columns.len() > 1 { format!("{}[{at}]", array.name) } else { array.name.clone() };
            let distinct = match column.distinct {
                None => "many".into(),
                Some(1) => "1, constant".into(),
                Some(few) => few.to_string(),
            };
            let [low, high, mean, deviation] = [column.low, column.high, column.mean, column.deviation].map(number);
            text += &format!(
                "{name:<wide$} {role:<6} {:>16} {low:>11} {high:>11} {mean:>11} {deviation:>11}  {distinct}\n",
                if at == 0 { shape.as_str() } else { "" }
            );
        }
    }
    text
}

/// A number as it can be copied from a terminal.
fn number(value: f64) -> String {
    text::compact(value).replace('\u{2212}', "-")
}
