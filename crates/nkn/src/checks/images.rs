//! Every operation of image networks against finite differences in double precision, and against Burn's own in single precision.

use crate::convolution::{Convolution, Normalisation, Statistics, normalise};
use crate::domain::Quadrature;
use crate::engine::Engine;
use crate::field::images::Resampling;
use crate::model::affinity::nonlocal;
use crate::model::image::{Averages, Network, Norms, Pass};
use crate::model::layers::{Activation, activate, flatten, lift};
use crate::model::maps::PixelMap;
use crate::model::parameters::ParameterTensors;
use crate::model::{Affinity, Block, ImageShape, Kind, ModelConfig, Parameters, Space};
use crate::seed::Seed;
use burn::tensor::{DType, Device, Tensor, TensorData};
use std::sync::{Arc, Mutex};

fn values(count: usize, shift: usize) -> Vec<f64> {
    (0..count).map(|i| ((i * 7 + shift * 13 + 1) as f64 * 0.731).sin()).collect()
}

/// A function of some vectors, as a network of tensors; shapes are given by the function.
type Function<'a> = dyn Fn(&[Tensor<1>], Engine) -> Tensor<3> + 'a;

/// A loss with a different weight for every number.
fn loss(output: Tensor<3>) -> Tensor<1> {
    let count = output.dims().iter().product();
    let flat = output.reshape([count]);
    let options = (&flat.device(), flat.dtype());
    let weights = Tensor::<1>::from_data(TensorData::new(values(count, 5), [count]), options);
    (flat * weights).sum()
}

fn upload(inputs: &[Vec<f64>], device: &Device, dtype: DType) -> Vec<Tensor<1>> {
    let one = |v: &Vec<f64>| Tensor::<1>::from_data(TensorData::new(v.clone(), [v.len()]), (device, dtype));
    inputs.iter().map(one).collect()
}

fn gradients(function: &Function, inputs: &[Vec<f64>], dtype: DType, engine: Engine) -> (Vec<f64>, Vec<Vec<f64>>) {
    let device = Device::flex().autodiff();
    let tensors: Vec<Tensor<1>> = upload(inputs, &device, dtype).into_iter().map(Tensor::require_grad).collect();
    let output = function(&tensors, engine);
    let result = output.clone().into_data().iter::<f64>().collect();
    let mut gradients = loss(output).backward();
    let take = |tensor: &Tensor<1>| match tensor.grad_remove(&mut gradients) {
        Some(gradient) => gradient.into_data().iter::<f64>().collect(),
        None => vec![0.0; tensor.dims()[0]],
    };
    (result, tensors.iter().map(take).collect())
}

fn norm(values: impl Iterator<Item = f64>) -> f64 {
    values.map(|x| x * x).sum::<f64>().sqrt()
}

fn relative(a: &[f64], b: &[f64]) -> f64 {
    relative_to(a, b, 1e-300)
}

/// The difference as a share of `b`, or of `floor` where `b` is next to nothing: a source before a normalisation has no effect at all.
fn relative_to(a: &[f64], b: &[f64], floor: f64) -> f64 {
    assert_eq!(a.len(), b.len());
    norm(a.iter().zip(b).map(|(x, y)| x - y)) / norm(b.iter().copied()).max(floor)
}

/// The fused operation's derivatives against central differences, and fused against portable.
fn check(name: &str, function: &Function, inputs: &[Vec<f64>]) {
    let (_, exact) = gradients(function, inputs, DType::F64, Engine::Automatic);
    let at = |inputs: &[Vec<f64>]| {
        loss(function(&upload(inputs, &Device::flex(), DType::F64), Engine::Automatic)).into_scalar::<f64>()
    };
    let floor = 1e-2 * exact.iter().map(|g| norm(g.iter().copied())).fold(0.0, f64::max);
    for (index, own) in exact.iter().enumerate() {
        let stride = (inputs[index].len() / 40).max(1);
        let places: Vec<usize> = (0..inputs[index].len()).step_by(stride).collect();
        let difference = |&place: &usize| {
            let step = 1e-5;
            let moved = |by: f64| {
                let mut inputs = inputs.to_vec();
                inputs[index][place] += by;
                at(&inputs)
            };
            (moved(step) - moved(-step)) / (2.0 * step)
        };
        let numeric: Vec<f64> = places.iter().map(difference).collect();
        let picked: Vec<f64> = places.iter().map(|&place| own[place]).collect();
        let error = relative_to(&picked, &numeric, floor);
        assert!(error < 1e-6, "{name}: input {index} differs by {error:e}");
    }
    compare(name, function, inputs);
}

