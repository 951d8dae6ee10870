//! Input and output functions, sampled at the same nodes.

use crate::domain::Domain;
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
