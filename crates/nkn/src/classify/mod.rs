//! Classification of images, the paper's second half: networks that are trained at one resolution and work at another.
//!
//! One file per network: [`nkn`](self), convolutions, multiscale convolutions, nonlocal networks, and residual networks with nonlocal blocks. States are nodes x samples x channels throughout.

mod config;
mod data;
mod files;
mod run;
mod trainer;

pub use crate::model::affinity::nonlocal;
pub use crate::model::image::{Network, Norms, Pass, Running};
pub use crate::model::layers::{Activation, activate, flatten, lift};
pub use crate::model::maps::PixelMap;
pub use crate::model::nkn::pixels::{Stencil, stencil};
pub use config::{Architecture, Block, ClassifierConfig, ClassifierTraining, Decay, ImageShape};
pub use data::{ImageDataConfig, ImageSplits, Motion, Problem, TestSet, batch, is_about_images, usual_folder};
pub use files::Classifier;
pub use run::{ImageResults, ImageRunConfig, ImageRunFolder};
pub use trainer::{ClassifierState, ClassifierTrainer, EpochRecord, Happening, Mistake, TestResult, evaluate, predict};
