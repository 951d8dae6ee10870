//! How the time of a step grows: one drawing per quantity, both axes logarithmic.

use super::color::Palette;
use super::scale::{Axis, extent};
use super::svg::{self, Frame};
use super::text::two_digits;
use maud::html;

/// How the time of a step grows with a quantity.
#[derive(Debug, Clone, Default)]
pub struct Growth {
    /// The quantity, for example "nodes".
    pub quantity: String,
    /// What was measured, in plain text.
    pub setting: String,
    /// The quantity and the seconds.
    pub points: Vec<(f64, f64)>,
    /// The fitted exponent.
    pub exponent: f64,
}

/// The drawings, or nothing if there are no measurements.
pub fn figure(growths: &[Growth]) -> String {
    growths.iter().map(chart).collect()
}

fn chart(growth: &Growth) -> String {
    let points = || growth.points.iter().copied().filter(|&(x, seconds)| x > 0.0 && seconds > 0.0);
    let ranges = extent(points().map(|point| point.0)).zip(extent(points().map(|point| point.1)));
    let Some((across, up)) = ranges.filter(|_| points().count() > 1) else { return String::new() };
    let frame = Frame::wide(16.0, 220.0, Axis::logarithmic(across), Axis::logarithmic(up));
    let palette = Palette::new(0..1);
    let mut content = frame.axes(&growth.quantity, "seconds a step");
    content.push_str(&frame.line(points(), &palette.line(0)));
    content.push_str(&frame.markers(points(), &palette, 0));
    let title = format!("Time of a step over {}", growth.quantity);
    let drawing = frame.drawing(&title, &growth.setting, &content);
    let law = format!("seconds ~ ({})^{}", growth.quantity, two_digits(growth.exponent));
    svg::figure(&drawing, &html! { strong { (law) } " fits best. " (growth.setting) }.into_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::tests::assert_well_formed;

    #[test]
    fn a_drawing_per_quantity_with_its_law() {
        let nodes = Growth {
            quantity: "nodes & <edges>".into(),
            setting: "Measured \"once\".".into(),
            points: vec![(1.0, 0.1), (10.0, 1.0), (100.0, f64::NAN)],
            exponent: 1.0,
        };
        let html = figure(&[nodes.clone(), Growth { points: vec![(1.0, 0.1), (0.0, 1.0)], ..nodes }]);
        assert_well_formed(&html);
        assert_eq!(html.matches("<svg").count(), 1, "one point is no growth");
        assert!(html.contains("seconds ~ (nodes &amp; &lt;edges&gt;)^1.0</strong> fits best."), "{html}");
        assert!(html.contains(">nodes &amp; &lt;edges&gt;</text>") && !html.contains("&amp;amp;"));
        assert_eq!(figure(&[]), "");
    }
}
