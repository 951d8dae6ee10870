//! The library's errors as Python's: what the system refused is an `OSError`, all else a `ValueError`, with the message and its hint.

use pyo3::PyErr;
use pyo3::exceptions::{PyKeyboardInterrupt, PyRuntimeError, PyValueError};
use std::any::Any;

/// An error of the library.
pub fn python(error: nkn::Error) -> PyErr {
    let message = error.to_string();
    match error {
        // The kind decides between FileNotFoundError, PermissionError and their like.
        nkn::Error::Io { answer, .. } => std::io::Error::new(answer.kind(), message).into(),
        nkn::Error::Stopped => PyKeyboardInterrupt::new_err(message),
        _ => PyValueError::new_err(message),
    }
}

/// An error of the command's code.
pub fn of_command(error: anyhow::Error) -> PyErr {
    match error.downcast::<nkn::Error>() {
        Ok(error) => python(error),
        Err(other) => PyValueError::new_err(format!("{other:#}")),
    }
}

/// A panic, which must not pass the boundary.
pub fn of_panic(panic: &(dyn Any + Send)) -> PyErr {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no message");
    PyRuntimeError::new_err(format!("nkn has made a mistake: {text}\n  hint: report it with what you did"))
}
