//! Which pixels a state depends on, and with which weights the kernel's features enter, for nonlocal kernel networks that begin with an image.
//!
//! The layers are linear in h, so the state after l of them is the sum over the pixels z that reach x of C_l(x, z) b(z) plus C_l(x, 1), and the
//! responses C_l are the same for all samples of a batch. The kernel is affine in the features of its last hidden layer, K = W (phi, 1), so whatever is linear in K, such
//! as the first layer's response to a pixel or the average of the last layer over a cell of the reference grid, is W times a
//! sum of features with weights that are known beforehand: K itself is needed only between the pixels and the reference grid.

use crate::domain::Neighbourhood;
use crate::model::maps::{Mixture, PixelMap};
use std::sync::Arc;

/// The rows of responses: at each node first that of the constant, then one for each channel of each pixel that reaches it.
#[derive(Clone, Debug)]
pub(crate) struct Level {
    channels: usize,
    /// Where each node's pixels begin.
    starts: Vec<usize>,
    /// The pixels that reach each node, in order.
    pixels: Vec<u32>,
}

impl Level {
    fn new(channels: usize, pixels: &[Vec<u32>]) -> Self {
        let mut starts = vec![0];
        for own in pixels {
            starts.push(starts[starts.len() - 1] + own.len());
        }
        Self { channels, starts, pixels: pixels.concat() }
    }

    /// The number of nodes.
    pub fn nodes(&self) -> usize {
        self.starts.len() - 1
    }

    /// The pixels that reach a node.
    pub fn pixels(&self, node: usize) -> &[u32] {
        &self.pixels[self.starts[node]..self.starts[node + 1]]
    }

    /// The first row of a node.
    pub fn row(&self, node: usize) -> usize {
        node + self.channels * self.starts[node]
    }

    /// The number of a node's rows.
    pub fn rows(&self, node: usize) -> usize {
        1 + self.channels * self.pixels(node).len()
    }

    /// The number of all rows.
    pub fn all_rows(&self) -> usize {
        self.row(self.nodes())
    }

    /// Channels of the images.
    pub fn channels(&self) -> usize {
        self.channels
    }
}

/// An edge's weight in the equation: dt w.
struct Edges<'a> {
    graph: &'a Neighbourhood,
    step: f64,
}

impl Edges<'_> {
    /// Number, source and weight of a target's edges.
    fn of(&self, x: usize) -> impl Iterator<Item = (usize, usize, f64)> {
        let first = self.graph.offsets()[x];
        self.graph.row(x).enumerate().map(move |(offset, (y, w))| (first + offset, y, self.step * w))
    }

    /// The weights with which edges enter what x takes from y: the edge itself, or, of x itself, less all edges of x.
    fn link(&self, x: usize, y: usize) -> Mixture {
        let own = self.of(x).filter(|&(_, source, _)| x == y || source == y);
        own.map(|(edge, _, weight)| (edge, if x == y { -weight } else { weight })).collect()
    }
}

/// The first layer of the equation, from a state that is affine in the coordinates and in the image.
#[derive(Clone, Debug)]
pub(crate) struct First {
    /// What the nodes depend on afterwards.
    pub level: Arc<Level>,
    /// The sum of features for each pixel that reaches a node.
    pub pixels: PixelMap,
    /// The sum of features for each node and coordinate, in the response to that coordinate.
    pub places: PixelMap,
    /// From the responses to the constant, those to the pixels, and those of a node to itself by R, to the rows of the level.
    pub assemble: PixelMap,
}

