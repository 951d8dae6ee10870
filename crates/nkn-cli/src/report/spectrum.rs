//! The spectrum of the learned operator in the complex plane, with the discs in which a layer is a stable step.

use super::color::Palette;
use super::scale::{Axis, extent};
use super::svg::{self, Entry, Frame, WIDTH, path, pixel};
use super::text::{compact, scientific};
use maud::{Markup, html};
use nkn::analysis::Stability;
use std::collections::BTreeSet;

/// Left edge and width of the plot in pixels.
const LEFT: f64 = 66.0;
const ACROSS: f64 = WIDTH - LEFT - 16.0;

/// Height of the plot in pixels, at least and at most.
const HEIGHTS: (f64, f64) = (280.0, 520.0);

/// Beyond this ratio of imaginary to real extent, one scale for both axes would squeeze the points into a line.
const SLENDER: f64 = 8.0;

/// Rounding of single precision: an amplification this close to one counts as one.
const ROUNDING: f64 = 1e-6;

/// The figure and its table, or nothing without spectra.
pub fn figure(spectra: &[Stability], palette: &Palette) -> String {
    if spectra.is_empty() {
        return String::new();
    }
    let values = || spectra.iter().flat_map(|one| &one.spectrum.eigenvalues).copied();
    // The origin belongs to the picture: all discs touch the imaginary axis there.
    let real = extent(values().map(|(re, _)| re).chain([0.0])).unwrap_or((0.0, 1.0));
    let imaginary = extent(values().map(|(_, im)| im.abs())).map_or(0.0, |(_, high)| high);
    let entry = |Stability { depth, step, .. }: &Stability| Entry {
        text: format!("L = {depth}, Δt = {}", compact(*step)),
        symbol: vec![(format!("marker {}", palette.class(*depth)), palette.marker(*depth, 16.0, 0.0))],
    };
    let (legend, legend_height) = svg::legend(LEFT, 14.0, &spectra.iter().map(entry).collect::<Vec<_>>());
    let (frame, is_equal) = plane(14.0 + legend_height, real, imaginary);

    let mut inside = String::new();
    if let Some((x, y)) = frame.point((0.0, 0.0)) {
        let [x, y, right, bottom] = [x, y, WIDTH, frame.top + frame.height].map(pixel);
        inside += &path("frame", &format!("M0 {y}H{right}M{x} 0V{bottom}"));
    }
    inside.extend(spectra.iter().map(|s| disc(&frame, s.step, &palette.class(s.depth))));
    inside.extend(spectra.iter().map(|s| points(&frame, s, palette)));
    let content = frame.axes("Re λ", "Im λ") + &frame.clip(&inside) + &legend;
    let description = "Eigenvalues in the complex plane, one colour and marker per depth, and the outline of each depth's \
                       stability disc.";
    let drawing = frame.drawing("Spectrum of the learned operator", description, &content);
    svg::figure(&drawing, &caption(is_equal)) + &table(spectra)
}

