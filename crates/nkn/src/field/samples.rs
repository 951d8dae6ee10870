//! Input and output functions, sampled at the same nodes.

use crate::domain::{Domain, Grid};
use crate::{Error, Result};

/// One input function per sample: `values` is samples x nodes.
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    /// The name under which configuration files speak of it.
    pub name: String,
    /// samples x nodes.
    pub values: Vec<f64>,
}

/// A set of samples on one domain.
#[derive(Clone, Debug)]
pub struct Samples {
    /// The nodes.
    pub domain: Domain,
    /// Number of samples.
    pub count: usize,
    /// The input functions.
    pub fields: Vec<Field>,
    /// The output function, samples x nodes; absent when there is nothing to compare with.
    pub output: Option<Vec<f64>>,
}

impl Samples {
    /// The input function of this name.
    pub fn field(&self, name: &str) -> Result<&Field> {
        self.fields.iter().find(|field| field.name == name).ok_or_else(|| {
            let names: Vec<&str> = self.fields.iter().map(|field| field.name.as_str()).collect();
            Error::invalid(
                "input field of the data",
                format!("a field named {name:?}"),
                format!("{names:?}"),
                "rename the array in the data file, or name the right fields in [model]",
            )
        })
    }

    /// The output function, or an error that says it is missing.
    pub fn output(&self) -> Result<&[f64]> {
        self.output.as_deref().ok_or_else(|| {
            Error::invalid(
                "output of the data",
                "an array u with the functions to learn",
                "none",
                "add u to the data file",
            )
        })
    }

    /// Number of nodes.
    pub fn nodes(&self) -> usize {
        self.domain.len()
    }

    /// The samples with these numbers, in this order.
    pub fn select(&self, indices: &[usize]) -> Self {
        let nodes = self.nodes();
        let pick = |values: &[f64]| -> Vec<f64> {
            indices.iter().flat_map(|&i| values[i * nodes..(i + 1) * nodes].iter().copied()).collect()
        };
        Self {
            domain: self.domain.clone(),
            count: indices.len(),
            fields: self
                .fields
                .iter()
                .map(|field| Field { name: field.name.clone(), values: pick(&field.values) })
                .collect(),
            output: self.output.as_deref().map(pick),
        }
    }

    /// The samples on a coarser grid made of some of the nodes: every n-th along each axis, ends included, so that the first
    /// axis has `resolution` nodes.
    ///
    /// ```
    /// # use nkn::{domain::{Domain, Grid}, field::{Field, Samples}};
    /// let domain = Domain::Grid(Grid::unit(&[5, 5])?);
    /// let values = (0..25).map(f64::from).collect();
    /// let fine = Samples { domain, count: 1, fields: vec![Field { name: "b".into(), values }], output: None };
    /// assert_eq!(fine.coarsen(3)?.fields[0].values, [0., 2., 4., 10., 12., 14., 20., 22., 24.]);
    /// # Ok::<(), nkn::Error>(())
    /// ```
    pub fn coarsen(&self, resolution: usize) -> Result<Self> {
        let Domain::Grid(grid) = &self.domain else {
            return Err(Error::invalid(
                "resolution",
                "data on a regular grid",
                "a point cloud",
                "give data of the resolution wanted",
            ));
        };
        if grid.shape()[0] == resolution {
            return Ok(self.clone());
        }
        let cells = grid.shape()[0] - 1;
        let step = cells.checked_div(resolution.saturating_sub(1)).unwrap_or(0);
        if step == 0 || grid.shape().iter().any(|side| (side - 1) % step != 0) || cells / step + 1 != resolution {
            let possible: Vec<usize> = (1..=cells)
                .rev()
                .filter(|step| grid.shape().iter().all(|side| (side - 1) % step == 0))
                .map(|step| cells / step + 1)
                .collect();
            return Err(Error::invalid(
                "resolution",
                format!("one that takes every n-th node of the grid {:?}: {possible:?}", grid.shape()),
                resolution,
                "choose one of these, or generate data on another grid",
            ));
        }
        let shape: Vec<usize> = grid.shape().iter().map(|side| (side - 1) / step + 1).collect();
        let coarse = Grid::new(shape.clone(), grid.lower().to_vec(), grid.upper().to_vec())?;
        let place = |mut node: usize| {
            let (mut index, mut stride) = (0, 1);
            for (own, full) in shape.iter().zip(grid.shape()).rev() {
                index += node % own * step * stride;
                node /= own;
                stride *= full;
            }
            index
        };
        let places: Vec<usize> = (0..coarse.len()).map(place).collect();
        let pick = |values: &[f64]| -> Vec<f64> {
            values.chunks_exact(grid.len()).flat_map(|sample| places.iter().map(|&place| sample[place])).collect()
        };
        Ok(Self {
            domain: Domain::Grid(coarse),
            count: self.count,
            fields: self.fields.iter().map(|f| Field { name: f.name.clone(), values: pick(&f.values) }).collect(),
            output: self.output.as_deref().map(pick),
        })
    }

    /// Refuses a NaN or an infinity, naming field, sample and node.
    pub fn check_finite(&self, origin: &str) -> Result<()> {
        let nodes = self.nodes().max(1);
        let fields = self.fields.iter().map(|field| (field.name.as_str(), field.values.as_slice()));
        for (name, values) in fields.chain(self.output.as_deref().map(|u| ("u", u))) {
            if let Some(position) = values.iter().position(|v| !v.is_finite()) {
                return Err(Error::NotFinite {
                    what: format!("field {name:?} of {origin}"),
                    got: values[position],
                    place: format!("in sample {}, node {}", position / nodes, position % nodes),
                    hint: "repair or remove that sample".into(),
                });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coarse_nodes_are_fine_nodes() {
        let domain = Domain::Grid(Grid::new(vec![9, 5], vec![0.0, 1.0], vec![2.0, 2.0]).unwrap());
        let f = |point: &[f64]| point[0] + 10.0 * point[1];
        let values: Vec<f64> = domain.coordinates().chunks(2).map(f).collect();
        let both: Vec<f64> = values.iter().copied().chain(values.iter().map(|v| -v)).collect();
        let fields = vec![Field { name: "b".into(), values: both.clone() }];
        let fine = Samples { domain, count: 2, fields, output: Some(both) };
        for (resolution, shape) in [(9, [9, 5]), (5, [5, 3]), (3, [3, 2])] {
            let coarse = fine.coarsen(resolution).unwrap();
            let Domain::Grid(grid) = &coarse.domain else { panic!() };
            assert_eq!(grid.shape(), shape);
            let expected: Vec<f64> = coarse.domain.coordinates().chunks(2).map(f).collect();
            let (first, second) = coarse.output.as_ref().unwrap().split_at(expected.len());
            for ((a, b), e) in first.iter().zip(second).zip(&expected) {
                assert!((a - e).abs() < 1e-12 && a == &-b);
            }
        }
        for wrong in [0, 1, 2, 4, 7, 17] {
            let message = fine.coarsen(wrong).unwrap_err().to_string();
            assert!(message.contains("[3, 5, 9]"), "{message}");
        }
    }
}
