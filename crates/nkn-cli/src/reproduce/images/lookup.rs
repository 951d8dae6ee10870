//! What was measured, by cell and seed.

use anyhow::{Result, ensure};
use std::collections::BTreeMap;

use super::{Column, Measured};

/// The measurements of a cell, by seed.
pub type Seeds<'a> = BTreeMap<u64, &'a Measured>;

/// All measurements.
#[derive(Debug)]
pub struct Lookup<'a>(BTreeMap<(String, String, Column), Seeds<'a>>);

impl Column {
    /// The column of a measurement.
    pub fn of(measured: &Measured) -> Self {
        Self { trained_at: measured.trained_at, tested_at: measured.tested_at }
    }
}

impl<'a> Lookup<'a> {
    /// Checks the measurements: rates between 0 and 1, and each seed once in a cell.
    pub fn new(measured: &'a [Measured]) -> Result<Self> {
        let mut cells: BTreeMap<_, Seeds<'a>> = BTreeMap::new();
        for one in measured {
            let Measured { row, set, seed, trained_at, tested_at, error_rate, .. } = one;
            let place = format!("{row}, seed {seed}, trained at {trained_at}, tested at {tested_at} ({set})");
            ensure!(
                (0.0..=1.0).contains(error_rate),
                "{place}: expected an error rate from 0 to 1, got {error_rate}\n  hint: test this network again"
            );
            let seeds = cells.entry((set.clone(), row.clone(), Column::of(one))).or_default();
            ensure!(
                seeds.insert(*seed, one).is_none(),
                "{place}: expected one measurement, got two\n  hint: each seed counts once in a mean"
            );
        }
        Ok(Self(cells))
    }

    /// The measurements of a cell; none if it was not run.
    pub fn get(&self, set: &str, row: &str, column: Column) -> Option<&Seeds<'a>> {
        self.0.get(&(set.to_owned(), row.to_owned(), column))
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{example, measured};
    use super::*;

    #[test]
    fn cells_have_their_seeds() {
        let all = example();
        let lookup = Lookup::new(&all).unwrap();
        let column = Column { trained_at: 28, tested_at: 14 };
        let seeds = lookup.get("validation", "nkn-r3-l2", column).unwrap();
        assert_eq!(seeds.values().map(|one| one.error_rate).collect::<Vec<_>>(), [0.045, 0.08]);
        assert!(lookup.get("official", "nkn-r3-l2", column).is_none());
    }

    #[test]
    fn what_cannot_be_is_refused() {
        for error_rate in [-0.1, 2.5, f64::NAN] {
            let message = Lookup::new(&[measured("cnn-l1", (28, 28), 0, error_rate)]).unwrap_err().to_string();
            assert!(message.contains("cnn-l1, seed 0, trained at 28") && message.contains("hint"), "{message}");
        }
        let twice = [measured("cnn-l1", (28, 28), 3, 0.1), measured("cnn-l1", (28, 28), 3, 0.2)];
        assert!(Lookup::new(&twice).unwrap_err().to_string().contains("expected one measurement, got two"));
    }
}
