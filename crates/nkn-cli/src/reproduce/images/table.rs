//! The tables: a row per network in the order of the paper, a column per pair of resolutions.

use super::entry::{Entry, Unit};
use super::lookup::Lookup;
use super::paper::{self, Printed};
use super::row::Row;
use super::{Column, Measured, Task};

/// Our numbers on one set of images beside the paper's.
#[derive(Debug, Clone, PartialEq)]
pub struct Grid {
    /// The data.
    pub task: Task,
    /// The images, "validation" or "official".
    pub set: String,
    /// What the numbers are: error rates in percent or ratios of them.
    pub unit: Unit,
    /// The columns, the paper's first.
    pub columns: Vec<Column>,
    /// The rows, the paper's first.
    pub lines: Vec<Line>,
}

/// The numbers of one network.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    /// The network.
    pub row: Row,
    /// Whether it stands in the paper.
    pub is_printed: bool,
    /// A cell per column.
    pub entries: Vec<Entry>,
}

impl Line {
    /// Lines of the same group stand together: the same kind of network, in the paper or not.
    pub fn group(&self) -> (bool, &'static str) {
        (self.is_printed, self.row.class())
    }
}

/// The networks: those of the paper, and ours that it does not have, in the order in which they were measured.
pub fn rows(task: Task, measured: &[Measured]) -> Vec<Row> {
    let mut rows = paper::rows(task);
    for one in measured {
        if rows.iter().all(|row| row.key != one.row) {
            rows.push(Row::new(&one.row));
        }
    }
    rows
}

/// The table of errors on each set of images: first the paper's, then the others that were measured.
pub fn errors(task: Task, measured: &[Measured], lookup: &Lookup) -> Vec<Grid> {
    let mut sets = vec![task.paper_set()];
    for one in measured {
        if !sets.contains(&one.set.as_str()) {
            sets.push(&one.set);
        }
    }
    sets.into_iter()
        .map(|set| {
            let columns = columns(task, set, measured);
            let entry = |row: &Row, column: Column| {
                Entry::errors(lookup.get(set, &row.key, column), printed(task, set, row, column))
            };
            let mut grid = grid(task, set, columns, measured, entry);
            grid.mark_best();
            grid
        })
        .collect()
}

/// How many times larger errors are at other resolutions than at that of the training, on the paper's set of images.
pub fn ratios(task: Task, measured: &[Measured], lookup: &Lookup) -> Grid {
    let set = task.paper_set();
    let columns = columns(task, set, measured).into_iter().filter(|column| column.is_cross()).collect();
    let entry = |row: &Row, column: Column| {
        let [cross, home] = [column, column.at_home()];
        Entry::ratios(
            (lookup.get(set, &row.key, cross), lookup.get(set, &row.key, home)),
            (printed(task, set, row, cross), printed(task, set, row, home)),
        )
    };
    Grid { unit: Unit::Factor, ..grid(task, set, columns, measured, entry) }
}

fn grid(
    task: Task,
    set: &str,
    columns: Vec<Column>,
    measured: &[Measured],
    entry: impl Fn(&Row, Column) -> Entry,
) -> Grid {
    let in_paper = paper::rows(task).len();
    let line = |(place, row): (usize, Row)| {
        let entries = columns.iter().map(|&column| entry(&row, column)).collect();
        Line { row, is_printed: place < in_paper, entries }
    };
    let lines = rows(task, measured).into_iter().enumerate().map(line);
    // Numbers that the paper quotes belong to its set of images only.
    let lines = lines.filter(|line| !line.row.is_quoted() || set == task.paper_set()).collect();
    Grid { task, set: set.to_owned(), unit: Unit::Percent, columns, lines }
}

/// The paper's columns, then the others of our measurements.
fn columns(task: Task, set: &str, measured: &[Measured]) -> Vec<Column> {
    let mut columns = paper::columns(task);
    let mut others: Vec<_> = measured.iter().filter(|one| one.set == set).map(Column::of).collect();
    others.sort_unstable();
    others.dedup();
    columns.extend(others.into_iter().filter(|column| !paper::columns(task).contains(column)));
    columns
}

fn printed(task: Task, set: &str, row: &Row, column: Column) -> Option<Printed> {
    paper::printed(task, &row.key, column).filter(|_| set == task.paper_set())
}

impl Grid {
    /// Whether it is on the set of images that the paper tests on.
    pub fn has_paper(&self) -> bool {
        self.set == self.task.paper_set()
    }

    /// The set of images in words.
    pub fn images(&self) -> String {
        match (self.task, self.set.as_str()) {
            (Task::Mnist, "validation") => "10,000 of the 60,000 training images, held out as in the paper".into(),
            (_, "official") => "the official 10,000 test images".into(),
            (_, other) => format!("the set {other}"),
        }
    }

    /// The heading.
    pub fn title(&self) -> String {
        let task = self.task.title();
        match (self.unit, self.has_paper()) {
            (Unit::Factor, _) => format!("{task}: what another resolution costs"),
            (Unit::Percent, true) => format!("{task}: errors beside the paper's"),
            (Unit::Percent, false) => format!("{task}: errors on {}", self.images()),
        }
    }

    /// The columns in groups of the same training, with the number of columns.
    pub fn groups(&self) -> Vec<(usize, usize)> {
        self.columns.chunk_by(|a, b| a.trained_at == b.trained_at).map(|g| (g[0].trained_at, g.len())).collect()
    }

