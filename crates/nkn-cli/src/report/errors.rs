//! Errors by depth, split and resolution: a table per metric, and the deepest network's errors over the resolution.

use super::color::Palette;
use super::measure;
use super::parts;
use super::scale::{Axis, Ticks};
use super::svg::{self, Entry, Frame, label, path, pixel};
use super::text::{size, two_digits, unique};
use maud::{Markup, html};
use nkn::train::Measure;
use std::collections::{BTreeMap, BTreeSet};

/// An error that is larger than that at the training resolution by more than this factor stands out.
const WORSE: f64 = 1.5;

/// Labels of the horizontal axis closer than this, in pixels, would overlap.
const CLOSE: f64 = 28.0;

/// Errors of the same weights, on the training grid and on others.
#[derive(Debug, Clone, Default)]
pub struct Errors {
    /// The resolution that the networks were trained at.
    pub trained_at: usize,
    /// Whether a resolution is the number of nodes or pixels along each side of a square, and not that of all points.
    pub is_square: bool,
    /// What was measured.
    pub rows: Vec<ErrorRow>,
}

/// One measured error.
#[derive(Debug, Clone)]
pub struct ErrorRow {
    /// The number of layers.
    pub depth: usize,
    /// The quadrature of the evaluation; empty if it was not chosen.
    pub quadrature: String,
    /// The error, with its metric and the samples.
    pub measure: Measure,
}

/// The place of the split among all, its name, and the resolution: so columns are ordered.
type Column<'a> = (usize, &'a str, usize);

fn is_test(column: &&Column) -> bool {
    column.1 != "train"
}

/// The tables and the drawing, or nothing without errors.
pub fn figure(errors: &Errors) -> String {
    let tables =
        unique(errors.rows.iter().map(|row| row.measure.metric.as_str()).filter(|metric| !parts::is_part(metric)));
    let tables: Vec<_> = tables.into_iter().map(|metric| Table::new(errors, metric)).collect();
    let Some(first) = tables.first() else { return String::new() };
    let whole: String = tables.iter().enumerate().map(|(k, table)| table.html(k > 0).into_string()).collect();
    whole + &parts::table(errors).into_string() + &first.chart()
}

/// The errors of one metric.
struct Table<'a> {
    errors: &'a Errors,
    metric: &'a str,
    quadratures: Vec<&'a str>,
    depths: BTreeSet<usize>,
    columns: BTreeSet<Column<'a>>,
    values: BTreeMap<(&'a str, usize, Column<'a>), f64>,
}

