//! Random numbers as an argument: a [`Seed`] is passed down and split by purpose, there is no global generator.
//!
//! The streams are part of the reproducibility contract: the same seed gives the same numbers in every release
//! and on every machine. So the hash, the expansion to a key and the conversion to floating point are all
//! written out here, rather than left to a dependency that may change them, and the tests hold fixed values.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

/// Where a stream of random numbers starts.
///
/// ```
/// use nkn::seed::Seed;
///
/// let run = Seed::new(7);
/// let shuffle = run.derive("shuffle", 3); // of epoch 3: independent of all other epochs and purposes
/// assert_eq!(shuffle.permutation(5), run.derive("shuffle", 3).permutation(5));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seed(u64);

impl Seed {
    /// The seed that the user gives.
    pub fn new(value: u64) -> Self {
        Self(value)
    }

    /// The number, for files and messages.
    pub fn value(&self) -> u64 {
        self.0
    }

    /// The seed of one purpose, and of one epoch, sample or layer within it.
    ///
    /// The value is FNV-1a (64 bit) over this seed in little-endian bytes, the purpose, one byte 0xff (which no
    /// UTF-8 text contains, so no purpose can run into the index) and the index in little-endian bytes, mixed by the
    /// finaliser of splitmix64.
    pub fn derive(&self, purpose: &str, index: u64) -> Self {
        const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
        const PRIME: u64 = 0x0000_0100_0000_01b3;
        let bytes = self.0.to_le_bytes().into_iter();
        let bytes = bytes.chain(purpose.bytes()).chain([0xff]);
        let hash =
            bytes.chain(index.to_le_bytes()).fold(OFFSET, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(PRIME));
        Self(mix(hash))
    }

    /// The generator that starts here: ChaCha8, its key the first four outputs of splitmix64.
    pub fn rng(&self) -> ChaCha8Rng {
        const STEP: u64 = 0x9e37_79b9_7f4a_7c15;
        let mut key = [0; 32];
        let mut state = self.0;
        for word in key.chunks_exact_mut(8) {
            state = state.wrapping_add(STEP);
            word.copy_from_slice(&mix(state).to_le_bytes());
        }
        ChaCha8Rng::from_seed(key)
    }

    /// The numbers 0 to n - 1 in random order (Fisher and Yates).
    pub fn permutation(&self, n: usize) -> Vec<usize> {
        let mut rng = self.rng();
        let mut order: Vec<usize> = (0..n).collect();
        for last in (1..n).rev() {
            // The high half of the product is below last + 1; its bias, (last + 1) / 2^64, is far below
            // anything that can be measured.
            let chosen = (u128::from(rng.next_u64()) * (last as u128 + 1)) >> 64;
            order.swap(last, chosen as usize);
        }
        order
    }
}

/// A number drawn uniformly from low (included) to high (excluded, up to rounding).
pub fn uniform(rng: &mut impl Rng, low: f64, high: f64) -> f64 {
    // 53 bits: every multiple of 2^-53 in [0, 1) is equally likely.
    let unit = (rng.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
    low + (high - low) * unit
}

/// The finaliser of splitmix64: every input bit changes about half of the output bits.
fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_streams_never_change() {
        // From an independent implementation of all of this in Python.
        let seed = Seed::new(42);
        assert_eq!(seed.derive("weights", 0).value(), 7_276_264_462_934_194_475);
        assert_eq!(Seed::new(0).derive("", 1).value(), 10_104_505_448_896_461_781);
        let mut rng = seed.rng();
        assert_eq!(rng.next_u64(), 3_536_907_876_931_541_756);
        assert_eq!(rng.next_u64(), 1_681_417_456_739_323_905);
        let number = uniform(&mut seed.rng(), -1.0, 3.0);
        assert_eq!(number.to_bits(), 0xbfcd_d4c2_0cf0_6dd0);
        assert_eq!(seed.permutation(8), [2, 7, 4, 6, 3, 5, 0, 1]);
    }

    #[test]
    fn mixing_is_splitmix64() {
        // The reference implementation's first three outputs from the state 1234567.
        let step = 0x9e37_79b9_7f4a_7c15_u64;
        let outputs = [1, 2, 3].map(|i| mix(step.wrapping_mul(i).wrapping_add(1_234_567)));
        assert_eq!(outputs, [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]);
    }

    #[test]
    fn purposes_and_indices_are_told_apart() {
        let seed = Seed::new(1);
        let seeds = [
            seed,
            seed.derive("a", 0),
            seed.derive("a", 1),
            seed.derive("b", 0),
            seed.derive("a\0", 0),
            seed.derive("a", 0).derive("a", 0),
            Seed::new(2).derive("a", 0),
        ];
        for (i, first) in seeds.iter().enumerate() {
            for second in &seeds[..i] {
                assert_ne!(first, second);
            }
        }
    }

    #[test]
    fn uniform_numbers_stay_inside_and_fill_the_interval() {
        let mut rng = Seed::new(3).rng();
        let numbers: Vec<f64> = (0..10_000).map(|_| uniform(&mut rng, 2.0, 4.0)).collect();
        assert!(numbers.iter().all(|x| (2.0..4.0).contains(x)));
        let mean = numbers.iter().sum::<f64>() / 10_000.0;
        let variance = numbers.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / 10_000.0;
        // Five standard deviations of the mean of 10,000, and of their variance.
        assert!((mean - 3.0).abs() < 0.03, "{mean}");
        assert!((variance - 1.0 / 3.0).abs() < 0.02, "{variance}");
    }

    #[test]
    fn permutations_hold_every_number_once_and_every_order_is_as_likely() {
        assert_eq!(Seed::new(1).permutation(0), [0; 0]);
        assert_eq!(Seed::new(1).permutation(1), [0]);
        let mut sorted = Seed::new(5).permutation(1000);
        sorted.sort_unstable();
        assert!(sorted.iter().copied().eq(0..1000));
        let mut seen = std::collections::HashMap::new();
        for i in 0..6000 {
            let order = Seed::new(9).derive("order", i).permutation(3);
            *seen.entry(order).or_insert(0) += 1;
        }
        assert_eq!(seen.len(), 6);
        // 1000 each; six standard deviations are 173.
        assert!(seen.values().all(|n| (827..=1173).contains(n)), "{seen:?}");
    }
}
