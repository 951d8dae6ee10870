//! The errors of several outputs and of the components of vectors: a table beside that of the whole.

use super::errors::{ErrorRow, Errors};
use super::measure;
use super::text::{size, unique};
use maud::{Markup, html};

/// What stands before the name of an output or a component in a metric.
const PREFIX: &str = "relative_l2:";

/// Whether a metric is about a part of what is predicted.
pub fn is_part(metric: &str) -> bool {
    metric.starts_with(PREFIX)
}

/// The output or component that a metric is about; nothing for the whole.
fn part(row: &ErrorRow) -> Option<&str> {
    match row.measure.metric.as_str() {
        "relative_l2" => Some(""),
        metric => metric.strip_prefix(PREFIX),
    }
}

/// A column per output and component, a block of rows per set of samples, a row per depth; nothing without parts.
pub fn table(errors: &Errors) -> Markup {
    let rows: Vec<(&ErrorRow, &str)> = errors.rows.iter().filter_map(|row| Some((row, part(row)?))).collect();
    let parts = unique(rows.iter().map(|(_, part)| *part));
    if parts.len() < 2 {
        return Markup::default();
    }
    let mut sets: Vec<(&str, usize, &str)> = Vec::new();
    for (row, _) in &rows {
        let set = (row.measure.split.as_str(), row.measure.resolution, row.quadrature.as_str());
        if !sets.contains(&set) {
            sets.push(set);
        }
    }
    let of = |set: &(&str, usize, &str), depth: usize, part: &str| {
        let is_it = |row: &ErrorRow| {
            (row.measure.split.as_str(), row.measure.resolution, row.quadrature.as_str()) == *set && row.depth == depth
        };
        rows.iter().find(|(row, own)| *own == part && is_it(row)).map(|(row, _)| row.measure.value)
    };
    let mut depths: Vec<usize> = rows.iter().map(|(row, _)| row.depth).collect();
    depths.sort_unstable();
    depths.dedup();
    html! {
        div.scroll { table.errors {
            caption {
                strong { "Which part is hard to predict?" }
                " The relative L² error of every output, and of every component of a vector (counted from 0), each relative \
                 to its own size. A small component beside a large one has a large relative error without much harm."
            }
            thead { tr {
                th scope="col" { "depth L" }
                @for part in &parts { th scope="col" { @if part.is_empty() { "all" } @else { (part) } } }
            } }
            tbody {
                @for set in &sets {
                    tr.group { th scope="colgroup" colspan=(parts.len() + 1) { (title(errors, set)) } }
                    @for &depth in depths.iter().filter(|&&depth| parts.iter().any(|part| of(set, depth, part).is_some())) {
                        tr {
                            th scope="row" { (depth) }
                            @for part in &parts {
                                @match of(set, depth, part) {
                                    Some(value) => td { (measure::written("relative_l2", value)) },
                                    None => td.none { "–" },
                                }
                            }
                        }
                    }
                }
            }
        } }
    }
}

fn title(errors: &Errors, (split, resolution, quadrature): &(&str, usize, &str)) -> String {
    let nodes = if errors.is_square { size(*resolution) } else { format!("{resolution} points") };
    let rule = if quadrature.is_empty() { String::new() } else { format!(", quadrature: {quadrature}") };
    format!("{split}, {nodes}{rule}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::tests::assert_well_formed;
    use nkn::train::Measure;

    fn row(depth: usize, split: &str, metric: &str, value: f64) -> ErrorRow {
        let measure =
            Measure { split: split.into(), resolution: 90, metric: metric.into(), value, confusion: Vec::new() };
        ErrorRow { depth, quadrature: String::new(), measure }
    }

    #[test]
    fn parts_are_columns_sets_are_blocks_and_depths_rows() {
        let metrics = ["relative_l2", "relative_l2_squared", "relative_l2:p", "relative_l2:v<", "relative_l2:v<.0"];
        let all = |depth, split: &'static str| metrics.map(|metric| row(depth, split, metric, 0.01 * depth as f64));
        let mut rows: Vec<_> = [all(1, "train"), all(1, "test"), all(2, "train"), all(2, "test")].concat();
        rows.pop();
        let html = table(&Errors { trained_at: 90, is_square: false, rows }).into_string();
        assert_well_formed(&html);
        let heads = [">depth L<", ">all<", ">p<", ">v&lt;<", ">v&lt;.0<", ">train, 90 points<", ">test, 90 points<"];
        assert!(heads.map(|head| html.find(head).expect(head)).is_sorted(), "{html}");
        assert_eq!((html.matches("2.00e-2").count(), html.matches("class=\"none\"").count()), (7, 1));
    }

    #[test]
    fn one_scalar_has_no_parts() {
        let rows = vec![row(1, "test", "relative_l2", 0.1), row(1, "test", "relative_l2_squared", 0.01)];
        assert_eq!(table(&Errors { rows, ..Errors::default() }).into_string(), "");
        assert!(is_part("relative_l2:v.0") && !is_part("relative_l2") && !is_part("relative_l2_squared"));
    }
}
