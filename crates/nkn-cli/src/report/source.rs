//! Where a report comes from: what a run folder holds, and what its networks say when they are asked.
//!
//! All that the report knows of the library is here; the sections know plain numbers only.

use super::confusion::Answers;
use super::curves::{Curve, Line};
use super::errors::{ErrorRow, Errors};
use super::green::{Green, Kernels};
use super::mistakes::{self, TILES};
use super::samples::Sample;
use super::spectrum::Spectrum;
use super::stencils::Stencil;
use super::text::{rate, scientific, size};
use super::{FieldComparison, Report, render};
use anyhow::{Context, Result};
use nkn::Device;
use nkn::analysis::{Elliptic, LoadSpan, effective_green};
use nkn::classify::{Block, Classifier, ImageRunFolder, TestSet, evaluate, is_about_images, stencil};
use nkn::domain::Domain;
use nkn::field::{Samples, mean, relative_l2};
use nkn::io::write_atomically;
use nkn::model::{Kind, Model};
use nkn::problem::images::Resampler;
use nkn::problem::poisson;
use nkn::run::{Data, Problem, RunConfig, RunFolder};
use nkn::train::LossKind;
use std::path::{Path, PathBuf};

/// Up to this size of an operator all its eigenvalues are computed, beyond it some at each end.
const DENSE_LIMIT: usize = 2000;
const WANTED: usize = 20;

/// Beyond this size even the ends of a spectrum take a minute per depth: `nkn spectrum` finds them on request.
const SPECTRUM_LIMIT: usize = 10_000;

/// The largest number of nodes along a side at which a report shows fields; `nkn eval` has no limit.
const FINEST: usize = 61;

/// The share of the variance of the loads that the functions carry on which Green's functions are compared.
const LOADS: f64 = 0.9999;

/// Writes the report of a run into its folder.
pub fn write(run: &Path) -> Result<PathBuf> {
    let is_image_run = std::fs::read_to_string(run.join("config.toml")).is_ok_and(|text| is_about_images(&text));
    let report =
        if is_image_run { of_images(&ImageRunFolder::open(run)?)? } else { of_functions(&RunFolder::open(run)?)? };
    let path = run.join("report.html");
    write_atomically(&path, render(&report).as_bytes())?;
    Ok(path)
}

/// The name of a run: its folder's own, for pages travel and paths do not.
fn name(run: &Path) -> String {
    run.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

fn owned<const N: usize>(facts: [(&str, String); N]) -> Vec<(String, String)> {
    facts.map(|(name, value)| (name.to_owned(), value)).into()
}

/// What a network on functions has learned.
fn of_functions(folder: &RunFolder) -> Result<Report> {
    let config = folder.config()?;
    let data = config.data.load_with(&crate::progress::generating())?;
    let models = folder.depths().into_iter().map(|depth| folder.model_at(depth)).collect::<nkn::Result<Vec<_>>>()?;
    let deepest = folder.model()?;
    let last = folder.results()?.pop();
    let problem = match config.data.problem {
        Problem::Poisson => "1D Poisson",
        Problem::Darcy => "2D Darcy flow",
        Problem::Files => "Own data",
    };
    let depths = match models.as_slice() {
        [only] => format!("depth {}", only.depth),
        [first, .., last] => format!("depths {} to {}", first.depth, last.depth),
        [] => "untrained".into(),
    };
    let error = last.as_ref().map(|result| match result.test {
        Some(error) => (result.depth, "test", error),
        None => (result.depth, "training", result.train),
    });
    let summary = error.map(|(depth, set, error)| {
        let error = scientific(error);
        format!("At depth {depth} the network predicts the {set} functions with a mean relative L² error of {error}.")
    });
    let test = data.test.as_ref().map_or(0, |test| test.count);
    let facts = [
        ("run", name(folder.path())),
        ("parameters", deepest.parameters.count().to_string()),
        ("samples", format!("{} to train, {test} to test", data.train.count)),
        ("nodes", data.train.nodes().to_string()),
        ("quadrature", config.model.quadrature.to_string()),
        ("optimiser", format!("{:?}", config.train.optimiser).to_lowercase()),
        ("seed", config.train.seed.to_string()),
        ("training time", last.map_or("unknown".into(), |result| format!("{:.0} s", result.seconds))),
    ];
    let spectra = spectra(&models, &data)?;
    let mut notes = vec![
        "Errors are means over the samples of ‖û − u‖ / ‖u‖ on physical values; the weights are those with the lowest \
         training error.",
    ];
    if spectra.is_empty() && config.model.kind != Kind::Fno {
        notes.push("The operator is too large for its spectrum to be computed here: see `nkn spectrum`.");
    }
    Ok(Report {
        title: format!("{problem}: {}, {depths}", config.model.kind.to_string().to_uppercase()),
        summary: summary.unwrap_or_default(),
        facts: owned(facts),
        errors: errors(&config, &models, &data)?,
        curves: curves(folder, &config, &models)?,
        samples: data.test.as_ref().map_or(Ok(Vec::new()), |test| samples(&deepest, test))?,
        fields: data.test.as_ref().map_or(Ok(Vec::new()), |test| fields(&config, &deepest, test))?,
        green: green(&config, &deepest, &data)?,
        spectra,
        notes: notes.into_iter().map(String::from).collect(),
        ..Report::default()
    })
}

/// The training error, which is the loss if that is a relative error, and the test error of each depth.
fn curves(folder: &RunFolder, config: &RunConfig, models: &[Model]) -> Result<Vec<Curve>> {
    let records = folder.metrics()?;
    let loss = if config.train.loss == LossKind::RelativeL2 { "relative_l2" } else { "loss" };
    let line = |depth: usize, split: &str, metric: &str, shown: &str| {
        let own = records.iter().filter(|r| r.depth == depth && r.split == split && r.metric == metric);
        let points = own.map(|record| (record.epoch as f64, record.value)).collect();
        Line { metric: shown.into(), split: split.into(), points }
    };
    let curve = |depth: usize| {
        let lines = [line(depth, "train", "loss", loss), line(depth, "test", "relative_l2", "relative_l2")];
        Curve { depth, lines: lines.into_iter().filter(|line| !line.points.is_empty()).collect() }
    };
    Ok(models.iter().map(|model| curve(model.depth)).collect())
}

/// The numbers of the best, the median and the worst sample.
fn picks(errors: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..errors.len()).collect();
    order.sort_by(|&a, &b| errors[a].total_cmp(&errors[b]));
    let mut picks: Vec<usize> =
        [order.first(), order.get(order.len() / 2), order.last()].into_iter().flatten().copied().collect();
    picks.dedup();
    picks
}

