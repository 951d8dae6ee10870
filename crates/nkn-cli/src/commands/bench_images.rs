//! The image cases of `nkn bench`: training steps and predictions on random images.

use anyhow::Result;
use nkn::Device;
use nkn::classify::{
    Architecture, ClassifierConfig, ClassifierTrainer, ClassifierTraining, ImageShape, ImageSplits, Network, TestSet,
    batch,
};
use nkn::domain::Quadrature;
use nkn::problem::images::{CLASSES, Images, Resampler};
use std::time::Instant;

/// What is measured.
pub struct Case {
    network: Network,
    splits: ImageSplits,
}

/// Seconds of the best repetition, and the operations of one in units of 10^9.
pub struct Measured {
    pub seconds: f64,
    pub gflop: f64,
}

impl Case {
    /// The nonlocal kernel network on MNIST's size.
    pub fn mnist(radius: f64, depth: usize, quadrature: Quadrature, count: usize) -> Result<Self> {
        let config = ClassifierConfig { radius, depth, quadrature, ..ClassifierConfig::default() };
        Self::new(config, 28, 1, count)
    }

    /// The residual network on CIFAR-10's size.
    pub fn preresnet(count: usize) -> Result<Self> {
        let config = ClassifierConfig { architecture: Architecture::Preresnet, ..ClassifierConfig::default() };
        Self::new(config, 32, 3, count)
    }

    fn new(config: ClassifierConfig, side: usize, channels: usize, count: usize) -> Result<Self> {
        let pixels = (0..count * channels * side * side).map(|i| ((i * 2_654_435_761) >> 7) as u8).collect();
        let labels = (0..count).map(|i| (i % CLASSES) as u8).collect();
        let images = Images::new(side, channels, pixels, labels)?;
        let shape = ImageShape { side, channels, extent: side as f64, classes: CLASSES };
        let splits = ImageSplits { train: images, tests: Vec::new(), statistics: vec![(0.5, 0.3); channels] };
        Ok(Self { network: Network::new(config, shape)?, splits })
    }

    /// Whole steps: the batch is made, goes forward and backward, and the optimiser moves the weights.
    pub fn train(&self, repeats: usize) -> Result<Measured> {
        let config = ClassifierTraining::default();
        let trainer = ClassifierTrainer {
            network: &self.network,
            config: &config,
            splits: &self.splits,
            device: Device::flex(),
            should_stop: &|| false,
            observer: &mut |_| Ok(()),
        };
        let mut state = trainer.start()?;
        let images = &self.splits.train;
        let indices: Vec<usize> = (0..images.count).collect();
        let resampler = Resampler::new(images.side, images.side)?;
        let mut step = || -> Result<f64> {
            let begun = Instant::now();
            let input = batch(images, &indices, &[], &self.splits.statistics, &resampler, &Device::flex().autodiff());
            trainer.step(&mut state, input, &images.labels, 1e-4)?;
            Ok(begun.elapsed().as_secs_f64())
        };
        let seconds = best(repeats, &mut step)?;
        // The products of a step are those of the forward pass, and two more for each of them.
        Ok(Measured { seconds, gflop: 3.0 * self.network.flops(images.count)? / 1e9 })
    }

    /// Predictions.
    pub fn predict(&self, repeats: usize) -> Result<Measured> {
        let seed = nkn::seed::Seed::new(0);
        let (parameters, running) = (self.network.init(seed)?, self.network.running()?);
        let test = TestSet { name: "random", images: self.splits.train.clone() };
        let side = self.network.shape.side;
        let mut predict = || -> Result<f64> {
            let begun = Instant::now();
            nkn::classify::evaluate(&self.network, &parameters, &running, &test, side, &self.splits.statistics)?;
            Ok(begun.elapsed().as_secs_f64())
        };
        let seconds = best(repeats, &mut predict)?;
        Ok(Measured { seconds, gflop: self.network.flops(test.images.count)? / 1e9 })
    }
}

/// The first ones meet cold memory.
fn best(repeats: usize, run: &mut dyn FnMut() -> Result<f64>) -> Result<f64> {
    let seconds: Vec<f64> = (0..repeats.max(1) + 2).map(|_| run()).collect::<Result<_>>()?;
    Ok(seconds.into_iter().skip(2).fold(f64::INFINITY, f64::min))
}
