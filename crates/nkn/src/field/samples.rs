//! Input and output functions, sampled at the same nodes.

use super::values::Values;
use crate::domain::{Domain, Grid};
use crate::{Error, Result};
use ndarray::{ArrayViewD, AxisDescription, Slice};
use std::ops::Range;

/// One function per sample, under a name.
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    /// The name under which configuration files speak of it.
    pub name: String,
    /// Numbers at a node: 1, or those of a vector.
    pub components: usize,
    /// samples x nodes x components.
    pub values: Vec<f64>,
}

/// A set of samples, all on one domain or each on a point cloud of its own: at least one sample, at least one input function,
/// and output functions where there is something to learn or to compare with.
///
/// Everything is checked here, so samples that exist are valid: fields have names of their own, as many samples as each
/// other, a value for every node, and values that are finite and within single precision.
///
/// ```
/// use nkn::{domain::Grid, field::Samples};
///
/// // Three samples of f(x) = a and u(x) = a x (1 - x) / 2, the solutions of -u'' = f.
/// let grid = Grid::unit(&[101])?;
/// let x = grid.coordinates();
/// let f: Vec<f64> = [1.0, 2.0, 3.0].iter().flat_map(|&a| vec![a; 101]).collect();
/// let u: Vec<f64> = [1.0, 2.0, 3.0].iter().flat_map(|a| x.iter().map(move |x| a * x * (1.0 - x) / 2.0)).collect();
/// let train = Samples::on(grid).input("f", f)?.output("u", u)?;
/// assert_eq!((train.count(), train.nodes()), (3, 101));
///
/// // What does not fit is refused with the field, the sample and the node.
/// let message = Samples::on(Grid::unit(&[2])?).input("f", vec![0.0, 1.0, f64::NAN, 3.0]).unwrap_err().to_string();
/// assert!(message.starts_with("field \"f\" is not finite (NaN) in sample 1, node 0"));
/// # Ok::<(), nkn::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Samples {
    domain: Domain,
    pub(super) fields: Vec<Field>,
    pub(super) outputs: Vec<Field>,
}

/// A domain that waits for its first input function: see [`Samples::on`].
#[derive(Clone, Debug)]
pub struct SamplesOn {
    domain: Domain,
}

impl SamplesOn {
    /// The first input function, samples x nodes.
    pub fn input(self, name: impl Into<String>, values: impl Into<Values>) -> Result<Samples> {
        self.inputs([(name, values)])
    }

    /// All input functions at once.
    ///
    /// ```
    /// # use nkn::{domain::Grid, field::Samples};
    /// let samples = Samples::on(Grid::unit(&[2])?).inputs([("a", vec![0.0, 1.0]), ("b", vec![2.0, 3.0])])?;
    /// assert_eq!(samples.field("b")?.values, [2.0, 3.0]);
    /// # Ok::<(), nkn::Error>(())
    /// ```
    pub fn inputs(self, fields: impl IntoIterator<Item = (impl Into<String>, impl Into<Values>)>) -> Result<Samples> {
        let mut samples = Samples { domain: self.domain, fields: Vec::new(), outputs: Vec::new() };
        for (name, values) in fields {
            samples = samples.input(name, values)?;
        }
        match samples.fields.is_empty() {
            false => Ok(samples),
            true => Err(Error::invalid("input fields", "at least one", "none", "give the functions to predict from")),
        }
    }
}

impl Samples {
    /// Begins a set of samples on a grid or a point cloud; the first [`input`](SamplesOn::input) makes it one.
    ///
    /// Values may be vectors, slices or `ndarray`s of f64 or f32, see [`Values`]:
    ///
    /// ```
    /// use ndarray::array;
    /// use nkn::{domain::PointCloud, field::Samples};
    ///
    /// let points = PointCloud::new(2, vec![0.1, 0.2, 0.7, 0.4, 0.5, 0.9], 1.0)?;
    /// let samples = Samples::on(points).input("b", array![[1.0f32, 2.0, 3.0], [4.0, 5.0, 6.0]])?;
    /// assert_eq!((samples.count(), samples.nodes()), (2, 3));
    /// # Ok::<(), nkn::Error>(())
    /// ```
    pub fn on(domain: impl Into<Domain>) -> SamplesOn {
        SamplesOn { domain: domain.into() }
    }

