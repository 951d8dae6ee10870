//! What an evolution costs in each order: operations, a rough time, and memory. Orders are chosen by it.

use super::integrator::Integrator;
use super::plan::{Order, Plan};

/// What the machine does in a second, per kind of work. The rates only have to put the orders into the right sequence, so they are constants:
/// the same network takes the same order, and gives the same bits, on every machine.
///
/// They are those of a small desktop with AVX-512: necessary operations by the best of several times. `nkn bench rates`
/// (`rates.rs`) takes the same measurement anywhere, layers and the forming of K apart. Work that leaves out idle units carries out fewer
/// operations than are counted, so its rate can exceed that of a large matrix product (`nkn bench peak`).
mod rate {
    /// K = W phi + b and its derivatives, in operations a second, idle features left out.
    pub const FORM: f64 = 2.4e11;
    /// Products with one dense matrix A.
    pub const DENSE: f64 = 1.2e11;
    /// Products with the blocks of one A for all samples, on blocks so large that their overhead does not show.
    pub const SHARED: f64 = 1.6e11;
    /// Products with the blocks of some samples each, likewise.
    pub const BLOCKS: f64 = 1.5e11;
    /// Features contracted with the state first, in a prediction, idle features left out.
    pub const CONTRACT: f64 = 1.7e11;
    /// The same with its derivatives, all features taking part.
    pub const CONTRACT_TRAINING: f64 = 1e11;
    /// The kernel network up to its last hidden layer, idle units left out.
    pub const EVALUATE: f64 = 3e11;
    /// Blocks that come from main memory, in bytes a second.
    pub const MEMORY: f64 = 1.2e10;
    /// A block of d x d numbers costs as much overhead as this many numbers more would, one A for all samples.
    pub const SHARED_OVERHEAD: f64 = 64.0;
    /// The same for blocks of some samples each, whose states are gathered first.
    pub const BLOCKS_OVERHEAD: f64 = 256.0;
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

impl Plan {
    /// Necessary operations, time and memory of one evolution in the given order, with the last layer of the kernel network
    /// and, in training, with all derivatives.
    pub fn cost(&self, order: Order) -> Cost {
        let purpose = &self.purpose;
        let depth = match self.integrator() {
            Integrator::Exponential => Integrator::Exponential.products(),
            integrator => self.depth as f64 * integrator.products(),
        };
        let (d, samples) = (self.width as f64, self.samples() as f64);
        let (nodes, edges, rows) = (self.nodes() as f64, self.edges() as f64, self.kernel_rows() as f64);
        let features = purpose.features as f64;
        // A product has two factors, hence two more products for their derivatives.
        let passes = if purpose.training { 3.0 } else { 1.0 };
        let kept = if purpose.training { 2.0 * (depth + 1.0) } else { 2.0 };
        let states = kept * samples * nodes * d;
        let form = passes * 2.0 * rows * d * d * features;
        let flops = passes * 2.0 * depth * samples * edges * d * d;
        let gradients = if purpose.training { 2.0 } else { 1.0 };
        let (flops, seconds, numbers) = match order {
            Order::Dense => {
                let size = nodes * d;
                let flops = passes * 2.0 * depth * samples * size * size;
                (form + flops, form / rate::FORM + flops / rate::DENSE, 3.0 * size * size + rows * d * d)
            }
            Order::Shared => {
                // Blocks that are made in passing are made once more for the adjoint.
                let (made, kept) = match self.makes_blocks_in_passing() {
                    true => (form * (passes + gradients - 1.0) / passes, 0.0),
                    false => (form, (2.0 * gradients - 1.0) * rows * d * d),
                };
                let seconds = made / rate::FORM + flops * (1.0 + rate::SHARED_OVERHEAD / (d * d)) / rate::SHARED;
                (form + flops, seconds, kept)
            }
            Order::Blocks => {
                // Every block comes from main memory once per layer and direction.
                let traffic = 4.0 * rows * d * d * depth * gradients;
                let products = flops * (1.0 + rate::BLOCKS_OVERHEAD / (d * d)) / rate::BLOCKS;
                let seconds = form / rate::FORM + products + traffic / rate::MEMORY;
                let sent = if purpose.training { samples * edges * d } else { 0.0 };
                (form + flops, seconds, (2.0 * gradients - 1.0) * rows * d * d + sent)
            }
            Order::Contracted => {
                // Backward contracts once more instead of keeping every Z.
                let by_edge = if purpose.training { 4.0 } else { 1.0 };
                let flops = depth * 2.0 * samples * d * features * (by_edge * edges + passes * nodes * d);
                let lanes = if purpose.training { 4.0 * d * d * features + samples * edges * d } else { 0.0 };
                (flops, flops / if purpose.training { rate::CONTRACT_TRAINING } else { rate::CONTRACT }, lanes)
            }
        };
        let held = 4.0 * gradients * rows * features;
        if order == Order::Contracted && !purpose.training {
            // Features that do not fit are evaluated again in every layer.
            let share = (purpose.budget / held).min(1.0);
            let again = rows * purpose.hidden_flops * (depth - 1.0) * (1.0 - share);
            let bytes = (4.0 * states + held).min(purpose.budget.max(4.0 * states));
            return Cost { flops, seconds: seconds + again / rate::EVALUATE, bytes };
        }
        Cost { flops, seconds, bytes: 4.0 * (numbers + states) + held }
    }
}

#[cfg(test)]
mod tests {
    use super::super::rates::{plan, purpose};
    use super::*;
    use crate::operator::Purpose;

    #[test]
    fn costs_grow_with_the_work() {
        for training in [false, true] {
            let purpose = purpose(64, training);
            let (small, deep) =
                (plan(8, 3, 8, 2, false, &purpose).unwrap(), plan(8, 3, 8, 4, false, &purpose).unwrap());
            for order in [Order::Dense, Order::Shared, Order::Blocks, Order::Contracted] {
                let (a, b) = (small.cost(order), deep.cost(order));
                assert!(a.flops < b.flops && a.seconds < b.seconds && a.bytes <= b.bytes, "{order:?}");
            }
        }
    }

    #[test]
    fn a_small_budget_takes_the_order_that_needs_least() {
        let rich = purpose(512, true);
        let poor = Purpose { budget: 1.0, ..rich };
        let of = |purpose: &Purpose| plan(16, 2, 64, 16, true, purpose).unwrap().order;
        assert_eq!((of(&rich), of(&poor)), (Order::Blocks, Order::Contracted));
    }
}
