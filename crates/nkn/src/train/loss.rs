//! What is minimised, as a Burn graph.

use super::config::LossKind;
use burn::tensor::Tensor;

/// Keeps the square root's derivative finite where prediction and truth agree exactly.
const TINY: f64 = 1e-30;

/// The loss of a batch; prediction and truth are samples x nodes in physical units.
pub fn loss(kind: LossKind, prediction: Tensor<2>, truth: Tensor<2>) -> Tensor<1> {
    let difference = prediction - truth.clone();
    match kind {
        LossKind::RelativeL2 => {
            let norm = |values: Tensor<2>| (values.clone() * values).sum_dim(1);
            let error = (norm(difference) + TINY).sqrt();
            (error / norm(truth).sqrt()).mean()
        }
        LossKind::Mse => (difference.clone() * difference).mean(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use burn::tensor::Device;

    #[test]
    fn losses_by_hand() {
        let device = Device::flex();
        let prediction = Tensor::<2>::from_data([[1.0, 1.0], [0.0, 3.0]], &device);
        let truth = Tensor::<2>::from_data([[1.0, 0.0], [0.0, 2.0]], &device);
        let value = |kind| loss(kind, prediction.clone(), truth.clone()).into_scalar::<f64>();
        assert!((value(LossKind::RelativeL2) - 0.75).abs() < 1e-6);
        assert!((value(LossKind::Mse) - 0.5).abs() < 1e-6);
    }
}
