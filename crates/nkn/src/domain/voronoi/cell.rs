//! What a cell of one, two or three dimensions can do; and the cell of one dimension, an interval.

use super::{polygon::Polygon, polyhedron::Polyhedron};

/// The label of sides that face no other point.
pub(super) const OUTSIDE: u32 = u32::MAX;

/// Differences below this share of a cell's size are rounding: a side through a corner cuts nothing off.
pub(super) const ROUNDING: f64 = 1e-11;

/// The points v with normal . v <= offset; the normal has length one.
#[derive(Clone, Copy, Debug)]
pub(in crate::domain) struct HalfSpace {
    pub(super) normal: [f64; 3],
    pub(super) offset: f64,
}

impl HalfSpace {
    /// How far a point is outside; negative inside.
    pub(super) fn excess(&self, point: [f64; 3]) -> f64 {
        dot(self.normal, point) - self.offset
    }
}

/// A convex cell around a point, which is its origin.
pub(in crate::domain) trait Cell {
    /// Cuts off what is outside of a half-space, and remembers who did it.
    fn clip(&mut self, half: &HalfSpace, label: u32);

    /// The distance of the farthest corner.
    fn reach(&self) -> f64;

    /// Length, area or volume.
    fn measure(&self) -> f64;

    /// Length, area or volume of what is within a ball.
    fn measure_in_ball(&self, centre: [f64; 3], radius: f64) -> f64;

    /// Who made the sides.
    fn labels(&self) -> Vec<u32>;
}

/// The box between two corners, of which as many axes count as there are dimensions.
pub(super) fn box_cell(dim: usize, lower: [f64; 3], upper: [f64; 3]) -> Box<dyn Cell> {
    match dim {
        1 => Box::new(Interval { ends: [lower[0], upper[0]], labels: [OUTSIDE; 2] }),
        2 => Box::new(Polygon::rectangle(lower, upper)),
        _ => Box::new(Polyhedron::cuboid(lower, upper)),
    }
}

struct Interval {
    ends: [f64; 2],
    labels: [u32; 2],
}

impl Cell for Interval {
    fn clip(&mut self, half: &HalfSpace, label: u32) {
        let [sign, ..] = half.normal;
        let side = usize::from(sign > 0.0);
        if half.excess([self.ends[side], 0.0, 0.0]) > ROUNDING * self.reach() {
            self.ends[side] = sign * half.offset;
            self.labels[side] = label;
        }
    }

    fn reach(&self) -> f64 {
        self.ends[0].abs().max(self.ends[1].abs())
    }

    fn measure(&self) -> f64 {
        self.ends[1] - self.ends[0]
    }

    fn measure_in_ball(&self, centre: [f64; 3], radius: f64) -> f64 {
        (self.ends[1].min(centre[0] + radius) - self.ends[0].max(centre[0] - radius)).max(0.0)
    }

    fn labels(&self) -> Vec<u32> {
        self.labels.to_vec()
    }
}

pub(super) fn dot(a: [f64; 3], b: [f64; 3]) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

pub(super) fn minus(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    [a[0] - b[0], a[1] - b[1], a[2] - b[2]]
}

pub(super) fn cross(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

/// The vector of length one in the same direction, if it has a direction.
pub(super) fn unit(a: [f64; 3]) -> Option<[f64; 3]> {
    let length = dot(a, a).sqrt();
    (length > 0.0).then(|| a.map(|x| x / length))
}

/// The point between two where a function that is `inside` at one and `outside` at the other is zero.
pub(super) fn between(a: [f64; 3], inside: f64, b: [f64; 3], outside: f64) -> [f64; 3] {
    let share = (-inside / (outside - inside)).clamp(0.0, 1.0);
    std::array::from_fn(|axis| a[axis] + share * (b[axis] - a[axis]))
}