    /// Adds an input function, samples x nodes, or x components.
    pub fn input(mut self, name: impl Into<String>, values: impl Into<Values>) -> Result<Self> {
        let field = self.checked(name.into(), values.into(), None)?;
        self.fields.push(field);
        Ok(self)
    }

    /// Adds an output function, samples x nodes, or x components; one of the same name is replaced.
    pub fn output(mut self, name: impl Into<String>, values: impl Into<Values>) -> Result<Self> {
        let name = name.into();
        let place = self.outputs.iter().position(|output| output.name == name);
        let field = self.checked(name, values.into(), place)?;
        match place {
            Some(place) => self.outputs[place] = field,
            None => self.outputs.push(field),
        }
        Ok(self)
    }

    /// A new field that fits to the others, in place of this output.
    fn checked(&self, name: String, values: Values, replaced: Option<usize>) -> Result<Field> {
        let outputs = self.outputs.iter().enumerate().filter(|(place, _)| Some(*place) != replaced);
        if name.is_empty()
            || self.fields.iter().chain(outputs.map(|(_, output)| output)).any(|field| field.name == name)
        {
            let hint = "rename one of the functions";
            return Err(Error::invalid("field", "a name of its own", format!("{name:?} again"), hint));
        }
        let like = self.fields.first().map(|field| (field.name.as_str(), self.count()));
        let (components, values) = values.checked(&name, &self.domain, like)?;
        Ok(Field { name, components, values })
    }

    /// Where the functions are sampled.
    pub fn domain(&self) -> &Domain {
        &self.domain
    }

    /// The number of samples, at least 1.
    pub fn count(&self) -> usize {
        match &self.domain {
            Domain::Clouds(clouds) => clouds.count(),
            domain => self.fields.first().map_or(0, |field| field.values.len() / (domain.len() * field.components)),
        }
    }

    /// The number of nodes of a sample; the mean number where they differ.
    pub fn nodes(&self) -> usize {
        match &self.domain {
            Domain::Clouds(_) => self.domain.resolution(),
            domain => domain.len(),
        }
    }

    /// The nodes of each sample among those of all: in a field's values, times its components.
    pub fn spans(&self) -> Vec<Range<usize>> {
        let length = |sample: usize| match &self.domain {
            Domain::Clouds(clouds) => clouds.cloud(sample).len(),
            domain => domain.len(),
        };
        let mut start = 0;
        let span = |sample: usize| {
            let span = start..start + length(sample);
            start = span.end;
            span
        };
        (0..self.count()).map(span).collect()
    }

    /// The input functions, in the order in which they were given.
    pub fn fields(&self) -> &[Field] {
        &self.fields
    }

    /// The input function of this name.
    pub fn field(&self, name: &str) -> Result<&Field> {
        self.fields.iter().find(|field| field.name == name).ok_or_else(|| {
            let names: Vec<&str> = self.fields.iter().map(|field| field.name.as_str()).collect();
            let hint = "rename the array in the data file, or name the right fields in [model]";
            Error::invalid("input field of the data", format!("a field named {name:?}"), format!("{names:?}"), hint)
        })
    }

    /// The output functions, in the order in which they were given.
    pub fn outputs(&self) -> &[Field] {
        &self.outputs
    }

    /// The values of the only output function, or an error that says that there is none, or that there are several.
    pub fn output_values(&self) -> Result<&[f64]> {
        match self.outputs.as_slice() {
            [output] => Ok(&output.values),
            [] => Err(no_output()),
            several => {
                let got = format!("{:?}", several.iter().map(|output| &output.name).collect::<Vec<_>>());
                Err(Error::invalid("outputs of the data", "one", got, "choose one of them"))
            }
        }
    }

    /// The outputs of these names, in this order; without names all there are, at least one.
    pub fn outputs_named(&self, names: &[String]) -> Result<Vec<&Field>> {
        if self.outputs.is_empty() {
            return Err(no_output());
        }
        // A network with one output takes the data's only one, whatever it is called.
        if names.is_empty() || (names.len() == 1 && self.outputs.len() == 1) {
            return Ok(self.outputs.iter().collect());
        }
        let named = |name: &String| {
            self.outputs.iter().find(|output| output.name == *name).ok_or_else(|| {
                let got: Vec<&str> = self.outputs.iter().map(|output| output.name.as_str()).collect();
                let hint = "rename the array in the data file, or name the right outputs in [model]";
                Error::invalid("output of the data", format!("an output named {name:?}"), format!("{got:?}"), hint)
            })
        };
        names.iter().map(named).collect()
    }

