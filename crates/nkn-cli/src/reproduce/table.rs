//! From rows to tables: our numbers under the keys of the paper's, arranged as in the paper.

use super::cell::{Cell, Unit};
use super::names::{QUOTED, RANDOM, SMALL, details, kind_name, network};
use super::paper::{self, Published};
use super::problem::{Problem, Task};
use super::row::{Data, Key, Row};
use std::collections::{BTreeMap, BTreeSet};

/// Cells by what they are.
pub type Cells = BTreeMap<Key, Cell>;

/// Our values by seed.
fn measured<'a>(problem: &Problem, rows: &'a [Row]) -> BTreeMap<&'a Key, BTreeMap<u64, f64>> {
    let mut found: BTreeMap<_, BTreeMap<_, _>> = BTreeMap::new();
    for row in rows.iter().filter(|row| row.key.metric == problem.task.metric() && !row.key.model.ends_with(RANDOM)) {
        found.entry(&row.key).or_default().insert(row.seed, row.value);
    }
    found
}

/// The errors, ours and the paper's.
pub fn errors(problem: &Problem, rows: &[Row]) -> Cells {
    let ours = measured(problem, rows);
    let printed = paper::keys(problem.name, problem.task.metric()).map(|key| -> &Key { key });
    let keys: BTreeSet<&Key> = ours.keys().copied().chain(printed).collect();
    let cell = |key: &Key| Cell {
        ours: ours.get(key).map(|seeds| seeds.values().copied().collect()).unwrap_or_default(),
        paper: paper::published(&Key { model: key.model.replace(SMALL, ""), ..key.clone() }),
        tao: paper::published(&Key { metric: "error_rate_tao".into(), ..key.clone() }).map(|tao| tao.mean),
        unit: problem.task.unit(),
        collapse: (problem.collapse)(key),
        is_best: false,
        leads: false,
    };
    keys.into_iter().map(|key| (key.clone(), cell(key))).collect()
}

/// How many times larger errors are at other resolutions than at that of the training: ours seed by seed, as far as a seed has
/// both.
pub fn costs(problem: &Problem, rows: &[Row]) -> Cells {
    let (ours, errors) = (measured(problem, rows), errors(problem, rows));
    let cell = |(key, cell): (&Key, &Cell)| {
        let home = key.at_home();
        let pairs = ours.get(key).zip(ours.get(&home)).map(|(cross, home)| {
            let ratio =
                |(seed, value): (&u64, &f64)| home.get(seed).filter(|&&error| error > 0.0).map(|error| value / error);
            cross.iter().filter_map(ratio).collect::<Vec<f64>>()
        });
        let paper =
            cell.paper.zip(errors.get(&home).and_then(|home| home.paper)).map(|(cross, home)| cross.mean / home.mean);
        let paper = paper.filter(|ratio| !ratio.is_nan()).map(|mean| Published { mean, deviation: None });
        let ours = pairs.unwrap_or_default();
        let cell = Cell { ours, paper, tao: None, unit: Unit::Factor, collapse: f64::INFINITY, ..cell.clone() };
        (key.clone(), cell)
    };
    errors.iter().filter(|(key, _)| key.is_cross()).map(cell).collect()
}

/// Samples at a resolution; training samples come first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Samples {
    /// Whether they are test samples.
    pub is_test: bool,
    /// Points per axis.
    pub resolution: usize,
}

/// Whether the paper does not have the network, and what it was trained on.
type GroupKey = (bool, Option<Data>);

/// The model in the order of the paper, and what else distinguishes a line.
type LineKey = (usize, String, Option<usize>, Option<Samples>);

/// Where a number stands in its table, in the order of the paper.
struct Place {
    table: (bool, String, usize),
    group: GroupKey,
    line: LineKey,
    column: ((usize, usize), (usize, usize)),
}

/// The place of a value in a list, or behind it.
fn order(list: &[usize], value: usize) -> (usize, usize) {
    (list.iter().position(|&known| known == value).unwrap_or(list.len()), value)
}

