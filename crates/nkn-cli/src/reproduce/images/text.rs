//! Tables as Markdown and as LaTeX: ours, and in parentheses the paper's with ours divided by it.

use super::super::{latex, markdown};
use super::Budget;
use super::cost::unfinished_words;
use super::entry::{Entry, Unit};
use super::table::{Grid, Line};

/// The paper's side of a cell in plain text, or nothing.
fn paper(entry: &Entry) -> String {
    let parts = [
        entry.paper_text(),
        entry.cell.ratio_text(),
        entry.tao.map(|_| format!("Tao et al. {}", entry.tao_text())).unwrap_or_default(),
    ];
    let parts: Vec<_> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    if parts.is_empty() { String::new() } else { format!(" ({})", parts.join(", ")) }
}

/// Our side in plain text; nothing for numbers that the paper quotes: they are not ours to run.
fn ours(line: &Line, entry: &Entry) -> String {
    let error = entry.error_text();
    let space = if error.is_empty() { "" } else { " " };
    match entry.cell.ours {
        None if line.row.is_quoted() => String::new(),
        _ => format!("{}{space}{error}", entry.ours_text()),
    }
}

/// What the cells are, in plain text.
fn explanation(grid: &Grid, budget: &Budget) -> String {
    let numbers = match (grid.unit, grid.has_paper()) {
        (Unit::Factor, _) => {
            "Error at another resolution divided by that at the resolution of the training: 1 is a network that does not \
             mind. Ours (the paper's, ours divided by it)."
        }
        (Unit::Percent, true) => {
            "Classification errors, ours (the paper's, ours divided by it). Bold: the smallest of ours in a column."
        }
        (Unit::Percent, false) => {
            "Classification errors, ours; the paper has none on these images. Bold: the smallest in a column."
        }
    };
    let quick = if budget.is_quick { " A quick trial, not to judge the networks by." } else { "" };
    let words = budget.words.trim_end_matches('.');
    format!("{numbers} Images: {}. Budget: {words}.{quick}", grid.images())
}

/// A table in Markdown.
pub fn markdown(grid: &Grid, budget: &Budget) -> String {
    let size = |side| grid.task.size_name(side);
    let heads = grid.columns.iter().map(|c| format!("{} → {}", size(c.trained_at), size(c.tested_at)));
    let head: Vec<_> = std::iter::once("network, trained → tested on".to_owned()).chain(heads).collect();
    let cell = |line: &Line, entry: &Entry| {
        let ours = ours(line, entry) + &entry.mark();
        let ours = if entry.cell.is_best { format!("**{ours}**") } else { ours };
        format!("{ours}{}", paper(entry)).trim().to_owned()
    };
    let row = |line: &Line| {
        let cells = line.entries.iter().map(|entry| cell(line, entry));
        // A star would begin emphasis.
        std::iter::once(line.row.name().replace('*', "\\*")).chain(cells).collect()
    };
    let rows: Vec<Vec<String>> = grid.lines.iter().map(row).collect();
    format!(
        "### {}\n\n{} † No better than guessing. {} – Not run.\n\n{}",
        grid.title(),
        explanation(grid, budget),
        unfinished_words(),
        markdown::grid(&head, &rows)
    )
}

/// A table in LaTeX, with the heads of the paper's.
pub fn latex(grid: &Grid, budget: &Budget) -> String {
    let columns = grid.columns.len() + 1;
    let (mut trained, mut rules, mut next) = (String::new(), String::new(), 2);
    for (side, width) in grid.groups() {
        let name = latex::escape(&grid.task.size_name(side));
        trained += &format!(" & \\multicolumn{{{width}}}{{c}}{{Trained on {name} images}}");
        rules += &format!("\\cmidrule(lr){{{next}-{}}}", next + width - 1);
        next += width;
    }
    let tested: String =
        grid.columns.iter().map(|c| format!(" & {}", latex::escape(&grid.task.size_name(c.tested_at)))).collect();
    let mut body = format!("{trained} \\\\\n{rules}\nModel{tested} \\\\\n");
    let mut above = None;
    for line in &grid.lines {
        let group = Some(line.group());
        if group != above {
            body += "\\midrule\n";
            above = group;
        }
        let cells: String = line.entries.iter().map(|entry| format!(" & {}", latex_cell(line, entry))).collect();
        body += &format!("{}{cells} \\\\\n", latex::escape(&line.row.name()));
    }
    let caption = format!(
        "{}. {} $\\dagger$: no better than guessing. $\\ddagger$: training stopped before its last epoch.",
        latex::escape(&grid.title()),
        latex::escape(&explanation(grid, budget))
    );
    let kind = if grid.unit == Unit::Factor { "ratios" } else { "errors" };
    latex::float(columns, &body, &caption, &format!("tab:{}-{}-{kind}", grid.task.key(), grid.set))
}

