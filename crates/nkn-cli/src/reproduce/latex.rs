//! Tables as LaTeX, in the style of the package booktabs: two lines a row, ours and the paper's.

use super::cell::Cell;
use super::markdown::explanation;
use super::simple::SimpleTable;
use super::table::{Column, Group, Line, Table};

/// What a document needs to load.
const PREAMBLE: &str = "% Needs \\usepackage{booktabs}.\n";

/// A comparison.
pub fn comparison(table: &Table) -> String {
    let columns = table.columns.len() + 1;
    let (mut over, mut rules, mut next) = (String::new(), String::new(), 2);
    for shared in table.columns.chunk_by(|a, b| a.over == b.over).filter(|shared| !shared[0].over.is_empty()) {
        let width = shared.len();
        over += &format!(" & \\multicolumn{{{width}}}{{c}}{{{}}}", escape(&shared[0].over));
        rules += &format!("\\cmidrule(lr){{{next}-{}}}", next + width - 1);
        next += width;
    }
    let over = if over.is_empty() { over } else { format!("{over} \\\\\n{rules}\n") };
    let heads: String = table.columns.iter().map(|Column { head, .. }| format!(" & {}", escape(head))).collect();
    let groups: String = table.groups.iter().map(|group| self::group(group, columns)).collect();
    let caption = format!(
        "{}. {} Means $\\pm$ standard errors, ours in the first line of a row, the published ones in the second. Bold: the \
         smallest of ours in a column, on the same samples. $\\dagger$: as bad as ignoring the input, in all seeds or in so \
         many. INF: above $10^5$.",
        escape(&table.title),
        escape(explanation(table))
    );
    float(columns, &format!("{over}{}{heads} \\\\\n{groups}", escape(table.corner)), &caption, &table.label)
}

fn group(group: &Group, columns: usize) -> String {
    let missing = if group.is_run() { "" } else { ": not run" };
    let title = format!("\\midrule\n\\multicolumn{{{columns}}}{{c}}{{{}{missing}}} \\\\\n", escape(group.title));
    let mut body = if group.title.is_empty() { String::new() } else { title };
    if !group.is_run() {
        return body;
    }
    let mut model = "";
    for line in &group.lines {
        if line.model != model {
            body.push_str("\\midrule\n");
            model = &line.model;
        }
        let row =
            |cell: &dyn Fn(&Cell) -> String| line.cells.iter().map(|c| format!(" & {}", cell(c))).collect::<String>();
        let (name, ours) = (escape(&line.name()), row(&|cell| ours(line, cell)));
        body.push_str(&format!("{name}{ours} \\\\\n\\quad published{} \\\\\n", row(&paper)));
    }
    body
}

fn ours(line: &Line, cell: &Cell) -> String {
    if line.is_quoted() && !cell.is_run() {
        return String::new();
    }
    let mark = cell.mark().strip_prefix('†').map(|seeds| format!("$^{{\\dagger{{}}{seeds}}}$")).unwrap_or_default();
    let text = escape(&format!("{}{}", cell.mean_text(), cell.error_text())) + &mark;
    if cell.is_best { format!("\\textbf{{{text}}}") } else { text }
}

fn paper(cell: &Cell) -> String {
    let tao = if cell.tao.is_some() { format!(" ({})", cell.tao_text()) } else { String::new() };
    escape(&format!("{}{}{tao}", cell.paper_text(), cell.paper_error_text()))
}

/// A table of text.
pub fn simple(table: &SimpleTable) -> String {
    let line = |cells: &[String]| cells.iter().map(|cell| escape(cell)).collect::<Vec<_>>().join(" & ") + " \\\\\n";
    let body = line(&table.columns) + "\\midrule\n" + &table.rows.iter().map(|row| line(row)).collect::<String>();
    let name: String = table.title.chars().filter(char::is_ascii_alphanumeric).collect();
    let caption = escape(&format!("{}. {}", table.title, table.caption));
    float(table.columns.len(), &body, &caption, &name.to_lowercase())
}

/// A table in the text: its first column is left-aligned, the others right-aligned; body and caption are LaTeX.
fn float(columns: usize, body: &str, caption: &str, label: &str) -> String {
    let numbers = columns.saturating_sub(1);
    format!(
        "{PREAMBLE}\\begin{{table}}[htbp]\n\\centering\n\\scriptsize\n\\setlength{{\\tabcolsep}}{{3pt}}\n\
         \\begin{{tabular}}{{l*{{{numbers}}}{{r}}}}\n\\toprule\n{body}\\bottomrule\n\\end{{tabular}}\n\
         \\caption{{{caption}}}\n\\label{{tab:{label}}}\n\\end{{table}}\n"
    )
}

