//! A trained network applied to new functions or images, at any resolution.

use super::batch::{Batch, BatchOptions};
use super::geometry::Geometry;
use super::image::{Network, Pass};
use super::image_batch::image_batch;
use super::parameters::ParameterTensors;
use super::space::Space;
use super::{Model, function};
use crate::device::Device;
use crate::domain::Quadrature;
use crate::engine::Engine;
use crate::field::Samples;
use crate::field::images::{Images, Resampler};
use crate::{Error, Result};
use burn::tensor::{DType, activation::log_softmax};

/// Numbers in a state of a batch in evaluations: bounds their memory, and makes batches large enough that a kernel evaluated once per batch does not show.
const STATE: usize = 16_000_000;

/// How predictions are made; the defaults are right for most.
#[derive(Clone, Copy)]
pub struct Predicting<'a> {
    /// Another rule than the training's for the integral.
    pub quadrature: Option<Quadrature>,
    /// Memory that they may take, in GiB.
    pub memory_gib: f64,
    /// In double precision.
    pub double: bool,
    /// Where to compute.
    pub device: Device,
    /// Asked with the number of samples done, and of all: true goes on, false stops with [`Error::Stopped`].
    pub go_on: &'a (dyn Fn(usize, usize) -> bool + Sync),
}

impl Default for Predicting<'_> {
    fn default() -> Self {
        Self { quadrature: None, memory_gib: 4.0, double: false, device: Device::default(), go_on: &|_, _| true }
    }
}

impl Predicting<'_> {
    fn options(&self, depth: usize) -> BatchOptions {
        BatchOptions {
            budget: self.memory_gib * (1u64 << 30) as f64,
            dtype: if self.double { DType::F64 } else { DType::F32 },
            quadrature: self.quadrature,
            ..BatchOptions::new(depth, &self.device.burn())
        }
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

impl Model {
    /// The outputs of the samples in physical units, samples x nodes.
    pub(crate) fn predict_functions(&self, samples: &Samples, how: &Predicting) -> Result<Vec<f64>> {
        self.check_samples(samples)?;
        let options = how.options(self.depth);
        let parameters = self.parameters.tensors(&options.device, options.dtype);
        let mut values = Vec::with_capacity(samples.count() * samples.nodes());
        let geometry = Geometry::new(&self.config, &self.normalisers, samples.domain(), options.quadrature)?;
        // Some samples at a time bound the memory; results of a sample do not depend on its company beyond rounding.
        let step = self.samples_at_a_time(&geometry, samples, &options)?;
        for start in (0..samples.count()).step_by(step) {
            how.check(start, samples.count())?;
            let indices: Vec<usize> = (start..samples.count().min(start + step)).collect();
            let batch = Batch::on(&geometry, &self.config, &samples.select(&indices), &options)?;
            let output = function::forward(&self.config, &parameters, &batch, Engine::Automatic)?;
            values.extend(output.into_data().iter::<f64>());
        }
        Ok(values)
    }

    /// Whether the network can be applied to these samples.
    pub(crate) fn check_samples(&self, samples: &Samples) -> Result<()> {
        let Space::Functions { dim } = self.space else { return Err(wrong_space("functions", &self.space)) };
        let got = samples.domain().dim();
        if got != dim {
            let hint = "give samples on a domain of the same dimension";
            return Err(Error::invalid("the dimension of the points", dim.to_string(), got, hint));
        }
        self.config.fields.iter().try_for_each(|name| samples.field(name).map(|_| ()))
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
            let seconds = plan.cost(plan.order).seconds / count as f64;
            if seconds < best.0 {
                best = (seconds, count);
            }
            if !plan.streams() {
                break;
            }
        }
        Ok(best.1)
    }

    /// The probability of every class for images at a resolution, images x classes.
    pub(crate) fn predict_images(&self, images: &Images, side: usize, how: &Predicting) -> Result<Vec<f32>> {
        let network = self.image_network()?;
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
        let resampler = Resampler::new(images.side, side)?;
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
