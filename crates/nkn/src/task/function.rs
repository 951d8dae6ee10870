//! Learning a function from a function: the loss is the relative L2 error in physical units, or the mean square.

use super::start::{balance, scale_lift};
use crate::device::Device;
use crate::domain::Domain;
use crate::engine::Engine;
use crate::error::ensure;
use crate::field::{Columns, Samples, Symmetry, check_square, mean, moved};
use crate::model::InOrder;
use crate::model::function;
use crate::model::nkn::LEAST_REACTION;
use crate::model::parameters::ParameterTensors;
use crate::model::{
    Averages, Batch, BatchOptions, Geometries, Guarantee, Model, ModelConfig, Normalisers, Parameters, SIDE_BY_SIDE,
    Space, Work, check_samples,
};
use crate::seed::{Seed, uniform};
use crate::train::{Augment, LossKind, Measure, Place, Setup, Task, TrainConfig};
use crate::{Error, Result};
use burn::tensor::{DType, IndexingUpdateOp, Int, Tensor, TensorData};
use std::borrow::Cow;

/// Keeps the square root's derivative finite where prediction and truth agree exactly.
const TINY: f64 = 1e-30;

/// A training on functions.
pub(crate) struct FunctionTask<'a> {
    setup: Setup<'a>,
    /// What is learned from.
    train: Cow<'a, Samples>,
    /// What is split off from it to be followed.
    validation: Option<Samples>,
    test: Option<&'a Samples>,
    /// What was prepared for the depth that is trained.
    depth: Option<AtDepth>,
}

struct AtDepth {
    options: BatchOptions,
    /// The training samples' domains as the network sees them, for all batches.
    geometries: Geometries,
    /// The whole set as one batch, where every step sees it.
    fixed: Option<FunctionBatch>,
    train: Evaluation,
    validation: Option<Evaluation>,
    test: Option<Evaluation>,
}

/// Some samples, ready for the network, and their outputs.
struct FunctionBatch {
    /// Those on the same domain together; those on clouds of their own side by side.
    parts: Vec<Part>,
    count: usize,
}

struct Part {
    inputs: Batch,
    truth: Tensor<2>,
    outputs: Outputs,
    count: usize,
}

