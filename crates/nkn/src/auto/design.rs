//! From what the samples look like to a network and a training: the guide's page on choosing, as code.

use super::choice::Choice;
use super::facts::Facts;
use super::ladder::Price;
use crate::field::NormaliserKind;
use crate::model::{Kind, ModelConfig};
use crate::train::{Augment, Keep, LossKind, OptimiserKind, ScheduleConfig, TrainConfig};

/// Below this error of a linear map the output is taken as linear in the inputs.
const LINEAR: f64 = 5e-3;
/// Pointwise statistics need so many samples.
const STATISTICS: usize = 30;
/// With at most so many nodes, by dimension, every node is everybody's neighbour.
const CONNECTED: [usize; 3] = [256, 64, 64];
/// Rows of the kernel network in a step that are affordable.
const ROWS: usize = 200_000;
/// The outputs' size within which they are learned as they are.
const USUAL: std::ops::RangeInclusive<f64> = 0.2..=5.0;

/// The width of a network and its hidden widths.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Size {
    pub width: usize,
    pub hidden: Vec<usize>,
}

/// A network and its training, but for what must be measured.
#[derive(Clone, Debug)]
pub(super) struct Design {
    pub model: ModelConfig,
    pub train: TrainConfig,
    pub choices: Vec<Choice>,
    /// What may be tried, large to small: the first is in `model`.
    pub sizes: Vec<Size>,
    /// The deepest network that makes sense.
    pub deepest: usize,
    /// A depth with fewer steps does not pay: its weights must change when the step is halved.
    pub least: usize,
    /// The peak learning rate of shallow networks, and of those from this depth on.
    pub rates: (f64, usize, f64),
    /// Continuous fields that the kernel might see too, at a price.
    pub dear_fields: Vec<String>,
}

impl Design {
    /// The same with another size.
    pub fn sized(&self, size: &Size) -> Self {
        let mut design = self.clone();
        design.model.width = size.width;
        if design.model.kind != Kind::Fno {
            design.model.kernel.clone_from(&size.hidden);
            design.model.reaction = if size.width == 1 { vec![64] } else { size.hidden.clone() };
        }
        design
    }
}

/// The design for a kind of network on functions.
pub(super) fn design(kind: Kind, facts: &Facts, validation: usize, seed: u64) -> Design {
    let mut choices = Vec::new();
    let mut train = TrainConfig {
        keep: Keep::Validation,
        validation,
        schedule: ScheduleConfig::default(),
        checkpoint_seconds: 20.0,
        record_every: 5,
        evaluate_every: 5,
        seed,
        ..TrainConfig::default()
    };
    train.vectors.clone_from(&facts.vectors);
    if facts.zero_outputs > 0 {
        train.loss = LossKind::Mse;
        let why = format!("{} samples have an output of zero, whose relative error has no meaning", facts.zero_outputs);
        choices.push(Choice::new("loss", "mse", why));
    }
    let fields: Vec<String> = facts.varying().map(|input| input.name.clone()).collect();
    if fields.len() < facts.inputs.len() {
        choices.push(Choice::new("fields", fields.join(", "), "the others have the same value everywhere"));
    }
    let model = ModelConfig { kind, fields, ..ModelConfig::default() };
    match kind {
        Kind::Fno => fourier(facts, model, train, choices),
        _ => kernel(facts, model, train, choices),
    }
}

/// Whether a linear map is all that is needed.
fn is_linear(facts: &Facts) -> bool {
    facts.linear.is_some_and(|error| error < LINEAR)
}

