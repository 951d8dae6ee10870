//! Images with labels, at any resolution: MNIST, Fashion-MNIST and CIFAR-10.
//!
//! [`prepare`] finds the files of a set or fetches them and checks their SHA-256, [`load`] reads them, and a
//! [`Resampler`] brings them to another resolution. Neither MNIST nor CIFAR-10 has a clear licence, so no image is part
//! of this project.
//!
//! Pixels are count x channels x side x side: image after image, plane after plane, row after row. That is the order
//! in the official files of CIFAR-10 and the one that convolutions take.

mod cifar;
mod cifar_png;
mod fetch;
mod idx;
mod load;
mod resample;
mod source;
mod table;

pub use cifar::read_cifar;
pub use fetch::{Prepared, Progress, Step, prepare};
pub use idx::read_idx;
pub use load::{ImageData, load};
pub use resample::Resampler;
pub use table::ImageSet;

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
        if let Some(index) = first_bad_label(&labels) {
            let got = format!("{} at image {index}", labels[index]);
            return Err(Error::invalid("labels", format!("0 to {}", CLASSES - 1), got, "check the labels"));
        }
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

    /// Two sets of images: the first so many of the given order, and the others.
    ///
    /// The paper's 50,000 and 10,000 images of MNIST are such a split of the official 60,000 training images, with an
    /// order that a fixed seed gives.
    ///
    /// ```
    /// use nkn::{problem::images::Images, seed::Seed};
    ///
    /// let six = Images::new(1, 1, vec![0, 10, 20, 30, 40, 50], vec![0, 1, 2, 3, 4, 5])?;
    /// let order = Seed::new(0).derive("split", 0).permutation(six.count);
    /// let (training, testing) = six.split(&order, 5)?;
    /// assert_eq!((training.count, testing.count), (5, 1));
    /// assert_eq!(usize::from(testing.labels[0]), order[5]);
    /// # Ok::<(), nkn::Error>(())
    /// ```
    pub fn split(&self, order: &[usize], first: usize) -> Result<(Self, Self)> {
        let mut seen = vec![false; self.count];
        let all_once = order.iter().all(|&index| seen.get_mut(index).is_some_and(|s| !std::mem::replace(s, true)));
        if !all_once || order.len() != self.count {
            let expected = format!("a permutation of the {} images", self.count);
            let got = format!("{} numbers, not each image once", order.len());
            return Err(Error::invalid("order of a split", expected, got, "use Seed::permutation(count)"));
        }
        let Some((training, testing)) = order.split_at_checked(first) else {
            let expected = format!("at most {} images", self.count);
            return Err(Error::invalid("first part of a split", expected, first, "choose a smaller part"));
        };
        Ok((self.select(training), self.select(testing)))
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
        assert_eq!(self.side, resampler.from_side(), "a resampler for images of another side");
        let pixels = indices.iter().flat_map(|&index| self.image(index));
        let values: Vec<f32> = pixels.map(|&pixel| f32::from(pixel) / 255.0).collect();
        resampler.apply(&values)
    }

    fn values_per_image(&self) -> usize {
        self.channels * self.side * self.side
    }
}

/// The place of the first label that is no class.
fn first_bad_label(labels: &[u8]) -> Option<usize> {
    labels.iter().position(|&label| usize::from(label) >= CLASSES)
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
    fn splits_hold_every_image_once() {
        let count = 60;
        let all = Images::new(1, 1, (0..count).collect(), (0..count).map(|i| i % 10).collect()).unwrap();
        let order = Seed::new(0).permutation(60);
        let (training, testing) = all.split(&order, 50).unwrap();
        assert_eq!((training.count, testing.count), (50, 10));
        let mut pixels = [training.pixels, testing.pixels].concat();
        assert!(pixels.iter().zip(&order).all(|(&pixel, &index)| usize::from(pixel) == index));
        pixels.sort_unstable();
        assert_eq!(pixels, all.pixels);
    }

    #[test]
    fn what_is_no_split_is_refused() {
        for (order, first) in [(vec![0, 1], 1), (vec![0, 1, 1], 1), (vec![0, 1, 3], 1), (vec![0, 1, 2, 2], 1)] {
            let message = three().split(&order, first).unwrap_err().to_string();
            assert!(message.contains("permutation of the 3 images"), "{message}");
        }
        let message = three().split(&[2, 1, 0], 4).unwrap_err().to_string();
        assert!(message.contains("at most 3"), "{message}");
    }

    #[test]
    fn sizes_and_labels_are_checked() {
        let message = Images::new(2, 1, vec![0; 9], vec![1, 2]).unwrap_err().to_string();
        assert!(message.contains("2 images of 1 x 2 x 2") && message.contains("9 values"), "{message}");
        let message = Images::new(1, 1, vec![0; 3], vec![1, 2, 10]).unwrap_err().to_string();
        assert!(message.contains("10 at image 2"), "{message}");
    }

    #[test]
    fn values_are_between_0_and_1_at_any_resolution() {
        let images = Images::new(2, 1, vec![9, 9, 9, 9, 0, 255, 255, 0], vec![1, 2]).unwrap();
        let same = images.values(&[1], &Resampler::new(2, 2).unwrap());
        assert_eq!(same, [0.0, 1.0, 1.0, 0.0]);
        let coarse = images.values(&[1, 0], &Resampler::new(2, 1).unwrap());
        assert_eq!(coarse, [0.5, 9.0 / 255.0]);
    }
}