/// The range of real parts and ± the largest imaginary part, with one scale for both if that is readable, and whether it is.
fn plane(top: f64, real: (f64, f64), imaginary: f64) -> (Frame, bool) {
    let span = if real.1 > real.0 { real.1 - real.0 } else { imaginary.max(1.0) };
    let (half_width, half_height) = (0.56 * span, 1.12 * imaginary);
    let middle = (real.0 + real.1) / 2.0;
    let is_equal = half_height <= SLENDER * half_width;
    let natural = ACROSS * half_height / half_width;
    let height = natural.clamp(HEIGHTS.0, HEIGHTS.1);
    let (half_width, half_height) = match is_equal {
        true if natural > height => (half_height * ACROSS / height, half_height),
        true => (half_width, half_width * height / ACROSS),
        false => (half_width, half_height),
    };
    let x = Axis::linear((middle - half_width, middle + half_width));
    let y = Axis::linear((-half_height, half_height));
    (Frame { left: LEFT, top, width: ACROSS, height, x, y }, is_equal)
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
fn points(frame: &Frame, one: &Stability, palette: &Palette) -> String {
    let mut taken = BTreeSet::new();
    let mut is_new = |(x, y): (f64, f64)| taken.insert((x.round() as i64, y.round() as i64));
    let values = one.spectrum.eigenvalues.iter().copied();
    frame.markers(values.filter(|&value| frame.point(value).is_some_and(&mut is_new)), palette, one.depth)
}

fn caption(is_equal: bool) -> String {
    let stretched =
        if is_equal { "" } else { " The axes have different scales here, so the discs appear as ellipses." };
    format!(
        "<strong>Would more layers blow up?</strong> One layer multiplies the mode of eigenvalue λ of <var>R</var> − \
         <var>L</var><sub>k</sub> by 1 − Δt λ: it is damped if λ lies in the disc <i>|1 − Δt λ| ≤ 1</i> of the same colour \
         (outlines; large discs are cut off). Points left of the imaginary axis grow at every step size.{stretched}"
    )
}

/// The numbers of the spectra.
fn table(spectra: &[Stability]) -> String {
    let numbers = |one: &Stability| {
        let found = &one.spectrum;
        let reals = [found.smallest_real, found.largest_real, found.smallest_symmetric];
        [one.step].into_iter().chain(reals).chain([one.amplification()]).map(compact)
    };
    let is_certified = spectra.iter().any(|one| one.certificate.is_some());
    html! {
        div.scroll { table.spectra {
            caption {
                strong { "Stability in numbers." } " A layer is a stable step if no mode grows: largest "
                i { "|1 − Δt λ| ≤ 1" } ". A positive smallest eigenvalue of the symmetric part says that the operator itself is \
                dissipative, so that enough layers make the step stable (\"from depth\": for eigenvectors)."
                @if is_certified { " Proven: from this depth on no state grows in a step, whatever it is." }
            }
            thead { tr {
                @for name in ["depth L", "Δt", "smallest Re λ", "largest Re λ", "smallest λ of symmetric part"] {
                    th scope="col" { (name) }
                }
                th scope="col" { "largest " i { "|1 − Δt λ|" } }
                th scope="col" { "stable step?" }
                th scope="col" { "stable from depth" }
                @if is_certified { th scope="col" { "proven from depth" } }
            } }
            tbody {
                @for one in spectra {
                    tr {
                        th scope="row" { (one.depth) }
                        @for number in numbers(one) { td { (number) } }
                        td { (stable(one.amplification())) }
                        td { @if let Some(depth) = one.stable_from { (depth) } @else { "none" } }
                        @if is_certified { td { @if let Some(depth) = one.certified_from { (depth) } @else { "none" } } }
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
pub mod tests {
    use super::*;
    use crate::report::tests::assert_well_formed;
    use nkn::analysis::Spectrum;

    fn draw(spectra: &[Stability]) -> String {
        let html = figure(spectra, &Palette::new(spectra.iter().map(|spectrum| spectrum.depth)));
        assert_well_formed(&html);
        assert!(!html.contains("NaN") && !html.contains("inf"), "{html}");
        html
    }

    /// A network with these eigenvalues.
    pub fn stability(depth: usize, eigenvalues: &[(f64, f64)]) -> Stability {
        let (smallest_real, largest_real) = extent(eigenvalues.iter().map(|value| value.0)).unwrap_or_default();
        let spectrum = Spectrum {
            eigenvalues: eigenvalues.into(),
            complete: true,
            largest_real,
            smallest_real,
            smallest_symmetric: -0.02,
            spectral_radius: largest_real,
            residual: 0.0,
        };
        Stability {
            depth,
            step: 1.0 / depth as f64,
            spectrum,
            stable_from: Some(2),
            certificate: None,
            certified_from: None,
            time: 1.0,
        }
    }

    const THREE: [(f64, f64); 3] = [(0.1, 0.0), (3.0, 0.4), (3.0, -0.4)];

    #[test]
    fn each_depth_has_its_disc_its_points_and_its_row() {
        let html = draw(&[stability(2, &THREE), stability(4, &THREE)]);
        assert_eq!(html.matches("<ellipse").count(), 2);
        assert!(html.contains(">L = 2, Δt = 0.5<") && html.contains(">L = 4, Δt = 0.25<"));
        // |1 - 0.1 / 4| is the largest.
        assert!(html.contains("<td>0.1</td><td>3</td><td>−0.02</td><td>0.975</td>"), "{html}");
        assert!(html.contains(">Re λ<") && html.contains(">Im λ<") && html.contains("class=\"yes\""));
    }

    #[test]
    fn eigenvalues_on_one_pixel_are_drawn_once() {
        let path = |html: &str| {
            let start = html.rfind("class=\"marker c0\" d=\"").expect("markers");
            html[start..].split("/>").next().map(str::len)
        };
        let many = [&THREE[..], &[(3.0, 0.4); 50]].concat();
        assert_eq!(path(&draw(&[stability(2, &many)])), path(&draw(&[stability(2, &THREE)])));
    }

    #[test]
    fn narrow_misses_are_said_and_a_slender_spectrum_is_stretched() {
        let row = |amplification| stable(amplification).into_string();
        assert!(row(1.0 + 1e-8).contains("yes") && row(1.0005).contains("no, by 5.00e-4"));
        assert!(row(2.0).contains(">no<") && row(f64::NAN).contains("unknown"));
        let tall = stability(1, &[(0.0, 9.0), (0.1, -9.0)]);
        assert!(draw(&[tall]).contains("ellipses") && !draw(&[stability(1, &THREE)]).contains("ellipses"));
    }

    #[test]
    fn broken_and_missing_spectra() {
        assert_eq!(figure(&[], &Palette::new(0..0)), "");
        for value in [f64::NAN, f64::INFINITY, f64::MAX, -1.0, 0.0] {
            let broken = Stability { step: value, stable_from: None, ..stability(1, &[(value, value)]) };
            assert!(draw(&[broken, stability(2, &THREE)]).contains(">none<"));
        }
        draw(&[stability(1, &[])]);
    }
}
