//! Vectors as arrows: as many as can be told apart, all on one scale.

use super::plane::Plane;
use super::svg::{Frame, path, pixel};
use std::collections::BTreeMap;

/// The distance between arrows in pixels.
const APART: f64 = 15.0;

/// The length of the longest arrow in pixels.
const LONGEST: f64 = 17.0;

/// Shorter arrows, in pixels, are left out.
const SHORTEST: f64 = 1.0;

/// The largest length, in the plane, of vectors with so many components.
pub fn longest<'a>(vectors: impl Iterator<Item = &'a [f64]>) -> f64 {
    vectors.filter_map(in_plane).map(|(x, y)| x.hypot(y)).fold(0.0, f64::max)
}

/// What is seen of a vector: its first two components, if they are finite.
fn in_plane(vector: &[f64]) -> Option<(f64, f64)> {
    match vector {
        [x, y, ..] if x.is_finite() && y.is_finite() => Some((*x, *y)),
        _ => None,
    }
}

/// Arrows at some of the drawn nodes: of all in a square of the size of an arrow, the one nearest to its middle has one. The
/// vectors are those of the drawn nodes; one of length `longest` is as long as such a square.
pub fn draw(frame: &Frame, plane: &Plane, vectors: &[&[f64]], longest: f64) -> String {
    let places = plane.pixels(frame);
    let mut nearest: BTreeMap<(i64, i64), (f64, usize)> = BTreeMap::new();
    for (k, place) in places.iter().enumerate() {
        let Some((x, y)) = place else { continue };
        let [column, row] = [(x - frame.left) / APART, (y - frame.top) / APART];
        let distance = (column - column.floor() - 0.5).hypot(row - row.floor() - 0.5);
        let best = nearest.entry((row.floor() as i64, column.floor() as i64)).or_insert((distance, k));
        if distance < best.0 {
            *best = (distance, k);
        }
    }
    let arrow = |&(_, k): &(f64, usize)| {
        let ((x, y), (across, up)) = (places[k]?, in_plane(vectors[k])?);
        let scale = LONGEST / longest;
        arrow((x, y), (scale * across, -scale * up))
    };
    let data: String = nearest.values().filter_map(arrow).collect();
    // Dark on light ground, so that they are seen on every colour.
    if data.is_empty() { data } else { frame.clip(&(path("arrow-ground", &data) + &path("arrow", &data))) }
}

/// Path data of an arrow with its middle at a point.
fn arrow((x, y): (f64, f64), (across, down): (f64, f64)) -> Option<String> {
    let length = across.hypot(down);
    if !(SHORTEST..=2.0 * LONGEST).contains(&length) {
        return None;
    }
    let head = (0.4 * length).min(5.0) / length;
    // Half a right angle to both sides of the way back.
    let side = |turn: f64| (-head * 0.8 * (across + turn * down), -head * 0.8 * (down - turn * across));
    let ((left, below), (right, above)) = (side(1.0), side(-1.0));
    let [x0, y0, dx, dy] = [x - across / 2.0, y - down / 2.0, across, down].map(pixel);
    let [ax, ay, bx, by, cx, cy] = [left, below, -left, -below, right, above].map(pixel);
    Some(format!("M{x0} {y0}l{dx} {dy}l{ax} {ay}m{bx} {by}l{cx} {cy}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::samples::tests::{spiral, wave};

    fn frame(plane: &Plane) -> Frame {
        let [x, y] = plane.axes();
        Frame { left: 10.0, top: 20.0, width: 150.0, height: 150.0, x, y }
    }

    /// The lengths of the shafts.
    fn shafts(html: &str) -> Vec<f64> {
        let data = html.split("class=\"arrow\" d=\"").nth(1).unwrap_or_default().split('"').next().unwrap_or_default();
        let shaft = |arrow: &str| {
            let numbers: Vec<f64> = arrow.split('l').nth(1)?.split(' ').filter_map(|n| n.parse().ok()).collect();
            Some(numbers[0].hypot(numbers[1]))
        };
        data.split('M').filter_map(shaft).collect()
    }

    #[test]
    fn arrows_are_few_and_on_one_scale() {
        let sample = spiral(2, 2000);
        let (plane, output) = (Plane::of(&sample.domain).unwrap(), &sample.outputs[1]);
        let (truth, prediction) = (plane.drawn(&output.truth.values, 2), plane.drawn(&output.prediction, 2));
        let longest = longest(truth.iter().chain(&prediction).copied());
        let [truth, prediction] =
            [truth, prediction].map(|vectors| shafts(&draw(&frame(&plane), &plane, &vectors, longest)));
        assert!((60..=100).contains(&truth.len()), "{}", truth.len());
        // The prediction is a half too large everywhere, and its longest vector gives the scale.
        let sum = |lengths: &[f64]| lengths.iter().filter(|&&length| length > 5.0).sum::<f64>();
        assert!(prediction.iter().all(|&length| length <= LONGEST + 0.1));
        assert!((1.45..1.9).contains(&(sum(&prediction) / sum(&truth))), "{truth:?} {prediction:?}");
    }

    #[test]
    fn up_is_up_and_what_is_nothing_is_left_out() {
        let plane = Plane::of(&wave(&[1, 1]).domain).unwrap();
        let one = |vector: [f64; 2], longest: f64| draw(&frame(&plane), &plane, &[&vector], longest);
        assert!(one([0.0, 2.0], 2.0).contains("l0 -17l"), "{}", one([0.0, 2.0], 2.0));
        assert!(one([-2.0, 0.0], 2.0).contains("l-17 0l"));
        for nothing in [one([0.0, 0.0], 1.0), one([f64::NAN, 1.0], 1.0), one([0.0, 0.0], 0.0), one([1.0, 1.0], 0.0)] {
            assert_eq!(nothing, "");
        }
        assert_eq!(longest([&[3.0, 4.0, 9.0][..], &[f64::NAN, 9.0, 0.0], &[8.0]].into_iter()), 5.0);
    }
}
