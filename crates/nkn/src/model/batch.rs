//! What a network needs to know of a batch besides its parameters.

use super::config::{Kind, ModelConfig};
use super::fno::{Frequencies, Layer};
use super::geometry::{Geometries, Geometry, Links};
use super::parameters::kernel_shape;
use crate::domain::{Domain, Quadrature};
use crate::field::{Field, Normaliser, NormaliserKind, Samples};
use crate::kernel::{MlpShape, RowTable};
use crate::operator::{Edges, Integrator, Pairs, Plan, Purpose, Update};
use crate::{Error, Result};
use burn::tensor::{DType, Device, Tensor, TensorData};
use std::sync::Arc;

/// How a batch is to be prepared.
#[derive(Clone, Debug)]
pub struct BatchOptions {
    /// L.
    pub depth: usize,
    /// Where the tensors live.
    pub device: Device,
    /// Their precision.
    pub dtype: DType,
    /// Memory that the evolution may take, in bytes.
    pub budget: f64,
    /// Whether derivatives are wanted.
    pub training: bool,
    /// The quadrature; left out: the one that [`crate::domain::Policy`] chooses.
    pub quadrature: Option<Quadrature>,
    /// The integrator; left out: the network's own.
    pub integrator: Option<Integrator>,
    /// The relative error that an integrator may leave; left out: what the precision allows.
    pub tolerance: Option<f64>,
}

impl BatchOptions {
    /// Single precision, 4 GiB, no derivatives.
    pub fn new(depth: usize, device: &Device) -> Self {
        Self {
            depth,
            device: device.clone(),
            dtype: DType::F32,
            budget: 4.0 * (1u64 << 30) as f64,
            training: false,
            quadrature: None,
            integrator: None,
            tolerance: None,
        }
    }

    fn upload(&self, values: Vec<f64>) -> Tensor<1> {
        let length = values.len();
        Tensor::from_data(TensorData::new(values, [length]), (&self.device, self.dtype))
    }
}

/// What the kernel network holds besides its features, in bytes of single precision: its inputs and, in training, its other hidden layers.
pub(super) fn kernel_bytes(config: &ModelConfig, dim: usize, rows: usize, training: bool) -> Result<f64> {
    let shape = kernel_shape(config, dim)?;
    let inputs = shape.inputs();
    let layers = if config.width == 1 { shape.layers() } else { shape.hidden().map_or(Vec::new(), |s| s.layers()) };
    let below = layers.iter().rev().skip(1).map(|layer| layer.outputs).sum::<usize>();
    Ok(4.0 * rows as f64 * (inputs + if training { below } else { 0 }) as f64)
}

/// Statistics of the fields, and the domain they were taken on.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Normalisers {
    /// One per input field, in the order of the configuration.
    pub fields: Vec<Normaliser>,
    /// One per output.
    pub outputs: Vec<Normaliser>,
    /// The training domain: pointwise statistics and the stencil rule refer to it.
    pub training: Option<Domain>,
}

impl Normalisers {
    /// Takes the statistics of training samples.
    pub fn fit(config: &ModelConfig, samples: &Samples) -> Result<Self> {
        let nodes = samples.nodes();
        let is_shared = !matches!(samples.domain(), Domain::Clouds(_));
        let fit = |kind, field: &Field| match (kind, is_shared) {
            (NormaliserKind::Pointwise, false) => Err(Error::invalid(
                "model.normalise_input and model.normalise_output",
                "none or scalar where every sample has points of its own",
                "pointwise",
                "statistics of a point need the same points in all samples: set \"scalar\"",
            )),
            _ => Ok(Normaliser::fit(kind, &field.values, nodes, field.components)),
        };
        let input = |name: &String| fit(config.normalise_input, samples.field(name)?);
        let outputs = samples.outputs_named(&config.output_names())?;
        Ok(Self {
            fields: config.fields.iter().map(input).collect::<Result<_>>()?,
            outputs: outputs.into_iter().map(|output| fit(config.normalise_output, output)).collect::<Result<_>>()?,
            training: is_shared.then(|| samples.domain().clone()),
        })
    }
}

/// A batch, ready for the network.
#[derive(Clone, Debug)]
pub struct Batch {
    /// Normalised input fields: samples x nodes x columns. Samples on clouds of their own are one sample, whose nodes are
    /// those of all.
    pub fields: Tensor<3>,
    /// What the lift sees: samples * nodes x (dim + columns).
    pub lift_inputs: Tensor<2>,
    /// nodes x dim.
    pub points: Tensor<2>,
    /// What the layers need.
    pub layers: Layers,
    /// Mean and deviation of the outputs, 1 x (nodes x columns, or 1) each, if they are normalised.
    pub decode: Option<(Tensor<2>, Tensor<2>)>,
}

