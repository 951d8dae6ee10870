//! The numbers that a user gives for a function, in whatever array they are.

use crate::domain::Domain;
use crate::error::ensure;
use crate::{Error, Result};
use ndarray::{ArrayBase, Data, Dimension};

/// The values of one function: samples x nodes, sample by sample. Made by `into()` of a vector, a slice or an `ndarray` of
/// numbers that fit into an f64 (f64, f32, small integers); of an `ndarray` the shape is checked too.
///
/// ```
/// use nkn::field::Values;
/// let alike: [Values; 3] = [vec![1.0, 2.0].into(), (&[1.0f32, 2.0]).into(), vec![1u8, 2].into()];
/// assert!(alike.iter().all(|values| values == &alike[0]));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Values {
    numbers: Vec<f64>,
    /// Of an array that has one: N x nodes, or N x the shape of a grid.
    shape: Option<Vec<usize>>,
}

impl<T: Into<f64>> From<Vec<T>> for Values {
    fn from(numbers: Vec<T>) -> Self {
        Self { numbers: numbers.into_iter().map(Into::into).collect(), shape: None }
    }
}

impl<T: Into<f64> + Copy> From<&[T]> for Values {
    fn from(numbers: &[T]) -> Self {
        numbers.to_vec().into()
    }
}

impl<T: Into<f64> + Copy> From<&Vec<T>> for Values {
    fn from(numbers: &Vec<T>) -> Self {
        numbers.as_slice().into()
    }
}

impl<T: Into<f64> + Copy, const N: usize> From<&[T; N]> for Values {
    fn from(numbers: &[T; N]) -> Self {
        numbers.as_slice().into()
    }
}

impl<S: Data<Elem: Into<f64> + Copy>, D: Dimension> From<&ArrayBase<S, D>> for Values {
    fn from(array: &ArrayBase<S, D>) -> Self {
        // The iterator follows the indices, whatever the order in memory.
        Self::shaped(array.shape().to_vec(), array.iter().map(|&value| value.into()).collect())
    }
}

impl<S: Data<Elem: Into<f64> + Copy>, D: Dimension> From<ArrayBase<S, D>> for Values {
    fn from(array: ArrayBase<S, D>) -> Self {
        (&array).into()
    }
}

impl Values {
    /// Numbers in C order, and the shape that they claim to have.
    pub(crate) fn shaped(shape: Vec<usize>, numbers: Vec<f64>) -> Self {
        Self { numbers, shape: Some(shape) }
    }

    /// The numbers, if these are whole samples on the domain, as many as `like` has, each finite and within single
    /// precision.
    pub(super) fn checked(self, name: &str, domain: &Domain, like: Option<(&str, usize)>) -> Result<Vec<f64>> {
        let nodes = domain.len();
        let what = format!("field {name:?}");
        if let Some(shape) = &self.shape {
            let of_grid = matches!(domain, Domain::Grid(grid) if shape.ends_with(grid.shape())
                && shape.len() <= grid.dim() + 1);
            let flat = shape.ends_with(&[nodes]) && shape.len() <= 2;
            let hint = "the samples come first, then the nodes; all fields of a data set have one shape";
            ensure!(of_grid || flat, Error::invalid(what, shapes(domain), dimensions(shape), hint));
        }
        let numbers = self.numbers;
        let count = numbers.len() / nodes;
        if count == 0 || !numbers.len().is_multiple_of(nodes) {
            let expected = format!("{nodes} numbers for each sample, one per node, and at least one sample");
            let hint = "give whole samples, one after the other (samples x nodes)";
            return Err(Error::invalid(what, expected, format!("{} numbers", numbers.len()), hint));
        }
        if let Some((other, expected)) = like.filter(|&(_, expected)| expected != count) {
            let hint = "all fields of a data set have the same samples";
            return Err(Error::invalid(what, format!("{expected} samples as {other:?} has"), count, hint));
        }
        let place = |at: usize| format!("in sample {}, node {}", at / nodes, at % nodes);
        match numbers.iter().position(|&value| !(value as f32).is_finite()) {
            None => Ok(numbers),
            Some(at) if numbers[at].is_finite() => {
                let got = format!("{:e} {}", numbers[at], place(at));
                let expected = format!("numbers that single precision can hold, up to {:.1e}", f32::MAX);
                Err(Error::invalid(what, expected, got, "choose other units, or repair or remove that sample"))
            }
            Some(at) => {
                let hint = "repair or remove that sample".into();
                Err(Error::NotFinite { what, got: numbers[at], place: place(at), hint })
            }
        }
    }
}

/// The shapes that an array of values on a domain may have.
fn shapes(domain: &Domain) -> String {
    match domain {
        Domain::Grid(grid) if grid.dim() > 1 => {
            format!("samples x {}, or samples x {}", dimensions(grid.shape()), grid.len())
        }
        _ => format!("samples x {}", domain.len()),
    }
}

/// A shape in words.
pub(crate) fn dimensions(shape: &[usize]) -> String {
    match shape {
        [] => "a single number".into(),
        shape => shape.iter().map(usize::to_string).collect::<Vec<_>>().join(" x "),
    }
}
