//! Tables as HTML: ours large, the paper's small below, the background by their ratio.

use super::cell::{ALIKE, CLEAR, Cell, FAR, Unit};
use super::contest::{Winner, distinction};
use super::markdown::explanation;
use super::names::{class, kind_name};
use super::simple::SimpleTable;
use super::table::{Line, Table};
use crate::report::text::{fixed, two_digits};
use maud::{Markup, html};
use std::collections::BTreeMap;

/// The CSS class of the background of a level from -3 to 3.
fn level_class(level: Option<i8>) -> &'static str {
    const CLASSES: [&str; 7] = ["better3", "better2", "better1", "alike", "worse1", "worse2", "worse3"];
    level.map_or("", |level| CLASSES[(level.clamp(-3, 3) + 3) as usize])
}

/// What the background colours mean.
pub fn scale_legend() -> Markup {
    let [alike, clear, far] = [ALIKE, CLEAR, FAR].map(|factor| fixed(factor, 1));
    let swatches = [
        format!("÷ {far} or more"),
        format!("÷ {clear} to {far}"),
        format!("÷ {alike} to {clear}"),
        "within 10 %".to_owned(),
        format!("× {alike} to {clear}"),
        format!("× {clear} to {far}"),
        format!("× {far} or more"),
    ];
    html! {
        p.legend {
            span.lead { "Our number relative to the paper's:" }
            b { "better" }
            @for (text, level) in swatches.iter().zip(-3..) {
                span class={ "swatch " (level_class(Some(level))) } { (text) }
            }
            b { "worse" }
        }
    }
}

/// A table that can be wider than the page.
fn framed(class: &str, caption: Markup, head: Markup, body: Markup) -> Markup {
    html! { div.scroll { table class=(class) { caption { (caption) } thead { (head) } tbody { (body) } } } }
}

/// The heads of the columns, in two rows where they share something.
fn heads(table: &Table, first: &str, width: usize) -> Markup {
    let shared: Vec<_> = table.columns.chunk_by(|a, b| a.over == b.over).collect();
    let is_double = table.columns.iter().any(|column| !column.over.is_empty());
    html! {
        tr {
            th scope="col" colspan=(width) rowspan=(if is_double { 2 } else { 1 }) { (first) }
            @if is_double {
                @for columns in &shared { th scope="colgroup" colspan=(columns.len()) { (columns[0].over) } }
            } @else {
                @for column in &table.columns { th scope="col" { (column.head) } }
            }
        }
        @if is_double { tr { @for column in &table.columns { th scope="col" { (column.head) } } } }
    }
}

/// A network's name, its kind in its colour.
fn name(line: &Line, detail: &str) -> Markup {
    html! { span class={ "name " (class(&line.model)) } { (kind_name(&line.model)) } " " (detail) }
}

/// A comparison; the caption explains the cells.
pub fn comparison(table: &Table) -> Markup {
    let caption = html! {
        strong { (explanation(table)) " Large: ours, small: the paper's, with ours divided by it." }
        " Means over the seeds ± their standard error. Blue is better than the paper, orange worse. Bold: the smallest of ours in \
         a column on the same samples; a bar at the left edge: the smallest of those that were trained on the same data. † As bad as a \
         prediction that ignores its input, in all seeds or in so many of them. INF: above 10⁵ or not a number. – Not run."
        @if table.unit == Unit::Factor {
            " A network that is equally bad everywhere has a small ratio too: read it with the errors."
        }
    };
    let body = html! {
        @for group in &table.groups {
            @if !group.title.is_empty() {
                tr.group {
                    th scope="colgroup" colspan=(table.columns.len() + 1) {
                        (group.title)
                        @if !group.is_run() { span.aside { "not run" } }
                    }
                }
            }
            @if group.is_run() {
                @for (k, line) in group.lines.iter().enumerate() {
                    @let is_first = k == 0 || class(&group.lines[k - 1].model) != class(&line.model);
                    tr class=[is_first.then_some("first")] {
                        th scope="row" { (name(line, &line.detail)) }
                        @for cell in &line.cells { (self::cell(cell, line)) }
                    }
                }
            }
        }
    };
    let kind = if table.unit == Unit::Error { "comparison" } else { "comparison images" };
    framed(kind, caption, heads(table, table.corner, 1), body)
}

fn cell(cell: &Cell, line: &Line) -> Markup {
    let classes = [
        level_class(cell.level()),
        if cell.is_best { "best" } else { "" },
        if cell.leads { "leads" } else { "" },
        if cell.leads { class(&line.model) } else { "" },
        if cell.is_run() { "" } else { "none" },
    ];
    let classes = classes.into_iter().filter(|class| !class.is_empty()).collect::<Vec<_>>().join(" ");
    let (mark, error, ratio) = (cell.mark(), cell.error_text(), cell.ratio_text());
    html! {
        td class=(classes) {
            @if cell.is_run() || !line.is_quoted() { span.ours { (cell.mean_text()) } }
            @if !mark.is_empty() { sup { (mark) } }
            @if !error.is_empty() { span { (error) } }
            @if cell.paper.is_some() {
                small {
                    (cell.paper_text()) (cell.paper_error_text()) " "
                    @if !ratio.is_empty() { b { (ratio) } }
                    @if cell.tao.is_some() { " · " (cell.tao_text()) }
                }
            }
        }
    }
}

