//! The first look: which network wins where, ours and the paper's.

use super::entry::percent;
use super::html::heads;
use super::row::Row;
use super::table::{Grid, Line};
use crate::report::tables::table;
use crate::report::text::escape;

/// The outcome of a column.
#[derive(Debug, PartialEq)]
enum Winner<'a> {
    /// No network was run.
    NotRun,
    /// Networks of one kind only: nobody to beat.
    Alone(&'a Line, f64),
    /// All that were run guess.
    Nobody,
    /// The network with the smallest error.
    Network(&'a Line, f64),
}

/// Our winner in a column.
fn winner(grid: &Grid, column: usize) -> Winner<'_> {
    let run: Vec<&Line> = grid.lines.iter().filter(|line| line.entries[column].cell.ours.is_some()).collect();
    let learned = run.iter().filter_map(|line| Some((*line, line.entries[column].cell.learned()?)));
    let best = learned.min_by(|a, b| a.1.total_cmp(&b.1));
    match (run.first(), best) {
        (None, _) => Winner::NotRun,
        (_, None) => Winner::Nobody,
        (Some(first), Some((line, error))) if run.iter().all(|line| line.row.class() == first.row.class()) => {
            Winner::Alone(line, error)
        }
        (_, Some((line, error))) => Winner::Network(line, error),
    }
}

/// The paper's winner in a column, of all that it prints.
fn paper_winner(grid: &Grid, column: usize) -> Option<(&Row, f64)> {
    let printed = grid.lines.iter().filter_map(|line| Some((&line.row, line.entries[column].cell.paper?.mean)));
    printed.min_by(|a, b| a.1.total_cmp(&b.1))
}

/// The table of winners, or nothing if nothing was run.
pub fn winners(grid: &Grid) -> String {
    if !grid.is_run() {
        return String::new();
    }
    let columns = 0..grid.columns.len();
    let ours: String = columns.clone().map(|column| our_cell(&winner(grid, column), column)).collect();
    let paper: String = columns
        .clone()
        .map(|column| paper_winner(grid, column).map_or_else(|| "<td></td>".into(), |(row, error)| won(row, error, "")))
        .collect();
    let compared = columns.filter_map(|column| match winner(grid, column) {
        Winner::Network(line, _) => Some(line.row.class() == paper_winner(grid, column)?.0.class()),
        _ => None,
    });
    let compared: Vec<bool> = compared.collect();
    let caption = format!(
        "<strong>Which network wins where?</strong> The smallest error of a column. The kind of network that wins is the \
         paper's in {} of {} columns in which kinds can be compared. “Only”: no other kind was run; “none”: all guess; \
         ‡: unfinished; –: not run.",
        compared.iter().filter(|&&agrees| agrees).count(),
        compared.len()
    );
    let body = format!(
        "<tr class=\"first\"><th scope=\"row\">ours</th>{ours}</tr>\n\
         <tr><th scope=\"row\">the paper's</th>{paper}</tr>\n"
    );
    table("overview winners images", &caption, &heads(grid, "smallest error"), &body)
}

fn our_cell(winner: &Winner, column: usize) -> String {
    match winner {
        Winner::NotRun => "<td class=\"none\">–</td>".to_owned(),
        Winner::Nobody => "<td class=\"nobody\">none</td>".to_owned(),
        Winner::Alone(line, error) => format!(
            "<td class=\"none\">only {}<small>{}{}</small></td>",
            escape(&line.row.name()),
            percent(*error),
            line.entries[column].mark()
        ),
        Winner::Network(line, error) => won(&line.row, *error, &line.entries[column].mark()),
    }
}

fn won(row: &Row, error: f64, mark: &str) -> String {
    let kind = if row.is_quoted() { "Multiscale CNN*" } else { row.family_name().unwrap_or(&row.key) };
    let details = if row.is_quoted() { "Haber et al.".to_owned() } else { row.details() };
    let comma = if details.is_empty() { "" } else { ": " };
    format!(
        "<td class=\"won {}\">{}<small>{}{comma}{}{mark}</small></td>",
        row.class(),
        escape(kind),
        escape(&details),
        percent(error)
    )
}

#[cfg(test)]
mod tests {
    use super::super::table::tests::grids;
    use super::super::tests::{example, measured};
    use super::*;

    #[test]
    fn winners_are_those_with_the_smallest_error() {
        let (grids, _) = grids(&example());
        let key = |column| match winner(&grids[0], column) {
            Winner::Network(line, error) => (line.row.key.clone(), error),
            other => panic!("{other:?}"),
        };
        assert_eq!(key(0), ("cnn-l1".into(), 0.02));
        assert_eq!(key(1), ("nkn-r3-l2".into(), 0.0625));
        assert_eq!(winner(&grids[0], 2), Winner::NotRun);
        assert!(matches!(winner(&grids[0], 3), Winner::Alone(line, _) if line.row.key == "nkn-r4-l1"));
        let guessing = self::grids(&[measured("cnn-l1", (28, 28), 0, 0.9)]).0;
        assert_eq!(winner(&guessing[0], 0), Winner::Nobody);
    }

    /// The paper's bold numbers.
    #[test]
    fn the_papers_winners_are_its_bold_numbers() {
        let (grids, _) = grids(&example());
        let keys = (0..4).map(|column| paper_winner(&grids[0], column).unwrap().0.key.as_str());
        assert_eq!(keys.collect::<Vec<_>>(), ["cnn-l4", "nkn-r2-l1", "nkn-r3-l1", "multiscale-cnn-haber"]);
    }

    #[test]
    fn the_table_says_how_often_the_winners_agree() {
        let text = winners(&grids(&example()).0[0]);
        assert!(text.contains("is the paper's in 2 of 2 columns"), "{text}");
        assert!(text.contains("<td class=\"won cnn\">CNN<small>L = 1: 2.00 %</small></td>"));
        assert!(text.contains("only NKN, r = 4, L = 1<small>6.00 %‡</small>"));
        assert!(text.contains("<td class=\"won multiscale\">Multiscale CNN*<small>Haber et al.: 1.72 %</small></td>"));
        assert_eq!(winners(&grids(&[]).0[0]), "");
    }
}