impl First {
    pub fn new(graph: &Neighbourhood, step: f64, channels: usize, places: &[[f64; 2]]) -> Self {
        let edges = Edges { graph, step };
        let nodes = graph.nodes();
        let near = |x: usize| {
            let mut near: Vec<u32> = graph.row(x).map(|(y, _)| y as u32).chain([x as u32]).collect();
            near.sort_unstable();
            near
        };
        let level = Level::new(channels, &(0..nodes).map(near).collect::<Vec<_>>());
        let links = |x: usize| level.pixels(x).iter().map(move |&z| (x, z as usize));
        let pixels = (0..nodes).flat_map(links).map(|(x, z)| edges.link(x, z)).collect();
        // On differences, so what is the same everywhere drops out.
        let along = |(x, axis): (usize, usize)| {
            edges.of(x).map(|(edge, y, weight)| (edge, weight * (places[y][axis] - places[x][axis]))).collect()
        };
        let by_place = (0..nodes).flat_map(|x| [(x, 0), (x, 1)]).map(along).collect();
        let mut rows: Vec<Mixture> = Vec::with_capacity(level.all_rows());
        let mut next = nodes;
        let own = nodes + channels * level.pixels.len();
        for x in 0..nodes {
            rows.push(vec![(x, 1.0)]);
            for &z in level.pixels(x) {
                for channel in 0..channels {
                    let mut row = vec![(next, 1.0)];
                    next += 1;
                    if z as usize == x {
                        row.push((own + x * channels + channel, 1.0));
                    }
                    rows.push(row);
                }
            }
        }
        let columns = own + nodes * channels;
        Self {
            pixels: PixelMap::from_rows(pixels, graph.edges()),
            places: PixelMap::from_rows(by_place, graph.edges()),
            assemble: PixelMap::from_rows(rows, columns),
            level: Arc::new(level),
        }
    }
}

/// What the state at each node depends on before the first layer, and how it is put together from the constants of the nodes and the channels' vectors.
pub(crate) fn before_the_first(nodes: usize, channels: usize) -> (Arc<Level>, PixelMap) {
    let level = Level::new(channels, &(0..nodes as u32).map(|x| vec![x]).collect::<Vec<_>>());
    let rows = (0..nodes).flat_map(|x| [x].into_iter().chain(nodes..nodes + channels)).map(|from| vec![(from, 1.0)]);
    (Arc::new(level), PixelMap::from_rows(rows.collect(), nodes + channels))
}

/// The last layer and the average onto the reference grid in one.
#[derive(Clone, Debug)]
pub(crate) struct Last {
    /// What the nodes depend on before the layer.
    pub from: Arc<Level>,
    /// What the cells of the reference grid depend on after it.
    pub to: Arc<Level>,
    /// Where the links of each cell begin.
    pub starts: Vec<usize>,
    /// The node that each link comes from; those of one cell are in order.
    pub sources: Vec<u32>,
    /// The share of that node in the cell; zero for nodes that are only neighbours.
    pub shares: Vec<f64>,
    /// The cell of each link.
    pub targets: Vec<u32>,
    /// The links of each node.
    pub outgoing: Vec<Vec<u32>>,
    /// The sum of features of each link.
    pub features: PixelMap,
    /// The rows of the cell that the rows of a link's node are added to, link by link.
    places: Vec<u32>,
    place_starts: Vec<usize>,
}

impl Last {
    pub fn new(graph: &Neighbourhood, step: f64, from: Arc<Level>, average: &PixelMap) -> Self {
        let edges = Edges { graph, step };
        let (nodes, channels) = (graph.nodes(), from.channels);
        let (mut starts, mut sources, mut shares, mut targets) = (vec![0], Vec::new(), Vec::new(), Vec::new());
        let mut features: Vec<Mixture> = Vec::new();
        let mut reach = Vec::new();
        let mut link_of = vec![usize::MAX; nodes];
        for (cell, members) in average.rows().iter().enumerate() {
            let first = sources.len();
            let mut near: Vec<u32> =
                members.iter().flat_map(|&(x, _)| graph.row(x).map(|(y, _)| y as u32).chain([x as u32])).collect();
            near.sort_unstable();
            near.dedup();
            for (offset, &y) in near.iter().enumerate() {
                link_of[y as usize] = first + offset;
                sources.push(y);
                shares.push(0.0);
                targets.push(cell as u32);
                features.push(Mixture::new());
            }
            for &(x, share) in members {
                shares[link_of[x]] += share;
                for (edge, y, weight) in edges.of(x) {
                    features[link_of[y]].push((edge, share * weight));
                    features[link_of[x]].push((edge, -share * weight));
                }
            }
            starts.push(sources.len());
            let mut pixels: Vec<u32> = near.iter().flat_map(|&y| from.pixels(y as usize)).copied().collect();
            pixels.sort_unstable();
            pixels.dedup();
            reach.push(pixels);
        }
        let to = Arc::new(Level::new(channels, &reach));
        let mut outgoing = vec![Vec::new(); nodes];
        for (link, &y) in sources.iter().enumerate() {
            outgoing[y as usize].push(link as u32);
        }
        let (mut places, mut place_starts) = (Vec::new(), vec![0]);
        let mut place_of = vec![0u32; nodes];
        for (link, &y) in sources.iter().enumerate() {
            let cell = targets[link] as usize;
            if link == starts[cell] {
                to.pixels(cell).iter().enumerate().for_each(|(place, &z)| place_of[z as usize] = place as u32);
            }
            places.push(0);
            for &z in from.pixels(y as usize) {
                let first = 1 + place_of[z as usize] * channels as u32;
                places.extend(first..first + channels as u32);
            }
            place_starts.push(places.len());
        }
        let features = PixelMap::from_rows(features, graph.edges());
        Self { from, to, starts, sources, shares, targets, outgoing, features, places, place_starts }
    }

