//! Operations on slices with a derivative by hand, as operations of Burn.
//!
//! An operation is one type with three functions: the shape of its result, the result with what the derivatives need beyond inputs and
//! result, and the derivatives. One backend extension of the CPU backend Flex serves them all, for any number of inputs of any rank.

use crate::engine::{contiguous, flex_tensor, slice};
use crate::linalg::Real;
use burn::backend::autodiff::{
    checkpoint::{base::Checkpointer, strategy::CheckpointStrategy},
    grads::Gradients,
    ops::{Backward, Ops, OpsKind},
};
use burn::backend::flex::FlexTensor;
use burn::backend::tensor::FloatTensor;
use burn::backend::{
    Autodiff, Backend, BackendTensor, Dispatch, DispatchAutodiffContext, DispatchTensor, DispatchTensorKind,
    ExtensionType, Flex, backend_extension,
};
use burn::tensor::{DType, Shape, Tensor};
use std::any::Any;
use std::fmt::Debug;
use std::sync::Arc;

/// The precision that only the checks against finite differences ask for: trainings are in single precision, and so is all that
/// is done with images. Named where those alone would need double precision, it leaves their loops out of the program: half of what there
/// is to compile.
#[cfg(test)]
pub(crate) type InTests = f64;
#[cfg(not(test))]
pub(crate) type InTests = f32;

/// An operation with N inputs, in either precision.
pub(crate) trait Operation<const N: usize>: Debug + Send + Sync + 'static {
    /// What the derivatives need besides inputs and result.
    type Saved<T: Real>: Send + Sync + 'static;

    /// What tensors in double precision are computed in: f64, or [`InTests`].
    type Double: Real;

    /// The shape of the result; left out, that of the first input.
    fn shape(&self, inputs: [&[usize]; N]) -> Vec<usize> {
        inputs[0].to_vec()
    }

    /// The result, and what is left for the derivatives: nobody asks for them without `keep`, and what is left is dropped at once.
    fn forward<T: Real>(&self, inputs: [&[T]; N], keep: bool) -> (Vec<T>, Self::Saved<T>);

    /// The derivatives of those inputs that are wanted; others are ignored.
    fn backward<T: Real>(&self, seen: Seen<T, Self::Saved<T>, N>) -> [Option<Vec<T>>; N];
}

/// What the derivatives are made of.
pub(crate) struct Seen<'a, T, S, const N: usize> {
    /// The inputs of the forward pass.
    pub inputs: [&'a [T]; N],
    /// Its result.
    pub output: &'a [T],
    /// What it left: the operation's own, so that it can be released as soon as it has served.
    pub saved: S,
    /// The derivative with respect to the result.
    pub gradient: &'a [T],
    /// Whose derivatives are wanted.
    pub wanted: [bool; N],
}

/// Applies an operation; the device must have it (see [`crate::engine::Engine::is_fused`]).
pub(crate) fn operate<const N: usize, const D: usize>(
    inputs: [DispatchTensor; N],
    operation: impl Operation<N>,
) -> Tensor<D> {
    Tensor::from_dispatch(Dispatch::operate::<N>(Inputs(inputs.into()), Arc::new(operation)))
}

/// What a forward pass has left, of either precision.
type Left = Arc<dyn Any + Send + Sync>;

/// An operation without type parameters.
trait AnyOperation<const N: usize>: Debug + Send + Sync {
    fn run(&self, inputs: &[FlexTensor; N], keep: bool) -> (FlexTensor, Left);
    fn derive(&self, record: Record<N>, gradient: &FlexTensor, wanted: [bool; N]) -> [Option<FlexTensor>; N];
}

/// A forward pass, as it waits in Burn's graph for the backward one.
#[derive(Clone, Debug)]
struct Record<const N: usize> {
    operation: Arc<dyn AnyOperation<N>>,
    inputs: [FlexTensor; N],
    output: FlexTensor,
    left: Left,
}

fn run<T: Real, O: Operation<N>, const N: usize>(
    operation: &O,
    inputs: &[FlexTensor; N],
    keep: bool,
) -> (FlexTensor, Left) {
    let sizes = inputs.each_ref().map(|input| input.layout().shape().to_vec());
    let shape = operation.shape(sizes.each_ref().map(Vec::as_slice));
    let (values, saved) = operation.forward::<T>(inputs.each_ref().map(slice), keep);
    (flex_tensor(values, Shape::from(shape)), Arc::new(saved))
}

fn derive<T: Real, O: Operation<N>, const N: usize>(
    operation: &O,
    record: Record<N>,
    gradient: &FlexTensor,
    wanted: [bool; N],
) -> [Option<FlexTensor>; N] {
    let Record { inputs, output, left, .. } = record;
    let saved = left.downcast::<O::Saved<T>>().ok().and_then(Arc::into_inner);
    let results = operation.backward(Seen {
        inputs: inputs.each_ref().map(slice::<T>),
        output: slice(&output),
        saved: saved.expect("what the forward pass left, and one backward pass for it"),
        gradient: slice(gradient),
        wanted,
    });
    let mut inputs = inputs.iter();
    results.map(|values| {
        let shape = inputs.next().map(|input| input.layout().shape().clone());
        values.zip(shape).map(|(values, shape)| flex_tensor(values, shape))
    })
}

