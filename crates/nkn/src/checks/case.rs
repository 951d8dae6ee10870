//! Small networks with everything in them, and what is asked of them: derivatives against central differences, fused
//! operations against plain ones.

use crate::domain::{Clouds, Grid, PointCloud, Quadrature};
use crate::engine::Engine;
use crate::field::{Field, NormaliserKind, Samples, Values};
use crate::model::batch::{KernelLayers, Layers, lift_inputs};
use crate::model::function::forward;
use crate::model::parameters::{Group, ParameterTensors};
use crate::model::{Batch, BatchOptions, Kind, ModelConfig, Normalisers, Parameters, Space};
use crate::operator::Order;
use crate::seed::{Seed, uniform};
use crate::task::{Outputs, loss};
use crate::train::LossKind;
use burn::tensor::{DType, Device, Tensor, TensorData};
use std::sync::Arc;

/// A small network on a small grid with everything in it.
pub(super) struct Case {
    pub(super) config: ModelConfig,
    pub(super) samples: Samples,
    pub(super) normalisers: Normalisers,
    pub(super) depth: usize,
    pub(super) order: Option<Order>,
}

pub(super) fn numbers(count: usize, seed: Seed) -> Vec<f64> {
    let mut rng = seed.rng();
    (0..count).map(|_| uniform(&mut rng, -1.0, 1.0)).collect()
}

impl Case {
    /// `sees` decides whether the kernel sees b (a table with an index per sample and edge) or not (one A for the batch).
    pub(super) fn new(kind: Kind, sees: bool, quadrature: Quadrature, depth: usize) -> Self {
        let radius = (quadrature != Quadrature::Trapezoid).then_some(0.6);
        let config = ModelConfig {
            kind,
            width: 3,
            kernel: vec![6, 5],
            reaction: vec![4],
            fields: vec!["a".into(), "b".into()],
            kernel_fields: if sees { vec!["b".into()] } else { vec![] },
            radius,
            quadrature: if quadrature == Quadrature::Stencil { Quadrature::Overlap } else { quadrature },
            normalise_input: NormaliserKind::Scalar,
            normalise_output: NormaliserKind::Pointwise,
            ..ModelConfig::default()
        };
        let shape: &[usize] = if quadrature == Quadrature::Trapezoid { &[3, 3] } else { &[5, 5] };
        let samples = samples(shape, 3);
        let mut normalisers = Normalisers::fit(&config, &samples).unwrap();
        if quadrature == Quadrature::Stencil {
            // Trained on a grid of half the resolution.
            normalisers = Normalisers::fit(&config, &self::samples(&[3, 3], 3)).unwrap();
        }
        Self { config, samples, normalisers, depth, order: None }
    }

    pub(super) fn batch(&self, quadrature: Quadrature, training: bool, dtype: DType) -> Batch {
        let device = if training { Device::flex().autodiff() } else { Device::flex() };
        let options =
            BatchOptions { dtype, training, quadrature: Some(quadrature), ..BatchOptions::new(self.depth, &device) };
        let mut batch = Batch::new(&self.config, &self.normalisers, &self.samples, &options).unwrap();
        if let Some(order) = self.order {
            let kernel = kernel_mut(&mut batch).unwrap();
            kernel.plan = Arc::new((*kernel.plan).clone().with_order(order));
        }
        batch
    }

    pub(super) fn parameters(&self) -> Vec<(String, Vec<f64>)> {
        let space = Space::Functions { dim: self.samples.domain().dim() };
        let drawn = Parameters::init(&self.config, &space, self.depth, Seed::new(5)).unwrap();
        let values = |group: &Group| {
            // The source starts at zero; here it takes part. GKN's R is moved to the identity, so that eight layers do not
            // shrink the derivatives of the lift to the rounding errors of a difference quotient.
            let noise = numbers(group.values.len(), Seed::new(6).derive(&group.name, 0));
            let shift = |i: usize, n: f64| match group.name.as_str() {
                "source" => 0.3 * n,
                "root" => f64::from(i.is_multiple_of(4)),
                name if name.starts_with("spectral") => n,
                _ => 0.0,
            };
            let values = group.values.iter().zip(noise).enumerate();
            values.map(|(i, (&v, n))| v as f64 + shift(i, n)).collect()
        };
        drawn.groups.iter().map(|group| (group.name.clone(), values(group))).collect()
    }
}

