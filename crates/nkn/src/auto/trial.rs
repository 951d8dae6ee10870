//! What must be tried: the time of a step, and short trainings of what may be better.

use super::ladder::{Price, Rung, climb};
use crate::device::Device;
use crate::field::Samples;
use crate::model::ModelConfig;
use crate::task::FunctionTask;
use crate::train::{Event, Outcome, TrainConfig, Trainer};
use crate::{Error, Result};

/// Steps of a measurement, so that what is done every tenth step is in it.
const STEPS: usize = 11;
/// What a measurement may take, as a share of the time.
const SHARE: f64 = 0.01;

/// Steps of an epoch.
pub(super) fn steps_per_epoch(samples: &Samples, train: &TrainConfig) -> usize {
    let learned = samples.count() - train.validation;
    learned.div_ceil(train.batch.unwrap_or(learned).min(learned))
}

/// The seconds of a step at one depth; `budget` is all the time there is.
fn seconds(
    model: &ModelConfig,
    train: &TrainConfig,
    samples: &Samples,
    depth: usize,
    budget: f64,
    device: Device,
) -> Result<f64> {
    let measure = |count: usize| -> Result<Vec<f64>> {
        let task = FunctionTask::new(model, train, samples, None, device)?;
        let mut trainer =
            Trainer { task: Box::new(task), config: train, should_stop: &|| false, observer: &mut |_| Ok(()) };
        Ok(trainer.time_steps(depth, count)?.0)
    };
    // The first step of a process finds nothing prepared; of two others the slower one was disturbed.
    let first = measure(3)?;
    let rough = first[1].min(first[2]);
    if rough * STEPS as f64 > SHARE * budget {
        return Ok(rough);
    }
    let steps = measure(STEPS + 1)?;
    Ok(steps[1..].iter().sum::<f64>() / STEPS as f64)
}

/// What a step costs at all depths.
pub(super) fn price(
    model: &ModelConfig,
    train: &TrainConfig,
    samples: &Samples,
    deepest: usize,
    budget: f64,
    device: Device,
) -> Result<Price> {
    let at = |depth: usize| Ok::<_, Error>((depth, seconds(model, train, samples, depth, budget, device)?));
    let deep = deepest.min(8);
    if deep == 1 {
        let (_, step) = at(1)?;
        return Ok(Price { step, layer: 0.0 });
    }
    Ok(Price::between(at(1)?, at(deep)?))
}

/// What came of a short training.
pub(super) struct Trial {
    /// The lowest validation error.
    pub error: f64,
    /// Steps that it took.
    pub steps: usize,
}

/// Trains for about so many seconds at one depth, without a folder. A training that fails has an infinite error.
pub(super) fn trial(
    model: &ModelConfig,
    train: &TrainConfig,
    samples: &Samples,
    (rung, rates): (Rung, (f64, usize, f64)),
    device: Device,
    should_stop: &dyn Fn() -> bool,
) -> Result<Trial> {
    let mut config = train.clone();
    climb(&mut config, 0, &[rung], steps_per_epoch(samples, train), rates);
    let task = FunctionTask::new(model, &config, samples, None, device)?;
    let mut error = f64::INFINITY;
    let mut observer = |event: Event| {
        if let Event::Finished { result, .. } = event {
            error = result.get("validation", "relative_l2").unwrap_or(f64::INFINITY);
        }
        Ok(())
    };
    let mut trainer = Trainer { task: Box::new(task), config: &config, should_stop, observer: &mut observer };
    let mut state = trainer.start(None)?;
    let outcome = trainer.run(&mut state);
    drop(trainer);
    match outcome {
        Ok(Outcome::Interrupted) => return Err(Error::Stopped),
        Ok(Outcome::Complete) | Err(Error::NotFinite { .. }) => {}
        Err(other) => return Err(other),
    }
    Ok(Trial { error, steps: rung.steps })
}
