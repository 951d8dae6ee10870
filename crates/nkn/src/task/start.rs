//! What a network on functions takes from the samples before its first step: the size of its lift; with one feature the
//! size and sign of its projection too.

use crate::Result;
use crate::field::{Field, Normaliser, Samples, mean};
use crate::model::Parameters;
use crate::train::Setup;

/// Divides the lift's weight of each field by the field's root mean square, so that h starts with size one whether
/// the data are normalised or not: without this a load of size 400 starts the network far from anything useful.
pub fn scale_lift(parameters: &mut Parameters, setup: &Setup, train: &Samples) -> Result<()> {
    let Setup { model, normalisers, .. } = setup;
    let dim = train.domain().dim();
    let columns = dim + model.columns(&model.fields);
    let mut first = dim;
    for (name, normaliser) in model.fields.iter().zip(&normalisers.fields) {
        let own = first..first + model.components_of(name);
        first = own.end;
        let values = normaliser.encode(&train.field(name)?.values);
        let size = root_mean_square(&values);
        if size > 0.0 && size.is_finite() {
            let weight = &mut parameters.group_mut("lift").values[..columns * model.width];
            for row in weight.chunks_exact_mut(columns) {
                row[own.clone()].iter_mut().for_each(|weight| *weight /= size as f32);
            }
        }
    }
    Ok(())
}

/// How many times the outputs a projection of the initial state begins with.
const LARGER: f64 = 10.0;

/// Of a dissipative network of one feature: the sizes and signs of lift and projection.
///
/// One layer that is to be u = ∫ G f has to take away h(x) itself: S² = 1 - ∫ G / (p q), with p and q the weights of lift and
/// projection. S² is never negative, so p q must not be small against G, of which the samples tell how large u is for f, and
/// that smoother loads may have more. Both begin with the same size, because the steps of an optimiser have, and with the
/// sign with which the outputs follow the initial state.
pub fn balance(parameters: &mut Parameters, setup: &Setup, train: &Samples) -> Result<()> {
    let Setup { model, normalisers, .. } = setup;
    let fields = model.fields.iter().map(|name| train.field(name)).collect::<Result<_>>()?;
    let fields = columns(fields, &normalisers.fields);
    let outputs = columns(train.outputs_named(&model.output_names())?, &normalisers.outputs);
    let dim = train.domain().dim();
    let lift = &mut parameters.group_mut("lift").values[dim..dim + fields.len()];
    let state = |node: usize| lift.iter().zip(&fields).map(|(&w, field)| f64::from(w) * field[node]).sum::<f64>();
    let state: Vec<f64> = (0..outputs[0].len()).map(state).collect();
    let of_unit = root_mean_square(&state) / lift.iter().map(|&w| f64::from(w * w)).sum::<f64>().sqrt();
    let size = (LARGER * root_mean_square(&outputs.concat()) / of_unit).sqrt();
    if !(size > 0.0 && size.is_finite()) {
        // Nothing to be learned from, or nothing to learn.
        return Ok(());
    }
    let factor = size * of_unit / root_mean_square(&state);
    lift.iter_mut().for_each(|weight| *weight *= factor as f32);
    for (weight, output) in parameters.group_mut("project").values.iter_mut().zip(&outputs) {
        let follows: f64 = output.iter().zip(&state).map(|(u, h)| u * h).sum();
        *weight = (LARGER * root_mean_square(output) / (size * of_unit)).copysign(follows) as f32;
    }
    Ok(())
}

fn root_mean_square(values: &[f64]) -> f64 {
    mean(&values.iter().map(|v| v * v).collect::<Vec<_>>()).sqrt()
}

/// The columns of normalised fields, one after the other.
fn columns(fields: Vec<&Field>, normalisers: &[Normaliser]) -> Vec<Vec<f64>> {
    let mut all = Vec::new();
    for (field, normaliser) in fields.into_iter().zip(normalisers) {
        let values = normaliser.encode(&field.values);
        let count = field.components;
        all.extend((0..count).map(|column| values[column..].iter().step_by(count).copied().collect()));
    }
    all
}
