//! Model files: safetensors with the weights in PyTorch's layout under plain names, the normalisers' statistics, and the
//! configuration as JSON in the metadata under `nkn`. A model is one file that needs nothing else.

use super::tensors::{Piece, VERSION, average_pieces, encode, parameter_pieces, parse_header, read_averages};
use super::tensors::{decode, read_parameters, values};
use super::{Array, write_atomically};
use crate::domain::Domain;
use crate::error::ensure;
use crate::field::Normaliser;
use crate::model::{Model, ModelConfig, Normalisers, Parameters, Space};
use crate::{Error, Result};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// What the metadata say.
#[derive(Serialize, Deserialize)]
struct Header {
    version: u32,
    space: Space,
    depth: usize,
    model: ModelConfig,
    /// The domain of training: pointwise statistics and the stencil rule refer to it.
    #[serde(default)]
    training: Option<Domain>,
    /// Version 1 of images: mean and deviation of each channel.
    #[serde(default, skip_serializing)]
    statistics: Vec<(f32, f32)>,
}

/// The fields that have a normaliser, by their names in the file.
fn fields(space: &Space, config: &ModelConfig) -> Vec<String> {
    match space {
        Space::Functions { .. } => config.fields.clone(),
        Space::Images(_) => vec!["image".into()],
    }
}

