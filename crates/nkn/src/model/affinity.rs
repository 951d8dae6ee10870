//! The nonlocal block of a nonlocal neural network: L steps with a given affinity, as one operation.
//!
//! The affinity of two pixels is given, not learned: the row-wise softmax of the dot products of given features. It is made
//! sample by sample, serves all steps while it is in the cache, and is made again for the derivatives: held for a batch it would take
//! half a gigabyte. What it made of the states, a hundredth of that, is kept. It counts as data: no derivative goes through it.
//!
//! Pixels that enter with the same state and the same features stay alike in every step, so one of each kind does for all: a digit has some hundred
//! grey levels on 784 pixels.

use crate::engine::Engine;
use crate::linalg::buffer::Buffer;
use crate::linalg::gathered::{Sizes, Term, gather};
use crate::linalg::outer::{Pair, outer};
use crate::linalg::{Real, sum_rows, swap_leading, transposed_blocks, vectorised};
use crate::operation::{InTests, Operation, Seen, operate};
use crate::parallel::Parallel;
use burn::tensor::{Tensor, activation::softmax};
use std::collections::HashMap;

/// h(l + 1) = h(l) + R(l) sum_j k(i, j) (h_j(l) - h_i(l)) for each matrix R (d x d) in `matrices`; `given` are the features
/// that the affinity is made of. States are nodes x samples x d.
pub fn nonlocal(state: Tensor<3>, matrices: Tensor<1>, given: Tensor<3>, engine: Engine) -> Tensor<3> {
    let [nodes, _, d] = state.dims();
    let given = given.detach();
    if engine.is_fused(&state.device()) {
        return operate(
            [state.into_dispatch(), matrices.into_dispatch(), given.into_dispatch()],
            NonlocalSteps { nodes, d },
        );
    }
    let given = given.swap_dims(0, 1);
    let affinity = softmax(given.clone().matmul(given.transpose()), 2);
    let mut h = state.swap_dims(0, 1);
    let [samples, ..] = h.dims();
    let [length] = matrices.dims();
    for layer in 0..length / (d * d) {
        let matrix = matrices.clone().slice(layer * d * d..(layer + 1) * d * d).reshape([d, d]);
        let difference = affinity.clone().matmul(h.clone()) - h.clone();
        let change = difference.reshape([samples * nodes, d]).matmul(matrix.transpose());
        h = h + change.reshape([samples, nodes, d]);
    }
    h.swap_dims(0, 1)
}

#[derive(Debug)]
struct NonlocalSteps {
    nodes: usize,
    d: usize,
}

/// Pixels that stand in one row of a panel, and rows of the matrix that are made together: a stripe of an image of 32 x 32 is in the nearest caches while it is used.
const PANEL: usize = 16;
const STRIPE: usize = 64;

/// Exponents below this add nothing to a sum that holds e^0; left as they are, they would make numbers that the processor is slow with.
const NEGLIGIBLE: f64 = -60.0;

/// The affinity of one sample's kinds of pixels: exp(f(i) f(j) - max) times a factor of row i.
///
/// The matrix lies in stripes of rows, and those in panels of columns, rows x [`PANEL`] each, so that its products are sums over blocks
/// as in [`gathered`](crate::linalg::gathered), in both orders. Columns beyond the last pixel are zero.
struct Affinity<T: Real> {
    /// The number of kinds.
    nodes: usize,
    entries: Buffer<T>,
    /// One over the sum of each row's entries, every kind as often as it occurs.
    shares: Vec<T>,
    /// A panel's features, transposed.
    block: Vec<T>,
}

impl<T: Real> Affinity<T> {
    fn new(nodes: usize) -> Self {
        let entries = Buffer::any(nodes * padded(nodes));
        Self { nodes, entries, shares: vec![T::ZERO; nodes], block: Vec::new() }
    }

    /// The first row of each stripe, and its number of rows.
    fn stripes(&self) -> impl Iterator<Item = (usize, usize)> + use<T> {
        let nodes = self.nodes;
        (0..nodes).step_by(STRIPE).map(move |first| (first, STRIPE.min(nodes - first)))
    }

