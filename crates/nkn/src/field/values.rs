//! The numbers that a user gives for a function, in whatever array they are.

use crate::domain::Domain;
use crate::{Error, Result};
use ndarray::{ArrayBase, Data, Dimension};

/// The values of one function: samples x nodes, sample by sample, or samples x nodes x components of a vector field. Made by
/// `into()` of a vector, a slice or an `ndarray` of numbers that fit into an f64 (f64, f32, small integers); of an `ndarray`
/// the shape is checked too, and says whether the field has components.
///
/// ```
/// use nkn::field::Values;
/// let alike: [Values; 3] = [vec![1.0, 2.0].into(), (&[1.0f32, 2.0]).into(), vec![1u8, 2].into()];
/// assert!(alike.iter().all(|values| values == &alike[0]));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Values {
    numbers: Vec<f64>,
    shape: Shape,
}

/// What is known of the shape.
#[derive(Clone, Debug, PartialEq)]
enum Shape {
    /// Numbers alone: so many components at every node.
    Flat(usize),
    /// Of an array: N x nodes, or N x the shape of a grid, and perhaps x components.
    Array(Vec<usize>),
}

impl<T: Into<f64>> From<Vec<T>> for Values {
    fn from(numbers: Vec<T>) -> Self {
        Self { numbers: numbers.into_iter().map(Into::into).collect(), shape: Shape::Flat(1) }
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
        Self { numbers, shape: Shape::Array(shape) }
    }

    /// The values of a vector field: samples x nodes x components, the components of a node beside each other.
    ///
    /// ```
    /// use nkn::{domain::Grid, field::{Samples, Values}};
    /// let velocity = Values::vectors(2, vec![1.0, 0.0, 1.0, 0.5, 1.0, 1.0]);
    /// let samples = Samples::on(Grid::unit(&[3])?).input("velocity", velocity)?;
    /// assert_eq!((samples.count(), samples.fields()[0].components), (1, 2));
    /// # Ok::<(), nkn::Error>(())
    /// ```
    pub fn vectors(components: usize, numbers: impl Into<Self>) -> Self {
        Self { shape: Shape::Flat(components), ..numbers.into() }
    }

    /// The number of components and the numbers, if these are whole samples on the domain, as many as `like` has, each finite
    /// and within single precision.
    pub(super) fn checked(self, name: &str, domain: &Domain, like: Option<(&str, usize)>) -> Result<(usize, Vec<f64>)> {
        let nodes = domain.len();
        let what = format!("field {name:?}");
        let components = match &self.shape {
            Shape::Flat(components) => Some(*components),
            Shape::Array(shape) => components(shape, domain),
        };
        let Some(components) = components.filter(|&components| components > 0) else {
            let got = match &self.shape {
                Shape::Flat(components) => format!("{components} components"),
                Shape::Array(shape) => dimensions(shape),
            };
            let hint = "the samples come first, then the nodes, then the components of a vector";
            return Err(Error::invalid(what, shapes(domain), got, hint));
        };
        let numbers = self.numbers;
        let size = nodes * components;
        // Clouds that differ say how many samples there are.
        let (count, whole) = match domain {
            Domain::Clouds(clouds) => (clouds.count(), numbers.len() == size),
            _ => (numbers.len() / size, numbers.len().is_multiple_of(size) && !numbers.is_empty()),
        };
        if !whole {
            let expected = match domain {
                Domain::Clouds(_) => format!("{size} numbers, for the points of all samples"),
                _ => format!("{size} numbers for each sample, one per node, and at least one sample"),
            };
            let hint = "give whole samples, one after the other (samples x nodes)";
            return Err(Error::invalid(what, expected, format!("{} numbers", numbers.len()), hint));
        }
        if let Some((other, expected)) = like.filter(|&(_, expected)| expected != count) {
            let hint = "all fields of a data set have the same samples";
            return Err(Error::invalid(what, format!("{expected} samples as {other:?} has"), count, hint));
        }
        let place = |at: usize| {
            let (sample, node) = domain.place(at / components);
            let component = if components > 1 { format!(", component {}", at % components) } else { String::new() };
            format!("in sample {sample}, node {node}{component}")
        };
        match numbers.iter().position(|&value| !(value as f32).is_finite()) {
            None => Ok((components, numbers)),
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

/// The number of components that an array of this shape has at every node of a domain, if it has any.
fn components(shape: &[usize], domain: &Domain) -> Option<usize> {
    // What may stand for the nodes, with the samples before or without.
    let mut forms: Vec<Vec<usize>> = vec![vec![domain.len()]];
    match domain {
        Domain::Grid(grid) => forms.push(grid.shape().to_vec()),
        Domain::Cloud(_) => {}
        Domain::Clouds(clouds) => {
            let each = clouds.total() / clouds.count();
            if clouds.distinct().iter().all(|cloud| cloud.len() == each) {
                forms.push(vec![clouds.count(), each]);
            }
        }
    }
    let is_one_row = matches!(domain, Domain::Clouds(_));
    let scalar = |form: &Vec<usize>| {
        let free = if is_one_row { 0 } else { 1 };
        shape.ends_with(form) && shape.len() <= form.len() + free
    };
    let vector = |form: &Vec<usize>| {
        let first = if is_one_row { 0 } else { 1 };
        shape.len() == first + form.len() + 1 && shape[first..].starts_with(form)
    };
    match forms.iter().any(scalar) {
        true => Some(1),
        false => forms.iter().any(vector).then(|| shape[shape.len() - 1]),
    }
}

/// The shapes that an array of values on a domain may have.
fn shapes(domain: &Domain) -> String {
    match domain {
        Domain::Grid(grid) if grid.dim() > 1 => {
            format!("samples x {}, or samples x {}", dimensions(grid.shape()), grid.len())
        }
        Domain::Clouds(_) => format!("{} values, those of the points of all samples", domain.len()),
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
