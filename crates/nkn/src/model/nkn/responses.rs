//! The last layer by responses instead of by samples, and the product of responses with the images (see [`reach`](super::reach)).
//!
//! A link takes the responses C(y, z) of its node to its cell: C(cell, z) += block C(y, z) for all z that reach y. These are the products of an evolution with
//! pixels in place of samples, and rows that are added to where the cell has that pixel.

use super::reach::{Last, Level};
use crate::linalg::gathered::{Sizes, Term, gather};
use crate::linalg::outer::{Pair, outer};
use crate::linalg::{Real, by_pieces, transposed_blocks, vectorised};
use crate::operation::{Operation, Seen, operate};
use burn::tensor::Tensor;
use rayon::prelude::*;
use std::borrow::Cow;
use std::sync::Arc;

/// The responses of the cells (rows x 1 x d) from those of the nodes. Each link has a block of the kernel, each node one of its own (I - dt R), which enters with
/// its share of the cell; blocks lie column by column. `constant` (1 x 1 x d) is added to the response to the constant.
pub(crate) fn last_layer(
    responses: Tensor<3>,
    blocks: Tensor<1>,
    own: Tensor<1>,
    constant: Tensor<3>,
    last: Arc<Last>,
) -> Tensor<3> {
    let inputs = [responses.into_dispatch(), blocks.into_dispatch(), own.into_dispatch(), constant.into_dispatch()];
    operate(inputs, Compose(last))
}

/// The state of every node of a level for all samples, nodes x samples x d, from its responses (rows x 1 x d) and the images (pixels x samples x channels), which get no derivative.
pub(crate) fn meet(responses: Tensor<3>, images: Tensor<3>, level: Arc<Level>) -> Tensor<3> {
    let [_, samples, _] = images.dims();
    operate([responses.into_dispatch(), images.detach().into_dispatch()], Meet { level, samples })
}

/// Adds rows times a factor to those rows of the target that the places name.
fn spread<T: Real>(rows: &[T], factor: T, places: &[u32], d: usize, target: &mut [T]) {
    if d == 16 {
        let ((rows, _), (target, _)) = (rows.as_chunks::<16>(), target.as_chunks_mut::<16>());
        return vectorised(
            #[inline(always)]
            || {
                for (row, &place) in rows.iter().zip(places) {
                    target[place as usize].iter_mut().zip(row).for_each(|(t, &r)| *t += factor * r);
                }
            },
        );
    }
    for (row, &place) in rows.chunks_exact(d).zip(places) {
        target[place as usize * d..].iter_mut().zip(row).for_each(|(t, &r)| *t += factor * r);
    }
}

/// The rows that the places name, one after the other at the end of a list.
fn collect<T: Real>(rows: &[T], places: &[u32], d: usize, list: &mut Vec<T>) {
    if d == 16 {
        let (rows, _) = rows.as_chunks::<16>();
        return places.iter().for_each(|&place| list.extend_from_slice(&rows[place as usize]));
    }
    places.iter().for_each(|&place| list.extend_from_slice(&rows[place as usize * d..(place as usize + 1) * d]));
}

/// Rows of d numbers, cut by node.
fn by_node<'a, T>(level: &Level, d: usize, mut values: &'a mut [T]) -> Vec<&'a mut [T]> {
    let cut = |node| {
        let (own, rest) = std::mem::take(&mut values).split_at_mut(level.rows(node) * d);
        values = rest;
        own
    };
    (0..level.nodes()).map(cut).collect()
}

#[derive(Debug)]
struct Compose(Arc<Last>);

impl Compose {
    fn width<T>(&self, responses: &[T]) -> usize {
        responses.len() / self.0.from.all_rows()
    }

    /// The derivatives of the nodes' responses and of their own blocks.
    fn to_nodes<T: Real>(&self, responses: &[T], [blocks, own]: [&[T]; 2], gradient: &[T]) -> (Vec<T>, Vec<T>) {
        let last = &self.0;
        let d = self.width(responses);
        let (blocks, own) = (transposed_blocks(d, blocks), transposed_blocks(d, own));
        let mut result = vec![T::ZERO; responses.len()];
        let mut own_gradient = vec![T::ZERO; own.len()];
        let nodes = by_node(&last.from, d, &mut result).into_par_iter().zip(own_gradient.par_chunks_mut(d * d));
        let scratch = || (Vec::new(), Vec::new(), Vec::new());
        nodes.enumerate().for_each_init(scratch, |(list, shared, terms), (y, (result, own_gradient))| {
            let sizes = Sizes { samples: last.from.rows(y), rows: d, columns: d };
            list.clear();
            terms.clear();
            shared.clear();
            shared.resize(result.len(), T::ZERO);
            for &link in &last.outgoing[y] {
                let link = link as usize;
                let start = list.len();
                terms.push(Term { states: start, block: link * d * d });
                collect(&gradient[last.to.row(last.targets[link] as usize) * d..], last.places(link), d, list);
                if last.shares[link] != 0.0 {
                    let share = T::of(last.shares[link]);
                    shared.iter_mut().zip(&list[start..]).for_each(|(s, &g)| *s += share * g);
                }
            }
            gather(sizes, terms, list, &blocks, result);
            gather(sizes, &[Term { states: 0, block: y * d * d }], shared, &own, result);
            let pair = Pair { left: last.from.row(y) * d, right: 0 };
            outer(sizes, &[pair], responses, shared, own_gradient);
        });
        (result, own_gradient)
    }

