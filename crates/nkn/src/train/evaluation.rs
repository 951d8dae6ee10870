//! The error of a network on a set of samples, prepared once and asked many times.

use crate::Result;
use crate::engine::Engine;
use crate::field::{Samples, relative_l2};
use crate::model::{Batch, BatchOptions, ModelConfig, Normalisers, Parameters, forward};
use burn::tensor::DType;

/// Samples per batch: bounds the memory of an evaluation.
const PIECE: usize = 128;

/// A set of samples, ready to be predicted.
pub struct Evaluation {
    batches: Vec<Batch>,
    truth: Vec<f64>,
    nodes: usize,
    options: BatchOptions,
}

impl Evaluation {
    /// Prepares samples for a network of the depth in `options`.
    pub fn new(
        config: &ModelConfig,
        normalisers: &Normalisers,
        samples: &Samples,
        options: BatchOptions,
    ) -> Result<Self> {
        let indices: Vec<usize> = (0..samples.count()).collect();
        let batches = indices
            .chunks(PIECE)
            .map(|piece| Batch::new(config, normalisers, &samples.select(piece), &options))
            .collect::<Result<_>>()?;
        Ok(Self { batches, truth: samples.output_values()?.to_vec(), nodes: samples.nodes(), options })
    }

    /// The relative L2 error of each sample.
    pub fn errors(&self, config: &ModelConfig, parameters: &Parameters) -> Result<Vec<f64>> {
        let tensors = parameters.tensors(&self.options.device, self.options.dtype);
        let mut prediction = Vec::with_capacity(self.truth.len());
        for batch in &self.batches {
            let output = forward(config, &tensors, batch, Engine::Automatic)?;
            prediction.extend(output.cast(DType::F64).into_data().iter::<f64>());
        }
        Ok(relative_l2(&prediction, &self.truth, self.nodes))
    }
}
