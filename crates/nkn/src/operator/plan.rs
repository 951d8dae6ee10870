//! What an evolution is made of: the graph with its weights, the kernel rows, the update, and the order in which
//! the products are taken.

use super::edges::Edges;
use super::integrator::{Course, Integrator};
use crate::kernel::RowTable;
use crate::linalg::Groups;
use crate::{Error, Result};
use std::sync::{Arc, OnceLock};

/// The rule that takes h at one layer to h at the next.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Update {
    /// NKN: h + dt (sum_y w K (h(y) - h(x)) - R(x) h(x) + c).
    DiffusionReaction {
        /// dt.
        step: f64,
    },
    /// GKN: relu(sum_y w K h(y) + R h(x) + c).
    GraphKernel {
        /// Whether the last layer is activated too.
        activate_last: bool,
    },
}

impl Update {
    /// The factor of h(x) that is carried over: 1 where the kernel acts on differences h(y) - h(x), 0 where on h(y).
    pub(crate) fn carry(&self) -> f64 {
        match self {
            Update::DiffusionReaction { .. } => 1.0,
            Update::GraphKernel { .. } => 0.0,
        }
    }

    /// The factor of the bracket.
    pub(crate) fn step(&self) -> f64 {
        match self {
            Update::DiffusionReaction { step } => *step,
            Update::GraphKernel { .. } => 1.0,
        }
    }

    /// The sign of R.
    pub(crate) fn reaction_sign(&self) -> f64 {
        match self {
            Update::DiffusionReaction { .. } => -1.0,
            Update::GraphKernel { .. } => 1.0,
        }
    }

    /// Whether layer `index` of `depth` ends with ReLU.
    pub(crate) fn activates(&self, index: usize, depth: usize) -> bool {
        match self {
            Update::DiffusionReaction { .. } => false,
            Update::GraphKernel { activate_last } => *activate_last || index + 1 < depth,
        }
    }
}

/// The order in which kernel, last layer and state are multiplied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// One dense matrix A for the whole batch.
    Dense,
    /// One A for the whole batch by its blocks, each times all samples.
    Shared,
    /// The blocks K of A, each times the samples that use it.
    Blocks,
    /// K is never formed: the features of the last hidden layer are contracted with h first, the last layer's weight
    /// is applied per node. The memory does not grow with the number of kernel rows times d², in predictions not even with the number of
    /// kernel rows.
    Contracted,
}

/// Everything about an evolution but the numbers that are learned.
#[derive(Clone, Debug)]
pub struct Plan {
    /// d, the number of features of h.
    pub width: usize,
    /// L, the number of layers.
    pub depth: usize,
    /// The rule.
    pub update: Update,
    /// The order of the products.
    pub order: Order,
    /// What it was chosen for.
    pub purpose: Purpose,
    /// Edges with quadrature weights.
    pub(crate) graph: Arc<Edges>,
    /// The kernel rows.
    pub(crate) rows: RowTable,
    /// The samples of each kernel row, once somebody asks.
    users: OnceLock<Groups>,
    /// Why an evolution by this plan has no result, if it has none.
    failure: OnceLock<String>,
}

/// What a plan is chosen for.
#[derive(Clone, Copy, Debug)]
pub struct Purpose {
    /// The width of the kernel network's last hidden layer; 0 where the blocks K come finished.
    pub features: usize,
    /// Operations of one row of the kernel network up to that layer.
    pub hidden_flops: f64,
    /// Whether that layer ends with ReLU, so that features off on many rows need no derivative.
    pub rectified: bool,
    /// Whether derivatives are wanted.
    pub training: bool,
    /// Whether states come and go as nodes x samples x d instead of samples x nodes x d.
    pub nodes_first: bool,
    /// How the equation of an NKN is followed.
    pub integrator: Integrator,
    /// The relative error that an integrator may leave which is exact to a tolerance; left out, what the precision
    /// allows.
    pub tolerance: Option<f64>,
    /// Memory that the evolution may take, in bytes.
    pub budget: f64,
}

