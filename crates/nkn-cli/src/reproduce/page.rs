//! The page: one self-contained HTML file.

use super::html;
use super::simple::SimpleTable;
use super::table::Table;
use crate::report::{self, facts, notes, paragraph, section};
use maud::{Markup, PreEscaped, html};

/// Everything that the page shows.
#[derive(Debug, Clone, Default)]
pub struct Page {
    /// The heading.
    pub title: String,
    /// One or two sentences.
    pub summary: String,
    /// Whether the budget was that of a trial.
    pub is_quick: bool,
    /// Names and values of the setting.
    pub facts: Vec<(String, String)>,
    /// Our errors beside the paper's; the first look is on the first of them for each training.
    pub tables: Vec<Table>,
    /// What another resolution costs.
    pub costs: Vec<Table>,
    /// Other tables.
    pub simple: Vec<SimpleTable>,
    /// Figures of the first look, as HTML.
    pub overview: Vec<String>,
    /// Headings, and figures as HTML.
    pub figures: Vec<(String, String)>,
    /// Honest remarks.
    pub notes: Vec<String>,
}

/// Renders the page.
pub fn render(page: &Page) -> String {
    let compared: Vec<_> = page.tables.iter().filter(|table| has_paper(table)).collect();
    let glance = html! {
        @for table in &compared {
            @if compared.len() > 1 { h3 { (table.title) } }
            (html::winners(table)) (html::ratios(table))
        }
        @for figure in &page.overview { (PreEscaped(figure)) }
    };
    let header = html! {
        (PreEscaped(paragraph(&page.summary)))
        @if page.is_quick {
            p.banner role="note" { "Quick budget: few steps, one seed; these are not the numbers to judge the methods by." }
        }
    };
    let section = |heading: &str, content: Markup| section(heading, content.into_string());
    let mut content = section("At a glance", glance) + &section("Setting", PreEscaped(facts(&page.facts)));
    for table in page.tables.iter().chain(&page.costs) {
        let legend = html! { @if has_paper(table) { (html::scale_legend()) } };
        content += &section(&table.title, html! { (legend) (html::comparison(table)) });
    }
    for figures in page.figures.chunk_by(|a, b| a.0 == b.0) {
        content += &section(&figures[0].0, html! { @for (_, figure) in figures { (PreEscaped(figure)) } });
    }
    content += &section("Sizes, spectra and times", html! { @for table in &page.simple { (html::simple(table)) } });
    content += &section("Notes", PreEscaped(notes(&page.notes)));
    let kind = ("Reproduction of the paper's tables", page.title.as_str());
    report::page(kind, include_str!("style.css"), header, PreEscaped(content))
}

/// Whether the paper has a number for one of ours.
fn has_paper(table: &Table) -> bool {
    table.groups.iter().flat_map(|group| &group.lines).flat_map(|line| &line.cells).any(|cell| cell.paper.is_some())
}

#[cfg(test)]
mod tests {
    use super::super::table::tests::{digits, functions};
    use super::*;

    fn page() -> Page {
        let figure = |heading: &str, html: &str| (heading.to_owned(), html.to_owned());
        Page {
            title: "A & B".into(),
            tables: [functions("poisson"), functions("darcy")].concat(),
            figures: vec![figure("a", "<b>1</b>"), figure("a", "<b>2</b>"), figure("c", "3")],
            notes: vec!["<note>".into()],
            ..Page::default()
        }
    }

    #[test]
    fn the_page_needs_nothing_else() {
        for page in [page(), Page { tables: digits(), ..Page::default() }] {
            let html = render(&page);
            assert!(["http", "<script", "<link", "@import", "url("].iter().all(|word| !html.contains(word)));
            assert!(!html.contains("NaN"));
        }
        let html = render(&page());
        assert!(html.contains("<title>A &amp; B</title>") && html.contains("&lt;note&gt;"));
    }

    #[test]
    fn sections_come_from_the_first_look_to_the_details() {
        let html = render(&page());
        let headings = ["At a glance", "1D Poisson, 101 points", "2D Darcy, trained at s = 16", "a", "c", "Notes"];
        let places = headings.map(|heading| html.find(&format!("<h2>{heading}</h2>")).unwrap());
        assert!(places.is_sorted());
        // Figures share a heading, and what is empty has none.
        assert!(html.contains("<b>1</b><b>2</b>") && !html.contains("<h2>Sizes"));
    }

    #[test]
    fn a_quick_budget_is_said() {
        assert!(!render(&page()).contains("Quick budget"));
        assert!(render(&Page { is_quick: true, ..page() }).contains("not the numbers to judge"));
    }

    /// Images that the paper does not test on are not part of the first look.
    #[test]
    fn the_first_look_is_at_what_can_be_compared() {
        let html = render(&Page { tables: digits(), ..Page::default() });
        assert_eq!(html.matches("Which kind of network wins where?").count(), 1);
        assert!(html.contains("<h2>MNIST, the official test images</h2>"));
    }
}
