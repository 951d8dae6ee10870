//! A user's own images: .npz files with an array `images`, and PNG files.

use super::Array;
use super::npz::read_npz;
use super::recognise::{Format, recognise};
use crate::error::ensure;
use crate::field::images::{CLASSES, Images};
use crate::{Error, Result};
use ndarray::ArrayView3;
use std::fs::File;
use std::io::BufReader;
use std::path::Path;

/// Reads images: of an .npz file the array `images` (N x s x s, N x s x s x channels or N x channels x s x s; 0 to 255, or fractions from 0 to 1) and, where
/// they are needed, `labels` (N); or one PNG file. Images without labels get the label 0.
pub fn read_images(path: &Path, needs_labels: bool) -> Result<Images> {
    match recognise(path)? {
        Format::Npz => from_npz(path, needs_labels),
        Format::Png if needs_labels => {
            let hint = "give an .npz file with the arrays `images` and `labels`";
            Err(Error::file(path, "is a PNG image, which has no label", hint))
        }
        Format::Png => from_png(path),
        other => {
            let problem = format!("is {}, expected images", other.name());
            Err(Error::file(path, problem, "give an .npz file with an array `images`, or a PNG file"))
        }
    }
}

fn from_npz(path: &Path, needs_labels: bool) -> Result<Images> {
    let arrays = read_npz(path)?;
    let array = |name: &str| arrays.iter().find(|array| array.name == name);
    let images = array("images").ok_or_else(|| {
        let names: Vec<&str> = arrays.iter().map(|array| array.name.as_str()).collect();
        Error::file(path, format!("has no array `images`, only {names:?}"), "numpy.savez(file, images=...)")
    })?;
    let (side, channels, channels_last) = sizes(path, images)?;
    let count = images.shape[0];
    let labels = match array("labels") {
        Some(labels) => classes(path, labels, count)?,
        None if needs_labels => {
            return Err(Error::file(path, "has no array `labels`", "numpy.savez(file, images=..., labels=...)"));
        }
        None => vec![0; count],
    };
    let pixels = bytes(path, images)?;
    let pixels = if channels_last && channels > 1 { planes_first(&pixels, side * side, channels) } else { pixels };
    Images::new(side, channels, pixels, labels)
}

/// The side, the number of channels, and whether these are the last axis.
fn sizes(path: &Path, images: &Array) -> Result<(usize, usize, bool)> {
    match images.shape[..] {
        [count, side, other] if side == other && count > 0 && side > 0 => Ok((side, 1, false)),
        [count, side, other, channels @ (1 | 3)] if side == other && count > 0 && side > 0 => {
            Ok((side, channels, true))
        }
        [count, channels @ (1 | 3), side, other] if side == other && count > 0 && side > 0 => {
            Ok((side, channels, false))
        }
        _ => {
            let expected = "expected N x s x s, N x s x s x channels or N x channels x s x s with 1 or 3 channels";
            let problem = format!("array `images` has the shape {:?}; {expected}", images.shape);
            Err(Error::file(path, problem, "cut the images to squares"))
        }
    }
}

/// Values from 0 to 255, or fractions if none is above 1.
fn bytes(path: &Path, images: &Array) -> Result<Vec<u8>> {
    let top = images.values.iter().fold(0.0f64, |top, &value| top.max(value));
    let scale = if top <= 1.0 { 255.0 } else { 1.0 };
    if let Some(index) = images.values.iter().position(|&value| !(0.0..=255.0).contains(&(value * scale))) {
        let image = index / (images.values.len() / images.shape[0]);
        let problem = format!("image {image} has the value {}; expected 0 to 255, or 0 to 1", images.values[index]);
        return Err(Error::file(path, problem, "scale the images"));
    }
    Ok(images.values.iter().map(|&value| (value * scale).round() as u8).collect())
}

/// From pixels of channels to planes.
fn planes_first(pixels: &[u8], nodes: usize, channels: usize) -> Vec<u8> {
    let shape = (pixels.len() / (nodes * channels), nodes, channels);
    let images = ArrayView3::from_shape(shape, pixels).expect("whole images");
    images.permuted_axes([0, 2, 1]).iter().copied().collect()
}

fn classes(path: &Path, labels: &Array, count: usize) -> Result<Vec<u8>> {
    let problem = format!("array `labels` has {} entries for {count} images", labels.values.len());
    ensure!(labels.values.len() == count, Error::file(path, problem, "give one label per image"));
    let class = |(index, &value): (usize, &f64)| {
        let is_class = value.fract() == 0.0 && (0.0..CLASSES as f64).contains(&value);
        let problem = || format!("label {index} is {value}; expected a whole number from 0 to {}", CLASSES - 1);
        is_class.then_some(value as u8).ok_or_else(|| Error::file(path, problem(), "check the labels"))
    };
    labels.values.iter().enumerate().map(class).collect()
}

