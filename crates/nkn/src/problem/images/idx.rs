//! idx files, plain or compressed by gzip: the official format of MNIST, which Fashion-MNIST shares.
//!
//! A file begins with big-endian numbers of 32 bits: 2051, count, rows, columns for images; 2049, count for labels. One
//! byte for each pixel or label follows.

use super::source::{COPY_AGAIN, Source};
use super::{Images, check_labels_of};
use crate::error::ensure;
use crate::field::dimensions;
use crate::io::describe;
use crate::{Error, Result};
use std::path::Path;

/// More than any file of this kind holds: so large a claim is damage, and no reason to ask for the memory.
const LIMIT: u128 = 1 << 30;

/// What a file is expected to hold.
#[derive(Clone, Copy, PartialEq)]
struct Kind {
    name: &'static str,
    magic: u32,
    /// The number of sizes after the magic number.
    dimensions: usize,
}

const IMAGES: Kind = Kind { name: "images", magic: 2051, dimensions: 3 };
const LABELS: Kind = Kind { name: "labels", magic: 2049, dimensions: 1 };

/// Reads a pair of idx files, each plain or compressed.
pub fn read_idx(images: &Path, labels: &Path) -> Result<Images> {
    let (sizes, pixels) = read(images, IMAGES)?;
    let (count, side) = (sizes[0], sizes[1]);
    let problem = format!("holds images of {side} x {} pixels, expected square ones", sizes[2]);
    ensure!(sizes[2] == side, Error::file(images, problem, "crop or resize them to squares"));
    let (label_sizes, classes) = read(labels, LABELS)?;
    if label_sizes[0] != count {
        let problem = format!("holds {} labels, but {} holds {count} images", label_sizes[0], images.display());
        return Err(Error::file(labels, problem, "use two files of the same set: both train-... or both t10k-..."));
    }
    check_labels_of(labels, &classes, "use a set with ten classes")?;
    Images::new(side, 1, pixels, classes)
}

/// The sizes and the content of one file.
fn read(path: &Path, kind: Kind) -> Result<(Vec<usize>, Vec<u8>)> {
    let mut source = Source::open(path)?;
    let length = 4 * (1 + kind.dimensions);
    let header = source.take(length as u64)?;
    let numbers: Vec<u32> = header.chunks_exact(4).map(|b| u32::from_be_bytes([b[0], b[1], b[2], b[3]])).collect();
    ensure!(numbers.first() == Some(&kind.magic), wrong_magic(path, kind, &header));
    let problem = format!("ends after {} bytes, within the header of {length}", header.len());
    ensure!(header.len() >= length, Error::file(path, problem, COPY_AGAIN));
    let sizes: Vec<usize> = numbers[1..].iter().map(|&size| size as usize).collect();
    let shape = dimensions(&sizes);
    let claimed: u128 = sizes.iter().map(|&size| size as u128).product();
    let problem = format!("claims to hold {} of the sizes {shape}, which cannot be", kind.name);
    ensure!(claimed != 0 && claimed <= LIMIT, Error::file(path, problem, COPY_AGAIN));
    let content = source.take(claimed as u64)?;
    if (content.len() as u128) < claimed {
        let (got, name) = (content.len(), kind.name);
        let problem = format!("is truncated: {got} of the {claimed} bytes that its header announces ({shape} {name})");
        return Err(Error::file(path, problem, COPY_AGAIN));
    }
    let mut excess = 0;
    source.for_each_piece(|piece| {
        excess += piece.len();
        Ok(())
    })?;
    if excess > 0 {
        let after = format!("the {claimed} that its header announces ({shape} {})", kind.name);
        let problem = format!("is too long: {excess} bytes after {after}");
        return Err(Error::file(path, problem, COPY_AGAIN));
    }
    Ok((sizes, content))
}

