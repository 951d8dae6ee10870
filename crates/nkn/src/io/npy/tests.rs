//! Round trips over shapes, types and byte orders, for folders and archives alike; damaged files.

use super::*;
use crate::io::npz::{read_npz, write_npz};
use proptest::prelude::*;
use std::fs;
use std::io::Write;
use std::path::PathBuf;
use tempfile::{TempDir, tempdir};

/// An array as numpy.save writes it. The values are whole numbers between 0 and 127, which every type holds.
#[derive(Clone, Debug)]
struct Saved {
    kind: &'static str,
    big_endian: bool,
    fortran: bool,
    shape: Vec<usize>,
    values: Vec<u8>,
}

fn any_saved() -> impl Strategy<Value = Saved> {
    let kind = prop::sample::select(vec!["f8", "f4", "i8", "i4", "i2", "i1", "u8", "u4", "u2", "u1"]);
    (kind, any::<bool>(), any::<bool>(), prop::collection::vec(0usize..5, 0..4)).prop_flat_map(
        |(kind, big_endian, fortran, shape)| {
            let values = prop::collection::vec(0u8..128, shape.iter().product::<usize>());
            values.prop_map(move |values| Saved { kind, big_endian, fortran, shape: shape.clone(), values })
        },
    )
}

impl Saved {
    fn bytes(&self) -> Vec<u8> {
        let order = if self.big_endian { '>' } else { '<' };
        let fortran = if self.fortran { "True" } else { "False" };
        let sides: String = self.shape.iter().map(|side| format!("{side},")).collect();
        let kind = self.kind;
        let mut header = format!("{{'descr': '{order}{kind}', 'fortran_order': {fortran}, 'shape': ({sides}), }}");
        while (header.len() + 11) % 64 != 0 {
            header.push(' ');
        }
        header.push('\n');
        let mut bytes = b"\x93NUMPY\x01\0".to_vec();
        bytes.extend((header.len() as u16).to_le_bytes());
        bytes.extend(header.bytes());
        for &value in &self.values {
            let mut number = match kind {
                "f8" => f64::from(value).to_le_bytes().to_vec(),
                "f4" => f32::from(value).to_le_bytes().to_vec(),
                _ => u64::from(value).to_le_bytes()[..kind[1..].parse().unwrap()].to_vec(),
            };
            if self.big_endian {
                number.reverse();
            }
            bytes.extend(number);
        }
        bytes
    }

    fn array(&self, name: &str) -> Array {
        let stored: Vec<f64> = self.values.iter().map(|value| f64::from(*value)).collect();
        let mut values = stored.clone();
        if self.fortran {
            for (at, value) in values.iter_mut().enumerate() {
                // The index along each axis, the last running fastest in `at` and the first in `from`.
                let (mut rest, mut from) = (at, 0);
                for (axis, side) in self.shape.iter().enumerate().rev() {
                    from += rest % side * self.shape[..axis].iter().product::<usize>();
                    rest /= side;
                }
                *value = stored[from];
            }
        }
        Array { name: name.into(), shape: self.shape.clone(), values }
    }
}

fn folder_with(files: &[(&str, Vec<u8>)]) -> TempDir {
    let folder = tempdir().unwrap();
    files.iter().for_each(|(name, content)| fs::write(folder.path().join(name), content).unwrap());
    folder
}

proptest! {
    #[test]
    fn a_folder_and_an_archive_give_the_same_arrays(first in any_saved(), second in any_saved()) {
        let expected = [first.array("points"), second.array("u")];
        let files = [("points.npy", first.bytes()), ("u.npy", second.bytes()), ("notes.txt", b"no array".to_vec())];
        let folder = folder_with(&files);
        prop_assert_eq!(&read_npy_folder(folder.path()).unwrap(), &expected);
        let path = folder.path().join("all.npz");
        let mut archive = zip::ZipWriter::new(File::create(&path).unwrap());
        for (name, content) in &files[..2] {
            archive.start_file(*name, zip::write::SimpleFileOptions::default()).unwrap();
            archive.write_all(content).unwrap();
        }
        archive.finish().unwrap();
        prop_assert_eq!(&read_npz(&path).unwrap(), &expected);
    }

    #[test]
    fn what_is_written_comes_back(
        shape in prop::collection::vec(0usize..5, 0..4),
        seed in prop::collection::vec(prop::num::f64::ANY, 64),
    ) {
        let values = &seed[..shape.iter().product::<usize>().min(64)];
        prop_assume!(values.len() == shape.iter().product::<usize>());
        let folder = tempdir().unwrap();
        let path = folder.path().join("a.npz");
        write_npz(File::create(&path).unwrap(), [("u", shape.clone(), values.into())]).unwrap();
        let read = read_npz(&path).unwrap();
        prop_assert_eq!((&read[0].name[..], &read[0].shape), ("u", &shape));
        let bits = |values: &[f64]| values.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
        prop_assert_eq!(bits(&read[0].values), bits(values));
    }

    #[test]
    fn damaged_arrays_are_named(saved in any_saved(), cut in any::<prop::sample::Index>(), extra in any::<bool>()) {
        let mut bytes = saved.bytes();
        if extra { bytes.push(0) } else { bytes.truncate(cut.index(bytes.len())) }
        let folder = folder_with(&[("u.npy", bytes)]);
        let message = read_npy_folder(folder.path()).unwrap_err().to_string();
        prop_assert!(message.contains("u.npy: array `u`") && message.contains("hint: "), "{}", message);
    }
}

#[test]
fn claims_get_no_memory_and_other_folders_are_refused() {
    let shape = vec![1 << 20, 1 << 20, 1 << 20];
    let saved = Saved { kind: "f8", big_endian: false, fortran: false, shape, values: vec![1, 2] };
    let folder = folder_with(&[("u.npy", saved.bytes())]);
    let message = read_npy_folder(folder.path()).unwrap_err().to_string();
    assert!(message.contains("u.npy: array `u` cannot be read: it claims the shape"), "{message}");
    let message = read_npy_folder(tempdir().unwrap().path()).unwrap_err().to_string();
    assert!(message.contains("without .npy files") && message.contains("hint: "), "{message}");
    assert!(read_npy_folder(&PathBuf::from("nowhere")).unwrap_err().to_string().contains("nowhere: could not open"));
}
