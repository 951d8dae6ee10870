//! The spectrum of the learned operator in the complex plane, with the discs in which a layer is a stable step.

use std::collections::BTreeSet;

use super::Spectrum;
use super::color::Palette;
use super::scale::{Axis, drawable, extent};
use super::svg::{self, Entry, Frame, WIDTH, pixel};
use super::tables::spectra as table;
use super::text::compact;

/// Left edge and width of the plot in pixels.
const LEFT: f64 = 66.0;
const ACROSS: f64 = WIDTH - LEFT - 16.0;

/// Height of the plot in pixels, at least and at most.
const HEIGHTS: (f64, f64) = (280.0, 520.0);

/// Beyond this ratio of imaginary to real extent, one scale for both axes would squeeze the points into a line.
const SLENDER: f64 = 8.0;

/// The figure and its table, or nothing without spectra.
pub fn figure(spectra: &[Spectrum], palette: &Palette) -> String {
    if spectra.is_empty() {
        return String::new();
    }
    let values = || spectra.iter().flat_map(|spectrum| &spectrum.eigenvalues).copied();
    if !values().any(|(re, im)| drawable(re) && drawable(im)) {
        return table(spectra);
    }
    // The origin belongs to the picture: all discs touch the imaginary axis there.
    let real = extent(values().map(|(re, _)| re).chain([0.0])).unwrap_or((0.0, 1.0));
    let imaginary = extent(values().map(|(_, im)| im.abs())).map_or(0.0, |(_, high)| high);
    let View { x, y, height, equal } = View::new(real, imaginary);

    let entry = |spectrum: &Spectrum| Entry {
        text: format!("L = {}, Δt = {}", spectrum.depth, compact(spectrum.step)),
        symbol: vec![(format!("marker {}", palette.class(spectrum.depth)), palette.marker(spectrum.depth, 16.0, 0.0))],
    };
    let entries: Vec<_> = spectra.iter().map(entry).collect();
    let (legend, legend_height) = svg::legend(LEFT, 14.0, &entries);
    let frame = Frame { left: LEFT, top: 14.0 + legend_height, width: ACROSS, height, x, y };

    let mut inside = String::new();
    if let Some((x, y)) = frame.point((0.0, 0.0)) {
        let (x, y, right, bottom) = (pixel(x), pixel(y), pixel(WIDTH), pixel(frame.top + height));
        inside.push_str(&format!("<path class=\"frame\" d=\"M0 {y}H{right}M{x} 0V{bottom}\"/>\n"));
    }
    inside.extend(spectra.iter().map(|s| disc(&frame, s.step, &palette.class(s.depth))));
    inside.extend(spectra.iter().map(|s| points(&frame, s, palette)));
    let content = frame.axes("Re λ", "Im λ") + &frame.clip(&inside) + &legend;
    let description = "Eigenvalues in the complex plane, one colour and marker per depth, and the outline of each depth's \
                       stability disc.";
    let drawing = svg::drawing(frame.top + height + 46.0, "Spectrum of the learned operator", description, &content);
    svg::figure(&drawing, &caption(equal)) + &table(spectra)
}

/// The part of the complex plane that is shown.
struct View {
    x: Axis,
    y: Axis,
    height: f64,
    equal: bool,
}

impl View {
    /// Shows the range of real parts and ± the largest imaginary part, with one scale for both if that is readable.
    fn new(real: (f64, f64), imaginary: f64) -> Self {
        let width = ACROSS;
        let span = if real.1 > real.0 { real.1 - real.0 } else { imaginary.max(1.0) };
        let (half_width, half_height) = (0.56 * span, 1.12 * imaginary);
        let middle = (real.0 + real.1) / 2.0;
        let equal = half_height <= SLENDER * half_width;
        let natural = width * half_height / half_width;
        let height = natural.clamp(HEIGHTS.0, HEIGHTS.1);
        let (half_width, half_height) = match equal {
            true if natural > height => (half_height * width / height, half_height),
            true => (half_width, half_width * height / width),
            false => (half_width, half_height),
        };
        let x = Axis::linear((middle - half_width, middle + half_width));
        Self { x, y: Axis::linear((-half_height, half_height)), height, equal }
    }
}

/// The outline of |1 - dt lambda| <= 1; nothing if the step is not positive or the disc is too large to have an outline.
fn disc(frame: &Frame, step: f64, class: &str) -> String {
    let radius = 1.0 / step;
    let (rx, ry) = (radius / frame.x.span() * frame.width, radius / frame.y.span() * frame.height);
    let Some((x, y)) = frame.point((radius, 0.0)).filter(|_| step > 0.0 && rx.max(ry) < 1e6) else {
        return String::new();
    };
    let [x, y, rx, ry] = [x, y, rx, ry].map(pixel);
    format!("<ellipse class=\"disc {class}\" cx=\"{x}\" cy=\"{y}\" rx=\"{rx}\" ry=\"{ry}\"/>\n")
}

/// The eigenvalues of one depth; those on the same pixel are drawn once.
fn points(frame: &Frame, spectrum: &Spectrum, palette: &Palette) -> String {
    let mut taken = BTreeSet::new();
    let drawn = spectrum.eigenvalues.iter().filter_map(|&value| frame.point(value));
    let drawn = drawn.filter(|(x, y)| taken.insert((x.round() as i64, y.round() as i64)));
    let path: String = drawn.map(|(x, y)| palette.marker(spectrum.depth, x, y)).collect();
    format!("<path class=\"marker {}\" d=\"{path}\"/>\n", palette.class(spectrum.depth))
}

fn caption(equal: bool) -> String {
    let mut caption = "<strong>Would more layers blow up?</strong> One layer multiplies the mode of eigenvalue λ of \
                       <var>R</var> − <var>L</var><sub>k</sub> by 1 − Δt λ: it is damped if λ lies in the disc \
                       <i>|1 − Δt λ| ≤ 1</i> of the same colour (outlines; large discs are cut off). Points left of the imaginary \
                       axis grow at every step size."
        .to_owned();
    if !equal {
        caption.push_str(" The axes have different scales here, so the discs appear as ellipses.");
    }
    caption
}
