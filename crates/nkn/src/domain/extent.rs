//! Over which part of the domain a node integrates.

use crate::{Error, Result};
use serde::{Deserialize, Serialize};

/// Over which part of the domain a node integrates.
///
/// In a TOML file `extent = { kind = "all" }` or `extent = { kind = "ball", radius = 0.1 }`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", try_from = "Unchecked")]
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

/// What a file says: a radius beside `all` is a misunderstanding that serde's own enums would overlook.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Unchecked {
    kind: Kind,
    radius: Option<f64>,
    inclusive: Option<bool>,
    neighbours: Option<usize>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Kind {
    All,
    Ball,
    Nearest,
}

impl TryFrom<Unchecked> for Extent {
    type Error = Error;

    fn try_from(extent: Unchecked) -> Result<Self> {
        if let (Kind::Nearest, Some(neighbours), None, None) =
            (extent.kind, extent.neighbours, extent.radius, extent.inclusive)
        {
            return Ok(Self::Nearest { neighbours });
        }
        match (extent.kind, extent.radius, extent.inclusive) {
            (Kind::All, None, None) => Ok(Self::All),
            (Kind::Ball, Some(radius), inclusive) => {
                let Ball { radius, inclusive } = Ball::new(radius, inclusive.unwrap_or(false))?;
                Ok(Self::Ball { radius, inclusive })
            }
            (Kind::Ball, None, _) => Err(Error::invalid(
                "extent",
                "a radius for the kind `ball`",
                "none",
                "add `radius`, or choose the kind `all`",
            )),
            (Kind::Nearest, ..) => Err(Error::invalid(
                "extent",
                "`neighbours` and nothing else for the kind `nearest`",
                "something else",
                "give the number of neighbours",
            )),
            (Kind::All, ..) => Err(Error::invalid(
                "extent",
                "no radius and no inclusive for the kind `all`",
                "one of them",
                "remove it, or choose the kind `ball`",
            )),
        }
    }
}

/// A checked [`Extent::Ball`].
#[derive(Clone, Copy)]
pub(super) struct Ball {
    pub(super) radius: f64,
    pub(super) inclusive: bool,
}

impl Ball {
    pub(super) fn new(radius: f64, inclusive: bool) -> Result<Self> {
        if radius > 0.0 && radius.is_finite() {
            return Ok(Self { radius, inclusive });
        }
        Err(Error::invalid(
            "radius",
            "a positive number",
            radius,
            "for an integral over the whole domain choose the extent `all`",
        ))
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

    fn read(kind: Kind, radius: Option<f64>, inclusive: Option<bool>) -> Result<Extent> {
        Extent::try_from(Unchecked { kind, radius, inclusive, neighbours: None })
    }

    #[test]
    fn extents_are_read_and_strict_is_the_default() {
        let ball = |inclusive| Extent::Ball { radius: 0.1, inclusive };
        assert_eq!(read(Kind::All, None, None).unwrap(), Extent::All);
        assert_eq!(read(Kind::Ball, Some(0.1), None).unwrap(), ball(false));
        assert_eq!(read(Kind::Ball, Some(0.1), Some(true)).unwrap(), ball(true));
    }

    #[test]
    fn wrong_extents_are_refused_with_a_reason() {
        let message = |kind, radius, inclusive| {
            let result = read(kind, radius, inclusive);
            result.unwrap_err().to_string()
        };
        assert!(message(Kind::All, Some(0.1), None).contains("no radius"));
        assert!(message(Kind::All, None, Some(true)).contains("choose the kind `ball`"));
        assert!(message(Kind::Ball, None, None).contains("add `radius`"));
        assert!(message(Kind::Ball, Some(-1.0), None).contains("a positive number, got -1"));
    }
}
