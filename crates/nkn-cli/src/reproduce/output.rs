//! From the folders of the trainings to results.csv, tables and the page.

use super::figures::depth::errors_against_depth;
use super::figures::losses::loss_curves;
use super::figures::{on, resolution};
use super::names::{RANDOM, kind_name};
use super::page::{Page, render};
use super::problem::{Budget, Job, Request, Task};
use super::row::{Data, Row, from_results, to_csv};
use super::runner::in_words;
use super::simple::{cost, eigenvalues, parameters, spent};
use super::table::{Table, costs, errors, tables};
use super::training::Training;
use super::{latex, markdown};
use crate::report;
use crate::report::curves::{Curve, Line};
use anyhow::{Context, Result, anyhow, bail};
use nkn::io::write_atomically;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

/// The trainings that were begun with the request's settings, also those that it does not ask for.
fn found(request: &Request) -> Result<Vec<Training>> {
    let mut found: Vec<Training> = Vec::new();
    let asked_for = request.jobs().into_iter().map(|job| (job, true));
    for (job, is_asked_for) in asked_for.chain(request.everything().jobs().into_iter().map(|job| (job, false))) {
        let training = Training::new(job, request)?;
        if !training.is_begun() || found.iter().any(|known| known.folder == training.folder) {
            continue;
        }
        match training.is_finished() {
            Err(error) if is_asked_for => return Err(error),
            Err(_) => {}
            Ok(_) => found.push(training),
        }
    }
    Ok(found)
}

/// The numbers of the request's other runs, file by file.
pub fn joining(request: &Request) -> Result<Vec<Vec<Row>>> {
    let read = |path: &PathBuf| {
        let hint = "the results.csv of another nkn reproduce";
        let text = std::fs::read_to_string(path)
            .map_err(|error| anyhow!("--join {}: could not read ({error})\n  hint: expected {hint}", path.display()))?;
        let name = request.problem.name;
        let rows = from_results(&text, path, name).with_context(|| format!("--join: expected {hint}"))?;
        if let Some(row) = rows.iter().find(|row| row.key.problem != name) {
            bail!("--join {}: expected results of {name}, got those of {}", path.display(), row.key.problem);
        }
        Ok(rows)
    };
    request.join.iter().map(read).collect()
}

/// The rows, and of each of the others, in their order, the trainings at a depth that are not there yet: numbers of two trainings are
/// never mixed.
fn joined(mut rows: Vec<Row>, others: &[Vec<Row>]) -> Vec<Row> {
    let training = |Row { key, seed, .. }: &Row| (key.model.clone(), key.data, key.depth, key.trained_at, *seed);
    for other in others {
        let known: BTreeSet<_> = rows.iter().map(training).collect();
        rows.extend(other.iter().filter(|row| !known.contains(&training(row))).cloned());
    }
    rows
}

/// Writes results.csv, results.md, results.tex and index.html; returns the page's path. At the end of the command, which the page
/// then names, there is time for predictions too.
pub fn write(request: &Request, command: Option<String>) -> Result<PathBuf> {
    let (found, tests) = (found(request)?, request.tests());
    let own = found.iter().map(|training| training.rows(&tests)).collect::<Result<Vec<_>>>()?.concat();
    let rows = joined(own, &joining(request)?);
    let mut page = page(request, &rows);
    if let Some(words) = found.first().map(Training::settings_in_words).filter(|words| !words.is_empty()) {
        page.summary = format!("{words}. {}", page.summary);
        page.facts.push(("budget".into(), words));
    }
    page.figures.extend(loss_figure(&found)?);
    if let Some(command) = command {
        page.facts.push(("command".into(), command));
        page.figures.extend(field_figures(request, &found)?);
    }
    let all = || page.tables.iter().chain(&page.costs);
    let text = |table: fn(&Table) -> String, simple: fn(&super::simple::SimpleTable) -> String| {
        all().map(table).chain(page.simple.iter().map(simple)).collect::<Vec<_>>().join("\n")
    };
    let files = [
        ("results.csv", to_csv(&rows)),
        ("results.md", text(markdown::comparison, markdown::simple)),
        ("results.tex", text(latex::comparison, latex::simple)),
        ("index.html", render(&page)),
    ];
    for (name, content) in files {
        write_atomically(&request.out().join(name), content.as_bytes())?;
    }
    Ok(request.out().join("index.html"))
}

/// The part of the page that follows from the rows alone.
fn page(request: &Request, rows: &[Row]) -> Page {
    let problem = request.problem;
    let cells = errors(problem, rows);
    let (trainings, seconds) = spent(problem, rows);
    let seeds: BTreeSet<u64> = rows.iter().map(|row| row.seed).collect();
    let what = match problem.task {
        Task::Functions => "Errors are means over the samples of ‖û − u‖ / ‖u‖, lower is better.",
        Task::Images => "Errors are shares of images taken for another class, lower is better.",
    };
    let trained = if trainings == 1 { "1 training".to_owned() } else { format!("{trainings} trainings") };
    let machine = if request.join.is_empty() { " on this machine" } else { "" };
    let mut simple: Vec<_> = parameters(problem, rows).into_iter().collect();
    simple.extend([Data::Normalised, Data::Original].into_iter().filter_map(|data| eigenvalues(problem, rows, data)));
    simple.extend(cost(problem, rows));
    let depth = errors_against_depth(problem, &cells);
    Page {
        title: format!("{}: the paper's tables beside ours", problem.title),
        summary: format!("{trained}, {} of training{machine}. {what}", in_words(seconds)),
        is_quick: request.budget == Budget::Quick,
        facts: vec![
            ("seeds".into(), seeds.iter().map(u64::to_string).collect::<Vec<_>>().join(", ")),
            ("trainings".into(), trainings.to_string()),
            ("training time".into(), in_words(seconds)),
        ],
        tables: tables(problem, &cells),
        costs: tables(problem, &costs(problem, rows)),
        simple,
        overview: resolution::costs(problem, &cells),
        figures: depth.into_iter().map(|figure| ("Errors against depth".to_owned(), figure)).collect(),
        notes: problem.notes.iter().map(|note| note.to_string()).collect(),
    }
}

