//! What files say about where their values are, and what is refused.

use super::*;
use proptest::prelude::*;

fn array(name: &str, shape: &[usize], values: Vec<f64>) -> Array {
    Array { name: name.into(), shape: shape.to_vec(), values }
}

fn counted(name: &str, shape: &[usize]) -> Array {
    array(name, shape, (0..shape.iter().product::<usize>()).map(|i| i as f64).collect())
}

fn read(arrays: Vec<Array>) -> Result<Samples> {
    assemble(Path::new("data.npz"), arrays, &["u".into()])
}

fn refused(arrays: Vec<Array>) -> String {
    let message = read(arrays).unwrap_err().to_string();
    assert!(message.contains("data.npz") && message.contains("hint: "), "{message}");
    message
}

/// Stacked points of three samples, with one coordinate each.
fn stacked(offsets: &[f64]) -> Vec<Array> {
    vec![
        counted("points", &[6, 1]),
        array("offsets", &[offsets.len()], offsets.to_vec()),
        counted("f", &[6]),
        counted("u", &[6, 2]),
    ]
}

#[test]
fn vectors_on_grids() {
    let samples = read(vec![counted("b", &[2, 3, 4]), counted("u", &[2, 3, 4, 2])]).unwrap();
    assert_eq!(samples.domain(), &Grid::unit(&[3, 4]).unwrap().into());
    assert_eq!((samples.count(), samples.fields()[0].components, samples.outputs()[0].components), (2, 1, 2));
    // On a line, whichever of the fields is the vector.
    for (b, u) in [(&[2, 9][..], &[2, 9, 2][..]), (&[2, 9, 3], &[2, 9])] {
        let samples = read(vec![counted("b", b), counted("u", u)]).unwrap();
        assert_eq!(samples.domain(), &Grid::unit(&[9]).unwrap().into());
    }
    // All are vectors: a short last axis, or what the corners say.
    let samples = read(vec![counted("b", &[2, 9, 2]), counted("u", &[2, 9, 2])]).unwrap();
    assert_eq!((samples.domain().dim(), samples.outputs()[0].components), (1, 2));
    let corner = |name: &str, dim: usize| array(name, &[dim], vec![if name == "lower" { 0.0 } else { 1.0 }; dim]);
    let samples =
        read(vec![counted("b", &[2, 9, 5]), counted("u", &[2, 9, 5]), corner("lower", 1), corner("upper", 1)]).unwrap();
    assert_eq!((samples.domain().dim(), samples.outputs()[0].components), (1, 5));
    let samples = read(vec![counted("b", &[2, 9, 5]), counted("u", &[2, 9, 5])]).unwrap();
    assert_eq!(samples.domain(), &Grid::unit(&[9, 5]).unwrap().into());
}

#[test]
fn points_of_every_sample() {
    let points = array("points", &[2, 3, 1], vec![0.0, 0.5, 1.0, 0.0, 0.4, 1.0]);
    let samples = read(vec![points, counted("f", &[2, 3]), counted("u", &[2, 3, 2])]).unwrap();
    let Domain::Clouds(clouds) = samples.domain() else { panic!("clouds that differ") };
    assert_eq!((clouds.count(), clouds.cloud(1).coordinates()), (2, &[0.0, 0.4, 1.0][..]));
    assert_eq!(samples.select(&[1]).outputs()[0].values, [6.0, 7.0, 8.0, 9.0, 10.0, 11.0]);
    // The same points in all samples are one cloud.
    let same = array("points", &[2, 3, 1], vec![0.0, 0.5, 1.0, 0.0, 0.5, 1.0]);
    let samples = read(vec![same, counted("f", &[2, 3]), counted("u", &[2, 3])]).unwrap();
    assert!(matches!(samples.domain(), Domain::Cloud(cloud) if cloud.len() == 3));
    assert_eq!(samples.count(), 2);
}

#[test]
fn stacked_points() {
    let samples = read(stacked(&[0.0, 1.0, 4.0, 6.0])).unwrap();
    assert_eq!((samples.count(), samples.spans()), (3, vec![0..1, 1..4, 4..6]));
    assert_eq!(samples.select(&[2, 0]).fields()[0].values, [4.0, 5.0, 0.0]);
    for (offsets, expected) in [
        (&[0.0, 4.0, 1.0, 6.0][..], "decreases from 4 to 1 at sample 1"),
        (&[0.0, 1.0, 4.0], "begins with 0 and ends with 4; expected 0 and 6"),
        (&[1.0, 4.0, 6.0], "begins with 1"),
        (&[0.0, 1.0, 1.0, 6.0], "sample 1 has no points"),
        (&[0.0, 1.5, 6.0], "expected whole numbers, got 1.5 at place 1"),
        (&[6.0], "expected two or more whole numbers"),
        (&[0.0, f64::NAN, 6.0], "whole numbers"),
    ] {
        let message = refused(stacked(offsets));
        assert!(message.contains("array `offsets`") && message.contains(expected), "{message}");
    }
    let mut without = stacked(&[0.0, 6.0]);
    without.remove(0);
    assert!(refused(without).contains("has `offsets` without `points`"));
}

