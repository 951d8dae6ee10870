//! The kernel network's last layer, K = W phi + b, and its derivatives, without the features that are off.
//!
//! Rows of the kernel table are sorted so that neighbours are alike (see `kernel/rows.rs`), so of the ReLU units behind the features
//! about four in ten are off on a whole block of rows. Their columns are left out of all three products, which
//! changes nothing but the time. The weight is used transposed, features x outputs: its active part is then a set of whole rows,
//! gathered tile by tile of the outputs so that it stays in the second-level cache.

use super::{Inputs, feature_width};
use crate::kernel::{Active, Compact};
use crate::linalg::buffer::Buffer;
use crate::linalg::{
    Matrix, Real, add_rows, copied, gemm, gemm_parallel, gemm_strided, transpose, transposed_blocks, vectorised,
};
use crate::operator::plan::Plan;
use crate::parallel::Parallel;
use std::ops::Range;

/// Rows of a block: few enough to leave many units off, enough for a product at full speed.
const BLOCK: usize = 256;
/// Outputs of a tile.
const TILE: usize = 256;

/// The active features of a block of rows.
fn piece<T: Real>(plan: &Plan, features: &[T], width: usize) -> Compact<T> {
    let active = if plan.purpose.rectified { Active::of(features, width) } else { Active::all(width) };
    Compact::with_ones(active, features, width)
}

