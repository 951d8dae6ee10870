//! The page: one self-contained HTML file.

use super::super::html::{scale_legend, simple};
use super::super::runner::in_words;
use super::super::simple::SimpleTable;
use super::chart::penalties;
use super::cost::trainings;
use super::entry::Unit;
use super::html::comparison;
use super::overview::winners;
use super::table::Grid;
use super::{Budget, Measured, Task};
use crate::report::text::escape;
use crate::report::{paragraph, section, tables};

const QUICK: &str = "<p class=\"banner\" role=\"note\">Quick budget: these are not the numbers to judge the networks \
                     by.</p>\n";

/// Everything that is computed from the measurements.
#[derive(Debug)]
pub struct Tables {
    /// Errors, on the paper's images first.
    pub errors: Vec<Grid>,
    /// What another resolution costs.
    pub ratios: Grid,
    /// What the networks took.
    pub cost: SimpleTable,
}

/// Renders the page.
pub fn render(task: Task, budget: &Budget, measured: &[Measured], tables: &Tables) -> String {
    let grids = tables.errors.iter().take(1).chain([&tables.ratios]).chain(tables.errors.iter().skip(1));
    let comparisons = grids.map(|grid| {
        let is_legend = grid.has_paper() && grid.unit == Unit::Percent;
        let legend = if is_legend { scale_legend() } else { String::new() };
        section(&grid.title(), legend + &comparison(grid, budget))
    });
    let glance = tables.errors.first().map(|grid| winners(grid) + &penalties(grid)).unwrap_or_default();
    let cost = if tables.cost.rows.is_empty() { String::new() } else { simple(&tables.cost) };
    format!(
        include_str!("../page.html"),
        style = include_str!("../../report/style.css"),
        own_style = concat!(include_str!("../style.css"), include_str!("style.css")),
        title = escape(&format!("{}: the paper's table beside ours", task.title())),
        summary = paragraph(&summary(budget, measured)),
        banner = if budget.is_quick { QUICK } else { "" },
        overview = section("At a glance", glance),
        setting = section("Setting", tables::facts(&facts(measured))),
        tables = comparisons.collect::<String>(),
        figures = "",
        simple = section("Cost", cost),
        notes = section("Notes", tables::notes(&notes(task))),
    )
}

/// The budget in a sentence, and how much was run.
fn summary(budget: &Budget, measured: &[Measured]) -> String {
    let trainings = trainings(measured);
    let unfinished = trainings.iter().filter(|one| !one.complete).count();
    let unfinished = if unfinished > 0 { format!(", {unfinished} of them unfinished (‡)") } else { String::new() };
    let count = match trainings.len() {
        1 => "1 training".to_owned(),
        count => format!("{count} trainings"),
    };
    let budgeted = if budget.is_quick { "Quick budget" } else { "Budget" };
    let words = budget.words.trim_end_matches('.');
    format!(
        "{budgeted}: {words}. {count}{unfinished}. Numbers are shares of images taken for another class, lower is better."
    )
}

fn facts(measured: &[Measured]) -> Vec<(String, String)> {
    let trainings = trainings(measured);
    let mut networks: Vec<_> = trainings.iter().map(|one| one.row.as_str()).collect();
    networks.sort_unstable();
    networks.dedup();
    let mut seeds: Vec<_> = trainings.iter().map(|one| one.seed).collect();
    seeds.sort_unstable();
    seeds.dedup();
    let seeds = seeds.iter().map(u64::to_string).collect::<Vec<_>>().join(", ");
    let facts = [
        ("networks", networks.len().to_string()),
        ("seeds", seeds),
        ("trainings", trainings.len().to_string()),
        ("training time", in_words(trainings.iter().map(|one| one.seconds).sum())),
    ];
    facts.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

fn notes(task: Task) -> Vec<String> {
    let notes = match task {
        Task::Mnist => [
            "The paper divides the 60,000 training images at random into 50,000 and 10,000 and reports errors on the latter. \
             Its division is not known; ours is another.",
            "Multiscale CNN*: the numbers of Haber et al. (2018), quoted by the paper; trained with another loss, another \
             optimiser and regularisation.",
        ],
        Task::Cifar => [
            "All networks are trained at 32 × 32 pixels; 64 × 64 and 16 × 16 are made from the same images by bilinear \
             interpolation.",
            "Tao et al.: the numbers of Tao et al. (2018), quoted by the paper. L is the number of layers of the nonlocal \
             block in a PreResNet-20.",
        ],
    };
    notes.map(str::to_owned).to_vec()
}

#[cfg(test)]
mod tests {
    use super::super::cost;
    use super::super::table::tests::grids;
    use super::super::tests::example;
    use super::*;

    fn page(is_quick: bool, measured: &[Measured]) -> String {
        let budget = Budget { words: "2 epochs <each>.".into(), is_quick };
        let (errors, ratios) = grids(measured);
        let cost = cost::table(Task::Mnist, measured);
        render(Task::Mnist, &budget, measured, &Tables { errors, ratios, cost })
    }

    #[test]
    fn the_page_needs_nothing_else() {
        let html = page(false, &example());
        assert!(["http", "<script", "<link", "@import", "url("].iter().all(|word| !html.contains(word)));
        assert!(!html.contains("NaN"));
    }

    #[test]
    fn the_page_begins_with_the_budget() {
        let html = page(false, &example());
        let begin =
            "<p class=\"summary\">Budget: 2 epochs &lt;each&gt;. 5 trainings, 1 of them unfinished (‡). Numbers";
        assert!(html.contains(begin) && !html.contains("Quick budget"));
        assert!(page(true, &example()).contains("<p class=\"summary\">Quick budget: 2 epochs"));
        assert!(page(true, &example()).contains("not the numbers to judge"));
    }

    #[test]
    fn sections_come_from_the_first_look_to_the_details() {
        let html = page(false, &example());
        let places = [
            "At a glance",
            "MNIST: errors beside",
            "MNIST: what another",
            "MNIST: errors on the official",
            "Cost",
            "Notes",
        ];
        let places = places.map(|heading| html.find(&format!("<h2>{heading}")).unwrap());
        assert!(places.is_sorted());
    }

    #[test]
    fn nothing_measured_is_a_page_all_the_same() {
        let html = page(false, &[]);
        assert!(html.contains("0 trainings.") && html.contains("At a glance") && !html.contains("<h2>Cost"));
    }
}
