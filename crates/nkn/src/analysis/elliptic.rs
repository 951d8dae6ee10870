//! The operator behind the layers of a network, as a matrix-free linear operator.

use super::spectrum::LinearOperator;
use crate::Result;
use crate::field::Samples;
use crate::kernel::Merge;
use crate::model::{Batch, BatchOptions, Kind, Model, kernel_blocks};
use burn::tensor::{DType, Device};

/// The elliptic operator E of a network on one sample: a layer without its activation is h ↦ h - dt E h + dt c.
///
/// For NKN this is R - L_k, with dt = T / L. For GKN it is 1 - (R + A_k), with dt = 1. All eigenvalues with positive real part
/// mean that the equation is stable; that all |1 - dt λ| are at most 1, that the steps are.
pub struct Elliptic {
    width: usize,
    /// Entry (x, y) of A: target, source, the block times its weight.
    edges: Vec<(u32, u32)>,
    blocks: Vec<f64>,
    /// What acts on h(x) itself, nodes x d².
    diagonal: Vec<f64>,
    step: f64,
}

impl Elliptic {
    /// The operator of a model on the first of the samples.
    pub fn new(model: &Model, samples: &Samples) -> Result<Self> {
        let device = Device::flex();
        let options =
            BatchOptions { dtype: DType::F64, merge: Merge::Distinct, ..BatchOptions::new(model.depth, &device) };
        let batch = Batch::new(&model.config, &model.normalisers, &samples.select(&[0]), &options)?;
        let (blocks, reaction) = kernel_blocks(&model.config, &model.parameters.tensors(&device, DType::F64), &batch)?;
        let d = model.config.width;
        let size = d * d;
        let nodes = batch.plan.nodes();
        let edges = batch.plan.edge_list();
        let weighted = |e: usize, weight: f64| blocks[e * size..(e + 1) * size].iter().map(move |k| -weight * k);
        let mut diagonal = vec![0.0; nodes * size];
        let mut scaled = Vec::with_capacity(edges.len() * size);
        for (e, &(x, _, weight)) in edges.iter().enumerate() {
            for (k, value) in weighted(e, weight).enumerate() {
                scaled.push(value);
                if model.config.kind == Kind::Nkn {
                    diagonal[x as usize * size + k] -= value;
                }
            }
        }
        for (k, value) in diagonal.iter_mut().enumerate() {
            let own = reaction[k % reaction.len()];
            match model.config.kind {
                Kind::Nkn => *value += own,
                Kind::Gkn => *value += f64::from(k % size % (d + 1) == 0) - own,
            }
        }
        let step = match model.config.kind {
            Kind::Nkn => model.config.time / model.depth as f64,
            Kind::Gkn => 1.0,
        };
        let edges = edges.iter().map(|&(x, y, _)| (x, y)).collect();
        Ok(Self { width: d, edges, blocks: scaled, diagonal, step })
    }

    /// dt.
    pub fn step(&self) -> f64 {
        self.step
    }

    fn multiply(&self, h: &[f64], result: &mut [f64], transposed: bool) {
        let d = self.width;
        let size = d * d;
        let at = |block: &[f64], i: usize, j: usize| if transposed { block[j * d + i] } else { block[i * d + j] };
        let mut add = |block: &[f64], to: usize, from: usize| {
            for i in 0..d {
                let row: f64 = (0..d).map(|j| at(block, i, j) * h[from * d + j]).sum();
                result[to * d + i] += row;
            }
        };
        for (x, block) in self.diagonal.chunks_exact(size).enumerate() {
            add(block, x, x);
        }
        for (&(x, y), block) in self.edges.iter().zip(self.blocks.chunks_exact(size)) {
            let (x, y) = (x as usize, y as usize);
            if transposed { add(block, y, x) } else { add(block, x, y) }
        }
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