impl<O: Operation<N>, const N: usize> AnyOperation<N> for O {
    fn run(&self, inputs: &[FlexTensor; N], keep: bool) -> (FlexTensor, Left) {
        match inputs[0].dtype() {
            DType::F64 => run::<O::Double, O, N>(self, inputs, keep),
            _ => run::<f32, O, N>(self, inputs, keep),
        }
    }

    fn derive(&self, record: Record<N>, gradient: &FlexTensor, wanted: [bool; N]) -> [Option<FlexTensor>; N] {
        match gradient.dtype() {
            DType::F64 => derive::<InTests, O, N>(self, record, gradient, wanted),
            _ => derive::<f32, O, N>(self, record, gradient, wanted),
        }
    }
}

/// The inputs of an operation on a backend. Burn's macro passes tensors one by one, or in a type that says how its tensors change backends.
struct Inputs<B: Backend>(Vec<FloatTensor<B>>);

impl<B: Backend> ExtensionType<B> for Inputs<B> {
    type Target = Inputs<Dispatch>;

    fn map_to_dispatch<F>(self, map_kind: F, autodiff: DispatchAutodiffContext) -> Inputs<Dispatch>
    where
        F: Fn(BackendTensor<B>) -> DispatchTensorKind,
    {
        let wrap = |tensor| DispatchTensor { kind: map_kind(BackendTensor::Float(tensor)), autodiff };
        Inputs(self.0.into_iter().map(wrap).collect())
    }

    fn map_from_dispatch<F>(target: Inputs<Dispatch>, unwrap_kind: F) -> Self
    where
        F: Fn(DispatchTensor) -> BackendTensor<B>,
    {
        Inputs(target.0.into_iter().map(|tensor| unwrap_kind(tensor).float()).collect())
    }

    fn routing_tensor(target: &Inputs<Dispatch>) -> Option<&DispatchTensor> {
        target.0.first()
    }

    fn routing_float_tensor(target: &Inputs<Dispatch>) -> Option<&DispatchTensor> {
        target.0.first()
    }

    fn autodiff_context(target: &Inputs<Dispatch>) -> DispatchAutodiffContext {
        target.0.iter().fold(DispatchAutodiffContext::Disabled, |context, tensor| context.merge(tensor.autodiff))
    }
}

/// As many as the operation has inputs.
fn exactly<X, const N: usize>(items: Vec<X>) -> [X; N] {
    items.try_into().unwrap_or_else(|items: Vec<X>| panic!("{} inputs of an operation with {N}", items.len()))
}

/// Operations, for the backends that have them.
#[backend_extension(Flex, Autodiff)]
trait OperationBackend: Backend {
    /// Applies an operation.
    fn operate<const N: usize>(
        #[extension_type] inputs: Inputs<Self>,
        operation: Arc<dyn AnyOperation<N>>,
    ) -> FloatTensor<Self>;
}

impl OperationBackend for Flex {
    fn operate<const N: usize>(inputs: Inputs<Self>, operation: Arc<dyn AnyOperation<N>>) -> FlexTensor {
        operation.run(&exactly(inputs.0).map(contiguous), false).0
    }
}

#[derive(Debug)]
struct Adjoint;

impl<C: CheckpointStrategy> OperationBackend for Autodiff<Flex, C> {
    fn operate<const N: usize>(inputs: Inputs<Self>, operation: Arc<dyn AnyOperation<N>>) -> FloatTensor<Self> {
        let keep = inputs.0.iter().any(|tensor| tensor.is_tracked());
        let (tensors, nodes): (Vec<_>, Vec<_>) = inputs.0.into_iter().map(|tensor| tensor.into_parts()).unzip();
        let inputs = exactly(tensors).map(contiguous);
        let (output, left) = operation.run(&inputs, keep);
        match Adjoint.prepare::<C>(exactly::<_, N>(nodes)).compute_bound().stateful() {
            OpsKind::Tracked(prepared) => {
                prepared.finish(Record { operation, inputs, output: output.clone(), left }, output)
            }
            OpsKind::UnTracked(prepared) => prepared.finish(output),
        }
    }
}

impl<const N: usize> Backward<Flex, N> for Adjoint {
    type State = Record<N>;

    fn backward(self, ops: Ops<Record<N>, N>, grads: &mut Gradients, _: &mut Checkpointer) {
        let gradient = contiguous(grads.consume::<Flex>(&ops.node));
        let wanted = ops.parents.each_ref().map(Option::is_some);
        let operation = ops.state.operation.clone();
        let results = operation.derive(ops.state, &gradient, wanted);
        for (node, result) in ops.parents.into_iter().zip(results) {
            if let (Some(node), Some(result)) = (node, result) {
                grads.register::<Flex>(node.id, result);
            }
        }
    }
}
