//! A point cloud for every sample: meshes that differ, particles that move.

use super::PointCloud;
use crate::{Error, Result};
use serde::Serialize;
use std::collections::HashMap;

/// The points of every sample. Samples on the same points share one cloud, and with it everything that is computed for it.
///
/// ```
/// use nkn::domain::{Clouds, PointCloud};
/// let cloud = |x: &[f64]| PointCloud::new(1, x.to_vec(), 1.0);
/// let clouds = Clouds::new(vec![cloud(&[0.0, 1.0])?, cloud(&[0.0, 0.4, 1.0])?, cloud(&[0.0, 1.0])?])?;
/// assert_eq!((clouds.count(), clouds.distinct().len(), clouds.total()), (3, 2, 7));
/// # Ok::<(), nkn::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Clouds {
    distinct: Vec<PointCloud>,
    /// The cloud of each sample.
    of: Vec<usize>,
}

impl Clouds {
    /// One cloud per sample, all of the same dimension.
    pub fn new(clouds: Vec<PointCloud>) -> Result<Self> {
        let Some(dim) = clouds.first().map(PointCloud::dim) else {
            return Err(Error::invalid("clouds", "one for each sample", "none", "give the points of every sample"));
        };
        let mut found: HashMap<Vec<u64>, usize> = HashMap::new();
        let mut result = Self { distinct: Vec::new(), of: Vec::with_capacity(clouds.len()) };
        for (sample, cloud) in clouds.into_iter().enumerate() {
            if cloud.dim() != dim {
                let expected = format!("points of {dim} coordinates, as sample 0 has");
                return Err(Error::invalid(format!("points of sample {sample}"), expected, cloud.dim(), "check them"));
            }
            let index = *found.entry(cloud.bits()).or_insert(result.distinct.len());
            if index == result.distinct.len() {
                result.distinct.push(cloud);
            }
            result.of.push(index);
        }
        Ok(result)
    }

    /// The number of samples.
    pub fn count(&self) -> usize {
        self.of.len()
    }

    /// The points of a sample.
    pub fn cloud(&self, sample: usize) -> &PointCloud {
        &self.distinct[self.of[sample]]
    }

    /// The clouds that differ.
    pub fn distinct(&self) -> &[PointCloud] {
        &self.distinct
    }

    /// Which of [`Self::distinct`] each sample is on.
    pub fn of(&self) -> &[usize] {
        &self.of
    }

    /// The points of all samples together.
    pub fn total(&self) -> usize {
        self.of.iter().map(|&index| self.distinct[index].len()).sum()
    }

    /// The clouds of some samples.
    pub(crate) fn select(&self, samples: &[usize]) -> Self {
        let mut place = vec![None; self.distinct.len()];
        let mut result = Self { distinct: Vec::new(), of: Vec::with_capacity(samples.len()) };
        for &sample in samples {
            let index = self.of[sample];
            let own = *place[index].get_or_insert_with(|| {
                result.distinct.push(self.distinct[index].clone());
                result.distinct.len() - 1
            });
            result.of.push(own);
        }
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cloud(coordinates: &[f64]) -> PointCloud {
        PointCloud::new(1, coordinates.to_vec(), 1.0).unwrap()
    }

    #[test]
    fn samples_on_the_same_points_share_them() {
        let (a, b) = (cloud(&[0.0, 0.5]), cloud(&[0.0, 0.5, 0.7]));
        let weighted = cloud(&[0.0, 0.5]).with_weights(vec![0.3, 0.7]).unwrap();
        let clouds = Clouds::new(vec![a.clone(), b.clone(), a.clone(), weighted.clone()]).unwrap();
        assert_eq!(clouds.of(), [0, 1, 0, 2]);
        assert_eq!((clouds.cloud(2), clouds.cloud(3)), (&a, &weighted));
        let some = clouds.select(&[3, 1, 1]);
        assert_eq!((some.of(), some.total()), (&[0, 1, 1][..], 8));
        assert_eq!(some.cloud(0), &weighted);
    }

    #[test]
    fn clouds_of_other_dimensions_are_refused() {
        let plane = PointCloud::new(2, vec![0.0; 4], 1.0).unwrap();
        let message = Clouds::new(vec![cloud(&[0.0]), plane]).unwrap_err().to_string();
        assert!(message.contains("points of sample 1: expected points of 1 coordinates"), "{message}");
        assert!(Clouds::new(Vec::new()).unwrap_err().to_string().contains("one for each sample"));
    }
}
