//! Networks on scattered points, on points that differ by sample, and on fields with components, from the front door.

use crate::domain::{Clouds, Domain, Grid, PointCloud, Quadrature};
use crate::field::{Field, Samples, Values};
use crate::model::{Model, Predicting};
use crate::seed::{Seed, uniform};
use crate::{Fno, Nkn};

/// u = (a, a^2 x) for f = a + x on so many random points of [0, 1], or on the same points as sample 0.
fn on_points(counts: &[usize], shared: &[usize], seed: u64) -> Samples {
    let points = |sample: usize| -> Vec<f64> {
        let of = if shared.contains(&sample) { shared[0] } else { sample };
        let mut rng = Seed::new(seed).derive("points", of as u64).rng();
        (0..counts[of]).map(|_| uniform(&mut rng, 0.0, 1.0)).collect()
    };
    let clouds: Vec<PointCloud> =
        (0..counts.len()).map(|sample| PointCloud::new(1, points(sample), 1.0).unwrap()).collect();
    let a = |sample: usize| 0.5 + 0.4 * (sample as f64 * 1.7).sin();
    let at = |f: &dyn Fn(f64, f64) -> Vec<f64>| -> Vec<f64> {
        (0..counts.len()).flat_map(|sample| points(sample).into_iter().flat_map(move |x| f(a(sample), x))).collect()
    };
    let (f, u) = (at(&|a, x| vec![a + x]), at(&|a, x| vec![a, a * a * x]));
    let samples = Samples::on(Clouds::new(clouds).unwrap()).input("f", f).unwrap();
    samples.output("u", Values::vectors(2, u)).unwrap()
}

fn network() -> Nkn {
    Nkn::new().width(4).kernel([8]).reaction([4]).radius(0.4).learning_rate(1e-2)
}

#[test]
fn points_that_differ_by_sample_are_learned() {
    // Samples 1, 3 and 4 are on the same points, 0 and 2 on their own.
    let train = on_points(&[9, 12, 15, 12, 12], &[1, 3, 4], 0);
    let Domain::Clouds(clouds) = train.domain() else { panic!("clouds that differ") };
    assert_eq!(clouds.distinct().len(), 3);
    let test = on_points(&[20, 30], &[], 1);
    let (short, long) = (network().epochs(1).fit(&train).unwrap(), network().epochs(400).fit(&train).unwrap());
    assert!(long.error(&train).unwrap() < 0.5 * short.error(&train).unwrap());
    assert!(long.error(&test).unwrap() < 0.2, "{}", long.error(&test).unwrap());
    // A batch that mixes samples learns too, and depends on nothing but the seed.
    let mixed = || network().epochs(40).batch(2).depths([1, 2]).fit(&train).unwrap();
    let (one, again) = (mixed(), mixed());
    assert_eq!(one.parameters(), again.parameters());
    assert!(one.error(&train).unwrap() < 0.5 * short.error(&train).unwrap());
}

fn close(a: &[f64], b: &[f64], tolerance: f64) {
    assert_eq!(a.len(), b.len());
    let size = b.iter().fold(0.0, |size: f64, b| size.max(b.abs()));
    let apart = a.iter().zip(b).fold(0.0, |apart: f64, (a, b)| apart.max((a - b).abs()));
    assert!(apart < tolerance * size, "apart by {apart:e} of {size:e}");
}

fn double(model: &Model, samples: &Samples, quadrature: Quadrature) -> Vec<f64> {
    let how = Predicting { double: true, quadrature: Some(quadrature), ..Predicting::default() };
    model.predict_with(samples, &how).unwrap()
}

#[test]
fn samples_are_what_they_are_alone() {
    let train = on_points(&[9, 12, 15, 12, 12], &[1, 3, 4], 0);
    let model = network().epochs(3).fit(&train).unwrap();
    let together = double(&model, &train, Quadrature::Overlap);
    let alone: Vec<f64> =
        (0..5).flat_map(|sample| double(&model, &train.select(&[sample]), Quadrature::Overlap)).collect();
    close(&together, &alone, 1e-12);
}

/// A network from a grid that is normalised node by node, asked at other points in every sample.
#[test]
fn statistics_of_nodes_follow_the_points_of_each_sample() {
    let grid = Grid::unit(&[9]).unwrap();
    let x = grid.coordinates();
    let a = [0.3, 0.6, 0.9, 1.2];
    let of =
        |f: &dyn Fn(f64, f64) -> f64| -> Vec<f64> { a.iter().flat_map(|&a| x.iter().map(move |&x| f(a, x))).collect() };
    let train = Samples::on(grid).input("f", of(&|a, x| a + x)).unwrap();
    let train = train.output("u", of(&|a, x| 10.0 * x + a * x * x)).unwrap();
    let keys = ["model.normalise_input", "model.normalise_output"];
    let network = keys.iter().fold(network(), |network, key| network.set(key, "pointwise"));
    let model = network.epochs(200).fit(&train).unwrap();
    let clouds: Vec<PointCloud> = [vec![0.1, 0.2, 0.3, 0.5], vec![0.9, 0.6, 0.75, 0.8], vec![0.05, 0.5, 0.95, 0.3]]
        .into_iter()
        .map(|points| PointCloud::new(1, points, 1.0).unwrap())
        .collect();
    let points: Vec<f64> = clouds.iter().flat_map(|cloud| cloud.coordinates().to_vec()).collect();
    let scattered = Samples::on(Clouds::new(clouds).unwrap());
    let scattered = scattered.input("f", points.iter().map(|x| 0.6 + x).collect::<Vec<f64>>()).unwrap();
    let scattered = scattered.output("u", points.iter().map(|x| 10.0 * x + 0.6 * x * x).collect::<Vec<f64>>()).unwrap();
    let together = double(&model, &scattered, Quadrature::Overlap);
    let alone: Vec<f64> =
        (0..3).flat_map(|sample| double(&model, &scattered.select(&[sample]), Quadrature::Overlap)).collect();
    close(&together, &alone, 1e-12);
    assert!(model.error(&scattered).unwrap() < 0.1, "{}", model.error(&scattered).unwrap());
}

