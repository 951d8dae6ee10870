//! What an evolution is made of: the graph with its weights, the kernel rows, the update, and the order in which
//! the products are taken.

use crate::domain::Neighbourhood;
use crate::kernel::RowTable;

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
    /// The factor of h(x) that is carried over.
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

    /// 1 if the kernel acts on differences h(y) - h(x), 0 if on h(y).
    pub(crate) fn difference(&self) -> f64 {
        self.carry()
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
    /// Whether the kernel's features are those of a ReLU layer, so that features off on many rows need no derivative.
    pub rectified: bool,
    /// Whether derivatives are wanted.
    pub training: bool,
    /// Whether states come and go as nodes x samples x d instead of samples x nodes x d.
    pub nodes_first: bool,
    /// Memory that the evolution may take, in bytes.
    pub budget: f64,
    /// Edges by target, with quadrature weights.
    pub(crate) graph: Neighbourhood,
    /// The kernel rows.
    pub(crate) rows: RowTable,
    /// Target of each edge.
    pub(crate) targets: Vec<u32>,
    /// Edges by source: `incoming[source_offsets[y]..source_offsets[y + 1]]`.
    pub(crate) incoming: Vec<u32>,
    pub(crate) source_offsets: Vec<usize>,
}

/// What a plan is chosen for.
#[derive(Clone, Copy, Debug)]
pub struct Purpose {
    /// The width of the kernel network's last hidden layer.
    pub features: usize,
    /// Operations of one row of the kernel network up to that layer.
    pub hidden_flops: f64,
    /// Whether that layer ends with ReLU.
    pub rectified: bool,
    /// Whether derivatives are wanted.
    pub training: bool,
    /// Whether states come and go as nodes x samples x d.
    pub nodes_first: bool,
    /// Memory that the evolution may take, in bytes.
    pub budget: f64,
}

