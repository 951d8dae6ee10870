//! The spectrum of the learned operator in the complex plane, with the discs in which a layer is a stable step.

use std::collections::BTreeSet;

use super::color::Palette;
use super::scale::{Axis, drawable, extent};
use super::svg::{self, Entry, Frame, WIDTH, pixel};
use super::text::{compact, scientific};
use maud::{Markup, html};

/// Left edge and width of the plot in pixels.
const LEFT: f64 = 66.0;
const ACROSS: f64 = WIDTH - LEFT - 16.0;

/// Height of the plot in pixels, at least and at most.
const HEIGHTS: (f64, f64) = (280.0, 520.0);

/// Beyond this ratio of imaginary to real extent, one scale for both axes would squeeze the points into a line.
const SLENDER: f64 = 8.0;

/// Rounding of single precision: an amplification this close to one counts as one.
const ROUNDING: f64 = 1e-6;

/// The spectrum of the learned elliptic operator R - L_k at one depth.
#[derive(Debug, Clone, Default)]
pub struct Spectrum {
    /// The number of layers.
    pub depth: usize,
    /// The step dt of one layer.
    pub step: f64,
    /// Eigenvalues as (real part, imaginary part).
    pub eigenvalues: Vec<(f64, f64)>,
    /// The largest |1 - dt lambda|.
    pub amplification: f64,
    /// The smallest eigenvalue of the operator's symmetric part.
    pub smallest_symmetric: f64,
    /// The smallest depth at which a layer of this operator is a stable step; none if there is no such depth.
    pub stable_from: Option<usize>,
}

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
    let drawing = frame.drawing("Spectrum of the learned operator", description, &content);
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
    let mut is_new = |(x, y): (f64, f64)| taken.insert((x.round() as i64, y.round() as i64));
    let drawn = spectrum.eigenvalues.iter().copied().filter(|&value| frame.point(value).is_some_and(&mut is_new));
    frame.markers(drawn, palette, spectrum.depth)
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

/// The numbers of the spectra.
fn table(spectra: &[Spectrum]) -> String {
    let numbers = |spectrum: &Spectrum| {
        let real_parts = || spectrum.eigenvalues.iter().map(|value| value.0);
        let range = extent(real_parts()).filter(|_| real_parts().all(f64::is_finite));
        let (low, high) = range.unwrap_or((f64::NAN, f64::NAN));
        [spectrum.step, low, high, spectrum.smallest_symmetric, spectrum.amplification].map(compact)
    };
    html! {
        div.scroll { table.spectra {
            caption {
                strong { "Stability in numbers." } " A layer is a stable step if no mode grows: largest "
                i { "|1 − Δt λ| ≤ 1" } ". A positive smallest eigenvalue of the symmetric part says that the operator itself is \
                dissipative, so that enough layers (last column) make the step stable."
            }
            thead { tr {
                @for name in ["depth L", "Δt", "smallest Re λ", "largest Re λ", "smallest λ of symmetric part"] {
                    th scope="col" { (name) }
                }
                th scope="col" { "largest " i { "|1 − Δt λ|" } }
                th scope="col" { "stable step?" }
                th scope="col" { "stable from depth" }
            } }
            tbody {
                @for spectrum in spectra {
                    tr {
                        th scope="row" { (spectrum.depth) }
                        @for number in numbers(spectrum) { td { (number) } }
                        td { (stable(spectrum.amplification)) }
                        td { @if let Some(depth) = spectrum.stable_from { (depth) } @else { "none" } }
                    }
                }
            }
        } }
    }
    .into_string()
}

/// The answer to "stable step?"; where rounding would hide by how much the step misses it, this is said.
fn stable(amplification: f64) -> Markup {
    let excess = amplification - 1.0;
    match excess {
        _ if !excess.is_finite() => html! { "unknown" },
        _ if excess <= ROUNDING => html! { span.yes { "yes" } },
        _ if excess < 1e-3 => html! { span.no { "no, by " (scientific(excess)) } },
        _ => html! { span.no { "no" } },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::tests::assert_well_formed;

    fn draw(spectra: &[Spectrum]) -> String {
        let html = figure(spectra, &Palette::new(spectra.iter().map(|spectrum| spectrum.depth)));
        assert_well_formed(&html);
        assert!(!html.contains("NaN") && !html.contains("inf"), "{html}");
        html
    }

    fn spectrum(depth: usize) -> Spectrum {
        Spectrum {
            depth,
            step: 1.0 / depth as f64,
            eigenvalues: vec![(0.1, 0.0), (3.0, 0.4), (3.0, -0.4)],
            amplification: 0.95,
            smallest_symmetric: -0.02,
            stable_from: Some(2),
        }
    }

    #[test]
    fn each_depth_has_its_disc_its_points_and_its_row() {
        let html = draw(&[spectrum(2), spectrum(4)]);
        assert_eq!(html.matches("<ellipse").count(), 2);
        assert!(html.contains(">L = 2, Δt = 0.5<") && html.contains(">L = 4, Δt = 0.25<"));
        assert!(html.contains("<td>0.1</td><td>3</td><td>−0.02</td><td>0.95</td>"), "{html}");
        assert!(html.contains(">Re λ<") && html.contains(">Im λ<") && html.contains("class=\"yes\""));
    }

    #[test]
    fn eigenvalues_on_one_pixel_are_drawn_once() {
        let mut one = spectrum(2);
        let path = |html: &str| {
            let start = html.rfind("class=\"marker c0\" d=\"").expect("markers");
            html[start..].split("/>").next().map(str::len)
        };
        let before = path(&draw(&[one.clone()]));
        one.eigenvalues.extend_from_slice(&[(3.0, 0.4); 50]);
        assert_eq!(path(&draw(&[one])), before);
    }

    #[test]
    fn narrow_misses_are_said_and_a_slender_spectrum_is_stretched() {
        let row = |amplification| stable(amplification).into_string();
        assert!(row(1.0 + 1e-8).contains("yes") && row(1.0005).contains("no, by 5.00e-4"));
        assert!(row(2.0).contains(">no<") && row(f64::NAN).contains("unknown"));
        let tall = Spectrum { eigenvalues: vec![(0.0, 9.0), (0.1, -9.0)], ..spectrum(1) };
        assert!(draw(&[tall]).contains("ellipses") && !draw(&[spectrum(1)]).contains("ellipses"));
    }

    #[test]
    fn broken_and_missing_spectra() {
        assert_eq!(figure(&[], &Palette::new(0..0)), "");
        for value in [f64::NAN, f64::INFINITY, f64::MAX, -1.0, 0.0] {
            let broken =
                Spectrum { step: value, amplification: value, eigenvalues: vec![(value, value)], ..spectrum(1) };
            draw(&[broken, spectrum(2)]);
        }
        let unknown = Spectrum { eigenvalues: Vec::new(), stable_from: None, ..spectrum(1) };
        let html = draw(&[unknown]);
        assert!(!html.contains("<svg") && html.contains(">none<") && html.contains("not finite"));
    }
}
