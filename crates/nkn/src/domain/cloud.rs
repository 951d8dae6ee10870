//! Scattered points, and the search for those within a radius.

use super::{Enclosure, Scattered, check_dim, search::Search};
use crate::{Error, Result};
use serde::Serialize;

/// Scattered points. Points may coincide.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PointCloud {
    dim: usize,
    coordinates: Vec<f64>,
    measure: f64,
    /// The measure of each point; empty: it is estimated where it is needed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    weights: Vec<f64>,
    /// The box that the points fill; without one it is found from the points.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    enclosure: Option<Box<Enclosure>>,
}

#[expect(clippy::len_without_is_empty, reason = "a cloud has nodes")]
impl PointCloud {
    /// Points given by their coordinates, point by point, in a domain of the given length, area or volume.
    pub fn new(dim: usize, coordinates: Vec<f64>, measure: f64) -> Result<Self> {
        check_points(dim, &coordinates)?;
        if !(measure > 0.0 && measure.is_finite()) {
            return Err(Error::invalid(
                "cloud.measure",
                "a positive number",
                measure,
                "give the length, area or volume of the domain that the points fill",
            ));
        }
        Ok(Self { dim, coordinates, measure, weights: Vec::new(), enclosure: None })
    }

    /// The same points with the length, area or volume that each stands for; together they are the domain's.
    pub fn with_weights(mut self, weights: Vec<f64>) -> Result<Self> {
        if weights.len() != self.len() {
            let expected = format!("{}, one for each point", self.len());
            return Err(Error::invalid("weights", expected, weights.len(), "give the measure of every point"));
        }
        if let Some(point) = weights.iter().position(|&weight| !(weight > 0.0 && weight.is_finite())) {
            let got = format!("{} at point {point}", weights[point]);
            let hint = "a point that stands for nothing must be left out";
            return Err(Error::invalid("weights", "positive numbers", got, hint));
        }
        self.measure = weights.iter().sum();
        self.weights = weights;
        Ok(self)
    }

    /// The same points in the box that they fill, which may be periodic.
    pub fn within(mut self, enclosure: Enclosure) -> Result<Self> {
        enclosure.check_holds(self.dim, &self.coordinates)?;
        if self.weights.is_empty() {
            self.measure = enclosure.measure();
        }
        self.enclosure = Some(Box::new(enclosure));
        Ok(self)
    }

    /// The box that the points fill, where it was given.
    pub fn enclosure(&self) -> Option<&Enclosure> {
        self.enclosure.as_deref()
    }

    /// What neighbours are found and weighed from.
    pub(super) fn scattered(&self) -> Scattered<'_> {
        Scattered {
            dim: self.dim,
            coordinates: &self.coordinates,
            enclosure: self.enclosure(),
            weights: self.weights(),
            measure: Some(self.measure),
        }
    }

    /// Some of the points. What is left of the domain is what these stand for, in equal parts unless it is known.
    pub fn select(&self, points: &[usize]) -> Result<Self> {
        let coordinates =
            points.iter().flat_map(|&point| self.coordinates[point * self.dim..][..self.dim].iter().copied()).collect();
        let share = self.measure * points.len() as f64 / self.len() as f64;
        let some = Self::new(self.dim, coordinates, share)?;
        let some = match self.weights() {
            Some(weights) => some.with_weights(points.iter().map(|&point| weights[point]).collect())?,
            None => some,
        };
        Ok(Self { enclosure: self.enclosure.clone(), ..some })
    }

    /// The measure of each point, where it was given.
    pub fn weights(&self) -> Option<&[f64]> {
        (!self.weights.is_empty()).then_some(&self.weights)
    }

    /// The distance of each point to the nearest other one; infinite where there is no other.
    pub fn nearest_distances(&self) -> Vec<f64> {
        Search::new(self.dim, &self.coordinates, self.enclosure()).radii(1)
    }

    /// Everything that makes a cloud what it is, to compare by.
    pub(super) fn bits(&self) -> Vec<u64> {
        let corners = self.enclosure.iter().flat_map(|enclosure| enclosure.lower().iter().chain(enclosure.upper()));
        let numbers = self.coordinates.iter().chain(&self.weights).chain([&self.measure]).chain(corners);
        let periodic = self.enclosure.iter().flat_map(|enclosure| enclosure.periodic());
        let numbers = numbers.map(|number| number.to_bits()).chain([self.weights.len() as u64]);
        numbers.chain(periodic.map(|&is| u64::from(is))).collect()
    }

    /// The number of space dimensions, 1 to 3.
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// The number of points.
    pub fn len(&self) -> usize {
        self.coordinates.len() / self.dim
    }

    /// The coordinates of all points, point by point.
    pub fn coordinates(&self) -> &[f64] {
        &self.coordinates
    }

    /// The length, area or volume of the domain.
    pub fn measure(&self) -> f64 {
        self.measure
    }
}

/// Coordinates must be complete and finite.
pub(super) fn check_points(dim: usize, coordinates: &[f64]) -> Result<()> {
    check_dim("cloud.dim", dim)?;
    if coordinates.is_empty() || !coordinates.len().is_multiple_of(dim) {
        return Err(Error::invalid(
            "cloud.coordinates",
            format!("{dim} numbers for each of one or more points"),
            format!("{} numbers", coordinates.len()),
            "check the dimension and whether the file is complete",
        ));
    }
    if let Some(index) = coordinates.iter().position(|value| !value.is_finite()) {
        return Err(Error::NotFinite {
            what: "coordinate".into(),
            got: coordinates[index],
            place: format!("at point {}, axis {}", index / dim, index % dim),
            hint: "remove the point or repair its coordinates".into(),
        });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_clouds_are_refused_with_a_reason() {
        let message = |dim, coordinates: &[f64], measure| {
            PointCloud::new(dim, coordinates.to_vec(), measure).unwrap_err().to_string()
        };
        assert!(message(0, &[0.0], 1.0).contains("cloud.dim"));
        assert!(message(4, &[0.0; 4], 1.0).contains("1, 2 or 3 dimensions, got 4"));
        assert!(message(2, &[0.0; 3], 1.0).contains("2 numbers for each"));
        assert!(message(2, &[], 1.0).contains("got 0 numbers"));
        assert!(message(2, &[0.0, 0.0, 1.0, f64::NAN], 1.0).contains("at point 1, axis 1"));
        assert!(message(1, &[f64::INFINITY], 1.0).contains("at point 0"));
        for measure in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(message(1, &[0.0], measure).contains("cloud.measure"));
        }
    }

    #[test]
    fn points_are_read_back() {
        let cloud = PointCloud::new(2, vec![0.0, 1.0, 2.0, 3.0], 5.0).unwrap();
        assert_eq!((cloud.dim(), cloud.len()), (2, 2));
        assert_eq!(cloud.measure(), 5.0);
        assert_eq!(cloud.coordinates(), [0.0, 1.0, 2.0, 3.0]);
    }
}
