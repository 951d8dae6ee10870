//! Damaged files and files that lie: an error that names the file and the place, never a panic, never memory for a claim.

use super::*;
use flate2::{Compression, write::ZlibEncoder};
use std::io::Write;

const NAMES: [&str; 6] = [
    "mesh_meshio_ascii.vtu",
    "mesh_meshio_zlib.vtu",
    "mesh_vtk_raw.vtu",
    "mesh_vtk_raw_zlib_big.vtu",
    "grid_vtk_base64_zlib.vti",
    "grid_vtk_binary_big.vti",
];

fn decode(content: &[u8]) -> Result<Mesh, String> {
    read::decode(Path::new("attack.vtu"), content).map_err(|error| {
        let message = error.to_string();
        assert!(message.contains("attack.vtu: ") && message.contains("hint: "), "{message}");
        message
    })
}

#[test]
fn no_end_is_missing_unnoticed() {
    for name in NAMES {
        let content = fs::read(fixture(name)).unwrap();
        let whole = decode(&content).unwrap();
        for end in 0..content.len() {
            // Behind the last number nothing is missed.
            if let Ok(mesh) = decode(&content[..end]) {
                assert_eq!(mesh, whole, "{name}, {end} bytes");
            }
        }
    }
}

/// A file with some of its text replaced.
fn changed(name: &str, changes: &[(&str, &str)]) -> String {
    let mut text = fs::read_to_string(fixture(name)).unwrap();
    for (from, to) in changes {
        assert!(text.contains(from), "{from}");
        text = text.replacen(from, to, 1);
    }
    decode(text.as_bytes()).unwrap_err()
}

#[test]
fn lies_are_found_and_named() {
    let many = "NumberOfPoints=\"999999999999999999\"";
    for (from, to, expected) in [
        ("NumberOfPoints=\"6\"", many, "array `u` in PointData has 6 numbers, expected 999999999999999999"),
        ("NumberOfPoints=\"6\"", "NumberOfPoints=\"-6\"", "NumberOfPoints `-6`"),
        ("NumberOfPoints=\"6\"", "NumberOfPoints=\"5\"", "has 6 numbers, expected 5"),
        ("NumberOfCells=\"3\"", "NumberOfCells=\"4\"", "types of 3 cells, expected 4"),
        (
            "Name=\"u\"",
            "Name=\"u\" NumberOfComponents=\"0\"",
            "array `u` in PointData has 6 numbers, expected a possible",
        ),
        ("Name=\"u\"", "Name=\"u\" NumberOfComponents=\"9223372036854775807\"", "expected a possible number"),
        ("Name=\"v\"", "Name=\"u\"", "two arrays of point data with the name `u`"),
        ("type=\"UnstructuredGrid\"", "type=\"PolyData\"", "of the kind `PolyData`"),
        ("<VTKFile", "<html", "outermost element is `html`"),
        ("<Points>", "<Points", "is no XML"),
        ("format=\"ascii\"", "format=\"odd\"", "array `Points` in Points has the format `odd`"),
        ("Name=\"connectivity\" format=\"ascii\">\n", "Name=\"connectivity\" format=\"ascii\">\n7 ", "cell"),
        ("Name=\"connectivity\" format=\"ascii\">\n", "Name=\"connectivity\" format=\"ascii\">\n0.5 ", "whole numbers"),
        ("Name=\"offsets\" format=\"ascii\">\n", "Name=\"offsets\" format=\"ascii\">\n-1 ", "offsets"),
        ("Name=\"types\" format=\"ascii\">\n", "Name=\"types\" format=\"ascii\">\n300 ", "no type of a cell"),
        ("Name=\"u\" format=\"ascii\">\n", "Name=\"u\" format=\"ascii\">\n1..5 ", "`u` in PointData has `1..5`"),
        ("Name=\"u\" format=\"ascii\">\n0", "Name=\"u\" format=\"ascii\">\nnan ", "`u` in PointData has 7 numbers"),
        ("Name=\"u\" format=\"ascii\">\n", "Name=\"u\" format=\"binary\">\n!", "`u` in PointData is no base64"),
        ("<PointData>", "<CellData>", "is no XML"),
        ("</VTKFile>", "<AppendedData encoding=\"raw\">", "no underscore"),
        ("</VTKFile>", "<AppendedData encoding=\"odd\">_", "encoding `odd`"),
        ("</Piece>", "</Piece><Piece>", "several pieces"),
    ] {
        let message = changed("mesh_meshio_ascii.vtu", &[(from, to)]);
        assert!(message.contains(expected), "{from} -> {to}: {message}");
    }
    let cells = [("<PointData>", "<CellData>"), ("</PointData>", "</CellData>")];
    assert!(changed("mesh_meshio_ascii.vtu", &cells).contains("no point data, but cell data such as `u`"));
    let compressor = [("vtkZLibDataCompressor", "vtkLZ4DataCompressor")];
    assert!(changed("mesh_meshio_zlib.vtu", &compressor).contains("compressed by vtkLZ4DataCompressor"));
    assert!(changed("mesh_meshio_zlib.vtu", &[("LittleEndian", "Middle")]).contains("byte order `Middle`"));
    let header = [("byte_order", "header_type=\"Int8\" byte_order")];
    assert!(changed("mesh_meshio_zlib.vtu", &header).contains("lengths of the type `Int8`"));
}

