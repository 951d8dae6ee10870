//! Linear maps from the pixels of one resolution to those of another, applied to every sample and channel.

use crate::engine::Engine;
use crate::field::images::Resampling;
use crate::linalg::{Real, each_piece, vectorised};
use crate::operation::{InTests, Operation, Seen, operate};
use burn::tensor::{Tensor, TensorData};
use std::sync::Arc;

/// What one new pixel is made of: pixels and their weights.
pub(crate) type Mixture = Vec<(usize, f64)>;

/// Each pixel once, and only those that count.
fn mixture<const N: usize>(entries: [(usize, f64); N]) -> Mixture {
    let mut sum = Mixture::new();
    for (pixel, weight) in entries {
        match sum.iter_mut().find(|(known, _)| *known == pixel) {
            Some((_, total)) => *total += weight,
            None => sum.push((pixel, weight)),
        }
    }
    sum.retain(|&(_, weight)| weight != 0.0);
    sum
}

/// A map from the pixels of one resolution to those of another: a sparse matrix row by row, and its transpose.
#[derive(Clone, Debug)]
pub struct PixelMap {
    forward: Arc<Vec<Mixture>>,
    backward: Arc<Vec<Mixture>>,
}

impl PixelMap {
    /// The map of both axes of an image from that of one.
    fn new(from: usize, axis: Vec<Mixture>) -> Self {
        let pairs = axis.iter().flat_map(|rows| axis.iter().map(move |columns| (rows, columns)));
        let entries = |(rows, columns): (&Mixture, &Mixture)| {
            let product = rows.iter().flat_map(|&(i, a)| columns.iter().map(move |&(j, b)| (i * from + j, a * b)));
            product.collect()
        };
        Self::from_rows(pairs.map(entries).collect(), from * from)
    }

    /// Any sparse matrix with so many columns.
    pub(crate) fn from_rows(rows: Vec<Mixture>, columns: usize) -> Self {
        let mut transposed = vec![Vec::new(); columns];
        for (row, entries) in rows.iter().enumerate() {
            entries.iter().for_each(|&(column, weight)| transposed[column].push((row, weight)));
        }
        Self { forward: Arc::new(rows), backward: Arc::new(transposed) }
    }

    /// What each new pixel is made of.
    pub(crate) fn rows(&self) -> &[Mixture] {
        &self.forward
    }

    /// Averages over the cells of another resolution: each new pixel is the mean of what lies in it.
    pub fn average(from: usize, to: usize) -> Self {
        let row = |j: usize| {
            let (low, high) = (j * from, (j + 1) * from);
            let cells = (low / to)..high.div_ceil(to);
            // In units of 1 / (from * to) of the side all boundaries are whole numbers.
            let part = |i: usize| ((i + 1) * to).min(high) - (i * to).max(low);
            cells.map(|i| (i, part(i) as f64 / from as f64)).collect()
        };
        Self::new(from, (0..to).map(row).collect())
    }

    /// Bilinear interpolation, as images are resampled.
    pub fn bilinear(from: usize, to: usize, rule: Resampling) -> Self {
        let row = |pixel: usize| {
            let (first, second, share) = rule.between(pixel, from, to);
            mixture([(first, 1.0 - share), (second, share)])
        };
        Self::new(from, (0..to).map(row).collect())
    }

    /// The multiscale networks' operators: S to a finer image, which is how images are made finer, and U to a coarser one, its left
    /// inverse: U S = 1. `None` for resolutions of which neither is a multiple of the other.
    pub fn multiscale(from: usize, to: usize, rule: Resampling) -> Option<Self> {
        if to.is_multiple_of(from) {
            return Some(Self::bilinear(from, to, rule));
        }
        from.is_multiple_of(to).then(|| Self::restriction(to, from / to, rule))
    }

    /// To so many pixels along a side from `factor` times as many.
    fn restriction(to: usize, factor: usize, rule: Resampling) -> Self {
        let from = to * factor;
        let row = |pixel: usize| {
            let middle = pixel * factor + factor / 2;
            match rule {
                Resampling::Aligned => mixture([(pixel * factor, 1.0)]),
                Resampling::Centred if !factor.is_multiple_of(2) => mixture([(middle, 1.0)]),
                // The centre lies between two fine pixels. On either side of it S is linear over the next two, which lie
                // at 1 : 3 from it: both lines are continued to the centre, and the mean is taken.
                Resampling::Centred => {
                    let inside = |at: usize| at.clamp(1, from) - 1;
                    let around = [(middle - 1, -0.25), (middle, 0.75), (middle + 1, 0.75), (middle + 2, -0.25)];
                    mixture(around.map(|(at, weight)| (inside(at), weight)))
                }
            }
        };
        Self::new(from, (0..to).map(row).collect())
    }

