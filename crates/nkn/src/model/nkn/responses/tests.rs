//! Every step by hand on an image of 2 x 2 pixels, and the whole way against the network layer by layer in double
//! precision.

use super::table::{CONSTANT, inputs_of};
use super::*;
use crate::domain::{Neighbourhood, Quadrature, connect_pixels};
use crate::engine::Engine;
use crate::model::image::{Averages, Norms};
use crate::model::maps::Mixture;
use crate::model::parameters::{Group, ParameterTensors};
use crate::model::{ImageShape, Kind, ModelConfig, Parameters, Space};
use crate::operator::Equation;
use crate::seed::Seed;
use burn::tensor::{DType, Device, TensorData};

fn tensor<const D: usize>(values: &[f64], shape: [usize; D]) -> Tensor<D> {
    Tensor::from_data(TensorData::new(values.to_vec(), shape), (&Device::flex(), DType::F64))
}

/// A tensor that wants derivatives.
fn variable<const D: usize>(values: &[f64], shape: [usize; D]) -> Tensor<D> {
    let options = (&Device::flex().autodiff(), DType::F64);
    Tensor::from_data(TensorData::new(values.to_vec(), shape), options).require_grad()
}

fn numbers<const D: usize>(tensor: Tensor<D>) -> Vec<f64> {
    tensor.into_data().iter::<f64>().collect()
}

fn assert_close(own: &[f64], expected: &[f64], what: &str) {
    assert_eq!(own.len(), expected.len(), "{what}");
    let size = expected.iter().fold(1e-3, |largest: f64, v| largest.max(v.abs()));
    for (a, b) in own.iter().zip(expected) {
        assert!((a - b).abs() < 1e-11 * size, "{what}: {a} instead of {b}");
    }
}

fn some(count: usize, shift: usize) -> Vec<f64> {
    (0..count).map(|i| ((i * 7 + shift * 13 + 1) as f64 * 0.731).sin()).collect()
}

/// 2 x 2 pixels, neighbours along the sides.
fn square() -> Neighbourhood {
    connect_pixels(2, 2.0, 1.2, Quadrature::Mean).unwrap()
}

/// An equation on the square with d = 1 and one feature.
struct ByHand {
    graph: Neighbourhood,
    equation: Equation,
    /// K of each edge, row by row.
    kernel: Vec<f64>,
    reaction: Vec<f64>,
    places: Vec<[f64; 2]>,
}

const STEP: f64 = 0.25;
const SOURCE: f64 = 0.7;
/// P_x, P_b for one channel, p.
const LIFT: [f64; 4] = [0.3, -0.8, 1.1, 0.45];

impl ByHand {
    fn new() -> Self {
        let graph = square();
        let (features, reaction) = (some(graph.edges(), 1), some(graph.nodes(), 2));
        let (slope, offset) = (1.7, -0.6);
        let equation = Equation {
            features: tensor(&features, [graph.edges(), 1]),
            last_layer: tensor(&[slope, offset], [2]),
            reaction: tensor(&reaction, [graph.nodes(), 1]),
            source: tensor(&[SOURCE], [1]),
        };
        let kernel = features.iter().map(|phi| slope * phi + offset).collect();
        Self { graph, equation, kernel, reaction, places: pixels::coordinates(2) }
    }

    fn initial(&self) -> Initial {
        Initial::new(2, tensor(&LIFT[..3], [1, 3]), tensor(&LIFT[3..], [1]))
    }

    fn kernel(&self) -> AffineKernel {
        AffineKernel::new(&self.equation, 1, Engine::Automatic)
    }

    /// The constant of the initial state at a node.
    fn constant(&self, x: usize) -> f64 {
        LIFT[0] * self.places[x][0] + LIFT[1] * self.places[x][1] + LIFT[3]
    }

    /// One layer of a state, as the paper writes it.
    fn layer(&self, state: &[f64], source: f64) -> Vec<f64> {
        let next = |x: usize| {
            let edges = self.graph.offsets()[x]..;
            let taken: f64 =
                edges.zip(self.graph.row(x)).map(|(e, (y, w))| w * self.kernel[e] * (state[y] - state[x])).sum();
            state[x] + STEP * (taken - self.reaction[x] * state[x] + source)
        };
        (0..4).map(next).collect()
    }

    /// C_0(x, input) for all nodes.
    fn initial_response(&self, input: u32) -> Vec<f64> {
        (0..4)
            .map(|x| if input == CONSTANT { self.constant(x) } else { f64::from(input == x as u32 + 1) * LIFT[2] })
            .collect()
    }

