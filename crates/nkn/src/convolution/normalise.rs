//! Batch normalisation followed by ReLU, as one operation: two passes over the state instead of six.

use crate::engine::Engine;
use crate::linalg::{Real, each_piece, sum_rows, vectorised, where_positive};
use crate::operation::{InTests, Operation, Seen, operate};
use crate::parallel::Parallel;
use burn::tensor::{Tensor, TensorData, activation::relu};
use std::sync::{Arc, Mutex};

/// Added to the variance.
const EPSILON: f64 = 1e-5;
/// Rows of a piece: few enough for the second-level cache.
const PIECE: usize = 2048;

/// Mean and variance of every channel.
#[derive(Clone, Debug, PartialEq)]
pub struct Statistics {
    /// Means.
    pub mean: Vec<f64>,
    /// Variances.
    pub variance: Vec<f64>,
}

/// Where a normalisation's statistics come from.
#[derive(Clone, Debug)]
pub enum Normalisation {
    /// From the batch; they are left here for the running averages.
    Batch(Arc<Mutex<Option<Statistics>>>),
    /// Given: predictions.
    Fixed(Statistics),
}

/// relu(scale (x - mean) / deviation + shift) of a state (nodes x samples x channels), channel by channel; `parameters` is the scales, then the shifts.
pub fn normalise(input: Tensor<3>, parameters: Tensor<1>, source: &Normalisation, engine: Engine) -> Tensor<3> {
    if engine.is_fused(&input.device()) {
        let operation = RectifiedNormalisation(source.clone());
        return operate([input.into_dispatch(), parameters.into_dispatch()], operation);
    }
    let [_, _, channels] = input.dims();
    let row = |from: usize| parameters.clone().slice(from * channels..(from + 1) * channels).reshape([1, 1, channels]);
    let (mean, variance) = match source {
        Normalisation::Batch(observed) => {
            let mean = input.clone().mean_dim(0).mean_dim(1);
            let centred = input.clone() - mean.clone();
            let variance = (centred.clone() * centred).mean_dim(0).mean_dim(1);
            let values = |tensor: &Tensor<3>| tensor.clone().into_data().iter::<f64>().collect();
            let statistics = Statistics { mean: values(&mean), variance: values(&variance) };
            *observed.lock().expect("nobody panics with it") = Some(statistics);
            (mean, variance)
        }
        Normalisation::Fixed(statistics) => {
            let upload = |values: &[f64]| {
                let data = TensorData::new(values.to_vec(), [1, 1, channels]);
                Tensor::<3>::from_data(data, (&input.device(), input.dtype()))
            };
            (upload(&statistics.mean), upload(&statistics.variance))
        }
    };
    relu((input - mean) / (variance + EPSILON).sqrt() * row(0) + row(1))
}

#[derive(Debug)]
struct RectifiedNormalisation(Normalisation);

fn doubles<T: Real>(values: &[T]) -> Vec<f64> {
    values.iter().map(|v| v.to_f64()).collect()
}

// The loops are functions of their own, always inlined: only then are they compiled for the vectors of the machine.

/// Means of the rows' channels, and the sums of the squared distances from them.
#[inline(always)]
fn piece_statistics<T: Real>(rows: &[T], mean: &mut [T], squares: &mut [T]) {
    let channels = mean.len();
    for row in rows.chunks_exact(channels) {
        for (m, &x) in mean.iter_mut().zip(row) {
            *m += x;
        }
    }
    let share = T::of(channels as f64 / rows.len() as f64);
    for m in mean.iter_mut() {
        *m = *m * share;
    }
    for row in rows.chunks_exact(channels) {
        for ((s, &m), &x) in squares.iter_mut().zip(&*mean).zip(row) {
            *s += (x - m) * (x - m);
        }
    }
}

/// relu(factor x + summand).
#[inline(always)]
fn apply_line<T: Real>(result: &mut [T], input: &[T], factor: &[T], summand: &[T]) {
    let channels = factor.len();
    for (result, input) in result.chunks_exact_mut(channels).zip(input.chunks_exact(channels)) {
        for (((r, &x), &f), &s) in result.iter_mut().zip(input).zip(factor).zip(summand) {
            let y = f * x + s;
            *r = where_positive(y, y);
        }
    }
}

/// The same rows of the input, the result and the result's derivative.
#[derive(Clone, Copy)]
struct Rows<'a, T> {
    input: &'a [T],
    output: &'a [T],
    gradient: &'a [T],
}

/// Adds up the derivatives that pass the ReLU, and those times the centred input.
#[inline(always)]
fn gradient_sums<T: Real>(rows: Rows<T>, mean: &[T], shift: &mut [T], product: &mut [T]) {
    let channels = mean.len();
    let inputs = rows.input.chunks_exact(channels).zip(rows.output.chunks_exact(channels));
    for ((input, output), gradient) in inputs.zip(rows.gradient.chunks_exact(channels)) {
        let sums = shift.iter_mut().zip(product.iter_mut()).zip(mean);
        for (((&x, &y), &g), ((s, p), &m)) in input.iter().zip(output).zip(gradient).zip(sums) {
            let g = where_positive(y, g);
            *s += g;
            *p += g * (x - m);
        }
    }
}

/// The derivative of the input is factor g + slope (x - mean) + offset.
#[inline(always)]
fn input_gradients<T: Real>(rows: Rows<T>, result: &mut [T], [mean, factor, slope, offset]: [&[T]; 4]) {
    let channels = mean.len();
    let inputs = rows.input.chunks_exact(channels).zip(rows.output.chunks_exact(channels));
    let inputs = inputs.zip(rows.gradient.chunks_exact(channels));
    for (((input, output), gradient), result) in inputs.zip(result.chunks_exact_mut(channels)) {
        let numbers = mean.iter().zip(factor).zip(slope).zip(offset);
        let values = input.iter().zip(output).zip(gradient).zip(result);
        for ((((&x, &y), &g), r), (((&m, &f), &s), &o)) in values.zip(numbers) {
            let g = where_positive(y, g);
            *r = f * g + s * (x - m) + o;
        }
    }
}