/// What the columns and nodes of a prediction belong to.
#[derive(Default)]
pub(crate) struct Outputs {
    /// Of each output.
    components: Vec<usize>,
    /// Of samples side by side: their number, and the sample of each node.
    sample_of: Option<(usize, Tensor<1, Int>)>,
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
        if let Some(test) = test {
            check_samples(model, &space, test).map_err(|error| error.of("the test samples"))?;
        }
        if config.loss == LossKind::CrossEntropy {
            let hint = "cross entropy is for images";
            return Err(Error::invalid("train.loss", "relative_l2 or mse for functions", "cross_entropy", hint));
        }
        if config.augment == Augment::Square {
            check_square(train.domain())?;
        }
        if config.certified && model.stability == Guarantee::Free {
            let hint = "a free network has no certificate: add stability = \"dissipative\" to [model]";
            return Err(Error::invalid("train.certified", "false with a free network", true, hint));
        }
        let shallowest = config.depths.first().copied().unwrap_or(1) as f64;
        if config.certified && model.width == 1 && LEAST_REACTION * model.time >= 2.0 * shallowest {
            let expected =
                format!("below {:.1} with train.certified at depth {shallowest}", 2.0 * shallowest / LEAST_REACTION);
            let hint = "shorten it, or begin with a greater depth";
            return Err(Error::invalid("model.time", expected, model.time, hint));
        }
        if config.loss == LossKind::RelativeL2 {
            train.check_trainable()?;
        }
        let (train, validation) = split(train, config)?;
        let setup = Setup { model, config, space, device, normalisers: Normalisers::fit(model, &train)? };
        Ok(Self { setup, train, validation, test, depth: None })
    }

    fn options(&self, depth: usize, training: bool) -> BatchOptions {
        let device = self.setup.device.burn();
        let device = if training { device.autodiff() } else { device };
        BatchOptions { budget: self.setup.config.budget(), training, ..BatchOptions::new(depth, &device) }
    }

    fn at_depth(&self) -> &AtDepth {
        self.depth.as_ref().expect("a depth has begun")
    }

    /// Samples of a batch; `indices` are their numbers among the training samples, `change` what happens to them before.
    fn prepare(
        &self,
        geometries: &Geometries,
        options: &BatchOptions,
        indices: &[usize],
        change: impl Fn(Samples, &[usize]) -> Result<Samples>,
    ) -> Result<FunctionBatch> {
        let model = self.setup.model;
        let part = |group: Vec<usize>| {
            let samples = change(self.train.select(&group), &group)?;
            let inputs = Batch::on(&geometries.of(&group)?, model, &samples, options)?;
            let truth = samples.truth(&model.output_names())?;
            let rows = inputs.fields.dims()[0];
            let shape = [rows, truth.len() / rows];
            Ok(Part {
                inputs,
                truth: Tensor::from_data(TensorData::new(truth, shape), (&options.device, options.dtype)),
                outputs: Outputs::of(model, &samples, options),
                count: group.len(),
            })
        };
        let groups = geometries.groups(indices, usize::MAX, usize::MAX);
        Ok(FunctionBatch { parts: groups.into_iter().map(part).collect::<Result<_>>()?, count: indices.len() })
    }

    /// Samples as a step of this epoch sees them: where they are augmented, each moved by its symmetry.
    fn batch(&self, place: Place, indices: &[usize]) -> Result<FunctionBatch> {
        let config = self.setup.config;
        let mut rng = self.setup.seed("augment", place.rung).derive("epoch", place.epoch as u64).rng();
        let draw = |_| Symmetry(uniform(&mut rng, 0.0, 8.0) as u8 % 8);
        let all: Vec<Symmetry> = (0..self.count()).map(draw).collect();
        let AtDepth { geometries, options, .. } = self.at_depth();
        self.prepare(geometries, options, indices, |samples, indices| match config.augment {
            Augment::None => Ok(samples),
            Augment::Square => {
                let own: Vec<Symmetry> = indices.iter().map(|&index| all[index]).collect();
                moved(&samples, &own, &config.vectors)
            }
        })
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
        prepared: &Evaluation,
        model: &Model,
    ) -> Result<Vec<Measure>> {
        let prediction = prepared.predict(self.setup.model, &model.parameters, samples)?;
        function_measures(split, self.setup.model, samples, &prediction)
    }
}

/// The training samples without those that are split off for validation, and these. Which ones is a matter of the seed.
fn split<'a>(samples: &'a Samples, config: &TrainConfig) -> Result<(Cow<'a, Samples>, Option<Samples>)> {
    let (count, wanted) = (samples.count(), config.validation);
    if wanted == 0 {
        return Ok((Cow::Borrowed(samples), None));
    }
    let expected = format!("fewer than the {count} training samples");
    ensure!(wanted < count, Error::invalid("train.validation", expected, wanted, "leave some samples to learn from"));
    let mut order = Seed::new(config.seed).derive("validation", 0).permutation(count);
    let mut own = order.split_off(count - wanted);
    order.sort_unstable();
    own.sort_unstable();
    Ok((Cow::Owned(samples.select(&order)), Some(samples.select(&own))))
}

/// The mean relative error and the mean of its square, over the samples that are not zero everywhere; of several outputs or
/// components the error of each too.
pub(crate) fn function_measures(
    split: &str,
    config: &ModelConfig,
    samples: &Samples,
    prediction: &[f64],
) -> Result<Vec<Measure>> {
    let columns = Columns::of(samples, &config.output_names())?;
    let resolution = samples.domain().resolution();
    let measure = |metric: &str, errors: &[f64]| Measure::new(split, resolution, metric, mean(errors));
    let errors = columns.errors(prediction);
    let squares: Vec<f64> = errors.iter().map(|e| e * e).collect();
    let mut measures = vec![measure("relative_l2", &errors), measure("relative_l2_squared", &squares)];
    measures.extend(
        columns
            .parts()
            .map(|(name, which)| measure(&format!("relative_l2:{name}"), &columns.errors_in(prediction, which))),
    );
    Ok(measures)
}