/// What the layers of a network need to know of a batch.
#[derive(Clone, Debug)]
pub enum Layers {
    /// NKN and GKN.
    Kernel(Box<KernelLayers>),
    /// FNO: one entry per layer.
    Fourier(Vec<Arc<Layer>>),
}

/// What the kernel and its integral need.
#[derive(Clone, Debug)]
pub struct KernelLayers {
    /// kernel rows x (2 dim + 2 columns of kernel fields).
    pub inputs: Tensor<2>,
    /// Graph, rows, depth, order of products.
    pub plan: Arc<Plan>,
    /// Of a dissipative network: the rows whose blocks are the same.
    pub pairs: Option<Arc<Pairs>>,
}

impl Batch {
    /// Prepares samples for a network.
    pub fn new(
        config: &ModelConfig,
        normalisers: &Normalisers,
        samples: &Samples,
        options: &BatchOptions,
    ) -> Result<Self> {
        let geometries = Geometries::new(config, normalisers, samples.domain(), options.quadrature)?;
        let all: Vec<usize> = (0..samples.count()).collect();
        Self::on(&geometries.of(&all)?, config, samples, options)
    }

    /// The same with a geometry that was made before; it decides the quadrature. The samples must lie on its domain.
    pub fn on(geometry: &Geometry, config: &ModelConfig, samples: &Samples, options: &BatchOptions) -> Result<Self> {
        let nodes = geometry.nodes();
        // Clouds of their own are one.
        let count = if matches!(samples.domain(), Domain::Clouds(_)) { 1 } else { samples.count() };
        if count == 0 || nodes == 0 || options.depth == 0 {
            let expected = "at least one sample, one node and one layer";
            let got = format!("{count} samples, {nodes} nodes, depth {}", options.depth);
            return Err(Error::invalid("batch", expected, got, "check the data and the depth"));
        }
        if nodes != samples.domain().len() {
            let expected = format!("{nodes} nodes, as the geometry has");
            let hint = "make a geometry for their own domain";
            return Err(Error::invalid("samples of a batch", expected, samples.domain().len(), hint));
        }
        let encode = |(name, normaliser): (&String, &Normaliser)| {
            let Field { components, values, .. } = samples.field(name)?;
            Ok((*components, normaliser.encode(values)))
        };
        let encoded: Vec<Encoded> = config.fields.iter().zip(&*geometry.fields).map(encode).collect::<Result<_>>()?;
        let layers = match &geometry.links {
            Links::Edges(edges) => {
                Layers::Kernel(Box::new(KernelLayers::new(config, geometry, edges, count, &encoded, options)?))
            }
            Links::Frequencies(frequencies) => {
                Layers::Fourier(fourier_layers(config, frequencies, count, options.depth))
            }
        };
        let decode = statistics(config, &geometry.outputs, nodes).map(|(mean, std)| {
            let upload = |values: Vec<f64>| {
                let length = values.len();
                options.upload(values).reshape([1, length])
            };
            (upload(mean), upload(std))
        });
        let points = options.upload(geometry.coordinates.to_vec()).reshape([nodes, geometry.dim]);
        let all: Vec<usize> = (0..config.fields.len()).collect();
        let columns = config.columns(&config.fields);
        let fields = options.upload(interleave(&encoded, &all)).reshape([count, nodes, columns]);
        Ok(Self { lift_inputs: lift_inputs(&points, &fields, &layers), fields, points, layers, decode })
    }

    /// The kernel's part of the batch, if the network has a kernel.
    pub fn kernel(&self) -> Option<&KernelLayers> {
        match &self.layers {
            Layers::Kernel(kernel) => Some(kernel),
            Layers::Fourier(_) => None,
        }
    }
}

