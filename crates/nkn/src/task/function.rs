//! Learning a function from a function: the loss is the relative L2 error in physical units, or the mean square.

use crate::device::Device;
use crate::engine::Engine;
use crate::field::{Samples, Symmetry, check_square, mean, moved, relative_l2};
use crate::model::function;
use crate::model::parameters::ParameterTensors;
use crate::model::{Averages, Batch, BatchOptions, Geometry, Model, ModelConfig, Normalisers, Parameters, Space, Work};
use crate::seed::uniform;
use crate::train::{Augment, LossKind, Measure, Place, Setup, Task, TrainConfig};
use crate::{Error, Result};
use burn::tensor::{DType, Tensor, TensorData};

/// Samples per batch of an evaluation: bounds its memory.
const PIECE: usize = 128;

/// Keeps the square root's derivative finite where prediction and truth agree exactly.
const TINY: f64 = 1e-30;

/// A training on functions.
pub(crate) struct FunctionTask<'a> {
    setup: Setup<'a>,
    train: &'a Samples,
    test: Option<&'a Samples>,
    /// What was prepared for the depth that is trained.
    depth: Option<AtDepth>,
}

struct AtDepth {
    options: BatchOptions,
    /// The training samples' domain as the network sees it, for all batches.
    geometry: Geometry,
    /// The whole set as one batch, where every step sees it.
    fixed: Option<FunctionBatch>,
    train: Evaluation,
    test: Option<Evaluation>,
}

/// Some samples, ready for the network, and their outputs.
struct FunctionBatch {
    inputs: Batch,
    truth: Tensor<2>,
}

impl<'a> FunctionTask<'a> {
    /// A training with checked settings.
    pub(crate) fn new(
        model: &'a ModelConfig,
        config: &'a TrainConfig,
        train: &'a Samples,
        test: Option<&'a Samples>,
        device: Device,
    ) -> Result<Self> {
        let space = Space::Functions { dim: train.domain().dim() };
        model.check_for(&space)?;
        config.check()?;
        if config.loss == LossKind::CrossEntropy {
            let hint = "cross entropy is for images";
            return Err(Error::invalid("train.loss", "relative_l2 or mse for functions", "cross_entropy", hint));
        }
        if config.augment == Augment::Square {
            check_square(train.domain())?;
        }
        if config.loss == LossKind::RelativeL2 {
            train.check_trainable()?;
        }
        let setup = Setup { model, config, space, device, normalisers: Normalisers::fit(model, train)? };
        Ok(Self { setup, train, test, depth: None })
    }

    fn options(&self, depth: usize, training: bool) -> BatchOptions {
        let device = self.setup.device.burn();
        let device = if training { device.autodiff() } else { device };
        BatchOptions { budget: self.setup.config.budget(), training, ..BatchOptions::new(depth, &device) }
    }

    fn at_depth(&self) -> &AtDepth {
        self.depth.as_ref().expect("a depth has begun")
    }

    fn prepare(&self, geometry: &Geometry, options: &BatchOptions, samples: &Samples) -> Result<FunctionBatch> {
        let inputs = Batch::on(geometry, self.setup.model, samples, options)?;
        let truth = TensorData::new(samples.output_values()?.to_vec(), [samples.count(), samples.nodes()]);
        Ok(FunctionBatch { inputs, truth: Tensor::from_data(truth, (&options.device, options.dtype)) })
    }

    /// Divides the lift's weight of each field by the field's root mean square, so that h starts with size one whether
    /// the data are normalised or not: without this a load of size 400 starts the network far from anything useful.
    fn scale_lift(&self, parameters: &mut Parameters) -> Result<()> {
        let Setup { model, normalisers, .. } = &self.setup;
        let dim = self.train.domain().dim();
        let columns = dim + model.fields.len();
        for (index, (name, normaliser)) in model.fields.iter().zip(&normalisers.fields).enumerate() {
            let values = normaliser.encode(&self.train.field(name)?.values);
            let size = mean(&values.iter().map(|v| v * v).collect::<Vec<_>>()).sqrt();
            if size > 0.0 && size.is_finite() {
                let weight = &mut parameters.group_mut("lift").values[..columns * model.width];
                for row in weight.chunks_exact_mut(columns) {
                    row[dim + index] /= size as f32;
                }
            }
        }
        Ok(())
    }

