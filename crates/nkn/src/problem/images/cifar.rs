//! The official binary files of CIFAR-10 (cifar-10-batches-bin): 10,000 records of one label and 3 x 32 x 32 pixels
//! each.

use super::source::COPY_AGAIN;
use super::{Images, check_labels_of};
use crate::io::Format;
use crate::{Error, Result};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Pixels along a side.
pub(super) const SIDE: usize = 32;
/// Red, green, blue.
pub(super) const CHANNELS: usize = 3;
/// Bytes of a record: the label, then the red, the green and the blue plane.
pub(super) const RECORD: usize = 1 + CHANNELS * SIDE * SIDE;
/// Records of a file.
const RECORDS: usize = 10_000;

/// Reads some of the files data_batch_1.bin to data_batch_5.bin and test_batch.bin, one after the other.
pub fn read_cifar(batches: &[PathBuf]) -> Result<Images> {
    read_batches(batches, RECORDS)
}

fn read_batches(batches: &[PathBuf], records: usize) -> Result<Images> {
    let mut pixels = Vec::with_capacity(batches.len() * records * (RECORD - 1));
    let mut labels = Vec::with_capacity(batches.len() * records);
    for path in batches {
        let before = labels.len();
        for record in read_batch(path, records)?.chunks_exact(RECORD) {
            labels.push(record[0]);
            pixels.extend_from_slice(&record[1..]);
        }
        let hint = "this is no file of the binary version of CIFAR-10 (cifar-10-batches-bin)";
        check_labels_of(path, &labels[before..], hint)?;
    }
    Images::new(SIDE, CHANNELS, pixels, labels)
}

/// The bytes of one file, of which the length has been checked.
fn read_batch(path: &Path, records: usize) -> Result<Vec<u8>> {
    let expected = records * RECORD;
    let file = File::open(path).map_err(Error::io(path, "open"))?;
    let length = file.metadata().map_err(Error::io(path, "read"))?.len();
    let mut content = Vec::with_capacity(expected);
    // Not more than is needed to see that it is too long.
    file.take(expected as u64 + 1).read_to_end(&mut content).map_err(Error::io(path, "read"))?;
    if content.len() == expected {
        return Ok(content);
    }
    let layout = format!("{expected} ({records} images of {RECORD} bytes)");
    let problem = match content.len() {
        got if got < expected => format!("is truncated: {got} bytes, expected {layout}"),
        _ => format!("is too long: {length} bytes, expected {layout}"),
    };
    match Format::of(&content) {
        None => Err(Error::file(path, problem, COPY_AGAIN)),
        Some(format) => {
            let hint = "put the official file of cifar-10-batches-bin in its place";
            Err(Error::file(path, format!("{problem}; it looks like {}", format.name()), hint))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(label: u8, shade: u8) -> Vec<u8> {
        let planes = (0..3).flat_map(|channel| std::iter::repeat_n(shade + channel, SIDE * SIDE));
        std::iter::once(label).chain(planes).collect()
    }

    fn refused(content: &[u8]) -> String {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("data_batch_1.bin");
        std::fs::write(&path, content).unwrap();
        let message = read_batches(&[path], 2).unwrap_err().to_string();
        assert!(message.contains("data_batch_1.bin") && message.contains("hint: "), "{message}");
        message
    }

    #[test]
    fn batches_follow_each_other() {
        let folder = tempfile::tempdir().unwrap();
        let paths = ["a", "b"].map(|name| folder.path().join(name));
        std::fs::write(&paths[0], [record(3, 10), record(8, 20)].concat()).unwrap();
        std::fs::write(&paths[1], [record(0, 30), record(9, 40)].concat()).unwrap();
        let images = read_batches(&paths, 2).unwrap();
        assert_eq!((images.count, images.side, images.channels), (4, 32, 3));
        assert_eq!(images.labels, [3, 8, 0, 9]);
        assert_eq!(images.image(2), &record(0, 30)[1..]);
    }

    #[test]
    fn wrong_lengths_are_refused() {
        let whole = [record(3, 10), record(8, 20)].concat();
        let message = refused(&whole[..RECORD]);
        assert!(message.contains("is truncated: 3073 bytes, expected 6146 (2 images of 3073 bytes)"), "{message}");
        let message = refused(&[whole, vec![1; 100]].concat());
        assert!(message.contains("is too long: 6246 bytes"), "{message}");
        assert!(refused(b"").contains("is truncated: 0 bytes"));
        assert!(refused(b"\x89PNG\r\n\x1a\n").contains("it looks like a PNG image"));
        assert!(refused(b"\x80\x02}q\x01").contains("it looks like a Python pickle"));
    }

    #[test]
    fn wrong_labels_are_refused() {
        let message = refused(&[record(3, 10), record(10, 20)].concat());
        assert!(message.contains("label 1 is 10, expected 0 to 9"), "{message}");
    }

    #[test]
    fn official_files_have_ten_thousand_images() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("test_batch.bin");
        File::create(&path).unwrap().set_len(30_730_000).unwrap();
        assert_eq!(read_cifar(&[path]).unwrap().count, 10_000);
    }
}
