use super::search::{description, kinds, validation_samples};
use super::*;
use crate::domain::{Grid, PointCloud};
use crate::field::{Samples, Values};
use crate::model::Kind;
use crate::problem::{darcy, poisson};
use crate::run::{Data, DataConfig, Existing, Problem, RunFolder};
use crate::seed::Seed;
use crate::train::{Keep, Outcome};
use crate::{Device, Error, Nkn};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

fn samples() -> Samples {
    poisson::generate(Seed::new(0), 0, 30, 17).unwrap()
}

/// What `nkn train` makes of a run's configuration: the bytes of its network.
fn again(run: &std::path::Path, samples: &Samples) -> Vec<u8> {
    let config = RunFolder::open(run).unwrap().config().unwrap();
    let place = tempfile::tempdir().unwrap();
    let folder = RunFolder::create(&place.path().join("again"), &config, Existing::Refuse).unwrap();
    let data = Data::Functions { train: samples.clone(), test: None };
    let outcome = folder.train(&data, None, Device::Cpu, &|| false, &mut |_| {}).unwrap();
    assert_eq!(outcome, Outcome::Complete);
    std::fs::read(folder.path().join("model.safetensors")).unwrap()
}

#[test]
fn a_fit_says_why_and_its_configuration_repeats_it() {
    let place = tempfile::tempdir().unwrap();
    let run = place.path().join("run");
    let told = Arc::new(Mutex::new(Vec::new()));
    let heard = told.clone();
    let test = poisson::generate(Seed::new(0), 30, 5, 17).unwrap();
    let auto = Auto::new().minutes(0.03).run(&run).tell(move |choice| heard.lock().unwrap().push(choice.clone()));
    let fitted = auto.fit_tested(&samples(), &test).unwrap();
    assert_eq!(*told.lock().unwrap(), fitted.choices);
    let words =
        |what: &str| fitted.choices.iter().find(|choice| choice.what == what).unwrap_or_else(|| panic!("{what}"));
    assert_eq!((words("validation").chosen.as_str(), words("kind").chosen.as_str()), ("5 samples", "fno and nkn"));
    assert!(words("network").why.contains("times as much"));
    assert!(words("data").chosen.contains("30 samples on a regular grid of 17 nodes"));
    assert!(fitted.validation > 0.0 && fitted.test.unwrap() > 0.0);
    let folder = RunFolder::open(&run).unwrap();
    assert_eq!(folder.config().unwrap().train.keep, Keep::Validation);
    assert_eq!(std::fs::read(run.join("model.safetensors")).unwrap(), again(&run, &samples()));
    let lowest = folder
        .results()
        .unwrap()
        .unwrap()
        .depths
        .iter()
        .filter_map(|d| d.get("validation", "relative_l2"))
        .fold(f64::INFINITY, f64::min);
    assert_eq!(lowest, fitted.validation);
    // Once more there is nothing to do, and nothing is replaced.
    let done = Auto::new().resume(&run).fit(&samples()).unwrap();
    assert_eq!((done.validation, done.choices), (fitted.validation, fitted.choices));
    let message = Auto::new().run(&run).fit(&samples()).unwrap_err().to_string();
    assert!(message.contains("exists already") && message.contains("--resume"), "{message}");
    let other = DataConfig { problem: Problem::Files, ..DataConfig::default() };
    let message = Auto::new().data(other).resume(&run).fit(&samples()).unwrap_err().to_string();
    assert!(message.contains("other samples"), "{message}");
}

#[test]
fn interrupted_again_and_again_it_comes_to_the_same_end() {
    let place = tempfile::tempdir().unwrap();
    let run = place.path().join("run");
    let mut interruptions = 0;
    let fitted = loop {
        let asked = AtomicUsize::new(0);
        let limit = 20 + 30 * interruptions;
        let stop = move || asked.fetch_add(1, Ordering::Relaxed) > limit;
        match Auto::new().minutes(0.03).kind(Wanted::Nkn).stop_when(stop).resume(&run).fit(&samples()) {
            Err(Error::Stopped) => interruptions += 1,
            other => break other.unwrap(),
        }
        assert!(interruptions < 100);
    };
    assert!(interruptions > 0, "it was never interrupted");
    assert_eq!(std::fs::read(run.join("model.safetensors")).unwrap(), again(&run, &samples()));
    assert_eq!(fitted.model.config().kind, crate::model::Kind::Nkn);
    assert!(!run.join("candidates").exists());
}

#[test]
fn scattered_points_and_every_kind() {
    let coordinates: Vec<f64> = (0..60).map(|i| (i * 37 % 61) as f64 / 61.0).collect();
    let values: Vec<f64> = (0..12 * 30).map(|i| ((i * 7919 % 1009) as f64 / 1009.0) - 0.5).collect();
    let outputs: Vec<f64> = values.iter().map(|f| f * f + 0.5).collect();
    let cloud = PointCloud::new(2, coordinates, 1.0).unwrap();
    let samples = Samples::on(cloud).input("f", values).unwrap().output("u", outputs).unwrap();
    let fitted = Auto::new().minutes(0.02).fit(&samples).unwrap();
    assert!(fitted.choices.iter().any(|choice| choice.what == "kind" && choice.chosen == "nkn and gkn"));
    let message = Auto::new().minutes(0.01).kind(Wanted::Fno).fit(&samples).unwrap_err().to_string();
    assert!(message.contains("fno, which needs a grid"), "{message}");
}

