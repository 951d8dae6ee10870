//! The fast way of the nonlocal kernel network on images: carry what single pixels do, not a state per sample.
//!
//! **Derivation.** Up to the readout the network is affine in the pixels. With edges x <- y of weight w(x, y),
//!
//! ```text
//! h_0(x)     = P_x x + P_b b(x) + p
//! h_l+1(x)   = (I - dt R(x)) h_l(x) + dt c + sum over y of dt w(x, y) K(x, y) (h_l(y) - h_l(x))
//! h_ref(q)   = sum over x of share(q, x) h_L(x)            at the cells q of the reference grid
//! ```
//!
//! so for every layer there are vectors C_l(x, i) of d numbers, the *responses*, which are the same for all samples:
//!
//! ```text
//! h_l(x)     = C_l(x, 1) + sum over the pixels z that reach x (and their channels) of C_l(x, z) b(z)
//! C_0(x, 1)  = P_x x + p        C_0(x, x) = P_b        C_0(x, z) = 0 otherwise
//! ```
//!
//! The responses obey the equation of h, with the inputs i (the constant 1, and every channel of every pixel) in
//! place of samples. And K is affine in the features of its last hidden layer, K(x, y) = W (phi(x, y), 1), so any sum
//! of K's is W times a sum of features, with weights that are known before a training begins.
//!
//! 1. **First layer** ([`first_layer`]). C_0(y, y) = P_b is the same vector everywhere, so C_1(x, z) is W P_b, which
//!    is small and made once, times a sum of features. The constants are affine in x and K acts on differences, so
//!    C_1(x, 1) takes W P_x times sums that are weighted with y - x. What R and c do at x itself is in [`initial`].
//! 2. **Last layer and average** ([`links`], [`last_layer`]). Both are linear, so they are one step from the nodes y
//!    to the cells q: C(q, i) = sum over y of B(q, y) C(y, i), plus dt c for i = 1. Each *link* q <- y has one block,
//!    B(q, y) = share(q, y) (I - dt R(y)) + a sum of K's, and that is W times a sum of features: K is never formed on
//!    edges.
//! 3. **Samples** ([`superpose`](mod@superpose)). Only now the batch comes in: h_ref(q) = C(q, 1) + sum of C(q, z)
//!    b(z), one product per cell.
//!
//! One layer is 2 and 3, beginning with C_0; two layers are 1, 2 and 3. With more layers the sets of pixels grow
//! until the samples are fewer: then 1 is followed by 3 at the nodes, and the evolution takes the other layers.
//!
//! **What is stored**, for a 2 x 2 image with one channel, neighbours along the sides, and one cell:
//!
//! ```text
//!   image     reached after layer 1          a table has one row of d numbers per pair, in this order
//!   b0 b1     node 0:  1  b0 b1 b2           rows  0..4
//!   b2 b3     node 1:  1  b0 b1    b3        rows  4..8
//!             node 2:  1  b0    b2 b3        rows  8..12
//!             node 3:  1     b1 b2 b3        rows 12..16
//!
//!   four links to the cell:  1  b0 b1 b2 b3  rows  0..5;  the link from node 2 adds its rows to rows 0, 1, 3, 4
//! ```
//!
//! **Operations** (multiplications and additions) of a forward pass on 28 x 28 pixels, r = 3, L = 2, d = 16, 32
//! features, 128 samples, reference grid 14 x 14, without the kernel's hidden layers:
//!
//! ```text
//! layer by layer: K on 17,172 edges 290 M, two layers 2 x 1,177 M                            2,644 M
//! by responses:   sums of features 7 M, first layer 21 M, blocks of 6,400 links 108 M,
//!                 links times responses 90 M, superposition at 196 cells of 85 rows 68 M       294 M
//! ```
//!
//! and what is kept for the derivatives are 18,740 rows of responses instead of 100,352 rows of samples in each
//! layer.

