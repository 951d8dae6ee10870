//! From images to the reference grid by responses: the nonlocal kernel network on images without a state per sample and pixel.
//!
//! With one or two layers nothing but sums of features, small products and the links from the pixels to the reference grid are left; with more, the first
//! layer is taken so and the others by the evolution.

use super::pixels::{self, Graph};
use super::reach::{First, Last, Level, before_the_first};
use super::responses::{last_layer, meet};
use crate::Result;
use crate::model::equation::Equation;
use crate::model::image::{Network, Pass};
use crate::model::maps::PixelMap;
use burn::tensor::{Tensor, TensorData};
use std::sync::Arc;

/// What the way from images of one resolution to the reference grid is made of.
#[derive(Debug)]
pub(crate) struct Linear {
    graph: Arc<Graph>,
    start: Start,
    /// With one or two layers.
    last: Option<Arc<Last>>,
}

/// How the responses begin.
#[derive(Debug)]
enum Start {
    /// Before the first layer: how they are put together.
    Before(Arc<Level>, PixelMap),
    /// After the first layer.
    After(First),
}

impl Linear {
    pub fn new(network: &Network, graph: Arc<Graph>) -> Self {
        let (side, channels) = (graph.side(), network.shape.channels);
        let (edges, step) = (&graph.plan().graph, network.step());
        let start = if network.depth == 1 {
            let (level, assemble) = before_the_first(edges.nodes(), channels);
            Start::Before(level, assemble)
        } else {
            Start::After(First::new(edges, step, channels, &pixels::coordinates(side)))
        };
        let average = PixelMap::average(side, network.config.reference);
        let last = || Arc::new(Last::new(edges, step, start.level(), &average));
        let last = (network.depth <= 2).then(last);
        Self { last, graph, start }
    }

    /// Operations of the products, without the kernel network up to its last hidden layer, whose width is `features`.
    pub fn flops(&self, network: &Network, samples: usize, features: usize) -> f64 {
        let (d, channels) = (network.config.width, network.shape.channels);
        let first = match &self.start {
            Start::Before(..) => 0,
            Start::After(first) => {
                2 * (features + 1) * d * (channels * first.pixels.rows().len() + first.places.rows().len())
            }
        };
        let level = self.last.as_ref().map_or_else(|| self.start.level(), |last| last.to.clone());
        let meet = 2 * d * samples * level.all_rows();
        let last = self
            .last
            .as_ref()
            .map_or(0.0, |last| (2 * (features + 1) * d * d * last.sources.len()) as f64 + last.flops(d));
        (first + meet) as f64 + last
    }

    /// The state on the reference grid, its nodes x samples x d. `weight` (d x (2 + channels)) multiplies coordinates and image in the initial state, `bias` (d) is added.
    pub fn forward(&self, pass: &Pass, images: Tensor<3>, weight: Tensor<2>, bias: Tensor<1>) -> Result<Tensor<3>> {
        let [d, inputs] = weight.dims();
        let equation = pixels::evaluate(pass, "", &self.graph)?;
        let own = Own::new(pass, &equation, &self.graph, &images, weight.clone(), bias);
        let terms = Terms::new(&equation, d);
        let responses = match &self.start {
            Start::Before(_, assemble) => {
                let rows = Tensor::cat(vec![own.place, own.seen], 0);
                let count = rows.dims()[0];
                assemble.apply(rows.reshape([count, 1, d]), pass.engine)
            }
            Start::After(first) => {
                let sum = |map: &PixelMap| terms.sum(map, pass);
                let nodes = self.graph.plan().nodes();
                let width = terms.width();
                // The kernel's last layer times each vector: outputs x features x inputs.
                let contracted = terms.weight.clone().permute([0, 2, 1]).reshape([d * width, d]).matmul(weight);
                let contracted = contracted.reshape([d, width, inputs]);
                let by_place =
                    contracted.clone().slice([0..d, 0..width, 0..2]).permute([2, 1, 0]).reshape([2 * width, d]);
                let constant = own.constant + sum(&first.places).reshape([nodes, 2 * width]).matmul(by_place);
                let channels = inputs - 2;
                let by_pixel =
                    contracted.slice([0..d, 0..width, 2..inputs]).permute([1, 2, 0]).reshape([width, channels * d]);
                let rows = first.pixels.rows().len() * channels;
                let pixels = sum(&first.pixels).matmul(by_pixel).reshape([rows, d]);
                let rows = Tensor::cat(vec![constant, pixels, own.pixels], 0);
                let count = rows.dims()[0];
                first.assemble.apply(rows.reshape([count, 1, d]), pass.engine)
            }
        };
        let Some(last) = &self.last else {
            let state = meet(responses, images, self.start.level());
            let depth = pass.network.depth - 1;
            let state = pixels::evolve(pass, equation, state, depth)?;
            return Ok(PixelMap::average(pass.side, pass.network.config.reference).apply(state, pass.engine));
        };
        // Blocks column by column: features x (columns x rows).
        let width = terms.width();
        let kernel = terms.weight.clone().permute([2, 1, 0]).reshape([width, d * d]);
        let links = last.sources.len() * d * d;
        let blocks = terms.sum(&last.features, pass).matmul(kernel).reshape([links]);
        let constant = (equation.source * pass.network.step()).reshape([1, 1, d]);
        let responses = last_layer(responses, blocks, own.blocks, constant, last.clone());
        Ok(meet(responses, images, last.to.clone()))
    }
}