fn wrong_magic(path: &Path, kind: Kind, header: &[u8]) -> Error {
    let other = if kind == IMAGES { LABELS } else { IMAGES };
    let expected = format!("expected an idx file of {} (magic number {})", kind.name, kind.magic);
    if header.starts_with(&other.magic.to_be_bytes()) {
        let problem = format!("{expected}, got one of {} ({})", other.name, other.magic);
        let hint = "the names say which is which: ...-images-idx3-ubyte, ...-labels-idx1-ubyte";
        return Error::file(path, problem, hint);
    }
    let got = match header.first_chunk() {
        Some(&magic) => format!("{} (magic number {})", describe(header), u32::from_be_bytes(magic)),
        None => describe(header),
    };
    Error::file(path, format!("{expected}, got {got}"), "put the official file in its place, plain or as .gz")
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::{Compression, write::GzEncoder};
    use std::io::Write;
    use std::path::PathBuf;

    /// A folder with two images of 3 x 3 and their labels, and a way to replace either file.
    struct Fixture {
        _folder: tempfile::TempDir,
        images: PathBuf,
        labels: PathBuf,
    }

    fn image_bytes() -> Vec<u8> {
        let mut bytes = [2051u32, 2, 3, 3].map(u32::to_be_bytes).concat();
        bytes.extend(0..18);
        bytes
    }

    fn label_bytes() -> Vec<u8> {
        vec![0, 0, 8, 1, 0, 0, 0, 2, 7, 9]
    }

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    fn fixture(images: &[u8], labels: &[u8]) -> Fixture {
        let folder = tempfile::tempdir().unwrap();
        let (image_path, label_path) = (folder.path().join("some-images"), folder.path().join("some-labels"));
        std::fs::write(&image_path, images).unwrap();
        std::fs::write(&label_path, labels).unwrap();
        Fixture { _folder: folder, images: image_path, labels: label_path }
    }

    /// The message about these images, with good labels.
    fn refused(images: &[u8]) -> String {
        let files = fixture(images, &label_bytes());
        let message = read_idx(&files.images, &files.labels).unwrap_err().to_string();
        assert!(message.contains("some-images") && message.contains("hint: "), "{message}");
        message
    }

    #[test]
    fn plain_and_compressed_files_are_read_alike() {
        let expected = Images::new(3, 1, (0..18).collect(), vec![7, 9]).unwrap();
        for (images, labels) in [
            (image_bytes(), label_bytes()),
            (gzip(&image_bytes()), label_bytes()),
            (image_bytes(), gzip(&label_bytes())),
        ] {
            let files = fixture(&images, &labels);
            assert_eq!(read_idx(&files.images, &files.labels).unwrap(), expected);
        }
    }

    #[test]
    fn a_wrong_magic_number_is_named_for_what_it_is() {
        for (content, expected) in [
            (&b"\x89PNG\r\n\x1a\n0123456789"[..], "got a PNG image (magic number 2303741511)"),
            (b"<!DOCTYPE html><html>not found", "got an HTML page"),
            (
                b"\x00\x00\x0d\x03 floating point",
                "got something that begins with the bytes 00 00 0d 03 (magic number 3331)",
            ),
            (b"404: Not Found", "got a text that begins with \"404: Not Found\""),
            (b"\x00\x00\x08\x02\x00\x00", "got an idx file (magic number 2050)"),
            (b"abc", "got a text that begins with \"abc\""),
            (b"", "got an empty file"),
        ] {
            let message = refused(content);
            assert!(message.contains("expected an idx file of images (magic number 2051)"), "{message}");
            assert!(message.contains(expected), "{message}");
        }
        // Compressed twice, or a page that a server compressed.
        assert!(refused(&gzip(&gzip(&image_bytes()))).contains("got a gzip file"));
        assert!(refused(&gzip(b"<html>")).contains("got an HTML page"));
        assert!(refused(&label_bytes()).contains("got one of labels (2049)"));
        let files = fixture(&image_bytes(), &image_bytes());
        let message = read_idx(&files.images, &files.labels).unwrap_err().to_string();
        assert!(message.contains("some-labels") && message.contains("got one of images (2051)"), "{message}");
    }

    #[test]
    fn truncated_and_long_files_are_refused() {
        let whole = image_bytes();
        assert!(refused(&whole[..10]).contains("ends after 10 bytes, within the header of 16"));
        for short in [whole[..33].to_vec(), gzip(&whole[..33])] {
            let message = refused(&short);
            assert!(message.contains("is truncated: 17 of the 18 bytes"), "{message}");
            assert!(message.contains("2 x 3 x 3 images"), "{message}");
        }
        let long = [whole, vec![0; 5]].concat();
        for long in [long.clone(), gzip(&long)] {
            let message = refused(&long);
            assert!(message.contains("is too long: 5 bytes after the 18"), "{message}");
        }
    }

    #[test]
    fn damaged_compression_is_refused_wherever_it_is_cut() {
        let whole = gzip(&image_bytes());
        for length in 2..whole.len() {
            let message = refused(&whole[..length]);
            assert!(message.contains("is cut short"), "{length}: {message}");
        }
        let checksum = whole.len() - 8;
        let mut damaged = whole.clone();
        damaged[checksum] ^= 1;
        assert!(refused(&damaged).contains("holds damaged gzip data"));
        assert!(refused(&[whole, b"garbage at the end".to_vec()].concat()).contains("gzip data"));
    }

    #[test]
    fn impossible_sizes_are_refused_before_memory_is_asked_for() {
        for sizes in [[u32::MAX; 3], [0, 28, 28], [1 << 20, 1 << 10, 2]] {
            let header = [2051, sizes[0], sizes[1], sizes[2]].map(u32::to_be_bytes).concat();
            assert!(refused(&header).contains("which cannot be"));
        }
        assert!(refused(&[2051u32, 1 << 20, 32, 32].map(u32::to_be_bytes).concat()).contains("is truncated: 0 of the"));
        let oblong = [[2051u32, 1, 2, 3].map(u32::to_be_bytes).concat(), vec![0; 6]].concat();
        assert!(refused(&oblong).contains("2 x 3 pixels, expected square"));
    }

    #[test]
    fn labels_must_fit_the_images() {
        for (labels, expected) in [
            (vec![0, 0, 8, 1, 0, 0, 0, 3, 7, 9, 1], "holds 3 labels, but"),
            (vec![0, 0, 8, 1, 0, 0, 0, 2, 7, 10], "label 1 is 10, expected 0 to 9"),
            (vec![0, 0, 8, 1, 0, 0, 0, 2, 7], "is truncated: 1 of the 2 bytes"),
        ] {
            let files = fixture(&image_bytes(), &labels);
            let message = read_idx(&files.images, &files.labels).unwrap_err().to_string();
            assert!(message.contains("some-labels") && message.contains(expected), "{message}");
        }
    }

    #[test]
    fn a_missing_file_and_a_folder_are_refused() {
        let files = fixture(&image_bytes(), &label_bytes());
        for path in [files.images.with_file_name("absent"), files.images.parent().unwrap().to_owned()] {
            let message = read_idx(&path, &files.labels).unwrap_err().to_string();
            assert!(message.contains("could not"), "{message}");
        }
    }
}