    /// Of these kinds, with features padded x d.
    fn make(&mut self, kinds: &Kinds<T>, features: &[T], d: usize) {
        self.nodes = kinds.first.len();
        let padded = padded(self.nodes);
        self.block.clear();
        for panel in features.chunks_exact(PANEL * d) {
            let columns = (0..d).flat_map(|c| panel[c..].iter().step_by(d));
            self.block.extend(columns);
        }
        for (first, rows) in self.stripes() {
            let stripe = &mut self.entries[first * padded..(first + rows) * padded];
            stripe.fill(T::ZERO);
            let sizes = Sizes { samples: rows, rows: d, columns: PANEL };
            for (panel, result) in stripe.chunks_exact_mut(rows * PANEL).enumerate() {
                let term = Term { states: first * d, block: panel * PANEL * d };
                gather(sizes, &[term], features, &self.block, result);
            }
            let last = self.nodes - (padded - PANEL);
            vectorised!(exponentials(stripe, &mut self.shares[first..first + rows], last, &kinds.counts));
        }
    }

    /// `result` (kinds x d) becomes the affinity times h (padded x d), in which each kind is multiplied with how often it occurs.
    fn times(&self, h: &[T], d: usize, result: &mut [T]) {
        let padded = padded(self.nodes);
        let mut terms = Vec::new();
        for (first, rows) in self.stripes() {
            terms.clear();
            let panels =
                (0..padded / PANEL).map(|p| Term { states: first * padded + p * rows * PANEL, block: p * PANEL * d });
            terms.extend(panels);
            let sizes = Sizes { samples: rows, rows: PANEL, columns: d };
            let result = &mut result[first * d..(first + rows) * d];
            result.fill(T::ZERO);
            gather(sizes, &terms, &self.entries, h, result);
        }
        self.scale(result, d);
    }

    /// The rows times their factors.
    fn scale(&self, values: &mut [T], d: usize) {
        for (row, &share) in values.chunks_exact_mut(d).zip(&self.shares) {
            row.iter_mut().for_each(|value| *value = share * *value);
        }
    }

    /// `result` (padded x d) += the affinity transposed times `values` (kinds x d), which are lost: what each pixel of a kind gets.
    fn transposed_times(&self, values: &mut [T], d: usize, result: &mut [T]) {
        self.scale(values, d);
        let padded = padded(self.nodes);
        for (first, rows) in self.stripes() {
            let sizes = Sizes { samples: rows, rows: PANEL, columns: d };
            for (panel, result) in result.chunks_exact_mut(PANEL * d).enumerate() {
                let pair = Pair { left: first * padded + panel * rows * PANEL, right: first * d };
                outer(sizes, &[pair], &self.entries, values, result);
            }
        }
    }
}

/// The number of columns with those that fill the last panel.
fn padded(nodes: usize) -> usize {
    nodes.next_multiple_of(PANEL)
}

/// A stripe's dot products become exponentials, those of columns beyond the `last` of the last panel zero; `shares` one over each row's sum.
#[inline(always)]
fn exponentials<T: Real>(stripe: &mut [T], shares: &mut [T], last: usize, counts: &[T]) {
    let rows = shares.len();
    let lowest = T::of(f64::from(f32::MIN));
    let start = stripe.len() - rows * PANEL;
    stripe[start..].chunks_exact_mut(PANEL).for_each(|row| row[last..].fill(lowest));
    let ((lines, _), (counts, _)) = (stripe.as_chunks_mut::<PANEL>(), counts.as_chunks::<PANEL>());
    for (row, share) in shares.iter_mut().enumerate() {
        let mut largest = [lowest; PANEL];
        for line in lines[row..].iter().step_by(rows) {
            for (l, &v) in largest.iter_mut().zip(line) {
                *l = if v > *l { v } else { *l };
            }
        }
        let offset = largest.iter().fold(lowest, |a, &b| if b > a { b } else { a });
        let mut totals = [T::ZERO; PANEL];
        for (line, counts) in lines[row..].iter_mut().step_by(rows).zip(counts) {
            for ((value, total), &count) in line.iter_mut().zip(&mut totals).zip(counts) {
                let exponent = *value - offset;
                let power = exponent.exp();
                *value = if exponent > T::of(NEGLIGIBLE) { power } else { T::ZERO };
                *total += count * *value;
            }
        }
        let mut total = T::ZERO;
        totals.iter().for_each(|&t| total += t);
        *share = T::of(1.0 / total.to_f64());
    }
}

