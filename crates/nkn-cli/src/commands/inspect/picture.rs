//! A sample as a picture: a panel for every component of every field.

use crate::report;
use crate::report::heat::Scale;
use crate::report::scale::{Axis, extent};
use crate::report::svg::{Frame, WIDTH, label, path, pixel};
use crate::report::text::escape;
use maud::{PreEscaped, html};
use nkn::domain::{Domain, Grid};
use nkn::field::Field;
use nkn::io::Role;

/// Panels beside each other.
const ACROSS: usize = 3;

/// Width of a panel in pixels, and the distance from one to the next.
const PANEL: f64 = 200.0;
const STRIDE: f64 = 306.0;

/// Room above and below a panel.
const HEAD: f64 = 44.0;
const FOOT: f64 = 48.0;

/// More panels than this are not drawn, nor more points than this in a panel.
const PANELS: usize = 12;
const POINTS: usize = 20_000;

/// A drawing without its frame.
pub struct Drawing {
    title: String,
    height: f64,
    content: String,
}

impl Drawing {
    /// A file of its own.
    pub fn standalone(&self) -> String {
        let (height, title) = (pixel(self.height), escape(&self.title));
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" viewBox=\"0 0 {WIDTH} {height}\" \
             font-family=\"sans-serif\">\n<title>{title}</title>\n<style>{}</style>\n\
             <rect width=\"100%\" height=\"100%\" fill=\"var(--ground)\"/>\n{}</svg>\n",
            escape(include_str!("../../report/style.css")),
            self.content
        )
    }
}

/// A page with the picture and everything that was found.
pub fn page(name: &str, drawing: &Drawing, text: &str) -> String {
    let svg = report::svg::drawing(drawing.height, &drawing.title, "A panel for every component.", &drawing.content);
    let caption = "Inputs first, then outputs. Grey: values that are not finite.";
    let content = html! {
        section { h2 { (drawing.title) } (PreEscaped(report::svg::figure(&svg, caption))) }
        section { h2 { "What is in it" } div.scroll { pre { (text) } } }
    };
    report::page(("Data set", name), "pre { font-size: .8rem; line-height: 1.45; }", html! {}, content)
}

/// Draws a sample.
pub fn draw(title: &str, domain: &Domain, fields: &[(Role, Field)]) -> Drawing {
    let one = |(role, field): &(Role, Field)| -> Vec<(String, Vec<f64>)> {
        let kind = if *role == Role::Output { "output" } else { "input" };
        let panel = |component: usize| {
            let values = field.values.iter().skip(component).step_by(field.components).copied().collect();
            let part = if field.components > 1 { format!("[{component}]") } else { String::new() };
            (format!("{kind} {}{part}", field.name), values)
        };
        (0..field.components).map(panel).collect()
    };
    let panels: Vec<(String, Vec<f64>)> = fields.iter().flat_map(one).take(PANELS).collect();
    let tall = panel_height(domain);
    let mut content = String::new();
    for (at, (title, values)) in panels.iter().enumerate() {
        let (column, row) = ((at % ACROSS) as f64, (at / ACROSS) as f64);
        let (left, top) = (56.0 + STRIDE * column, HEAD + (HEAD + tall + FOOT) * row);
        content += &label(left, top - 16.0, "strong", &title.chars().take(30).collect::<String>());
        content += &draw_panel(domain, values, (left, top), tall);
    }
    let rows = panels.len().div_ceil(ACROSS) as f64;
    Drawing { title: title.into(), height: (HEAD + tall + FOOT) * rows, content }
}

/// The sides of the box in the plane that is drawn.
fn sides(domain: &Domain) -> [(f64, f64); 2] {
    let (dim, all) = (domain.dim(), domain.coordinates());
    [0, 1].map(|axis| match axis < dim {
        true => extent(all.iter().skip(axis).step_by(dim).copied()).unwrap_or((0.0, 1.0)),
        false => (0.0, 1.0),
    })
}

/// Both axes have the same scale, as far as the panels stay readable.
fn panel_height(domain: &Domain) -> f64 {
    let [x, y] = sides(domain).map(|(low, high)| high - low);
    if domain.dim() == 1 || x <= 0.0 { 150.0 } else { (PANEL * y / x).clamp(60.0, 300.0) }
}

fn draw_panel(domain: &Domain, values: &[f64], (left, top): (f64, f64), height: f64) -> String {
    let [x, y] = sides(domain);
    let frame = |x: Axis, y: Axis| Frame { left, top, width: PANEL, height, x, y };
    if domain.dim() == 1 {
        let frame = frame(Axis::linear(x), Axis::around(values.iter().copied()));
        return frame.axes("x", "") + &line(&frame, domain, values);
    }
    let scale = Scale::of(values.iter().copied());
    let bar = scale.bar(left + PANEL + 8.0, top, height);
    if let Domain::Grid(grid) = domain {
        let frame = frame(Axis::linear(x), Axis::linear(y));
        return frame.axes("x", "y")
            + &scale.cells(&frame, [grid.shape()[0], grid.shape()[1]], &slice(grid, values))
            + &bar;
    }
    let room = |(low, high): (f64, f64)| (low - 0.04 * (high - low), high + 0.04 * (high - low));
    let frame = frame(Axis::linear(room(x)), Axis::linear(room(y)));
    frame.axes("x", "y") + &dots(&frame, &scale, domain, values) + &bar
}

/// The values along the line; those of scattered points in the order of the points.
fn line(frame: &Frame, domain: &Domain, values: &[f64]) -> String {
    let mut points: Vec<(f64, f64)> = domain.coordinates().into_iter().zip(values.iter().copied()).collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    frame.line(points.into_iter(), "line c0")
}

/// The values in the plane; of a grid in space those of the middle layer.
fn slice(grid: &Grid, values: &[f64]) -> Vec<f64> {
    let layers = grid.shape().get(2).copied().unwrap_or(1);
    values.iter().skip(layers / 2).step_by(layers).copied().collect()
}

/// Points as coloured dots, as large as their number allows; in space seen along z.
fn dots(frame: &Frame, scale: &Scale, domain: &Domain, values: &[f64]) -> String {
    let (dim, coordinates) = (domain.dim(), domain.coordinates());
    let step = values.len().div_ceil(POINTS).max(1);
    let size = (frame.width * frame.height / (values.len() / step).max(1) as f64).sqrt().clamp(1.5, 9.0);
    let mut content = String::new();
    for (point, &value) in coordinates.chunks_exact(dim).zip(values).step_by(step) {
        let Some((x, y)) = frame.point((point[0], point[1])) else { continue };
        let [red, green, blue] = scale.rgb(value);
        let (x, y, radius) = (pixel(x), pixel(y), pixel(size / 2.0));
        content += &format!("<circle cx=\"{x}\" cy=\"{y}\" r=\"{radius}\" fill=\"rgb({red},{green},{blue})\"/>\n");
    }
    content + &path("frame", &frame.border())
}

#[cfg(test)]
mod tests;
