//! The files in `tests/fixtures` come from `make_matlab.py` there; stranger ones are put together here.

use super::*;
use flate2::{Compression, write::ZlibEncoder};
use proptest::prelude::*;
use std::fs;
use std::io::Write;
use std::path::PathBuf;
use tempfile::NamedTempFile;

const READABLE: [&str; 9] = ["wide", "narrow", "byte", "short", "long", "flag", "matrix", "scalar", "empty"];
const OTHERS: [(&str, &str); 5] =
    [("text", "char"), ("complex", "complex double"), ("record", "struct"), ("cell", "cell"), ("sparse", "sparse")];
const FIXTURES: [&str; 4] = ["matlab_v5", "matlab_v5_compressed", "matlab_v73", "matlab_v73_chunked"];

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name).with_extension("mat")
}

fn file_with(content: &[u8]) -> NamedTempFile {
    let file = NamedTempFile::new().unwrap();
    fs::write(file.path(), content).unwrap();
    file
}

fn list_matlab(path: &Path) -> Result<Vec<MatlabVariable>> {
    Ok(open(path)?.variables().to_vec())
}

/// Reads variables by name.
fn read_matlab(path: &Path, wanted: &[&str], first: Option<usize>) -> Result<Vec<Array>> {
    let mut contents = open(path)?;
    let mut read = |name: &&str| {
        let found = contents.variables().iter().position(|variable| variable.name == *name && variable.is_real());
        contents.read(found.ok_or_else(|| damaged(path, format!("has no variable `{name}`")))?, first)
    };
    wanted.iter().map(&mut read).collect()
}

fn message<T: std::fmt::Debug>(result: Result<T>) -> String {
    result.unwrap_err().to_string()
}

/// What `make_matlab.py` has put into its files.
fn expected(name: &str) -> Array {
    let formula: fn(f64) -> f64 = match name {
        "wide" | "foreign" => |value| value + 0.25,
        "narrow" => |value| value + 0.5,
        "short" | "long" => |value| value - 150.0,
        "flag" => |value| f64::from(value % 2.0 == 0.0),
        _ => |value| value,
    };
    let (shape, values) = match name {
        "matrix" => (vec![2, 3], (0..6).map(|n| f64::from(n) / 8.0).collect()),
        "scalar" => (vec![1, 1], vec![7.5]),
        "empty" => (vec![0, 3], vec![]),
        _ => {
            let at = |n| f64::from(100 * (n / 20) + 10 * (n / 4 % 5) + n % 4);
            (vec![3, 5, 4], (0..60).map(|n| formula(at(n))).collect())
        }
    };
    Array { name: name.into(), shape, values }
}

#[test]
fn every_class_is_read_from_every_format() {
    for fixture_name in FIXTURES {
        let arrays = read_matlab(&fixture(fixture_name), &READABLE, None).unwrap();
        for (name, array) in READABLE.iter().zip(arrays) {
            assert_eq!(array, expected(name), "{fixture_name}");
        }
    }
    let foreign = read_matlab(&fixture("matlab_v73"), &["foreign"], None).unwrap();
    assert_eq!(foreign, [expected("foreign")]);
}

#[test]
fn the_first_samples_can_be_read_alone() {
    for name in FIXTURES {
        for first in 0..5 {
            let arrays = read_matlab(&fixture(name), &["byte", "wide", "scalar"], Some(first)).unwrap();
            for array in arrays {
                let mut whole = expected(&array.name);
                let row: usize = whole.shape[1..].iter().product();
                whole.shape[0] = whole.shape[0].min(first);
                whole.values.truncate(row * first);
                assert_eq!(array, whole, "{name}, first {first}");
            }
        }
    }
}

#[test]
fn the_list_has_everything_with_its_class() {
    for name in FIXTURES {
        let list = list_matlab(&fixture(name)).unwrap();
        let class = |wanted: &str| list.iter().find(|variable| variable.name == wanted).unwrap().class.clone();
        for (variable, expected) in OTHERS {
            assert_eq!(class(variable), expected, "{name}");
            assert!(list.iter().all(|found| found.name != variable || !found.is_real()));
        }
        let classes = ["double", "single", "uint8", "int16", "int64"];
        for (variable, expected) in READABLE.into_iter().zip(classes) {
            assert_eq!(class(variable), expected, "{name}");
        }
        assert!(list.iter().all(|variable| !variable.name.contains('#') && !variable.name.is_empty()));
    }
}

