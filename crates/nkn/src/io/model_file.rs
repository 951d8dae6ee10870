//! Model files: safetensors with the weights in PyTorch's layout under plain names, the normalisers' statistics, and the
//! configuration as JSON in the metadata under `nkn`. A model is one file that needs nothing else.

use super::tensors::{Piece, decode, encode, parameter_pieces, read_parameters, values};
use super::write_atomically;
use crate::domain::Domain;
use crate::field::Normaliser;
use crate::model::{Model, ModelConfig, Normalisers, Parameters};
use crate::{Error, Result};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// The version of the format; a reader refuses newer ones.
const VERSION: u32 = 1;

/// What the metadata say.
#[derive(Serialize, Deserialize)]
struct Header {
    version: u32,
    dim: usize,
    depth: usize,
    model: ModelConfig,
    /// The domain of training: pointwise statistics and the stencil rule refer to it.
    training: Option<Domain>,
}

/// Writes a model, atomically.
pub fn write_model(path: &Path, model: &Model) -> Result<()> {
    let mut pieces = parameter_pieces(&model.parameters, "");
    let normalisers = model.config.fields.iter().zip(&model.normalisers.fields);
    for (name, normaliser) in normalisers.map(|(n, s)| (n.as_str(), s)).chain([("u", &model.normalisers.output)]) {
        if !normaliser.mean.is_empty() {
            let shape = vec![normaliser.mean.len()];
            pieces.push(Piece::double(format!("normaliser.{name}.mean"), shape.clone(), &normaliser.mean));
            pieces.push(Piece::double(format!("normaliser.{name}.std"), shape, &normaliser.std));
        }
    }
    let header = Header {
        version: VERSION,
        dim: model.dim,
        depth: model.depth,
        model: model.config.clone(),
        training: model.normalisers.training.clone(),
    };
    let header = serde_json::to_string(&header).expect("a header is plain data");
    write_atomically(path, &encode(path, &pieces, header)?)
}

/// Reads a model.
pub fn read_model(path: &Path) -> Result<Model> {
    let bytes = std::fs::read(path).map_err(Error::io(path, "read"))?;
    let (header, tensors) = decode(path, &bytes, "model file")?;
    let hint = "it was written by another version of nkn, or changed by hand";
    let header: Header = serde_json::from_str(&header)
        .map_err(|error| Error::file(path, format!("has an unreadable configuration ({error})"), hint))?;
    if header.version > VERSION {
        let problem = format!("has format version {}, this nkn reads up to {VERSION}", header.version);
        return Err(Error::file(path, problem, "install a newer nkn"));
    }
    if header.depth == 0 || !(1..=3).contains(&header.dim) {
        let problem = format!("says depth {} in {} dimensions", header.depth, header.dim);
        return Err(Error::file(path, problem, hint));
    }
    header.model.check()?;
    // Before anything of the size that the header claims is allocated.
    let claimed = header.model.parameter_estimate(header.dim, header.depth);
    if claimed > bytes.len() as f64 {
        let problem = format!("claims {claimed:.0} parameters in {} bytes", bytes.len());
        return Err(Error::file(path, problem, hint));
    }
    let mut parameters = Parameters::layout(&header.model, header.dim, header.depth)?;
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
    let fields = header.model.fields.iter().map(|name| normaliser(name)).collect::<Result<_>>()?;
    let normalisers = Normalisers { fields, output: normaliser("u")?, training: header.training };
    Ok(Model { config: header.model, dim: header.dim, depth: header.depth, parameters, normalisers })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Grid;
    use crate::field::NormaliserKind;
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
        let parameters = Parameters::init(&config, 1, 1, Seed::new(1)).unwrap();
        let normalisers = Normalisers {
            fields: vec![Normaliser { mean: vec![0.5, 1.0, 2.0], std: vec![1.0, 2.0, 3.0] }],
            output: Normaliser { mean: vec![-1.0], std: vec![0.25] },
            training: Some(Domain::Grid(Grid::unit(&[3]).unwrap())),
        };
        Model { config, dim: 1, depth: 4, parameters, normalisers }
    }

    #[test]
    fn a_model_reads_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("m.safetensors");
        let model = model();
        write_model(&path, &model).unwrap();
        let back = read_model(&path).unwrap();
        assert_eq!(back.parameters, model.parameters);
        assert_eq!(back.normalisers, model.normalisers);
        assert_eq!((back.config, back.dim, back.depth), (model.config, 1, 4));
    }

    /// Every truncation and a sweep of flipped bytes: an error or a readable model, never a panic.
    #[test]
    fn damaged_files_do_not_panic() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("m.safetensors");
        write_model(&path, &model()).unwrap();
        let bytes = fs::read(&path).unwrap();
        for length in 0..bytes.len() {
            fs::write(&path, &bytes[..length]).unwrap();
            assert!(read_model(&path).is_err(), "cut to {length} bytes");
        }
        for index in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[index] ^= 0x15;
            fs::write(&path, &damaged).unwrap();
            let _ = read_model(&path);
        }
    }

    /// Headers that lie about sizes, versions and types.
    #[test]
    fn attacks() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("m.safetensors");
        write_model(&path, &model()).unwrap();
        let bytes = fs::read(&path).unwrap();
        let (header, _) = decode(&path, &bytes, "model file").unwrap();
        for (from, to, word) in [
            ("\"width\":1", "\"width\":99999999999", "parameters"),
            ("\"kernel\":[5]", "\"kernel\":[4000000000]", "parameters"),
            ("\"kernel\":[5]", "\"kernel\":[6]", "shape"),
            ("\"version\":1", "\"version\":7", "version 7"),
            ("\"depth\":4", "\"depth\":0", "depth 0"),
            ("\"dim\":1", "\"dim\":9", "9 dimensions"),
            ("\"kind\":\"nkn\"", "\"kind\":\"fno9\"", "unreadable"),
            ("\"time\":1.0", "\"time\":-1.0", "model.time"),
        ] {
            let changed = header.replace(from, to);
            assert_ne!(changed, header, "{from}");
            let pieces = parameter_pieces(&model().parameters, "");
            fs::write(&path, encode(&path, &pieces, changed).unwrap()).unwrap();
            let message = read_model(&path).unwrap_err().to_string();
            assert!(message.contains(word), "{to}: {message}");
        }
    }
}
