//! One's own arrays, on scattered points: from a source q(x, y) to its potential, which a simulation would give.
//!
//! cargo run --release -p nkn --example own_arrays

use nkn::{Nkn, PointCloud, Result, Samples, seed::Seed, seed::uniform};

/// A source with one bump, and a made-up response to it, at each point.
fn simulate(points: &[f64], seed: Seed) -> (Vec<f64>, Vec<f64>) {
    let mut rng = seed.rng();
    let (x0, y0) = (uniform(&mut rng, 0.2, 0.8), uniform(&mut rng, 0.2, 0.8));
    let distance = |p: &[f64]| ((p[0] - x0).powi(2) + (p[1] - y0).powi(2)).sqrt();
    points.chunks(2).map(|p| ((-20.0 * distance(p).powi(2)).exp(), 1.0 / (0.2 + distance(p)))).unzip()
}

fn main() -> Result<()> {
    let epochs: usize = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(30);
    let mut rng = Seed::new(7).rng();
    let points: Vec<f64> = (0..2 * 150).map(|_| uniform(&mut rng, 0.0, 1.0)).collect();
    let (mut q, mut u) = (Vec::new(), Vec::new());
    for sample in 0..40 {
        let (source, response) = simulate(&points, Seed::new(1).derive("sample", sample));
        q.extend(source);
        u.extend(response);
    }
    // Samples x nodes, in the order of the points; the area that they stand for is 1.
    let all = Samples::on(PointCloud::new(2, points, 1.0)?).input("q", q)?.output("u", u)?;
    let (train, test) = (all.select(&(0..30).collect::<Vec<_>>()), all.select(&(30..40).collect::<Vec<_>>()));
    let network = Nkn::new().width(8).kernel([32, 32]).reaction([32]).radius(0.3).depths([1, 2]).epochs(epochs);
    let network =
        network.learning_rate(5e-3).set("model.normalise_input", "scalar").set("model.normalise_output", "scalar");
    let model = network.fit_tested(&train, &test)?;
    println!("{}: error {:.2e} on 10 new sources", model.title(), model.error(&test)?);
    println!("the first prediction at the first point: {:.3}", model.predict(&test)?[0]);
    Ok(())
}
