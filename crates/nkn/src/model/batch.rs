//! What a network needs to know of a batch besides its parameters.

use super::config::{Kind, ModelConfig};
use crate::domain::{Domain, Quadrature, TrainingRule, connect};
use crate::field::{Normaliser, Samples};
use crate::kernel::{Merge, RowTable};
use crate::operator::{Plan, Purpose, Update};
use crate::{Error, Result};
use burn::tensor::{DType, Device, Int, Tensor, TensorData};
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
    /// Whether samples share kernel rows.
    pub merge: Merge,
    /// Memory that the evolution may take, in bytes.
    pub budget: f64,
    /// Whether derivatives are wanted.
    pub training: bool,
    /// The quadrature; left out: the one of training, and for `mean` on another grid the training's stencil (`overlap` where it does not fit).
    pub quadrature: Option<Quadrature>,
}

impl BatchOptions {
    /// Single precision, shared rows, 4 GiB, no derivatives.
    pub fn new(depth: usize, device: &Device) -> Self {
        Self {
            depth,
            device: device.clone(),
            dtype: DType::F32,
            merge: Merge::Distinct,
            budget: 4.0 * (1u64 << 30) as f64,
            training: false,
            quadrature: None,
        }
    }
}

impl ModelConfig {
    /// What the order of the products is chosen for.
    pub(super) fn purpose(&self, dim: usize, options: &BatchOptions) -> Purpose {
        Purpose {
            features: self.feature_width(dim),
            hidden_flops: super::parameters::kernel_shape(self, dim)
                .ok()
                .and_then(|shape| shape.hidden())
                .map_or(0.0, |hidden| hidden.flops()),
            // A number K comes from the whole perceptron, whose last layer is linear.
            rectified: self.width > 1 && !self.kernel.is_empty(),
            training: options.training,
            budget: options.budget,
        }
    }
}

/// Statistics of the fields, and the domain they were taken on.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Normalisers {
    /// One per input field, in the order of the configuration.
    pub fields: Vec<Normaliser>,
    /// Of the output.
    pub output: Normaliser,
    /// The training domain: pointwise statistics and the stencil rule refer to it.
    pub training: Option<Domain>,
}

impl Normalisers {
    /// Takes the statistics of training samples.
    pub fn fit(config: &ModelConfig, samples: &Samples) -> Result<Self> {
        let nodes = samples.nodes();
        let fit = |name: &String| {
            let values = &samples.field(name)?.values;
            Ok(Normaliser::fit(config.normalise_input, values, nodes))
        };
        Ok(Self {
            fields: config.fields.iter().map(fit).collect::<Result<_>>()?,
            output: Normaliser::fit(config.normalise_output, samples.output()?, nodes),
            training: Some(samples.domain.clone()),
        })
    }
}

/// A batch, ready for the network.
#[derive(Clone, Debug)]
pub struct Batch {
    /// Normalised input fields: samples x nodes x fields.
    pub fields: Tensor<3>,
    /// What the lift sees: samples * nodes x (dim + fields).
    pub lift_inputs: Tensor<2>,
    /// nodes x dim.
    pub points: Tensor<2>,
    /// kernel rows x (2 dim + 2 kernel fields).
    pub kernel_inputs: Tensor<2>,
    /// With [`Merge::PerSample`]: where each kernel row finds b(x) and b(y) in samples x nodes, so that derivatives
    /// with respect to the fields reach the kernel.
    pub kernel_positions: Option<(Tensor<1, Int>, Tensor<1, Int>)>,
    /// Graph, rows, depth, order of products.
    pub plan: Arc<Plan>,
    /// Mean and deviation of the output, 1 x (nodes or 1) each, if it is normalised.
    pub decode: Option<(Tensor<2>, Tensor<2>)>,
}

