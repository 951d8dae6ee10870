//! A box that holds a cloud, and the axes along which it is periodic.

use super::check_dim;
use crate::{Error, Result};
use serde::{Deserialize, Serialize};
use std::array::from_fn;

/// A box that holds a cloud. Along a periodic axis the two opposite sides are one, so that a point near one of them has
/// neighbours near the other.
///
/// ```
/// use nkn::domain::Enclosure;
///
/// let ring = Enclosure::new(vec![0.0], vec![2.0], vec![true])?;
/// assert_eq!(ring.distance(&[0.25], &[1.75]), 0.5);
/// # Ok::<(), nkn::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Unchecked")]
pub struct Enclosure {
    lower: Vec<f64>,
    upper: Vec<f64>,
    periodic: Vec<bool>,
}

/// What a file says, before [`Enclosure::new`] has looked at it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Unchecked {
    lower: Vec<f64>,
    upper: Vec<f64>,
    periodic: Vec<bool>,
}

impl TryFrom<Unchecked> for Enclosure {
    type Error = Error;

    fn try_from(raw: Unchecked) -> Result<Self> {
        Self::new(raw.lower, raw.upper, raw.periodic)
    }
}

impl Enclosure {
    /// The box from `lower` to `upper`; `periodic` has an entry per axis.
    pub fn new(lower: Vec<f64>, upper: Vec<f64>, periodic: Vec<bool>) -> Result<Self> {
        check_dim("enclosure.lower", lower.len())?;
        for (name, entries) in [("enclosure.upper", upper.len()), ("enclosure.periodic", periodic.len())] {
            if entries != lower.len() {
                return Err(Error::invalid(
                    name,
                    format!("{} entries, one per axis", lower.len()),
                    format!("{entries} entries"),
                    "give lower, upper and periodic the same length",
                ));
            }
        }
        for (axis, (low, high)) in lower.iter().zip(&upper).enumerate() {
            if !(low < high && (high - low).is_finite()) {
                return Err(Error::invalid(
                    format!("enclosure.upper, axis {axis}"),
                    "a finite number above the lower end",
                    format!("the side from {low} to {high}"),
                    "check lower and upper: they may be swapped, equal or not finite",
                ));
            }
        }
        Ok(Self { lower, upper, periodic })
    }

    /// The number of space dimensions, 1 to 3.
    pub fn dim(&self) -> usize {
        self.lower.len()
    }

    /// The lower corner.
    pub fn lower(&self) -> &[f64] {
        &self.lower
    }

    /// The upper corner.
    pub fn upper(&self) -> &[f64] {
        &self.upper
    }

    /// Which axes are periodic.
    pub fn periodic(&self) -> &[bool] {
        &self.periodic
    }

    /// The length, area or volume.
    pub fn measure(&self) -> f64 {
        self.lower.iter().zip(&self.upper).map(|(low, high)| high - low).product()
    }

    /// The distance between two points: along a periodic axis the short way round.
    pub fn distance(&self, from: &[f64], to: &[f64]) -> f64 {
        let periods = self.periods();
        let along = |axis: usize| {
            let difference = to[axis] - from[axis];
            if periods[axis].is_finite() {
                difference - periods[axis] * (difference / periods[axis]).round()
            } else {
                difference
            }
        };
        (0..self.dim()).map(|axis| along(axis).powi(2)).sum::<f64>().sqrt()
    }

    /// Moves a point to its image that is nearest to another; of two that are equally near, up to rounding, to the upper one, so
    /// that shifted points have the shifted images.
    pub(crate) fn bring_near(&self, x: &[f64], y: &mut [f64]) {
        for ((x, y), period) in x.iter().zip(y).zip(self.periods()) {
            if period.is_finite() {
                *y += period * ((*x - *y) / period + 1e-9).round();
            }
        }
    }

    /// The length of each periodic axis; infinite for the others and for missing ones.
    pub(super) fn periods(&self) -> [f64; 3] {
        from_fn(|axis| match self.periodic.get(axis) {
            Some(true) => self.upper[axis] - self.lower[axis],
            _ => f64::INFINITY,
        })
    }

