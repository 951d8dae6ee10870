//! The 2D Darcy problem of the paper: -div(b grad u) = 1 on the unit square, u = 0 on its boundary, and the map b -> u
//! to be learned.
//!
//! The coefficient is 12 where a Gaussian random field is not negative and 3 elsewhere (`random_field.rs`). The solution is
//! that of a five-point scheme on 241 x 241 nodes (`solver.rs`). The networks also get b_eps, a smoothed b, and its
//! gradient. Coarser grids are every 16th, 8th or 4th node of the finest ([`Samples::coarsen`]).
//!
//! All values at x = i / (side - 1), y = j / (side - 1) are at i side + j.
//!
//! Against the published statistics of the public data set (b 7.4836 ± 4.49996, u 5.746e-3 ± 3.884e-3 over all nodes): 1,024
//! samples give b 7.511 ± 4.49999 and u 5.646e-3 ± 3.815e-3, with standard errors of 0.016, 0.00004, 1.5e-5 and 1.2e-5. At
//! equal mean b, u is 1.4 % smaller than published, its mean and its deviation alike. Harmonic means on
//! the faces explain a quarter of that, the public code's spline interpolation nothing; the rest is unknown.

mod flux;
mod random_field;
mod smooth;
mod solver;

use crate::domain::Grid;
use crate::field::{Samples, Values};
use crate::parallel::Parallel;
use crate::seed::Seed;
use crate::{Error, Result};
pub use flux::with_flux;
use random_field::RandomField;
use smooth::{VARIANCE, gradient, smoothed};
use solver::FluxSolver;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The number of nodes along a side of the grid on which the paper's data are computed.
pub const SIDE: usize = 241;

/// The coefficient where the random field is not negative.
const HIGH: f64 = 12.0;
/// The coefficient elsewhere.
const LOW: f64 = 3.0;

/// Samples number first to first + count - 1 of the coefficient b, the smoothed b_eps, its derivatives b_eps_x and b_eps_y, and
/// the solution u, on side x side nodes, boundary included. Each depends on the seed and its number alone, and not on the
/// number of threads.
///
/// `progress` is called after each sample, on whichever thread made it, with the number of samples that are finished.
///
/// Another side gives nearly the same random fields, but b_eps is smoothed over a width in grid cells and the scheme's error is
/// another: the paper's data at a coarser resolution are those at [`SIDE`], coarsened ([`Samples::coarsen`]).
///
/// ```
/// use nkn::{problem::darcy, seed::Seed};
///
/// let samples = darcy::generate(Seed::new(0), 0, 2, 41, &|_| {})?;
/// let coarse = samples.coarsen(11)?;
/// assert_eq!(coarse.output_values()?[5 * 11 + 5], samples.output_values()?[20 * 41 + 20]); // the centre of sample 0
/// # Ok::<(), nkn::Error>(())
/// ```
pub fn generate(
    seed: Seed,
    first: usize,
    count: usize,
    side: usize,
    progress: &(dyn Fn(usize) + Sync),
) -> Result<Samples> {
    let field = RandomField::new(side)?;
    let mut b = vec![0.0; count * side * side];
    b.chunks_mut(side * side).enumerate().parallel().for_each(|(sample, b)| {
        for (b, field) in b.iter_mut().zip(field.sample(seed, first + sample)) {
            *b = if field >= 0.0 { HIGH } else { LOW };
        }
    });
    solve(&b, side, progress)
}