impl Batch {
    /// Prepares samples for a network.
    pub fn new(
        config: &ModelConfig,
        normalisers: &Normalisers,
        samples: &Samples,
        options: &BatchOptions,
    ) -> Result<Self> {
        let (nodes, count, dim) = (samples.nodes(), samples.count, samples.domain.dim());
        if count == 0 || nodes == 0 || options.depth == 0 {
            return Err(Error::invalid(
                "batch",
                "at least one sample, one node and one layer",
                format!("{count} samples, {nodes} nodes, depth {}", options.depth),
                "check the data and the depth",
            ));
        }
        let training = normalisers.training.as_ref();
        let encoded: Vec<Vec<f64>> = config
            .fields
            .iter()
            .zip(&normalisers.fields)
            .map(|(name, normaliser)| {
                Ok(normaliser.on(training, &samples.domain)?.encode(&samples.field(name)?.values))
            })
            .collect::<Result<_>>()?;
        let seen: Vec<usize> =
            (0..config.fields.len()).filter(|&i| config.kernel_fields.contains(&config.fields[i])).collect();
        let interleave = |which: &[usize]| -> Vec<f64> {
            let value = |i: usize| which.iter().map(move |&f| (i, f));
            (0..count * nodes).flat_map(value).map(|(i, f)| encoded[f][i]).collect()
        };
        let graph = graph(config, normalisers, &samples.domain, options.quadrature)?;
        let kernel_fields = interleave(&seen);
        let rows = RowTable::of_fields(&graph, count, &kernel_fields, options.merge);
        let coordinates = samples.domain.coordinates();
        let inputs = rows.inputs(&graph, dim, &coordinates, &kernel_fields);
        let upload = |values: Vec<f64>| {
            let length = values.len();
            Tensor::<1>::from_data(TensorData::new(values, [length]), (&options.device, options.dtype))
        };
        let positions = (options.merge == Merge::PerSample && !seen.is_empty()).then(|| {
            let (targets, sources) = rows.field_positions(&graph);
            let upload = |values: Vec<i64>| {
                let length = values.len();
                Tensor::<1, Int>::from_data(TensorData::new(values, [length]), &options.device)
            };
            (upload(targets), upload(sources))
        });
        let update = match config.kind {
            Kind::Nkn => Update::DiffusionReaction { step: config.time / options.depth as f64 },
            Kind::Gkn => Update::GraphKernel { activate_last: config.activate_last },
        };
        let kernel_rows = rows.rows();
        let plan = Plan::new(config.width, options.depth, update, graph, rows, &config.purpose(dim, options));
        let output = normalisers.output.on(training, &samples.domain)?;
        let decode = (!output.mean.is_empty()).then(|| {
            let length = output.mean.len();
            (upload(output.mean).reshape([1, length]), upload(output.std).reshape([1, length]))
        });
        let points = upload(coordinates).reshape([nodes, dim]);
        let fields = upload(interleave(&(0..config.fields.len()).collect::<Vec<_>>())).reshape([
            count,
            nodes,
            config.fields.len(),
        ]);
        Ok(Self {
            lift_inputs: lift_inputs(&points, &fields),
            fields,
            points,
            kernel_inputs: upload(inputs).reshape([kernel_rows, 2 * (dim + seen.len())]),
            kernel_positions: positions,
            plan: Arc::new(plan),
            decode,
        })
    }

    /// The same batch with other values of the (normalised) fields, for derivatives with respect to them.
    pub fn with_fields(mut self, fields: Tensor<3>) -> Self {
        self.lift_inputs = lift_inputs(&self.points, &fields);
        self.fields = fields;
        self
    }
}

/// (x, b(x)) of every sample and node.
fn lift_inputs(points: &Tensor<2>, fields: &Tensor<3>) -> Tensor<2> {
    let [samples, nodes, count] = fields.dims();
    let [_, dim] = points.dims();
    let points = points.clone().unsqueeze::<3>().expand([samples, nodes, dim]);
    Tensor::cat(vec![points, fields.clone()], 2).reshape([samples * nodes, dim + count])
}

/// The edges of a network on a domain. NKN acts on differences, so a node's edge to itself contributes nothing and is
/// left out (it has counted in the weights).
fn graph(
    config: &ModelConfig,
    normalisers: &Normalisers,
    domain: &Domain,
    quadrature: Option<Quadrature>,
) -> Result<crate::domain::Neighbourhood> {
    let training = normalisers.training.as_ref().and_then(|domain| match domain {
        Domain::Grid(grid) => Some(TrainingRule { spacing: grid.spacing(), quadrature: config.quadrature }),
        Domain::Cloud(_) => None,
    });
    let connect = |quadrature| connect(domain, &config.extent(), quadrature, training.as_ref());
    let is_other = normalisers.training.as_ref().is_some_and(|training| training != domain);
    let graph = match quadrature {
        Some(quadrature) => connect(quadrature)?,
        // The mean over the neighbours is another rule on every grid. Elsewhere than in training the training's own stencil takes its
        // place, or, where its displacements do not fit the grid, the rule that does not depend on the resolution.
        None if config.quadrature == Quadrature::Mean && is_other && matches!(domain, Domain::Grid(_)) => {
            connect(Quadrature::Stencil).or_else(|_| connect(Quadrature::Overlap))?
        }
        None => connect(config.quadrature)?,
    };
    Ok(match config.kind {
        Kind::Nkn => graph.without_self(),
        Kind::Gkn => graph,
    })
}
