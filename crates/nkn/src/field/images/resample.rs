//! Bilinear interpolation of images.

use crate::{Error, Result};
use serde::{Deserialize, Serialize};

/// Where the pixels of one resolution lie among those of another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Resampling {
    /// A pixel is a cell and its value stands at the centre: pixel i of n at (i + 1/2) / n. Halving gives the mean of
    /// every 2 x 2 pixels.
    #[default]
    Centred,
    /// A pixel is a node of a grid whose first node all resolutions share: pixel i of n at i / n. Doubling copies the
    /// pixels to the even ones and averages between them, halving takes every second one and so undoes it.
    Aligned,
}

impl Resampling {
    /// Whether it is the rule of data that name none.
    pub fn is_usual(&self) -> bool {
        *self == Self::default()
    }

    /// Where pixel number `pixel` of `to` lies among `from`: at or after which one, the one that follows, and the
    /// latter's share. Beyond the outermost pixels the image goes on as they are.
    pub(crate) fn between(self, pixel: usize, from: usize, to: usize) -> (usize, usize, f64) {
        // A fraction with the denominator 2 to, in whole numbers, so that no rounding moves it into the next pixel.
        let whole = 2 * to;
        let at = match self {
            Resampling::Centred => ((2 * pixel + 1) * from).saturating_sub(to),
            Resampling::Aligned => 2 * pixel * from,
        };
        let first = (at / whole).min(from - 1);
        (first, (first + 1).min(from - 1), (at % whole) as f64 / whole as f64)
    }
}

/// Brings square planes from one side to another.
///
/// Between pixels the value is bilinear, beyond the outermost ones it is that of the nearest. A coarsening by more than
/// 2 skips pixels, so halve repeatedly instead.
///
/// ```
/// use nkn::field::images::{Resampler, Resampling};
///
/// let image = [1.0, 2.0, 3.0, 6.0];
/// assert_eq!(Resampler::new(2, 1, Resampling::Centred)?.apply(&image), [3.0]);
/// assert_eq!(Resampler::new(2, 1, Resampling::Aligned)?.apply(&image), [1.0]);
/// # Ok::<(), nkn::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Resampler {
    /// The side of the images that come in.
    pub(super) from: usize,
    /// For each pixel along a side of the result.
    taps: Vec<Tap>,
}

/// A value between two neighbouring pixels.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Tap {
    first: usize,
    second: usize,
    /// Of the two; they add up to 1.
    weights: [f32; 2],
}

impl Resampler {
    /// From images with one number of pixels along a side to images with another.
    pub fn new(from: usize, to: usize, rule: Resampling) -> Result<Self> {
        for (what, side) in [("side of the images", from), ("side to resample to", to)] {
            if !(1..=1 << 20).contains(&side) {
                return Err(Error::invalid(what, "1 to 1048576 pixels", side, "choose 14, 28 or 56, or 16, 32 or 64"));
            }
        }
        Ok(Self { from, taps: (0..to).map(|pixel| Tap::new(rule.between(pixel, from, to))).collect() })
    }

    /// Resamples any number of planes, one after the other.
    ///
    /// # Panics
    /// When these are not whole planes.
    pub fn apply(&self, planes: &[f32]) -> Vec<f32> {
        let (from, to) = (self.from, self.taps.len());
        assert!(planes.len().is_multiple_of(from * from), "{} values are no planes of {from} x {from}", planes.len());
        if from == to {
            return planes.to_vec();
        }
        let mut result = Vec::with_capacity(planes.len() / (from * from) * to * to);
        let mut rows = vec![0.0; from * to];
        for plane in planes.chunks_exact(from * from) {
            for (row, pixels) in rows.chunks_exact_mut(to).zip(plane.chunks_exact(from)) {
                for (value, tap) in row.iter_mut().zip(&self.taps) {
                    *value = tap.between(pixels[tap.first], pixels[tap.second]);
                }
            }
            for tap in &self.taps {
                let row = |index: usize| &rows[index * to..(index + 1) * to];
                result.extend(row(tap.first).iter().zip(row(tap.second)).map(|(&a, &b)| tap.between(a, b)));
            }
        }
        result
    }
}

impl Tap {
    fn new((first, second, share): (usize, usize, f64)) -> Self {
        Self { first, second, weights: [(1.0 - share) as f32, share as f32] }
    }

