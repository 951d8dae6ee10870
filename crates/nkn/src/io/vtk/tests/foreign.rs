//! Files as others may write them: every form of an array, every type, both byte orders.

use super::*;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::{Compression, write::ZlibEncoder};
use std::io::Write;

/// How a file stores its numbers.
#[derive(Clone, Copy, Debug)]
struct Form {
    format: &'static str,
    /// Of appended data.
    is_base64: bool,
    big_endian: bool,
    /// Lengths of eight bytes instead of four.
    wide: bool,
    /// The size of the blocks that are compressed.
    block: Option<usize>,
    /// Whether the length stands in a base64 of its own, as some programs write it.
    apart: bool,
}

fn any_form() -> impl Strategy<Value = Form> {
    let format = prop::sample::select(vec!["ascii", "binary", "appended"]);
    let block = prop::option::of(1usize..100);
    (format, any::<[bool; 4]>(), block).prop_map(|(format, [is_base64, big_endian, wide, apart], block)| Form {
        format,
        is_base64,
        big_endian,
        wide,
        block,
        apart,
    })
}

impl Form {
    fn number<const N: usize>(&self, little: [u8; N]) -> Vec<u8> {
        if self.big_endian { little.into_iter().rev().collect() } else { little.to_vec() }
    }

    fn encode(&self, kind: &str, values: &[f64]) -> Vec<u8> {
        let one = |value: &f64| match kind {
            "Float32" => self.number((*value as f32).to_le_bytes()),
            "Float64" => self.number(value.to_le_bytes()),
            "Int8" => self.number((*value as i8).to_le_bytes()),
            "UInt8" => self.number((*value as u8).to_le_bytes()),
            "Int16" => self.number((*value as i16).to_le_bytes()),
            "UInt16" => self.number((*value as u16).to_le_bytes()),
            "Int32" => self.number((*value as i32).to_le_bytes()),
            "UInt32" => self.number((*value as u32).to_le_bytes()),
            "Int64" => self.number((*value as i64).to_le_bytes()),
            _ => self.number((*value as u64).to_le_bytes()),
        };
        values.iter().flat_map(one).collect()
    }

    /// An array's lengths, and what follows them.
    fn pack(&self, bytes: &[u8]) -> [Vec<u8>; 2] {
        let length = |length: usize| {
            if self.wide {
                self.number((length as u64).to_le_bytes())
            } else {
                self.number((length as u32).to_le_bytes())
            }
        };
        let Some(block) = self.block else { return [length(bytes.len()), bytes.to_vec()] };
        let packed: Vec<Vec<u8>> = bytes
            .chunks(block)
            .map(|part| {
                let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
                encoder.write_all(part).unwrap();
                encoder.finish().unwrap()
            })
            .collect();
        let lengths = [packed.len(), block, bytes.len() % block].into_iter().chain(packed.iter().map(Vec::len));
        [lengths.flat_map(length).collect(), packed.concat()]
    }

    /// A cloud with one field.
    fn file(&self, kind: &str, mesh: &Mesh) -> Vec<u8> {
        let data = &mesh.point_data[0];
        let mut behind = Vec::new();
        let mut array = |name: &str, kind: &str, components: usize, values: &[f64]| {
            let head = format!("<DataArray type='{kind}' Name='{name}' NumberOfComponents='{components}'");
            let [lengths, packed] = self.pack(&self.encode(kind, values));
            // VTK itself puts the lengths apart when it compresses.
            let base64 = if self.apart || self.block.is_some() {
                STANDARD.encode(&lengths) + &STANDARD.encode(&packed)
            } else {
                STANDARD.encode([&lengths[..], &packed].concat())
            };
            match self.format {
                "ascii" => {
                    let words: Vec<String> = values.iter().map(|value| format!("{value:e}")).collect();
                    let range = "<InformationKey><Value>\n0.25\n</Value></InformationKey>";
                    format!("{head} format='ascii'>\n{}\n{range}</DataArray>", words.join("\n"))
                }
                "binary" => format!("{head} format='binary'>\n  {base64}\n</DataArray>"),
                _ => {
                    let offset = behind.len();
                    behind.extend(if self.is_base64 { base64.into_bytes() } else { [lengths, packed].concat() });
                    format!("{head} format='appended' offset='{offset}'/>")
                }
            }
        };
        let field = array(&data.name, kind, data.components, &data.values);
        let points = array("Points", "Float64", 3, &mesh.points);
        let order = if self.big_endian { "BigEndian" } else { "LittleEndian" };
        let header = if self.wide { "UInt64" } else { "UInt32" };
        let compressor = if self.block.is_some() { "compressor='vtkZLibDataCompressor'" } else { "" };
        let text = format!(
            "<VTKFile type='UnstructuredGrid' version='1.0' byte_order='{order}' header_type='{header}' {compressor}>
            <!-- a comment --><UnstructuredGrid><FieldData><DataArray Name='TimeValue'>1.5</DataArray></FieldData>
            <Piece NumberOfPoints='{}' NumberOfCells='0'><PointData Scalars='u'>{field}
            <Array type='String' Name='label'/><DataArray type='String' Name='words' format='ascii'>97 0</DataArray>
            </PointData><CellData/><Points>{points}</Points></Piece></UnstructuredGrid>",
            mesh.len()
        );
        let mut file = text.into_bytes();
        if !behind.is_empty() {
            let encoding = if self.is_base64 { "base64" } else { "raw" };
            file.extend(format!("<AppendedData encoding=\"{encoding}\">\n _").bytes());
            file.extend(behind);
            file.extend(b"\n</AppendedData>");
        }
        file.extend(b"</VTKFile>");
        file
    }
}

proptest! {
    #[test]
    fn every_form_is_read(
        form in any_form(),
        mesh in any_mesh(),
        kind in prop::sample::select(vec!["Int8", "Int16", "Int32", "Int64", "Float32", "Float64"]),
        unsigned in any::<bool>(),
    ) {
        // Whole numbers that every type holds.
        let kind = if unsigned && kind.starts_with("Int") { format!("U{kind}") } else { kind.to_owned() };
        let mut mesh = Mesh { cells: Cells::default(), ..mesh };
        mesh.point_data.truncate(1);
        let low = if kind.starts_with("UInt") { 0.0 } else { -100.0 };
        for value in &mut mesh.point_data[0].values {
            *value = (value.abs() % 200.0).floor().min(127.0).max(low);
        }
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), form.file(&kind, &mesh)).unwrap();
        prop_assert_eq!(read_mesh(file.path()).unwrap(), mesh);
    }
}
