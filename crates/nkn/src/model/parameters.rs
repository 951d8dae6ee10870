//! The numbers that are learned: a few flat vectors with named pieces.

use super::config::{Kind, ModelConfig};
use super::fno::head_shape;
use super::image::Network;
use super::nkn::LEAST_REACTION;
use super::space::Space;
use crate::kernel::{MlpShape, init_linear};
use crate::seed::{Seed, uniform};
use crate::{Error, Result};
use burn::tensor::{DType, Device, Tensor, TensorData};

/// A named tensor inside a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The name in model files: `kernel.0.weight`.
    pub name: String,
    /// The shape in PyTorch's layout.
    pub shape: Vec<usize>,
    /// Where it begins in the group's values.
    pub start: usize,
}

impl Entry {
    /// Its place in the group's values.
    pub fn range(&self) -> std::ops::Range<usize> {
        let length = self.shape.iter().fold(1usize, |length, &size| length.saturating_mul(size));
        self.start..self.start.saturating_add(length)
    }
}

/// A flat vector that the network uses as one: a linear layer, a perceptron, a constant.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// `lift`, `kernel`, `reaction`, `root`, `source` or `project`; FNO: `lift`, `spectral.0`, `pointwise.0`, …, `head`.
    pub name: String,
    /// What its values mean.
    pub entries: Vec<Entry>,
    /// The values.
    pub values: Vec<f32>,
}

/// All groups of a network.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Parameters {
    /// In the order lift, kernel, reaction or root, source, project.
    pub groups: Vec<Group>,
}

/// More numbers than this do not fit any memory that a network here is trained in: 32 GiB of weights alone.
const MOST: f64 = (1u64 << 33) as f64;

impl Parameters {
    /// These weights, if they have the shapes of a network.
    pub fn fitting(self, config: &ModelConfig, space: &Space, depth: usize) -> Result<Self> {
        let shapes = |p: &Self| p.groups.iter().map(|g| (g.name.clone(), g.values.len())).collect::<Vec<_>>();
        let (own, given) = (shapes(&Self::layout(config, space, depth)?), shapes(&self));
        let hint = "start from a network with the same [model] table";
        let words = |group: Option<&(String, usize)>| {
            group.map_or("no more groups".into(), |(name, count)| format!("{count} numbers of `{name}`"))
        };
        let places = 0..own.len().max(given.len());
        if let Some(place) = places.into_iter().find(|&place| own.get(place) != given.get(place)) {
            let (expected, got) = (words(own.get(place)), words(given.get(place)));
            return Err(Error::invalid("the initial weights", expected, got, hint));
        }
        Ok(self)
    }

    /// Zeros in the right shape.
    pub(crate) fn layout(config: &ModelConfig, space: &Space, depth: usize) -> Result<Self> {
        Self::check_size(config, space, depth)?;
        let mut groups = groups(config, space, depth)?;
        groups.iter_mut().for_each(|group| group.values = vec![0.0; group.length()]);
        Ok(Self { groups })
    }

    /// Refuses a network that does not fit any memory.
    pub(crate) fn check_size(config: &ModelConfig, space: &Space, depth: usize) -> Result<()> {
        let count = Self::size(config, space, depth)?;
        if count <= MOST {
            return Ok(());
        }
        let got = format!("about {count:.1e} with width {} and depth {depth}", config.width);
        let hint = "lower model.width, model.kernel or model.head";
        Err(Error::invalid("the number of parameters", format!("at most {MOST:.1e}"), got, hint))
    }

    /// Random numbers; see [`initial`] for functions and [`Network::initial`] for images.
    pub(crate) fn init(config: &ModelConfig, space: &Space, depth: usize, seed: Seed) -> Result<Self> {
        let mut parameters = Self::layout(config, space, depth)?;
        for group in &mut parameters.groups {
            let seed = seed.derive(&group.name, 0);
            group.values = match space {
                Space::Functions { dim } => initial(group, config, *dim, seed)?,
                Space::Images(_) => Network::initial(group, seed),
            };
        }
        Ok(parameters)
    }

