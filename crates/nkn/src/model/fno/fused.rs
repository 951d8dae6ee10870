//! A Fourier layer and its adjoint on slices. States are nodes x samples x d, so that every transform is a product of a
//! small matrix with a wide one; spectra are frequencies (k2 slow, k1 fast) x (real, imaginary) x samples x d.

use super::frequencies::Frequencies;
use crate::linalg::buffer::Buffer;
use crate::linalg::{Matrix, Real, add_rows, gemm, gemm_strided, mask, sum_rows};
use crate::operation::{Operation, Seen};
use crate::parallel::Parallel;
use std::sync::Arc;

/// The sizes of a layer.
#[derive(Clone, Debug, PartialEq)]
pub struct Layer {
    /// The transform.
    pub frequencies: Frequencies,
    /// Number of samples.
    pub samples: usize,
    /// d.
    pub width: usize,
    /// Whether σ is applied.
    pub activate: bool,
}

/// Nodes of a task where the grid has only one row.
const BLOCK: usize = 16;

impl Layer {
    /// Values of a node.
    fn columns(&self) -> usize {
        self.samples * self.width
    }

    /// Nodes that one task computes: a row of the grid, or a part of it in one dimension.
    fn block(&self) -> usize {
        let [rows, columns] = self.frequencies.shape;
        if rows == 1 { BLOCK.min(columns) } else { columns }
    }

    /// The spectrum of a state.
    fn analyse<T: Real>(&self, state: &[T]) -> Buffer<T> {
        let ([n1, n2], c) = (self.frequencies.shape, self.columns());
        let (k1, k2) = (self.frequencies.across.len(), self.frequencies.along.len());
        let along = self.frequencies.matrix_along::<T>();
        let mut rows = Buffer::any(n1 * 2 * k2 * c);
        // In one dimension the frequencies are shared out, in two the rows of the grid.
        let piece = if n1 == 1 { 4.min(k2) } else { k2 };
        cut(&mut rows, 2 * k2 * c, 2 * piece * c).into_iter().parallel().for_each(|(j1, p, part)| {
            let count = part.len() / c;
            let matrix = Matrix::new(&along[2 * p * piece * n2..][..count * n2], count, n2);
            gemm(part, T::ZERO, T::ONE, matrix, Matrix::new(&state[j1 * n2 * c..][..n2 * c], n2, c));
        });
        if n1 == 1 {
            return rows;
        }
        let across = self.frequencies.matrices_across::<T>();
        let mut spectrum = Buffer::any(k2 * k1 * 2 * c);
        spectrum.chunks_mut(2 * k1 * c).enumerate().parallel().for_each(|(k, part)| {
            for (index, matrix) in across.iter().enumerate() {
                let keep = if index == 0 { T::ZERO } else { T::ONE };
                let source = Matrix::strided(&rows[(2 * k + index) * c..], n1, c, 2 * k2 * c);
                gemm(part, keep, T::ONE, Matrix::new(matrix, 2 * k1, n1), source);
            }
        });
        spectrum
    }

    /// The transposed transform of a spectrum; `finish` gets each block of nodes with its place.
    fn synthesise<T: Real>(&self, spectrum: &[T], result: &mut [T], finish: impl Fn(usize, &mut [T]) + Sync) {
        let ([n1, n2], c) = (self.frequencies.shape, self.columns());
        let (k1, k2) = (self.frequencies.across.len(), self.frequencies.along.len());
        let along = self.frequencies.matrix_along::<T>();
        let mut inner = Buffer::any(if n1 == 1 { 0 } else { k2 * 2 * n1 * c });
        let inner: &[T] = if n1 == 1 {
            spectrum
        } else {
            let across = self.frequencies.matrices_across::<T>();
            inner.chunks_mut(n1 * c).enumerate().parallel().for_each(|(index, part)| {
                let (k, side) = (index / 2, index % 2);
                let source = Matrix::new(&spectrum[k * 2 * k1 * c..][..2 * k1 * c], 2 * k1, c);
                gemm(part, T::ZERO, T::ONE, Matrix::new(&across[side], 2 * k1, n1).t(), source);
            });
            &inner
        };
        let block = self.block();
        cut(result, n2 * c, block * c).into_iter().parallel().for_each(|(j1, b, part)| {
            let nodes = part.len() / c;
            for side in 0..2 {
                let keep = if side == 0 { T::ZERO } else { T::ONE };
                // Every second row, transposed: nodes x k2.
                let matrix = Matrix::strided(&along[side * n2 + b * block..], k2, nodes, 2 * n2).t();
                let source = Matrix::strided(&inner[(side * n1 + j1) * c..], k2, c, 2 * n1 * c);
                gemm_strided(part, c, keep, T::ONE, matrix, source);
            }
            finish(j1 * n2 + b * block, part);
        });
    }

