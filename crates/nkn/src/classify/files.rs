//! Classifiers and the states of their trainings as files, in the format of all model files: safetensors with a JSON header.

use super::config::{ClassifierConfig, ClassifierTraining, ImageShape};
use super::trainer::{ClassifierState, EpochRecord};
use crate::convolution::Statistics;
use crate::io::tensors::{Piece, decode, encode, parameter_pieces, read_parameters, values};
use crate::io::write_atomically;
use crate::model::Parameters;
use crate::model::image::{Network, Running};
use crate::train::{Optimiser, OptimiserKind};
use crate::{Error, Result};
use safetensors::SafeTensors;
use serde::{Deserialize, Serialize};
use std::path::Path;

const VERSION: u32 = 1;

/// A trained classifier: everything that a model file holds.
#[derive(Debug)]
pub struct Classifier {
    /// The network.
    pub network: Network,
    /// Its numbers.
    pub parameters: Parameters,
    /// Running averages of its normalisations.
    pub running: Running,
    /// Mean and deviation of each channel of the training images.
    pub statistics: Vec<(f32, f32)>,
}

#[derive(Serialize, Deserialize)]
struct Header {
    version: u32,
    classifier: ClassifierConfig,
    images: ImageShape,
    statistics: Vec<(f32, f32)>,
}

fn running_pieces(running: &Running) -> Vec<Piece> {
    let both = running.iter().flat_map(|(name, s)| [(name, "mean", &s.mean), (name, "variance", &s.variance)]);
    both.map(|(name, what, values)| Piece::double(format!("running.{name}.{what}"), vec![values.len()], values))
        .collect()
}

fn read_running(path: &Path, tensors: &SafeTensors, network: &Network) -> Result<Running> {
    let one = |(name, channels): (String, usize)| -> Result<(String, Statistics)> {
        let read = |what: &str| values(path, tensors, &format!("running.{name}.{what}"), &[channels]);
        let statistics = Statistics { mean: read("mean")?, variance: read("variance")? };
        Ok((name, statistics))
    };
    network.norms()?.into_iter().map(one).collect()
}

fn check_version(path: &Path, version: u32) -> Result<()> {
    if version == VERSION {
        return Ok(());
    }
    let problem = format!("has format version {version}, expected {VERSION}");
    Err(Error::file(path, problem, "use the nkn that wrote it, or train anew with --force"))
}

impl Classifier {
    /// Writes the model file, atomically.
    pub fn write(&self, path: &Path) -> Result<()> {
        let mut pieces = parameter_pieces(&self.parameters, "");
        pieces.extend(running_pieces(&self.running));
        let header = Header {
            version: VERSION,
            classifier: self.network.config.clone(),
            images: self.network.shape,
            statistics: self.statistics.clone(),
        };
        let header = serde_json::to_string(&header).expect("a header is plain data");
        write_atomically(path, &encode(path, &pieces, header)?)
    }

    /// Reads a model file.
    pub fn read(path: &Path) -> Result<Self> {
        let bytes = std::fs::read(path).map_err(Error::io(path, "read"))?;
        let (header, tensors) = decode(path, &bytes, "classifier")?;
        let header: Header = serde_json::from_str(&header).map_err(|error| {
            Error::file(path, format!("is not a classifier ({error})"), "give the model file of an image run")
        })?;
        check_version(path, header.version)?;
        let ImageShape { side, channels, extent, classes } = header.images;
        let is_possible =
            (1..=4096).contains(&side) && channels == header.statistics.len() && extent > 0.0 && classes > 0;
        // Before anything of the size that the header claims is allocated.
        let claimed = [header.classifier.width, header.classifier.depth, header.classifier.head, classes];
        if !is_possible || claimed.iter().any(|&size| size > bytes.len()) {
            return Err(Error::file(path, "has a header that does not fit its content", "train the run again"));
        }
        let network = Network::new(header.classifier, header.images)?;
        if network.head_inputs().saturating_mul(4) > bytes.len()
            && network.config.block == super::Block::None
            && network.config.architecture != super::Architecture::Preresnet
        {
            return Err(Error::file(path, "has a header that does not fit its content", "train the run again"));
        }
        let mut parameters = network.layout()?;
        read_parameters(path, &tensors, &mut parameters, "")?;
        let running = read_running(path, &tensors, &network)?;
        Ok(Self { network, parameters, running, statistics: header.statistics })
    }
}

