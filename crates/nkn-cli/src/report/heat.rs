//! Heat maps: numbers as colours, in an image of one pixel per number, and the bar that says what the colours mean.

use super::color::{ColorMap, LEVELS, MISSING};
use super::pixels;
use super::scale::{Axis, extent};
use super::svg::{Frame, label, path, pixel};
use super::text::compact;

/// Beyond so many cells along a side, cells are about as small as pixels of the screen, and sharp ones would be uneven.
const FINE: usize = 80;

/// Which number has which colour.
#[derive(Debug, Clone, Copy)]
pub struct Scale {
    values: Axis,
    colors: ColorMap,
    /// The only two values there are, if so.
    pair: Option<[f64; 2]>,
}

impl Scale {
    /// A scale with these values at the two ends of the colours.
    pub fn new(range: (f64, f64), colors: ColorMap) -> Self {
        Self { values: Axis::linear(range), colors, pair: None }
    }

    /// From the smallest to the largest value; if there are only two, the bar shows just these.
    pub fn of(values: impl Iterator<Item = f64> + Clone) -> Self {
        let (low, high) = extent(values.clone()).unwrap_or((0.0, 1.0));
        let two = low < high && values.filter(|value| value.is_finite()).all(|value| value == low || value == high);
        Self { pair: two.then_some([low, high]), ..Self::new((low, high), ColorMap::Viridis) }
    }

    /// As far to both sides of zero as the largest value.
    pub fn signed(values: impl Iterator<Item = f64>) -> Self {
        let largest = extent(values.map(f64::abs)).map_or(0.0, |(_, high)| high);
        let largest = if largest > 0.0 { largest } else { 1.0 };
        Self::new((-largest, largest), ColorMap::BlueWhiteRed)
    }

    /// The colour of a value: grey if it cannot be drawn.
    pub fn rgb(&self, value: f64) -> [u8; 3] {
        let level = |place: f64| ((place * LEVELS as f64) as usize).min(LEVELS - 1);
        self.values.position(value).map_or(MISSING, |place| self.colors.rgb(level(place)))
    }

    /// Values on the nodes of a grid of nx by ny as cells around them, the value at (x_i, y_j) being at i * ny + j: x to the
    /// right, y upwards. The outermost nodes are on the frame, so half of their cells is outside of it and cut off.
    pub fn cells(&self, frame: &Frame, [nx, ny]: [usize; 2], values: &[f64]) -> String {
        let colors: Vec<_> = (0..ny).rev().flat_map(|j| (0..nx).map(move |i| self.rgb(values[i * ny + j]))).collect();
        let reach = |nodes: usize, length: f64| length * nodes as f64 / nodes.saturating_sub(1).max(1) as f64;
        let (width, height) = (reach(nx, frame.width), reach(ny, frame.height));
        let corner = (frame.left + (frame.width - width) / 2.0, frame.top + (frame.height - height) / 2.0);
        let class = if nx.max(ny) > FINE { "" } else { "pixels" };
        let cells = image(class, &pixels::data_uri(nx, &colors), corner, (width, height));
        frame.clip(&cells) + &path("frame", &frame.border())
    }

    /// The colours from bottom to top, with values beside them.
    pub fn bar(&self, left: f64, top: f64, height: f64) -> String {
        let bar = Frame { left, top, width: 12.0, height, x: Axis::linear((0.0, 1.0)), y: self.values };
        let beside = |y: f64, text: &str| label(left + bar.width + 5.0, y + 4.0, "tick", text);
        let mut content = String::new();
        let levels = if let Some([low, high]) = self.pair {
            content.push_str(&beside(top + 0.25 * height, &compact(high)));
            content.push_str(&beside(top + 0.75 * height, &compact(low)));
            vec![LEVELS - 1, 0]
        } else {
            let ticks = self.values.ticks((height / 36.0).clamp(3.0, 5.0) as usize);
            for (value, text) in &ticks.labelled {
                let Some(y) = bar.down(*value) else { continue };
                content.push_str(&beside(y, text));
            }
            if let Some(factor) = ticks.factor {
                content.push_str(&label(left, top - 9.0, "tick", &factor));
            }
            (0..LEVELS).rev().collect()
        };
        let colors: Vec<_> = levels.into_iter().map(|level| self.colors.rgb(level)).collect();
        let bar_image = image("pixels", &pixels::data_uri(1, &colors), (left, top), (bar.width, height));
        bar_image + &path("frame", &bar.border()) + &content
    }
}

/// An image stretched over a rectangle; the class "pixels" keeps them sharp.
fn image(class: &str, address: &str, (left, top): (f64, f64), (width, height): (f64, f64)) -> String {
    let [x, y, width, height] = [left, top, width, height].map(pixel);
    format!(
        "<image class=\"{class}\" x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" \
         preserveAspectRatio=\"none\" href=\"{address}\"/>\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::color::hex;

    #[test]
    fn zero_is_white_and_what_is_not_finite_is_grey() {
        let scale = Scale::signed([-1.0, 3.0, f64::NAN].into_iter());
        assert_eq!(scale.rgb(f64::NAN), MISSING);
        assert_eq!(scale.rgb(-3.0), ColorMap::BlueWhiteRed.rgb(0));
        assert_eq!(scale.rgb(3.0), ColorMap::BlueWhiteRed.rgb(LEVELS - 1));
        assert!(scale.rgb(0.0).into_iter().all(|part| part > 0xe8));
        let constant = Scale::signed([0.0; 3].into_iter());
        assert!(constant.rgb(0.0).into_iter().all(|part| part > 0xe8));
    }

    #[test]
    fn two_values_have_two_colours_and_no_axis() {
        let bar = Scale::of([3.0, 12.0, 3.0, f64::NAN].into_iter()).bar(0.0, 0.0, 100.0);
        assert!(bar.contains(">12</text>") && bar.contains(">3</text>") && !bar.contains(">5</text>"));
        let bar = Scale::of([3.0, 12.0, 7.0].into_iter()).bar(0.0, 0.0, 100.0);
        assert!(bar.contains(">5</text>") && bar.contains(">10</text>"));
    }

    #[test]
    fn images_hold_the_colours_of_their_values() {
        let scale = Scale::new((0.0, 1.0), ColorMap::Viridis);
        let (width, pixels) =
            pixels::tests::decode(&pixels::data_uri(2, &[0.0, 1.0, f64::NAN, 0.0].map(|value| scale.rgb(value))));
        let colors: Vec<_> = pixels.into_iter().map(hex).collect();
        assert_eq!((width, colors), (2, ["#440154", "#fde725", "#808080", "#440154"].map(String::from).to_vec()));
    }
}