/// The fused operation against the portable one.
fn compare(name: &str, function: &Function, inputs: &[Vec<f64>]) {
    let (fused, fused_gradients) = gradients(function, inputs, DType::F32, Engine::Automatic);
    let (plain, plain_gradients) = gradients(function, inputs, DType::F32, Engine::Portable);
    let error = relative(&fused, &plain);
    assert!(error < 1e-5, "{name}: the outputs differ by {error:e}");
    let floor = 1e-2 * plain_gradients.iter().map(|g| norm(g.iter().copied())).fold(0.0, f64::max);
    for (index, (fused, plain)) in fused_gradients.iter().zip(&plain_gradients).enumerate() {
        let error = relative_to(fused, plain, floor);
        assert!(error < 1e-5, "{name}: the derivatives of input {index} differ by {error:e}");
    }
}

#[test]
fn convolutions() {
    for (side, filter, stride, inputs, outputs, samples) in [
        (5, 3, 1, 3, 16, 2),
        (6, 3, 2, 16, 32, 3),
        (5, 3, 2, 16, 16, 2),
        (6, 1, 2, 16, 32, 2),
        (4, 3, 1, 16, 16, 13),
        (4, 3, 1, 5, 7, 2),
        (7, 5, 1, 2, 16, 1),
        (1, 3, 1, 16, 16, 2),
    ] {
        let shape = Convolution { side, filter, stride, inputs, outputs };
        let out = shape.side_out();
        let sizes = [side * side * samples * inputs, shape.weights(), outputs, out * out * samples * outputs];
        let data: Vec<Vec<f64>> = sizes.iter().enumerate().map(|(i, &n)| values(n, i)).collect();
        let all = |t: &[Tensor<1>], engine| {
            let input = t[0].clone().reshape([side * side, samples, inputs]);
            let residual = t[3].clone().reshape([out * out, samples, outputs]);
            shape.apply(input, t[1].clone(), Some(t[2].clone()), Some(residual), engine)
        };
        check(&format!("{shape:?}"), &all, &data);
        let bare = |t: &[Tensor<1>], engine| {
            shape.apply(t[0].clone().reshape([side * side, samples, inputs]), t[1].clone(), None, None, engine)
        };
        check(&format!("{shape:?}, bare"), &bare, &data[..2]);
        // With one of the two that can be added, the third input is that one.
        let biased = |t: &[Tensor<1>], engine| {
            let input = t[0].clone().reshape([side * side, samples, inputs]);
            shape.apply(input, t[1].clone(), Some(t[2].clone()), None, engine)
        };
        check(&format!("{shape:?}, with a bias"), &biased, &data[..3]);
        let added = |t: &[Tensor<1>], engine| {
            let input = t[0].clone().reshape([side * side, samples, inputs]);
            let residual = t[2].clone().reshape([out * out, samples, outputs]);
            shape.apply(input, t[1].clone(), None, Some(residual), engine)
        };
        check(&format!("{shape:?}, with a residual"), &added, &[data[0].clone(), data[1].clone(), data[3].clone()]);
    }
}

/// States longer than what is activated at a time: in pieces, the last one shorter.
#[test]
fn activations_in_pieces() {
    let (nodes, samples, channels) = (331, 5, 16);
    let data = [values(nodes * samples * channels, 1)];
    for activation in [Activation::Relu, Activation::Tanh] {
        let apply =
            |t: &[Tensor<1>], engine| activate(t[0].clone().reshape([nodes, samples, channels]), activation, engine);
        compare(&format!("{activation:?} in pieces"), &apply, &data);
    }
}

