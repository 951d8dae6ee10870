//! Tables as Markdown: ours, and the paper's in parentheses.

use super::cell::Cell;
use super::simple::SimpleTable;
use super::table::{ComparisonTable, Half};

/// A comparison, its halves one below the other.
pub fn comparison(table: &ComparisonTable) -> String {
    let halves: String = table.halves.iter().map(|half| self::half(table, half)).collect();
    format!(
        "### {}\n\nOurs (the paper's). Bold: the smallest of our errors in a column, on the same samples. \
         †: as bad as ignoring the input, in all seeds or in so many. –: not run.\n\n{halves}",
        table.title()
    )
}

fn half(table: &ComparisonTable, half: &Half) -> String {
    if !half.is_run() {
        return format!("**{}**: not run.\n\n", half.title());
    }
    let heads = table.depths.iter().map(|depth| format!("L = {depth}"));
    let head: Vec<String> = std::iter::once("model, samples".to_owned()).chain(heads).collect();
    let rows =
        half.rows.iter().map(|row| std::iter::once(table.row_name(row)).chain(row.cells.iter().map(cell)).collect());
    format!("**{}**\n\n{}\n", half.title(), grid(&head, &rows.collect::<Vec<_>>()))
}

fn cell(cell: &Cell) -> String {
    let error = cell.error_text(1);
    let space = if error.is_empty() { "" } else { " " };
    let ours = format!("{}{space}{error}{}", cell.mean_text(), cell.mark());
    let ours = if cell.is_best { format!("**{ours}**") } else { ours };
    if cell.paper.is_some() { format!("{ours} ({})", cell.paper_mean_text()) } else { ours }
}

/// A table of text.
pub fn simple(table: &SimpleTable) -> String {
    format!("### {}\n\n{}\n{}\n", table.title, grid(&table.columns, &table.rows), table.caption)
}

/// The first column is left-aligned, the others, which are numbers, right-aligned.
pub fn grid(head: &[String], rows: &[Vec<String>]) -> String {
    let line = |cells: &[String]| {
        let cells: Vec<_> = cells.iter().map(|cell| cell.replace('|', "\\|")).collect();
        format!("| {} |\n", cells.join(" | "))
    };
    let rule = format!("|---|{}\n", "---:|".repeat(head.len().saturating_sub(1)));
    line(head) + &rule + &rows.iter().map(|row| line(row)).collect::<String>()
}

#[cfg(test)]
mod tests {
    use super::super::table::tests::example;
    use super::*;

    #[test]
    fn a_comparison_is_a_table_of_ours_and_the_papers() {
        let text = comparison(&example()[0]);
        assert!(
            text.contains("| model, samples | L = 1 | L = 2 | L = 4 | L = 8 | L = 16 | L = 32 | L = 64 |\n|---|---:|")
        );
        assert!(text.contains("| FNO, test | – (2.07e-2) | 8.50e-3 ±5.0e-4 (8.51e-3) | 9.95e-1 ±5.0e-3† (1.14e-2) |"));
        assert!(text.contains("| GKN, test | – (2.22e-2) | 4.00e-2 ±1.0e-2 (3.05e-2) | INF (7.47e-1) |"));
        assert!(text.contains("**1.50e-3 ±5.0e-4** (1.50e-3)"));
        let columns: Vec<_> =
            text.lines().filter(|line| line.starts_with("| ")).map(|line| line.matches('|').count()).collect();
        assert_eq!(columns, [9; 14]);
    }

    #[test]
    fn bars_in_text_do_not_break_a_table() {
        let table =
            SimpleTable { columns: vec!["|λ|".into()], rows: vec![vec!["a|b".into()]], ..SimpleTable::default() };
        assert!(simple(&table).contains("| \\|λ\\| |\n|---|\n| a\\|b |\n"));
    }
}
