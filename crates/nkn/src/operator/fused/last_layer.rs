//! The kernel network's last layer, K = W phi + b, and its derivatives, without the features that are off.
//!
//! Rows of the kernel table are sorted so that neighbours are alike (see `kernel/rows.rs`), so of the ReLU units behind the features
//! about four in ten are off on a whole block of rows. Their columns are left out of all three products, which
//! changes nothing but the time. The weight is used transposed, features x outputs: its active part is then a set of whole rows,
//! gathered tile by tile of the outputs so that it stays in the second-level cache.

use super::{Inputs, feature_width};
use crate::kernel::Active;
use crate::linalg::buffer::Buffer;
use crate::linalg::{Matrix, Real, add_rows, gemm, gemm_parallel, gemm_strided, transpose, vectorised};
use crate::operator::plan::Plan;
use rayon::prelude::*;
use std::ops::Range;

/// Rows of a block: few enough to leave many units off, enough for a product at full speed.
const BLOCK: usize = 256;
/// Outputs of a tile.
const TILE: usize = 256;

/// The active features of a block of rows, and a last column of ones that stands for the bias.
struct Piece<T: Real> {
    rows: Range<usize>,
    active: Active,
    values: Buffer<T>,
}

impl<T: Real> Piece<T> {
    fn new(plan: &Plan, features: &[T], width: usize, rows: Range<usize>) -> Self {
        let own = &features[rows.start * width..rows.end * width];
        let active = if plan.rectified { Active::of(own, width) } else { Active::all(width) };
        let mut values = Buffer::any(rows.len() * (active.len() + 1));
        for (to, from) in values.chunks_exact_mut(active.len() + 1).zip(own.chunks_exact(width)) {
            let (ones, to) = to.split_last_mut().expect("a column of ones");
            *ones = T::ONE;
            active.pick(from, to);
        }
        Self { rows, active, values }
    }

    fn all(plan: &Plan, features: &[T], width: usize) -> Vec<Self> {
        let rows = plan.kernel_rows();
        let starts: Vec<usize> = (0..rows).step_by(BLOCK).collect();
        let piece = |&start: &usize| Self::new(plan, features, width, start..rows.min(start + BLOCK));
        starts.par_iter().map(piece).collect()
    }

    /// With the column of ones.
    fn matrix(&self) -> Matrix<'_, T> {
        Matrix::new(&self.values, self.rows.len(), self.active.len() + 1)
    }

    /// The active rows of the transposed weight on a tile of its columns, and the bias below them.
    fn weight(&self, transposed: &[T], bias: &[T], tile: &Range<usize>) -> Buffer<T> {
        let mut result = Buffer::any((self.active.len() + 1) * tile.len());
        let rows = self.active.columns().map(|row| &transposed[row * bias.len()..(row + 1) * bias.len()]);
        for (to, from) in result.chunks_exact_mut(tile.len()).zip(rows.chain([bias])) {
            to.copy_from_slice(&from[tile.clone()]);
        }
        result
    }
}

fn tiles(size: usize) -> impl Iterator<Item = Range<usize>> {
    (0..size).step_by(TILE).map(move |start| start..size.min(start + TILE))
}

/// How a block K lies in memory.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Layout {
    /// Row by row: entry (i, j) at i d + j.
    Rows,
    /// Column by column: entry (i, j) at j d + i.
    Columns,
}

impl Layout {
    /// Where output number `output` of the last layer goes.
    fn place(self, output: usize, d: usize) -> usize {
        match self {
            Layout::Rows => output,
            Layout::Columns => output % d * d + output / d,
        }
    }
}

/// The weight (d² x width) as width x d², its columns in the order of the layout.
pub(super) fn transposed<T: Real>(weight: &[T], d: usize, width: usize, layout: Layout) -> Buffer<T> {
    let mut result = Buffer::any(weight.len());
    transpose(weight, width, &mut result, |output| layout.place(output, d));
    result
}

/// The kernel blocks K, one row of d² numbers per kernel row.
pub(super) fn forward<T: Real>(plan: &Plan, inputs: &Inputs<T>, layout: Layout) -> Buffer<T> {
    let size = plan.width * plan.width;
    let (rows, width) = (plan.kernel_rows(), feature_width(plan, inputs));
    let (weight, bias) = inputs.last_layer.split_at(size * width);
    let mut blocks = Buffer::any(rows * size);
    if size == 1 {
        blocks.fill(bias[0]);
        let features = Matrix::new(inputs.features, rows, width);
        gemm_parallel(&mut blocks, T::ONE, T::ONE, features, Matrix::new(weight, 1, width).t());
        return blocks;
    }
    let transposed = transposed(weight, plan.width, width, layout);
    let mut arranged = vec![T::ZERO; size];
    for (output, &value) in bias.iter().enumerate() {
        arranged[layout.place(output, plan.width)] = value;
    }
    let bias = &arranged[..];
    blocks.par_chunks_mut(BLOCK * size).enumerate().for_each(|(index, blocks)| {
        let start = index * BLOCK;
        let piece = Piece::new(plan, inputs.features, width, start..start + blocks.len() / size);
        for tile in tiles(size) {
            let weight = piece.weight(&transposed, bias, &tile);
            let weight = Matrix::new(&weight, piece.active.len() + 1, tile.len());
            gemm_strided(&mut blocks[tile.start..], size, T::ZERO, T::ONE, piece.matrix(), weight);
        }
    });
    blocks
}