#[test]
fn normalisations() {
    for (nodes, samples, channels) in [(9, 2, 16), (4, 3, 5), (700, 4, 16)] {
        let data = [values(nodes * samples * channels, 0), values(2 * channels, 3)];
        let batch = |t: &[Tensor<1>], engine| {
            let source = Normalisation::Batch(Arc::new(Mutex::new(None)));
            normalise(t[0].clone().reshape([nodes, samples, channels]), t[1].clone(), &source, engine)
        };
        // Among tens of thousands of numbers some are so near zero that a difference steps over the kink of the ReLU.
        let check = if nodes > 100 { compare } else { check };
        check("batch", &batch, &data);
        let fixed = |t: &[Tensor<1>], engine| {
            let statistics = Statistics {
                mean: values(channels, 1),
                variance: values(channels, 2).iter().map(|v| v.abs()).collect(),
            };
            let source = Normalisation::Fixed(statistics);
            normalise(t[0].clone().reshape([nodes, samples, channels]), t[1].clone(), &source, engine)
        };
        check("fixed", &fixed, &data);
    }
}

/// A large mean does not spoil the variance.
#[test]
fn statistics_of_a_batch() {
    let (nodes, samples, channels) = (3000, 2, 3);
    let input: Vec<f64> = values(nodes * samples * channels, 0).iter().map(|v| 1000.0 + v).collect();
    let seen = Arc::new(Mutex::new(None));
    let tensors = upload(&[input.clone(), vec![1.0; 6]], &Device::flex(), DType::F32);
    let state = tensors[0].clone().reshape([nodes, samples, channels]);
    normalise(state, tensors[1].clone(), &Normalisation::Batch(seen.clone()), Engine::Automatic);
    let seen = seen.lock().unwrap().clone().unwrap();
    for c in 0..channels {
        let own: Vec<f64> = input.iter().skip(c).step_by(channels).map(|v| f64::from(*v as f32)).collect();
        let mean = own.iter().sum::<f64>() / own.len() as f64;
        let variance = own.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / own.len() as f64;
        assert!((seen.mean[c] / mean - 1.0).abs() < 1e-6);
        assert!((seen.variance[c] / variance - 1.0).abs() < 1e-3, "{} {variance}", seen.variance[c]);
    }
}

#[test]
fn maps_between_resolutions() {
    let (samples, channels) = (2, 3);
    for (from, map) in [
        (6, PixelMap::average(6, 3)),
        (4, PixelMap::average(4, 6)),
        (4, PixelMap::bilinear(4, 7, Resampling::Centred)),
        (4, PixelMap::bilinear(4, 7, Resampling::Aligned)),
        (3, PixelMap::multiscale(3, 6, Resampling::Centred).unwrap()),
        (3, PixelMap::multiscale(3, 6, Resampling::Aligned).unwrap()),
        (8, PixelMap::multiscale(8, 2, Resampling::Centred).unwrap()),
        (8, PixelMap::multiscale(8, 2, Resampling::Aligned).unwrap()),
    ] {
        let data = [values(from * from * samples * channels, 0)];
        let apply = |t: &[Tensor<1>], engine| map.apply(t[0].clone().reshape([from * from, samples, channels]), engine);
        check("map", &apply, &data);
    }
}