    /// Multiplies each frequency's (real, imaginary) x samples rows by its weights: Y = gain (X Wr + J X Wi) with J = i, or, for the adjoint,
    /// Y = gain (X Wrᵀ + Jᵀ X Wiᵀ).
    fn mix<T: Real>(&self, spectrum: &[T], weights: &[T], adjoint: bool) -> Buffer<T> {
        let (d, c, rows) = (self.width, self.columns(), 2 * self.samples);
        let mut result = Buffer::any(spectrum.len());
        result.chunks_mut(2 * c).enumerate().parallel().for_each_with(Vec::new, |turned, (index, part)| {
            let own = &spectrum[index * 2 * c..][..2 * c];
            let gain = T::of(self.frequencies.gain(index));
            let weight = &weights[self.frequencies.weight_of(index) * 2 * d * d..][..2 * d * d];
            turn(own, turned, adjoint);
            for (side, source) in [own, turned.as_slice()].into_iter().enumerate() {
                let matrix = Matrix::new(&weight[side * d * d..][..d * d], d, d);
                let matrix = if adjoint { matrix.t() } else { matrix };
                let keep = if side == 0 { T::ZERO } else { T::ONE };
                gemm(part, keep, gain, Matrix::new(source, rows, d), matrix);
            }
        });
        result
    }

    /// The gradient of the weights from the layer's spectrum and that of the gradient.
    fn weight_gradient<T: Real>(&self, spectrum: &[T], gradient: &[T], count: usize) -> Vec<T> {
        let (d, c, rows) = (self.width, self.columns(), 2 * self.samples);
        let mut frequency_of = vec![None; count / (2 * d * d)];
        for index in 0..self.frequencies.len() {
            frequency_of[self.frequencies.weight_of(index)] = Some(index);
        }
        let mut result = vec![T::ZERO; count];
        result.chunks_mut(2 * d * d).zip(frequency_of).parallel().for_each_with(Vec::new, |turned, (part, index)| {
            let Some(index) = index else { return };
            let own = &spectrum[index * 2 * c..][..2 * c];
            let above = Matrix::new(&gradient[index * 2 * c..][..2 * c], rows, d);
            let gain = T::of(self.frequencies.gain(index));
            turn(own, turned, false);
            for (part, source) in part.chunks_mut(d * d).zip([own, turned.as_slice()]) {
                gemm(part, T::ZERO, gain, Matrix::new(source, rows, d).t(), above);
            }
        });
        result
    }
}

/// Cuts rows of a length into parts of another, each with the number of its row and its own number there.
fn cut<T>(values: &mut [T], row: usize, part: usize) -> Vec<(usize, usize, &mut [T])> {
    let rows = values.chunks_mut(row).enumerate();
    rows.flat_map(|(r, row)| row.chunks_mut(part).enumerate().map(move |(p, part)| (r, p, part))).collect()
}

/// Multiplies (real, imaginary) by i, or by its adjoint -i.
fn turn<T: Real>(values: &[T], result: &mut Vec<T>, adjoint: bool) {
    let (real, imaginary) = values.split_at(values.len() / 2);
    result.clear();
    if adjoint {
        result.extend_from_slice(imaginary);
        result.extend(real.iter().map(|&v| -v));
    } else {
        result.extend(imaginary.iter().map(|&v| -v));
        result.extend_from_slice(real);
    }
}

