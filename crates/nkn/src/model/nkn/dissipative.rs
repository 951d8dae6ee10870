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
//! A skew part between the nodes, N(x, y) = -Nᵀ(y, x) acting on h(y), would leave the energy alone too, but explicit
//! Euler amplifies it where nothing else takes energy out (a state that is constant, with R = 0), so no step length
//! would be safe for all weights. Du, Gunzburger, Lehoucq and Zhou (SIAM Review 54, 2012) have the nonlocal calculus
//! behind D; E. Haber and L. Ruthotto, *Stable architectures for deep neural networks* (Inverse Problems 34, 2018), the
//! idea for layers on vectors.

use crate::engine::Engine;
use crate::kernel::affine;
use crate::operator::{Equation, Pairs, sector};
use burn::tensor::{Tensor, TensorData};
use std::sync::Arc;

impl Equation {
    /// The dissipative form of an equation: its blocks come finished.
    pub fn dissipative(self, pairs: &Arc<Pairs>, engine: Engine) -> Self {
        let last_layer =
            Tensor::from_data(TensorData::new(Vec::<f64>::new(), [0]), (&self.source.device(), self.source.dtype()));
        let (kernel, reaction) = self.dissipative_numbers(pairs);
        let features = sector(kernel, Some(pairs), engine);
        Self { features, last_layer, reaction: sector(reaction, None, engine), source: self.source }
    }

    /// The d² numbers behind K, one row per pair, and behind R. The last layer is linear: the mean of its outputs is
    /// that of its inputs, which are fewer.
    pub fn dissipative_numbers(&self, pairs: &Pairs) -> (Tensor<2>, Tensor<2>) {
        let [d] = self.source.dims();
        let kernel = affine(pairs.means(self.features.clone()), self.last_layer.clone(), d * d);
        (kernel, self.reaction.clone())
    }
}