#[test]
fn points_and_weights_are_checked() {
    let with = |points: Vec<f64>, weights: Vec<f64>| {
        let mut arrays = stacked(&[0.0, 1.0, 4.0, 6.0]);
        arrays[0].values = points;
        arrays.push(array("weights", &[weights.len()], weights));
        arrays
    };
    let line: Vec<f64> = (0..6).map(f64::from).collect();
    let samples = read(with(line.clone(), vec![0.5; 6])).unwrap();
    let Domain::Clouds(clouds) = samples.domain() else { panic!("clouds that differ") };
    assert_eq!((clouds.cloud(1).weights(), clouds.cloud(1).measure()), (Some(&[0.5; 3][..]), 1.5));
    for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let mut weights = vec![0.5; 6];
        weights[3] = bad;
        let message = refused(with(line.clone(), weights));
        assert!(message.contains("sample 1: weights: expected positive numbers"), "{message}");
        assert!(message.contains("at point 2"), "{message}");
    }
    let mut points = line.clone();
    points[5] = f64::NAN;
    assert!(
        refused(with(points, vec![0.5; 6])).contains("sample 2: coordinate is not finite (NaN) at point 1, axis 0")
    );
    assert!(refused(with(line, vec![0.5; 5])).contains("array `weights` has the shape 5"));
}

#[test]
fn masks_leave_nodes_out() {
    let mask = |values: &[f64], shape: &[usize]| array("mask", shape, values.to_vec());
    // One mask for all samples: a cloud for all, whose points keep the measure of their cells.
    let arrays = |mask: Array| vec![counted("b", &[2, 2, 2]), counted("u", &[2, 2, 2, 2]), mask];
    let samples = read(arrays(mask(&[1.0, 0.0, 1.0, 1.0], &[2, 2]))).unwrap();
    let Domain::Cloud(cloud) = samples.domain() else { panic!("one cloud") };
    assert_eq!(cloud.coordinates(), [0.0, 0.0, 1.0, 0.0, 1.0, 1.0]);
    assert_eq!(cloud.weights(), Some(&[0.25; 3][..]));
    assert_eq!(samples.fields()[0].values, [0.0, 2.0, 3.0, 4.0, 6.0, 7.0]);
    assert_eq!(samples.outputs()[0].values, [0.0, 1.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 12.0, 13.0, 14.0, 15.0]);
    // One for each sample.
    let own = mask(&[1.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0, 1.0], &[2, 2, 2]);
    let samples = read(arrays(own)).unwrap();
    assert_eq!(samples.spans(), [0..3, 3..4]);
    assert_eq!(samples.fields()[0].values, [0.0, 2.0, 3.0, 7.0]);
    let hidden = mask(&[1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0], &[2, 2, 2]);
    assert!(refused(arrays(hidden)).contains("array `mask` hides every node of sample 1"));
    assert!(refused(arrays(mask(&[1.0; 3], &[3]))).contains("array `mask` has the shape 3"));
    // Of stacked points.
    let mut arrays = stacked(&[0.0, 1.0, 4.0, 6.0]);
    arrays.push(array("mask", &[6], vec![1.0, 0.0, 1.0, 1.0, 1.0, 0.0]));
    let samples = read(arrays).unwrap();
    assert_eq!((samples.spans(), &samples.fields()[0].values[..]), (vec![0..1, 1..3, 3..4], &[0.0, 2.0, 3.0, 4.0][..]));
}

#[test]
fn outputs_are_those_asked_for() {
    let arrays = || vec![counted("p", &[2, 5]), counted("f", &[2, 5]), counted("v", &[2, 5, 2])];
    let read = |names: &[&str]| {
        let names: Vec<String> = names.iter().map(|name| name.to_string()).collect();
        assemble(Path::new("data.npz"), arrays(), &names)
    };
    let samples = read(&["v", "p"]).unwrap();
    let names: Vec<&str> = samples.outputs().iter().map(|output| output.name.as_str()).collect();
    assert_eq!((names, samples.fields().len()), (vec!["v", "p"], 1));
    assert!(read(&["u"]).unwrap().outputs().is_empty());
    assert!(read(&["v", "p", "f"]).unwrap_err().to_string().contains("has no input field"));
}

