//! The resolution matrix: errors of the same weights on other grids, by depth and quadrature.

use std::collections::BTreeSet;

use super::color::Palette;
use super::scale::{Axis, Ticks, extent};
use super::svg::{self, Entry, Frame, WIDTH, label, pixel};
use super::tables::table;
use super::text::{escape, scientific, two_digits};
use super::{MatrixRow, ResolutionMatrix};

/// An error that is larger than that at the training resolution by more than this factor stands out.
const WORSE: f64 = 1.5;

/// Line styles, so that the lines differ without colour too.
const STYLES: [&str; 4] = ["line", "line dashed", "line dotted", "line dash-dotted"];

/// Labels of the horizontal axis closer than this, in pixels, would overlap.
const CLOSE: f64 = 28.0;

/// The table and the figure, or nothing without rows.
pub fn figure(matrix: &ResolutionMatrix) -> String {
    if matrix.rows.is_empty() || matrix.resolutions.is_empty() {
        return String::new();
    }
    errors(matrix) + &chart(matrix)
}

/// The quadratures in the order of the rows.
fn quadratures(matrix: &ResolutionMatrix) -> Vec<&str> {
    let mut seen = BTreeSet::new();
    matrix.rows.iter().map(|row| row.quadrature.as_str()).filter(|name| seen.insert(*name)).collect()
}

impl ResolutionMatrix {
    /// A row's errors with their resolutions, as far as they are known.
    fn known<'a>(&'a self, row: &'a MatrixRow) -> impl Iterator<Item = (usize, f64)> + 'a {
        self.resolutions.iter().zip(&row.test).filter_map(|(&resolution, &error)| Some((resolution, error?)))
    }

    /// A row's test error at the training resolution.
    fn at_home(&self, row: &MatrixRow) -> Option<f64> {
        self.known(row).find(|(resolution, _)| *resolution == self.trained_at).map(|(_, error)| error)
    }
}

/// A block of rows per quadrature, a row per depth, a column per resolution.
fn errors(matrix: &ResolutionMatrix) -> String {
    let with_train = matrix.rows.iter().any(|row| row.train.is_some());
    let mark = "<span class=\"mark\">training grid</span>";
    let mut head = "<th scope=\"col\">depth L</th>".to_owned();
    if with_train {
        head.push_str(&format!("<th scope=\"col\">train<span>resolution {}</span>{mark}</th>", matrix.trained_at));
    }
    for &resolution in &matrix.resolutions {
        let mark = if resolution == matrix.trained_at { mark } else { "" };
        head.push_str(&format!("<th scope=\"col\">test<span>resolution {resolution}</span>{mark}</th>"));
    }
    let columns = 1 + usize::from(with_train) + matrix.resolutions.len();
    let mut body = String::new();
    for quadrature in quadratures(matrix) {
        if !quadrature.is_empty() {
            body.push_str(&format!(
                "<tr class=\"group\"><th scope=\"colgroup\" colspan=\"{columns}\">quadrature: {}</th></tr>\n",
                escape(quadrature)
            ));
        }
        let mut rows: Vec<_> = matrix.rows.iter().filter(|row| row.quadrature == quadrature).collect();
        rows.sort_by_key(|row| row.depth);
        for row in rows {
            body.push_str(&format!("<tr><th scope=\"row\">{}</th>", row.depth));
            if with_train {
                body.push_str(&cell(row.train, "", String::new()));
            }
            for (k, &resolution) in matrix.resolutions.iter().enumerate() {
                let error = row.test.get(k).copied().flatten();
                let trained = resolution == matrix.trained_at;
                let ratio = if trained { String::new() } else { ratio(error, matrix.at_home(row)) };
                body.push_str(&cell(error, if trained { "trained" } else { "" }, ratio));
            }
            body.push_str("</tr>\n");
        }
    }
    let caption = format!(
        "<strong>Relative L² errors of the same weights on other grids.</strong> The network has only seen resolution \
         {}. Read along a row: small print is the ratio to the row's test error at that resolution; it should be near \
         1 and is bold and coloured above {WORSE}.",
        matrix.trained_at
    );
    table("matrix", &caption, &head, &body)
}

fn cell(error: Option<f64>, class: &str, ratio: String) -> String {
    match error {
        Some(error) => format!("<td class=\"{class}\">{}{ratio}</td>", scientific(error)),
        None => format!("<td class=\"none {class}\">–</td>"),
    }
}

/// The small print under an error; nothing if there is no meaningful ratio.
fn ratio(error: Option<f64>, at_home: Option<f64>) -> String {
    let ratio = error.zip(at_home).map_or(f64::NAN, |(error, at_home)| error / at_home);
    match ratio {
        _ if !ratio.is_finite() => String::new(),
        _ if ratio > WORSE => format!("<small class=\"no\">×{}</small>", two_digits(ratio)),
        _ => format!("<small>×{}</small>", two_digits(ratio)),
    }
}

