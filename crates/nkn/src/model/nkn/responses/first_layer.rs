//! The first layer by responses: W times the vectors of the initial state, times sums of features.

use super::features::{AffineKernel, edges_of, sources_of};
use super::initial::Initial;
use super::table::{CONSTANT, ResponseTable, inputs_of};
use crate::domain::Neighbourhood;
use crate::model::maps::{Mixture, PixelMap};
use crate::operator::Equation;
use burn::tensor::Tensor;

/// The sums of features in the first layer.
#[derive(Clone, Debug)]
pub(super) struct FirstLayer {
    /// For each pixel that reaches a node, in the order of the table.
    pixel_sums: PixelMap,
    /// For each node and coordinate.
    place_sums: PixelMap,
}

/// What the nodes depend on after the first layer: their own pixel and their neighbours'.
pub(super) fn table(graph: &Neighbourhood, channels: usize) -> ResponseTable {
    let inputs = |x: usize| {
        let pixels = sources_of(graph, [x].into_iter());
        [CONSTANT].into_iter().chain(pixels.into_iter().flat_map(|z| inputs_of(z, channels))).collect()
    };
    ResponseTable::new((0..graph.nodes()).map(inputs))
}

/// From the rows of [`FirstLayer::responses`] to those of the table: what the reaction leaves of a node's own pixel is
/// added to what the kernel takes from it.
pub(super) fn assemble(table: &ResponseTable, channels: usize) -> PixelMap {
    let nodes = table.nodes();
    // The constants and the pairs of node and pixel are as many as the table has rows; what the reaction leaves comes
    // after them.
    let own = table.rows() as u32;
    let mut mixtures: Vec<Mixture> = Vec::with_capacity(table.rows());
    for x in 0..nodes {
        let own_inputs = inputs_of(x as u32, channels);
        for (row, &input) in table.rows_of(x).zip(table.inputs(x)) {
            mixtures.push(match input {
                CONSTANT => vec![(x, 1.0)],
                input => {
                    let constants_up_to_here = x + 1;
                    let left = own_inputs.contains(&input).then_some(((own + input - 1) as usize, 1.0));
                    [(nodes + row - constants_up_to_here, 1.0)].into_iter().chain(left).collect()
                }
            });
        }
    }
    PixelMap::from_rows(mixtures, table.rows() + nodes * channels)
}

impl FirstLayer {
    /// For nodes at these places.
    pub fn new(graph: &Neighbourhood, step: f64, places: &[[f64; 2]]) -> Self {
        // What x takes from pixel z: the edge from there, or, of its own pixel, less all its edges.
        let of_pixel = |(x, z): (usize, usize)| -> Mixture {
            let edges = edges_of(graph, step, x).filter(|&(_, y, _)| z == x || z == y);
            edges.map(|(edge, _, weight)| (edge, if z == x { -weight } else { weight })).collect()
        };
        let of_place = |(x, axis): (usize, usize)| -> Mixture {
            let apart = |y: usize| places[y][axis] - places[x][axis];
            edges_of(graph, step, x).map(|(edge, y, weight)| (edge, weight * apart(y))).collect()
        };
        let pixels = |x: usize| sources_of(graph, [x].into_iter()).into_iter().map(move |z| (x, z as usize));
        let map = |rows| PixelMap::from_rows(rows, graph.edges());
        Self {
            pixel_sums: map((0..graph.nodes()).flat_map(pixels).map(of_pixel).collect()),
            place_sums: map((0..graph.nodes()).flat_map(|x| [(x, 0), (x, 1)]).map(of_place).collect()),
        }
    }

    /// Operations of the products.
    pub fn flops(&self, d: usize, channels: usize, features: usize) -> usize {
        2 * (features + 1) * d * (channels * self.pixel_sums.rows().len() + self.place_sums.rows().len())
    }

    /// The constants of the nodes, what the kernel takes from each pixel and channel, and what the reaction leaves of
    /// each node's own.
    pub fn responses(&self, initial: &Initial, kernel: &AffineKernel, equation: &Equation, step: f64) -> Tensor<2> {
        let [constants, own] = initial.after_reaction(equation, step);
        let ([nodes, d], [_, inputs], width) = (constants.dims(), initial.weight.dims(), kernel.width());
        // W times each vector of the initial state: d x width x inputs.
        let products = kernel.weight.clone().permute([0, 2, 1]).reshape([d * width, d]).matmul(initial.weight.clone());
        let products = products.reshape([d, width, inputs]);
        let by_place = products.clone().slice([0..d, 0..width, 0..2]).permute([2, 1, 0]).reshape([2 * width, d]);
        let constants = constants + kernel.sum(&self.place_sums).reshape([nodes, 2 * width]).matmul(by_place);
        let channels = inputs - 2;
        let by_pixel = products.slice([0..d, 0..width, 2..inputs]).permute([1, 2, 0]).reshape([width, channels * d]);
        let rows = self.pixel_sums.rows().len() * channels;
        let pixels = kernel.sum(&self.pixel_sums).matmul(by_pixel).reshape([rows, d]);
        Tensor::cat(vec![constants, pixels, own], 0)
    }
}
