//! The bytes of a file, plain or compressed by gzip.

use crate::io::Format;
use crate::{Error, Result};
use flate2::bufread::MultiGzDecoder;
use std::fs::File;
use std::io::{BufRead, BufReader, ErrorKind, Read};
use std::path::{Path, PathBuf};

/// What to do about a file that did not arrive whole.
pub(super) const COPY_AGAIN: &str = "the file is damaged: delete it, then copy or fetch it again";

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
            if Format::of(start) == Some(Format::Gzip) { Box::new(MultiGzDecoder::new(file)) } else { Box::new(file) };
        Ok(Self { path: path.to_owned(), reader })
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
