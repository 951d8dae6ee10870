//! The files in `tests/fixtures` come from `make_hdf5.py` there; stranger ones are put together here.

use super::*;
use hdf5_pure::{DatatypeByteOrder, FixedPointLayout, FloatingPointLayout};
use proptest::prelude::*;
use std::fs;
use tempfile::{NamedTempFile, tempdir};

const PLAIN: [&str; 3] = ["plain.h5", "plain_v110_gzip.h5", "plain_v110_lzf.h5"];

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)
}

/// All arrays of real numbers in a file.
fn read_all(path: &Path, first: Option<usize>) -> Result<Vec<Array>> {
    let mut file = open(path)?;
    let real: Vec<usize> = (0..file.variables().len()).filter(|at| file.variables()[*at].is_real()).collect();
    real.into_iter().map(|at| file.read(at, first)).collect()
}

fn message<T: std::fmt::Debug>(result: Result<T>) -> String {
    let message = result.unwrap_err().to_string();
    assert!(message.contains("hint: "), "{message}");
    message
}

/// What `make_hdf5.py` has put into its files.
fn expected(name: &str) -> Array {
    let formula: fn(f64) -> f64 = match name {
        "narrow" => |value| value + 0.5,
        "byte" => |value| value,
        "short" | "long" => |value| value - 150.0,
        "flag" => |value| f64::from(value % 2.0 == 0.0),
        _ => |value| value + 0.25,
    };
    let (shape, values) = match name {
        "scalar" => (vec![], vec![7.5]),
        "empty" => (vec![0, 3], vec![]),
        _ => {
            let at = |n| f64::from(100 * (n / 20) + 10 * (n / 4 % 5) + n % 4);
            (vec![3, 5, 4], (0..60).map(|n| formula(at(n))).collect())
        }
    };
    Array { name: name.into(), shape, values }
}

#[test]
fn every_type_and_storage_is_read() {
    let names =
        ["big", "byte", "empty", "flag", "group/deep/wide", "long", "narrow", "packed", "scalar", "short", "wide"];
    for file in PLAIN {
        let mut arrays = read_all(&fixture(file), None).unwrap();
        arrays.sort_by(|a, b| a.name.cmp(&b.name));
        assert_eq!(arrays, names.map(expected), "{file}");
        let list = open(&fixture(file)).unwrap().variables().to_vec();
        let others = list.iter().filter(|variable| !variable.is_real()).count();
        assert_eq!((others, list.len()), (3, 14), "text, complex and half are listed");
    }
}

#[test]
fn the_first_samples_can_be_read_alone() {
    for file in PLAIN {
        for array in read_all(&fixture(file), Some(2)).unwrap() {
            let mut whole = expected(&array.name);
            if whole.shape.first() == Some(&3) {
                whole.shape[0] = 2;
                whole.values.truncate(40);
            }
            assert_eq!(array, whole, "{file}");
        }
    }
}

#[test]
fn matlab_is_told_by_its_attributes() {
    let arrays = read_all(&fixture("headless_matlab.h5"), None).unwrap();
    let values = vec![0.0, 3.0, 1.0, 4.0, 2.0, 5.0];
    assert_eq!(arrays, [Array { name: "u".into(), shape: vec![3, 2], values }]);
}

#[test]
fn the_newest_layouts_are_refused_with_a_way_out() {
    let message = message(read_all(&fixture("latest_chunked.h5"), None));
    assert!(message.contains("latest_chunked.h5: variable `u`") && message.contains("h5py"), "{message}");
}

#[test]
fn a_group_that_contains_itself_is_refused() {
    let message = message(read_all(&fixture("cycle.h5"), None));
    assert!(message.contains("cycle.h5") && message.contains("deep"), "{message}");
}