impl KernelLayers {
    fn new(
        config: &ModelConfig,
        geometry: &Geometry,
        edges: &Arc<Edges>,
        samples: usize,
        encoded: &[Encoded],
        options: &BatchOptions,
    ) -> Result<Self> {
        let dim = geometry.dim;
        let seen: Vec<usize> =
            (0..config.fields.len()).filter(|&i| config.kernel_fields.contains(&config.fields[i])).collect();
        let kernel_fields = if seen.is_empty() { Vec::new() } else { interleave(encoded, &seen) };
        let rows = RowTable::of_fields(edges, samples, &kernel_fields);
        let inputs = rows.inputs(edges, dim, (&geometry.coordinates, geometry.enclosure.as_ref()), &kernel_fields);
        let update = match config.kind {
            Kind::Gkn => Update::GraphKernel { activate_last: config.activate_last },
            _ => Update::DiffusionReaction { step: config.time / options.depth as f64 },
        };
        let pairs = config.is_dissipative().then(|| Arc::new(Pairs::new(edges, &rows)));
        let kernel_rows = rows.rows();
        let shape = kernel_shape(config, dim)?;
        let hidden = shape.hidden();
        let held = if options.training { kernel_bytes(config, dim, kernel_rows, true)? } else { 0.0 };
        let purpose = Purpose {
            // A number K comes from the whole perceptron, whose last layer is linear.
            features: match config.width {
                _ if pairs.is_some() => 0,
                1 => 1,
                _ => hidden.as_ref().map_or(shape.inputs(), MlpShape::outputs),
            },
            hidden_flops: hidden.map_or(0.0, |hidden| hidden.flops()),
            rectified: config.width > 1 && !config.kernel.is_empty() && pairs.is_none(),
            training: options.training,
            nodes_first: false,
            integrator: options.integrator.unwrap_or(config.integrator),
            tolerance: options.tolerance,
            budget: options.budget - held,
        };
        let plan = Plan::new(config.width, options.depth, update, edges.clone(), rows, &purpose);
        let columns = config.columns(&config.kernel_fields);
        let inputs = options.upload(inputs).reshape([kernel_rows, 2 * (dim + columns)]);
        Ok(Self { inputs, plan: Arc::new(plan), pairs })
    }
}

/// One entry per layer; the last is not activated.
fn fourier_layers(config: &ModelConfig, frequencies: &Frequencies, samples: usize, depth: usize) -> Vec<Arc<Layer>> {
    let layer = |activate| Arc::new(Layer { frequencies: frequencies.clone(), samples, width: config.width, activate });
    let (inner, last) = (layer(true), layer(false));
    (0..depth).map(|l| if l + 1 < depth { inner.clone() } else { last.clone() }).collect()
}

/// Components and values of a normalised field.
type Encoded = (usize, Vec<f64>);

/// Samples x nodes x the columns of the chosen fields.
fn interleave(encoded: &[Encoded], which: &[usize]) -> Vec<f64> {
    let length = encoded.first().map_or(0, |(components, values)| values.len() / components);
    let at = |i: usize, f: usize| {
        let (components, values) = &encoded[f];
        values[i * components..(i + 1) * components].iter().copied()
    };
    (0..length).flat_map(|i| which.iter().flat_map(move |&f| at(i, f))).collect()
}

/// Mean and deviation of the outputs' columns: one number each, or one for every node and column.
fn statistics(config: &ModelConfig, outputs: &[Normaliser], nodes: usize) -> Option<(Vec<f64>, Vec<f64>)> {
    if outputs.iter().all(|output| output.mean.is_empty()) {
        return None;
    }
    if let [one] = outputs
        && (one.mean.len() == 1 || one.mean.len() == nodes * config.output_columns())
    {
        return Some((one.mean.clone(), one.std.clone()));
    }
    let columns: Vec<(&Normaliser, usize, usize)> = outputs
        .iter()
        .zip(config.output_components())
        .flat_map(|(output, components)| (0..components).map(move |component| (output, component, components)))
        .collect();
    let of = |node: usize, (output, component, components): &(&Normaliser, usize, usize)| {
        let place = (node * components + component) % output.mean.len();
        (output.mean[place], output.std[place])
    };
    Some((0..nodes).flat_map(|node| columns.iter().map(move |column| of(node, column))).unzip())
}

/// (x, b(x)) of every sample and node; FNO wants the nodes outermost.
pub(crate) fn lift_inputs(points: &Tensor<2>, fields: &Tensor<3>, layers: &Layers) -> Tensor<2> {
    let [samples, nodes, count] = fields.dims();
    let [_, dim] = points.dims();
    let points = points.clone().unsqueeze::<3>().expand([samples, nodes, dim]);
    let inputs = Tensor::cat(vec![points, fields.clone()], 2);
    let inputs = if matches!(layers, Layers::Fourier(_)) { inputs.swap_dims(0, 1) } else { inputs };
    inputs.reshape([samples * nodes, dim + count])
}
