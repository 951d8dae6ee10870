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
    let mut parameters = Parameters::layout(&header.model, header.dim)?;
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
