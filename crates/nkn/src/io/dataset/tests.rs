//! Round trips, foreign and damaged files.

use super::*;
use crate::domain::{Grid, PointCloud};
use ndarray::{Array1, Array2, Array3, ArrayD, Dimension, IxDyn, ShapeBuilder, array};
use ndarray_npy::{NpzWriter, WriteNpyExt};
use proptest::prelude::*;
use std::fs::{self, File};
use std::io::Write;
use tempfile::{TempDir, tempdir};

fn example() -> Samples {
    let grid = Grid::new(vec![2, 3], vec![-1.0, 0.0], vec![1.0, 2.5]).unwrap();
    let b: Vec<f64> = (0..12).map(f64::from).collect();
    let a: Vec<f64> = b.iter().map(|b| 0.1 * b).collect();
    let u: Vec<f64> = b.iter().map(|b| b.sqrt()).collect();
    Samples::on(grid).inputs([("b", b), ("a", a)]).unwrap().output("u", u).unwrap()
}

fn read(path: &Path) -> Result<Samples> {
    read_dataset(path, Need::Output, &[])
}

/// Writes arrays as numpy.savez would, without any of our checks.
struct Savez {
    archive: NpzWriter<File>,
    folder: TempDir,
}

impl Savez {
    fn new() -> Self {
        let folder = tempdir().unwrap();
        let file = File::create(folder.path().join("data.npz")).unwrap();
        Self { archive: NpzWriter::new(file), folder }
    }

    fn with(mut self, name: &str, array: &impl WriteNpyExt) -> Self {
        self.archive.add_array(name, array).unwrap();
        self
    }

    fn read(self) -> Result<Samples> {
        self.archive.finish().unwrap();
        read(&self.folder.path().join("data.npz"))
    }

    /// The message of the error, which must name the file and give a hint.
    fn refused(self) -> String {
        let message = self.read().unwrap_err().to_string();
        assert!(message.contains("data.npz: "), "{message}");
        assert!(message.contains("hint: "), "{message}");
        message
    }
}

fn refused_bytes(bytes: &[u8]) -> String {
    let folder = tempdir().unwrap();
    let path = folder.path().join("data.npz");
    fs::write(&path, bytes).unwrap();
    read(&path).unwrap_err().to_string()
}

/// The bytes of an archive with one array under the given header.
fn npz(header: &str, version: u8, data: &[u8], compressed: bool) -> Vec<u8> {
    let mut writer = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    let method = if compressed { zip::CompressionMethod::Deflated } else { zip::CompressionMethod::Stored };
    let options = zip::write::SimpleFileOptions::default().compression_method(method);
    for name in ["u.npy", "f.npy"] {
        writer.start_file(name, options).unwrap();
        writer.write_all(&[b"\x93NUMPY", &[version, 0, 0x76, 0][..]].concat()).unwrap();
        writer.write_all(format!("{header:<117}\n").as_bytes()).unwrap();
        writer.write_all(data).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

fn header(descriptor: &str, fortran: bool, shape: &str) -> String {
    let order = if fortran { "True" } else { "False" };
    format!("{{'descr': '{descriptor}', 'fortran_order': {order}, 'shape': {shape}, }}")
}

#[test]
fn round_trip_over_an_existing_file_and_without_an_output() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("data.npz");
    write_dataset(&path, &example()).unwrap();
    assert_eq!(read(&path).unwrap(), example());
    let inputs = Samples::on(example().domain().clone()).input("b", vec![1.0; 6]).unwrap();
    write_dataset(&path, &inputs).unwrap();
    assert_eq!(read_dataset(&path, Need::Inputs, &[]).unwrap(), inputs);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    let message = read(&path).unwrap_err().to_string();
    assert!(message.contains("has no array `u`; it has `b`"), "{message}");
}

#[test]
fn the_first_samples_alone() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("data.npz");
    write_dataset(&path, &example()).unwrap();
    assert_eq!(read_first(&path, Need::Output, &[], Some(1)).unwrap(), example().select(&[0]));
    assert_eq!(read_first(&path, Need::Output, &[], Some(7)).unwrap(), example());
}

