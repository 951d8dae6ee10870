//! Learning a function from a function: the loss is the relative L2 error in physical units, or the mean square.

use crate::device::Device;
use crate::engine::Engine;
use crate::field::{Samples, Symmetry, check_square, mean, moved, relative_l2};
use crate::model::function;
use crate::model::parameters::ParameterTensors;
use crate::model::{Averages, Batch, BatchOptions, Geometry, Model, ModelConfig, Normalisers, Parameters, Space, Work};
use crate::seed::{Seed, uniform};
use crate::train::{Augment, LossKind, Measure, Place, Task, TrainConfig};
use crate::{Error, Result};
use burn::tensor::{DType, Tensor, TensorData};
use std::borrow::Cow;

/// Samples per batch of an evaluation: bounds its memory.
const PIECE: usize = 128;

/// Keeps the square root's derivative finite where prediction and truth agree exactly.
const TINY: f64 = 1e-30;

/// A training on functions.
pub(crate) struct FunctionTask<'a> {
    model: &'a ModelConfig,
    config: &'a TrainConfig,
    /// What is learned from.
    train: Cow<'a, Samples>,
    /// What is split off from it to be followed.
    validation: Option<Samples>,
    test: Option<&'a Samples>,
    device: Device,
    normalisers: Normalisers,
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
    validation: Option<Evaluation>,
    test: Option<Evaluation>,
}

/// Some samples, ready for the network, and their outputs.
pub(crate) struct FunctionBatch {
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
        model.check_for(&Space::Functions { dim: train.domain().dim() })?;
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
        let (train, validation) = split(train, config)?;
        let normalisers = Normalisers::fit(model, &train)?;
        Ok(Self { model, config, train, validation, test, device, normalisers, depth: None })
    }

    fn options(&self, depth: usize, training: bool) -> BatchOptions {
        let device = self.device.burn();
        let device = if training { device.autodiff() } else { device };
        let budget = self.config.memory_gib * (1u64 << 30) as f64;
        BatchOptions { budget, training, ..BatchOptions::new(depth, &device) }
    }

    fn at_depth(&self) -> &AtDepth {
        self.depth.as_ref().expect("a depth has begun")
    }

    fn prepare(&self, geometry: &Geometry, options: &BatchOptions, samples: &Samples) -> Result<FunctionBatch> {
        let inputs = Batch::on(geometry, self.model, samples, options)?;
        let truth = TensorData::new(samples.output_values()?.to_vec(), [samples.count(), samples.nodes()]);
        Ok(FunctionBatch { inputs, truth: Tensor::from_data(truth, (&options.device, options.dtype)) })
    }

    /// Samples of one step.
    fn batch_size(&self) -> usize {
        self.config.batch.unwrap_or(self.count()).min(self.count())
    }

    fn is_full_batch(&self) -> bool {
        self.batch_size() == self.count()
    }

    /// Divides the lift's weight of each field by the field's root mean square, so that h starts with size one whether
    /// the data are normalised or not: without this a load of size 400 starts the network far from anything useful.
    fn scale_lift(&self, parameters: &mut Parameters) -> Result<()> {
        let dim = self.train.domain().dim();
        let columns = dim + self.model.fields.len();
        for (index, (name, normaliser)) in self.model.fields.iter().zip(&self.normalisers.fields).enumerate() {
            let values = normaliser.encode(&self.train.field(name)?.values);
            let size = mean(&values.iter().map(|v| v * v).collect::<Vec<_>>()).sqrt();
            if size > 0.0 && size.is_finite() {
                let weight = &mut parameters.group_mut("lift").values[..columns * self.model.width];
                for row in weight.chunks_exact_mut(columns) {
                    row[dim + index] /= size as f32;
                }
            }
        }
        Ok(())
    }

    /// The symmetry of each sample in an epoch.
    fn symmetries(&self, place: Place) -> Vec<Symmetry> {
        let seed = Seed::new(self.config.seed).derive("augment", place.rung as u64);
        let mut rng = seed.derive("epoch", place.epoch as u64).rng();
        (0..self.count()).map(|_| Symmetry(uniform(&mut rng, 0.0, 8.0) as u8 % 8)).collect()
    }

    /// The measures of samples, if there are such.
    fn followed(
        &self,
        split: &str,
        samples: Option<&Samples>,
        prepared: Option<&Evaluation>,
        model: &Model,
    ) -> Result<Vec<Measure>> {
        match (samples, prepared) {
            (Some(samples), Some(prepared)) => self.measures_of(split, samples, prepared, model),
            _ => Ok(Vec::new()),
        }
    }

    fn measures_of(
        &self,
        split: &str,
        samples: &Samples,
        evaluation: &Evaluation,
        model: &Model,
    ) -> Result<Vec<Measure>> {
        let prediction = evaluation.predict(self.model, &model.parameters)?;
        Ok(function_measures(split, samples, &prediction, &evaluation.truth))
    }
}