/// Three test samples on a line.
fn samples(model: &Model, test: &Samples) -> Result<Vec<Sample>> {
    let ([input], 1) = (model.config.fields.as_slice(), test.domain.dim()) else { return Ok(Vec::new()) };
    let nodes = test.nodes();
    let (prediction, truth) = (model.predict(test, &Device::flex())?, test.output()?);
    let errors = relative_l2(&prediction, truth, nodes);
    let input = &test.field(input)?.values;
    let sample = |index: usize| {
        let of = |values: &[f64]| values[index * nodes..(index + 1) * nodes].to_vec();
        Sample {
            index,
            x: test.domain.coordinates(),
            input: of(input),
            truth: of(truth),
            prediction: of(&prediction),
            relative_l2: errors[index],
        }
    };
    Ok(picks(&errors).into_iter().map(sample).collect())
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

/// Three test samples in the plane, at the resolution of training and at finer ones.
fn fields(config: &RunConfig, model: &Model, test: &Samples) -> Result<Vec<FieldComparison>> {
    if test.domain.dim() != 2 || !matches!(test.domain, Domain::Grid(_)) {
        return Ok(Vec::new());
    }
    let picks = picks(&relative_l2(&model.predict(test, &Device::flex())?, test.output()?, test.nodes()));
    let mut result = comparisons(model, test, &picks)?;
    for finer in config.data.tests_at(&other_resolutions(config), &|_, _| {})? {
        result.extend(comparisons(model, &finer, &picks)?);
    }
    result.sort_by_key(|comparison| picks.iter().position(|&pick| pick == comparison.index));
    Ok(result)
}

/// Some samples of a set in the plane beside the model's predictions.
pub fn comparisons(model: &Model, set: &Samples, picks: &[usize]) -> Result<Vec<FieldComparison>> {
    let (Domain::Grid(grid), Some(input_name)) = (&set.domain, model.config.fields.first()) else {
        return Ok(Vec::new());
    };
    let samples = set.select(picks);
    let nodes = samples.nodes();
    let (prediction, truth) = (model.predict(&samples, &Device::flex())?, samples.output()?);
    let errors = relative_l2(&prediction, truth, nodes);
    let input = &samples.field(input_name)?.values;
    let (lower, upper) = (grid.lower(), grid.upper());
    let comparison = |(place, &index): (usize, &usize)| {
        let of = |values: &[f64]| values[place * nodes..(place + 1) * nodes].to_vec();
        FieldComparison {
            index,
            resolution: grid.shape()[0],
            shape: [grid.shape()[0], grid.shape()[1]],
            extent: [lower[0], upper[0], lower[1], upper[1]],
            input_name: input_name.clone(),
            input: of(input),
            truth: of(truth),
            prediction: of(&prediction),
            relative_l2: errors[place],
        }
    };
    Ok(picks.iter().enumerate().map(comparison).collect())
}

/// What a network has learned whose output is affine in its one input on a line.
fn green(config: &RunConfig, model: &Model, data: &Data) -> Result<Option<Green>> {
    let ([load], [], Kind::Nkn, Domain::Grid(grid)) =
        (&model.config.fields[..], &model.config.kernel_fields[..], config.model.kind, &data.train.domain)
    else {
        return Ok(None);
    };
    if grid.dim() != 1 {
        return Ok(None);
    }
    let x = grid.coordinates();
    let exact = |x_i: f64| x.iter().map(move |&x_j| poisson::green(x_i, x_j));
    let exact =
        if config.data.problem == Problem::Poisson { x.iter().copied().flat_map(exact).collect() } else { Vec::new() };
    let everywhere = Kernels { learned: effective_green(model, &data.train.domain)?, exact };
    let span = LoadSpan::new(&x, &data.train.field(load)?.values, LOADS)?;
    let on_loads = match span.dimension() {
        0 => Kernels::default(),
        _ => Kernels { learned: span.project(&everywhere.learned), exact: span.project(&everywhere.exact) },
    };
    Ok(Some(Green { x, depth: model.depth, on_loads, dimension: span.dimension(), everywhere }))
}

/// The spectrum of each depth on the first training sample.
fn spectra(models: &[Model], data: &Data) -> Result<Vec<Spectrum>> {
    let of = |model: &Model| -> Result<Spectrum> {
        let operator = Elliptic::new(model, &data.train)?;
        let (step, found) = (operator.step(), nkn::analysis::spectrum::spectrum(&operator, DENSE_LIMIT, WANTED)?);
        Ok(Spectrum {
            depth: model.depth,
            step,
            amplification: found.amplification(step),
            smallest_symmetric: found.smallest_symmetric,
            // A GKN layer has no time step that a greater depth would shrink.
            stable_from: (model.config.kind == Kind::Nkn).then(|| found.stable_depth(model.config.time)).flatten(),
            eigenvalues: found.eigenvalues,
        })
    };
    let has_one =
        |model: &&Model| model.config.kind != Kind::Fno && model.config.width * data.train.nodes() <= SPECTRUM_LIMIT;
    models.iter().filter(has_one).map(of).collect()
}

/// Every depth on the training samples and on the test samples at every resolution.
fn errors(config: &RunConfig, models: &[Model], data: &Data) -> Result<Errors> {
    let side = |samples: &Samples| match &samples.domain {
        Domain::Grid(grid) => grid.shape()[0],
        cloud => cloud.len(),
    };
    let others = config.data.tests_at(&other_resolutions(config), &|_, _| {})?;
    let tests = data.test.iter().chain(&others).map(|test| ("test", test));
    let sets: Vec<_> = std::iter::once(("train", &data.train)).chain(tests).collect();
    let mut rows = Vec::new();
    for model in models {
        for &(split, samples) in &sets {
            let prediction = model.predict(samples, &Device::flex())?;
            let errors = relative_l2(&prediction, samples.output()?, samples.nodes());
            let squares: Vec<f64> = errors.iter().map(|error| error * error).collect();
            for (metric, values) in [("relative_l2", &errors), ("relative_l2_squared", &squares)] {
                rows.push(ErrorRow {
                    metric: metric.into(),
                    depth: model.depth,
                    quadrature: String::new(),
                    split: split.into(),
                    resolution: side(samples),
                    value: mean(values),
                });
            }
        }
    }
    let is_square = matches!(&data.train.domain, Domain::Grid(grid) if grid.dim() == 2);
    Ok(Errors { trained_at: side(&data.train), is_square, rows })
}

/// What a network on images has learned.
fn of_images(folder: &ImageRunFolder) -> Result<Report> {
    let config = folder.config()?;
    let model = folder.model()?;
    let results = folder.results()?.context("the run is not finished: continue it with --resume")?;
    let splits = config.data.load()?;
    let first = splits.tests.first().context("there are no test images")?;
    let depth = config.model.depth;
    let answers: Vec<Answers> = (config.data.tested_at.iter())
        .map(|&side| answers(&model, first, side, side == config.data.side))
        .collect::<Result<_>>()?;
    let row = |test: &nkn::classify::TestResult| ErrorRow {
        metric: "error_rate".into(),
        depth,
        quadrature: String::new(),
        split: test.set.clone(),
        resolution: test.side,
        value: test.error_rate,
    };
    let epochs = |value: &dyn Fn(&nkn::classify::EpochRecord) -> f64| {
        results.records.iter().map(|record| (record.epoch as f64, value(record))).collect()
    };
    let lines = [
        Line { metric: "error_rate".into(), split: "test".into(), points: epochs(&|record| record.error_rate) },
        Line { metric: "loss".into(), split: "train".into(), points: epochs(&|record| record.loss) },
    ];
    let at_home = results.tests.iter().find(|test| test.side == config.data.side);
    let summary = at_home.map(|test| {
        let (wrong, size) = (rate(test.error_rate), size(test.side));
        format!("Of the {} images of {size} pixels, {wrong} are taken for another class.", test.set)
    });
    let side = size(config.data.side);
    let facts = [
        ("run", name(folder.path())),
        ("network", config.model.title()),
        ("parameters", results.parameters.to_string()),
        ("images", format!("{} of {side} pixels to train", splits.train.count)),
        ("epochs", format!("{}, batches of {}", results.epochs, config.train.batch)),
        ("learning rate", format!("{}, {:?}", config.train.learning_rate, config.train.decay).to_lowercase()),
        ("seed", results.seed.to_string()),
        ("training time", format!("{:.0} s", results.seconds)),
    ];
    Ok(Report {
        title: format!("{}: {}", config.data.problem.title(), config.model.title()),
        summary: summary.unwrap_or_default(),
        facts: owned(facts),
        errors: Errors { trained_at: config.data.side, is_square: true, rows: results.tests.iter().map(row).collect() },
        curves: vec![Curve { depth, lines: lines.into() }],
        classes: config.data.problem.classes().map(String::from).into(),
        answers,
        stencils: stencils(&model)?,
        ..Report::default()
    })
}

/// What a classifier answers to images of a size, and its most confident mistakes as it saw them.
fn answers(model: &Classifier, test: &TestSet, side: usize, is_training: bool) -> Result<Answers> {
    let (result, mut wrong) =
        evaluate(&model.network, &model.parameters, &model.running, test, side, &model.statistics)?;
    wrong.sort_by(|a, b| b.probability.total_cmp(&a.probability).then(a.image.cmp(&b.image)));
    let resampler = Resampler::new(test.images.side, side)?;
    let mistake = |mistake: &nkn::classify::Mistake| {
        let values = test.images.values(&[mistake.image], &resampler);
        mistakes::Mistake {
            pixels: values.iter().map(|value| (255.0 * value).round().clamp(0.0, 255.0) as u8).collect(),
            channels: test.images.channels,
            truth: mistake.truth,
            predicted: mistake.answer,
            probability: mistake.probability,
        }
    };
    let mistakes = wrong.iter().take(TILES).map(mistake).collect();
    Ok(Answers { side, is_training, error_rate: result.error_rate, confusion: result.confusion, mistakes })
}

/// The kernels in the middle of the image.
fn stencils(model: &Classifier) -> Result<Vec<Stencil>> {
    let network = &model.network;
    let kernels: Vec<(String, String)> = match network.config.block {
        _ if !network.config.uses_kernel() => Vec::new(),
        Block::Nkn => (0..network.config.depth)
            .map(|step| (format!("nonlocal.{step}."), format!("Step {} of the nonlocal block", step + 1)))
            .collect(),
        _ => vec![(String::new(), "The kernel in the middle of the image".into())],
    };
    let middle = network.shape.side / 2;
    let one = |(prefix, title): (String, String)| -> Result<Stencil> {
        let found = stencil(network, &model.parameters, &prefix, (middle, middle))?;
        Ok(Stencil {
            title,
            radius: found.radius,
            x: (found.at.1, found.at.0),
            offsets: found.offsets.iter().map(|&(rows, columns)| (columns, rows)).collect(),
            cell: found.cell,
            blocks: found.blocks,
            width: network.config.width,
        })
    };
    kernels.into_iter().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_the_median_and_the_worst_are_picked() {
        assert_eq!(picks(&[0.3, 0.1, 0.2, 0.5, 0.4]), [1, 0, 3]);
        assert_eq!(picks(&[0.3, f64::NAN, 0.1]), [2, 0, 1], "what is not a number is worst");
        assert_eq!((picks(&[0.3]), picks(&[])), (vec![0], vec![]));
    }

    #[test]
    fn a_page_names_a_run_without_its_path() {
        assert_eq!(name(Path::new("/home/somebody/runs/poisson")), "poisson");
        assert_eq!((name(Path::new("runs/a b/")), name(Path::new("/"))), ("a b".into(), String::new()));
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
