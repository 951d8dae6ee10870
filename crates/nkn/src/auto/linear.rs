//! How linear is the map from inputs to output? The best linear map, found by least squares with a small penalty, is
//! asked about samples that it has not seen. A map that it gets right needs no kernel that sees the inputs.

use crate::Result;
use crate::domain::Domain;
use crate::field::{Samples, mean, relative_l2};
use faer::linalg::solvers::Solve;
use faer::{Mat, Side};

/// So many samples are enough, and the equations stay small.
const SAMPLES: usize = 400;
/// The same for numbers of a sample.
const INPUTS: usize = 4096;
const OUTPUTS: usize = 1024;
/// Fewer samples say nothing.
const LEAST: usize = 10;
/// One sample in so many is not learned from but asked about.
const ASKED: usize = 5;
/// Penalties, as shares of the mean square of a sample.
const PENALTIES: [f64; 4] = [1e-10, 1e-6, 1e-3, 1e-1];

/// The mean relative error of the best linear map, or nothing for too few samples.
pub(super) fn linear_error(samples: &Samples) -> Result<Option<f64>> {
    let count = samples.count().min(SAMPLES);
    if count < LEAST || matches!(samples.domain(), Domain::Clouds(_)) {
        return Ok(None);
    }
    let asked = count / ASKED;
    let learned = count - asked;
    let output = samples.truth(&[])?;
    let mut inputs = Rows::default();
    for field in samples.fields() {
        inputs.append(&field.values, samples.count(), count, INPUTS / samples.fields().len(), learned);
    }
    let mut outputs = Rows::default();
    outputs.append(&output, samples.count(), count, OUTPUTS, 0);
    let product = |i: usize, j: usize| -> f64 { inputs.row(i).zip(inputs.row(j)).map(|(a, b)| a * b).sum() };
    let gram = Mat::from_fn(count, learned, product);
    let size = (0..learned).map(|i| gram[(i, i)]).sum::<f64>() / learned as f64;
    // A constant is part of the map: the mean of the outputs.
    let width = outputs.columns.len();
    let means: Vec<f64> = outputs.columns.iter().map(|column| mean(&column[..learned])).collect();
    let right = Mat::from_fn(learned, width, |i, j| outputs.columns[j][i] - means[j]);
    let truth: Vec<f64> = (learned..count).flat_map(|i| outputs.row(i)).collect();
    let mut best = f64::INFINITY;
    for penalty in PENALTIES {
        let with = Mat::from_fn(learned, learned, |i, j| {
            gram[(i, j)] + if i == j { (penalty * size).max(f64::MIN_POSITIVE) } else { 0.0 }
        });
        let Ok(factor) = with.llt(Side::Lower) else { continue };
        let coefficients = factor.solve(&right);
        let predicted = gram.submatrix(learned, 0, asked, learned) * &coefficients;
        let prediction: Vec<f64> = (0..asked)
            .flat_map(|i| (0..width).map(move |j| (i, j)))
            .map(|(i, j)| predicted[(i, j)] + means[j])
            .collect();
        let mut errors = relative_l2(&prediction, &truth, width);
        errors.retain(|error| error.is_finite());
        if !errors.is_empty() {
            best = best.min(mean(&errors));
        }
    }
    Ok(best.is_finite().then_some(best))
}

/// Numbers of samples, column by column.
#[derive(Default)]
struct Rows {
    columns: Vec<Vec<f64>>,
}

impl Rows {
    /// Adds at most `most` numbers per sample; with `centred` samples their mean is subtracted and the deviation of the
    /// whole divided by.
    fn append(&mut self, values: &[f64], samples: usize, count: usize, most: usize, centred: usize) {
        let width = values.len() / samples;
        let step = width.div_ceil(most.max(1));
        let column = |node: usize| (0..count).map(|sample| values[sample * width + node]).collect::<Vec<f64>>();
        let mut own: Vec<Vec<f64>> = (0..width).step_by(step).map(column).collect();
        if centred > 0 {
            let mut square = 0.0;
            for column in &mut own {
                let middle = mean(&column[..centred]);
                column.iter_mut().for_each(|value| *value -= middle);
                square += column.iter().map(|value| value * value).sum::<f64>();
            }
            let size = (square / (own.len() * count) as f64).sqrt();
            if size > 0.0 {
                own.iter_mut().flatten().for_each(|value| *value /= size);
            }
        }
        self.columns.append(&mut own);
    }

    fn row(&self, sample: usize) -> impl Iterator<Item = f64> + '_ {
        self.columns.iter().map(move |column| column[sample])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Grid;

    fn samples(map: impl Fn(f64) -> f64) -> Samples {
        let value = |i: usize| ((i * 7919 % 1009) as f64 / 1009.0 - 0.5) * 4.0;
        let f: Vec<f64> = (0..200 * 5).map(value).collect();
        let u: Vec<f64> = f.chunks(5).flat_map(|f| (0..5).map(|i| map(f[i]) + 0.5 * f[(i + 1) % 5] + 1.0)).collect();
        Samples::on(Grid::unit(&[5]).unwrap()).input("f", f).unwrap().output("u", u).unwrap()
    }

    #[test]
    fn linear_and_nonlinear_maps() {
        assert!(linear_error(&samples(|f| 3.0 * f)).unwrap().unwrap() < 1e-6);
        assert!(linear_error(&samples(|f| f * f)).unwrap().unwrap() > 0.1);
        let few = samples(|f| f).select(&[0, 1, 2]);
        assert_eq!(linear_error(&few).unwrap(), None);
    }
}
