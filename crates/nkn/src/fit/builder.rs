//! Networks before they are trained: settings under the names of the configuration file, checked once, in `fit`.

use super::examples::Examples;
use crate::domain::Quadrature;
use crate::io::legacy::merge;
use crate::model::{Affinity, Block, Guarantee, Integrator, Model, Parameters};
use crate::run::{Existing, HINT, RunConfig};
use crate::train::{Event, OptimiserKind, PerDepth};
use crate::{Device, Error, Result};
use serde::Serialize;
use serde_json::{Value, json};
use std::marker::PhantomData;
use std::path::PathBuf;

/// The kinds of networks, as types.
pub mod kinds {
    use crate::model::Kind;

    /// A kind of network.
    pub trait Named {
        /// Its name in configuration files.
        const KIND: Kind;
    }

    macro_rules! kinds {
        ($($name:ident: $text:literal,)*) => {
            $(
                #[doc = $text]
                #[derive(Debug)]
                pub struct $name;
                impl Named for $name {
                    const KIND: Kind = Kind::$name;
                }
            )*
        };
    }

    kinds! {
        Nkn: "Nonlocal kernel networks.",
        Gkn: "Graph kernel networks.",
        Fno: "Fourier neural operators.",
        Cnn: "Convolutional networks.",
        MultiscaleCnn: "Multiscale convolutional networks.",
        Nnn: "Nonlocal neural networks.",
        Preresnet: "Pre-activation residual networks.",
    }
}

/// A nonlocal kernel network, on functions or on images.
///
/// ```
/// use nkn::{Grid, Nkn, Samples};
/// let x: Vec<f64> = (0..11).map(|i| i as f64 / 10.0).collect();
/// // Two samples: the output is twice the input.
/// let f: Vec<f64> = x.iter().map(|x| x + 1.0).chain(x.iter().map(|x| 2.0 - x * x)).collect();
/// let u: Vec<f64> = f.iter().map(|f| 2.0 * f).collect();
/// let train = Samples::on(Grid::unit(&[11])?).input("f", f)?.output("u", u)?;
/// let model = Nkn::new().width(4).kernel([8]).radius(0.25).depths([1, 2]).epochs(20).fit(&train)?;
/// assert_eq!((model.depth(), model.predict(&train)?.len()), (2, 22));
/// # Ok::<(), nkn::Error>(())
/// ```
pub type Nkn = Builder<kinds::Nkn>;

/// A graph kernel network on functions.
///
/// ```
/// # use nkn::{Gkn, problem::poisson, seed::Seed};
/// let model = Gkn::new().kernel([8]).epochs(2).fit(&poisson::generate(Seed::new(0), 0, 4, 9)?)?;
/// assert_eq!(model.title(), "GKN, L = 1");
/// # Ok::<(), nkn::Error>(())
/// ```
pub type Gkn = Builder<kinds::Gkn>;

/// A Fourier neural operator on functions on a grid.
///
/// ```
/// # use nkn::{Fno, problem::poisson, seed::Seed};
/// let model = Fno::new().width(4).modes(3).head(8).depths([2]).epochs(2).fit(&poisson::generate(Seed::new(0), 0, 4, 9)?)?;
/// assert_eq!(model.title(), "FNO, L = 2");
/// # Ok::<(), nkn::Error>(())
/// ```
pub type Fno = Builder<kinds::Fno>;

/// A convolutional network on images.
///
/// ```
/// use nkn::{Cnn, Images};
/// let images = Images::new(8, 1, (0..8 * 64).map(|i| (i * 37 % 256) as u8).collect(), vec![0, 1, 2, 3, 0, 1, 2, 3])?;
/// let model = Cnn::new().width(2).head(4).epochs(1).fit(&images)?;
/// assert_eq!(model.predict(&images)?.len(), 8);
/// # Ok::<(), nkn::Error>(())
/// ```
pub type Cnn = Builder<kinds::Cnn>;

/// A multiscale convolutional network on images.
pub type MultiscaleCnn = Builder<kinds::MultiscaleCnn>;

/// A nonlocal neural network on images.
pub type Nnn = Builder<kinds::Nnn>;

/// The pre-activation residual network of 20 layers on images, plain or with a nonlocal [`block`](Builder::block).
pub type Preresnet = Builder<kinds::Preresnet>;

/// A network that can be fitted. What is not said is as in configuration files, where `configs/poisson.toml` and `configs/mnist.toml` explain every key.
pub struct Builder<K> {
    /// `model` and `train`, with what was said.
    settings: Value,
    pub(super) device: Device,
    pub(super) folder: Option<(PathBuf, Existing)>,
    pub(super) initial: Option<Parameters>,
    pub(super) should_stop: Box<dyn Fn() -> bool + Send>,
    pub(super) observer: Box<dyn FnMut(&Event) + Send>,
    kind: PhantomData<K>,
}

