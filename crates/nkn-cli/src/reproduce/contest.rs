//! Which network wins: ours and the paper's.

use super::cell::Cell;
use super::names::{class, details, kind_name};
use super::row::Data;
use super::table::{Line, Table};
use std::collections::BTreeMap;

/// Lines that can be compared: trained on the same data, tested on the same samples.
pub struct Contest<'a> {
    /// What they were trained on.
    pub data: Option<Data>,
    /// The samples in words, as in "test s′ = 31".
    pub name: String,
    /// Those who take part.
    pub lines: Vec<&'a Line>,
}

/// The outcome in one column.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Winner<'a> {
    /// No network was run.
    NotRun,
    /// Networks of one kind only: nobody to beat.
    Alone(&'a Line),
    /// All that were run have collapsed or blown up.
    Nobody,
    /// The network with the smallest error.
    Network(&'a Line),
}

impl Table {
    /// The contests on test samples in which something was run.
    pub fn contests(&self) -> Vec<Contest<'_>> {
        let mut contests: BTreeMap<_, Contest> = BTreeMap::new();
        for group in self.groups.iter().filter(|group| group.is_run()) {
            for line in group.lines.iter().filter(|line| line.is_test()) {
                let name = || line.samples.map_or_else(|| "all networks".into(), |_| line.detail.clone());
                let new = || Contest { data: group.data, name: name(), lines: Vec::new() };
                contests.entry((group.data, line.samples)).or_insert_with(new).lines.push(line);
            }
        }
        contests.into_values().collect()
    }
}

impl<'a> Contest<'a> {
    fn smallest(&self, value: impl Fn(&Line) -> Option<f64>) -> Option<&'a Line> {
        let values = self.lines.iter().filter_map(|line| Some((value(line)?, *line)));
        values.min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, line)| line)
    }

    /// Our winner.
    pub fn winner(&self, column: usize) -> Winner<'a> {
        let mut run = self.lines.iter().filter(|line| line.cells[column].is_run());
        let Some(first) = run.next() else { return Winner::NotRun };
        let is_alone = run.all(|line| class(&line.model) == class(&first.model));
        match self.smallest(|line| line.cells[column].learned()) {
            None if is_alone => Winner::Alone(first),
            None => Winner::Nobody,
            Some(line) if is_alone => Winner::Alone(line),
            Some(line) => Winner::Network(line),
        }
    }

    /// The paper's winner among the networks that we have run (the others could not have won here) and those that it quotes.
    pub fn paper_winner(&self, column: usize) -> Option<&'a Line> {
        let printed = |line: &Line| {
            let cell = &line.cells[column];
            cell.paper.map(|paper| paper.mean).filter(|_| cell.is_run() || line.is_quoted())
        };
        let count = self.lines.iter().filter(|line| printed(line).is_some()).count();
        self.smallest(|line| printed(line).filter(|mean| mean.is_finite())).filter(|_| count > 1)
    }

    /// The errors of a column in words, ours and the paper's.
    pub fn details(&self, column: usize) -> String {
        let text = |line: &&Line| {
            let cell: &Cell = &line.cells[column];
            let paper = if cell.paper.is_some() { cell.paper_text() } else { "none".to_owned() };
            let name = if line.samples.is_some() { kind_name(&line.model) } else { line.name() };
            format!("{name} {}{}{} (paper {paper})", cell.mean_text(), cell.error_text(), cell.mark())
        };
        self.lines.iter().filter(|line| line.cells[column].is_run()).map(text).collect::<Vec<_>>().join("\n")
    }
}

/// What is said of a winner besides its kind: nothing for functions, where the column says the depth.
pub fn distinction(line: &Line) -> String {
    if line.samples.is_some() { details(&line.model, None) } else { line.detail.clone() }
}

#[cfg(test)]
mod tests {
    use super::super::table::tests::{digits, functions};
    use super::*;

    fn model(winner: Winner<'_>) -> &str {
        match winner {
            Winner::Network(line) => &line.model,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn winners_are_those_that_have_learned_most() {
        let table = &functions("poisson")[0];
        let contests = table.contests();
        let names: Vec<_> = contests.iter().map(|contest| (contest.data.unwrap(), contest.name.as_str())).collect();
        assert_eq!(names, [(Data::Normalised, "test"), (Data::Original, "test")]);
        assert_eq!(contests[0].winner(0), Winner::NotRun);
        assert_eq!(model(contests[0].winner(1)), "fno");
        assert_eq!(contests[0].winner(2), Winner::Nobody);
        assert!(matches!(contests[0].winner(6), Winner::Alone(line) if line.model == "nkn"));
        assert!(matches!(contests[1].winner(1), Winner::Alone(line) if line.model == "nkn"));
    }

    #[test]
    fn the_papers_winner_is_among_the_networks_that_were_run() {
        let table = &functions("poisson")[0];
        let contests = table.contests();
        let paper = |contest: usize, column| contests[contest].paper_winner(column).map(|line| line.model.as_str());
        // NKN wins at L = 4 in the paper, but was not run here.
        assert_eq!([paper(0, 1), paper(0, 2), paper(0, 6), paper(1, 1)], [Some("fno"), Some("fno"), None, None]);
        assert!(contests[0].details(1).starts_with("GKN 4.00e-2±1.0e-2 (paper 3.05e-2)\nFNO"));
    }

    /// Networks of one kind do not beat each other; what the paper quotes takes part.
    #[test]
    fn images_have_one_contest_per_column() {
        let tables = digits();
        let contests = tables[0].contests();
        assert_eq!(contests.len(), 1);
        let key = |line: &Line| line.name();
        assert!(matches!(contests[0].winner(0), Winner::Network(line) if key(line) == "CNN, L = 1"));
        assert!(matches!(contests[0].winner(1), Winner::Network(line) if key(line) == "NKN, r = 3, L = 2"));
        assert_eq!(contests[0].winner(2), Winner::NotRun);
        assert!(matches!(contests[0].winner(3), Winner::Alone(line) if key(line) == "NKN, r = 4, L = 1"));
        assert!(contests[0].paper_winner(3).unwrap().is_quoted());
        assert_eq!(distinction(contests[0].paper_winner(0).unwrap()), "");
    }
}