#[test]
fn shapes_that_do_not_fit_are_named() {
    let points = || counted("points", &[5, 2]);
    for (arrays, expected) in [
        (
            vec![points(), counted("f", &[2, 5]), counted("u", &[2, 4])],
            "`points` has the shape 5 x 2; expected 4 x dim",
        ),
        (vec![points(), counted("f", &[2, 5, 3]), counted("u", &[3, 5])], "3 samples as \"f\" has, got"),
        (vec![counted("points", &[3, 5, 2]), counted("f", &[2, 5]), counted("u", &[2, 5])], "expected 2 x 5 x dim"),
        (vec![counted("f", &[2, 5]), counted("u", &[2, 6])], "field \"f\": expected samples x"),
    ] {
        let message = refused(arrays);
        let alternative = "expected 2 samples as";
        assert!(message.contains(expected) || message.contains(alternative), "{message}");
    }
}

proptest! {
    /// Whatever is written is read again: grids and clouds, shared and for every sample, scalars and vectors, weights.
    #[test]
    fn everything_written_is_read(
        sizes in prop::collection::vec(1usize..5, 1..4),
        dim in 1usize..4,
        components in prop::collection::vec(1usize..4, 2..5),
        weighted in any::<bool>(),
        seed in any::<u32>(),
    ) {
        let number = |i: usize| ((i as f64 + 1.0) * (f64::from(seed) + 0.5) * 0.618).fract();
        let cloud = |(sample, &size): (usize, &usize)| {
            let coordinates = (0..size * dim).map(|i| number(97 * sample + i)).collect();
            let cloud = PointCloud::new(dim, coordinates, 0.7).unwrap();
            match weighted {
                true => cloud.with_weights((0..size).map(|i| 0.1 + number(i)).collect()).unwrap(),
                false => cloud,
            }
        };
        let clouds = Clouds::new(sizes.iter().enumerate().map(cloud).collect()).unwrap();
        let total = clouds.total();
        let values = |field: usize, components: usize| {
            Values::vectors(components, (0..total * components).map(|i| number(1000 * field + i)).collect::<Vec<f64>>())
        };
        let mut samples = Samples::on(clouds).input("f0", values(0, components[0])).unwrap();
        for (field, &k) in components.iter().enumerate().skip(2) {
            samples = samples.input(format!("f{field}"), values(field, k)).unwrap();
        }
        let samples = samples.output("u", values(1, components[1])).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("data.npz");
        crate::io::write_dataset(&path, &samples).unwrap();
        let again = crate::io::read_dataset(&path, crate::io::Need::Output, &[]).unwrap();
        prop_assert_eq!(again.fields(), samples.fields());
        prop_assert_eq!(again.outputs(), samples.outputs());
        prop_assert_eq!(again.domain().coordinates(), samples.domain().coordinates());
        prop_assert_eq!(again.spans(), samples.spans());
        if weighted {
            prop_assert_eq!(again.domain(), samples.domain());
        }
    }
}

/// A box around points, and periodic axes of grids and of points, are read as they were written.
#[test]
fn boxes_and_periodic_axes() {
    let corner = |name: &str, values: &[f64]| array(name, &[values.len()], values.to_vec());
    let fields = || vec![counted("f", &[2, 4]), counted("u", &[2, 4])];
    let with = |more: Vec<Array>| fields().into_iter().chain(more).collect::<Vec<Array>>();
    let ring = Grid::new(vec![4], vec![0.0], vec![2.0]).unwrap().periodic(&[true]).unwrap();
    let samples = read(with(vec![corner("upper", &[2.0]), corner("periodic", &[1.0])])).unwrap();
    assert_eq!(samples.domain(), &ring.clone().into());
    let points = || array("points", &[4, 1], vec![0.0, 0.5, 1.0, 1.9]);
    let corners = || vec![points(), corner("lower", &[0.0]), corner("upper", &[2.0])];
    let samples = read(with(corners())).unwrap();
    assert_eq!(samples.domain().enclosure().unwrap().periodic(), [false]);
    let around = read(with(corners().into_iter().chain([corner("periodic", &[1.0])]).collect())).unwrap();
    assert_eq!(around.domain(), samples.clone().periodic(&[true]).unwrap().domain());
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("again.npz");
    for samples in [samples, around, Samples::on(ring).input("f", vec![1.0; 4]).unwrap()] {
        crate::io::write_dataset(&path, &samples).unwrap();
        let again = crate::io::read_dataset(&path, crate::io::Need::Inputs, &[]).unwrap();
        assert_eq!(again, samples);
    }
    for (arrays, words) in [
        (vec![corner("periodic", &[1.0, 0.0])], "each of the 1 axes"),
        (vec![corner("periodic", &[0.5])], "0 or 1"),
        (vec![points(), corner("periodic", &[1.0])], "not both `lower` and `upper`"),
        (vec![points(), corner("lower", &[0.0]), corner("upper", &[1.0])], "between 0 and 1 along axis 0"),
    ] {
        let message = refused(with(arrays));
        assert!(message.contains(words), "{message}");
    }
}
