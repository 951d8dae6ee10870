//! The numbers that are learned: a few flat vectors with named pieces.

use super::config::{Kind, ModelConfig};
use super::fno::head_shape;
use crate::Result;
use crate::kernel::{MlpShape, init_linear};
use crate::seed::{Seed, uniform};
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
    /// Number of values.
    pub fn len(&self) -> usize {
        self.shape.iter().product()
    }

    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Its place in the group's values.
    pub fn range(&self) -> std::ops::Range<usize> {
        self.start..self.start + self.len()
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
#[derive(Clone, Debug, PartialEq)]
pub struct Parameters {
    /// In the order lift, kernel, reaction or root, source, project.
    pub groups: Vec<Group>,
}

impl Parameters {
    /// Zeros in the right shape.
    pub fn layout(config: &ModelConfig, dim: usize, depth: usize) -> Result<Self> {
        let d = config.width;
        if config.kind == Kind::Fno {
            return Self::fourier(config, dim, depth);
        }
        let mut groups = vec![
            Group::linear("lift", dim + config.fields.len(), d),
            Group::perceptron("kernel", &kernel_shape(config, dim)?),
        ];
        match config.kind {
            Kind::Nkn => groups.push(Group::perceptron("reaction", &reaction_shape(config, dim)?)),
            Kind::Gkn | Kind::Fno => groups.push(Group::new("root", vec![("root".into(), vec![d, d])])),
        }
        groups.push(Group::new("source", vec![("source".into(), vec![d])]));
        groups.push(Group::linear("project", d, 1));
        Ok(Self { groups })
    }

    /// The groups of a Fourier neural operator; a frequency's complex matrix (inputs x outputs) is its real part, then its imaginary part.
    fn fourier(config: &ModelConfig, dim: usize, depth: usize) -> Result<Self> {
        let d = config.width;
        let mut groups = vec![Group::linear("lift", dim + config.fields.len(), d)];
        for layer in 0..depth {
            let frequencies = if dim == 2 { vec![2 * config.modes, config.modes] } else { vec![config.modes] };
            let shape = [frequencies, vec![2, d, d]].concat();
            groups.push(Group::new(&format!("spectral.{layer}"), vec![(format!("spectral.{layer}.weight"), shape)]));
            groups.push(Group::linear(&format!("pointwise.{layer}"), d, d));
        }
        groups.push(Group::perceptron("head", &head_shape(config)?));
        Ok(Self { groups })
    }

    /// Random numbers as PyTorch draws them for linear layers; the source starts at zero (of GKN with one feature, at one). Spectral weights start as in the published
    /// Fourier neural operator: uniform in [0, 1) / d².
    pub fn init(config: &ModelConfig, dim: usize, depth: usize, seed: Seed) -> Result<Self> {
        let mut parameters = Self::layout(config, dim, depth)?;
        let d = config.width;
        for group in &mut parameters.groups {
            let seed = seed.derive(&group.name, 0);
            group.values = match group.name.as_str() {
                "kernel" => kernel_shape(config, dim)?.init(seed),
                "reaction" => reaction_shape(config, dim)?.init(seed),
                "lift" => init_linear(dim + config.fields.len(), d, seed),
                "project" => init_linear(d, 1, seed),
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
            };
        }
        Ok(parameters)
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
    pub fn tensors(&self, device: &Device, dtype: DType) -> ParameterTensors {
        let upload = |group: &Group| {
            let data = TensorData::new(group.values.clone(), [group.values.len()]);
            (group.name.clone(), Tensor::from_data(data, (device, dtype)))
        };
        ParameterTensors { groups: self.groups.iter().map(upload).collect() }
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

    /// Named tensors, one after the other; all zero.
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
        Self { name: name.into(), entries, values: vec![0.0; start] }
    }
}

/// (x, y, b(x), b(y)) to d².
pub(crate) fn kernel_shape(config: &ModelConfig, dim: usize) -> Result<MlpShape> {
    let inputs = 2 * (dim + config.kernel_fields.len());
    let outputs = config.width * config.width;
    MlpShape::new("kernel", &[&[inputs], config.kernel.as_slice(), &[outputs]].concat())
}

/// x to d².
pub(crate) fn reaction_shape(config: &ModelConfig, dim: usize) -> Result<MlpShape> {
    let outputs = config.width * config.width;
    MlpShape::new("reaction", &[&[dim], config.reaction.as_slice(), &[outputs]].concat())
}

/// The groups on a device, by name.
#[derive(Clone, Debug)]
pub struct ParameterTensors {
    groups: Vec<(String, Tensor<1>)>,
}

impl ParameterTensors {
    /// Names and tensors.
    pub fn new(groups: Vec<(String, Tensor<1>)>) -> Self {
        Self { groups }
    }

    /// The tensor of a group.
    pub fn get(&self, name: &str) -> Tensor<1> {
        let found = self.groups.iter().find(|(group, _)| group == name);
        found.unwrap_or_else(|| panic!("the network has no group {name}")).1.clone()
    }

    /// Marks all groups as variables to differentiate by.
    pub fn require_grad(self) -> Self {
        let groups = self.groups.into_iter();
        Self { groups: groups.map(|(name, tensor)| (name, tensor.require_grad())).collect() }
    }

    /// Names and tensors, in order.
    pub fn iter(&self) -> impl Iterator<Item = &(String, Tensor<1>)> {
        self.groups.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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

    /// The counts that settle the architecture (the paper's tables of parameters).
    #[test]
    fn parameter_counts_of_the_paper() {
        let one = |kind| ModelConfig { kind, fields: vec!["f".into()], ..ModelConfig::default() };
        assert_eq!(one(Kind::Gkn).parameter_count(1, 1).unwrap(), 66_824);
        assert_eq!(one(Kind::Nkn).parameter_count(1, 1).unwrap(), 67_016);
        assert_eq!(two_dimensional(Kind::Gkn).parameter_count(2, 1).unwrap(), 4_731_969);
        assert_eq!(two_dimensional(Kind::Nkn).parameter_count(2, 1).unwrap(), 9_453_121);
    }

    /// Those of the Fourier neural operator grow with the depth: L = 1, 2, 4, 8.
    #[test]
    fn parameter_counts_of_fourier_neural_operators() {
        for (depth, one, two) in
            [(1, 78_337, 171_425), (2, 148_033, 338_369), (4, 287_425, 672_257), (8, 566_209, 1_340_033)]
        {
            assert_eq!(ModelConfig::fno_1d().parameter_count(1, depth).unwrap(), one);
            assert_eq!(ModelConfig::fno_2d().parameter_count(2, depth).unwrap(), two);
        }
    }

    #[test]
    fn initial_values_depend_on_the_seed_alone() {
        let config = ModelConfig { fields: vec!["f".into()], ..ModelConfig::default() };
        let draw = |seed| Parameters::init(&config, 1, 1, Seed::new(seed)).unwrap();
        assert_eq!(draw(1), draw(1));
        assert_ne!(draw(1), draw(2));
        assert!(draw(1).group("kernel").values.iter().all(|v| v.abs() <= 1.0 / 2f32.sqrt()));
    }
}