pub(super) fn samples(shape: &[usize], count: usize) -> Samples {
    let nodes: usize = shape.iter().product();
    let b = numbers(count * nodes, Seed::new(1)).into_iter().map(|v| if v > 0.0 { 12.0 } else { 3.0 }).collect();
    let inputs = [("a", numbers(count * nodes, Seed::new(2))), ("b", b)];
    let samples = Samples::on(Grid::unit(shape).unwrap()).inputs(inputs).unwrap();
    samples.output("u", numbers(count * nodes, Seed::new(3))).unwrap()
}

pub(super) fn tensors(parameters: &[(String, Vec<f64>)], device: &Device, dtype: DType) -> ParameterTensors {
    let upload = |(name, values): &(String, Vec<f64>)| {
        let data = TensorData::new(values.clone(), [values.len()]);
        (name.clone(), Tensor::from_data(data, (device, dtype)))
    };
    ParameterTensors(parameters.iter().map(upload).collect())
}

pub(super) fn loss_of(case: &Case, parameters: &ParameterTensors, batch: &Batch, engine: Engine) -> Tensor<1> {
    let prediction = forward(&case.config, parameters, batch, engine).unwrap();
    let truth = TensorData::new(case.samples.truth(&case.config.output_names()).unwrap(), prediction.dims());
    let truth = Tensor::from_data(truth, (&prediction.device(), prediction.dtype()));
    let options = BatchOptions::new(case.depth, &prediction.device());
    let outputs = Outputs::of(&case.config, &case.samples, &options);
    loss(LossKind::RelativeL2, prediction, truth, &outputs)
}

/// Gradients of all groups.
pub(super) fn gradients(case: &Case, quadrature: Quadrature, dtype: DType, engine: Engine) -> Vec<(String, Vec<f64>)> {
    let device = Device::flex().autodiff();
    let batch = case.batch(quadrature, true, dtype);
    let parameters = tensors(&case.parameters(), &device, dtype).require_grad();
    let computed = loss_of(case, &parameters, &batch, engine).backward();
    let gradient = |(name, tensor): &(String, Tensor<1>)| {
        let gradient = tensor.grad(&computed).unwrap_or_else(|| panic!("{name} has a gradient"));
        (name.clone(), gradient.into_data().iter::<f64>().collect())
    };
    parameters.0.iter().map(gradient).collect()
}

pub(super) fn relative(a: &[f64], b: &[f64]) -> f64 {
    let norm = |v: &mut dyn Iterator<Item = f64>| v.map(|x| x * x).sum::<f64>().sqrt();
    norm(&mut a.iter().zip(b).map(|(a, b)| a - b)) / norm(&mut b.iter().copied()).max(1e-300)
}

pub(super) const STEP: f64 = 1e-6;

/// Every parameter group against central differences; of long groups a sample of the entries.
pub(super) fn check_parameters(case: &Case, quadrature: Quadrature) {
    let device = Device::flex();
    let batch = case.batch(quadrature, false, DType::F64);
    let parameters = case.parameters();
    let value = |parameters: &[(String, Vec<f64>)]| {
        loss_of(case, &tensors(parameters, &device, DType::F64), &batch, Engine::Automatic).into_scalar::<f64>()
    };
    for (index, (name, gradient)) in gradients(case, quadrature, DType::F64, Engine::Automatic).iter().enumerate() {
        let stride = gradient.len().div_ceil(24);
        let (mut exact, mut differences) = (Vec::new(), Vec::new());
        for entry in (0..gradient.len()).step_by(stride) {
            let shifted = |by: f64| {
                let mut parameters = parameters.clone();
                parameters[index].1[entry] += by;
                value(&parameters)
            };
            exact.push(gradient[entry]);
            differences.push((shifted(STEP) - shifted(-STEP)) / (2.0 * STEP));
        }
        let error = relative(&exact, &differences);
        assert!(
            error < 1e-6,
            "{:?} depth {} {quadrature} {:?}: {name} differs by {error:e}",
            case.config.kind,
            case.depth,
            batch.kernel().map(|kernel| kernel.plan.order)
        );
    }
}

pub(super) fn kernel_mut(batch: &mut Batch) -> Option<&mut KernelLayers> {
    match &mut batch.layers {
        Layers::Kernel(kernel) => Some(kernel),
        Layers::Fourier(_) => None,
    }
}