impl Place {
    fn of(problem: &Problem, key: &Key) -> Self {
        let rank = paper::rank(problem.name, &key.model);
        let model = key.model.clone();
        match problem.task {
            Task::Functions => {
                let samples = Samples { is_test: key.is_test(), resolution: key.tested_at };
                let table = (false, String::new(), key.trained_at);
                let column = ((0, key.depth.unwrap_or(0)), (0, 0));
                Self { table, group: (false, key.data), line: (rank, model, None, Some(samples)), column }
            }
            Task::Images => {
                let is_other = key.split != problem.split;
                let same = |printed: &Key| printed.model == key.model && printed.depth == key.depth;
                let is_new = !paper::keys(problem.name, &key.metric).any(same);
                let tests = (problem.tested_at)(super::problem::Budget::Full);
                let column = (order(problem.trained_at, key.trained_at), order(tests, key.tested_at));
                let line = (rank, model, key.depth, None);
                Self { table: (is_other, key.split.clone(), 0), group: (is_new && !is_other, None), line, column }
            }
        }
    }
}

/// A table of the paper with our numbers.
#[derive(Debug, Clone)]
pub struct Table {
    /// The heading.
    pub title: String,
    /// A name for references.
    pub label: String,
    /// What the numbers are.
    pub unit: Unit,
    /// What the lines are.
    pub corner: &'static str,
    /// The columns.
    pub columns: Vec<Column>,
    /// Parts with a heading.
    pub groups: Vec<Group>,
}

/// A column.
#[derive(Debug, Clone, PartialEq)]
pub struct Column {
    /// What it shares with its neighbours, as in "trained on fine images", or nothing.
    pub over: String,
    /// Its own head, as in "L = 4" or "tested on coarse".
    pub head: String,
    /// Both in short, as in "L = 4" or "fine → coarse".
    pub short: String,
}

/// Lines of networks that were trained on the same kind of data, or that the paper does not have.
#[derive(Debug, Clone)]
pub struct Group {
    /// The heading, or nothing.
    pub title: &'static str,
    /// Functions: what the networks were trained on.
    pub data: Option<Data>,
    /// By model.
    pub lines: Vec<Line>,
}

/// The numbers of one network, or of one model on one set of samples.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    /// As in [`Key::model`].
    pub model: String,
    /// What distinguishes it from other lines of its kind, as in "test s′ = 31" or "r = 3, L = 2".
    pub detail: String,
    /// Functions: the samples.
    pub samples: Option<Samples>,
    /// A cell per column.
    pub cells: Vec<Cell>,
}

impl Line {
    /// Its name, as in "GKN, test s′ = 16" or "NKN, r = 3, L = 2".
    pub fn name(&self) -> String {
        let comma = if self.detail.is_empty() { "" } else { ", " };
        format!("{}{comma}{}", kind_name(&self.model), self.detail)
    }

    /// Whether its numbers are those of others, which the paper quotes.
    pub fn is_quoted(&self) -> bool {
        self.model == QUOTED
    }

    /// Whether it is about test samples.
    pub fn is_test(&self) -> bool {
        self.samples.is_none_or(|samples| samples.is_test)
    }
}

impl Group {
    /// Whether we have any number for it.
    pub fn is_run(&self) -> bool {
        self.lines.iter().flat_map(|line| &line.cells).any(Cell::is_run)
    }
}

/// A line of a pivot: its name, and an entry for every column that has one.
pub type PivotLine<L, T> = (L, Vec<Option<T>>);

/// Arranges entries in lines and columns, both in their order; what is missing is none.
pub fn pivot<L: Ord, C: Ord + Clone, T>(
    entries: impl IntoIterator<Item = (L, C, T)>,
) -> (Vec<C>, Vec<PivotLine<L, T>>) {
    let mut lines: BTreeMap<L, BTreeMap<C, T>> = BTreeMap::new();
    for (line, column, entry) in entries {
        lines.entry(line).or_default().insert(column, entry);
    }
    let columns: BTreeSet<C> = lines.values().flat_map(|line| line.keys().cloned()).collect();
    let cells = |mut line: BTreeMap<C, T>| columns.iter().map(|column| line.remove(column)).collect();
    let lines = lines.into_iter().map(|(name, line)| (name, cells(line))).collect();
    (columns.into_iter().collect(), lines)
}

/// The tables in which we have a number.
pub fn tables(problem: &Problem, cells: &Cells) -> Vec<Table> {
    let mut parts: BTreeMap<_, Vec<(&Key, Place)>> = BTreeMap::new();
    for key in cells.keys() {
        let place = Place::of(problem, key);
        parts.entry(place.table.clone()).or_default().push((key, place));
    }
    let is_run = |part: &&Vec<(&Key, Place)>| part.iter().any(|(key, _)| cells[*key].is_run());
    parts.values().filter(is_run).map(|part| table(problem, part, cells)).collect()
}

