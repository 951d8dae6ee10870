//! The numbers that the paper prints in its tables of image classification.
//!
//! Transcribed as printed:
//! - The row "multiscale-cnn-haber" quotes Haber et al. (2018), the column `tao` Tao et al. (2018).
//! - The baseline's error on fine CIFAR images is printed as 50 %, without decimals.
//! - The caption of MNIST says test, its columns say validation: both are 10,000 of the 60,000 training images.

use super::row::Row;
use super::{Column, Task};

/// A cell of the paper.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Printed {
    /// The paper's own error, from 0 to 1.
    pub error_rate: f64,
    /// That reported by Tao et al.
    pub tao: Option<f64>,
}

/// The cells of a table in the order of the paper: row by row, each with its column.
fn cells(task: Task) -> impl Iterator<Item = (&'static str, Column, Printed)> {
    let cell = move |line: &'static str| {
        let [_, row, trained_at, tested_at, percent, tao] = line.split(',').collect::<Vec<_>>().try_into().ok()?;
        // The exponent instead of a division, which would round: 4.85 % is 0.0485.
        let share = |percent: &str| format!("{percent}e-2").parse().ok();
        let column = Column { trained_at: trained_at.parse().ok()?, tested_at: tested_at.parse().ok()? };
        Some((row, column, Printed { error_rate: share(percent)?, tao: share(tao) }))
    };
    let lines = include_str!("paper.csv").lines().skip(1);
    lines.filter(move |line| line.split(',').next() == Some(task.key())).filter_map(cell)
}

/// The rows in the order of the paper.
pub fn rows(task: Task) -> Vec<Row> {
    let mut keys: Vec<_> = cells(task).map(|(row, ..)| row).collect();
    keys.dedup();
    keys.into_iter().map(Row::new).collect()
}

/// The columns in the order of the paper.
pub fn columns(task: Task) -> Vec<Column> {
    let mut columns = Vec::new();
    for (_, column, _) in cells(task) {
        if !columns.contains(&column) {
            columns.push(column);
        }
    }
    columns
}

/// What the paper prints, if it does.
pub fn printed(task: Task, row: &str, column: Column) -> Option<Printed> {
    cells(task).find(|(key, place, _)| *key == row && *place == column).map(|(.., printed)| printed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn percent(task: Task, row: &str, trained_at: usize, tested_at: usize) -> f64 {
        100.0 * printed(task, row, Column { trained_at, tested_at }).unwrap().error_rate
    }

    fn assert_near(a: f64, b: f64) {
        assert!((a - b).abs() < 1e-9, "{a} {b}");
    }

    #[test]
    fn every_cell_is_there() {
        assert_eq!((cells(Task::Mnist).count(), cells(Task::Cifar).count()), (19 * 4, 14 * 3));
        assert_eq!(include_str!("paper.csv").lines().count(), 1 + 19 * 4 + 14 * 3);
        let quoted = |task| cells(task).filter(|(.., printed)| printed.tao.is_some()).count();
        assert_eq!((quoted(Task::Mnist), quoted(Task::Cifar)), (0, 5));
    }

    #[test]
    fn known_errors_are_as_printed() {
        assert_near(percent(Task::Mnist, "cnn-l4", 28, 14), 90.42);
        assert_near(percent(Task::Mnist, "cnn-l1", 14, 28), 36.25);
        assert_near(percent(Task::Mnist, "multiscale-cnn-haber", 14, 14), 1.72);
        assert_near(percent(Task::Mnist, "multiscale-cnn-l2", 14, 28), 78.45);
        assert_near(percent(Task::Mnist, "nnn-l2", 28, 28), 4.48);
        assert_near(percent(Task::Mnist, "nkn-r2-l1", 28, 14), 4.37);
        assert_near(percent(Task::Mnist, "nkn-r3-l1", 14, 28), 3.76);
        assert_near(percent(Task::Mnist, "nkn-r4-l4", 14, 14), 3.58);
        assert_near(percent(Task::Cifar, "preresnet20", 32, 64), 50.0);
        assert_near(percent(Task::Cifar, "nnn-l5", 32, 16), 48.69);
        assert_near(percent(Task::Cifar, "nkn-r4-l3", 32, 16), 23.16);
        assert_near(percent(Task::Cifar, "nkn-r4-l4", 32, 32), 7.08);
        let original = Column { trained_at: 32, tested_at: 32 };
        assert_near(100.0 * printed(Task::Cifar, "nnn-l4", original).unwrap().tao.unwrap(), 7.37);
        assert_eq!(printed(Task::Cifar, "nkn-r4-l4", original).unwrap().tao, None);
        assert_eq!(printed(Task::Cifar, "cnn-l1", original), None);
    }

    /// A digit that changes anywhere changes a sum of logarithms, which gives small and large numbers the same weight.
    #[test]
    fn no_digit_has_changed() {
        let sum = |task| cells(task).map(|(.., printed)| (100.0 * printed.error_rate).log10()).sum::<f64>();
        let tao: f64 = cells(Task::Cifar).filter_map(|(.., printed)| Some((100.0 * printed.tao?).log10())).sum();
        let sums = [sum(Task::Mnist), sum(Task::Cifar), tao];
        let expected = [59.671956, 47.358445, 4.414175];
        assert!(sums.iter().zip(expected).all(|(sum, expected)| (sum - expected).abs() < 1e-5), "{sums:?}");
    }

    #[test]
    fn rows_and_columns_are_in_the_papers_order() {
        let keys = |task| rows(task).into_iter().map(|row| row.key).collect::<Vec<_>>();
        let mut mnist = ["cnn-l1", "cnn-l2", "cnn-l4", "multiscale-cnn-haber"].map(String::from).to_vec();
        for model in ["multiscale-cnn", "nnn", "nkn-r2", "nkn-r3", "nkn-r4"] {
            mnist.extend([1, 2, 4].map(|depth| format!("{model}-l{depth}")));
        }
        assert_eq!(keys(Task::Mnist), mnist);
        let mut cifar = vec!["preresnet20".to_owned()];
        cifar.extend([2, 3, 4, 5].map(|depth| format!("nnn-l{depth}")));
        for radius in 2..5 {
            cifar.extend([2, 3, 4].map(|depth| format!("nkn-r{radius}-l{depth}")));
        }
        assert_eq!(keys(Task::Cifar), cifar);
        let places = |task| columns(task).iter().map(|c| (c.trained_at, c.tested_at)).collect::<Vec<_>>();
        assert_eq!(places(Task::Mnist), [(28, 28), (28, 14), (14, 28), (14, 14)]);
        assert_eq!(places(Task::Cifar), [(32, 32), (32, 64), (32, 16)]);
    }
}
