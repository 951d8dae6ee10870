//! The first look: which method wins where, and where our errors are larger than the paper's.

use std::collections::BTreeMap;

use super::cell::Cell;
use super::html::{level_class, model_class, scale_legend};
use super::model::{display_name, model_rank};
use super::table::{ComparisonTable, Half, Samples};
use super::winner::Winner;
use crate::report::tables::table;
use crate::report::text::{escape, two_digits};

/// Test samples of one half of one table: a row of both pictures.
struct Line<'a> {
    table: &'a ComparisonTable,
    half: &'a Half,
    samples: Samples,
    /// The heading of the half, in its first row.
    heading: String,
}

/// Both pictures, or nothing without results.
pub fn overview(tables: &[ComparisonTable]) -> String {
    let lines = lines(tables);
    if lines.is_empty() {
        return String::new();
    }
    winners(&lines) + &ratios(&lines)
}

fn lines(tables: &[ComparisonTable]) -> Vec<Line<'_>> {
    let mut lines = Vec::new();
    for table in tables {
        let tests: Vec<_> = table.samples().into_iter().filter(|samples| samples.is_test).collect();
        for half in table.halves.iter().filter(|half| half.is_run()) {
            let data = if half.normalised { "normalised data" } else { "original data" };
            for (k, &samples) in tests.iter().enumerate() {
                let title = escape(&table.title());
                let rows = tests.len();
                let heading = format!("<th scope=\"rowgroup\" rowspan=\"{rows}\">{title}<span>{data}</span></th>");
                lines.push(Line { table, half, samples, heading: if k == 0 { heading } else { String::new() } });
            }
        }
    }
    lines
}

impl Line<'_> {
    /// The beginning of its table row.
    fn start(&self) -> String {
        let class = if self.heading.is_empty() { "" } else { " class=\"first\"" };
        let samples = escape(&self.table.samples_name(self.samples));
        format!("<tr{class}>{}<th scope=\"row\">{samples}</th>", self.heading)
    }

    /// The column of a depth in its table.
    fn column(&self, depth: usize) -> Option<usize> {
        self.table.depths.binary_search(&depth).ok()
    }
}

