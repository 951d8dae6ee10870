//! The edges of an evolution, read both ways: everything about it that depends on the domain alone.

use crate::domain::Neighbourhood;
use crate::linalg::Groups;
use std::ops::{Deref, Range};
use std::sync::Arc;

/// A neighbourhood by target, with the target of each edge and the edges by source. It is made once for a domain and shared by all plans on it.
#[derive(Debug, PartialEq)]
pub struct Edges {
    by_target: Neighbourhood,
    /// Target of each edge.
    pub(crate) targets: Vec<u32>,
    by_source: Groups,
}

impl Edges {
    /// Reads a neighbourhood the other way too.
    pub fn new(by_target: Neighbourhood) -> Self {
        let sources = by_target.sources().iter().map(|&source| source as usize);
        let by_source = Groups::new(by_target.nodes(), sources.zip(0..));
        Self { targets: by_target.targets(), by_source, by_target }
    }

    /// The edges whose source is y, in order.
    pub(crate) fn of_source(&self, y: usize) -> &[u32] {
        self.by_source.of(y)
    }

    /// Those of some sources, one source after the other.
    pub(crate) fn of_sources(&self, sources: Range<usize>) -> &[u32] {
        self.by_source.of_all(sources)
    }
}

impl Deref for Edges {
    type Target = Neighbourhood;
    fn deref(&self) -> &Neighbourhood {
        &self.by_target
    }
}

impl From<Neighbourhood> for Arc<Edges> {
    fn from(neighbourhood: Neighbourhood) -> Self {
        Arc::new(Edges::new(neighbourhood))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Domain, Extent, Grid, Quadrature, connect};

    #[test]
    fn every_edge_is_found_from_both_ends() {
        let domain = Domain::Grid(Grid::unit(&[5, 4]).unwrap());
        let ball = Extent::Ball { radius: 0.4, inclusive: true };
        let edges = Edges::new(connect(&domain, &ball, Quadrature::Mean, None).unwrap().without_self());
        let mut seen = vec![false; edges.edges()];
        for y in 0..edges.nodes() {
            for &edge in edges.of_source(y) {
                let edge = edge as usize;
                assert_eq!(edges.sources()[edge] as usize, y);
                let x = edges.targets[edge] as usize;
                assert!((edges.offsets()[x]..edges.offsets()[x + 1]).contains(&edge));
                assert!(!std::mem::replace(&mut seen[edge], true));
            }
            assert!(edges.of_source(y).is_sorted());
        }
        let some: Vec<u32> = (3..7).flat_map(|y| edges.of_source(y)).copied().collect();
        assert_eq!(edges.of_sources(3..7), some);
        assert!(seen.iter().all(|&seen| seen));
    }
}