/// Mean and variance: within a piece around the piece's own mean, so that nothing is lost when the mean is large.
fn statistics<T: Real>(input: &[T], channels: usize) -> Statistics {
    let count = input.len() / channels;
    let of_piece = |rows: &[T]| {
        let (mut mean, mut squares) = (vec![T::ZERO; channels], vec![T::ZERO; channels]);
        vectorised!(piece_statistics(rows, &mut mean, &mut squares));
        ((rows.len() / channels) as f64, doubles(&mean), doubles(&squares))
    };
    let parts: Vec<(f64, Vec<f64>, Vec<f64>)> = input.chunks(PIECE * channels).parallel().map(of_piece);
    let mut mean = vec![0.0; channels];
    for (number, part, _) in &parts {
        mean.iter_mut().zip(part).for_each(|(m, p)| *m += number * p / count as f64);
    }
    let mut variance = vec![0.0; channels];
    for (number, part, squares) in &parts {
        for c in 0..channels {
            variance[c] += (squares[c] + number * (part[c] - mean[c]).powi(2)) / count as f64;
        }
    }
    Statistics { mean, variance }
}

fn deviations(statistics: &Statistics) -> Vec<f64> {
    statistics.variance.iter().map(|v| (v + EPSILON).sqrt()).collect()
}

/// Factor and summand of every channel: y = relu(factor x + summand).
fn line<T: Real>(statistics: &Statistics, parameters: &[T]) -> (Vec<T>, Vec<T>) {
    let channels = statistics.mean.len();
    let factors: Vec<f64> =
        deviations(statistics).iter().zip(parameters).map(|(deviation, scale)| scale.to_f64() / deviation).collect();
    let summand = |c: usize| parameters[channels + c].to_f64() - factors[c] * statistics.mean[c];
    ((0..channels).map(|c| T::of(factors[c])).collect(), (0..channels).map(|c| T::of(summand(c))).collect())
}

impl Operation<2> for RectifiedNormalisation {
    /// The statistics that were used.
    type Saved<T: Real> = Statistics;
    type Double = InTests;

    fn forward<T: Real>(&self, [input, parameters]: [&[T]; 2], _: bool) -> (Vec<T>, Statistics) {
        let channels = parameters.len() / 2;
        let used = match &self.0 {
            Normalisation::Batch(observed) => {
                let statistics = statistics(input, channels);
                *observed.lock().expect("nobody panics with it") = Some(statistics.clone());
                statistics
            }
            Normalisation::Fixed(statistics) => statistics.clone(),
        };
        let (factor, summand) = line(&used, parameters);
        let span = PIECE * channels;
        let result = each_piece(input.len(), span, |index, result| {
            let input = &input[index * span..index * span + result.len()];
            vectorised!(apply_line(result, input, &factor, &summand));
        });
        (result, used)
    }

    fn backward<T: Real>(&self, seen: Seen<T, Statistics, 2>) -> [Option<Vec<T>>; 2] {
        let Seen { inputs: [input, parameters], output, saved: used, gradient, wanted } = seen;
        let channels = parameters.len() / 2;
        let count = input.len() / channels;
        let mean: Vec<T> = used.mean.iter().map(|&m| T::of(m)).collect();
        // Per channel the sum of the gradients that pass the ReLU, and of those times the centred input.
        let rows = |index: usize| {
            let part = index * PIECE * channels..input.len().min((index + 1) * PIECE * channels);
            Rows { input: &input[part.clone()], output: &output[part.clone()], gradient: &gradient[part] }
        };
        let of_piece = |index: usize| {
            let mut sums = vec![T::ZERO; 2 * channels];
            let (shift, product) = sums.split_at_mut(channels);
            vectorised!(gradient_sums(rows(index), &mean, shift, product));
            doubles(&sums)
        };
        let parts: Vec<Vec<f64>> = (0..count.div_ceil(PIECE)).parallel().map(of_piece);
        let sums = sum_rows(&parts.concat(), 2 * channels);
        let (shift, product) = sums.split_at(channels);
        let deviation = deviations(&used);
        let scale_gradient = product.iter().zip(&deviation).map(|(p, d)| T::of(p / d));
        let parameters_gradient = scale_gradient.chain(shift.iter().map(|&s| T::of(s))).collect();
        let is_batch = matches!(self.0, Normalisation::Batch(_));
        let of = |f: &dyn Fn(usize) -> f64| -> Vec<T> { (0..channels).map(|c| T::of(f(c))).collect() };
        let factor = of(&|c| parameters[c].to_f64() / deviation[c]);
        let (slope, offset) = if is_batch {
            let number = count as f64;
            let slope = |c: usize| -parameters[c].to_f64() * product[c] / (number * deviation[c].powi(3));
            let offset = |c: usize| -parameters[c].to_f64() * shift[c] / (number * deviation[c]);
            (of(&slope), of(&offset))
        } else {
            (of(&|_| 0.0), of(&|_| 0.0))
        };
        let input_gradient = wanted[0].then(|| {
            each_piece(input.len(), PIECE * channels, |index, result| {
                vectorised!(input_gradients(rows(index), result, [&mean, &factor, &slope, &offset]));
            })
        });
        [input_gradient, Some(parameters_gradient)]
    }
}
