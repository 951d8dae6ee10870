//! The nonlocal kernel network on images (Section 5.3 of the paper):
//!
//! h(x, t + dt) = h(x, t) + dt ( integral over |y - x| < r of k(x, y) (h(y, t) - h(x, t)) dy - R(x) h(x, t) + c )
//!
//! with h(x, 0) = P (x, b(x)) + p and u(x) = Q h(x, T) + q. The paper's network is affine in the pixels up to here, so its readout must not be: u is averaged onto a
//! fixed reference grid, which any resolution can feed, and goes through a dense layer with ReLU.
//!
//! Up to the readout all layers are linear in the image, which [`responses`](super::responses) makes use of.
//!
//! The kernel network sees x, scaled to the square from -1 to 1, and (y - x) / r: the same functions as k(x, y), in coordinates of size one.
//! It does not see the image, so there is one block per edge for any batch.

use super::responses::ByResponses;
use crate::Result;
use crate::convolution::Convolution;
use crate::domain::connect_pixels;
use crate::engine::Engine;
use crate::kernel::{RowTable, mlp};
use crate::model::image::{Averages, Network, Pass, head_group};
use crate::model::layers::lift;
use crate::model::maps::PixelMap;
use crate::model::parameters::{Group, ParameterTensors, equation_groups, kernel_shape, reaction_shape};
use crate::operator::{Equation, Integrator, Plan, Purpose, Update};
use burn::tensor::{Tensor, TensorData};
use std::sync::Arc;

/// Resolution, samples, layers, whether derivatives are wanted.
pub type GraphKey = (usize, usize, usize, bool);

/// The edges of an image with what the kernel and the reaction see.
#[derive(Debug)]
pub struct Graph {
    pub(super) plan: Arc<Plan>,
    edges: Vec<f32>,
    points: Vec<f32>,
}

impl Graph {
    /// Pixels per side.
    pub fn side(&self) -> usize {
        self.plan.nodes().isqrt()
    }
}

pub(crate) fn layout(network: &Network) -> Result<Vec<Group>> {
    let d = network.config.width;
    let mut groups = vec![Group::linear("lift", 2 + network.shape.channels, d)];
    groups.extend(equation_groups(&network.config, 2, "")?);
    groups.push(Group::linear("project", d, d));
    groups.push(head_group(network)?);
    Ok(groups)
}

/// Operations of the products of a forward evolution; `images` if it begins with them.
pub(crate) fn flops(network: &Network, side: usize, samples: usize, depth: usize, images: bool) -> Result<f64> {
    let d = network.config.width as f64;
    let plan = |depth| Ok(graph(network, (side, samples, depth, false))?.plan.clone());
    // The diagonal block is a product too.
    let layers = |plan: &Plan| 2.0 * d * d * ((plan.edges() + plan.nodes()) * samples * plan.depth) as f64;
    let kernel = kernel_shape(&network.config, 2)?;
    let nodes = (side * side) as f64 * reaction_shape(&network.config, 2)?.flops();
    if !images {
        let plan: Arc<Plan> = plan(depth)?;
        return Ok(layers(&plan) + nodes + plan.edges() as f64 * kernel.flops());
    }
    let responses = by_responses(network, side)?;
    let features = network.config.kernel.last().copied().unwrap_or(4);
    let hidden = kernel.hidden().map_or(0.0, |hidden| hidden.flops());
    let plan: Arc<Plan> = plan(if depth > 2 { depth - 1 } else { 0 })?;
    let by_samples = if depth > 2 { layers(&plan) + plan.edges() as f64 * (kernel.flops() - hidden) } else { 0.0 };
    Ok(by_samples + nodes + plan.edges() as f64 * hidden + responses.flops(network, samples, features))
}

/// The coordinates of a pixel's middle, from -1 to 1.
pub(crate) fn coordinates(side: usize) -> Vec<[f64; 2]> {
    let at = |i: usize| (2 * i + 1) as f64 / side as f64 - 1.0;
    (0..side * side).map(|node| [at(node / side), at(node % side)]).collect()
}