/// Samples with given coefficients, each side x side and positive: the solutions and the smoothed fields.
pub fn solve(b: &[f64], side: usize, progress: &(dyn Fn(usize) + Sync)) -> Result<Samples> {
    let solver = FluxSolver::new(side)?;
    let nodes = side * side;
    if !b.len().is_multiple_of(nodes) {
        let expected = format!("{nodes} values for each sample, one per node of {side} x {side}");
        return Err(Error::invalid("b", expected, b.len(), "give whole samples, boundary nodes included"));
    }
    let finished = AtomicUsize::new(0);
    let mut functions = [(); 4].map(|()| vec![0.0; b.len()]);
    let [b_eps, b_eps_x, b_eps_y, u] = &mut functions;
    let inputs = b_eps.chunks_mut(nodes).zip(b_eps_x.chunks_mut(nodes).zip(b_eps_y.chunks_mut(nodes)));
    let all = b.chunks(nodes).zip(u.chunks_mut(nodes)).zip(inputs);
    let solved: Vec<Result<()>> = all.parallel().map(|((b, u), (b_eps, (b_eps_x, b_eps_y)))| {
        u.copy_from_slice(&solver.solve_unit_load(b)?);
        b_eps.copy_from_slice(&smoothed(b, side, VARIANCE));
        let (along_x, along_y) = gradient(b_eps, side);
        b_eps_x.copy_from_slice(&along_x);
        b_eps_y.copy_from_slice(&along_y);
        progress(finished.fetch_add(1, Ordering::Relaxed) + 1);
        Ok(())
    });
    solved.into_iter().collect::<Result<()>>()?;
    let [b_eps, b_eps_x, b_eps_y, u] = functions;
    let inputs = [("b", b.to_vec()), ("b_eps", b_eps), ("b_eps_x", b_eps_x), ("b_eps_y", b_eps_y)];
    Samples::on(Grid::unit(&[side, side])?).inputs(inputs)?.output("u", u)
}

/// The same samples with a b_eps that is smoothed over another width: the standard deviation of the Gaussian, in cells of the
/// samples' grid. The paper does not say how far its data are smoothed; [`generate`] takes sqrt(5) cells.
///
/// ```
/// use nkn::{problem::darcy, seed::Seed};
///
/// let narrow = darcy::generate(Seed::new(0), 0, 1, 41, &|_| {})?;
/// let wide = darcy::with_smoothing(narrow.clone(), 7.0)?;
/// assert_eq!(wide.field("b")?, narrow.field("b")?);
/// let spread = |samples: &nkn::Samples| samples.field("b_eps").unwrap().values.iter().map(|b| (b - 7.5).powi(2)).sum::<f64>();
/// assert!(spread(&wide) < spread(&narrow));
/// # Ok::<(), nkn::Error>(())
/// ```
pub fn with_smoothing(samples: Samples, cells: f64) -> Result<Samples> {
    let side = samples.domain().resolution();
    if !(cells > 0.0 && cells <= side as f64) {
        let expected = format!("a positive number of cells, at most {side}");
        return Err(Error::invalid("smoothing", expected, cells, "the width is measured on the fine grid: 2 to 10"));
    }
    let b = &samples.field("b")?.values;
    let eps: Vec<Vec<f64>> = b.chunks(side * side).parallel().map(|b| smoothed(b, side, cells * cells));
    let (x, y): (Vec<Vec<f64>>, Vec<Vec<f64>>) =
        eps.iter().parallel().map(|b_eps| gradient(b_eps, side)).into_iter().unzip();
    let inputs = [("b", b.clone()), ("b_eps", eps.concat()), ("b_eps_x", x.concat()), ("b_eps_y", y.concat())];
    let again = Samples::on(samples.domain().clone()).inputs(inputs)?;
    samples.outputs().iter().try_fold(again, |again, output| {
        again.output(output.name.clone(), Values::vectors(output.components, output.values.clone()))
    })
}