/// The active rows of the transposed weight on a tile of its columns, and the bias below them.
fn active_weight<T: Real>(active: &Active, transposed: &[T], bias: &[T], tile: &Range<usize>) -> Buffer<T> {
    let mut result = Buffer::any((active.len() + 1) * tile.len());
    let rows = active.columns().map(|row| &transposed[row * bias.len()..(row + 1) * bias.len()]);
    for (to, from) in result.chunks_exact_mut(tile.len()).zip(rows.chain([bias])) {
        to.copy_from_slice(&from[tile.clone()]);
    }
    result
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
    pub(super) fn place(self, output: usize, d: usize) -> usize {
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

/// The last layer as it is applied to some rows at a time.
pub(super) struct LastLayer<'a, T: Real> {
    plan: &'a Plan,
    /// Features x outputs, these in the order of the layout.
    weight: Buffer<T>,
    bias: Vec<T>,
    /// The number of features.
    width: usize,
}

impl<'a, T: Real> LastLayer<'a, T> {
    /// Ready to make blocks in this layout.
    pub(super) fn new(plan: &'a Plan, inputs: &Inputs<T>, layout: Layout) -> Self {
        let (size, width) = (plan.width * plan.width, feature_width(plan, inputs));
        let (weight, given) = inputs.last_layer.split_at(size * width);
        let mut bias = vec![T::ZERO; size];
        for (output, &value) in given.iter().enumerate() {
            bias[layout.place(output, plan.width)] = value;
        }
        Self { plan, weight: transposed(weight, plan.width, width, layout), bias, width }
    }

    /// The blocks of the rows with these numbers, out of all features.
    pub(super) fn apply(&self, mut rows: impl Iterator<Item = usize>, features: &[T], blocks: &mut [T]) {
        let size = self.bias.len();
        for blocks in blocks.chunks_mut(BLOCK * size) {
            let mut picked = Buffer::any(blocks.len() / size * self.width);
            for (to, row) in picked.chunks_exact_mut(self.width).zip(&mut rows) {
                to.copy_from_slice(&features[row * self.width..(row + 1) * self.width]);
            }
            let piece = piece(self.plan, &picked, self.width);
            for tile in tiles(size) {
                let weight = active_weight(&piece.active, &self.weight, &self.bias, &tile);
                let weight = Matrix::new(&weight, piece.columns, tile.len());
                gemm_strided(&mut blocks[tile.start..], size, T::ZERO, T::ONE, piece.matrix(), weight);
            }
        }
    }
}

/// As many nodes as have about a block of rows.
pub(super) fn nodes_together(plan: &Plan) -> usize {
    (BLOCK * plan.nodes() / plan.kernel_rows().max(1)).max(1)
}

/// The kernel blocks K, one row of d² numbers per kernel row. `finish` gets some of them while they are in the cache, with the
/// number of the first.
pub(super) fn forward<T: Real>(
    plan: &Plan,
    inputs: &Inputs<T>,
    layout: Layout,
    finish: impl Fn(usize, &mut [T]) + Sync,
) -> Buffer<T> {
    let size = plan.width * plan.width;
    if inputs.last_layer.is_empty() {
        let mut blocks = match layout {
            Layout::Rows => copied(inputs.features).into(),
            Layout::Columns => transposed_blocks(plan.width, inputs.features),
        };
        let pieces = blocks.chunks_mut(BLOCK * size).enumerate();
        pieces.parallel().for_each(|(index, blocks)| finish(index * BLOCK, blocks));
        return blocks;
    }
    let (rows, width) = (plan.kernel_rows(), feature_width(plan, inputs));
    let (weight, bias) = inputs.last_layer.split_at(size * width);
    let mut blocks = Buffer::any(rows * size);
    if size == 1 {
        blocks.fill(bias[0]);
        let features = Matrix::new(inputs.features, rows, width);
        gemm_parallel(&mut blocks, T::ONE, T::ONE, features, Matrix::new(weight, 1, width).t());
        finish(0, &mut blocks);
        return blocks;
    }
    let last_layer = LastLayer::new(plan, inputs, layout);
    blocks.chunks_mut(BLOCK * size).enumerate().parallel().for_each(|(index, blocks)| {
        last_layer.apply(index * BLOCK.., inputs.features, blocks);
        finish(index * BLOCK, blocks);
    });
    blocks
}

/// From derivatives of the blocks to those of the features and of the last layer. Features that are off on their whole block of
/// rows get no derivative: the ReLU behind them would not let it pass.
pub(super) fn backward<T: Real>(plan: &Plan, inputs: &Inputs<T>, blocks: &[T]) -> (Vec<T>, Vec<T>) {
    if inputs.last_layer.is_empty() {
        return (copied(blocks), Vec::new());
    }
    let size = plan.width * plan.width;
    let (rows, width) = (plan.kernel_rows(), feature_width(plan, inputs));
    let (weight, bias) = inputs.last_layer.split_at(size * width);
    let mut features = vec![T::ZERO; rows * width];
    let mut last_layer = vec![T::ZERO; inputs.last_layer.len()];
    if size == 1 {
        scalar_backward(blocks, inputs.features, weight, &mut features, &mut last_layer);
        return (features, last_layer);
    }
    let pieces: Vec<Compact<T>> =
        inputs.features.chunks(BLOCK * width).parallel().map(|features| piece(plan, features, width));
    let of_piece = |index: usize, tile: &Range<usize>| {
        Matrix::strided(&blocks[index * BLOCK * size + tile.start..], pieces[index].rows, tile.len(), size)
    };
    let transposed = transposed(weight, plan.width, width, Layout::Rows);
    features.chunks_mut(BLOCK * width).zip(&pieces).enumerate().parallel().for_each(|(index, (features, piece))| {
        let count = piece.active.len();
        let mut sum = Buffer::any(piece.rows * count);
        for tile in tiles(size) {
            let weight = active_weight(&piece.active, &transposed, bias, &tile);
            let weight = Matrix::new(&weight, count, tile.len());
            let keep = if tile.start == 0 { T::ZERO } else { T::ONE };
            gemm(&mut sum, keep, T::ONE, of_piece(index, &tile), weight.t());
        }
        for (to, from) in features.chunks_exact_mut(width).zip(sum.chunks_exact(count.max(1))) {
            piece.active.add_to(from, to);
        }
    });
    let (weight_gradient, bias_gradient) = last_layer.split_at_mut(size * width);
    let tile_gradients = weight_gradient.chunks_mut(TILE * width).zip(bias_gradient.chunks_mut(TILE));
    tile_gradients.zip(tiles(size)).parallel().for_each(|((weight_gradient, bias_gradient), tile)| {
        let outputs = tile.len();
        let mut sum = Buffer::any(width * outputs);
        sum.fill(T::ZERO);
        for (index, piece) in pieces.iter().enumerate() {
            let mut products = Buffer::any(piece.columns * outputs);
            gemm(&mut products, T::ZERO, T::ONE, piece.matrix().t(), of_piece(index, &tile));
            let (products, bias) = products.split_at(piece.active.len() * outputs);
            piece.active.add_rows_to(products, &mut sum);
            add_rows(bias_gradient, bias);
        }
        transpose(&sum, outputs, weight_gradient, |feature| feature);
    });
    (features, last_layer)
}

/// Parts in which the derivatives of the last layer are summed when the blocks' derivatives are made as they are needed.
const LANES: usize = 16;

/// [`backward`] with derivatives of the blocks that `make` writes some nodes at a time, in the cache, into rows that are the edges
/// of these nodes: nothing of the size of all blocks is kept. `make` also gets a part of another array, so many numbers per node.
pub(super) fn backward_by_nodes<T: Real>(
    plan: &Plan,
    inputs: &Inputs<T>,
    (own, per_node): (&mut [T], usize),
    make: impl Fn(Range<usize>, &mut [T], &mut [T]) + Sync,
) -> (Vec<T>, Vec<T>) {
    let size = plan.width * plan.width;
    let (rows, width) = (plan.kernel_rows(), feature_width(plan, inputs));
    let (weight, bias) = inputs.last_layer.split_at(size * width);
    let transposed = transposed(weight, plan.width, width, Layout::Rows);
    let (nodes, offsets) = (plan.nodes(), plan.graph.offsets());
    let together = nodes_together(plan);
    let lane = nodes.div_ceil(LANES).next_multiple_of(together);
    let starts: Vec<usize> = (0..nodes).step_by(lane).collect();
    let end = |start: usize, count: usize| nodes.min(start + count);
    let mut features = vec![T::ZERO; rows * width];
    let mut left = features.as_mut_slice();
    let parts: Vec<&mut [T]> = starts
        .iter()
        .map(|&start| {
            let length = (offsets[end(start, lane)] - offsets[start]) * width;
            left.split_off_mut(..length).expect("as long as the edges")
        })
        .collect();
    let lanes = starts.iter().zip(parts).zip(own.chunks_mut(lane * per_node));
    let sums: Vec<(Buffer<T>, Vec<T>)> = lanes.parallel().map(|((&start, features), own)| {
        let mut sum = Buffer::any(width * size);
        sum.fill(T::ZERO);
        let mut bias_sum = vec![T::ZERO; size];
        for first in (start..end(start, lane)).step_by(together) {
            let here = first..end(first, together).min(end(start, lane));
            let edges = offsets[here.start]..offsets[here.end];
            let seen = &inputs.features[edges.start * width..edges.end * width];
            let piece = piece(plan, seen, width);
            let mut blocks = Buffer::any(edges.len() * size);
            make(here.clone(), &mut blocks, &mut own[(here.start - start) * per_node..(here.end - start) * per_node]);
            let blocks = Matrix::new(&blocks, edges.len(), size);
            let count = piece.active.len();
            let active = active_weight(&piece.active, &transposed, bias, &(0..size));
            let mut back = Buffer::any(edges.len() * count);
            gemm(&mut back, T::ZERO, T::ONE, blocks, Matrix::new(&active[..count * size], count, size).t());
            let to = &mut features[(edges.start - offsets[start]) * width..];
            for (to, from) in to.chunks_exact_mut(width).zip(back.chunks_exact(count.max(1))) {
                piece.active.add_to(from, to);
            }
            let mut products = Buffer::any(piece.columns * size);
            gemm(&mut products, T::ZERO, T::ONE, piece.matrix().t(), blocks);
            let (products, bias) = products.split_at(count * size);
            piece.active.add_rows_to(products, &mut sum);
            add_rows(&mut bias_sum, bias);
        }
        (sum, bias_sum)
    });
    let mut total = vec![T::ZERO; width * size];
    let mut last_layer = vec![T::ZERO; inputs.last_layer.len()];
    let (weight_gradient, bias_gradient) = last_layer.split_at_mut(size * width);
    for (sum, bias) in &sums {
        add_rows(&mut total, sum);
        add_rows(bias_gradient, bias);
    }
    transpose(&total, size, weight_gradient, |feature| feature);
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
        .chunks_mut(PIECE * width)
        .zip(features.chunks(PIECE * width))
        .zip(blocks.chunks(PIECE))
        .parallel()
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
        });
    add_rows(last_layer, &sums.concat());
}