/// An output with components, under a name of its own: what is tried out must know them too.
#[test]
fn vectors_are_fitted() {
    let values: Vec<f64> = (0..12 * 9).map(|i| ((i * 7919 % 1009) as f64 / 1009.0) - 0.5).collect();
    let pairs: Vec<f64> = values.iter().flat_map(|f| [f * f + 0.5, 1.0 - f]).collect();
    let samples = Samples::on(Grid::unit(&[9]).unwrap()).input("f", values).unwrap();
    let samples = samples.output("v", crate::field::Values::vectors(2, pairs)).unwrap();
    let fitted = Auto::new().minutes(0.02).kind(Wanted::Nkn).fit(&samples).unwrap();
    assert_eq!(fitted.model.predict(&samples).unwrap().len(), 2 * 12 * 9);
}

#[test]
fn vectors_under_any_name() {
    let coordinates: Vec<f64> = (0..60).map(|i| (i * 37 % 61) as f64 / 61.0).collect();
    let force: Vec<f64> = (0..12 * 30).map(|i| (i as f64).sin()).collect();
    let displacement: Vec<f64> = force.iter().flat_map(|f| [f + 1.0, f * f]).collect();
    let cloud = PointCloud::new(2, coordinates, 1.0).unwrap();
    let on_points = Samples::on(cloud).input("force", force).unwrap();
    let on_points = on_points.output("d", Values::vectors(2, displacement)).unwrap();
    for (samples, numbers) in [(on_points, 12 * 30 * 2), (with_components(2, 3), 8 * 9 * 3)] {
        let fitted = Auto::new().minutes(0.02).fit(&samples).unwrap();
        assert_eq!(fitted.model.predict(&samples).unwrap().len(), numbers);
        assert!(fitted.validation.is_finite());
    }
}

#[test]
fn samples_that_cannot_be_fitted() {
    for count in [1, 5] {
        let few = samples().select(&(0..count).collect::<Vec<_>>());
        let message = Auto::new().fit(&few).unwrap_err().to_string();
        assert!(
            message.contains("samples: expected at least 6") && message.contains(&format!("got {count}")),
            "{message}"
        );
    }
    let without = Samples::on(Grid::unit(&[5]).unwrap()).input("f", vec![1.0; 50]).unwrap();
    assert!(Auto::new().fit(&without).unwrap_err().to_string().contains("output of the data"));
    for minutes in [0.0, -1.0, f64::NAN] {
        assert!(Auto::new().minutes(minutes).fit(&samples()).unwrap_err().to_string().contains("minutes"));
    }
    assert_eq!([6, 11, 12, 100, 5000].map(|count| validation_samples(count).unwrap()), [1, 1, 2, 16, 200]);
}

#[test]
fn darcy_flow_is_seen_as_it_is() {
    let samples = darcy::generate(Seed::new(0), 0, 40, 33, &|_| {}).unwrap();
    let b = samples.field("b").unwrap().values.clone();
    let alone = Samples::on(Grid::unit(&[33, 33]).unwrap()).input("b", b).unwrap();
    let alone = alone.output("u", samples.output_values().unwrap()).unwrap();
    let facts = Facts::of(&alone, 0).unwrap();
    assert_eq!((facts.symmetric, facts.inputs[0].distinct, facts.inputs[0].jumps()), (Some(true), Some(2), true));
    assert!(facts.linear.unwrap() > 0.05, "{:?}", facts.linear);
    assert!(description(&facts).why.contains("2 values, jumps"));
    // The gradient of the smoothed coefficient is a vector; as two numbers it would prefer directions.
    let whole = Facts::of(&samples, 0).unwrap();
    assert_eq!(
        (whole.vectors.as_slice(), whole.symmetric),
        ([["b_eps_x".to_string(), "b_eps_y".into()]].as_slice(), Some(true))
    );
    assert_eq!(super::symmetric::is_symmetric(&samples, &[], Seed::new(0)).unwrap(), Some(false));
    assert_eq!(kinds(Wanted::Auto, &facts).unwrap().0, [Kind::Fno, Kind::Nkn]);
}

/// A Fourier neural operator works on a line and in the plane.
#[test]
fn in_space_no_network_is_tried_that_cannot_be() {
    let values: Vec<f64> = (0..12 * 64).map(|i| 1.0 + (i as f64).sin()).collect();
    let samples = Samples::on(Grid::unit(&[4, 4, 4]).unwrap()).input("f", values.clone()).unwrap();
    let facts = Facts::of(&samples.output("u", values).unwrap(), 0).unwrap();
    assert_eq!(kinds(Wanted::Auto, &facts).unwrap().0, [Kind::Nkn, Kind::Gkn]);
}

/// Samples of the function with so many components of the input and of the output.
fn with_components(input: usize, output: usize) -> Samples {
    let values = |components: usize| {
        Values::vectors(components, (0..8 * 9 * components).map(|i| 1.0 + (i as f64).sin()).collect::<Vec<f64>>())
    };
    let samples = Samples::on(Grid::unit(&[9]).unwrap()).input("f", values(input)).unwrap();
    samples.output("u", values(output)).unwrap()
}

#[test]
fn test_samples_with_other_components_are_refused_before_the_work() {
    let train = with_components(1, 2);
    for (test, words) in [
        (with_components(1, 1), "the test samples: components of \"u\": expected 2, got 1"),
        (with_components(3, 2), "the test samples: components of \"f\": expected 1, got 3"),
    ] {
        let by_hand = Nkn::new().width(2).kernel([4]).epochs(1).fit_tested(&train, &test).unwrap_err();
        // Ten minutes by default: it must not begin.
        let by_itself = Auto::new().fit_tested(&train, &test).unwrap_err();
        for error in [by_hand, by_itself] {
            assert!(error.to_string().contains(words), "{error}");
        }
    }
}