fn latex_cell(line: &Line, entry: &Entry) -> String {
    let mark = entry.mark().replace('†', "\\dagger{}").replace('‡', "\\ddagger{}");
    let mark = if mark.is_empty() { mark } else { format!("$^{{{mark}}}$") };
    let ours = latex::escape(&ours(line, entry));
    let ours = if entry.cell.is_best { format!("\\textbf{{{ours}}}") } else { ours };
    format!("{ours}{mark}{}", latex::escape(&paper(entry))).trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::super::lookup::Lookup;
    use super::super::table::{self, tests::grids};
    use super::super::tests::{example, measured};
    use super::super::{Measured, Task};
    use super::*;

    fn budget() -> Budget {
        Budget { words: "3 epochs & 50 % of a_b.".into(), is_quick: true }
    }

    /// Braces are closed, rows have the same number of cells, and all is plain ASCII.
    fn check(text: &str, columns: usize) {
        let unescaped = text.replace("\\&", "").replace("\\$", "").replace("\\%", "");
        assert_eq!(unescaped.matches('{').count(), unescaped.matches('}').count());
        assert_eq!(unescaped.matches('$').count() % 2, 0);
        assert!(!unescaped.lines().skip(1).any(|line| line.contains('%')), "a comment would cut the table");
        for row in unescaped.lines().filter(|line| line.ends_with("\\\\") && !line.contains("\\multicolumn")) {
            assert_eq!(row.matches('&').count() + 1, columns, "{row}");
        }
        assert!(text.is_ascii(), "{text}");
    }

    #[test]
    fn latex_is_well_formed_and_escaped() {
        let odd = Measured { row: "odd_{#1}&%".into(), ..measured("", (28, 28), 0, 0.5) };
        let (grids, ratios) = grids(&[example(), vec![odd]].concat());
        let text = latex(&grids[0], &budget());
        check(&text, 5);
        check(&latex(&grids[1], &budget()), 5);
        check(&latex(&ratios, &budget()), 3);
        assert!(
            text.contains("\\multicolumn{2}{c}{Trained on coarse images} \\\\\n\\cmidrule(lr){2-3}\\cmidrule(lr){4-5}")
        );
        assert!(text.contains("3 epochs \\& 50 \\% of a\\_b. A quick trial"));
        assert!(text.contains("odd\\_\\{\\#1\\}\\&\\% & 50.00 \\% & --"));
    }

    #[test]
    fn latex_cells_show_both_numbers() {
        let text = latex(&grids(&example()).0[0], &budget());
        assert!(text.contains(
            "NKN, r = 3, L = 2 & 3.50 \\% $\\pm$0.50 (3.20 \\%, $\\times$1.1) & \\textbf{6.25 \\% $\\pm$1.75} (4.85 \\%, \
             $\\times$1.3) & -- (4.02 \\%) & -- (3.52 \\%) \\\\"
        ));
        assert!(text.contains("& 90.00 \\%$^{\\dagger{}}$ (27.88 \\%, $\\times$3.2) &"));
        assert!(text.contains("6.00 \\%$^{\\ddagger{}}$ (3.94 \\%, $\\times$1.5)"));
        assert!(
            text.contains("Multiscale CNN* (Haber et al.) & (1.82 \\%) & (5.08 \\%) & (9.98 \\%) & (1.72 \\%) \\\\")
        );
    }

    #[test]
    fn markdown_cells_show_both_numbers() {
        let text = markdown(&grids(&example()).0[0], &budget());
        assert!(text.contains("| network, trained → tested on | fine → fine | fine → coarse | coarse → fine |"));
        assert!(text.contains("| CNN, L = 1 | **2.00 %** (2.55 %, ×0.78) | 90.00 %† (27.88 %, ×3.2) | – (36.25 %) |"));
        assert!(text.contains("| Multiscale CNN\\* (Haber et al.) | (1.82 %) |"));
        assert!(text.contains("| NKN, r = 9, L = 7 | 5.00 % | – | – | – |\n"));
        let bars: Vec<_> =
            text.lines().filter(|line| line.starts_with('|')).map(|line| line.matches('|').count()).collect();
        assert_eq!(bars, [6; 22]);
    }

    #[test]
    fn tao_is_named_beside_the_paper() {
        let one = [Measured { set: "official".into(), ..measured("nnn-l4", (32, 32), 0, 0.09) }];
        let grid = &table::errors(Task::Cifar, &one, &Lookup::new(&one).unwrap())[0];
        assert!(
            markdown(grid, &budget())
                .contains("| NNN, L = 4 | 9.00 % (8.10 %, ×1.1, Tao et al. 7.37 %) | – (9.56 %) |")
        );
        check(&latex(grid, &budget()), 4);
    }
}
