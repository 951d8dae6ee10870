//! Heat maps: numbers as colours, in an image of one pixel per number, and the bar that says what the colours mean.

use super::color::{ColorMap, LEVELS, MISSING};
use super::png;
use super::scale::{Axis, extent};
use super::svg::{Frame, label, pixel};
use super::text::compact;

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

    /// The level of a value's colour; none if it cannot be drawn.
    fn level(&self, value: f64) -> Option<usize> {
        Some(((self.values.position(value)? * LEVELS as f64) as usize).min(LEVELS - 1))
    }

    /// The colour of a value: grey if it cannot be drawn.
    pub fn rgb(&self, value: f64) -> [u8; 3] {
        self.level(value).map_or(MISSING, |level| self.colors.rgb(level))
    }

    /// The address of an image of values, row by row from the top; grey where a value cannot be drawn.
    pub fn image(&self, width: usize, values: impl Iterator<Item = f64>) -> String {
        let levels: Vec<u8> = values.map(|value| self.level(value).unwrap_or(LEVELS) as u8).collect();
        self.png(width, &levels)
    }

    fn png(&self, width: usize, levels: &[u8]) -> String {
        let palette: Vec<_> = (0..LEVELS).map(|level| self.colors.rgb(level)).chain([MISSING]).collect();
        png::data_uri(width, &palette, levels)
    }

    /// The colours from bottom to top, with values beside them.
    pub fn bar(&self, left: f64, top: f64, height: f64) -> String {
        let bar = Frame { left, top, width: 12.0, height, x: Axis::linear((0.0, 1.0)), y: self.values };
        let beside = |y: f64, text: &str| label(left + bar.width + 5.0, y + 4.0, "tick", text);
        let mut content = String::new();
        let highest = LEVELS as u8 - 1;
        let levels = if let Some([low, high]) = self.pair {
            content.push_str(&beside(top + 0.25 * height, &compact(high)));
            content.push_str(&beside(top + 0.75 * height, &compact(low)));
            vec![highest, 0]
        } else {
            let ticks = self.values.ticks((height / 36.0).clamp(2.0, 5.0) as usize);
            for (value, text) in &ticks.labelled {
                let Some(y) = bar.down(*value) else { continue };
                content.push_str(&beside(y, text));
            }
            if let Some(factor) = ticks.factor {
                content.push_str(&label(left, top - 9.0, "tick", &factor));
            }
            (0..=highest).rev().collect()
        };
        format!(
            "{}<path class=\"frame\" d=\"{}\"/>\n{content}",
            image(&self.png(1, &levels), (left, top), (bar.width, height)),
            bar.border()
        )
    }
}

/// An image stretched over a rectangle, with sharp pixels.
pub fn image(address: &str, (left, top): (f64, f64), (width, height): (f64, f64)) -> String {
    format!(
        "<image class=\"pixels\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" \
         preserveAspectRatio=\"none\" href=\"{address}\"/>\n",
        pixel(left),
        pixel(top),
        pixel(width),
        pixel(height)
    )
}