/// The pixels of one sample by kind.
struct Kinds<T> {
    /// The kind of each pixel.
    of: Vec<u32>,
    /// A pixel of each kind.
    first: Vec<u32>,
    /// How often each kind occurs; zero for those that fill the last panel.
    counts: Vec<T>,
}

impl<T: Real> Kinds<T> {
    /// So many pixels without one like another say that there are few: the search is not worth its time.
    const TRIED: usize = 64;

    /// Of one sample's state and features, nodes x d.
    fn new(state: &[T], given: &[T], d: usize) -> Self {
        let rows = |values| -> Vec<&[u8]> {
            let bytes: &[u8] = bytemuck::cast_slice(values);
            bytes.chunks_exact(d * size_of::<T>()).collect()
        };
        let (state, given) = (rows(state), rows(given));
        let mut known: HashMap<(&[u8], &[u8]), u32> = HashMap::new();
        let mut kinds = Self { of: Vec::with_capacity(state.len()), first: Vec::new(), counts: Vec::new() };
        let mut searches = true;
        for (node, key) in state.into_iter().zip(given).enumerate() {
            searches &= node != Self::TRIED || known.len() < Self::TRIED;
            let next = kinds.first.len() as u32;
            let kind = if searches { *known.entry(key).or_insert(next) } else { next };
            if kind == next {
                kinds.first.push(node as u32);
                kinds.counts.push(T::ZERO);
            }
            kinds.counts[kind as usize] += T::ONE;
            kinds.of.push(kind);
        }
        kinds.counts.resize(padded(kinds.first.len()), T::ZERO);
        kinds
    }

    /// One row of each kind, as padded x d.
    fn rows(&self, values: &[T], d: usize) -> Vec<T> {
        let mut result = Vec::with_capacity(self.counts.len() * d);
        self.first
            .iter()
            .for_each(|&node| result.extend_from_slice(&values[node as usize * d..(node as usize + 1) * d]));
        result.resize(self.counts.len() * d, T::ZERO);
        result
    }

    /// The sums of the rows of each kind, padded x d.
    fn sums(&self, values: &[T], d: usize) -> Vec<T> {
        let mut result = vec![T::ZERO; self.counts.len() * d];
        for (&kind, row) in self.of.iter().zip(values.chunks_exact(d)) {
            let start = kind as usize * d;
            result[start..start + d].iter_mut().zip(row).for_each(|(r, &v)| *r += v);
        }
        result
    }

    /// Adds to each pixel's row the row of its kind.
    fn add_to(&self, rows: &[T], d: usize, values: &mut [T]) {
        for (&kind, row) in self.of.iter().zip(values.chunks_exact_mut(d)) {
            let start = kind as usize * d;
            row.iter_mut().zip(&rows[start..start + d]).for_each(|(v, &r)| *v += r);
        }
    }
}

/// One sample's part of a state of nodes x samples x d.
fn pick<T: Real>(values: &[T], samples: usize, sample: usize, d: usize) -> Vec<T> {
    let rows = values.chunks_exact(samples * d);
    rows.flat_map(|row| &row[sample * d..(sample + 1) * d]).copied().collect()
}

/// What the steps of one sample leave for their derivatives.
struct Course<T> {
    kinds: Kinds<T>,
    /// The differences P h - h of every layer, kinds x d.
    differences: Vec<Vec<T>>,
}

