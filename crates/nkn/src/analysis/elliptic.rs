//! The operator behind the layers of a network, as a matrix-free linear operator.

use super::spectrum::LinearOperator;
use crate::Result;
use crate::device::Device;
use crate::error::ensure;
use crate::field::Samples;
use crate::kernel::affine;
use crate::linalg::vectorised;
use crate::model::function::{bounding_blocks, kernel_blocks, no_kernel};
use crate::model::nkn::pixels::pixel_blocks;
use crate::model::{Batch, BatchOptions, Kind, Model};
use crate::operator::Plan;
use burn::tensor::DType;

/// The elliptic operator E of a network on one sample: a layer without its activation is h ↦ h - dt E h + dt c.
///
/// For NKN this is R - L_k, with dt = T / L. For GKN it is 1 - (R + A_k), with dt = 1. All eigenvalues with positive real part
/// mean that the equation is stable; that all |1 - dt λ| are at most 1, that the steps are.
///
/// Of a dissipative network, whose nodes have a measure m, it acts on √m h: that changes no eigenvalue, and the norm
/// that m weighs is the plain one.
pub struct Elliptic {
    width: usize,
    /// Entry (x, y) of A: target, source, the block times its weight.
    edges: Vec<(u32, u32)>,
    blocks: Vec<f64>,
    /// What acts on h(x) itself, nodes x d².
    diagonal: Vec<f64>,
    step: f64,
    /// Of a dissipative network.
    dissipative: Option<Dissipative>,
}

struct Dissipative {
    /// m.
    measure: Vec<f64>,
    bound: Box<Bound>,
}

/// A symmetric operator that bounds E: |E h|² ≤ |bound| h·E h. Its parts are those of the proof.
pub(super) struct Bound {
    /// D*(1 + Ω)(1 + Ω)ᵀD with the Ω of each pair and each node.
    own: Elliptic,
    /// A S, where nodes exchange something: (A S)*A S is added.
    exchange: Option<Elliptic>,
}

impl Bound {
    pub fn size(&self) -> usize {
        self.own.size()
    }

    /// y = B x.
    pub fn apply(&self, x: &[f64], y: &mut [f64]) {
        self.own.apply(x, y);
        if let Some(exchange) = &self.exchange {
            let mut between = vec![0.0; x.len()];
            exchange.apply(x, &mut between);
            exchange.multiply(&between, y, true);
        }
    }

    /// No eigenvalue is larger: the largest sum of a row without signs; of a product, that of its factors.
    pub fn row_sums(&self) -> f64 {
        let exchange = self.exchange.as_ref().map_or(0.0, |one| one.largest_sum(false) * one.largest_sum(true));
        self.own.largest_sum(false) + exchange
    }
}

impl Elliptic {
    /// The operator of a model on the first of the samples.
    pub fn new(model: &Model, samples: &Samples) -> Result<Self> {
        model.check_samples(samples)?;
        let device = Device::Cpu.burn();
        let options = BatchOptions { dtype: DType::F64, ..BatchOptions::new(model.depth, &device) };
        let batch = Batch::new(&model.config, &model.normalisers, &samples.select(&[0]), &options)?;
        let tensors = model.parameters.tensors(&device, DType::F64);
        let (blocks, reaction) = kernel_blocks(&model.config, &tensors, &batch)?;
        let plan = &batch.kernel().ok_or_else(|| no_kernel(model.config.kind))?.plan;
        let mut operator = Self::assemble(model, plan, &blocks, &reaction, itself);
        if let Some(parts) = bounding_blocks(&model.config, &tensors, &batch)? {
            let measure = plan.measure().expect("a dissipative network's nodes have a measure");
            operator.weigh(measure);
            // Of one feature a pair loses energy whatever the sign of its kernel.
            let loss = if model.config.width == 1 { f64::abs } else { itself };
            let mut own = Self::assemble(model, plan, &parts.kernel, &parts.reaction, loss);
            own.weigh(measure);
            let exchange = parts.exchange.map(|exchange| {
                let mut exchange = Self::assemble(model, plan, &exchange, &[0.0], itself);
                exchange.diagonal.fill(0.0);
                exchange.weigh(measure);
                exchange
            });
            let bound = Box::new(Bound { own, exchange });
            operator.dissipative = Some(Dissipative { measure: measure.to_vec(), bound });
        }
        Ok(operator)
    }

    /// The operator of a model on images with so many pixels along a side. A residual network has one in each step of its nonlocal block.
    pub fn of_images(model: &Model, side: usize, step: usize) -> Result<Self> {
        let network = model.image_network()?;
        ensure!(model.config.uses_kernel(), no_kernel(model.config.kind));
        let prefix = if model.config.kind == Kind::Nkn { String::new() } else { format!("nonlocal.{step}.") };
        let tensors = model.parameters.tensors(&Device::Cpu.burn(), DType::F64);
        let (plan, blocks, reaction) = pixel_blocks(&network, &tensors, &prefix, side)?;
        Ok(Self::assemble(model, &plan, &blocks, &reaction, itself))
    }

