//! The v5 format: a header of 128 bytes, then one element per variable, compressed by itself or not at all.
//!
//! After "MAT-File Format" (The MathWorks). An element is a tag (type and length) and its content; a variable's element has
//! elements inside: flags, dimensions, name, values. Contents of up to four bytes may sit in the tag itself.

use super::reorder::{Reorder, size};
use super::{Array, Contents, DEFLATE_LIMIT, MatlabVariable, Number, PLAUSIBLE_RATIO, damaged};
use crate::error::ensure;
use crate::{Error, Result};
use flate2::bufread::ZlibDecoder;
use std::fs::File;
use std::io::{self, BufReader, ErrorKind, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

const HEADER: u64 = 128;
const MATRIX: u32 = 14;
const COMPRESSED: u32 = 15;

/// Flags, dimensions and names are never longer than this; MATLAB's names have at most 63 characters.
const SMALL: u64 = 4096;

/// An open v5 file.
pub(super) struct V5 {
    path: PathBuf,
    file: BufReader<File>,
    big_endian: bool,
    variables: Vec<MatlabVariable>,
    /// Where the element of each variable is.
    places: Vec<Place>,
}

/// Where the element of a variable is in the file.
#[derive(Clone, Copy)]
struct Place {
    /// The position of its tag.
    at: u64,
    /// The length of its content, as far as the file goes.
    length: u64,
    compressed: bool,
}

impl V5 {
    /// Walks over the elements and reads the start of each.
    pub(super) fn open(path: &Path, file: File, big_endian: bool) -> Result<Self> {
        let end = file.metadata().map_err(Error::io(path, "read"))?.len();
        let file = BufReader::with_capacity(1 << 16, file);
        let (variables, places) = (Vec::new(), Vec::new());
        let mut this = Self { path: path.to_owned(), file, big_endian, variables, places };
        let mut at = HEADER;
        while at < end {
            at = this.walk(at, end)?;
        }
        Ok(this)
    }

    /// Notes the variable whose tag is at `at`; returns where the next one is.
    fn walk(&mut self, at: u64, end: u64) -> Result<u64> {
        let truncated = |path: &Path, inside: String| {
            let problem = format!("ends at byte {end}, inside {inside}");
            Error::file(path, problem, "the file is truncated: copy or download it again")
        };
        ensure!(end - at >= 8, truncated(&self.path, format!("the tag of a variable at byte {at}")));
        let mut tag = [0; 8];
        self.file.seek(SeekFrom::Start(at)).map_err(Error::io(&self.path, "read"))?;
        self.file.read_exact(&mut tag).map_err(Error::io(&self.path, "read"))?;
        let (kind, length) = (word(self.big_endian, &tag[..4]), u64::from(word(self.big_endian, &tag[4..])));
        if kind != MATRIX && kind != COMPRESSED {
            let problem =
                format!("has an element of type {kind} at byte {at}, where a variable (14 or 15) is expected");
            return Err(damaged(&self.path, problem));
        }
        let next = at + 8 + length;
        let place = Place { at, length: next.min(end) - at - 8, compressed: kind == COMPRESSED };
        let header = self.element(place).and_then(|mut element| element.header());
        if next > end {
            let name = header.map_or_else(|_| "a variable".into(), |variable| format!("variable `{}`", variable.name));
            return Err(truncated(&self.path, format!("{name}, which goes from byte {at} to byte {next}")));
        }
        let variable = header?;
        // MATLAB's own notes on objects come as a variable without a name.
        if !variable.name.is_empty() {
            self.variables.push(variable);
            self.places.push(place);
        }
        Ok(next)
    }

    /// Opens the content of an element that is a variable.
    fn element(&mut self, place: Place) -> Result<Element<'_>> {
        self.file.seek(SeekFrom::Start(place.at + 8)).map_err(Error::io(&self.path, "read"))?;
        let content = (&mut self.file).take(place.length);
        let stream: Box<dyn Read + '_> =
            if place.compressed { Box::new(ZlibDecoder::new(content)) } else { Box::new(content) };
        let (path, big_endian) = (&self.path, self.big_endian);
        let mut element = Element { path, stream, big_endian, place, left: place.length };
        if place.compressed {
            // What comes out is again an element, with a tag of its own.
            element.left = 8;
            let Tag { kind, length, .. } = element.tag()?;
            if kind != MATRIX {
                return Err(element.damaged(&format!("holds a compressed element of type {kind}, not a variable")));
            }
            element.left = length;
        }
        Ok(element)
    }

    /// Opens an element at its values; also what they are, how they are stored, and their bytes.
    fn values(&mut self, place: Place) -> Result<(Element<'_>, MatlabVariable, Number, u64)> {
        let mut element = self.element(place)?;
        let variable = element.header()?;
        let (number, length) = element.values_tag(&variable)?;
        Ok((element, variable, number, length))
    }
}

