//! The perceptron on the CPU: forward and backward by row blocks that stay in the cache, without the units that are off.
//!
//! A block of rows goes through all layers before the next block starts, so bias, ReLU and their derivatives
//! touch data that the matrix product has just left in the cache. Neighbouring rows of a kernel table are neighbouring
//! points, so a ReLU unit is often off on all rows of a block: about 40 % of the units are. Their columns are left out of
//! every product of the block, which changes nothing but the time. Gradients of the parameters are summed in a
//! fixed number of lanes, whatever the number of threads, and the lanes are added in order.

use super::active::{Active, Compact};
use super::mlp::{LayerSpan, MlpShape};
use crate::linalg::buffer::Buffer;
use crate::linalg::{
    Matrix, Real, add_rows, gemm, gemm_parallel, mask, sum_rows, transpose, vectorised, where_positive,
};
use crate::operation::Seen;
use crate::parallel::Parallel;
use std::ops::Range;

/// Rows of a block: large enough that packing the weights does not show, small enough that the block's activations
/// (512 x 256 floats in the kernel network of the Poisson problem) fit the second-level cache.
const BLOCK: usize = 512;
/// Lanes in which parameter gradients are summed: enough to occupy a desktop's cores.
const LANES: usize = 16;
/// Up to this many inputs a layer is a sum of scaled rows; a matrix product would be all overhead.
const NARROW: usize = 8;

/// `result = keep * result + scale * left * right`.
type Product<T> = fn(&mut [T], T, T, Matrix<T>, Matrix<T>);

/// How the products of a block are taken: several blocks keep the threads busy, a single one (the reaction network on a coarse
/// grid) leaves them to its products. Both give the same bits on any number of threads.
fn product<T: Real>(blocks: usize) -> Product<T> {
    if blocks > 1 { gemm } else { gemm_parallel }
}

/// What the forward pass leaves for the backward pass: the active columns of every hidden layer, block by block.
pub(super) type Hidden<T> = Vec<Vec<Compact<T>>>;

/// The output alone.
pub(crate) fn evaluate<T: Real>(shape: &MlpShape, x: &[T], parameters: &[T]) -> Vec<T> {
    forward(shape, x, parameters, false).0
}

/// The output (rows x its width), and what lies below it, if it is to be kept.
pub fn forward<T: Real>(shape: &MlpShape, x: &[T], parameters: &[T], keep: bool) -> (Vec<T>, Hidden<T>) {
    assert_eq!(parameters.len(), shape.parameters());
    let layers = shape.layers();
    let block = block_rows(x.len() / shape.inputs());
    let transposed: Vec<Vec<T>> = layers.iter().map(|layer| transposed_weight(layer, parameters)).collect();
    let product = product((x.len() / shape.inputs()).div_ceil(block));
    let mut output = vec![T::ZERO; x.len() / shape.inputs() * shape.outputs()];
    let blocks = output.chunks_mut(block * shape.outputs()).zip(x.chunks(block * shape.inputs())).parallel().map(
        |(output, x)| {
            let rows = x.len() / shape.inputs();
            let mut hidden: Vec<Compact<T>> = Vec::with_capacity(layers.len() - 1);
            for (index, layer) in layers.iter().enumerate() {
                let is_last = index + 1 == layers.len();
                let mut scratch = Buffer::any(if is_last { 0 } else { rows * layer.outputs });
                let target: &mut [T] = if is_last { output } else { &mut scratch };
                let bias = &parameters[layer.bias()..layer.end()];
                let activate = shape.activates(index);
                match hidden.last() {
                    None if layer.inputs <= NARROW => narrow_layer(&transposed[index], bias, activate, x, target),
                    None => {
                        let input = Matrix::new(x, rows, layer.inputs);
                        wide_layer(product, input, &transposed[index], bias, activate, target);
                    }
                    Some(below) => {
                        let weight = below.active.rows_of(&transposed[index], layer.outputs);
                        wide_layer(product, below.matrix(), &weight, bias, activate, target);
                    }
                }
                if !is_last {
                    hidden.push(Compact::of(&scratch, layer.outputs));
                }
            }
            if keep { hidden } else { Vec::new() }
        },
    );
    (output, blocks)
}

