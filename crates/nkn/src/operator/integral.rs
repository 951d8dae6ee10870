//! The integral over the neighbours in Burn primitives: plain, on any backend, differentiable by Burn. The updates of
//! [`crate::model`] are written with it, and the fused evolution is tested against them.

use super::{Equation, plan::Plan};
use burn::tensor::{Device, IndexingUpdateOp, Int, Tensor, TensorData};

/// The integral operator of a kernel: h ↦ sum_y w K(x, y) h(y).
pub struct Integral {
    /// d x d per kernel row.
    blocks: Tensor<3>,
    /// Row of (edge, sample); `None` when there is one row per edge.
    rows: Option<Tensor<1, Int>>,
    targets: Tensor<1, Int>,
    sources: Tensor<1, Int>,
    /// Quadrature weights, edges x 1 x 1.
    weights: Tensor<3>,
    nodes: usize,
}

impl Integral {
    /// With the kernel's blocks on the edges of a plan.
    pub fn new(equation: &Equation, plan: &Plan) -> Self {
        let (d, edges) = (plan.width, plan.edges());
        let (device, dtype) = (equation.features.device(), equation.features.dtype());
        let rows = (!plan.rows.is_shared()).then(|| {
            let rows = (0..edges).flat_map(|e| (0..plan.samples()).map(move |s| (e, s)));
            indices(rows.map(|(e, s)| plan.rows.row(e, s)), &device)
        });
        let weights = TensorData::new(plan.graph.weights().to_vec(), [edges, 1, 1]);
        Self {
            blocks: equation.blocks().reshape([plan.kernel_rows(), d, d]),
            rows,
            targets: indices(plan.graph.targets.iter().map(|&t| t as usize), &device),
            sources: indices(plan.graph.sources().iter().map(|&s| s as usize), &device),
            weights: Tensor::from_data(weights, (&device, dtype)),
            nodes: plan.nodes(),
        }
    }

    /// sum_y w K(x, y) h(y), for h of nodes x samples x d.
    pub fn apply(&self, h: Tensor<3>) -> Tensor<3> {
        self.over_edges(h.select(0, self.sources.clone()))
    }

    /// sum_y w K(x, y) (h(y) - h(x)): the nonlocal Laplacian.
    pub fn of_differences(&self, h: Tensor<3>) -> Tensor<3> {
        let at_source = h.clone().select(0, self.sources.clone());
        self.over_edges(at_source - h.select(0, self.targets.clone()))
    }

    /// From values on the edges (edges x samples x d) to sums at the targets.
    fn over_edges(&self, values: Tensor<3>) -> Tensor<3> {
        let [edges, samples, d] = values.dims();
        let products = match &self.rows {
            None => values.matmul(self.blocks.clone().swap_dims(1, 2)),
            Some(rows) => {
                let blocks = self.blocks.clone().select(0, rows.clone());
                blocks.matmul(values.reshape([edges * samples, d, 1])).reshape([edges, samples, d])
            }
        };
        let sums = Tensor::zeros([self.nodes, samples, d], (&products.device(), products.dtype()));
        sums.select_assign(0, self.targets.clone(), products * self.weights.clone(), IndexingUpdateOp::Add)
    }
}

/// sum_y w k(x, y) at the nodes, for numbers k on the edges (edges x 1).
pub fn over_neighbours(values: Tensor<2>, plan: &Plan) -> Tensor<2> {
    let options = (&values.device(), values.dtype());
    let weights = TensorData::new(plan.graph.weights().to_vec(), [plan.edges(), 1]);
    let targets = indices(plan.graph.targets.iter().map(|&t| t as usize), options.0);
    let products = values * Tensor::from_data(weights, options);
    Tensor::zeros([plan.nodes(), 1], options).select_assign(0, targets, products, IndexingUpdateOp::Add)
}

/// R(x) h(x), for h of nodes x samples x d and R of nodes x d² (or 1 x d²).
pub fn pointwise(reaction: &Tensor<2>, h: Tensor<3>) -> Tensor<3> {
    let [nodes, samples, d] = h.dims();
    let [matrices, _] = reaction.dims();
    let matrices = reaction.clone().reshape([matrices, d, d]).swap_dims(1, 2);
    h.matmul(matrices.expand([nodes, d, d])).reshape([nodes, samples, d])
}

fn indices(values: impl Iterator<Item = usize>, device: &Device) -> Tensor<1, Int> {
    let values: Vec<i64> = values.map(|v| v as i64).collect();
    let count = values.len();
    Tensor::from_data(TensorData::new(values, [count]), device)
}
