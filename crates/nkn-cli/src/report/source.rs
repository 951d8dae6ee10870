//! Where a report comes from: what a run folder holds, and what its networks say when they are asked.
//!
//! All that is asked of the library is asked here; the sections draw its answers.

use super::choices::Choice;
use super::compare;
use super::confusion::Answers;
use super::curves::{Curve, Line};
use super::energy::Energy;
use super::errors::{ErrorRow, Errors};
use super::green::{Green, Kernels};
use super::mistakes::{self, TILES};
use super::text::{rate, scientific, size};
use super::{Report, Training};
use anyhow::{Result, ensure};
use nkn::analysis::{Elliptic, LoadSpan, QUICK_LIMIT, Stability, effective_green, energies};
use nkn::domain::Domain;
use nkn::field::Samples;
use nkn::field::images::Resampler;
use nkn::model::{Block, Kind, Model, Predicting, Stencil};
use nkn::problem::poisson;
use nkn::run::{Data, Problem, RunConfig, RunFolder};
use nkn::task::{ImageSplits, Mistake, TestSet, image_measure, mistakes};
use nkn::train::{Keep, LossKind, Measure};
use std::path::{Path, PathBuf};

/// The largest number of nodes along a side at which a report shows fields; `nkn eval` has no limit.
const FINEST: usize = 61;

/// The share of the variance of the loads that the functions carry on which Green's functions are compared.
const LOADS: f64 = 0.9999;

/// Writes the report of a run into its folder.
pub fn write(run: &Path) -> Result<PathBuf> {
    let path = run.join("report.html");
    let folder = RunFolder::open(run)?;
    let data = folder.config()?.data.load_with(&crate::progress::generating())?;
    Training::read(&folder, data)?.write(&path)?;
    Ok(path)
}

