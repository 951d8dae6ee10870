//! `nkn report`: one HTML file about a run.

use super::eval::{evaluate, name};
use super::images;
use super::spectrum::DepthSpectrum;
use crate::Global;
use crate::report::{Curve, ErrorRow, FieldComparison, Green, ReportData, ResolutionMatrix, Sample, Spectrum, render};
use anyhow::Result;
use clap::Args;
use nkn::Device;
use nkn::analysis::effective_green;
use nkn::classify::ImageRunFolder;
use nkn::domain::{Domain, Grid};
use nkn::field::{Samples, relative_l2};
use nkn::io::write_atomically;
use nkn::model::{Kind, Model};
use nkn::problem::poisson;
use nkn::run::{Data, Problem, RunConfig, RunFolder};
use std::path::PathBuf;
use std::process::ExitCode;

/// Options of `nkn report`.
#[derive(Args)]
pub struct Options {
    /// The folders of trained runs; each gets its report.html
    #[arg(required = true)]
    runs: Vec<PathBuf>,
}

/// Runs the command.
pub fn run(_: &Global, options: &Options) -> Result<ExitCode> {
    for run in &options.runs {
        let path = if images::is_image_config(&run.join("config.toml")) {
            images::report(&ImageRunFolder::open(run)?)?
        } else {
            write(&RunFolder::open(run)?)?
        };
        eprintln!("{}", path.display());
    }
    Ok(ExitCode::SUCCESS)
}

/// Writes the report of a run into its folder.
pub fn write(folder: &RunFolder) -> Result<PathBuf> {
    let config = folder.config()?;
    let data = config.data.load_with(&crate::progress::generating())?;
    let models: Vec<Model> =
        folder.depths().into_iter().map(|depth| folder.model_at(depth)).collect::<nkn::Result<_>>()?;
    let deepest = folder.model()?;
    let results = folder.results()?;
    let test = data.test.as_ref();
    let kind = config.model.kind.to_string().to_uppercase();
    let last = results.last();
    let report = ReportData {
        title: format!("{}: {kind}, {}", problem_name(&config), depths_in_words(&models)),
        summary: last.map_or(String::new(), |result| {
            let error = result.test.unwrap_or(result.train);
            let set = if result.test.is_some() { "test" } else { "training" };
            format!(
                "At depth {} the network predicts the {set} functions with a mean relative L2 error of {error:.2e}.",
                result.depth
            )
        }),
        facts: facts(folder, &config, &data, &deepest, last.map(|result| result.seconds)),
        curves: curves(folder, &models)?,
        samples: test.map(|test| samples(&deepest, test)).transpose()?.unwrap_or_default(),
        fields: test.map(|test| fields(&config, &deepest, test)).transpose()?.unwrap_or_default(),
        matrix: matrix(&config, &models)?,
        green: green(&config, &deepest, &data)?,
        spectra: spectra(&models, &data)?,
        errors: errors(&config, &models, &data)?,
        growth: Vec::new(),
        notes: notes(&config, &data),
    };
    let path = folder.path().join("report.html");
    write_atomically(&path, render(&report).as_bytes())?;
    Ok(path)
}

fn problem_name(config: &RunConfig) -> &'static str {
    match config.data.problem {
        Problem::Poisson => "1D Poisson",
        Problem::Darcy => "2D Darcy flow",
        Problem::Files => "Own data",
    }
}

fn depths_in_words(models: &[Model]) -> String {
    match models {
        [only] => format!("depth {}", only.depth),
        [first, .., last] => format!("depths {} to {}", first.depth, last.depth),
        [] => "untrained".into(),
    }
}

fn facts(
    folder: &RunFolder,
    config: &RunConfig,
    data: &Data,
    model: &Model,
    seconds: Option<f64>,
) -> Vec<(String, String)> {
    let test = data.test.as_ref().map_or(0, |test| test.count());
    let rows = [
        ("run", name(folder)),
        ("parameters", model.parameters.count().to_string()),
        ("samples", format!("{} to train, {test} to test", data.train.count())),
        ("nodes", data.train.nodes().to_string()),
        ("quadrature", config.model.quadrature.to_string()),
        ("optimiser", format!("{:?}", config.train.optimiser).to_lowercase()),
        ("seed", config.train.seed.to_string()),
        ("training time", seconds.map_or("unknown".into(), |s| format!("{s:.0} s"))),
    ];
    rows.map(|(name, value)| (name.to_string(), value)).to_vec()
}

