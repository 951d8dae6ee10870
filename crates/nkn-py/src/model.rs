//! A trained network.

use crate::arrays::{Numbers, given, row};
use crate::errors::python;
use crate::export::exported;
use crate::images::Images;
use crate::samples::Samples;
use crate::threads::{Stop, compute, quietly};
use nkn::Quadrature;
use nkn::analysis::{Elliptic, Stability};
use nkn::io::Array;
use nkn::model::{Depth, Predicting};
use nkn::run::RunFolder;
use numpy::{PyArray1, PyArrayDyn};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use std::path::PathBuf;
use std::sync::Arc;

/// The library's network, which many may hold.
#[pyclass(frozen, module = "nkn._nkn", from_py_object)]
#[derive(Clone)]
pub struct Model(pub Arc<nkn::Model>);

impl From<nkn::Model> for Model {
    fn from(model: nkn::Model) -> Self {
        Self(Arc::new(model))
    }
}

/// What a network is asked about.
#[derive(FromPyObject, IntoPyObject)]
pub enum Examples {
    /// Functions.
    Samples(Samples),
    /// Images.
    Images(Images),
}

/// How predictions are made, by the names of the library.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct How {
    quadrature: Option<String>,
    memory_gib: f64,
    double: bool,
    depth: Option<String>,
    tolerance: Option<f64>,
}

impl How {
    fn quadrature(&self) -> PyResult<Option<Quadrature>> {
        self.quadrature.as_deref().map(str::parse).transpose().map_err(python)
    }

    fn depth(&self) -> PyResult<Option<Depth>> {
        self.depth.as_deref().map(str::parse).transpose().map_err(python)
    }
}

#[pymethods]
impl Model {
    /// The network of a model file, or of a run's folder.
    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        let read = || if path.is_dir() { RunFolder::open(&path)?.model() } else { nkn::Model::load(&path) };
        quietly(py, read).map(Self::from)
    }

    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        quietly(py, || self.0.save(&path))
    }

    /// The bytes of the model's file.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &self.0.to_bytes().map_err(python)?))
    }

    #[staticmethod]
    fn from_bytes(bytes: &[u8]) -> PyResult<Self> {
        nkn::Model::from_bytes(bytes).map(Self::from).map_err(python)
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyBytes>,))> {
        Ok((py.get_type::<Self>().getattr("from_bytes")?, (self.to_bytes(py)?,)))
    }

    /// The configuration in the model's file, as JSON.
    #[getter]
    fn header(&self) -> String {
        self.0.header()
    }

    /// The tensors of the model's file.
    fn tensors<'py>(&self, py: Python<'py>) -> PyResult<Vec<(String, Bound<'py, PyArrayDyn<f64>>)>> {
        self.0.tensors().into_iter().map(|array| Ok((array.name.clone(), given(py, array)?))).collect()
    }

    #[staticmethod]
    fn from_tensors(header: &str, tensors: Vec<(String, Numbers<'_>)>) -> PyResult<Self> {
        let tensors: Vec<Array> = tensors.into_iter().map(|(name, numbers)| numbers.named(name)).collect();
        nkn::Model::from_tensors(header, tensors).map(Self::from).map_err(python)
    }

    #[getter]
    fn title(&self) -> String {
        self.0.title()
    }

    #[getter]
    fn depth(&self) -> usize {
        self.0.depth()
    }

    /// The number of parameters.
    #[getter]
    fn count(&self) -> usize {
        self.0.parameters().count()
    }

    /// The outputs of functions, samples x nodes x columns in one row.
    fn predict<'py>(&self, py: Python<'py>, samples: Samples, how: How) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let (quadrature, depth) = (how.quadrature()?, how.depth()?);
        let How { memory_gib, double, tolerance, .. } = how;
        let work = |stop: Stop| {
            let go_on = |_, _| !stop.is_asked();
            let device = Predicting::default().device;
            let how = Predicting { quadrature, memory_gib, double, depth, tolerance, device, go_on: &go_on };
            self.0.predict_with(&*self.0.placed(&samples.0)?, &how)
        };
        Ok(row(py, compute(py, work, |_| Ok(()))?))
    }

    /// The probabilities of images' classes at a resolution, images x classes in one row.
    fn probabilities<'py>(&self, py: Python<'py>, images: Images, side: usize) -> PyResult<Bound<'py, PyArray1<f32>>> {
        let work = |stop: Stop| {
            let go_on = |_, _| !stop.is_asked();
            self.0.probabilities(&images.0, side, &Predicting { go_on: &go_on, ..Predicting::default() })
        };
        Ok(row(py, compute(py, work, |_| Ok(()))?))
    }

    /// Every measure of how good the predictions are, the first of them the error: split, resolution, metric, value.
    fn measures(&self, py: Python<'_>, examples: Examples) -> PyResult<Vec<(String, usize, String, f64)>> {
        let measures = quietly(py, || {
            let how = Predicting::default();
            match &examples {
                Examples::Samples(samples) => self.0.measures(&*self.0.placed(&samples.0)?, "test", None, &how),
                Examples::Images(images) => self.0.measures(&*images.0, "test", None, &how),
            }
        })?;
        Ok(measures.into_iter().map(|m| (m.split, m.resolution, m.metric, m.value)).collect())
    }

    /// The eigenvalues of the operator behind the layers on the first of the examples, and what they say of a step.
    fn spectrum<'py>(&self, py: Python<'py>, examples: Examples) -> PyResult<Bound<'py, PyDict>> {
        let stability = quietly(py, || {
            let operator = match &examples {
                Examples::Samples(samples) => Elliptic::new(&self.0, &*self.0.placed(&samples.0)?)?,
                Examples::Images(images) => Elliptic::of_images(&self.0, images.0.side, 0)?,
            };
            Stability::of(&self.0, &operator)
        })?;
        let (real, imaginary): (Vec<f64>, Vec<f64>) = stability.spectrum.eigenvalues.iter().copied().unzip();
        let result = PyDict::new(py);
        result.set_item("real", row(py, real))?;
        result.set_item("imaginary", row(py, imaginary))?;
        result.set_item("complete", stability.spectrum.complete)?;
        result.set_item("step", stability.step)?;
        result.set_item("amplification", stability.amplification())?;
        result.set_item("is_stable", stability.is_stable())?;
        result.set_item("stable_from", stability.stable_from)?;
        result.set_item("certified_from", stability.certified_from)?;
        Ok(result)
    }

    /// The domain of samples as the network sees it, in plain arrays.
    fn exported<'py>(&self, py: Python<'py>, samples: Samples) -> PyResult<Bound<'py, PyDict>> {
        exported(py, quietly(py, || self.0.exported(self.0.placed(&samples.0)?.domain()))?)
    }
}