    /// Where the rows of a link's node go.
    pub fn places(&self, link: usize) -> &[u32] {
        &self.places[self.place_starts[link]..self.place_starts[link + 1]]
    }

    /// Operations of the products of the links, of width d.
    pub fn flops(&self, d: usize) -> f64 {
        let rows: usize = self.sources.iter().map(|&y| self.from.rows(y as usize)).sum();
        let own: usize = self
            .shares
            .iter()
            .zip(&self.sources)
            .filter(|(s, _)| **s > 0.0)
            .map(|(_, &y)| self.from.rows(y as usize))
            .sum();
        2.0 * (d * d * (rows + own)) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Quadrature, connect_pixels};

    /// The links of a cell are its members and their neighbours, its shares are those of the average, and every row finds the same pixel and channel at the cell.
    #[test]
    fn links_of_the_last_layer() {
        let (side, channels) = (7, 2);
        let graph = connect_pixels(side, 7.0, 2.0, Quadrature::Overlap).unwrap();
        let places = vec![[0.0; 2]; side * side];
        let first = First::new(&graph, 0.5, channels, &places);
        let average = PixelMap::average(side, 3);
        let last = Last::new(&graph, 0.5, first.level.clone(), &average);
        assert_eq!(last.to.nodes(), 9);
        for (cell, members) in average.rows().iter().enumerate() {
            let links = last.starts[cell]..last.starts[cell + 1];
            for y in 0..side * side {
                let share = members.iter().find(|(x, _)| *x == y).map_or(0.0, |(_, share)| *share);
                let is_near = share > 0.0 || members.iter().any(|&(x, _)| graph.row(x).any(|(z, _)| z == y));
                let link = links.clone().find(|&link| last.sources[link] as usize == y);
                assert_eq!(link.is_some(), is_near);
                assert_eq!(link.map_or(0.0, |link| last.shares[link]), share);
            }
            for link in links {
                assert_eq!(last.targets[link] as usize, cell);
                let y = last.sources[link] as usize;
                assert!(last.outgoing[y].contains(&(link as u32)));
                assert_eq!(last.places(link).len(), last.from.rows(y));
                assert_eq!(last.places(link)[0], 0);
                for (row, &place) in last.places(link)[1..].iter().enumerate() {
                    let place = place as usize - 1;
                    assert_eq!(last.to.pixels(cell)[place / channels], last.from.pixels(y)[row / channels]);
                    assert_eq!(place % channels, row % channels);
                }
            }
        }
    }

    /// The kernel acts on differences: with features that are all one, what a node takes from all others and from itself adds up to nothing.
    #[test]
    fn weights_of_a_node_cancel() {
        let graph = connect_pixels(5, 5.0, 2.0, Quadrature::Mean).unwrap();
        let first = First::new(&graph, 1.0, 1, &[[0.0; 2]; 25]);
        let sum = |row: &Mixture| row.iter().map(|&(_, weight)| weight).sum::<f64>();
        let mut rows = first.pixels.rows().iter();
        for x in 0..25 {
            let total: f64 = rows.by_ref().take(first.level.pixels(x).len()).map(sum).sum();
            assert!(total.abs() < 1e-12);
        }
        let last = Last::new(&graph, 1.0, first.level.clone(), &PixelMap::average(5, 2));
        for cell in 0..4 {
            let links = &last.features.rows()[last.starts[cell]..last.starts[cell + 1]];
            assert!(links.iter().map(sum).sum::<f64>().abs() < 1e-12);
        }
    }
}