impl Plan {
    /// A plan whose order is the cheapest one that fits the memory budget.
    pub fn new(
        width: usize,
        depth: usize,
        update: Update,
        graph: impl Into<Arc<Edges>>,
        rows: RowTable,
        purpose: &Purpose,
    ) -> Self {
        let graph = graph.into();
        assert_eq!(graph.edges(), rows.edges());
        let mut plan = Self {
            width,
            depth,
            update,
            order: Order::Blocks,
            purpose: *purpose,
            graph,
            rows,
            users: OnceLock::new(),
            failure: OnceLock::new(),
        };
        let orders = [Order::Dense, Order::Shared, Order::Blocks, Order::Contracted];
        let possible = orders.into_iter().filter(|&order| plan.supports(order));
        let cost = |order: Order| plan.cost(order);
        plan.order = possible
            .clone()
            .filter(|&order| cost(order).bytes <= purpose.budget)
            .min_by(|&a, &b| cost(a).seconds.total_cmp(&cost(b).seconds))
            .or_else(|| possible.min_by(|&a, &b| cost(a).bytes.total_cmp(&cost(b).bytes)))
            .unwrap_or(Order::Blocks);
        plan
    }

    /// The same plan with a given order.
    pub fn with_order(mut self, order: Order) -> Self {
        assert!(self.supports(order), "{order:?} needs one kernel row per edge");
        self.order = order;
        self
    }

    /// Whether the order can be used: two of them need one A for all samples, the dense one also its own layout, and one
    /// the features behind K. Shared and contracted products are fused with the steps of explicit Euler.
    pub fn supports(&self, order: Order) -> bool {
        let is_euler = self.integrator() == Integrator::Euler;
        match order {
            Order::Dense => self.rows.is_shared() && !self.purpose.nodes_first,
            Order::Shared => self.rows.is_shared() && is_euler,
            Order::Blocks => true,
            Order::Contracted => self.purpose.features > 0 && is_euler,
        }
    }

    /// How the equation is followed; layers that are no steps of one go by themselves.
    pub(crate) fn integrator(&self) -> Integrator {
        match self.update {
            Update::DiffusionReaction { .. } => self.purpose.integrator,
            Update::GraphKernel { .. } => Integrator::Euler,
        }
    }

    /// The way through all layers, in numbers of so many bytes.
    pub(super) fn course(&self, bytes: usize) -> Course {
        let usual = if bytes == size_of::<f64>() { 1e-13 } else { 1e-6 };
        let tolerance = self.purpose.tolerance.unwrap_or(usual);
        Course { integrator: self.integrator(), step: self.update.step(), steps: self.depth, tolerance }
    }

    /// Keeps why there is no result.
    pub(super) fn fail(&self, got: String) {
        let _ = self.failure.set(got);
    }

    /// An error if an evolution by this plan has not reached its tolerance.
    pub fn check(&self) -> Result<()> {
        let Some(got) = self.failure.get() else { return Ok(()) };
        let (what, expected) = (format!("the integrator `{}`", self.integrator()), "to reach its tolerance");
        let hint =
            "the operator is too large or not finite: take more layers, a coarser tolerance, or an earlier checkpoint";
        Err(Error::invalid(what, expected, got, hint))
    }

    /// Whether the kernel network is evaluated some nodes at a time, within the budget.
    pub fn streams(&self) -> bool {
        self.order == Order::Contracted && !self.purpose.training
    }

    /// Whether the order of shared blocks makes each where it is used instead of all at once: if a block is used by a single layer and comes from
    /// features.
    pub(super) fn makes_blocks_in_passing(&self) -> bool {
        self.depth == 1 && self.width > 1 && self.purpose.features > 0
    }

    /// Number of nodes.
    pub fn nodes(&self) -> usize {
        self.graph.nodes()
    }

    /// Number of samples.
    pub fn samples(&self) -> usize {
        self.rows.samples()
    }

    /// Number of edges.
    pub fn edges(&self) -> usize {
        self.graph.edges()
    }

    /// Number of kernel rows.
    pub fn kernel_rows(&self) -> usize {
        self.rows.rows()
    }

    /// Target, source and quadrature weight of every edge.
    pub fn edge_list(&self) -> Vec<(u32, u32, f64)> {
        let edges = self.graph.targets.iter().zip(self.graph.sources()).zip(self.graph.weights());
        edges.map(|((&x, &y), &w)| (x, y, w)).collect()
    }

    /// The measure of the nodes for which the weights are symmetric, if they are.
    pub fn measure(&self) -> Option<&[f64]> {
        self.graph.measure()
    }

    /// The samples of each kernel row.
    pub(crate) fn users(&self) -> &Groups {
        self.users.get_or_init(|| self.rows.users())
    }
}
