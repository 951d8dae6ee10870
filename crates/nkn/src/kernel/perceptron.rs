//! The perceptron as an operation: fused on the CPU backend Flex, Burn primitives on every other backend.

use super::{fused, mlp::MlpShape};
use crate::engine::Engine;
use crate::linalg::Real;
use crate::operation::{Operation, Seen, operate};
use burn::tensor::{Tensor, activation::relu};

/// Evaluates the perceptron on the rows of `x` (rows x inputs); `parameters` is the flat vector of [`MlpShape`].
pub fn mlp(x: Tensor<2>, parameters: Tensor<1>, shape: &MlpShape, engine: Engine) -> Tensor<2> {
    if engine.is_fused(&x.device()) {
        operate([x.into_dispatch(), parameters.into_dispatch()], Perceptron(shape.clone()))
    } else {
        portable(x, parameters, shape)
    }
}

/// The same in Burn primitives: what [`mlp`] must equal.
fn portable(x: Tensor<2>, parameters: Tensor<1>, shape: &MlpShape) -> Tensor<2> {
    let mut rows = x;
    for (index, layer) in shape.layers().iter().enumerate() {
        rows = affine(rows, parameters.clone().slice(layer.start..layer.end()), layer.outputs);
        if shape.activates(index) {
            rows = relu(rows);
        }
    }
    rows
}

/// A linear layer, rows Wᵀ + b, with W (outputs x inputs) and b in one vector.
pub fn affine(rows: Tensor<2>, parameters: Tensor<1>, outputs: usize) -> Tensor<2> {
    let [_, inputs] = rows.dims();
    let split = inputs * outputs;
    let weight = parameters.clone().slice(0..split).reshape([outputs, inputs]);
    let bias = parameters.slice(split..split + outputs).reshape([1, outputs]);
    rows.matmul(weight.transpose()) + bias
}

/// Rows of inputs and a flat parameter vector to rows of outputs.
#[derive(Debug)]
struct Perceptron(MlpShape);

impl Operation<2> for Perceptron {
    type Saved<T: Real> = fused::Hidden<T>;
    type Double = f64;

    fn shape(&self, [x, _]: [&[usize]; 2]) -> Vec<usize> {
        vec![x[0], self.0.outputs()]
    }

    fn forward<T: Real>(&self, [x, parameters]: [&[T]; 2], keep: bool) -> (Vec<T>, fused::Hidden<T>) {
        fused::forward(&self.0, x, parameters, keep)
    }

    fn backward<T: Real>(&self, seen: Seen<T, fused::Hidden<T>, 2>) -> [Option<Vec<T>>; 2] {
        fused::backward(&self.0, seen)
    }
}