    /// How many numbers there are, without allocating them: for settings and files that may be wrong. All networks grow with their depth as a straight line.
    pub(crate) fn size(config: &ModelConfig, space: &Space, depth: usize) -> Result<f64> {
        let of = |depth| -> Result<f64> {
            Ok(groups(config, space, depth)?.iter().map(|group| group.length() as f64).sum())
        };
        let one = of(1)?;
        Ok(one + (of(2)? - one) * (depth as f64 - 1.0))
    }

    /// Number of parameters; a complex number counts once.
    pub fn count(&self) -> usize {
        let of = |group: &Group| group.values.len() / if group.name.starts_with("spectral") { 2 } else { 1 };
        self.groups.iter().map(of).sum()
    }

    /// The group of this name.
    pub fn group(&self, name: &str) -> &Group {
        let found = self.groups.iter().find(|group| group.name == name);
        found.unwrap_or_else(|| panic!("the network has no group {name}"))
    }

    /// The group of this name, to change.
    pub fn group_mut(&mut self, name: &str) -> &mut Group {
        let found = self.groups.iter_mut().find(|group| group.name == name);
        found.unwrap_or_else(|| panic!("the network has no group {name}"))
    }

    /// The groups as tensors.
    pub(crate) fn tensors(&self, device: &Device, dtype: DType) -> ParameterTensors {
        let upload = |group: &Group| {
            let data = TensorData::new(group.values.clone(), [group.values.len()]);
            (group.name.clone(), Tensor::from_data(data, (device, dtype)))
        };
        ParameterTensors(self.groups.iter().map(upload).collect())
    }
}

impl Group {
    /// A linear layer: weight, then bias.
    pub(crate) fn linear(name: &str, inputs: usize, outputs: usize) -> Self {
        let entries = vec![(format!("{name}.weight"), vec![outputs, inputs]), (format!("{name}.bias"), vec![outputs])];
        Self::new(name, entries)
    }

    /// The layers of a perceptron.
    pub(crate) fn perceptron(name: &str, shape: &MlpShape) -> Self {
        let layers = shape.layers();
        let entries = layers.iter().enumerate().flat_map(|(i, layer)| {
            [
                (format!("{name}.{i}.weight"), vec![layer.outputs, layer.inputs]),
                (format!("{name}.{i}.bias"), vec![layer.outputs]),
            ]
        });
        Self::new(name, entries.collect())
    }

    /// Named tensors, one after the other; the values are still missing.
    pub(crate) fn new(name: &str, entries: Vec<(String, Vec<usize>)>) -> Self {
        let mut start = 0;
        let entries: Vec<Entry> = entries
            .into_iter()
            .map(|(name, shape)| {
                let entry = Entry { name, shape, start };
                start = entry.range().end;
                entry
            })
            .collect();
        Self { name: name.into(), entries, values: Vec::new() }
    }

    /// How many values there are to be.
    pub(crate) fn length(&self) -> usize {
        self.entries.last().map_or(0, |entry| entry.range().end)
    }
}

/// The groups of a network, without values.
fn groups(config: &ModelConfig, space: &Space, depth: usize) -> Result<Vec<Group>> {
    match space {
        Space::Functions { dim } => function_groups(config, *dim, depth),
        Space::Images(shape) => Network::new(config.clone(), *shape, depth)?.groups(),
    }
}