impl<K: kinds::Named> Default for Builder<K> {
    fn default() -> Self {
        Self {
            settings: json!({ "model": { "kind": K::KIND }, "train": {} }),
            device: Device::default(),
            folder: None,
            initial: None,
            should_stop: Box::new(|| false),
            observer: Box::new(|_| {}),
            kind: PhantomData,
        }
    }
}

impl<K: kinds::Named> Builder<K> {
    /// With the usual settings.
    pub fn new() -> Self {
        Self::default()
    }

    /// Any setting by its name in configuration files: `set("train.schedule.kind", "constant")`.
    pub fn set(mut self, key: &str, value: impl Serialize) -> Self {
        let value = serde_json::to_value(value).unwrap_or(Value::Null);
        let nested = key.rsplit('.').fold(value, |inner, name| json!({ name: inner }));
        merge(&mut self.settings, &nested);
        self
    }

    /// d: features at a node.
    pub fn width(self, width: usize) -> Self {
        self.set("model.width", width)
    }

    /// The ladder: train at the first depth, then at the next from its weights, and so on.
    pub fn depths(self, depths: impl Into<Vec<usize>>) -> Self {
        self.set("train.depths", depths.into())
    }

    /// Passes over the samples: one number, or one per depth.
    pub fn epochs(self, epochs: impl Into<PerDepth<usize>>) -> Self {
        self.set("train.epochs", epochs.into())
    }

    /// Samples per step; of functions, all of them unless something is said.
    pub fn batch(self, batch: usize) -> Self {
        self.set("train.batch", batch)
    }

    /// The peak learning rate: one number, or one per depth.
    pub fn learning_rate(self, rate: impl Into<PerDepth<f64>>) -> Self {
        self.set("train.learning_rate", rate.into())
    }

    /// The algorithm.
    pub fn optimiser(self, optimiser: OptimiserKind) -> Self {
        self.set("train.optimiser", optimiser)
    }

    /// L2 regularisation (Adam), or decoupled weight decay.
    pub fn weight_decay(self, decay: f64) -> Self {
        self.set("train.weight_decay", decay)
    }

    /// Where all randomness comes from.
    pub fn seed(self, seed: u64) -> Self {
        self.set("train.seed", seed)
    }

    /// Where to compute.
    pub fn device(mut self, device: Device) -> Self {
        self.device = device;
        self
    }

    /// Writes a run's folder: configuration, checkpoints, models of all depths, tables. The folder must be new.
    pub fn run(mut self, folder: impl Into<PathBuf>) -> Self {
        self.folder = Some((folder.into(), Existing::Refuse));
        self
    }

    /// Continues the run in a folder, to the bit; begins it if there is none.
    pub fn resume(mut self, folder: impl Into<PathBuf>) -> Self {
        let folder = folder.into();
        let existing = if folder.join("config.toml").is_file() { Existing::Resume } else { Existing::Refuse };
        self.folder = Some((folder, existing));
        self
    }

    /// Begins with the weights of another network of the same shape, whatever it was trained on.
    pub fn start_from(mut self, model: &Model) -> Self {
        self.initial = Some(model.parameters().clone());
        self
    }

    /// Is told what happens while training.
    pub fn observe(mut self, observer: impl FnMut(&Event) + Send + 'static) -> Self {
        self.observer = Box::new(observer);
        self
    }

    /// Asked before every step: true ends the training, and `fit` gives the best network so far.
    pub fn stop_when(mut self, should_stop: impl Fn() -> bool + Send + 'static) -> Self {
        self.should_stop = Box::new(should_stop);
        self
    }

    /// Learns from samples.
    pub fn fit<E: Examples>(self, train: &E) -> Result<Model> {
        E::fit(self, train, None)
    }

    /// Learns from samples, and follows the error on others, which decide nothing.
    pub fn fit_tested<E: Examples>(self, train: &E, test: &E) -> Result<Model> {
        E::fit(self, train, Some(test))
    }

    /// The whole configuration with which [`Self::fit`] learns from such samples.
    ///
    /// ```
    /// # use nkn::{Nkn, problem::poisson, seed::Seed};
    /// let config = Nkn::new().width(4).configuration(&poisson::generate(Seed::new(0), 0, 4, 9)?)?;
    /// assert_eq!((config.model.width, config.model.fields), (4, vec!["f".to_string()]));
    /// # Ok::<(), nkn::Error>(())
    /// ```
    pub fn configuration<E: Examples>(&self, train: &E) -> Result<RunConfig> {
        E::configuration(self, train)
    }

