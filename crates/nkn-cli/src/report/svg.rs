//! Drawing: a figure around SVGs, and a frame with axes in which lines are drawn.

use super::color::Palette;
use super::scale::{Axis, Ticks};
use super::text::{escape, fixed};

/// The width of all drawings; the page scales them to the reader's window.
pub const WIDTH: f64 = 920.0;

/// A figure with its caption, which may contain markup.
pub fn figure(content: &str, caption: &str) -> String {
    format!("<figure>\n{content}<figcaption>{caption}</figcaption>\n</figure>\n")
}

/// An SVG with a title and a description for those who cannot see it.
pub fn drawing(height: f64, title: &str, description: &str, content: &str) -> String {
    let title = escape(title);
    format!(
        "<div class=\"scroll\"><svg class=\"drawing\" role=\"img\" aria-label=\"{title}\" viewBox=\"0 0 {WIDTH} {}\">\n\
         <title>{title}</title>\n<desc>{}</desc>\n{content}</svg></div>\n",
        pixel(height),
        escape(description)
    )
}

/// A coordinate, to a tenth of a pixel.
pub fn pixel(value: f64) -> String {
    fixed(value, 1)
}

/// Text at a point; `class` chooses size, colour and alignment.
pub fn label(x: f64, y: f64, class: &str, text: &str) -> String {
    format!("<text x=\"{}\" y=\"{}\" class=\"{class}\">{}</text>\n", pixel(x), pixel(y), escape(text))
}

/// A text of at most so many characters.
pub fn shortened(text: &str, longest: usize) -> String {
    if text.chars().count() <= longest {
        return text.to_owned();
    }
    text.chars().take(longest - 1).chain(['…']).collect()
}

/// Lines or areas with these classes.
pub fn path(class: &str, data: &str) -> String {
    format!("<path class=\"{class}\" d=\"{data}\"/>\n")
}

/// Path data through pixels; of those in one column only the lowest and the highest are kept. A single point is a
/// line of no length: round caps make it visible.
pub fn polyline(points: &[(f64, f64)]) -> String {
    let mut path = String::new();
    for column in points.chunk_by(|a, b| a.0.floor() == b.0.floor()) {
        let by_height = |&a: &usize, &b: &usize| column[a].1.total_cmp(&column[b].1);
        let low = (0..column.len()).min_by(by_height).unwrap_or_default();
        let high = (0..column.len()).max_by(by_height).unwrap_or_default();
        let kept = if column.len() > 1 { &[low.min(high), low.max(high)][..] } else { &[0] };
        for (x, y) in kept.iter().map(|&k| column[k]) {
            path.push(if path.is_empty() { 'M' } else { 'L' });
            path.push_str(&format!("{} {}", pixel(x), pixel(y)));
        }
    }
    path + if points.len() == 1 { "h0" } else { "" }
}

/// The same, interrupted where there is no point.
pub fn interrupted(points: &[Option<(f64, f64)>]) -> String {
    points.split(Option::is_none).map(|run| polyline(&run.iter().flatten().copied().collect::<Vec<_>>())).collect()
}

/// One entry of a legend.
#[derive(Debug)]
pub struct Entry {
    /// What it says.
    pub text: String,
    /// Its symbol: paths, each with its classes and its data in a box from (0, -8) to (24, 8).
    pub symbol: Vec<(String, String)>,
}

impl Entry {
    /// The entry of a line of this style.
    pub fn line(text: impl Into<String>, style: impl Into<String>) -> Self {
        Self { text: text.into(), symbol: vec![(style.into(), "M0 0h24".into())] }
    }

    /// With a symbol on it.
    pub fn with(mut self, class: String, path: String) -> Self {
        self.symbol.push((class, path));
        self
    }
}

/// A legend in as many rows as it takes, with its height.
pub fn legend(left: f64, top: f64, entries: &[Entry]) -> (String, f64) {
    let (mut x, mut y) = (left, top);
    let mut content = String::new();
    for Entry { text, symbol } in entries {
        // Wide enough for all common sans-serif fonts at this size.
        let width = 34.0 + 7.2 * text.chars().count() as f64 + 16.0;
        if x > left && x + width > WIDTH {
            (x, y) = (left, y + 20.0);
        }
        let place = format!("translate({} {})", pixel(x), pixel(y));
        for (class, path) in symbol {
            content.push_str(&format!("<path class=\"{class}\" transform=\"{place}\" d=\"{path}\"/>\n"));
        }
        content.push_str(&label(x + 32.0, y + 4.0, "", text));
        x += width;
    }
    (content, y - top + 20.0)
}

