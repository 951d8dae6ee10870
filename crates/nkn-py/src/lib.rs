//! The extension module `nkn._nkn`: a thin skin over the library's front door and the command. What a user meets is written in Python, in
//! `python/nkn`; here arrays, errors, threads and signals are translated, and nothing is decided.

mod arrays;
mod errors;
mod export;
mod fit;
mod images;
mod model;
mod problems;
mod samples;
mod threads;
mod training;

use pyo3::prelude::*;

/// Large arrays in huge pages, as in the command. Python's own objects do not come from here.
#[global_allocator]
static ALLOCATOR: nkn_cli::memory::Allocator = nkn_cli::memory::Allocator;

/// The command `nkn` with its arguments, the first of which is its name; the exit code.
#[pyfunction]
fn main(py: Python<'_>, arguments: Vec<String>) -> u8 {
    py.detach(|| nkn_cli::run(arguments))
}

/// The extension module.
#[pymodule]
mod _nkn {
    #[pymodule_export]
    use super::fit::{auto, fit};
    #[pymodule_export]
    use super::images::Images;
    #[pymodule_export]
    use super::main;
    #[pymodule_export]
    use super::model::Model;
    #[pymodule_export]
    use super::problems::{darcy, image_set, poisson, solve_darcy};
    #[pymodule_export]
    use super::samples::Samples;
    #[pymodule_export]
    use super::threads::{num_threads, set_num_threads};
    #[pymodule_export]
    use super::training::Training;
    use super::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