    /// The derivatives of the links' blocks.
    fn to_blocks<T: Real>(&self, responses: &[T], gradient: &[T]) -> Vec<T> {
        let last = &self.0;
        let d = self.width(responses);
        by_pieces(last.sources.len() * d * d, d * d, Vec::new, |list, link, block| {
            let y = last.sources[link] as usize;
            let sizes = Sizes { samples: last.from.rows(y), rows: d, columns: d };
            list.clear();
            collect(&gradient[last.to.row(last.targets[link] as usize) * d..], last.places(link), d, list);
            outer(sizes, &[Pair { left: last.from.row(y) * d, right: 0 }], responses, list, block);
        })
    }
}

impl Operation<4> for Compose {
    type Saved<T: Real> = ();

    fn shape(&self, [responses, ..]: [&[usize]; 4]) -> Vec<usize> {
        vec![self.0.to.all_rows(), 1, responses[2]]
    }

    fn forward<T: Real>(&self, [responses, blocks, own, constant]: [&[T]; 4], _: bool) -> (Vec<T>, ()) {
        let last = &self.0;
        let d = self.width(responses);
        let mut result = vec![T::ZERO; last.to.all_rows() * d];
        let cells = by_node(&last.to, d, &mut result).into_par_iter().enumerate();
        cells.for_each_init(Vec::new, |products: &mut Vec<T>, (cell, result)| {
            result[..d].copy_from_slice(constant);
            for link in last.starts[cell]..last.starts[cell + 1] {
                let y = last.sources[link] as usize;
                let sizes = Sizes { samples: last.from.rows(y), rows: d, columns: d };
                let mut add = |values: &[T], block: usize, factor: T| {
                    products.clear();
                    products.resize(sizes.samples * d, T::ZERO);
                    let term = Term { states: last.from.row(y) * d, block: block * d * d };
                    gather(sizes, &[term], responses, values, products);
                    spread(products, factor, last.places(link), d, result);
                };
                add(blocks, link, T::ONE);
                if last.shares[link] != 0.0 {
                    add(own, y, T::of(last.shares[link]));
                }
            }
        });
        (result, ())
    }

    fn backward<T: Real>(&self, seen: Seen<T, (), 4>) -> [Option<Vec<T>>; 4] {
        let Seen { inputs: [responses, blocks, own, constant], gradient, .. } = seen;
        let d = constant.len();
        let (to_nodes, to_own) = self.to_nodes(responses, [blocks, own], gradient);
        let mut to_constant = vec![T::ZERO; d];
        for cell in 0..self.0.to.nodes() {
            let first = self.0.to.row(cell) * d;
            to_constant.iter_mut().zip(&gradient[first..first + d]).for_each(|(c, &g)| *c += g);
        }
        [Some(to_nodes), Some(self.to_blocks(responses, gradient)), Some(to_own), Some(to_constant)]
    }
}

#[derive(Debug)]
struct Meet {
    level: Arc<Level>,
    samples: usize,
}

impl Meet {
    /// Images as pixels x channels x samples.
    fn by_channel<'a, T: Real>(&self, images: &'a [T]) -> Cow<'a, [T]> {
        let channels = self.level.channels();
        if channels == 1 {
            return images.into();
        }
        let mut result = Vec::with_capacity(images.len());
        for pixel in images.chunks_exact(self.samples * channels) {
            (0..channels).for_each(|c| result.extend(pixel[c..].iter().step_by(channels)));
        }
        result.into()
    }

    /// What a node sees: the pixels that reach it x channels x samples.
    fn seen<T: Real>(&self, node: usize, images: &[T], list: &mut Vec<T>) {
        let size = self.samples * self.level.channels();
        list.clear();
        let starts = self.level.pixels(node).iter().map(|&z| z as usize * size);
        starts.for_each(|start| list.extend_from_slice(&images[start..start + size]));
    }

    /// The product of a node's responses with what it sees has these sizes.
    fn sizes(&self, node: usize, d: usize) -> Sizes {
        Sizes { samples: self.level.rows(node) - 1, rows: self.samples, columns: d }
    }
}

impl Operation<2> for Meet {
    type Saved<T: Real> = ();

    fn shape(&self, [responses, _]: [&[usize]; 2]) -> Vec<usize> {
        vec![self.level.nodes(), self.samples, responses[2]]
    }

    fn forward<T: Real>(&self, [responses, images]: [&[T]; 2], _: bool) -> (Vec<T>, ()) {
        let level = &self.level;
        let d = responses.len() / level.all_rows();
        let images = self.by_channel(images);
        let size = self.samples * d;
        let result = by_pieces(level.nodes() * size, size, Vec::new, |list, node, result| {
            let first = level.row(node) * d;
            result.chunks_exact_mut(d).for_each(|row| row.copy_from_slice(&responses[first..first + d]));
            self.seen(node, &images, list);
            let pair = Pair { left: 0, right: first + d };
            outer(self.sizes(node, d), &[pair], list, responses, result);
        });
        (result, ())
    }

    fn backward<T: Real>(&self, seen: Seen<T, (), 2>) -> [Option<Vec<T>>; 2] {
        let Seen { inputs: [responses, images], gradient, .. } = seen;
        let level = &self.level;
        let d = responses.len() / level.all_rows();
        let images = self.by_channel(images);
        let size = self.samples * d;
        let mut result = vec![T::ZERO; responses.len()];
        let nodes = by_node(level, d, &mut result).into_par_iter().zip(gradient.par_chunks(size));
        nodes.enumerate().for_each_init(Vec::new, |list, (node, (result, gradient))| {
            let (constant, pixels) = result.split_at_mut(d);
            for row in gradient.chunks_exact(d) {
                constant.iter_mut().zip(row).for_each(|(c, &g)| *c += g);
            }
            self.seen(node, &images, list);
            gather(self.sizes(node, d), &[Term { states: 0, block: 0 }], list, gradient, pixels);
        });
        [Some(result), None]
    }
}
