//! What a file is, by its first bytes: its name says nothing about its content.

use crate::error::ensure;
use crate::{Error, Result};
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// The formats that are known by their first bytes, also those that are not read here: then a message can name them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    Npz,
    Npy,
    Matlab5,
    Matlab73,
    Matlab4,
    Hdf5,
    Idx,
    Gzip,
    Xz,
    Png,
    Safetensors,
    Pickle,
    Vtk,
    Html,
    Text,
}

/// How many first bytes are looked at: MATLAB v4 has a name among them.
const START: u64 = 128;

/// Says what a file is by its first bytes; one that begins like no known format is an error.
pub(crate) fn recognise(path: &Path) -> Result<Format> {
    let mut start = Vec::new();
    let file = File::open(path).map_err(Error::io(path, "open"))?;
    file.take(START).read_to_end(&mut start).map_err(Error::io(path, "read"))?;
    let hint = "the program that wrote it was probably stopped: write or copy it again";
    ensure!(!start.is_empty(), Error::file(path, "is empty", hint));
    Format::of(&start).ok_or_else(|| {
        let known: Vec<&str> = Format::ALL.iter().map(|(_, name, _)| *name).collect();
        let problem = format!("is {}, and begins like no known format", describe(&start));
        Error::file(path, problem, format!("known are: {}", known.join(", ")))
    })
}

/// What a file with these first bytes seems to be, for messages.
pub(crate) fn describe(start: &[u8]) -> String {
    let head = &start[..start.len().min(16)];
    match Format::of(start) {
        _ if start.is_empty() => "an empty file".into(),
        Some(Format::Text) => format!("a text that begins with {:?}", String::from_utf8_lossy(head)),
        Some(format) => format.name().into(),
        None => {
            let bytes: Vec<String> = head.iter().take(4).map(|byte| format!("{byte:02x}")).collect();
            format!("something that begins with the bytes {}", bytes.join(" "))
        }
    }
}