/// The samples with every node of the grid as a point, with the measure of its cell.
fn as_cloud(samples: &Samples) -> Samples {
    let Domain::Grid(grid) = samples.domain() else { panic!("a grid") };
    let field = |field: &Field| (field.name.clone(), Values::vectors(field.components, field.values.clone()));
    let inputs = samples.fields().iter().map(field);
    let cloud = Samples::on(grid.to_cloud().unwrap()).inputs(inputs).unwrap();
    samples.outputs().iter().map(field).fold(cloud, |cloud, (name, values)| cloud.output(name, values).unwrap())
}

#[test]
fn a_grid_given_as_points_gives_the_grids_results() {
    for shape in [&[17][..], &[6, 5], &[4, 3, 4]] {
        let grid = Grid::new(shape.to_vec(), vec![0.0; shape.len()], vec![1.5; shape.len()]).unwrap();
        let nodes = grid.len();
        let values = |seed: u64, count: usize| {
            let mut rng = Seed::new(seed).rng();
            (0..count).map(|_| uniform(&mut rng, -1.0, 1.0)).collect::<Vec<f64>>()
        };
        let samples = Samples::on(grid).input("b", values(1, 3 * nodes)).unwrap();
        let samples = samples.output("u", Values::vectors(2, values(2, 6 * nodes))).unwrap();
        let points = as_cloud(&samples);
        let network = || Nkn::new().width(3).kernel([6]).reaction([4]).kernel_fields(&["b"]).radius(0.55).epochs(2);
        for rule in [Quadrature::Mean, Quadrature::Overlap, Quadrature::Trapezoid] {
            let model = network().quadrature(rule).fit(&samples).unwrap();
            close(&double(&model, &points, rule), &double(&model, &samples, rule), 1e-9);
            // Trained on the points it is the same network up to rounding, which training enlarges.
            let on_points = network().quadrature(rule).fit(&points).unwrap();
            close(&double(&on_points, &samples, rule), &double(&model, &samples, rule), 1e-3);
        }
    }
}

#[test]
fn vectors_and_several_outputs_are_learned_and_kept() {
    let grid = Grid::unit(&[9]).unwrap();
    let x = grid.coordinates();
    let a = [0.3, 0.6, 0.9, 1.2];
    let at = |f: &dyn Fn(f64, f64) -> Vec<f64>| -> Vec<f64> {
        a.iter().flat_map(|&a| x.iter().flat_map(move |&x| f(a, x))).collect()
    };
    let samples = Samples::on(grid).input("c", Values::vectors(2, at(&|a, x| vec![a, a * x]))).unwrap();
    let samples = samples.output("p", at(&|a, x| vec![a + x])).unwrap();
    let samples = samples.output("v", Values::vectors(2, at(&|a, x| vec![100.0 * a, 200.0 * x]))).unwrap();
    let (key, value) = ("model.normalise_output", "scalar");
    let nkn = Nkn::new().width(4).kernel([8]).epochs(150).learning_rate(1e-2).set(key, value).fit(&samples).unwrap();
    let fno = Fno::new().width(4).modes(3).head(8).epochs(150).learning_rate(1e-2).set(key, value);
    let fno = fno.fit(&samples).unwrap();
    for model in [nkn, fno] {
        assert_eq!(model.config().output_names(), ["p", "v"]);
        let measures = model.measures(&samples, "test", None, &Predicting::default()).unwrap();
        let names: Vec<&str> = measures.iter().map(|measure| measure.metric.as_str()).collect();
        let parts = ["relative_l2:p", "relative_l2:v", "relative_l2:v.0", "relative_l2:v.1"];
        assert_eq!(names, [&["relative_l2", "relative_l2_squared"][..], &parts].concat());
        // The whole is the mean of the two outputs, each of which is learned, though one is a hundred times larger.
        assert!((measures[0].value - (measures[2].value + measures[3].value) / 2.0).abs() < 1e-12);
        assert!(measures.iter().all(|measure| measure.value < 0.4), "{measures:?}");
        let again = Model::from_bytes(&model.to_bytes().unwrap()).unwrap();
        assert_eq!(again, model);
        let predicted = model.predicted(&samples, &Predicting::default()).unwrap();
        let columns: Vec<f64> = (0..4 * 9)
            .flat_map(|node| {
                let [p, v] = [0, 1].map(|output: usize| &predicted.outputs()[output].values);
                [p[node], v[2 * node], v[2 * node + 1]]
            })
            .collect();
        assert_eq!(columns, model.predict(&samples).unwrap());
    }
}

#[test]
fn fields_of_other_components_are_refused() {
    let line = || Samples::on(Grid::unit(&[5]).unwrap());
    let train = line().input("f", vec![1.0; 10]).unwrap().output("u", Values::vectors(2, vec![2.0; 20])).unwrap();
    let model = Nkn::new().epochs(1).fit(&train).unwrap();
    let wrong = line().input("f", Values::vectors(2, vec![1.0; 20])).unwrap();
    let message = model.predict(&wrong).unwrap_err().to_string();
    assert!(message.contains("components of \"f\": expected 1, got 2"), "{message}");
    let wrong = line().input("f", vec![1.0; 10]).unwrap().output("u", vec![2.0; 10]).unwrap();
    let message = model.error(&wrong).unwrap_err().to_string();
    assert!(message.contains("components of \"u\": expected 2, got 1"), "{message}");
}