impl NonlocalSteps {
    /// Takes a sample through all layers, to the last state of its kinds, padded x d.
    fn run<T: Real>(
        &self,
        [state, matrices, given]: [&[T]; 3],
        sample: usize,
        affinity: &mut Affinity<T>,
    ) -> (Vec<T>, Course<T>) {
        let d = self.d;
        let samples = self.samples(state);
        let (state, given) = (pick(state, samples, sample, d), pick(given, samples, sample, d));
        let kinds = Kinds::new(&state, &given, d);
        affinity.make(&kinds, &kinds.rows(&given, d), d);
        let count = kinds.first.len();
        let sizes = Sizes { samples: count, rows: d, columns: d };
        let mut h = kinds.rows(&state, d);
        let step = |matrix: &[T]| {
            let weighted = h.chunks_exact(d).zip(&kinds.counts).flat_map(|(row, &n)| row.iter().map(move |&v| n * v));
            let weighted: Vec<T> = weighted.collect();
            let mut difference = vec![T::ZERO; count * d];
            affinity.times(&weighted, d, &mut difference);
            difference.iter_mut().zip(&h).for_each(|(value, &h)| *value -= h);
            let (term, matrix) = (Term { states: 0, block: 0 }, transposed_blocks(d, matrix));
            gather(sizes, &[term], &difference, &matrix, &mut h[..count * d]);
            difference
        };
        let differences = matrices.chunks_exact(d * d).map(step).collect();
        (h, Course { kinds, differences })
    }

    fn samples<T>(&self, state: &[T]) -> usize {
        state.len() / (self.nodes * self.d)
    }
}

impl Operation<3> for NonlocalSteps {
    type Saved<T: Real> = Vec<Course<T>>;
    type Double = InTests;

    fn forward<T: Real>(&self, inputs: [&[T]; 3], keep: bool) -> (Vec<T>, Vec<Course<T>>) {
        let (d, nodes) = (self.d, self.nodes);
        let one = |affinity: &mut Affinity<T>, sample: usize| {
            let (last, course) = self.run(inputs, sample, affinity);
            let mut result = vec![T::ZERO; nodes * d];
            course.kinds.add_to(&last, d, &mut result);
            (result, keep.then_some(course))
        };
        let samples = (0..self.samples(inputs[0])).parallel();
        let results = samples.map_with(|| Affinity::new(nodes), one);
        let (parts, courses): (Vec<Vec<T>>, Vec<Option<Course<T>>>) = results.into_iter().unzip();
        (swap_leading(&parts.concat(), parts.len(), nodes, d), courses.into_iter().flatten().collect())
    }

    fn backward<T: Real>(
        &self,
        Seen { inputs, saved, gradient, .. }: Seen<T, Vec<Course<T>>, 3>,
    ) -> [Option<Vec<T>>; 3] {
        let (d, nodes) = (self.d, self.nodes);
        let [state, matrices, given] = inputs;
        let samples = self.samples(state);
        let one = |affinity: &mut Affinity<T>, (sample, Course { kinds, differences }): (usize, Course<T>)| {
            affinity.make(&kinds, &kinds.rows(&pick(given, samples, sample, d), d), d);
            let count = kinds.first.len();
            let mut adjoint = pick(gradient, samples, sample, d);
            let mut own = vec![T::ZERO; matrices.len()];
            for (layer, difference) in differences.iter().enumerate().rev() {
                let span = layer * d * d..(layer + 1) * d * d;
                let sizes = Sizes { samples: count, rows: d, columns: d };
                let sums = kinds.sums(&adjoint, d);
                outer(sizes, &[Pair { left: 0, right: 0 }], &sums, difference, &mut own[span.clone()]);
                // (P transposed - 1) times what came through R: the first is the same for all pixels of a kind.
                let mut mixed = vec![T::ZERO; nodes * d];
                let sizes = Sizes { samples: nodes, ..sizes };
                gather(sizes, &[Term { states: 0, block: 0 }], &adjoint, &matrices[span], &mut mixed);
                adjoint.iter_mut().zip(&mixed).for_each(|(a, &m)| *a -= m);
                let mut sums = kinds.sums(&mixed, d);
                let mut back = vec![T::ZERO; sums.len()];
                affinity.transposed_times(&mut sums[..count * d], d, &mut back);
                kinds.add_to(&back, d, &mut adjoint);
            }
            (adjoint, own)
        };
        let results = saved.into_iter().enumerate().parallel().map_with(|| Affinity::new(nodes), one);
        let (parts, matrices): (Vec<Vec<T>>, Vec<Vec<T>>) = results.into_iter().unzip();
        let total = sum_rows(&matrices.concat(), matrices[0].len());
        [Some(swap_leading(&parts.concat(), parts.len(), nodes, d)), Some(total), None]
    }
}
