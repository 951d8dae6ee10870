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
    /// Whether they are moved by fractions of a pixel too.
    pub subpixel: bool,
    /// Where the randomness comes from.
    pub seed: Seed,
}

/// How an image is moved before it is learned from, in pixels.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Motion {
    flip: bool,
    rows: f64,
    columns: f64,
}

/// A place on an axis: between a pixel and the next one.
#[derive(Clone, Copy, Debug, PartialEq)]
struct PixelPlace {
    pixel: usize,
    next: usize,
    /// How far it is on the way to the next.
    fraction: f32,
}

impl Motion {
    /// The motion of an image in an epoch: a function of the seed, the epoch and the image alone.
    pub fn draw(motions: &Motions, epoch: usize, image: usize) -> Self {
        if !motions.flip && motions.shift == 0 {
            return Self::default();
        }
        let mut rng = motions.seed.derive("motion", epoch as u64).derive("image", image as u64).rng();
        let range = motions.shift as f64;
        let mut shift = || match motions.subpixel {
            true => uniform(&mut rng, -range, range),
            false => uniform(&mut rng, -range - 0.5, range + 0.5).round().clamp(-range, range),
        };
        let (rows, columns) = (shift(), shift());
        Self { flip: motions.flip && uniform(&mut rng, 0.0, 1.0) < 0.5, rows, columns }
    }

    /// Where the rows and the columns of the moved image come from; beyond the border the border's pixels repeat.
    fn places(&self, side: usize) -> [Vec<PixelPlace>; 2] {
        let place = |index: usize, shift: f64| {
            let position = (index as f64 + shift).clamp(0.0, (side - 1) as f64);
            let pixel = position as usize;
            PixelPlace { pixel, next: (pixel + 1).min(side - 1), fraction: (position - pixel as f64) as f32 }
        };
        let rows = (0..side).map(|row| place(row, self.rows)).collect();
        let mirrored = |column: usize| if self.flip { side - 1 - column } else { column };
        [rows, (0..side).map(|column| place(mirrored(column), self.columns)).collect()]
    }
}

/// The value of a plane of pixels at a place, interpolated bilinearly; at a pixel its own, to the bit.
fn value_at(plane: &[f32], side: usize, row: PixelPlace, column: PixelPlace) -> f32 {
    let between = |a: f32, b: f32, fraction: f32| a + fraction * (b - a);
    let in_row = |row: usize| {
        let pixels = &plane[row * side..(row + 1) * side];
        between(pixels[column.pixel], pixels[column.next], column.fraction)
    };
    between(in_row(row.pixel), in_row(row.next), row.fraction)
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
        let [rows, columns] = motions.get(sample).copied().unwrap_or_default().places(side);
        for (channel, (plane, &(mean, deviation))) in image.chunks_exact(nodes).zip(&statistics).enumerate() {
            for node in 0..nodes {
                let value = value_at(plane, side, rows[node / side], columns[node % side]);
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

    /// A plane of 4 x 4 pixels, numbered, after a motion.
    fn moved(motion: Motion) -> Vec<f32> {
        let plane: Vec<f32> = (0..16).map(|i| i as f32).collect();
        let [rows, columns] = motion.places(4);
        (0..16).map(|node| value_at(&plane, 4, rows[node / 4], columns[node % 4])).collect()
    }

    #[test]
    fn images_are_mirrored_moved_and_repeated_beyond_the_border() {
        let still = Motion::default();
        assert_eq!(moved(still), (0..16).map(|i| i as f32).collect::<Vec<_>>());
        assert_eq!(moved(Motion { flip: true, ..still })[2 * 4 + 3], 8.0);
        assert_eq!(moved(Motion { rows: 1.0, columns: -2.0, ..still })[3 * 4 + 1], 12.0);
    }

    #[test]
    fn fractions_of_a_pixel_are_interpolated() {
        // The plane is 4 row + column: linear, so that between the pixels it is exact, and constant beyond the border.
        let between = moved(Motion { flip: false, rows: 0.25, columns: -0.5 });
        for (node, &value) in between.iter().enumerate() {
            let (row, column) = ((node / 4) as f32 + 0.25, (node % 4) as f32 - 0.5);
            assert_eq!(value, 4.0 * row.min(3.0) + column.max(0.0), "node {node}");
        }
    }

    #[test]
    fn motions_are_drawn_evenly() {
        let motions = Motions { flip: true, shift: 4, subpixel: false, seed: Seed::new(0) };
        let drawn: Vec<Motion> = (0..2000).map(|image| Motion::draw(&motions, 3, image)).collect();
        assert_eq!(drawn[7], Motion::draw(&motions, 3, 7));
        let flips = drawn.iter().filter(|m| m.flip).count();
        assert!((900..1100).contains(&flips), "{flips}");
        for rows in -4..=4 {
            let count = drawn.iter().filter(|m| m.rows == f64::from(rows)).count();
            assert!((150..300).contains(&count), "{rows}: {count}");
        }
        let motions = Motions { subpixel: true, ..motions };
        let drawn: Vec<f64> = (0..2000).map(|image| Motion::draw(&motions, 3, image).columns).collect();
        for cell in -8..8 {
            let count = drawn.iter().filter(|&&shift| (2.0 * shift).floor() == f64::from(cell)).count();
            assert!((75..175).contains(&count), "{cell}: {count}");
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
