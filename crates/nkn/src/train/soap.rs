//! SOAP: Adam in a slowly turning basis.
//!
//! N. Vyas et al., *SOAP: improving and stabilizing Shampoo using Adam* (2024). For a layer with weight and bias as one matrix
//! [W b] and gradient G the averages L of G Gᵀ and R of Gᵀ G are kept; Adam runs on Q_Lᵀ G Q_R, where Q_L and Q_R
//! approximate their eigenvectors: at the first step one power iteration from the identity, then one more every few
//! steps, each followed by a QR factorisation.

use super::optimiser::Adam;
use crate::linalg::buffer::Buffer;
use crate::linalg::{Matrix, gemm_parallel, vectorised};
use crate::model::Parameters;
use crate::parallel::Parallel;
use std::ops::Range;

/// A side longer than this keeps the plain basis: its eigenvectors would cost more than the step.
const LONGEST: usize = 1025;

/// Numbers that one thread updates at a time.
const PIECE: usize = 1 << 14;

/// One side of a matrix: the average of the gradient's products, and the basis as columns (empty before the first step).
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Side {
    length: usize,
    pub average: Vec<f32>,
    pub basis: Vec<f32>,
}

/// The bases of one layer.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Soap {
    /// The parameter group, and the place of weight and bias in it.
    pub group: usize,
    pub range: Range<usize>,
    /// Outputs of the layer.
    rows: usize,
    /// Inputs of the layer.
    inputs: usize,
    /// Inputs, and one more when there is a bias.
    columns: usize,
    /// Absent on a side that is too long, or has length 1.
    pub left: Option<Side>,
    pub right: Option<Side>,
}

impl Soap {
    /// One for every layer.
    pub fn for_layers(parameters: &Parameters) -> Vec<Self> {
        let mut result = Vec::new();
        for (group, parameters) in parameters.groups.iter().enumerate() {
            for (index, entry) in parameters.entries.iter().enumerate() {
                let &[rows, inputs] = entry.shape.as_slice() else { continue };
                let mut range = entry.range();
                let next = parameters.entries.get(index + 1);
                if let Some(bias) = next.filter(|next| next.shape == [rows]) {
                    range.end = bias.range().end;
                }
                let columns = range.len() / rows;
                let side = |length: usize| {
                    let fresh = || Side { length, average: vec![0.0; length * length], basis: Vec::new() };
                    (2..=LONGEST).contains(&length).then(fresh)
                };
                let (left, right) = (side(rows), side(columns));
                result.push(Self { group, range, rows, inputs, columns, left, right });
            }
        }
        result
    }

    /// One step for this layer; all slices are its weight followed by its bias. Both moments live in the turned basis and
    /// in the matrix's own order.
    pub fn step(
        &mut self,
        adam: &Adam,
        step: u64,
        values: &mut [f32],
        (first, second): (&mut [f32], &mut [f32]),
        gradient: &[f32],
    ) {
        let (rows, columns) = (self.rows, self.columns);
        let gradient = self.as_matrix(gradient);
        let g = Matrix::new(&gradient, rows, columns);
        if step == 1 {
            for (side, product) in [(&mut self.left, (g, g.t())), (&mut self.right, (g.t(), g))] {
                if let Some(side) = side {
                    let mut matrix = vec![0.0; side.average.len()];
                    gemm_parallel(&mut matrix, 0.0, 1.0, product.0, product.1);
                    side.basis = orthonormal(&matrix, side.length);
                }
            }
        }
        let mut direction = self.turn(&gradient, true);
        let moments = first.chunks_mut(PIECE).zip(second.chunks_mut(PIECE));
        direction.chunks_mut(PIECE).zip(moments).parallel().for_each(|(direction, (first, second))| {
            vectorised!({
                for ((d, m), s) in direction.iter_mut().zip(first).zip(second) {
                    *d = adam.direction(*d, m, s);
                }
            })
        });
        let direction = self.turn(&direction, false);
        let (weight, bias) = values.split_at_mut(rows * self.inputs);
        let update = |value: &mut f32, direction: f32| *value -= adam.rate * direction + adam.decay * *value;
        weight.chunks_mut(self.inputs).zip(direction.chunks(columns)).parallel().for_each(|(weight, direction)| {
            weight.iter_mut().zip(direction).for_each(|(value, &direction)| update(value, direction));
        });
        for (value, direction) in bias.iter_mut().zip(direction.chunks_exact(columns)) {
            update(value, direction[self.inputs]);
        }
        for (side, product) in [(&mut self.left, (g, g.t())), (&mut self.right, (g.t(), g))] {
            if let Some(side) = side {
                gemm_parallel(&mut side.average, adam.beta2, adam.rest2, product.0, product.1);
            }
        }
    }

