//! The report: one HTML file that shows what a training run has learned, whatever it has learned.
//!
//! [`source`] gathers what a run has to say into a [`Report`], [`render`] turns it into a page, one file per section. A
//! section appears when there is something to show. The page needs nothing else: no network, no scripts, no fonts;
//! figures are inline SVG, with small embedded images for heat maps and photographs, and its colours follow the reader's
//! light or dark theme. Numbers that are not finite are skipped in figures and written as "not finite" in tables.

mod arrows;
mod choices;
pub(crate) mod color;
pub(crate) mod compare;
mod confusion;
pub(crate) mod curves;
pub mod depths;
pub mod energy;
pub mod errors;
pub(crate) mod fields;
mod green;
pub mod growth;
pub(crate) mod heat;
mod lines;
pub(crate) mod measure;
mod mistakes;
mod parts;
mod pixels;
mod plane;
pub(crate) mod samples;
pub(crate) mod scale;
pub mod source;
mod spectrum;
mod spread;
mod stencils;
pub mod steps;
pub(crate) mod svg;
#[cfg(test)]
pub(crate) mod tests;
pub(crate) mod text;
mod training;

pub use training::Training;

use color::Palette;
use maud::{DOCTYPE, Markup, PreEscaped, html};

/// Everything that a page shows; what is empty is left out.
#[derive(Debug, Clone, Default)]
pub struct Report {
    /// The heading, for example "1D Poisson: NKN, depths 1 to 4".
    pub title: String,
    /// One or two sentences of plain text.
    pub summary: String,
    /// Names and values, for example ("parameters", "67,016").
    pub facts: Vec<(String, String)>,
    /// Errors by depth, split and resolution.
    pub errors: errors::Errors,
    /// Training curves, one per depth, in the order in which the depths were trained.
    pub curves: Vec<curves::Curve>,
    /// The errors of all samples, one entry per output.
    pub spreads: Vec<spread::Spread>,
    /// A few samples, those in two dimensions at one or several resolutions.
    pub samples: Vec<samples::Comparison>,
    /// The errors of steps in time.
    pub steps: Vec<steps::StepError>,
    /// The learned Green's function, if the network has one.
    pub green: Option<green::Green>,
    /// The names of the classes of images, in the order of their numbers.
    pub classes: Vec<String>,
    /// What a classifier answered, one entry per resolution.
    pub answers: Vec<confusion::Answers>,
    /// Learned kernels of images with their titles, each at one pixel.
    pub stencils: Vec<(String, nkn::model::Stencil)>,
    /// Errors of the same weights at other depths.
    pub depths: Vec<depths::DepthError>,
    /// The size of the state over the layers, one entry per depth.
    pub energies: Vec<energy::Energy>,
    /// The eigenvalues of the learned operator, one entry per depth.
    pub spectra: Vec<nkn::analysis::Stability>,
    /// Measurements of the time of a step.
    pub growth: Vec<growth::Growth>,
    /// What was chosen for a run without settings, and why.
    pub choices: Vec<choices::Choice>,
    /// Honest remarks, in plain text.
    pub notes: Vec<String>,
}

/// Renders a report as one self-contained HTML page.
pub fn render(report: &Report) -> String {
    let depths = report.curves.iter().map(|curve| curve.depth);
    let palette = Palette::new(depths.chain(report.spectra.iter().map(|spectrum| spectrum.depth)));
    let sections = [
        ("Errors", errors::figure(&report.errors)),
        ("Training", curves::figure(&report.curves, &palette)),
        ("Errors of the samples", spread::figure(&report.spreads)),
        ("Samples", lines::figure(&report.samples)),
        ("Fields", fields::figure(&report.samples)),
        ("Time steps", steps::figure(&report.steps, &palette)),
        ("Green's function", report.green.as_ref().map(green::figure).unwrap_or_default()),
        ("Confusions", confusion::figure(&report.answers, &report.classes)),
        ("Mistakes", mistakes::figure(&report.answers, &report.classes)),
        ("Learned kernels", stencils::figure(&report.stencils)),
        ("Other depths", depths::figure(&report.depths)),
        ("Energy", energy::figure(&report.energies, &palette)),
        ("Spectrum and stability", spectrum::figure(&report.spectra, &palette)),
        ("Growth", growth::figure(&report.growth)),
        ("Choices", choices::table(&report.choices)),
        ("Notes", notes(&report.notes)),
    ];
    let sections: String = sections.into_iter().map(|(heading, content)| section(heading, content)).collect();
    let header = html! { (PreEscaped(paragraph(&report.summary))) (PreEscaped(facts(&report.facts))) };
    page(("Nonlocal kernel networks", &report.title), "", header, PreEscaped(sections))
}

/// A whole page: what kind it is and its title, a style besides the common one, what stands below the title, and the rest.
pub(crate) fn page((kind, title): (&str, &str), own_style: &str, header: Markup, content: Markup) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) }
                style { (PreEscaped(include_str!("style.css"))) (PreEscaped(own_style)) }
            }
            body { main {
                header { p.kind { (kind) } h1 { (title) } (header) }
                (content)
            } }
        }
    };
    page.into_string()
}

/// A section with its heading, or nothing if there is no content.
pub(crate) fn section(heading: &str, content: String) -> String {
    if content.is_empty() {
        return content;
    }
    html! { section { h2 { (heading) } (PreEscaped(content)) } }.into_string()
}

/// The summary under the title, or nothing.
pub(crate) fn paragraph(text: &str) -> String {
    if text.is_empty() { String::new() } else { html! { p.summary { (text) } }.into_string() }
}

/// Names and values under the title; long values, such as commands, get a line of their own.
pub(crate) fn facts(facts: &[(String, String)]) -> String {
    let is_wide = |value: &str| value.chars().count() > 32;
    html! {
        @if !facts.is_empty() { dl {
            @for (name, value) in facts {
                div class=[is_wide(value).then_some("wide")] { dt { (name) } dd { @if is_wide(value) { code { (value) } } @else { (value) } } }
            }
        } }
    }
    .into_string()
}

/// The remarks at the end.
pub(crate) fn notes(notes: &[String]) -> String {
    html! { @if !notes.is_empty() { ul { @for note in notes { li { (note) } } } } }.into_string()
}