impl Plan {
    /// A plan whose order is the cheapest one that fits the memory budget.
    pub fn new(
        width: usize,
        depth: usize,
        update: Update,
        graph: Neighbourhood,
        rows: RowTable,
        purpose: &Purpose,
    ) -> Self {
        assert_eq!(graph.edges(), rows.edges());
        let (targets, incoming, source_offsets) = transpose(&graph);
        let mut plan = Self {
            width,
            depth,
            update,
            order: Order::Blocks,
            rectified: purpose.rectified,
            training: purpose.training,
            nodes_first: purpose.nodes_first,
            budget: purpose.budget,
            graph,
            rows,
            targets,
            incoming,
            source_offsets,
        };
        let orders = [Order::Dense, Order::Shared, Order::Blocks, Order::Contracted];
        let possible = orders.into_iter().filter(|&order| plan.supports(order));
        let cost = |order: Order| plan.cost(order, purpose);
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

    /// Whether the order can be used: two of them need one A for all samples, the dense one also its own layout.
    pub fn supports(&self, order: Order) -> bool {
        match order {
            Order::Dense => self.rows.is_shared() && !self.nodes_first,
            Order::Shared => self.rows.is_shared(),
            Order::Blocks | Order::Contracted => true,
        }
    }

    /// Whether the kernel network is evaluated some nodes at a time, within the budget.
    pub fn streams(&self) -> bool {
        self.order == Order::Contracted && !self.training
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
        let edges = self.targets.iter().zip(self.graph.sources()).zip(self.graph.weights());
        edges.map(|((&x, &y), &w)| (x, y, w)).collect()
    }

    /// The kernel row that a sample uses on an edge.
    pub fn kernel_row(&self, edge: usize, sample: usize) -> usize {
        self.rows.row(edge, sample)
    }

    /// Necessary operations, time and memory of one evolution in the given order, with the last layer of the kernel network
    /// and, in training, with all derivatives.
    pub fn cost(&self, order: Order, purpose: &Purpose) -> Cost {
        let (d, depth, samples) = (self.width as f64, self.depth as f64, self.samples() as f64);
        let (nodes, edges, rows) = (self.nodes() as f64, self.edges() as f64, self.kernel_rows() as f64);
        let features = purpose.features as f64;
        // A product has two factors, hence two more products for their derivatives.
        let passes = if purpose.training { 3.0 } else { 1.0 };
        let kept = if purpose.training { 2.0 * (depth + 1.0) } else { 2.0 };
        let states = kept * samples * nodes * d;
        let form = passes * 2.0 * rows * d * d * features;
        let gradients = if purpose.training { 2.0 } else { 1.0 };
        // Times are those of a small desktop; they only have to order the alternatives. Forming K leaves idle features out, tiny
        // blocks are all overhead, and every block comes from main memory once per layer and direction.
        let (flops, seconds, numbers) = match order {
            Order::Dense => {
                let size = nodes * d;
                let flops = passes * 2.0 * depth * samples * size * size;
                (form + flops, form / 2.4e11 + flops / 1.2e11, 3.0 * size * size + rows * d * d)
            }
            Order::Shared => {
                let flops = passes * 2.0 * depth * samples * edges * d * d;
                let seconds = form / 2.4e11 + flops * (1.0 + 64.0 / (d * d)) / 1.6e11;
                (form + flops, seconds, (2.0 * gradients - 1.0) * rows * d * d)
            }
            Order::Blocks => {
                let flops = passes * 2.0 * depth * samples * edges * d * d;
                let traffic = 4.0 * rows * d * d * depth * gradients;
                let seconds = form / 2.4e11 + flops * (1.0 + 256.0 / (d * d)) / 1.5e11 + traffic / 1.2e10;
                let sent = if purpose.training { samples * edges * d } else { 0.0 };
                (form + flops, seconds, (2.0 * gradients - 1.0) * rows * d * d + sent)
            }
            Order::Contracted => {
                // Backward contracts once more instead of keeping every Z.
                let by_edge = if purpose.training { 4.0 } else { 1.0 };
                let flops = depth * 2.0 * samples * d * features * (by_edge * edges + passes * nodes * d);
                let lanes = if purpose.training { 4.0 * d * d * features + samples * edges * d } else { 0.0 };
                (flops, flops / if purpose.training { 1e11 } else { 1.7e11 }, lanes)
            }
        };
        let held = 4.0 * gradients * rows * features;
        if order == Order::Contracted && !purpose.training {
            // Features that do not fit are evaluated again in every layer.
            let share = (purpose.budget / held).min(1.0);
            let again = rows * purpose.hidden_flops * (depth - 1.0) * (1.0 - share);
            let bytes = (4.0 * states + held).min(purpose.budget.max(4.0 * states));
            return Cost { flops, seconds: seconds + again / 3e11, bytes };
        }
        Cost { flops, seconds, bytes: 4.0 * (numbers + states) + held }
    }
}

/// What a plan costs.
#[derive(Clone, Copy, Debug)]
pub struct Cost {
    /// Floating point operations.
    pub flops: f64,
    /// A rough time, good enough to compare orders.
    pub seconds: f64,
    /// Memory in single precision.
    pub bytes: f64,
}

/// Target of each edge, and the edges by source.
fn transpose(graph: &Neighbourhood) -> (Vec<u32>, Vec<u32>, Vec<usize>) {
    let mut source_offsets = vec![0usize; graph.nodes() + 1];
    for &source in graph.sources() {
        source_offsets[source as usize + 1] += 1;
    }
    for node in 0..graph.nodes() {
        source_offsets[node + 1] += source_offsets[node];
    }
    let mut next = source_offsets.clone();
    let mut incoming = vec![0u32; graph.edges()];
    for (edge, &source) in graph.sources().iter().enumerate() {
        incoming[next[source as usize]] = edge as u32;
        next[source as usize] += 1;
    }
    (graph.targets(), incoming, source_offsets)
}
