//! The last layer by responses: the products of the links' blocks with the responses of their nodes, as an operation
//! with a derivative by hand.
//!
//! These are the products of an evolution with inputs in place of samples, whose rows are added to where the cell has
//! that input.

use super::features::AffineKernel;
use super::links::{Link, Links};
use crate::linalg::gathered::{Sizes, Term, gather};
use crate::linalg::outer::{Pair, outer};
use crate::linalg::{Real, by_pieces, transposed_blocks, vectorised};
use crate::operation::{InTests, Operation, Seen, operate};
use crate::operator::Equation;
use crate::parallel::Parallel;
use burn::tensor::Tensor;
use std::sync::Arc;

/// The responses of the cells (rows x 1 x d) from those of the nodes.
pub(super) fn apply(
    responses: Tensor<3>,
    kernel: &AffineKernel,
    equation: &Equation,
    step: f64,
    links: &Arc<Links>,
) -> Tensor<3> {
    let ([_, _, d], nodes, width) = (responses.dims(), links.from.nodes(), kernel.width());
    // I - dt R of each node, and the kernel's part of each link's block; column by column, as the products want them.
    let reaction = equation.reaction.clone().reshape([nodes, d, d]).swap_dims(1, 2);
    let unit = Tensor::<2>::eye(d, &responses.device()).cast(responses.dtype()).reshape([1, d, d]);
    let own = (unit - reaction * step).reshape([nodes * d * d]);
    let by_column = kernel.weight.clone().permute([2, 1, 0]).reshape([width, d * d]);
    let blocks = kernel.sum(&links.sums).matmul(by_column).reshape([links.links.len() * d * d]);
    let source = (equation.source.clone() * step).reshape([1, 1, d]);
    let inputs = [responses.into_dispatch(), blocks.into_dispatch(), own.into_dispatch(), source.into_dispatch()];
    operate(inputs, LastLayer(links.clone()))
}

/// Adds rows times a factor to those rows that the targets name.
fn spread<T: Real>(rows: &[T], factor: T, targets: &[u32], d: usize, result: &mut [T]) {
    if d == 16 {
        let ((rows, _), (result, _)) = (rows.as_chunks::<16>(), result.as_chunks_mut::<16>());
        return vectorised(
            #[inline(always)]
            || {
                for (row, &target) in rows.iter().zip(targets) {
                    result[target as usize].iter_mut().zip(row).for_each(|(t, &r)| *t += factor * r);
                }
            },
        );
    }
    for (row, &target) in rows.chunks_exact(d).zip(targets) {
        result[target as usize * d..].iter_mut().zip(row).for_each(|(t, &r)| *t += factor * r);
    }
}

/// The responses of the cells from those of the nodes, the kernel's part of each link's block, I - dt R of each node, and
/// dt c for the constant. The two parts of a block are multiplied one by one: most links have no share.
#[derive(Debug)]
struct LastLayer(Arc<Links>);

impl LastLayer {
    fn width<T>(&self, responses: &[T]) -> usize {
        responses.len() / self.0.from.rows()
    }

    /// Where the responses of a node begin, and the sizes of a product with them.
    fn of_node(&self, node: usize, d: usize) -> (usize, Sizes) {
        let rows = self.0.from.rows_of(node);
        (rows.start * d, Sizes { samples: rows.len(), rows: d, columns: d })
    }

    /// Appends the derivatives of those rows of the cell that a link adds to.
    fn collect<T: Real>(&self, link: &Link, gradient: &[T], d: usize, list: &mut Vec<T>) {
        let (rows, targets) = (&gradient[self.0.to.rows_of(link.cell).start * d..], self.0.targets(link));
        if d == 16 {
            let (rows, _) = rows.as_chunks::<16>();
            return targets.iter().for_each(|&target| list.extend_from_slice(&rows[target as usize]));
        }
        targets
            .iter()
            .for_each(|&target| list.extend_from_slice(&rows[target as usize * d..(target as usize + 1) * d]));
    }

