//! The classical method of Runge and Kutta. Fourth order.
//!
//! With a linear A its four slopes are dtᵏ/k! Aᵏ⁻¹ (A h + c), k = 1 … 4. The polynomial is 3/8 + 1/3 (1 + z) + 1/4 (1 +
//! z)² + 1/24 (1 + z)⁴: a mean of Euler steps of the same length, which grows as little as they do (S. Gottlieb, C.-W.
//! Shu, E. Tadmor, SIAM Review 43, 2001, Section 4: linear operators).

/// 1 + z + z²/2 + z³/6 + z⁴/24.
pub const DEGREE: usize = 4;