/// Training losses of shallow-to-deep and of random initialisation, where both were trained.
fn loss_figure(found: &[Training]) -> Result<Option<(String, String)>> {
    let mut by_depth: BTreeMap<usize, Vec<Line>> = BTreeMap::new();
    for random in found.iter().filter(|found| found.job.model.ends_with(RANDOM)) {
        let ladder = Job { model: random.job.model.trim_end_matches(RANDOM).to_owned(), ..random.job.clone() };
        for (name, is_it) in [("shallow-to-deep", &ladder.name()), ("random initialisation", &random.job.name())] {
            if let Some(one) = found.iter().find(|found| found.job.name() == *is_it) {
                for (depth, line) in one.losses(name)? {
                    by_depth.entry(depth).or_default().push(line);
                }
            }
        }
    }
    let curves: Vec<_> = by_depth.into_iter().map(|(depth, lines)| Curve { depth, lines }).collect();
    Ok(Some(("Shallow to deep".to_owned(), loss_curves(&curves))).filter(|(_, figure)| !figure.is_empty()))
}

/// The same samples with every model, at every resolution: a figure per model, from its first training.
fn field_figures(request: &Request, found: &[Training]) -> Result<Vec<(String, String)>> {
    let mut figures = Vec::new();
    for &model in request.problem.models {
        for training in found.iter().filter(|found| found.job.model == model) {
            if let Some((depth, shown)) = training.fields(&request.tests())? {
                let (name, side, on) = (kind_name(model), training.job.trained_at, on(training.job.data));
                let heading = format!("Fields: {name} at L = {depth}, trained on {side} x {side} nodes{on}");
                figures.push((heading, report::fields::figure(&shown)));
                break;
            }
        }
    }
    Ok(figures)
}

#[cfg(test)]
mod tests {
    use super::super::problem::tests::request;
    use super::super::row::from_csv;
    use super::super::row::tests::{image, seeds};
    use super::*;
    use std::path::Path;

    /// What was measured, some of it by version 0.1, from the files in docs/results.
    fn documented(name: &str, csv: &str) -> Page {
        let mut common = Row { key: image("", None, 0, 0), seed: 0, value: 0.0 };
        common.key.problem = name.into();
        page(&request(name), &from_csv(csv, Path::new("reproduce.csv"), &common).unwrap())
    }

    macro_rules! documented {
        ($name:literal) => {
            documented($name, include_str!(concat!("../../../../docs/results/", $name, "/reproduce.csv")))
        };
    }

    /// What is measured here stands; of others only trainings that are not here are taken, whole.
    #[test]
    fn other_runs_are_joined() {
        let [here, there] = [image("cnn", Some(1), 28, 28), image("cnn", Some(2), 28, 28)];
        let other_test = image("cnn", Some(1), 28, 14);
        let first = [seeds(&here, &[0.5, 0.6]), seeds(&other_test, &[0.7]), seeds(&there, &[0.8])].concat();
        let second = [seeds(&there, &[0.9]), seeds(&image("nnn", Some(1), 28, 28), &[0.4])].concat();
        let rows = joined(seeds(&here, &[0.1]), &[first, second]);
        let values: Vec<f64> = rows.iter().map(|row| row.value).collect();
        assert_eq!(values, [0.1, 0.6, 0.8, 0.4]);
    }

    #[test]
    fn documented_results_make_a_page() {
        let poisson = documented!("poisson");
        let text = markdown::comparison(&poisson.tables[0]);
        assert!(
            text.contains("| NKN, test | 1.29e-3 ±3.8e-5 (2.32e-3, ×0.56) | **9.41e-4 ±2.3e-5** (1.50e-3, ×0.63) |"),
            "{text}"
        );
        assert!(text.contains("4.58e-1 ±3.9e-1†1/2 (7.47e-1, ×0.61)"));
        assert_eq!((poisson.tables.len(), poisson.costs.len(), poisson.figures.len()), (1, 0, 2));
        let darcy = documented!("darcy");
        assert!(!darcy.costs.is_empty() && !darcy.overview.is_empty());
        assert!(markdown::comparison(&darcy.costs[0]).contains("NKN, test s′ = 61"));
        let mnist = documented!("mnist");
        assert_eq!((mnist.tables.len(), mnist.costs.len(), mnist.figures.len()), (2, 2, 2));
        let text = markdown::comparison(&mnist.tables[0]);
        assert!(
            text.contains("| Multiscale CNN, L = 4 | **1.00 %** (2.01 %, ×0.50) | 19.84 % (56.56 %, ×0.35) |"),
            "{text}"
        );
        let cifar = documented!("cifar");
        let text = markdown::comparison(&cifar.tables[0]);
        assert!(
            text.contains(
                "| Baseline (PreResNet-20) | 11.40 % (8.69 %, ×1.3, Tao et al. 8.19 %) | 65.44 % (50.00 %, ×1.3) |"
            ),
            "{text}"
        );
        for page in [poisson, darcy, mnist, cifar] {
            let html = render(&page);
            assert!(html.contains("<h2>At a glance</h2>") && !html.contains("NaN"), "{}", page.title);
        }
    }
}