fn graph(network: &Network, key: GraphKey) -> Result<Arc<Graph>> {
    let mut graphs = network.graphs.lock().expect("nobody panics with it");
    if let Some(graph) = graphs.get(&key) {
        return Ok(graph.clone());
    }
    let (side, samples, depth, training) = key;
    let config = &network.config;
    let extent = network.shape.extent;
    let edges = connect_pixels(side, extent, config.pixel_radius(), config.quadrature)?;
    let places = coordinates(side);
    let mut inputs = Vec::with_capacity(4 * edges.edges());
    for x in 0..edges.nodes() {
        for (y, _) in edges.row(x) {
            let apart = |axis: usize| (places[y][axis] - places[x][axis]) * extent / 2.0 / config.pixel_radius();
            inputs.extend([places[x][0], places[x][1], apart(0), apart(1)].map(|v| v as f32));
        }
    }
    let hidden = kernel_shape(&network.config, 2)?.hidden();
    let purpose = Purpose {
        features: config.kernel.last().copied().unwrap_or(4),
        hidden_flops: hidden.map_or(0.0, |hidden| hidden.flops()),
        rectified: !config.kernel.is_empty(),
        training,
        nodes_first: true,
        integrator: Integrator::Euler,
        tolerance: None,
        budget: f64::INFINITY,
    };
    let update = Update::DiffusionReaction { step: network.step() };
    let rows = RowTable::shared(edges.edges(), samples);
    let plan = Arc::new(Plan::new(config.width, depth, update, edges, rows, &purpose));
    let points = places.iter().flatten().map(|&v| v as f32).collect();
    let graph = Arc::new(Graph { plan, edges: inputs, points });
    // The last batch of an epoch is smaller than the others; more sizes than these do not occur at a time.
    if graphs.len() >= 8 {
        graphs.clear();
    }
    graphs.insert(key, graph.clone());
    Ok(graph)
}

/// The way from images of a resolution to the reference grid: made once.
pub(super) fn by_responses(network: &Network, side: usize) -> Result<Arc<ByResponses>> {
    let graph = graph(network, (side, 1, 1, false))?;
    let mut made = network.responses.lock().expect("nobody panics with it");
    Ok(made.entry(side).or_insert_with(|| Arc::new(ByResponses::new(network, graph))).clone())
}

/// The equation whose groups have this prefix.
pub(crate) fn evaluate(pass: &Pass, prefix: &str, graph: &Graph) -> Result<Equation> {
    let network = pass.network;
    let like = pass.parameters.get(&format!("{prefix}source"));
    let options = (&like.device(), like.dtype());
    let edges = graph.edges.len() / 4;
    let inputs = Tensor::<2>::from_data(TensorData::new(graph.edges.clone(), [edges, 4]), options);
    let points = Tensor::<2>::from_data(TensorData::new(graph.points.clone(), [graph.plan.nodes(), 2]), options);
    let get = |part: &str| pass.parameters.get(&format!("{prefix}{part}"));
    let reaction = mlp(points, get("reaction"), &reaction_shape(&network.config, 2)?, pass.engine);
    let shape = kernel_shape(&network.config, 2)?;
    Ok(Equation::new(inputs, get("kernel"), &shape, (reaction, get("source")), pass.engine))
}

/// Some steps of the equation whose groups have this prefix.
pub(crate) fn steps(pass: &Pass, prefix: &str, state: Tensor<3>, depth: usize) -> Result<Tensor<3>> {
    let graph = graph_of(pass, &state, depth)?;
    evaluate(pass, prefix, &graph)?.evolve(state, &graph.plan, pass.engine)
}

/// Some steps of an equation.
pub(crate) fn evolve(pass: &Pass, equation: Equation, initial: Tensor<3>, depth: usize) -> Result<Tensor<3>> {
    let graph = graph_of(pass, &initial, depth)?;
    equation.evolve(initial, &graph.plan, pass.engine)
}

fn graph_of(pass: &Pass, state: &Tensor<3>, depth: usize) -> Result<Arc<Graph>> {
    let [nodes, samples, _] = state.dims();
    graph(pass.network, (nodes.isqrt(), samples, depth, pass.is_training()))
}

/// All steps from P (x, b(x)) + p to the reference grid, sample by sample.
pub(super) fn plain_steps(pass: &Pass, images: Tensor<3>, weight: Tensor<2>, bias: Tensor<1>) -> Result<Tensor<3>> {
    let [nodes, _, channels] = images.dims();
    let [d, inputs] = weight.dims();
    let points: Vec<f64> = coordinates(pass.side).into_iter().flatten().collect();
    let points = Tensor::<2>::from_data(TensorData::new(points, [nodes, 2]), (&images.device(), images.dtype()));
    let place = points.matmul(weight.clone().slice([0..d, 0..2]).transpose()) + bias.reshape([1, d]);
    let seen = weight.slice([0..d, 2..inputs]).reshape([d * channels]);
    let state = lift(images, seen, place.reshape([nodes * d]), pass.engine);
    let state = steps(pass, "", state, pass.network.depth)?;
    Ok(PixelMap::average(pass.side, pass.network.config.reference).apply(state, pass.engine))
}

