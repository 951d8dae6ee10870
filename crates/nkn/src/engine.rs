//! Which implementation of an operation runs, and the bridge between Burn's CPU tensors and slices.

use crate::linalg::Real;
use burn::backend::DispatchDevice;
use burn::backend::flex::FlexTensor;
use burn::tensor::{Device, Shape, TensorData};

/// The implementation of the operations with a hand-written derivative.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Engine {
    /// Fused where the device has it (the CPU backend Flex), portable elsewhere.
    #[default]
    Automatic,
    /// Burn primitives on any device: the reference that the fused operations are tested against.
    #[cfg(test)]
    Portable,
}

impl Engine {
    /// Whether the fused operations run on this device.
    pub fn is_fused(self, device: &Device) -> bool {
        let inner = device.clone().without_autodiff();
        self == Engine::Automatic && matches!(inner.as_dispatch(), DispatchDevice::Flex(_))
    }
}

/// The tensor with its elements in row-major order and no gaps.
pub(crate) fn contiguous(tensor: FlexTensor) -> FlexTensor {
    if tensor.is_contiguous() { tensor } else { tensor.to_contiguous() }
}

/// The elements of a contiguous tensor.
pub(crate) fn slice<T: Real>(tensor: &FlexTensor) -> &[T] {
    tensor.as_slice::<T>().expect("a contiguous tensor of this precision")
}

/// A tensor that takes over the values.
pub(crate) fn flex_tensor<T: Real>(values: Vec<T>, shape: impl Into<Shape>) -> FlexTensor {
    FlexTensor::from_data(TensorData::new(values, shape.into()))
}
