//! Darcy flow across resolutions: trained on 16 x 16 nodes, asked on 31 x 31.
//!
//! cargo run --release -p nkn --example darcy_resolutions            (add a number to train longer)

use nkn::{Nkn, Quadrature, Result, problem::darcy, seed::Seed, train::OptimiserKind};

fn main() -> Result<()> {
    let epochs: usize = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(20);
    // Permeability b and pressure u, solved on 61 x 61 nodes; every fourth and every second of them are coarser grids.
    let train = darcy::generate(Seed::new(0), 0, 24, 61, &|_| {})?;
    let test = darcy::generate(Seed::new(0), 24, 8, 61, &|_| {})?;
    let network = Nkn::new().width(8).kernel([32, 64]).reaction([32]).radius(0.15).quadrature(Quadrature::Overlap);
    let network = network.kernel_fields(&["b"]).depths([1, 2]).epochs(epochs);
    let network = network.set("model.normalise_input", "scalar").set("model.normalise_output", "pointwise");
    let model = network.optimiser(OptimiserKind::Soap).learning_rate(3e-3).fit(&train.coarsen(16)?)?;
    for side in [16, 31] {
        println!("{side} x {side}: error {:.2e}", model.error(&test.coarsen(side)?)?);
    }
    Ok(())
}
