//! The bytes of a file, plain or compressed by gzip, and what a file with the wrong ones looks like.

use crate::{Error, Result};
use flate2::bufread::MultiGzDecoder;
use std::fs::File;
use std::io::{BufRead, BufReader, ErrorKind, Read};
use std::path::{Path, PathBuf};

/// What to do about a file that did not arrive whole.
pub(super) const COPY_AGAIN: &str = "the file is damaged: delete it, then copy or fetch it again";

/// The first bytes of a gzip file.
const GZIP: &[u8] = &[0x1f, 0x8b];

/// A file that is read from start to end; whether it is compressed is seen by its first bytes, not by its name.
pub(super) struct Source {
    path: PathBuf,
    reader: Box<dyn Read>,
}

impl Source {
    /// Opens a file, and undoes its compression.
    pub(super) fn open(path: &Path) -> Result<Self> {
        let mut file = BufReader::with_capacity(1 << 16, File::open(path).map_err(Error::io(path, "open"))?);
        let start = file.fill_buf().map_err(Error::io(path, "read"))?;
        let reader: Box<dyn Read> =
            if start.starts_with(GZIP) { Box::new(MultiGzDecoder::new(file)) } else { Box::new(file) };
        Ok(Self { path: path.to_owned(), reader })
    }

    /// Opens a file to read it as it is, compressed or not.
    pub(super) fn open_raw(path: &Path) -> Result<Self> {
        let file = File::open(path).map_err(Error::io(path, "open"))?;
        Ok(Self { path: path.to_owned(), reader: Box::new(file) })
    }

    /// The next bytes: at most so many, fewer at the end.
    pub(super) fn take(&mut self, limit: u64) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.reader.by_ref().take(limit).read_to_end(&mut bytes).map_err(|error| read_error(&self.path, error))?;
        Ok(bytes)
    }

    /// Runs through what is left in pieces.
    pub(super) fn for_each_piece(&mut self, mut visit: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
        let mut piece = vec![0; 1 << 20];
        loop {
            match self.reader.read(&mut piece) {
                Ok(0) => return Ok(()),
                Ok(read) => visit(&piece[..read])?,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(read_error(&self.path, error)),
            }
        }
    }
}

/// The decompressor reports damage by these kinds, the operating system does not.
fn read_error(path: &Path, error: std::io::Error) -> Error {
    match error.kind() {
        ErrorKind::UnexpectedEof => Error::file(path, "is cut short: the compressed data end too early", COPY_AGAIN),
        ErrorKind::InvalidInput | ErrorKind::InvalidData => {
            Error::file(path, format!("holds damaged gzip data ({error})"), COPY_AGAIN)
        }
        _ => Error::io(path, "read")(error),
    }
}

/// What a file that begins with these bytes seems to be, for messages.
pub(super) fn looks_like(start: &[u8]) -> String {
    let text = start.trim_ascii_start().to_ascii_lowercase();
    let known: [(&[u8], &str); 6] = [
        (b"\x89PNG", "a PNG image"),
        (GZIP, "a gzip file"),
        (b"PK\x03\x04", "a zip file"),
        (b"\xfd7zXZ", "an xz file"),
        (b"\x80\x02", "a Python pickle"),
        (b"\x00\x00\x08", "an idx file"),
    ];
    if start.is_empty() {
        return "an empty file".into();
    }
    if text.starts_with(b"<!doctype") || text.starts_with(b"<html") {
        return "an HTML page".into();
    }
    if let Some((_, name)) = known.iter().find(|(signature, _)| start.starts_with(signature)) {
        return (*name).into();
    }
    let start = &start[..start.len().min(16)];
    if start.iter().all(|byte| byte.is_ascii_graphic() || byte.is_ascii_whitespace()) {
        return format!("a text that begins with {:?}", String::from_utf8_lossy(start));
    }
    let bytes: Vec<String> = start.iter().take(4).map(|byte| format!("{byte:02x}")).collect();
    format!("something that begins with the bytes {}", bytes.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_known_by_their_first_bytes() {
        for (start, expected) in [
            (&b"\x89PNG\r\n\x1a\n"[..], "a PNG image"),
            (b"\x1f\x8b\x08\x00", "a gzip file"),
            (b"\n <!DOCTYPE html>", "an HTML page"),
            (b"<HTML>", "an HTML page"),
            (b"PK\x03\x04abc", "a zip file"),
            (b"", "an empty file"),
            (b"404: Not Found", "a text that begins with \"404: Not Found\""),
            (b"\x01\x02\xff\x04\x05", "something that begins with the bytes 01 02 ff 04"),
        ] {
            assert_eq!(looks_like(start), expected);
        }
    }
}
