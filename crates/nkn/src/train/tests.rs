//! The trainer on a tiny Poisson problem.

use super::*;
use crate::Device;
use crate::model::{ModelConfig, Parameters};
use crate::problem::poisson::generate;
use crate::seed::Seed;

struct Run {
    records: Vec<Record>,
    results: Vec<DepthResult>,
    parameters: Vec<Parameters>,
}

impl Run {
    fn new(change: impl FnOnce(&mut TrainConfig)) -> Self {
        let train = generate(Seed::new(0), 0, 12, 15).unwrap();
        let test = generate(Seed::new(0), 12, 4, 15).unwrap();
        let model =
            ModelConfig { kernel: vec![8, 8], reaction: vec![4], fields: vec!["f".into()], ..Default::default() };
        let mut config = TrainConfig {
            epochs: PerDepth::Same(40),
            learning_rate: PerDepth::Same(1e-2),
            record_every: 1,
            schedule: ScheduleConfig { kind: ScheduleKind::Constant, ..Default::default() },
            ..Default::default()
        };
        change(&mut config);
        let mut run = Self { records: vec![], results: vec![], parameters: vec![] };
        let mut observer = |event: Event| {
            match event {
                Event::Records(records) => run.records.extend_from_slice(records),
                Event::Finished { result, model } => {
                    run.results.push(result.clone());
                    run.parameters.push(model.parameters.clone());
                }
                _ => {}
            }
            Ok(())
        };
        let mut trainer = Trainer {
            model: &model,
            config: &config,
            train: &train,
            test: Some(&test),
            device: Device::flex(),
            should_stop: &|| false,
            observer: &mut observer,
        };
        let state = trainer.start(None).unwrap();
        assert_eq!(trainer.run(state).unwrap(), Outcome::Complete);
        run
    }

    fn values(&self, metric: &str) -> Vec<f64> {
        self.records.iter().filter(|r| r.metric == metric).map(|r| r.value).collect()
    }
}

#[test]
fn the_best_weights_are_kept() {
    // A rate at which the loss jumps up and down.
    let run = Run::new(|config| config.learning_rate = PerDepth::Same(0.1));
    let best = run.values("loss").into_iter().fold(f64::INFINITY, f64::min);
    assert!(run.results[0].train <= best * (1.0 + 1e-5), "{} {best}", run.results[0].train);
}

#[test]
fn a_plateau_stops_a_depth() {
    // Nothing ever counts as better, so the first epoch is the last improvement.
    let run = Run::new(|config| (config.stop_after, config.stop_tolerance) = (Some(7), 1.0));
    assert_eq!(run.results[0].epochs, 7);
}

#[test]
fn a_plateau_lowers_the_rate() {
    let run = Run::new(|config| {
        config.stop_tolerance = 1.0;
        config.schedule =
            ScheduleConfig { kind: ScheduleKind::Plateau, patience: 10, factor: 0.5, ..Default::default() };
    });
    let rates = run.values("learning_rate");
    assert_eq!((rates[9], rates[10], rates[20], rates[30]), (1e-2, 5e-3, 2.5e-3, 1.25e-3));
}

#[test]
fn mini_batches_learn_and_depend_on_the_seed_alone() {
    let with =
        |seed| Run::new(move |config| (config.batch, config.seed, config.epochs) = (Some(5), seed, PerDepth::Same(40)));
    let run = with(1);
    let losses = run.values("loss");
    assert!(losses[39] < 0.5 * losses[0], "{losses:?}");
    assert!(run.parameters == with(1).parameters);
    assert!(run.parameters != with(2).parameters);
}

#[test]
fn where_a_depth_starts_from() {
    let with = |initialisation| {
        Run::new(move |config| {
            (config.depths, config.initialisation) = (vec![1, 2], initialisation);
            config.epochs = PerDepth::Each(vec![40, 1]);
            config.learning_rate = PerDepth::Each(vec![1e-2, 1e-9]);
        })
    };
    // With a vanishing rate the second depth ends where it started.
    let distance = |run: &Run| {
        let [a, b] = [0, 1].map(|rung: usize| &run.parameters[rung].group("kernel").values);
        a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max)
    };
    assert!(distance(&with(Initialisation::ShallowToDeep)) < 1e-6);
    assert!(distance(&with(Initialisation::Random)) > 1e-2);
}

#[test]
fn clipping_shortens_the_gradient() {
    // The mean of squares has no scale of its own; SOAP and Adam do not see a constant factor, weight decay does.
    let with = |clip| {
        Run::new(move |config| {
            (config.clip, config.epochs) = (clip, PerDepth::Same(3));
            (config.optimiser, config.weight_decay) = (OptimiserKind::Adam, 0.1);
        })
    };
    assert!(with(Some(1e-3)).parameters != with(None).parameters);
    assert!(with(Some(1e9)).parameters == with(None).parameters);
}