#[test]
fn a_failed_write_leaves_nothing_behind() {
    let folder = tempdir().unwrap();
    // A folder in the way: everything works up to the rename.
    let path = folder.path().join("data.npz");
    fs::create_dir(&path).unwrap();
    let error = write_dataset(&path, &example()).unwrap_err();
    assert!(matches!(error, Error::Io { .. }), "{error}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    let missing = folder.path().join("missing/data.npz");
    let message = write_dataset(&missing, &example()).unwrap_err().to_string();
    assert!(message.contains("missing/data.npz: could not write"), "{message}");
}

#[test]
fn a_stale_temporary_file_is_no_obstacle() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("data.npz");
    fs::write(folder.path().join("data.npz.tmp"), "left by a kill").unwrap();
    write_dataset(&path, &example()).unwrap();
    assert_eq!(read(&path).unwrap(), example());
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn names_that_could_not_be_read_back_are_not_written() {
    let folder = tempdir().unwrap();
    for name in ["u", "points", "measure", "lower", "../b", "b.npy"] {
        let samples = Samples::on(example().domain().clone()).input(name, vec![1.0; 6]).unwrap();
        let message = write_dataset(&folder.path().join("data.npz"), &samples).unwrap_err().to_string();
        assert!(message.contains(&format!("{name:?}")) && message.contains("rename the field"), "{message}");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}

#[test]
fn a_shared_cloud_is_read_and_so_is_one_per_sample() {
    let u = Array2::<f64>::ones((4, 5));
    let file = || Savez::new().with("u", &u).with("f", &u);
    let points = Array2::<f64>::from_shape_fn((5, 2), |(i, j)| (2 * i + j) as f64);
    // The box around the points stands for the domain, unless its measure is given.
    let cloud = |measure| Domain::from(PointCloud::new(2, (0..10).map(f64::from).collect(), measure).unwrap());
    assert_eq!(file().with("points", &points).read().unwrap().domain(), &cloud(64.0));
    let own = file().with("points", &points).with("measure", &Array1::from_elem(1, 2.5)).read().unwrap();
    assert_eq!(own.domain(), &cloud(2.5));
    let own = Array3::<f64>::from_shape_fn((4, 5, 2), |(n, i, j)| (n + 2 * i + j) as f64);
    assert!(
        matches!(file().with("points", &own).read().unwrap().domain(), Domain::Clouds(clouds) if clouds.count() == 4)
    );
    let message = file().with("points", &Array3::<f64>::ones((3, 5, 2))).refused();
    assert!(message.contains("array `points` has the shape 3 x 5 x 2; expected 4 x 5 x dim"), "{message}");
    let message = file().with("points", &Array2::<f64>::ones((4, 2))).refused();
    assert!(message.contains("array `points` has the shape 4 x 2; expected 5 x dim"), "{message}");
    assert!(file().with("points", &(points.clone() / 0.0)).refused().contains("NaN"));
    let corner = Array1::<f64>::zeros(1);
    let message = file().with("points", &points).with("lower", &corner).refused();
    assert!(message.contains("not both `lower` and `upper`"), "{message}");
    let u = Array3::<f64>::ones((2, 9, 9));
    let vectors = Savez::new().with("u", &u).with("f", &u).with("points", &Array2::<f64>::ones((9, 2))).read().unwrap();
    assert_eq!((vectors.nodes(), vectors.outputs()[0].components), (9, 9));
    let message = Savez::new().with("u", &u).with("f", &u).with("points", &Array2::<f64>::ones((8, 2))).refused();
    assert!(message.contains("array `points` has the shape 8 x 2; expected 9 x dim"), "{message}");
    // Without points, a measure is a field like any other.
    assert!(Savez::new().with("u", &u).with("measure", &u).read().is_ok());
}

#[test]
fn shapes_that_do_not_fit_are_named() {
    let u = Array2::<f64>::ones((4, 5));
    let message = Savez::new().with("u", &u).with("f", &Array2::<f64>::ones((4, 6))).refused();
    assert!(message.contains("field \"f\": expected samples x 5, got 4 x 6"), "{message}");
    let message = Savez::new().with("u", &u).with("f", &Array2::<f64>::ones((3, 5))).refused();
    assert!(message.contains("field \"u\": expected 3 samples as \"f\" has, got 4"), "{message}");
    let message = Savez::new().with("u", &u).with("f", &u).with("upper", &Array1::<f64>::ones(2)).refused();
    assert!(message.contains("array `upper` has the shape 2; expected 1"), "{message}");
    Savez::new().with("u", &u).with("f", &u).with("lower", &Array1::<f64>::ones(1)).refused();
    for shape in [vec![], vec![4], vec![0, 5], vec![4, 0], vec![2; 5]] {
        let odd = ArrayD::<f64>::ones(shape);
        Savez::new().with("u", &odd).with("f", &odd).refused();
    }
}

#[test]
fn missing_arrays_are_named() {
    let u = Array2::<f64>::ones((4, 5));
    let message = Savez::new().with("u", &u).refused();
    assert!(message.contains("has no input field"), "{message}");
    let message = Savez::new().with("f", &u).refused();
    assert!(message.contains("has no array `u`"), "{message}");
    let message = Savez::new().refused();
    assert!(message.contains("holds neither"), "{message}");
}

#[test]
fn bad_values_are_located() {
    let u = Array2::<f64>::ones((4, 5));
    for bad in [f64::NAN, f64::INFINITY, 1e300] {
        let mut f = u.clone();
        f[(3, 1)] = bad;
        let message = Savez::new().with("u", &u).with("f", &f).refused();
        assert!(message.contains("field \"f\"") && message.contains("in sample 3, node 1"), "{message}");
    }
}

#[test]
fn the_name_of_a_file_does_not_matter() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("numbers.mat");
    // Read as what it is; but nothing is written under the name of another format.
    let message = write_dataset(&path, &example()).unwrap_err().to_string();
    assert!(message.contains("numbers.mat: ends with .mat") && !path.exists(), "{message}");
    write_dataset(&folder.path().join("numbers"), &example()).unwrap();
    fs::rename(folder.path().join("numbers"), &path).unwrap();
    assert_eq!(read(&path).unwrap(), example());
    write_dataset(&folder.path().join("numbers.hdf5"), &example()).unwrap();
    assert_eq!(read(&folder.path().join("numbers.hdf5")).unwrap(), example());
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/matlab_v5.mat");
    let message = read(&fixture).unwrap_err().to_string();
    let path = folder.path().join("numbers.npz");
    fs::copy(&fixture, &path).unwrap();
    // Read as MATLAB's whatever its name: both fail alike, since the fixture's arrays are no data set.
    let renamed = read(&path).unwrap_err().to_string();
    assert_eq!(renamed.replace(&path.display().to_string(), ""), message.replace(&fixture.display().to_string(), ""));
    for (start, expected) in [
        (&b"\x93NUMPY\x01\0"[..], "is a single .npy array, expected a data set"),
        (b"\x89PNG\r\n\x1a\n", "is a PNG image"),
        (b"x,f,u\n0.0,1.0,2.0\n", "is a text file"),
        (b"\0\x01\x02", "begins like no known format"),
        (b"", "is empty"),
    ] {
        let message = refused_bytes(start);
        assert!(message.contains(expected), "{message}");
    }
}

#[test]
fn element_types_that_are_no_real_numbers_are_named() {
    for descriptor in ["<c16", "|O", "<f2", "<U4"] {
        let message = refused_bytes(&npz(&header(descriptor, false, "(2, 2)"), 1, &[0; 64], false));
        assert!(message.contains(&format!("array `u` has the element type '{descriptor}'")), "{message}");
    }
}

/// A shape that the file cannot hold is found by reading what is there: nothing of its size is allocated, and these shapes are
/// larger than any memory.
#[test]
fn a_header_that_lies_gets_no_memory() {
    for compressed in [false, true] {
        let lie = |shape: &str| refused_bytes(&npz(&header("<f8", false, shape), 1, &[0; 64], compressed));
        for shape in ["(4, 1099511627776)", "(4, 4000)", "(4, 3)", "(1152921504606846975, 1)"] {
            assert!(lie(shape).contains("ends too early"), "{}", lie(shape));
        }
        assert!(lie("(18446744073709551615, 18446744073709551615)").contains("it claims the shape"));
        assert!(lie("(4, 1)").contains("goes on after"), "{}", lie("(4, 1)"));
        // Version 2 has room for four gigabytes of header.
        let message = refused_bytes(&npz(&header("<f8", false, "(4, 2)"), 2, &[0; 64], compressed));
        assert!(message.contains("version 1"), "{message}");
        let honest = npz(&header("<f8", false, "(4, 2)"), 1, &[0; 64], compressed);
        let folder = tempdir().unwrap();
        fs::write(folder.path().join("a"), honest).unwrap();
        assert_eq!(read(&folder.path().join("a")).unwrap().count(), 4);
    }
}

#[test]
fn a_file_cut_anywhere_is_an_error_and_never_a_panic() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("data.npz");
    write_dataset(&path, &example()).unwrap();
    let bytes = fs::read(&path).unwrap();
    for length in 0..bytes.len() {
        refused_bytes(&bytes[..length]);
    }
    let message = refused_bytes(&bytes[..bytes.len() / 2]);
    assert!(message.contains("probably truncated"), "{message}");
}

