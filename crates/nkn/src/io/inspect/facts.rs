//! What the numbers of one array look like.

use crate::io::Array;
use serde::Serialize;
use std::collections::HashSet;

/// Values are counted up to here; a field with more has many.
const COUNTED: usize = 64;

/// What an array is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// A function to predict from.
    Input,
    /// A function to predict.
    Output,
    /// It says where the values are.
    Place,
}

/// What is known of an array.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ArrayFacts {
    /// Its name.
    pub name: String,
    /// What it is for.
    pub role: Role,
    /// Its shape in the file; of meshes, that of all samples together.
    pub shape: Vec<usize>,
    /// Each component, or the only one.
    pub columns: Vec<Column>,
    /// Values that are not finite, or beyond single precision.
    pub gap: Option<Gap>,
    /// Whether it is the same function in all of several samples.
    pub is_repeated: bool,
}

/// The values of one component, without those that are not finite.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Column {
    /// The smallest value.
    pub low: f64,
    /// The largest value.
    pub high: f64,
    /// Over all samples and nodes.
    pub mean: f64,
    /// Around the mean.
    pub deviation: f64,
    /// How many different values there are; nothing if there are many.
    pub distinct: Option<usize>,
}

/// Values that are not finite, or too large.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Gap {
    /// How many.
    pub count: usize,
    /// The first of them.
    pub value: String,
    /// The sample of the first, where samples differ.
    pub sample: Option<usize>,
    /// The node of the first.
    pub node: usize,
    /// The component of the first.
    pub component: usize,
}

impl ArrayFacts {
    /// Looks at an array; `offsets` are those of samples that are stacked.
    pub(super) fn of(array: &Array, role: Role, components: usize, gaps: &[usize], offsets: Option<&[f64]>) -> Self {
        let Array { name, shape, values } = array;
        let column = |component: usize| Column::of(|| values.iter().copied().skip(component).step_by(components));
        let each = values.len() / shape.first().copied().unwrap_or(1).max(1);
        let is_repeated = role != Role::Place
            && offsets.is_none()
            && shape.first().is_some_and(|&count| count > 1)
            && each > 0
            && values.chunks(each).all(|sample| sample == &values[..each]);
        Self {
            name: name.clone(),
            role,
            shape: shape.clone(),
            columns: (0..components).map(column).collect(),
            gap: gaps.first().map(|&first| Gap::of(array, role, components, gaps.len(), first, offsets)),
            is_repeated,
        }
    }

    /// Whether it has the same value everywhere.
    pub fn is_constant(&self) -> bool {
        self.columns.iter().all(|column| column.distinct == Some(1))
    }
}

impl Column {
    fn of<I: Iterator<Item = f64>>(values: impl Fn() -> I) -> Self {
        let finite = || values().filter(|value| value.is_finite());
        let (mut low, mut high, mut sum, mut count) = (f64::INFINITY, f64::NEG_INFINITY, 0.0, 0usize);
        let mut different = HashSet::new();
        for value in finite() {
            (low, high, sum, count) = (low.min(value), high.max(value), sum + value, count + 1);
            if different.len() <= COUNTED {
                // Both zeros are the same number.
                different.insert((value + 0.0).to_bits());
            }
        }
        let mean = sum / count as f64;
        let square: f64 = finite().map(|value| (value - mean).powi(2)).sum();
        let distinct = (different.len() <= COUNTED).then_some(different.len());
        Self { low, high, mean, deviation: (square / count as f64).sqrt(), distinct }
    }
}

impl Gap {
    fn of(array: &Array, role: Role, components: usize, count: usize, at: usize, offsets: Option<&[f64]>) -> Self {
        let row = at / components;
        let rows = array.values.len() / components;
        // Only points of every sample are places that samples do not share.
        let per_sample = role != Role::Place || array.shape.len() > 2;
        let (sample, node) = match offsets {
            Some(offsets) if array.shape.first() == Some(&rows) => {
                let sample = offsets.iter().rposition(|&offset| offset <= row as f64).unwrap_or(0);
                let start = offsets.get(sample).map_or(0, |&offset| offset as usize);
                (Some(sample), row.saturating_sub(start))
            }
            _ if per_sample => {
                let each = (rows / array.shape.first().copied().unwrap_or(1).max(1)).max(1);
                (Some(row / each), row % each)
            }
            _ => (None, row),
        };
        Self { count, value: array.values[at].to_string(), sample, node, component: at % components }
    }
}
