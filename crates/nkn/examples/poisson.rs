//! Poisson in 20 lines: learn f -> u for -u'' = f from samples, deepen, and ask on a finer grid.
//!
//! cargo run --release -p nkn --example poisson            (add a number to train longer: 400 epochs reach an error below one percent)

use nkn::train::OptimiserKind;
use nkn::{Nkn, Result, problem::poisson, seed::Seed};

fn main() -> Result<()> {
    let epochs: usize = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(40);
    let train = poisson::generate(Seed::new(0), 0, 100, 51)?;
    let test = poisson::generate(Seed::new(0), 100, 20, 51)?;
    let finer = poisson::generate(Seed::new(0), 100, 20, 201)?;
    let network = Nkn::new().kernel([64, 64]).depths([1, 2]).epochs(epochs);
    let model = network.optimiser(OptimiserKind::Soap).learning_rate(1e-2).fit(&train)?;
    println!("{}: error {:.2e} on 51 points, {:.2e} on 201", model.title(), model.error(&test)?, model.error(&finer)?);
    println!("largest real part of an eigenvalue: {:.2}", model.spectrum(&test)?.largest_real);
    model.save(std::env::temp_dir().join("poisson.safetensors"))
}
