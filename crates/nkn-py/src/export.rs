//! A domain as a network sees it, for frameworks that do the rest themselves.

use crate::arrays::row;
use nkn::field::Normaliser;
use nkn::model::{Exported, ExportedLinks};
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// A mean and a deviation: of none, one or every node.
type Statistics<'py> = (Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<f64>>);

/// The arrays of [`Exported`] under its names.
pub fn exported(py: Python<'_>, exported: Exported) -> PyResult<Bound<'_, PyDict>> {
    let statistics = |all: Vec<Normaliser>| -> Vec<Statistics<'_>> {
        all.into_iter().map(|one| (row(py, one.mean), row(py, one.std))).collect()
    };
    let result = PyDict::new(py);
    result.set_item("points", row(py, exported.points))?;
    result.set_item("fields", statistics(exported.fields))?;
    result.set_item("outputs", statistics(exported.outputs))?;
    match exported.links {
        ExportedLinks::Edges { targets, sources, weights, ends } => {
            result.set_item("targets", row(py, targets))?;
            result.set_item("sources", row(py, sources))?;
            result.set_item("weights", row(py, weights))?;
            result.set_item("ends", row(py, ends))?;
        }
        ExportedLinks::Frequencies { transform, places, gains } => {
            result.set_item("transform", row(py, transform))?;
            result.set_item("places", places)?;
            result.set_item("gains", row(py, gains))?;
        }
    }
    Ok(result)
}
