//! The trainer on a tiny Poisson problem and on tiny images: the ladder, the best weights, schedules, stops, checkpoints.

use crate::Device;
use crate::analysis::{Certificate, Elliptic};
use crate::field::{Images, Samples};
use crate::model::{Block, Guarantee, Kind, ModelConfig, Parameters, Space};
use crate::problem::poisson::generate;
use crate::seed::Seed;
use crate::task::{ClassTask, FunctionTask, ImageSplits, TestSet};
use crate::train::{
    DepthResult, Event, Initialisation, Keep, OptimiserKind, Outcome, PerDepth, Record, ScheduleConfig, ScheduleKind,
    Setup, State, Task, TrainConfig, Trainer,
};
use std::cell::Cell;

struct Run {
    records: Vec<Record>,
    results: Vec<DepthResult>,
    parameters: Vec<Parameters>,
}

fn samples(first: usize, count: usize) -> Samples {
    generate(Seed::new(0), first, count, 15).unwrap()
}

fn network() -> ModelConfig {
    ModelConfig { kernel: vec![8, 8], reaction: vec![4], fields: vec!["f".into()], ..Default::default() }
}

fn settings() -> TrainConfig {
    TrainConfig {
        epochs: PerDepth::Same(40),
        learning_rate: PerDepth::Same(1e-2),
        record_every: 1,
        schedule: ScheduleConfig { kind: ScheduleKind::Constant, ..Default::default() },
        ..Default::default()
    }
}

impl Run {
    fn new(change: impl FnOnce(&mut TrainConfig)) -> Self {
        let (train, test) = (samples(0, 12), samples(12, 4));
        let model = network();
        let mut config = settings();
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
        let task = FunctionTask::new(&model, &config, &train, Some(&test), Device::Cpu).unwrap();
        let mut trainer =
            Trainer { task: Box::new(task), config: &config, should_stop: &|| false, observer: &mut observer };
        let mut state = trainer.start(None).unwrap();
        assert_eq!(trainer.run(&mut state).unwrap(), Outcome::Complete);
        drop(trainer);
        run
    }

    fn values(&self, metric: &str) -> Vec<f64> {
        self.records.iter().filter(|r| r.measure.metric == metric).map(|r| r.measure.value).collect()
    }
}

#[test]
fn the_best_weights_are_kept() {
    // A rate at which the loss jumps up and down.
    let run = Run::new(|config| config.learning_rate = PerDepth::Same(0.1));
    let best = run.values("loss").into_iter().fold(f64::INFINITY, f64::min);
    let error = run.results[0].get("train", "relative_l2").unwrap();
    assert!(error <= best * (1.0 + 1e-5), "{error} {best}");
}

#[test]
fn a_plateau_stops_a_depth() {
    // Nothing ever counts as better, so the first epoch is the last improvement.
    let run = Run::new(|config| (config.stop_after, config.stop_tolerance) = (Some(7), 1.0));
    assert_eq!(run.results[0].epochs, 7);
}