    /// The same point between the box's sides along the periodic axes, as it is along the others.
    pub(super) fn wrapped(&self, point: &[f64]) -> Vec<f64> {
        let along = |axis: usize| {
            let (low, high) = (self.lower[axis], self.upper[axis]);
            // Nothing is computed where nothing is wrapped: the coordinates keep their bits.
            if self.periodic[axis] && !(low..high).contains(&point[axis]) {
                (low + (point[axis] - low).rem_euclid(high - low)).min(high)
            } else {
                point[axis]
            }
        };
        (0..self.dim()).map(along).collect()
    }

    /// Points outside a side that is not periodic are in no cell.
    pub(super) fn check_holds(&self, dim: usize, coordinates: &[f64]) -> Result<()> {
        if dim != self.dim() {
            return Err(Error::invalid(
                "enclosure",
                format!("{dim} axes, as the points have"),
                format!("{} axes", self.dim()),
                "give lower, upper and periodic an entry per axis of the points",
            ));
        }
        for (index, &value) in coordinates.iter().enumerate() {
            let (node, axis) = (index / dim, index % dim);
            if !self.periodic[axis] && !(self.lower[axis]..=self.upper[axis]).contains(&value) {
                return Err(Error::invalid(
                    "enclosure",
                    format!("points between {} and {} along axis {axis}", self.lower[axis], self.upper[axis]),
                    format!("{value} at point {node}"),
                    "widen the box, remove the point, or leave the box out",
                ));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_short_way_round_is_taken_on_periodic_axes_alone() {
        let tube = Enclosure::new(vec![0.0, -1.0], vec![1.0, 1.0], vec![false, true]).unwrap();
        assert!((tube.distance(&[0.0, -0.9], &[0.0, 0.9]) - 0.2).abs() < 1e-15);
        assert!((tube.distance(&[0.1, 0.0], &[0.9, 0.0]) - 0.8).abs() < 1e-15);
        assert_eq!(tube.wrapped(&[7.0, 1.5]), [7.0, -0.5]);
        assert_eq!((tube.measure(), tube.dim()), (2.0, 2));
        assert_eq!((tube.lower(), tube.upper()), (&[0.0, -1.0][..], &[1.0, 1.0][..]));
        assert_eq!(tube.periodic(), [false, true]);
    }

    #[test]
    fn wrong_boxes_and_points_outside_are_refused_with_a_reason() {
        let message = |lower: &[f64], upper: &[f64], periodic: &[bool]| {
            let raw = Unchecked { lower: lower.to_vec(), upper: upper.to_vec(), periodic: periodic.to_vec() };
            Enclosure::try_from(raw).unwrap_err().to_string()
        };
        assert!(message(&[], &[], &[]).contains("1, 2 or 3 dimensions"));
        assert!(message(&[0.0], &[1.0, 2.0], &[true]).contains("enclosure.upper: expected 1 entries"));
        assert!(message(&[0.0], &[1.0], &[]).contains("enclosure.periodic: expected 1 entries"));
        assert!(message(&[0.0, 1.0], &[1.0, 1.0], &[true; 2]).contains("enclosure.upper, axis 1"));
        assert!(message(&[f64::NAN], &[1.0], &[true]).contains("axis 0"));
        let tube = Enclosure::new(vec![0.0; 2], vec![1.0; 2], vec![false, true]).unwrap();
        assert!(tube.check_holds(2, &[0.0, 7.0, 1.0, -3.0]).is_ok());
        let text = tube.check_holds(2, &[0.0, 7.0, 1.5, -3.0]).unwrap_err().to_string();
        assert!(text.contains("between 0 and 1 along axis 0, got 1.5 at point 1"), "{text}");
        assert!(tube.check_holds(3, &[0.0; 3]).unwrap_err().to_string().contains("3 axes, as the points have"));
    }
}