/// The name of a run: its folder's own, for pages travel and paths do not.
pub fn name(run: &Path) -> String {
    run.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

/// The depths of a run that are looked at: the one that is asked for, or every finished one.
pub fn depths(folder: &RunFolder, only: Option<usize>) -> Result<Vec<usize>> {
    let depths = only.map_or_else(|| folder.depths(), |depth| vec![depth]);
    ensure!(!depths.is_empty(), "{}: no depth is finished\n  hint: continue it with --resume", folder.path().display());
    Ok(depths)
}

/// What a run has learned.
pub(super) fn of(training: &Training) -> Result<Report> {
    let Training { config, data, models, .. } = training;
    let (chosen, _) = training.chosen()?;
    let report = Report {
        title: training.title(),
        summary: summary(training).unwrap_or_default(),
        facts: facts(training),
        curves: curves(training),
        spectra: spectra(models, data)?,
        choices: training.choices.iter().map(choice).collect(),
        steps: training.steps.clone(),
        depths: training.other_depths.clone(),
        notes: notes(config, data),
        ..Report::default()
    };
    match data {
        Data::Functions { train, test } => {
            let errors = errors(training, train, test.as_ref())?;
            let energies = energies_of(models, data, test.as_ref().unwrap_or(train))?;
            let report = Report { errors, energies, green: green(config, chosen, train)?, ..report };
            // Without test samples those of the training are seen, and called so.
            let seen = test.as_ref().map_or(("Training", train), |test| ("Test", test));
            // In the plane a test sample is seen on finer grids too.
            let has_finer = test.as_ref().is_some_and(|test| is_square(test.domain()));
            let finer = if has_finer { other_resolutions(config) } else { Vec::new() };
            let finer = config.data.tests_at(&finer, &|_, _| {})?;
            let (samples, spreads) = compare::samples(chosen, seen, &finer)?;
            Ok(Report { samples, spreads, ..report })
        }
        Data::Images(splits) => of_images(report, training, chosen, splits),
    }
}

/// What the network reaches, in a sentence.
pub(super) fn summary(training: &Training) -> Option<String> {
    let (_, last) = training.chosen().ok()?;
    Some(if matches!(training.data, Data::Images(_)) {
        let measure = last.measures.iter().find(|m| m.resolution == training.resolution())?;
        let (wrong, size) = (rate(measure.value), size(measure.resolution));
        format!("Of the {} images of {size} pixels, {wrong} are taken for another class.", measure.split)
    } else {
        let followed = |set: &'static str| Some((set, last.get(set, "relative_l2")?));
        let test = followed("test").or_else(|| followed("validation"));
        let (set, error) = test.or_else(|| Some(("training", last.get("train", "relative_l2")?)))?;
        let (depth, error) = (last.depth, scientific(error));
        format!("At depth {depth} the network predicts the {set} functions with a mean relative L² error of {error}.")
    })
}

fn facts(training: &Training) -> Vec<(String, String)> {
    let Training { name, config, data, .. } = training;
    let samples = match data {
        Data::Functions { train, test } => {
            let test = test.as_ref().map_or(0, Samples::count);
            let own = config.train.validation;
            let validation = if own > 0 { format!(", {own} for validation") } else { String::new() };
            let about = if matches!(train.domain(), Domain::Clouds(_)) { "about " } else { "" };
            let nodes = train.nodes();
            format!("{} to train{validation}, {test} to test, {about}{nodes} nodes", train.count() - own)
        }
        Data::Images(splits) => format!("{} of {} pixels to train", splits.train.count, size(splits.side)),
    };
    let last = training.results.last();
    let batch = config.train.batch.map_or("all samples".to_string(), |batch| batch.to_string());
    let functions = match data {
        Data::Functions { train, .. } if !is_plain(train) || config.model.fields.len() > 1 => functions(config, train),
        _ => String::new(),
    };
    let parameters = training.models.last().map_or(0, |model| model.parameters().count());
    let facts = [
        ("run", name.clone()),
        ("network", config.model.title(last.map_or(1, |result| result.depth))),
        ("parameters", parameters.to_string()),
        ("samples", samples),
        ("functions", functions),
        ("quadrature", config.model.quadrature.to_string()),
        ("epochs", format!("{}, batches of {batch}", last.map_or(0, |result| result.epochs))),
        ("optimiser", format!("{:?}", config.train.optimiser).to_lowercase()),
        ("seed", config.train.seed.to_string()),
        ("training time", last.map_or("unknown".into(), |result| format!("{:.0} s", result.seconds))),
    ];
    let has_rule = config.model.uses_kernel();
    let shown = facts.into_iter().filter(|(name, value)| (has_rule || *name != "quadrature") && !value.is_empty());
    shown.map(|(name, value)| (name.to_owned(), value)).collect()
}

/// What is predicted from what, with the components of vectors.
fn functions(config: &RunConfig, samples: &Samples) -> String {
    let fields = || samples.fields().iter().chain(samples.outputs());
    let named = |name: &String| {
        let components = fields().find(|field| field.name == *name).map_or(1, |field| field.components);
        if components > 1 { format!("{name} ({components} components)") } else { name.clone() }
    };
    let all = |names: &[String]| names.iter().map(named).collect::<Vec<_>>().join(", ");
    format!("{} → {}", all(&config.model.fields), all(&config.model.output_names()))
}

/// The training error, which is the loss if that is a relative error, and the test error of each depth.
pub(super) fn curves(training: &Training) -> Vec<Curve> {
    let Training { config, models, records, .. } = training;
    let loss = if config.train.loss == LossKind::RelativeL2 { "relative_l2" } else { "loss" };
    let error = if matches!(training.data, Data::Images(_)) { "error_rate" } else { "relative_l2" };
    let side = config.data.resolution;
    // Samples that are split off are followed where there are no others.
    let has_test = records.iter().any(|record| record.measure.split == "test");
    let line = |depth: usize, is_train: bool, metric: &str, shown: &str| {
        let own = records.iter().filter(|r| {
            let m = &r.measure;
            let is_home = is_train || side.is_none_or(|side| m.resolution == side);
            let is_home = is_home && !(has_test && m.split == "validation");
            r.depth == depth && (m.split == "train") == is_train && m.metric == metric && is_home
        });
        // Several test sets, and the last epoch's final measures: the first of an epoch is the one that is followed.
        let mut points: Vec<(f64, f64)> = own.map(|record| (record.epoch as f64, record.measure.value)).collect();
        points.dedup_by_key(|point| point.0);
        Line { metric: shown.into(), split: if is_train { "train" } else { "test" }.into(), points }
    };
    let curve = |depth: usize| {
        let lines = [line(depth, true, "loss", loss), line(depth, false, error, error)];
        Curve { depth, lines: lines.into_iter().filter(|line| !line.points.is_empty()).collect() }
    };
    models.iter().map(|model| curve(model.depth())).collect()
}

/// Whether the samples have one output and all their functions are scalars.
fn is_plain(samples: &Samples) -> bool {
    let functions = || samples.fields().iter().chain(samples.outputs());
    samples.outputs().len() == 1 && functions().all(|function| function.components == 1)
}

/// Other resolutions at which nkn can generate the test samples.
fn other_resolutions(config: &RunConfig) -> Vec<usize> {
    match (config.data.problem, config.data.resolution) {
        (Problem::Poisson, _) => {
            let intervals = config.data.points - 1;
            let resolutions = [intervals / 2 + 1, 2 * intervals + 1, 4 * intervals + 1];
            resolutions.into_iter().filter(|&points| points >= 3).collect()
        }
        (Problem::Darcy, Some(trained)) => {
            let fits = |&side: &usize| side <= FINEST && (config.data.fine - 1).is_multiple_of(side - 1);
            [2, 4].map(|factor| factor * (trained - 1) + 1).into_iter().filter(fits).collect()
        }
        _ => Vec::new(),
    }
}

/// Whether the resolution of samples is the number of nodes along a side.
pub fn is_square(domain: &Domain) -> bool {
    domain.dim() == 2 && matches!(domain, Domain::Grid(_))
}

/// What a network has learned whose output is affine in its one input on a line.
fn green(config: &RunConfig, model: &Model, train: &Samples) -> Result<Option<Green>> {
    let ([load], [], Kind::Nkn, Domain::Grid(grid)) =
        (&model.config().fields[..], &model.config().kernel_fields[..], config.model.kind, train.domain())
    else {
        return Ok(None);
    };
    if grid.dim() != 1 || !is_plain(train) {
        return Ok(None);
    }
    let x = grid.coordinates();
    let exact = |x_i: f64| x.iter().map(move |&x_j| poisson::green(x_i, x_j));
    let exact =
        if config.data.problem == Problem::Poisson { x.iter().copied().flat_map(exact).collect() } else { Vec::new() };
    let everywhere = Kernels { learned: effective_green(model, train.domain())?, exact };
    let span = LoadSpan::new(&x, &train.field(load)?.values, LOADS)?;
    let project = || Kernels { learned: span.project(&everywhere.learned), exact: span.project(&everywhere.exact) };
    let on_loads = (span.dimension() > 0).then(project);
    Ok(Some(Green { x, depth: model.depth(), on_loads, dimension: span.dimension(), everywhere }))
}

/// Unknowns of the operator behind the layers.
fn unknowns(config: &nkn::model::ModelConfig, data: &Data) -> usize {
    config.width * data.nodes()
}

/// The operator of a network on the first training sample or on images; a nonlocal block has one for each of its steps.
pub fn operator(model: &Model, data: &Data, step: usize) -> nkn::Result<Elliptic> {
    match data {
        Data::Functions { train, .. } => Elliptic::new(model, train),
        Data::Images(splits) => Elliptic::of_images(model, splits.side, step),
    }
}

/// The spectrum of each depth; beyond some thousand unknowns it takes a minute per depth, and `nkn spectrum` finds it on request.
fn spectra(models: &[Model], data: &Data) -> Result<Vec<Stability>> {
    let of = |model: &Model| Ok(Stability::of(model, &operator(model, data, 0)?)?);
    let has_one = |model: &&Model| model.config().uses_kernel() && unknowns(model.config(), data) <= QUICK_LIMIT;
    models.iter().filter(has_one).map(of).collect()
}

/// The size of the state over the layers of each depth.
fn energies_of(models: &[Model], data: &Data, samples: &Samples) -> Result<Vec<Energy>> {
    let of = |model: &Model| Ok(Energy { depth: model.depth(), sizes: energies(model, samples)? });
    let is_quick = |model: &&Model| unknowns(model.config(), data) <= QUICK_LIMIT;
    let all: Vec<Energy> = models.iter().filter(is_quick).map(of).collect::<nkn::Result<_>>()?;
    Ok(all.into_iter().filter(|energy| !energy.sizes.is_empty()).collect())
}

/// Every depth on the training samples and on the test samples at every resolution. Which of them are for validation is
/// the training's own matter: those errors are the ones that it has written down.
fn errors(training: &Training, train: &Samples, test: Option<&Samples>) -> Result<Errors> {
    let Training { config, models, results, .. } = training;
    let others = match test {
        Some(_) => config.data.tests_at(&other_resolutions(config), &|_, _| {})?,
        None => Vec::new(),
    };
    let is_split = config.train.validation > 0;
    let tests = test.into_iter().chain(&others).map(|test| ("test", test));
    let whole = (!is_split).then_some(("train", train));
    let sets: Vec<_> = whole.into_iter().chain(tests).collect();
    let mut rows = Vec::new();
    for model in models {
        let own = results.iter().filter(|result| is_split && result.depth == model.depth());
        let written = own.flat_map(|result| &result.measures).filter(|measure| measure.split != "test");
        rows.extend(written.map(|measure| row(model.depth(), measure.clone())));
        for &(split, samples) in &sets {
            let measures = model.measures(samples, split, None, &Predicting::default())?;
            rows.extend(measures.into_iter().map(|measure| row(model.depth(), measure)));
        }
    }
    Ok(Errors { trained_at: train.domain().resolution(), is_square: is_square(train.domain()), rows })
}

/// A measure with the training's quadrature.
pub(super) fn row(depth: usize, measure: Measure) -> ErrorRow {
    ErrorRow { depth, quadrature: String::new(), measure }
}

fn choice(choice: &nkn::auto::Choice) -> Choice {
    Choice { what: choice.what.clone(), chosen: choice.chosen.clone(), why: choice.why.clone() }
}

fn notes(config: &RunConfig, data: &Data) -> Vec<String> {
    let mut notes = Vec::new();
    if matches!(data, Data::Functions { .. }) {
        let kept =
            if config.train.keep == Keep::Validation { "error on the validation samples" } else { "training error" };
        let words = "Errors are means over the samples of ‖û − u‖ / ‖u‖ on physical values; the weights are those with";
        notes.push(format!("{words} the lowest {kept}."));
    }
    if config.model.uses_kernel() && unknowns(&config.model, data) > QUICK_LIMIT {
        notes.push("The operator is too large for its spectrum to be computed here: see `nkn spectrum`.".into());
    }
    notes
}

/// What a network on images has learned.
fn of_images(report: Report, training: &Training, model: &Model, splits: &ImageSplits) -> Result<Report> {
    // Without test images those of the training are looked at, and called so.
    let own = TestSet { name: "train", images: splits.train.clone() };
    let first = splits.tests.first().unwrap_or(&own);
    let answers = splits.tested_at.iter().map(|&side| answers(model, splits, first, side));
    let rows =
        training.results.iter().flat_map(|one| one.measures.iter().map(|measure| row(one.depth, measure.clone())));
    Ok(Report {
        errors: Errors { trained_at: splits.side, is_square: true, rows: rows.collect() },
        classes: training.config.data.problem.classes().iter().map(|&name| name.to_owned()).collect(),
        answers: answers.collect::<Result<_>>()?,
        stencils: stencils(model, splits.side)?,
        ..report
    })
}

/// What a network answers to images of a size, and its most confident mistakes as it saw them.
fn answers(model: &Model, splits: &ImageSplits, test: &TestSet, side: usize) -> Result<Answers> {
    let found = model.classify(&test.images, side, &Predicting::default())?;
    let resampler = Resampler::new(test.images.side, side, splits.resampling)?;
    let mistake = |answer: Mistake| {
        let values = test.images.values(&[answer.image], &resampler);
        mistakes::Mistake { pixels: pixels(&values, test.images.channels), answer }
    };
    let mistakes = most_confident(mistakes(&found, &test.images)).into_iter().map(mistake).collect();
    let is_training = side == splits.side;
    Ok(Answers { is_training, measure: image_measure(test.name, side, &found, &test.images), mistakes })
}

/// Those of which the network was surest, as many as are shown.
fn most_confident(mut wrong: Vec<Mistake>) -> Vec<Mistake> {
    wrong.sort_by(|a, b| b.answer.probability.total_cmp(&a.answer.probability).then(a.image.cmp(&b.image)));
    wrong.truncate(TILES);
    wrong
}

/// Red, green and blue from one channel, which is grey, or from three, one after the other.
fn pixels(values: &[f32], channels: usize) -> Vec<[u8; 3]> {
    let area = values.len() / channels;
    let part = |k: usize, channel: usize| (255.0 * values[channel.min(channels - 1) * area + k]).round() as u8;
    (0..area).map(|k| [0, 1, 2].map(|channel| part(k, channel))).collect()
}

/// The kernels in the middle of the image with their titles.
fn stencils(model: &Model, side: usize) -> Result<Vec<(String, Stencil)>> {
    let titles: Vec<String> = match model.config().block {
        _ if !model.config().uses_kernel() => Vec::new(),
        Block::Nkn => (1..=model.depth()).map(|step| format!("Step {step} of the nonlocal block")).collect(),
        _ => vec!["The kernel in the middle of the image".into()],
    };
    let one = |(step, title)| Ok((title, model.stencil(step, (side / 2, side / 2))?));
    titles.into_iter().enumerate().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_names_a_run_without_its_path() {
        assert_eq!(name(Path::new("/home/somebody/runs/poisson")), "poisson");
        assert_eq!((name(Path::new("runs/a b/")), name(Path::new("/"))), ("a b".into(), String::new()));
    }

    #[test]
    fn the_most_confident_mistakes_are_kept_with_their_pixels() {
        let wrong = |image: usize| {
            let probability = (image * 17 % 30) as f32 / 100.0;
            Mistake { image, truth: 1, answer: nkn::task::Answer { class: 0, probability } }
        };
        let kept = most_confident((0..31).map(wrong).collect());
        assert_eq!((kept.len(), kept[0].answer.probability, kept[23].answer.probability), (TILES, 0.29, 0.06));
        let ties: Vec<_> = kept.iter().filter(|one| one.answer.probability == 0.0).map(|one| one.image).collect();
        assert!(ties.is_sorted(), "{ties:?}");
        assert_eq!(pixels(&[0.0, 0.5, 1.0, 1.2], 1), [[0; 3], [128; 3], [255; 3], [255; 3]]);
        assert_eq!(pixels(&[0.0, 1.0, 0.2, 0.4, -1.0, 0.6], 3), [[0, 51, 0], [255, 102, 153]]);
    }

    #[test]
    fn generated_samples_are_shown_on_other_grids() {
        let config = |text: &str| RunConfig::parse(text, Path::new("test.toml"), &[]).unwrap();
        let poisson = config("[data]\nproblem = \"poisson\"\npoints = 101\n");
        assert_eq!(other_resolutions(&poisson), [51, 201, 401]);
        let smallest = config("[data]\nproblem = \"poisson\"\npoints = 3\n");
        assert_eq!(other_resolutions(&smallest), [5, 9], "two points are no grid to test on");
        let darcy = config("[data]\nproblem = \"darcy\"\nresolution = 16\nfine = 241\n");
        assert_eq!(other_resolutions(&darcy), [31, 61]);
        let coarse = config("[data]\nproblem = \"darcy\"\nresolution = 9\nfine = 17\n");
        assert_eq!(other_resolutions(&coarse), [17], "finer than the solver's grid there is nothing");
    }
}