#[test]
fn a_damaged_byte_never_gives_other_values() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("data.npz");
    write_dataset(&path, &example()).unwrap();
    let bytes = fs::read(&path).unwrap();
    let mut refused = 0;
    for at in (0..bytes.len()).step_by(3) {
        let mut damaged = bytes.clone();
        damaged[at] ^= 0x10;
        fs::write(&path, &damaged).unwrap();
        match read(&path) {
            Err(_) => refused += 1,
            // Bytes that carry no data (a time stamp, say) may change, and a name may: the values may not.
            Ok(samples) => {
                assert_eq!(samples.count(), 2, "byte {at}");
                for (own, field) in example().fields().iter().zip(samples.fields()) {
                    assert_eq!(own.values, field.values, "byte {at}, {}", field.name);
                }
            }
        }
    }
    assert!(refused > bytes.len() / 6, "{refused} of {}", bytes.len());
}

/// Samples on a grid or a cloud, with or without an output.
fn any_samples() -> impl Strategy<Value = Samples> {
    let sides = prop::collection::vec(2usize..5, 1..4);
    (sides, 1usize..4, 1usize..4, any::<bool>(), any::<bool>(), any::<u32>()).prop_map(
        |(shape, count, fields, is_cloud, has_output, seed)| {
            let number = |i: usize| f64::from((i as u32).wrapping_mul(2_654_435_761) ^ seed) / 1e3 - 1e6;
            let nodes: usize = shape.iter().product();
            let dim = shape.len();
            let domain: Domain = match is_cloud {
                true => PointCloud::new(dim, (0..nodes * dim).map(number).collect(), 0.7).unwrap().into(),
                false => Grid::new(shape, vec![-0.1; dim], vec![0.3; dim]).unwrap().into(),
            };
            let values = |shift: usize| (0..count * nodes).map(|i| number(i + shift)).collect::<Vec<_>>();
            let inputs = (0..fields).map(|field| (format!("field {field}"), values(1000 * field)));
            let samples = Samples::on(domain).inputs(inputs).unwrap();
            if has_output { samples.output("u", values(7)).unwrap() } else { samples }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(64) })]

    #[test]
    fn what_is_written_is_read_back_equal(samples in any_samples()) {
        let folder = tempdir().unwrap();
        let path = folder.path().join("data");
        write_dataset(&path, &samples).unwrap();
        prop_assert_eq!(read_dataset(&path, Need::Inputs, &[]).unwrap(), samples);
    }

    #[test]
    fn every_element_type_order_and_byte_order(
        shape in prop::collection::vec(2usize..5, 2..5),
        kind in prop::sample::select(vec!["f8", "f4", "i8", "i4", "i2", "i1", "u8", "u4", "u2", "u1", "b1"]),
        big_endian: bool,
        fortran: bool,
        compressed: bool,
    ) {
        let length: usize = shape.iter().product();
        let expected = ArrayD::from_shape_fn(IxDyn(&shape), |index| {
            let sum: usize = index.slice().iter().enumerate().map(|(axis, i)| (axis + 1) * i).sum();
            if kind == "b1" { (sum % 2) as f64 } else { sum as f64 }
        });
        let mut stored = ArrayD::<f64>::zeros(IxDyn(&shape).set_f(fortran));
        stored.assign(&expected);
        let bytes_of = |value: f64| -> Vec<u8> {
            let mut bytes = match kind {
                "f8" => value.to_le_bytes().to_vec(),
                "f4" => (value as f32).to_le_bytes().to_vec(),
                // Small numbers: the low bytes say all.
                _ => (value as u64).to_le_bytes()[..kind[1..].parse().unwrap()].to_vec(),
            };
            if big_endian {
                bytes.reverse();
            }
            bytes
        };
        let data: Vec<u8> = stored.as_slice_memory_order().unwrap().iter().flat_map(|&v| bytes_of(v)).collect();
        let sides = shape.iter().map(usize::to_string).collect::<Vec<_>>().join(", ");
        let descriptor = format!("{}{kind}", if big_endian { '>' } else { '<' });
        let folder = tempdir().unwrap();
        let path = folder.path().join("data");
        fs::write(&path, npz(&header(&descriptor, fortran, &format!("({sides})")), 1, &data, compressed)).unwrap();
        let samples = read(&path).unwrap();
        prop_assert_eq!(samples.count() * samples.nodes() * samples.outputs()[0].components, length);
        prop_assert_eq!(samples.output_values().unwrap(), &expected.iter().copied().collect::<Vec<_>>()[..]);
    }

    #[test]
    fn damaged_bytes_never_panic(flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8)) {
        let mut content = npz(&header("<f8", false, "(4, 2)"), 1, &[0; 64], true);
        for (at, value) in flips {
            let at = at.index(content.len());
            content[at] = value;
        }
        let folder = tempdir().unwrap();
        fs::write(folder.path().join("a"), content).unwrap();
        let _ = read(&folder.path().join("a"));
    }
}

