//! Sums over edges: K = W (phi, 1) is affine in the features, so a sum of K's is W times a sum of features.

use crate::domain::Neighbourhood;
use crate::engine::Engine;
use crate::model::maps::PixelMap;
use crate::operator::Equation;
use burn::tensor::Tensor;

/// The edges of a target: their numbers, their sources, and their weights dt w in a layer.
pub(super) fn edges_of(graph: &Neighbourhood, step: f64, x: usize) -> impl Iterator<Item = (usize, usize, f64)> {
    let first = graph.offsets()[x];
    graph.row(x).enumerate().map(move |(offset, (y, w))| (first + offset, y, step * w))
}

/// The nodes from which these take something in a layer, themselves included; in order, each once.
pub(super) fn sources_of(graph: &Neighbourhood, nodes: impl Iterator<Item = usize>) -> Vec<u32> {
    let mut sources: Vec<u32> = nodes.flat_map(|x| graph.row(x).map(|(y, _)| y).chain([x])).map(|y| y as u32).collect();
    sources.sort_unstable();
    sources.dedup();
    sources
}

/// The kernel network from its last hidden layer on.
pub(super) struct AffineKernel {
    /// (phi, 1): edges x 1 x width.
    features: Tensor<3>,
    /// W: rows of K x columns of K x width.
    pub weight: Tensor<3>,
    engine: Engine,
}

impl AffineKernel {
    pub fn new(equation: &Equation, d: usize, engine: Engine) -> Self {
        let [edges, width] = equation.features.dims();
        let options = (&equation.features.device(), equation.features.dtype());
        let features = Tensor::cat(vec![equation.features.clone(), Tensor::ones([edges, 1], options)], 1);
        let split = d * d * width;
        let weight = equation.last_layer.clone().slice(0..split).reshape([d * d, width]);
        let bias = equation.last_layer.clone().slice(split..split + d * d).reshape([d * d, 1]);
        let weight = Tensor::cat(vec![weight, bias], 1).reshape([d, d, width + 1]);
        Self { features: features.reshape([edges, 1, width + 1]), weight, engine }
    }

    /// Features and one.
    pub fn width(&self) -> usize {
        self.features.dims()[2]
    }

    /// Sums of (phi, 1) over edges: rows x width.
    pub fn sum(&self, edges: &PixelMap) -> Tensor<2> {
        let sums = edges.apply(self.features.clone(), self.engine);
        let [rows, _, width] = sums.dims();
        sums.reshape([rows, width])
    }
}
