//! Round trips, foreign and damaged files.

use super::*;
use ndarray::{Array1, Array2, Array3, ShapeBuilder, array};
use ndarray_npy::WriteNpyExt;
use std::fs;
use tempfile::{TempDir, tempdir};

fn example() -> Dataset {
    Dataset {
        domain: DatasetDomain::Grid { shape: vec![2, 3], lower: vec![-1.0, 0.0], upper: vec![1.0, 2.5] },
        fields: vec![
            ("b".into(), (0..12).map(f64::from).collect()),
            ("a".into(), (0..12).map(|i| 0.1 * f64::from(i)).collect()),
        ],
        outputs: Some((0..12).map(|i| f64::from(i).sqrt()).collect()),
        count: 2,
        nodes: 6,
    }
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

    fn read(self) -> Result<Dataset> {
        self.archive.finish().unwrap();
        read_npz(&self.folder.path().join("data.npz"))
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
    read_npz(&path).unwrap_err().to_string()
}

#[test]
fn round_trip() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("data.npz");
    let mut dataset = example();
    write_npz(&path, &dataset).unwrap();
    assert_eq!(read_npz(&path).unwrap(), dataset);
    // Over an existing file, as points, and without outputs.
    dataset.domain = DatasetDomain::Points { dim: 2, coordinates: (0..12).map(|i| 1.0 / f64::from(i + 1)).collect() };
    dataset.outputs = None;
    write_npz(&path, &dataset).unwrap();
    assert_eq!(read_npz_inputs(&path).unwrap(), dataset);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    let message = read_npz(&path).unwrap_err().to_string();
    assert!(message.contains("has no array `u`; it has `b`, `a`"), "{message}");
}