/// From derivatives of the blocks to those of the features and of the last layer. Features that are off on their whole block of
/// rows get no derivative: the ReLU behind them would not let it pass.
pub(super) fn backward<T: Real>(plan: &Plan, inputs: &Inputs<T>, blocks: &[T]) -> (Vec<T>, Vec<T>) {
    let size = plan.width * plan.width;
    let (rows, width) = (plan.kernel_rows(), feature_width(plan, inputs));
    let (weight, bias) = inputs.last_layer.split_at(size * width);
    let mut features = vec![T::ZERO; rows * width];
    let mut last_layer = vec![T::ZERO; inputs.last_layer.len()];
    if size == 1 {
        scalar_backward(blocks, inputs.features, weight, &mut features, &mut last_layer);
        return (features, last_layer);
    }
    let pieces = Piece::all(plan, inputs.features, width);
    let transposed = transposed(weight, plan.width, width, Layout::Rows);
    features.par_chunks_mut(BLOCK * width).zip(&pieces).for_each(|(features, piece)| {
        let count = piece.active.len();
        let mut sum = Buffer::any(piece.rows.len() * count);
        for tile in tiles(size) {
            let weight = piece.weight(&transposed, bias, &tile);
            let weight = Matrix::new(&weight, count, tile.len());
            let own =
                Matrix::strided(&blocks[piece.rows.start * size + tile.start..], piece.rows.len(), tile.len(), size);
            let keep = if tile.start == 0 { T::ZERO } else { T::ONE };
            gemm(&mut sum, keep, T::ONE, own, weight.t());
        }
        for (to, from) in features.chunks_exact_mut(width).zip(sum.chunks_exact(count.max(1))) {
            piece.active.add_to(from, to);
        }
    });
    let (weight_gradient, bias_gradient) = last_layer.split_at_mut(size * width);
    let tile_gradients = weight_gradient.par_chunks_mut(TILE * width).zip(bias_gradient.par_chunks_mut(TILE));
    tile_gradients.enumerate().for_each(|(index, (weight_gradient, bias_gradient))| {
        let outputs = bias_gradient.len();
        let mut sum = Buffer::any(width * outputs);
        sum.fill(T::ZERO);
        for piece in &pieces {
            let count = piece.active.len() + 1;
            let start = piece.rows.start * size + index * TILE;
            let own = Matrix::strided(&blocks[start..], piece.rows.len(), outputs, size);
            let mut products = Buffer::any(count * outputs);
            gemm(&mut products, T::ZERO, T::ONE, piece.matrix().t(), own);
            let (products, bias) = products.split_at((count - 1) * outputs);
            piece.active.add_rows_to(products, &mut sum);
            add_rows(bias_gradient, bias);
        }
        transpose(&sum, outputs, weight_gradient, |feature| feature);
    });
    (features, last_layer)
}

/// With d = 1 both products are outer products and sums of scaled rows: one pass over the features.
fn scalar_backward<T: Real>(
    blocks: &[T],
    features: &[T],
    weight: &[T],
    features_gradient: &mut [T],
    last_layer: &mut [T],
) {
    const PIECE: usize = 512;
    let width = weight.len();
    let sums: Vec<Vec<T>> = features_gradient
        .par_chunks_mut(PIECE * width)
        .zip(features.par_chunks(PIECE * width))
        .zip(blocks.par_chunks(PIECE))
        .map(|((gradient, features), blocks)| {
            let mut sum = vec![T::ZERO; width + 1];
            vectorised!({
                let rows = gradient.chunks_exact_mut(width).zip(features.chunks_exact(width));
                for ((gradient, features), &block) in rows.zip(blocks) {
                    let (weights, bias) = sum.split_at_mut(width);
                    bias[0] += block;
                    for (((g, s), &f), &w) in gradient.iter_mut().zip(weights).zip(features).zip(weight) {
                        *g = block * w;
                        *s += block * f;
                    }
                }
            });
            sum
        })
        .collect();
    for sum in sums {
        for (total, part) in last_layer.iter_mut().zip(sum) {
            *total += part;
        }
    }
}
