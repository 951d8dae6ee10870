//! From the stored form of an array to its numbers.

use super::document::{DAMAGED, DataArray, Document};
use crate::io::number::Number;
use crate::{Error, Result};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::read::ZlibDecoder;
use std::io::Read;

/// The only compression that is read.
const ZLIB: &str = "vtkZLibDataCompressor";

impl<'a> Document<'a> {
    /// The numbers of an array, as many as the file really has.
    pub(super) fn numbers(&self, array: &DataArray) -> Result<Vec<f64>> {
        let wrong = |problem: String| self.wrong(array, problem);
        let Some(number) = number(array) else {
            let kind = array.attributes.get("type").map_or("", String::as_str);
            return Err(wrong(format!("has the type `{kind}`, expected real numbers such as Float64")));
        };
        let bytes = match array.attributes.get("format").map(String::as_str) {
            None | Some("ascii") => {
                let parse = |word: &str| word.parse().map_err(|_| wrong(format!("has `{word}` among its numbers")));
                return array.text.split_ascii_whitespace().map(parse).collect();
            }
            Some("binary") => self.content(array, &unbase64(array.text.as_bytes()).map_err(wrong)?)?,
            Some("appended") => {
                let (all, is_base64) = self.appended;
                let offset = offset(array).filter(|offset| *offset < all.len()).ok_or_else(|| {
                    let given = array.attributes.get("offset").map_or("nothing", String::as_str);
                    wrong(format!("has the offset {given}, but there are {} bytes of appended data", all.len()))
                })?;
                if is_base64 {
                    // The arrays stand side by side, and only the next one says where this one ends.
                    let later = self.arrays.iter().filter_map(self::offset).filter(|later| *later > offset);
                    let end = later.min().unwrap_or(all.len()).min(all.len());
                    let text = all[offset..end].split(|byte| *byte == b'<').next().unwrap_or_default();
                    self.content(array, &unbase64(text).map_err(wrong)?)?
                } else {
                    self.content(array, &all[offset..])?
                }
            }
            Some(other) => {
                let expected = "expected ascii, binary or appended";
                return Err(wrong(format!("has the format `{other}`, {expected}")));
            }
        };
        if !bytes.len().is_multiple_of(number.size()) {
            return Err(wrong(format!("has {} bytes, which is no multiple of {}", bytes.len(), number.size())));
        }
        let mut values = Vec::new();
        number.decode(self.big_endian()?, &bytes, &mut values);
        Ok(values)
    }

    /// The bytes of an array, of which `stored` says first how many there are.
    fn content(&self, array: &DataArray, stored: &[u8]) -> Result<Vec<u8>> {
        let wrong = |problem: String| self.wrong(array, problem);
        let mut rest = stored;
        let Some(compressor) = self.file.get("compressor").filter(|name| !name.is_empty()) else {
            let length = self.length(array, &mut rest)?;
            let bytes = usize::try_from(length).ok().and_then(|length| rest.get(..length));
            let short = || wrong(format!("claims to have {length} bytes, but the file has {}", rest.len()));
            return bytes.map(<[u8]>::to_vec).ok_or_else(short);
        };
        if compressor != ZLIB {
            let problem = format!("is compressed by {compressor}, which is not read here");
            return Err(Error::file(self.path, problem, "save it with the compressor ZLib, or with none"));
        }
        let blocks = self.length(array, &mut rest)?;
        let (size, last) = (self.length(array, &mut rest)?, self.length(array, &mut rest)?);
        if blocks > rest.len() as u64 {
            return Err(wrong(format!("claims to have {blocks} compressed blocks in {} bytes", rest.len())));
        }
        let packed: Vec<u64> = (0..blocks).map(|_| self.length(array, &mut rest)).collect::<Result<_>>()?;
        let mut bytes = Vec::new();
        for (index, packed) in packed.into_iter().enumerate() {
            // No length of the last block stands for a whole one.
            let size = if index as u64 + 1 == blocks && last > 0 { last } else { size };
            let Some(block) = usize::try_from(packed).ok().and_then(|packed| rest.split_off(..packed)) else {
                let problem = format!("has {packed} bytes in block {index}, but the file has {}", rest.len());
                return Err(wrong(problem));
            };
            let before = bytes.len();
            let unpacked = ZlibDecoder::new(block).take(size.saturating_add(1)).read_to_end(&mut bytes);
            unpacked.map_err(|error| wrong(format!("cannot be unpacked in block {index}: {error}")))?;
            if (bytes.len() - before) as u64 != size {
                return Err(wrong(format!("has in block {index} not the {size} bytes that it claims")));
            }
        }
        Ok(bytes)
    }

    /// The next length of an array's header.
    fn length(&self, array: &DataArray, rest: &mut &[u8]) -> Result<u64> {
        let size = match self.file.get("header_type").map(String::as_str) {
            None | Some("UInt32") => 4,
            Some("UInt64") => 8,
            Some(other) => {
                let problem = format!("has lengths of the type `{other}`, expected UInt32 or UInt64");
                return Err(Error::file(self.path, problem, DAMAGED));
            }
        };
        let Some(bytes) = rest.split_off(..size) else {
            return Err(self.wrong(array, "ends before its length is known".into()));
        };
        let append = |number: u64, byte: &u8| number << 8 | u64::from(*byte);
        Ok(if self.big_endian()? { bytes.iter().fold(0, append) } else { bytes.iter().rev().fold(0, append) })
    }

    fn big_endian(&self) -> Result<bool> {
        match self.file.get("byte_order").map(String::as_str) {
            None | Some("LittleEndian") => Ok(false),
            Some("BigEndian") => Ok(true),
            Some(other) => {
                let problem = format!("has the byte order `{other}`, expected LittleEndian or BigEndian");
                Err(Error::file(self.path, problem, DAMAGED))
            }
        }
    }

    /// An error about an array.
    pub(super) fn wrong(&self, array: &DataArray, problem: String) -> Error {
        Error::file(self.path, format!("{} {problem}", array.title()), DAMAGED)
    }
}

/// How the numbers of an array are stored; texts and single bits are none.
pub(super) fn number(array: &DataArray) -> Option<Number> {
    Number::named(match array.attributes.get("type")?.as_str() {
        "Float32" => "f4",
        "Float64" => "f8",
        "Int8" => "i1",
        "Int16" => "i2",
        "Int32" => "i4",
        "Int64" => "i8",
        "UInt8" => "u1",
        "UInt16" => "u2",
        "UInt32" => "u4",
        "UInt64" => "u8",
        _ => return None,
    })
}

/// Where an array begins behind the mesh.
fn offset(array: &DataArray) -> Option<usize> {
    array.attributes.get("offset")?.trim().parse().ok()
}

/// Decodes base64. The lengths of compressed blocks are padded and stand before what they belong to, so padding may be
/// anywhere.
fn unbase64(text: &[u8]) -> std::result::Result<Vec<u8>, String> {
    let text: Vec<u8> = text.iter().copied().filter(|byte| !byte.is_ascii_whitespace()).collect();
    let (mut bytes, mut rest) = (Vec::with_capacity(text.len() / 4 * 3), &text[..]);
    while !rest.is_empty() {
        let padding = rest.iter().position(|byte| *byte == b'=');
        let end = padding.map_or(rest.len(), |at| (at / 4 + 1) * 4).min(rest.len());
        let (part, others) = rest.split_at(end);
        STANDARD.decode_vec(part, &mut bytes).map_err(|error| format!("is no base64: {error}"))?;
        rest = others;
    }
    Ok(bytes)
}
