//! Predictions beside the truth: the samples that a report shows, and the errors of all.

use super::samples::{Comparison, Output};
use super::spread::Spread;
use anyhow::Result;
use nkn::domain::Domain;
use nkn::field::{Columns, Field, Samples};
use nkn::model::Model;

/// The number of inputs that are shown.
const INPUTS: usize = 3;

/// The numbers of the best, the median and the worst of the samples that have an error, with these names.
fn picks(errors: &[Option<f64>]) -> Vec<(usize, &'static str)> {
    let mut order: Vec<(f64, usize)> =
        errors.iter().enumerate().filter_map(|(k, error)| Some(((*error)?, k))).collect();
    order.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let last = order.len().saturating_sub(1);
    let places = [(0, "best"), (order.len() / 2, "median"), (last, "worst")];
    let mut picks: Vec<_> = places.into_iter().filter_map(|(place, rank)| Some((order.get(place)?.1, rank))).collect();
    picks.dedup_by_key(|pick| pick.0);
    picks
}

/// The best, the median and the worst sample of a set, in other sets too, and how the errors of all are spread.
pub fn samples(
    model: &Model,
    (split, set): (&'static str, &Samples),
    others: &[Samples],
) -> Result<(Vec<Comparison>, Vec<Spread>)> {
    let prediction = model.predict(set)?;
    let columns = Columns::of(set, &model.config().output_names())?;
    let picks = picks(&columns.of_samples(&prediction));
    let numbers: Vec<usize> = picks.iter().map(|pick| pick.0).collect();
    let mut shown = Vec::new();
    for set in std::iter::once(set).chain(others).filter(|_| !picks.is_empty()) {
        for (comparison, (_, rank)) in comparisons(model, set, &numbers)?.into_iter().zip(&picks) {
            shown.push(Comparison { split, rank, ..comparison });
        }
    }
    shown.sort_by_key(|comparison| numbers.iter().position(|&number| number == comparison.index));
    Ok((shown, spreads(split, &columns, &prediction)))
}

/// The errors in all, and those of each of several outputs.
fn spreads(split: &'static str, columns: &Columns, prediction: &[f64]) -> Vec<Spread> {
    let outputs: Vec<_> = columns.outputs().collect();
    let own = outputs.iter().map(|(name, which)| Spread {
        split,
        name: (*name).to_owned(),
        errors: columns.errors_in(prediction, which.clone()),
    });
    let all = Spread { split, name: String::new(), errors: columns.errors(prediction) };
    let all = (outputs.len() > 1).then_some(all);
    all.into_iter().chain(own).collect()
}

/// Some samples of a test set beside the model's predictions.
pub fn comparisons(model: &Model, set: &Samples, picks: &[usize]) -> Result<Vec<Comparison>> {
    let samples = set.select(picks);
    let prediction = model.predict(&samples)?;
    let names = model.config().output_names();
    let columns = Columns::of(&samples, &names)?;
    let (errors, width) = (columns.of_samples(&prediction), columns.count());
    let truths = samples.outputs_named(&names)?;
    let inputs: Vec<&Field> =
        model.config().fields.iter().take(INPUTS).map(|name| samples.field(name)).collect::<nkn::Result<_>>()?;
    let spans = samples.spans();
    let comparison = |(place, &index): (usize, &usize)| {
        let nodes = spans[place].clone();
        let own = |field: &Field| Field {
            name: field.name.clone(),
            components: field.components,
            values: field.values[nodes.start * field.components..nodes.end * field.components].to_vec(),
        };
        let output = |(truth, (_, which)): (&&Field, (_, std::ops::Range<usize>))| {
            let at = |node: usize| prediction[node * width..][which.clone()].iter().copied();
            Output::new(own(truth), nodes.clone().flat_map(at).collect())
        };
        let domain = match samples.domain() {
            Domain::Clouds(clouds) => clouds.cloud(place).clone().into(),
            domain => domain.clone(),
        };
        Comparison {
            split: "Test",
            index,
            rank: "",
            domain,
            inputs: inputs.iter().map(|field| own(field)).collect(),
            outputs: truths.iter().zip(columns.outputs()).map(output).collect(),
            relative_l2: errors[place].unwrap_or(f64::NAN),
        }
    };
    Ok(picks.iter().enumerate().map(comparison).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_the_median_and_the_worst_are_picked() {
        let picks = |errors: &[f64]| picks(&errors.iter().copied().map(Some).collect::<Vec<_>>());
        assert_eq!(picks(&[0.3, 0.1, 0.2, 0.5, 0.4]), [(1, "best"), (0, "median"), (3, "worst")]);
        assert_eq!(picks(&[0.3, f64::NAN, 0.1]).last(), Some(&(1, "worst")), "what is not a number is worst");
        assert_eq!((picks(&[0.3]), picks(&[])), (vec![(0, "best")], vec![]));
        assert_eq!(super::picks(&[None, Some(0.2), None]), [(1, "best")], "a sample without a truth has no error");
    }
}
