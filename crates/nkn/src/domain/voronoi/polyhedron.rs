//! Cells in space.

use super::cell::{Cell, HalfSpace, OUTSIDE, ROUNDING, between, cross, dot, minus, unit};

/// Faces whose corners are counter-clockwise when seen from outside.
pub(super) struct Polyhedron {
    faces: Vec<Face>,
    reach: f64,
}

struct Face {
    label: u32,
    normal: [f64; 3],
    corners: Vec<[f64; 3]>,
}

impl Polyhedron {
    pub(super) fn cuboid(lower: [f64; 3], upper: [f64; 3]) -> Self {
        let mut faces = Vec::with_capacity(16);
        for axis in 0..3 {
            let (next, last) = ((axis + 1) % 3, (axis + 2) % 3);
            for (end, sign) in [(lower, -1.0), (upper, 1.0)] {
                let mut normal = [0.0; 3];
                normal[axis] = sign;
                let corner = |a: [f64; 3], b: [f64; 3]| {
                    let mut corner = end;
                    corner[next] = a[next];
                    corner[last] = b[last];
                    corner
                };
                let mut corners =
                    vec![corner(lower, lower), corner(upper, lower), corner(upper, upper), corner(lower, upper)];
                if sign < 0.0 {
                    corners.reverse();
                }
                faces.push(Face { label: OUTSIDE, normal, corners });
            }
        }
        let mut cell = Self { faces, reach: 0.0 };
        cell.reach = cell.farthest();
        cell
    }

    fn farthest(&self) -> f64 {
        let corners = self.faces.iter().flat_map(|face| &face.corners);
        corners.map(|&corner| dot(corner, corner)).fold(0.0, f64::max).sqrt()
    }
}

impl Cell for Polyhedron {
    fn clip(&mut self, half: &HalfSpace, label: u32) {
        let tolerance = ROUNDING * self.reach;
        let outside = |corner: &[f64; 3]| half.excess(*corner) > tolerance;
        if !self.faces.iter().any(|face| face.corners.iter().any(outside)) {
            return;
        }
        let mut rim = Vec::new();
        for face in &mut self.faces {
            face.clip(half, tolerance, &mut rim);
        }
        self.faces.retain(|face| face.corners.len() > 2);
        let corners = around(rim, half.normal, tolerance);
        if corners.len() > 2 {
            self.faces.push(Face { label, normal: half.normal, corners });
        }
        self.reach = self.farthest();
    }

    fn reach(&self) -> f64 {
        self.reach
    }

    fn measure(&self) -> f64 {
        let cone = |face: &Face| -> f64 {
            let fan = face.corners.windows(2).skip(1);
            fan.map(|pair| dot(face.corners[0], cross(pair[0], pair[1]))).sum()
        };
        self.faces.iter().map(cone).sum::<f64>() / 6.0
    }

    fn measure_in_ball(&self, centre: [f64; 3], radius: f64) -> f64 {
        let beyond = |face: &Face| dot(minus(centre, face.corners[0]), face.normal) >= radius;
        if self.faces.iter().any(beyond) {
            return 0.0;
        }
        self.faces.iter().map(|face| face.cone_in_ball(centre, radius)).sum::<f64>().max(0.0) * radius.powi(3)
    }

    fn labels(&self) -> Vec<u32> {
        self.faces.iter().map(|face| face.label).collect()
    }
}

impl Face {
    /// What the cone over the face from a ball's centre has in common with the ball, whose radius is the unit; negative
    /// if the centre is beyond the face.
    fn cone_in_ball(&self, centre: [f64; 3], radius: f64) -> f64 {
        let corners: Vec<[f64; 3]> =
            self.corners.iter().map(|&corner| minus(corner, centre).map(|x| x / radius)).collect();
        let height = dot(corners[0], self.normal);
        let fan = |part: fn([f64; 3], [f64; 3], [f64; 3]) -> f64| -> f64 {
            corners.windows(2).skip(1).map(|pair| part(corners[0], pair[0], pair[1])).sum()
        };
        // Most faces are within the ball or outside, and then a fan of triangles is enough.
        if corners.iter().all(|&corner| dot(corner, corner) <= 1.0) {
            return fan(|a, b, c| dot(a, cross(b, c))) / 6.0;
        }
        if height.abs() >= 1.0 {
            return fan(solid_angle) / 3.0;
        }
        let foot = self.normal.map(|x| height * x);
        let sides = corners.iter().zip(corners.iter().cycle().skip(1));
        let triangle = |(&a, &b): (&[f64; 3], &[f64; 3])| {
            let Some(along) = unit(minus(b, a)) else { return 0.0 };
            let near = dot(cross(minus(a, foot), along), self.normal);
            let part = |end: [f64; 3]| tetrahedron(height.abs(), near.abs(), dot(minus(end, foot), along));
            near.signum() * (part(b) - part(a))
        };
        height.signum() * sides.map(triangle).sum::<f64>()
    }