fn from_png(path: &Path) -> Result<Images> {
    let file = BufReader::new(File::open(path).map_err(Error::io(path, "open"))?);
    let wrong = |error: &dyn std::fmt::Display| {
        Error::file(path, format!("is not a readable PNG image ({error})"), "save it again as a PNG file")
    };
    let mut decoder = png::Decoder::new(file);
    decoder.set_transformations(png::Transformations::normalize_to_color8());
    let mut reader = decoder.read_info().map_err(|error| wrong(&error))?;
    let size = reader.output_buffer_size().ok_or_else(|| wrong(&"it is too large"))?;
    let mut data = vec![0; size];
    let info = reader.next_frame(&mut data).map_err(|error| wrong(&error))?;
    let problem = format!("has {} x {} pixels, expected a square", info.width, info.height);
    ensure!(info.width == info.height, Error::file(path, problem, "cut the image to a square"));
    let side = info.width as usize;
    let samples = info.color_type.samples();
    // What is see-through does not matter here.
    let channels = if samples >= 3 { 3 } else { 1 };
    let kept: Vec<u8> = data[..info.buffer_size()].chunks_exact(samples).flat_map(|p| p[..channels].to_vec()).collect();
    Images::new(side, channels, planes_first(&kept, side * side, channels), vec![0])
}

#[cfg(test)]
mod tests {
    use super::super::npz::write_npz;
    use super::*;

    fn array(name: &str, shape: &[usize], values: Vec<f64>) -> Array {
        Array { name: name.into(), shape: shape.to_vec(), values }
    }

    fn read(arrays: &[Array], needs_labels: bool) -> Result<Images> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("own.npz");
        write_npz(
            File::create(&path).unwrap(),
            arrays.iter().map(|a| (a.name.as_str(), a.shape.clone(), a.values.as_slice().into())),
        )
        .unwrap();
        read_images(&path, needs_labels)
    }

    #[test]
    fn the_three_shapes() {
        let grey = read(&[array("images", &[2, 2, 2], (0..8).map(f64::from).collect())], false).unwrap();
        assert_eq!((grey.count, grey.side, grey.channels, grey.pixels[5]), (2, 2, 1, 5));
        let last = read(&[array("images", &[1, 2, 2, 3], (0..12).map(f64::from).collect())], false).unwrap();
        assert_eq!(last.pixels, [0, 3, 6, 9, 1, 4, 7, 10, 2, 5, 8, 11]);
        let first = read(&[array("images", &[1, 3, 2, 2], (0..12).map(f64::from).collect())], false).unwrap();
        assert_eq!(first.pixels, (0..12).collect::<Vec<u8>>());
        let shares = read(&[array("images", &[1, 1, 1], vec![0.5])], false).unwrap();
        assert_eq!(shares.pixels, [128]);
    }

    #[test]
    fn what_is_wrong_is_named() {
        let good = || array("images", &[1, 2, 2], vec![2.0; 4]);
        for (arrays, labels, word) in [
            (vec![array("pictures", &[1, 2, 2], vec![0.0; 4])], false, "pictures"),
            (vec![array("images", &[1, 2, 3], vec![0.0; 6])], false, "[1, 2, 3]"),
            (vec![array("images", &[1, 2, 2], vec![0.0, 1.0, 2.0, 256.0])], false, "256"),
            (vec![array("images", &[1, 2, 2], vec![0.0, -1.0, 2.0, 3.0])], false, "-1"),
            (vec![good()], true, "labels"),
            (vec![good(), array("labels", &[2], vec![1.0, 2.0])], true, "2 entries"),
            (vec![good(), array("labels", &[1], vec![1.5])], true, "1.5"),
        ] {
            let message = read(&arrays, labels).unwrap_err().to_string();
            assert!(message.contains("own.npz") && message.contains(word), "{message}");
        }
    }

    #[test]
    fn a_png_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("own.png");
        let mut encoder = png::Encoder::new(File::create(&path).unwrap(), 2, 2);
        encoder.set_color(png::ColorType::Rgb);
        encoder.write_header().unwrap().write_image_data(&(0..12).collect::<Vec<u8>>()).unwrap();
        let image = read_images(&path, false).unwrap();
        assert_eq!((image.side, image.channels), (2, 3));
        assert_eq!(image.pixels, [0, 3, 6, 9, 1, 4, 7, 10, 2, 5, 8, 11]);
        assert!(read_images(&path, true).unwrap_err().to_string().contains("no label"));
    }
}