impl Model {
    /// The bytes of the model's file.
    ///
    /// ```
    /// # use nkn::{Grid, Model, Nkn, Samples};
    /// # let train = Samples::on(Grid::unit(&[5])?).input("f", vec![1.0; 10])?.output("u", vec![2.0; 10])?;
    /// let model = Nkn::new().epochs(1).fit(&train)?;
    /// assert_eq!(Model::from_bytes(&model.to_bytes()?)?, model);
    /// # Ok::<(), nkn::Error>(())
    /// ```
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        self.encode(Path::new("a model"))
    }

    /// The configuration that stands in the model's file, as JSON: space, depth, `model` and the domain of training.
    pub fn header(&self) -> String {
        let header = Header {
            version: VERSION,
            space: self.space,
            depth: self.depth,
            model: self.config.clone(),
            training: self.normalisers.training.clone(),
            statistics: Vec::new(),
        };
        serde_json::to_string(&header).expect("a header is plain data")
    }

    /// The tensors of the model's file: the weights in PyTorch's layout, and the statistics of the normalisers.
    ///
    /// ```
    /// # use nkn::{Gkn, Model, problem::poisson, seed::Seed};
    /// # let model = Gkn::new().kernel([8]).epochs(1).fit(&poisson::generate(Seed::new(0), 0, 4, 9)?)?;
    /// assert_eq!(Model::from_tensors(&model.header(), model.tensors())?, model);
    /// # Ok::<(), nkn::Error>(())
    /// ```
    pub fn tensors(&self) -> Vec<Array> {
        let tensor = |piece: Piece| {
            let values = piece.values();
            Array { name: piece.name, shape: piece.shape, values }
        };
        self.pieces().into_iter().map(tensor).collect()
    }

    /// The model of a file with this header and these tensors, which may come from another framework; checked as a file is.
    pub fn from_tensors(header: &str, tensors: Vec<Array>) -> Result<Self> {
        let path = Path::new("a model");
        let pieces: Vec<Piece> =
            tensors.into_iter().map(|tensor| Piece::double(tensor.name, tensor.shape, &tensor.values)).collect();
        Self::decode(path, &encode(path, &pieces, header.into())?)
    }

    /// Writes the model as one file, atomically.
    ///
    /// ```
    /// # use nkn::{Gkn, Model, problem::poisson, seed::Seed};
    /// # let folder = tempfile::tempdir().unwrap();
    /// let path = folder.path().join("m.safetensors");
    /// let model = Gkn::new().kernel([8]).epochs(1).fit(&poisson::generate(Seed::new(0), 0, 4, 9)?)?;
    /// model.save(&path)?;
    /// assert_eq!(Model::load(&path)?, model);
    /// # Ok::<(), nkn::Error>(())
    /// ```
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        let path = path.as_ref();
        write_atomically(path, &self.encode(path)?)
    }

    fn encode(&self, path: &Path) -> Result<Vec<u8>> {
        encode(path, &self.pieces(), self.header())
    }

    fn pieces(&self) -> Vec<Piece> {
        let mut pieces = parameter_pieces(&self.parameters, "");
        pieces.extend(average_pieces(&self.averages, ""));
        let names = fields(&self.space, &self.config);
        let outputs = self.config.output_names();
        let normalisers = names.iter().zip(&self.normalisers.fields);
        for (name, normaliser) in normalisers.chain(outputs.iter().zip(&self.normalisers.outputs)) {
            if !normaliser.mean.is_empty() {
                let shape = vec![normaliser.mean.len()];
                pieces.push(Piece::double(format!("normaliser.{name}.mean"), shape.clone(), &normaliser.mean));
                pieces.push(Piece::double(format!("normaliser.{name}.std"), shape, &normaliser.std));
            }
        }
        pieces
    }

    /// Reads a model file.
    pub fn load(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        Self::decode(path, &std::fs::read(path).map_err(Error::io(path, "read"))?)
    }

    /// The model in the bytes of a file.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        Self::decode(Path::new("a model"), bytes)
    }

    fn decode(path: &Path, bytes: &[u8]) -> Result<Self> {
        let (header, tensors) = decode(path, bytes, "model file")?;
        let hint = "it was written by another version of nkn, or changed by hand";
        let header: Header = parse_header(path, &header, serde_json::Value::Null, hint)?;
        let Header { space, depth, model: config, training, statistics, .. } = header;
        let is_possible = match &space {
            Space::Functions { dim } => (1..=3).contains(dim),
            Space::Images(shape) => {
                (1..=4096).contains(&shape.side)
                    && (1..=3).contains(&shape.channels)
                    && shape.extent > 0.0
                    && shape.classes > 0
            }
        };
        ensure!(depth != 0 && is_possible, Error::file(path, format!("says depth {depth} and {space:?}"), hint));
        config.check_for(&space)?;
        // Before anything of the size that the header claims is allocated.
        let claimed = Parameters::size(&config, &space, depth).unwrap_or(f64::INFINITY);
        let problem = format!("claims {claimed:.0} parameters in {} bytes", bytes.len());
        ensure!(claimed <= bytes.len() as f64, Error::file(path, problem, hint));
        let mut parameters = Parameters::layout(&config, &space, depth)?;
        read_parameters(path, &tensors, &mut parameters, "")?;
        let normaliser = |name: &str| -> Result<Normaliser> {
            let mean = format!("normaliser.{name}.mean");
            let Ok(view) = tensors.tensor(&mean) else { return Ok(Normaliser::default()) };
            let shape = view.shape().to_vec();
            Ok(Normaliser {
                mean: values(path, &tensors, &mean, &shape)?,
                std: values(path, &tensors, &format!("normaliser.{name}.std"), &shape)?,
            })
        };
        let mut fields: Vec<Normaliser> =
            fields(&space, &config).iter().map(|name| normaliser(name)).collect::<Result<_>>()?;
        if !statistics.is_empty() {
            let (mean, std) = statistics.iter().map(|&(mean, std)| (f64::from(mean), f64::from(std))).unzip();
            fields = vec![Normaliser { mean, std }];
        }
        if let Space::Images(shape) = &space
            && fields[0].mean.len() != shape.channels
        {
            return Err(Error::file(path, "has no statistics of the images' channels", hint));
        }
        let outputs = match &space {
            Space::Functions { .. } => {
                config.output_names().iter().map(|name| normaliser(name)).collect::<Result<_>>()?
            }
            Space::Images(_) => Vec::new(),
        };
        let averages = read_averages(path, &tensors, "")?;
        let model =
            Self { config, space, depth, parameters, averages, normalisers: Normalisers { fields, outputs, training } };
        model.check_averages(path)?;
        Ok(model)
    }

    /// A network that normalises by batches needs all of its averages.
    fn check_averages(&self, path: &Path) -> Result<()> {
        let Space::Images(_) = self.space else { return Ok(()) };
        for (name, channels) in self.image_network()?.norms()? {
            if self.averages.get(&name).is_none_or(|s| s.mean.len() != channels || s.variance.len() != channels) {
                let problem = format!("has no running averages of {name:?} with {channels} channels");
                return Err(Error::file(path, problem, "train the run again"));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Grid;
    use crate::field::NormaliserKind;
    use crate::model::Guarantee;
    use crate::seed::Seed;
    use std::fs;

    fn model() -> Model {
        let config = ModelConfig {
            fields: vec!["f".into()],
            kernel: vec![5],
            reaction: vec![3],
            normalise_input: NormaliserKind::Pointwise,
            normalise_output: NormaliserKind::Scalar,
            ..ModelConfig::default()
        };
        let parameters = Parameters::init(&config, &Space::Functions { dim: 1 }, 1, Seed::new(1)).unwrap();
        let normalisers = Normalisers {
            fields: vec![Normaliser { mean: vec![0.5, 1.0, 2.0], std: vec![1.0, 2.0, 3.0] }],
            outputs: vec![Normaliser { mean: vec![-1.0], std: vec![0.25] }],
            training: Some(Domain::Grid(Grid::unit(&[3]).unwrap())),
        };
        let (space, averages) = (Space::Functions { dim: 1 }, Default::default());
        Model { config, space, depth: 4, parameters, averages, normalisers }
    }

    #[test]
    fn a_model_reads_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("m.safetensors");
        let model = model();
        model.save(&path).unwrap();
        let back = Model::load(&path).unwrap();
        assert_eq!(back, model);
    }

    /// Every truncation and a sweep of flipped bytes: an error or a readable model, never a panic.
    #[test]
    fn damaged_files_do_not_panic() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("m.safetensors");
        model().save(&path).unwrap();
        let bytes = fs::read(&path).unwrap();
        for length in 0..bytes.len() {
            fs::write(&path, &bytes[..length]).unwrap();
            assert!(Model::load(&path).is_err(), "cut to {length} bytes");
        }
        for index in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[index] ^= 0x15;
            fs::write(&path, &damaged).unwrap();
            let _ = Model::load(&path);
        }
    }

    /// Headers that lie about sizes, versions and types.
    #[test]
    fn attacks() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("m.safetensors");
        model().save(&path).unwrap();
        let bytes = fs::read(&path).unwrap();
        let (header, _) = decode(&path, &bytes, "model file").unwrap();
        for (from, to, word) in [
            ("\"width\":1", "\"width\":99999999999", "parameters"),
            ("\"kernel\":[5]", "\"kernel\":[4000000000]", "parameters"),
            ("\"kernel\":[5]", "\"kernel\":[6]", "shape"),
            (&format!("\"version\":{VERSION}"), "\"version\":7", "version 7"),
            ("\"depth\":4", "\"depth\":0", "depth 0"),
            ("\"dim\":1", "\"dim\":9", "dim: 9"),
            ("\"kind\":\"nkn\"", "\"kind\":\"fno9\"", "unreadable"),
            ("\"time\":1.0", "\"time\":-1.0", "model.time"),
        ] {
            let changed = header.replace(from, to);
            assert_ne!(changed, header, "{from}");
            let pieces = parameter_pieces(&model().parameters, "");
            fs::write(&path, encode(&path, &pieces, changed).unwrap()).unwrap();
            let message = Model::load(&path).unwrap_err().to_string();
            assert!(message.contains(word), "{to}: {message}");
        }
    }

    /// Earlier versions are read, but for the one network that was another one then.
    #[test]
    fn files_of_version_two() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("m.safetensors");
        let mut own = model();
        for (stability, readable) in [(Guarantee::Free, true), (Guarantee::Dissipative, false)] {
            own.config.stability = stability;
            own.save(&path).unwrap();
            let (header, _) = decode(&path, &fs::read(&path).unwrap(), "model file").unwrap();
            let old = header.replace(&format!("\"version\":{VERSION}"), "\"version\":2");
            fs::write(&path, encode(&path, &parameter_pieces(&own.parameters, ""), old).unwrap()).unwrap();
            let read = Model::load(&path).map_err(|error| error.to_string());
            assert_eq!(read.is_ok(), readable, "{stability}");
            if let Err(message) = read {
                assert!(message.contains("m.safetensors") && message.contains("train it again"), "{message}");
            }
        }
    }
}
