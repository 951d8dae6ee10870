//! The report of whatever was trained: clouds of points, vectors, several functions.

use crate::nkn;
use nkn::domain::{Clouds, Domain, Grid, PointCloud};
use nkn::field::{Samples, Values};
use nkn::io::write_dataset;
use std::fs;
use std::path::Path;

/// A number between 0 and 1 that looks random and is always the same.
fn scattered(k: usize, axis: usize) -> f64 {
    (k as f64 * [0.754_877_666, 0.569_840_291, 0.438_579_021][axis] + 0.1).fract()
}

/// Points that no other sample has, more in each.
fn cloud(dim: usize, sample: usize, count: usize) -> PointCloud {
    let point = |k: usize| (0..dim).map(move |axis| scattered(1 + 1000 * sample + k, axis));
    PointCloud::new(dim, (0..count).flat_map(point).collect(), 1.0).unwrap()
}

/// Loads f = a cos(3 x) + b y and a direction d, with a pressure p and a velocity v that follow from them.
fn samples(domain: Domain, count: usize) -> Samples {
    let dim = domain.dim();
    let all = match &domain {
        Domain::Clouds(_) => domain.coordinates(),
        _ => vec![domain.coordinates(); count].concat(),
    };
    let samples = match &domain {
        Domain::Clouds(clouds) => (0..count).flat_map(|k| vec![k; clouds.cloud(k).len()]).collect::<Vec<_>>(),
        _ => (0..count).flat_map(|k| vec![k; domain.len()]).collect(),
    };
    let amplitude = |sample: usize| 1.0 + 0.3 * sample as f64;
    let nodes = || all.chunks(dim).zip(&samples);
    let of = |function: &dyn Fn(&[f64], f64) -> f64| -> Vec<f64> {
        nodes().map(|(x, &sample)| function(x, amplitude(sample))).collect()
    };
    let vectors = |function: &dyn Fn(&[f64], f64) -> [f64; 3]| {
        Values::vectors(dim, nodes().flat_map(|(x, &k)| function(x, amplitude(k))[..dim].to_vec()).collect::<Vec<_>>())
    };
    let height = |x: &[f64]| x.get(1).copied().unwrap_or(0.5);
    let on = Samples::on(domain).input("f", of(&|x, a| a * (3.0 * x[0]).cos() + height(x))).unwrap();
    let on = if dim == 1 { on } else { on.input("d", vectors(&|x, a| [a, x[0], 1.0])).unwrap() };
    let on = on.output("p", of(&|x, a| a * (3.0 * x[0]).sin() + 2.0)).unwrap();
    let velocity = |x: &[f64], a: f64| [a * height(x), 1.0 - x[0], x.get(2).copied().unwrap_or(0.0)];
    match dim {
        1 => on.output("v", Values::vectors(2, nodes().flat_map(|(x, &k)| [x[0], amplitude(k)]).collect::<Vec<_>>())),
        _ => on.output("v", vectors(&velocity)),
    }
    .unwrap()
}

/// Trains a tiny network on the first samples, tests it on the others, and gives its report without embedded images.
fn report(place: &Path, train: &Samples, test: Option<&Samples>, fields: &str) -> String {
    let run = place.join("run");
    write_dataset(&place.join("train.npz"), train).unwrap();
    let test = test.map_or("", |test| {
        write_dataset(&place.join("test.npz"), test).unwrap();
        "test = \"test.npz\"\n"
    });
    let config = format!(
        "[data]\nproblem = \"files\"\ntrain = \"train.npz\"\n{test}outputs = [\"p\", \"v\"]\n\
         [model]\nfields = {fields}\nkernel_fields = []\nwidth = 4\nradius = 0.4\nkernel = [6, 6]\nreaction = [4]\n\
         [train]\ndepths = [1, 2]\nepochs = 3\n"
    );
    fs::write(place.join("config.toml"), config).unwrap();
    nkn().arg("train").arg(place.join("config.toml")).arg("--out").arg(&run).assert().success();
    nkn().arg("report").arg(&run).assert().success();
    let page = fs::read_to_string(run.join("report.html")).unwrap();
    assert!(page.len() < 2_000_000, "{} bytes", page.len());
    let mut pieces = page.split("base64,");
    let first = pieces.next().unwrap().to_owned();
    let page = pieces.fold(first, |text, piece| text + &piece[piece.find('"').unwrap()..]);
    assert!(!page.contains("NaN") && !page.contains("inf\"") && !page.contains("not finite"));
    for part in ["Which part is hard", ">all<", ">p<", ">v<", ">v.0<", ">v.1<"] {
        assert!(page.contains(part), "{part}");
    }
    for histogram in [">all outputs</text>", ">p</text>", ">v</text>", ">relative L² error</text>", ">median "] {
        assert!(page.contains(histogram), "{histogram}");
    }
    for rank in ["best", "median", "worst"] {
        assert!(page.contains(&format!("<span class=\"aside\">{rank}, ")), "{rank}");
    }
    page
}

#[test]
fn a_cloud_per_sample_with_a_scalar_and_a_vector() {
    let place = tempfile::tempdir().unwrap();
    let clouds = |first: usize, count: usize| {
        Clouds::new((first..first + count).map(|k| cloud(2, k, 40 + 3 * k)).collect()).unwrap()
    };
    let page = report(
        place.path(),
        &samples(clouds(0, 6).into(), 6),
        Some(&samples(clouds(6, 5).into(), 5)),
        "[\"f\", \"d\"]",
    );
    assert!(page.contains("f, d (2 components) → p, v (2 components)"));
    // Three samples with f, truth, prediction and error of p, and d, truth, prediction and error of v.
    assert_eq!(page.matches("<g class=\"discs\"").count(), 3 * 8);
    // Arrows of the input d and of the truth, and of the prediction where it is not nearly zero after three steps.
    assert!((3 * 2..=3 * 3).contains(&page.matches("class=\"arrow\"").count()));
    assert!(page.contains("Each point is a disc") && page.contains(", v: error ") && page.contains("(components "));
}

#[test]
fn one_cloud_in_space() {
    let place = tempfile::tempdir().unwrap();
    let shared = |count: usize| samples(cloud(3, 0, 60).into(), count);
    let page = report(place.path(), &shared(6), Some(&shared(4)), "[\"d\"]");
    assert!(page.contains("60 points, seen along the third axis") && page.contains("Of three dimensions"));
    assert_eq!(page.matches("<g class=\"discs\"").count(), 3 * 7);
    assert!(page.contains(">v.2<"));
}

#[test]
fn vectors_on_a_line_are_drawn_by_component() {
    let place = tempfile::tempdir().unwrap();
    let line = |count: usize| samples(Grid::unit(&[17]).unwrap().into(), count);
    let page = report(place.path(), &line(6), Some(&line(4)), "[\"f\"]");
    for name in ["input f(x)", "truth p(x)", "truth v.0(x)", "truth v.1(x)"] {
        assert_eq!(page.matches(&format!(">{name}</text>")).count(), 3, "{name}");
    }
}

#[test]
fn without_test_samples_those_of_the_training_are_seen() {
    let place = tempfile::tempdir().unwrap();
    let line = samples(Grid::unit(&[17]).unwrap().into(), 6);
    let page = report(place.path(), &line, None, "[\"f\"]");
    assert!(page.contains("<h3>Training sample ") && page.contains("The number of training samples by"));
    assert!(!page.contains("Test sample"));
}