impl Outputs {
    pub(crate) fn of(config: &ModelConfig, samples: &Samples, options: &BatchOptions) -> Self {
        let sample_of = matches!(samples.domain(), Domain::Clouds(_)).then(|| {
            let each = samples.spans().into_iter().enumerate();
            let of: Vec<i64> = each.flat_map(|(sample, span)| std::iter::repeat_n(sample as i64, span.len())).collect();
            let length = of.len();
            (samples.count(), Tensor::from_data(TensorData::new(of, [length]), &options.device))
        });
        Self { components: config.output_components(), sample_of }
    }
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
        let geometries = Geometries::new(model, normalisers, self.train.domain(), None)?;
        let first: Vec<usize> = (0..size).collect();
        let batch = self.prepare(&geometries, &options, &first, |samples, _| Ok(samples))?;
        let dim = self.train.domain().dim();
        let parts = batch.parts.iter().map(|part| Work::of(model, dim, &part.inputs, &options));
        let work = parts.reduce(|all, part| Ok(all?.and(&part?))).expect("a batch has samples")?;
        let fixed = is_fixed.then_some(batch);
        let evaluation = |samples: &Samples| Evaluation::new(model, normalisers, samples, self.options(depth, false));
        let validation = self.validation.as_ref().map(evaluation).transpose()?;
        let test = self.test.map(evaluation).transpose()?;
        let train = evaluation(&self.train)?;
        self.depth = Some(AtDepth { fixed, train, validation, test, options, geometries });
        Ok(work)
    }

    fn random(&self, rung: usize, depth: usize) -> Result<Parameters> {
        let mut parameters = self.setup.random(rung, depth)?;
        scale_lift(&mut parameters, &self.setup, &self.train)?;
        if self.setup.model.is_dissipative() && self.setup.model.width == 1 {
            balance(&mut parameters, &self.setup, &self.train)?;
        }
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
        let part = |part: &Part| {
            let prediction = function::forward(self.setup.model, weights, &part.inputs, Engine::Automatic)?;
            let own = loss(self.setup.config.loss, prediction, part.truth.clone(), &part.outputs);
            // The mean over all samples of the batch.
            Ok(if part.count == batch.count { own } else { own * (part.count as f64 / batch.count as f64) })
        };
        let parts = batch.parts.iter().map(part);
        parts.reduce(|sum: Result<_>, own| Ok(sum? + own?)).expect("a batch has samples")
    }

    fn constrain(&self, parameters: &mut Parameters) -> Result<bool> {
        if !self.setup.config.certified {
            return Ok(false);
        }
        let (model, AtDepth { train, options, .. }) = (self.setup.model, self.at_depth());
        let growth = train.largest_growth(model, parameters)?;
        let most = 2.0 * options.depth as f64 / model.time;
        if growth <= most {
            return Ok(false);
        }
        // A little less, for what single precision rounds.
        function::shrink(model, parameters, (growth, (1.0 - 1e-5) * most));
        Ok(true)
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
}

/// A set of samples, prepared once and asked many times.
struct Evaluation {
    /// With the numbers of their samples.
    batches: Vec<(Vec<usize>, Batch)>,
    options: BatchOptions,
}

impl Evaluation {
    fn new(config: &ModelConfig, normalisers: &Normalisers, samples: &Samples, options: BatchOptions) -> Result<Self> {
        let geometries = Geometries::new(config, normalisers, samples.domain(), options.quadrature)?;
        let indices: Vec<usize> = (0..samples.count()).collect();
        let batch = |group: Vec<usize>| {
            let batch = Batch::on(&geometries.of(&group)?, config, &samples.select(&group), &options)?;
            Ok((group, batch))
        };
        let (samples, nodes) = SIDE_BY_SIDE;
        let batches = geometries.groups(&indices, samples, nodes).into_iter().map(batch).collect::<Result<_>>()?;
        Ok(Self { batches, options })
    }

    fn predict(&self, config: &ModelConfig, parameters: &Parameters, samples: &Samples) -> Result<Vec<f64>> {
        let tensors = parameters.tensors(&self.options.device, self.options.dtype);
        let mut prediction = InOrder::new(samples, config.output_columns());
        for (group, batch) in &self.batches {
            let output = function::forward(config, &tensors, batch, Engine::Automatic)?;
            prediction.put(group, output.cast(DType::F64).into_data().iter::<f64>());
        }
        Ok(prediction.values)
    }
}

