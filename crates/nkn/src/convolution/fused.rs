//! The convolution on the CPU, and its derivatives.

use super::Convolution;
use crate::linalg::gathered::{ByTwo, Sizes, Term};
use crate::linalg::outer::{Pair, Triple, outer, outer_three};
use crate::linalg::{Real, add_rows, by_pieces, copied, sum_rows};
use crate::operation::{InTests, Operation, Seen};
use crate::parallel::Parallel;
use std::ops::Range;

/// A convolution as sums of blocks times states. Inputs: state, weight, then bias and residual where there are any.
#[derive(Clone, Copy, Debug)]
pub(super) struct Summation {
    pub shape: Convolution,
    pub bias: bool,
    pub residual: bool,
}

/// The rows (or columns) of the result for which the filter's row (or column) `tap` meets the image.
pub(super) fn span(shape: &Convolution, tap: usize) -> Range<usize> {
    let pad = shape.filter / 2;
    let (side, stride) = (shape.side, shape.stride);
    let first = pad.saturating_sub(tap).div_ceil(stride);
    let end = (side + pad).saturating_sub(tap).div_ceil(stride).min(shape.side_out());
    first..end.max(first)
}

/// The taps of a filter that meet the image around a pixel of the result, with the pixel of the input below each.
fn taps(shape: &Convolution, x: usize) -> impl Iterator<Item = (usize, usize)> {
    let (pad, side) = (shape.filter / 2, shape.side);
    let start = x * shape.stride;
    (0..shape.filter).filter_map(move |tap| {
        let at = start + tap;
        (at >= pad && at - pad < side).then(|| (tap, at - pad))
    })
}

/// The pixels of the result whose filter meets a pixel of the input, with the tap.
fn users(shape: &Convolution, y: usize) -> impl DoubleEndedIterator<Item = (usize, usize)> {
    let (pad, stride, side) = (shape.filter / 2, shape.stride, shape.side_out());
    (0..shape.filter).filter_map(move |tap| {
        let at = (y + pad).checked_sub(tap)?;
        (at % stride == 0 && at / stride < side).then_some((tap, at / stride))
    })
}

fn bias_gradient<T: Real>(gradient: &[T], outputs: usize) -> Vec<T> {
    const ROWS: usize = 4096;
    let parts: Vec<Vec<T>> = gradient.chunks(ROWS * outputs).parallel().map(|rows| sum_rows(rows, outputs));
    sum_rows(&parts.concat(), outputs)
}

impl Summation {
    /// The weight (outputs x inputs x taps) as one block per tap: inputs x outputs, or transposed.
    fn blocks<T: Real>(&self, weight: &[T], transposed: bool) -> Vec<T> {
        let Convolution { inputs, outputs, filter, .. } = self.shape;
        let taps = filter * filter;
        let mut blocks = vec![T::ZERO; weight.len()];
        for (place, &value) in weight.iter().enumerate() {
            let (tap, input, output) = (place % taps, place / taps % inputs, place / taps / inputs);
            let within = if transposed { output * inputs + input } else { input * outputs + output };
            blocks[tap * inputs * outputs + within] = value;
        }
        blocks
    }

    fn samples<T>(&self, input: &[T]) -> usize {
        input.len() / (self.shape.side * self.shape.side * self.shape.inputs)
    }

    fn input_gradient<T: Real>(&self, weight: &[T], gradient: &[T], samples: usize) -> Vec<T> {
        let Convolution { side, filter, inputs, outputs, .. } = self.shape;
        let blocks = self.blocks(weight, true);
        let sizes = Sizes { samples, rows: outputs, columns: inputs };
        let side_out = self.shape.side_out();
        let node = samples * inputs;
        by_pieces(side * side * node, 2 * node, ByTwo::default, |by_two, pair, result| {
            let terms = |pixel: usize, terms: &mut Vec<Term>| {
                // Rows and columns from the last tap to the first: the terms are then sorted by their states.
                for (row_tap, row) in users(&self.shape, pixel / side).rev() {
                    terms.extend(users(&self.shape, pixel % side).rev().map(|(column_tap, column)| Term {
                        states: (row * side_out + column) * samples * outputs,
                        block: (row_tap * filter + column_tap) * inputs * outputs,
                    }));
                }
            };
            by_two.gather(sizes, gradient, &blocks, result, |offset, list| terms(2 * pair + offset, list));
        })
    }