#[test]
fn other_files_are_recognised() {
    let attacks: [(&[u8], &str); 5] = [
        (b"", "empty"),
        (b"PK\x03\x04 and so on", "is a zip or .npz file, expected a MATLAB file"),
        (b"\x89HDF\r\n\x1a\nrest", "is an HDF5 file, expected a MATLAB file"),
        (b"MATLAB 5.0 MAT-file", "ends at byte 19, inside the header of 128 bytes"),
        (b"MATLAB 7.3 MAT-file", "ends at byte 19, inside the header of 520 bytes"),
    ];
    for (content, expected) in attacks {
        let message = message(list_matlab(file_with(content).path()));
        assert!(message.contains(expected) && message.contains("hint"), "{message}");
    }
    assert!(message(list_matlab(&fixture("matlab_v4"))).contains("v4"));
    assert!(message(list_matlab(Path::new("nowhere.mat"))).contains("nowhere.mat"));
    let mut odd = b"MATLAB 5.0 MAT-file".to_vec();
    odd.resize(600, b' ');
    assert!(message(list_matlab(file_with(&odd).path())).contains("no byte order"));
    odd[7..10].copy_from_slice(b"7.3");
    assert!(message(list_matlab(file_with(&odd).path())).contains("no HDF5 data"));
}

#[test]
fn a_file_cut_anywhere_is_refused_or_read_rightly() {
    for name in FIXTURES {
        let content = fs::read(fixture(name)).unwrap();
        let file = file_with(&content);
        for length in (0..content.len()).rev() {
            file.as_file().set_len(length as u64).unwrap();
            // Variables at the start of a v5 file that ends after one of them are whole.
            for variable in ["wide", "scalar"] {
                if let Ok(arrays) = read_matlab(file.path(), &[variable], None) {
                    assert_eq!(arrays, [expected(variable)], "{name}, {length} bytes");
                }
            }
        }
        file.as_file().set_len(0).unwrap();
        fs::write(file.path(), &content[..content.len() / 2]).unwrap();
        let message = message(read_matlab(file.path(), &["wide"], None));
        assert!(message.contains(&format!("ends at byte {}", content.len() / 2)), "{message}");
    }
}

#[test]
fn the_truncated_variable_is_named() {
    let content = Writer { big_endian: false }.file(&[("coeff", 6, &[2, 2], 9, &[0; 32])], false);
    let message = message(list_matlab(file_with(&content[..content.len() - 8]).path()));
    assert!(message.contains("inside variable `coeff`, which goes from byte 128 to byte 224"), "{message}");
}

#[test]
fn both_byte_orders_and_narrow_storage_are_read() {
    for big_endian in [false, true] {
        for compressed in [false, true] {
            let writer = Writer { big_endian };
            let order = |bytes: [u8; 2]| if big_endian { [bytes[1], bytes[0]] } else { bytes };
            let shorts: Vec<u8> = [1, -2, 3, -4, 5, 600i16].iter().flat_map(|n| order(n.to_le_bytes())).collect();
            let mut half = 0.5f64.to_le_bytes();
            if big_endian {
                half.reverse();
            }
            let content = writer.file(
                &[
                    // Doubles stored as int16, as MATLAB does with whole numbers; bytes that fit into the tag.
                    ("stored_short", 6, &[2, 3], 3, &shorts),
                    ("tiny", 6, &[1, 3], 2, &[7, 8, 9]),
                    ("half", 6, &[1, 1], 9, &half),
                ],
                compressed,
            );
            let file = file_with(&content);
            let arrays = read_matlab(file.path(), &["half", "tiny", "stored_short"], None).unwrap();
            assert_eq!(arrays[0].values, [0.5]);
            assert_eq!((&arrays[1].shape[..], &arrays[1].values[..]), (&[1, 3][..], &[7.0, 8.0, 9.0][..]));
            assert_eq!(arrays[2].values, [1.0, 3.0, 5.0, -2.0, -4.0, 600.0]);
        }
    }
}

#[test]
fn claims_are_not_believed() {
    let huge = [1 << 30, 1 << 30, 1 << 30];
    for compressed in [false, true] {
        let refused = |shape: &[u32], claimed: Option<u32>, expected: &str| {
            let mut content = Writer::variable(&Writer { big_endian: false }, "u", 6, shape, 9, &[0; 32]);
            if let Some(claimed) = claimed {
                // The length of the values stands before them, that of the variable in its own tag.
                let at = content.len() - 36;
                content[at..at + 4].copy_from_slice(&claimed.to_le_bytes());
                content[4..8].copy_from_slice(&(claimed + 64).to_le_bytes());
            }
            let content = Writer { big_endian: false }.wrap(&[content], compressed);
            let message = message(read_matlab(file_with(&content).path(), &["u"], Some(1)));
            assert!(message.contains(expected), "{message}");
        };
        refused(&huge, None, "no computer can hold");
        refused(&[1 << 20, 1 << 20], None, "needs 8796093022208");
        refused(&[1, 5], None, "needs 40");
        refused(&[4, 1 << 26], Some(1 << 31), if compressed { "claims 2147483648 bytes" } else { "ends at byte" });
        // Possible for so many compressed bytes, but not true.
        refused(&[4, 1 << 9], Some(1 << 14), if compressed { "claims 16384 bytes" } else { "ends at byte" });
    }
}