/// Derivatives with respect to the parameters, and to the input rows if they are wanted.
pub fn backward<T: Real>(shape: &MlpShape, seen: Seen<T, Hidden<T>, 2>) -> [Option<Vec<T>>; 2] {
    let Seen { inputs: [x, parameters], output, saved: hidden, gradient, wanted: [want_x, _] } = seen;
    let layers = shape.layers();
    let rows = x.len() / shape.inputs();
    let block = block_rows(rows);
    let lane_rows = rows.div_ceil(block).div_ceil(LANES).max(1) * block;
    let mut x_gradient = vec![T::ZERO; if want_x { x.len() } else { 0 }];
    let mut x_pieces: Vec<&mut [T]> = if want_x {
        x_gradient.chunks_mut(lane_rows * shape.inputs()).collect()
    } else {
        (0..rows.div_ceil(lane_rows)).map(|_| Default::default()).collect()
    };
    let sums: Vec<Vec<T>> = x_pieces.iter_mut().enumerate().parallel().map(|(lane, x_gradient)| {
        let mut sum = vec![T::ZERO; parameters.len()];
        let range = lane * lane_rows..rows.min((lane + 1) * lane_rows);
        for start in range.clone().step_by(block) {
            let here = start..range.end.min(start + block);
            let piece = Block {
                shape,
                layers: &layers,
                x: &x[span(&here, shape.inputs())],
                parameters,
                hidden: &hidden[start / block],
                output: &output[span(&here, shape.outputs())],
                product: product(rows.div_ceil(block)),
            };
            let offset = start - range.start;
            let wanted = want_x.then(|| &mut x_gradient[span(&(offset..offset + here.len()), shape.inputs())]);
            piece.backward(&gradient[span(&here, shape.outputs())], wanted, &mut sum);
        }
        sum
    });
    [want_x.then_some(x_gradient), Some(sum_in_order(sums, parameters.len()))]
}

fn span(rows: &Range<usize>, width: usize) -> Range<usize> {
    rows.start * width..rows.end * width
}

/// Adds vectors first to last, so that the result does not depend on who finished first.
fn sum_in_order<T: Real>(vectors: Vec<Vec<T>>, length: usize) -> Vec<T> {
    let mut vectors = vectors.into_iter();
    let mut sum = vectors.next().unwrap_or_else(|| vec![T::ZERO; length]);
    let rest: Vec<Vec<T>> = vectors.collect();
    const PIECE: usize = 1 << 14;
    sum.chunks_mut(PIECE).enumerate().parallel().for_each(|(index, piece)| {
        rest.iter().for_each(|vector| add_rows(piece, &vector[index * PIECE..index * PIECE + piece.len()]));
    });
    sum
}

/// One block of rows, on its way back.
struct Block<'a, T: Real> {
    shape: &'a MlpShape,
    layers: &'a [LayerSpan],
    x: &'a [T],
    parameters: &'a [T],
    hidden: &'a [Compact<T>],
    output: &'a [T],
    product: Product<T>,
}

impl<T: Real> Block<'_, T> {
    fn backward(&self, gradient: &[T], mut x_gradient: Option<&mut [T]>, sum: &mut [T]) {
        let rows = self.x.len() / self.shape.inputs();
        let last = self.layers.len() - 1;
        // The derivative with respect to a layer's output before its activation: its active columns alone.
        let (mut active, mut current) = if self.shape.activates(last) {
            let active = Active::of(self.output, self.shape.outputs());
            let current = active.masked_columns(gradient, self.output, self.shape.outputs());
            (active, current)
        } else {
            let mut current = Buffer::any(gradient.len());
            current.copy_from_slice(gradient);
            (Active::all(self.shape.outputs()), current)
        };
        for (index, layer) in self.layers.iter().enumerate().rev() {
            let outputs = active.len();
            active.add_to(&sum_rows(&current, outputs), &mut sum[layer.bias()..layer.end()]);
            let left = Matrix::new(&current, rows, outputs);
            let weight_sum = &mut sum[layer.start..layer.bias()];
            let Some(below) = index.checked_sub(1).map(|index| &self.hidden[index]) else {
                let mut products = vec![T::ZERO; outputs * layer.inputs];
                if layer.inputs <= NARROW {
                    add_narrow_products(&mut products, layer.inputs, &current, self.x);
                } else {
                    (self.product)(&mut products, T::ZERO, T::ONE, left.t(), Matrix::new(self.x, rows, layer.inputs));
                }
                active.add_rows_to(&products, weight_sum);
                if let Some(x_gradient) = x_gradient.take() {
                    let weight = active.rows_of(&self.parameters[layer.start..layer.bias()], layer.inputs);
                    (self.product)(x_gradient, T::ZERO, T::ONE, left, Matrix::new(&weight, outputs, layer.inputs));
                }
                return;
            };
            let inputs = below.active.len();
            let mut products = Buffer::any(outputs * inputs);
            (self.product)(&mut products, T::ZERO, T::ONE, left.t(), below.matrix());
            active.add_block_to(&below.active, &products, weight_sum, layer.inputs);
            let weight = active.block_of(&below.active, &self.parameters[layer.start..layer.bias()], layer.inputs);
            let mut next = Buffer::any(rows * inputs);
            (self.product)(&mut next, T::ZERO, T::ONE, left, Matrix::new(&weight, outputs, inputs));
            mask(&mut next, &below.values);
            (active, current) = (below.active.clone(), next);
        }
    }
}