fn curves(folder: &RunFolder, models: &[Model]) -> Result<Vec<Curve>> {
    let records = folder.metrics()?;
    let curve = |model: &Model| {
        let own: Vec<_> = records.iter().filter(|r| r.depth == model.depth).collect();
        let losses: Vec<_> = own.iter().filter(|r| r.metric == "loss").collect();
        let test_at = |epoch: usize| {
            let found = own.iter().find(|r| r.split == "test" && r.metric == "relative_l2" && r.epoch == epoch);
            found.map_or(f64::NAN, |r| r.value)
        };
        Curve {
            depth: model.depth,
            epoch: losses.iter().map(|r| r.epoch as f64).collect(),
            train: losses.iter().map(|r| r.value).collect(),
            test: losses.iter().map(|r| test_at(r.epoch)).collect(),
        }
    };
    Ok(models.iter().map(curve).collect())
}

/// Three test samples: the best, the median and the worst.
fn samples(model: &Model, test: &Samples) -> Result<Vec<Sample>> {
    if test.domain().dim() != 1 || model.config.fields.len() != 1 {
        return Ok(Vec::new());
    }
    let nodes = test.nodes();
    let prediction = model.predict(test, &Device::flex())?;
    let truth = test.output_values()?;
    let errors = relative_l2(&prediction, truth, nodes);
    let picks = picks(&errors);
    let input = &test.field(&model.config.fields[0])?.values;
    let sample = |index: usize| {
        let of = |values: &[f64]| values[index * nodes..(index + 1) * nodes].to_vec();
        Sample {
            index,
            x: test.domain().coordinates(),
            input: of(input),
            truth: of(truth),
            prediction: of(&prediction),
            relative_l2: errors[index],
        }
    };
    Ok(picks.into_iter().map(sample).collect())
}

/// The best, the median and the worst test sample.
fn picks(errors: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..errors.len()).collect();
    order.sort_by(|&a, &b| errors[a].total_cmp(&errors[b]));
    let mut picks = vec![order[0], order[order.len() / 2], order[order.len() - 1]];
    picks.dedup();
    picks
}

/// Resolutions at which a run on generated 2D data is shown, that of training first; `nkn eval` has no limit.
fn resolutions(config: &RunConfig) -> Vec<usize> {
    let (Problem::Darcy, Some(trained)) = (config.data.problem, config.data.resolution) else { return Vec::new() };
    let cells = config.data.fine - 1;
    let fits = |resolution: usize| resolution <= 61 && cells.is_multiple_of(resolution - 1);
    let finer = [1, 2, 4].map(|factor| factor * (trained - 1) + 1);
    finer.into_iter().filter(|&resolution| fits(resolution)).collect()
}

/// Three test samples in the plane, at the resolution of training and at finer ones.
fn fields(config: &RunConfig, model: &Model, test: &Samples) -> Result<Vec<FieldComparison>> {
    let Domain::Grid(grid) = test.domain() else { return Ok(Vec::new()) };
    if grid.dim() != 2 {
        return Ok(Vec::new());
    }
    let errors = relative_l2(&model.predict(test, &Device::flex())?, test.output_values()?, test.nodes());
    let picks = picks(&errors);
    let mut sets = vec![test.clone()];
    let finer: Vec<usize> = resolutions(config).into_iter().skip(1).take(2).collect();
    let finer = config.data.tests_at(&finer, &|_, _| {})?;
    sets.extend(finer);
    let mut result = Vec::new();
    for samples in &sets {
        result.extend(comparisons(model, samples, &picks)?);
    }
    result.sort_by_key(|comparison| picks.iter().position(|&pick| pick == comparison.index));
    Ok(result)
}

/// Some samples of a set in the plane beside the model's predictions.
pub fn comparisons(model: &Model, set: &Samples, picks: &[usize]) -> Result<Vec<FieldComparison>> {
    let (Domain::Grid(grid), Some(input_name)) = (set.domain(), model.config.fields.first()) else {
        return Ok(Vec::new());
    };
    let samples = set.select(picks);
    let nodes = samples.nodes();
    let prediction = model.predict(&samples, &Device::flex())?;
    let truth = samples.output_values()?;
    let errors = relative_l2(&prediction, truth, nodes);
    let (lower, upper) = (grid.lower(), grid.upper());
    let mut result = Vec::new();
    for (place, &index) in picks.iter().enumerate() {
        let of = |values: &[f64]| values[place * nodes..(place + 1) * nodes].to_vec();
        result.push(FieldComparison {
            index,
            resolution: grid.shape()[0],
            shape: [grid.shape()[0], grid.shape()[1]],
            extent: [lower[0], upper[0], lower[1], upper[1]],
            input_name: input_name.clone(),
            input: of(&samples.field(input_name)?.values),
            truth: of(truth),
            prediction: of(&prediction),
            relative_l2: errors[place],
        });
    }
    Ok(result)
}

