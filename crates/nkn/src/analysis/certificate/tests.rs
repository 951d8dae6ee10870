//! The guarantee, for random weights of any size on grids and clouds.

use super::*;
use crate::analysis::spectrum::LinearOperator;
use crate::domain::{Domain, Grid, PointCloud, Quadrature};
use crate::field::Samples;
use crate::model::{Guarantee, Model, ModelConfig, Normalisers, Parameters, Predicting, Space};
use crate::operator::Integrator;
use crate::seed::{Seed, uniform};

/// A network with random weights of a random size on a random mesh.
fn draw(index: u64) -> (Model, Samples) {
    let mut rng = Seed::new(16).derive("draw", index).rng();
    let mut pick = |count: usize| uniform(&mut rng, 0.0, count as f64) as usize % count;
    let dim = 1 + pick(2);
    let width = 1 + pick(16);
    let sides = if dim == 1 { 4 + pick(12) } else { 3 + pick(3) };
    let quadrature = [Quadrature::Trapezoid, Quadrature::Mean, Quadrature::Uniform, Quadrature::Overlap][pick(4)];
    let is_cloud = pick(2) == 0;
    let by_number = is_cloud && pick(3) == 0;
    let scale = 10f64.powf(-2.0 + pick(9) as f64 * 0.5);
    let domain = match is_cloud {
        true => {
            let points = (0..dim * (5 + pick(9))).map(|_| pick(1 << 30) as f64 / f64::from(1 << 30)).collect();
            Domain::Cloud(PointCloud::new(dim, points, 1.0).unwrap())
        }
        false => Domain::Grid(Grid::unit(&vec![sides; dim]).unwrap()),
    };
    let nodes = domain.len();
    let config = ModelConfig {
        width,
        kernel: vec![5],
        reaction: vec![4],
        fields: vec!["f".into()],
        kernel_fields: if pick(2) == 0 { vec!["f".into()] } else { Vec::new() },
        radius: (!by_number).then_some(0.8),
        neighbours: by_number.then_some(3),
        quadrature,
        stability: Guarantee::Dissipative,
        ..ModelConfig::default()
    };
    let f = (0..nodes).map(|_| pick(1000) as f64 / 500.0 - 1.0).collect::<Vec<f64>>();
    let samples = Samples::on(domain).input("f", f.clone()).unwrap().output("u", f).unwrap();
    let space = Space::Functions { dim };
    let mut parameters = Parameters::init(&config, &space, 1, Seed::new(index)).unwrap();
    for name in ["kernel", "reaction"] {
        parameters.group_mut(name).values.iter_mut().for_each(|value| *value *= scale as f32);
    }
    let normalisers = Normalisers::fit(&config, &samples).unwrap();
    (Model { config, space, depth: 1, parameters, averages: Default::default(), normalisers }, samples)
}

fn norm(values: &[f64]) -> f64 {
    values.iter().map(|v| v * v).sum::<f64>().sqrt()
}

/// 1,000 draws: at the certificate's depth and at greater ones no step increases the norm, and no eigenvalue has a
/// negative real part.
#[test]
fn no_step_grows_from_the_certificate_on() {
    let mut needed = Vec::new();
    for index in 0..1000 {
        let (model, samples) = draw(index);
        let operator = Elliptic::new(&model, &samples).unwrap();
        let certificate = Certificate::of(&operator).unwrap().expect("a dissipative network has one");
        assert!(certificate.largest <= certificate.row_sums);
        let depth = certificate.depth(1.0);
        assert!(depth <= certificate.depth_by_row_sums(1.0));
        needed.push(depth);
        for depth in [depth, depth + 1, 3 * depth] {
            let mut rng = Seed::new(index).derive("state", depth as u64).rng();
            let mut h: Vec<f64> = (0..operator.size()).map(|_| uniform(&mut rng, -1.0, 1.0)).collect();
            let mut rate = vec![0.0; h.len()];
            for step in 0..6 {
                let before = norm(&h);
                operator.apply(&h, &mut rate);
                h.iter_mut().zip(&rate).for_each(|(h, rate)| *h -= rate / depth as f64);
                let after = norm(&h);
                assert!(
                    after <= before * (1.0 + 1e-12),
                    "draw {index}, L = {depth}, step {step}: {before} became {after}"
                );
            }
        }
    }
    // Small and large networks were among them.
    needed.sort_unstable();
    assert!(needed[0] == 1 && needed[999] > 1000, "{} to {}", needed[0], needed[999]);
}

/// The network itself, not the analysis of it: with every integrator its last state is no larger than its first, at
/// every depth.
#[test]
fn predictions_of_every_integrator_do_not_grow() {
    for index in 0..60 {
        let (mut model, samples) = draw(index);
        let operator = Elliptic::new(&model, &samples).unwrap();
        let safe = Certificate::of(&operator).unwrap().unwrap().depth(1.0);
        // The first feature carries f, the output is that feature at the end: all other features begin with zero.
        let d = model.config.width;
        model.parameters.group_mut("lift").values.fill(0.0);
        let Space::Functions { dim } = model.space else { unreachable!("functions") };
        // After the weights for x stands that for f.
        model.parameters.group_mut("lift").values[dim] = 1.0;
        model.parameters.group_mut("project").values.fill(0.0);
        model.parameters.group_mut("project").values[0] = 1.0;
        let weights = operator.weights();
        let size = |values: &[f64]| norm(&values.iter().zip(&weights).map(|(v, m)| v * m.sqrt()).collect::<Vec<_>>());
        let before = size(&samples.field("f").unwrap().values);
        for integrator in
            [Integrator::Euler, Integrator::Heun, Integrator::Rk4, Integrator::Implicit, Integrator::Exponential]
        {
            let free = matches!(integrator, Integrator::Implicit | Integrator::Exponential);
            for depth in if free { vec![1, 3] } else { vec![safe, safe + 1] } {
                // Beyond that solver and series say that they do not reach their tolerance, or take minutes.
                if depth > 200 || (free && safe > 300) {
                    continue;
                }
                model.config.integrator = integrator;
                model.depth = depth;
                let how = Predicting { double: true, ..Predicting::default() };
                let after = size(&model.predict_functions(&samples, &how).unwrap());
                assert!(
                    after <= before * (1.0 + 1e-9),
                    "draw {index}, d = {d}, {integrator}, L = {depth}: {before} {after}"
                );
            }
        }
    }
}

#[test]
fn free_networks_have_none() {
    let (mut model, samples) = draw(3);
    model.config.stability = Guarantee::Free;
    let operator = Elliptic::new(&model, &samples).unwrap();
    assert_eq!(Certificate::of(&operator).unwrap(), None);
}