/// A rectangle with two axes.
#[derive(Debug, Clone, Copy)]
pub struct Frame {
    /// Left edge in pixels.
    pub left: f64,
    /// Upper edge in pixels.
    pub top: f64,
    /// Width in pixels.
    pub width: f64,
    /// Height in pixels.
    pub height: f64,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis, upwards.
    pub y: Axis,
}

impl Frame {
    /// A frame over the width of the page, with room for the labels at its left.
    pub fn wide(top: f64, height: f64, x: Axis, y: Axis) -> Self {
        Self { left: 84.0, top, width: WIDTH - 108.0, height, x, y }
    }

    /// A drawing that ends below this frame and its labels.
    pub fn drawing(&self, title: &str, description: &str, content: &str) -> String {
        drawing(self.top + self.height + 46.0, title, description, content)
    }

    /// The pixel of a horizontal value.
    pub fn across(&self, x: f64) -> Option<f64> {
        Some(self.left + self.x.position(x)? * self.width)
    }

    /// The pixel of a vertical value.
    pub fn down(&self, y: f64) -> Option<f64> {
        Some(self.top + (1.0 - self.y.position(y)?) * self.height)
    }

    /// The pixel of a point, if it can be drawn.
    pub fn point(&self, (x, y): (f64, f64)) -> Option<(f64, f64)> {
        Some((self.across(x)?, self.down(y)?))
    }

    /// The background with grid lines, ticks and labels.
    pub fn axes(&self, x_label: &str, y_label: &str) -> String {
        let x_ticks = self.x.ticks((self.width / 45.0).clamp(2.0, 12.0) as usize);
        let y_ticks = self.y.ticks((self.height / 36.0).clamp(2.0, 10.0) as usize);
        self.axes_at((&x_ticks, x_label), (&y_ticks, y_label))
    }

    /// The same with chosen ticks.
    pub fn axes_at(&self, (x_ticks, x_label): (&Ticks, &str), (y_ticks, y_label): (&Ticks, &str)) -> String {
        let (right, bottom) = (self.left + self.width, self.top + self.height);
        let (mut grid, mut minor, mut labels) = (String::new(), String::new(), String::new());
        for (value, text) in &x_ticks.labelled {
            let Some(x) = self.across(*value) else { continue };
            grid.push_str(&format!("M{} {}V{}", pixel(x), pixel(self.top), pixel(bottom + 4.0)));
            labels.push_str(&label(x, bottom + 18.0, "tick middle", text));
        }
        for (value, text) in &y_ticks.labelled {
            let Some(y) = self.down(*value) else { continue };
            grid.push_str(&format!("M{} {}H{}", pixel(self.left - 4.0), pixel(y), pixel(right)));
            labels.push_str(&label(self.left - 8.0, y + 4.0, "tick end", text));
        }
        for y in y_ticks.minor.iter().filter_map(|&value| self.down(value)) {
            minor.push_str(&format!("M{} {}h-3", pixel(self.left), pixel(y)));
        }
        if let Some(factor) = &y_ticks.factor {
            labels.push_str(&label(self.left - 8.0, self.top - 9.0, "tick end", factor));
        }
        if !x_label.is_empty() {
            let factor = x_ticks.factor.as_ref().map_or_else(String::new, |factor| format!(" ({factor})"));
            let text = format!("{x_label}{factor}");
            labels.push_str(&label(self.left + self.width / 2.0, bottom + 36.0, "middle", &text));
        }
        if !y_label.is_empty() {
            // The label stands left of the widest tick label.
            let widest = y_ticks.labelled.iter().map(|(_, text)| text.chars().count()).max().unwrap_or(0);
            let place = ((self.left - 20.0 - 6.6 * widest as f64).max(5.0), self.top + self.height / 2.0);
            let turn = if y_label.chars().count() > 1 { -90 } else { 0 };
            labels.push_str(&format!(
                "<text class=\"middle\" transform=\"translate({} {}) rotate({turn})\">{}</text>\n",
                pixel(place.0),
                pixel(place.1),
                escape(y_label)
            ));
        }
        path("grid", &grid) + &path("frame", &(minor + &self.border())) + &labels
    }

