//! Reading a mesh.

use super::array::number;
use super::document::{DAMAGED, DataArray, Document};
use super::{Cells, Mesh, MeshGrid, PointData};
use crate::{Error, Result};
use std::path::Path;

/// Reads a mesh with its point data from a `.vtu` or `.vti` file, whatever its name.
pub fn read_mesh(path: &Path) -> Result<Mesh> {
    let content = std::fs::read(path).map_err(Error::io(path, "read"))?;
    decode(path, &content)
}

/// Reads a mesh that may have values that are not finite, to say where they are.
pub(in crate::io) fn read_mesh_with_gaps(path: &Path) -> Result<Mesh> {
    let content = std::fs::read(path).map_err(Error::io(path, "read"))?;
    decode_with_gaps(path, &content)
}

/// The mesh in the content of a file, all its numbers finite.
pub(super) fn decode(path: &Path, content: &[u8]) -> Result<Mesh> {
    let mesh = decode_with_gaps(path, content)?;
    mesh.check_finite().map_err(|problem| {
        Error::file(path, problem, "fields are finite at all points: leave out the sample, or fill the gaps")
    })?;
    Ok(mesh)
}

fn decode_with_gaps(path: &Path, content: &[u8]) -> Result<Mesh> {
    let document = Document::parse(path, content)?;
    let wrong = |problem: String| Error::file(path, problem, DAMAGED);
    let mesh = match document.file.get("type").map(String::as_str) {
        Some("UnstructuredGrid") => {
            let points = count(&document, "NumberOfPoints")?;
            let point_data = point_data(&document, points)?;
            Mesh { points: coordinates(&document, points)?, cells: cells(&document)?, point_data, grid: None }
        }
        Some("ImageData") => {
            let grid = grid(&document)?;
            let points = grid.count().ok_or_else(|| wrong(format!("claims a grid of {:?} points", grid.shape)))?;
            // The values come first: when they are there, the grid is as large as it says.
            let point_data = point_data(&document, points)?;
            Mesh { point_data, ..Mesh::on(grid) }
        }
        other => {
            let kind = other.unwrap_or("nothing");
            let problem = format!("is a VTK file of the kind `{kind}`, expected UnstructuredGrid or ImageData");
            let hint = "open it in ParaView and save it as .vtu, after the filter Append Datasets if need be";
            return Err(Error::file(path, problem, hint));
        }
    };
    mesh.check().map_err(wrong)?;
    Ok(mesh)
}

/// A number of points or cells.
fn count(document: &Document, name: &str) -> Result<usize> {
    let given = document.piece.get(name).map_or("", String::as_str);
    given
        .trim()
        .parse()
        .map_err(|_| Error::file(document.path, format!("has the {name} `{given}`, expected a whole number"), DAMAGED))
}

/// The arrays of numbers at points; other arrays are passed over.
fn point_data(document: &Document, points: usize) -> Result<Vec<PointData>> {
    let inside = |section: &'static str| document.arrays.iter().filter(move |array| array.section == section);
    let read = |array: &DataArray| {
        let components = match array.attributes.get("NumberOfComponents") {
            None => 1,
            Some(given) => given.trim().parse().unwrap_or(0),
        };
        let values = exactly(document, array, points.checked_mul(components).filter(|_| components > 0))?;
        Ok(PointData { name: array.name().to_owned(), components, values })
    };
    let data: Vec<_> = inside("PointData").filter(|array| number(array).is_some()).map(read).collect::<Result<_>>()?;
    if data.is_empty() {
        let (problem, hint) = match inside("CellData").next() {
            Some(array) => (
                format!("has no point data, but cell data such as `{}`", array.name()),
                "apply ParaView's filter Cell Data to Point Data, and save the mesh again",
            ),
            None => ("has no point data".into(), "save the mesh with the fields at its points"),
        };
        return Err(Error::file(document.path, problem, hint));
    }
    Ok(data)
}

/// The numbers of an array of which it is known how many there are.
fn exactly(document: &Document, array: &DataArray, expected: Option<usize>) -> Result<Vec<f64>> {
    let values = document.numbers(array)?;
    if Some(values.len()) != expected {
        let expected = expected.map_or("a possible number of components".into(), |expected| expected.to_string());
        return Err(document.wrong(array, format!("has {} numbers, expected {expected}", values.len())));
    }
    Ok(values)
}

