//! The last layer and the average onto the reference grid in one: which nodes each cell is made of, and how.

use super::features::{edges_of, sources_of};
use super::table::ResponseTable;
use crate::domain::Neighbourhood;
use crate::model::maps::{Mixture, PixelMap};
use std::ops::Range;
use std::sync::Arc;

/// What a cell of the reference grid takes from a node: C(cell, i) += B C(node, i) for all inputs i that reach the
/// node.
#[derive(Clone, Debug)]
pub(super) struct Link {
    pub cell: usize,
    pub node: usize,
    /// The share of the node in the cell; zero if it is only a neighbour of nodes that have one.
    pub share: f64,
    /// Where its [`Links::targets`] lie.
    targets: Range<usize>,
}

/// All links, in the order of their cells, those of a cell in the order of their nodes.
#[derive(Clone, Debug)]
pub(super) struct Links {
    /// What the nodes depend on before the layer.
    pub from: Arc<ResponseTable>,
    /// What the cells depend on after it.
    pub to: Arc<ResponseTable>,
    pub links: Vec<Link>,
    /// The links to each cell.
    pub incoming: Vec<Range<usize>>,
    /// The links from each node.
    pub outgoing: Vec<Vec<usize>>,
    /// The sum of features in each link's block.
    pub sums: PixelMap,
    targets: Vec<u32>,
}

/// Where a number stands in an ordered list that has it.
fn place_in(list: &[u32], number: u32) -> usize {
    list.partition_point(|&other| other < number)
}

impl Links {
    pub fn new(graph: &Neighbourhood, step: f64, from: Arc<ResponseTable>, average: &PixelMap) -> Self {
        let (mut links, mut incoming, mut outgoing) = (Vec::new(), Vec::new(), vec![Vec::new(); graph.nodes()]);
        let (mut sums, mut reach, mut targets) = (Vec::new(), Vec::new(), Vec::new());
        for (cell, members) in average.rows().iter().enumerate() {
            let sources = sources_of(graph, members.iter().map(|&(x, _)| x));
            let mut inputs: Vec<u32> = sources.iter().flat_map(|&y| from.inputs(y as usize)).copied().collect();
            inputs.sort_unstable();
            inputs.dedup();
            let first = links.len();
            for node in sources.iter().map(|&y| y as usize) {
                outgoing[node].push(links.len());
                let start = targets.len();
                targets.extend(from.inputs(node).iter().map(|&input| place_in(&inputs, input) as u32));
                links.push(Link { cell, node, share: 0.0, targets: start..targets.len() });
            }
            incoming.push(first..links.len());
            reach.push(inputs);
            sums.resize(links.len(), Mixture::new());
            for &(x, share) in members {
                let link_from = |y: usize| first + place_in(&sources, y as u32);
                links[link_from(x)].share += share;
                for (edge, y, weight) in edges_of(graph, step, x) {
                    sums[link_from(y)].push((edge, share * weight));
                    sums[link_from(x)].push((edge, -share * weight));
                }
            }
        }
        let to = Arc::new(ResponseTable::new(reach.into_iter()));
        let sums = PixelMap::from_rows(sums, graph.edges());
        Self { from, to, links, incoming, outgoing, sums, targets }
    }

    /// To which of the cell's rows those of the node are added.
    pub fn targets(&self, link: &Link) -> &[u32] {
        &self.targets[link.targets.clone()]
    }

    /// Operations of the products that make the blocks, and of those with them.
    pub fn flops(&self, d: usize, features: usize) -> usize {
        let products = |link: &Link| self.targets(link).len() * if link.share > 0.0 { 2 } else { 1 };
        2 * d * d * ((features + 1) * self.links.len() + self.links.iter().map(products).sum::<usize>())
    }
}