/// The groups of NKN, GKN or FNO on functions.
fn function_groups(config: &ModelConfig, dim: usize, depth: usize) -> Result<Vec<Group>> {
    let d = config.width;
    let mut groups = vec![Group::linear("lift", dim + config.columns(&config.fields), d)];
    if config.kind == Kind::Fno {
        // A frequency's complex matrix (inputs x outputs) is its real part, then its imaginary part.
        for layer in 0..depth {
            let frequencies =
                if dim == 2 { vec![config.modes.saturating_mul(2), config.modes] } else { vec![config.modes] };
            let shape = [frequencies, vec![2, d, d]].concat();
            groups.push(Group::new(&format!("spectral.{layer}"), vec![(format!("spectral.{layer}.weight"), shape)]));
            groups.push(Group::linear(&format!("pointwise.{layer}"), d, d));
        }
        groups.push(Group::perceptron("head", &head_shape(config)?));
        return Ok(groups);
    }
    groups.extend(equation_groups(config, dim, "")?);
    groups.push(Group::linear("project", d, config.output_columns()));
    Ok(groups)
}

/// Kernel, reaction and source of an equation; their names begin with the prefix.
pub(crate) fn equation_groups(config: &ModelConfig, dim: usize, prefix: &str) -> Result<[Group; 3]> {
    let (d, name) = (config.width, |part: &str| format!("{prefix}{part}"));
    Ok([
        Group::perceptron(&name("kernel"), &kernel_shape(config, dim)?),
        match config.kind {
            Kind::Gkn => Group::new("root", vec![("root".into(), vec![d, d])]),
            _ => Group::perceptron(&name("reaction"), &reaction_shape(config, dim)?),
        },
        Group::new(&name("source"), vec![(name("source"), vec![d])]),
    ])
}

/// As PyTorch draws linear layers; the source starts at zero (of GKN with one feature, at one). Spectral weights start as in the published
/// Fourier neural operator: uniform in [0, 1) / d². A dissipative network begins nearer to its equation
/// ([`without_coordinates`], [`away_from_zero`]).
fn initial(group: &Group, config: &ModelConfig, dim: usize, seed: Seed) -> Result<Vec<f32>> {
    let d = config.width;
    let is_dissipative = config.is_dissipative();
    let inputs = dim + config.columns(&config.fields);
    Ok(match group.name.as_str() {
        "kernel" if is_dissipative && !config.has_signed_kernel() => {
            away_from_zero(kernel_shape(config, dim)?.init(seed), d)
        }
        "kernel" => kernel_shape(config, dim)?.init(seed),
        "reaction" if is_dissipative && d == 1 => {
            let last_layer = config.reaction.last().copied().unwrap_or(dim) + 1;
            forgetting(reaction_shape(config, dim)?.init(seed), last_layer, config.time)
        }
        "reaction" if is_dissipative => away_from_zero(reaction_shape(config, dim)?.init(seed), d),
        "reaction" => reaction_shape(config, dim)?.init(seed),
        "lift" if is_dissipative => without_coordinates(init_linear(inputs, d, seed), inputs, dim),
        "lift" => init_linear(inputs, d, seed),
        "project" => init_linear(d, config.output_columns(), seed),
        "root" => init_linear(d, d, seed)[..d * d].to_vec(),
        "head" => head_shape(config)?.init(seed),
        name if name.starts_with("pointwise") => init_linear(d, d, seed),
        name if name.starts_with("spectral") => {
            let mut rng = seed.rng();
            let scale = 1.0 / (d * d) as f64;
            group.values.iter().map(|_| uniform(&mut rng, 0.0, scale) as f32).collect()
        }
        // With one feature, a ReLU that is off everywhere is a network that has died: it begins open.
        "source" if config.kind == Kind::Gkn && d == 1 => vec![1.0],
        _ => vec![0.0; group.values.len()],
    })
}

/// A lift that begins with the fields alone. A kernel that is not symmetric can take out again what coordinates and bias
/// put into every state, whatever the fields are: adding a(x) to k(x, y) changes little else. A symmetric one cannot.
fn without_coordinates(mut lift: Vec<f32>, inputs: usize, dim: usize) -> Vec<f32> {
    let weights = lift.len() / (inputs + 1) * inputs;
    lift[..weights].chunks_exact_mut(inputs).for_each(|row| row[..dim].fill(0.0));
    lift[weights..].fill(0.0);
    lift
}