fn coordinates(document: &Document, points: usize) -> Result<Vec<f64>> {
    let Some(array) = document.arrays.iter().find(|array| array.section == "Points") else {
        return Err(Error::file(document.path, "has no coordinates of points", DAMAGED));
    };
    exactly(document, array, points.checked_mul(3))
}

fn cells(document: &Document) -> Result<Cells> {
    let mut cells = Cells::default();
    let expected = count(document, "NumberOfCells")?;
    for array in document.arrays.iter().filter(|array| array.section == "Cells") {
        let numbers = document.numbers(array)?;
        let odd = |value: &&f64| value.fract() != 0.0 || value.abs() > (1u64 << 53) as f64;
        if let Some(value) = numbers.iter().find(odd) {
            return Err(document.wrong(array, format!("has {value} among its numbers, expected whole numbers")));
        }
        let whole: Vec<i64> = numbers.iter().map(|value| *value as i64).collect();
        match array.name() {
            "connectivity" => cells.connectivity = whole,
            "offsets" => cells.offsets = whole,
            "types" => {
                let types: std::result::Result<_, _> = whole.iter().map(|kind| u8::try_from(*kind)).collect();
                cells.types =
                    types.map_err(|_| document.wrong(array, "has a number that is no type of a cell".into()))?;
            }
            name => cells.faces.push((name.to_owned(), whole)),
        }
    }
    if cells.types.len() != expected {
        let problem = format!("has the types of {} cells, expected {expected}", cells.types.len());
        return Err(Error::file(document.path, problem, DAMAGED));
    }
    Ok(cells)
}

fn grid(document: &Document) -> Result<MeshGrid> {
    let path = document.path;
    let whole = document.mesh.get("WholeExtent");
    let piece = document.piece.get("Extent").or(whole);
    let extent: [i64; 6] = numbers(path, "WholeExtent", whole, None)?;
    if numbers::<i64, 6>(path, "Extent", piece, None)? != extent {
        let hint = "save the whole grid into one file";
        return Err(Error::file(path, format!("has a piece of the extent {piece:?}, but a grid of {whole:?}"), hint));
    }
    let identity = [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0];
    if numbers::<f64, 9>(path, "Direction", document.mesh.get("Direction"), Some(identity))? != identity {
        let hint = "apply ParaView's filter Resample To Image, and save the grid again";
        return Err(Error::file(path, "has a grid whose axes are not those of space", hint));
    }
    let begin: [f64; 3] = numbers(path, "Origin", document.mesh.get("Origin"), Some([0.0; 3]))?;
    let spacing: [f64; 3] = numbers(path, "Spacing", document.mesh.get("Spacing"), Some([1.0; 3]))?;
    let mut shape = [0; 3];
    for (axis, side) in extent.as_chunks::<2>().0.iter().enumerate() {
        let length = side[1].checked_sub(side[0]).and_then(|length| length.checked_add(1));
        let Some(length) = length.and_then(|length| usize::try_from(length).ok()).filter(|length| *length > 0) else {
            return Err(Error::file(path, format!("has the extent {extent:?}, which holds no points"), DAMAGED));
        };
        shape[axis] = length;
    }
    let origin = std::array::from_fn(|axis| begin[axis] + spacing[axis] * extent[2 * axis] as f64);
    Ok(MeshGrid { shape, origin, spacing })
}

/// An attribute that is a row of numbers.
fn numbers<T: std::str::FromStr + Copy, const N: usize>(
    path: &Path,
    name: &str,
    given: Option<&String>,
    default: Option<[T; N]>,
) -> Result<[T; N]> {
    let Some(given) = given else {
        return default.ok_or_else(|| Error::file(path, format!("has a grid without {name}"), DAMAGED));
    };
    let parsed: Option<Vec<T>> = given.split_ascii_whitespace().map(|word| word.parse().ok()).collect();
    parsed.and_then(|parsed| parsed.try_into().ok()).ok_or_else(|| {
        Error::file(path, format!("has a grid with the {name} `{given}`, expected {N} numbers"), DAMAGED)
    })
}
