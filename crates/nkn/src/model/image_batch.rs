//! Images on their way into a network: moved, brought to its resolution, normalised.

use super::batch::Normalisers;
use crate::field::Normaliser;
use crate::field::images::{Images, Resampler};
use crate::seed::{Seed, uniform};
use burn::tensor::{DType, Device, Tensor, TensorData};

/// Which motions are drawn.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Motions {
    /// Whether images are mirrored at random.
    pub flip: bool,
    /// Images are moved at random by up to this many pixels along each axis.
    pub shift: usize,
    /// Where the randomness comes from.
    pub seed: Seed,
}

/// How an image is moved before it is learned from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Motion {
    flip: bool,
    rows: isize,
    columns: isize,
}

impl Motion {
    /// The motion of an image in an epoch: a function of the seed, the epoch and the image alone.
    pub fn draw(motions: &Motions, epoch: usize, image: usize) -> Self {
        if !motions.flip && motions.shift == 0 {
            return Self::default();
        }
        let mut rng = motions.seed.derive("motion", epoch as u64).derive("image", image as u64).rng();
        let range = motions.shift as f64;
        let mut shift = || (uniform(&mut rng, -range - 0.5, range + 0.5)).round().clamp(-range, range) as isize;
        let (rows, columns) = (shift(), shift());
        Self { flip: motions.flip && uniform(&mut rng, 0.0, 1.0) < 0.5, rows, columns }
    }

    /// Where a pixel of the moved image comes from; beyond the border the border's pixels repeat.
    fn source(&self, side: usize, row: usize, column: usize) -> usize {
        let inside = |at: isize| at.clamp(0, side as isize - 1) as usize;
        let column = if self.flip { side - 1 - column } else { column };
        inside(row as isize + self.rows) * side + inside(column as isize + self.columns)
    }
}

/// Images as a network takes them: nodes x samples x channels, every channel with mean 0 and deviation 1 over the training images.
pub(crate) fn image_batch(
    images: &Images,
    indices: &[usize],
    motions: &[Motion],
    normalisers: &Normalisers,
    resampler: &Resampler,
    device: &Device,
) -> Tensor<3> {
    let values = images.values(indices, resampler);
    let (samples, channels) = (indices.len(), images.channels);
    let nodes = values.len() / (samples * channels).max(1);
    let side = nodes.isqrt();
    let Normaliser { mean, std } = &normalisers.fields[0];
    let statistics: Vec<(f32, f32)> = mean.iter().zip(std).map(|(&mean, &std)| (mean as f32, std as f32)).collect();
    let mut result = vec![0.0f32; values.len()];
    for (sample, image) in values.chunks_exact(channels * nodes).enumerate() {
        let motion = motions.get(sample).copied().unwrap_or_default();
        for (channel, (plane, &(mean, deviation))) in image.chunks_exact(nodes).zip(&statistics).enumerate() {
            for node in 0..nodes {
                let value = plane[motion.source(side, node / side, node % side)];
                result[(node * samples + sample) * channels + channel] = (value - mean) / deviation;
            }
        }
    }
    Tensor::from_data(TensorData::new(result, [nodes, samples, channels]), (device, DType::F32))
}

/// Mean and deviation of each channel, as normalisers of the one field of an image. The numbers are those of single precision.
pub(crate) fn channel_normalisers(images: &Images) -> Normalisers {
    let pixels = images.side * images.side;
    let statistics = |channel: usize| {
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
        (f64::from((mean / 255.0) as f32), f64::from((deviation / 255.0) as f32))
    };
    let (mean, std) = (0..images.channels).map(statistics).unzip();
    Normalisers { fields: vec![Normaliser { mean, std }], ..Normalisers::default() }
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
        let motions = Motions { flip: true, shift: 4, seed: Seed::new(0) };
        let drawn: Vec<Motion> = (0..2000).map(|image| Motion::draw(&motions, 3, image)).collect();
        assert_eq!(drawn[7], Motion::draw(&motions, 3, 7));
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
        let normalisers = channel_normalisers(&images);
        let resampler = Resampler::new(2, 2, Default::default()).unwrap();
        let tensor = image_batch(&images, &[2, 0], &[], &normalisers, &resampler, &Device::flex());
        assert_eq!(tensor.dims(), [4, 2, 3]);
        let values: Vec<f32> = tensor.into_data().iter::<f32>().collect();
        // Node 1 of the first sample, channel 2: pixel (2, 2, 1) of image 2.
        let Normaliser { mean, std } = &normalisers.fields[0];
        let pixel = f32::from(images.image(2)[2 * 4 + 1]) / 255.0;
        assert!((values[6 + 2] - (pixel - mean[2] as f32) / std[2] as f32).abs() < 1e-6);
    }
}