impl Start {
    fn level(&self) -> Arc<Level> {
        match self {
            Start::Before(level, _) => level.clone(),
            Start::After(first) => first.level.clone(),
        }
    }
}

/// The kernel network from its last hidden layer on.
struct Terms {
    /// The features and a column of ones: edges x 1 x width.
    features: Tensor<3>,
    /// Weight and bias: rows x columns of K x width.
    weight: Tensor<3>,
}

impl Terms {
    fn new(equation: &Equation, d: usize) -> Self {
        let [edges, width] = equation.features.dims();
        let options = (&equation.features.device(), equation.features.dtype());
        let features = Tensor::cat(vec![equation.features.clone(), Tensor::ones([edges, 1], options)], 1);
        let split = d * d * width;
        let weight = equation.last_layer.clone().slice(0..split).reshape([d * d, width]);
        let bias = equation.last_layer.clone().slice(split..split + d * d).reshape([d * d, 1]);
        let weight = Tensor::cat(vec![weight, bias], 1).reshape([d, d, width + 1]);
        Self { features: features.reshape([edges, 1, width + 1]), weight }
    }

    fn width(&self) -> usize {
        self.features.dims()[2]
    }

    /// Sums of features, rows x width.
    fn sum(&self, map: &PixelMap, pass: &Pass) -> Tensor<2> {
        let sums = map.apply(self.features.clone(), pass.engine);
        let [rows, _, width] = sums.dims();
        sums.reshape([rows, width])
    }
}

/// What a node does to its own initial state in a layer, besides the kernel: I - dt R(x).
struct Own {
    /// The part of the initial state that does not depend on the image: nodes x d.
    place: Tensor<2>,
    /// The vectors that the channels multiply: channels x d.
    seen: Tensor<2>,
    /// The first after a layer, with the source: nodes x d.
    constant: Tensor<2>,
    /// The second after a layer: (nodes x channels) x d.
    pixels: Tensor<2>,
    /// The matrices I - dt R(x), column by column.
    blocks: Tensor<1>,
}

impl Own {
    fn new(
        pass: &Pass,
        equation: &Equation,
        graph: &Graph,
        images: &Tensor<3>,
        weight: Tensor<2>,
        bias: Tensor<1>,
    ) -> Self {
        let options = (&images.device(), images.dtype());
        let (nodes, step) = (graph.plan().nodes(), pass.network.step());
        let [d, inputs] = weight.dims();
        let channels = inputs - 2;
        // Coordinates and one.
        let points: Vec<f64> = pixels::coordinates(graph.side()).into_iter().flat_map(|[a, b]| [a, b, 1.0]).collect();
        let points = Tensor::<2>::from_data(TensorData::new(points, [nodes, 3]), options);
        let by_point = Tensor::cat(vec![weight.clone().slice([0..d, 0..2]), bias.reshape([d, 1])], 1);
        let place = points.clone().matmul(by_point.clone().transpose());
        let seen = weight.slice([0..d, 2..inputs]);
        let columns = Tensor::cat(vec![by_point, seen.clone()], 1);
        let reacted =
            equation.reaction.clone().reshape([nodes * d, d]).matmul(columns).reshape([nodes, d, 3 + channels]);
        let by_point = reacted.clone().slice([0..nodes, 0..d, 0..3]) * points.reshape([nodes, 1, 3]);
        let lost = by_point.sum_dim(2).reshape([nodes, d]);
        let constant = place.clone() + (equation.source.clone().reshape([1, d]) - lost) * step;
        let seen = seen.transpose();
        let lost = reacted.slice([0..nodes, 0..d, 3..3 + channels]).swap_dims(1, 2);
        let pixels = (seen.clone().reshape([1, channels, d]) - lost * step).reshape([nodes * channels, d]);
        let reaction = equation.reaction.clone().reshape([nodes, d, d]).swap_dims(1, 2);
        let unit = Tensor::<2>::eye(d, &images.device()).cast(images.dtype()).reshape([1, d, d]);
        let blocks = (unit - reaction * step).reshape([nodes * d * d]);
        Self { place, seen, constant, pixels, blocks }
    }
}
