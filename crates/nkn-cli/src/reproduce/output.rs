//! From the jobs' folders to results.csv, tables and the page.

use super::cells::Cells;
use super::figures::errors_against_depth;
use super::jobs::{Budget, Experiment, Job, Request};
use super::losses::{LossCurve, loss_curves};
use super::model::{Key, Measured, display_name};
use super::page::{Page, render};
use super::runner::{diverged_at, folder_of, in_words};
use super::simple::{Count, Eigenvalues, SimpleTable, eigenvalue_table, parameter_table};
use super::{latex, markdown, table};
use crate::commands::spectrum::DepthSpectrum;
use crate::report::fields;
use crate::report::source::comparisons;
use anyhow::Result;
use nkn::io::write_atomically;
use nkn::model::Kind;
use nkn::run::RunFolder;
use nkn::train::Initialisation;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Which samples the field figure shows.
const SHOWN: [usize; 3] = [0, 1, 2];

/// Writes results.csv, results.md, results.tex and index.html; returns the page's path.
pub fn write(request: &Request, tests: &[usize], command: &str) -> Result<PathBuf> {
    let jobs = request.jobs();
    let mut measured: BTreeMap<Key, Measured> = BTreeMap::new();
    let mut csv = String::from("experiment,model,depth,seed,split,trained_at,tested_at,normalised,metric,value\n");
    let (mut seconds, mut trained) = (0.0, 0);
    for job in jobs.iter().filter(|job| job.initialisation == Initialisation::ShallowToDeep) {
        for (key, value) in errors(request, job, tests)? {
            let Key { experiment, model, depth, split, trained_at, tested_at, normalised } = &key;
            csv += &format!(
                "{experiment},{model},{depth},{},{split},{trained_at},{tested_at},{normalised},relative_l2,{value:e}\n",
                job.seed
            );
            measured.entry(key).or_insert(Measured { values: Vec::new() }).values.push(value);
        }
    }
    for job in &jobs {
        let Ok(folder) = RunFolder::open(&folder_of(request, job)) else { continue };
        if let Some(result) = folder.results().ok().and_then(|results| results.last().cloned()) {
            seconds += result.seconds;
            trained += 1;
            csv += &format!(
                "{},{},{},{},train,{},{},{},seconds,{:e}\n",
                request.experiment.name(),
                job.kind,
                result.depth,
                job.seed,
                job.trained_at,
                job.trained_at,
                job.normalised,
                result.seconds
            );
        }
    }
    let tables = table::tables(&measured.into_iter().collect::<Vec<_>>());
    let mut figures = Vec::new();
    for table in &tables {
        for normalised in [true, false] {
            let figure = errors_against_depth(table, normalised);
            if !figure.is_empty() {
                figures.push(("Errors against depth".to_owned(), figure));
            }
        }
    }
    let curves = losses(request, &jobs)?;
    if !curves.is_empty() {
        figures.push(("Shallow to deep".to_owned(), loss_curves(&curves)));
    }
    figures.extend(fields_of(request, &jobs, tests)?);
    let simple = simple_tables(request, &jobs)?;
    let text = |tables: Vec<String>, simple: Vec<String>| [tables, simple].concat().join("\n");
    let page = Page {
        title: format!("{}: the paper's tables beside ours", title(request.experiment)),
        summary: format!(
            "{trained} of {} trainings, {} of training on this machine. Errors are means over the samples of ‖û − u‖ / ‖u‖, lower is better.",
            jobs.len(),
            in_words(seconds)
        ),
        is_quick: request.budget == Budget::Quick,
        facts: vec![
            ("seeds".into(), list(&request.seeds)),
            ("trainings".into(), format!("{trained} of {}", jobs.len())),
            ("training time".into(), in_words(seconds)),
            ("command".into(), command.into()),
        ],
        notes: notes(request.experiment),
        tables,
        simple,
        figures,
    };
    let out = &request.out;
    let markdown = text(
        page.tables.iter().map(markdown::comparison).collect(),
        page.simple.iter().map(markdown::simple).collect(),
    );
    let latex =
        text(page.tables.iter().map(latex::comparison).collect(), page.simple.iter().map(latex::simple).collect());
    write_atomically(&out.join("results.csv"), csv.as_bytes())?;
    write_atomically(&out.join("results.md"), markdown.as_bytes())?;
    write_atomically(&out.join("results.tex"), latex.as_bytes())?;
    let path = out.join("index.html");
    write_atomically(&path, render(&page).as_bytes())?;
    Ok(path)
}

fn list(values: &[u64]) -> String {
    values.iter().map(u64::to_string).collect::<Vec<_>>().join(", ")
}

fn title(experiment: Experiment) -> &'static str {
    match experiment {
        Experiment::Poisson => "1D Poisson",
        Experiment::Darcy => "2D Darcy flow",
    }
}

/// The errors of one training; those of depths at which it has diverged are infinite.
fn errors(request: &Request, job: &Job, tests: &[usize]) -> Result<Vec<(Key, f64)>> {
    let path = folder_of(request, job);
    let key = |depth: usize, split: &str, tested_at: usize| Key {
        experiment: job.experiment.name().into(),
        model: job.kind.to_string(),
        depth,
        split: split.into(),
        trained_at: job.trained_at,
        tested_at,
        normalised: job.normalised,
    };
    let mut errors: Vec<(Key, f64)> = Cells::read(&path)?
        .cells
        .into_iter()
        .filter(|cell| cell.split == "train" || tests.contains(&cell.tested_at))
        .map(|cell| (key(cell.depth, &cell.split, cell.tested_at), cell.value))
        .collect();
    if let Some(first) = diverged_at(&path) {
        for &depth in job.depths.iter().filter(|&&depth| depth >= first) {
            errors.push((key(depth, "train", job.trained_at), f64::INFINITY));
            errors.extend(tests.iter().map(|&tested_at| (key(depth, "test", tested_at), f64::INFINITY)));
        }
    }
    Ok(errors)
}