/// Test errors over the resolution, a line per quadrature; nothing if there is no second resolution to compare with.
fn chart(matrix: &ResolutionMatrix) -> String {
    let names = quadratures(matrix);
    let deepest = |name: &&str| matrix.rows.iter().filter(|row| row.quadrature == *name).max_by_key(|row| row.depth);
    let rows: Vec<&MatrixRow> = names.iter().filter_map(deepest).collect();
    let known = || rows.iter().flat_map(|row| matrix.known(row)).filter(|(_, error)| *error > 0.0);
    let grids: BTreeSet<usize> = matrix.resolutions.iter().copied().filter(|&resolution| resolution > 0).collect();
    let Some(range) = extent(known().map(|(_, error)| error)).filter(|_| grids.len() > 1) else {
        return String::new();
    };
    let palette = Palette::new(0..rows.len());
    let style = |k: usize| format!("{} {}", STYLES[k % STYLES.len()], palette.class(k));
    let mut entries = Vec::new();
    for (k, row) in rows.iter().enumerate() {
        let name = if row.quadrature.is_empty() { "test" } else { &row.quadrature };
        let marker = (format!("marker {}", palette.class(k)), palette.marker(k, 12.0, 0.0));
        let symbol = vec![(style(k), svg::dash(0.0, 0.0)), marker];
        entries.push(Entry { text: format!("{name}, L = {}", row.depth), symbol });
    }
    if rows.iter().any(|row| matrix.at_home(row).is_some()) {
        let text = "error at the training resolution".to_owned();
        entries.push(Entry { text, symbol: vec![("line thin".into(), svg::dash(0.0, 0.0))] });
    }
    let (legend, legend_height) = svg::legend(84.0, 14.0, &entries);
    let frame = Frame {
        left: 84.0,
        top: 30.0 + legend_height,
        width: WIDTH - 108.0,
        height: 240.0,
        x: Axis::around(grids.iter().map(|&resolution| place(resolution))),
        y: Axis::logarithmic(range),
    };
    let ticks = ticks(&frame, &grids, matrix.trained_at);
    let mut content = frame.axes_at((&ticks, "resolution"), (&frame.y.ticks(7), "relative L² test error"));
    content.push_str(&training_resolution(&frame, matrix.trained_at, &grids));
    for (k, row) in rows.iter().enumerate() {
        let (left, right) = (frame.left, frame.left + frame.width);
        if let Some(y) = matrix.at_home(row).and_then(|error| frame.down(error)) {
            let (class, y) = (palette.class(k), pixel(y));
            content.push_str(&format!(
                "<path class=\"line thin {class}\" d=\"M{} {y}H{}\"/>\n",
                pixel(left),
                pixel(right)
            ));
        }
    }
    for (k, row) in rows.iter().enumerate() {
        let mut points: Vec<_> = matrix.known(row).collect();
        points.sort_by_key(|point| point.0);
        let points = || points.iter().map(|&(resolution, error)| (place(resolution), error));
        content.push_str(&frame.line(points(), &style(k)));
        let drawn = points().filter_map(|point| frame.point(point));
        let markers: String = drawn.map(|(x, y)| palette.marker(k, x, y)).collect();
        content.push_str(&format!("<path class=\"marker {}\" d=\"{markers}\"/>\n", palette.class(k)));
    }
    let description = format!(
        "Test error on a logarithmic axis over the resolution, a line for each of the quadratures {}.",
        names.join(", ")
    );
    let height = frame.top + frame.height + 46.0;
    let drawing = svg::drawing(height, "Test error over resolution", &description, &(content + &legend));
    svg::figure(&drawing, &caption(matrix.trained_at))
}

/// Where a resolution stands on the axis: doubling it is the same step everywhere.
fn place(resolution: usize) -> f64 {
    (resolution as f64).log2()
}

/// A tick at each resolution; of labels that would overlap, the training resolution's stays.
fn ticks(frame: &Frame, grids: &BTreeSet<usize>, trained_at: usize) -> Ticks {
    let mut ticks = Ticks::default();
    let mut labelled: Vec<f64> = Vec::new();
    for &resolution in grids.get(&trained_at).into_iter().chain(grids) {
        let Some(x) = frame.across(place(resolution)) else { continue };
        if labelled.iter().all(|other| (other - x).abs() >= CLOSE) {
            labelled.push(x);
            ticks.labelled.push((place(resolution), resolution.to_string()));
        }
    }
    ticks
}

/// The line at the training resolution with its name.
fn training_resolution(frame: &Frame, trained_at: usize, grids: &BTreeSet<usize>) -> String {
    let Some(x) = grids.get(&trained_at).and_then(|&resolution| frame.across(place(resolution))) else {
        return String::new();
    };
    let (top, bottom) = (pixel(frame.top), pixel(frame.top + frame.height));
    let line = format!("<path class=\"frame\" d=\"M{} {top}V{bottom}\"/>\n", pixel(x));
    line + &label(x, frame.top - 8.0, "tick middle", "trained here")
}

fn caption(trained_at: usize) -> String {
    format!(
        "<strong>Does the error depend on the grid?</strong> If a line stays on the thin horizontal line of its \
         colour, the test error at the training resolution {trained_at}, the network has learned an operator; if it \
         rises away from there, it has learned its grid. Shown is the deepest network of each quadrature."
    )
}