impl Evaluation {
    /// Of a dissipative network: the bound of its steps' growth, for all these samples.
    fn largest_growth(&self, config: &ModelConfig, parameters: &Parameters) -> Result<f64> {
        let tensors = parameters.tensors(&self.options.device, self.options.dtype);
        let mut largest = 0.0_f64;
        for (_, batch) in &self.batches {
            largest = largest.max(function::largest_growth(config, &tensors, batch)?);
        }
        Ok(largest)
    }
}

/// The loss of a batch, the mean over its outputs; prediction and truth are samples x (nodes x columns) in physical units.
pub(crate) fn loss(kind: LossKind, prediction: Tensor<2>, truth: Tensor<2>, outputs: &Outputs) -> Tensor<1> {
    let difference = prediction - truth.clone();
    if outputs.components.len() < 2 {
        return loss_of_one(kind, difference, truth, outputs);
    }
    let [rows, length] = truth.dims();
    let columns: usize = outputs.components.iter().sum();
    let (mut start, mut total) = (0, None);
    for &components in &outputs.components {
        let own = |values: &Tensor<2>| {
            let nodes = values.clone().reshape([rows, length / columns, columns]);
            nodes.slice([0..rows, 0..length / columns, start..start + components]).reshape([rows as i32, -1])
        };
        let loss = loss_of_one(kind, own(&difference), own(&truth), outputs);
        total = Some(total.map_or(loss.clone(), |total: Tensor<1>| total + loss));
        start += components;
    }
    total.expect("several outputs") / outputs.components.len() as f64
}

/// The loss of one output.
fn loss_of_one(kind: LossKind, difference: Tensor<2>, truth: Tensor<2>, outputs: &Outputs) -> Tensor<1> {
    match kind {
        LossKind::Mse => (difference.clone() * difference).mean(),
        LossKind::RelativeL2 | LossKind::CrossEntropy => {
            let norm = |values: Tensor<2>| sample_sums(values.clone() * values, outputs);
            let error = (norm(difference) + TINY).sqrt();
            (error / norm(truth).sqrt()).mean()
        }
    }
}

/// The sum over the nodes of each sample: samples x 1.
fn sample_sums(values: Tensor<2>, outputs: &Outputs) -> Tensor<2> {
    let Some((count, sample_of)) = &outputs.sample_of else { return values.sum_dim(1) };
    let [nodes] = sample_of.dims();
    let at_nodes = values.reshape([nodes as i32, -1]).sum_dim(1);
    let zeros = Tensor::zeros([*count, 1], (&at_nodes.device(), at_nodes.dtype()));
    zeros.select_assign(0, sample_of.clone(), at_nodes, IndexingUpdateOp::Add)
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
        let value =
            |kind, outputs: &Outputs| loss(kind, prediction.clone(), truth.clone(), outputs).into_scalar::<f64>();
        let one = Outputs::default();
        assert!((value(LossKind::RelativeL2, &one) - 0.75).abs() < 1e-6);
        assert!((value(LossKind::Mse, &one) - 0.5).abs() < 1e-6);
        // The same numbers as two scalar outputs at one node: |0| / 1 and 1 / 0 are not finite, so take other ones.
        let truth = Tensor::<2>::from_data([[2.0, 4.0], [1.0, 2.0]], &device);
        let two = Outputs { components: vec![1, 1], sample_of: None };
        let relative = loss(LossKind::RelativeL2, prediction.clone(), truth.clone(), &two).into_scalar::<f64>();
        // Outputs: (1/2 + 1/1) / 2 and (3/4 + 1/2) / 2.
        assert!((relative - (0.75 + 0.625) / 2.0).abs() < 1e-6, "{relative}");
    }

    #[test]
    fn samples_side_by_side_have_their_own_norms() {
        let device = Device::Cpu.burn();
        // Sample 0 has two nodes, sample 1 has one; one output of two components.
        let truth = Tensor::<2>::from_data([[3.0, 0.0, 0.0, 4.0, 0.0, 2.0]], &device);
        let prediction = Tensor::<2>::from_data([[3.0, 3.0, 4.0, 4.0, 0.0, 3.0]], &device);
        let sample_of = Tensor::<1, Int>::from_data([0, 0, 1], &device);
        let outputs = Outputs { components: vec![2], sample_of: Some((2, sample_of)) };
        let relative = loss(LossKind::RelativeL2, prediction, truth, &outputs).into_scalar::<f64>();
        assert!((relative - (1.0 + 0.5) / 2.0).abs() < 1e-6, "{relative}");
    }
}
