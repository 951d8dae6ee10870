//! Tables of text: parameter counts and eigenvalues.

use std::collections::BTreeSet;

use super::model::{display_name, model_rank};
use super::paper;
use crate::report::text::{compact, minus};

/// A table whose cells are plain text; the first column names the rows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SimpleTable {
    /// The heading, in plain text.
    pub title: String,
    /// What to look for, in plain text.
    pub caption: String,
    /// The heads of the columns.
    pub columns: Vec<String>,
    /// The cells, row by row.
    pub rows: Vec<Vec<String>>,
}

/// Our number of parameters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Count {
    /// "gkn", "fno" or "nkn".
    pub model: String,
    /// The number of layers.
    pub depth: usize,
    /// Trainable numbers; a complex one counts once, as in the paper.
    pub parameters: usize,
}

/// The range of the eigenvalues of our R - L_k.
#[derive(Debug, Clone, PartialEq)]
pub struct Eigenvalues {
    /// "gkn" or "nkn".
    pub model: String,
    /// The number of layers.
    pub depth: usize,
    /// The smallest real part.
    pub smallest: f64,
    /// The largest real part.
    pub largest: f64,
    /// The largest |1 - dt λ|: what a layer does to the worst direction.
    pub amplification: f64,
    /// The smallest eigenvalue of the symmetric part: positive if the equation contracts in L².
    pub symmetric: f64,
}

/// The models of some rows in the order of the paper.
fn models<'a>(names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let ranked: BTreeSet<_> = names.map(|model| (model_rank(model), model)).collect();
    ranked.into_iter().map(|(_, model)| model).collect()
}

