//! Steps are predictions one after the other, and only what belongs together is fed.

use super::*;
use crate::domain::{Grid, PointCloud};
use crate::field::Values;
use crate::fit::Nkn;
use crate::model::Kind;

fn config(fields: &[&str], outputs: &[&str], components: &[(&str, usize)]) -> ModelConfig {
    let names = |names: &[&str]| names.iter().map(|name| name.to_string()).collect();
    ModelConfig {
        kind: Kind::Nkn,
        fields: names(fields),
        outputs: names(outputs),
        components: components.iter().map(|&(name, count)| (name.to_string(), count)).collect(),
        ..ModelConfig::default()
    }
}

fn fed(config: &ModelConfig, asked: &[(&str, &str)]) -> Result<Vec<(String, String)>> {
    let asked: Vec<(String, String)> = asked.iter().map(|(a, b)| (a.to_string(), b.to_string())).collect();
    Ok(Feed::all(config, &asked)?.into_iter().map(|feed| (feed.input, feed.output)).collect())
}

fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|(a, b)| (a.to_string(), b.to_string())).collect()
}

#[test]
fn names_say_what_is_fed() {
    let of = |fields: &[&str], outputs: &[&str], asked: &[(&str, &str)]| fed(&config(fields, outputs, &[]), asked);
    assert_eq!(of(&["a"], &["u"], &[]).unwrap(), pairs(&[("a", "u")]));
    assert_eq!(of(&["b", "u_0"], &["u"], &[]).unwrap(), pairs(&[("u_0", "u")]));
    assert_eq!(of(&["u_now", "b"], &["u_next"], &[]).unwrap(), pairs(&[("u_now", "u_next")]));
    // Digits of the time; an output that no input belongs to stays out.
    assert_eq!(of(&["p0", "v0", "b"], &["p", "v", "drag"], &[]).unwrap(), pairs(&[("p0", "p"), ("v0", "v")]));
    assert_eq!(of(&["u_x", "u_y", "c"], &["u"], &[("c", "u")]).unwrap(), pairs(&[("c", "u")]));
    let message = |result: Result<Vec<(String, String)>>| result.unwrap_err().to_string();
    // Two inputs are as good as each other, or none is.
    assert!(message(of(&["u_x", "u_y"], &["u"], &[])).contains("--feed input=output"));
    assert!(message(of(&["a", "b"], &["u"], &[])).contains("an input that gets the output"));
    assert!(message(of(&["a"], &["u"], &[("c", "u")])).contains("an input of the network, one of [\"a\"], got \"c\""));
    assert!(message(of(&["a"], &["u"], &[("a", "w")])).contains("an output of the network, one of [\"u\"]"));
    assert!(message(of(&["a"], &["u", "w"], &[("a", "u"), ("a", "w")])).contains("fed once"));
    let message = message(fed(&config(&["v_0"], &["v"], &[("v", 2)]), &[]));
    assert!(message.contains("output \"v\": expected 1 components, as input \"v_0\" has, got 2"), "{message}");
}

/// A state of two components on a ring, with a coefficient that stays.
fn trained() -> (Model, Samples) {
    let grid = Grid::unit(&[8]).unwrap().periodic(&[true]).unwrap();
    let values = |shift: usize| -> Vec<f64> { (0..48).map(|i| ((i * 7 + shift) % 11) as f64 - 4.0).collect() };
    let samples = Samples::on(grid).input("v_0", Values::vectors(2, values(0))).unwrap();
    let samples = samples.input("b", values(3)[..24].to_vec()).unwrap();
    let samples = samples.output("v", Values::vectors(2, values(1))).unwrap();
    let model = Nkn::new().width(4).kernel([6]).epochs(3).radius(0.3).fit(&samples).unwrap();
    (model, samples)
}

#[test]
fn three_steps_are_three_predictions() {
    let (model, samples) = trained();
    let how = Predicting::default();
    let steps = model.rollout(&samples, 3, &how).unwrap();
    let mut state = samples.clone();
    for step in &steps {
        assert_eq!(step, &model.predicted(&state, &how).unwrap());
        assert_eq!(step.field("b").unwrap(), samples.field("b").unwrap());
        state = state.with_values("v_0", &step.outputs()[0].values);
    }
    assert_ne!(steps[2].outputs(), steps[0].outputs());
    let measures = model.rollout_measures(&steps, &model.feeds(&[]).unwrap(), "test", &how).unwrap();
    assert_eq!(measures.len(), 3);
    assert!(measures.iter().flatten().all(|measure| measure.value == 0.0));
    assert!(model.rollout(&samples, 0, &how).unwrap_err().to_string().contains("steps: expected 1 or more"));
}

/// Q(P u) with no layers' effect is a multiple of u, and its powers are known.
#[test]
fn the_powers_of_a_linear_map() {
    let grid = Grid::unit(&[5]).unwrap();
    let u: Vec<f64> = (0..10).map(|i| f64::from(i) - 3.0).collect();
    let next: Vec<f64> = u.iter().map(|u| 0.5 * u).collect();
    let samples = Samples::on(grid).input("u_0", u.clone()).unwrap().output("u", next).unwrap();
    let mut model = Nkn::new().width(1).kernel([2]).reaction([2]).epochs(1).fit(&samples).unwrap();
    // lift h = 2 u, nothing happens in between, project -h / 4.
    for group in &mut model.parameters.groups {
        let values: &[f32] = match group.name.as_str() {
            "lift" => &[0.0, 2.0],
            "project" => &[-0.25],
            _ => &[],
        };
        group.values.fill(0.0);
        group.values[..values.len()].copy_from_slice(values);
    }
    let steps = model.rollout(&samples, 6, &Predicting::default()).unwrap();
    for (step, samples) in (1..).zip(&steps) {
        let expected: Vec<f64> = u.iter().map(|u| u * (-0.5f64).powi(step)).collect();
        for (got, expected) in samples.output_values().unwrap().iter().zip(&expected) {
            assert!((got - expected).abs() < 1e-5, "step {step}: {got} {expected}");
        }
    }
    // A state that grows without end is said with its step.
    let project = model.parameters.groups.iter_mut().find(|group| group.name == "project").unwrap();
    project.values[0] = 1e15;
    let message = model.rollout(&samples, 6, &Predicting::default()).unwrap_err().to_string();
    assert!(message.contains("at step 3") && message.contains("take fewer"), "{message}");
}

/// Files need not repeat the periodic axes of the training; scattered points must have their box.
#[test]
fn samples_are_placed_as_in_training() {
    let (model, samples) = trained();
    let plain = Grid::unit(&[16]).unwrap();
    let inputs = |on: crate::domain::Domain, nodes: usize| {
        let state = Values::vectors(2, vec![1.0; 2 * nodes]);
        Samples::on(on).input("v_0", state).unwrap().input("b", vec![1.0; nodes]).unwrap()
    };
    let placed = model.placed(&inputs(plain.clone().into(), 16)).unwrap().into_owned();
    assert_eq!(placed.domain(), &plain.periodic(&[true]).unwrap().into());
    assert_eq!(*model.placed(&samples).unwrap(), samples);
    let cloud = PointCloud::new(1, vec![0.1, 0.5], 1.0).unwrap();
    let message = model.placed(&inputs(cloud.into(), 2)).unwrap_err().to_string();
    assert!(message.contains("points whose box is known"), "{message}");
}
