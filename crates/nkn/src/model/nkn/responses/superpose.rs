//! From responses to states: h(x) = C(x, 1) + sum over the inputs i that reach x of C(x, i) b(i), for all samples of a
//! batch.

use super::table::ResponseTable;
use crate::linalg::gathered::{Sizes, Term, gather};
use crate::linalg::outer::{Pair, outer};
use crate::linalg::{Real, by_pieces};
use crate::operation::{InTests, Operation, Seen, operate};
use crate::parallel::Parallel;
use burn::tensor::Tensor;
use std::borrow::Cow;
use std::sync::Arc;

/// The states, nodes x samples x d, from the responses (rows x 1 x d) and the images (pixels x samples x channels),
/// which get no derivative.
pub(super) fn superpose(responses: Tensor<3>, images: Tensor<3>, table: Arc<ResponseTable>) -> Tensor<3> {
    let [_, samples, channels] = images.dims();
    operate([responses.into_dispatch(), images.detach().into_dispatch()], Superpose { table, samples, channels })
}

#[derive(Debug)]
struct Superpose {
    table: Arc<ResponseTable>,
    samples: usize,
    channels: usize,
}

impl Superpose {
    fn width<T>(&self, responses: &[T]) -> usize {
        responses.len() / self.table.rows()
    }

    /// The inputs but the constant x samples.
    fn by_input<'a, T: Real>(&self, images: &'a [T]) -> Cow<'a, [T]> {
        if self.channels == 1 {
            return images.into();
        }
        let mut result = Vec::with_capacity(images.len());
        for pixel in images.chunks_exact(self.samples * self.channels) {
            (0..self.channels).for_each(|c| result.extend(pixel[c..].iter().step_by(self.channels)));
        }
        result.into()
    }

    /// What reaches a node besides the constant, inputs x samples, and the sizes of its product with the responses.
    fn seen<T: Real>(&self, node: usize, inputs: &[T], d: usize, list: &mut Vec<T>) -> Sizes {
        let reaching = &self.table.inputs(node)[1..];
        list.clear();
        for &input in reaching {
            let start = (input as usize - 1) * self.samples;
            list.extend_from_slice(&inputs[start..start + self.samples]);
        }
        Sizes { samples: reaching.len(), rows: self.samples, columns: d }
    }
}

impl Operation<2> for Superpose {
    type Saved<T: Real> = ();
    type Double = InTests;

    fn shape(&self, [responses, _]: [&[usize]; 2]) -> Vec<usize> {
        vec![self.table.nodes(), self.samples, responses[2]]
    }

    fn forward<T: Real>(&self, [responses, images]: [&[T]; 2], _: bool) -> (Vec<T>, ()) {
        let (d, inputs) = (self.width(responses), self.by_input(images));
        let size = self.samples * d;
        let result = by_pieces(self.table.nodes() * size, size, Vec::new, |list, node, result| {
            let first = self.table.rows_of(node).start * d;
            result.chunks_exact_mut(d).for_each(|row| row.copy_from_slice(&responses[first..first + d]));
            let sizes = self.seen(node, &inputs, d, list);
            outer(sizes, &[Pair { left: 0, right: first + d }], list, responses, result);
        });
        (result, ())
    }

    fn backward<T: Real>(&self, seen: Seen<T, (), 2>) -> [Option<Vec<T>>; 2] {
        let Seen { inputs: [responses, images], gradient, .. } = seen;
        let (d, inputs) = (self.width(responses), self.by_input(images));
        let mut result = vec![T::ZERO; responses.len()];
        let nodes = self.table.by_node(d, &mut result).into_iter().zip(gradient.chunks(self.samples * d));
        nodes.enumerate().parallel().for_each_with(Vec::new, |list, (node, (result, gradient))| {
            let (constant, others) = result.split_at_mut(d);
            for row in gradient.chunks_exact(d) {
                constant.iter_mut().zip(row).for_each(|(c, &g)| *c += g);
            }
            let sizes = self.seen(node, &inputs, d, list);
            gather(sizes, &[Term { states: 0, block: 0 }], list, gradient, others);
        });
        [Some(result), None]
    }
}