#[test]
fn pointwise_layers() {
    let (nodes, samples) = (9, 5);
    for (channels, d) in [(1, 16), (3, 16), (2, 5)] {
        let data = [values(nodes * samples * channels, 0), values(d * channels, 1), values(nodes * d, 2)];
        let lifted = |t: &[Tensor<1>], engine| {
            lift(t[0].clone().reshape([nodes, samples, channels]), t[1].clone(), t[2].clone(), engine)
        };
        check("lift", &lifted, &data);
        let rows = |t: &[Tensor<1>], engine| {
            flatten(t[0].clone().reshape([nodes, samples, channels]), engine).reshape([samples, nodes, channels])
        };
        check("flatten", &rows, &data[..1]);
    }
    for activation in [Activation::Relu, Activation::Tanh] {
        let data = [values(nodes * samples * 4, 3)];
        let function =
            |t: &[Tensor<1>], engine| activate(t[0].clone().reshape([nodes, samples, 4]), activation, engine);
        check("activation", &function, &data);
    }
}

#[test]
fn nonlocal_steps() {
    // Fewer pixels than a panel of the affinity has columns, a last panel that is not full, and more than one stripe of rows.
    for (nodes, samples, d) in [(9, 3, 4), (25, 1, 16), (81, 1, 2)] {
        let data = [values(nodes * samples * d, 0), values(3 * d * d, 1)];
        let given = values(nodes * samples * d, 2);
        let apply = |t: &[Tensor<1>], engine| {
            let options = (&t[0].device(), t[0].dtype());
            let given = Tensor::<3>::from_data(TensorData::new(given.clone(), [nodes, samples, d]), options);
            nonlocal(t[0].clone().reshape([nodes, samples, d]), t[1].clone(), given, engine)
        };
        check("nonlocal", &apply, &data);
    }
}

/// Pixels of a few kinds: those with the same state and features are taken together, those with the same features alone are not.
#[test]
fn nonlocal_steps_on_pixels_of_a_kind() {
    let (nodes, samples, d) = (40, 2, 3);
    let repeated = |kinds: usize, shift: usize| -> Vec<f64> {
        let rows = values(kinds * samples * d, shift);
        (0..nodes).flat_map(|node| rows[node % kinds * samples * d..][..samples * d].to_vec()).collect()
    };
    for kinds in [3, 6] {
        let data = [repeated(kinds, 0), values(2 * d * d, 1)];
        let given = repeated(3, 2);
        let apply = |t: &[Tensor<1>], engine| {
            let options = (&t[0].device(), t[0].dtype());
            let given = Tensor::<3>::from_data(TensorData::new(given.clone(), [nodes, samples, d]), options);
            nonlocal(t[0].clone().reshape([nodes, samples, d]), t[1].clone(), given, engine)
        };
        check("kinds", &apply, &data);
    }
}

/// Features so large that a pixel is like itself alone: nothing overflows, and what is far away counts as nothing.
#[test]
fn nonlocal_steps_with_large_features() {
    let (nodes, samples, d) = (70, 2, 16);
    let device = Device::flex();
    let given: Vec<f64> = values(nodes * samples * d, 2).iter().map(|v| 40.0 * v).collect();
    let tensors = upload(&[values(nodes * samples * d, 0), values(2 * d * d, 1), given], &device, DType::F32);
    let run = |engine| {
        let shaped = |i: usize| tensors[i].clone().reshape([nodes, samples, d]);
        let result = nonlocal(shaped(0), tensors[1].clone(), shaped(2), engine);
        result.into_data().iter::<f64>().collect::<Vec<f64>>()
    };
    for (fast, plain) in run(Engine::Automatic).iter().zip(run(Engine::Portable)) {
        assert!((fast - plain).abs() < 1e-4 * (1.0 + plain.abs()), "{fast} {plain}");
    }
}

fn network(kind: Kind, block: Block) -> Network {
    network_of_depth(kind, block, 2)
}

fn network_of_depth(kind: Kind, block: Block, depth: usize) -> Network {
    let config = ModelConfig {
        kind,
        block,
        width: 4,
        radius: Some(2.0),
        quadrature: Quadrature::Overlap,
        kernel: vec![5],
        reaction: vec![3],
        reference: 3,
        head: 6,
        ..ModelConfig::images()
    };
    Network::new(
        config,
        ImageShape { side: 6, channels: 2, extent: 6.0, classes: 3, resampling: Default::default() },
        depth,
    )
    .unwrap()
}

