//! From MATLAB's order, in which the first index runs fastest, to ours, in which the last one does.

use super::{Array, MatlabVariable, Number, damaged};
use crate::{Error, Result};
use std::path::Path;

/// The bytes of f64 that are turned around at a time.
const SLAB: usize = 32 << 20;

/// The side of the squares that are turned around: eight f64 are a cache line, so both sides use whole lines.
const TILE: usize = 8;

/// Collects an array that comes plane by plane (all entries with the same last index), in MATLAB's order.
pub(super) struct Reorder {
    name: String,
    shape: Vec<usize>,
    /// How many of the entries along the first axis are kept.
    keep: usize,
    values: Vec<f64>,
    /// Planes received.
    done: usize,
    slab: Vec<f64>,
}

impl Reorder {
    /// Allocates the array, whose [`size`] has been found possible and in the file.
    pub(super) fn new(path: &Path, variable: &MatlabVariable, first: Option<usize>) -> Result<Self> {
        let (name, shape) = (variable.name.clone(), variable.shape.clone());
        let keep = first.map_or(shape[0], |first| first.min(shape[0]));
        let row = entries(&shape).and_then(|entries| entries.checked_div(shape[0])).unwrap_or(0);
        let kept = keep * row;
        let mut values = Vec::new();
        values.try_reserve_exact(kept).map_err(|_| {
            let problem = format!("variable `{name}` needs {} MB of memory, which are not there", kept >> 17);
            Error::file(path, problem, "read fewer samples, or use a machine with more memory")
        })?;
        values.resize(kept, 0.0);
        Ok(Self { name, shape, keep, values, done: 0, slab: Vec::new() })
    }

    /// The number of entries of a plane.
    pub(super) fn plane(&self) -> usize {
        entries(&self.shape[..self.shape.len() - 1]).unwrap_or(0)
    }

    /// The number of planes that are still to come; none for an array without entries.
    pub(super) fn left(&self) -> usize {
        if self.values.is_empty() { 0 } else { self.shape[self.shape.len() - 1] - self.done }
    }

    /// The number of planes to turn around at a time.
    pub(super) fn height(&self) -> usize {
        (SLAB / size_of::<f64>() / self.plane().max(1)).max(1)
    }

    /// Takes the next planes: whole ones, no more than are [`left`](Self::left).
    pub(super) fn add(&mut self, number: Number, big_endian: bool, bytes: &[u8]) {
        for part in bytes.chunks(self.height() * self.plane() * number.size()) {
            let mut slab = std::mem::take(&mut self.slab);
            number.decode(big_endian, part, &mut slab);
            self.turn(&slab);
            self.slab = slab;
        }
    }

    /// Puts the planes of a slab into their places.
    fn turn(&mut self, slab: &[f64]) {
        let [rows, middle @ .., last] = &self.shape[..] else { return };
        let (columns, plane) = (middle.iter().product::<usize>(), self.plane());
        let planes = slab.len() / plane;
        for column in 0..columns {
            let start = turned(column, middle) * last + self.done;
            for row_tile in (0..self.keep).step_by(TILE) {
                for plane_tile in (0..planes).step_by(TILE) {
                    let width = TILE.min(planes - plane_tile);
                    for row in row_tile..self.keep.min(row_tile + TILE) {
                        let target = &mut self.values[row * columns * last + start + plane_tile..][..width];
                        let source = &slab[plane_tile * plane + column * rows + row..];
                        for (value, from) in target.iter_mut().zip(source.iter().step_by(plane)) {
                            *value = *from;
                        }
                    }
                }
            }
        }
        self.done += planes;
    }

    /// The array, when all planes have come.
    pub(super) fn finish(self) -> Array {
        let mut shape = self.shape;
        shape[0] = self.keep;
        Array { name: self.name, shape, values: self.values }
    }
}

/// Where the entry that is `at` with the first index running fastest is with the last one running fastest.
fn turned(mut at: usize, shape: &[usize]) -> usize {
    let mut stride: usize = shape.iter().product();
    shape.iter().fold(0, |sum, side| {
        stride /= side;
        let index = at % side;
        at /= side;
        sum + index * stride
    })
}

/// The number of entries of an array; none when any side is zero, however large the others are.
fn entries(shape: &[usize]) -> Option<usize> {
    if shape.contains(&0) { Some(0) } else { shape.iter().try_fold(1usize, |product, side| product.checked_mul(*side)) }
}

/// The size in bytes of an array whose shape comes from a file.
pub(in crate::io) fn size(path: &Path, variable: &MatlabVariable, number: Number) -> Result<u64> {
    // It must be possible as f64 too, in which the numbers are returned.
    match entries(&variable.shape).filter(|entries| *entries <= isize::MAX as usize / size_of::<f64>()) {
        Some(entries) => Ok((entries * number.size()) as u64),
        None => {
            let MatlabVariable { name, shape, .. } = variable;
            Err(damaged(path, format!("variable `{name}` claims the shape {shape:?}, which no computer can hold")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_axes_are_turned_around_in_any_portions() {
        let shape = [9, 3, 2, 11];
        let [n1, n2, n3, n4] = shape;
        let variable = MatlabVariable { name: "a".into(), shape: shape.to_vec(), class: "int16".into() };
        let stored: Vec<u8> = (0..(n1 * n2 * n3 * n4) as i16).flat_map(i16::to_le_bytes).collect();
        for (portion, first) in [(1, None), (4, Some(5)), (11, Some(100))] {
            let mut array = Reorder::new(Path::new("a.mat"), &variable, first).unwrap();
            for part in stored.chunks(portion * n1 * n2 * n3 * 2) {
                array.add(Number::I16, false, part);
            }
            assert_eq!(array.left(), 0);
            let array = array.finish();
            let keep = first.unwrap_or(n1).min(n1);
            assert_eq!(array.shape, [keep, n2, n3, n4]);
            let mut expected = Vec::new();
            for i in 0..keep {
                for j in 0..n2 {
                    for k in 0..n3 {
                        expected.extend((0..n4).map(|l| (i + n1 * (j + n2 * (k + n3 * l))) as f64));
                    }
                }
            }
            assert_eq!(array.values, expected);
        }
    }
}
