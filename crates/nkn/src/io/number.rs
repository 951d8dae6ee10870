//! The ways in which files store a number; all are read as f64.

/// Each way with its type and its names in NumPy and in MATLAB.
macro_rules! numbers {
    ($($number:ident: $type:ident = $name:literal $class:literal,)*) => {
        /// How a number is stored.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(super) enum Number {
            $($number,)*
        }

        impl Number {
            /// What MATLAB's `class` says of each, in the order of MATLAB's own numbers for them, which begin with 6.
            pub(super) const CLASSES: &[&str] = &[$($class),*];

            /// By its name in NumPy: `f8`, `i4`, `u1`.
            pub(super) fn named(name: &str) -> Option<Self> {
                match name {
                    $($name => Some(Self::$number),)*
                    _ => None,
                }
            }

            /// The size in bytes.
            pub(super) fn size(self) -> usize {
                match self {
                    $(Self::$number => size_of::<$type>(),)*
                }
            }

            /// Replaces `values` by the numbers in `bytes`.
            pub(super) fn decode(self, big_endian: bool, bytes: &[u8], values: &mut Vec<f64>) {
                match (self, big_endian) {
                    $((Self::$number, true) => each(bytes, values, |b| $type::from_be_bytes(b) as f64),
                    (Self::$number, false) => each(bytes, values, |b| $type::from_le_bytes(b) as f64),)*
                }
            }
        }
    };
}

numbers! {
    F64: f64 = "f8" "double",
    F32: f32 = "f4" "single",
    I8: i8 = "i1" "int8",
    U8: u8 = "u1" "uint8",
    I16: i16 = "i2" "int16",
    U16: u16 = "u2" "uint16",
    I32: i32 = "i4" "int32",
    U32: u32 = "u4" "uint32",
    I64: i64 = "i8" "int64",
    U64: u64 = "u8" "uint64",
}

fn each<const N: usize>(bytes: &[u8], values: &mut Vec<f64>, read: impl Fn([u8; N]) -> f64) {
    values.clear();
    values.extend(bytes.as_chunks::<N>().0.iter().map(|number| read(*number)));
}

impl Number {
    /// What MATLAB's `class` says.
    pub(super) fn class(self) -> &'static str {
        Self::CLASSES[self as usize]
    }

    /// What NumPy's descriptor (`<f8`, `>i4`, `|b1`) says, and whether the first byte is the largest.
    pub(super) fn of_numpy(descriptor: &str) -> Option<(Self, bool)> {
        let (order, name) = descriptor.split_at_checked(1)?;
        let number = Self::named(if name == "b1" { "u1" } else { name })?;
        matches!(order, "<" | ">" | "|").then_some((number, order == ">"))
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
