//! Which inputs reach which nodes: the rows of a table of responses.

use std::ops::Range;

/// The input that is always one. Channel c of pixel z is input 1 + z channels + c.
pub(super) const CONSTANT: u32 = 0;

/// The inputs that a pixel brings, one per channel.
pub(super) fn inputs_of(pixel: u32, channels: usize) -> Range<u32> {
    let channels = channels as u32;
    1 + pixel * channels..1 + (pixel + 1) * channels
}

/// The order of the responses C(x, i): node by node, one row for each input that reaches the node, the constant first.
#[derive(Clone, Debug)]
pub(super) struct ResponseTable {
    /// The first row of each node, and the number of all rows.
    starts: Vec<usize>,
    /// The input of each row; in order at each node.
    inputs: Vec<u32>,
}

impl ResponseTable {
    /// From the inputs that reach each node, the constant first.
    pub fn new(nodes: impl Iterator<Item = Vec<u32>>) -> Self {
        let mut table = Self { starts: vec![0], inputs: Vec::new() };
        for inputs in nodes {
            table.inputs.extend(inputs);
            table.starts.push(table.inputs.len());
        }
        table
    }

    /// The number of nodes.
    pub fn nodes(&self) -> usize {
        self.starts.len() - 1
    }

    /// The number of all rows.
    pub fn rows(&self) -> usize {
        self.inputs.len()
    }

    /// The rows of a node.
    pub fn rows_of(&self, node: usize) -> Range<usize> {
        self.starts[node]..self.starts[node + 1]
    }

    /// The inputs that reach a node, in the order of its rows.
    pub fn inputs(&self, node: usize) -> &[u32] {
        &self.inputs[self.rows_of(node)]
    }

    /// Rows of d numbers, cut by node.
    pub fn by_node<'a, T>(&self, d: usize, mut values: &'a mut [T]) -> Vec<&'a mut [T]> {
        let rows = self.starts.windows(2).map(|pair| pair[1] - pair[0]);
        rows.map(|rows| values.split_off_mut(..rows * d).expect("as long as the rows")).collect()
    }
}
