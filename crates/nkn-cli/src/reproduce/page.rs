//! The page: one self-contained HTML file.

use super::simple::SimpleTable;
use super::table::ComparisonTable;
use super::{html, overview};
use crate::report::text::escape;
use crate::report::{paragraph, section, tables};

/// Everything that the page shows.
#[derive(Debug, Clone, Default)]
pub struct Page {
    /// The heading, in plain text.
    pub title: String,
    /// One or two sentences of plain text.
    pub summary: String,
    /// Whether the budget was that of a trial.
    pub is_quick: bool,
    /// Names and values of the setting, in plain text.
    pub facts: Vec<(String, String)>,
    /// Our errors beside the paper's.
    pub tables: Vec<ComparisonTable>,
    /// Other tables.
    pub simple: Vec<SimpleTable>,
    /// Headings in plain text, and figures as HTML.
    pub figures: Vec<(String, String)>,
    /// Honest remarks, in plain text.
    pub notes: Vec<String>,
}

const QUICK: &str = "<p class=\"banner\" role=\"note\">Quick budget: few steps, one seed; these are not the numbers \
                     to judge the methods by.</p>\n";

/// Renders the page.
pub fn render(page: &Page) -> String {
    let comparisons =
        page.tables.iter().map(|table| section(&table.title(), html::scale_legend() + &html::comparison(table)));
    let simple: String = page.simple.iter().map(html::simple).collect();
    format!(
        include_str!("page.html"),
        style = include_str!("../report/style.css"),
        own_style = include_str!("style.css"),
        title = escape(&page.title),
        summary = paragraph(&page.summary),
        banner = if page.is_quick { QUICK } else { "" },
        overview = section("At a glance", overview::overview(&page.tables)),
        setting = section("Setting", tables::facts(&page.facts)),
        tables = comparisons.collect::<String>(),
        figures = figures(&page.figures),
        simple = section("Sizes and spectra", simple),
        notes = section("Notes", tables::notes(&page.notes)),
    )
}

/// A section per heading; figures in a row with the same heading share it.
fn figures(figures: &[(String, String)]) -> String {
    let groups = figures.chunk_by(|a, b| a.0 == b.0);
    groups.map(|group| section(&group[0].0, group.iter().map(|(_, figure)| figure.as_str()).collect())).collect()
}

#[cfg(test)]
mod tests {
    use super::super::table::tests::example;
    use super::*;

    fn page() -> Page {
        Page { title: "A & B".into(), tables: example(), notes: vec!["<note>".into()], ..Page::default() }
    }

    #[test]
    fn the_page_needs_nothing_else() {
        let html = render(&page());
        assert!(html.contains("<title>A &amp; B</title>") && html.contains("&lt;note&gt;"));
        assert!(["http", "<script", "<link", "@import", "url("].iter().all(|word| !html.contains(word)));
        assert!(!html.contains("NaN"));
    }

    #[test]
    fn the_overview_comes_before_the_tables() {
        let html = render(&page());
        let place = |text: &str| html.find(text).unwrap();
        assert!(place("At a glance") < place("<h2>1D Poisson, 101 points</h2>"));
        assert!(place("<h2>1D Poisson") < place("<h2>2D Darcy") && place("<h2>2D Darcy") < place("<h2>Notes"));
    }

    #[test]
    fn a_quick_budget_is_said() {
        assert!(!render(&page()).contains("Quick budget"));
        assert!(render(&Page { is_quick: true, ..page() }).contains("not the numbers to judge"));
    }

    #[test]
    fn figures_share_a_heading() {
        let figure = |heading: &str, html: &str| (heading.to_owned(), html.to_owned());
        let html = figures(&[figure("a", "<b>1</b>"), figure("a", "<b>2</b>"), figure("c", "3")]);
        assert_eq!(html.matches("<h2>").count(), 2);
        assert!(html.contains("<b>1</b><b>2</b>"));
    }
}
