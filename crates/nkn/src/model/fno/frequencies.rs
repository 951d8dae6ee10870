//! Which frequencies a layer sees on a grid, and the truncated Fourier transform as two small matrices.

use crate::domain::{Domain, Grid};
use crate::linalg::Real;
use crate::{Error, Result};
use std::f64::consts::TAU;

/// The truncated transform on a grid of N1 x N2 nodes (N1 = 1 in one dimension), period N as the FFT has it:
///
/// X(k1, k2) = 1/(N1 N2) Σ h(j1, j2) exp(-2πi (k1 j1 / N1 + k2 j2 / N2))
///
/// for 0 <= k2 < modes and -modes <= k1 < modes, as far as the grid can tell them apart: 2 |k| < N. Each frequency is taken once, and the one at
/// N / 2, whose sine no grid sees, not at all. A grid with fewer frequencies than the network has modes uses those it
/// has; the weights of the others rest. A frequency that the training grid did not have has untrained weights, so it is
/// left out on every other grid too.
#[derive(Clone, Debug, PartialEq)]
pub struct Frequencies {
    /// N1, N2.
    pub shape: [usize; 2],
    /// The k1, in the order of the weights.
    pub across: Vec<i64>,
    /// The k2.
    pub along: Vec<i64>,
    modes: usize,
    is_plane: bool,
}

impl Frequencies {
    /// The frequencies of a network with `modes` modes on a domain, after training on another one.
    pub fn new(modes: usize, domain: &Domain, training: Option<&Domain>) -> Result<Self> {
        let grid = of_grid(domain)?;
        let trained = training.map(of_grid).transpose()?.unwrap_or(grid);
        let (nodes, trained) = (grid.shape(), trained.shape());
        if nodes.len() != trained.len() {
            let (what, expected) = ("the grid of a Fourier neural operator", format!("{} dimensions", trained.len()));
            return Err(Error::invalid(what, expected + ", as in training", nodes.len(), "check the data"));
        }
        let visible = |axis: usize| {
            let fewest = nodes[axis].min(trained[axis]) as i64;
            move |k: &i64| 2 * k.abs() < fewest
        };
        let m = modes as i64;
        let last = nodes.len() - 1;
        let is_plane = last == 1;
        let across = if is_plane { (0..m).chain(-m..0).filter(visible(0)).collect() } else { vec![0] };
        let shape = if is_plane { [nodes[0], nodes[1]] } else { [1, nodes[0]] };
        Ok(Self { shape, across, along: (0..m).filter(visible(last)).collect(), modes, is_plane })
    }

    /// N1 N2.
    pub fn nodes(&self) -> usize {
        self.shape[0] * self.shape[1]
    }

    /// Number of frequencies (k1, k2).
    pub fn len(&self) -> usize {
        self.across.len() * self.along.len()
    }

    /// Where the weight of the frequency with number `index` (k2 slow, k1 fast) stands: k1 = 0, 1, …, -2, -1 slow, k2 fast.
    pub fn weight_of(&self, index: usize) -> usize {
        let (k2, k1) = (index / self.across.len(), self.across[index % self.across.len()]);
        if !self.is_plane {
            return k2;
        }
        let row = if k1 < 0 { 2 * self.modes as i64 + k1 } else { k1 } as usize;
        row * self.modes + k2
    }

    /// What the inverse transform multiplies a frequency with: nodes, and 2 for the pair k2 and -k2, of which only one is kept. With it, the
    /// inverse is the transposed forward transform.
    pub fn gain(&self, index: usize) -> f64 {
        let is_mean = self.along[index / self.across.len()] == 0;
        self.nodes() as f64 * if is_mean { 1.0 } else { 2.0 }
    }

    /// The transform along the second axis, divided by the number of nodes: rows (k2, real), (k2, imaginary), columns j2.
    pub(super) fn matrix_along<T: Real>(&self) -> Vec<T> {
        let scale = 1.0 / self.nodes() as f64;
        let n = self.shape[1];
        let mut values = Vec::with_capacity(2 * self.along.len() * n);
        for &k in &self.along {
            values.extend((0..n).map(|j| T::of(scale * angle(k, j, n).cos())));
            values.extend((0..n).map(|j| T::of(-scale * angle(k, j, n).sin())));
        }
        values
    }

