//! From MATLAB's order, in which the first index runs fastest, to ours, in which the last one does.

use super::{Array, MatlabVariable, Number, damaged};
use crate::{Error, Result};
use ndarray::{ArrayViewD, ArrayViewMutD, Axis, IxDyn, ShapeBuilder};
use std::path::Path;

/// The bytes of f64 that are turned around at a time.
const SLAB: usize = 32 << 20;

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
        let (plane, last) = (self.plane(), self.shape.len() - 1);
        for part in bytes.chunks(self.height() * plane * number.size()) {
            number.decode(big_endian, part, &mut self.slab);
            let planes = self.slab.len() / plane;
            let mut slab = self.shape.clone();
            slab[last] = planes;
            let slab = ArrayViewD::from_shape(IxDyn(&slab).f(), &self.slab).expect("whole planes");
            let mut kept = self.shape.clone();
            kept[0] = self.keep;
            let mut values = ArrayViewMutD::from_shape(kept, &mut self.values).expect("allocated for it");
            let mut place = values.slice_axis_mut(Axis(last), (self.done..self.done + planes).into());
            place.assign(&slab.slice_axis(Axis(0), (..self.keep).into()));
            self.done += planes;
        }
    }

    /// The array, when all planes have come.
    pub(super) fn finish(self) -> Array {
        let mut shape = self.shape;
        shape[0] = self.keep;
        Array { name: self.name, shape, values: self.values }
    }
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