#[test]
fn a_grid_is_as_large_as_its_values() {
    let extent = "\"1 3 2 5 0 0\"";
    for (to, expected) in [
        ("\"1 3 2 9999999999 0 0\"", "has 12 numbers, expected 29999999994"),
        ("\"0 9999999999 0 9999999999 0 9999999999\"", "claims a grid of"),
        ("\"-9223372036854775808 9223372036854775807 0 0 0 0\"", "holds no points"),
        ("\"1 0 2 5 0 0\"", "holds no points"),
        ("\"1 3 2 5\"", "expected 6 numbers"),
        ("\"1 3 2 5 0 x\"", "expected 6 numbers"),
    ] {
        let message = changed("grid_vtk_binary_big.vti", &[(extent, to), (extent, to)]);
        assert!(message.contains(expected), "{to}: {message}");
    }
    let part = changed("grid_vtk_binary_big.vti", &[(extent, "\"1 3 2 6 0 0\"")]);
    assert!(part.contains("has a piece of the extent"), "{part}");
    let turned = changed("grid_vtk_binary_big.vti", &[("Direction=\"1 0 0", "Direction=\"0 1 0")]);
    assert!(turned.contains("axes are not those of space"), "{turned}");
    let lost = changed("grid_vtk_binary_big.vti", &[("Origin=\"0.5", "Origin=\"NaN")]);
    assert!(lost.contains("`Points` is NaN at point 0"), "{lost}");
}

/// A file with one array of raw bytes behind it.
fn raw(offset: &str, compressor: &str, behind: &[u8]) -> String {
    let head = format!(
        "<VTKFile type='ImageData' header_type='UInt64' compressor='{compressor}'><ImageData WholeExtent='0 1 0 0 0 0'>
        <Piece><PointData><DataArray type='Float64' Name='u' format='appended' offset='{offset}'/></PointData></Piece>
        </ImageData><AppendedData encoding='raw'>_"
    );
    decode(&[head.as_bytes(), behind].concat()).unwrap_err()
}

#[test]
fn lengths_are_not_believed() {
    let lengths = |lengths: &[u64]| lengths.iter().flat_map(|length| length.to_le_bytes()).collect::<Vec<u8>>();
    let zlib = "vtkZLibDataCompressor";
    for (offset, compressor, behind, expected) in [
        ("0", "", lengths(&[u64::MAX, 0]), "claims to have 18446744073709551615 bytes, but the file has 8"),
        ("0", "", lengths(&[9, 0, 0]), "has 9 bytes, which is no multiple of 8"),
        ("0", "", lengths(&[8, 0, 0]), "has 1 numbers, expected 2"),
        ("4", "", lengths(&[8]), "ends before its length is known"),
        ("99", "", lengths(&[16, 0, 0]), "has the offset 99, but there are 24 bytes"),
        ("-1", "", lengths(&[16, 0, 0]), "has the offset -1"),
        ("0", zlib, lengths(&[u64::MAX, 8, 8, 1]), "18446744073709551615 compressed blocks in 8 bytes"),
        ("0", zlib, lengths(&[9, 8, 8, 1, 2]), "ends before its length is known"),
        ("0", zlib, lengths(&[1, 8, 8, u64::MAX, 0]), "has 18446744073709551615 bytes in block 0"),
        ("0", zlib, lengths(&[1, 16, 0, 8, 0]), "cannot be unpacked in block 0"),
        ("0", zlib, lengths(&[0, 0, 0]), "has 0 numbers, expected 2"),
    ] {
        let message = raw(offset, compressor, &behind);
        assert!(message.contains("`u`") && message.contains(expected), "{message}");
    }
    // Sixteen zeros, compressed, of which the file says that they are many.
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(&[0; 16]).unwrap();
    let packed = encoder.finish().unwrap();
    for size in [15, 17, u64::MAX] {
        let behind = [lengths(&[1, size, 0, packed.len() as u64]), packed.clone()].concat();
        let message = raw("0", zlib, &behind);
        assert!(message.contains(&format!("has in block 0 not the {size} bytes that it claims")), "{message}");
    }
}

proptest! {
    #[test]
    fn changed_bytes_never_panic(
        name in prop::sample::select(NAMES.to_vec()),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
    ) {
        let mut content = fs::read(fixture(name)).unwrap();
        for (at, byte) in changes {
            let at = at.index(content.len());
            content[at] = byte;
        }
        let _ = decode(&content);
    }

    #[test]
    fn any_bytes_are_answered(content in prop::collection::vec(any::<u8>(), 0..300)) {
        prop_assert!(decode(&content).is_err());
    }
}