    /// The cell of a line in a column.
    pub fn entry<'a>(&self, line: &'a Line, column: Column) -> Option<&'a Entry> {
        line.entries.get(self.columns.iter().position(|&place| place == column)?)
    }

    /// Whether anything in it was measured.
    pub fn is_run(&self) -> bool {
        self.lines.iter().flat_map(|line| &line.entries).any(|entry| entry.cell.ours.is_some())
    }

    /// Marks the smallest of our errors in each column; a single network has nobody to beat.
    fn mark_best(&mut self) {
        for column in 0..self.columns.len() {
            let cells = self.lines.iter_mut().map(|line| &mut line.entries[column].cell);
            let mut run: Vec<_> = cells.filter(|cell| cell.ours.is_some()).collect();
            let several = run.len() > 1;
            let learned = run.iter_mut().filter_map(|cell| Some((cell.learned()?, cell)));
            if let Some((_, cell)) = learned.min_by(|a, b| a.0.total_cmp(&b.0)).filter(|_| several) {
                cell.is_best = true;
            }
        }
    }
}

#[cfg(test)]
pub mod tests {
    use super::super::tests::{example, measured};
    use super::*;

    /// The tables of errors and of ratios of some measurements on MNIST.
    pub fn grids(measured: &[Measured]) -> (Vec<Grid>, Grid) {
        let lookup = Lookup::new(measured).unwrap();
        (errors(Task::Mnist, measured, &lookup), ratios(Task::Mnist, measured, &lookup))
    }

    /// The cell of a network.
    pub fn at<'a>(grid: &'a Grid, key: &str, column: usize) -> &'a Entry {
        &grid.lines.iter().find(|line| line.row.key == key).unwrap().entries[column]
    }

    #[test]
    fn rows_that_the_paper_does_not_have_come_last() {
        let (grids, ratios) = grids(&example());
        let keys = |grid: &Grid| grid.lines.iter().map(|line| line.row.key.clone()).collect::<Vec<_>>();
        let mut expected: Vec<_> = paper::rows(Task::Mnist).into_iter().map(|row| row.key).collect();
        expected.push("nkn-r9-l7".into());
        assert_eq!(keys(&grids[0]), expected);
        assert_eq!(keys(&ratios), expected);
        assert_eq!(grids[0].lines.iter().filter(|line| !line.is_printed).count(), 1);
        assert_eq!(at(&grids[0], "nkn-r9-l7", 0).paper_text(), "");
        // Haber's numbers are not on the official images.
        expected.retain(|key| key != "multiscale-cnn-haber");
        assert_eq!(keys(&grids[1]), expected);
    }

    #[test]
    fn ours_stands_beside_the_papers_and_what_was_not_run_is_empty() {
        let (grids, _) = grids(&example());
        let nkn = at(&grids[0], "nkn-r3-l2", 0);
        assert_eq!([nkn.ours_text(), nkn.error_text(), nkn.paper_text()], ["3.50 %", "±0.50", "3.20 %"]);
        let missing = at(&grids[0], "nkn-r3-l2", 2);
        assert_eq!([missing.ours_text(), missing.paper_text()], ["–", "4.02 %"]);
        assert_eq!(at(&grids[0], "nkn-r4-l1", 3).mark(), "‡");
        let official = at(&grids[1], "nkn-r3-l2", 0);
        assert_eq!([official.ours_text(), official.paper_text()], ["3.10 %", ""]);
    }

    #[test]
    fn the_smallest_error_is_marked_unless_it_is_alone_or_guessed() {
        let (grids, _) = grids(&example());
        let best = |key, column| at(&grids[0], key, column).cell.is_best;
        assert!(best("cnn-l1", 0) && best("nkn-r3-l2", 1));
        assert!(!best("nkn-r3-l2", 0) && !best("nkn-r4-l1", 3));
        let guessing = [measured("cnn-l1", (28, 14), 0, 0.9), measured("cnn-l2", (28, 14), 0, 0.91)];
        assert!(!at(&self::grids(&guessing).0[0], "cnn-l1", 1).cell.is_best);
    }

    #[test]
    fn ratios_have_a_column_per_other_resolution() {
        let (_, ratios) = grids(&example());
        assert_eq!(
            ratios.columns.iter().map(|c| (c.trained_at, c.tested_at)).collect::<Vec<_>>(),
            [(28, 14), (14, 28)]
        );
        let nkn = at(&ratios, "nkn-r3-l2", 0);
        assert_eq!([nkn.ours_text(), nkn.paper_text()], ["1.75", "1.52"]);
        let cnn = at(&ratios, "cnn-l1", 0);
        assert_eq!([cnn.ours_text(), cnn.paper_text()], ["45.0", "10.9"]);
        assert_eq!(at(&ratios, "multiscale-cnn-haber", 1).paper_text(), "5.80");
    }

    #[test]
    fn other_resolutions_get_columns_of_their_own() {
        let (grids, ratios) = grids(&[measured("cnn-l1", (28, 56), 0, 0.5)]);
        assert_eq!(grids[0].columns.last(), Some(&Column { trained_at: 28, tested_at: 56 }));
        assert_eq!((grids[0].columns.len(), ratios.columns.len()), (5, 3));
        assert_eq!(grids[0].groups(), [(28, 2), (14, 2), (28, 1)]);
    }
}
