//! Neighbourhoods of pixels: cells that tile a square, with their nodes in the middle.

use super::{Neighbourhood, Quadrature, overlap::ball_box_measure};
use crate::{Error, Result};

/// Distances that differ by less than this share of the radius count as equal.
const TIE: f64 = 1e-9;

/// The neighbours of every pixel of an image that covers a square of the given extent; the weights at a pixel sum to 1, its own included, which is
/// then left out: nonlocal kernel networks act on differences.
///
/// `mean` takes the pixels whose middle is within the radius, all alike; `overlap` weighs each by the part of it that lies in the ball,
/// which changes least with the resolution.
pub fn connect_pixels(side: usize, extent: f64, radius: f64, rule: Quadrature) -> Result<Neighbourhood> {
    if !(radius.is_finite() && radius > 0.0) {
        return Err(Error::invalid("model.radius", "a positive number of pixels", radius, "for example 3.0"));
    }
    let h = extent / side as f64;
    let reach = ((radius / h) as isize + 1).min(side as isize - 1);
    let weight = |i: isize, j: isize| -> f64 {
        let (x, y) = (i as f64 * h, j as f64 * h);
        match rule {
            Quadrature::Overlap => {
                let along = |at: f64| [(at - h / 2.0) / radius, (at + h / 2.0) / radius];
                ball_box_measure(&[along(x), along(y)])
            }
            _ => f64::from(x.hypot(y) < radius * (1.0 - TIE)),
        }
    };
    if !matches!(rule, Quadrature::Mean | Quadrature::Overlap) {
        return Err(Error::invalid("model.quadrature", "mean or overlap", rule, "the other rules are not for pixels"));
    }
    let offsets: Vec<(isize, isize, f64)> = (-reach..=reach)
        .flat_map(|i| (-reach..=reach).map(move |j| (i, j)))
        .map(|(i, j)| (i, j, weight(i, j)))
        .filter(|&(_, _, weight)| weight > 1e-12)
        .collect();
    let row = |node: usize| -> Vec<(u32, f64)> {
        let (row, column) = ((node / side) as isize, (node % side) as isize);
        let inside = |at: isize| (0..side as isize).contains(&at);
        let near = offsets.iter().filter(|(i, j, _)| inside(row + i) && inside(column + j));
        let total: f64 = near.clone().map(|(_, _, weight)| weight).sum();
        near.map(|(i, j, weight)| (((row + i) * side as isize + column + j) as u32, weight / total)).collect()
    };
    Ok(Neighbourhood::from_rows(side * side, row).without_self())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges_of_the_paper_s_images() {
        // Counted by hand: displacements within the ball times the pairs that fit, without the pixel itself.
        for (radius, edges) in [(2.0, 6_724 - 784), (3.0, 17_956 - 784), (4.0, 31_356 - 784)] {
            assert_eq!(connect_pixels(28, 28.0, radius, Quadrature::Mean).unwrap().edges(), edges);
        }
        // On the coarse image two fine pixels lie between neighbours.
        assert_eq!(connect_pixels(14, 28.0, 3.0, Quadrature::Mean).unwrap().row(14 * 7 + 7).len(), 8);
        assert_eq!(connect_pixels(14, 28.0, 2.0, Quadrature::Mean).unwrap().edges(), 0);
    }

    /// The second moment of the rule around an inner pixel is that of the ball, r² / 4, at every resolution.
    #[test]
    fn overlap_is_the_same_rule_at_every_resolution() {
        for radius in [3.0, 4.0] {
            for side in [14, 28, 56] {
                let graph = connect_pixels(side, 28.0, radius, Quadrature::Overlap).unwrap();
                let h = 28.0 / side as f64;
                let node = side / 2 * side + side / 2;
                let moment: f64 =
                    graph.row(node).map(|(y, w)| w * ((y / side) as f64 - (node / side) as f64).powi(2) * h * h).sum();
                let exact = radius * radius / 4.0;
                assert!((moment / exact - 1.0).abs() < 0.12, "{side} {radius}: {moment}");
            }
        }
    }

    #[test]
    fn wrong_rules_and_radii_are_refused() {
        assert!(connect_pixels(28, 28.0, 0.0, Quadrature::Mean).is_err());
        assert!(connect_pixels(28, 28.0, 3.0, Quadrature::Trapezoid).is_err());
    }
}
