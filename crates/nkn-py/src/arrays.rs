//! Arrays between numpy and the library.

use nkn::io::Array;
use numpy::{IntoPyArray, PyArray1, PyArrayDyn, PyArrayMethods, PyReadonlyArrayDyn};
use pyo3::prelude::*;

/// An array of numbers as Python has it, in any order of memory.
#[derive(FromPyObject)]
pub enum Numbers<'py> {
    /// float64.
    Double(PyReadonlyArrayDyn<'py, f64>),
    /// float32.
    Single(PyReadonlyArrayDyn<'py, f32>),
}

impl Numbers<'_> {
    /// The library's own copy, the last index running fastest.
    pub fn named(&self, name: String) -> Array {
        match self {
            Numbers::Double(array) => {
                let (view, shape) = (array.as_array(), array.as_array().shape().to_vec());
                // Contiguous memory is copied as a block.
                let values = match array.as_slice() {
                    Ok(values) if view.is_standard_layout() => values.to_vec(),
                    _ => view.iter().copied().collect(),
                };
                Array { name, shape, values }
            }
            Numbers::Single(array) => {
                let view = array.as_array();
                Array { name, shape: view.shape().to_vec(), values: view.iter().map(|&value| value.into()).collect() }
            }
        }
    }
}

/// An array of the library, whose memory becomes Python's.
pub fn given<'py>(py: Python<'py>, array: Array) -> PyResult<Bound<'py, PyArrayDyn<f64>>> {
    array.values.into_pyarray(py).reshape(array.shape)
}

/// A row of numbers, whose memory becomes Python's.
pub fn row<T: numpy::Element>(py: Python<'_>, values: Vec<T>) -> Bound<'_, PyArray1<T>> {
    values.into_pyarray(py)
}
