//! The paper's problems.

use crate::arrays::row;
use crate::samples::Samples;
use crate::threads::quietly;
use nkn::problem::images::{ImageSet, load};
use nkn::problem::{darcy as flow, poisson as line};
use nkn::seed::Seed;
use numpy::{PyArray1, PyReadonlyArray3};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::path::PathBuf;

/// Loads f and solutions u of -u'' = f on [0, 1].
#[pyfunction]
pub fn poisson(py: Python<'_>, count: usize, points: usize, seed: u64, first: usize) -> PyResult<Samples> {
    quietly(py, || line::generate(Seed::new(seed), first, count, points)).map(Samples::from)
}

/// Coefficients b and solutions u of -div(b grad u) = 1 on the unit square.
#[pyfunction]
pub fn darcy(
    py: Python<'_>,
    count: usize,
    side: usize,
    seed: u64,
    first: usize,
    smoothing: Option<f64>,
    flux: bool,
) -> PyResult<Samples> {
    quietly(py, || completed(flow::generate(Seed::new(seed), first, count, side, &|_| {})?, smoothing, flux))
        .map(Samples::from)
}

/// The solutions for given coefficients, samples x side x side.
#[pyfunction]
pub fn solve_darcy(
    py: Python<'_>,
    b: PyReadonlyArray3<'_, f64>,
    smoothing: Option<f64>,
    flux: bool,
) -> PyResult<Samples> {
    let view = b.as_array();
    let (values, side): (Vec<f64>, usize) = (view.iter().copied().collect(), view.shape()[1]);
    if view.shape()[2] != side {
        let got = format!("{} x {}", side, view.shape()[2]);
        return Err(PyValueError::new_err(format!("b: expected a square grid, got {got}\n  hint: samples come first")));
    }
    quietly(py, || completed(flow::solve(&values, side, &|_| {})?, smoothing, flux)).map(Samples::from)
}

/// The samples smoothed over another width, and with the flux.
fn completed(samples: nkn::Samples, smoothing: Option<f64>, flux: bool) -> nkn::Result<nkn::Samples> {
    let samples = match smoothing {
        Some(cells) => flow::with_smoothing(samples, cells)?,
        None => samples,
    };
    if flux { flow::with_flux(samples) } else { Ok(samples) }
}

/// Pixels in one row and classes of a set of images.
type Part<'py> = (Bound<'py, PyArray1<u8>>, Bound<'py, PyArray1<u8>>, usize, usize);

/// The training and the test images of a set: pixels, classes, channels, side.
#[pyfunction]
pub fn image_set<'py>(py: Python<'py>, name: &str, folder: PathBuf) -> PyResult<(Part<'py>, Part<'py>)> {
    let sets = [ImageSet::Mnist, ImageSet::FashionMnist, ImageSet::Cifar10];
    let set = sets.into_iter().find(|set| set.name() == name);
    let set = set.ok_or_else(|| PyValueError::new_err(format!("there is no set of images {name:?}")))?;
    let data = quietly(py, || load(set, &folder))?;
    let part = |images: nkn::Images| {
        let nkn::Images { pixels, labels, channels, side, .. } = images;
        (row(py, pixels), row(py, labels), channels, side)
    };
    Ok((part(data.training), part(data.testing)))
}
