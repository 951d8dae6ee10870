//! A single step: a batch's loss, its gradients, and the optimiser.

use super::state::State;
use super::task::{Place, Task};
use crate::error::ensure;
use crate::model::Averages;
use crate::parallel::Parallel;
use crate::{Error, Result};
use burn::tensor::DType;

/// The share of a batch in the running averages of the normalisations.
const MOMENTUM: f64 = 0.1;

/// One step of the optimiser: the loss before it and the gradient's norm.
pub(super) fn step(
    task: &dyn Task,
    (place, samples): (Place, &[usize]),
    rate: f64,
    state: &mut State,
) -> Result<(f64, f64)> {
    let config = task.setup().config;
    let mut seen = Averages::new();
    let tensors = state.parameters.tensors(&task.setup().device.burn().autodiff(), DType::F32).require_grad();
    let loss = task.loss(&tensors, place, samples, state.optimiser.steps, &mut seen)?;
    let mut computed = loss.backward();
    let value = f64::from(loss.into_scalar::<f32>());
    let groups = tensors.0.iter().zip(&state.parameters.groups);
    let mut gradients: Vec<Vec<f32>> = groups
        .map(|((_, tensor), group)| match tensor.grad_remove(&mut computed) {
            Some(gradient) => gradient.into_data().try_into_vec::<f32>().expect("single precision"),
            None => vec![0.0; group.values.len()],
        })
        .collect();
    let norm = norm_of(value, &gradients, state)?;
    if let Some(clip) = config.clip
        && norm > clip
    {
        let scale = (clip / norm) as f32;
        gradients.iter_mut().flatten().for_each(|g| *g *= scale);
    }
    state.optimiser.step(config, rate, &mut state.parameters, &mut gradients);
    for (name, statistics) in seen {
        let running = state.averages.get_mut(&name).expect("the same normalisations in every step");
        let mix = |old: &mut [f64], new: &[f64]| {
            old.iter_mut().zip(new).for_each(|(o, n)| *o += MOMENTUM * (n - *o));
        };
        mix(&mut running.mean, &statistics.mean);
        mix(&mut running.variance, &statistics.variance);
    }
    Ok((value, norm))
}

/// The norm of the gradient; refuses a loss or a gradient that is not finite.
fn norm_of(loss: f64, gradients: &[Vec<f32>], state: &State) -> Result<f64> {
    let finite = |what: &dyn Fn() -> String, got: f64| {
        let place = || format!("at depth {}, epoch {}, step {}", state.depth, state.epoch + 1, state.step + 1);
        let hint = "lower train.learning_rate, add train.clip, or normalise the data; the last checkpoint is intact";
        ensure!(got.is_finite(), Error::not_finite(what(), got, place(), hint));
        Ok(())
    };
    finite(&|| "the training loss".into(), loss)?;
    let mut square = 0.0;
    for (gradient, group) in gradients.iter().zip(&state.parameters.groups) {
        let squares = |piece: &[f32]| piece.iter().map(|&g| f64::from(g) * f64::from(g)).sum::<f64>();
        let own: f64 = gradient.chunks(1 << 16).parallel().map(squares).iter().sum();
        finite(&|| format!("the gradient of {:?}", group.name), own)?;
        square += own;
    }
    Ok(square.sqrt())
}
