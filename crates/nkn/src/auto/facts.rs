//! What the samples look like: all that the choices are made from.

use super::linear::linear_error;
use super::symmetric::is_symmetric;
use crate::domain::{Domain, PointCloud};
use crate::field::{Field, Samples, mean};
use crate::seed::Seed;
use crate::{Error, Result};
use serde::Serialize;
use std::collections::HashSet;
use std::ops::Range;

/// Values are counted up to here; a field with more is taken as continuous.
const COUNTED: usize = 64;

/// A field with at most so many values makes kernel rows that samples share.
pub(super) const FEW: usize = 8;

/// A difference between neighbours of more than this share of a field's range is a jump.
const JUMP: f64 = 0.5;

/// An input field.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct InputFacts {
    /// Its name.
    pub name: String,
    /// How many different values it has; nothing if there are many.
    pub distinct: Option<usize>,
    /// The smallest value.
    pub low: f64,
    /// The largest value.
    pub high: f64,
    /// The largest difference between neighbouring nodes, as a share of the range (grids).
    pub steepest: f64,
    /// Mean and standard deviation.
    pub mean: f64,
    /// Around the mean.
    pub deviation: f64,
}

impl InputFacts {
    /// Whether it says nothing: the same value everywhere.
    pub fn is_constant(&self) -> bool {
        self.distinct == Some(1)
    }

    /// Whether samples share their values at a node.
    pub fn has_few_values(&self) -> bool {
        self.distinct.is_some_and(|count| count <= FEW)
    }

    /// Whether neighbours differ by more than half of the range.
    pub fn jumps(&self) -> bool {
        self.steepest > JUMP
    }
}

/// What was found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Facts {
    /// The number of samples.
    pub samples: usize,
    /// The number of nodes of a sample.
    pub nodes: usize,
    /// The number of space dimensions.
    pub dim: usize,
    /// The nodes along each axis of a regular grid; nothing for scattered points.
    pub shape: Option<Vec<usize>>,
    /// The largest distance between neighbouring nodes of a grid; the mean one of scattered points.
    pub spacing: f64,
    /// The input fields.
    pub inputs: Vec<InputFacts>,
    /// Numbers at a node: of the inputs, and of the outputs.
    pub channels: (usize, usize),
    /// Root mean square of the output, over all samples and nodes.
    pub output_size: f64,
    /// Samples whose output is zero everywhere.
    pub zero_outputs: usize,
    /// The error of the best straight linear map on samples that it has not seen.
    pub linear: Option<f64>,
    /// Pairs of inputs that are called like the components of a vector: `g_x` and `g_y`.
    pub vectors: Vec<[String; 2]>,
    /// Whether turned and mirrored samples look like the samples; nothing where that cannot be said.
    pub symmetric: Option<bool>,
}

impl Facts {
    /// Looks at samples, which have an output.
    pub fn of(samples: &Samples, seed: u64) -> Result<Self> {
        let outputs = samples.outputs_named(&[])?;
        let domain = samples.domain();
        let (shape, spacing) = match domain {
            Domain::Grid(grid) => (Some(grid.shape().to_vec()), grid.spacing().into_iter().fold(0.0, f64::max)),
            Domain::Cloud(cloud) => (None, spacing(cloud)),
            Domain::Clouds(clouds) => (None, mean(&clouds.distinct().iter().map(spacing).collect::<Vec<f64>>())),
        };
        let inputs: Vec<InputFacts> = samples.fields().iter().map(|field| input(field, shape.as_deref())).collect();
        if inputs.iter().all(InputFacts::is_constant) {
            let hint = "the output cannot depend on it: give the functions to predict from";
            return Err(Error::invalid("input fields", "one that varies", "the same value everywhere", hint));
        }
        let all = || outputs.iter().flat_map(|output| &output.values);
        let squares: f64 = all().map(|u| u * u).sum();
        let is_zero = |span: &Range<usize>| {
            let own =
                |output: &&Field| output.values[span.start * output.components..span.end * output.components].to_vec();
            outputs.iter().any(|output| own(output).iter().all(|&u| u == 0.0))
        };
        let columns = |fields: &mut dyn Iterator<Item = &Field>| fields.map(|field| field.components).sum();
        let vectors = vectors(&inputs);
        Ok(Self {
            samples: samples.count(),
            nodes: samples.nodes(),
            dim: domain.dim(),
            shape,
            spacing,
            inputs,
            channels: (columns(&mut samples.fields().iter()), columns(&mut outputs.iter().copied())),
            output_size: (squares / all().count() as f64).sqrt(),
            zero_outputs: samples.spans().iter().filter(|span| is_zero(span)).count(),
            linear: linear_error(samples)?,
            symmetric: is_symmetric(samples, &vectors, Seed::new(seed))?,
            vectors,
        })
    }

    /// Where the samples are, in words.
    pub fn place(&self) -> String {
        match &self.shape {
            Some(shape) => {
                let sides: Vec<String> = shape.iter().map(usize::to_string).collect();
                format!("a regular grid of {} nodes", sides.join(" x "))
            }
            None => format!("{} scattered points in {} dimensions", self.nodes, self.dim),
        }
    }