fn kernel(facts: &Facts, mut model: ModelConfig, mut train: TrainConfig, mut choices: Vec<Choice>) -> Design {
    let linear = is_linear(facts);
    let error = facts
        .linear
        .map_or("too few samples to say".into(), |error| format!("a linear map has an error of {error:.1e}"));
    let mut dear_fields = Vec::new();
    if linear {
        choices.push(Choice::new("kernel", "k(x, y)", format!("{error}: the kernel need not see the inputs")));
    } else {
        let cheap: Vec<&str> = facts.varying().filter(|f| f.has_few_values()).map(|f| f.name.as_str()).collect();
        model.kernel_fields = cheap.iter().map(|name| name.to_string()).collect();
        if cheap.is_empty() {
            dear_fields = facts.varying().map(|input| input.name.clone()).collect();
        } else {
            let why = format!("{error}; few distinct values, so samples share kernel rows");
            choices.push(Choice::new("kernel", format!("sees {}", cheap.join(", ")), why));
        }
    }
    // A linear map of one field is one integral against a Green's function.
    let sizes = match (linear, facts.channels) {
        (true, (1, 1)) => vec![size(1, &[256, 256]), size(1, &[128, 128]), size(1, &[64, 64])],
        (true, _) => vec![size(8, &[128, 128]), size(4, &[64, 64])],
        _ => vec![size(32, &[128, 256]), size(16, &[64, 128]), size(8, &[32, 64])],
    };
    choices.push(radius(facts, &mut model));
    normalise(facts, linear, &mut model, &mut choices);
    let rates = if linear { (1e-2, 2, 5e-3) } else { (3e-3, 8, 2e-3) };
    train.optimiser = OptimiserKind::Soap;
    train.betas = [0.95, 0.95];
    train.basis_every = if linear { 5 } else { 10 };
    train.weight_decay = if linear { 0.0 } else { 0.1 };
    choices.push(Choice::new("optimiser", format!("soap, {:e}", rates.0), "few steps with many samples each"));
    let rows = edges(facts, &model) * if model.kernel_fields.is_empty() { 1 } else { 4 };
    let deepest = if model.radius.is_none() { 8 } else { 16 };
    let least = if linear { 1000 } else { 80 };
    choices.push(batch(facts, rows, &mut train));
    Design { model, train, choices, deepest, least, rates, dear_fields, sizes: sizes.clone() }.sized(&sizes[0])
}

fn size(width: usize, hidden: &[usize]) -> Size {
    Size { width, hidden: hidden.to_vec() }
}

/// Neighbours within a ball, or everywhere.
fn radius(facts: &Facts, model: &mut ModelConfig) -> Choice {
    if facts.nodes <= CONNECTED[facts.dim - 1] {
        return Choice::new("radius", "none", format!("{} nodes: every node may see every other", facts.nodes));
    }
    let side = facts.shape.as_ref().and_then(|shape| shape.iter().max().copied());
    // On fine grids a ball of 1.5 spacings takes too many layers to cross the domain.
    let spacings = match (side, facts.dim) {
        (Some(_), 1) => 24.0,
        (Some(side), 2) if side > 40 => 2.5,
        (Some(_), _) => 1.5,
        (None, 1) => 24.0,
        // About fifteen neighbours.
        (None, 2) => 2.2,
        (None, _) => 1.6,
    };
    // A short number is easier to read, and files hold it exactly.
    let radius = spacings * facts.spacing;
    let radius = format!("{radius:.2e}").parse().unwrap_or(radius);
    model.radius = Some(radius);
    let why = match side {
        Some(_) => format!("{spacings} spacings of the grid: neighbours on all sides, and depth carries further"),
        None => format!("{spacings} mean distances between points: some fifteen neighbours, and depth carries further"),
    };
    Choice::new("radius", radius, why)
}

fn normalise(facts: &Facts, linear: bool, model: &mut ModelConfig, choices: &mut Vec<Choice>) {
    let is_far = facts.varying().any(|input| input.mean.abs() > input.deviation);
    let is_usual = USUAL.contains(&facts.output_size);
    // A linear map without a constant is learned best as it is; the lift is scaled by the size of the input anyway.
    let (input, why) = match linear && !is_far {
        true => (NormaliserKind::None, "a linear map keeps its form, and the lift knows the input's size"),
        false => (NormaliserKind::Scalar, "mean 0 and deviation 1"),
    };
    choices.push(Choice::new("normalise_input", name(input), why));
    let (output, why) = match facts.shape.is_some() && facts.samples >= STATISTICS {
        _ if linear && is_usual => (NormaliserKind::None, format!("its size is {:.2}", facts.output_size)),
        true if !linear => (NormaliserKind::Pointwise, "a grid, and enough samples for a mean at each node".into()),
        _ => (NormaliserKind::Scalar, format!("its size is {:.1e}", facts.output_size)),
    };
    choices.push(Choice::new("normalise_output", name(output), why));
    (model.normalise_input, model.normalise_output) = (input, output);
}

fn name(kind: NormaliserKind) -> String {
    format!("{kind:?}").to_lowercase()
}

