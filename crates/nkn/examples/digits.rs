//! Digits at another resolution: trained on images of 16 x 16 pixels, asked on 16 x 16 and 32 x 32.
//!
//! cargo run --release -p nkn --example digits                       (with MNIST: nkn data mnist, then nkn train configs/mnist.toml)

use nkn::{Images, Nkn, Result, model::Predicting, seed::Seed, seed::uniform};

/// Made-up digits: class k is a ring with k + 1 bright spots, turned and moved at random.
fn draw(count: usize, side: usize, seed: Seed) -> Result<Images> {
    let (mut pixels, mut labels) = (Vec::new(), Vec::new());
    for image in 0..count {
        let mut rng = seed.derive("image", image as u64).rng();
        let class = image % 4;
        let (turn, x0, y0) =
            (uniform(&mut rng, 0.0, 0.3), uniform(&mut rng, 0.45, 0.55), uniform(&mut rng, 0.45, 0.55));
        for node in 0..side * side {
            let (x, y) = ((node % side) as f64 / side as f64 - x0, (node / side) as f64 / side as f64 - y0);
            let (radius, angle) = (x.hypot(y), y.atan2(x) + turn);
            let ring = (-150.0 * (radius - 0.3).powi(2)).exp() * (1.0 + (angle * (class + 1) as f64).cos()) / 2.0;
            pixels.push((255.0 * ring) as u8);
        }
        labels.push(class as u8);
    }
    Images::new(side, 1, pixels, labels)
}

fn main() -> Result<()> {
    let epochs: usize = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(6);
    let (train, test) = (draw(160, 16, Seed::new(0))?, draw(40, 16, Seed::new(1))?);
    let network = Nkn::new().width(4).kernel([8]).reaction([8]).head(32).radius(2.0).depths([1, 2]);
    let network = network.batch(16).epochs(epochs).learning_rate(1e-2).set("model.reference", 8);
    let model = network.fit_tested(&train, &test)?;
    println!("{}: {:.0} % of 40 images wrong", model.title(), 100.0 * model.error(&test)?);
    let answers = model.classify(&test, 32, &Predicting::default())?;
    println!("at 32 x 32 the first is of class {} with probability {:.2}", answers[0].class, answers[0].probability);
    Ok(())
}
