//! Nodes in the plane of a drawing: those of a grid as cells, scattered ones as discs. Of three dimensions the first two are
//! seen: the middle layer of a grid, or all points with the third axis towards the reader.

use super::color::hex;
use super::heat::Scale;
use super::scale::{Axis, extent};
use super::svg::{Frame, path, pixel};
use nkn::domain::{Domain, Grid, PointCloud};
use std::collections::BTreeMap;

/// Of more points than this only so many are drawn: they would lie on each other, and the page would grow.
pub const MOST: usize = 3000;

/// Points in three dimensions are drawn in so many layers from the back to the front.
const LAYERS: usize = 6;

/// The smallest and the largest diameter of a point in pixels.
const DIAMETERS: (f64, f64) = (1.8, 15.0);

/// Where nodes are drawn.
#[derive(Debug, Clone)]
pub struct Plane {
    /// What is seen in words, for example "16 × 16" or "400 points".
    pub label: String,
    dim: usize,
    /// The range of both axes.
    ranges: [(f64, f64); 2],
    /// The drawn nodes, from the back to the front.
    nodes: Vec<usize>,
    /// Their coordinates.
    places: Vec<(f64, f64)>,
    kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Nodes along both axes, the one at (x_i, y_j) being at i * ny + j.
    Cells([usize; 2]),
    Points,
    Layers,
}

impl Plane {
    /// The plane of a sample's nodes; none on a line, and none for the points of several samples.
    pub fn of(domain: &Domain) -> Option<Self> {
        match domain {
            Domain::Grid(grid) if grid.dim() > 1 => Some(Self::of_grid(grid)),
            Domain::Cloud(cloud) if cloud.dim() > 1 => Some(Self::of_cloud(cloud)),
            _ => None,
        }
    }

    fn of_grid(grid: &Grid) -> Self {
        let shape = [grid.shape()[0], grid.shape()[1]];
        let deep = grid.shape().get(2).copied().unwrap_or(1);
        let nodes: Vec<usize> = (0..shape[0] * shape[1]).map(|k| k * deep + deep / 2).collect();
        let size: Vec<_> = grid.shape().iter().map(usize::to_string).collect();
        let layer = if grid.dim() == 3 { ", the middle layer" } else { "" };
        let place = |&node: &usize| {
            let point = grid.point(node);
            (point[0], point[1])
        };
        Self {
            label: size.join(" × ") + layer,
            dim: grid.dim(),
            ranges: [0, 1].map(|axis| (grid.lower()[axis], grid.upper()[axis])),
            places: nodes.iter().map(place).collect(),
            nodes,
            kind: Kind::Cells(shape),
        }
    }

    fn of_cloud(cloud: &PointCloud) -> Self {
        let (count, dim, x) = (cloud.len(), cloud.dim(), cloud.coordinates());
        let mut nodes = some(count);
        if dim == 3 {
            nodes.sort_by(|&a, &b| x[3 * a + 2].total_cmp(&x[3 * b + 2]));
        }
        let drawn = if nodes.len() < count { format!("{} of {count}", nodes.len()) } else { count.to_string() };
        let seen = if dim == 3 { ", seen along the third axis" } else { "" };
        let places: Vec<_> = nodes.iter().map(|&node| (x[dim * node], x[dim * node + 1])).collect();
        // The outermost points are as far from the frame as from each other.
        let room = 0.5 / (count as f64).sqrt().max(1.0);
        let widths = [0, 1].map(|axis| extent(x.iter().skip(axis).step_by(dim).copied()).unwrap_or((0.0, 1.0)));
        let largest = widths.iter().map(|(low, high)| high - low).fold(0.0, f64::max);
        let largest = if largest > 0.0 { largest } else { 1.0 };
        let ranges = widths.map(|(low, high)| (low - room * largest, high + room * largest));
        let kind = if dim == 3 { Kind::Layers } else { Kind::Points };
        Self { label: format!("{drawn} points{seen}"), dim, ranges, nodes, places, kind }
    }

    /// The number of axes of the domain.
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// Whether nodes are drawn as discs.
    pub fn is_cloud(&self) -> bool {
        !matches!(self.kind, Kind::Cells(_))
    }

    /// Both axes.
    pub fn axes(&self) -> [Axis; 2] {
        self.ranges.map(Axis::linear)
    }

    /// The height of the domain as a multiple of its width.
    pub fn proportion(&self) -> f64 {
        let [width, height] = self.ranges.map(|(low, high)| high - low);
        height / width
    }

    /// What is drawn of values at all nodes, with so many components.
    pub fn drawn<'a>(&self, values: &'a [f64], components: usize) -> Vec<&'a [f64]> {
        self.nodes.iter().map(|&node| &values[node * components..(node + 1) * components]).collect()
    }

    /// The pixels of the drawn nodes.
    pub fn pixels(&self, frame: &Frame) -> Vec<Option<(f64, f64)>> {
        self.places.iter().map(|&place| frame.point(place)).collect()
    }

    /// The drawn values in their colours.
    pub fn paint(&self, frame: &Frame, scale: &Scale, values: &[f64]) -> String {
        let layer = match self.kind {
            Kind::Cells(shape) => return scale.cells(frame, shape, values),
            Kind::Points => values.len(),
            Kind::Layers => values.len().div_ceil(LAYERS),
        };
        let points: Vec<_> = self.pixels(frame).into_iter().zip(values).collect();
        let layers: String = points.chunks(layer.max(1)).map(|layer| discs(layer, scale)).collect();
        let spacing = (frame.width * frame.height / values.len().max(1) as f64).sqrt();
        let diameter = pixel(spacing.clamp(DIAMETERS.0, DIAMETERS.1));
        // The ground is a grey that no colour map has: white and dark discs are seen in both themes.
        let discs = format!("<g class=\"discs\" stroke-width=\"{diameter}\">\n{layers}</g>\n");
        frame.clip(&(path("ground", &frame.border()) + &discs)) + &path("frame", &frame.border())
    }
}

