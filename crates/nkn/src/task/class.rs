//! Learning the class of an image: the loss is the cross entropy, the measure the share of wrong answers at each resolution.

use crate::device::Device;
use crate::engine::Engine;
use crate::field::images::{CLASSES, Images, Resampler, Resampling};
use crate::model::image::{Network, Norms, Pass};
use crate::model::image_batch::{Motion, Motions, channel_normalisers, image_batch};
use crate::model::parameters::ParameterTensors;
use crate::model::{Averages, ImageShape, Model, ModelConfig, Predicting, Space, Work};
use crate::seed::{Seed, uniform};
use crate::train::{LossKind, Measure, Place, Setup, Task, TrainConfig};
use crate::{Error, Result};
use burn::tensor::{DType, Tensor, TensorData, activation::log_softmax};
use std::sync::Mutex;

/// A test set.
#[derive(Clone, Debug)]
pub struct TestSet {
    /// `validation`: what the paper tests with, of the training images; `official`: the set's own test images.
    pub name: &'static str,
    /// The images at their original resolution.
    pub images: Images,
}

/// Everything that a training on images sees.
#[derive(Clone, Debug)]
pub struct ImageSplits {
    /// To learn from.
    pub train: Images,
    /// To test with.
    pub tests: Vec<TestSet>,
    /// Pixels along a side of the images that are trained with.
    pub side: usize,
    /// The sides that are tested at.
    pub tested_at: Vec<usize>,
    /// How images of other sides are made of the original ones.
    pub resampling: Resampling,
}

impl ImageSplits {
    /// What the network must know about the images.
    pub fn shape(&self) -> ImageShape {
        let Images { side, channels, .. } = self.train;
        ImageShape { side: self.side, channels, extent: side as f64, classes: CLASSES, resampling: self.resampling }
    }
}

/// A training on images. They are judged by the test sets alone: another pass over the training images would cost as much
/// as an epoch.
pub(crate) struct ClassTask<'a> {
    setup: Setup<'a>,
    splits: &'a ImageSplits,
    resampler: Resampler,
    motions: Motions,
    /// The network of the depth that is trained.
    network: Option<Network>,
}

impl<'a> ClassTask<'a> {
    /// A training with checked settings.
    pub(crate) fn new(
        model: &'a ModelConfig,
        config: &'a TrainConfig,
        splits: &'a ImageSplits,
        device: Device,
    ) -> Result<Self> {
        let space = Space::Images(splits.shape());
        model.check_for(&space)?;
        config.check()?;
        if config.loss != LossKind::CrossEntropy {
            let hint = "leave it out, or set train.loss = \"cross_entropy\"";
            return Err(Error::invalid("train.loss", "cross_entropy for images", config.loss, hint));
        }
        if config.validation > 0 {
            let hint = "images have test sets of their own";
            return Err(Error::invalid("train.validation", "0 for images", config.validation, hint));
        }
        if splits.train.count == 0 {
            return Err(Error::invalid("the images", "at least one to learn from", "none", "check the data"));
        }
        let setup = Setup { model, config, space, device, normalisers: channel_normalisers(&splits.train) };
        let resampler = Resampler::new(splits.train.side, splits.side, splits.resampling)?;
        let TrainConfig { flip, shift, subpixel, seed, .. } = *config;
        let motions = Motions { flip, shift, subpixel, seed: Seed::new(seed) };
        Ok(Self { setup, splits, resampler, motions, network: None })
    }

    fn network(&self) -> &Network {
        self.network.as_ref().expect("a depth has begun")
    }

    /// Factors that leave out a share of the dense layer's inputs.
    fn dropout(&self, step: u64, samples: usize, device: &burn::tensor::Device) -> Option<Tensor<2>> {
        let share = self.setup.model.dropout;
        if share == 0.0 {
            return None;
        }
        let inputs = self.network().head_inputs();
        let mut rng = Seed::new(self.setup.config.seed).derive("dropout", step).rng();
        let kept = (1.0 / (1.0 - share)) as f32;
        let factor = |_| if uniform(&mut rng, 0.0, 1.0) < share { 0.0 } else { kept };
        let factors: Vec<f32> = (0..samples * inputs).map(factor).collect();
        Some(Tensor::from_data(TensorData::new(factors, [samples, inputs]), (device, DType::F32)))
    }

    fn error_rate(&self, model: &Model, test: &TestSet, side: usize) -> Result<Measure> {
        let device = self.setup.device;
        let how = Predicting { device, ..Predicting::default() };
        let tensors = model.parameters.tensors(&device.burn(), DType::F32);
        let probabilities = self.network().probabilities(&tensors, model, &test.images, side, &how)?;
        Ok(image_measure(test.name, side, &answers(&probabilities, CLASSES), &test.images))
    }
}