#[test]
fn a_failed_write_leaves_nothing_behind() {
    let folder = tempdir().unwrap();
    // A folder in the way: everything works up to the rename.
    let path = folder.path().join("data.npz");
    fs::create_dir(&path).unwrap();
    let error = write_npz(&path, &example()).unwrap_err();
    assert!(matches!(error, Error::Io { .. }), "{error}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    let missing = folder.path().join("missing/data.npz");
    let message = write_npz(&missing, &example()).unwrap_err().to_string();
    assert!(message.contains("missing/data.npz: could not write"), "{message}");
}

#[test]
fn a_stale_temporary_file_is_no_obstacle() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("data.npz");
    fs::write(folder.path().join("data.npz.tmp"), "left by a kill").unwrap();
    write_npz(&path, &example()).unwrap();
    assert_eq!(read_npz(&path).unwrap(), example());
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn what_could_not_be_read_back_is_not_written() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("data.npz");
    type Case = (fn(&mut Dataset), &'static str);
    let cases: [Case; 9] = [
        (|d| d.fields[0].1[8] = f64::NAN, "sample 1, node 2"),
        (|d| d.fields[0].0 = "u".into(), "name of field 0"),
        (|d| d.fields[1].0 = "b".into(), "name of field 1"),
        (|d| d.fields[1].0 = "../b".into(), "name of field 1"),
        (|d| d.fields.clear(), "input fields"),
        (|d| d.outputs = Some(vec![0.0; 11]), "field u: expected 2 x 6"),
        (|d| d.nodes = 5, "size of the data set"),
        (|d| d.domain = DatasetDomain::Points { dim: 2, coordinates: vec![0.0; 11] }, "points: expected dim > 0"),
        (
            |d| d.domain = DatasetDomain::Grid { shape: vec![6], lower: vec![1.0], upper: vec![0.0] },
            "box: expected lower below upper",
        ),
    ];
    for (spoil, expected) in cases {
        let mut dataset = example();
        spoil(&mut dataset);
        let message = write_npz(&path, &dataset).unwrap_err().to_string();
        assert!(message.contains(expected), "{message}");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}

#[test]
fn every_element_type_and_order() {
    let standard = array![[0, 1, 2], [3, 1, 0]];
    let mut fortran = Array2::<f64>::zeros((2, 3).f());
    fortran.assign(&standard.mapv(f64::from));
    assert!(!fortran.is_standard_layout());
    let dataset = Savez::new()
        .with("u", &fortran)
        .with("f4", &standard.mapv(|x| x as f32))
        .with("i4", &standard)
        .with("i8", &standard.mapv(i64::from))
        .with("u1", &standard.mapv(|x| x as u8))
        .with("flag", &standard.mapv(|x| x == 3))
        .read()
        .unwrap();
    let values = [0.0, 1.0, 2.0, 3.0, 1.0, 0.0];
    assert_eq!(dataset.outputs.unwrap(), values);
    for (name, field) in &dataset.fields[..4] {
        assert_eq!(*field, values, "{name}");
    }
    assert_eq!(dataset.fields[4].1, [0.0, 0.0, 0.0, 1.0, 0.0, 0.0]);
    assert_eq!((dataset.count, dataset.nodes), (2, 3));
    let domain = DatasetDomain::Grid { shape: vec![3], lower: vec![0.0], upper: vec![1.0] };
    assert_eq!(dataset.domain, domain);
    let message = Savez::new().with("u", &standard.mapv(f64::from)).with("f", &standard.mapv(|x| x as u16)).refused();
    assert!(message.contains("array `f` has the element type '<u2'"), "{message}");
}

#[test]
fn a_shared_cloud_is_read_and_one_per_sample_is_refused() {
    let u = Array2::<f64>::ones((4, 5));
    let file = || Savez::new().with("u", &u).with("f", &u);
    let points = Array2::<f64>::from_shape_fn((5, 2), |(i, j)| (2 * i + j) as f64);
    let dataset = file().with("points", &points).read().unwrap();
    let domain = DatasetDomain::Points { dim: 2, coordinates: (0..10).map(f64::from).collect() };
    assert_eq!(dataset.domain, domain);
    let message = file().with("points", &Array3::<f64>::ones((4, 5, 2))).refused();
    assert!(message.contains("4 x 5 x 2: points that differ by sample are not supported yet"), "{message}");
    let message = file().with("points", &Array2::<f64>::ones((4, 2))).refused();
    assert!(message.contains("array `points` has the shape 4 x 2; expected 5 x dim"), "{message}");
    let message = file().with("points", &(points.clone() / 0.0)).refused();
    assert!(message.contains("`points` is not finite (NaN) in point 0, coordinate 0"), "{message}");
    let corner = Array1::<f64>::zeros(1);
    let message = file().with("points", &points).with("lower", &corner).refused();
    assert!(message.contains("also `lower` or `upper`"), "{message}");
    let u = Array3::<f64>::ones((2, 3, 3));
    let points = Array2::<f64>::ones((9, 2));
    let message = Savez::new().with("u", &u).with("points", &points).refused();
    assert!(message.contains("array `u` has the shape 2 x 3 x 3; expected N x M"), "{message}");
}

#[test]
fn shapes_that_do_not_fit_are_named() {
    let u = Array2::<f64>::ones((4, 5));
    let message = Savez::new().with("u", &u).with("f", &Array2::<f64>::ones((4, 6))).refused();
    assert!(message.contains("array `f` has the shape 4 x 6; expected 4 x 5 as `u`"), "{message}");
    let message = Savez::new().with("u", &u).with("f", &u).with("upper", &Array1::<f64>::ones(2)).refused();
    assert!(message.contains("array `upper` has the shape 2; expected 1"), "{message}");
    let message = Savez::new().with("u", &u).with("f", &u).with("lower", &Array1::<f64>::ones(1)).refused();
    assert!(message.contains("the box goes from 1 to 1 along axis 0"), "{message}");
    for shape in [vec![], vec![4], vec![0, 5], vec![4, 0], vec![2; 5]] {
        let odd = ArrayD::<f64>::ones(shape);
        let message = Savez::new().with("u", &odd).with("f", &odd).refused();
        assert!(message.contains("array `u` has the shape"), "{message}");
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
fn values_that_are_not_finite_are_located() {
    let u = Array2::<f64>::ones((4, 5));
    for bad in [f64::NAN, f64::INFINITY] {
        let mut f = u.clone();
        f[(3, 1)] = bad;
        let message = Savez::new().with("u", &u).with("f", &f).refused();
        assert!(message.contains("array `f` is not finite") && message.contains("sample 3, node 1"), "{message}");
    }
}

#[test]
fn other_formats_are_recognised() {
    for (bytes, expected) in [
        (&b""[..], "is empty"),
        (b"\x89HDF\r\n\x1a\n\0\0", "looks like an HDF5 file"),
        (b"MATLAB 7.3 MAT-file, Platform", "looks like an HDF5 file"),
        (b"MATLAB 5.0 MAT-file, Platform", "looks like a MATLAB v5 file"),
        (b"\x93NUMPY\x01\0", "looks like a single .npy array"),
        (b"\x1f\x8b\x08\0", "looks like a gzip file"),
        (b"x,f,u\n0.0,1.0,2.0\n", "looks like a text file"),
        (b"\0\x01\x02", "is no zip archive"),
    ] {
        let message = refused_bytes(bytes);
        assert!(message.contains(expected), "{message}");
    }
    let folder = tempdir().unwrap();
    let message = read_npz(&folder.path().join("none.npz")).unwrap_err().to_string();
    assert!(message.contains("could not open"), "{message}");
}

#[test]
fn a_file_cut_anywhere_is_an_error_and_never_a_panic() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("data.npz");
    write_npz(&path, &example()).unwrap();
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
    write_npz(&path, &example()).unwrap();
    let bytes = fs::read(&path).unwrap();
    let mut refused = 0;
    for at in (0..bytes.len()).step_by(3) {
        let mut damaged = bytes.clone();
        damaged[at] ^= 0x10;
        fs::write(&path, &damaged).unwrap();
        match read_npz(&path) {
            Err(_) => refused += 1,
            // Bytes that carry no data (a time stamp, say) may change, and a name may: the values may not.
            Ok(dataset) => {
                assert_eq!(dataset.count, 2, "byte {at}");
                for (field, (name, values)) in dataset.fields.iter().enumerate() {
                    assert_eq!(*values, example().fields[field].1, "byte {at}, {name}");
                }
            }
        }
    }
    assert!(refused > bytes.len() / 6, "{refused} of {}", bytes.len());
}