/// A cell per column in the colour of the network with the smallest test error; nothing if nothing was run.
pub fn winners(table: &Table) -> Markup {
    let contests = table.contests();
    let mut wins: BTreeMap<String, usize> = BTreeMap::new();
    let (mut compared, mut agreed) = (0, 0);
    for (contest, column) in contests.iter().flat_map(|contest| (0..table.columns.len()).map(move |k| (contest, k))) {
        if let Winner::Network(line) = contest.winner(column) {
            *wins.entry(kind_name(&line.model)).or_default() += 1;
            let paper = contest.paper_winner(column);
            compared += usize::from(paper.is_some());
            agreed += usize::from(paper.is_some_and(|paper| class(&paper.model) == class(&line.model)));
        }
    }
    let mut wins: Vec<_> = wins.into_iter().collect();
    wins.sort_by_key(|&(_, count)| std::cmp::Reverse(count));
    let wins: Vec<_> = wins.iter().map(|(name, count)| format!("{name} {count}")).collect();
    let caption = html! {
        strong { "Which kind of network wins where?" }
        " Wins: " (if wins.is_empty() { "none yet".to_owned() } else { wins.join(", ") }) ". In " (agreed) " of " (compared)
        " comparisons the winner is the paper's (among the networks that were run or that the paper quotes); where it is not, \
         the paper's is named in the cell. “Only” marks a kind that was run alone, “none” that all collapsed or blew up. Point at a \
         cell for its numbers."
    };
    let body = html! {
        @for contest in &contests {
            tr.first {
                th scope="row" { @if let Some(data) = contest.data { (data) " data" } span { (contest.name) } }
                @for column in 0..table.columns.len() {
                    (winner_cell(contest.winner(column), contest.paper_winner(column), (column, &contest.details(column))))
                }
            }
        }
    };
    html! {
        @if !contests.is_empty() { (framed("overview winners", caption, heads(table, "smallest test error", 1), body)) }
    }
}

fn winner_cell(winner: Winner, paper: Option<&Line>, (column, details): (usize, &str)) -> Markup {
    let line = match winner {
        Winner::NotRun => return html! { td.none { "–" } },
        Winner::Nobody => return html! { td.nobody title=(details) { "none" } },
        Winner::Alone(line) | Winner::Network(line) => line,
    };
    let is_alone = matches!(winner, Winner::Alone(_));
    let classes = if is_alone { "none".to_owned() } else { format!("won {}", class(&line.model)) };
    let more = distinction(line);
    let differs = paper.filter(|paper| class(&paper.model) != class(&line.model) && !is_alone);
    html! {
        td class=(classes) title=(details) {
            @if is_alone { "only " }
            (kind_name(&line.model))
            @if !more.is_empty() { small { (more) ": " (line.cells[column].mean_text()) } }
            @if let Some(paper) = differs { small { "≠ paper: " (kind_name(&paper.model)) " " (distinction(paper)) } }
        }
    }
}

/// A cell per line and column with the ratio of our test error to the paper's; nothing if nothing can be compared.
pub fn ratios(table: &Table) -> Markup {
    let contests = table.contests();
    let mut counts = [0; 3];
    let lines = contests.iter().flat_map(|contest| &contest.lines);
    for level in lines.flat_map(|line| &line.cells).filter_map(Cell::level) {
        counts[(level.signum() + 1) as usize] += 1;
    }
    let [better, alike, worse] = counts;
    let caption = html! {
        strong { "Where are our numbers worse than the paper's?" }
        " Of " (better + alike + worse) " test errors with a counterpart in the paper, " (better)
        " are better by more than 10 %, " (alike) " alike, " (worse)
        " worse. INF: ours blew up; ▼: the paper's did, ours did not."
    };
    let has_data = contests.iter().any(|contest| contest.data.is_some());
    let body = html! {
        @for contest in &contests {
            @for (k, line) in contest.lines.iter().enumerate() {
                tr class=[(k == 0).then_some("first")] {
                    @if k == 0 && has_data {
                        th scope="rowgroup" rowspan=(contest.lines.len()) {
                            @if let Some(data) = contest.data { (data) " data" }
                            span { (contest.name) }
                        }
                    }
                    th scope="row" { (name(line, &distinction(line))) }
                    @for cell in &line.cells { (ratio_cell(cell)) }
                }
            }
        }
    };
    let first = "our test error divided by the paper's";
    html! {
        @if better + alike + worse > 0 {
            (framed("overview ratios", caption, heads(table, first, 1 + usize::from(has_data)), body)) (scale_legend())
        }
    }
}