/// σ(F⁻¹(W F h) + h Rᵀ + c) of a state, W, and R (row-major) with c in one vector.
#[derive(Debug)]
pub(super) struct FusedLayer(pub Arc<Layer>);

impl Operation<3> for FusedLayer {
    /// The spectrum of the state.
    type Saved<T: Real> = Buffer<T>;
    type Double = f64;

    fn forward<T: Real>(&self, [state, weights, pointwise]: [&[T]; 3], _: bool) -> (Vec<T>, Buffer<T>) {
        let layer = &self.0;
        let (d, c) = (layer.width, layer.columns());
        let spectrum = layer.analyse(state);
        let mixed = layer.mix(&spectrum, weights, false);
        let (root, bias) = pointwise.split_at(d * d);
        let mut result = vec![T::ZERO; state.len()];
        layer.synthesise(&mixed, &mut result, |node, part| {
            let rows = part.len() / d;
            let own = Matrix::new(&state[node * c..][..part.len()], rows, d);
            gemm(part, T::ONE, T::ONE, own, Matrix::new(root, d, d).t());
            for row in part.chunks_exact_mut(d) {
                for (value, &bias) in row.iter_mut().zip(bias) {
                    let sum = *value + bias;
                    *value = if layer.activate && sum < T::ZERO { T::ZERO } else { sum };
                }
            }
        });
        (result, spectrum)
    }

    fn backward<T: Real>(&self, seen: Seen<T, Buffer<T>, 3>) -> [Option<Vec<T>>; 3] {
        let Seen { inputs: [state, weights, pointwise], output, saved: spectrum, gradient, .. } = seen;
        let layer = &self.0;
        let (d, c) = (layer.width, layer.columns());
        let mut masked = Buffer::any(if layer.activate { gradient.len() } else { 0 });
        let size = layer.block() * c;
        let pieces = masked.chunks_mut(size).zip(gradient.chunks(size)).zip(output.chunks(size));
        pieces.parallel().for_each(|((masked, gradient), output)| {
            masked.copy_from_slice(gradient);
            mask(masked, output);
        });
        let gradient = if layer.activate { &masked } else { gradient };
        let above = layer.analyse(gradient);
        let weights_gradient = layer.weight_gradient(&spectrum, &above, weights.len());
        let below = layer.mix(&above, weights, true);
        let root = &pointwise[..d * d];
        let mut state_gradient = vec![T::ZERO; gradient.len()];
        layer.synthesise(&below, &mut state_gradient, |node, part| {
            let own = Matrix::new(&gradient[node * c..][..part.len()], part.len() / d, d);
            gemm(part, T::ONE, T::ONE, own, Matrix::new(root, d, d));
        });
        let pointwise_gradient = pointwise_gradient(layer, state, gradient);
        [state_gradient, weights_gradient, pointwise_gradient].map(Some)
    }
}

/// Of R: the sum over nodes and samples of gradient times state; of c: the sum of the gradient. Partial sums over fixed pieces.
fn pointwise_gradient<T: Real>(layer: &Layer, state: &[T], gradient: &[T]) -> Vec<T> {
    let d = layer.width;
    let size = layer.block() * layer.columns();
    let pieces: Vec<Vec<T>> = gradient.chunks(size).zip(state.chunks(size)).parallel().map(|(gradient, state)| {
        let rows = gradient.len() / d;
        let mut piece = vec![T::ZERO; d * d + d];
        let (root, bias) = piece.split_at_mut(d * d);
        gemm(root, T::ZERO, T::ONE, Matrix::new(gradient, rows, d).t(), Matrix::new(state, rows, d));
        add_rows(bias, gradient);
        piece
    });
    sum_rows(&pieces.concat(), d * d + d)
}