fn random(network: &Network, seed: u64) -> Parameters {
    Parameters::init(&network.config, &Space::Images(network.shape), network.depth, Seed::new(seed)).unwrap()
}

fn with_cosines(mut network: Network) -> Network {
    network.config.affinity = Affinity::Cosine;
    network
}

fn all_networks() -> Vec<Network> {
    vec![
        network(Kind::Nkn, Block::None),
        network_of_depth(Kind::Nkn, Block::None, 1),
        network_of_depth(Kind::Nkn, Block::None, 3),
        network(Kind::Cnn, Block::None),
        network(Kind::MultiscaleCnn, Block::None),
        network(Kind::Nnn, Block::None),
        network(Kind::Preresnet, Block::None),
        network(Kind::Preresnet, Block::Nnn),
        network(Kind::Preresnet, Block::Nkn),
        with_cosines(network(Kind::Nnn, Block::None)),
        with_cosines(network(Kind::Preresnet, Block::Nnn)),
    ]
}

fn tensors(parameters: &Parameters, from: &[Tensor<1>]) -> ParameterTensors {
    ParameterTensors(parameters.groups.iter().map(|g| g.name.clone()).zip(from.iter().cloned()).collect())
}

/// Whole networks in training: every group of parameters. (Affinities are given, so the networks that make them from parameters are
/// compared with their portable version alone.)
#[test]
fn networks_in_training() {
    for network in all_networks() {
        let name = network.config.title(network.depth);
        let parameters = random(&network, 3);
        let samples = 3;
        let images = values(36 * samples * 2, 9);
        let data: Vec<Vec<f64>> = parameters
            .groups
            .iter()
            .map(|g| g.values.iter().enumerate().map(|(i, &v)| f64::from(v) + 0.05 * (i as f64).cos()).collect())
            .collect();
        let function = |t: &[Tensor<1>], engine| {
            let seen = Mutex::new(Averages::new());
            let parameters = tensors(&parameters, t);
            let options = (&t[0].device(), t[0].dtype());
            let images = Tensor::<3>::from_data(TensorData::new(images.clone(), [36, samples, 2]), options);
            let norms = Norms::Batch(&seen);
            let pass = Pass { network: &network, parameters: &parameters, norms, side: 6, engine, dropout: None };
            pass.forward(images).unwrap().reshape([samples, 3, 1])
        };
        if name.contains("NNN") {
            let (fused, own) = gradients(&function, &data, DType::F64, Engine::Automatic);
            let (plain, other) = gradients(&function, &data, DType::F64, Engine::Portable);
            assert!(relative(&fused, &plain) < 1e-10, "{name}");
            for (own, other) in own.iter().zip(&other) {
                assert!(relative(own, other) < 1e-9, "{name}");
            }
        } else {
            check(&name, &function, &data);
        }
    }
}

/// The answers to images (nodes x samples x 2) of this side.
fn answers(network: &Network, parameters: &Parameters, side: usize, images: &[f64], engine: Engine) -> Vec<f64> {
    let (device, nodes) = (Device::flex(), side * side);
    let tensors = parameters.tensors(&device, DType::F32);
    let data = TensorData::new(images.to_vec(), [nodes, images.len() / (2 * nodes), 2]);
    let images = Tensor::<3>::from_data(data, (&device, DType::F32));
    let running = network.averages().unwrap();
    let norms = Norms::Running(&running);
    let pass = Pass { network, parameters: &tensors, norms, side, engine, dropout: None };
    pass.forward(images).unwrap().into_data().iter::<f64>().collect()
}

/// Every network answers at other resolutions, the same with fused and portable operations.
#[test]
fn networks_at_other_resolutions() {
    for network in all_networks() {
        let parameters = random(&network, 4);
        for side in [3, 6, 12] {
            let samples = 2;
            let images = values(side * side * samples * 2, 1);
            let run = |engine| answers(&network, &parameters, side, &images, engine);
            let (fused, plain) = (run(Engine::Automatic), run(Engine::Portable));
            assert_eq!(fused.len(), samples * 3);
            assert!(relative(&fused, &plain) < 1e-5, "{} at {side}", network.config.title(network.depth));
        }
    }
}

