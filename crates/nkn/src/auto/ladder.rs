//! How many steps at which depth, so that the time lasts.

use crate::train::{PerDepth, TrainConfig};
use serde::{Deserialize, Serialize};

/// The depths of a ladder, and how many steps each gets relative to the first: a deeper network starts from the
/// shallower one's weights but has more to gain.
const RUNGS: [(usize, f64); 5] = [(1, 1.0), (2, 1.0), (4, 1.5), (8, 2.0), (16, 3.5)];
/// The longest warm-up, in epochs.
const WARM_UP: usize = 20;

/// What a step costs: so many seconds, and so many more for each layer.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Price {
    pub step: f64,
    pub layer: f64,
}

impl Price {
    /// From the seconds of a step at two depths.
    pub fn between((shallow, first): (usize, f64), (deep, second): (usize, f64)) -> Self {
        let layer = ((second - first) / (deep - shallow).max(1) as f64).max(0.0);
        Self { step: (first - layer * shallow as f64).max(0.0), layer }
    }

    /// Seconds of a step at a depth.
    pub fn at(&self, depth: usize) -> f64 {
        (self.step + self.layer * depth as f64).max(1e-6)
    }

    /// The same on a machine that is so many times slower.
    pub fn times(&self, factor: f64) -> Self {
        Self { step: self.step * factor, layer: self.layer * factor }
    }
}

/// A depth and its steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Rung {
    pub depth: usize,
    pub steps: usize,
}

/// The ladder from `above` (0: from the start) to at most `deepest` that fills the time: the longest in which every depth
/// gets at least `least` steps, times its share.
pub(super) fn ladder(price: Price, seconds: f64, above: usize, (deepest, least): (usize, usize)) -> Vec<Rung> {
    let possible: Vec<(usize, f64)> =
        RUNGS.into_iter().filter(|&(depth, _)| depth > above && depth <= deepest).collect();
    let unit =
        |rungs: &[(usize, f64)]| seconds / rungs.iter().map(|&(depth, share)| share * price.at(depth)).sum::<f64>();
    let longest = (1..=possible.len()).rev().find(|&length| unit(&possible[..length]) >= least as f64);
    // The first depth is trained in any case, a further one only if it pays.
    let length = longest.unwrap_or(usize::from(above == 0));
    let chosen = &possible[..length.min(possible.len())];
    let unit = unit(chosen);
    chosen.iter().map(|&(depth, share)| Rung { depth, steps: ((unit * share) as usize).max(1) }).collect()
}

/// A single depth that fills the time, for networks that cannot be deepened.
pub(super) fn single(price: Price, seconds: f64, depth: usize) -> Vec<Rung> {
    vec![Rung { depth, steps: ((seconds / price.at(depth)) as usize).max(1) }]
}

/// Puts a ladder into a training, after the first `kept` depths that it has.
pub(super) fn climb(
    train: &mut TrainConfig,
    kept: usize,
    rungs: &[Rung],
    steps_per_epoch: usize,
    rates: (f64, usize, f64),
) {
    let mut epochs: Vec<usize> = (0..kept).map(|rung| train.epochs.at(rung)).collect();
    let mut learning: Vec<f64> = (0..kept).map(|rung| train.learning_rate.at(rung)).collect();
    train.depths.truncate(kept);
    for rung in rungs {
        train.depths.push(rung.depth);
        epochs.push(rung.steps.div_ceil(steps_per_epoch));
        learning.push(if rung.depth < rates.1 { rates.0 } else { rates.2 });
    }
    if kept == 0 {
        let shortest = epochs.iter().min().copied().unwrap_or(1);
        train.schedule.warm_up = (shortest / 10).min(WARM_UP);
    }
    (train.epochs, train.learning_rate) = (PerDepth::Each(epochs), PerDepth::Each(learning));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(rungs: &[Rung], price: Price) -> f64 {
        rungs.iter().map(|rung| rung.steps as f64 * price.at(rung.depth)).sum()
    }

    fn depths(rungs: &[Rung]) -> Vec<usize> {
        rungs.iter().map(|rung| rung.depth).collect()
    }

    #[test]
    fn the_time_is_filled_and_bounds_the_depth() {
        let price = Price::between((1, 0.11), (8, 0.18));
        assert!((price.at(4) - 0.14).abs() < 1e-12);
        for (time, expected) in [(600.0, vec![1, 2, 4, 8, 16]), (60.0, vec![1, 2, 4]), (10.0, vec![1]), (0.01, vec![1])]
        {
            let rungs = ladder(price, time, 0, (16, 80));
            assert_eq!(depths(&rungs), expected, "{time} s");
            assert!(seconds(&rungs, price) <= time.max(price.at(1)));
            assert!(time < 1.0 || seconds(&rungs, price) > 0.9 * time, "{time} s");
        }
        assert_eq!(depths(&ladder(price, 600.0, 0, (4, 80))), [1, 2, 4]);
    }

    #[test]
    fn what_is_left_goes_to_deeper_networks_or_to_none() {
        let price = Price { step: 0.1, layer: 0.01 };
        assert_eq!(depths(&ladder(price, 100.0, 2, (16, 80))), [4, 8]);
        assert!(ladder(price, 1.0, 2, (16, 80)).is_empty());
        assert!(ladder(price, 1e6, 16, (16, 80)).is_empty());
        assert_eq!(single(price, 14.01, 4), [Rung { depth: 4, steps: 100 }]);
    }

    #[test]
    fn a_ladder_is_a_training() {
        let mut train = TrainConfig::default();
        let rungs = [Rung { depth: 1, steps: 300 }, Rung { depth: 8, steps: 401 }];
        climb(&mut train, 0, &rungs, 4, (3e-3, 8, 2e-3));
        assert_eq!((train.depths.as_slice(), train.epochs.at(1)), ([1, 8].as_slice(), 101));
        assert_eq!((train.learning_rate.at(0), train.learning_rate.at(1), train.schedule.warm_up), (3e-3, 2e-3, 7));
        climb(&mut train, 1, &[Rung { depth: 2, steps: 8 }], 4, (3e-3, 8, 2e-3));
        assert_eq!((train.depths.as_slice(), train.epochs.at(0), train.epochs.at(1)), ([1, 2].as_slice(), 75, 2));
        assert_eq!(train.schedule.warm_up, 7);
        train.check().unwrap();
    }
}
