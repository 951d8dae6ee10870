//! Images on their way into a network: split, resolution, augmentation, normalisation.

use super::config::{ClassifierTraining, ImageShape};
use crate::problem::images::{CLASSES, ImageSet, Images, Resampler, load};
use crate::seed::{Seed, uniform};
use crate::{Error, Result};
use burn::tensor::{DType, Device, Tensor, TensorData};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// The `[data]` table of a classifier's configuration file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ImageDataConfig {
    /// `mnist`, `fashion-mnist` or `cifar10`.
    pub problem: Problem,
    /// Where the files are: `nkn data` puts them there.
    pub folder: PathBuf,
    /// Pixels along a side of the training images.
    pub side: usize,
    /// The sides of the images that the network is tested with.
    pub tested_at: Vec<usize>,
    /// How many of the training images are trained with; left out: 50,000.
    #[serde(default = "fifty_thousand")]
    pub train_images: usize,
    /// How many images of each test set are tested with; left out: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub test_images: Option<usize>,
}

fn fifty_thousand() -> usize {
    50_000
}

/// Which images.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Problem {
    /// Handwritten digits.
    Mnist,
    /// Pieces of clothing.
    FashionMnist,
    /// Animals and vehicles.
    Cifar10,
}

impl Problem {
    /// The set of images.
    pub fn set(self) -> ImageSet {
        match self {
            Problem::Mnist => ImageSet::Mnist,
            Problem::FashionMnist => ImageSet::FashionMnist,
            Problem::Cifar10 => ImageSet::Cifar10,
        }
    }

    /// The name for people.
    pub fn title(self) -> &'static str {
        match self {
            Problem::Mnist => "MNIST",
            Problem::FashionMnist => "Fashion-MNIST",
            Problem::Cifar10 => "CIFAR-10",
        }
    }

    /// The names of the classes.
    pub fn classes(self) -> [&'static str; CLASSES] {
        match self {
            Problem::Mnist => ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"],
            Problem::FashionMnist => {
                ["T-shirt", "trouser", "pullover", "dress", "coat", "sandal", "shirt", "sneaker", "bag", "boot"]
            }
            Problem::Cifar10 => {
                ["airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"]
            }
        }
    }
}

/// A test set.
#[derive(Clone, Debug)]
pub struct TestSet {
    /// `validation`: what the paper tests with, of the training images; `official`: the set's own test images.
    pub name: &'static str,
    /// The images at their original resolution.
    pub images: Images,
}

/// Everything that a training sees.
#[derive(Clone, Debug)]
pub struct ImageSplits {
    /// To learn from.
    pub train: Images,
    /// To test with.
    pub tests: Vec<TestSet>,
    /// Mean and deviation of each channel of the training images.
    pub statistics: Vec<(f32, f32)>,
}

impl ImageDataConfig {
    /// Refuses what no images can be made from.
    pub fn check(&self) -> Result<()> {
        for side in self.tested_at.iter().chain([&self.side]) {
            if !(2..=512).contains(side) {
                return Err(Error::invalid("data.side, data.tested_at", "2 to 512 pixels", side, "for example 28"));
            }
        }
        if self.train_images == 0 || self.test_images == Some(0) {
            return Err(Error::invalid("data.train_images, data.test_images", "1 or more", 0, "for example 50000"));
        }
        Ok(())
    }

    /// Reads the images. MNIST's 60,000 are split at random, always in the same way; of CIFAR-10 all 50,000 are for training, and the paper tests
    /// with the official test images.
    pub fn load(&self) -> Result<ImageSplits> {
        self.check()?;
        let data = load(self.problem.set(), &self.folder)?;
        let order = match self.problem {
            Problem::Cifar10 => (0..data.training.count).collect(),
            _ => Seed::new(0).derive("split", 0).permutation(data.training.count),
        };
        let first = match self.problem {
            Problem::Cifar10 => data.training.count,
            _ => 50_000.min(data.training.count * 5 / 6),
        };
        let (train, validation) = data.training.split(&order, first)?;
        if self.train_images > train.count {
            let expected = format!("at most {}", train.count);
            return Err(Error::invalid("data.train_images", expected, self.train_images, "there are no more"));
        }
        let some = |images: Images, count: usize| {
            if count < images.count { images.select(&(0..count).collect::<Vec<_>>()) } else { images }
        };
        let train = some(train, self.train_images);
        let count = self.test_images.unwrap_or(usize::MAX);
        let mut tests = Vec::new();
        if validation.count > 0 {
            tests.push(TestSet { name: "validation", images: some(validation, count) });
        }
        tests.push(TestSet { name: "official", images: some(data.testing, count) });
        let statistics = statistics(&train);
        Ok(ImageSplits { train, tests, statistics })
    }

    /// What the network must know about the images.
    pub fn shape(&self, splits: &ImageSplits) -> ImageShape {
        let Images { side, channels, .. } = splits.train;
        ImageShape { side: self.side, channels, extent: side as f64, classes: CLASSES }
    }
}

