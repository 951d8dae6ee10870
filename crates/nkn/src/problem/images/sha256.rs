//! SHA-256, as it is written in lists of files.

use sha2::{Digest, Sha256};

/// A hash that is fed piece by piece, and the number of bytes it has seen.
#[derive(Clone, Default)]
pub(super) struct Hasher {
    state: Sha256,
    bytes: u64,
}

impl Hasher {
    /// Takes the next piece.
    pub(super) fn update(&mut self, piece: &[u8]) {
        self.state.update(piece);
        self.bytes += piece.len() as u64;
    }

    /// The number of bytes and the hash in hexadecimal digits.
    pub(super) fn finish(self) -> (u64, String) {
        (self.bytes, self.state.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_the_standard() {
        // FIPS 180-4, the one-block example, in two pieces.
        let mut hasher = Hasher::default();
        hasher.update(b"a");
        hasher.update(b"bc");
        let expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(hasher.finish(), (3, expected.to_string()));
    }
}
