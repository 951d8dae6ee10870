//! A trained network applied to new functions or images, at any resolution.

use super::batch::{Batch, BatchOptions};
use super::config::ModelConfig;
use super::depth::Depth;
use super::geometry::{Geometries, Geometry};
use super::image::{Network, Pass};
use super::image_batch::image_batch;
use super::parameters::ParameterTensors;
use super::space::Space;
use super::{Model, function};
use crate::device::Device;
use crate::domain::{Domain, Quadrature};
use crate::engine::Engine;
use crate::field::images::{Images, Resampler};
use crate::field::{Samples, Values};
use crate::{Error, Result};
use burn::tensor::{DType, activation::log_softmax};
use std::borrow::Cow;
use std::ops::Range;

/// Numbers in a state of a batch in evaluations: bounds their memory, and makes batches large enough that a kernel evaluated once per batch does not show.
const STATE: usize = 16_000_000;

/// Samples, and nodes of clouds, that are computed side by side: bounds the memory of evaluations.
pub(crate) const SIDE_BY_SIDE: (usize, usize) = (128, 20_000);

/// Predictions that come in groups of samples, put into the order of the samples.
pub(crate) struct InOrder {
    spans: Vec<Range<usize>>,
    columns: usize,
    /// Samples x nodes x columns.
    pub(crate) values: Vec<f64>,
}

impl InOrder {
    pub(crate) fn new(samples: &Samples, columns: usize) -> Self {
        let spans = samples.spans();
        let length = spans.last().map_or(0, |span| span.end) * columns;
        Self { spans, columns, values: vec![0.0; length] }
    }

    /// The predictions of a group, one sample after the other.
    pub(crate) fn put(&mut self, group: &[usize], values: impl IntoIterator<Item = f64>) {
        let mut values = values.into_iter();
        for &sample in group {
            let span = self.spans[sample].start * self.columns..self.spans[sample].end * self.columns;
            self.values[span].iter_mut().zip(&mut values).for_each(|(own, value)| *own = value);
        }
    }
}

/// How predictions are made; the defaults are right for most.
#[derive(Clone, Copy)]
pub struct Predicting<'a> {
    /// Another rule than the training's for the integral.
    pub quadrature: Option<Quadrature>,
    /// Memory that they may take, in GiB.
    pub memory_gib: f64,
    /// In double precision.
    pub double: bool,
    /// Another depth than the training's (NKN on functions).
    pub depth: Option<Depth>,
    /// The relative error that may be left on the way to the limit of infinite depth; left out, what the precision
    /// allows.
    pub tolerance: Option<f64>,
    /// Where to compute.
    pub device: Device,
    /// Asked with the number of samples done, and of all: true goes on, false stops with [`Error::Stopped`].
    pub go_on: &'a (dyn Fn(usize, usize) -> bool + Sync),
}

impl Default for Predicting<'_> {
    fn default() -> Self {
        Self {
            quadrature: None,
            memory_gib: 4.0,
            double: false,
            depth: None,
            tolerance: None,
            device: Device::default(),
            go_on: &|_, _| true,
        }
    }
}

impl Predicting<'_> {
    fn options(&self, model: &Model) -> Result<BatchOptions> {
        let (depth, integrator) = self.depth.unwrap_or(Depth::Layers(model.depth)).layers(model)?;
        let least = if self.double { 1e-14 } else { 1e-7 };
        if let Some(tolerance) = self.tolerance
            && !(least..1.0).contains(&tolerance)
        {
            let hint = "the rounding of the numbers is larger: ask for less, or leave it out";
            return Err(Error::invalid("tolerance", format!("a number from {least:e} to below 1"), tolerance, hint));
        }
        Ok(BatchOptions {
            integrator,
            tolerance: self.tolerance,
            budget: self.memory_gib * (1u64 << 30) as f64,
            dtype: if self.double { DType::F64 } else { DType::F32 },
            quadrature: self.quadrature,
            ..BatchOptions::new(depth, &self.device.burn())
        })
    }

    fn check(&self, done: usize, all: usize) -> Result<()> {
        if (self.go_on)(done, all) { Ok(()) } else { Err(Error::Stopped) }
    }
}

/// For samples that the network is not made for.
pub(super) fn wrong_space(got: &str, space: &Space) -> Error {
    let expected = format!("{}, which the network has learned from", space.title());
    Error::invalid("the samples", expected, got, "give samples of the same kind, or another network")
}

/// Whether a network can be applied to these samples, or tested with them: their dimension, fields and components.
pub(crate) fn check_samples(config: &ModelConfig, space: &Space, samples: &Samples) -> Result<()> {
    let Space::Functions { dim } = space else { return Err(wrong_space("functions", space)) };
    let got = samples.domain().dim();
    if got != *dim {
        let hint = "give samples on a domain of the same dimension";
        return Err(Error::invalid("the dimension of the points", dim.to_string(), got, hint));
    }
    let check = |name: &String, components: usize| {
        let expected = config.components_of(name);
        if components == expected {
            return Ok(());
        }
        let hint = "give the fields that the network was trained with";
        Err(Error::invalid(format!("components of {name:?}"), expected.to_string(), components, hint))
    };
    config.fields.iter().try_for_each(|name| check(name, samples.field(name)?.components))?;
    if samples.outputs().is_empty() {
        return Ok(());
    }
    let names = config.output_names();
    let Ok(outputs) = samples.outputs_named(&names) else { return Ok(()) };
    names.iter().zip(outputs).try_for_each(|(name, output)| check(name, output.components))
}

impl Model {
    /// The outputs of the samples in physical units, samples x nodes.
    pub(crate) fn predict_functions(&self, samples: &Samples, how: &Predicting) -> Result<Vec<f64>> {
        self.predict_on(&self.geometries(samples, how)?, samples, how)
    }

