//! Tables as HTML: ours large, the paper's small below, the background by their ratio.

use super::cell::{ALIKE, CLEAR, Cell, FAR};
use super::model::{display_name, model_rank};
use super::simple::SimpleTable;
use super::table::{ComparisonTable, Half, Row};
use crate::report::tables::table;
use crate::report::text::{escape, fixed};

/// The CSS class that sets the colours of a model; style.css holds them.
pub fn model_class(model: &str) -> &'static str {
    ["gkn", "fno", "nkn"].get(model_rank(model)).copied().unwrap_or("other")
}

/// The CSS class of the background of a level from -3 to 3.
pub fn level_class(level: Option<i8>) -> &'static str {
    match level {
        None => "",
        Some(..=-3) => "better3",
        Some(-2) => "better2",
        Some(-1) => "better1",
        Some(0) => "alike",
        Some(1) => "worse1",
        Some(2) => "worse2",
        Some(3..) => "worse3",
    }
}

/// What the background colours mean.
pub fn scale_legend() -> String {
    let [alike, clear, far] = [ALIKE, CLEAR, FAR].map(|factor| fixed(factor, 1));
    let swatches = [
        (-3, format!("÷ {far} or more")),
        (-2, format!("÷ {clear} to {far}")),
        (-1, format!("÷ {alike} to {clear}")),
        (0, "within 10 %".to_owned()),
        (1, format!("× {alike} to {clear}")),
        (2, format!("× {clear} to {far}")),
        (3, format!("× {far} or more")),
    ];
    let swatches: String = swatches
        .iter()
        .map(|(level, text)| format!("<span class=\"swatch {}\">{text}</span>", level_class(Some(*level))))
        .collect();
    format!(
        "<p class=\"legend\"><span class=\"lead\">Our error relative to the \
         paper's:</span><b>better</b>{swatches}<b>worse</b></p>\n"
    )
}

/// A comparison; the caption explains the cells.
pub fn comparison(comparison: &ComparisonTable) -> String {
    let heads: String = comparison.depths.iter().map(|depth| format!("<th scope=\"col\">L = {depth}</th>")).collect();
    let body: String = comparison.halves.iter().map(|half| self::half(comparison, half)).collect();
    let caption = "<strong>Large: ours, small: the paper's, with ours divided by it.</strong> Blue is better than the \
                   paper, orange worse. Bold: the smallest of our errors in a column on the same samples, as in the \
                   paper over both halves; a bar at the left edge: the smallest within its half. † As bad as a \
                   prediction that ignores its input, in all seeds or in so many of them. INF: above 10⁵ or not a \
                   number. – Not run.";
    table("comparison", caption, &format!("<th scope=\"col\">model, samples</th>{heads}"), &body)
}

fn half(table: &ComparisonTable, half: &Half) -> String {
    let missing = if half.is_run() { "" } else { "<span class=\"aside\">not run</span>" };
    let mut body = format!(
        "<tr class=\"group\"><th scope=\"colgroup\" colspan=\"{}\">{}{missing}</th></tr>\n",
        table.depths.len() + 1,
        escape(half.title())
    );
    if !half.is_run() {
        return body;
    }
    let mut model = "";
    for row in &half.rows {
        let first = if row.model == model { "" } else { " class=\"first\"" };
        model = &row.model;
        let cells: String = row.cells.iter().map(|cell| self::cell(cell, row)).collect();
        body.push_str(&format!(
            "<tr{first}><th scope=\"row\"><span class=\"name {}\">{}</span> {}</th>{cells}</tr>\n",
            model_class(model),
            escape(&display_name(model)),
            escape(&table.samples_name(row.samples))
        ));
    }
    body
}

fn cell(cell: &Cell, row: &Row) -> String {
    let classes = [
        level_class(cell.level()),
        if cell.is_best { "best" } else { "" },
        if cell.leads { "leads" } else { "" },
        if cell.leads { model_class(&row.model) } else { "" },
        if cell.ours.is_none() { "none" } else { "" },
    ];
    let classes = classes.into_iter().filter(|class| !class.is_empty()).collect::<Vec<_>>().join(" ");
    let wrap = |tag: &str, text: String| if text.is_empty() { text } else { format!("<{tag}>{text}</{tag}>") };
    let paper = match cell.paper {
        Some(_) => format!(
            "<small>{}{} {}</small>",
            cell.paper_mean_text(),
            cell.paper_error_text(1),
            wrap("b", cell.ratio_text())
        ),
        None => "<small>not in the paper</small>".to_owned(),
    };
    format!(
        "<td class=\"{classes}\"><span class=\"ours\">{}</span>{}{}{paper}</td>",
        cell.mean_text(),
        wrap("sup", cell.mark()),
        wrap("span", cell.error_text(1))
    )
}

/// A table of text.
pub fn simple(simple: &SimpleTable) -> String {
    let head: String =
        simple.columns.iter().map(|column| format!("<th scope=\"col\">{}</th>", escape(column))).collect();
    let row = |cells: &Vec<String>| {
        let mut cells = cells.iter();
        let name = cells.next().map(|name| format!("<th scope=\"row\">{}</th>", escape(name))).unwrap_or_default();
        let numbers: String = cells.map(|cell| format!("<td>{}</td>", escape(cell))).collect();
        format!("<tr>{name}{numbers}</tr>\n")
    };
    let caption = format!("<strong>{}.</strong> {}", escape(&simple.title), escape(&simple.caption));
    table("simple", &caption, &head, &simple.rows.iter().map(row).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::super::table::tests::example;
    use super::*;

    #[test]
    fn a_cell_shows_ours_and_the_papers_and_their_ratio() {
        let text = comparison(&example()[0]);
        assert!(text.contains(
            "<td class=\"worse1\"><span class=\"ours\">4.00e-2</span><span>±1.0e-2</span>\
             <small>3.05e-2±2.7e-3 <b>×1.3</b></small></td>"
        ));
        assert!(text.contains("<td class=\"alike leads fno\"><span class=\"ours\">8.50e-3</span>"));
        assert!(
            text.contains("<td class=\"worse3\"><span class=\"ours\">INF</span><small>7.47e-1±1.9e-1 </small></td>")
        );
        assert!(text.contains("<span class=\"ours\">9.95e-1</span><sup>†</sup>"));
        assert!(text.contains("<td class=\"alike best\"><span class=\"ours\">1.50e-3</span>"));
        assert!(text.contains("<small>not in the paper</small>"));
    }

    #[test]
    fn a_half_that_was_not_run_is_one_line() {
        let text = comparison(&example()[1]);
        assert!(text.contains("not normalised) data<span class=\"aside\">not run</span></th></tr>\n</tbody>"));
    }

    #[test]
    fn text_is_escaped() {
        let table =
            SimpleTable { title: "a < b".into(), rows: vec![vec!["<i>".into(), "&".into()]], ..SimpleTable::default() };
        let html = simple(&table);
        assert!(html.contains("a &lt; b") && html.contains("&lt;i&gt;") && html.contains("<td>&amp;</td>"));
    }
}