/// All depths of all lines.
fn depths(lines: &[Line<'_>]) -> Vec<usize> {
    let mut depths: Vec<_> = lines.iter().flat_map(|line| line.table.depths.iter().copied()).collect();
    depths.sort_unstable();
    depths.dedup();
    depths
}

/// A cell per depth, in the colour of the method with the smallest test error.
fn winners(lines: &[Line<'_>]) -> String {
    let depths = depths(lines);
    let mut wins: BTreeMap<(usize, String), usize> = BTreeMap::new();
    let (mut compared, mut agreed) = (0, 0);
    let mut body = String::new();
    for line in lines {
        body.push_str(&line.start());
        for &depth in &depths {
            let Some(column) = line.column(depth) else {
                body.push_str("<td></td>");
                continue;
            };
            let winner = line.half.winner(line.samples, column);
            let paper = line.half.paper_winner(line.samples, column);
            if let Winner::Model(model) = &winner {
                *wins.entry((model_rank(model), display_name(model))).or_default() += 1;
                compared += usize::from(paper.is_some());
                agreed += usize::from(paper == Some(model));
            }
            let details = line.half.details(line.samples, column);
            body.push_str(&winner_cell(&winner, paper, &format!("L = {depth}\n{details}")));
        }
        body.push_str("</tr>\n");
    }
    let heads: String = depths.iter().map(|depth| format!("<th scope=\"col\">L = {depth}</th>")).collect();
    let head = format!("<th scope=\"col\" colspan=\"2\">smallest test error</th>{heads}");
    let mut wins: Vec<_> = wins.into_iter().collect();
    wins.sort_by_key(|&(_, count)| std::cmp::Reverse(count));
    let wins: Vec<_> = wins.iter().map(|((_, name), count)| format!("{name} {count}")).collect();
    let wins = if wins.is_empty() { "none yet".to_owned() } else { wins.join(", ") };
    let caption = format!(
        "<strong>Which method wins where?</strong> Wins: {}. In {agreed} of {compared} comparisons the winner is the \
         paper's (among the models that were run); where it is not, the paper's is named in the cell. “Only” marks a \
         model that was run alone, “none” that all collapsed or blew up. Point at a cell for its numbers.",
        escape(&wins)
    );
    table("overview winners", &caption, &head, &body)
}

fn winner_cell(winner: &Winner, paper: Option<&str>, details: &str) -> String {
    let details = escape(details);
    match winner {
        Winner::NotRun => "<td class=\"none\">–</td>".to_owned(),
        Winner::Alone(model) => {
            format!("<td class=\"none\" title=\"{details}\"><small>only {}</small></td>", escape(&display_name(model)))
        }
        Winner::Nobody => format!("<td class=\"nobody\" title=\"{details}\">none</td>"),
        Winner::Model(model) => {
            let differs = paper.filter(|paper| paper != model);
            let mark = differs.map(|paper| format!("<small>≠ paper: {}</small>", escape(&display_name(paper))));
            format!(
                "<td class=\"won {}\" title=\"{details}\">{}{}</td>",
                model_class(model),
                escape(&display_name(model)),
                mark.unwrap_or_default()
            )
        }
    }
}

/// A cell per model and depth with the ratio of our test error to the paper's.
fn ratios(lines: &[Line<'_>]) -> String {
    let depths = depths(lines);
    let rows = lines.iter().flat_map(|line| line.half.rows_on(line.samples));
    let mut models: Vec<_> = rows.map(|row| (model_rank(&row.model), row.model.as_str())).collect();
    models.sort_unstable();
    models.dedup();
    let mut counts = [0; 3];
    let mut body = String::new();
    for line in lines {
        body.push_str(&line.start());
        for &(_, model) in &models {
            let row = line.half.rows_on(line.samples).find(|row| row.model == model);
            for (k, &depth) in depths.iter().enumerate() {
                let cell = row.zip(line.column(depth)).map(|(row, column)| &row.cells[column]);
                if let Some(level) = cell.and_then(Cell::level) {
                    counts[(level.signum() + 1) as usize] += 1;
                }
                body.push_str(&ratio_cell(cell, if k == 0 { "edge" } else { "" }));
            }
        }
        body.push_str("</tr>\n");
    }
    let names: String = (models.iter())
        .map(|(_, model)| {
            let (class, name) = (model_class(model), escape(&display_name(model)));
            format!(
                "<th scope=\"colgroup\" class=\"edge\" colspan=\"{}\"><b class=\"name {class}\">{name}</b></th>",
                depths.len()
            )
        })
        .collect();
    let numbers: String = (models.iter())
        .flat_map(|_| depths.iter().enumerate())
        .map(|(k, depth)| format!("<th scope=\"col\"{}>{depth}</th>", if k == 0 { " class=\"edge\"" } else { "" }))
        .collect();
    let head = format!(
        "<th scope=\"col\" colspan=\"2\" rowspan=\"2\">our test error divided by the paper's, at each depth \
         L</th>{names}</tr>\n<tr>{numbers}"
    );
    let [better, alike, worse] = counts;
    let caption = format!(
        "<strong>Where are our numbers worse than the paper's?</strong> Of {} test errors with a counterpart in the \
         paper, {better} are better by more than 10 %, {alike} alike, {worse} worse. INF: ours blew up; ▼: the \
         paper's did, ours did not.",
        better + alike + worse
    );
    table("overview ratios", &caption, &head, &body) + &scale_legend()
}

fn ratio_cell(cell: Option<&Cell>, edge: &str) -> String {
    let Some(cell) = cell.filter(|cell| cell.ratio().is_some()) else {
        let text = if cell.is_some() { "·" } else { "" };
        return format!("<td class=\"none {edge}\">{text}</td>");
    };
    let text = match (cell.mean(), cell.paper) {
        (Some(ours), _) if ours.is_infinite() => "INF".to_owned(),
        (_, Some(paper)) if paper.mean.is_infinite() => "▼".to_owned(),
        _ => cell.ratio().map(short).unwrap_or_default(),
    };
    let title = format!("ours {}{}, paper {}", cell.mean_text(), cell.error_text(1), cell.paper_mean_text());
    format!("<td class=\"{} {edge}\" title=\"{}\">{text}</td>", level_class(cell.level()), escape(&title))
}

/// A ratio in at most three characters or so: the cells are narrow.
fn short(ratio: f64) -> String {
    match ratio {
        ratio if ratio < 0.01 => "<.01".replace('<', "&lt;"),
        ratio if ratio > 999.0 => "&gt;999".to_owned(),
        _ => two_digits(ratio),
    }
}

#[cfg(test)]
mod tests {
    use super::super::table::tests::example;
    use super::*;

    #[test]
    fn a_cell_names_the_winner_and_the_papers_if_it_differs() {
        let won = |paper| winner_cell(&Winner::Model("nkn".into()), paper, "");
        assert_eq!(won(Some("nkn")), "<td class=\"won nkn\" title=\"\">NKN</td>");
        assert_eq!(won(None), won(Some("nkn")));
        assert!(won(Some("fno")).contains("NKN<small>≠ paper: FNO</small>"));
        assert!(winner_cell(&Winner::Nobody, Some("fno"), "").contains(">none<"));
        assert!(winner_cell(&Winner::Alone("nkn".into()), None, "").contains("only NKN"));
    }

    #[test]
    fn wins_and_ratios_are_counted() {
        let page = overview(&example());
        assert!(page.contains("Wins: FNO 1. In 1 of 1 comparisons the winner is the paper's (among"));
        // GKN, FNO and NKN at L = 2, GKN and FNO at L = 4, NKN on original data, Darcy: all alike but three.
        assert!(page.contains(
            "Of 7 test errors with a counterpart in the paper, 0 are better by more than 10 %, 4 alike, 3 worse"
        ));
        assert!(page.contains("<td class=\"worse3 \" title=\"ours INF, paper 7.47e-1\">INF</td>"));
    }

    #[test]
    fn halves_that_were_not_run_are_left_out() {
        let page = overview(&example());
        assert_eq!(page.matches("2D Darcy, trained at s = 16<span>normalised data").count(), 2);
        assert_eq!(page.matches("2D Darcy, trained at s = 16<span>original data").count(), 0);
        assert_eq!(overview(&[]), "");
    }

    #[test]
    fn ratios_are_short() {
        assert_eq!([0.001, 0.456, 1.0, 23.4, 5e4].map(short), ["&lt;.01", "0.46", "1.0", "23", "&gt;999"]);
    }
}
