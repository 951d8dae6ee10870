//! The header of a `.npy` file, version 1: a literal of Python with the element type, the order and the shape.

use std::io::{self, Read};

/// What every file begins with, up to the first number of its version.
const MAGIC: &[u8; 7] = b"\x93NUMPY\x01";

/// What a header says.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::io) struct Header {
    /// The element type as NumPy writes it: `<f8`.
    pub descriptor: String,
    /// Whether the first index runs fastest.
    pub is_fortran: bool,
    /// The sides of the array.
    pub shape: Vec<usize>,
}

impl Header {
    /// Reads up to the first number of the array. Later versions are for records and can claim headers of gigabytes.
    pub fn read(reader: &mut impl Read) -> io::Result<Self> {
        let wrong = |problem: &str| io::Error::other(problem.to_owned());
        let mut start = [0; 10];
        reader.read_exact(&mut start)?;
        if !start.starts_with(MAGIC) {
            return Err(wrong("it is no array in version 1 of the .npy format"));
        }
        let mut text = vec![0; usize::from(u16::from_le_bytes([start[8], start[9]]))];
        reader.read_exact(&mut text)?;
        let text = std::str::from_utf8(&text).map_err(|_| wrong("its header is no text"))?;
        Self::parse(text).ok_or_else(|| wrong(&format!("its header is not one of NumPy's: {}", text.trim())))
    }

    /// `{'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), }`
    fn parse(text: &str) -> Option<Self> {
        let text = text.trim().strip_prefix('{')?.strip_suffix('}')?;
        let value = |key: &str| {
            let at = text.find(&format!("'{key}'")).or_else(|| text.find(&format!("\"{key}\"")))?;
            Some(text[at + key.len() + 2..].trim_start().strip_prefix(':')?.trim_start())
        };
        let descriptor = value("descr")?;
        let descriptor = match descriptor.chars().next()? {
            quote @ ('\'' | '"') => descriptor[1..].split_once(quote)?.0,
            // A record, which the caller refuses by its name.
            _ => descriptor.split_inclusive(']').next()?,
        };
        let order = value("fortran_order")?;
        let sides = value("shape")?.strip_prefix('(')?.split_once(')')?.0.trim_end().trim_end_matches(',');
        // Python 2 writes long integers with an L.
        let side = |side: &str| side.trim().trim_end_matches('L').parse().ok();
        let shape = if sides.is_empty() { Some(Vec::new()) } else { sides.split(',').map(side).collect() };
        Some(Self {
            descriptor: descriptor.to_owned(),
            is_fortran: order.starts_with("True").then_some(true).or(order.starts_with("False").then_some(false))?,
            shape: shape?,
        })
    }

    /// The bytes of the header, a multiple of 64 so that the numbers behind it are aligned.
    pub fn bytes(&self) -> Vec<u8> {
        let order = if self.is_fortran { "True" } else { "False" };
        let sides: String = self.shape.iter().map(|side| format!("{side}, ")).collect();
        // A tuple of one keeps its comma.
        let sides = if self.shape.len() == 1 { sides.trim_end() } else { sides.trim_end_matches(", ") };
        let mut text = format!("{{'descr': '{}', 'fortran_order': {order}, 'shape': ({sides}), }}", self.descriptor);
        let length = (MAGIC.len() + 3 + text.len() + 1).next_multiple_of(64) - MAGIC.len() - 3;
        text.extend(std::iter::repeat_n(' ', length - 1 - text.len()));
        text.push('\n');
        [MAGIC, &[0][..], &(length as u16).to_le_bytes(), text.as_bytes()].concat()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::{ArrayD, IxDyn, ShapeBuilder};
    use ndarray_npy::{ReadNpyExt, WriteNpyExt};
    use proptest::prelude::*;

    fn header(text: &str) -> Option<(String, bool, Vec<usize>)> {
        Header::parse(text).map(|header| (header.descriptor, header.is_fortran, header.shape))
    }

    #[test]
    fn what_others_write() {
        let numpy = "{'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), }          \n";
        assert_eq!(header(numpy), Some(("<f8".into(), false, vec![3, 4])));
        let other = "{\"shape\":(7,),\"fortran_order\":True,\"descr\":\"|u1\"}";
        assert_eq!(header(other), Some(("|u1".into(), true, vec![7])));
        let old = "{'descr': '>f4', 'fortran_order': False, 'shape': (3L, 4L), }";
        assert_eq!(header(old), Some((">f4".into(), false, vec![3, 4])));
        let number = "{'descr': '<i8', 'fortran_order': False, 'shape': (), }";
        assert_eq!(header(number), Some(("<i8".into(), false, vec![])));
        let record = "{'descr': [('x', '<f8'), ('y', '<i4')], 'fortran_order': False, 'shape': (2,), }";
        assert_eq!(header(record).unwrap().0, "[('x', '<f8'), ('y', '<i4')]");
    }

    #[test]
    fn what_is_damaged() {
        for text in [
            "",
            "{",
            "{}",
            "{'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), ",
            "{'descr': '<f8', 'fortran_order': False, 'shape': (3, 4 }",
            "{'descr': '<f8', 'fortran_order': False, 'shape': (3, -4), }",
            "{'descr': '<f8', 'fortran_order': False, 'shape': (3, , 4), }",
            "{'descr': '<f8', 'fortran_order': 0, 'shape': (3,), }",
            "{'descr': '<f8, 'fortran_order: False, 'shape': (3,), }",
            "{'descr': , 'fortran_order': False, 'shape': (99999999999999999999999,), }",
        ] {
            assert_eq!(header(text), None, "{text}");
        }
        let error = Header::read(&mut &b"\x93NUMPY\x02\x00\x10\x00\x00\x00"[..]).unwrap_err();
        assert!(error.to_string().contains("version 1"), "{error}");
    }

    proptest! {
        /// Another implementation reads what is written here, and the other way round.
        #[test]
        fn agrees_with_another_implementation(shape in prop::collection::vec(0usize..5, 0..6), is_fortran: bool) {
            let array = ArrayD::<f64>::zeros(IxDyn(&shape).set_f(is_fortran));
            let mut theirs = Vec::new();
            array.write_npy(&mut theirs).unwrap();
            let found = Header::read(&mut &theirs[..]).unwrap();
            prop_assert_eq!(&found.shape, &shape);
            let ours = Header { descriptor: "<f8".into(), is_fortran, shape: shape.clone() };
            let mut bytes = ours.bytes();
            prop_assert_eq!(bytes.len() % 64, 0);
            prop_assert_eq!(&Header::read(&mut &bytes[..]).unwrap(), &ours);
            bytes.extend(vec![0; 8 * array.len()]);
            let read = ArrayD::<f64>::read_npy(&bytes[..]).unwrap();
            prop_assert_eq!(read.shape(), &shape[..]);
        }
    }
}
