//! Kernel rows in pairs: that of (x, y, b(x), b(y)) and that of (y, x, b(y), b(x)), which a symmetric kernel must not
//! tell apart.

use super::Edges;
use crate::kernel::RowTable;
use burn::tensor::{Int, Tensor, TensorData};

/// Which kernel rows are two readings of one pair of nodes.
#[derive(Debug, PartialEq)]
pub struct Pairs {
    /// The two rows of each pair; the first comes earlier in the table.
    rows: Vec<[u32; 2]>,
    /// The pair of each row.
    of: Vec<u32>,
}

impl Pairs {
    /// The pairs of a table.
    ///
    /// # Panics
    /// If an edge has no way back: the neighbourhood must be one that
    /// [`Policy::connect_symmetrically`](crate::domain::Policy::connect_symmetrically) made.
    pub fn new(edges: &Edges, table: &RowTable) -> Self {
        let back = |edge: usize| {
            let (x, y) = (edges.targets[edge], edges.sources()[edge] as usize);
            let span = edges.offsets()[y]..edges.offsets()[y + 1];
            let place = edges.sources()[span.clone()].binary_search(&x).expect("every edge has a way back");
            span.start + place
        };
        let back: Vec<usize> = (0..edges.edges()).map(back).collect();
        let mut rows = Vec::with_capacity(table.rows().div_ceil(2));
        let mut of = vec![u32::MAX; table.rows()];
        for row in 0..table.rows() {
            if of[row] != u32::MAX {
                continue;
            }
            let other = table.row(back[table.edge_of(row)], table.witness(row));
            of[row] = rows.len() as u32;
            of[other] = rows.len() as u32;
            rows.push([row as u32, other as u32]);
        }
        Self { rows, of }
    }

    /// Number of pairs.
    pub fn count(&self) -> usize {
        self.rows.len()
    }

    /// The pair of each row.
    pub(super) fn of(&self) -> &[u32] {
        &self.of
    }

    /// The two rows of each pair.
    pub(super) fn rows(&self) -> &[[u32; 2]] {
        &self.rows
    }

    /// The mean of the two rows of each pair.
    pub fn means(&self, values: Tensor<2>) -> Tensor<2> {
        let device = values.device();
        let side = |side: usize| {
            let rows: Vec<i64> = self.rows.iter().map(|pair| i64::from(pair[side])).collect();
            let count = rows.len();
            values.clone().select(0, Tensor::<1, Int>::from_data(TensorData::new(rows, [count]), &device))
        };
        (side(0) + side(1)) * 0.5
    }

    /// What belongs to a pair, to both of its rows.
    pub fn spread(&self, values: Tensor<2>) -> Tensor<2> {
        let of: Vec<i64> = self.of.iter().map(|&pair| i64::from(pair)).collect();
        let rows = of.len();
        let device = values.device();
        values.select(0, Tensor::<1, Int>::from_data(TensorData::new(of, [rows]), &device))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Domain, Extent, Grid, Policy, Quadrature};
    use crate::seed::{Seed, uniform};

    #[test]
    fn a_pair_is_one_pair_of_nodes_with_one_pair_of_values() {
        let domain = Domain::Grid(Grid::unit(&[5, 4]).unwrap());
        let extent = Extent::Ball { radius: 0.4, inclusive: true };
        let policy = Policy { extent, trained: Quadrature::Overlap, training: None, asked: None };
        let edges = Edges::new(policy.connect_symmetrically(&domain).unwrap().without_self());
        let mut rng = Seed::new(1).rng();
        let field: Vec<f64> = (0..60).map(|_| uniform(&mut rng, -1.0, 1.0).signum()).collect();
        for table in [RowTable::of_fields(&edges, 3, &field), RowTable::shared(edges.edges(), 3)] {
            let pairs = Pairs::new(&edges, &table);
            assert_eq!(2 * pairs.count(), table.rows());
            let ends = |row: usize| (edges.targets[table.edge_of(row)], edges.sources()[table.edge_of(row)]);
            for (index, &[row, other]) in pairs.rows.iter().enumerate() {
                let (row, other) = (row as usize, other as usize);
                assert_eq!((pairs.of[row] as usize, pairs.of[other] as usize), (index, index));
                let ((x, y), back) = (ends(row), ends(other));
                assert_eq!(back, (y, x));
                // Whoever uses the one uses the other.
                for sample in 0..3 {
                    let uses = |row: usize| table.row(table.edge_of(row), sample) == row;
                    assert_eq!(uses(row), uses(other));
                }
            }
        }
    }
}