    /// Samples as a step of this epoch sees them: where they are augmented, each moved by its symmetry.
    fn batch(&self, place: Place, indices: &[usize]) -> Result<FunctionBatch> {
        let mut samples = self.train.select(indices);
        if self.setup.config.augment == Augment::Square {
            let mut rng = self.setup.seed("augment", place.rung).derive("epoch", place.epoch as u64).rng();
            let draw = |_| Symmetry(uniform(&mut rng, 0.0, 8.0) as u8 % 8);
            let all: Vec<Symmetry> = (0..self.count()).map(draw).collect();
            let own: Vec<Symmetry> = indices.iter().map(|&index| all[index]).collect();
            samples = moved(&samples, &own, &self.setup.config.vectors)?;
        }
        let AtDepth { geometry, options, .. } = self.at_depth();
        self.prepare(geometry, options, &samples)
    }

    fn measures_of(
        &self,
        split: &str,
        samples: &Samples,
        prepared: &Evaluation,
        model: &Model,
    ) -> Result<Vec<Measure>> {
        let prediction = prepared.predict(self.setup.model, &model.parameters)?;
        Ok(function_measures(split, samples, &prediction, samples.output_values()?))
    }
}

/// The mean relative error and the mean of its square, over the samples that are not zero everywhere.
pub(crate) fn function_measures(split: &str, samples: &Samples, prediction: &[f64], truth: &[f64]) -> Vec<Measure> {
    let mut errors = relative_l2(prediction, truth, samples.nodes());
    let mut truths = truth.chunks_exact(samples.nodes());
    errors.retain(|_| truths.next().is_some_and(|truth| truth.iter().any(|&u| u != 0.0)));
    let squares: Vec<f64> = errors.iter().map(|e| e * e).collect();
    let resolution = samples.domain().resolution();
    vec![
        Measure::new(split, resolution, "relative_l2", mean(&errors)),
        Measure::new(split, resolution, "relative_l2_squared", mean(&squares)),
    ]
}