/// One-sided differences need three nodes, and so does a node that is not on the boundary.
fn check_side(side: usize) -> Result<()> {
    match side {
        0..3 => Err(Error::invalid("side", "at least 3 nodes, one of them inside", side, "the paper uses 241")),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ops::Range;
    use std::sync::Mutex;

    fn samples(first: usize, count: usize) -> Samples {
        generate(Seed::new(3), first, count, 33, &|_| {}).unwrap()
    }

    /// The values of some samples.
    fn part<'a>(samples: &'a Samples, name: &str, range: Range<usize>) -> &'a [f64] {
        let values = match name {
            "u" => samples.output_values().unwrap(),
            name => &samples.field(name).unwrap().values,
        };
        &values[range.start * samples.nodes()..range.end * samples.nodes()]
    }

    #[test]
    fn samples_are_what_they_are_said_to_be() {
        let side = 33;
        let data = samples(0, 3);
        let field = RandomField::new(side).unwrap();
        let solver = FluxSolver::new(side).unwrap();
        for sample in 0..3 {
            let data = |name| part(&data, name, sample..sample + 1);
            let b: Vec<f64> = field.sample(Seed::new(3), sample).iter().map(|&v| 7.5 + 4.5_f64.copysign(v)).collect();
            assert_eq!(data("b"), b);
            assert_eq!(data("u"), solver.solve_unit_load(&b).unwrap());
            let b_eps = smoothed(&b, side, VARIANCE);
            let (b_eps_x, b_eps_y) = gradient(&b_eps, side);
            assert_eq!(data("b_eps"), b_eps);
            assert_eq!(data("b_eps_x"), b_eps_x);
            assert_eq!(data("b_eps_y"), b_eps_y);
        }
    }

    #[test]
    fn the_same_samples_in_any_portion_and_with_any_number_of_threads() {
        let all = samples(0, 5);
        for (first, count) in [(0, 1), (1, 3), (4, 1)] {
            for threads in [1, 3] {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                let some = pool.install(|| samples(first, count));
                for name in ["b", "b_eps_y", "u"] {
                    assert_eq!(part(&some, name, 0..count), part(&all, name, first..first + count));
                }
            }
        }
        assert_ne!(part(&all, "b", 0..1), part(&all, "b", 1..2));
        assert_ne!(generate(Seed::new(4), 0, 5, 33, &|_| {}).unwrap(), all);
    }

    #[test]
    fn progress_counts_every_sample_once() {
        let seen = Mutex::new(Vec::new());
        generate(Seed::new(0), 0, 6, 5, &|done| seen.lock().unwrap().push(done)).unwrap();
        let mut seen = seen.into_inner().unwrap();
        seen.sort_unstable();
        assert_eq!(seen, [1, 2, 3, 4, 5, 6]);
    }

    #[test]
    fn solutions_lie_between_those_of_the_two_coefficients() {
        let data = samples(0, 8);
        let solver = FluxSolver::new(33).unwrap();
        let bounds = [HIGH, LOW].map(|b| solver.solve_unit_load(&[b; 33 * 33]).unwrap());
        // Only the integrals are ordered: they are the energies.
        let [low, high] = bounds.map(|u| u.iter().sum::<f64>());
        for u in data.output_values().unwrap().chunks(33 * 33) {
            assert!((low..high).contains(&u.iter().sum()));
        }
    }

    #[test]
    fn bad_arguments_are_named() {
        for side in 0..3 {
            let message = generate(Seed::new(0), 0, 1, side, &|_| {}).unwrap_err().to_string();
            assert!(message.contains("side: expected at least 3"), "{message}");
            assert!(solve(&[1.0], side, &|_| {}).is_err());
        }
        let message = generate(Seed::new(0), 0, 0, 5, &|_| {}).unwrap_err().to_string();
        assert!(message.contains("at least one sample"), "{message}");
        for (b, expected) in [(&[1.0; 24][..], "b: expected 25 values"), (&[0.0; 25], "b: expected positive values")] {
            let message = solve(b, 5, &|_| {}).unwrap_err().to_string();
            assert!(message.contains(expected), "{message}");
        }
        let flat = solve(&[3.0; 50], 5, &|_| {}).unwrap();
        assert!(part(&flat, "b_eps", 0..2).iter().all(|b| (b - 3.0).abs() < 1e-12));
        assert!(part(&flat, "b_eps_x", 0..2).iter().all(|slope| slope.abs() < 1e-12));
    }

    /// What training with moved samples rests on: the moved coefficient has the moved solution, and moved fields.
    #[test]
    fn the_problem_has_the_symmetries_of_the_square() {
        use crate::field::{Symmetry, moved};
        let samples = generate(Seed::new(3), 0, 1, 21, &|_| {}).unwrap();
        for number in 0..8 {
            let vectors = [["b_eps_x".to_string(), "b_eps_y".to_string()]];
            let there = moved(&samples, &[Symmetry(number)], &vectors).unwrap();
            let again = solve(&there.field("b").unwrap().values, 21, &|_| {}).unwrap();
            for (a, b) in there.fields().iter().zip(again.fields()) {
                for (a, b) in a.values.iter().zip(&b.values) {
                    assert!((a - b).abs() < 1e-9, "{number}: {a} {b}");
                }
            }
            for (a, b) in there.output_values().unwrap().iter().zip(again.output_values().unwrap()) {
                assert!((a - b).abs() < 1e-12, "{number}: {a} {b}");
            }
        }
    }
}
