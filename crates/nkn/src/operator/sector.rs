//! Matrices that take energy out: B = L (1 + Ω) Lᵀ, with L lower triangular and Ω skew, both free.
//!
//! Every d x d matrix whose symmetric part is positive definite is one of these in one way up to signs: L Lᵀ is its
//! symmetric part (Cholesky), L Ω Lᵀ its skew one. d² numbers C hold it: L is the lower triangle of C with the
//! diagonal, Ω the rest of C minus its transpose. v·Bv = |Lᵀv|² for every v, and |Bv| is at most |L (1 + Ω)| |Lᵀv|: the
//! values v·Bv fill a sector of the complex plane, whose angle Ω decides (T. Kato, *Perturbation theory for linear
//! operators*, V.3.10).

use super::Pairs;
use crate::engine::Engine;
use crate::linalg::{Matrix, Real, by_pieces, each_piece, gemm};
use crate::operation::{Operation, Seen, operate};
use burn::tensor::{Tensor, TensorData};
use std::sync::Arc;

/// L (1 + Ω) Lᵀ of every row of d² numbers; with pairs, given twice: to both kernel rows of the pair.
pub fn sector(numbers: Tensor<2>, pairs: Option<&Arc<Pairs>>, engine: Engine) -> Tensor<2> {
    if engine.is_fused(&numbers.device()) {
        let width = numbers.dims()[1].isqrt();
        operate([numbers.into_dispatch()], Sector { width, pairs: pairs.cloned() })
    } else {
        portable(numbers, pairs)
    }
}

/// F Fᵀ with F = L (1 + Ω), the factor before Lᵀ: |B v|² ≤ |F Fᵀ| v·Bv, of every row of d² numbers, to both kernel rows
/// of a pair. What the certificate is made of.
pub fn bounding(numbers: Tensor<2>, pairs: Option<&Arc<Pairs>>) -> Tensor<2> {
    let (lower, middle) = factors(numbers);
    let factor = lower.matmul(middle);
    spread(factor.clone().matmul(factor.swap_dims(1, 2)), pairs)
}

/// Multiplies B by a factor through the layer that gives its numbers: weights (outputs x inputs), then biases.
pub fn scale(layer: &mut [f32], d: usize, factor: f64) {
    let root = factor.sqrt() as f32;
    let inputs = layer.len() / (d * d) - 1;
    let (weights, biases) = layer.split_at_mut(inputs * d * d);
    // What is not of L is of Ω.
    for output in (0..d * d).filter(|output| output / d >= output % d) {
        weights[output * inputs..(output + 1) * inputs].iter_mut().for_each(|weight| *weight *= root);
        biases[output] *= root;
    }
}

/// The same as the fused operation, in Burn primitives.
fn portable(numbers: Tensor<2>, pairs: Option<&Arc<Pairs>>) -> Tensor<2> {
    let (lower, middle) = factors(numbers);
    spread(lower.clone().matmul(middle).matmul(lower.swap_dims(1, 2)), pairs)
}

/// L and 1 + Ω of every row.
fn factors(numbers: Tensor<2>) -> (Tensor<3>, Tensor<3>) {
    let [count, size] = numbers.dims();
    let d = size.isqrt();
    let (device, dtype) = (numbers.device(), numbers.dtype());
    let mask = |keep: fn(usize, usize) -> bool| {
        let entries: Vec<f64> = (0..size).map(|e| f64::from(keep(e / d, e % d))).collect();
        Tensor::<3>::from_data(TensorData::new(entries, [1, d, d]), (&device, dtype))
    };
    let numbers = numbers.reshape([count, d, d]);
    let lower = numbers.clone() * mask(|i, j| i >= j);
    let upper = numbers * mask(|i, j| i < j);
    (lower, upper.clone() - upper.swap_dims(1, 2) + mask(|i, j| i == j))
}

/// Each matrix as a row; with pairs, to both kernel rows of the pair.
fn spread(matrices: Tensor<3>, pairs: Option<&Arc<Pairs>>) -> Tensor<2> {
    let [count, d, _] = matrices.dims();
    let result = matrices.reshape([count, d * d]);
    pairs.map_or(result.clone(), |pairs| pairs.spread(result))
}

/// Rows of d² numbers to matrices, by hand.
#[derive(Debug)]
struct Sector {
    width: usize,
    pairs: Option<Arc<Pairs>>,
}

/// Matrices of a piece of work.
const PIECE: usize = 32;

/// Room for the matrices on the way.
#[derive(Default)]
struct Scratch<T> {
    lower: Vec<T>,
    middle: Vec<T>,
    product: Vec<T>,
    gradient: Vec<T>,
}