fn ratio_cell(cell: &Cell) -> Markup {
    let Some(ratio) = cell.ratio() else { return html! { td.none { "·" } } };
    let text = match (cell.mean(), cell.paper) {
        (Some(ours), _) if ours.is_infinite() => "INF".to_owned(),
        (_, Some(paper)) if paper.mean.is_infinite() => "▼".to_owned(),
        _ if ratio < 0.01 => "<.01".to_owned(),
        _ if ratio > 999.0 => ">999".to_owned(),
        _ => two_digits(ratio),
    };
    let title = format!("ours {}{}, paper {}", cell.mean_text(), cell.error_text(), cell.paper_text());
    html! { td class=(level_class(cell.level())) title=(title) { (text) } }
}

/// A table of text.
pub fn simple(simple: &SimpleTable) -> Markup {
    let head = html! { tr { @for column in &simple.columns { th scope="col" { (column) } } } };
    let body = html! {
        @for row in &simple.rows {
            tr { @for (k, cell) in row.iter().enumerate() { @if k == 0 { th scope="row" { (cell) } } @else { td { (cell) } } } }
        }
    };
    framed("simple", html! { strong { (simple.title) "." } " " (simple.caption) }, head, body)
}

#[cfg(test)]
mod tests {
    use super::super::table::tests::{digits, functions};
    use super::*;

    #[test]
    fn a_cell_shows_ours_and_the_papers_and_their_ratio() {
        let text = comparison(&functions("poisson")[0]).into_string();
        let fno = "<td class=\"alike leads fno\"><span class=\"ours\">8.50e-3</span><span>±5.0e-4</span>\
                   <small>8.51e-3±3.9e-4 <b>×1.0</b></small></td>";
        let start = fno.find("<small>8.51e-3").unwrap();
        assert!(text.contains(&fno[..start]), "{text}");
        assert!(text.contains("<span class=\"ours\">9.95e-1</span><sup>†</sup>"));
        let text = comparison(&digits()[0]).into_string();
        assert!(text.contains(
            "<td class=\"worse1 best leads nkn\"><span class=\"ours\">6.25 %</span><span>±1.75</span><small>4.85 % <b>×1.3</b></small></td>"
        ));
        assert!(text.contains("<td class=\"none\"><span class=\"ours\">–</span><small>4.02 % </small></td>"));
        assert!(text.contains("(Haber et al.)</span> </th><td class=\"none\"><small>1.82 % </small></td>"));
    }

    #[test]
    fn groups_are_headed_or_said_not_to_be_run() {
        let text = comparison(&functions("darcy")[0]).into_string();
        assert!(text.contains("not normalised) data<span class=\"aside\">not run</span></th></tr></tbody>"));
        let text = comparison(&digits()[0]).into_string();
        let apart = text.find("colspan=\"5\">Not in the paper</th></tr>").unwrap();
        assert!(text.find("r = 4, L = 4").unwrap() < apart && apart < text.find("r = 9, L = 7").unwrap());
        assert!(text.contains("<th scope=\"colgroup\" colspan=\"2\">trained on fine images</th>"));
    }

    #[test]
    fn wins_are_counted_and_compared_with_the_papers() {
        let text = winners(&functions("poisson")[0]).into_string();
        assert!(text.contains("Wins: FNO 1. In 1 of 1 comparisons the winner is the paper's"), "{text}");
        assert!(text.contains(">none</td>") && text.contains("only NKN"));
        let text = winners(&digits()[0]).into_string();
        assert!(
            text.contains(
                "CNN<small>L = 1: 2.00 %</small><small>≠ paper: Multiscale CNN* (Haber et al.) </small></td>"
            )
        );
        assert!(text.contains("NKN<small>r = 3, L = 2: 6.25 %</small>"), "{text}");
        assert_eq!(winners(&Table { groups: Vec::new(), ..digits().remove(0) }).into_string(), "");
    }

    #[test]
    fn ratios_are_counted_and_short() {
        let text = ratios(&functions("poisson")[0]).into_string();
        // GKN, FNO and NKN at L = 2, GKN and FNO at L = 4, NKN on original data.
        assert!(text.contains(
            "Of 6 test errors with a counterpart in the paper, 0 are better by more than 10 %, 3 alike, 3 worse"
        ));
        assert!(text.contains("<td class=\"worse3\" title=\"ours INF, paper 7.47e-1\">INF</td>"), "{text}");
        let one = &functions("poisson")[0].groups[0].lines[1].cells[1];
        let short = |ours: f64| ratio_cell(&Cell { ours: vec![ours * 3.05e-2], ..one.clone() }).into_string();
        assert!(short(0.001).contains(">&lt;.01<") && short(23.4).contains(">23<") && short(5e4).contains(">&gt;999<"));
    }

    #[test]
    fn text_is_escaped() {
        let table =
            SimpleTable { title: "a < b".into(), rows: vec![vec!["<i>".into(), "&".into()]], ..SimpleTable::default() };
        let html = simple(&table).into_string();
        assert!(html.contains("a &lt; b") && html.contains("&lt;i&gt;") && html.contains("<td>&amp;</td>"));
    }
}
