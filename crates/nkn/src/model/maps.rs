//! Linear maps from the pixels of one resolution to those of another, applied to every sample and channel.

use crate::engine::Engine;
use crate::linalg::{Real, each_piece, vectorised};
use crate::operation::{Operation, Seen, operate};
use burn::tensor::{Tensor, TensorData};
use std::sync::Arc;

/// What one new pixel is made of: pixels and their weights.
pub(crate) type Mixture = Vec<(usize, f64)>;

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

    /// Bilinear interpolation at half-pixel centres.
    pub fn bilinear(from: usize, to: usize) -> Self {
        let row = |j: usize| {
            let at = ((j as f64 + 0.5) * from as f64 / to as f64 - 0.5).clamp(0.0, (from - 1) as f64);
            let (i, share) = (at as usize, at.fract());
            if share == 0.0 { vec![(i, 1.0)] } else { vec![(i, 1.0 - share), (i + 1, share)] }
        };
        Self::new(from, (0..to).map(row).collect())
    }

    /// The multiscale networks' operators: S to a finer image (even points copied, odd points averaged, the last value repeated), U to a
    /// coarser one (the even points), so that U S = I; once per factor of two. `None` for resolutions that are not related so.
    pub fn multiscale(from: usize, to: usize) -> Option<Self> {
        let mut axis: Vec<Mixture> = (0..from).map(|i| vec![(i, 1.0)]).collect();
        while axis.len() < to {
            let add = |a: &[(usize, f64)], b: &[(usize, f64)]| {
                let mut sum = Mixture::new();
                for &(i, w) in a.iter().chain(b) {
                    match sum.iter_mut().find(|(j, _)| *j == i) {
                        Some((_, total)) => *total += w / 2.0,
                        None => sum.push((i, w / 2.0)),
                    }
                }
                sum
            };
            let next = |i: usize| &axis[(i + 1).min(axis.len() - 1)];
            axis = (0..2 * axis.len())
                .map(|k| if k % 2 == 0 { axis[k / 2].clone() } else { add(&axis[k / 2], next(k / 2)) })
                .collect();
        }
        while axis.len() > to {
            axis = axis.into_iter().step_by(2).collect();
        }
        (axis.len() == to && (from.max(to) / from.min(to)).is_power_of_two()).then(|| Self::new(from, axis))
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
    use burn::tensor::Device;

    fn run(map: &PixelMap, values: Vec<f64>) -> Vec<f64> {
        let nodes = values.len();
        let input = Tensor::<3>::from_data(TensorData::new(values, [nodes, 1, 1]), &Device::flex());
        map.apply(input, Engine::Automatic).into_data().iter::<f64>().collect()
    }

    #[test]
    fn by_hand() {
        let image: Vec<f64> = (0..16).map(f64::from).collect();
        assert_eq!(run(&PixelMap::average(4, 2), image.clone()), [2.5, 4.5, 10.5, 12.5]);
        assert_eq!(run(&PixelMap::bilinear(4, 2), image.clone()), [2.5, 4.5, 10.5, 12.5]);
        assert_eq!(run(&PixelMap::multiscale(4, 2).unwrap(), image), [0.0, 2.0, 8.0, 10.0]);
        let finer = run(&PixelMap::multiscale(2, 4).unwrap(), vec![0.0, 2.0, 4.0, 6.0]);
        assert_eq!(finer[..8], [0.0, 1.0, 2.0, 2.0, 2.0, 3.0, 4.0, 4.0]);
        assert_eq!(finer[8..], [4.0, 5.0, 6.0, 6.0, 4.0, 5.0, 6.0, 6.0]);
        // Cells that are not whole: three pixels over two.
        let thirds = run(&PixelMap::average(3, 2), vec![1.0; 9]);
        assert!(thirds.iter().all(|v| (v - 1.0).abs() < 1e-6));
        assert!(PixelMap::multiscale(28, 21).is_none());
    }

    #[test]
    fn restriction_undoes_prolongation() {
        for factor in [2, 4] {
            let image: Vec<f64> = (0..25).map(|i| (f64::from(i) * 0.7).sin()).collect();
            let there = run(&PixelMap::multiscale(5, 5 * factor).unwrap(), image.clone());
            let back = run(&PixelMap::multiscale(5 * factor, 5).unwrap(), there);
            for (a, b) in back.iter().zip(&image) {
                assert!((a - b).abs() < 1e-6);
            }
        }
    }
}
