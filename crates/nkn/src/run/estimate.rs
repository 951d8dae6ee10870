//! What a training will take, before it begins; and what a step does take.

use super::config::RunConfig;
use super::data::Data;
use crate::device::Device;
use crate::engine::Engine;
use crate::model::image::Network;
use crate::model::{Batch, BatchOptions, Kind, Normalisers, Parameters, Predicting, Work, function};
use crate::seed::Seed;
use crate::train::{OptimiserKind, Trainer};
use crate::{Error, Result};
use burn::tensor::DType;
use std::time::Instant;

/// What a training reaches of the machine's peak, all told: kernel networks on functions, Fourier layers with their small products, image networks.
const KERNEL_SHARE: f64 = 0.6;
const FOURIER_SHARE: f64 = 0.2;
const IMAGE_SHARE: f64 = 0.35;
/// Nonlocal networks on grey images: pixels of one level are taken as one, which leaves far fewer operations than are counted.
const GREY_SHARE: f64 = 2.0;
/// A step with the optimiser SOAP against one without.
const SOAP: f64 = 1.6;

/// What a depth will take.
#[derive(Clone, Debug)]
pub struct Estimate {
    /// L.
    pub depth: usize,
    /// Number of parameters.
    pub parameters: usize,
    /// Operations and memory of a step.
    pub work: Work,
    /// Steps of an epoch.
    pub steps_per_epoch: usize,
    /// Steps in all.
    pub steps: usize,
    /// Of kernel networks on functions: edges, kernel rows, and the order of the products.
    pub kernel: Option<(usize, usize, String)>,
    /// Seconds, from the operations and the machine's peak.
    pub seconds: f64,
}

/// What each depth of a training will take on a machine with this peak ([`peak_gflops`]).
pub fn estimate(config: &RunConfig, data: &Data, peak: f64) -> Result<Vec<Estimate>> {
    let (model, train) = (&config.model, &config.train);
    train.check()?;
    let size = train.batch_of(data.count());
    let steps_per_epoch = data.count().div_ceil(size);
    let factor = if train.optimiser == OptimiserKind::Soap { SOAP } else { 1.0 };
    let share = match data {
        Data::Functions { .. } if model.kind == Kind::Fno => FOURIER_SHARE,
        Data::Functions { .. } => KERNEL_SHARE,
        Data::Images(splits) if model.kind == Kind::Nnn && splits.shape().channels == 1 => GREY_SHARE,
        Data::Images(_) => IMAGE_SHARE,
    };
    let one = |(rung, &depth): (usize, &usize)| -> Result<Estimate> {
        let parameters = Parameters::layout(model, &data.space(), depth)?.count();
        let (work, kernel) = match data {
            Data::Functions { train: samples, .. } => {
                let normalisers = Normalisers::fit(model, samples)?;
                let samples = samples.select(&(0..size).collect::<Vec<_>>());
                let plain = BatchOptions::new(depth, &Device::Cpu.burn());
                let options = BatchOptions { budget: train.budget(), training: true, ..plain };
                let batch = Batch::new(model, &normalisers, &samples, &options)?;
                let kernel = batch.kernel().map(|layers| {
                    let plan = &layers.plan;
                    (plan.edges(), plan.kernel_rows(), format!("{:?}", plan.order).to_lowercase())
                });
                let dim = samples.domain().dim();
                (Work::of(model, dim, &batch, &options)?, kernel)
            }
            Data::Images(splits) => (Network::new(model.clone(), splits.shape(), depth)?.work(size)?, None),
        };
        let steps = steps_per_epoch * train.epochs.at(rung);
        let seconds = factor * work.gflop * steps as f64 / (share * peak);
        Ok(Estimate { depth, parameters, work, steps_per_epoch, steps, kernel, seconds })
    };
    train.depths.iter().enumerate().map(one).collect()
}

/// Seconds of single training steps at a depth, and the work of one: a measurement, not a training.
pub fn time_steps(config: &RunConfig, data: &Data, depth: usize, count: usize) -> Result<(Vec<f64>, Work)> {
    let task = data.task(&config.model, &config.train, Device::Cpu)?;
    Trainer { task, config: &config.train, should_stop: &|| false, observer: &mut |_| Ok(()) }.time_steps(depth, count)
}

/// The same for predictions of all training samples, with random weights.
pub fn time_predictions(config: &RunConfig, data: &Data, depth: usize, count: usize) -> Result<(Vec<f64>, Work)> {
    let model = &config.model;
    let device = Device::Cpu.burn();
    let seed = Seed::new(0);
    match data {
        Data::Functions { train: samples, .. } => {
            let normalisers = Normalisers::fit(model, samples)?;
            let options = BatchOptions { budget: config.train.budget(), ..BatchOptions::new(depth, &device) };
            let batch = Batch::new(model, &normalisers, samples, &options)?;
            let dim = samples.domain().dim();
            let parameters = Parameters::init(model, &data.space(), depth, seed)?;
            let seconds = time(count, || {
                let tensors = parameters.tensors(&device, DType::F32);
                function::forward(model, &tensors, &batch, Engine::Automatic).map(|_| ())
            })?;
            Ok((seconds, Work::of(model, dim, &batch, &options)?))
        }
        Data::Images(splits) => {
            let task = data.task(model, &config.train, Device::Cpu)?;
            let network = Network::new(model.clone(), splits.shape(), depth)?;
            let parameters = Parameters::init(model, &data.space(), depth, seed)?;
            let model = task.setup().network(depth, parameters, task.averages(depth)?);
            let how = Predicting::default();
            let seconds = time(count, || {
                let tensors = model.parameters.tensors(&device, DType::F32);
                network.probabilities(&tensors, &model, &splits.train, splits.side, &how).map(|_| ())
            })?;
            let work = network.work(splits.train.count)?;
            // A training step has two more products for each of the forward pass.
            Ok((seconds, Work { gflop: work.gflop / 3.0, ..work }))
        }
    }
}

fn time(count: usize, mut run: impl FnMut() -> Result<()>) -> Result<Vec<f64>> {
    let one = |_| {
        let begun = Instant::now();
        run()?;
        Ok::<f64, Error>(begun.elapsed().as_secs_f64())
    };
    (0..count).map(one).collect()
}
