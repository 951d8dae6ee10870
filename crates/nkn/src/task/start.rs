//! What a network on functions takes from the samples before its first step: the size of its lift, and the sign of its
//! projection.

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
        let size = mean(&values.iter().map(|v| v * v).collect::<Vec<_>>()).sqrt();
        if size > 0.0 && size.is_finite() {
            let weight = &mut parameters.group_mut("lift").values[..columns * model.width];
            for row in weight.chunks_exact_mut(columns) {
                row[own.clone()].iter_mut().for_each(|weight| *weight /= size as f32);
            }
        }
    }
    Ok(())
}

/// Of one feature: gives each of the projection's weights the sign with which the outputs follow the initial state. A
/// kernel that is nowhere negative takes means of its feature and cannot turn its sign.
pub fn turn_projection(parameters: &mut Parameters, setup: &Setup, train: &Samples) -> Result<()> {
    let Setup { model, normalisers, .. } = setup;
    let fields = model.fields.iter().map(|name| train.field(name)).collect::<Result<_>>()?;
    let fields = columns(fields, &normalisers.fields);
    let outputs = columns(train.outputs_named(&model.output_names())?, &normalisers.outputs);
    let weights = &parameters.group("lift").values[train.domain().dim()..];
    let state = |node: usize| weights.iter().zip(&fields).map(|(&w, field)| f64::from(w) * field[node]).sum::<f64>();
    let follow = |output: &Vec<f64>| output.iter().enumerate().map(|(node, u)| u * state(node)).sum::<f64>();
    let signs: Vec<f64> = outputs.iter().map(follow).collect();
    for (weight, sign) in parameters.group_mut("project").values.iter_mut().zip(signs) {
        *weight = if sign < 0.0 { -weight.abs() } else { weight.abs() };
    }
    Ok(())
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