    /// C_1(x, input) for all nodes.
    fn first_response(&self, input: u32) -> Vec<f64> {
        self.layer(&self.initial_response(input), if input == CONSTANT { SOURCE } else { 0.0 })
    }

    /// The rows of a table whose responses are these.
    fn rows(table: &ResponseTable, response: impl Fn(u32) -> Vec<f64>) -> Vec<f64> {
        let row = |x: usize| table.inputs(x).iter().map(|&input| response(input)[x]).collect::<Vec<f64>>();
        (0..table.nodes()).flat_map(row).collect()
    }
}

/// The picture in the head of this module.
#[test]
fn what_is_stored() {
    let graph = square();
    let table = first_layer::table(&graph, 1);
    let reached: Vec<&[u32]> = (0..4).map(|x| table.inputs(x)).collect();
    assert_eq!(reached, [[0, 1, 2, 3], [0, 1, 2, 4], [0, 1, 3, 4], [0, 2, 3, 4]]);
    assert_eq!((table.rows_of(2), table.rows()), (8..12, 16));
    let links = Links::new(&graph, 1.0, Arc::new(table), &PixelMap::average(2, 1));
    assert_eq!(links.to.inputs(0), [0, 1, 2, 3, 4]);
    assert_eq!(links.links.len(), 4);
    assert_eq!(links.targets(&links.links[2]), [0, 1, 3, 4]);
    let colour = first_layer::table(&graph, 3);
    assert_eq!(colour.inputs(3), [0, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
    assert_eq!(inputs_of(3, 3), 10..13);
}

/// The operations that the head of this module counts.
#[test]
fn operations_on_handwritten_digits() {
    let config = ModelConfig { radius: Some(3.0), quadrature: Quadrature::Mean, ..ModelConfig::images() };
    assert_eq!((config.width, config.reference, config.kernel.last()), (16, 14, Some(&32)));
    let network = Network::new(
        config,
        ImageShape { side: 28, channels: 1, extent: 28.0, classes: 10, resampling: Default::default() },
        2,
    )
    .unwrap();
    let edges = connect_pixels(28, 28.0, 3.0, Quadrature::Mean).unwrap();
    let table = Arc::new(first_layer::table(&edges, 1));
    let first = FirstLayer::new(&edges, 0.5, &pixels::coordinates(28)).flops(16, 1, 32);
    let links = Links::new(&edges, 0.5, table.clone(), &PixelMap::average(28, 14));
    assert_eq!((edges.edges(), table.rows(), links.links.len(), links.to.rows()), (17_172, 18_740, 6_400, 16_580));
    assert_eq!((first, links.flops(16, 32), 2 * 16 * 128 * links.to.rows()), (20_617_344, 198_084_608, 67_911_680));
    let whole = pixels::flops(&network, 28, 128, 2, true).unwrap();
    assert!(whole > 286_613_632.0, "the kernel's hidden layers and the reaction come to it");
}

#[test]
fn initial_responses_by_hand() {
    let hand = ByHand::new();
    let (table, assemble) = initial::table(4, 1);
    let rows = hand.initial().responses().reshape([5, 1, 1]);
    let own = numbers(assemble.apply(rows, Engine::Automatic));
    assert_close(&own, &ByHand::rows(&table, |input| hand.initial_response(input)), "initial");
}

#[test]
fn first_layer_by_hand() {
    let hand = ByHand::new();
    let table = first_layer::table(&hand.graph, 1);
    let first = FirstLayer::new(&hand.graph, STEP, &hand.places);
    let rows = first.responses(&hand.initial(), &hand.kernel(), &hand.equation, STEP);
    // Four constants, twelve pairs of node and pixel, and what the reaction leaves of four pixels.
    assert_eq!(rows.dims(), [20, 1]);
    let own = numbers(first_layer::assemble(&table, 1).apply(rows.reshape([20, 1, 1]), Engine::Automatic));
    let expected = ByHand::rows(&table, |input| hand.first_response(input));
    assert_close(&own, &expected, "first layer");
    // One of them written out: node 0 takes pixel 1 over its first edge, of weight 1/3 (three pixels within the
    // radius).
    assert_close(&own[2..3], &[STEP / 3.0 * hand.kernel[0] * LIFT[2]], "C_1(0, b1)");
}

#[test]
fn last_layer_by_hand() {
    let hand = ByHand::new();
    // All into one cell, and a grid that is finer than the image, where each node has shares in several cells.
    for reference in [1, 3] {
        let average = PixelMap::average(2, reference);
        let links = Arc::new(Links::new(&hand.graph, STEP, Arc::new(first_layer::table(&hand.graph, 1)), &average));
        let before = ByHand::rows(&links.from, |input| hand.first_response(input));
        let before = tensor(&before, [links.from.rows(), 1, 1]);
        let own = numbers(last_layer::apply(before, &hand.kernel(), &hand.equation, STEP, &links));
        let averaged = |input: u32| -> Vec<f64> {
            let source = if input == CONSTANT { SOURCE } else { 0.0 };
            let state = hand.layer(&hand.first_response(input), source);
            average.rows().iter().map(|members| members.iter().map(|&(x, share)| share * state[x]).sum()).collect()
        };
        assert_close(&own, &ByHand::rows(&links.to, averaged), "last layer");
    }
}

#[test]
fn superposition_by_hand() {
    // Two nodes, two pixels with two channels, d = 2, two samples; the second node sees the second pixel only.
    let table = ResponseTable::new([vec![0, 1, 2, 3, 4], vec![0, 3, 4]].into_iter());
    let responses: Vec<f64> = (1..=16).map(f64::from).collect();
    let responses = variable(&responses, [8, 1, 2]);
    // Pixels x samples x channels.
    let images = variable(&[1.0, 0.0, 0.0, 2.0, 0.5, 0.0, 0.0, -1.0], [2, 2, 2]);
    let state = superpose(responses.clone(), images, Arc::new(table));
    let expected = [1.0 + 3.0 + 3.5, 2.0 + 4.0 + 4.0, 1.0 + 10.0 - 9.0, 2.0 + 12.0 - 10.0];
    let second = [11.0 + 6.5, 12.0 + 7.0, 11.0 - 15.0, 12.0 - 16.0];
    assert_close(&numbers(state.clone()), &[expected, second].concat(), "states");
    // The derivative of the sum of all states: of a constant the number of samples, of an input the sum of its values.
    let gradients = state.sum().backward();
    let own = numbers(responses.grad(&gradients).unwrap());
    let sums = [2.0, 1.0, 2.0, 0.5, -1.0, 2.0, 0.5, -1.0];
    assert_close(&own, &sums.iter().flat_map(|&s| [s, s]).collect::<Vec<f64>>(), "derivatives");
}

/// The links of a cell are its members and their neighbours, its shares are those of the average, and every row finds
/// the same input at the cell.
#[test]
fn links_of_the_last_layer() {
    let side = 7;
    let graph = connect_pixels(side, 7.0, 2.0, Quadrature::Overlap).unwrap();
    let average = PixelMap::average(side, 3);
    let links = Links::new(&graph, 0.5, Arc::new(first_layer::table(&graph, 2)), &average);
    assert_eq!(links.to.nodes(), 9);
    for (cell, members) in average.rows().iter().enumerate() {
        let incoming = links.incoming[cell].clone();
        for y in 0..side * side {
            let share = members.iter().find(|(x, _)| *x == y).map_or(0.0, |(_, share)| *share);
            let is_near = share > 0.0 || members.iter().any(|&(x, _)| graph.row(x).any(|(z, _)| z == y));
            let link = incoming.clone().find(|&link| links.links[link].node == y);
            assert_eq!(link.is_some(), is_near);
            assert_eq!(link.map_or(0.0, |link| links.links[link].share), share);
        }
        for index in incoming {
            let link = &links.links[index];
            assert_eq!(link.cell, cell);
            assert!(links.outgoing[link.node].contains(&index));
            let found: Vec<u32> = links.targets(link).iter().map(|&row| links.to.inputs(cell)[row as usize]).collect();
            assert_eq!(found, links.from.inputs(link.node));
        }
    }
}

/// The kernel acts on differences: with features that are all one, what a cell takes from all nodes adds up to nothing.
#[test]
fn weights_of_a_cell_cancel() {
    let graph = connect_pixels(5, 5.0, 2.0, Quadrature::Mean).unwrap();
    let links = Links::new(&graph, 1.0, Arc::new(first_layer::table(&graph, 1)), &PixelMap::average(5, 2));
    let sum = |row: &Mixture| row.iter().map(|&(_, weight)| weight).sum::<f64>();
    for incoming in &links.incoming {
        assert!(links.sums.rows()[incoming.clone()].iter().map(sum).sum::<f64>().abs() < 1e-12);
    }
}

/// The state on the reference grid and the derivatives of all parameters before it, by responses or layer by layer, for
/// images of this resolution.
fn whole_way(network: &Network, side: usize, by_responses: bool) -> (Vec<f64>, Vec<Vec<f64>>) {
    let (d, channels, samples) = (network.config.width, network.shape.channels, 3);
    let space = Space::Images(network.shape);
    let parameters = Parameters::init(&network.config, &space, network.depth, Seed::new(3)).unwrap();
    let group = |group: &Group| {
        // The source begins with zeros.
        let values: Vec<f64> =
            group.values.iter().zip(0..).map(|(&v, i)| f64::from(v) + 0.05 * f64::from(i).cos()).collect();
        (group.name.clone(), variable(&values, [values.len()]))
    };
    let parameters = ParameterTensors(parameters.groups.iter().map(group).collect());
    let (averages, engine) = (Averages::new(), if by_responses { Engine::Automatic } else { Engine::Portable });
    let norms = Norms::Running(&averages);
    let pass = Pass { network, parameters: &parameters, norms, side, engine, dropout: None };
    let images = variable(&some(side * side * samples * channels, 9), [side * side, samples, channels]).detach();
    let (inputs, lift) = (2 + channels, parameters.get("lift"));
    let weight = lift.clone().slice(0..inputs * d).reshape([d, inputs]);
    let bias = lift.slice(inputs * d..(inputs + 1) * d);
    let state = if by_responses {
        pixels::by_responses(network, side).unwrap().forward(&pass, images, weight, bias).unwrap()
    } else {
        pixels::plain_steps(&pass, images, weight, bias).unwrap()
    };
    let cells = network.config.reference * network.config.reference;
    assert_eq!(state.dims(), [cells, samples, d]);
    let factors = variable(&some(cells * samples * d, 5), state.dims()).detach();
    let gradients = (state.clone() * factors).sum().backward();
    let derivative = |name: &str| numbers(parameters.get(name).grad(&gradients).unwrap());
    (numbers(state), ["lift", "kernel", "reaction", "source"].map(derivative).to_vec())
}

/// Network and resolutions: both ways agree in values and in derivatives.
fn check_whole_way(config: ModelConfig, channels: usize, depth: usize, sides: &[usize]) {
    let shape = ImageShape { side: 6, channels, extent: 6.0, classes: 3, resampling: Default::default() };
    let network = Network::new(config, shape, depth).unwrap();
    for &side in sides {
        let what = format!("{channels} channels, {depth} layers, {side} pixels, radius {:?}", network.config.radius);
        let (state, derivatives) = whole_way(&network, side, true);
        let (plain_state, plain_derivatives) = whole_way(&network, side, false);
        assert_close(&state, &plain_state, &what);
        for (own, plain) in derivatives.iter().zip(&plain_derivatives) {
            assert_close(own, plain, &format!("derivatives: {what}"));
        }
    }
}

fn small() -> ModelConfig {
    let (kernel, reaction) = (vec![7, 5], vec![3]);
    ModelConfig {
        kind: Kind::Nkn,
        width: 5,
        radius: Some(2.0),
        kernel,
        reaction,
        reference: 3,
        ..ModelConfig::images()
    }
}

#[test]
fn whole_way_against_the_layers() {
    for channels in [1, 3] {
        for depth in [1, 2, 3] {
            check_whole_way(small(), channels, depth, &[6, 4, 9]);
        }
    }
}

/// Sixteen is the width for which the products have a way of their own.
#[test]
fn whole_way_of_the_usual_width() {
    for depth in [1, 2, 3] {
        check_whole_way(ModelConfig { width: 16, ..small() }, 2, depth, &[6, 3]);
    }
}

/// Every pixel reaches every node: nothing is left out, and nothing counts twice.
#[test]
fn radius_that_covers_the_image() {
    let graph = connect_pixels(4, 6.0, 20.0, Quadrature::Overlap).unwrap();
    let table = Arc::new(first_layer::table(&graph, 1));
    assert_eq!(table.rows(), 16 * 17);
    let links = Links::new(&graph, 1.0, table, &PixelMap::average(4, 3));
    assert_eq!((links.links.len(), links.to.rows()), (9 * 16, 9 * 17));
    for depth in [1, 2, 3] {
        check_whole_way(ModelConfig { radius: Some(20.0), ..small() }, 1, depth, &[6, 4]);
    }
}

/// A kernel without hidden layers: its inputs are the features.
#[test]
fn kernel_without_hidden_layers() {
    for depth in [1, 2] {
        check_whole_way(ModelConfig { kernel: Vec::new(), ..small() }, 1, depth, &[6]);
    }
}

/// Reference grids that are finer than the image, or one cell.
#[test]
fn other_reference_grids() {
    for reference in [1, 5, 8] {
        check_whole_way(ModelConfig { reference, ..small() }, 1, 2, &[6, 3]);
    }
}