impl<'a> Table<'a> {
    fn new(errors: &'a Errors, metric: &'a str) -> Self {
        let rows = || errors.rows.iter().filter(|row| row.measure.metric == metric);
        let mut splits = unique(rows().map(|row| row.measure.split.as_str()));
        splits.sort_by_key(|&split| split != "train");
        let place = |split: &str| splits.iter().position(|&name| name == split).unwrap_or_default();
        let column = |row: &'a ErrorRow| {
            let Measure { split, resolution, .. } = &row.measure;
            (place(split), split.as_str(), *resolution)
        };
        Self {
            errors,
            metric,
            quadratures: unique(rows().map(|row| row.quadrature.as_str())),
            depths: rows().map(|row| row.depth).collect(),
            columns: rows().map(column).collect(),
            values: rows().map(|row| ((row.quadrature.as_str(), row.depth, column(row)), row.measure.value)).collect(),
        }
    }

    fn grid(&self, resolution: usize) -> String {
        if self.errors.is_square { size(resolution) } else { format!("{resolution} points") }
    }

    /// The error of the same weights on the same split at the training resolution.
    fn at_home(&self, quadrature: &'a str, depth: usize, (place, split, _): Column<'a>) -> Option<f64> {
        self.values.get(&(quadrature, depth, (place, split, self.errors.trained_at))).copied()
    }

    /// Whether the same samples were predicted at the training resolution and at others.
    fn is_elsewhere_too(&self) -> bool {
        let (here, elsewhere): (Vec<&Column>, Vec<&Column>) =
            self.columns.iter().partition(|column| column.2 == self.errors.trained_at);
        elsewhere.iter().any(|column| here.iter().any(|other| other.1 == column.1))
    }

    /// The smallest error of a column, if there are several to compare.
    fn best(&self, column: Column) -> Option<f64> {
        let of_column = || self.values.iter().filter(|(key, _)| key.2 == column).map(|(_, &value)| value);
        if of_column().nth(1).is_some() { of_column().reduce(f64::min) } else { None }
    }

    /// A block of rows per quadrature, a row per depth, a column per split and resolution.
    fn html(&self, is_small: bool) -> Markup {
        let home = self.errors.trained_at;
        let rows = |quadrature: &'a str| {
            self.depths
                .iter()
                .filter(move |&&depth| self.values.keys().any(|key| (key.0, key.1) == (quadrature, depth)))
        };
        html! {
            div.scroll { table.errors.small[is_small] {
                caption { (self.caption(is_small)) }
                thead { tr {
                    th scope="col" { "depth L" }
                    @for (_, split, resolution) in &self.columns {
                        th scope="col" {
                            (split) span { (self.grid(*resolution)) }
                            @if *resolution == home { span.mark { "training grid" } }
                        }
                    }
                } }
                tbody {
                    @for &quadrature in &self.quadratures {
                        @if !quadrature.is_empty() {
                            tr.group { th scope="colgroup" colspan=(self.columns.len() + 1) { "quadrature: " (quadrature) } }
                        }
                        @for &depth in rows(quadrature) {
                            tr {
                                th scope="row" { (depth) }
                                @for &column in &self.columns { (self.cell(quadrature, depth, column, is_small)) }
                            }
                        }
                    }
                }
            } }
        }
    }

    fn cell(&self, quadrature: &'a str, depth: usize, column: Column<'a>, is_small: bool) -> Markup {
        let is_home = column.2 == self.errors.trained_at;
        let Some(&value) = self.values.get(&(quadrature, depth, column)) else {
            return html! { td.none.trained[is_home] { "–" } };
        };
        let ratio = self.at_home(quadrature, depth, column).map(|home| value / home).filter(|ratio| ratio.is_finite());
        let text = measure::written(self.metric, value);
        html! {
            td class=[is_home.then_some("trained")] {
                @if self.best(column) == Some(value) { b { (text) } } @else { (text) }
                @if let Some(ratio) = ratio.filter(|_| !is_home && !is_small) { small class=[(ratio > WORSE).then_some("no")] { "×" (two_digits(ratio)) } }
            }
        }
    }

    fn caption(&self, is_small: bool) -> Markup {
        let title = measure::title(self.metric);
        if is_small {
            return html! { strong { "The same as " (title) "." } };
        }
        html! {
            strong { "How large is the " (title) "?" }
            @if self.is_elsewhere_too() {
                " The network has only seen " (self.grid(self.errors.trained_at)) ". Read along a row: the small print is the \
                 ratio to the error of the same weights there. A neural operator keeps its error on other grids, so it \
                 should be near 1; it is coloured above " (WORSE) "."
            }
            @if self.depths.len() > 1 { " Read down a column: each step in depth should lower the error, or at least not raise it." }
            @if self.columns.iter().any(|&column| self.best(column).is_some()) { " The smallest value of a column is bold." }
        }
    }

    /// The deepest network's errors over the resolution, a line per split and quadrature; nothing on a single grid.
    fn chart(&self) -> String {
        let grids: BTreeSet<usize> =
            self.columns.iter().filter(is_test).map(|c| c.2).filter(|&side| side > 0).collect();
        let splits: BTreeSet<_> = self.columns.iter().filter(is_test).map(|column| (column.0, column.1)).collect();
        let mut lines = Vec::new();
        for (&(order, split), &quadrature) in splits.iter().flat_map(|s| self.quadratures.iter().map(move |q| (s, q))) {
            let own = self.values.iter().filter(|(key, _)| key.0 == quadrature && key.2.1 == split);
            let Some(depth) = own.clone().map(|(key, _)| key.1).max() else { continue };
            let points = own.filter(|(key, _)| key.1 == depth).map(|(key, &value)| (key.2.2 as f64, value));
            let name = match (quadrature, splits.len()) {
                ("", _) => split.to_owned(),
                (_, 1) => quadrature.to_owned(),
                _ => format!("{split}, {quadrature}"),
            };
            let home = self.at_home(quadrature, depth, (order, split, 0));
            lines.push((format!("{name}, L = {depth}"), points.collect::<Vec<_>>(), home));
        }
        let values = lines.iter().flat_map(|line| &line.1).map(|point| point.1);
        let Some(axis) = measure::axis(self.metric, values).filter(|_| grids.len() > 1) else { return String::new() };

        let palette = Palette::new(0..lines.len());
        let entry = |(k, line): (usize, &(String, Vec<_>, Option<f64>))| {
            let marker = palette.marker(k, 12.0, 0.0);
            Entry::line(&line.0, palette.line(k)).with(format!("marker {}", palette.class(k)), marker)
        };
        let home =
            lines.iter().find_map(|line| line.2).map(|_| Entry::line("error at the training resolution", "line thin"));
        let entries: Vec<_> = lines.iter().enumerate().map(entry).chain(home).collect();
        let (legend, legend_height) = svg::legend(84.0, 14.0, &entries);
        let frame = Frame::wide(14.0 + legend_height + 20.0, 220.0, Axis::doublings(grids.iter().copied()), axis);
        let x_label = match self.metric {
            "error_rate" => "pixels along a side",
            _ if self.errors.is_square => "nodes along a side",
            _ => "points",
        };
        let y_ticks = measure::ticks(self.metric, axis, frame.height);
        let x_ticks = ticks(&frame, &grids, self.errors.trained_at);
        let mut content = legend + &frame.axes_at((&x_ticks, x_label), (&y_ticks, measure::title(self.metric)));
        content += &training_resolution(&frame, self.errors.trained_at, &grids);
        for (k, (_, points, home)) in lines.iter().enumerate() {
            let (class, left, right) = (palette.class(k), pixel(frame.left), pixel(frame.left + frame.width));
            if let Some(y) = home.and_then(|home| frame.down(home)) {
                content += &path(&format!("line thin {class}"), &format!("M{left} {}H{right}", pixel(y)));
            }
            content += &frame.line(points.iter().copied(), &palette.line(k));
            content += &frame.markers(points.iter().copied(), &palette, k);
        }
        let description =
            format!("The {} over the resolution, a line per kind of evaluation.", measure::title(self.metric));
        let drawing = frame.drawing("Error over resolution", &description, &content);
        let caption = "<strong>Does the error depend on the grid?</strong> A line that stays on the thin horizontal line of \
                       its colour, the error at the training resolution, is an operator that has been learned; one that \
                       rises away from there has learned its grid. Shown is the deepest network.";
        svg::figure(&drawing, caption)
    }
}

