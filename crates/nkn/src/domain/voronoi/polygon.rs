//! Cells in the plane.

use super::cell::{Cell, HalfSpace, OUTSIDE, ROUNDING, between, dot, minus};

/// Corners counter-clockwise; the label of a corner is that of the side which begins there.
pub(super) struct Polygon {
    corners: Vec<([f64; 3], u32)>,
}

impl Polygon {
    pub(super) fn rectangle(lower: [f64; 3], upper: [f64; 3]) -> Self {
        let ([a, b, _], [c, d, _]) = (lower, upper);
        let corners = [[a, b, 0.0], [c, b, 0.0], [c, d, 0.0], [a, d, 0.0]];
        Self { corners: corners.into_iter().map(|corner| (corner, OUTSIDE)).collect() }
    }

    fn sides(&self) -> impl Iterator<Item = ([f64; 3], [f64; 3])> {
        let next = self.corners.iter().cycle().skip(1);
        self.corners.iter().zip(next).map(|(a, b)| (a.0, b.0))
    }
}

impl Cell for Polygon {
    fn clip(&mut self, half: &HalfSpace, label: u32) {
        let tolerance = ROUNDING * self.reach();
        let excess: Vec<f64> = self.corners.iter().map(|&(corner, _)| half.excess(corner)).collect();
        if excess.iter().all(|&excess| excess <= tolerance) {
            return;
        }
        let mut kept = Vec::with_capacity(self.corners.len() + 1);
        for (index, &(corner, side)) in self.corners.iter().enumerate() {
            let next = (index + 1) % self.corners.len();
            let (here, there) = (excess[index], excess[next]);
            if here <= tolerance {
                kept.push((corner, side));
                if there > tolerance {
                    kept.push((between(corner, here, self.corners[next].0, there), label));
                }
            } else if there <= tolerance {
                kept.push((between(self.corners[next].0, there, corner, here), side));
            }
        }
        self.corners = kept;
    }

    fn reach(&self) -> f64 {
        self.corners.iter().map(|&(corner, _)| dot(corner, corner)).fold(0.0, f64::max).sqrt()
    }

    fn measure(&self) -> f64 {
        self.sides().map(|(a, b)| 0.5 * (a[0] * b[1] - a[1] * b[0])).sum()
    }

    /// The sum over the sides of what the disk has in common with the triangle from its centre to the side.
    fn measure_in_ball(&self, centre: [f64; 3], radius: f64) -> f64 {
        let triangle = |(a, b): ([f64; 3], [f64; 3])| {
            let (from, to) = (minus(a, centre), minus(b, centre));
            let along = minus(b, a);
            let length = dot(along, along).sqrt();
            if length == 0.0 {
                return 0.0;
            }
            let distance = (from[0] * to[1] - from[1] * to[0]) / length;
            let part = |end: [f64; 3]| sector(distance.abs() / radius, dot(end, along) / length / radius);
            distance.signum() * radius * radius * (part(to) - part(from))
        };
        self.sides().map(triangle).sum::<f64>().max(0.0)
    }

    fn labels(&self) -> Vec<u32> {
        self.corners.iter().map(|&(_, label)| label).collect()
    }
}

/// The area that the unit disk has in common with the right triangle whose legs are `near`, from the disk's centre, and
/// `far`, at a right angle to it; odd in `far`.
fn sector(near: f64, far: f64) -> f64 {
    let half_chord = (1.0 - near * near).max(0.0).sqrt();
    let inside = far.abs().min(half_chord);
    let arc = far.abs().atan2(near) - inside.atan2(near);
    far.signum() * 0.5 * (near * inside + arc)
}
