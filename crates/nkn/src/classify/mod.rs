//! Classification of images, the paper's second half: networks that are trained at one resolution and work at another.
//!
//! One file per network: [`nkn`](self), convolutions, multiscale convolutions, nonlocal networks, and residual networks with nonlocal blocks. States are nodes x samples x channels throughout.

mod affinity;
mod cnn;
mod config;
mod data;
mod files;
mod layers;
mod linear;
mod maps;
mod multiscale_cnn;
mod network;
mod nkn;
mod nnn;
mod preresnet;
mod reach;
mod responses;
mod run;
mod trainer;

pub use affinity::nonlocal;
pub use config::{Architecture, Block, ClassifierConfig, ClassifierTraining, Decay, ImageShape};
pub use data::{ImageDataConfig, ImageSplits, Motion, Problem, TestSet, batch, is_about_images, usual_folder};
pub use files::Classifier;
pub use layers::{Activation, activate, flatten, lift};
pub use maps::PixelMap;
pub use network::{Network, Norms, Pass, Running};
pub use nkn::{Stencil, stencil};
pub use run::{ImageResults, ImageRunConfig, ImageRunFolder};
pub use trainer::{ClassifierState, ClassifierTrainer, EpochRecord, Happening, Mistake, TestResult, evaluate, predict};
