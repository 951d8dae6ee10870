//! Training: with settings, or without.

use crate::errors::python;
use crate::images::Images;
use crate::model::{Examples, Model};
use crate::samples::Samples;
use crate::threads::{Stop, compute};
use crate::training::{Given, Story, Training};
use nkn::Auto;
use nkn::auto::Wanted;
use nkn::fit::{Builder, builder::kinds};
use nkn::train::Event;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde_json::{Map, Value};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard};

/// How far a training is: depth, epochs in all, epochs done, loss, validation and test error.
type Place = (usize, usize, usize, Option<f64>, Option<f64>, Option<f64>);

/// What the training's thread tells and the caller passes on.
#[derive(Default)]
struct News {
    story: Story,
    place: Option<Place>,
    lines: Vec<String>,
}

/// Both threads have it.
#[derive(Clone, Default)]
struct Shared(Arc<Mutex<News>>);

impl Shared {
    fn open(&self) -> MutexGuard<'_, News> {
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn hear(&self, event: &Event) {
        let mut news = self.open();
        news.story.hear(event);
        match event {
            Event::Depth { depth, epochs, .. } => news.place = Some((*depth, *epochs, 0, None, None, None)),
            Event::Epoch { state, loss, validation, test } => {
                let epochs = news.place.map_or(0, |place| place.1);
                news.place = Some((state.depth, epochs, state.epoch, Some(*loss), *validation, *test));
            }
            _ => {}
        }
    }

    /// Calls back with what is new.
    fn pass_on(&self, py: Python<'_>, tell: Option<&Py<PyAny>>) -> PyResult<()> {
        let Some(tell) = tell else { return Ok(()) };
        let (place, lines) = {
            let mut news = self.open();
            (news.place, std::mem::take(&mut news.lines))
        };
        tell.call1(py, (place, lines)).map(|_| ())
    }
}

/// What is asked of a training, besides its settings.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Asked {
    run: Option<PathBuf>,
    resume: bool,
    start_from: Option<Model>,
    tell: Option<Py<PyAny>>,
}

/// Trains a network of a kind with the settings of a JSON object, `{"model.width": 16, …}`.
#[pyfunction]
pub fn fit(
    py: Python<'_>,
    kind: &str,
    settings: &str,
    train: Examples,
    test: Option<Examples>,
    asked: Asked,
) -> PyResult<(Model, Training)> {
    match kind {
        "nkn" => with::<kinds::Nkn>(py, settings, train, test, asked),
        "gkn" => with::<kinds::Gkn>(py, settings, train, test, asked),
        "fno" => with::<kinds::Fno>(py, settings, train, test, asked),
        "cnn" => with::<kinds::Cnn>(py, settings, train, test, asked),
        "multiscale_cnn" => with::<kinds::MultiscaleCnn>(py, settings, train, test, asked),
        "nnn" => with::<kinds::Nnn>(py, settings, train, test, asked),
        "preresnet" => with::<kinds::Preresnet>(py, settings, train, test, asked),
        other => Err(PyValueError::new_err(format!("there is no network {other:?}"))),
    }
}

fn with<K: kinds::Named>(
    py: Python<'_>,
    settings: &str,
    train: Examples,
    test: Option<Examples>,
    asked: Asked,
) -> PyResult<(Model, Training)> {
    let settings: Map<String, Value> =
        serde_json::from_str(settings).map_err(|error| PyValueError::new_err(error.to_string()))?;
    match (train, test) {
        (Examples::Samples(train), None) => functions::<K>(py, &settings, train, None, asked),
        (Examples::Samples(train), Some(Examples::Samples(test))) => {
            functions::<K>(py, &settings, train, Some(test), asked)
        }
        (Examples::Images(train), None) => images::<K>(py, &settings, train, None, asked),
        (Examples::Images(train), Some(Examples::Images(test))) => images::<K>(py, &settings, train, Some(test), asked),
        _ => Err(PyValueError::new_err("test: expected samples of the same kind as those to learn from")),
    }
}

fn functions<K: kinds::Named>(
    py: Python<'_>,
    settings: &Map<String, Value>,
    Samples(train): Samples,
    test: Option<Samples>,
    asked: Asked,
) -> PyResult<(Model, Training)> {
    let test = test.map(|Samples(test)| test);
    let given = Given::Functions(train.clone(), test.clone());
    on::<K, _>(py, settings, (&*train, test.as_deref()), given, asked)
}

fn images<K: kinds::Named>(
    py: Python<'_>,
    settings: &Map<String, Value>,
    Images(train): Images,
    test: Option<Images>,
    asked: Asked,
) -> PyResult<(Model, Training)> {
    let test = test.map(|Images(test)| test);
    let given = Given::Images(train.clone(), test.clone());
    on::<K, _>(py, settings, (&*train, test.as_deref()), given, asked)
}

/// Trains on functions or on images.
fn on<K: kinds::Named, E: nkn::Examples + Sync>(
    py: Python<'_>,
    settings: &Map<String, Value>,
    (train, test): (&E, Option<&E>),
    given: Given,
    Asked { run, resume, start_from, tell }: Asked,
) -> PyResult<(Model, Training)> {
    let shared = Shared::default();
    let work = |stop: Stop| {
        let mut builder = Builder::<K>::new();
        for (key, value) in settings {
            builder = builder.set(key, value);
        }
        let config = builder.configuration(train)?;
        if let Some(model) = &start_from {
            builder = builder.start_from(&model.0);
        }
        builder = match &run {
            Some(run) if resume => builder.resume(run),
            Some(run) => builder.run(run),
            None => builder,
        };
        let listener = shared.clone();
        let builder = builder.observe(move |event| listener.hear(event)).stop_when(move || stop.is_asked());
        let model = match test {
            Some(test) => builder.fit_tested(train, test)?,
            None => builder.fit(train)?,
        };
        Ok((model, config))
    };
    let (model, config) = compute(py, work, |py| shared.pass_on(py, tell.as_ref()))?;
    shared.pass_on(py, tell.as_ref())?;
    let story = std::mem::take(&mut shared.open().story);
    let training = match &run {
        Some(run) => Training::read(given, run)?,
        None => Training::told(given, config, story),
    };
    Ok((model.into(), training))
}

/// Fits the best network that the time allows, in a run's folder.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "Python's keywords")]
pub fn auto(
    py: Python<'_>,
    minutes: f64,
    kind: &str,
    seed: u64,
    train: Samples,
    test: Option<Samples>,
    run: PathBuf,
    resume: bool,
    tell: Option<Py<PyAny>>,
) -> PyResult<(Model, Training)> {
    let kind: Wanted = kind.parse().map_err(python)?;
    let (Samples(train), test) = (train, test.map(|Samples(test)| test));
    let shared = Shared::default();
    let work = |stop: Stop| {
        let (events, choices) = (shared.clone(), shared.clone());
        let auto = Auto::new()
            .minutes(minutes)
            .kind(kind)
            .seed(seed)
            .stop_when(move || stop.is_asked())
            .observe(move |event| events.hear(event))
            .tell(move |choice| choices.open().lines.push(choice.to_string()));
        let auto = if resume { auto.resume(&run) } else { auto.run(&run) };
        match &test {
            Some(test) => auto.fit_tested(&train, test),
            None => auto.fit(&train),
        }
    };
    let fitted = compute(py, work, |py| shared.pass_on(py, tell.as_ref()))?;
    shared.pass_on(py, tell.as_ref())?;
    Ok((fitted.model.into(), Training::read(Given::Functions(train.clone(), test.clone()), &run)?))
}
