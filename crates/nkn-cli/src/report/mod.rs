//! The report: one HTML file that shows what a training run has learned.
//!
//! [`ReportData`] is what a run has to say, [`render`] turns it into a page. The page needs nothing else: no network,
//! no scripts, no fonts; figures are inline SVG, with small embedded images for the heat maps of fields, and its colours
//! follow the reader's light or dark theme. What is missing from the data is left out of the page; numbers that are not
//! finite are skipped in figures and written as "not finite" in tables.

pub mod classifier;
pub(crate) mod color;
pub(crate) mod curves;
pub(crate) mod fields;
mod green;
mod growth;
mod heat;
mod matrix;
mod png;
mod samples;
pub(crate) mod scale;
mod spectrum;
pub(crate) mod svg;
pub(crate) mod tables;
#[cfg(test)]
mod tests;
pub(crate) mod text;

use serde::{Deserialize, Serialize};

use color::Palette;
use text::escape;

/// Everything that a report shows.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct ReportData {
    /// The heading, for example "1D Poisson: NKN, depths 1 to 4".
    pub title: String,
    /// One or two sentences of plain text.
    pub summary: String,
    /// Names and values, for example ("parameters", "67,016").
    pub facts: Vec<(String, String)>,
    /// Training curves, one per depth, in the order in which the depths were trained.
    pub curves: Vec<Curve>,
    /// A few test samples in one dimension.
    pub samples: Vec<Sample>,
    /// A few test samples in two dimensions, each at one or several resolutions.
    #[serde(default)]
    pub fields: Vec<FieldComparison>,
    /// The learned Green's function, if the problem has one.
    pub green: Option<Green>,
    /// The eigenvalues of the learned operator, one entry per depth.
    pub spectra: Vec<Spectrum>,
    /// Errors by depth, split and resolution.
    pub errors: Vec<ErrorRow>,
    /// Errors on other grids than the training grid, by depth and quadrature.
    pub matrix: Option<ResolutionMatrix>,
    /// Measurements of the time of a step.
    #[serde(default)]
    pub growth: Vec<Growth>,
    /// Honest remarks, in plain text.
    pub notes: Vec<String>,
}

/// The relative L² errors of one depth during its training.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Curve {
    /// The number of layers.
    pub depth: usize,
    /// Epochs, counted from the start of this depth.
    pub epoch: Vec<f64>,
    /// Training error at each epoch.
    pub train: Vec<f64>,
    /// Test error at each epoch; may be shorter, and NaN where it was not evaluated.
    pub test: Vec<f64>,
}

/// One test sample: functions on the same points.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Sample {
    /// Its number in the test set.
    pub index: usize,
    /// The points, in increasing order.
    pub x: Vec<f64>,
    /// The input f at the points.
    pub input: Vec<f64>,
    /// The true solution at the points.
    pub truth: Vec<f64>,
    /// The network's solution at the points.
    pub prediction: Vec<f64>,
    /// Relative L² error of the prediction.
    pub relative_l2: f64,
}

/// One test sample in two dimensions at one resolution: fields on the nodes of the same grid. The value at the node
/// (x_i, y_j) is at i * ny + j.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct FieldComparison {
    /// Its number in the test set; comparisons with the same number are shown together.
    pub index: usize,
    /// The resolution, by which the comparisons of a sample are ordered.
    pub resolution: usize,
    /// The numbers of nodes (nx, ny).
    pub shape: [usize; 2],
    /// The first and the last node's x, then y: x0, x1, y0, y1.
    pub extent: [f64; 4],
    /// What the input is, for example "permeability".
    pub input_name: String,
    /// The input at the nodes.
    pub input: Vec<f64>,
    /// The true solution at the nodes.
    pub truth: Vec<f64>,
    /// The network's solution at the nodes.
    pub prediction: Vec<f64>,
    /// Relative L² error of the prediction.
    pub relative_l2: f64,
}

/// The Green's function that a network has learned, beside the exact one.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Green {
    /// The n points, in increasing order, evenly spaced.
    pub x: Vec<f64>,
    /// G(x_i, x_j) of the network, at i * n + j: the response at x_i to a source at x_j.
    pub effective: Vec<f64>,
    /// The exact G(x_i, x_j) in the same layout; empty if it is not known.
    pub exact: Vec<f64>,
    /// The number of layers of the network.
    pub depth: usize,
}

/// The spectrum of the learned elliptic operator R - L_k at one depth.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
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

/// One entry of the error table.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct ErrorRow {
    /// The number of layers.
    pub depth: usize,
    /// "train" or "test".
    pub split: String,
    /// The number of grid points.
    pub resolution: usize,
    /// Relative L² error.
    pub relative_l2: f64,
    /// Relative squared L² error.
    pub relative_l2_squared: f64,
}

/// Errors of the same weights on several grids.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct ResolutionMatrix {
    /// The resolution that the networks were trained at.
    pub trained_at: usize,
    /// The resolutions at which they were tested.
    pub resolutions: Vec<usize>,
    /// A row per depth and quadrature.
    pub rows: Vec<MatrixRow>,
}

/// The errors of one depth with one quadrature.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct MatrixRow {
    /// The number of layers.
    pub depth: usize,
    /// The quadrature of the evaluation.
    pub quadrature: String,
    /// Relative L² error on the training set, if known.
    pub train: Option<f64>,
    /// Relative L² error on the test set at each of the resolutions; none where it was not evaluated.
    pub test: Vec<Option<f64>>,
}

/// How the time of a step grows with a quantity.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
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

/// Renders a report as one self-contained HTML page.
pub fn render(data: &ReportData) -> String {
    let depths = data.curves.iter().map(|curve| curve.depth);
    let palette = Palette::new(depths.chain(data.spectra.iter().map(|spectrum| spectrum.depth)));
    format!(
        include_str!("page.html"),
        style = include_str!("style.css"),
        title = escape(&data.title),
        summary = paragraph(&data.summary),
        facts = tables::facts(&data.facts),
        errors = section("Errors", tables::errors(&data.errors)),
        matrix = section("Resolution matrix", data.matrix.as_ref().map(matrix::figure).unwrap_or_default()),
        curves = section("Training", curves::figure(&data.curves, &palette)),
        samples = section("Test samples", samples::figure(&data.samples)),
        fields = section("Fields", fields::figure(&data.fields)),
        green = section("Green's function", data.green.as_ref().map(green::figure).unwrap_or_default()),
        spectrum = section("Spectrum and stability", spectrum::figure(&data.spectra, &palette)),
        growth = section("Growth", growth::figure(&data.growth)),
        notes = section("Notes", tables::notes(&data.notes)),
    )
}

/// A section with its heading, or nothing if there is no content.
pub(crate) fn section(heading: &str, content: String) -> String {
    if content.is_empty() {
        return content;
    }
    format!("<section>\n<h2>{}</h2>\n{content}</section>\n", escape(heading))
}

/// The summary under the title, or nothing.
pub(crate) fn paragraph(text: &str) -> String {
    if text.is_empty() {
        return String::new();
    }
    format!("<p class=\"summary\">{}</p>", escape(text))
}