/// Edges of a sample, about.
fn edges(facts: &Facts, model: &ModelConfig) -> usize {
    let within = |radius: f64| {
        let ball = [2.0, std::f64::consts::PI, 4.0 / 3.0 * std::f64::consts::PI][facts.dim - 1];
        (ball * (radius / facts.spacing).powi(facts.dim as i32)).ceil() as usize
    };
    facts.nodes * model.radius.map_or(facts.nodes, within).min(facts.nodes)
}

/// All samples in every step where that is affordable.
fn batch(facts: &Facts, shared_rows: usize, train: &mut TrainConfig) -> Choice {
    let learned = facts.samples - train.validation;
    // States of nodes, which every sample has.
    let most = (4 * ROWS / facts.nodes).clamp(1, 500);
    if learned <= most {
        let why = format!("kernel rows ({shared_rows} at most) are shared, so more samples cost little");
        return Choice::new("batch", format!("all {learned} samples"), why);
    }
    train.batch = Some(most);
    Choice::new("batch", most, format!("of {learned} samples with {} nodes", facts.nodes))
}

/// The batch where every sample has kernel rows of its own.
pub(super) fn own_rows(facts: &Facts, design: &mut Design) {
    let learned = facts.samples - design.train.validation;
    let most = (ROWS / edges(facts, &design.model)).clamp(1, learned);
    design.train.batch = (most < learned).then_some(most);
    design.choices.retain(|choice| choice.what != "batch");
    design.choices.push(Choice::new("batch", most, "every sample has kernel rows of its own"));
    if most < learned {
        (design.train.record_every, design.train.evaluate_every) = (1, 1);
    }
}

fn fourier(facts: &Facts, mut model: ModelConfig, mut train: TrainConfig, mut choices: Vec<Choice>) -> Design {
    let shape = facts.shape.as_deref().unwrap_or(&[]);
    let half = shape.iter().min().map_or(1, |side| side / 2).max(1);
    let (width, modes) = match facts.dim {
        1 => (64, half.min(16)),
        2 => (32, half.min(12)),
        _ => (16, half.min(6)),
    };
    (model.width, model.modes) = (width, modes);
    choices.push(Choice::new("modes", modes, format!("of {half} that the grid's shortest side has")));
    let statistics = match facts.samples >= STATISTICS {
        true => (NormaliserKind::Pointwise, "enough samples for a mean at each node"),
        false => (NormaliserKind::Scalar, "too few samples for a mean at each node"),
    };
    (model.normalise_input, model.normalise_output) = (statistics.0, statistics.0);
    choices.push(Choice::new("normalise", name(statistics.0), statistics.1));
    let learned = facts.samples - train.validation;
    let batch = (learned / 4).clamp(1, 20);
    train.batch = Some(batch);
    train.optimiser = OptimiserKind::Adam;
    train.weight_decay = 1e-4;
    (train.record_every, train.evaluate_every) = (1, 1);
    choices.push(Choice::new(
        "optimiser",
        "adam, 1e-3",
        format!("batches of {batch}, as Fourier operators are usually trained"),
    ));
    let sizes = vec![size(width, &[]), size(width / 2, &[])];
    Design {
        model,
        train,
        choices,
        sizes,
        deepest: 4,
        least: 1,
        rates: (1e-3, usize::MAX, 1e-3),
        dear_fields: Vec::new(),
    }
}

/// Turned and mirrored samples, with the reason.
pub(super) fn augment(design: &mut Design, wanted: bool, why: String) {
    design.train.augment = if wanted { Augment::Square } else { Augment::None };
    design.choices.push(Choice::new("augment", if wanted { "square" } else { "none" }, why));
}

/// The size, with the reason.
pub(super) fn size_choice(model: &ModelConfig, size: &Size, price: Price, is_enough: bool) -> Choice {
    let hidden = if model.kind == Kind::Fno { String::new() } else { format!(", kernel {:?}", model.kernel) };
    let step = format!("a step takes {:.3} s, {:.4} s more per layer", price.step, price.layer);
    let why = if is_enough { format!("{step}: enough steps in the time") } else { format!("{step}: the smallest") };
    Choice::new("width", format!("{}{hidden}", size.width), why)
}

#[cfg(test)]
mod tests;