    /// One power iteration on every side of every layer, all at once: the factorisations are the expensive part. The moments,
    /// one vector per group, follow: the first ones are turned, the second ones take the new order of the columns.
    pub fn refresh_all(layers: &mut [Self], first: &mut [Vec<f32>], second: &mut [Vec<f32>]) {
        let plain: Vec<_> = layers.iter().map(|l| l.turn(&first[l.group][l.range.clone()], false)).collect();
        let sides: Vec<&mut Side> = layers.iter_mut().flat_map(|l| [&mut l.left, &mut l.right]).flatten().collect();
        let orders: Vec<Vec<usize>> = sides.into_iter().parallel().map(Side::refresh);
        let mut orders = orders.into_iter();
        for (layer, plain) in layers.iter().zip(plain) {
            first[layer.group][layer.range.clone()].copy_from_slice(&layer.turn(&plain, true));
            let second = &mut second[layer.group][layer.range.clone()];
            if layer.left.is_some() {
                reorder_rows(second, layer.columns, &orders.next().expect("an order per side"));
            }
            if layer.right.is_some() {
                reorder_columns(second, layer.columns, &orders.next().expect("an order per side"));
            }
        }
    }

    /// [W b] as one row-major matrix.
    fn as_matrix(&self, vector: &[f32]) -> Buffer<f32> {
        let (weight, bias) = vector.split_at(self.rows * self.inputs);
        let mut matrix = Buffer::any(vector.len());
        let rows = matrix.chunks_mut(self.columns).zip(weight.chunks(self.inputs));
        rows.enumerate().parallel().for_each(|(row, (to, weight))| {
            let (to, last) = to.split_at_mut(self.inputs);
            to.copy_from_slice(weight);
            if let Some(last) = last.first_mut() {
                *last = bias[row];
            }
        });
        matrix
    }

    /// Into the basis (Q_Lᵀ A Q_R) or out of it (Q_L A Q_Rᵀ).
    fn turn(&self, values: &[f32], into: bool) -> Buffer<f32> {
        let (rows, columns) = (self.rows, self.columns);
        let mut result: Option<Buffer<f32>> = None;
        for (side, is_left) in [(&self.left, true), (&self.right, false)] {
            let Some(side) = side else { continue };
            let basis = Matrix::new(&side.basis, side.length, side.length);
            let basis = if into == is_left { basis.t() } else { basis };
            let before = Matrix::new(result.as_deref().unwrap_or(values), rows, columns);
            let mut after = Buffer::any(values.len());
            let (left, right) = if is_left { (basis, before) } else { (before, basis) };
            gemm_parallel(&mut after, 0.0, 1.0, left, right);
            result = Some(after);
        }
        result.unwrap_or_else(|| values.to_vec().into())
    }
}

fn reorder_rows(matrix: &mut [f32], columns: usize, order: &[usize]) {
    let old = matrix.to_vec();
    for (row, &from) in matrix.chunks_exact_mut(columns).zip(order) {
        row.copy_from_slice(&old[from * columns..(from + 1) * columns]);
    }
}

fn reorder_columns(matrix: &mut [f32], columns: usize, order: &[usize]) {
    for row in matrix.chunks_exact_mut(columns) {
        let old = row.to_vec();
        for (value, &from) in row.iter_mut().zip(order) {
            *value = old[from];
        }
    }
}

impl Side {
    /// Q becomes the orthonormal factor of (average Q), its columns sorted by their share of the average; returns that order.
    fn refresh(&mut self) -> Vec<usize> {
        let length = self.length;
        let mut product = vec![0.0f32; length * length];
        let average = Matrix::new(&self.average, length, length);
        gemm_parallel(&mut product, 0.0, 1.0, average, Matrix::new(&self.basis, length, length));
        let mut share = vec![0.0f32; length];
        for (q, p) in self.basis.chunks_exact(length).zip(product.chunks_exact(length)) {
            for ((s, q), p) in share.iter_mut().zip(q).zip(p) {
                *s += q * p;
            }
        }
        let mut order: Vec<usize> = (0..length).collect();
        order.sort_by(|&a, &b| share[b].total_cmp(&share[a]));
        let sorted: Vec<f32> = product.chunks_exact(length).flat_map(|row| order.iter().map(|&j| row[j])).collect();
        self.basis = orthonormal(&sorted, length);
        order
    }
}

/// The orthonormal factor of a square matrix. Scaled to size one first, so that tiny gradients do not vanish in it.
fn orthonormal(matrix: &[f32], length: usize) -> Vec<f32> {
    let largest = matrix.iter().fold(0.0f32, |largest, v| largest.max(v.abs()));
    let scale = if largest > 0.0 && largest.is_finite() { 1.0 / largest as f64 } else { 1.0 };
    let scaled = faer::Mat::from_fn(length, length, |i, j| (matrix[i * length + j] as f64 * scale) as f32);
    let q = scaled.qr().compute_thin_Q();
    (0..length * length).map(|k| q[(k / length, k % length)]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bases_stay_orthonormal_and_find_the_eigenvectors() {
        // A diagonal average with well separated entries, seen from a turned basis.
        let length = 6;
        let average: Vec<f32> = (0..36).map(|k| if k / 6 == k % 6 { 4f32.powi(-(k / 6)) } else { 0.0 }).collect();
        let start: Vec<f32> = (0..36).map(|k| ((k * 7 % 11) as f32).sin()).collect();
        let mut side = Side { length, average, basis: orthonormal(&start, length) };
        for _ in 0..40 {
            side.refresh();
        }
        for i in 0..length {
            for j in 0..length {
                let expected = f32::from(i == j);
                assert!((side.basis[i * length + j].abs() - expected).abs() < 1e-4, "{:?}", side.basis);
            }
        }
    }
}
