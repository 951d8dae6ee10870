//! Heun's method: the mean of the slopes at both ends of an Euler step. Second order.
//!
//! k₁ = A h + c, k₂ = A (h + dt k₁) + c, h' = h + dt (k₁ + k₂) / 2. With a linear A that is h + dt k₁ + dt²/2 A k₁, and
//! (1 + (1 + dt A)²) / 2 of h: a mean of Euler steps, which grows as little as they do (S. Gottlieb, C.-W. Shu, E.
//! Tadmor, *Strong stability-preserving high-order time discretization methods*, SIAM Review 43, 2001).

/// 1 + z + z²/2.
pub const DEGREE: usize = 2;
