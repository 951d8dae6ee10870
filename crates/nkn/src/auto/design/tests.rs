use super::*;
use crate::auto::InputFacts;

fn field(name: &str, distinct: Option<usize>) -> InputFacts {
    InputFacts { name: name.into(), distinct, low: 3.0, high: 12.0, steepest: 1.0, mean: 7.5, deviation: 4.5 }
}

/// Darcy flow on 16 x 16 nodes, with b alone.
fn darcy() -> Facts {
    Facts {
        samples: 100,
        nodes: 256,
        dim: 2,
        shape: Some(vec![16, 16]),
        spacing: 1.0 / 15.0,
        inputs: vec![field("b", Some(2))],
        channels: (1, 1),
        output_size: 6e-3,
        zero_outputs: 0,
        linear: Some(0.2),
        vectors: Vec::new(),
        symmetric: Some(true),
    }
}

/// 1D Poisson.
fn poisson() -> Facts {
    let f = InputFacts { mean: 0.1, deviation: 100.0, steepest: 0.1, ..field("f", None) };
    let shape = Some(vec![101]);
    let (inputs, linear) = (vec![f], Some(1e-6));
    Facts {
        samples: 500,
        nodes: 101,
        dim: 1,
        shape,
        spacing: 0.01,
        inputs,
        output_size: 1.0,
        linear,
        symmetric: None,
        ..darcy()
    }
}

fn cloud() -> Facts {
    Facts { nodes: 400, shape: None, spacing: 0.05, inputs: vec![field("q", None)], symmetric: None, ..darcy() }
}

fn reason<'a>(design: &'a Design, what: &str) -> &'a Choice {
    design.choices.iter().find(|choice| choice.what == what).unwrap_or_else(|| panic!("{what}: {:?}", design.choices))
}

#[test]
fn a_coefficient_with_two_values() {
    let design = design(Kind::Nkn, &darcy(), 16, 0);
    let ModelConfig { width, kernel, kernel_fields, radius, normalise_output, .. } = &design.model;
    assert_eq!(
        (*width, kernel.as_slice(), kernel_fields.as_slice()),
        (32, [128, 256].as_slice(), ["b".to_string()].as_slice())
    );
    assert_eq!((*radius, *normalise_output), (Some(0.1), NormaliserKind::Pointwise));
    assert_eq!((design.train.batch, design.train.weight_decay, design.train.validation), (None, 0.1, 16));
    assert_eq!((design.deepest, design.rates.0, design.dear_fields.len()), (16, 3e-3, 0));
    assert!(reason(&design, "kernel").why.contains("few distinct values"));
    assert!(reason(&design, "radius").why.contains("1.5 spacings"));
    assert!(reason(&design, "batch").chosen.contains("all 84"));
}

#[test]
fn a_linear_map_of_one_field() {
    let design = design(Kind::Nkn, &poisson(), 83, 0);
    let ModelConfig { width, kernel_fields, radius, normalise_input, normalise_output, .. } = &design.model;
    assert_eq!((*width, kernel_fields.len(), *radius), (1, 0, None));
    assert_eq!((*normalise_input, *normalise_output), (NormaliserKind::None, NormaliserKind::None));
    assert!(reason(&design, "kernel").why.contains("a linear map has an error of 1.0e-6"));
    assert!(reason(&design, "radius").why.contains("every node may see every other"));
    let tiny = super::design(Kind::Nkn, &Facts { output_size: 1e-6, ..poisson() }, 83, 0);
    assert_eq!(tiny.model.normalise_output, NormaliserKind::Scalar);
    let shifted = InputFacts { mean: 300.0, ..poisson().inputs[0].clone() };
    let shifted = super::design(Kind::Nkn, &Facts { inputs: vec![shifted], ..poisson() }, 83, 0);
    assert_eq!(shifted.model.normalise_input, NormaliserKind::Scalar);
}

#[test]
fn scattered_points_with_continuous_inputs() {
    let mut design = design(Kind::Gkn, &cloud(), 16, 3);
    assert_eq!((design.model.kind, design.model.radius, design.train.seed), (Kind::Gkn, Some(0.11), 3));
    assert_eq!(
        (design.model.normalise_output, design.dear_fields.as_slice()),
        (NormaliserKind::Scalar, ["q".to_string()].as_slice())
    );
    assert!(reason(&design, "radius").why.contains("neighbours"));
    own_rows(&cloud(), &mut design);
    // 400 points with 16 neighbours each: 6,400 rows a sample.
    assert_eq!((design.train.batch, design.train.evaluate_every), (Some(31), 1));
    assert_eq!(design.choices.iter().filter(|choice| choice.what == "batch").count(), 1);
}

#[test]
fn fields_that_say_nothing_and_outputs_of_zero() {
    let facts = Facts { inputs: vec![field("b", Some(2)), field("one", Some(1))], zero_outputs: 3, ..darcy() };
    let design = design(Kind::Nkn, &facts, 16, 0);
    assert_eq!((design.model.fields.as_slice(), design.train.loss), (["b".to_string()].as_slice(), LossKind::Mse));
    assert!(reason(&design, "loss").why.contains("3 samples"));
    assert!(reason(&design, "fields").why.contains("same value everywhere"));
}

#[test]
fn fourier_operators() {
    let wide = design(Kind::Fno, &darcy(), 16, 0);
    assert_eq!((wide.model.width, wide.model.modes, wide.train.batch, wide.deepest), (32, 8, Some(20), 4));
    assert_eq!(wide.model.normalise_output, NormaliserKind::Pointwise);
    let narrow = design(Kind::Fno, &Facts { samples: 12, ..poisson() }, 2, 0);
    assert_eq!((narrow.model.width, narrow.model.modes, narrow.train.batch), (64, 16, Some(2)));
    assert_eq!(narrow.model.normalise_output, NormaliserKind::Scalar);
    let smaller = wide.sized(&wide.sizes[1]);
    assert_eq!((smaller.model.width, smaller.model.kernel), (16, wide.model.kernel));
}

#[test]
fn fine_grids_and_many_samples() {
    let facts = Facts { samples: 5000, nodes: 64 * 64, shape: Some(vec![64, 64]), spacing: 1.0 / 63.0, ..darcy() };
    let design = design(Kind::Nkn, &facts, 200, 0);
    assert_eq!((design.model.radius, design.train.batch), (Some(0.0397), Some(195)));
    assert!(reason(&design, "radius").why.contains("2.5 spacings"));
}

#[test]
fn every_design_is_a_valid_training() {
    for (kind, facts) in [(Kind::Nkn, darcy()), (Kind::Gkn, poisson()), (Kind::Fno, darcy()), (Kind::Nkn, cloud())] {
        let mut design = design(kind, &facts, 16, 0);
        crate::auto::ladder::climb(
            &mut design.train,
            0,
            &[crate::auto::ladder::Rung { depth: 2, steps: 50 }],
            5,
            design.rates,
        );
        augment(&mut design, true, "why".into());
        design.train.check().unwrap();
        design.model.check().unwrap();
        assert_eq!((design.train.augment, reason(&design, "augment").chosen.as_str()), (Augment::Square, "square"));
    }
}