    fn weight_gradient<T: Real>(&self, input: &[T], gradient: &[T], samples: usize) -> Vec<T> {
        let Convolution { side, filter, stride, inputs, outputs } = self.shape;
        let (side_out, taps_in_all) = (self.shape.side_out(), filter * filter);
        // The wider side of the block lies along the vectors: inputs, unless they are the few colours of an image.
        let is_turned = inputs < outputs;
        let (rows, columns) = if is_turned { (inputs, outputs) } else { (outputs, inputs) };
        let sizes = Sizes { samples, rows, columns };
        let size = inputs * outputs;
        let pair = |row: usize, column: usize, row_in: usize, column_tap: usize| {
            let seen = (row_in * side + column * stride + column_tap - filter / 2) * samples * inputs;
            let own = (row * side_out + column) * samples * outputs;
            if is_turned { Pair { left: seen, right: own } } else { Pair { left: own, right: seen } }
        };
        let (left, right) = if is_turned { (input, gradient) } else { (gradient, input) };
        // Where all three columns of a filter meet the image, their products share the gradient.
        let spans: Vec<Range<usize>> = (0..filter).map(|tap| span(&self.shape, tap)).collect();
        let common = spans.iter().fold(0..side_out, |a, b| a.start.max(b.start)..a.end.min(b.end));
        let common = if filter == 3 && !is_turned { common } else { 0..0 };
        // A few rows of pixels per piece: pieces are as many for any number of threads, and a row of pixels with the rows beside it stays
        // in the second-level cache for all taps.
        const PIECES: usize = 8;
        let piece = side_out.div_ceil(PIECES);
        let starts: Vec<usize> = (0..side_out).step_by(piece).collect();
        let of_rows = |&start: &usize| {
            let mut blocks = vec![T::ZERO; taps_in_all * size];
            let (mut pairs, mut triples) = (Vec::new(), Vec::new());
            for row in start..side_out.min(start + piece) {
                for (row_tap, row_in) in taps(&self.shape, row) {
                    let blocks = &mut blocks[row_tap * filter * size..(row_tap + 1) * filter * size];
                    if !common.is_empty() {
                        triples.clear();
                        triples.extend(common.clone().map(|column| Triple {
                            left: pair(row, column, row_in, 0).left,
                            right: [0, 1, 2].map(|tap| pair(row, column, row_in, tap).right),
                        }));
                        outer_three(sizes, &triples, left, right, blocks);
                    }
                    for (tap, block) in blocks.chunks_exact_mut(size).enumerate() {
                        pairs.clear();
                        let others = spans[tap].clone().filter(|column| !common.contains(column));
                        pairs.extend(others.map(|column| pair(row, column, row_in, tap)));
                        outer(sizes, &pairs, left, right, block);
                    }
                }
            }
            blocks
        };
        let parts: Vec<Vec<T>> = starts.iter().parallel().map(of_rows);
        // Summed as they lie; then each number goes to its place, once.
        let mut sums = vec![T::ZERO; taps_in_all * size];
        parts.iter().for_each(|part| add_rows(&mut sums, part));
        let mut result = vec![T::ZERO; taps_in_all * size];
        for (tap, block) in sums.chunks_exact(size).enumerate() {
            for (row, values) in block.chunks_exact(columns).enumerate() {
                for (column, &value) in values.iter().enumerate() {
                    let (input, output) = if is_turned { (row, column) } else { (column, row) };
                    result[(output * inputs + input) * taps_in_all + tap] = value;
                }
            }
        }
        result
    }
}

impl<const N: usize> Operation<N> for Summation {
    type Saved<T: Real> = ();
    type Double = InTests;

    fn shape(&self, inputs: [&[usize]; N]) -> Vec<usize> {
        let side = self.shape.side_out();
        vec![side * side, inputs[0][1], self.shape.outputs]
    }

    fn forward<T: Real>(&self, inputs_seen: [&[T]; N], _: bool) -> (Vec<T>, ()) {
        let (input, weight) = (inputs_seen[0], inputs_seen[1]);
        let (bias, residual) = (self.bias.then(|| inputs_seen[2]), self.residual.then(|| inputs_seen[N - 1]));
        let Convolution { side, filter, inputs, outputs, .. } = self.shape;
        let samples = self.samples(input);
        let side_out = self.shape.side_out();
        let blocks = self.blocks(weight, false);
        let sizes = Sizes { samples, rows: inputs, columns: outputs };
        let node = samples * outputs;
        let result = by_pieces(side_out * side_out * node, 2 * node, ByTwo::default, |by_two, pair, result| {
            let first = 2 * pair;
            if let Some(residual) = residual {
                result.copy_from_slice(&residual[first * node..first * node + result.len()]);
            }
            if let Some(bias) = bias {
                for row in result.chunks_exact_mut(outputs) {
                    row.iter_mut().zip(bias).for_each(|(value, &bias)| *value += bias);
                }
            }
            let terms = |pixel: usize, terms: &mut Vec<Term>| {
                for (row_tap, row) in taps(&self.shape, pixel / side_out) {
                    terms.extend(taps(&self.shape, pixel % side_out).map(|(column_tap, column)| Term {
                        states: (row * side + column) * samples * inputs,
                        block: (row_tap * filter + column_tap) * inputs * outputs,
                    }));
                }
            };
            by_two.gather(sizes, input, &blocks, result, |offset, list| terms(first + offset, list));
        });
        (result, ())
    }

    fn backward<T: Real>(&self, seen: Seen<T, (), N>) -> [Option<Vec<T>>; N] {
        let Seen { inputs, gradient, wanted, .. } = seen;
        let samples = self.samples(inputs[0]);
        let derivative = |place: usize| match place {
            0 => self.input_gradient(inputs[1], gradient, samples),
            1 => self.weight_gradient(inputs[0], gradient, samples),
            2 if self.bias => bias_gradient(gradient, self.shape.outputs),
            _ => copied(gradient),
        };
        std::array::from_fn(|place| wanted[place].then(|| derivative(place)))
    }
}