fn statistics(images: &Images) -> Vec<(f32, f32)> {
    let pixels = images.side * images.side;
    (0..images.channels)
        .map(|channel| {
            let (mut sum, mut squares) = (0u64, 0u64);
            for plane in images.pixels.chunks_exact(pixels).skip(channel).step_by(images.channels) {
                for &pixel in plane {
                    sum += u64::from(pixel);
                    squares += u64::from(pixel).pow(2);
                }
            }
            let count = (images.count * pixels) as f64;
            let mean = sum as f64 / count;
            let deviation = (squares as f64 / count - mean * mean).max(1.0).sqrt();
            ((mean / 255.0) as f32, (deviation / 255.0) as f32)
        })
        .collect()
}

/// How an image is moved before it is learned from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Motion {
    flip: bool,
    rows: isize,
    columns: isize,
}

impl Motion {
    /// The motion of an image in an epoch: a function of the seed, the epoch and the image alone.
    pub fn draw(training: &ClassifierTraining, epoch: usize, image: usize) -> Self {
        if !training.flip && training.shift == 0 {
            return Self::default();
        }
        let seed = Seed::new(training.seed).derive("motion", epoch as u64).derive("image", image as u64);
        let mut rng = seed.rng();
        let range = training.shift as f64;
        let mut shift = || (uniform(&mut rng, -range - 0.5, range + 0.5)).round().clamp(-range, range) as isize;
        let (rows, columns) = (shift(), shift());
        Self { flip: training.flip && uniform(&mut rng, 0.0, 1.0) < 0.5, rows, columns }
    }

    /// Where a pixel of the moved image comes from; beyond the border the border's pixels repeat.
    fn source(&self, side: usize, row: usize, column: usize) -> usize {
        let inside = |at: isize| at.clamp(0, side as isize - 1) as usize;
        let column = if self.flip { side - 1 - column } else { column };
        inside(row as isize + self.rows) * side + inside(column as isize + self.columns)
    }
}

/// Images as a network takes them: nodes x samples x channels, every channel with mean 0 and deviation 1 over the training images.
pub fn batch(
    images: &Images,
    indices: &[usize],
    motions: &[Motion],
    statistics: &[(f32, f32)],
    resampler: &Resampler,
    device: &Device,
) -> Tensor<3> {
    let values = images.values(indices, resampler);
    let (samples, channels) = (indices.len(), images.channels);
    let nodes = values.len() / (samples * channels).max(1);
    let side = nodes.isqrt();
    let mut result = vec![0.0f32; values.len()];
    for (sample, image) in values.chunks_exact(channels * nodes).enumerate() {
        let motion = motions.get(sample).copied().unwrap_or_default();
        for (channel, (plane, &(mean, deviation))) in image.chunks_exact(nodes).zip(statistics).enumerate() {
            for node in 0..nodes {
                let value = plane[motion.source(side, node / side, node % side)];
                result[(node * samples + sample) * channels + channel] = (value - mean) / deviation;
            }
        }
    }
    Tensor::from_data(TensorData::new(result, [nodes, samples, channels]), (device, DType::F32))
}

/// Whether a configuration file's `[data]` table is one of images.
pub fn is_about_images(text: &str) -> bool {
    let table: Option<toml::Table> = toml::from_str(text).ok();
    let problem = table.as_ref().and_then(|t| t.get("data")?.get("problem")?.as_str());
    matches!(problem, Some("mnist" | "fashion-mnist" | "cifar10"))
}

/// The folder in which `nkn data` puts a set unless told otherwise.
pub fn usual_folder(set: ImageSet) -> PathBuf {
    Path::new("data").join(set.name())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn motions() {
        let still = Motion::default();
        assert_eq!(still.source(4, 2, 3), 11);
        assert_eq!(Motion { flip: true, ..still }.source(4, 2, 3), 8);
        assert_eq!(Motion { rows: 1, columns: -2, ..still }.source(4, 3, 1), 12);
        let training = ClassifierTraining { flip: true, shift: 4, ..Default::default() };
        let drawn: Vec<Motion> = (0..2000).map(|image| Motion::draw(&training, 3, image)).collect();
        assert_eq!(drawn[7], Motion::draw(&training, 3, 7));
        let flips = drawn.iter().filter(|m| m.flip).count();
        assert!((900..1100).contains(&flips), "{flips}");
        for rows in -4..=4 {
            let count = drawn.iter().filter(|m| m.rows == rows).count();
            assert!((150..300).contains(&count), "{rows}: {count}");
        }
    }

    #[test]
    fn batches_are_normalised_and_pixel_by_pixel() {
        let images = Images::new(2, 3, (0..36).map(|i| i * 7).collect(), vec![1, 2, 3]).unwrap();
        let statistics = statistics(&images);
        let device = Device::flex();
        let tensor = batch(&images, &[2, 0], &[], &statistics, &Resampler::new(2, 2).unwrap(), &device);
        assert_eq!(tensor.dims(), [4, 2, 3]);
        let values: Vec<f32> = tensor.into_data().iter::<f32>().collect();
        // Node 1 of the first sample, channel 2: pixel (2, 2, 1) of image 2.
        let (mean, deviation) = statistics[2];
        let pixel = f32::from(images.image(2)[2 * 4 + 1]) / 255.0;
        assert!((values[6 + 2] - (pixel - mean) / deviation).abs() < 1e-6);
    }

    #[test]
    fn which_files_are_about_images() {
        assert!(is_about_images("[data]\nproblem = \"mnist\""));
        assert!(!is_about_images("[data]\nproblem = \"poisson\""));
        assert!(!is_about_images("no toml ="));
    }
}