/// Every depth at every resolution, for generated data in the plane.
fn matrix(config: &RunConfig, models: &[Model]) -> Result<Option<ResolutionMatrix>> {
    let resolutions = resolutions(config);
    let Some(&trained_at) = resolutions.first() else { return Ok(None) };
    let sets = config.data.tests_at(&resolutions, &|_, _| {})?;
    let mut rows = Vec::new();
    for model in models {
        for samples in &sets {
            rows.push(evaluate(model, samples, None)?);
        }
    }
    Ok(Some(super::eval::matrix(trained_at, &rows)))
}

fn green(config: &RunConfig, model: &Model, data: &Data) -> Result<Option<Green>> {
    if config.data.problem != Problem::Poisson
        || config.model.kind != Kind::Nkn
        || !config.model.kernel_fields.is_empty()
    {
        return Ok(None);
    }
    let domain = Domain::Grid(Grid::unit(&[data.train.nodes()])?);
    let x = domain.coordinates();
    let exact = x.iter().flat_map(|&x_i| x.iter().map(move |&x_j| poisson::green(x_i, x_j))).collect();
    Ok(Some(Green { effective: effective_green(model, &domain)?, exact, x, depth: model.depth }))
}

/// Beyond this size the ends of a spectrum take a minute per depth: `nkn spectrum` finds them on request.
const SPECTRUM_LIMIT: usize = 10_000;

fn spectra(models: &[Model], data: &Data) -> Result<Vec<Spectrum>> {
    if models.iter().any(|model| model.config.width * data.train.nodes() > SPECTRUM_LIMIT) {
        return Ok(Vec::new());
    }
    let of = |model: &Model| -> Result<Spectrum> {
        let result = DepthSpectrum::of(model, &data.train)?;
        Ok(Spectrum {
            depth: result.depth,
            step: result.step,
            amplification: result.spectrum.amplification(result.step),
            smallest_symmetric: result.spectrum.smallest_symmetric,
            stable_from: result.stable_from,
            eigenvalues: result.spectrum.eigenvalues,
        })
    };
    models.iter().map(of).collect()
}

/// Errors by depth and resolution: the training set, and the test set at half, double and four times the resolution where
/// nkn can generate it.
fn errors(config: &RunConfig, models: &[Model], data: &Data) -> Result<Vec<ErrorRow>> {
    let mut sets: Vec<(&str, Samples)> = vec![("train", data.train.clone())];
    sets.extend(data.test.clone().map(|test| ("test", test)));
    if config.data.problem == Problem::Poisson {
        let intervals = config.data.points - 1;
        for points in [intervals / 2 + 1, 2 * intervals + 1, 4 * intervals + 1] {
            if points >= 3 {
                let tests = config.data.tests_at(&[points], &|_, _| {})?;
                sets.extend(tests.into_iter().map(|test| ("test", test)));
            }
        }
    }
    let mut rows = Vec::new();
    for model in models {
        for (split, samples) in &sets {
            let row = evaluate(model, samples, None)?;
            rows.push(ErrorRow {
                depth: row.depth,
                split: split.to_string(),
                resolution: row.resolution,
                relative_l2: row.relative_l2,
                relative_l2_squared: row.relative_l2_squared,
            });
        }
    }
    Ok(rows)
}

fn notes(config: &RunConfig, data: &Data) -> Vec<String> {
    let mut notes = vec!["Errors are means over the samples of ||û - u|| / ||u|| on physical values; the weights are those with the lowest training error.".to_string()];
    if config.data.problem == Problem::Poisson {
        notes.push("Almost all of a load's energy is in its first ten cosines, so the learned Green's function is determined by the data only on their span.".into());
    }
    if config.model.width * data.train.nodes() > SPECTRUM_LIMIT {
        notes.push("The operator is too large for its spectrum to be computed here: see `nkn spectrum`.".into());
    }
    notes
}