/// Networks whose L (`operator/sector.rs`) begins near half of the identity: L (1 + Ω) Lᵀ is quadratic, and where L is
/// zero a derivative by it is.
fn away_from_zero(mut perceptron: Vec<f32>, d: usize) -> Vec<f32> {
    let biases = perceptron.len() - d * d;
    perceptron[biases..].iter_mut().step_by(d + 1).for_each(|bias| *bias += 0.5);
    perceptron
}

/// A reaction of one feature with T S² = 1 at every node: one layer of it takes away h itself, so that only what the kernel
/// makes of it is projected. Otherwise h, which begins larger than the outputs are (`task/start.rs`), would be the error
/// of the first steps, and they would take lift or projection through zero: with the wrong sign of the two a network
/// of several layers would have to be the root of a negative operator.
fn forgetting(mut perceptron: Vec<f32>, last_layer: usize, time: f64) -> Vec<f32> {
    let begin = perceptron.len() - last_layer;
    perceptron[begin..].fill(0.0);
    let root = (1.0 / time - LEAST_REACTION).max(LEAST_REACTION).sqrt();
    perceptron[begin + last_layer - 1] = root as f32;
    perceptron
}

/// (x, y, b(x), b(y)) to d².
pub(crate) fn kernel_shape(config: &ModelConfig, dim: usize) -> Result<MlpShape> {
    let inputs = 2 * (dim + config.columns(&config.kernel_fields));
    let outputs = config.width.saturating_mul(config.width);
    MlpShape::new("kernel", &[&[inputs], config.kernel.as_slice(), &[outputs]].concat())
}

/// x to d².
pub(crate) fn reaction_shape(config: &ModelConfig, dim: usize) -> Result<MlpShape> {
    let outputs = config.width.saturating_mul(config.width);
    MlpShape::new("reaction", &[&[dim], config.reaction.as_slice(), &[outputs]].concat())
}

/// The groups on a device: their names and tensors, in order.
#[derive(Clone, Debug)]
pub struct ParameterTensors(pub(crate) Vec<(String, Tensor<1>)>);

impl ParameterTensors {
    /// The tensor of a group.
    pub fn get(&self, name: &str) -> Tensor<1> {
        let found = self.0.iter().find(|(group, _)| group == name);
        found.unwrap_or_else(|| panic!("the network has no group {name}")).1.clone()
    }

