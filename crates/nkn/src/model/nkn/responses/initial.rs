//! The initial state h_0(x) = P_x x + p + P_b b(x), and what a layer without its kernel leaves of it.

use super::table::{CONSTANT, ResponseTable, inputs_of};
use crate::model::maps::PixelMap;
use crate::model::nkn::pixels;
use crate::operator::Equation;
use burn::tensor::{Tensor, TensorData};

/// What the nodes depend on before the first layer, their own pixel, and the way there from [`Initial::responses`],
/// where the channels have one vector for all nodes.
pub(super) fn table(nodes: usize, channels: usize) -> (ResponseTable, PixelMap) {
    let inputs = |x: u32| [CONSTANT].into_iter().chain(inputs_of(x, channels)).collect();
    let rows = (0..nodes).flat_map(|x| [x].into_iter().chain(nodes..nodes + channels)).map(|from| vec![(from, 1.0)]);
    (ResponseTable::new((0..nodes as u32).map(inputs)), PixelMap::from_rows(rows.collect(), nodes + channels))
}

/// The initial state in its parts.
pub(super) struct Initial {
    /// Coordinates and one: nodes x 3.
    points: Tensor<2>,
    /// P_x and p: d x 3.
    by_point: Tensor<2>,
    /// P_b: d x channels.
    by_channel: Tensor<2>,
    /// P_x and P_b: d x (2 + channels).
    pub weight: Tensor<2>,
}

impl Initial {
    pub fn new(side: usize, weight: Tensor<2>, bias: Tensor<1>) -> Self {
        let [d, inputs] = weight.dims();
        let points: Vec<f64> = pixels::coordinates(side).into_iter().flat_map(|[a, b]| [a, b, 1.0]).collect();
        let options = (&weight.device(), weight.dtype());
        Self {
            points: Tensor::from_data(TensorData::new(points, [side * side, 3]), options),
            by_point: Tensor::cat(vec![weight.clone().slice([0..d, 0..2]), bias.reshape([d, 1])], 1),
            by_channel: weight.clone().slice([0..d, 2..inputs]),
            weight,
        }
    }

    /// P_x x + p: nodes x d.
    fn constants(&self) -> Tensor<2> {
        self.points.clone().matmul(self.by_point.clone().transpose())
    }

    /// The constants of the nodes, then a vector per channel.
    pub fn responses(&self) -> Tensor<2> {
        Tensor::cat(vec![self.constants(), self.by_channel.clone().transpose()], 0)
    }

    /// After a layer without its kernel, by I - dt R(x) and the source: the constants, nodes x d, and the vectors of
    /// each node's own channels, (nodes x channels) x d.
    pub fn after_reaction(&self, equation: &Equation, step: f64) -> [Tensor<2>; 2] {
        let ([nodes, _], [d, channels]) = (self.points.dims(), self.by_channel.dims());
        let columns = Tensor::cat(vec![self.by_point.clone(), self.by_channel.clone()], 1);
        let lost = equation.reaction.clone().reshape([nodes * d, d]).matmul(columns).reshape([nodes, d, 3 + channels]);
        let by_point = lost.clone().slice([0..nodes, 0..d, 0..3]) * self.points.clone().reshape([nodes, 1, 3]);
        let by_point = by_point.sum_dim(2).reshape([nodes, d]);
        let constants = self.constants() + (equation.source.clone().reshape([1, d]) - by_point) * step;
        let by_channel = lost.slice([0..nodes, 0..d, 3..3 + channels]).swap_dims(1, 2);
        let channels_left = self.by_channel.clone().transpose().reshape([1, channels, d]) - by_channel * step;
        [constants, channels_left.reshape([nodes * channels, d])]
    }
}