/// Training losses of shallow-to-deep and of random initialisation, where both were trained.
fn losses(request: &Request, jobs: &[Job]) -> Result<Vec<LossCurve>> {
    let mut curves = Vec::new();
    for random in jobs.iter().filter(|job| job.initialisation == Initialisation::Random) {
        let ladder = Job { initialisation: Initialisation::ShallowToDeep, ..random.clone() };
        for (job, name) in [(&ladder, "shallow-to-deep"), (random, "random initialisation")] {
            let Ok(folder) = RunFolder::open(&folder_of(request, job)) else { continue };
            let records = folder.metrics()?;
            for depth in folder.depths() {
                let own = records.iter().filter(|r| r.depth == depth && r.metric == "loss");
                let (epochs, losses) = own.map(|r| (r.epoch as f64, r.value)).unzip();
                curves.push(LossCurve { name: name.into(), depth, epochs, losses });
            }
        }
    }
    Ok(curves)
}

/// The same three samples with every model, at every resolution: a figure per model.
fn fields_of(request: &Request, jobs: &[Job], tests: &[usize]) -> Result<Vec<(String, String)>> {
    let mut figures = Vec::new();
    if request.experiment.dim() != 2 {
        return Ok(figures);
    }
    let Some(&seed) = request.seeds.first() else { return Ok(figures) };
    let first = |kind: Kind| {
        let wanted =
            |job: &&Job| job.kind == kind && job.seed == seed && job.initialisation == Initialisation::ShallowToDeep;
        jobs.iter()
            .filter(wanted)
            .find(|job| RunFolder::open(&folder_of(request, job)).is_ok_and(|folder| !folder.depths().is_empty()))
    };
    for job in request.models.iter().filter_map(|&kind| first(kind)) {
        let folder = RunFolder::open(&folder_of(request, job))?;
        let config = folder.config()?;
        let model = folder.model()?;
        let mut shown = Vec::new();
        for samples in config.data.tests_at(tests, &crate::progress::generating())? {
            let picks: Vec<usize> = SHOWN.into_iter().filter(|&index| index < samples.count()).collect();
            shown.extend(comparisons(&model, &samples, &picks)?);
        }
        shown.sort_by_key(|comparison| comparison.index);
        let half = if job.normalised { "normalised" } else { "original" };
        let heading = format!(
            "Fields: {} at L = {}, trained on {} x {} nodes, {half} data",
            display_name(&job.kind.to_string()),
            model.depth,
            job.trained_at,
            job.trained_at
        );
        figures.push((heading, fields::figure(&shown)));
    }
    Ok(figures)
}

/// Parameter counts, and for Poisson the eigenvalues of trained networks.
fn simple_tables(request: &Request, jobs: &[Job]) -> Result<Vec<SimpleTable>> {
    let mut counts: Vec<Count> = Vec::new();
    for job in jobs {
        let config = job.config(request.budget, &request.out)?;
        for &depth in &job.depths {
            let model = job.kind.to_string();
            if counts.iter().all(|count| count.model != model || count.depth != depth) {
                let parameters = config.model.parameter_count(request.experiment.dim(), depth)?;
                counts.push(Count { model, depth, parameters });
            }
        }
    }
    let mut tables = vec![parameter_table(request.experiment.name(), &counts)];
    if request.experiment != Experiment::Poisson {
        return Ok(tables);
    }
    for normalised in [true, false] {
        let mut rows = Vec::new();
        for job in jobs.iter().filter(|job| {
            job.kind != Kind::Fno
                && job.normalised == normalised
                && Some(&job.seed) == request.seeds.first()
                && job.initialisation == Initialisation::ShallowToDeep
        }) {
            let Ok(folder) = RunFolder::open(&folder_of(request, job)) else { continue };
            let train = folder.config()?.data.load()?.train;
            for depth in folder.depths() {
                let result = DepthSpectrum::of(&folder.model_at(depth)?, &train)?;
                rows.push(Eigenvalues {
                    model: job.kind.to_string(),
                    depth,
                    smallest: result.spectrum.smallest_real,
                    largest: result.spectrum.largest_real,
                    amplification: result.spectrum.amplification(result.step),
                    symmetric: result.spectrum.smallest_symmetric,
                });
            }
        }
        if !rows.is_empty() {
            let mut table = eigenvalue_table(&rows);
            table.title += if normalised { ", trained on normalised data" } else { ", trained on the original data" };
            tables.push(table);
        }
    }
    Ok(tables)
}

fn notes(experiment: Experiment) -> Vec<String> {
    let mut notes = vec![
        "Means over the seeds ± their standard error; the weights are those with the lowest training error. The data are the same for all seeds.".to_string(),
        "Settings differ from the paper's where trials showed a lower error per minute: SOAP instead of Adam for NKN and GKN, cosine decay, fewer epochs. Every training is an ordinary run: its folder has the configuration.".into(),
        "FNO starts from random weights at every depth (each layer has its own), uses ReLU, and keeps frequencies strictly below half the number of nodes of its training grid.".into(),
    ];
    if experiment == Experiment::Darcy {
        notes.push("All models see the training samples turned and mirrored at random (the equation has the symmetries of the square), which the paper does not do. NKN and GKN are trained with the quadrature `overlap`, which does not change with the resolution; the paper takes the mean over the neighbours.".into());
    }
    notes
}
