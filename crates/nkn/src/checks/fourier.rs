//! Fourier layers against a reference with the fast Fourier transform.

use crate::domain::{Domain, Grid};
use crate::engine::Engine;
use crate::model::fno::{Frequencies, Layer, fourier_layer};
use crate::seed::{Seed, uniform};
use burn::tensor::{DType, Device, Tensor, TensorData};
use rustfft::{FftPlanner, num_complex::Complex};
use std::sync::Arc;

fn numbers(count: usize, seed: u64) -> Vec<f64> {
    let mut rng = Seed::new(seed).rng();
    (0..count).map(|_| uniform(&mut rng, -1.0, 1.0)).collect()
}

/// The unnormalised transform along both axes.
fn fft(values: &mut [Complex<f64>], [n1, n2]: [usize; 2], inverse: bool) {
    let mut planner = FftPlanner::new();
    let mut plan = |n| if inverse { planner.plan_fft_inverse(n) } else { planner.plan_fft_forward(n) };
    let (along, across) = (plan(n2), plan(n1));
    values.chunks_mut(n2).for_each(|row| along.process(row));
    for j in 0..n2 {
        let mut column: Vec<_> = (0..n1).map(|i| values[i * n2 + j]).collect();
        across.process(&mut column);
        (0..n1).for_each(|i| values[i * n2 + j] = column[i]);
    }
}

/// One sample through F⁻¹ W F, as the published scripts do it: transform, multiply the kept corner of the half spectrum, transform back. The other
/// half is the conjugate, which the real part stands for.
fn reference(state: &[f64], weights: &[f64], shape: [usize; 2], d: usize, modes: usize, is_plane: bool) -> Vec<f64> {
    let [n1, n2] = shape;
    let nodes = n1 * n2;
    let mut spectra: Vec<Vec<Complex<f64>>> = (0..d)
        .map(|i| {
            let mut values: Vec<_> = (0..nodes).map(|n| Complex::new(state[n * d + i], 0.0)).collect();
            fft(&mut values, shape, false);
            values
        })
        .collect();
    let mut mixed = vec![vec![Complex::new(0.0, 0.0); nodes]; d];
    for place in 0..nodes {
        let (i1, k2) = (place / n2, place % n2);
        // The signed frequency; the grid does not tell n / 2 from -n / 2.
        let k1 = if 2 * i1 > n1 { i1 as i64 - n1 as i64 } else { i1 as i64 };
        let is_kept = 2 * k2 < n2 && k2 < modes && (k1 == 0 || 2 * k1.unsigned_abs() < n1 as u64);
        let is_kept = is_kept && (-(modes as i64)..modes as i64).contains(&k1);
        if !is_kept {
            continue;
        }
        let row = if k1 < 0 { 2 * modes as i64 + k1 } else { k1 } as usize;
        let block = if is_plane { row * modes + k2 } else { k2 };
        let pair = if k2 == 0 { 1.0 } else { 2.0 };
        for (o, mixed) in mixed.iter_mut().enumerate() {
            for (i, spectrum) in spectra.iter_mut().enumerate() {
                let at = |part: usize| weights[((block * 2 + part) * d + i) * d + o];
                mixed[place] += pair * spectrum[place] * Complex::new(at(0), at(1));
            }
        }
    }
    let mut result = vec![0.0; nodes * d];
    for (o, mixed) in mixed.iter_mut().enumerate() {
        fft(mixed, shape, true);
        (0..nodes).for_each(|n| result[n * d + o] = mixed[n].re / nodes as f64);
    }
    result
}

#[test]
fn equals_the_fast_fourier_transform_on_any_grid() {
    let (d, samples, modes) = (3, 2, 5);
    let shapes: [&[usize]; 8] = [&[101], &[16], &[4], &[16, 16], &[31, 31], &[7, 12], &[3, 2], &[1, 1]];
    for (seed, sides) in shapes.into_iter().enumerate() {
        let domain = Domain::Grid(Grid::unit(sides).unwrap());
        let frequencies = Frequencies::new(modes, &domain, None).unwrap();
        let (shape, nodes, is_plane) = (frequencies.shape, frequencies.nodes(), sides.len() == 2);
        let seed = 10 * seed as u64;
        let state = numbers(nodes * samples * d, seed);
        let weights = numbers(if sides.len() == 2 { 2 * modes * modes } else { modes } * 2 * d * d, seed + 1);
        let layer = Arc::new(Layer { frequencies, samples, width: d, activate: false });
        let device = Device::flex();
        let upload = |values: Vec<f64>| {
            let length = values.len();
            Tensor::<1>::from_data(TensorData::new(values, [length]), (&device, DType::F64))
        };
        let state_tensor = upload(state.clone()).reshape([nodes, samples, d]);
        let pointwise = upload(vec![0.0; d * d + d]);
        let output =
            fourier_layer(state_tensor, upload(weights.clone()), pointwise, &layer, Engine::Automatic).into_data();
        let output: Vec<f64> = output.iter::<f64>().collect();
        for sample in 0..samples {
            let of_sample = |values: &[f64]| -> Vec<f64> {
                let node = |n: usize| values[(n * samples + sample) * d..][..d].to_vec();
                (0..nodes).flat_map(node).collect()
            };
            let expected = reference(&of_sample(&state), &weights, shape, d, modes, is_plane);
            for (got, expected) in of_sample(&output).iter().zip(&expected) {
                assert!((got - expected).abs() < 1e-12, "{sides:?}: {got} is not {expected}");
            }
        }
    }
}

/// A function that the coarse grid sees completely has the same spectrum on a finer grid of the same period, so the
/// layer gives the same function.
#[test]
fn the_layer_does_not_depend_on_the_grid() {
    let (d, modes) = (2, 4);
    let weights = numbers(modes * 2 * d * d, 3);
    let apply = |n: usize| -> Vec<f64> {
        let grid = |n| Domain::Grid(Grid::unit(&[n]).unwrap());
        let frequencies = Frequencies::new(modes, &grid(n), Some(&grid(9))).unwrap();
        let layer = Arc::new(Layer { frequencies, samples: 1, width: d, activate: false });
        let wave = |j: usize, k: f64| (std::f64::consts::TAU * k * j as f64 / n as f64 + 0.3 * k).cos();
        let state: Vec<f64> = (0..n).flat_map(|j| [1.0 + wave(j, 1.0), wave(j, 3.0)]).collect();
        let device = Device::flex();
        let upload = |values: Vec<f64>| {
            let length = values.len();
            Tensor::<1>::from_data(TensorData::new(values, [length]), (&device, DType::F64))
        };
        let state = upload(state).reshape([n, 1, d]);
        let pointwise = upload(numbers(d * d + d, 4));
        let output = fourier_layer(state, upload(weights.clone()), pointwise, &layer, Engine::Automatic);
        output.into_data().iter::<f64>().collect()
    };
    let (coarse, fine) = (apply(9), apply(27));
    for (j, pair) in coarse.chunks(d).enumerate() {
        for (i, value) in pair.iter().enumerate() {
            assert!((value - fine[3 * j * d + i]).abs() < 1e-12);
        }
    }
}