#[test]
fn a_chunk_that_claims_gigabytes_is_refused() {
    let mut content = fs::read(fixture("matlab_v73_chunked")).unwrap();
    // The list of chunks starts with these five bytes, the size of the first chunk is 24 bytes on.
    let lists: Vec<usize> = (0..content.len() - 5).filter(|at| &content[*at..at + 5] == b"TREE\x01").collect();
    assert_eq!(lists.len(), 2);
    for at in lists {
        content[at + 24..at + 28].copy_from_slice(&0xffff_fff0u32.to_le_bytes());
    }
    for name in ["wide", "byte"] {
        let message = message(read_matlab(file_with(&content).path(), &[name], None));
        assert!(message.contains(&format!("`{name}` has 4294967280 bytes at byte")), "{message}");
    }
}

#[test]
fn much_compressed_truth_is_believed() {
    let content = Writer { big_endian: false }.file(&[("u", 6, &[4, 1 << 12], 9, &vec![0; 1 << 17])], true);
    assert!(content.len() < 1000);
    let array = &read_matlab(file_with(&content).path(), &["u"], None).unwrap()[0];
    assert!(array.values.len() == 1 << 14 && array.values.iter().all(|value| *value == 0.0));
}

#[test]
fn a_damaged_stream_is_reported() {
    let numbers: Vec<u8> = (0..4000u32).flat_map(|n| n.wrapping_mul(2654435761).to_le_bytes()).collect();
    let content = Writer { big_endian: false }.file(&[("u", 6, &[2, 2000], 5, &numbers)], true);
    for at in [content.len() / 2, content.len() - 1] {
        let mut damaged = content.clone();
        damaged[at] ^= 0xff;
        let message = message(read_matlab(file_with(&damaged).path(), &["u"], None));
        assert!(message.contains("at byte 128") && message.contains("zlib"), "{message}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn flipped_bytes_never_panic(
        which in 0..FIXTURES.len(),
        flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
    ) {
        let mut content = fs::read(fixture(FIXTURES[which])).unwrap();
        for (at, value) in flips {
            let at = at.index(content.len());
            content[at] = value;
        }
        let file = file_with(&content);
        let _ = list_matlab(file.path());
        for name in READABLE {
            let _ = read_matlab(file.path(), &[name], Some(2));
        }
    }
}

/// Writes v5 files by hand: in both byte orders, and with lies.
struct Writer {
    big_endian: bool,
}

/// Name, class, shape, type of the stored values, the stored values.
type Variable<'a> = (&'a str, u32, &'a [u32], u32, &'a [u8]);

impl Writer {
    fn file(&self, variables: &[Variable], compressed: bool) -> Vec<u8> {
        let made = variables
            .iter()
            .map(|(name, class, shape, kind, values)| self.variable(name, *class, shape, *kind, values));
        self.wrap(&made.collect::<Vec<_>>(), compressed)
    }

    fn wrap(&self, variables: &[Vec<u8>], compressed: bool) -> Vec<u8> {
        let mut file = b"MATLAB 5.0 MAT-file, written by hand".to_vec();
        file.resize(124, b' ');
        file.extend(if self.big_endian { *b"\x01\x00MI" } else { *b"\x00\x01IM" });
        for variable in variables {
            if compressed {
                let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
                encoder.write_all(variable).unwrap();
                let packed = encoder.finish().unwrap();
                file.extend(self.word(15));
                file.extend(self.word(packed.len() as u32));
                file.extend(packed);
            } else {
                file.extend(variable);
            }
        }
        file
    }

    fn variable(&self, name: &str, class: u32, shape: &[u32], kind: u32, values: &[u8]) -> Vec<u8> {
        let sides: Vec<u8> = shape.iter().flat_map(|side| self.word(*side)).collect();
        let flags = [self.word(class), self.word(0)].concat();
        let parts = [(6, &flags[..]), (5, &sides), (1, name.as_bytes()), (kind, values)];
        self.element(14, &parts.map(|(kind, content)| self.element(kind, content)).concat())
    }

    fn element(&self, kind: u32, content: &[u8]) -> Vec<u8> {
        let length = content.len() as u32;
        let tag = if length <= 4 {
            self.word(length << 16 | kind).to_vec()
        } else {
            [self.word(kind), self.word(length)].concat()
        };
        let mut element = [&tag[..], content].concat();
        element.resize(element.len().next_multiple_of(8), 0);
        element
    }

    fn word(&self, number: u32) -> [u8; 4] {
        if self.big_endian { number.to_be_bytes() } else { number.to_le_bytes() }
    }
}