    /// The outputs of these names, samples x nodes x columns: the components of all outputs beside each other, as networks
    /// predict them.
    pub fn truth(&self, names: &[String]) -> Result<Vec<f64>> {
        let outputs = self.outputs_named(names)?;
        if let [one] = outputs[..] {
            return Ok(one.values.clone());
        }
        let length = outputs[0].values.len() / outputs[0].components;
        let at = |node: usize, output: &Field| {
            output.values[node * output.components..(node + 1) * output.components].to_vec()
        };
        Ok((0..length).flat_map(|node| outputs.iter().flat_map(move |output| at(node, output))).collect())
    }

    /// The samples with these numbers, in this order.
    ///
    /// # Panics
    /// When there is no sample of such a number, or when none is asked for.
    pub fn select(&self, indices: &[usize]) -> Self {
        assert!(!indices.is_empty(), "a selection of no samples");
        let domain = match &self.domain {
            Domain::Clouds(clouds) => clouds.select(indices).into(),
            domain => domain.clone(),
        };
        let spans = self.spans();
        self.map(domain, |values, components| {
            let of = |&i: &usize| values[spans[i].start * components..spans[i].end * components].iter().copied();
            indices.iter().flat_map(of).collect()
        })
    }

    /// Every function changed alike, on another domain; the values stay valid.
    pub(super) fn map(&self, domain: Domain, change: impl Fn(&[f64], usize) -> Vec<f64>) -> Self {
        let changed =
            |field: &Field| Field { values: change(&field.values, field.components), ..field.without_values() };
        Self {
            domain,
            fields: self.fields.iter().map(changed).collect(),
            outputs: self.outputs.iter().map(changed).collect(),
        }
    }

    /// The samples on a coarser grid made of some of the nodes: every n-th along each axis, ends included where the axis is not
    /// periodic, so that the first axis has `resolution` nodes.
    ///
    /// ```
    /// # use nkn::{domain::Grid, field::Samples};
    /// let values: Vec<i32> = (0..25).collect();
    /// let fine = Samples::on(Grid::unit(&[5, 5])?).input("b", values)?;
    /// assert_eq!(fine.coarsen(3)?.field("b")?.values, [0., 2., 4., 10., 12., 14., 20., 22., 24.]);
    /// # Ok::<(), nkn::Error>(())
    /// ```
    pub fn coarsen(&self, resolution: usize) -> Result<Self> {
        let Domain::Grid(grid) = &self.domain else {
            let hint = "give data of the resolution wanted";
            return Err(Error::invalid("resolution", "data on a regular grid", "a point cloud", hint));
        };
        if grid.shape()[0] == resolution {
            return Ok(self.clone());
        }
        // Along an axis: the steps between its nodes, and whether the last step ends at a node of its own.
        let cells = |axis: usize| {
            let has_end = usize::from(!grid.periodic_axes()[axis]);
            (grid.shape()[axis] - has_end, has_end)
        };
        let coarse = |axis: usize, step: usize| {
            let (cells, has_end) = cells(axis);
            cells.is_multiple_of(step).then_some(cells / step + has_end)
        };
        let (first, has_end) = cells(0);
        let fits = |step: usize| (0..grid.dim()).all(|axis| coarse(axis, step).is_some());
        let step = first.checked_div(resolution.saturating_sub(has_end)).unwrap_or(0);
        if step == 0 || !fits(step) || coarse(0, step) != Some(resolution) {
            let possible: Vec<usize> =
                (1..=first).rev().filter(|&step| fits(step)).filter_map(|step| coarse(0, step)).collect();
            let expected = format!("one that takes every n-th node of the grid {:?}: {possible:?}", grid.shape());
            let hint = "choose one of these, or generate data on another grid";
            return Err(Error::invalid("resolution", expected, resolution, hint));
        }
        let shape: Vec<usize> = (0..grid.dim()).filter_map(|axis| coarse(axis, step)).collect();
        let coarse = Grid::new(shape, grid.lower().to_vec(), grid.upper().to_vec())?.periodic(grid.periodic_axes())?;
        let all: Vec<usize> = [self.count()].iter().chain(grid.shape()).copied().collect();
        let every = |axis: AxisDescription| {
            Slice::new(0, None, if (1..=grid.dim()).contains(&axis.axis.index()) { step as isize } else { 1 })
        };
        Ok(self.map(Domain::Grid(coarse), |values, components| {
            let shape = [all.as_slice(), &[components]].concat();
            let values = ArrayViewD::from_shape(shape, values).expect("samples have a value for every node");
            values.slice_each_axis(every).iter().copied().collect()
        }))
    }

