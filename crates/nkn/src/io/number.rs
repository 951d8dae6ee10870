//! The ways in which files store a number; all are read as f64.

/// How a number is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Number {
    I8,
    U8,
    I16,
    U16,
    I32,
    U32,
    I64,
    U64,
    F32,
    F64,
}

impl Number {
    /// The size in bytes.
    pub(super) fn size(self) -> usize {
        match self {
            Self::I8 | Self::U8 => 1,
            Self::I16 | Self::U16 => 2,
            Self::I32 | Self::U32 | Self::F32 => 4,
            Self::I64 | Self::U64 | Self::F64 => 8,
        }
    }

    /// What NumPy's descriptor (`<f8`, `>i4`, `|u1`) says, and whether the first byte is the largest.
    pub(super) fn of_numpy(descriptor: &str) -> Option<(Self, bool)> {
        let (order, kind) = descriptor.split_at_checked(1)?;
        let number = match kind {
            "i1" => Self::I8,
            "u1" | "b1" => Self::U8,
            "i2" => Self::I16,
            "u2" => Self::U16,
            "i4" => Self::I32,
            "u4" => Self::U32,
            "i8" => Self::I64,
            "u8" => Self::U64,
            "f4" => Self::F32,
            "f8" => Self::F64,
            _ => return None,
        };
        matches!(order, "<" | ">" | "|").then_some((number, order == ">"))
    }

    /// Replaces `values` by the numbers in `bytes`.
    pub(super) fn decode(self, big_endian: bool, bytes: &[u8], values: &mut Vec<f64>) {
        fn each<const N: usize>(bytes: &[u8], values: &mut Vec<f64>, read: impl Fn([u8; N]) -> f64) {
            values.clear();
            values.extend(bytes.as_chunks::<N>().0.iter().map(|number| read(*number)));
        }
        macro_rules! each {
            ($number:ty) => {
                if big_endian {
                    each(bytes, values, |b| <$number>::from_be_bytes(b) as f64)
                } else {
                    each(bytes, values, |b| <$number>::from_le_bytes(b) as f64)
                }
            };
        }
        match self {
            Self::I8 => each!(i8),
            Self::U8 => each!(u8),
            Self::I16 => each!(i16),
            Self::U16 => each!(u16),
            Self::I32 => each!(i32),
            Self::U32 => each!(u32),
            Self::I64 => each!(i64),
            Self::U64 => each!(u64),
            Self::F32 => each!(f32),
            Self::F64 => each!(f64),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptors_of_numpy_give_type_and_byte_order() {
        let mut values = Vec::new();
        for (descriptor, bytes, expected) in [
            ("<f8", &(-1.5f64).to_le_bytes()[..], -1.5),
            (">f4", &0.25f32.to_be_bytes(), 0.25),
            (">i2", &[0xff, 0xfe], -2.0),
            ("<u4", &[1, 0, 0, 1], 16_777_217.0),
            ("|b1", &[1], 1.0),
        ] {
            let (number, big_endian) = Number::of_numpy(descriptor).unwrap();
            assert_eq!(number.size(), bytes.len());
            number.decode(big_endian, bytes, &mut values);
            assert_eq!(values, [expected], "{descriptor}");
        }
        for other in ["", "<", "<f2", "<c16", "|O", "=f8", "f8", "é8"] {
            assert_eq!(Number::of_numpy(other), None, "{other}");
        }
    }
}