impl Format {
    /// All formats in the order of their declaration, with their names in messages and the bytes that they begin with, where
    /// that is all there is to see.
    const ALL: [(Self, &'static str, &'static [&'static [u8]]); 15] = [
        (Self::Npz, "a zip or .npz file", &[b"PK\x03\x04", b"PK\x05\x06"]),
        (Self::Npy, "a single .npy array", &[b"\x93NUMPY"]),
        (Self::Matlab5, "a MATLAB v5 file", &[b"MATLAB 5.0"]),
        // The first releases with this format wrote 7.0.
        (Self::Matlab73, "a MATLAB v7.3 file", &[b"MATLAB 7."]),
        (Self::Matlab4, "a MATLAB v4 file", &[]),
        (Self::Hdf5, "an HDF5 file", &[b"\x89HDF\r\n\x1a\n"]),
        (Self::Idx, "an idx file", &[&[0, 0, 8]]),
        (Self::Gzip, "a gzip file", &[&[0x1f, 0x8b]]),
        (Self::Xz, "an xz file", &[b"\xfd7zXZ"]),
        (Self::Png, "a PNG image", &[b"\x89PNG"]),
        (Self::Safetensors, "a safetensors file", &[]),
        (Self::Pickle, "a Python pickle", &[b"\x80\x02", b"\x80\x03", b"\x80\x04", b"\x80\x05"]),
        (Self::Vtk, "a VTK mesh", &[]),
        (Self::Html, "an HTML page", &[]),
        (Self::Text, "a text file", &[]),
    ];

    /// The format that begins with these bytes.
    pub(crate) fn of(start: &[u8]) -> Option<Self> {
        let begins = |(format, _, starts): &(Self, _, &[&[u8]])| {
            starts.iter().any(|&known| start.starts_with(known)) || format.looks_like(start)
        };
        Self::ALL.into_iter().find(begins).map(|(format, ..)| format)
    }

    /// Whether these are the first bytes of a format that has no fixed ones.
    fn looks_like(self, start: &[u8]) -> bool {
        let word = start.trim_ascii_start();
        match self {
            Self::Matlab4 => begins_as_matlab4(start),
            // The length of the header, then the header, which is JSON.
            Self::Safetensors => start.get(6..10) == Some(b"\0\0{\""),
            // Before it may stand the declaration of XML.
            Self::Vtk => word.starts_with(b"<") && start.windows(8).any(|part| part == b"<VTKFile"),
            Self::Html => {
                word.get(..9).is_some_and(|w| w.eq_ignore_ascii_case(b"<!doctype")) || word.starts_with(b"<html")
            }
            Self::Text => {
                !start.is_empty() && start.iter().all(|byte| byte.is_ascii_graphic() || byte.is_ascii_whitespace())
            }
            _ => false,
        }
    }

    /// The name in messages.
    pub(crate) fn name(self) -> &'static str {
        Self::ALL[self as usize].1
    }

    /// The error about a file of this format where another is wanted, with what to do about it.
    pub(super) fn refused(self, path: &Path, wanted: &str) -> Error {
        let hint = match self {
            Self::Npz | Self::Matlab5 | Self::Matlab73 | Self::Hdf5 => "give it as a data set",
            Self::Matlab4 => "in MATLAB, load it and save it with -v7",
            Self::Vtk => "put the meshes of all samples into one folder, and give the folder",
            Self::Gzip | Self::Xz => "unpack it first",
            Self::Idx | Self::Png => "images are read by `nkn train` with data.problem = \"mnist\" and the like",
            Self::Safetensors => "this is a model: give it where a run or a model is asked for",
            Self::Html => "a server has sent a page instead of the file: download it again",
            Self::Npy | Self::Pickle | Self::Text => "save the arrays with numpy.savez(path, f=f, u=u)",
        };
        Error::file(path, format!("is {}, expected {wanted}", self.name()), hint)
    }
}

/// Without a signature: five numbers, then a name that ends with a zero.
fn begins_as_matlab4(start: &[u8]) -> bool {
    let plausible = |read: fn([u8; 4]) -> u32| {
        let number = |at: usize| start.get(4 * at..4 * at + 4).map(|b| read([b[0], b[1], b[2], b[3]]));
        let (Some(kind), Some(imaginary), Some(length)) = (number(0), number(3), number(4)) else { return false };
        let digits = [kind / 1000, kind / 100 % 10, kind / 10 % 10, kind % 10];
        let ends = (length as usize).checked_add(19).and_then(|at| start.get(at)) == Some(&0);
        digits.iter().zip([4, 0, 5, 2]).all(|(digit, most)| *digit <= most) && imaginary <= 1 && length > 1 && ends
    };
    plausible(u32::from_le_bytes) || plausible(u32::from_be_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn file_with(start: &[u8]) -> tempfile::NamedTempFile {
        let file = tempfile::Builder::new().suffix(".mat").tempfile().unwrap();
        std::fs::write(file.path(), start).unwrap();
        file
    }

    #[test]
    fn the_first_bytes_decide_and_not_the_name() {
        let matlab4 = [0u32, 1, 1, 0, 2].map(u32::to_le_bytes).concat();
        for (start, expected) in [
            (&b"PK\x03\x04abc"[..], Format::Npz),
            (b"\x93NUMPY\x01\0", Format::Npy),
            (b"MATLAB 5.0 MAT-file, Platform", Format::Matlab5),
            (b"MATLAB 7.3 MAT-file, Platform", Format::Matlab73),
            (&[&matlab4[..], b"u\0"].concat(), Format::Matlab4),
            (b"\x89HDF\r\n\x1a\n\0\0", Format::Hdf5),
            (b"\0\0\x08\x03\0\0\0\x02", Format::Idx),
            (b"\x1f\x8b\x08\0", Format::Gzip),
            (b"\xfd7zXZ\0", Format::Xz),
            (b"\x89PNG\r\n\x1a\n", Format::Png),
            (b"\x30\x02\0\0\0\0\0\0{\"__metadata__\"", Format::Safetensors),
            (b"\x80\x04\x95", Format::Pickle),
            (b"<?xml version=\"1.0\"?>\n<VTKFile type=\"ImageData\">", Format::Vtk),
            (b"\n <!DOCTYPE html>", Format::Html),
            (b"<html>", Format::Html),
            (b"x,f,u\n0.0,1.0,2.0\n", Format::Text),
        ] {
            assert_eq!(recognise(file_with(start).path()).unwrap(), expected);
            let message = expected.refused(Path::new("a"), "another").to_string();
            assert!(message.contains(expected.name()) && message.contains("hint: "), "{message}");
        }
    }

    #[test]
    fn an_unknown_start_is_answered_with_what_is_known() {
        let message = recognise(file_with(b"\x01\x02\xff\x04\x05").path()).unwrap_err().to_string();
        assert!(message.contains("begins with the bytes 01 02 ff 04"), "{message}");
        assert!(Format::ALL.iter().all(|(format, ..)| message.contains(format.name())), "{message}");
        assert!(Format::ALL.iter().all(|(format, name, _)| format.name() == *name));
        assert!(recognise(file_with(b"").path()).unwrap_err().to_string().contains("is empty"));
        let missing = recognise(Path::new("nowhere.npz")).unwrap_err().to_string();
        assert!(missing.contains("nowhere.npz: could not open"), "{missing}");
    }

    #[test]
    fn texts_are_quoted() {
        assert_eq!(describe(b"404: Not Found"), "a text that begins with \"404: Not Found\"");
        assert_eq!(describe(b""), "an empty file");
        assert_eq!(describe(b"\x89PNG"), "a PNG image");
    }

    proptest! {
        #[test]
        fn any_bytes_are_answered(start in prop::collection::vec(any::<u8>(), 0..200)) {
            describe(&start);
        }
    }
}
