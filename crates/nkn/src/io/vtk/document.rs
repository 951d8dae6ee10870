//! The XML around the numbers: which arrays a file has, how they are stored, and where.

use crate::{Error, Result};
use quick_xml::events::{BytesStart, Event};
use quick_xml::{Reader, XmlVersion};
use std::collections::HashMap;
use std::path::Path;

/// What to do about a file whose parts do not fit.
pub(super) const DAMAGED: &str = "the file is damaged: copy or write it again";

/// The attributes of an XML element.
pub(super) type Attributes = HashMap<String, String>;

/// All that a file says, its numbers not yet decoded.
pub(super) struct Document<'a> {
    pub path: &'a Path,
    /// The attributes of the outermost element: kind of mesh, byte order, compression.
    pub file: Attributes,
    /// Those of the element of the mesh, with the extent of a grid.
    pub mesh: Attributes,
    /// Those of its only piece, with the numbers of points and cells.
    pub piece: Attributes,
    pub arrays: Vec<DataArray<'a>>,
    /// What stands behind the mesh, and whether it is base64.
    pub appended: (&'a [u8], bool),
}

/// One array, not yet decoded.
pub(super) struct DataArray<'a> {
    /// The element that it is in: `PointData`, `Points`, `Cells` or `CellData`.
    pub section: String,
    pub attributes: Attributes,
    /// What stands inside its element.
    pub text: &'a str,
}

impl DataArray<'_> {
    /// The array's name, which VTK gives to every array.
    pub(super) fn name(&self) -> &str {
        self.attributes.get("Name").map_or("", String::as_str)
    }

    /// The array as it is called in messages.
    pub(super) fn title(&self) -> String {
        format!("array `{}` in {}", self.name(), self.section)
    }
}

impl<'a> Document<'a> {
    /// Reads the XML of a file that has been read into memory.
    pub(super) fn parse(path: &'a Path, content: &'a [u8]) -> Result<Self> {
        let (xml, behind) = split(path, content)?;
        let mut document = Self {
            path,
            file: Attributes::new(),
            mesh: Attributes::new(),
            piece: Attributes::new(),
            arrays: Vec::new(),
            appended: (behind, false),
        };
        let mut reader = Reader::from_str(xml);
        // The names of the elements that are open.
        let mut open: Vec<String> = Vec::new();
        let mut complete = false;
        loop {
            let event = reader.read_event().map_err(|error| {
                let at = reader.error_position();
                Error::file(path, format!("is no XML at byte {at}: {error}"), DAMAGED)
            })?;
            match event {
                Event::Start(element) => {
                    document.begin(&open, &element)?;
                    open.push(element.name().as_ref().to_owned());
                }
                Event::Empty(element) => document.begin(&open, &element)?,
                Event::End(_) => {
                    complete |= open.pop().is_some_and(|name| name == "Piece");
                }
                // Behind the first text of an array, VTK may put its range.
                Event::Text(text) if open.last().is_some_and(|name| name == "DataArray") => {
                    let end = reader.buffer_position() as usize;
                    if let Some(array) = document.arrays.last_mut().filter(|array| array.text.is_empty()) {
                        array.text = xml[end - text.len()..end].trim();
                    }
                }
                Event::Eof => break,
                _ => {}
            }
        }
        if !complete {
            let problem = format!("ends at byte {}, inside its mesh", content.len());
            return Err(Error::file(path, problem, "the file is truncated: copy or write it again"));
        }
        Ok(document)
    }

    /// Takes note of an element inside those that are open.
    fn begin(&mut self, open: &[String], element: &BytesStart) -> Result<()> {
        let path = self.path;
        let attributes = || attributes(path, element);
        let open: Vec<&str> = open.iter().map(String::as_str).collect();
        match (&open[..], element.name().as_ref()) {
            ([], "VTKFile") => self.file = attributes()?,
            ([], other) => {
                let problem = format!("is XML, but its outermost element is `{other}`, not `VTKFile`");
                return Err(Error::file(path, problem, "give a mesh that ParaView opens"));
            }
            (["VTKFile"], "AppendedData") => {
                let encoding = attributes()?.remove("encoding").unwrap_or_default();
                self.appended.1 = match encoding.as_str() {
                    "raw" => false,
                    "base64" => true,
                    other => {
                        let problem = format!("has appended data in the encoding `{other}`, expected raw or base64");
                        return Err(Error::file(path, problem, DAMAGED));
                    }
                };
            }
            (["VTKFile"], _) => self.mesh = attributes()?,
            (["VTKFile", _], "Piece") => {
                if !self.piece.is_empty() {
                    let hint = "merge them, with ParaView's filter Merge Blocks, and save the mesh again";
                    return Err(Error::file(path, "has several pieces, expected one", hint));
                }
                self.piece = attributes()?;
            }
            (["VTKFile", _, "Piece", section], "DataArray") => {
                self.arrays.push(DataArray { section: section.to_string(), attributes: attributes()?, text: "" });
            }
            _ => {}
        }
        Ok(())
    }
}

/// The XML up to the appended data, whose bytes are no XML, and the bytes behind its underscore.
fn split<'a>(path: &Path, content: &'a [u8]) -> Result<(&'a str, &'a [u8])> {
    let tag = b"<AppendedData";
    let begin = content.windows(tag.len()).position(|window| window == tag);
    let found = |byte: u8, from: usize| content[from..].iter().position(|other| *other == byte).map(|at| from + at + 1);
    let (end, behind) = match begin {
        None => (content.len(), content.len()),
        Some(begin) => match found(b'>', begin).and_then(|end| Some((end, found(b'_', end)?))) {
            Some(ends) => ends,
            None => {
                let problem = format!("has appended data at byte {begin}, but no underscore before it");
                return Err(Error::file(path, problem, DAMAGED));
            }
        },
    };
    let xml = std::str::from_utf8(&content[..end]).map_err(|error| {
        let problem = format!("has bytes at byte {} that are no text in UTF-8", error.valid_up_to());
        Error::file(path, problem, DAMAGED)
    })?;
    Ok((xml, &content[behind..]))
}

fn attributes(path: &Path, element: &BytesStart) -> Result<Attributes> {
    let wrong = |error: &dyn std::fmt::Display| {
        let problem = format!("has an element `{}` that cannot be read: {error}", element.name().as_ref());
        Error::file(path, problem, DAMAGED)
    };
    let read = |attribute: std::result::Result<quick_xml::events::attributes::Attribute, _>| {
        let attribute = attribute.map_err(|error| wrong(&error))?;
        // VTK writes names as they are, also with characters that XML wants in another form.
        let value = attribute.normalized_value(XmlVersion::Implicit1_0).unwrap_or_else(|_| attribute.value.clone());
        Ok((attribute.key.as_ref().to_owned(), value.into_owned()))
    };
    element.attributes().map(read).collect()
}
