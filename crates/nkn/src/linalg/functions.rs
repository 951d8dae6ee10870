//! Functions of single precision without a branch, so that loops over them can be vectorised.

/// e^x = 2^n e^r with |r| <= ln(2) / 2 and a polynomial for e^r; exact to two units in the last place, without a branch.
#[inline(always)]
pub(super) fn exp_single(x: f32) -> f32 {
    let x = x.clamp(-87.0, 88.0);
    // Adding and taking away 1.5 * 2^23 rounds to the nearest whole number.
    const ROUND: f32 = 12_582_912.0;
    let shifted = x * std::f32::consts::LOG2_E + ROUND;
    let n = shifted - ROUND;
    // ln 2 in two parts, so that nothing is lost when it is taken away n times.
    let r = n.mul_add(2.121_944_4e-4, n.mul_add(-0.693_359_4, x));
    let mut p = 1.987_569_1e-4f32;
    for c in [1.398_199_9e-3, 8.333_452e-3, 4.166_579_6e-2, 1.666_666_5e-1, 0.5] {
        p = p.mul_add(r, c);
    }
    // The last bits of the shifted number are n: a conversion would be checked, number by number.
    let power = f32::from_bits((shifted.to_bits() + 127) << 23);
    (p * r).mul_add(r, r + 1.0) * power
}

/// Through the exponential; near zero, where that would lose digits, by its series.
#[inline(always)]
pub(super) fn tanh_single(x: f32) -> f32 {
    let far = 1.0 - 2.0 / (exp_single(2.0 * x) + 1.0);
    let square = x * x;
    let near = x * (1.0 - square * (1.0 / 3.0 - square * (2.0 / 15.0)));
    if square < 0.01 { near } else { far }
}

#[cfg(test)]
mod tests {
    use crate::linalg::Real;

    #[test]
    fn powers_of_e_in_single_precision() {
        for i in -8700..=8800 {
            let x = i as f32 * 0.01;
            let (fast, exact) = (Real::exp(x) as f64, (x as f64).exp());
            assert!((fast / exact - 1.0).abs() < 3e-7, "{x}: {fast} {exact}");
        }
        for i in -2000..=2000 {
            let x = i as f32 * 0.005;
            let (fast, exact) = (Real::tanh(x) as f64, (x as f64).tanh());
            assert!((fast - exact).abs() <= 2e-6 * exact.abs(), "{x}: {fast} {exact}");
        }
        assert_eq!(Real::exp(0f32), 1.0);
        assert!(Real::exp(-1e30f32) < 1e-37);
    }
}
