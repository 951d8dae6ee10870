//! The parts that are text: facts, tables and notes.

use std::collections::{BTreeMap, BTreeSet};

use super::scale::extent;
use super::text::{compact, escape, scientific};
use super::{ErrorRow, Spectrum};

/// Rounding of single precision: an amplification this close to one counts as one.
const ROUNDING: f64 = 1e-6;

/// Names and values under the title; long values, such as commands, get a line of their own.
pub fn facts(facts: &[(String, String)]) -> String {
    if facts.is_empty() {
        return String::new();
    }
    let entries: String = (facts.iter())
        .map(|(name, value)| match value.chars().count() {
            0..=32 => format!("<div><dt>{}</dt><dd>{}</dd></div>\n", escape(name), escape(value)),
            _ => {
                format!("<div class=\"wide\"><dt>{}</dt><dd><code>{}</code></dd></div>\n", escape(name), escape(value))
            }
        })
        .collect();
    format!("<dl>\n{entries}</dl>")
}

/// The remarks at the end.
pub fn notes(notes: &[String]) -> String {
    if notes.is_empty() {
        return String::new();
    }
    let items: String = notes.iter().map(|note| format!("<li>{}</li>\n", escape(note))).collect();
    format!("<ul>\n{items}</ul>\n")
}

/// The error tables: a row per depth, a column per split and resolution.
pub fn errors(rows: &[ErrorRow]) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let grids: BTreeSet<usize> = rows.iter().map(|row| row.resolution).collect();
    let advice = if grids.len() > 1 {
        "Read along a row: a neural operator should keep its error on grids that it was not trained on."
    } else {
        "Read down a column: each step in depth should lower the error, or at least not raise it."
    };
    let bold = if rows.iter().any(|row| row.depth != rows[0].depth) {
        " The smallest value of each column is bold."
    } else {
        ""
    };
    let caption = format!("<strong>Relative L² errors.</strong> {advice}{bold}");
    let large = pivot(rows, "errors", &caption, |row| row.relative_l2);
    let small = pivot(rows, "errors small", "<strong>The same, squared:</strong> relative squared L² errors.", |row| {
        row.relative_l2_squared
    });
    large + &small
}

/// One table of errors, columns sorted by split (training first) and resolution.
fn pivot(rows: &[ErrorRow], class: &str, caption: &str, value: impl Fn(&ErrorRow) -> f64) -> String {
    let column = |row: &ErrorRow| (row.split != "train", row.split.clone(), row.resolution);
    let depths: BTreeSet<usize> = rows.iter().map(|row| row.depth).collect();
    let columns: BTreeSet<_> = rows.iter().map(column).collect();
    let values: BTreeMap<_, f64> = rows.iter().map(|row| ((row.depth, column(row)), value(row))).collect();
    let trained_on: BTreeSet<usize> =
        rows.iter().filter(|row| row.split == "train").map(|row| row.resolution).collect();

    let mut head = "<th scope=\"col\">depth L</th>".to_owned();
    for (_, split, resolution) in &columns {
        let mark = if trained_on.contains(resolution) { "<span class=\"mark\">training grid</span>" } else { "" };
        head.push_str(&format!("<th scope=\"col\">{}<span>{resolution} points</span>{mark}</th>", escape(split)));
    }
    let best = |column| extent(depths.iter().filter_map(|&depth| values.get(&(depth, Clone::clone(column))).copied()));
    let mut body = String::new();
    for &depth in &depths {
        body.push_str(&format!("<tr><th scope=\"row\">{depth}</th>"));
        for column in &columns {
            body.push_str(&match values.get(&(depth, column.clone())) {
                Some(&error) if depths.len() > 1 && best(column).is_some_and(|(low, _)| low == error) => {
                    format!("<td><b>{}</b></td>", scientific(error))
                }
                Some(&error) => format!("<td>{}</td>", scientific(error)),
                None => "<td class=\"none\">–</td>".to_owned(),
            });
        }
        body.push_str("</tr>\n");
    }
    table(class, caption, &head, &body)
}

/// The numbers of the spectra.
pub fn spectra(spectra: &[Spectrum]) -> String {
    let head: String =
        ["depth L", "Δt", "smallest Re λ", "largest Re λ", "smallest λ of symmetric part", "largest <i>|1 − Δt λ|</i>"]
            .into_iter()
            .chain(["stable step?", "stable from depth"])
            .map(|name| format!("<th scope=\"col\">{name}</th>"))
            .collect();
    let body: String = (spectra.iter())
        .map(|spectrum| {
            let real_parts = || spectrum.eigenvalues.iter().map(|value| value.0);
            let range = extent(real_parts()).filter(|_| real_parts().all(f64::is_finite));
            let (low, high) = range.unwrap_or((f64::NAN, f64::NAN));
            let numbers = [spectrum.step, low, high, spectrum.smallest_symmetric, spectrum.amplification];
            let cells: String = numbers.map(|number| format!("<td>{}</td>", compact(number))).concat();
            let from = spectrum.stable_from.map_or_else(|| "none".to_owned(), |depth| depth.to_string());
            let stable = stable(spectrum.amplification);
            format!("<tr><th scope=\"row\">{}</th>{cells}<td>{stable}</td><td>{from}</td></tr>\n", spectrum.depth)
        })
        .collect();
    let caption = "<strong>Stability in numbers.</strong> A layer is a stable step if no mode grows: \
                   largest <i>|1 − Δt λ| ≤ 1</i>. A positive smallest eigenvalue of the symmetric part says that the operator itself \
                   is dissipative, so that enough layers (last column) make the step stable.";
    table("spectra", caption, &head, &body)
}

/// The answer to "stable step?"; where rounding would hide by how much the step misses it, this is said.
fn stable(amplification: f64) -> String {
    let excess = amplification - 1.0;
    if !excess.is_finite() {
        "unknown".to_owned()
    } else if excess <= ROUNDING {
        "<span class=\"yes\">yes</span>".to_owned()
    } else if excess < 1e-3 {
        format!("<span class=\"no\">no, by {}</span>", scientific(excess))
    } else {
        "<span class=\"no\">no</span>".to_owned()
    }
}

/// A table whose caption may contain markup.
pub fn table(class: &str, caption: &str, head: &str, body: &str) -> String {
    format!(
        "<div class=\"scroll\"><table class=\"{class}\">\n<caption>{caption}</caption>\n\
         <thead><tr>{head}</tr></thead>\n<tbody>\n{body}</tbody>\n</table></div>\n"
    )
}
