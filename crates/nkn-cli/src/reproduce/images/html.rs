//! Tables as HTML: ours large, the paper's small below, the background by their ratio.

use super::super::html::level_class;
use super::Budget;
use super::cost::unfinished_words;
use super::entry::{Entry, Unit};
use super::row::Row;
use super::table::{Grid, Line};
use crate::report::tables::table;
use crate::report::text::escape;

/// The heads of the columns in two rows: where trained, where tested.
pub fn heads(grid: &Grid, first: &str) -> String {
    let task = grid.task;
    let trained: String = (grid.groups().iter())
        .map(|(side, width)| {
            let name = task.size(*side).unwrap_or_default();
            format!(
                "<th scope=\"colgroup\" colspan=\"{width}\">trained on {name} images<span>{side} × {side}</span></th>"
            )
        })
        .collect();
    let tested: String = (grid.columns.iter())
        .map(|column| {
            let (side, name) = (column.tested_at, task.size(column.tested_at).unwrap_or_default());
            let mark = if column.is_cross() { "<span class=\"mark\">another resolution</span>" } else { "" };
            format!("<th scope=\"col\">tested on {name}<span>{side} × {side}</span>{mark}</th>")
        })
        .collect();
    format!("<th scope=\"col\" rowspan=\"2\">{first}</th>{trained}</tr>\n<tr>{tested}")
}

/// A table; the caption explains the cells and states the budget.
pub fn comparison(grid: &Grid, budget: &Budget) -> String {
    let mut body = String::new();
    let mut above = None;
    for line in &grid.lines {
        let group = line.group();
        if !line.is_printed && above.is_none_or(|(is_printed, _)| is_printed) {
            body += &format!(
                "<tr class=\"group\"><th scope=\"colgroup\" colspan=\"{}\">Not in the paper</th></tr>\n",
                grid.columns.len() + 1
            );
        }
        let first = if above == Some(group) { "" } else { " class=\"first\"" };
        above = Some(group);
        let cells: String = line.entries.iter().map(|entry| cell(grid, line, entry)).collect();
        body += &format!("<tr{first}><th scope=\"row\">{}</th>{cells}</tr>\n", name(&line.row));
    }
    table("comparison images", &caption(grid, budget), &heads(grid, "network"), &body)
}

/// A network's name, its kind in its colour.
pub fn name(row: &Row) -> String {
    let kind = row.family_name().unwrap_or(&row.key);
    let details = if row.family_name().is_some() { row.details() } else { String::new() };
    format!("<span class=\"name {}\">{}</span> {}", row.class(), escape(kind), escape(&details))
}

fn caption(grid: &Grid, budget: &Budget) -> String {
    let numbers = match (grid.unit, grid.has_paper()) {
        (Unit::Factor, _) => {
            "<strong>Error at another resolution divided by that at the resolution of the training.</strong> 1 is a \
             network that does not mind. Large: ours, the mean of each seed's own ratio; small: the paper's, with ours \
             divided by it; colours as above. A network that is equally bad everywhere has a small ratio too: read it \
             with the errors."
        }
        (Unit::Percent, true) => {
            "<strong>Classification errors. Large: ours, small: the paper's, with ours divided by it.</strong> Blue is \
             better than the paper, orange worse. Bold: the smallest of ours in a column. † No better than guessing, in \
             all seeds or in so many of them."
        }
        (Unit::Percent, false) => {
            "<strong>Classification errors on images that the paper does not test on.</strong> Bold: the smallest in a \
             column. † No better than guessing, in all seeds or in so many of them."
        }
    };
    format!(
        "{numbers} {} – Not run. Means over the seeds ± their standard error. Images: {}. Budget: {}.",
        unfinished_words(),
        escape(&grid.images()),
        escape(budget.words.trim_end_matches('.'))
    )
}

fn cell(grid: &Grid, line: &Line, entry: &Entry) -> String {
    let cell = &entry.cell;
    let classes = [
        level_class(cell.level()),
        if cell.is_best { "best" } else { "" },
        if cell.ours.is_none() { "none" } else { "" },
        if entry.unfinished > 0 { "unfinished" } else { "" },
    ];
    let classes = classes.into_iter().filter(|class| !class.is_empty()).collect::<Vec<_>>().join(" ");
    let wrap = |tag: &str, text: String| if text.is_empty() { text } else { format!("<{tag}>{text}</{tag}>") };
    let ours = match cell.ours {
        None if line.row.is_quoted() => String::new(),
        _ => format!("<span class=\"ours\">{}</span>", entry.ours_text()),
    };
    let tao = entry.tao.map(|_| format!(" · Tao et al. {}", entry.tao_text())).unwrap_or_default();
    let paper = match cell.paper {
        Some(_) => format!("<small>{} {}{tao}</small>", entry.paper_text(), wrap("b", cell.ratio_text())),
        None if grid.has_paper() && line.is_printed => "<small>not in the paper</small>".to_owned(),
        None => String::new(),
    };
    let (mark, error) = (wrap("sup", entry.mark()), wrap("span", entry.error_text()));
    format!("<td class=\"{classes}\">{ours}{mark}{error}{paper}</td>")
}

#[cfg(test)]
mod tests {
    use super::super::Measured;
    use super::super::table::tests::grids;
    use super::super::tests::{example, measured};
    use super::*;

    fn budget() -> Budget {
        Budget { words: "2 epochs, rate < 1 & falling".into(), is_quick: false }
    }

    #[test]
    fn a_cell_shows_ours_and_the_papers_and_their_ratio() {
        let text = comparison(&grids(&example()).0[0], &budget());
        assert!(text.contains(
            "<td class=\"worse1 best\"><span class=\"ours\">6.25 %</span><span>±1.75</span><small>4.85 % <b>×1.3</b></small></td>"
        ));
        assert!(text.contains(
            "<td class=\"worse3\"><span class=\"ours\">90.00 %</span><sup>†</sup><small>27.88 % <b>×3.2</b></small></td>"
        ));
        assert!(text.contains("<td class=\"worse2 unfinished\"><span class=\"ours\">6.00 %</span><sup>‡</sup>"));
        assert!(text.contains("<td class=\"none\"><span class=\"ours\">–</span><small>4.02 % </small></td>"));
        assert!(text.contains("(Haber et al.)</span> </th><td class=\"none\"><small>1.82 % </small></td>"));
    }

    #[test]
    fn rows_that_the_paper_does_not_have_are_set_apart() {
        let (grids, _) = grids(&example());
        let text = comparison(&grids[0], &budget());
        let apart = text.find("colspan=\"5\">Not in the paper</th></tr>").unwrap();
        assert!(text.find("r = 4, L = 4").unwrap() < apart && apart < text.find("r = 9, L = 7").unwrap());
        assert!(!comparison(&grids[1], &budget()).contains("<small>"));
    }

    #[test]
    fn text_is_escaped() {
        let odd = Measured { row: "<b>&".into(), ..measured("", (28, 28), 0, 0.5) };
        let text = comparison(&grids(&[odd]).0[0], &budget());
        assert!(text.contains("<span class=\"name other\">&lt;b&gt;&amp;</span>"));
        assert!(text.contains("Budget: 2 epochs, rate &lt; 1 &amp; falling."));
    }
}