    /// The domain of samples as the network sees it.
    pub(super) fn geometries(&self, samples: &Samples, how: &Predicting) -> Result<Geometries> {
        self.check_samples(samples)?;
        Geometries::new(&self.config, &self.normalisers, samples.domain(), how.quadrature)
    }

    /// [`Self::predict_functions`] with geometries that were made before.
    pub(super) fn predict_on(&self, geometries: &Geometries, samples: &Samples, how: &Predicting) -> Result<Vec<f64>> {
        let options = how.options(self)?;
        let parameters = self.parameters.tensors(&options.device, options.dtype);
        let mut prediction = InOrder::new(samples, self.config.output_columns());
        // Some samples at a time bound the memory; results of a sample do not depend on its company beyond rounding.
        let all: Vec<usize> = (0..samples.count()).collect();
        let (step, nodes) = match samples.domain() {
            Domain::Clouds(_) => SIDE_BY_SIDE,
            _ => (self.samples_at_a_time(&geometries.of(&[0])?, samples, &options)?, usize::MAX),
        };
        let mut done = 0;
        for group in geometries.groups(&all, step, nodes) {
            how.check(done, samples.count())?;
            let batch = Batch::on(&geometries.of(&group)?, &self.config, &samples.select(&group), &options)?;
            let output = function::forward(&self.config, &parameters, &batch, Engine::Automatic)?;
            prediction.put(&group, output.into_data().iter::<f64>());
            done += group.len();
        }
        Ok(prediction.values)
    }

    /// The samples with predictions, samples x nodes x columns, as outputs; those that were there under the same names are
    /// replaced.
    pub(crate) fn with_predictions(&self, samples: &Samples, prediction: &[f64]) -> Result<Samples> {
        let columns = self.config.output_columns();
        let mut start = 0;
        let names = self.config.output_names();
        names.into_iter().try_fold(samples.clone(), |samples, name| {
            let components = self.config.components_of(&name);
            let nodes = prediction.chunks_exact(columns);
            let own: Vec<f64> = nodes.flat_map(|node| &node[start..start + components]).copied().collect();
            start += components;
            samples.output(name, Values::vectors(components, own))
        })
    }

    /// The samples with the periodic axes of the training, unless they have some of their own: files need not repeat them.
    pub fn placed<'a>(&self, samples: &'a Samples) -> Result<Cow<'a, Samples>> {
        let training = self.normalisers.training.as_ref().and_then(Domain::enclosure);
        match training {
            Some(training) if training.periodic().contains(&true) && !samples.domain().is_periodic() => {
                samples.clone().periodic(training.periodic()).map(Cow::Owned)
            }
            _ => Ok(Cow::Borrowed(samples)),
        }
    }

    /// Whether the network can be applied to these samples.
    pub(crate) fn check_samples(&self, samples: &Samples) -> Result<()> {
        check_samples(&self.config, &self.space, samples)
    }

    /// How many samples to predict at a time: as many as possible share kernel rows, unless fewer at a time fit the memory
    /// budget in a faster order.
    fn samples_at_a_time(&self, geometry: &Geometry, samples: &Samples, options: &BatchOptions) -> Result<usize> {
        let mut best = (f64::INFINITY, 1);
        for count in [128, 16, 4, 1] {
            let count = count.min(samples.count());
            let indices: Vec<usize> = (0..count).collect();
            let batch = Batch::on(geometry, &self.config, &samples.select(&indices), options)?;
            let Some(plan) = batch.kernel().map(|kernel| &kernel.plan) else { return Ok(count) };
            let cost = plan.cost(plan.order);
            // Finished blocks cannot be streamed: what does not fit is done with fewer samples.
            let is_too_large = plan.purpose.features == 0 && cost.bytes > options.budget;
            let seconds = if is_too_large { f64::INFINITY } else { cost.seconds / count as f64 };
            if seconds < best.0 {
                best = (seconds, count);
            }
            if !plan.streams() && !is_too_large {
                break;
            }
        }
        Ok(best.1)
    }

    /// The probability of every class for images at a resolution, images x classes.
    pub(crate) fn predict_images(&self, images: &Images, side: usize, how: &Predicting) -> Result<Vec<f32>> {
        let network = self.image_network()?;
        how.depth.map_or(Ok((self.depth, None)), |depth| depth.layers(self))?;
        if images.channels != network.shape.channels {
            let hint = "give images with the channels of the training";
            let expected = format!("{} channels", network.shape.channels);
            return Err(Error::invalid("the images", expected, images.channels, hint));
        }
        let tensors = self.parameters.tensors(&how.device.burn(), DType::F32);
        network.probabilities(&tensors, self, images, side, how)
    }
}

impl Network {
    /// The probability of every class for images at a resolution, images x classes.
    pub(crate) fn probabilities(
        &self,
        tensors: &ParameterTensors,
        model: &Model,
        images: &Images,
        side: usize,
        how: &Predicting,
    ) -> Result<Vec<f32>> {
        let resampler = Resampler::new(images.side, side, self.shape.resampling)?;
        let size = (STATE / (side * side * self.config.width)).clamp(1, 256);
        let mut result = Vec::with_capacity(images.count * self.shape.classes);
        let all: Vec<usize> = (0..images.count).collect();
        for indices in all.chunks(size) {
            how.check(indices[0], images.count)?;
            let input = image_batch(images, indices, &[], &model.normalisers, &resampler, &how.device.burn());
            let scores = Pass::predicting(self, tensors, &model.averages, side).forward(input)?;
            let scores = log_softmax(scores, 1).exp();
            result.extend(scores.into_data().iter::<f32>());
        }
        Ok(result)
    }
}