fn block_rows(rows: usize) -> usize {
    let blocks = rows.div_ceil(BLOCK).max(1);
    rows.div_ceil(blocks).max(1)
}

/// A layer's weight as inputs x outputs: the orientation in which the forward product is fastest.
fn transposed_weight<T: Real>(layer: &LayerSpan, parameters: &[T]) -> Vec<T> {
    let weight = &parameters[layer.start..layer.bias()];
    let mut result = vec![T::ZERO; weight.len()];
    transpose(weight, layer.inputs, &mut result, |output| output);
    result
}

/// A layer as a matrix product; `transposed` is the weight as inputs x outputs.
fn wide_layer<T: Real>(
    product: Product<T>,
    input: Matrix<T>,
    transposed: &[T],
    bias: &[T],
    activate: bool,
    output: &mut [T],
) {
    let outputs = bias.len();
    let weight = Matrix::new(transposed, transposed.len() / outputs, outputs);
    product(output, T::ZERO, T::ONE, input, weight);
    vectorised!({
        for row in output.chunks_exact_mut(outputs) {
            for (o, &b) in row.iter_mut().zip(bias) {
                let value = *o + b;
                *o = if activate { where_positive(value, value) } else { value };
            }
        }
    })
}

/// A layer with few inputs as a sum of scaled rows.
fn narrow_layer<T: Real>(transposed: &[T], bias: &[T], activate: bool, input: &[T], output: &mut [T]) {
    let inputs = transposed.len() / bias.len();
    vectorised!({
        for (input, output) in input.chunks_exact(inputs).zip(output.chunks_exact_mut(bias.len())) {
            narrow_row(transposed, bias, activate, input, output);
        }
    })
}

/// One row; inlined, so that it is compiled for the vectors of its caller.
#[inline(always)]
fn narrow_row<T: Real>(transposed: &[T], bias: &[T], activate: bool, input: &[T], output: &mut [T]) {
    let width = output.len();
    output.copy_from_slice(&bias[..width]);
    for (&value, weights) in input.iter().zip(transposed.chunks_exact(width)) {
        for (o, &w) in output.iter_mut().zip(weights) {
            *o += value * w;
        }
    }
    if activate {
        for o in output.iter_mut() {
            *o = where_positive(*o, *o);
        }
    }
}

/// Adds gradientᵀ input (outputs x inputs) for few inputs.
fn add_narrow_products<T: Real>(products: &mut [T], inputs: usize, gradient: &[T], input: &[T]) {
    let outputs = products.len() / inputs;
    let mut transposed = vec![T::ZERO; products.len()];
    if outputs == 0 {
        return;
    }
    vectorised!({
        for (gradient, input) in gradient.chunks_exact(outputs).zip(input.chunks_exact(inputs)) {
            add_outer(&mut transposed, gradient, input);
        }
    });
    for output in 0..outputs {
        for input in 0..inputs {
            products[output * inputs + input] += transposed[input * outputs + output];
        }
    }
}

#[inline(always)]
fn add_outer<T: Real>(transposed: &mut [T], gradient: &[T], input: &[T]) {
    for (&value, sums) in input.iter().zip(transposed.chunks_exact_mut(gradient.len())) {
        for (s, &g) in sums.iter_mut().zip(gradient) {
            *s += value * g;
        }
    }
}