#[test]
fn arrays_of_numpy_are_read_whatever_their_order() {
    let standard = array![[0, 1, 2], [3, 1, 0]];
    let mut fortran = Array2::<f64>::zeros((2, 3).f());
    fortran.assign(&standard.mapv(f64::from));
    let samples = Savez::new().with("u", &fortran).with("f", &standard.mapv(|x| x == 3)).read().unwrap();
    assert_eq!(samples.output_values().unwrap(), [0.0, 1.0, 2.0, 3.0, 1.0, 0.0]);
    assert_eq!(samples.field("f").unwrap().values, [0.0, 0.0, 0.0, 1.0, 0.0, 0.0]);
    assert_eq!(samples.domain(), &Grid::unit(&[3]).unwrap().into());
}

#[test]
fn hdf5_and_folders_of_arrays_are_data_sets() {
    let (folder, samples) = (tempdir().unwrap(), example());
    let path = folder.path().join("data.h5");
    write_dataset(&path, &samples).unwrap();
    assert_eq!(recognise(&path).unwrap(), Format::Hdf5);
    assert_eq!(read(&path).unwrap(), samples);
    assert_eq!(read_first(&path, Need::Output, &[], Some(1)).unwrap().count(), 1);
    let arrays = folder.path().join("arrays");
    fs::create_dir(&arrays).unwrap();
    let b: Array2<f64> = array![[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]];
    for name in ["b", "u"] {
        ndarray_npy::write_npy(arrays.join(name).with_extension("npy"), &b).unwrap();
    }
    assert_eq!(read(&arrays).unwrap().output_values().unwrap(), [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
    fs::remove_file(arrays.join("b.npy")).unwrap();
    let message = read(&arrays).unwrap_err().to_string();
    assert!(message.contains("arrays: has no input field"), "{message}");
}

/// What is written could as well be handed over.
#[test]
fn arrays_in_memory_are_those_of_a_file() {
    let samples = example();
    let outputs = ["u".to_string()];
    let arrays = arrays_of(&samples).unwrap();
    assert_eq!(crate::io::samples_of(arrays.clone(), &outputs).unwrap(), samples);
    let mut short = arrays;
    short[0].values.pop();
    let message = crate::io::samples_of(short, &outputs).unwrap_err().to_string();
    assert!(message.contains("array \"lower\": expected 2 values, got 1"), "{message}");
}
