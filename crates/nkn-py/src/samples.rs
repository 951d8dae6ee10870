//! Samples of functions.

use crate::arrays::{Numbers, given, row};
use crate::errors::python;
use crate::threads::quietly;
use nkn::domain::Domain;
use nkn::io::{Array, Need, arrays_of, read_dataset, samples_of, write_dataset};
use numpy::{PyArray1, PyArrayDyn};
use pyo3::exceptions::{PyIndexError, PyValueError};
use pyo3::prelude::*;
use std::path::PathBuf;
use std::sync::Arc;

/// The library's samples, which many may hold.
#[pyclass(frozen, module = "nkn._nkn", from_py_object)]
#[derive(Clone)]
pub struct Samples(pub Arc<nkn::Samples>);

impl From<nkn::Samples> for Samples {
    fn from(samples: nkn::Samples) -> Self {
        Self(Arc::new(samples))
    }
}

impl Samples {
    /// Names and components.
    fn described(fields: &[nkn::field::Field]) -> Vec<(String, usize)> {
        fields.iter().map(|field| (field.name.clone(), field.components)).collect()
    }
}

#[pymethods]
impl Samples {
    /// Of arrays that mean what those of the same names mean in a file.
    #[new]
    fn new(py: Python<'_>, arrays: Vec<(String, Numbers<'_>)>, outputs: Vec<String>) -> PyResult<Self> {
        let arrays: Vec<Array> = arrays.into_iter().map(|(name, numbers)| numbers.named(name)).collect();
        quietly(py, || samples_of(arrays, &outputs)).map(Self::from)
    }

    /// Of a file or a folder.
    #[staticmethod]
    fn read(py: Python<'_>, path: PathBuf, outputs: Vec<String>, needs_output: bool) -> PyResult<Self> {
        let need = if needs_output { Need::Output } else { Need::Inputs };
        quietly(py, || read_dataset(&path, need, &outputs)).map(Self::from)
    }

    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        quietly(py, || write_dataset(&path, &self.0))
    }

    /// The arrays that they can be made of again.
    fn arrays<'py>(&self, py: Python<'py>) -> PyResult<Vec<(String, Bound<'py, PyArrayDyn<f64>>)>> {
        let arrays = arrays_of(&self.0).map_err(python)?;
        arrays.into_iter().map(|array| Ok((array.name.clone(), given(py, array)?))).collect()
    }

    #[getter]
    fn count(&self) -> usize {
        self.0.count()
    }

    #[getter]
    fn dim(&self) -> usize {
        self.0.domain().dim()
    }

    /// The axes of the nodes of a sample: those of a grid, or the number of points; nothing where it differs by sample.
    #[getter]
    fn shape(&self) -> Option<Vec<usize>> {
        match self.0.domain() {
            Domain::Grid(grid) => Some(grid.shape().to_vec()),
            Domain::Cloud(cloud) => Some(vec![cloud.len()]),
            Domain::Clouds(_) => None,
        }
    }

    #[getter]
    fn is_grid(&self) -> bool {
        matches!(self.0.domain(), Domain::Grid(_))
    }

    /// Where each sample begins among the nodes of all, and at the end their number.
    #[getter]
    fn offsets(&self) -> Vec<usize> {
        std::iter::once(0).chain(self.0.spans().into_iter().map(|span| span.end)).collect()
    }

    #[getter]
    fn fields(&self) -> Vec<(String, usize)> {
        Self::described(self.0.fields())
    }

    #[getter]
    fn outputs(&self) -> Vec<(String, usize)> {
        Self::described(self.0.outputs())
    }

    /// The values of a field or an output, one sample after the other.
    fn values<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let mut all = self.0.fields().iter().chain(self.0.outputs());
        let field = all.find(|field| field.name == name);
        let field = field.ok_or_else(|| PyValueError::new_err(format!("there is no function {name:?}")))?;
        Ok(row(py, field.values.clone()))
    }

    /// The coordinates of the nodes, of all samples where they differ: nodes x dim.
    fn points<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArrayDyn<f64>>> {
        let (domain, values) = (self.0.domain(), self.0.domain().coordinates());
        given(py, Array { name: String::new(), shape: vec![values.len() / domain.dim(), domain.dim()], values })
    }

    /// Some of the samples, in this order.
    fn select(&self, indices: Vec<usize>) -> PyResult<Self> {
        if indices.is_empty() {
            return Err(PyValueError::new_err("a selection of no samples\n  hint: keep at least one"));
        }
        match indices.iter().find(|&&index| index >= self.0.count()) {
            Some(index) => Err(PyIndexError::new_err(format!("there is no sample {index}, only {}", self.0.count()))),
            None => Ok(self.0.select(&indices).into()),
        }
    }

    /// Every n-th node, so that the first axis has so many.
    fn coarsen(&self, resolution: usize) -> PyResult<Self> {
        self.0.coarsen(resolution).map(Self::from).map_err(python)
    }
}
