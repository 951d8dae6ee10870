//! Whether the parts of a mesh fit together: asked of every mesh that is read or written.

use super::{Cells, Mesh};

/// What does not fit, in words.
pub(super) type Checked = std::result::Result<(), String>;

impl Mesh {
    /// Whether the numbers of points, cells and values fit.
    pub(super) fn check(&self) -> Checked {
        let (count, numbers) = (self.len(), self.points.len());
        if numbers == 0 || !numbers.is_multiple_of(3) {
            return Err(format!("there are {numbers} coordinates, expected three for each of one or more points"));
        }
        if let Some(grid) = &self.grid
            && grid.count() != Some(count)
        {
            return Err(format!("a grid of {:?} points has {count} points", grid.shape));
        }
        self.cells.check(count)?;
        for (index, data) in self.point_data.iter().enumerate() {
            let name = &data.name;
            let (components, values) = (data.components, data.values.len());
            if components == 0 || count.checked_mul(components) != Some(values) {
                let expected = format!("expected {components} for each of {count} points");
                return Err(format!("point data `{name}` has {values} numbers, {expected}"));
            }
            if self.point_data[..index].iter().any(|earlier| earlier.name == *name) {
                return Err(format!("there are two arrays of point data with the name `{name}`"));
            }
        }
        Ok(())
    }

    /// Whether all coordinates and values are finite.
    pub(super) fn check_finite(&self) -> Checked {
        let point_data = self.point_data.iter().map(|data| (data.name.as_str(), data.components, &data.values));
        for (name, components, values) in point_data.chain([("Points", 3, &self.points)]) {
            if let Some(at) = values.iter().position(|value| !value.is_finite()) {
                let point = at / components;
                let place = self.points.get(3 * point..3 * point + 3).unwrap_or_default();
                return Err(format!("`{name}` is {} at point {point}, which is at {place:?}", values[at]));
            }
        }
        Ok(())
    }
}

impl Cells {
    /// Whether every cell has its points among the first `count`.
    fn check(&self, count: usize) -> Checked {
        let (offsets, types) = (self.offsets.len(), self.types.len());
        if offsets != types {
            return Err(format!("there are {offsets} offsets and {types} types of cells, expected as many"));
        }
        let mut begin = 0;
        for (cell, &end) in self.offsets.iter().enumerate() {
            if end < begin {
                return Err(format!("cell {cell} ends at {end}, before its beginning at {begin}"));
            }
            begin = end;
        }
        if begin != self.connectivity.len() as i64 {
            let numbers = self.connectivity.len();
            return Err(format!("the last cell ends at {begin}, but the cells have {numbers} points in all"));
        }
        match self.connectivity.iter().find(|point| !(0..count as i64).contains(point)) {
            Some(point) => Err(format!("a cell has the point {point}, but there are {count} points")),
            None => Ok(()),
        }
    }
}
