//! Images with their classes.

use crate::errors::python;
use numpy::{PyReadonlyArray1, PyReadonlyArray4};
use pyo3::prelude::*;
use std::sync::Arc;

/// The library's images, which many may hold.
#[pyclass(frozen, module = "nkn._nkn", from_py_object)]
#[derive(Clone)]
pub struct Images(pub Arc<nkn::Images>);

#[pymethods]
impl Images {
    /// Of pixels, images x channels x side x side, and a class for each image.
    #[new]
    fn new(pixels: PyReadonlyArray4<'_, u8>, labels: PyReadonlyArray1<'_, u8>) -> PyResult<Self> {
        let view = pixels.as_array();
        let (channels, side) = (view.shape()[1], view.shape()[2]);
        let images = nkn::Images::new(side, channels, view.iter().copied().collect(), labels.as_array().to_vec());
        images.map(|images| Self(Arc::new(images))).map_err(python)
    }

    #[getter]
    fn count(&self) -> usize {
        self.0.count
    }

    #[getter]
    fn side(&self) -> usize {
        self.0.side
    }
}
