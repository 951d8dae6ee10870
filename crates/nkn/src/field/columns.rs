//! Predictions of several outputs, compared with the truth: the columns of each output, and of each component.

use super::{Field, Samples};
use crate::Result;
use std::ops::Range;

/// The outputs of samples as a network predicts them: samples x nodes x columns, the components of all outputs beside each
/// other.
pub struct Columns {
    spans: Vec<Range<usize>>,
    truth: Vec<f64>,
    /// Name and components of each output.
    outputs: Vec<(String, usize)>,
}

impl Columns {
    /// The outputs of these names.
    pub fn of(samples: &Samples, names: &[String]) -> Result<Self> {
        let name = |output: &&Field| (output.name.clone(), output.components);
        Ok(Self {
            spans: samples.spans(),
            truth: samples.truth(names)?,
            outputs: samples.outputs_named(names)?.iter().map(name).collect(),
        })
    }

    /// The number of columns.
    pub fn count(&self) -> usize {
        self.outputs.iter().map(|(_, components)| components).sum()
    }

    /// The truth, samples x nodes x columns.
    pub fn truth(&self) -> &[f64] {
        &self.truth
    }

    /// The columns of each output.
    pub fn outputs(&self) -> impl Iterator<Item = (&str, Range<usize>)> {
        let mut start = 0;
        self.outputs.iter().map(move |(name, components)| {
            let own = start..start + components;
            start = own.end;
            (name.as_str(), own)
        })
    }

    /// What has an error of its own besides the whole: each of several outputs, and each component of a vector, called
    /// `name.0`, `name.1`, …
    pub fn parts(&self) -> impl Iterator<Item = (String, Range<usize>)> {
        let several = self.outputs.len() > 1;
        self.outputs().flat_map(move |(name, own)| {
            let whole = several.then(|| (name.to_string(), own.clone()));
            let components = own.clone().filter(|_| own.len() > 1).enumerate();
            let components: Vec<_> =
                components.map(|(component, column)| (format!("{name}.{component}"), column..column + 1)).collect();
            whole.into_iter().chain(components)
        })
    }

    /// ||prediction - truth|| / ||truth|| of each sample whose truth is not zero everywhere; of several outputs the mean of
    /// theirs.
    pub fn errors(&self, prediction: &[f64]) -> Vec<f64> {
        self.of_samples(prediction).into_iter().flatten().collect()
    }

    /// The same for every sample: nothing where the truth is zero everywhere.
    pub fn of_samples(&self, prediction: &[f64]) -> Vec<Option<f64>> {
        let outputs: Vec<Range<usize>> = self.outputs().map(|(_, own)| own).collect();
        let sample = |sample: usize| {
            let each = outputs.iter().filter_map(|own| self.error(prediction, sample, own.clone()));
            let each: Vec<f64> = each.collect();
            (!each.is_empty()).then(|| super::mean(&each))
        };
        (0..self.spans.len()).map(sample).collect()
    }

    /// The relative error of each sample in some of the columns, where these are not zero everywhere.
    pub fn errors_in(&self, prediction: &[f64], which: Range<usize>) -> Vec<f64> {
        (0..self.spans.len()).filter_map(|sample| self.error(prediction, sample, which.clone())).collect()
    }

    fn error(&self, prediction: &[f64], sample: usize, which: Range<usize>) -> Option<f64> {
        assert_eq!(prediction.len(), self.truth.len());
        let columns = self.count();
        let places = || {
            let nodes = self.spans[sample].clone();
            nodes.flat_map(|node| which.clone().map(move |column| node * columns + column))
        };
        let norm = |values: &mut dyn Iterator<Item = f64>| values.map(|v| v * v).sum::<f64>().sqrt();
        let size = norm(&mut places().map(|at| self.truth[at]));
        (size != 0.0).then(|| norm(&mut places().map(|at| prediction[at] - self.truth[at])) / size)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Clouds, Grid, PointCloud};
    use crate::field::{Values, mean, relative_l2};

    #[test]
    fn one_scalar_output_has_the_plain_error() {
        let (truth, prediction) = (vec![1.0, 0.5, 2.0, -1.0], [1.5, 0.0, 2.0, 1.0]);
        let samples = Samples::on(Grid::unit(&[2]).unwrap()).input("f", vec![1.0; 4]).unwrap();
        let samples = samples.output("u", truth.clone()).unwrap();
        let columns = Columns::of(&samples, &["u".into()]).unwrap();
        assert_eq!(columns.errors(&prediction), relative_l2(&prediction, &truth, 2));
        assert_eq!(columns.parts().count(), 0);
    }

    #[test]
    fn outputs_and_components_have_errors_of_their_own() {
        // A pressure and a velocity at two points of one sample and one point of another.
        let cloud = |x: &[f64]| PointCloud::new(1, x.to_vec(), 1.0).unwrap();
        let clouds = Clouds::new(vec![cloud(&[0.0, 1.0]), cloud(&[0.5])]).unwrap();
        let samples = Samples::on(clouds).input("f", vec![1.0; 3]).unwrap();
        let samples = samples.output("p", vec![3.0, 4.0, 2.0]).unwrap();
        let samples = samples.output("v", Values::vectors(2, vec![1.0, 0.0, 0.0, 1.0, 0.0, 5.0])).unwrap();
        let names = ["p".to_string(), "v".to_string()];
        let columns = Columns::of(&samples, &names).unwrap();
        assert_eq!(columns.truth(), [3.0, 1.0, 0.0, 4.0, 0.0, 1.0, 2.0, 0.0, 5.0]);
        let prediction = [3.0, 1.0, 0.0, 4.0, 0.0, 1.0, 3.0, 0.0, 4.0];
        // Sample 0 is right; sample 1 is wrong by 1 of 2 in p and by 1 of 5 in v.
        assert_eq!(columns.errors(&prediction), [0.0, mean(&[0.5, 0.2])]);
        let parts: Vec<(String, Vec<f64>)> =
            columns.parts().map(|(name, which)| (name, columns.errors_in(&prediction, which))).collect();
        assert_eq!(parts[0], ("p".into(), vec![0.0, 0.5]));
        assert_eq!(parts[1], ("v".into(), vec![0.0, 0.2]));
        // The first component of sample 1 is zero, and has no relative error.
        assert_eq!(parts[2], ("v.0".into(), vec![0.0]));
        assert_eq!(parts[3], ("v.1".into(), vec![0.0, 0.2]));
    }

    #[test]
    fn a_sample_without_output_has_no_error() {
        let samples = Samples::on(Grid::unit(&[2]).unwrap()).input("f", vec![1.0; 4]).unwrap();
        let samples = samples.output("u", vec![0.0, 0.0, 1.0, 1.0]).unwrap();
        let columns = Columns::of(&samples, &[]).unwrap();
        assert_eq!(columns.of_samples(&[1.0, 0.0, 1.0, 1.0]), [None, Some(0.0)]);
    }
}
