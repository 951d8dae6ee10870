//! Writing a mesh: the numbers as base64 inside the XML, the one form that all other programs read alike (meshio misreads
//! raw bytes).

use super::Mesh;
use crate::io::atomic::replace_atomically;
use crate::{Error, Result};
use base64::engine::general_purpose::STANDARD;
use base64::write::EncoderWriter;
use quick_xml::escape::escape;
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// Writes a mesh so that ParaView opens it: a grid to a path that ends with `.vti`, any other to one with `.vtu`.
///
/// The file appears under its name only when it is complete and on the disk.
pub fn write_mesh(path: &Path, mesh: &Mesh) -> Result<()> {
    let ending = if mesh.grid.is_some() { "vti" } else { "vtu" };
    if path.extension().is_none_or(|extension| extension != ending) {
        let hint = "ParaView goes by the name: .vti is a regular grid, .vtu any other mesh";
        return Err(Error::invalid("path of a mesh", format!("a name that ends with .{ending}"), path.display(), hint));
    }
    mesh.check().map_err(|problem| {
        let expected = "points, cells and values that fit together";
        Error::invalid("mesh", expected, problem, "make as many values as there are points")
    })?;
    let names = mesh.point_data.iter().map(|data| &data.name).chain(mesh.cells.faces.iter().map(|faces| &faces.0));
    for name in names {
        if name.is_empty() || name.contains(char::is_control) {
            let expected = "a name without control characters";
            return Err(Error::invalid("point data", expected, format!("{name:?}"), "rename the field"));
        }
    }
    replace_atomically(path, |file| {
        let mut out = BufWriter::new(file);
        write_xml(&mut out, mesh)?;
        out.into_inner().map_err(io::IntoInnerError::into_error)
    })
}

fn write_xml(out: &mut impl Write, mesh: &Mesh) -> io::Result<()> {
    let (kind, attributes, piece) = match &mesh.grid {
        None => {
            let piece = format!("NumberOfPoints=\"{}\" NumberOfCells=\"{}\"", mesh.len(), mesh.cells.types.len());
            ("UnstructuredGrid", String::new(), piece)
        }
        Some(grid) => {
            let extent = grid.shape.map(|side| format!("0 {}", side - 1)).join(" ");
            let row = |numbers: [f64; 3]| numbers.map(|number| number.to_string()).join(" ");
            let (origin, spacing) = (row(grid.origin), row(grid.spacing));
            let attributes = format!(" WholeExtent=\"{extent}\" Origin=\"{origin}\" Spacing=\"{spacing}\"");
            ("ImageData", attributes, format!("Extent=\"{extent}\""))
        }
    };
    // VTK reads the newer names of faces from version 2.3 on; meshio knows no version beyond 1.0.
    let version = if mesh.cells.faces.iter().any(|(name, _)| name == "face_connectivity") { "2.3" } else { "1.0" };
    let how = "byte_order=\"LittleEndian\" header_type=\"UInt64\"";
    writeln!(out, "<?xml version=\"1.0\"?>\n<VTKFile type=\"{kind}\" version=\"{version}\" {how}>")?;
    writeln!(out, "<{kind}{attributes}>\n<Piece {piece}>\n<PointData>")?;
    for data in &mesh.point_data {
        write_array(out, &data.name, data.components, Numbers::Float(&data.values))?;
    }
    writeln!(out, "</PointData>")?;
    if mesh.grid.is_none() {
        writeln!(out, "<Points>")?;
        write_array(out, "Points", 3, Numbers::Float(&mesh.points))?;
        writeln!(out, "</Points>\n<Cells>")?;
        write_array(out, "connectivity", 1, Numbers::Int(&mesh.cells.connectivity))?;
        write_array(out, "offsets", 1, Numbers::Int(&mesh.cells.offsets))?;
        write_array(out, "types", 1, Numbers::Byte(&mesh.cells.types))?;
        for (name, faces) in &mesh.cells.faces {
            write_array(out, name, 1, Numbers::Int(faces))?;
        }
        writeln!(out, "</Cells>")?;
    }
    writeln!(out, "</Piece>\n</{kind}>\n</VTKFile>")
}

/// Numbers that are written.
enum Numbers<'a> {
    Float(&'a [f64]),
    Int(&'a [i64]),
    Byte(&'a [u8]),
}

fn write_array(out: &mut impl Write, name: &str, components: usize, numbers: Numbers) -> io::Result<()> {
    let (kind, bytes) = match numbers {
        Numbers::Float(values) => ("Float64", size_of_val(values)),
        Numbers::Int(values) => ("Int64", size_of_val(values)),
        Numbers::Byte(values) => ("UInt8", values.len()),
    };
    // With a number of components, even 1, meshio makes a matrix of a scalar field.
    let parts = if components > 1 { format!(" NumberOfComponents=\"{components}\"") } else { String::new() };
    writeln!(out, "<DataArray type=\"{kind}\" Name=\"{}\"{parts} format=\"binary\">", escape(name))?;
    let mut encoder = EncoderWriter::new(&mut *out, &STANDARD);
    encoder.write_all(&(bytes as u64).to_le_bytes())?;
    match numbers {
        Numbers::Float(values) => values.iter().try_for_each(|value| encoder.write_all(&value.to_le_bytes()))?,
        Numbers::Int(values) => values.iter().try_for_each(|value| encoder.write_all(&value.to_le_bytes()))?,
        Numbers::Byte(values) => encoder.write_all(values)?,
    }
    encoder.finish()?;
    drop(encoder);
    writeln!(out, "\n</DataArray>")
}