    /// The samples with these axes periodic, an entry per axis: see [`Domain::periodic`].
    pub fn periodic(self, axes: &[bool]) -> Result<Self> {
        Ok(Self { domain: self.domain.periodic(axes)?, ..self })
    }

    /// The same with the outputs of these names only, in this order; without names, all of them.
    pub fn with_outputs(mut self, names: &[String]) -> Result<Self> {
        self.outputs = self.outputs_named(names)?.into_iter().cloned().collect();
        Ok(self)
    }

    /// The same with other values of an input, which must be valid; nothing happens where there is no such input.
    pub(crate) fn with_values(mut self, input: &str, values: &[f64]) -> Self {
        if let Some(field) = self.fields.iter_mut().find(|field| field.name == input) {
            field.values = values.to_vec();
        }
        self
    }

    /// Refuses what the relative loss cannot be taken of: it divides by the norm of each sample's output, in single
    /// precision.
    ///
    /// ```
    /// # use nkn::{domain::Grid, field::Samples};
    /// let grid = Grid::unit(&[2])?;
    /// let samples = Samples::on(grid).input("f", vec![1.0; 4])?.output("u", vec![1.0, 2.0, 0.0, 0.0])?;
    /// assert!(samples.check_trainable().unwrap_err().to_string().contains("sample 1"));
    /// # Ok::<(), nkn::Error>(())
    /// ```
    pub fn check_trainable(&self) -> Result<()> {
        let spans = self.spans();
        for Field { name, components, values } in self.outputs_named(&[])? {
            for (sample, span) in spans.iter().enumerate() {
                let values = &values[span.start * components..span.end * components];
                let square: f32 = values.iter().map(|&value| (value as f32).powi(2)).sum();
                if square > 0.0 && square.is_finite() {
                    continue;
                }
                let largest = values.iter().fold(0.0, |largest: f64, value| largest.max(value.abs()));
                let got = match largest {
                    0.0 => format!("{name} = 0 at every node"),
                    _ => format!("values up to {largest:e}, whose squares are beyond single precision"),
                };
                let expected = "an output with a norm to divide by, for the relative loss";
                let hint = "remove the sample, choose other units, or set train.loss = \"mse\"";
                return Err(Error::invalid(format!("output {name:?} of sample {sample}"), expected, got, hint));
            }
        }
        Ok(())
    }
}

impl Field {
    fn without_values(&self) -> Self {
        Self { name: self.name.clone(), components: self.components, values: Vec::new() }
    }
}