/// The batch with other values of the (normalised) fields, also where the kernel sees them: no two samples may share a kernel row.
pub(super) fn with_fields(case: &Case, mut batch: Batch, fields: Tensor<3>) -> Batch {
    batch.lift_inputs = lift_inputs(&batch.points, &fields, &batch.layers);
    batch.fields = fields.clone();
    let ([samples, nodes, _], [_, dim]) = (fields.dims(), batch.points.dims());
    if let (Some(layers), false) = (kernel_mut(&mut batch), case.config.kernel_fields.is_empty()) {
        let plan = &layers.plan;
        let rows = plan.kernel_rows();
        assert_eq!(rows, samples * plan.edges());
        // Where each row finds b(x) and b(y) in samples x nodes.
        let (mut targets, mut sources) = (vec![0i64; rows], vec![0i64; rows]);
        for (edge, (target, source, _)) in plan.edge_list().into_iter().enumerate() {
            for sample in 0..samples {
                let row = plan.rows.row(edge, sample);
                targets[row] = (sample * nodes) as i64 + i64::from(target);
                sources[row] = (sample * nodes) as i64 + i64::from(source);
            }
        }
        let (mut start, mut seen) = (0, Vec::new());
        for name in &case.config.fields {
            let own = start..start + case.config.components_of(name);
            start = own.end;
            if case.config.kernel_fields.contains(name) {
                seen.push(fields.clone().slice([0..samples, 0..nodes, own]));
            }
        }
        let seen = Tensor::cat(seen, 2).reshape([(samples * nodes) as i32, -1]);
        let at = |places: Vec<i64>| seen.clone().select(0, Tensor::from_ints(places.as_slice(), &seen.device()));
        let points = layers.inputs.clone().slice([0..rows, 0..2 * dim]);
        layers.inputs = Tensor::cat(vec![points, at(targets), at(sources)], 1);
    }
    batch
}

/// The derivative with respect to the (normalised) input fields; the kernel sees one of them.
pub(super) fn check_input(case: &Case, quadrature: Quadrature) {
    // A b without two equal values, so that every sample has kernel rows of its own.
    let values = |field: &Field| match field.name.as_str() {
        "b" => field.values.iter().zip(0..).map(|(b, i)| b + 1e-9 * f64::from(i)).collect::<Vec<f64>>().into(),
        _ => Values::vectors(field.components, field.values.clone()),
    };
    let inputs = case.samples.fields().iter().map(|field| (field.name.clone(), values(field)));
    let samples = Samples::on(case.samples.domain().clone()).inputs(inputs).unwrap();
    let samples = case
        .samples
        .outputs()
        .iter()
        .fold(samples, |samples, output| samples.output(output.name.clone(), values(output)).unwrap());
    let (config, normalisers) = (case.config.clone(), case.normalisers.clone());
    let case = &Case { config, samples, normalisers, ..*case };
    let autodiff = Device::flex().autodiff();
    let batch = case.batch(quadrature, true, DType::F64);
    let fields = batch.fields.clone().require_grad();
    let tracked = with_fields(case, batch, fields.clone());
    let parameters = case.parameters();
    let constant = tensors(&parameters, &autodiff, DType::F64);
    let computed = loss_of(case, &constant, &tracked, Engine::Automatic).backward();
    let gradient: Vec<f64> = fields.grad(&computed).expect("a gradient").into_data().iter::<f64>().collect();
    let device = Device::flex();
    let batch = case.batch(quadrature, false, DType::F64);
    let values: Vec<f64> = batch.fields.to_data().iter::<f64>().collect();
    let value = |values: Vec<f64>| {
        let fields = Tensor::from_data(TensorData::new(values, batch.fields.dims()), (&device, DType::F64));
        let constant = tensors(&parameters, &device, DType::F64);
        loss_of(case, &constant, &with_fields(case, batch.clone(), fields), Engine::Automatic).into_scalar::<f64>()
    };
    let (mut exact, mut differences) = (Vec::new(), Vec::new());
    for entry in (0..values.len()).step_by(5) {
        let shifted = |by: f64| {
            let mut values = values.clone();
            values[entry] += by;
            value(values)
        };
        exact.push(gradient[entry]);
        differences.push((shifted(STEP) - shifted(-STEP)) / (2.0 * STEP));
    }
    let error = relative(&exact, &differences);
    assert!(error < 1e-6, "{:?} depth {} {quadrature}: input differs by {error:e}", case.config.kind, case.depth);
}

pub(super) const QUADRATURES: [Quadrature; 5] =
    [Quadrature::Trapezoid, Quadrature::Mean, Quadrature::Uniform, Quadrature::Overlap, Quadrature::Stencil];