    /// The inputs that say something.
    pub fn varying(&self) -> impl Iterator<Item = &InputFacts> {
        self.inputs.iter().filter(|input| !input.is_constant())
    }
}

/// By their names alone: whether they behave as such is asked with the symmetries.
fn vectors(inputs: &[InputFacts]) -> Vec<[String; 2]> {
    let has = |name: &String| inputs.iter().any(|input| input.name == *name && !input.is_constant());
    let pair = |input: &InputFacts| {
        let stem = input.name.strip_suffix("_x")?;
        Some([input.name.clone(), format!("{stem}_y")]).filter(|pair| pair.iter().all(has))
    };
    inputs.iter().filter_map(pair).collect()
}

/// The mean distance between neighbouring points.
fn spacing(cloud: &PointCloud) -> f64 {
    (cloud.measure() / cloud.len() as f64).powf(1.0 / cloud.dim() as f64)
}

fn input(Field { name, components, values }: &Field, shape: Option<&[usize]>) -> InputFacts {
    let mut seen = HashSet::new();
    // Zero has two signs.
    let is_counted = values.iter().all(|value| {
        seen.insert((value + 0.0).to_bits());
        seen.len() <= COUNTED
    });
    let (low, high) = values.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), &v| (l.min(v), h.max(v)));
    let along = |shape: &[usize]| {
        let component = |c: usize| values.iter().skip(c).step_by(*components).copied().collect::<Vec<f64>>();
        (0..*components).fold(0.0, |largest: f64, c| largest.max(steepest(&component(c), shape)))
    };
    let steepest = shape.filter(|_| high > low).map_or(0.0, |shape| along(shape) / (high - low));
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let deviation = (values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / values.len() as f64).sqrt();
    let distinct = is_counted.then_some(seen.len());
    InputFacts { name: name.clone(), distinct, low, high, steepest, mean, deviation }
}

/// The largest difference between neighbours along an axis.
fn steepest(values: &[f64], shape: &[usize]) -> f64 {
    let nodes: usize = shape.iter().product();
    let mut largest: f64 = 0.0;
    let mut stride = nodes;
    for &side in shape {
        stride /= side;
        for sample in values.chunks_exact(nodes) {
            for node in (0..nodes).filter(|node| node / stride % side + 1 < side) {
                largest = largest.max((sample[node + stride] - sample[node]).abs());
            }
        }
    }
    largest
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Grid, PointCloud};
    use crate::problem::poisson;

    #[test]
    fn a_grid_with_jumps() {
        let b = [[3.0, 3.0, 12.0, 12.0], [12.0, 3.0, 3.0, 12.0]].concat();
        let samples = Samples::on(Grid::new(vec![4], vec![0.0], vec![6.0]).unwrap())
            .inputs([("b", b), ("one", vec![1.0; 8])])
            .unwrap()
            .output("u", [[0.0; 4], [3.0, 1.0, 1.0, 1.0]].concat())
            .unwrap();
        let facts = Facts::of(&samples, 0).unwrap();
        assert_eq!((facts.samples, facts.nodes, facts.dim, facts.spacing), (2, 4, 1, 2.0));
        assert_eq!(facts.place(), "a regular grid of 4 nodes");
        let [b, one] = &facts.inputs[..] else { panic!() };
        assert_eq!((b.distinct, b.low, b.high, b.jumps(), b.has_few_values()), (Some(2), 3.0, 12.0, true, true));
        assert!(one.is_constant() && facts.varying().count() == 1);
        assert_eq!((facts.zero_outputs, facts.output_size), (1, (12.0f64 / 8.0).sqrt()));
        assert_eq!((facts.linear, facts.symmetric, facts.channels), (None, None, (2, 1)));
    }

    #[test]
    fn a_linear_map_is_seen() {
        let facts = Facts::of(&poisson::generate(Seed::new(0), 0, 100, 33).unwrap(), 0).unwrap();
        assert!(facts.linear.unwrap() < 1e-3, "{facts:?}");
        assert_eq!(facts.inputs[0].distinct, None);
        assert!(!facts.inputs[0].jumps());
    }

    #[test]
    fn scattered_points_and_inputs_that_say_nothing() {
        let cloud = PointCloud::new(2, (0..50).map(|i| (i * 7 % 50) as f64 / 50.0).collect(), 1.0).unwrap();
        let samples =
            |f: Vec<f64>| Samples::on(cloud.clone()).input("f", f).unwrap().output("u", vec![1.0; 50]).unwrap();
        let facts = Facts::of(&samples((0..50).map(f64::from).collect()), 0).unwrap();
        assert_eq!((facts.shape.clone(), facts.spacing), (None, 0.2));
        assert_eq!(facts.place(), "25 scattered points in 2 dimensions");
        let message = Facts::of(&samples(vec![2.0; 50]), 0).unwrap_err().to_string();
        assert!(message.contains("one that varies"), "{message}");
    }
}
