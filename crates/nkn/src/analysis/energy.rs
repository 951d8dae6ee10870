//! The size of the state over the layers: what a stable network must not let grow.

use super::elliptic::Elliptic;
use super::spectrum::LinearOperator;
use crate::Result;
use crate::field::Samples;
use crate::model::{Kind, Model};
use crate::operator::Integrator;

/// Samples whose mean is taken.
const SAMPLES: usize = 8;

/// The norm of h after each layer over that before the first, the mean over a few samples, without the source: in the
/// norm that the nodes' measure weighs where they have one. Nothing of networks whose layers are not Euler steps of an equation.
pub fn energies(model: &Model, samples: &Samples) -> Result<Vec<f64>> {
    if model.config().kind != Kind::Nkn || model.config().integrator != Integrator::Euler {
        return Ok(Vec::new());
    }
    let count = samples.count().min(SAMPLES);
    let mut mean = vec![0.0; model.depth() + 1];
    for sample in 0..count {
        let one = samples.select(&[sample]);
        let operator = Elliptic::new(model, &one)?;
        let mut h = operator.initial(model, &one)?;
        let first = norm(&h);
        let mut rate = vec![0.0; h.len()];
        for mean in &mut mean {
            *mean += norm(&h) / (first * count as f64);
            operator.apply(&h, &mut rate);
            h.iter_mut().zip(&rate).for_each(|(h, rate)| *h -= operator.step() * rate);
        }
    }
    Ok(mean)
}

fn norm(values: &[f64]) -> f64 {
    values.iter().map(|v| v * v).sum::<f64>().sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::Certificate;
    use crate::model::Guarantee;
    use crate::problem::poisson::generate;
    use crate::seed::Seed;
    use crate::{Gkn, Nkn};

    #[test]
    fn the_energy_of_a_dissipative_network_falls_in_every_layer() {
        let samples = generate(Seed::new(0), 0, 3, 13).unwrap();
        let network = || Nkn::new().width(3).kernel([6]).reaction([4]).epochs(2);
        let model = network().stability(Guarantee::Dissipative).depths([32]).fit(&samples).unwrap();
        let operator = Elliptic::new(&model, &samples).unwrap();
        assert!(Certificate::of(&operator).unwrap().unwrap().depth(1.0) <= 32);
        let curve = energies(&model, &samples).unwrap();
        assert_eq!((curve.len(), curve[0]), (33, 1.0));
        assert!(curve.windows(2).all(|pair| pair[1] <= pair[0] * (1.0 + 1e-12)), "{curve:?}");
        assert_eq!(energies(&network().depths([2]).fit(&samples).unwrap(), &samples).unwrap().len(), 3);
        let other = Gkn::new().kernel([4]).epochs(1).fit(&samples).unwrap();
        assert!(energies(&other, &samples).unwrap().is_empty());
    }
}