    /// Marks all groups as variables to differentiate by.
    pub fn require_grad(self) -> Self {
        Self(self.0.into_iter().map(|(name, tensor)| (name, tensor.require_grad())).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Block, Guarantee, ImageShape};

    fn two_dimensional(kind: Kind) -> ModelConfig {
        ModelConfig {
            kind,
            width: 64,
            kernel: vec![512, 1024],
            reaction: vec![512, 1024],
            fields: ["b", "b_eps", "b_eps_x", "b_eps_y"].map(String::from).to_vec(),
            kernel_fields: vec!["b".into()],
            ..ModelConfig::default()
        }
    }

    fn count(config: &ModelConfig, dim: usize, depth: usize) -> usize {
        Parameters::layout(config, &Space::Functions { dim }, depth).unwrap().count()
    }

    /// The size is known before anything is allocated, whatever the depth, and an impossible one is refused.
    #[test]
    fn sizes() {
        let image = Space::Images(ImageShape {
            side: 8,
            channels: 3,
            extent: 8.0,
            classes: 10,
            resampling: Default::default(),
        });
        for space in [Space::Functions { dim: 1 }, Space::Functions { dim: 2 }, image] {
            for &kind in space.kinds() {
                for block in [Block::None, Block::Nnn, Block::Nkn] {
                    let block = if kind == Kind::Preresnet { block } else { Block::None };
                    let config =
                        ModelConfig { kind, block, modes: 3, fields: vec!["f".into()], ..ModelConfig::images() };
                    for depth in [1, 2, 3, 5] {
                        let groups = Parameters::layout(&config, &space, depth).unwrap().groups;
                        let exact: usize = groups.iter().map(|group| group.values.len()).sum();
                        let size = Parameters::size(&config, &space, depth).unwrap();
                        assert_eq!(size, exact as f64, "{kind} {block:?} at depth {depth}");
                    }
                    // As deep as a wrong file may say: an answer at once, whether such a network can be or not.
                    let deep = Parameters::check_size(&config, &space, usize::MAX);
                    let grows =
                        Parameters::size(&config, &space, 2).unwrap() > Parameters::size(&config, &space, 1).unwrap();
                    assert_eq!(deep.is_err(), grows, "{kind} {block:?}");
                    let wide = ModelConfig { width: 100_000_000, ..config };
                    let message = Parameters::layout(&wide, &space, 2).unwrap_err().to_string();
                    assert!(message.contains("model.width"), "{message}");
                }
            }
        }
    }

    /// The counts that settle the architecture (the paper's tables of parameters).
    #[test]
    fn parameter_counts_of_the_paper() {
        let one = |kind| ModelConfig { kind, fields: vec!["f".into()], ..ModelConfig::default() };
        assert_eq!(count(&one(Kind::Gkn), 1, 1), 66_824);
        assert_eq!(count(&one(Kind::Nkn), 1, 1), 67_016);
        assert_eq!(count(&two_dimensional(Kind::Gkn), 2, 1), 4_731_969);
        assert_eq!(count(&two_dimensional(Kind::Nkn), 2, 1), 9_453_121);
    }

    /// Those of the Fourier neural operator grow with the depth: L = 1, 2, 4, 8.
    #[test]
    fn parameter_counts_of_fourier_neural_operators() {
        for (depth, one, two) in
            [(1, 78_337, 171_425), (2, 148_033, 338_369), (4, 287_425, 672_257), (8, 566_209, 1_340_033)]
        {
            assert_eq!(count(&ModelConfig::fno_1d(), 1, depth), one);
            assert_eq!(count(&ModelConfig::fno_2d(), 2, depth), two);
        }
    }

    /// A dissipative network begins with nothing in its state but the fields, and with L near half of the identity.
    #[test]
    fn dissipative_networks_begin_near_their_equation() {
        let config =
            |stability| ModelConfig { stability, width: 3, fields: vec!["f".into()], ..ModelConfig::default() };
        let draw =
            |stability| Parameters::init(&config(stability), &Space::Functions { dim: 1 }, 1, Seed::new(1)).unwrap();
        let (free, own) = (draw(Guarantee::Free), draw(Guarantee::Dissipative));
        // Weights of (x, f) for each of three features, then three biases.
        let lift = &free.group("lift").values;
        assert_eq!(own.group("lift").values, [0.0, lift[1], 0.0, lift[3], 0.0, lift[5], 0.0, 0.0, 0.0]);
        for name in ["kernel", "reaction"] {
            let (free, own) = (&free.group(name).values, &own.group(name).values);
            let start = free.len() - 9;
            for (index, (free, own)) in free.iter().zip(own).enumerate() {
                let is_diagonal = index >= start && (index - start) % 4 == 0;
                assert_eq!(*own, free + if is_diagonal { 0.5 } else { 0.0 }, "{name} {index}");
            }
        }
        assert_eq!(
            (&own.group("source").values, &own.group("project").values),
            (&free.group("source").values, &free.group("project").values)
        );
    }

    #[test]
    fn initial_values_depend_on_the_seed_alone() {
        let config = ModelConfig { fields: vec!["f".into()], ..ModelConfig::default() };
        let draw = |seed| Parameters::init(&config, &Space::Functions { dim: 1 }, 1, Seed::new(seed)).unwrap();
        assert_eq!(draw(1), draw(1));
        assert_ne!(draw(1), draw(2));
        assert!(draw(1).group("kernel").values.iter().all(|v| v.abs() <= 1.0 / 2f32.sqrt()));
    }
}