impl Task for FunctionTask<'_> {
    fn setup(&self) -> &Setup<'_> {
        &self.setup
    }

    fn resolution(&self) -> usize {
        self.train.domain().resolution()
    }

    fn count(&self) -> usize {
        self.train.count()
    }

    fn begin(&mut self, depth: usize) -> Result<Work> {
        let Setup { model, config, normalisers, .. } = &self.setup;
        let options = self.options(depth, true);
        let size = config.batch_of(self.count());
        let is_fixed = size == self.count() && config.augment == Augment::None;
        let geometry = Geometry::new(model, normalisers, self.train.domain(), None)?;
        let fixed = is_fixed.then(|| self.prepare(&geometry, &options, self.train)).transpose()?;
        let dim = self.train.domain().dim();
        let work = match &fixed {
            Some(batch) => Work::of(model, dim, &batch.inputs, &options)?,
            None => {
                let first: Vec<usize> = (0..size).collect();
                let batch = Batch::on(&geometry, model, &self.train.select(&first), &options)?;
                Work::of(model, dim, &batch, &options)?
            }
        };
        let evaluation = |samples: &Samples| Evaluation::new(model, normalisers, samples, self.options(depth, false));
        let test = self.test.map(evaluation).transpose()?;
        self.depth = Some(AtDepth { fixed, train: evaluation(self.train)?, test, options, geometry });
        Ok(work)
    }

    fn random(&self, rung: usize, depth: usize) -> Result<Parameters> {
        let mut parameters = self.setup.random(rung, depth)?;
        self.scale_lift(&mut parameters)?;
        Ok(parameters)
    }

    fn order(&self, place: Place) -> Vec<usize> {
        self.setup.seed("shuffle", place.rung).derive("epoch", place.epoch as u64).permutation(self.count())
    }

    fn is_fixed(&self) -> bool {
        self.at_depth().fixed.is_some()
    }

    fn loss(
        &self,
        weights: &ParameterTensors,
        place: Place,
        samples: &[usize],
        _: u64,
        _: &mut Averages,
    ) -> Result<Tensor<1>> {
        let own;
        let batch = match &self.at_depth().fixed {
            Some(batch) => batch,
            None => {
                own = self.batch(place, samples)?;
                &own
            }
        };
        let prediction = function::forward(self.setup.model, weights, &batch.inputs, Engine::Automatic)?;
        Ok(loss(self.setup.config.loss, prediction, batch.truth.clone()))
    }

    fn training_error(&self, model: &Model) -> Result<Vec<Measure>> {
        self.measures_of("train", self.train, &self.at_depth().train, model)
    }

    fn test(&self, model: &Model) -> Result<Option<Measure>> {
        Ok(self.measures(model)?.into_iter().next())
    }

    fn measures(&self, model: &Model) -> Result<Vec<Measure>> {
        match (self.test, &self.at_depth().test) {
            (Some(samples), Some(test)) => self.measures_of("test", samples, test, model),
            _ => Ok(Vec::new()),
        }
    }
}

/// A set of samples, prepared once and asked many times.
struct Evaluation {
    batches: Vec<Batch>,
    options: BatchOptions,
}

impl Evaluation {
    fn new(config: &ModelConfig, normalisers: &Normalisers, samples: &Samples, options: BatchOptions) -> Result<Self> {
        samples.output_values()?;
        let geometry = Geometry::new(config, normalisers, samples.domain(), options.quadrature)?;
        let indices: Vec<usize> = (0..samples.count()).collect();
        let batches = indices
            .chunks(PIECE)
            .map(|piece| Batch::on(&geometry, config, &samples.select(piece), &options))
            .collect::<Result<_>>()?;
        Ok(Self { batches, options })
    }

    fn predict(&self, config: &ModelConfig, parameters: &Parameters) -> Result<Vec<f64>> {
        let tensors = parameters.tensors(&self.options.device, self.options.dtype);
        let mut prediction = Vec::new();
        for batch in &self.batches {
            let output = function::forward(config, &tensors, batch, Engine::Automatic)?;
            prediction.extend(output.cast(DType::F64).into_data().iter::<f64>());
        }
        Ok(prediction)
    }
}

/// The loss of a batch; prediction and truth are samples x nodes in physical units.
pub(crate) fn loss(kind: LossKind, prediction: Tensor<2>, truth: Tensor<2>) -> Tensor<1> {
    let difference = prediction - truth.clone();
    match kind {
        LossKind::Mse => (difference.clone() * difference).mean(),
        LossKind::RelativeL2 | LossKind::CrossEntropy => {
            let norm = |values: Tensor<2>| (values.clone() * values).sum_dim(1);
            let error = (norm(difference) + TINY).sqrt();
            (error / norm(truth).sqrt()).mean()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losses_by_hand() {
        let device = Device::Cpu.burn();
        let prediction = Tensor::<2>::from_data([[1.0, 1.0], [0.0, 3.0]], &device);
        let truth = Tensor::<2>::from_data([[1.0, 0.0], [0.0, 2.0]], &device);
        let value = |kind| loss(kind, prediction.clone(), truth.clone()).into_scalar::<f64>();
        assert!((value(LossKind::RelativeL2) - 0.75).abs() < 1e-6);
        assert!((value(LossKind::Mse) - 0.5).abs() < 1e-6);
    }
}
