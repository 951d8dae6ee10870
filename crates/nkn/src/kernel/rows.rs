//! The table of kernel inputs (x, y, b(x), b(y)): each distinct row once.
//!
//! Every row belongs to exactly one edge. On a shared grid a kernel that does not see b has one row per edge for any
//! number of samples; with a two-valued b it has at most four.
//!
//! Rows are numbered so that neighbours in the table are alike: first by the side of the mean on which b(x) and b(y) lie,
//! then edge by edge. A block of rows then has many ReLU units of the kernel network off on all of it, and those are left out of
//! the products (see `kernel/active.rs`): on a two-valued b 38 % of the units, against 15 % in the order of the edges.

use crate::domain::{Enclosure, Neighbourhood};
use crate::linalg::Groups;
use crate::parallel::Parallel;
use std::collections::HashMap;
use std::hash::Hash;

/// Which row of the kernel table each sample uses on each edge.
#[derive(Clone, Debug)]
pub struct RowTable {
    samples: usize,
    /// Edge of each row.
    row_edge: Vec<u32>,
    /// The rows edge by edge: those of edge e are `by_edge[edge_rows[e]..edge_rows[e + 1]]`.
    by_edge: Vec<u32>,
    edge_rows: Vec<u32>,
    /// Row of (edge, sample) at `edge * samples + sample`; empty when all samples share one row per edge.
    index: Vec<u32>,
    /// A sample that uses each row.
    witness: Vec<u32>,
}

impl RowTable {
    /// One row per edge for all samples: the kernel k(x, y) does not see b.
    pub fn shared(edges: usize, samples: usize) -> Self {
        Self {
            samples,
            row_edge: (0..edges as u32).collect(),
            by_edge: (0..edges as u32).collect(),
            edge_rows: (0..=edges as u32).collect(),
            index: Vec::new(),
            witness: vec![0; edges],
        }
    }

    /// The rows of a kernel that sees b; `fields` is samples x nodes x components.
    pub fn of_fields(graph: &Neighbourhood, samples: usize, fields: &[f64]) -> Self {
        let nodes = graph.nodes();
        let components = fields.len() / (samples * nodes).max(1);
        if components == 0 {
            return Self::shared(graph.edges(), samples);
        }
        let values = distinct_values(samples, nodes, components, fields);
        let mut table = Self {
            samples,
            row_edge: Vec::new(),
            by_edge: Vec::new(),
            edge_rows: vec![0],
            index: Vec::with_capacity(graph.edges() * samples),
            witness: Vec::new(),
        };
        let mut numbering = Numbering::new(samples);
        let mut sides: Vec<u64> = Vec::new();
        let mut edge = 0;
        for target in 0..nodes {
            let at_target = &values[target * samples..(target + 1) * samples];
            for (source, _) in graph.row(target) {
                let at_source = &values[source * samples..(source + 1) * samples];
                let first = table.row_edge.len() as u32;
                numbering.clear();
                for (sample, pair) in at_target.iter().zip(at_source).enumerate() {
                    let (number, is_new) = numbering.number((*pair.0, *pair.1));
                    if is_new {
                        table.row_edge.push(edge);
                        table.witness.push(sample as u32);
                        let value = |node: usize| &fields[(sample * nodes + node) * components..][..components];
                        let both = value(target).iter().chain(value(source));
                        sides.push(both.fold(0, |bits, &v| bits << 1 | u64::from(v > 0.0)));
                    }
                    table.index.push(first + number);
                }
                table.edge_rows.push(table.row_edge.len() as u32);
                edge += 1;
            }
        }
        table.sort_by_key(|row| sides[row]);
        table
    }

    /// Renumbers the rows by a key; rows with equal keys keep their order.
    fn sort_by_key(&mut self, key: impl Fn(usize) -> u64) {
        let mut order: Vec<u32> = (0..self.rows() as u32).collect();
        order.sort_by_key(|&row| key(row as usize));
        self.by_edge = vec![0; order.len()];
        for (place, &row) in order.iter().enumerate() {
            self.by_edge[row as usize] = place as u32;
        }
        self.row_edge = order.iter().map(|&row| self.row_edge[row as usize]).collect();
        self.witness = order.iter().map(|&row| self.witness[row as usize]).collect();
        self.index.iter_mut().for_each(|row| *row = self.by_edge[*row as usize]);
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.row_edge.len()
    }

    /// Number of edges.
    pub fn edges(&self) -> usize {
        self.edge_rows.len() - 1
    }

