//! How the time of a step grows: one drawing per quantity, both axes logarithmic.

use super::Growth;
use super::color::Palette;
use super::scale::{Axis, extent};
use super::svg::{self, Frame};
use super::text::{escape, two_digits};

/// The drawings, or nothing if there are no measurements.
pub fn figure(growths: &[Growth]) -> String {
    growths.iter().map(chart).collect()
}

fn chart(growth: &Growth) -> String {
    let points = || growth.points.iter().copied().filter(|&(x, seconds)| x > 0.0 && seconds > 0.0);
    let ranges = extent(points().map(|point| point.0)).zip(extent(points().map(|point| point.1)));
    let Some((across, up)) = ranges.filter(|_| points().count() > 1) else { return String::new() };
    let frame = Frame {
        left: 84.0,
        top: 16.0,
        width: svg::WIDTH - 108.0,
        height: 220.0,
        x: Axis::logarithmic(across),
        y: Axis::logarithmic(up),
    };
    let palette = Palette::new(0..1);
    let mut content = frame.axes(&escape(&growth.quantity), "seconds a step");
    content.push_str(&frame.line(points(), &format!("line {}", palette.class(0))));
    let markers: String = points().filter_map(|p| frame.point(p)).map(|(x, y)| palette.marker(0, x, y)).collect();
    content.push_str(&format!("<path class=\"marker {}\" d=\"{markers}\"/>\n", palette.class(0)));
    let title = format!("Time of a step over {}", escape(&growth.quantity));
    let drawing = svg::drawing(frame.top + frame.height + 46.0, &title, &escape(&growth.setting), &content);
    let caption = format!(
        "<strong>seconds ~ ({})^{}</strong> fits best. {}",
        escape(&growth.quantity),
        two_digits(growth.exponent),
        escape(&growth.setting)
    );
    svg::figure(&drawing, &caption)
}
