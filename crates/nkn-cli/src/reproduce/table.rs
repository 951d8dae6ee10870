//! The paper's tables, with our numbers beside the paper's.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use super::cell::Cell;
use super::model::{Key, Measured, collapse_threshold, display_name, model_rank};
use super::paper;

/// All errors of networks trained on one grid.
#[derive(Debug, Clone, PartialEq)]
pub struct ComparisonTable {
    /// "poisson" or "darcy".
    pub experiment: String,
    /// Points per axis of the training grid.
    pub trained_at: usize,
    /// The columns.
    pub depths: Vec<usize>,
    /// Normalised data first.
    pub halves: Vec<Half>,
}

/// The part of a table that was trained on the same data.
#[derive(Debug, Clone, PartialEq)]
pub struct Half {
    /// Whether the data were normalised.
    pub normalised: bool,
    /// By model, training errors first.
    pub rows: Vec<Row>,
}

/// The errors of one model on one set of samples.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// "gkn", "fno" or "nkn".
    pub model: String,
    /// The samples.
    pub samples: Samples,
    /// A cell per depth.
    pub cells: Vec<Cell>,
}

/// Samples at a resolution; training samples come first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Samples {
    /// Whether they are test samples.
    pub is_test: bool,
    /// Points per axis.
    pub resolution: usize,
}

/// Builds a table for each training grid that occurs in our results.
pub fn tables(measured: &[(Key, Measured)]) -> Vec<ComparisonTable> {
    let ours: BTreeMap<&Key, &Measured> =
        measured.iter().filter(|(_, values)| !values.values.is_empty()).map(|(key, values)| (key, values)).collect();
    let grids: BTreeSet<(&str, usize)> = ours.keys().map(|key| (key.experiment.as_str(), key.trained_at)).collect();
    // Poisson comes before Darcy, as in the paper.
    let mut grids: Vec<_> = grids.into_iter().collect();
    grids.sort_by_key(|&(experiment, trained_at)| (Reverse(experiment), trained_at));
    grids.into_iter().map(|(experiment, trained_at)| table(experiment, trained_at, &ours)).collect()
}

fn table(experiment: &str, trained_at: usize, ours: &BTreeMap<&Key, &Measured>) -> ComparisonTable {
    let mine = ours.keys().copied().filter(|key| key.experiment == experiment && key.trained_at == trained_at);
    // The closure shortens the life of the static keys to that of ours.
    let printed = paper::keys(experiment, trained_at).map(|key| -> &Key { key });
    let keys: BTreeSet<&Key> = mine.chain(printed).collect();
    let depths: Vec<usize> = keys.iter().map(|key| key.depth).collect::<BTreeSet<_>>().into_iter().collect();
    let halves: BTreeSet<bool> = keys.iter().map(|key| key.normalised).collect();
    let half = |normalised: bool| {
        let order = |key: &&Key| (model_rank(&key.model), key.model.clone(), Samples::of(key));
        let names: BTreeSet<_> = keys.iter().filter(|key| key.normalised == normalised).map(order).collect();
        let row = |(_, model, samples): (usize, String, Samples)| Row {
            cells: depths
                .iter()
                .map(|&depth| cell(ours, samples.key(experiment, &model, depth, (trained_at, normalised))))
                .collect(),
            model,
            samples,
        };
        Half { normalised, rows: names.into_iter().map(row).collect() }
    };
    let halves = halves.into_iter().rev().map(half).collect();
    let mut table = ComparisonTable { experiment: experiment.to_owned(), trained_at, depths, halves };
    table.mark_best();
    table
}

fn cell(ours: &BTreeMap<&Key, &Measured>, key: Key) -> Cell {
    Cell {
        ours: ours.get(&key).map(|&values| values.clone()),
        paper: paper::published(&key),
        collapse: collapse_threshold(&key),
        is_best: false,
        leads: false,
    }
}

impl Samples {
    fn of(key: &Key) -> Self {
        Self { is_test: key.split != "train", resolution: key.tested_at }
    }

    fn key(self, experiment: &str, model: &str, depth: usize, (trained_at, normalised): (usize, bool)) -> Key {
        Key {
            experiment: experiment.to_owned(),
            model: model.to_owned(),
            depth,
            split: if self.is_test { "test" } else { "train" }.to_owned(),
            trained_at,
            tested_at: self.resolution,
            normalised,
        }
    }
}

impl ComparisonTable {
    /// What the networks were trained on, as in "2D Darcy, trained at s = 16".
    pub fn title(&self) -> String {
        match self.experiment.as_str() {
            "poisson" => format!("1D Poisson, {} points", self.trained_at),
            "darcy" => format!("2D Darcy, trained at s = {}", self.trained_at),
            other => format!("{other}, trained at s = {}", self.trained_at),
        }
    }

    /// The name of samples: their resolution is left out if there is only one.
    pub fn samples_name(&self, samples: Samples) -> String {
        let mut rows = self.halves.iter().flat_map(|half| &half.rows);
        match samples.is_test {
            false => "train".to_owned(),
            true if rows.all(|row| row.samples.resolution == samples.resolution) => "test".to_owned(),
            true => format!("test s′ = {}", samples.resolution),
        }
    }

