//! Tables as Markdown: ours, and in parentheses the paper's with ours divided by it.

use super::cell::{Cell, Unit};
use super::simple::SimpleTable;
use super::table::{Group, Line, Table};

/// What the cells are, in plain text.
pub fn explanation(table: &Table) -> &'static str {
    match table.unit {
        Unit::Error => "Relative L² errors, lower is better.",
        Unit::Percent => "Shares of images taken for another class, lower is better.",
        Unit::Factor => {
            "Error at another resolution divided by that at the resolution of the training: 1 is a network that does not mind."
        }
    }
}

/// A comparison, its groups one below the other.
pub fn comparison(table: &Table) -> String {
    let groups: String = table.groups.iter().map(|group| self::group(table, group)).collect();
    format!(
        "### {}\n\n{} Ours (the paper's, ours divided by it). Bold: the smallest of ours in a column, on the same samples. \
         †: as bad as ignoring the input, in all seeds or in so many. –: not run.\n\n{groups}",
        table.title,
        explanation(table)
    )
}

fn group(table: &Table, group: &Group) -> String {
    let title = if group.title.is_empty() { String::new() } else { format!("**{}**\n\n", group.title) };
    if !group.is_run() {
        return format!("{}: not run.\n\n", title.trim_end());
    }
    let heads = table.columns.iter().map(|column| column.short.clone());
    let head: Vec<String> = std::iter::once(table.corner.to_owned()).chain(heads).collect();
    // A star would begin emphasis.
    let name = |line: &Line| line.name().replace('*', "\\*");
    let row =
        |line: &Line| std::iter::once(name(line)).chain(line.cells.iter().map(|cell| self::cell(line, cell))).collect();
    format!("{title}{}\n", grid(&head, &group.lines.iter().map(row).collect::<Vec<_>>()))
}

fn cell(line: &Line, cell: &Cell) -> String {
    let error = cell.error_text();
    let space = if error.is_empty() { "" } else { " " };
    let ours = match cell.is_run() {
        // Numbers that the paper quotes are not ours to run.
        false if line.is_quoted() => String::new(),
        _ => format!("{}{space}{error}{}", cell.mean_text(), cell.mark()),
    };
    let ours = if cell.is_best { format!("**{ours}**") } else { ours };
    let parts = [cell.paper_text(), cell.ratio_text(), cell.tao_text()];
    let parts: Vec<_> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    let paper = if parts.is_empty() { String::new() } else { format!(" ({})", parts.join(", ")) };
    format!("{ours}{paper}").trim().to_owned()
}

/// A table of text.
pub fn simple(table: &SimpleTable) -> String {
    format!("### {}\n\n{}\n{}\n", table.title, grid(&table.columns, &table.rows), table.caption)
}

/// The first column is left-aligned, the others, which are numbers, right-aligned.
fn grid(head: &[String], rows: &[Vec<String>]) -> String {
    let line = |cells: &[String]| {
        let cells: Vec<_> = cells.iter().map(|cell| cell.replace('|', "\\|")).collect();
        format!("| {} |\n", cells.join(" | "))
    };
    let rule = format!("|---|{}\n", "---:|".repeat(head.len().saturating_sub(1)));
    line(head) + &rule + &rows.iter().map(|row| line(row)).collect::<String>()
}

#[cfg(test)]
mod tests {
    use super::super::table::tests::{digits, functions};
    use super::*;

    #[test]
    fn functions_as_a_table() {
        let text = comparison(&functions("poisson")[0]);
        let line = |start: &str| text.lines().find(|line| line.starts_with(start)).unwrap();
        assert_eq!(line("| model"), "| model, samples | L = 1 | L = 2 | L = 4 | L = 8 | L = 16 | L = 32 | L = 64 |");
        assert_eq!(
            line("| FNO, test"),
            "| FNO, test | – (2.07e-2) | 8.50e-3 ±5.0e-4 (8.51e-3, ×1.0) | 9.95e-1 ±5.0e-3† (1.14e-2, ×87) | – (9.71e-3) | – (1.60e-2) | – (1.00) | – |"
        );
        assert!(line("| GKN, test").contains("4.00e-2 ±1.0e-2 (3.05e-2, ×1.3) | INF (7.47e-1) |"));
        assert!(text.contains("**1.50e-3 ±5.0e-4** (1.50e-3, ×1.0)"));
        let columns: Vec<_> =
            text.lines().filter(|line| line.starts_with("| ")).map(|line| line.matches('|').count()).collect();
        assert_eq!(columns, [9; 14]);
        assert!(
            comparison(&functions("darcy")[0])
                .ends_with("**Trained with original (not normalised) data**: not run.\n\n")
        );
    }

    #[test]
    fn images_as_a_table() {
        let text = comparison(&digits()[0]);
        assert!(
            text.contains("| network | fine → fine | fine → coarse | coarse → fine | coarse → coarse |\n|---|---:|")
        );
        assert!(text.contains("| CNN, L = 1 | **2.00 %** (2.55 %, ×0.78) | 90.00 %† (27.88 %, ×3.2) | – (36.25 %) |"));
        assert!(text.contains("| Multiscale CNN\\* (Haber et al.) | (1.82 %) | (5.08 %) |"));
        assert!(text.contains("**Not in the paper**\n\n| network |"));
        assert!(text.contains("| NKN, r = 9, L = 7 | 5.00 % | – | – | – |\n"));
    }

    #[test]
    fn bars_in_text_do_not_break_a_table() {
        let table =
            SimpleTable { columns: vec!["|λ|".into()], rows: vec![vec!["a|b".into()]], ..SimpleTable::default() };
        assert!(simple(&table).contains("| \\|λ\\| |\n|---|\n| a\\|b |\n"));
    }
}