pub(super) const DEPTHS: [usize; 3] = [1, 3, 8];

pub(super) fn every_case(mut check: impl FnMut(Case, Quadrature)) {
    for kind in [Kind::Nkn, Kind::Gkn] {
        for sees in [false, true] {
            for quadrature in QUADRATURES {
                for depth in DEPTHS {
                    check(Case::new(kind, sees, quadrature, depth), quadrature);
                }
            }
        }
    }
}

/// Fourier neural operators in one and two dimensions, on even, odd and tiny grids, with more modes than a grid has
/// frequencies, and on a grid that is not the training's.
pub(super) fn fourier_cases() -> Vec<Case> {
    let shapes: [&[usize]; 5] = [&[17], &[6], &[5, 8], &[4, 3], &[1, 6]];
    let mut cases = Vec::new();
    for (index, shape) in shapes.into_iter().enumerate() {
        for depth in [1, 3] {
            let config = ModelConfig {
                kind: Kind::Fno,
                width: 4,
                modes: 3,
                head: 7,
                fields: vec!["a".into(), "b".into()],
                normalise_input: NormaliserKind::Scalar,
                normalise_output: NormaliserKind::Scalar,
                ..ModelConfig::default()
            };
            let samples = samples(shape, 3);
            let coarse: Vec<usize> = shape.iter().map(|n| n.div_ceil(2)).collect();
            let trained = if index == 2 { self::samples(&coarse, 3) } else { samples.clone() };
            let normalisers = Normalisers::fit(&config, &trained).unwrap();
            cases.push(Case { config, samples, normalisers, depth, order: None });
        }
    }
    cases
}

/// A vector that the kernel sees among the inputs; a scalar and a vector as outputs.
pub(super) fn with_vectors(mut case: Case, samples: Samples) -> Case {
    let total: usize = samples.spans().iter().map(|span| span.len()).sum();
    let vectors = |seed: u64| Values::vectors(2, numbers(2 * total, Seed::new(seed)));
    let samples = samples.input("v", vectors(21)).unwrap().output("w", vectors(22)).unwrap();
    case.config.fields.push("v".into());
    case.config.kernel_fields.push("v".into());
    case.config.outputs = vec!["u".into(), "w".into()];
    case.config.components = [("v".to_string(), 2), ("w".to_string(), 2)].into();
    case.normalisers = Normalisers::fit(&case.config, &samples).unwrap();
    Case { samples, ..case }
}

/// Three samples on clouds of 7, 9 and 12 points, the last two with measures of their own.
pub(super) fn on_clouds() -> Samples {
    let cloud = |points: usize, seed: u64| PointCloud::new(2, numbers(2 * points, Seed::new(seed)), 4.0).unwrap();
    let weights = |points: usize| (0..points).map(|i| 0.1 + 0.05 * (i % 4) as f64).collect();
    let clouds = vec![
        cloud(7, 31),
        cloud(9, 32).with_weights(weights(9)).unwrap(),
        cloud(12, 33).with_weights(weights(12)).unwrap(),
    ];
    let inputs = [("a", numbers(28, Seed::new(34))), ("b", numbers(28, Seed::new(35)))];
    let samples = Samples::on(Clouds::new(clouds).unwrap()).inputs(inputs).unwrap();
    samples.output("u", numbers(28, Seed::new(36))).unwrap()
}

pub(super) fn compare_with_plain(case: &Case, quadrature: Quadrature) {
    let (kind, depth, order) = (case.config.kind, case.depth, case.order);
    let batch = case.batch(quadrature, false, DType::F32);
    let parameters = tensors(&case.parameters(), &Device::flex(), DType::F32);
    let output = |engine| -> Vec<f64> {
        forward(&case.config, &parameters, &batch, engine).unwrap().into_data().iter::<f64>().collect()
    };
    let error = relative(&output(Engine::Automatic), &output(Engine::Portable));
    assert!(error < 1e-5, "{kind:?} {quadrature} {order:?} depth {depth}: outputs differ by {error:e}");
    let fused = gradients(case, quadrature, DType::F32, Engine::Automatic);
    let plain = gradients(case, quadrature, DType::F32, Engine::Portable);
    for ((name, fused), (_, plain)) in fused.iter().zip(&plain) {
        let error = relative(fused, plain);
        assert!(error < 1e-5, "{kind:?} {quadrature} {order:?} depth {depth}: {name} differs by {error:e}");
    }
}