/// The training samples without those that are split off for validation, and these. Which ones is a matter of the seed.
fn split<'a>(samples: &'a Samples, config: &TrainConfig) -> Result<(Cow<'a, Samples>, Option<Samples>)> {
    let (count, wanted) = (samples.count(), config.validation);
    if wanted == 0 {
        return Ok((Cow::Borrowed(samples), None));
    }
    if wanted >= count {
        let expected = format!("fewer than the {count} training samples");
        return Err(Error::invalid("train.validation", expected, wanted, "leave some samples to learn from"));
    }
    let mut order = Seed::new(config.seed).derive("validation", 0).permutation(count);
    let mut own = order.split_off(count - wanted);
    order.sort_unstable();
    own.sort_unstable();
    Ok((Cow::Owned(samples.select(&order)), Some(samples.select(&own))))
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
    type Batch = FunctionBatch;

    fn config(&self) -> &ModelConfig {
        self.model
    }

    fn space(&self) -> Space {
        Space::Functions { dim: self.train.domain().dim() }
    }

    fn device(&self) -> burn::tensor::Device {
        self.device.burn().autodiff()
    }

    fn resolution(&self) -> usize {
        self.train.domain().resolution()
    }

    fn count(&self) -> usize {
        self.train.count()
    }

    fn begin(&mut self, depth: usize) -> Result<Work> {
        let options = self.options(depth, true);
        let is_fixed = self.is_full_batch() && self.config.augment == Augment::None;
        let geometry = Geometry::new(self.model, &self.normalisers, self.train.domain(), None)?;
        let fixed = is_fixed.then(|| self.prepare(&geometry, &options, &self.train)).transpose()?;
        let dim = self.train.domain().dim();
        let work = match &fixed {
            Some(batch) => Work::of(self.model, dim, &batch.inputs, &options)?,
            None => {
                let first: Vec<usize> = (0..self.batch_size()).collect();
                let batch = Batch::on(&geometry, self.model, &self.train.select(&first), &options)?;
                Work::of(self.model, dim, &batch, &options)?
            }
        };
        let evaluation =
            |samples: &Samples| Evaluation::new(self.model, &self.normalisers, samples, self.options(depth, false));
        let validation = self.validation.as_ref().map(evaluation).transpose()?;
        let test = self.test.map(evaluation).transpose()?;
        self.depth = Some(AtDepth { fixed, train: evaluation(&self.train)?, validation, test, options, geometry });
        Ok(work)
    }

    fn random(&self, rung: usize, depth: usize) -> Result<Parameters> {
        let seed = Seed::new(self.config.seed).derive("parameters", rung as u64);
        let mut parameters = Parameters::init(self.model, &self.space(), depth, seed)?;
        self.scale_lift(&mut parameters)?;
        Ok(parameters)
    }

    fn order(&self, place: Place) -> Vec<usize> {
        let seed = Seed::new(self.config.seed).derive("shuffle", place.rung as u64);
        seed.derive("epoch", place.epoch as u64).permutation(self.count())
    }

    fn fixed(&self) -> Option<&FunctionBatch> {
        self.at_depth().fixed.as_ref()
    }

    fn batch(&self, place: Place, indices: &[usize]) -> Result<FunctionBatch> {
        let mut samples = self.train.select(indices);
        if self.config.augment == Augment::Square {
            let all = self.symmetries(place);
            let own: Vec<Symmetry> = indices.iter().map(|&index| all[index]).collect();
            samples = moved(&samples, &own, &self.config.vectors)?;
        }
        let AtDepth { geometry, options, .. } = self.at_depth();
        self.prepare(geometry, options, &samples)
    }

    fn loss(&self, weights: &ParameterTensors, batch: &FunctionBatch, _: u64, _: &mut Averages) -> Result<Tensor<1>> {
        let prediction = function::forward(self.model, weights, &batch.inputs, Engine::Automatic)?;
        Ok(loss(self.config.loss, prediction, batch.truth.clone()))
    }

    fn training_error(&self, model: &Model) -> Result<Vec<Measure>> {
        self.measures_of("train", &self.train, &self.at_depth().train, model)
    }

    fn test(&self, model: &Model) -> Result<Option<Measure>> {
        Ok(self.followed("test", self.test, self.at_depth().test.as_ref(), model)?.into_iter().next())
    }

    fn validation(&self, model: &Model) -> Result<Option<Measure>> {
        let prepared = self.at_depth().validation.as_ref();
        Ok(self.followed("validation", self.validation.as_ref(), prepared, model)?.into_iter().next())
    }

    fn measures(&self, model: &Model) -> Result<Vec<Measure>> {
        let AtDepth { validation, test, .. } = self.at_depth();
        let mut all = self.followed("validation", self.validation.as_ref(), validation.as_ref(), model)?;
        all.extend(self.followed("test", self.test, test.as_ref(), model)?);
        Ok(all)
    }

    fn model(&self, depth: usize, parameters: Parameters, averages: Averages) -> Model {
        let normalisers = self.normalisers.clone();
        Model { config: self.model.clone(), space: self.space(), depth, parameters, averages, normalisers }
    }
}