    /// The name of a row, as in "GKN, test s′ = 16".
    pub fn row_name(&self, row: &Row) -> String {
        format!("{}, {}", display_name(&row.model), self.samples_name(row.samples))
    }

    /// The sets of samples, training first.
    pub fn samples(&self) -> Vec<Samples> {
        let rows = self.halves.iter().flat_map(|half| &half.rows);
        rows.map(|row| row.samples).collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// Marks the smallest errors, in the table and in its halves; a single model has nobody to beat.
    fn mark_best(&mut self) {
        for samples in self.samples() {
            for column in 0..self.depths.len() {
                mark(self.halves.iter_mut().flat_map(|half| &mut half.rows), samples, column, |cell| &mut cell.is_best);
                for half in &mut self.halves {
                    mark(half.rows.iter_mut(), samples, column, |cell| &mut cell.leads);
                }
            }
        }
    }
}

fn mark<'a>(
    rows: impl Iterator<Item = &'a mut Row>,
    samples: Samples,
    column: usize,
    flag: impl Fn(&mut Cell) -> &mut bool,
) {
    let rows = rows.filter(|row| row.samples == samples);
    let mut run: Vec<_> = rows.map(|row| &mut row.cells[column]).filter(|cell| cell.ours.is_some()).collect();
    let several = run.len() > 1;
    let learned = run.iter_mut().filter_map(|cell| Some((cell.learned()?, cell)));
    if let Some((_, cell)) = learned.min_by(|a, b| a.0.total_cmp(&b.0)).filter(|_| several) {
        *flag(cell) = true;
    }
}

impl Half {
    /// Its heading, in the paper's words.
    pub fn title(&self) -> &'static str {
        if self.normalised { "Trained with normalised data" } else { "Trained with original (not normalised) data" }
    }

    /// Whether we have any number for it.
    pub fn is_run(&self) -> bool {
        self.rows.iter().any(|row| row.cells.iter().any(|cell| cell.ours.is_some()))
    }

    /// The rows on the same samples, one per model.
    pub fn rows_on(&self, samples: Samples) -> impl Iterator<Item = &Row> {
        self.rows.iter().filter(move |row| row.samples == samples)
    }
}

#[cfg(test)]
pub mod tests {
    use super::super::model::tests::{key, measured};
    use super::*;

    /// Poisson at L = 2 with all models, Darcy with one, and a depth that the paper does not have.
    pub fn example() -> Vec<ComparisonTable> {
        let test = |model, depth, normalised| key("poisson", model, depth, Some(101), normalised);
        tables(&[
            (test("gkn", 2, true), measured(&[3e-2, 5e-2])),
            (test("fno", 2, true), measured(&[8e-3, 9e-3])),
            (test("nkn", 2, true), measured(&[9e-3, 10e-3])),
            (test("nkn", 2, false), measured(&[1e-3, 2e-3])),
            (test("gkn", 4, true), measured(&[f64::INFINITY, 1.0])),
            (test("fno", 4, true), measured(&[0.99, 1.0])),
            (test("nkn", 64, true), measured(&[8e-3])),
            (key("darcy", "nkn", 2, Some(31), true), measured(&[7e-2])),
        ])
    }

    fn row<'a>(half: &'a Half, model: &str, is_test: bool) -> &'a Row {
        half.rows.iter().find(|row| row.model == model && row.samples.is_test == is_test).unwrap()
    }

    #[test]
    fn a_table_has_the_papers_rows_and_the_union_of_the_depths() {
        let tables = example();
        assert_eq!(
            tables.iter().map(ComparisonTable::title).collect::<Vec<_>>(),
            ["1D Poisson, 101 points", "2D Darcy, trained at s = 16"]
        );
        assert_eq!(tables[0].depths, [1, 2, 4, 8, 16, 32, 64]);
        let names: Vec<_> = tables[0].halves[0].rows.iter().map(|row| tables[0].row_name(row)).collect();
        assert_eq!(names, ["GKN, train", "GKN, test", "FNO, train", "FNO, test", "NKN, train", "NKN, test"]);
        assert_eq!(tables[1].row_name(&tables[1].halves[0].rows[1]), "GKN, test s′ = 16");
        assert_eq!(tables[1].halves.iter().map(Half::is_run).collect::<Vec<_>>(), [true, false]);
        let deepest = &row(&tables[0].halves[0], "nkn", true).cells[6];
        assert_eq!((deepest.ours.is_some(), deepest.paper), (true, None));
    }

    #[test]
    fn the_best_model_is_marked_in_the_half_and_in_the_table() {
        let table = &example()[0];
        let marks = |half: usize, model, column: usize| {
            let cell = &row(&table.halves[half], model, true).cells[column];
            (cell.is_best, cell.leads)
        };
        assert_eq!(marks(0, "fno", 1), (false, true));
        assert_eq!(marks(0, "nkn", 1), (false, false));
        assert_eq!(marks(1, "nkn", 1), (true, false));
        // Blown up and collapsed: nobody wins. Alone: neither.
        assert_eq!([marks(0, "gkn", 2), marks(0, "fno", 2), marks(0, "nkn", 6)], [(false, false); 3]);
    }

    #[test]
    fn nothing_measured_is_no_table() {
        assert!(tables(&[(key("poisson", "nkn", 1, None, true), measured(&[]))]).is_empty());
    }
}