impl Contents for V5 {
    fn variables(&self) -> &[MatlabVariable] {
        &self.variables
    }

    fn read(&mut self, index: usize, first: Option<usize>) -> Result<Array> {
        let (place, path) = (self.places[index], self.path.clone());
        let (element, _, _, length) = self.values(place)?;
        element.check_claim(length)?;
        let (mut element, variable, number, _) = self.values(place)?;
        let mut array = Reorder::new(&path, &variable, first)?;
        let mut bytes = Vec::new();
        while array.left() > 0 {
            bytes.resize(array.height().min(array.left()) * array.plane() * number.size(), 0);
            element.fill(&mut bytes)?;
            array.add(number, element.big_endian, &bytes);
        }
        element.check_end()?;
        Ok(array.finish())
    }
}

/// The content of a variable's element, unpacked on the way.
struct Element<'a> {
    path: &'a Path,
    stream: Box<dyn Read + 'a>,
    big_endian: bool,
    place: Place,
    /// How many bytes the element has left, by its own account.
    left: u64,
}

/// A tag: what follows and how long it is.
struct Tag {
    kind: u32,
    length: u64,
    /// The content, where it is in the tag itself.
    inside: Option<[u8; 4]>,
}

impl Element<'_> {
    /// Reads the start of a variable, up to its values.
    fn header(&mut self) -> Result<MatlabVariable> {
        let flags = self.small("flags")?;
        ensure!(flags.len() >= 4, self.damaged("has no flags"));
        let flags = word(self.big_endian, &flags[..4]);
        let class = class(flags);
        // An object has no dimensions.
        let sides = if class == "object" { Vec::new() } else { self.small("dimensions")? };
        let sides = sides.as_chunks::<4>().0.iter().map(|side| word(self.big_endian, side));
        let shape: Vec<usize> = sides.map(|side| side as usize).collect();
        if class != "object" && (shape.len() < 2 || shape.iter().any(|side| *side > i32::MAX as usize)) {
            return Err(self.damaged(&format!("has the dimensions {shape:?}")));
        }
        let name = String::from_utf8_lossy(&self.small("name")?).trim_end_matches('\0').to_owned();
        Ok(MatlabVariable { name, shape, class })
    }

    /// Reads the tag of the values and checks it against the shape; returns how they are stored and their bytes.
    fn values_tag(&mut self, variable: &MatlabVariable) -> Result<(Number, u64)> {
        let name = &variable.name;
        let Tag { kind, length, inside } = self.tag()?;
        let Some(number) = number(kind) else {
            return Err(self.damaged(&format!("`{name}` has values of type {kind}, which are no numbers")));
        };
        if let Some(inside) = inside {
            // The values are in the tag: they are put back in front of what follows it.
            let rest = std::mem::replace(&mut self.stream, Box::new(io::empty()));
            self.stream = Box::new(io::Cursor::new(inside).take(length).chain(rest));
            self.left += length;
        }
        let expected = size(self.path, variable, number)?;
        if length != expected || length > self.left {
            let has = length.min(self.left);
            let problem =
                format!("`{name}` has {has} bytes of values, but its shape {:?} needs {expected}", variable.shape);
            return Err(self.damaged(&problem));
        }
        Ok((number, length))
    }

    /// Unpacks values that claim to have been squeezed a lot into nothing, to see whether they are as long as they claim.
    fn check_claim(mut self, length: u64) -> Result<()> {
        let packed = self.place.length;
        if !self.place.compressed || length <= packed.saturating_mul(PLAUSIBLE_RATIO) {
            return Ok(());
        }
        if length <= packed.saturating_mul(DEFLATE_LIMIT) {
            let unpacked = io::copy(&mut (&mut self.stream).take(length), &mut io::sink());
            if unpacked.map_err(|error| self.failed(error))? == length {
                return Ok(());
            }
        }
        Err(self.damaged(&format!("claims {length} bytes of values, but its {packed} compressed bytes hold fewer")))
    }

    /// Reads on to the end of a compressed stream, where its checksum is.
    fn check_end(mut self) -> Result<()> {
        if self.place.compressed {
            let rest = io::copy(&mut (&mut self.stream).take(self.left + 1), &mut io::sink());
            // A damaged stream may go on for ever and never come to its checksum.
            if rest.map_err(|error| self.failed(error))? != self.left {
                return Err(self.damaged("has a corrupt zlib stream: its length is not what it says"));
            }
        }
        Ok(())
    }

    /// Reads a short element and the bytes that fill it up to a multiple of eight.
    fn small(&mut self, what: &str) -> Result<Vec<u8>> {
        let Tag { length, inside, .. } = self.tag()?;
        if let Some(inside) = inside {
            return Ok(inside[..length as usize].to_vec());
        }
        ensure!(length <= SMALL.min(self.left), self.damaged(&format!("has {length} bytes of {what}")));
        let mut content = vec![0; length.next_multiple_of(8).min(self.left) as usize];
        self.fill(&mut content)?;
        content.truncate(length as usize);
        Ok(content)
    }

    fn tag(&mut self) -> Result<Tag> {
        let mut tag = [0; 8];
        self.fill(&mut tag)?;
        let (kind, length) = (word(self.big_endian, &tag[..4]), u64::from(word(self.big_endian, &tag[4..])));
        // A short element has its length in the upper half of the type, which otherwise is zero.
        match kind >> 16 {
            0 => Ok(Tag { kind, length, inside: None }),
            length @ 1..=4 => {
                let inside = Some([tag[4], tag[5], tag[6], tag[7]]);
                Ok(Tag { kind: kind & 0xffff, length: u64::from(length), inside })
            }
            length => Err(self.damaged(&format!("has {length} bytes in a tag with room for 4"))),
        }
    }

    /// Reads exactly as many bytes as asked for.
    fn fill(&mut self, bytes: &mut [u8]) -> Result<()> {
        ensure!(bytes.len() as u64 <= self.left, self.damaged("is shorter than its parts"));
        self.left -= bytes.len() as u64;
        self.stream.read_exact(bytes).map_err(|error| self.failed(error))
    }

    /// What an error of the stream means.
    fn failed(&self, error: io::Error) -> Error {
        match error.kind() {
            ErrorKind::UnexpectedEof => self.damaged("ends too early"),
            ErrorKind::InvalidInput | ErrorKind::InvalidData => {
                self.damaged(&format!("has a corrupt zlib stream ({error})"))
            }
            _ => Error::io(self.path, "read")(error),
        }
    }

    fn damaged(&self, problem: &str) -> Error {
        damaged(self.path, format!("the variable at byte {} {problem}", self.place.at))
    }
}

/// Four bytes as a number.
fn word(big_endian: bool, bytes: &[u8]) -> u32 {
    let bytes = [bytes[0], bytes[1], bytes[2], bytes[3]];
    if big_endian { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) }
}

/// What MATLAB's `class` says, from a variable's flags.
fn class(flags: u32) -> String {
    let (complex, logical) = (flags & 0x800 != 0, flags & 0x200 != 0);
    let name = match flags & 0xff {
        1 => "cell",
        2 => "struct",
        3 => "old object",
        4 => "char",
        5 => "sparse",
        number @ 6..=15 if complex => return format!("complex {}", Number::CLASSES[number as usize - 6]),
        6..=15 if logical => "logical",
        number @ 6..=15 => Number::CLASSES[number as usize - 6],
        16 => "function",
        17 => "object",
        other => return format!("number {other}"),
    };
    name.to_owned()
}

/// The numbers among the types of elements.
fn number(kind: u32) -> Option<Number> {
    const NAMES: [&str; 14] = ["", "i1", "u1", "i2", "u2", "i4", "u4", "f4", "", "f8", "", "", "i8", "u8"];
    Number::named(NAMES.get(kind as usize)?)
}