    /// Path data of the rectangle's edge.
    pub fn border(&self) -> String {
        let [left, top, width, height] = [self.left, self.top, self.width, self.height].map(pixel);
        format!("M{left} {top}h{width}v{height}h-{width}z")
    }

    /// A line through the points; it is interrupted where a point cannot be drawn.
    pub fn line(&self, points: impl Iterator<Item = (f64, f64)>, class: &str) -> String {
        let data = interrupted(&points.map(|point| self.point(point)).collect::<Vec<_>>());
        if data.is_empty() { data } else { path(class, &data) }
    }

    /// The markers of a category at the points that can be drawn.
    pub fn markers(&self, points: impl Iterator<Item = (f64, f64)>, palette: &Palette, category: usize) -> String {
        let drawn = points.filter_map(|point| self.point(point));
        let data: String = drawn.map(|(x, y)| palette.marker(category, x, y)).collect();
        path(&format!("marker {}", palette.class(category)), &data)
    }

    /// What is inside the rectangle; the rest is cut off.
    pub fn clip(&self, content: &str) -> String {
        let [left, top, width, height] = [self.left, self.top, self.width, self.height].map(pixel);
        format!(
            "<svg x=\"{left}\" y=\"{top}\" width=\"{width}\" height=\"{height}\" viewBox=\"{left} {top} {width} {height}\">\n\
             {content}</svg>\n"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::tests::assert_well_formed;

    fn frame() -> Frame {
        let (x, y) = (Axis::linear((0.0, 1.0)), Axis::logarithmic((1.0, 100.0)));
        Frame { left: 100.0, top: 10.0, width: 200.0, height: 100.0, x, y }
    }

    #[test]
    fn values_have_their_places_and_broken_ones_none() {
        let (x, y) = frame().point((0.5, 10.0)).expect("a place");
        assert!((x - 200.0).abs() < 1e-9 && (y - 60.0).abs() < 1e-9, "{x} {y}");
        assert!([(f64::NAN, 10.0), (0.5, 0.0), (0.5, f64::INFINITY)].iter().all(|&p| frame().point(p).is_none()));
    }

    #[test]
    fn a_line_is_interrupted_and_a_single_point_is_visible() {
        let points = [(0.0, 10.0), (0.1, 10.0), (0.2, -1.0), (0.3, 10.0)];
        let line = frame().line(points.into_iter(), "c");
        assert_eq!(line, "<path class=\"c\" d=\"M100 60L120 60M160 60h0\"/>\n");
        assert_eq!(frame().line([(0.0, f64::NAN)].into_iter(), "c"), "");
    }

    #[test]
    fn of_many_points_in_a_pixel_the_extremes_are_kept() {
        let points = (0..10_000).map(|k| (0.5 + 1e-7 * f64::from(k), if k == 5000 { 100.0 } else { 10.0 }));
        let line = frame().line(points, "c");
        assert!(line.len() < 60 && line.contains("60"), "{line}");
        let top = frame().down(100.0).map(pixel).expect("a place");
        assert!(line.contains(&format!(" {top}")), "{line}");
    }

    #[test]
    fn a_legend_breaks_its_rows() {
        let entries: Vec<_> = (0..9).map(|k| Entry::line(format!("a name, number {k}"), "line")).collect();
        let (content, height) = legend(10.0, 14.0, &entries);
        assert_eq!(content.matches("<text").count(), 9);
        assert_eq!(height, 40.0);
    }

    #[test]
    fn drawings_are_described_and_texts_escaped() {
        let axes = frame().axes("x <&\"", "y <&\"");
        let html = figure(&drawing(120.0, "<t>&\"", "<d>&\"", &(axes + &frame().clip("<g></g>"))), "a caption");
        assert_well_formed(&html);
        assert!(
            html.contains("aria-label=\"&lt;t&gt;&amp;&quot;\"") && html.contains("<desc>&lt;d&gt;&amp;&quot;</desc>")
        );
        assert!(html.contains("y &lt;&amp;&quot;") && html.contains("viewBox=\"0 0 920 120\""));
    }
}
