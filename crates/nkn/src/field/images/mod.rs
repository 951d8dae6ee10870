//! Images with labels, at any resolution.
//!
//! Pixels are count x channels x side x side: image after image, plane after plane, row after row. That is the order
//! in the official files of CIFAR-10 and the one that convolutions take. A [`Resampler`] brings images to another resolution.

mod resample;

pub use resample::{Resampler, Resampling};

use crate::{Error, Result};

/// The number of classes in each of these sets: labels are 0 to 9.
pub const CLASSES: usize = 10;

/// Square images with one label each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Images {
    /// The number of images.
    pub count: usize,
    /// The number of pixels along a side.
    pub side: usize,
    /// 1 (grey) or 3 (red, green, blue).
    pub channels: usize,
    /// count x channels x side x side; 0 is black, 255 is full.
    pub pixels: Vec<u8>,
    /// The class of each image, 0 to [`CLASSES`] - 1.
    pub labels: Vec<u8>,
}

impl Images {
    /// Images of which the sizes and the labels have been checked.
    pub fn new(side: usize, channels: usize, pixels: Vec<u8>, labels: Vec<u8>) -> Result<Self> {
        let count = labels.len();
        if pixels.len() != count * channels * side * side {
            let expected = format!("{count} images of {channels} x {side} x {side}, one for each label");
            let hint = "give whole images and a label for each";
            return Err(Error::invalid("pixels", expected, format!("{} values", pixels.len()), hint));
        }
        check_labels(&labels, |got, expected| Error::invalid("labels", expected, got, "check the labels"))?;
        Ok(Self { count, side, channels, pixels, labels })
    }

    /// The images with these numbers, in this order.
    ///
    /// # Panics
    /// When there is no image of such a number.
    pub fn select(&self, indices: &[usize]) -> Self {
        let mut pixels = Vec::with_capacity(indices.len() * self.values_per_image());
        indices.iter().for_each(|&index| pixels.extend_from_slice(self.image(index)));
        let labels = indices.iter().map(|&index| self.labels[index]).collect();
        Self { count: indices.len(), pixels, labels, ..*self }
    }

    /// The pixels of one image, channels x side x side.
    ///
    /// # Panics
    /// When there is no such image.
    pub fn image(&self, index: usize) -> &[u8] {
        let values = self.values_per_image();
        &self.pixels[index * values..(index + 1) * values]
    }

    /// Some images at the resampler's resolution: images x channels x side x side, 0 is black, 1 is full.
    ///
    /// # Panics
    /// When there is no image of such a number, or the resampler is for images of another side.
    pub fn values(&self, indices: &[usize], resampler: &Resampler) -> Vec<f32> {
        assert_eq!(self.side, resampler.from, "a resampler for images of another side");
        let pixels = indices.iter().flat_map(|&index| self.image(index));
        let values: Vec<f32> = pixels.map(|&pixel| f32::from(pixel) / 255.0).collect();
        resampler.apply(&values)
    }

    fn values_per_image(&self) -> usize {
        self.channels * self.side * self.side
    }
}

/// Refuses a label that is no class; `error` makes the message of what is wrong and what was expected.
pub(crate) fn check_labels(labels: &[u8], error: impl FnOnce(String, String) -> Error) -> Result<()> {
    match labels.iter().position(|&label| usize::from(label) >= CLASSES) {
        Some(index) => Err(error(format!("label {index} is {}", labels[index]), format!("0 to {}", CLASSES - 1))),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seed::Seed;

    /// Three coloured images of 2 x 2.
    fn three() -> Images {
        Images::new(2, 3, (0..36).collect(), vec![7, 8, 9]).unwrap()
    }

    #[test]
    fn selections_keep_images_with_their_labels() {
        let selected = three().select(&[2, 0, 2]);
        assert_eq!(selected.count, 3);
        assert_eq!(selected.labels, [9, 7, 9]);
        let expected: Vec<u8> = (24..36).chain(0..12).chain(24..36).collect();
        assert_eq!(selected.pixels, expected);
        assert_eq!(three().select(&[]).pixels, [0; 0]);
    }

    #[test]
    fn the_parts_of_a_permutation_hold_every_image_once() {
        let count = 60;
        let all = Images::new(1, 1, (0..count).collect(), (0..count).map(|i| i % 10).collect()).unwrap();
        let order = Seed::new(0).permutation(60);
        let (training, testing) = (all.select(&order[..50]), all.select(&order[50..]));
        assert_eq!((training.count, testing.count), (50, 10));
        let mut pixels = [training.pixels, testing.pixels].concat();
        assert!(pixels.iter().zip(&order).all(|(&pixel, &index)| usize::from(pixel) == index));
        pixels.sort_unstable();
        assert_eq!(pixels, all.pixels);
    }

    #[test]
    fn selecting_twice_is_selecting_what_was_selected() {
        let all = Images::new(2, 3, (0..120).collect(), (0..10).collect()).unwrap();
        let (first, second) = ([9, 0, 4, 4, 7], [4, 1, 0]);
        let once: Vec<usize> = second.iter().map(|&index| first[index]).collect();
        assert_eq!(all.select(&first).select(&second), all.select(&once));
        assert_eq!(all.select(&[3]).image(0), all.image(3));
    }

    #[test]
    fn sizes_and_labels_are_checked() {
        let message = Images::new(2, 1, vec![0; 9], vec![1, 2]).unwrap_err().to_string();
        assert!(message.contains("2 images of 1 x 2 x 2") && message.contains("9 values"), "{message}");
        let message = Images::new(1, 1, vec![0; 3], vec![1, 2, 10]).unwrap_err().to_string();
        assert!(message.contains("label 2 is 10"), "{message}");
    }

    #[test]
    fn values_are_between_0_and_1_at_any_resolution() {
        let images = Images::new(2, 1, vec![9, 9, 9, 9, 0, 255, 255, 0], vec![1, 2]).unwrap();
        let same = images.values(&[1], &Resampler::new(2, 2, Resampling::Aligned).unwrap());
        assert_eq!(same, [0.0, 1.0, 1.0, 0.0]);
        let coarse = images.values(&[1, 0], &Resampler::new(2, 1, Resampling::Centred).unwrap());
        assert_eq!(coarse, [0.5, 9.0 / 255.0]);
    }
}