#[derive(Serialize, Deserialize)]
struct StateHeader {
    version: u32,
    classifier: ClassifierConfig,
    images: ImageShape,
    train: ClassifierTraining,
    epoch: usize,
    step: usize,
    optimiser_steps: u64,
    /// Bits of a floating point number: it must come back exactly, and numbers in JSON may be off by one unit in the last place.
    loss: u64,
    /// Epoch, and bits of loss and error rate.
    records: Vec<(usize, u64, u64)>,
    seconds: f64,
}

impl ClassifierState {
    /// Saves the state, atomically: killed at any moment, the old checkpoint or the new one is there.
    pub fn write(&self, path: &Path, network: &Network, train: &ClassifierTraining) -> Result<()> {
        let header = StateHeader {
            version: VERSION,
            classifier: network.config.clone(),
            images: network.shape,
            train: train.clone(),
            epoch: self.epoch,
            step: self.step,
            optimiser_steps: self.optimiser.steps,
            loss: self.loss.to_bits(),
            records: self.records.iter().map(|r| (r.epoch, r.loss.to_bits(), r.error_rate.to_bits())).collect(),
            seconds: self.seconds,
        };
        let mut pieces = parameter_pieces(&self.parameters, "");
        pieces.extend(running_pieces(&self.running));
        for (name, moments) in [("first", &self.optimiser.first), ("second", &self.optimiser.second)] {
            for (group, moments) in self.parameters.groups.iter().zip(moments) {
                pieces.push(Piece::single(format!("{name}.{}", group.name), vec![moments.len()], moments));
            }
        }
        let header = serde_json::to_string(&header).expect("a header is plain data");
        write_atomically(path, &encode(path, &pieces, header)?)
    }

    /// Reads a state back; it must belong to this network and these settings.
    pub fn read(path: &Path, network: &Network, train: &ClassifierTraining) -> Result<Self> {
        let bytes = std::fs::read(path).map_err(Error::io(path, "read"))?;
        let (header, tensors) = decode(path, &bytes, "checkpoint")?;
        let header: StateHeader = serde_json::from_str(&header).map_err(|error| {
            Error::file(path, format!("has an unreadable header ({error})"), "train anew with --force")
        })?;
        check_version(path, header.version)?;
        if header.classifier != network.config || header.images != network.shape || header.train != *train {
            return Err(Error::file(
                path,
                "belongs to other settings",
                "resume with the settings of the run's config.toml, or train anew with --force",
            ));
        }
        let mut parameters = network.layout()?;
        read_parameters(path, &tensors, &mut parameters, "")?;
        let mut optimiser = Optimiser::new(OptimiserKind::Adam, &parameters);
        optimiser.steps = header.optimiser_steps;
        for (index, group) in parameters.groups.iter().enumerate() {
            let vector = |name: &str| -> Result<Vec<f32>> {
                let read = values(path, &tensors, &format!("{name}.{}", group.name), &[group.values.len()])?;
                Ok(read.into_iter().map(|v| v as f32).collect())
            };
            optimiser.first[index] = vector("first")?;
            optimiser.second[index] = vector("second")?;
        }
        let record = |(epoch, loss, error_rate)| EpochRecord {
            epoch,
            loss: f64::from_bits(loss),
            error_rate: f64::from_bits(error_rate),
        };
        Ok(Self {
            epoch: header.epoch,
            step: header.step,
            running: read_running(path, &tensors, network)?,
            parameters,
            optimiser,
            loss: f64::from_bits(header.loss),
            records: header.records.into_iter().map(record).collect(),
            seconds: header.seconds,
        })
    }
}
