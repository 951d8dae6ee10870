//! NKN whose kernel and reaction take energy out of the state, whatever the weights: `stability = "dissipative"`.
//!
//! h(x, t + dt) = h(x, t) - dt E h(x, t) + dt c,   E h(x) = sum_y w(x, y) K(x, y) (h(x) - h(y)) + R(x) h(x),
//!
//! K(x, y) = L (1 + Ω) Lᵀ of the mean of k(x, y) and k(y, x),   R(x) = L (1 + Ω) Lᵀ of r(x),
//!
//! with k and r the paper's networks, L the lower triangle of their d² outputs and Ω the rest minus its transpose
//! (`operator/sector.rs`), and with weights that are symmetric for a measure m of the nodes (`domain/reversible.rs`).
//!
//! **Why it cannot grow.** Write ⟨g, h⟩ for sum_x m(x) g(x)·h(x) and W(x, y) for m(x) w(x, y) = W(y, x). K is the
//! same for (x, y) and (y, x), so exchanging x and y in one half of the sum gives
//!
//! ⟨g, E h⟩ = ½ sum_xy W (g(x) - g(y))·K (h(x) - h(y)) + sum_x m g·R h = ⟨⟨D g, (1 + Ω) D h⟩⟩,
//!
//! where D h collects Lᵀ(h(x) - h(y)) on the pairs and Lᵀ h(x) at the nodes, and ⟨⟨·,·⟩⟩ weighs them with ½ W and m. Ω
//! is skew, hence ⟨h, E h⟩ = |D h|² ≥ 0: along the equation d|h|²/dt = -2 |D h|² (without c), and no eigenvalue of E
//! has a negative real part. A step of length dt has |h - dt E h|² = |h|² - 2 dt |D h|² + dt² |E h|², and
//! E = D*(1 + Ω)D, hence |E h| ≤ |D*(1 + Ω)| |D h|. So it does not grow if dt ≤ 2 / |D*(1 + Ω)|²: the certificate of
//! `analysis/certificate.rs`. |D*(1 + Ω)|² is the largest eigenvalue of D*(1 + Ω)(1 + Ω)ᵀD, which is E with the blocks
//! L (1 + Ω)(1 + Ω)ᵀLᵀ; the sums of its rows bound it. ∎
//!
//! **One feature.** For d = 1 there is no Ω, and K would be symmetric and positive: too little, a network of two layers
//! would have to be a positive root of what it learns. There the kernel is the paper's, free, and only what h(x) loses
//! is another:
//!
//! E h(x) = sum_y w(x, y) (|s(x, y)| h(x) - k(x, y) h(y)) + S(x)² h(x),
//!
//! s = (k(x, y) + k(y, x)) / 2,   N = k - s = (k(x, y) - k(y, x)) / 2,   S(x)² = r(x)² + 1/100.
//!
//! D h has √|s| (h(x) - σ h(y)) for a pair, with σ the sign of s: where s is positive, neighbours are drawn together,
//! where it is negative, to opposite values, and both take energy out. N(x, y) = -N(y, x) moves energy from node to node
//! and takes none out: written as S(x) A(x, y) S(y) it is an Ω between the values S h(x) of D h, so the proof stays word
//! by word, and (1 + Ω)(1 + Ω)ᵀ = 1 + ΩΩᵀ adds (A S)*A S to the operator of the certificate. Explicit Euler amplifies
//! what N does to a state from which nothing takes energy out, which is why S is never zero: the hundredth, which costs a
//! state one percent in T = 1, is what every certificate can rely on. Where the kernel sees fields it is K = |s| alone,
//! because what the rest adds to the reaction would be another number for each sample.
//!
//! Du, Gunzburger, Lehoucq and Zhou (SIAM Review 54, 2012) have the nonlocal calculus behind D; E. Haber and L. Ruthotto,
//! *Stable architectures for deep neural networks* (Inverse Problems 34, 2018), the idea for layers on vectors.

use crate::engine::Engine;
use crate::kernel::affine;
use crate::operator::{Equation, Pairs, Plan, bounding, over_neighbours, sector};
use burn::tensor::{Tensor, TensorData};
use std::sync::Arc;

/// The least reaction of a network of one feature.
pub const LEAST_REACTION: f64 = 0.01;

/// What the certificate is made of.
pub struct Bounding<T> {
    /// L (1 + Ω)(1 + Ω)ᵀLᵀ of every kernel row; of one feature s, which takes out |s|.
    pub kernel: T,
    /// The same at every node.
    pub reaction: T,
    /// N of every kernel row, where there is one.
    pub exchange: Option<T>,
}

impl<T> Bounding<T> {
    /// The same parts in another form.
    pub fn map<U>(self, form: impl Fn(T) -> U) -> Bounding<U> {
        Bounding { kernel: form(self.kernel), reaction: form(self.reaction), exchange: self.exchange.map(form) }
    }
}

impl Equation {
    /// The dissipative form of an equation: its blocks come finished.
    pub fn dissipative(self, pairs: &Arc<Pairs>, plan: &Plan, engine: Engine) -> Self {
        let last_layer =
            Tensor::from_data(TensorData::new(Vec::<f64>::new(), [0]), (&self.source.device(), self.source.dtype()));
        let (features, reaction) = if plan.width == 1 {
            let Bounding { kernel, reaction, exchange } = self.of_one_feature(pairs, plan);
            if exchange.is_some() {
                // w (|s| h(x) - k h(y)) = w k (h(x) - h(y)) + w (|s| - k) h(x).
                let rest = over_neighbours(kernel.abs() - self.features.clone(), plan);
                (self.features, reaction + rest)
            } else {
                (kernel, reaction)
            }
        } else {
            let (kernel, reaction) = self.dissipative_numbers(pairs);
            (sector(kernel, Some(pairs), engine), sector(reaction, None, engine))
        };
        Self { features, last_layer, reaction, source: self.source }
    }

    /// What bounds the steps of the dissipative form.
    pub fn bounding(&self, pairs: &Arc<Pairs>, plan: &Plan) -> Bounding<Tensor<2>> {
        if plan.width == 1 {
            return self.of_one_feature(pairs, plan);
        }
        let (kernel, reaction) = self.dissipative_numbers(pairs);
        Bounding { kernel: bounding(kernel, Some(pairs)), reaction: bounding(reaction, None), exchange: None }
    }

    /// The d² numbers behind K, one row per pair, and behind R. The last layer is linear: the mean of its outputs is
    /// that of its inputs, which are fewer.
    fn dissipative_numbers(&self, pairs: &Pairs) -> (Tensor<2>, Tensor<2>) {
        let [d] = self.source.dims();
        let kernel = affine(pairs.means(self.features.clone()), self.last_layer.clone(), d * d);
        (kernel, self.reaction.clone())
    }

    /// s, S² and N, of which the form itself is made too; the features are the numbers k already. Without N, |s|.
    fn of_one_feature(&self, pairs: &Pairs, plan: &Plan) -> Bounding<Tensor<2>> {
        let mean = pairs.spread(pairs.means(self.features.clone()));
        let reaction = self.reaction.clone() * self.reaction.clone() + LEAST_REACTION;
        if plan.rows.is_shared() {
            let exchange = self.features.clone() - mean.clone();
            Bounding { kernel: mean, reaction, exchange: Some(exchange) }
        } else {
            Bounding { kernel: mean.abs(), reaction, exchange: None }
        }
    }
}