/// A tick at each resolution; of labels that would overlap, the training resolution's stays.
fn ticks(frame: &Frame, grids: &BTreeSet<usize>, trained_at: usize) -> Ticks {
    let mut labelled: Vec<usize> = Vec::new();
    let x = |resolution: usize| frame.across(resolution as f64).unwrap_or_default();
    for &resolution in grids.get(&trained_at).into_iter().chain(grids) {
        if labelled.iter().all(|&other| (x(other) - x(resolution)).abs() >= CLOSE) {
            labelled.push(resolution);
        }
    }
    Ticks::at(labelled)
}

/// The line at the training resolution with its name.
fn training_resolution(frame: &Frame, trained_at: usize, grids: &BTreeSet<usize>) -> String {
    let Some(x) = grids.get(&trained_at).and_then(|&resolution| frame.across(resolution as f64)) else {
        return String::new();
    };
    let (top, bottom) = (pixel(frame.top), pixel(frame.top + frame.height));
    path("frame", &format!("M{} {top}V{bottom}", pixel(x))) + &label(x, frame.top - 8.0, "tick middle", "trained here")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::tests::assert_well_formed;

    fn row(depth: usize, quadrature: &str, split: &str, resolution: usize, value: f64) -> ErrorRow {
        let (metric, confusion) = ("relative_l2".into(), Vec::new());
        let measure = Measure { split: split.into(), resolution, metric, value, confusion };
        ErrorRow { depth, quadrature: quadrature.into(), measure }
    }

    fn errors(rows: Vec<ErrorRow>) -> Errors {
        Errors { trained_at: 31, is_square: true, rows }
    }

    fn darcy() -> Vec<ErrorRow> {
        vec![
            row(1, "mean", "train", 31, 0.02),
            row(1, "mean", "test", 16, 0.06),
            row(1, "mean", "test", 31, 0.025),
            row(1, "mean", "test", 61, 0.03),
            row(2, "mean", "test", 16, 0.04),
            row(2, "mean", "test", 31, 0.02),
            row(2, "overlap", "test", 31, 0.021),
        ]
    }

    #[test]
    fn rows_are_compared_with_the_training_resolution() {
        let html = figure(&errors(darcy()));
        assert_well_formed(&html);
        assert!(html.contains("<small class=\"no\">×2.4</small>") && html.contains("<small>×1.2</small>"), "{html}");
        assert_eq!(html.matches("<small").count(), 3);
        // Training before test, coarse before fine.
        let heads = ["train<span>31 × 31", "test<span>16 × 16", "test<span>31 × 31", "test<span>61 × 61"];
        assert!(heads.map(|head| html.find(head).expect(head)).is_sorted());
        assert!(html.contains("quadrature: mean") && html.contains("quadrature: overlap"));
        assert!(html.contains("<b>4.00e-2</b>") && html.contains("<b>2.00e-2</b>"), "the best of each column");
        assert!(!html.contains("<b>3.00e-2</b>"), "nothing to compare it with");
        assert_eq!(html.matches("<td class=\"none\">–").count(), 3, "{html}");
    }

    #[test]
    fn the_drawing_has_a_line_per_quadrature_of_the_deepest_network() {
        let html = figure(&errors(darcy()));
        assert!(html.contains("trained here") && html.contains(">mean, L = 2<") && !html.contains("mean, L = 1"));
        // In the legend and in the drawing, where it has one point.
        assert_eq!(html.matches("class=\"line dashed c1\"").count(), 2);
        let elsewhere = Errors { trained_at: 40, ..errors(darcy()) };
        assert!(!figure(&elsewhere).contains("<small") && !figure(&elsewhere).contains("trained here"));
        let one_grid = errors(vec![row(1, "", "train", 31, 0.1), row(1, "", "test", 31, 0.2)]);
        assert!(!figure(&one_grid).contains("<svg") && figure(&one_grid).contains("2.00e-1"));
    }

    #[test]
    fn images_and_functions_share_the_table() {
        let of = |metric: &str, split: &str, side, value| {
            let row = row(2, "", split, side, value);
            ErrorRow { measure: Measure { metric: metric.into(), ..row.measure }, ..row }
        };
        let rate = |split: &str, side, value| of("error_rate", split, side, value);
        let html = figure(&errors(vec![
            rate("validation", 31, 0.0123),
            rate("validation", 16, 0.05),
            rate("official", 31, 0.011),
            of("loss", "validation", 31, 0.25),
        ]));
        assert_well_formed(&html);
        assert!(html.contains(">1.23 %<") && html.contains("<small class=\"no\">×4.1</small>"));
        assert!(html.contains("The same as loss.") && html.contains(">official, L = 2<"));
        let heads = ["validation<span>16 × 16", "validation<span>31 × 31", "official<span>31 × 31"];
        assert!(heads.map(|head| html.find(head).expect(head)).is_sorted(), "splits in the order of the rows");
        let points = Errors { is_square: false, ..errors(darcy()) };
        assert!(figure(&points).contains("61 points") && !figure(&points).contains("61 × 61"));
    }

    #[test]
    fn nothing_is_nothing_and_names_are_escaped() {
        assert_eq!(figure(&Errors::default()), "");
        let name = "<b>&\"";
        let html = figure(&errors(vec![row(1, name, name, 31, 0.1), row(1, name, name, 16, f64::NAN)]));
        assert_well_formed(&html);
        assert!(!html.contains("<b>&") && html.contains("not finite") && !html.contains("NaN"));
        assert_well_formed(&figure(&Errors { trained_at: 0, ..errors(vec![row(0, "", "test", 0, 0.0); 2]) }));
    }
}
