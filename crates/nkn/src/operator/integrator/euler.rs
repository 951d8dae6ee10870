//! Explicit Euler, the paper's step: h + dt (A h + c). First order.
//!
//! Not growing in the norm of a dissipative network for dt up to the certificate's. The fused evolution has this step
//! built into its products (`operator/fused/`); the polynomial below is the same, for tests.

/// 1 + z.
pub const DEGREE: usize = 1;