impl<T: Real> Scratch<T> {
    /// L and 1 + Ω.
    fn split(&mut self, numbers: &[T], d: usize) {
        for values in [&mut self.lower, &mut self.middle, &mut self.product, &mut self.gradient] {
            values.clear();
            values.resize(d * d, T::ZERO);
        }
        for i in 0..d {
            self.lower[i * d..=i * d + i].copy_from_slice(&numbers[i * d..=i * d + i]);
            self.middle[i * d + i] = T::ONE;
            for j in i + 1..d {
                self.middle[i * d + j] = numbers[i * d + j];
                self.middle[j * d + i] = -numbers[i * d + j];
            }
        }
    }

    fn matrix(&mut self, numbers: &[T], d: usize, result: &mut [T]) {
        self.split(numbers, d);
        let (lower, middle) = (Matrix::new(&self.lower, d, d), Matrix::new(&self.middle, d, d));
        gemm(&mut self.product, T::ZERO, T::ONE, lower, middle);
        gemm(result, T::ZERO, T::ONE, Matrix::new(&self.product, d, d), lower.t());
    }

    /// From the derivative G of B: that of L is the lower triangle of G L (1 + Ω)ᵀ + Gᵀ L (1 + Ω), that of 1 + Ω is
    /// Lᵀ G L.
    fn derivative(&mut self, numbers: &[T], d: usize, result: &mut [T]) {
        let gradient = std::mem::take(&mut self.gradient);
        self.split(numbers, d);
        let (lower, middle) = (Matrix::new(&self.lower, d, d), Matrix::new(&self.middle, d, d));
        let own = Matrix::new(&gradient, d, d);
        // G L, its share of both.
        gemm(&mut self.product, T::ZERO, T::ONE, own, lower);
        gemm(result, T::ZERO, T::ONE, Matrix::new(&self.product, d, d), middle.t());
        gemm(&mut self.gradient, T::ZERO, T::ONE, lower.t(), Matrix::new(&self.product, d, d));
        gemm(&mut self.product, T::ZERO, T::ONE, own.t(), lower);
        gemm(result, T::ONE, T::ONE, Matrix::new(&self.product, d, d), middle);
        for i in 0..d {
            for j in i + 1..d {
                result[i * d + j] = self.gradient[i * d + j] - self.gradient[j * d + i];
            }
        }
        self.gradient = gradient;
    }
}

impl Operation<1> for Sector {
    type Saved<T: Real> = ();
    type Double = f64;

    fn shape(&self, [numbers]: [&[usize]; 1]) -> Vec<usize> {
        vec![self.pairs.as_ref().map_or(numbers[0], |pairs| pairs.of().len()), numbers[1]]
    }

    fn forward<T: Real>(&self, [numbers]: [&[T]; 1], _: bool) -> (Vec<T>, ()) {
        let d = self.width;
        let size = d * d;
        let matrices = by_pieces(numbers.len(), PIECE * size, Scratch::default, |scratch, index, piece| {
            let numbers = numbers[index * PIECE * size..].chunks_exact(size);
            piece.chunks_exact_mut(size).zip(numbers).for_each(|(own, numbers)| scratch.matrix(numbers, d, own));
        });
        let Some(pairs) = &self.pairs else { return (matrices, ()) };
        let rows = pairs.of();
        let expanded = each_piece(rows.len() * size, PIECE * size, |index, piece| {
            for (own, &pair) in piece.chunks_exact_mut(size).zip(&rows[index * PIECE..]) {
                own.copy_from_slice(&matrices[pair as usize * size..][..size]);
            }
        });
        (expanded, ())
    }

    fn backward<T: Real>(&self, seen: Seen<T, (), 1>) -> [Option<Vec<T>>; 1] {
        let [numbers] = seen.inputs;
        let d = self.width;
        let size = d * d;
        let result = by_pieces(numbers.len(), PIECE * size, Scratch::default, |scratch, index, piece| {
            for (offset, own) in piece.chunks_exact_mut(size).enumerate() {
                let matrix = index * PIECE + offset;
                let at = |row: usize| &seen.gradient[row * size..(row + 1) * size];
                scratch.gradient.clear();
                match self.pairs.as_ref().map(|pairs| pairs.rows()[matrix].map(|row| row as usize)) {
                    None => scratch.gradient.extend_from_slice(at(matrix)),
                    // A node that is its own neighbour has one row.
                    Some([row, other]) if row == other => scratch.gradient.extend_from_slice(at(row)),
                    Some([row, other]) => scratch.gradient.extend(at(row).iter().zip(at(other)).map(|(&a, &b)| a + b)),
                }
                scratch.derivative(&numbers[matrix * size..(matrix + 1) * size], d, own);
            }
        });
        [Some(result)]
    }
}