mod features;
mod first_layer;
mod initial;
mod last_layer;
mod links;
mod superpose;
mod table;
#[cfg(test)]
mod tests;

use super::pixels::{self, Graph};
use crate::Result;
use crate::model::image::{Network, Pass};
use crate::model::maps::PixelMap;
use burn::tensor::Tensor;
use features::AffineKernel;
use first_layer::FirstLayer;
use initial::Initial;
use links::Links;
use std::sync::Arc;
use superpose::superpose;
use table::ResponseTable;

/// The way from images of one resolution to the reference grid, without the numbers of the network.
#[derive(Debug)]
pub(crate) struct ByResponses {
    graph: Arc<Graph>,
    /// Which inputs reach the nodes where the responses begin: after the first layer, or before it if that is also the
    /// last.
    table: Arc<ResponseTable>,
    /// From the rows of [`Initial::responses`] or [`FirstLayer::responses`] to those of the table.
    assemble: PixelMap,
    /// With two layers or more.
    first: Option<FirstLayer>,
    /// With one or two layers.
    last: Option<Arc<Links>>,
}

impl ByResponses {
    pub fn new(network: &Network, graph: Arc<Graph>) -> Self {
        let (edges, step, channels) = (&graph.plan.graph, network.step(), network.shape.channels);
        let (table, assemble, first) = if network.depth == 1 {
            let (table, assemble) = initial::table(edges.nodes(), channels);
            (table, assemble, None)
        } else {
            let table = first_layer::table(edges, channels);
            let first = FirstLayer::new(edges, step, &pixels::coordinates(graph.side()));
            let assemble = first_layer::assemble(&table, channels);
            (table, assemble, Some(first))
        };
        let table = Arc::new(table);
        let average = || PixelMap::average(graph.side(), network.config.reference);
        let last = (network.depth <= 2).then(|| Arc::new(Links::new(edges, step, table.clone(), &average())));
        Self { graph, table, assemble, first, last }
    }

    /// Operations of the products, without the kernel network up to its last hidden layer, whose width is `features`.
    pub fn flops(&self, network: &Network, samples: usize, features: usize) -> f64 {
        let (d, channels) = (network.config.width, network.shape.channels);
        let first = self.first.as_ref().map_or(0, |first| first.flops(d, channels, features));
        let last = self.last.as_ref().map_or(0, |links| links.flops(d, features));
        let superposed = self.last.as_ref().map_or(&self.table, |links| &links.to);
        (first + last + 2 * d * samples * superposed.rows()) as f64
    }

    /// The state on the reference grid, its nodes x samples x d, for images of pixels x samples x channels. In the
    /// initial state `weight` (d x (2 + channels)) multiplies coordinates and image, and `bias` (d) is added.
    pub fn forward(&self, pass: &Pass, images: Tensor<3>, weight: Tensor<2>, bias: Tensor<1>) -> Result<Tensor<3>> {
        let [d, _] = weight.dims();
        let step = pass.network.step();
        let equation = pixels::evaluate(pass, "", &self.graph)?;
        let initial = Initial::new(self.graph.side(), weight, bias);
        let kernel = AffineKernel::new(&equation, d, pass.engine);
        let rows = match &self.first {
            None => initial.responses(),
            Some(first) => first.responses(&initial, &kernel, &equation, step),
        };
        let [count, _] = rows.dims();
        let responses = self.assemble.apply(rows.reshape([count, 1, d]), pass.engine);
        if let Some(links) = &self.last {
            let responses = last_layer::apply(responses, &kernel, &equation, step, links);
            return Ok(superpose(responses, images, links.to.clone()));
        }
        let state = superpose(responses, images, self.table.clone());
        let state = pixels::evolve(pass, equation, state, pass.network.depth - 1)?;
        Ok(PixelMap::average(pass.side, pass.network.config.reference).apply(state, pass.engine))
    }
}