    fn between(&self, first: f32, second: f32) -> f32 {
        self.weights[0] * first + self.weights[1] * second
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resample(plane: &[f32], from: usize, to: usize) -> Vec<f32> {
        Resampler::new(from, to, Resampling::Centred).unwrap().apply(plane)
    }

    fn aligned(plane: &[f32], from: usize, to: usize) -> Vec<f32> {
        Resampler::new(from, to, Resampling::Aligned).unwrap().apply(plane)
    }

    /// Numbers without a pattern, exact in f32.
    fn noise(count: usize) -> Vec<f32> {
        (0..count as u64).map(|i| (i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as f32 / 1024.0).collect()
    }

    #[test]
    fn doubling_agrees_with_values_computed_by_hand() {
        // Centres of the fine pixels, in coarse pixels: -1/4 (so 0), 1/4, 3/4, 5/4 (so 1).
        let expected =
            [[0.0, 4.0, 12.0, 16.0], [8.0, 13.0, 23.0, 28.0], [24.0, 31.0, 45.0, 52.0], [32.0, 40.0, 56.0, 64.0]];
        assert_eq!(resample(&[0.0, 16.0, 32.0, 64.0], 2, 4), expected.concat());
    }

    #[test]
    fn aligned_doubling_agrees_with_values_computed_by_hand() {
        // Even points copied, odd ones averaged, the last value repeated.
        let rows = [[0.0, 8.0, 16.0, 16.0], [16.0, 28.0, 40.0, 40.0], [32.0, 48.0, 64.0, 64.0]];
        assert_eq!(aligned(&[0.0, 16.0, 32.0, 64.0], 2, 4), [rows[0], rows[1], rows[2], rows[2]].concat());
        assert_eq!(aligned(&[0.0, 3.0, 6.0, 9.0], 2, 3), [0.0, 2.0, 3.0, 4.0, 6.0, 7.0, 6.0, 8.0, 9.0]);
    }

    #[test]
    fn aligned_halving_undoes_doubling_to_the_bit() {
        for side in [28, 32] {
            let plane = noise(side * side);
            assert_eq!(aligned(&aligned(&plane, side, 2 * side), 2 * side, side), plane);
            let half = side / 2;
            let coarse = aligned(&plane, side, half);
            assert!((0..half * half).all(|i| coarse[i] == plane[i / half * 2 * side + i % half * 2]));
        }
    }

    #[test]
    fn other_ratios_agree_with_values_computed_by_hand() {
        // 3 to 2: centres at 1/4 and 7/4. Row 0 gives 1 + 1/4 and 1/4 * 2 + 3/4 * 6, and so on.
        let plane = [1.0, 2.0, 6.0, 5.0, 5.0, 5.0, 9.0, 1.0, 1.0];
        let rows = [[1.25, 5.0], [5.0, 5.0], [7.0, 1.0]];
        let expected = [
            0.75 * rows[0][0] + 0.25 * rows[1][0],
            0.75 * rows[0][1] + 0.25 * rows[1][1],
            0.25 * rows[1][0] + 0.75 * rows[2][0],
            0.25 * rows[1][1] + 0.75 * rows[2][1],
        ];
        assert_eq!(expected, [2.1875, 5.0, 6.5, 2.0]);
        assert_eq!(resample(&plane, 3, 2), expected);
        // 2 to 3: centres at -1/6 (so 0), 1/2, 7/6 (so 1).
        assert_eq!(resample(&[0.0, 2.0, 4.0, 8.0], 2, 3), [0.0, 1.0, 2.0, 2.0, 3.5, 5.0, 4.0, 6.0, 8.0]);
        assert_eq!(resample(&[3.0], 1, 2), [3.0; 4]);
    }

    #[test]
    fn halving_is_exactly_the_mean_of_2_by_2() {
        for side in [28, 32, 56, 64] {
            let (plane, half) = (noise(side * side), side / 2);
            let coarse = resample(&plane, side, half);
            for (index, &value) in coarse.iter().enumerate() {
                let corner = index / half * 2 * side + index % half * 2;
                let [a, b, c, d] = [0, 1, side, side + 1].map(|step| plane[corner + step]);
                assert_eq!(value, ((a + b) + (c + d)) / 4.0);
            }
        }
    }

    #[test]
    fn constants_are_preserved() {
        for (from, to) in [(28, 14), (28, 56), (32, 16), (32, 64), (28, 28), (28, 33), (5, 3), (1, 7)] {
            let got = resample(&vec![0.7; from * from], from, to);
            assert_eq!(got.len(), to * to);
            // Four roundings of 2^-24 each.
            assert!(got.iter().all(|&value| (value - 0.7).abs() <= 0.7 * 2.4e-7), "{from} to {to}");
        }
        // Weights of 1/2, 1/4 and 3/4 do not round what has few digits.
        for (from, to) in [(28, 14), (28, 56), (32, 16), (32, 64)] {
            assert_eq!(resample(&vec![77.0; from * from], from, to), vec![77.0; to * to]);
        }
    }

    #[test]
    fn linear_functions_are_preserved_inside() {
        let centre = |pixel: usize, side: usize| (pixel as f32 + 0.5) / side as f32;
        let plane = |side: usize| -> Vec<f32> {
            let at = |node: usize| 1.0 + 2.0 * centre(node / side, side) - 3.0 * centre(node % side, side);
            (0..side * side).map(at).collect()
        };
        for (from, to) in [(28, 14), (28, 56), (32, 16), (32, 64), (28, 33), (14, 9)] {
            // Inside: between the outermost centres of the images that come in.
            let inside = |pixel: usize| (centre(0, from)..=centre(from - 1, from)).contains(&centre(pixel, to));
            let pairs = resample(&plane(from), from, to).into_iter().zip(plane(to)).enumerate();
            let mut checked = 0;
            for (node, (got, expected)) in pairs.filter(|(node, _)| inside(node / to) && inside(node % to)) {
                assert!((got - expected).abs() < 2e-6, "{from} to {to} at {node}: {got}, not {expected}");
                checked += 1;
            }
            assert!(checked >= (to - 2) * (to - 2));
        }
    }

    #[test]
    fn planes_do_not_mix_and_the_same_side_changes_nothing() {
        let planes = noise(3 * 25);
        let resampler = Resampler::new(5, 8, Resampling::Centred).unwrap();
        let one_by_one: Vec<f32> = planes.chunks(25).flat_map(|plane| resampler.apply(plane)).collect();
        assert_eq!(resampler.apply(&planes), one_by_one);
        assert_eq!(resample(&planes, 5, 5), planes);
        assert_eq!(resampler.apply(&[]), [0.0; 0]);
    }

    #[test]
    fn a_side_of_zero_is_refused() {
        for (from, to) in [(0, 4), (4, 0), (4, usize::MAX)] {
            let message = Resampler::new(from, to, Resampling::Aligned).unwrap_err().to_string();
            assert!(message.contains("expected 1 to 1048576 pixels"), "{message}");
        }
    }
}
