//! What nkn would make of a data set, in sentences.

use super::{ArrayFacts, Role};
use crate::domain::{Domain, Extent, Quadrature};
use crate::field::Samples;
use std::path::Path;

/// A field with at most so many values makes kernel rows that samples share.
const FEW: usize = 8;

/// A mean or a deviation as far as this from those of a normalised field is worth a setting.
const FAR: f64 = 5.0;

/// The sentences, the most important last: what to do next.
pub(super) fn advice(path: &Path, samples: &Samples, facts: &[ArrayFacts], outputs: &[String]) -> Vec<String> {
    let domain = samples.domain();
    let mut lines = vec![rule(domain), shared(samples)];
    let fields = || facts.iter().filter(|array| array.role != Role::Place);
    for array in fields() {
        lines.extend(about(array, samples.count()));
    }
    lines.push(augment(samples));
    lines.extend(fields().any(is_far).then(|| {
        "values are far from 1: set normalise_input and normalise_output to \"scalar\"; errors stay in your units"
            .into()
    }));
    let missing: Vec<&String> = outputs.iter().filter(|name| fields().all(|array| array.name != **name)).collect();
    if let Some(name) = missing.first() {
        let names: Vec<&str> = fields().map(|array| array.name.as_str()).collect();
        lines.push(format!(
            "there is no output `{name}`: it can be predicted from, but not trained with; if one of {names:?} is to be predicted, name it with --outputs"
        ));
        return lines;
    }
    match samples.check_trainable() {
        Err(error) => lines.push(format!("it cannot be trained with as it is: {error}")),
        Ok(()) => {
            let named = if outputs == ["u"] { String::new() } else { format!(" --outputs {}", outputs.join(",")) };
            lines.push(format!("next: nkn fit {}{named}", path.display()));
        }
    }
    lines
}

/// Which quadrature rule is taken where none is asked for.
fn rule(domain: &Domain) -> String {
    let ball = Extent::Ball { radius: 1.0, inclusive: false };
    let [near, all] = [ball, Extent::All].map(|extent| Quadrature::Automatic.chosen_for(domain, &extent));
    match near == all {
        true => format!("the integral's rule will be `{near}`"),
        false => format!("the integral's rule will be `{near}` within a radius, `{all}` over all nodes"),
    }
}

/// What samples have in common.
fn shared(samples: &Samples) -> String {
    match samples.domain() {
        Domain::Clouds(clouds) => {
            let (all, different) = (clouds.count(), clouds.distinct().len());
            format!("{all} samples are on {different} sets of points: those on the same points share kernel rows")
        }
        _ => "all samples are at the same places, so they share neighbours and a kernel k(x, y)".into(),
    }
}

fn about(array: &ArrayFacts, count: usize) -> Option<String> {
    let name = &array.name;
    let is_input = array.role == Role::Input;
    let distinct = array.columns.iter().map(|column| column.distinct).collect::<Option<Vec<usize>>>();
    match distinct.as_deref() {
        _ if array.is_constant() && is_input => {
            Some(format!("`{name}` is the same everywhere: a network learns nothing from it"))
        }
        _ if array.is_constant() => Some(format!("`{name}` is the same everywhere: there is nothing to learn")),
        _ if array.is_repeated => {
            let why = if is_input { "it tells them apart by the place only" } else { "inputs make no difference" };
            Some(format!("`{name}` is the same function in all {count} samples: {why}"))
        }
        Some(&[few]) if few <= FEW && is_input => Some(format!(
            "`{name}` has {few} different values: named in kernel_fields it makes at most {} kernel rows per edge, whatever the number of samples",
            few * few
        )),
        _ => None,
    }
}

/// Which symmetries training could use.
fn augment(samples: &Samples) -> String {
    match samples.domain() {
        Domain::Grid(grid) if grid.dim() == 2 && grid.shape()[0] == grid.shape()[1] => {
            let has_vectors = samples.fields().iter().chain(samples.outputs()).any(|field| field.components == 2);
            let turned = if has_vectors { " (fields with two components are turned as vectors)" } else { "" };
            format!(
                "train.augment = \"square\" is possible{turned}: use it if turned and mirrored samples are as likely as these"
            )
        }
        _ => "train.augment stays \"none\": the symmetries of the square need a square grid".into(),
    }
}

fn is_far(array: &ArrayFacts) -> bool {
    array.columns.iter().any(|column| {
        let size = column.low.abs().max(column.high.abs());
        size > 0.0 && (column.mean.abs() > FAR || column.deviation > FAR || size < 1.0 / FAR)
    })
}