/// A set of samples, prepared once and asked many times.
struct Evaluation {
    batches: Vec<Batch>,
    truth: Vec<f64>,
    options: BatchOptions,
}

impl Evaluation {
    fn new(config: &ModelConfig, normalisers: &Normalisers, samples: &Samples, options: BatchOptions) -> Result<Self> {
        let geometry = Geometry::new(config, normalisers, samples.domain(), options.quadrature)?;
        let indices: Vec<usize> = (0..samples.count()).collect();
        let batches = indices
            .chunks(PIECE)
            .map(|piece| Batch::on(&geometry, config, &samples.select(piece), &options))
            .collect::<Result<_>>()?;
        Ok(Self { batches, truth: samples.output_values()?.to_vec(), options })
    }

    fn predict(&self, config: &ModelConfig, parameters: &Parameters) -> Result<Vec<f64>> {
        let tensors = parameters.tensors(&self.options.device, self.options.dtype);
        let mut prediction = Vec::with_capacity(self.truth.len());
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
    fn validation_samples_are_others_and_a_matter_of_the_seed() {
        let samples = crate::problem::poisson::generate(Seed::new(0), 0, 10, 5).unwrap();
        let parts = |seed: u64, validation: usize| {
            let config = TrainConfig { seed, validation, ..TrainConfig::default() };
            split(&samples, &config).map(|(train, own)| (train.into_owned(), own))
        };
        let (train, own) = parts(0, 3).unwrap();
        let own = own.unwrap();
        assert_eq!((train.count(), own.count()), (7, 3));
        let rows = |samples: &Samples| -> Vec<Vec<u64>> {
            let values = &samples.fields()[0].values;
            values.chunks(5).map(|row| row.iter().map(|v| v.to_bits()).collect()).collect()
        };
        let mut all = [rows(&train), rows(&own)].concat();
        let mut expected = rows(&samples);
        all.sort();
        expected.sort();
        assert_eq!(all, expected);
        assert_eq!(parts(0, 3).unwrap().1, Some(own.clone()));
        assert_ne!(parts(1, 3).unwrap().1, Some(own));
        assert_eq!(parts(0, 0).unwrap(), (samples.clone(), None));
        assert!(parts(0, 10).unwrap_err().to_string().contains("fewer than the 10 training samples"));
    }

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
