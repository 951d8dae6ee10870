//! The convolution on the CPU, and its derivatives.

use super::Convolution;
use crate::linalg::Real;
use crate::linalg::gathered::{Pair, Sizes, Term, gather, outer};
use crate::operation::{INPUTS, Operation};
use rayon::prelude::*;
use std::ops::Range;

/// Inputs: state, weight, bias, residual.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fused {
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
fn users(shape: &Convolution, y: usize) -> impl Iterator<Item = (usize, usize)> {
    let (pad, stride, side) = (shape.filter / 2, shape.stride, shape.side_out());
    (0..shape.filter).filter_map(move |tap| {
        let at = (y + pad).checked_sub(tap)?;
        (at % stride == 0 && at / stride < side).then_some((tap, at / stride))
    })
}

impl Fused {
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
        let mut result = vec![T::ZERO; side * side * samples * inputs];
        result.par_chunks_mut(samples * inputs).enumerate().for_each_init(Vec::new, |terms, (pixel, result)| {
            terms.clear();
            for (row_tap, row) in users(&self.shape, pixel / side) {
                terms.extend(users(&self.shape, pixel % side).map(|(column_tap, column)| Term {
                    states: (row * side_out + column) * samples * outputs,
                    block: (row_tap * filter + column_tap) * inputs * outputs,
                }));
            }
            gather(sizes, terms, gradient, &blocks, result);
        });
        result
    }

    fn weight_gradient<T: Real>(&self, input: &[T], gradient: &[T], samples: usize) -> Vec<T> {
        let Convolution { side, filter, inputs, outputs, .. } = self.shape;
        let (side_out, taps_in_all) = (self.shape.side_out(), filter * filter);
        let sizes = Sizes { samples, rows: inputs, columns: outputs };
        let size = inputs * outputs;
        // A few rows of pixels per piece: pieces are as many for any number of threads, and a row of pixels with the rows beside it stays
        // in the second-level cache for all taps.
        const PIECES: usize = 8;
        let rows = side_out.div_ceil(PIECES);
        let starts: Vec<usize> = (0..side_out).step_by(rows).collect();
        let parts: Vec<Vec<T>> = starts
            .par_iter()
            .map(|&start| {
                let mut blocks = vec![T::ZERO; taps_in_all * size];
                let mut pairs = Vec::new();
                for row in start..side_out.min(start + rows) {
                    for (row_tap, row_in) in taps(&self.shape, row) {
                        for column_tap in 0..filter {
                            pairs.clear();
                            pairs.extend(span(&self.shape, column_tap).map(|column| Pair {
                                left: (row_in * side + column * self.shape.stride + column_tap - filter / 2)
                                    * samples
                                    * inputs,
                                right: (row * side_out + column) * samples * outputs,
                            }));
                            let tap = row_tap * filter + column_tap;
                            outer(sizes, &pairs, input, gradient, &mut blocks[tap * size..(tap + 1) * size]);
                        }
                    }
                }
                blocks
            })
            .collect();
        let mut result = vec![T::ZERO; taps_in_all * size];
        for part in parts {
            for (place, value) in part.into_iter().enumerate() {
                let (tap, input, output) = (place / size, place % size / outputs, place % outputs);
                result[(output * inputs + input) * taps_in_all + tap] += value;
            }
        }
        result
    }
}

impl Operation for Fused {
    fn shape(&self, inputs: [&[usize]; INPUTS]) -> Vec<usize> {
        let side = self.shape.side_out();
        vec![side * side, inputs[0][1], self.shape.outputs]
    }

    fn forward<T: Real>(&self, [input, weight, bias, residual]: [&[T]; INPUTS]) -> Vec<T> {
        let Convolution { side, filter, inputs, outputs, .. } = self.shape;
        let samples = self.samples(input);
        let side_out = self.shape.side_out();
        let blocks = self.blocks(weight, false);
        let sizes = Sizes { samples, rows: inputs, columns: outputs };
        let node = samples * outputs;
        let mut result = vec![T::ZERO; side_out * side_out * node];
        result.par_chunks_mut(node).enumerate().for_each_init(Vec::new, |terms, (pixel, result)| {
            if self.residual {
                result.copy_from_slice(&residual[pixel * node..(pixel + 1) * node]);
            }
            if self.bias {
                for row in result.chunks_exact_mut(outputs) {
                    for (value, &bias) in row.iter_mut().zip(bias) {
                        *value += bias;
                    }
                }
            }
            terms.clear();
            for (row_tap, row) in taps(&self.shape, pixel / side_out) {
                terms.extend(taps(&self.shape, pixel % side_out).map(|(column_tap, column)| Term {
                    states: (row * side + column) * samples * inputs,
                    block: (row_tap * filter + column_tap) * inputs * outputs,
                }));
            }
            gather(sizes, terms, input, &blocks, result);
        });
        result
    }

    fn backward<T: Real>(
        &self,
        [input, weight, _, _]: [&[T]; INPUTS],
        _: &[T],
        gradient: &[T],
        wanted: [bool; INPUTS],
    ) -> [Option<Vec<T>>; INPUTS] {
        let samples = self.samples(input);
        let outputs = self.shape.outputs;
        [
            wanted[0].then(|| self.input_gradient(weight, gradient, samples)),
            wanted[1].then(|| self.weight_gradient(input, gradient, samples)),
            (wanted[2] && self.bias).then(|| {
                let mut sum = vec![T::ZERO; outputs];
                for row in gradient.chunks_exact(outputs) {
                    sum.iter_mut().zip(row).for_each(|(s, &g)| *s += g);
                }
                sum
            }),
            (wanted[3] && self.residual).then(|| gradient.to_vec()),
        ]
    }
}