    /// What was said, over what is usual for such samples.
    pub(super) fn config(&self, usual: RunConfig) -> Result<RunConfig> {
        let config = usual.clone().with(&self.settings).map_err(|error| self.mistake(&usual, error))?;
        config.train.check()?;
        Ok(config)
    }

    /// The setting that cannot be, by its name: the one that does not fit alone either.
    fn mistake(&self, usual: &RunConfig, error: serde_json::Error) -> Error {
        let expected = "a known name with a value of its type";
        let alone = |path: &[&str], value: &Value| {
            let nested = path.iter().rev().fold(value.clone(), |inner, name| json!({ *name: inner }));
            usual.clone().with(&nested).err().map(|error| Error::invalid(path.join("."), expected, error, HINT))
        };
        let table = |value: &Value| value.as_object().cloned().unwrap_or_default();
        for (part, settings) in &table(&self.settings) {
            for (name, value) in &table(settings) {
                if let Some(error) = alone(&[part, name], value) {
                    return error;
                }
            }
        }
        Error::invalid("a setting", expected, error, HINT)
    }
}

impl<K: kinds::Named> Builder<K>
where
    K: HasKernel,
{
    /// Hidden widths of the kernel network.
    pub fn kernel(self, widths: impl Into<Vec<usize>>) -> Self {
        self.set("model.kernel", widths.into())
    }

    /// Radius of the neighbourhood; without it every node is everybody's neighbour. On images in pixels.
    pub fn radius(self, radius: f64) -> Self {
        self.set("model.radius", radius)
    }

    /// So many nearest nodes in place of a radius: it follows the density of scattered points.
    pub fn neighbours(self, count: usize) -> Self {
        self.set("model.neighbours", count)
    }

    /// The rule that turns the integral into a sum.
    pub fn quadrature(self, rule: Quadrature) -> Self {
        self.set("model.quadrature", rule)
    }

    /// The input fields that the kernel sees at x and at y.
    pub fn kernel_fields(self, names: &[&str]) -> Self {
        self.set("model.kernel_fields", names)
    }
}

/// Networks with a learned kernel.
pub trait HasKernel {}
impl HasKernel for kinds::Nkn {}
impl HasKernel for kinds::Gkn {}

impl Nkn {
    /// What is known of the network whatever its weights: a dissipative one cannot blow up, at any depth from its
    /// certificate on.
    pub fn stability(self, stability: Guarantee) -> Self {
        self.set("model.stability", stability)
    }

    /// How its equation is followed: the paper's is explicit Euler.
    pub fn integrator(self, integrator: Integrator) -> Self {
        self.set("model.integrator", integrator)
    }

    /// Whether a dissipative network is kept such that no state can grow at the depths of its training.
    pub fn certified(self, certified: bool) -> Self {
        self.set("train.certified", certified)
    }

    /// Hidden widths of the reaction network.
    pub fn reaction(self, widths: impl Into<Vec<usize>>) -> Self {
        self.set("model.reaction", widths.into())
    }
}

impl Fno {
    /// Frequencies per axis and sign that a layer keeps.
    pub fn modes(self, modes: usize) -> Self {
        self.set("model.modes", modes)
    }
}

impl Preresnet {
    /// What stands after the second residual block.
    pub fn block(self, block: Block) -> Self {
        self.set("model.block", block)
    }
}

macro_rules! with_affinity {
    ($($network:ty),*) => { $(impl $network {
        /// What the affinity of two pixels is made of; a residual network needs an NNN block for it.
        pub fn affinity(self, affinity: Affinity) -> Self {
            self.set("model.affinity", affinity)
        }
    })* };
}

with_affinity!(Nnn, Preresnet);

macro_rules! with_head {
    ($($network:ty),*) => { $(impl $network {
        /// Hidden width of the head.
        pub fn head(self, width: usize) -> Self {
            self.set("model.head", width)
        }
    })* };
}

with_head!(Nkn, Fno, Cnn, MultiscaleCnn, Nnn);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::poisson;
    use crate::seed::Seed;

    #[test]
    fn the_setting_that_cannot_be_is_named() {
        let train = poisson::generate(Seed::new(0), 0, 2, 5).unwrap();
        for (key, value, word) in [
            ("model.width", json!("many"), "many"),
            ("train.schedule.kind", json!("sawtooth"), "sawtooth"),
            ("train.epochs", json!(-1), "number"),
            ("model.breadth", json!(3), "breadth"),
        ] {
            let network = Nkn::new().set("train.seed", 3).set(key, value);
            let message = network.configuration(&train).unwrap_err().to_string();
            let named = key.split('.').take(2).collect::<Vec<_>>().join(".");
            assert!(message.starts_with(&named) && message.contains(word), "{message}");
        }
        assert_eq!(Nkn::new().set("train.seed", 3).configuration(&train).unwrap().train.seed, 3);
    }
}
