//! Tables as LaTeX, in the style of the package booktabs.

use super::cell::Cell;
use super::simple::SimpleTable;
use super::table::{ComparisonTable, Half};

/// What a document needs to load.
const PREAMBLE: &str = "% Needs \\usepackage{booktabs}.\n";

/// A comparison: two lines a row, ours and the paper's.
pub fn comparison(table: &ComparisonTable) -> String {
    let columns = table.depths.len() + 1;
    let heads: String = table.depths.iter().map(|depth| format!(" & $L={depth}$")).collect();
    let halves: String = table.halves.iter().map(|half| self::half(table, half, columns)).collect();
    let caption = format!(
        "{}. Relative $L^2$ errors (means $\\pm$ standard errors), ours in the first line of a row, the published \
         ones in the second. Bold: the smallest of our errors in a column, on the same samples. $\\dagger$: as bad as \
         ignoring the input, in all seeds or in so many. INF: above $10^5$.",
        escape(&table.title())
    );
    let body = format!("Model, samples{heads} \\\\\n{halves}");
    let label = format!("tab:{}-{}", table.experiment, table.trained_at);
    float(columns, &body, &caption, &label)
}

fn half(table: &ComparisonTable, half: &Half, columns: usize) -> String {
    let missing = if half.is_run() { "" } else { ": not run" };
    let mut body = format!("\\midrule\n\\multicolumn{{{columns}}}{{c}}{{{}{missing}}} \\\\\n", escape(half.title()));
    if !half.is_run() {
        return body;
    }
    let mut model = "";
    for row in &half.rows {
        if row.model != model {
            body.push_str("\\midrule\n");
            model = &row.model;
        }
        let ours: String = row.cells.iter().map(|cell| format!(" & {}", ours(cell))).collect();
        let paper: String = row.cells.iter().map(|cell| format!(" & {}", paper(cell))).collect();
        body.push_str(&format!("{}{ours} \\\\\n\\quad published{paper} \\\\\n", escape(&table.row_name(row))));
    }
    body
}

fn ours(cell: &Cell) -> String {
    let mark = match cell.mark().strip_prefix('†') {
        Some(seeds) => format!("$^{{\\dagger{{}}{seeds}}}$"),
        None => String::new(),
    };
    let text = escape(&format!("{}{}", cell.mean_text(), cell.error_text(2))) + &mark;
    if cell.is_best { format!("\\textbf{{{text}}}") } else { text }
}

fn paper(cell: &Cell) -> String {
    escape(&format!("{}{}", cell.paper_mean_text(), cell.paper_error_text(2)))
}

/// A table of text.
pub fn simple(table: &SimpleTable) -> String {
    let line = |cells: &[String]| cells.iter().map(|cell| escape(cell)).collect::<Vec<_>>().join(" & ") + " \\\\\n";
    let body = line(&table.columns) + "\\midrule\n" + &table.rows.iter().map(|row| line(row)).collect::<String>();
    let name: String = table.title.chars().filter(char::is_ascii_alphanumeric).collect();
    let caption = escape(&format!("{}. {}", table.title, table.caption));
    float(table.columns.len(), &body, &caption, &format!("tab:{}", name.to_lowercase()))
}

/// A table in the text: its first column is left-aligned, the others right-aligned; body and caption are LaTeX.
pub fn float(columns: usize, body: &str, caption: &str, label: &str) -> String {
    let numbers = columns.saturating_sub(1);
    format!(
        "{PREAMBLE}\\begin{{table}}[htbp]\n\\centering\n\\scriptsize\n\\setlength{{\\tabcolsep}}{{3pt}}\n\
         \\begin{{tabular}}{{l*{{{numbers}}}{{r}}}}\n\\toprule\n{body}\\bottomrule\n\\end{{tabular}}\n\
         \\caption{{{caption}}}\n\\label{{{label}}}\n\\end{{table}}\n"
    )
}

/// Escapes text, and writes the signs that our tables use as commands: any engine then typesets them.
pub fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' | '%' | '$' | '#' | '_' | '{' | '}' => {
                escaped.push('\\');
                escaped.push(character);
            }
            '\\' => escaped.push_str("\\textbackslash{}"),
            '~' => escaped.push_str("\\textasciitilde{}"),
            '^' => escaped.push_str("\\textasciicircum{}"),
            '<' => escaped.push_str("$<$"),
            '>' => escaped.push_str("$>$"),
            '|' => escaped.push_str("$|$"),
            '±' => escaped.push_str("$\\pm$"),
            '×' => escaped.push_str("$\\times$"),
            '−' => escaped.push_str("$-$"),
            '≠' => escaped.push_str("$\\neq$"),
            '≤' => escaped.push_str("$\\leq$"),
            '≥' => escaped.push_str("$\\geq$"),
            '†' => escaped.push_str("$^\\dagger$"),
            '′' => escaped.push_str("$'$"),
            '²' => escaped.push_str("$^2$"),
            'λ' => escaped.push_str("$\\lambda$"),
            'Δ' => escaped.push_str("$\\Delta$"),
            '–' => escaped.push_str("--"),
            _ => escaped.push(character),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::super::simple::{Count, parameter_table};
    use super::super::table::tests::example;
    use super::*;

    /// Braces and environments are closed, rows have the same number of cells, and all is plain ASCII.
    fn check(text: &str, columns: usize) {
        let unescaped = text.replace("\\{", "").replace("\\}", "").replace("\\&", "").replace("\\$", "");
        assert_eq!(unescaped.matches('{').count(), unescaped.matches('}').count());
        assert_eq!(unescaped.matches('$').count() % 2, 0);
        assert_eq!(unescaped.matches("\\begin{").count(), unescaped.matches("\\end{").count());
        for row in unescaped.lines().filter(|line| line.ends_with("\\\\") && !line.contains("\\multicolumn")) {
            assert_eq!(row.matches('&').count() + 1, columns, "{row}");
        }
        assert!(text.is_ascii(), "{text}");
    }

    #[test]
    fn tables_are_well_formed() {
        let tables = example();
        check(&comparison(&tables[0]), 8);
        check(&comparison(&tables[1]), 8);
        let count = Count { model: "nkn".into(), depth: 1, parameters: 9_453_121 };
        check(&simple(&parameter_table("darcy", &[count])), 7);
    }

    #[test]
    fn cells_are_as_in_the_paper() {
        let text = comparison(&example()[0]);
        assert!(text.contains("\\textbf{1.50e-3$\\pm$5.00e-4}"));
        assert!(text.contains("FNO, test & -- & 8.50e-3$\\pm$5.00e-4 & 9.95e-1$\\pm$5.00e-3$^{\\dagger{}}$ & -- &"));
        assert!(text.contains("\\quad published & 2.07e-2$\\pm$2.97e-4 &"));
        assert!(comparison(&example()[1]).contains("data: not run} \\\\"));
    }

    #[test]
    fn special_characters_are_escaped() {
        assert_eq!(escape("50 % of a_b & c\\d"), "50 \\% of a\\_b \\& c\\textbackslash{}d");
    }
}