/// A nonlocal block that changes nothing leaves the features as they are, on coarser images too, whose grid cannot hold them: the residual network
/// answers as if it had been given the images at the training's resolution.
#[test]
fn a_block_that_changes_nothing() {
    for block in [Block::Nnn, Block::Nkn] {
        let network = network(Kind::Preresnet, block);
        let mut parameters = random(&network, 6);
        for group in parameters.groups.iter_mut().filter(|group| group.name.starts_with("nonlocal")) {
            group.values.fill(0.0);
        }
        for side in [2, 3, 12] {
            let images = values(side * side * 2 * 2, 1);
            let map = PixelMap::multiscale(side, 6, network.shape.resampling).unwrap();
            let flat = Tensor::<3>::from_data(TensorData::new(images.clone(), [side * side, 2, 2]), &Device::flex());
            let moved: Vec<f64> = map.apply(flat, Engine::Automatic).into_data().iter::<f64>().collect();
            let run = |side, images: &[f64]| answers(&network, &parameters, side, images, Engine::Automatic);
            assert!(relative(&run(side, &images), &run(6, &moved)) < 1e-5, "{block:?} at {side}");
        }
    }
}

/// A smooth image at twice the resolution gets nearly the same answer from the nonlocal kernel network, and not from the convolutions.
#[test]
fn the_kernel_network_does_not_depend_on_the_resolution() {
    let at = |network: &Network, side: usize| -> Vec<f64> {
        let pixel = |i: usize| (i as f64 + 0.5) / side as f64;
        let image = |node: usize| (3.0 * pixel(node / side)).sin() * (2.0 * pixel(node % side)).cos();
        let images: Vec<f64> = (0..side * side).flat_map(|node| [image(node), 1.0 - image(node)]).collect();
        answers(network, &random(network, 5), side, &images, Engine::Automatic)
    };
    let wide = |kind| {
        let config = ModelConfig { kind, reference: 6, ..ModelConfig::images() };
        Network::new(
            config,
            ImageShape { side: 24, channels: 2, extent: 24.0, classes: 3, resampling: Default::default() },
            2,
        )
        .unwrap()
    };
    let nkn = wide(Kind::Nkn);
    let cnn = wide(Kind::Cnn);
    let error = |network: &Network| relative(&at(network, 48), &at(network, 24));
    assert!(error(&nkn) < 0.02, "{}", error(&nkn));
    assert!(error(&cnn) > 2.0 * error(&nkn), "{} {}", error(&cnn), error(&nkn));
}

#[test]
fn parameter_counts() {
    let mnist = ImageShape { side: 28, channels: 1, extent: 28.0, classes: 10, resampling: Default::default() };
    let cifar = ImageShape { side: 32, channels: 3, extent: 32.0, classes: 10, resampling: Default::default() };
    let count =
        |config: &ModelConfig, shape, depth| Parameters::layout(config, &Space::Images(shape), depth).unwrap().count();
    // lift 64, kernel 160 + 1056 + 8448, reaction 96 + 1056 + 8448, source 16, project 272, head 3136 x 128 + 128 + 1290.
    let nkn = ModelConfig::images();
    assert_eq!(count(&nkn, mnist, 1), 64 + 9664 + 9600 + 16 + 272 + 401_536 + 1290);
    let preresnet = ModelConfig { kind: Kind::Preresnet, ..nkn };
    assert_eq!(count(&preresnet, cifar, 1), 272_282);
    let block = ModelConfig { block: Block::Nkn, ..preresnet.clone() };
    assert_eq!(count(&block, cifar, 2), 272_282 + 2 * (9664 + 9600 + 16));
    let block = ModelConfig { block: Block::Nnn, ..preresnet };
    assert_eq!(count(&block, cifar, 5), 272_282 + 5 * 256);
}