fn table(problem: &Problem, part: &[(&Key, Place)], cells: &Cells) -> Table {
    let sides: BTreeSet<_> =
        part.iter().filter_map(|(_, place)| place.line.3).map(|samples| samples.resolution).collect();
    let first = &part[0].0;
    let unit = cells[*first].unit;
    let empty =
        Cell { ours: Vec::new(), paper: None, tao: None, is_best: false, leads: false, ..cells[*first].clone() };
    let entries = part.iter().map(|(key, place)| ((place.group, place.line.clone()), place.column, &cells[*key]));
    let (columns, lines) = pivot(entries);
    let line = |((_, (_, model, depth, samples)), found): &((_, LineKey), Vec<Option<&Cell>>)| Line {
        model: model.clone(),
        detail: match samples {
            None => details(model, *depth),
            Some(Samples { is_test: false, .. }) => "train".into(),
            Some(_) if sides.len() == 1 && unit != Unit::Factor => "test".into(),
            Some(samples) => format!("test s′ = {}", samples.resolution),
        },
        samples: *samples,
        cells: found.iter().map(|cell| cell.unwrap_or(&empty).clone()).collect(),
    };
    let group = |lines: &[PivotLine<(GroupKey, LineKey), &Cell>]| {
        let (is_new, data) = lines[0].0.0;
        let title = match data {
            Some(Data::Normalised) => "Trained with normalised data",
            Some(Data::Original) => "Trained with original (not normalised) data",
            None if is_new => "Not in the paper",
            None => "",
        };
        Group { title, data, lines: lines.iter().map(line).collect() }
    };
    let cost = if unit == Unit::Factor { ": what another resolution costs" } else { "" };
    let mut table = Table {
        title: (problem.table_title)(first) + cost,
        label: format!("{}-{}-{}", problem.name, first.trained_at, first.split)
            + if cost.is_empty() { "" } else { "-cost" },
        unit,
        corner: if problem.task == Task::Functions { "model, samples" } else { "network" },
        columns: columns.iter().map(|&((_, a), (_, b))| column(problem, a, b)).collect(),
        groups: lines.chunk_by(|a, b| a.0.0 == b.0.0).map(group).collect(),
    };
    table.mark_best();
    table
}

fn column(problem: &Problem, first: usize, tested_at: usize) -> Column {
    if problem.task == Task::Functions {
        let head = format!("L = {first}");
        return Column { over: String::new(), short: head.clone(), head };
    }
    let [trained, tested] = [first, tested_at].map(|side| problem.resolution_name(side));
    Column {
        over: format!("trained on {trained} images"),
        head: format!("tested on {tested}"),
        short: format!("{trained} → {tested}"),
    }
}

impl Table {
    /// Marks the smallest numbers on the same samples, in the table and among networks that were trained on the same data.
    fn mark_best(&mut self) {
        for column in 0..self.columns.len() {
            let mut rivals: BTreeMap<_, Vec<(Option<Data>, &mut Cell)>> = BTreeMap::new();
            for group in &mut self.groups {
                for line in group.lines.iter_mut().filter(|line| line.cells[column].is_run()) {
                    rivals.entry(line.samples).or_default().push((group.data, &mut line.cells[column]));
                }
            }
            for cells in rivals.values_mut() {
                smallest(cells).into_iter().for_each(|cell| cell.is_best = true);
                for equals in cells.chunk_by_mut(|a, b| a.0 == b.0) {
                    smallest(equals).into_iter().for_each(|cell| cell.leads = true);
                }
            }
        }
    }
}

/// The cell of the network that has learned most; a single network has nobody to beat.
fn smallest<'a>(rivals: &'a mut [(Option<Data>, &mut Cell)]) -> Option<&'a mut Cell> {
    let is_contest = rivals.len() > 1;
    let learned = rivals.iter_mut().filter_map(|(_, cell)| Some((cell.learned()?, cell)));
    learned.min_by(|a, b| a.0.total_cmp(&b.0)).filter(|_| is_contest).map(|(_, cell)| &mut **cell)
}

/// The name of a network or of a training, as in "NKN, r = 3, L = 2" or "NKN, original data".
pub fn training_name(key: &Key) -> String {
    match key.data {
        Some(data) => format!("{}, {data} data", kind_name(&key.model)),
        None => network(&key.model, key.depth),
    }
}

#[cfg(test)]
#[path = "table_tests.rs"]
pub mod tests;
