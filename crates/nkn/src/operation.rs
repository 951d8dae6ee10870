//! Operations on slices with a derivative by hand, as operations of Burn: what the layers of image networks are made of.
//!
//! An operation has up to four inputs. It is one backend extension for all of them, so a new one is a type with two functions.

use crate::engine::{contiguous, flex_tensor, slice};
use crate::linalg::Real;
use burn::backend::autodiff::{
    checkpoint::{base::Checkpointer, strategy::CheckpointStrategy},
    grads::Gradients,
    ops::{Backward, Ops, OpsKind},
};
use burn::backend::flex::FlexTensor;
use burn::backend::tensor::FloatTensor;
use burn::backend::{Autodiff, Backend, Dispatch, Flex, backend_extension};
use burn::tensor::{DType, Tensor};
use std::fmt::Debug;
use std::sync::Arc;

/// The number of inputs.
pub(crate) const INPUTS: usize = 4;

/// An operation in either precision.
pub(crate) trait Operation: Debug + Send + Sync + 'static {
    /// The shape of the result.
    fn shape(&self, inputs: [&[usize]; INPUTS]) -> Vec<usize>;

    /// The result.
    fn forward<T: Real>(&self, inputs: [&[T]; INPUTS]) -> Vec<T>;

    /// The derivatives of those inputs that are wanted.
    fn backward<T: Real>(
        &self,
        inputs: [&[T]; INPUTS],
        output: &[T],
        gradient: &[T],
        wanted: [bool; INPUTS],
    ) -> [Option<Vec<T>>; INPUTS];
}

/// The same without type parameters.
pub(crate) trait AnyOperation: Debug + Send + Sync {
    fn run(&self, inputs: &[FlexTensor; INPUTS]) -> FlexTensor;
    fn derive(
        &self,
        inputs: &[FlexTensor; INPUTS],
        output: &FlexTensor,
        gradient: &FlexTensor,
        wanted: [bool; INPUTS],
    ) -> [Option<FlexTensor>; INPUTS];
}

fn dims(tensor: &FlexTensor) -> Vec<usize> {
    let shape = tensor.layout().shape();
    (0..shape.num_dims()).map(|axis| shape[axis]).collect()
}

fn shaped<T: Real>(values: Vec<T>, shape: Vec<usize>) -> FlexTensor {
    flex_tensor(values, burn::tensor::Shape::from(shape))
}

impl<O: Operation> AnyOperation for O {
    fn run(&self, inputs: &[FlexTensor; INPUTS]) -> FlexTensor {
        let sizes = inputs.each_ref().map(dims);
        let shape = self.shape(sizes.each_ref().map(Vec::as_slice));
        match inputs[0].dtype() {
            DType::F64 => shaped(self.forward::<f64>(inputs.each_ref().map(slice)), shape),
            _ => shaped(self.forward::<f32>(inputs.each_ref().map(slice)), shape),
        }
    }

    fn derive(
        &self,
        inputs: &[FlexTensor; INPUTS],
        output: &FlexTensor,
        gradient: &FlexTensor,
        wanted: [bool; INPUTS],
    ) -> [Option<FlexTensor>; INPUTS] {
        fn run<O: Operation, T: Real>(
            operation: &O,
            inputs: &[FlexTensor; INPUTS],
            output: &FlexTensor,
            gradient: &FlexTensor,
            wanted: [bool; INPUTS],
        ) -> [Option<FlexTensor>; INPUTS] {
            let values = inputs.each_ref().map(slice::<T>);
            let results = operation.backward(values, slice(output), slice(gradient), wanted);
            let mut shapes = inputs.iter().map(dims);
            results.map(|result| {
                let shape = shapes.next().expect("as many shapes as inputs");
                result.map(|values| shaped(values, shape))
            })
        }
        match inputs[0].dtype() {
            DType::F64 => run::<O, f64>(self, inputs, output, gradient, wanted),
            _ => run::<O, f32>(self, inputs, output, gradient, wanted),
        }
    }
}

/// Operations, for the backends that have them.
#[backend_extension(Flex, Autodiff)]
pub(crate) trait OperationBackend: Backend {
    /// Applies an operation.
    fn operate(
        first: FloatTensor<Self>,
        second: FloatTensor<Self>,
        third: FloatTensor<Self>,
        fourth: FloatTensor<Self>,
        operation: Arc<dyn AnyOperation>,
    ) -> FloatTensor<Self>;
}

/// Applies an operation to a state (nodes x samples x channels) and up to three more tensors.
pub(crate) fn operate<const D: usize>(
    input: Tensor<3>,
    vectors: [Option<Tensor<1>>; 2],
    state: Option<Tensor<3>>,
    operation: Arc<dyn AnyOperation>,
) -> Tensor<D> {
    let none = Tensor::<1>::zeros([1], (&input.device(), input.dtype()));
    let [second, third] = vectors.map(|vector| vector.unwrap_or_else(|| none.clone()).into_dispatch());
    let fourth = state.map_or_else(|| none.clone().into_dispatch(), Tensor::into_dispatch);
    Tensor::from_dispatch(Dispatch::operate(input.into_dispatch(), second, third, fourth, operation))
}

impl OperationBackend for Flex {
    fn operate(
        first: FlexTensor,
        second: FlexTensor,
        third: FlexTensor,
        fourth: FlexTensor,
        operation: Arc<dyn AnyOperation>,
    ) -> FlexTensor {
        operation.run(&[first, second, third, fourth].map(contiguous))
    }
}

#[derive(Debug)]
struct OperationBackward;

#[derive(Clone, Debug)]
struct OperationState {
    operation: Arc<dyn AnyOperation>,
    inputs: [FlexTensor; INPUTS],
    output: FlexTensor,
}

impl<C: CheckpointStrategy> OperationBackend for Autodiff<Flex, C> {
    fn operate(
        first: FloatTensor<Self>,
        second: FloatTensor<Self>,
        third: FloatTensor<Self>,
        fourth: FloatTensor<Self>,
        operation: Arc<dyn AnyOperation>,
    ) -> FloatTensor<Self> {
        let parents = [first, second, third, fourth].map(|tensor| tensor.into_parts());
        let inputs = parents.each_ref().map(|(tensor, _)| contiguous(tensor.clone()));
        let nodes = parents.map(|(_, node)| node);
        let output = operation.run(&inputs);
        match OperationBackward.prepare::<C>(nodes).compute_bound().stateful() {
            OpsKind::Tracked(prepared) => {
                prepared.finish(OperationState { operation, inputs, output: output.clone() }, output)
            }
            OpsKind::UnTracked(prepared) => prepared.finish(output),
        }
    }
}

impl Backward<Flex, INPUTS> for OperationBackward {
    type State = OperationState;

    fn backward(self, ops: Ops<OperationState, INPUTS>, grads: &mut Gradients, _: &mut Checkpointer) {
        let gradient = contiguous(grads.consume::<Flex>(&ops.node));
        let OperationState { operation, inputs, output } = ops.state;
        let wanted = ops.parents.each_ref().map(Option::is_some);
        let results = operation.derive(&inputs, &output, &gradient, wanted);
        for (node, result) in ops.parents.into_iter().zip(results) {
            if let (Some(node), Some(result)) = (node, result) {
                grads.register::<Flex>(node.id, result);
            }
        }
    }
}