    /// The transform along the first axis of complex rows: rows (k1, real), (k1, imaginary), columns j1; one matrix for the
    /// real parts, one for the imaginary parts.
    pub(super) fn matrices_across<T: Real>(&self) -> [Vec<T>; 2] {
        let n = self.shape[0];
        let rows = |of: &dyn Fn(f64) -> [f64; 2]| {
            let parts = self.across.iter().flat_map(|&k| [(k, 0), (k, 1)]);
            parts
                .flat_map(|(k, part)| (0..n).map(move |j| (k, part, j)))
                .map(|(k, part, j)| T::of(of(angle(k, j, n))[part]))
                .collect()
        };
        [rows(&|a| [a.cos(), -a.sin()]), rows(&|a| [a.sin(), a.cos()])]
    }

    /// The whole transform as one matrix: rows in the order (k2, k1, part), columns nodes. What the fast one must equal.
    pub fn matrix(&self) -> Vec<f64> {
        let [n1, n2] = self.shape;
        let scale = 1.0 / self.nodes() as f64;
        let pairs = self.along.iter().flat_map(|&k2| self.across.iter().map(move |&k1| (k1, k2)));
        let rows = pairs.flat_map(|(k1, k2)| [(k1, k2, true), (k1, k2, false)]);
        let entry = |((k1, k2, is_real), node): ((i64, i64, bool), usize)| {
            let a = angle(k1, node / n2, n1) + angle(k2, node % n2, n2);
            scale * if is_real { a.cos() } else { -a.sin() }
        };
        rows.flat_map(|row| (0..n1 * n2).map(move |node| (row, node))).map(entry).collect()
    }
}

/// 2π k j / n, reduced before rounding.
fn angle(k: i64, j: usize, n: usize) -> f64 {
    TAU * (k * j as i64).rem_euclid(n as i64) as f64 / n as f64
}

fn of_grid(domain: &Domain) -> Result<&Grid> {
    let got = match domain {
        Domain::Grid(grid) if grid.shape().len() <= 2 => return Ok(grid),
        Domain::Grid(grid) => format!("{} dimensions", grid.shape().len()),
        Domain::Cloud(_) | Domain::Clouds(_) => "a point cloud".into(),
    };
    let expected = "data on a regular grid in one or two dimensions for a Fourier neural operator";
    let hint = "use kind = \"nkn\" or \"gkn\", which work on any points, or resample the data to such a grid";
    Err(Error::invalid("model.kind", expected, got, hint))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn square(n: usize) -> Domain {
        Domain::Grid(Grid::unit(&[n, n]).unwrap())
    }

    #[test]
    fn each_frequency_once_on_any_grid() {
        let of = |n, trained: Option<usize>| Frequencies::new(9, &square(n), trained.map(square).as_ref()).unwrap();
        // 9 + 9 > 16: the blocks of positive and negative frequencies would overlap.
        assert_eq!(of(16, None).across.len(), 15);
        assert_eq!(of(16, None).along.len(), 8);
        assert_eq!(of(31, None).across, (0..9).chain(-9..0).collect::<Vec<_>>());
        assert_eq!(of(5, None).across, [0, 1, 2, -2, -1]);
        assert_eq!(of(1, None).len(), 1);
        // What was not trained is not used.
        assert_eq!(of(61, Some(16)).across, of(16, None).across);
        let used: std::collections::BTreeSet<usize> =
            (0..of(31, None).len()).map(|i| of(31, None).weight_of(i)).collect();
        assert_eq!(used.len(), 2 * 9 * 9);
        assert_eq!(used.last(), Some(&(2 * 9 * 9 - 1)));
    }

    #[test]
    fn other_domains_are_refused() {
        let cube = Domain::Grid(Grid::unit(&[4, 4, 4]).unwrap());
        assert!(Frequencies::new(4, &cube, None).unwrap_err().to_string().contains("3 dimensions"));
        let line = Domain::Grid(Grid::unit(&[9]).unwrap());
        assert!(Frequencies::new(4, &line, Some(&square(9))).is_err());
    }
}