    /// Number of samples.
    pub fn samples(&self) -> usize {
        self.samples
    }

    /// Whether all samples share one row per edge.
    pub fn is_shared(&self) -> bool {
        self.index.is_empty()
    }

    /// The row that a sample uses on an edge.
    pub fn row(&self, edge: usize, sample: usize) -> usize {
        if self.is_shared() { edge } else { self.index[edge * self.samples + sample] as usize }
    }

    /// The edge of a row.
    pub fn edge_of(&self, row: usize) -> usize {
        self.row_edge[row] as usize
    }

    /// A sample that uses a row.
    pub fn witness(&self, row: usize) -> usize {
        self.witness[row] as usize
    }

    /// The rows of an edge.
    pub fn rows_of_edge(&self, edge: usize) -> impl Iterator<Item = usize> {
        self.slots(edge..edge + 1).iter().map(|&row| row as usize)
    }

    /// Where the row that a sample uses on an edge stands among all rows edge by edge.
    pub fn slot(&self, edge: usize, sample: usize) -> usize {
        let row = self.row(edge, sample);
        let own = self.slots(edge..edge + 1).iter().position(|&r| r as usize == row);
        self.edge_rows[edge] as usize + own.expect("a row of its edge")
    }

    /// The rows of some edges, edge by edge.
    pub fn slots(&self, edges: std::ops::Range<usize>) -> &[u32] {
        &self.by_edge[self.edge_rows[edges.start] as usize..self.edge_rows[edges.end] as usize]
    }

    /// The samples of each row.
    pub(crate) fn users(&self) -> Groups {
        let all = (0..self.edges()).flat_map(|edge| (0..self.samples).map(move |sample| (edge, sample)));
        Groups::new(self.rows(), all.map(|(edge, sample)| (self.row(edge, sample), sample as u32)))
    }

    /// The kernel's inputs in the paper's order: x (target), y (source), b(x), b(y). Along a periodic axis y is the image that
    /// is nearest to x.
    pub fn inputs(
        &self,
        graph: &Neighbourhood,
        dim: usize,
        (coordinates, enclosure): (&[f64], Option<&Enclosure>),
        fields: &[f64],
    ) -> Vec<f64> {
        let (nodes, targets) = (graph.nodes(), graph.targets());
        let components = if self.is_shared() { 0 } else { fields.len() / (self.samples * nodes) };
        let mut rows = Vec::with_capacity(self.rows() * 2 * (dim + components));
        for (&edge, &witness) in self.row_edge.iter().zip(&self.witness) {
            let ends = [targets[edge as usize] as usize, graph.sources()[edge as usize] as usize];
            ends.iter().for_each(|node| rows.extend_from_slice(&coordinates[node * dim..(node + 1) * dim]));
            if let Some(enclosure) = enclosure {
                let place = rows.len() - 2 * dim;
                let (x, y) = rows[place..].split_at_mut(dim);
                enclosure.bring_near(x, y);
            }
            let first = witness as usize * nodes;
            let values = |node: &usize| &fields[(first + node) * components..(first + node + 1) * components];
            ends.iter().for_each(|node| rows.extend_from_slice(values(node)));
        }
        rows
    }
}

/// Numbers the distinct values of b at each node: the number of (node, sample) at `node * samples + sample`.
fn distinct_values(samples: usize, nodes: usize, components: usize, fields: &[f64]) -> Vec<u32> {
    let of_node = |node: usize| -> Vec<u32> {
        let mut numbers = vec![0; samples];
        let mut numbering = Numbering::new(samples);
        // Component by component: the number so far and the next component make the next number.
        for component in 0..components {
            numbering.clear();
            for (sample, number) in numbers.iter_mut().enumerate() {
                let bits = fields[(sample * nodes + node) * components + component].to_bits();
                *number = numbering.number((*number, bits)).0;
            }
        }
        numbers
    };
    (0..nodes).parallel().map(of_node).concat()
}

/// Numbers things in the order in which they first come. Few different ones (a two-valued b has two at a node and four on an edge) are looked
/// through, many are looked up.
struct Numbering<K> {
    few: Vec<K>,
    many: HashMap<K, u32>,
}

impl<K: Copy + Eq + Hash> Numbering<K> {
    /// So many are looked through.
    const FEW: usize = 16;

    fn new(most: usize) -> Self {
        Self { few: Vec::with_capacity(most.min(Self::FEW)), many: HashMap::new() }
    }