    /// Applies the map to a state (nodes x samples x channels).
    pub fn apply(&self, input: Tensor<3>, engine: Engine) -> Tensor<3> {
        if engine.is_fused(&input.device()) {
            return operate([input.into_dispatch()], self.clone());
        }
        let [nodes, samples, channels] = input.dims();
        let rows = self.forward.len();
        let mut matrix = vec![0.0; rows * nodes];
        for (row, entries) in self.forward.iter().enumerate() {
            entries.iter().for_each(|&(column, weight)| matrix[row * nodes + column] += weight);
        }
        let data = TensorData::new(matrix, [rows, nodes]);
        let matrix = Tensor::<2>::from_data(data, (&input.device(), input.dtype()));
        matrix.matmul(input.reshape([nodes, samples * channels])).reshape([rows, samples, channels])
    }
}

fn multiply<T: Real>(rows: &[Mixture], input: &[T], length: usize) -> Vec<T> {
    // Short rows some at a time: a task must be worth its while.
    let together = 2048usize.div_ceil(length.max(1));
    each_piece(rows.len() * length, together * length, |index, result| {
        vectorised!({
            for (result, row) in result.chunks_exact_mut(length).zip(&rows[index * together..]) {
                for &(source, weight) in row {
                    let weight = T::of(weight);
                    let values = &input[source * length..(source + 1) * length];
                    result.iter_mut().zip(values).for_each(|(r, &v)| *r += weight * v);
                }
            }
        });
    })
}

impl Operation<1> for PixelMap {
    type Saved<T: Real> = ();
    type Double = InTests;

    fn shape(&self, [input]: [&[usize]; 1]) -> Vec<usize> {
        vec![self.forward.len(), input[1], input[2]]
    }

    fn forward<T: Real>(&self, [input]: [&[T]; 1], _: bool) -> (Vec<T>, ()) {
        (multiply(&self.forward, input, input.len() / self.backward.len()), ())
    }

    fn backward<T: Real>(&self, Seen { gradient, .. }: Seen<T, (), 1>) -> [Option<Vec<T>>; 1] {
        [Some(multiply(&self.backward, gradient, gradient.len() / self.forward.len()))]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::field::images::Resampler;
    use burn::tensor::Device;
    use proptest::prelude::*;

    fn run(map: &PixelMap, values: Vec<f64>) -> Vec<f64> {
        let nodes = values.len();
        let input = Tensor::<3>::from_data(TensorData::new(values, [nodes, 1, 1]), &Device::flex());
        map.apply(input, Engine::Automatic).into_data().iter::<f64>().collect()
    }

    #[test]
    fn by_hand() {
        let image: Vec<f64> = (0..16).map(f64::from).collect();
        assert_eq!(run(&PixelMap::average(4, 2), image.clone()), [2.5, 4.5, 10.5, 12.5]);
        let (centred, aligned) = (Resampling::Centred, Resampling::Aligned);
        assert_eq!(run(&PixelMap::bilinear(4, 2, centred), image.clone()), [2.5, 4.5, 10.5, 12.5]);
        assert_eq!(run(&PixelMap::bilinear(4, 2, aligned), image.clone()), [0.0, 2.0, 8.0, 10.0]);
        assert_eq!(run(&PixelMap::multiscale(4, 2, aligned).unwrap(), image.clone()), [0.0, 2.0, 8.0, 10.0]);
        let finer = run(&PixelMap::multiscale(2, 4, aligned).unwrap(), vec![0.0, 2.0, 4.0, 6.0]);
        assert_eq!(finer[..8], [0.0, 1.0, 2.0, 2.0, 2.0, 3.0, 4.0, 4.0]);
        assert_eq!(finer[8..], [4.0, 5.0, 6.0, 6.0, 4.0, 5.0, 6.0, 6.0]);
        // Along a side (-0 + 3 * 0 + 3 * 1 - 2) / 4 and (-1 + 3 * 2 + 3 * 3 - 3) / 4 in units of a column, 4 of a row.
        let coarser = run(&PixelMap::multiscale(4, 2, centred).unwrap(), image);
        assert_eq!(coarser, [1.25, 3.75, 11.25, 13.75]);
        // Cells that are not whole: three pixels over two.
        let thirds = run(&PixelMap::average(3, 2), vec![1.0; 9]);
        assert!(thirds.iter().all(|v| (v - 1.0).abs() < 1e-6));
        assert!(PixelMap::multiscale(28, 21, aligned).is_none());
    }

    proptest! {
        /// U S = 1 for images and features alike: S is the very map that makes finer images.
        #[test]
        fn restriction_undoes_prolongation(
            image in proptest::collection::vec(-1.0f64..1.0, 49),
            factor in 2usize..7,
            is_aligned: bool,
        ) {
            let rule = if is_aligned { Resampling::Aligned } else { Resampling::Centred };
            let pixels: Vec<f32> = image.iter().map(|&v| v as f32).collect();
            let there = run(&PixelMap::multiscale(7, 7 * factor, rule).unwrap(), image.clone());
            let finer = Resampler::new(7, 7 * factor, rule).unwrap().apply(&pixels);
            for (a, b) in there.iter().zip(&finer) {
                prop_assert!((a - f64::from(*b)).abs() < 1e-6);
            }
            let back = run(&PixelMap::multiscale(7 * factor, 7, rule).unwrap(), there);
            for (a, b) in back.iter().zip(&image) {
                // Tensors are of single precision here.
                prop_assert!((a - b).abs() < 1e-6);
            }
        }
    }
}