    /// The derivatives of the nodes' responses and of their own blocks.
    fn to_nodes<T: Real>(&self, responses: &[T], [blocks, own]: [&[T]; 2], gradient: &[T]) -> (Vec<T>, Vec<T>) {
        let links = &self.0;
        let d = self.width(responses);
        let (blocks, own) = (transposed_blocks(d, blocks), transposed_blocks(d, own));
        let mut result = vec![T::ZERO; responses.len()];
        let mut own_gradient = vec![T::ZERO; own.len()];
        let nodes = links.from.by_node(d, &mut result).into_iter().zip(own_gradient.chunks_mut(d * d));
        let scratch = || (Vec::new(), Vec::new(), Vec::new());
        nodes.enumerate().parallel().for_each_with(scratch, |(list, shared, terms), (node, (result, own_gradient))| {
            let (first, sizes) = self.of_node(node, d);
            list.clear();
            terms.clear();
            shared.clear();
            shared.resize(result.len(), T::ZERO);
            for &index in &links.outgoing[node] {
                let link = &links.links[index];
                let start = list.len();
                terms.push(Term { states: start, block: index * d * d });
                self.collect(link, gradient, d, list);
                if link.share != 0.0 {
                    let share = T::of(link.share);
                    shared.iter_mut().zip(&list[start..]).for_each(|(s, &g)| *s += share * g);
                }
            }
            gather(sizes, terms, list, &blocks, result);
            gather(sizes, &[Term { states: 0, block: node * d * d }], shared, &own, result);
            outer(sizes, &[Pair { left: first, right: 0 }], responses, shared, own_gradient);
        });
        (result, own_gradient)
    }

    /// The derivatives of the links' blocks.
    fn to_blocks<T: Real>(&self, responses: &[T], gradient: &[T]) -> Vec<T> {
        let links = &self.0.links;
        let d = self.width(responses);
        by_pieces(links.len() * d * d, d * d, Vec::new, |list, index, block| {
            let (first, sizes) = self.of_node(links[index].node, d);
            list.clear();
            self.collect(&links[index], gradient, d, list);
            outer(sizes, &[Pair { left: first, right: 0 }], responses, list, block);
        })
    }
}

impl Operation<4> for LastLayer {
    type Saved<T: Real> = ();
    type Double = InTests;

    fn shape(&self, [responses, ..]: [&[usize]; 4]) -> Vec<usize> {
        vec![self.0.to.rows(), 1, responses[2]]
    }

    fn forward<T: Real>(&self, [responses, blocks, own, source]: [&[T]; 4], _: bool) -> (Vec<T>, ()) {
        let links = &self.0;
        let d = self.width(responses);
        let mut result = vec![T::ZERO; links.to.rows() * d];
        let cells = links.to.by_node(d, &mut result).into_iter().zip(&links.incoming);
        cells.parallel().for_each_with(Vec::new, |products: &mut Vec<T>, (result, incoming)| {
            result[..d].copy_from_slice(source);
            for index in incoming.clone() {
                let link = &links.links[index];
                let (first, sizes) = self.of_node(link.node, d);
                let mut add = |values: &[T], block: usize, factor: T| {
                    products.clear();
                    products.resize(sizes.samples * d, T::ZERO);
                    gather(sizes, &[Term { states: first, block: block * d * d }], responses, values, products);
                    spread(products, factor, links.targets(link), d, result);
                };
                add(blocks, index, T::ONE);
                if link.share != 0.0 {
                    add(own, link.node, T::of(link.share));
                }
            }
        });
        (result, ())
    }

    fn backward<T: Real>(&self, seen: Seen<T, (), 4>) -> [Option<Vec<T>>; 4] {
        let Seen { inputs: [responses, blocks, own, source], gradient, .. } = seen;
        let d = source.len();
        let (to_nodes, to_own) = self.to_nodes(responses, [blocks, own], gradient);
        let mut to_source = vec![T::ZERO; d];
        for cell in 0..self.0.to.nodes() {
            let first = self.0.to.rows_of(cell).start * d;
            to_source.iter_mut().zip(&gradient[first..first + d]).for_each(|(c, &g)| *c += g);
        }
        [Some(to_nodes), Some(self.to_blocks(responses, gradient)), Some(to_own), Some(to_source)]
    }
}