    /// Cuts off what is outside and notes where.
    fn clip(&mut self, half: &HalfSpace, tolerance: f64, rim: &mut Vec<[f64; 3]>) {
        if self.corners.iter().all(|&corner| half.excess(corner) <= tolerance) {
            return;
        }
        let excess: Vec<f64> = self.corners.iter().map(|&corner| half.excess(corner)).collect();
        let mut kept = Vec::with_capacity(self.corners.len() + 1);
        for (index, &corner) in self.corners.iter().enumerate() {
            let next = (index + 1) % self.corners.len();
            let (here, there) = (excess[index], excess[next]);
            if here <= tolerance {
                kept.push(corner);
            }
            if (here <= tolerance) != (there <= tolerance) {
                let cut = if here <= tolerance {
                    between(corner, here, self.corners[next], there)
                } else {
                    between(self.corners[next], there, corner, here)
                };
                kept.push(cut);
                rim.push(cut);
            }
        }
        self.corners = without_repeats(kept, tolerance);
    }
}

/// The corners of a convex face in their order, given in any order and more than once.
fn around(rim: Vec<[f64; 3]>, normal: [f64; 3], tolerance: f64) -> Vec<[f64; 3]> {
    let share = 1.0 / rim.len() as f64;
    let middle = rim.iter().fold([0.0; 3], |sum, corner| std::array::from_fn(|axis| sum[axis] + share * corner[axis]));
    // The axis that is least along the normal gives the best basis of the face.
    let least = (1..3).fold(0, |best, axis| if normal[axis].abs() < normal[best].abs() { axis } else { best });
    let mut other = [0.0; 3];
    other[least] = 1.0;
    let right = cross(other, normal);
    let up = cross(normal, right);
    let angle = |corner: [f64; 3]| {
        let from_middle = minus(corner, middle);
        dot(from_middle, up).atan2(dot(from_middle, right))
    };
    let mut corners: Vec<(f64, [f64; 3])> = rim.into_iter().map(|corner| (angle(corner), corner)).collect();
    corners.sort_by(|a, b| a.0.total_cmp(&b.0));
    without_repeats(corners.into_iter().map(|(_, corner)| corner).collect(), tolerance)
}

fn without_repeats(mut corners: Vec<[f64; 3]>, tolerance: f64) -> Vec<[f64; 3]> {
    let same = |a: [f64; 3], b: [f64; 3]| minus(a, b).iter().all(|difference| difference.abs() <= tolerance);
    corners.dedup_by(|a, b| same(*a, *b));
    while corners.len() > 1 && same(corners[0], corners[corners.len() - 1]) {
        corners.pop();
    }
    corners
}

/// The solid angle of a triangle seen from the origin (Van Oosterom and Strackee 1983).
fn solid_angle(a: [f64; 3], b: [f64; 3], c: [f64; 3]) -> f64 {
    let [x, y, z] = [a, b, c].map(|corner| dot(corner, corner).sqrt());
    2.0 * dot(a, cross(b, c)).atan2(x * y * z + dot(a, b) * z + dot(b, c) * x + dot(c, a) * y)
}

/// The volume that the unit ball has in common with the tetrahedron whose edges, each at a right angle to those before,
/// are `height`, from the ball's centre to a face, `near`, from there to a side of the face, and `far`, along the
/// side; odd in `far`.
///
/// In polar coordinates of the face the tetrahedron is a fan of right triangles. The fan's first part ends on the
/// face within the ball; the second leaves the ball through the face's disk and then the sphere.
fn tetrahedron(height: f64, near: f64, far: f64) -> f64 {
    let slant = (height * height + near * near).sqrt();
    if slant == 0.0 || far == 0.0 {
        return 0.0;
    }
    let disk = (1.0 - height * height).max(0.0).sqrt();
    let inside = far.abs().min((disk * disk - near * near).max(0.0).sqrt());
    if inside == far.abs() {
        return height * near * far / 6.0;
    }
    let fan = far.abs().atan2(near) - inside.atan2(near);
    // What remains of the solid angle beyond the disk, from the integral of the cosine of the polar angle.
    let polar = |far: f64| (height / slant * far / (near * near + far * far).sqrt()).min(1.0).asin();
    let start = if inside > 0.0 { polar(inside) } else { 0.0 };
    let beyond = fan * (height * disk * disk / 2.0 + height.min(1.0)) - (polar(far.abs()) - start);
    far.signum() * (height * near * inside / 2.0 + beyond) / 3.0
}
