//! Named tensors in a safetensors file with a JSON header: what model files and checkpoints have in common.

use super::legacy::{lost_form, upgrade_depths, upgrade_header};
use crate::convolution::Statistics;
use crate::error::ensure;
use crate::model::{Averages, Parameters};
use crate::{Error, Result};
use safetensors::tensor::{Dtype, SafeTensors, TensorView};
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::collections::HashMap;
use std::path::Path;

/// The name of the header's entry in the file's metadata.
const KEY: &str = "nkn";

/// The version of the format; a reader takes this one and those before.
pub const VERSION: u32 = 4;

/// A named tensor on its way into a file.
pub struct Piece {
    pub name: String,
    pub dtype: Dtype,
    pub shape: Vec<usize>,
    pub bytes: Vec<u8>,
}

impl Piece {
    pub fn single(name: impl Into<String>, shape: Vec<usize>, values: &[f32]) -> Self {
        let bytes = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        Self { name: name.into(), dtype: Dtype::F32, shape, bytes }
    }

    pub fn double(name: impl Into<String>, shape: Vec<usize>, values: &[f64]) -> Self {
        let bytes = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        Self { name: name.into(), dtype: Dtype::F64, shape, bytes }
    }

    /// The numbers.
    pub fn values(&self) -> Vec<f64> {
        numbers(self.dtype, &self.bytes).unwrap_or_default()
    }
}

/// The bytes of a safetensors file.
pub fn encode(path: &Path, pieces: &[Piece], header: String) -> Result<Vec<u8>> {
    let views = pieces
        .iter()
        .map(|p| Ok((p.name.as_str(), TensorView::new(p.dtype, p.shape.clone(), &p.bytes)?)))
        .collect::<std::result::Result<Vec<_>, safetensors::SafeTensorError>>();
    let metadata = HashMap::from([(KEY.to_string(), header)]);
    views
        .and_then(|views| safetensors::serialize(views, Some(metadata)))
        .map_err(|error| Error::file(path, format!("cannot be encoded: {error}"), "this is a defect of nkn: report it"))
}

/// The JSON in the metadata and the tensors of a file.
pub fn decode<'a>(path: &Path, bytes: &'a [u8], kind: &str) -> Result<(String, SafeTensors<'a>)> {
    let foreign = |problem: String| {
        Error::file(path, problem, format!("give a {kind} written by nkn, or a safetensors file in its layout"))
    };
    let unreadable = |error| foreign(format!("is not a readable safetensors file ({error})"));
    let (_, metadata) = SafeTensors::read_metadata(bytes).map_err(unreadable)?;
    let header = metadata.metadata().as_ref().and_then(|m| m.get(KEY)).cloned();
    let header = header.ok_or_else(|| foreign(format!("is a safetensors file without the metadata {KEY:?}")))?;
    Ok((header, SafeTensors::deserialize(bytes).map_err(unreadable)?))
}

/// The numbers of a tensor, if they are real ones.
fn numbers(dtype: Dtype, bytes: &[u8]) -> Option<Vec<f64>> {
    match dtype {
        Dtype::F32 => Some(bytes.as_chunks::<4>().0.iter().map(|&b| f64::from(f32::from_le_bytes(b))).collect()),
        Dtype::F64 => Some(bytes.as_chunks::<8>().0.iter().map(|&b| f64::from_le_bytes(b)).collect()),
        _ => None,
    }
}

/// The values of a tensor, which must have this shape.
pub fn values(path: &Path, tensors: &SafeTensors, name: &str, shape: &[usize]) -> Result<Vec<f64>> {
    let wrong =
        |problem: String| Error::file(path, problem, "the file does not fit its own configuration: write it again");
    let view = tensors.tensor(name).map_err(|_| wrong(format!("has no tensor {name:?}")))?;
    ensure!(view.shape() == shape, wrong(format!("tensor {name:?} has shape {:?}, expected {shape:?}", view.shape())));
    let values = numbers(view.dtype(), view.data())
        .ok_or_else(|| wrong(format!("tensor {name:?} has type {:?}, expected F32 or F64", view.dtype())))?;
    if let Some(index) = values.iter().position(|v| !v.is_finite()) {
        let what = format!("tensor {name:?} of {}", path.display());
        let hint = "the model was saved from a training that diverged; use an earlier one";
        return Err(Error::not_finite(what, values[index], format!("at position {index}"), hint));
    }
    Ok(values)
}

/// The parameters as pieces of a file, with a prefix before each name.
pub fn parameter_pieces(parameters: &Parameters, prefix: &str) -> Vec<Piece> {
    let groups = parameters.groups.iter();
    let entries = groups.flat_map(|group| group.entries.iter().map(move |entry| (group, entry)));
    entries
        .map(|(group, entry)| {
            Piece::single(format!("{prefix}{}", entry.name), entry.shape.clone(), &group.values[entry.range()])
        })
        .collect()
}

/// Fills parameters from a file.
pub fn read_parameters(path: &Path, tensors: &SafeTensors, parameters: &mut Parameters, prefix: &str) -> Result<()> {
    for group in &mut parameters.groups {
        for entry in &group.entries {
            let read = values(path, tensors, &format!("{prefix}{}", entry.name), &entry.shape)?;
            for (to, from) in group.values[entry.range()].iter_mut().zip(read) {
                *to = from as f32;
            }
        }
    }
    Ok(())
}

/// The header of a file, of this version or an earlier one; `defaults` are the training settings that old image files did not name.
pub fn parse_header<T: DeserializeOwned>(path: &Path, text: &str, defaults: Value, hint: &str) -> Result<T> {
    let unreadable = |error: serde_json::Error| Error::file(path, format!("has an unreadable header ({error})"), hint);
    let mut header: Value = serde_json::from_str(text).map_err(unreadable)?;
    let version = header["version"].as_u64().unwrap_or(u64::MAX);
    let problem = format!("has format version {version}, this nkn reads up to {VERSION}");
    ensure!(version <= u64::from(VERSION), Error::file(path, problem, "install a newer nkn"));
    if version == 1 {
        upgrade_header(&mut header, defaults);
    }
    if let Some(problem) = lost_form(&header, version) {
        return Err(Error::file(path, problem, "train it again"));
    }
    upgrade_depths(header.get_mut("results"));
    serde_json::from_value(header).map_err(unreadable)
}

/// The running averages of batch normalisations as pieces of a file: `running.<name>.mean` and `.variance`.
pub fn average_pieces(averages: &Averages, prefix: &str) -> Vec<Piece> {
    let both = averages.iter().flat_map(|(name, s)| [(name, "mean", &s.mean), (name, "variance", &s.variance)]);
    both.map(|(name, what, values)| Piece::double(format!("{prefix}running.{name}.{what}"), vec![values.len()], values))
        .collect()
}

/// All averages of a file.
pub fn read_averages(path: &Path, tensors: &SafeTensors, prefix: &str) -> Result<Averages> {
    let start = format!("{prefix}running.");
    let all = tensors.names();
    let names = all.iter().filter_map(|name| name.strip_prefix(&start)?.strip_suffix(".mean"));
    let one = |name: &str| -> Result<(String, Statistics)> {
        let shape = tensors.tensor(&format!("{start}{name}.mean")).map_or(Vec::new(), |view| view.shape().to_vec());
        let read = |what: &str| values(path, tensors, &format!("{start}{name}.{what}"), &shape);
        Ok((name.to_string(), Statistics { mean: read("mean")?, variance: read("variance")? }))
    };
    names.map(one).collect()
}
