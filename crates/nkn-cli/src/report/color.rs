//! Colours that everyone can tell apart: Okabe and Ito's palette for depths, viridis for values, blue-white-red for
//! signed differences.

/// The number of steps of a colour map.
pub const LEVELS: usize = 64;

/// The colour of values that are not finite: grey is in neither colour map.
pub const MISSING: [u8; 3] = [0x80; 3];

/// The number of colours and of marker shapes for depths; style.css holds the colours, in classes c0, c1, …
const CATEGORIES: usize = 7;

/// Line styles, so that lines differ without colour too.
pub const STYLES: [&str; 4] = ["line", "line dashed", "line dash-dotted", "line dotted"];

/// Gives each depth its colour and its marker, the same in all figures; figures without depths count their lines.
#[derive(Debug)]
pub struct Palette(Vec<usize>);

impl Palette {
    /// Assigns colours in the order of the depths.
    pub fn new(depths: impl Iterator<Item = usize>) -> Self {
        let mut depths: Vec<_> = depths.collect();
        depths.sort_unstable();
        depths.dedup();
        Self(depths)
    }

    fn index(&self, depth: usize) -> usize {
        self.0.binary_search(&depth).unwrap_or_default() % CATEGORIES
    }

    /// The CSS class that sets the colour of a depth.
    pub fn class(&self, depth: usize) -> String {
        format!("c{}", self.index(depth))
    }

    /// The classes of the line of a category, which differs from others by its style too.
    pub fn line(&self, category: usize) -> String {
        format!("{} {}", STYLES[category % STYLES.len()], self.class(category))
    }

    /// Path data of a depth's marker around a point.
    pub fn marker(&self, depth: usize, x: f64, y: f64) -> String {
        match self.index(depth) {
            0 => format!("M{:.1} {y:.1}a3.2 3.2 0 1 0 6.4 0a3.2 3.2 0 1 0-6.4 0z", x - 3.2),
            1 => format!("M{:.1} {:.1}h5.6v5.6h-5.6z", x - 2.8, y - 2.8),
            2 => format!("M{x:.1} {:.1}l3.9 3.9l-3.9 3.9l-3.9-3.9z", y - 3.9),
            3 => format!("M{x:.1} {:.1}l3.6 6.2h-7.2z", y - 4.0),
            4 => format!("M{x:.1} {:.1}l3.6-6.2h-7.2z", y + 4.0),
            5 => format!("M{:.1} {:.1}l6 6m0-6l-6 6", x - 3.0, y - 3.0),
            _ => format!("M{:.1} {y:.1}h7m-3.5-3.5v7", x - 3.5),
        }
    }
}

/// A map from numbers in 0..=1 to colours.
#[derive(Debug, Clone, Copy)]
pub enum ColorMap {
    /// For values: dark is small, bright is large.
    Viridis,
    /// For signed differences: blue is negative, white zero, red positive.
    BlueWhiteRed,
}

impl ColorMap {
    fn anchors(self) -> &'static [u32] {
        match self {
            Self::Viridis => {
                &[0x440154, 0x482878, 0x3e4989, 0x31688e, 0x26828e, 0x1f9e89, 0x35b779, 0x6ece58, 0xb5de2b, 0xfde725]
            }
            Self::BlueWhiteRed => &[0x2166ac, 0x67a9cf, 0xd1e5f0, 0xf7f7f7, 0xfddbc7, 0xef8a62, 0xb2182b],
        }
    }

    /// Red, green and blue of a level below [`LEVELS`].
    pub fn rgb(self, level: usize) -> [u8; 3] {
        let anchors = self.anchors();
        let place = level.min(LEVELS - 1) as f64 / (LEVELS - 1) as f64 * (anchors.len() - 1) as f64;
        let left = (place as usize).min(anchors.len() - 2);
        let weight = place - left as f64;
        [16, 8, 0].map(|shift| {
            let part = |anchor: u32| f64::from(anchor >> shift & 0xff);
            (part(anchors[left]) * (1.0 - weight) + part(anchors[left + 1]) * weight).round() as u8
        })
    }
}

/// A colour as CSS writes it, as in #1f9e89.
pub fn hex([red, green, blue]: [u8; 3]) -> String {
    format!("#{red:02x}{green:02x}{blue:02x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn depths_have_colours_and_markers_of_their_own() {
        let palette = Palette::new([8, 1, 2, 1].into_iter());
        assert_eq!([1, 2, 8].map(|depth| palette.class(depth)), ["c0", "c1", "c2"]);
        let markers = Palette::new(0..CATEGORIES);
        let shapes: std::collections::BTreeSet<_> = (0..CATEGORIES).map(|k| markers.marker(k, 5.0, 5.0)).collect();
        assert_eq!(shapes.len(), CATEGORIES);
    }

    #[test]
    fn colour_maps_end_where_they_should_and_grow_lighter_or_meet_in_white() {
        assert_eq!(
            [0, LEVELS - 1, 2 * LEVELS].map(|k| hex(ColorMap::Viridis.rgb(k))),
            ["#440154", "#fde725", "#fde725"]
        );
        // Readable in grey: the lightness of viridis only grows.
        let lightness = |k| ColorMap::Viridis.rgb(k).into_iter().zip([0.30, 0.59, 0.11]).map(|(c, w)| f64::from(c) * w);
        let lightness: Vec<f64> = (0..LEVELS).map(|k| lightness(k).sum()).collect();
        assert!(lightness.is_sorted_by(|a, b| a < b));
        let middle = ColorMap::BlueWhiteRed.rgb(LEVELS / 2);
        assert!(middle.into_iter().all(|part| part > 0xe8), "{middle:?}");
    }
}