/// An error that is taken every ten epochs cannot have stalled in between, nor before it was taken at all.
#[test]
fn a_plateau_of_the_validation_is_seen_where_it_is_taken() {
    let run = Run::new(|config| {
        (config.stop_after, config.stop_tolerance) = (Some(3), 1.0);
        (config.keep, config.validation, config.evaluate_every) = (Keep::Validation, 4, 10);
    });
    // With a tolerance of 1 nothing is better than the start.
    assert_eq!(run.results[0].epochs, 10);
    let run = Run::new(|config| {
        config.stop_after = Some(3);
        (config.keep, config.validation, config.evaluate_every) = (Keep::Validation, 4, 10);
    });
    assert!(run.results[0].epochs >= 20 && run.results[0].epochs.is_multiple_of(10), "{}", run.results[0].epochs);
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

/// Trains, stopped before each of these steps, written to a file, read back and continued.
fn trained<T: Task>(task: impl Fn() -> T, config: &TrainConfig, stops: &[usize]) -> State {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state.safetensors");
    let steps = Cell::new(0);
    let mut state = None;
    for stop in stops.iter().copied().chain([usize::MAX]) {
        let should_stop = || {
            steps.set(steps.get() + 1);
            steps.get() > stop
        };
        let mut nothing = |_: Event| Ok(());
        let mut trainer = Trainer { task: Box::new(task()), config, should_stop: &should_stop, observer: &mut nothing };
        let mut current: State = match state.take() {
            None => trainer.start(None).unwrap(),
            Some(state) => state,
        };
        let outcome = trainer.run(&mut current).unwrap();
        assert_eq!(outcome == Outcome::Interrupted, stop != usize::MAX);
        let Setup { model, space, .. } = trainer.task.setup();
        current.write(&path, model, config, space).unwrap();
        state = Some(State::read(&path, model, config).unwrap());
        assert_eq!(state.as_ref(), Some(&current));
        // The step that was refused is asked for again.
        steps.set(steps.get().saturating_sub(1));
    }
    State { seconds: 0.0, results: Vec::new(), ..state.unwrap() }
}

/// Stopped in the middle of epochs, at their ends and between two depths.
#[test]
fn an_interrupted_training_continues_to_the_bit() {
    let (train, test) = (samples(0, 12), samples(12, 4));
    let model = network();
    for optimiser in [OptimiserKind::Adam, OptimiserKind::Soap] {
        let config = TrainConfig {
            depths: vec![1, 2],
            epochs: PerDepth::Same(3),
            batch: Some(5),
            optimiser,
            basis_every: 2,
            ..settings()
        };
        let task = || FunctionTask::new(&model, &config, &train, Some(&test), Device::Cpu).unwrap();
        let unbroken = trained(task, &config, &[]);
        for stops in [vec![1], vec![3], vec![4, 5, 9], vec![2, 11]] {
            assert!(trained(task, &config, &stops) == unbroken, "{optimiser:?}, stopped at {stops:?}");
        }
    }
}

/// Stopped before the mean of the last steps begins, within it, and at the next depth.
#[test]
fn so_does_one_that_averages_its_weights() {
    let (train, test) = (samples(0, 12), samples(12, 4));
    let model = network();
    let config =
        TrainConfig { depths: vec![1, 2], epochs: PerDepth::Same(3), batch: Some(5), average: Some(0.5), ..settings() };
    let task = || FunctionTask::new(&model, &config, &train, Some(&test), Device::Cpu).unwrap();
    let unbroken = trained(task, &config, &[]);
    assert_eq!((unbroken.averaged, &unbroken.best), (5, &unbroken.mean));
    for stops in [vec![2], vec![6], vec![7, 8, 9, 17]] {
        assert!(trained(task, &config, &stops) == unbroken, "stopped at {stops:?}");
    }
    let without = TrainConfig { average: None, ..config.clone() };
    let task = || FunctionTask::new(&model, &without, &train, Some(&test), Device::Cpu).unwrap();
    assert!(trained(task, &without, &[]).best != unbroken.best);
}

/// At every depth no state can grow, on any training sample; stopped and continued too. Without the promise it could.
#[test]
fn a_certified_training_keeps_its_promise() {
    let stability = Guarantee::Dissipative;
    let matrices = ModelConfig { width: 3, time: 5.0, kernel_fields: vec!["f".into()], stability, ..network() };
    keeps_its_promise(&matrices);
    // With one feature the kernel is free, and nodes exchange something too.
    keeps_its_promise(&ModelConfig { width: 1, time: 100.0, kernel_fields: Vec::new(), ..matrices });
}

fn keeps_its_promise(model: &ModelConfig) {
    let train = samples(0, 6);
    let free =
        TrainConfig { depths: vec![1, 2], epochs: PerDepth::Same(3), batch: Some(4), average: Some(0.5), ..settings() };
    let certified = TrainConfig { certified: true, ..free.clone() };
    let needed = |config: &TrainConfig, stops: &[usize]| {
        let task = || FunctionTask::new(model, config, &train, None, Device::Cpu).unwrap();
        let state = trained(task, config, stops);
        let network = task().setup().network(2, state.best.clone(), Default::default());
        let depth = |sample: usize| {
            let operator = Elliptic::new(&network, &train.select(&[sample])).unwrap();
            Certificate::of(&operator).unwrap().unwrap().depth(model.time)
        };
        ((0..6).map(depth).max().unwrap(), state)
    };
    let (depth, unbroken) = needed(&certified, &[]);
    assert!(depth <= 2, "proven from depth {depth} on alone");
    assert!(unbroken.results.iter().all(|result| result.constrained > 0), "{:?}", unbroken.results);
    for stops in [[1, 3], [2, 9]] {
        assert!(needed(&certified, &stops).1 == unbroken, "stopped at {stops:?}");
    }
    assert!(needed(&free, &[]).0 > 2);

    let refused = |model: &ModelConfig| {
        FunctionTask::new(model, &certified, &train, None, Device::Cpu).err().unwrap().to_string()
    };
    let message = refused(&network());
    assert!(message.contains("train.certified") && message.contains("stability"), "{message}");
    // The least reaction of one feature does not shrink.
    let message = refused(&ModelConfig { width: 1, time: 200.0, ..model.clone() });
    assert!(message.contains("model.time") && message.contains("below 200.0"), "{message}");
}

/// With one feature the outputs begin as a multiple of what the projection makes of the initial state, with their sign, in
/// any units.
#[test]
fn dissipative_networks_of_one_feature_begin_with_the_right_size() {
    let model = ModelConfig { width: 1, stability: Guarantee::Dissipative, ..network() };
    let train = samples(0, 6);
    let (f, u) = (train.field("f").unwrap().values.clone(), train.output_values().unwrap().to_vec());
    let size = |values: &[f64]| (values.iter().map(|v| v * v).sum::<f64>() / values.len() as f64).sqrt();
    // u follows f: -u'' = f.
    for (seed, units) in (0..8).zip([1.0, -1.0, 1e-3, -1e-3, 1e3, -1e3, 7.0, -7.0]) {
        let own = Samples::on(train.domain().clone())
            .input("f", f.clone())
            .and_then(|samples| samples.output("u", u.iter().map(|u| units * u).collect::<Vec<_>>()))
            .unwrap();
        let config = TrainConfig { seed, ..settings() };
        let task = FunctionTask::new(&model, &config, &own, None, Device::Cpu).unwrap();
        let parameters = task.random(0, 1).unwrap();
        let [.., lift, bias] = parameters.group("lift").values[..] else { panic!("x, f and a bias") };
        let project = parameters.group("project").values[0];
        let expected = 10.0 * units * size(&u) / size(&f);
        let product = f64::from(lift) * f64::from(project);
        assert!((product / expected - 1.0).abs() < 1e-5, "seed {seed}: {product}, not {expected}");
        assert!((lift.abs() / project.abs() - 1.0).abs() < 1e-5 && bias == 0.0, "seed {seed}: {lift} and {project}");
        // The reaction takes away h in one layer, at every node alike.
        let [.., a, b, c, d, root] = parameters.group("reaction").values[..] else { panic!("a last layer of 4") };
        assert!([a, b, c, d] == [0.0; 4] && (root * root + 0.01 - 1.0).abs() < 1e-6, "seed {seed}: {root}");
    }
}

fn images(count: usize) -> Images {
    let pixels = (0..count * 3 * 64).map(|i| ((i * 2_654_435_761) >> 7) as u8).collect();
    Images::new(8, 3, pixels, (0..count).map(|i| (i % 10) as u8).collect()).unwrap()
}

/// Networks with and without batch normalisation, dropout, moved images, two threads' worth of steps.
#[test]
fn so_does_one_on_images() {
    let tests = vec![TestSet { name: "test", images: images(4) }];
    let splits =
        ImageSplits { train: images(11), tests, side: 8, tested_at: vec![8, 16], resampling: Default::default() };
    let config = TrainConfig {
        epochs: PerDepth::Same(2),
        batch: Some(4),
        flip: true,
        shift: 2,
        subpixel: true,
        average: Some(0.5),
        ..TrainConfig::images()
    };
    let small =
        ModelConfig { width: 2, kernel: vec![3], reaction: vec![3], reference: 4, head: 5, ..ModelConfig::images() };
    let models = [
        ModelConfig { dropout: 0.3, ..small.clone() },
        ModelConfig { kind: Kind::MultiscaleCnn, ..small.clone() },
        ModelConfig { kind: Kind::Preresnet, block: Block::Nkn, ..small },
    ];
    for model in models {
        let task = || ClassTask::new(&model, &config, &splits, Device::Cpu).unwrap();
        let unbroken = trained(task, &config, &[]);
        assert!(trained(task, &config, &[1, 3, 4]) == unbroken, "{}", model.kind);
        assert_eq!(unbroken.averages.is_empty(), model.kind != Kind::Preresnet);
    }
}

/// A ladder on images: the weights of one depth go on at the next where layers share them, and are drawn anew where not.
#[test]
fn a_ladder_on_images() {
    let splits = ImageSplits {
        train: images(6),
        tests: Vec::new(),
        side: 8,
        tested_at: Vec::new(),
        resampling: Default::default(),
    };
    let config = TrainConfig {
        depths: vec![1, 2],
        epochs: PerDepth::Same(1),
        learning_rate: PerDepth::Each(vec![1e-3, 1e-12]),
        ..TrainConfig::images()
    };
    for (kind, goes_on) in [(Kind::Nkn, true), (Kind::Cnn, false)] {
        let model =
            ModelConfig { kind, width: 2, kernel: vec![3], reaction: vec![3], head: 5, ..ModelConfig::images() };
        let mut heads = Vec::new();
        let mut observer = |event: Event| {
            if let Event::Finished { model, .. } = event {
                heads.push(model.parameters.group("head").values.clone());
            }
            Ok(())
        };
        let task = ClassTask::new(&model, &config, &splits, Device::Cpu).unwrap();
        let mut trainer =
            Trainer { task: Box::new(task), config: &config, should_stop: &|| false, observer: &mut observer };
        let mut state = trainer.start(None).unwrap();
        trainer.run(&mut state).unwrap();
        drop(trainer);
        let apart = heads[0].iter().zip(&heads[1]).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
        assert_eq!(apart < 1e-6, goes_on, "{kind}: {apart}");
    }
}

#[test]
fn wrong_trainings_are_refused_before_they_begin() {
    let train = samples(0, 3);
    let model = network();
    let message = |model: &ModelConfig, config: &TrainConfig| {
        let task = FunctionTask::new(model, config, &train, None, Device::Cpu);
        task.err().map_or(String::new(), |error| error.to_string())
    };
    assert!(message(&model, &TrainConfig { depths: vec![], ..settings() }).contains("train.depths"));
    assert!(message(&ModelConfig { fields: vec![], ..network() }, &settings()).contains("model.fields"));
    assert!(message(&ModelConfig { fields: vec!["g".into()], ..network() }, &settings()).contains("\"g\""));
    assert!(
        message(&model, &TrainConfig { loss: crate::train::LossKind::CrossEntropy, ..settings() }).contains("loss")
    );
    let config = settings();
    let task = FunctionTask::new(&model, &config, &train, None, Device::Cpu).unwrap();
    let mut nothing = |_: Event| Ok(());
    let trainer = Trainer { task: Box::new(task), config: &config, should_stop: &|| false, observer: &mut nothing };
    let other = ModelConfig { kernel: vec![9, 8], ..network() };
    let foreign = Parameters::init(&other, &Space::Functions { dim: 1 }, 1, Seed::new(0)).unwrap();
    let message = trainer.start(Some(foreign)).unwrap_err().to_string();
    assert!(message.contains("initial weights"), "{message}");
}