pub(crate) fn forward(pass: &Pass, images: Tensor<3>) -> Result<Tensor<2>> {
    let network = pass.network;
    let d = network.config.width;
    let inputs = 2 + network.shape.channels;
    let parameters = pass.parameters.get("lift");
    let weight = parameters.clone().slice(0..inputs * d).reshape([d, inputs]);
    let bias = parameters.slice(inputs * d..(inputs + 1) * d);
    let state = if pass.engine.is_fused(&images.device()) {
        by_responses(network, pass.side)?.forward(pass, images, weight, bias)?
    } else {
        plain_steps(pass, images, weight, bias)?
    };
    // Averaging and Q commute; the average leaves less to multiply.
    let project = pass.parameters.get("project");
    let pointwise = Convolution { side: network.config.reference, filter: 1, stride: 1, inputs: d, outputs: d };
    let bias = project.clone().slice(d * d..d * d + d);
    Ok(pass.head(pointwise.apply(state, project.slice(0..d * d), Some(bias), None, pass.engine)))
}

/// The edges of images of a resolution, the kernel's blocks, one per edge, and the reaction matrices of the equation with this prefix.
pub(crate) fn pixel_blocks(
    network: &Network,
    parameters: &ParameterTensors,
    prefix: &str,
    side: usize,
) -> Result<(Arc<Plan>, Vec<f64>, Vec<f64>)> {
    let graph = graph(network, (side, 1, 1, false))?;
    let equation = evaluate(&Pass::predicting(network, parameters, &Averages::new(), side), prefix, &graph)?;
    let values = |tensor: Tensor<2>| tensor.into_data().iter::<f64>().collect();
    Ok((graph.plan.clone(), values(equation.blocks()), values(equation.reaction)))
}

/// The learned kernel around one pixel.
#[derive(Clone, Debug, PartialEq)]
pub struct Stencil {
    /// The radius, in pixels of the original images.
    pub radius: f64,
    /// The pixel's middle: row and column, in pixels of the original images.
    pub at: (f64, f64),
    /// Where each neighbour lies from there: rows and columns, in the same unit.
    pub offsets: Vec<(f64, f64)>,
    /// The width of a neighbour's cell.
    pub cell: f64,
    /// w K of each neighbour, d x d, row by row.
    pub blocks: Vec<Vec<f64>>,
}

/// The kernel of the equation with this prefix, around the pixel in this row and column of the training's grid.
pub fn stencil(
    network: &Network,
    parameters: &crate::model::Parameters,
    prefix: &str,
    (row, column): (usize, usize),
) -> Result<Stencil> {
    let side = network.shape.side;
    let graph = graph(network, (side, 1, 1, false))?;
    let x = row * side + column;
    let shape = kernel_shape(&network.config, 2)?;
    let device = burn::tensor::Device::flex();
    let neighbours: Vec<(usize, f64)> = graph.plan.graph.row(x).collect();
    let inputs = graph.edges[4 * graph.plan.graph.offsets()[x]..][..4 * neighbours.len()].to_vec();
    let inputs = Tensor::<2>::from_data(TensorData::new(inputs, [neighbours.len(), 4]), &device);
    let kernel = Tensor::<1>::from_floats(parameters.group(&format!("{prefix}kernel")).values.as_slice(), &device);
    let blocks: Vec<f64> = mlp(inputs, kernel, &shape, Engine::Automatic).into_data().iter::<f64>().collect();
    let cell = network.shape.extent / side as f64;
    let middle = |at: usize| (at as f64 + 0.5) * cell;
    let offset = |y: usize| (middle(y / side) - middle(row), middle(y % side) - middle(column));
    let weighted = blocks.chunks_exact(network.config.width * network.config.width).zip(&neighbours);
    Ok(Stencil {
        radius: network.config.pixel_radius(),
        at: (middle(row), middle(column)),
        offsets: neighbours.iter().map(|&(y, _)| offset(y)).collect(),
        cell,
        blocks: weighted.map(|(block, (_, weight))| block.iter().map(|k| weight * k).collect()).collect(),
    })
}