impl Task for ClassTask<'_> {
    fn setup(&self) -> &Setup<'_> {
        &self.setup
    }

    fn resolution(&self) -> usize {
        self.splits.side
    }

    fn count(&self) -> usize {
        self.splits.train.count
    }

    fn begin(&mut self, depth: usize) -> Result<Work> {
        let network = Network::new(self.setup.model.clone(), self.splits.shape(), depth)?;
        let work = network.work(self.setup.config.batch_of(self.count()))?;
        self.network = Some(network);
        Ok(work)
    }

    fn averages(&self, depth: usize) -> Result<Averages> {
        Network::new(self.setup.model.clone(), self.splits.shape(), depth)?.averages()
    }

    fn order(&self, place: Place) -> Vec<usize> {
        // The first rung's order is that of a training without a ladder.
        let seed = self.setup.seed("shuffle", place.epoch);
        let seed = if place.rung == 0 { seed } else { seed.derive("rung", place.rung as u64) };
        seed.permutation(self.count())
    }

    fn loss(
        &self,
        weights: &ParameterTensors,
        place: Place,
        samples: &[usize],
        step: u64,
        seen: &mut Averages,
    ) -> Result<Tensor<1>> {
        let images = &self.splits.train;
        let motion = |&image: &usize| Motion::draw(&self.motions, place.epoch, image);
        let motions: Vec<Motion> = samples.iter().map(motion).collect();
        let device = self.setup.device.burn().autodiff();
        let inputs = image_batch(images, samples, &motions, &self.setup.normalisers, &self.resampler, &device);
        let labels: Vec<u8> = samples.iter().map(|&image| images.labels[image]).collect();
        let [nodes, ..] = inputs.dims();
        let averages = Mutex::new(Averages::new());
        let pass = Pass {
            network: self.network(),
            parameters: weights,
            norms: Norms::Batch(&averages),
            side: self.splits.side,
            engine: Engine::Automatic,
            dropout: self.dropout(step, samples.len(), &device),
        };
        let loss = cross_entropy(pass.forward(inputs)?, &labels);
        *seen = averages.into_inner().expect("nobody panics with it");
        // The variance of the population, not of the batch.
        let count = samples.len() as f64 * nodes as f64;
        let unbiased = count / (count - 1.0).max(1.0);
        seen.values_mut().for_each(|statistics| statistics.variance.iter_mut().for_each(|v| *v *= unbiased));
        Ok(loss)
    }

    fn test(&self, model: &Model) -> Result<Option<Measure>> {
        self.splits.tests.first().map(|test| self.error_rate(model, test, self.splits.side)).transpose()
    }

    fn measures(&self, model: &Model) -> Result<Vec<Measure>> {
        let cells =
            self.splits.tests.iter().flat_map(|test| self.splits.tested_at.iter().map(move |&side| (test, side)));
        cells.map(|(test, side)| self.error_rate(model, test, side)).collect()
    }
}

/// What a network says about an image.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Answer {
    /// The class.
    pub class: usize,
    /// Its probability.
    pub probability: f32,
}

/// The most probable classes.
pub(crate) fn answers(probabilities: &[f32], classes: usize) -> Vec<Answer> {
    let best = |row: &[f32]| {
        let class = (0..classes).max_by(|&a, &b| row[a].total_cmp(&row[b])).unwrap_or(0);
        Answer { class, probability: row[class] }
    };
    probabilities.chunks_exact(classes).map(best).collect()
}

/// The error rate and the confusion matrix.
pub fn image_measure(split: &str, side: usize, answers: &[Answer], images: &Images) -> Measure {
    let mut confusion = vec![vec![0; CLASSES]; CLASSES];
    for (answer, &truth) in answers.iter().zip(&images.labels) {
        confusion[usize::from(truth)][answer.class] += 1;
    }
    let wrong = mistakes(answers, images).len();
    let value = wrong as f64 / images.count.max(1) as f64;
    Measure { confusion, ..Measure::new(split, side, "error_rate", value) }
}

/// An answer that is wrong.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mistake {
    /// The number of the image in its set.
    pub image: usize,
    /// Its class.
    pub truth: usize,
    /// The answer.
    pub answer: Answer,
}

/// The wrong ones among the answers to some images.
pub fn mistakes(answers: &[Answer], images: &Images) -> Vec<Mistake> {
    let all = answers.iter().zip(&images.labels).enumerate();
    all.map(|(image, (&answer, &truth))| Mistake { image, truth: usize::from(truth), answer })
        .filter(|mistake| mistake.truth != mistake.answer.class)
        .collect()
}

/// The mean of -log p(class).
fn cross_entropy(scores: Tensor<2>, labels: &[u8]) -> Tensor<1> {
    let [samples, classes] = scores.dims();
    let mut marks = vec![0.0f32; samples * classes];
    for (row, &label) in labels.iter().enumerate() {
        marks[row * classes + usize::from(label)] = -1.0 / samples as f32;
    }
    let marks = Tensor::<2>::from_data(TensorData::new(marks, [samples, classes]), (&scores.device(), scores.dtype()));
    (log_softmax(scores, 1) * marks).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cross_entropy_by_hand() {
        let scores = Tensor::<2>::from_data([[0.0, 0.0], [1.0, 3.0]], &Device::Cpu.burn());
        let value = cross_entropy(scores, &[0, 1]).into_scalar::<f32>();
        let expected = 0.5 * (2f32.ln() + (1.0 + (-2f32).exp()).ln());
        assert!((value - expected).abs() < 1e-6, "{value} {expected}");
    }

    #[test]
    fn answers_and_mistakes_by_hand() {
        let images = Images::new(1, 1, vec![0; 3], vec![1, 0, 2]).unwrap();
        let mut rows = vec![0.0f32; 3 * CLASSES];
        rows[1] = 0.9;
        rows[CLASSES + 7] = 0.6;
        rows[2 * CLASSES + 2] = 0.5;
        let answers = answers(&rows, CLASSES);
        assert_eq!(answers[1], Answer { class: 7, probability: 0.6 });
        let measure = image_measure("test", 1, &answers, &images);
        assert!((measure.value - 1.0 / 3.0).abs() < 1e-12);
        assert_eq!((measure.confusion[1][1], measure.confusion[0][7], measure.confusion[2][2]), (1, 1, 1));
        assert_eq!(mistakes(&answers, &images), [Mistake { image: 1, truth: 0, answer: answers[1] }]);
    }
}