/// Points as discs, a path per colour.
fn discs(points: &[(Option<(f64, f64)>, &f64)], scale: &Scale) -> String {
    let mut by_color: BTreeMap<[u8; 3], String> = BTreeMap::new();
    for (place, value) in points {
        let Some((x, y)) = place else { continue };
        // A line of no length with round ends.
        *by_color.entry(scale.rgb(**value)).or_default() += &format!("M{} {}h0", pixel(*x), pixel(*y));
    }
    let disc = |(color, data): (_, String)| format!("<path stroke=\"{}\" d=\"{data}\"/>\n", hex(color));
    by_color.into_iter().map(disc).collect()
}

/// All numbers below a count, or as many as are drawn, spread over them without a pattern.
fn some(count: usize) -> Vec<usize> {
    let mut numbers: Vec<usize> = (0..count).collect();
    if count > MOST {
        // Multiples of the golden ratio, modulo one, are even and never periodic.
        numbers.sort_by_key(|&k| (k as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        numbers.truncate(MOST);
        numbers.sort_unstable();
    }
    numbers
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::samples::tests::{spiral, wave};

    fn frame(plane: &Plane) -> Frame {
        let [x, y] = plane.axes();
        Frame { left: 0.0, top: 0.0, width: 100.0, height: 100.0, x, y }
    }

    fn painted(plane: &Plane, values: &[f64]) -> String {
        plane.paint(&frame(plane), &Scale::of(values.iter().copied()), values)
    }

    #[test]
    fn every_point_is_a_disc_inside_the_frame() {
        for dim in [2, 3] {
            let plane = Plane::of(&spiral(dim, 90).domain).unwrap();
            let values: Vec<f64> = (0..90).map(f64::from).collect();
            let html = painted(&plane, &values);
            assert_eq!(html.matches("h0").count(), 90);
            assert!(!html.contains("NaN") && html.contains("stroke-width=\"10.5\""), "{html}");
            let inside = |place: Option<(f64, f64)>| {
                place.is_some_and(|(x, y)| (1.0..99.0).contains(&x) && (1.0..99.0).contains(&y))
            };
            assert!(plane.pixels(&frame(&plane)).into_iter().all(inside));
        }
        assert_eq!(Plane::of(&spiral(2, 90).domain).unwrap().label, "90 points");
        assert_eq!(Plane::of(&spiral(3, 90).domain).unwrap().label, "90 points, seen along the third axis");
        assert!(Plane::of(&wave(&[5]).domain).is_none());
    }

    #[test]
    fn what_is_near_the_reader_is_drawn_last() {
        let plane = Plane::of(&spiral(3, 60).domain).unwrap();
        assert!(plane.nodes.is_sorted(), "the spiral rises");
        // The same two colours in every layer.
        let values: Vec<f64> = (0..60).map(|k| f64::from(k % 2)).collect();
        assert_eq!(painted(&plane, &values).matches("<path stroke").count(), 2 * LAYERS);
        let flat = Plane::of(&spiral(2, 60).domain).unwrap();
        assert_eq!(painted(&flat, &values).matches("<path stroke").count(), 2);
    }

    #[test]
    fn of_many_points_some_are_drawn_from_everywhere() {
        let plane = Plane::of(&spiral(2, 10 * MOST).domain).unwrap();
        assert_eq!((plane.nodes.len(), plane.label.as_str()), (MOST, "3000 of 30000 points"));
        for tenth in 0..10 {
            let here = plane.nodes.iter().filter(|&node| node / MOST == tenth).count();
            assert!(here.abs_diff(MOST / 10) < 10, "{here} in part {tenth}");
        }
        assert_eq!(some(MOST), (0..MOST).collect::<Vec<_>>());
        assert!(painted(&plane, &vec![1.0; MOST]).len() < 50_000);
    }

    #[test]
    fn of_a_cube_the_middle_layer_is_seen() {
        let plane = Plane::of(&wave(&[2, 3, 5]).domain).unwrap();
        assert_eq!(plane.nodes, [2, 7, 12, 17, 22, 27]);
        assert_eq!((plane.label.as_str(), plane.is_cloud()), ("2 × 3 × 5, the middle layer", false));
        assert!(painted(&plane, &[0.0; 6]).contains("<image"));
        let values: Vec<f64> = (0..60).map(f64::from).collect();
        assert_eq!(plane.drawn(&values, 2)[1], [14.0, 15.0], "both components of node 7");
    }

    #[test]
    fn points_on_a_line_or_on_each_other_have_a_frame() {
        for points in [vec![0.5; 6], vec![0.0, 2.0, 1.0, 2.0, 2.0, 2.0]] {
            let plane = Plane::of(&PointCloud::new(2, points, 1.0).unwrap().into()).unwrap();
            assert!(plane.proportion() > 0.0 && plane.proportion().is_finite());
            let html = painted(&plane, &[0.0, f64::NAN, 1.0]);
            assert!(!html.contains("NaN") && html.matches("h0").count() == 3, "{html}");
            assert!(html.contains("#808080"), "grey where a value is not finite");
        }
    }
}
