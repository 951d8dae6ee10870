//! Over which part of the domain a node integrates.

use crate::error::ensure;
use crate::{Error, Result};

/// Over which part of the domain a node integrates.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Extent {
    /// All of it: every node is a neighbour of every node.
    All,
    /// The nodes nearer than a radius.
    Ball {
        /// The radius, in the units of the coordinates.
        radius: f64,
        /// Whether nodes at exactly this distance belong to the ball. Ties are decided with a relative tolerance
        /// of 1e-9. The rule `overlap` has no ties and ignores this.
        inclusive: bool,
    },
    /// So many nearest other nodes, of which those with smaller numbers come first when they are equally far: a radius that
    /// follows the density of the nodes. The rule `overlap` takes the ball that just reaches the last of them.
    Nearest {
        /// The number of neighbours, the node itself not counted.
        neighbours: usize,
    },
}

/// A checked [`Extent::Ball`].
#[derive(Clone, Copy)]
pub(super) struct Ball {
    pub(super) radius: f64,
    pub(super) inclusive: bool,
}

impl Ball {
    pub(super) fn new(radius: f64, inclusive: bool) -> Result<Self> {
        let hint = "for an integral over the whole domain leave the radius out";
        ensure!(radius > 0.0 && radius.is_finite(), Error::invalid("radius", "a positive number", radius, hint));
        Ok(Self { radius, inclusive })
    }

    /// Whether a displacement is in the ball. The tolerance is far above rounding and far below any spacing, so that
    /// ties (a radius of exactly three spacings) are decided the same way everywhere.
    pub(super) fn holds(&self, displacement: impl IntoIterator<Item = f64>) -> bool {
        let square: f64 = displacement.into_iter().map(|d| d * d).sum();
        if self.inclusive {
            square.sqrt() <= self.radius * (1.0 + 1e-9)
        } else {
            square.sqrt() < self.radius * (1.0 - 1e-9)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use proptest::prelude::*;

    #[test]
    fn a_ball_has_a_positive_radius() {
        for radius in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            let message = Ball::new(radius, false).err().unwrap().to_string();
            assert!(message.contains("a positive number") && message.contains("leave the radius out"), "{message}");
        }
    }

    proptest! {
        /// A radius of a whole number of spacings, with whatever rounding that has, is a tie: strict balls leave its end
        /// out, inclusive ones have it, and both agree about every other node.
        #[test]
        fn ties_are_decided_the_same_way_everywhere(cells in 1usize..400, steps in 1usize..12, side in 1e-3f64..1e3) {
            let spacing = side / cells as f64;
            for (radius, inclusive) in [(steps as f64 * spacing, true), ((steps as f64 / cells as f64) * side, false)] {
                let ball = Ball::new(radius, inclusive).unwrap();
                let last = (0..2 * steps).take_while(|&k| ball.holds([k as f64 * spacing])).count() - 1;
                prop_assert_eq!(last, if inclusive { steps } else { steps - 1 });
            }
        }

        /// Which axis a displacement is along, and its sign, do not matter.
        #[test]
        fn balls_are_round(radius in 0.1f64..10.0, x in -10.0f64..10.0, y in -10.0f64..10.0, inclusive: bool) {
            let ball = Ball::new(radius, inclusive).unwrap();
            let alike = [[x, y], [y, x], [-x, y], [-y, -x]].map(|displacement| ball.holds(displacement));
            prop_assert_eq!(alike, [alike[0]; 4]);
            prop_assert!(!alike[0] || ball.holds([x / 2.0, y / 2.0]));
        }
    }
}
