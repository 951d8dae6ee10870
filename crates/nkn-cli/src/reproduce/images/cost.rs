//! What the networks took: parameters, epochs and seconds.

use super::super::model::Measured as Values;
use super::super::simple::{SimpleTable, thousands};
use super::entry::UNFINISHED;
use super::row::Row;
use super::table::rows;
use super::{Measured, Task};

/// The trainings, each once: it has several measurements.
pub fn trainings(measured: &[Measured]) -> Vec<&Measured> {
    let mut seen: Vec<&Measured> = Vec::new();
    for one in measured {
        let same =
            |other: &&&Measured| (&other.row, other.trained_at, other.seed) == (&one.row, one.trained_at, one.seed);
        if !seen.iter().any(|other| same(&other)) {
            seen.push(one);
        }
    }
    seen
}

/// A row per network that was run; three columns per resolution of the training.
pub fn table(task: Task, measured: &[Measured]) -> SimpleTable {
    let trainings = trainings(measured);
    let mut sides: Vec<_> = trainings.iter().map(|one| one.trained_at).collect();
    sides.sort_unstable_by(|a, b| b.cmp(a));
    sides.dedup();
    let row = |row: Row| {
        let mut line = vec![row.name()];
        for &side in &sides {
            let own: Vec<_> = trainings.iter().filter(|one| one.row == row.key && one.trained_at == side).collect();
            let unfinished = if own.iter().any(|one| !one.complete) { " (unfinished)" } else { "" };
            let seconds = Values { values: own.iter().map(|one| one.seconds).collect() }.mean();
            line.push(range(own.iter().map(|one| one.parameters)));
            line.push(range(own.iter().map(|one| one.epochs)) + unfinished);
            line.push(if own.is_empty() { "–".to_owned() } else { thousands(seconds.round() as usize) });
        }
        line
    };
    let run = rows(task, measured).into_iter().filter(|row| trainings.iter().any(|one| one.row == row.key));
    let heads = sides.iter().flat_map(|&side| {
        let at = if sides.len() > 1 { format!(", trained on {}", task.size_name(side)) } else { String::new() };
        ["parameters", "epochs", "seconds"].map(|name| format!("{name}{at}"))
    });
    SimpleTable {
        title: format!("{}: what the networks took", task.title()),
        caption: "Trainable parameters, epochs and seconds of a training on this machine (the mean over the seeds)."
            .into(),
        columns: std::iter::once("network".to_owned()).chain(heads).collect(),
        rows: run.map(row).collect(),
    }
}

/// One number, or the smallest and the largest if the seeds differ.
fn range(numbers: impl Iterator<Item = usize> + Clone) -> String {
    match (numbers.clone().min(), numbers.max()) {
        (Some(low), Some(high)) if low < high => format!("{} to {}", thousands(low), thousands(high)),
        (Some(low), _) => thousands(low),
        _ => "–".to_owned(),
    }
}

/// What the mark of unfinished trainings means.
pub fn unfinished_words() -> String {
    format!("{UNFINISHED} Training stopped before its last epoch.")
}

#[cfg(test)]
mod tests {
    use super::super::tests::{example, measured};
    use super::*;

    #[test]
    fn a_training_counts_once() {
        let all = example();
        assert_eq!((all.len(), trainings(&all).len()), (9, 5));
    }

    #[test]
    fn the_table_has_the_networks_that_were_run() {
        let table = table(Task::Mnist, &example());
        assert_eq!(table.columns.len(), 7);
        assert_eq!(table.columns[1..3], ["parameters, trained on fine", "epochs, trained on fine"]);
        assert_eq!(table.rows[0], ["CNN, L = 1", "12,345", "10", "60", "–", "–", "–"]);
        assert_eq!(table.rows[2], ["NKN, r = 4, L = 1", "–", "–", "–", "12,345", "4 (unfinished)", "60"]);
        assert_eq!(table.rows[3][0], "NKN, r = 9, L = 7");
        assert!(table.rows.iter().all(|row| row.len() == 7));
    }

    #[test]
    fn seeds_that_differ_give_a_range_and_a_mean() {
        let first = Measured { epochs: 8, seconds: 1000.0, ..measured("cnn-l1", (28, 28), 0, 0.1) };
        let second = Measured { epochs: 12, seconds: 3000.0, ..measured("cnn-l1", (28, 28), 1, 0.1) };
        let table = table(Task::Cifar, &[first, second]);
        assert_eq!(table.columns, ["network", "parameters", "epochs", "seconds"]);
        assert_eq!(table.rows[0], ["CNN, L = 1", "12,345", "8 to 12", "2,000"]);
    }
}