/// The numbers of parameters, ours beside the paper's.
pub fn parameter_table(experiment: &str, counts: &[Count]) -> SimpleTable {
    let ours = counts.iter().map(|count| count.depth);
    let depths: BTreeSet<usize> = paper::count_depths(experiment).chain(ours).collect();
    let mut tenfold = false;
    let mut cell = |model: &str, depth: usize| {
        let count = counts.iter().find(|count| count.model == model && count.depth == depth);
        let printed = paper::published_count(experiment, model, depth);
        let paper = printed.map(|printed| format!(" ({printed})")).unwrap_or_default();
        let Some(count) = count else { return format!("–{paper}") };
        let mark = match printed.map(|printed| agreement(count.parameters, printed)) {
            Some(Agreement::Tenfold) => "*",
            Some(Agreement::None) => " ≠",
            _ => "",
        };
        tenfold |= mark == "*";
        format!("{}{paper}{mark}", thousands(count.parameters))
    };
    let rows = models(counts.iter().map(|count| count.model.as_str())).into_iter().map(|model| {
        std::iter::once(display_name(model)).chain(depths.iter().map(|&depth| cell(model, depth))).collect()
    });
    let rows = rows.collect();
    let star = if tenfold {
        " *: the paper's number is ours divided by ten; the widths that it states give ours."
    } else {
        ""
    };
    SimpleTable {
        title: "Trainable parameters".into(),
        caption: format!("Ours, and the paper's in parentheses; ≠ marks a difference that is not rounding.{star}"),
        columns: std::iter::once("model".to_owned()).chain(depths.iter().map(|depth| format!("L = {depth}"))).collect(),
        rows,
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Agreement {
    Same,
    Tenfold,
    None,
}

/// Whether a count is the printed one, to a unit of its last digit (the paper rounds or cuts off).
fn agreement(count: usize, printed: &str) -> Agreement {
    let unit = if printed.ends_with('M') { 1e6 } else { 1e3 };
    let digits = printed.trim_end_matches(['k', 'M']);
    let Ok(value) = digits.parse::<f64>() else { return Agreement::None };
    // All counts are printed with two decimals.
    let near = |count: f64| (count / unit - value).abs() < 0.01;
    match count as f64 {
        count if near(count) => Agreement::Same,
        count if near(count / 10.0) => Agreement::Tenfold,
        _ => Agreement::None,
    }
}

/// A number with commas, as in 4,731,969.
pub fn thousands(number: usize) -> String {
    let digits = number.to_string();
    let groups: Vec<&str> = digits.as_bytes().rchunks(3).rev().filter_map(|group| str::from_utf8(group).ok()).collect();
    groups.join(",")
}

/// The ranges of the eigenvalues, ours beside the paper's.
pub fn eigenvalue_table(ours: &[Eigenvalues]) -> SimpleTable {
    let models = models(ours.iter().map(|range| range.model.as_str()));
    let depths: BTreeSet<usize> = paper::eigenvalue_depths().chain(ours.iter().map(|range| range.depth)).collect();
    let cells = |model: &str, depth: usize| {
        let range = ours.iter().find(|range| range.model == model && range.depth == depth);
        let paper = paper::published_eigenvalues(model, depth);
        let cell = |ours: Option<f64>, paper: Option<f64>| {
            let paper = paper.map(|value| format!(" ({})", eigenvalue(value))).unwrap_or_default();
            format!("{}{paper}", ours.map_or_else(|| "–".to_owned(), eigenvalue))
        };
        [
            cell(range.map(|range| range.smallest), paper.map(|range| range.0)),
            cell(range.map(|range| range.largest), paper.map(|range| range.1)),
            cell(range.map(|range| range.amplification), None),
            cell(range.map(|range| range.symmetric), None),
        ]
    };
    let row = |&depth: &usize| {
        let cells = models.iter().flat_map(|model| cells(model, depth));
        std::iter::once(depth.to_string()).chain(cells).collect()
    };
    let names = ["smallest", "largest", "amplification", "symmetric part"];
    let heads = models.iter().flat_map(|model| names.map(|name| format!("{} {name}", display_name(model))));
    SimpleTable {
        title: "Eigenvalues of the learned operator R − L_k".into(),
        caption: "Real parts, ours, and the paper's in parentheses. The paper takes a positive smallest eigenvalue as \
                  the sign of stability: look at whether NKN's stay positive, and whether GKN's change their sign. But a \
                  layer is a stable step only if it amplifies no direction: amplification is the largest |1 − dt λ| (dt = 1/L, \
                  GKN 1 without its activation), symmetric part the smallest eigenvalue of the symmetric part."
            .into(),
        columns: std::iter::once("depth L".to_owned()).chain(heads).collect(),
        rows: depths.iter().map(row).collect(),
    }
}

/// With four decimals, as in the paper.
fn eigenvalue(value: f64) -> String {
    if value.abs() < 1e4 { minus(&format!("{value:.4}")) } else { compact(value) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_agree_to_the_last_digit_that_is_printed() {
        assert_eq!(agreement(67_016, "67.02k"), Agreement::Same);
        // Cut off instead of rounded.
        assert_eq!(agreement(78_337, "78.33k"), Agreement::Same);
        assert_eq!(agreement(1_123_777, "1.12M"), Agreement::Same);
        assert_eq!(agreement(4_731_969, "473.20k"), Agreement::Tenfold);
        assert_eq!(agreement(67_100, "67.02k"), Agreement::None);
    }

    #[test]
    fn the_parameter_table_has_ours_beside_the_papers() {
        let count = |model: &str, depth, parameters| Count { model: model.into(), depth, parameters };
        let table = parameter_table("darcy", &[count("nkn", 1, 9_453_121), count("fno", 64, 10_688_897)]);
        assert_eq!(table.columns.len(), 8);
        assert_eq!(table.rows[0][0], "FNO");
        assert_eq!(table.rows[0][7], "10,688,897");
        assert_eq!(table.rows[0][6], "– (5.35M)");
        assert_eq!(table.rows[1][1], "9,453,121 (945.31k)*");
        assert!(table.caption.contains("divided by ten"));
        assert!(table.rows.iter().all(|row| row.len() == table.columns.len()));
    }

    #[test]
    fn the_eigenvalue_table_has_four_columns_per_model() {
        let range = Eigenvalues {
            model: "nkn".into(),
            depth: 3,
            smallest: -0.5,
            largest: 12.0,
            amplification: 3.0,
            symmetric: -0.75,
        };
        let table = eigenvalue_table(&[range]);
        assert_eq!(table.columns.len(), 5);
        assert_eq!(table.columns[..3], ["depth L", "NKN smallest", "NKN largest"]);
        assert_eq!(table.rows.len(), 7);
        assert_eq!(table.rows[0], ["1", "– (−0.1183)", "– (1.6012)", "–", "–"]);
        assert_eq!(table.rows[2], ["3", "−0.5000", "12.0000", "3.0000", "−0.7500"]);
    }
}
