//! What the trainings on functions have in common: a ladder of depths with settings for each.

use super::super::names::RANDOM;
use super::super::row::Data;
use super::{Budget, Job, Request};
use anyhow::Result;
use nkn::field::NormaliserKind;
use nkn::model::{Kind, ModelConfig};
use nkn::run::RunConfig;
use nkn::train::{Initialisation, OptimiserKind, PerDepth};

/// Depths of the paper's ladder for which settings are given.
const LADDER: [usize; 7] = [1, 2, 4, 8, 16, 32, 64];

/// The setting of the paper's depth that is nearest from below.
fn at<T: Copy>(depth: usize, values: &[T; 7]) -> T {
    values[LADDER.iter().rposition(|&rung| rung <= depth).unwrap_or(0)]
}

/// The configuration of a ladder, from that of NKN on the same data, the FNO's model, and epochs and learning rates of the paper's
/// seven depths.
pub fn ladder(
    mut config: RunConfig,
    fno: ModelConfig,
    (epochs, rates): ([usize; 7], [f64; 7]),
    job: &Job,
    request: &Request,
) -> Result<RunConfig> {
    config.data.folder = request.out().join("data");
    let is_fno = job.model == "fno";
    match job.model.as_str() {
        "gkn" | "gkn-small" => {
            config.model.kind = Kind::Gkn;
            // Without it most of the deeper ladders end in numbers that are not finite.
            config.train.clip = Some(1.0);
        }
        "fno" => {
            config.model = fno;
            config.train.optimiser = OptimiserKind::Adamw;
            config.train.betas = [0.9, 0.999];
            config.train.batch = Some(20);
            config.train.weight_decay = 1e-2;
            config.train.vectors.clear();
        }
        _ => {}
    }
    let (input, output) = match (job.data, config.model.normalise_output) {
        (Some(Data::Original), _) => (NormaliserKind::None, NormaliserKind::None),
        _ if is_fno => (NormaliserKind::Pointwise, NormaliserKind::Pointwise),
        (_, NormaliserKind::None) => (NormaliserKind::Scalar, NormaliserKind::Scalar),
        (_, chosen) => (NormaliserKind::Scalar, chosen),
    };
    config.model.normalise_input = input;
    config.model.normalise_output = output;
    let epochs = request.epochs.map_or(epochs, |epochs| [epochs; 7]);
    let train = &mut config.train;
    train.depths = job.depths.clone();
    train.initialisation =
        if job.model.ends_with(RANDOM) { Initialisation::Random } else { Initialisation::ShallowToDeep };
    train.epochs = PerDepth::Each(job.depths.iter().map(|&depth| at(depth, &epochs)).collect());
    train.learning_rate = PerDepth::Each(job.depths.iter().map(|&depth| at(depth, &rates)).collect());
    let shortest = epochs.into_iter().min().unwrap_or(1);
    train.schedule.warm_up = train.schedule.warm_up.min(shortest / 5);
    if request.budget == Budget::Quick || is_fno {
        train.record_every = (shortest / 100).max(1);
        train.evaluate_every = (shortest / 5).max(1);
    }
    train.seed = job.seed;
    config.model.check()?;
    config.train.check()?;
    Ok(config)
}

/// What is said of both examples.
pub const NOTES: [&str; 3] = [
    "Means over the seeds ± their standard error; the weights are those with the lowest training error. The data are the \
     same for all seeds.",
    "Settings differ from the paper's where trials showed a lower error per minute: SOAP instead of Adam for NKN and GKN, \
     cosine decay, fewer epochs. Every training is an ordinary run: its folder has the configuration.",
    "FNO starts from random weights at every depth (each layer has its own), uses ReLU, and keeps frequencies strictly below \
     half the number of nodes of its training grid.",
];

#[cfg(test)]
mod tests {
    #[test]
    fn a_depth_between_two_of_the_paper_takes_the_lower_ones_settings() {
        assert_eq!(super::at(3, &[1, 2, 3, 4, 5, 6, 7]), 2);
        assert_eq!(super::at(100, &[1, 2, 3, 4, 5, 6, 7]), 7);
    }
}