/// Signs, each followed by the command for it: any engine then typesets them.
const SIGNS: &str = "\\ \\textbackslash{} ~ \\textasciitilde{} ^ \\textasciicircum{} < $<$ > $>$ | $|$ ± $\\pm$ × $\\times$ \
                     − $-$ ≠ $\\neq$ ≤ $\\leq$ ≥ $\\geq$ † $^\\dagger$ ′ $'$ ² $^2$ λ $\\lambda$ → $\\to$ – -- ’ '";

/// Escapes text, and writes the signs that our tables use as commands.
fn escape(text: &str) -> String {
    let signs: Vec<&str> = SIGNS.split(' ').collect();
    let escape = |character: char| match signs.chunks(2).find(|sign| sign[0].starts_with(character)) {
        Some(sign) => sign[1].to_owned(),
        None if "&%$#_{}".contains(character) => format!("\\{character}"),
        None => character.to_string(),
    };
    text.chars().map(escape).collect()
}

#[cfg(test)]
mod tests {
    use super::super::problem::tests::request;
    use super::super::row::tests::{image, seeds};
    use super::super::row::{Key, Row};
    use super::super::simple::parameters;
    use super::super::table::tests::{digits, functions};
    use super::super::table::{costs, errors, tables};
    use super::*;

    /// Braces and environments are closed, rows have the same number of cells, and all is plain ASCII.
    fn check(text: &str, columns: usize) {
        let unescaped =
            ["\\{", "\\}", "\\&", "\\$", "\\%"].iter().fold(text.to_owned(), |text, sign| text.replace(sign, ""));
        assert_eq!(unescaped.matches('{').count(), unescaped.matches('}').count());
        assert_eq!(unescaped.matches('$').count() % 2, 0);
        assert_eq!(unescaped.matches("\\begin{").count(), unescaped.matches("\\end{").count());
        assert!(!unescaped.lines().skip(1).any(|line| line.contains('%')), "a comment would cut the table");
        for row in unescaped.lines().filter(|line| line.ends_with("\\\\") && !line.contains("\\multicolumn")) {
            assert_eq!(row.matches('&').count() + 1, columns, "{row}");
        }
        assert!(text.is_ascii(), "{text}");
    }

    fn digits_with(model: &str) -> Vec<Row> {
        [seeds(&image(model, Some(2), 28, 28), &[0.03, 0.04]), seeds(&image(model, Some(2), 28, 14), &[0.06])].concat()
    }

    #[test]
    fn tables_are_well_formed() {
        check(&comparison(&functions("poisson")[0]), 8);
        check(&comparison(&functions("darcy")[0]), 8);
        check(&comparison(&digits()[0]), 5);
        let mnist = request("mnist").problem;
        let odd = digits_with("odd_{#1}&%");
        let text = comparison(&tables(mnist, &errors(mnist, &odd))[0]);
        check(&text, 5);
        assert!(
            text.contains("odd\\_\\{\\#1\\}\\&\\%, L = 2 & 3.50 \\%$\\pm$0.50 & 6.00 \\% & -- & -- \\\\"),
            "{text}"
        );
        check(&comparison(&tables(mnist, &costs(mnist, &odd))[0]), 3);
        let count = seeds(&Key { metric: "parameters".into(), ..image("cnn", Some(1), 28, 28) }, &[9_453_121.0]);
        check(&simple(&parameters(mnist, &count).unwrap()), 2);
    }

    #[test]
    fn cells_are_as_in_the_paper() {
        let text = comparison(&functions("poisson")[0]);
        assert!(text.contains("\\textbf{1.50e-3$\\pm$5.0e-4}"));
        assert!(text.contains("FNO, test & -- & 8.50e-3$\\pm$5.0e-4 & 9.95e-1$\\pm$5.0e-3$^{\\dagger{}}$ & -- &"));
        assert!(text.contains("\\quad published & 2.07e-2$\\pm$3.0e-4 &"));
        assert!(comparison(&functions("darcy")[0]).contains("data: not run} \\\\"));
        let text = comparison(&digits()[0]);
        let heads = "\\multicolumn{2}{c}{trained on coarse images} \\\\\n\\cmidrule(lr){2-3}\\cmidrule(lr){4-5}";
        assert!(text.contains(heads), "{text}");
        assert!(
            text.contains("Multiscale CNN* (Haber et al.) &  &  &  &  \\\\\n\\quad published & 1.82 \\% & 5.08 \\% &")
        );
    }

    #[test]
    fn every_sign_has_its_command() {
        let signs: Vec<_> = SIGNS.split(' ').collect();
        for sign in signs.chunks(2) {
            assert!(sign.len() == 2 && sign[0].chars().count() == 1 && sign[1].is_ascii(), "{sign:?}");
            assert_eq!(escape(&format!("a {} b", sign[0])), format!("a {} b", sign[1]));
        }
        assert_eq!(escape("λ² ≤ 5 %, a_b{}"), "$\\lambda$$^2$ $\\leq$ 5 \\%, a\\_b\\{\\}");
    }
}