    fn clear(&mut self) {
        self.few.clear();
        self.many.clear();
    }

    /// The number of a thing, and whether it is new.
    fn number(&mut self, thing: K) -> (u32, bool) {
        if let Some(number) = self.few.iter().position(|&known| known == thing) {
            return (number as u32, false);
        }
        if self.few.len() < Self::FEW {
            self.few.push(thing);
            return (self.few.len() as u32 - 1, true);
        }
        let next = (self.few.len() + self.many.len()) as u32;
        let number = *self.many.entry(thing).or_insert(next);
        (number, number == next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Domain, Extent, Grid, Quadrature, connect};
    use proptest::prelude::*;

    fn graph(points: usize) -> Neighbourhood {
        let domain = Domain::Grid(Grid::unit(&[points, points]).unwrap());
        let ball = Extent::Ball { radius: 0.3, inclusive: false };
        connect(&domain, &ball, Quadrature::Mean, None).unwrap()
    }

    #[test]
    fn a_two_valued_field_needs_at_most_four_rows_per_edge() {
        let graph = graph(6);
        let samples = 50;
        let fields: Vec<f64> = (0..samples * 36).map(|i| if (i * i) % 7 < 3 { 12.0 } else { 3.0 }).collect();
        let table = RowTable::of_fields(&graph, samples, &fields);
        assert!(table.rows() <= 4 * graph.edges());
        let different: Vec<f64> = (0..samples * 36).map(|i| i as f64).collect();
        assert_eq!(RowTable::of_fields(&graph, samples, &different).rows(), samples * graph.edges());
    }

    #[test]
    fn things_are_numbered_as_they_come() {
        let mut numbering = Numbering::new(100);
        for round in 0..2 {
            for thing in 0..40u64 {
                assert_eq!(numbering.number(thing * 7), (thing as u32, round == 0));
            }
        }
        numbering.clear();
        assert_eq!(numbering.number(39 * 7), (0, true));
    }

    /// Two components are one value, and every row knows the samples that use it.
    #[test]
    fn samples_of_a_row_agree_in_all_components() {
        let graph = graph(5);
        let (samples, components) = (6, 2);
        let fields: Vec<f64> = (0..samples * 25 * components).map(|i| f64::from((i * i % 5) as u8 / 2)).collect();
        let table = RowTable::of_fields(&graph, samples, &fields);
        let users = table.users();
        let targets = graph.targets();
        let at = |sample: u32, node: usize| &fields[(sample as usize * 25 + node) * components..][..components];
        for row in 0..table.rows() {
            let edge = table.edge_of(row);
            let ends = [targets[edge] as usize, graph.sources()[edge] as usize];
            let of_row = users.of(row);
            assert!(!of_row.is_empty() && of_row.is_sorted());
            for &sample in of_row {
                assert_eq!(table.row(edge, sample as usize), row);
                assert!(ends.iter().all(|&node| at(sample, node) == at(of_row[0], node)));
            }
        }
    }

    proptest! {
        /// Whatever the values, each sample finds its own inputs in its row, and no row stands twice.
        #[test]
        fn every_sample_finds_its_inputs(values in prop::collection::vec(0u8..3, 4 * 25)) {
            let graph = graph(5);
            let fields: Vec<f64> = values.iter().map(|&v| v as f64).collect();
            let table = RowTable::of_fields(&graph, 4, &fields);
            let coordinates: Vec<f64> = (0..50).map(|i| i as f64).collect();
            let inputs = table.inputs(&graph, 2, (&coordinates, None), &fields);
            prop_assert_eq!(inputs.len(), table.rows() * 6);
            let mut edge = 0;
            for target in 0..25 {
                for (source, _) in graph.row(target) {
                    for sample in 0..4 {
                        let row = &inputs[table.row(edge, sample) * 6..][..6];
                        prop_assert_eq!(row[0], coordinates[target * 2]);
                        prop_assert_eq!(row[2], coordinates[source * 2]);
                        prop_assert_eq!(row[4], fields[sample * 25 + target]);
                        prop_assert_eq!(row[5], fields[sample * 25 + source]);
                    }
                    edge += 1;
                }
            }
            let mut rows: Vec<Vec<u64>> = inputs.chunks(6).map(|r| r.iter().map(|v| v.to_bits()).collect()).collect();
            rows.sort();
            rows.dedup();
            prop_assert_eq!(rows.len(), table.rows());
        }
    }
}
