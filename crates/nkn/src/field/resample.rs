//! Multilinear interpolation between grids.

use crate::domain::Domain;
use crate::{Error, Result};

/// The values of a function on the nodes of one grid, nodes x components, interpolated to the nodes of another domain (linear
/// along each axis, also between the ends of a periodic one; beyond the grid the nearest value is continued).
pub fn resample(values: &[f64], from: &Domain, to: &Domain, components: usize) -> Result<Vec<f64>> {
    if from == to {
        return Ok(values.to_vec());
    }
    let Domain::Grid(grid) = from else {
        let expected = "statistics on a regular grid";
        let hint = "use the scalar normaliser, or predict at the training points";
        return Err(Error::invalid("interpolation to another domain", expected, "a point cloud", hint));
    };
    let dim = grid.dim();
    let (shape, lower, spacing) = (grid.shape(), grid.lower(), grid.spacing());
    let coordinates = to.coordinates();
    let at = |point: &[f64]| {
        let mut result = vec![0.0; components];
        // The corners of the cell around the point, one bit per axis.
        for corner in 0..1usize << dim {
            let (mut index, mut weight) = (0, 1.0);
            for axis in 0..dim {
                let last = shape[axis] - 1;
                let upper = corner >> axis & 1;
                if grid.periodic_axes()[axis] {
                    let position = ((point[axis] - lower[axis]) / spacing[axis]).rem_euclid(shape[axis] as f64);
                    let fraction = position - position.floor();
                    weight *= if upper == 1 { fraction } else { 1.0 - fraction };
                    index = index * shape[axis] + (position as usize + upper) % shape[axis];
                    continue;
                }
                let position = ((point[axis] - lower[axis]) / spacing[axis]).clamp(0.0, last as f64);
                let cell = (position.floor() as usize).min(last.saturating_sub(1));
                let fraction = position - cell as f64;
                weight *= if upper == 1 { fraction } else { 1.0 - fraction };
                index = index * shape[axis] + (cell + upper).min(last);
            }
            let corner = &values[index * components..(index + 1) * components];
            result.iter_mut().zip(corner).for_each(|(result, value)| *result += weight * value);
        }
        result
    };
    Ok(coordinates.chunks_exact(dim).flat_map(at).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Grid;

    #[test]
    fn linear_functions_are_exact() {
        let domain = |shape: &[usize]| Domain::Grid(Grid::unit(shape).unwrap());
        let f = |p: &[f64]| 1.0 + 2.0 * p[0] - 3.0 * p[1];
        let sample = |d: &Domain| d.coordinates().chunks(2).map(f).collect::<Vec<_>>();
        let (coarse, fine) = (domain(&[4, 3]), domain(&[7, 11]));
        let got = resample(&sample(&coarse), &coarse, &fine, 1).unwrap();
        for (g, e) in got.iter().zip(sample(&fine)) {
            assert!((g - e).abs() < 1e-12);
        }
    }

    #[test]
    fn a_periodic_axis_is_closed() {
        let ring = |nodes: usize| Domain::Grid(Grid::unit(&[nodes]).unwrap().periodic(&[true]).unwrap());
        let got = resample(&[0.0, 1.0, 2.0, 1.0], &ring(4), &ring(8), 1).unwrap();
        assert_eq!(got, [0.0, 0.5, 1.0, 1.5, 2.0, 1.5, 1.0, 0.5]);
    }
}