    /// `loss` makes of a block what h(x) itself is multiplied with for it.
    fn assemble(model: &Model, plan: &Plan, blocks: &[f64], reaction: &[f64], loss: fn(f64) -> f64) -> Self {
        let d = model.config.width;
        let size = d * d;
        let is_graph_kernel = model.config.kind == Kind::Gkn;
        let edges = plan.edge_list();
        let mut diagonal = vec![0.0; plan.nodes() * size];
        let mut scaled = Vec::with_capacity(edges.len() * size);
        for (e, &(x, _, weight)) in edges.iter().enumerate() {
            let row = plan.rows.row(e, 0);
            for (k, block) in blocks[row * size..(row + 1) * size].iter().enumerate() {
                scaled.push(-weight * block);
                if !is_graph_kernel {
                    diagonal[x as usize * size + k] += weight * loss(*block);
                }
            }
        }
        for (k, value) in diagonal.iter_mut().enumerate() {
            let own = reaction[k % reaction.len()];
            *value += if is_graph_kernel { f64::from((k % size).is_multiple_of(d + 1)) - own } else { own };
        }
        let step = if is_graph_kernel { 1.0 } else { model.config.time / model.depth as f64 };
        let edges = edges.iter().map(|&(x, y, _)| (x, y)).collect();
        Self { width: d, edges, blocks: scaled, diagonal, step, dissipative: None }
    }

    /// Makes it act on √m h.
    fn weigh(&mut self, measure: &[f64]) {
        let size = self.width * self.width;
        for (block, &(x, y)) in self.blocks.chunks_exact_mut(size).zip(&self.edges) {
            let factor = (measure[x as usize] / measure[y as usize]).sqrt();
            block.iter_mut().for_each(|value| *value *= factor);
        }
    }

    /// What the lift makes of the first of the samples, as the operator wants it.
    pub(super) fn initial(&self, model: &Model, samples: &Samples) -> Result<Vec<f64>> {
        let device = Device::Cpu.burn();
        let options = BatchOptions { dtype: DType::F64, ..BatchOptions::new(model.depth, &device) };
        let batch = Batch::new(&model.config, &model.normalisers, &samples.select(&[0]), &options)?;
        let lift = model.parameters.tensors(&device, DType::F64).get("lift");
        let state = affine(batch.lift_inputs, lift, self.width).into_data().iter::<f64>().collect::<Vec<f64>>();
        let weights = self.weights();
        Ok(state.iter().enumerate().map(|(i, h)| h * weights[i / self.width].sqrt()).collect())
    }

    /// Of a dissipative network, a symmetric operator with |E h|² ≤ |bound| h·E h.
    pub(super) fn bound(&self) -> Option<&Bound> {
        self.dissipative.as_ref().map(|one| &*one.bound)
    }

    /// The measure of the nodes; ones where there is none.
    pub fn weights(&self) -> Vec<f64> {
        let nodes = self.diagonal.len() / (self.width * self.width);
        self.dissipative.as_ref().map_or_else(|| vec![1.0; nodes], |one| one.measure.clone())
    }

    /// The largest sum of a row, or of a column, without signs.
    fn largest_sum(&self, of_columns: bool) -> f64 {
        let d = self.width;
        let mut sums = vec![0.0; self.size()];
        let mut add = |block: &[f64], (x, y): (usize, usize)| {
            for (entry, value) in block.iter().enumerate() {
                sums[if of_columns { y * d + entry % d } else { x * d + entry / d }] += value.abs();
            }
        };
        self.diagonal.chunks_exact(d * d).enumerate().for_each(|(x, block)| add(block, (x, x)));
        let blocks = self.edges.iter().zip(self.blocks.chunks_exact(d * d));
        blocks.for_each(|(&(x, y), block)| add(block, (x as usize, y as usize)));
        sums.into_iter().fold(0.0, f64::max)
    }

    /// dt.
    pub fn step(&self) -> f64 {
        self.step
    }

    fn multiply(&self, h: &[f64], result: &mut [f64], transposed: bool) {
        let d = self.width;
        let size = d * d;
        let mut add = |block: &[f64], to: usize, from: usize| {
            let (h, result) = (&h[from * d..(from + 1) * d], &mut result[to * d..(to + 1) * d]);
            let rows = block.chunks_exact(d);
            if transposed {
                for (row, &factor) in rows.zip(h) {
                    for (r, &entry) in result.iter_mut().zip(row) {
                        *r += entry * factor;
                    }
                }
            } else {
                for (row, r) in rows.zip(result) {
                    *r += dot(row, h);
                }
            }
        };
        vectorised!({
            for (x, block) in self.diagonal.chunks_exact(size).enumerate() {
                add(block, x, x);
            }
            for (&(x, y), block) in self.edges.iter().zip(self.blocks.chunks_exact(size)) {
                let (x, y) = (x as usize, y as usize);
                if transposed { add(block, y, x) } else { add(block, x, y) }
            }
        });
    }
}

impl LinearOperator for Elliptic {
    fn size(&self) -> usize {
        self.diagonal.len() / self.width
    }