/// A type by its name in NumPy.
fn datatype(name: &str, big_endian: bool) -> Datatype {
    let size: u32 = name[1..].parse().unwrap();
    let byte_order = if big_endian { DatatypeByteOrder::BigEndian } else { DatatypeByteOrder::LittleEndian };
    let float = if size == 4 { FloatingPointLayout::IEEE754_BINARY32 } else { FloatingPointLayout::IEEE754_BINARY64 };
    let whole = FixedPointLayout { signed: name.starts_with('i'), bit_offset: 0, bit_precision: 8 * size as u16 };
    match name.starts_with('f') {
        true => Datatype::FloatingPoint { size, byte_order, layout: float },
        false => Datatype::FixedPoint { size, byte_order, layout: whole },
    }
}

proptest! {
    #[test]
    fn what_is_written_comes_back(
        shape in prop::collection::vec(0usize..5, 0..4),
        seed in prop::collection::vec(prop::num::f64::ANY, 64),
    ) {
        let values = &seed[..shape.iter().product::<usize>()];
        let folder = tempdir().unwrap();
        let path = folder.path().join("a.h5");
        let arrays = [("u", shape.clone(), values.into()), ("a b", vec![1], vec![0.5].into())];
        write_hdf5(std::fs::File::create(&path).unwrap(), arrays).unwrap();
        let mut read = read_all(&path, None).unwrap();
        read.sort_by(|a, b| b.name.cmp(&a.name));
        prop_assert_eq!((&read[0].name[..], &read[0].shape), ("u", &shape));
        let bits = |values: &[f64]| values.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
        prop_assert_eq!(bits(&read[0].values), bits(values));
        prop_assert_eq!(&read[1], &Array { name: "a b".into(), shape: vec![1], values: vec![0.5] });
    }

    #[test]
    fn every_type_and_byte_order_is_read(
        name in prop::sample::select(vec!["f8", "f4", "i8", "i4", "i2", "i1", "u8", "u4", "u2", "u1"]),
        big_endian in any::<bool>(),
        shape in prop::collection::vec(1usize..5, 0..4),
        seed in prop::collection::vec(0u8..128, 64),
    ) {
        let values = &seed[..shape.iter().product::<usize>()];
        let number = |value: &u8| {
            let mut number = match name {
                "f8" => f64::from(*value).to_le_bytes().to_vec(),
                "f4" => f32::from(*value).to_le_bytes().to_vec(),
                _ => u64::from(*value).to_le_bytes()[..name[1..].parse().unwrap()].to_vec(),
            };
            if big_endian {
                number.reverse();
            }
            number
        };
        let sides: Vec<u64> = shape.iter().map(|side| *side as u64).collect();
        let mut builder = FileBuilder::new();
        let mut group = builder.create_group("g");
        let bytes = values.iter().flat_map(number).collect();
        group.create_dataset("u").with_raw_data(datatype(name, big_endian), bytes, values.len() as u64).with_shape(&sides);
        builder.add_group(group.finish());
        let file = NamedTempFile::new().unwrap();
        builder.write(file.path()).unwrap();
        let values = values.iter().map(|value| f64::from(*value)).collect();
        prop_assert_eq!(read_all(file.path(), None).unwrap(), [Array { name: "g/u".into(), shape, values }]);
    }

    #[test]
    fn changed_bytes_never_panic(
        name in prop::sample::select(PLAIN.to_vec()),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
    ) {
        let mut content = fs::read(fixture(name)).unwrap();
        for (at, byte) in changes {
            let at = at.index(content.len());
            content[at] = byte;
        }
        let file = NamedTempFile::new().unwrap();
        fs::write(file.path(), content).unwrap();
        let _ = read_all(file.path(), None);
    }

    #[test]
    fn no_end_is_missing_unnoticed(name in prop::sample::select(PLAIN.to_vec()), cut in any::<prop::sample::Index>()) {
        let content = fs::read(fixture(name)).unwrap();
        let file = NamedTempFile::new().unwrap();
        fs::write(file.path(), &content[..cut.index(content.len())]).unwrap();
        let message = message(read_all(file.path(), None));
        prop_assert!(message.contains(file.path().to_str().unwrap()), "{}", message);
    }
}