fn no_output() -> Error {
    Error::invalid(
        "output of the data",
        "an array u with the functions to learn",
        "none",
        "add u to the data file, or call `output` on the samples",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::PointCloud;
    use ndarray::{Array2, Array3, ArrayD};
    use proptest::prelude::*;

    #[test]
    fn periodic_axes_coarsen_without_an_end() {
        let grid = Grid::unit(&[6, 5]).unwrap().periodic(&[true, false]).unwrap();
        let values: Vec<i32> = (0..30).collect();
        let fine = Samples::on(grid).input("b", values).unwrap();
        let coarse = fine.coarsen(3).unwrap();
        assert_eq!(coarse.field("b").unwrap().values, [0., 2., 4., 10., 12., 14., 20., 22., 24.]);
        assert_eq!(coarse.domain(), &Grid::unit(&[3, 3]).unwrap().periodic(&[true, false]).unwrap().into());
        let message = fine.coarsen(2).unwrap_err().to_string();
        assert!(message.contains("[3, 6]"), "{message}");
    }

    fn three_nodes() -> SamplesOn {
        Samples::on(Grid::unit(&[3]).unwrap())
    }

    fn refused(result: Result<Samples>) -> String {
        let message = result.unwrap_err().to_string();
        assert!(message.contains("hint: "), "{message}");
        message
    }

    #[test]
    fn coarse_nodes_are_fine_nodes() {
        let grid = Grid::new(vec![9, 5], vec![0.0, 1.0], vec![2.0, 2.0]).unwrap();
        let f = |point: &[f64]| point[0] + 10.0 * point[1];
        let values: Vec<f64> = grid.coordinates().chunks(2).map(f).collect();
        let both: Vec<f64> = values.iter().copied().chain(values.iter().map(|v| -v)).collect();
        let fine = Samples::on(grid).input("b", &both).unwrap().output("u", both).unwrap();
        for (resolution, shape) in [(9, [9, 5]), (5, [5, 3]), (3, [3, 2])] {
            let coarse = fine.coarsen(resolution).unwrap();
            let Domain::Grid(grid) = coarse.domain() else { panic!() };
            assert_eq!(grid.shape(), shape);
            let expected: Vec<f64> = grid.coordinates().chunks(2).map(f).collect();
            let (first, second) = coarse.output_values().unwrap().split_at(expected.len());
            for ((a, b), e) in first.iter().zip(second).zip(&expected) {
                assert!((a - e).abs() < 1e-12 && a == &-b);
            }
        }
        for wrong in [0, 1, 2, 4, 7, 17] {
            let message = fine.coarsen(wrong).unwrap_err().to_string();
            assert!(message.contains("[3, 5, 9]"), "{message}");
        }
    }

    #[test]
    fn lengths_that_do_not_fit_are_named() {
        for length in [0, 1, 2, 4, 7] {
            let message = refused(three_nodes().input("f", vec![0.0; length]));
            assert!(message.contains("field \"f\": expected 3 numbers for each sample"), "{message}");
            assert!(message.contains(&format!("got {length} numbers")), "{message}");
        }
        let two = three_nodes().input("f", vec![1.0; 6]).unwrap();
        let message = refused(two.clone().input("g", vec![1.0; 9]));
        assert!(message.contains("field \"g\": expected 2 samples as \"f\" has, got 3"), "{message}");
        let message = refused(two.output("u", vec![1.0; 3]));
        assert!(message.contains("field \"u\": expected 2 samples as \"f\" has, got 1"), "{message}");
        let none: [(&str, Vec<f64>); 0] = [];
        assert!(refused(three_nodes().inputs(none)).contains("input fields: expected at least one"));
    }

    #[test]
    fn names_are_used_once() {
        let one = || three_nodes().input("f", vec![1.0; 3]).unwrap();
        for result in [
            one().input("f", vec![2.0; 3]),
            one().output("f", vec![2.0; 3]),
            one().input("", vec![2.0; 3]),
            one().output("u", vec![2.0; 3]).unwrap().input("u", vec![2.0; 3]),
        ] {
            assert!(refused(result).contains("field: expected a name of its own"));
        }
        // The output alone may be given again: a prediction takes the place of what was there.
        let again = one().output("u", vec![2.0; 3]).unwrap().output("u", vec![3.0; 3]).unwrap();
        assert_eq!((again.output_values().unwrap(), again.outputs().len()), (&[3.0; 3][..], 1));
        assert!(one().output_values().is_err() && one().outputs().is_empty());
    }

    #[test]
    fn values_beyond_single_precision_are_located() {
        for (bad, expected) in [
            (f64::NAN, "field \"u\" is not finite (NaN) in sample 1, node 2"),
            (f64::NEG_INFINITY, "field \"u\" is not finite (-inf) in sample 1, node 2"),
            (
                -1e300,
                "field \"u\": expected numbers that single precision can hold, up to 3.4e38, got -1e300 in sample 1",
            ),
        ] {
            let mut values = vec![1.0; 6];
            values[5] = bad;
            let message = refused(three_nodes().input("f", vec![1.0; 6]).unwrap().output("u", values));
            assert!(message.contains(expected), "{message}");
        }
        assert!(three_nodes().input("f", vec![f64::from(f32::MAX), 1e-300, 0.0]).is_ok());
    }

    #[test]
    fn shapes_of_arrays_are_checked() {
        let square = || Samples::on(Grid::unit(&[2, 3]).unwrap());
        let flat = square().input("b", Array2::from_shape_fn((4, 6), |(n, i)| (6 * n + i) as f64)).unwrap();
        let cubic = Array3::from_shape_fn((4, 2, 3), |(n, i, j)| (6 * n + 3 * i + j) as f32);
        assert_eq!(square().input("b", &cubic).unwrap(), flat);
        assert_eq!(square().input("b", Array2::<f64>::ones((2, 3))).unwrap().count(), 1);
        for shape in [vec![], vec![6, 4], vec![3, 2, 4], vec![4, 3, 2], vec![1, 4, 6], vec![2, 2, 2, 3]] {
            let message = refused(square().input("b", ArrayD::<f64>::ones(shape)));
            assert!(message.contains("field \"b\": expected samples x 2 x 3, or samples x 6, got"), "{message}");
        }
        let cloud = Samples::on(PointCloud::new(1, vec![0.0, 0.5], 1.0).unwrap());
        assert!(refused(cloud.input("b", Array2::<f64>::ones((2, 3)))).contains("expected samples x 2, got 2 x 3"));
        // An array without samples.
        assert!(refused(square().input("b", Array2::<f64>::ones((0, 6)))).contains("at least one sample"));
    }

    #[test]
    fn outputs_without_a_norm_are_named() {
        let with = |u: Vec<f64>| three_nodes().input("f", vec![1.0; 6]).unwrap().output("u", u).unwrap();
        with(vec![0.0, 0.0, 1.0, 1e-18, 0.0, 0.0]).check_trainable().unwrap();
        for (bad, expected) in [(0.0, "u = 0 at every node"), (1e-30, "up to 1e-30"), (1e30, "up to 1e30")] {
            let message = with(vec![1.0, 1.0, 1.0, bad, bad, bad]).check_trainable().unwrap_err().to_string();
            assert!(message.contains("output \"u\" of sample 1") && message.contains(expected), "{message}");
            assert!(message.contains("train.loss = \"mse\""), "{message}");
        }
    }

    proptest! {
        #[test]
        fn selections_keep_functions_together(count in 1usize..5, picks in prop::collection::vec(0usize..100, 1..8)) {
            let values: Vec<f64> = (0..3 * count).map(|i| i as f64).collect();
            let twice: Vec<f64> = values.iter().map(|v| 2.0 * v).collect();
            let samples = three_nodes().input("f", values).unwrap().output("u", twice).unwrap();
            let picks: Vec<usize> = picks.iter().map(|pick| pick % count).collect();
            let selected = samples.select(&picks);
            prop_assert_eq!(selected.count(), picks.len());
            for (place, pick) in picks.iter().enumerate() {
                for node in 0..3 {
                    let expected = (3 * pick + node) as f64;
                    prop_assert_eq!(selected.fields()[0].values[3 * place + node], expected);
                    prop_assert_eq!(selected.output_values().unwrap()[3 * place + node], 2.0 * expected);
                }
            }
        }
    }

    proptest! {
        /// Coarsening in two steps is coarsening in one, and keeps every n-th node of every sample.
        #[test]
        fn coarsening_follows_the_indices(cells in 1usize..4, first in 1usize..4, second in 1usize..4, wide in 1usize..3) {
            let (side, other) = (cells * first * second + 1, wide * cells * first * second + 1);
            let numbers: Vec<f64> = (0..2 * side * other).map(|k| (k * k % 1009) as f64).collect();
            let fine = Samples::on(Grid::unit(&[side, other]).unwrap()).input("b", &numbers).unwrap();
            let (middle, coarse) = (cells * second + 1, cells + 1);
            let once = fine.coarsen(coarse).unwrap();
            prop_assert_eq!(&fine.coarsen(middle).unwrap().coarsen(coarse).unwrap(), &once);
            let (step, width) = (first * second, wide * cells + 1);
            for (at, &value) in once.field("b").unwrap().values.iter().enumerate() {
                let (sample, i, j) = (at / (coarse * width), at / width % coarse, at % width);
                prop_assert_eq!(value, numbers[(sample * side + i * step) * other + j * step]);
            }
        }
    }
}