    fn apply(&self, x: &[f64], y: &mut [f64]) {
        y.fill(0.0);
        self.multiply(x, y, false);
    }

    fn apply_transpose(&self, x: &[f64], y: &mut [f64]) {
        y.fill(0.0);
        self.multiply(x, y, true);
    }
}

fn itself(block: f64) -> f64 {
    block
}

/// A scalar product, inlined so that it is compiled for the vectors of its caller.
#[inline(always)]
pub(super) fn dot(a: &[f64], b: &[f64]) -> f64 {
    // Eight sums side by side: a single one would wait for each addition, several times slower.
    let (heads_a, tail_a) = a.as_chunks::<8>();
    let (heads_b, tail_b) = b.as_chunks::<8>();
    let mut sums = [0.0; 8];
    for (a, b) in heads_a.iter().zip(heads_b) {
        for (sum, (a, b)) in sums.iter_mut().zip(a.iter().zip(b)) {
            *sum += a * b;
        }
    }
    let tail: f64 = tail_a.iter().zip(tail_b).map(|(a, b)| a * b).sum();
    sums.iter().sum::<f64>() + tail
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::effective_green;
    use crate::model::{Guarantee, ModelConfig, Normalisers, Parameters, Predicting, Space};
    use crate::problem::poisson::generate;
    use crate::seed::Seed;

    /// A network of one layer without activation whose lift and projection are the identity on f.
    fn transparent(kind: Kind) -> (Model, Samples) {
        of_stability(kind, Guarantee::Free)
    }

    fn of_stability(kind: Kind, stability: Guarantee) -> (Model, Samples) {
        let samples = generate(Seed::new(0), 0, 1, 13).unwrap();
        let config = ModelConfig {
            kind,
            kernel: vec![7, 5],
            reaction: vec![4],
            time: 0.7,
            stability,
            activate_last: false,
            fields: vec!["f".into()],
            ..ModelConfig::default()
        };
        let mut parameters = Parameters::init(&config, &Space::Functions { dim: 1 }, 1, Seed::new(4)).unwrap();
        parameters.group_mut("lift").values = vec![0.0, 1.0, 0.0];
        parameters.group_mut("project").values = vec![1.0, 0.0];
        parameters.group_mut("source").values = vec![0.25];
        let normalisers = Normalisers::fit(&config, &samples).unwrap();
        let (space, averages) = (Space::Functions { dim: 1 }, Default::default());
        (Model { config, space, depth: 1, parameters, averages, normalisers }, samples)
    }

    #[test]
    fn a_layer_is_a_step_with_the_elliptic_operator() {
        let networks =
            [(Kind::Nkn, Guarantee::Free), (Kind::Nkn, Guarantee::Dissipative), (Kind::Gkn, Guarantee::Free)];
        for (kind, stability) in networks {
            let (model, samples) = of_stability(kind, stability);
            let operator = Elliptic::new(&model, &samples).unwrap();
            let root: Vec<f64> = operator.weights().into_iter().map(f64::sqrt).collect();
            let how = Predicting { double: true, ..Predicting::default() };
            let layer = model.predict_functions(&samples, &how).unwrap();
            let h = &samples.field("f").unwrap().values;
            let weighted: Vec<f64> = h.iter().zip(&root).map(|(h, root)| root * h).collect();
            let mut product = vec![0.0; h.len()];
            operator.apply(&weighted, &mut product);
            for i in 0..h.len() {
                let expected = h[i] - operator.step() * (product[i] / root[i] - 0.25);
                assert!((layer[i] - expected).abs() < 1e-9 * expected.abs().max(1.0), "{kind} {stability} at {i}");
            }
        }
    }

    #[test]
    fn the_transpose_is_the_transpose() {
        let (model, samples) = transparent(Kind::Nkn);
        let operator = Elliptic::new(&model, &samples).unwrap();
        let vector = |seed: f64| (0..13).map(|i| (seed * i as f64).sin()).collect::<Vec<f64>>();
        let (a, b) = (vector(0.7), vector(1.3));
        let (mut ea, mut eb) = (vec![0.0; 13], vec![0.0; 13]);
        operator.apply(&a, &mut ea);
        operator.apply_transpose(&b, &mut eb);
        let dot = |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(x, y)| x * y).sum::<f64>();
        assert!((dot(&ea, &b) - dot(&a, &eb)).abs() < 1e-12);
    }

    #[test]
    fn the_effective_green_function_is_the_jacobian() {
        let (model, samples) = transparent(Kind::Nkn);
        let operator = Elliptic::new(&model, &samples).unwrap();
        let green = effective_green(&model, samples.domain()).unwrap();
        for j in 0..13 {
            let unit: Vec<f64> = (0..13).map(|i| f64::from(i == j)).collect();
            let mut column = vec![0.0; 13];
            operator.apply(&unit, &mut column);
            let cell = if j == 0 || j == 12 { 0.5 / 12.0 } else { 1.0 / 12.0 };
            for i in 0..13 {
                let expected = (unit[i] - operator.step() * column[i]) / cell;
                assert!((green[i * 13 + j] - expected).abs() < 1e-9);
            }
        }
    }
}
