//! What a step of training takes.

use super::batch::{Batch, BatchOptions, Layers, kernel_bytes};
use super::config::{Kind, ModelConfig};
use super::fno::Layer;
use super::parameters::{kernel_shape, reaction_shape};
use crate::Result;
use crate::kernel::MlpShape;
use crate::linalg::{Matrix, gemm_parallel};
use std::sync::Arc;
use std::time::Instant;

/// The necessary work on a batch: a prediction, or a training step with the derivatives of all parameters.
#[derive(Clone, Copy, Debug)]
pub struct Work {
    /// Floating point operations, in units of 10^9.
    pub gflop: f64,
    /// Memory in single precision, in bytes.
    pub bytes: f64,
}

impl Work {
    /// The work on a batch that was prepared with these options.
    pub fn of(config: &ModelConfig, dim: usize, batch: &Batch, options: &BatchOptions) -> Result<Self> {
        let plan = match &batch.layers {
            Layers::Kernel(kernel) => &kernel.plan,
            Layers::Fourier(layers) => return Ok(fourier(config, dim, layers, options.training)),
        };
        let (rows, nodes) = (plan.kernel_rows() as f64, plan.nodes() as f64);
        let kernel = kernel_shape(config, dim)?;
        let cost = plan.cost(plan.order);
        // The last layer is counted with the assembly, unless K is a number.
        let evaluated = if config.width == 1 { Some(kernel) } else { kernel.hidden() };
        let hidden = evaluated.map_or(0.0, |shape| perceptron(&shape, rows, options.training).0);
        let reaction = match config.kind {
            Kind::Nkn => perceptron(&reaction_shape(config, dim)?, nodes, options.training),
            _ => (0.0, 0.0),
        };
        let kernel = kernel_bytes(config, dim, plan.kernel_rows(), options.training)?;
        let form = match batch.kernel().and_then(|kernel| kernel.pairs.as_ref()) {
            Some(pairs) if config.width > 1 => dissipative(config, dim, pairs.count() as f64, options.training)?,
            _ => 0.0,
        };
        Ok(Self { gflop: (cost.flops + hidden + reaction.0 + form) / 1e9, bytes: cost.bytes + kernel + reaction.1 })
    }

    /// The work of two parts of a batch.
    pub fn and(&self, other: &Self) -> Self {
        Self { gflop: self.gflop + other.gflop, bytes: self.bytes + other.bytes }
    }
}

/// A Fourier neural operator: the transform along one axis, then the other, and back; the product of each frequency; the
/// pointwise part; lift and head.
fn fourier(config: &ModelConfig, dim: usize, layers: &[Arc<Layer>], training: bool) -> Work {
    let Some(layer) = layers.first() else { return Work { gflop: 0.0, bytes: 0.0 } };
    let frequencies = &layer.frequencies;
    let (d, samples, nodes) = (config.width as f64, layer.samples as f64, frequencies.nodes() as f64);
    let (k1, k2) = (frequencies.across.len() as f64, frequencies.along.len() as f64);
    let [n1, n2] = frequencies.shape.map(|n| n as f64);
    let transform = samples * d * (4.0 * n1 * n2 * k2 + if n1 > 1.0 { 8.0 * k2 * k1 * n1 } else { 0.0 });
    let mix = samples * k1 * k2 * 8.0 * d * d;
    let pointwise = samples * nodes * 2.0 * d * d;
    let head = samples * nodes * 2.0 * (d * config.head as f64 + config.head as f64);
    let lift = samples * nodes * 2.0 * (dim + config.columns(&config.fields)) as f64 * d;
    // The transforms have no weights: one more pass in training; all else has two.
    let (fixed, learned) = if training { (2.0, 3.0) } else { (1.0, 1.0) };
    let each = fixed * 2.0 * transform + learned * (mix + pointwise);
    let bytes = 4.0 * samples * (nodes * (3.0 * d + config.head as f64) + 2.0 * d * nodes * layers.len() as f64);
    Work { gflop: (layers.len() as f64 * each + learned * (head + lift)) / 1e9, bytes }
}

/// The last layer of a dissipative kernel, once per pair, and the products that make its blocks.
fn dissipative(config: &ModelConfig, dim: usize, pairs: f64, training: bool) -> Result<f64> {
    let shape = kernel_shape(config, dim)?;
    let features = shape.hidden().map_or(shape.inputs(), |hidden| hidden.outputs()) as f64;
    let d = config.width as f64;
    let (layers, products) = if training { (3.0, 7.0) } else { (1.0, 2.0) };
    Ok(pairs * (layers * 2.0 * features * d * d + products * 2.0 * d * d * d))
}

/// Operations and bytes: in training three products per layer, two in the first, whose input is given.
fn perceptron(shape: &MlpShape, rows: f64, training: bool) -> (f64, f64) {
    let layers = shape.layers();
    let first = 2.0 * (layers[0].inputs * layers[0].outputs) as f64;
    let flops = if training { 3.0 * shape.flops() - first } else { shape.flops() };
    let activations: f64 = layers.iter().map(|layer| layer.outputs as f64).sum();
    (rows * flops, 4.0 * rows * activations)
}

/// The machine's measured f32 matrix product on all threads, in units of 10^9 operations per second: the best of several sizes.
pub fn peak_gflops() -> f64 {
    let measure = |size: usize| {
        let values: Vec<f32> = (0..size * size).map(|i| (i % 17) as f32).collect();
        let mut result = vec![0.0f32; size * size];
        let matrix = Matrix::new(&values, size, size);
        let repeats = (1usize << 33) / size.pow(3);
        let seconds = (0..repeats.clamp(3, 32)).map(|_| {
            let begun = Instant::now();
            gemm_parallel(&mut result, 0.0, 1.0, matrix, matrix);
            begun.elapsed().as_secs_f64()
        });
        2.0 * (size as f64).powi(3) / seconds.fold(f64::INFINITY, f64::min) / 1e9
    };
    [512, 1024, 2048].into_iter().map(measure).fold(0.0, f64::max)
}
