//! A cell of an image table, and how its numbers are written.

use super::super::cell::{Cell, NOT_RUN};
use super::super::model::{Measured as Values, Published};
use super::Measured;
use super::lookup::Seeds;
use super::paper::Printed;

/// Networks from this error on guess: always saying the most frequent digit errs in 88.7 %, any of ten equally
/// frequent classes in 90 %.
const GUESSING: f64 = 0.88;

/// The sign of an unfinished training.
pub const UNFINISHED: char = '‡';

/// What the numbers of a table are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Shares, written in percent.
    Percent,
    /// Ratios, written as factors.
    Factor,
}

/// Our number beside the paper's.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// Both, and how they compare.
    pub cell: Cell,
    /// How many of our trainings were stopped before their last epoch.
    pub unfinished: usize,
    /// What Tao et al. report.
    pub tao: Option<f64>,
    /// What the numbers are.
    pub unit: Unit,
}

impl Entry {
    /// Error rates.
    pub fn errors(seeds: Option<&Seeds>, printed: Option<Printed>) -> Self {
        let values = seeds.map(|seeds| seeds.values().map(|one| one.error_rate).collect());
        let cell = cell(values, printed.map(|printed| printed.error_rate), GUESSING);
        let tao = printed.and_then(|printed| printed.tao);
        Self { cell, unfinished: unfinished(seeds), tao, unit: Unit::Percent }
    }

    /// Ratios of cross-resolution to same-resolution errors: ours seed by seed, as far as a seed has both.
    pub fn ratios(
        (cross, home): (Option<&Seeds>, Option<&Seeds>),
        printed: (Option<Printed>, Option<Printed>),
    ) -> Self {
        let pairs: Seeds = cross.zip(home).map_or_else(Seeds::new, |(cross, home)| {
            let both = |seed| home.get(seed).is_some_and(|home| home.error_rate > 0.0);
            cross.iter().filter(|(seed, _)| both(seed)).map(|(&seed, &one)| (seed, one)).collect()
        });
        let ratio = |(seed, one): (&u64, &&Measured)| Some(one.error_rate / home?.get(seed)?.error_rate);
        let values: Vec<f64> = pairs.iter().filter_map(ratio).collect();
        let paper = printed.0.zip(printed.1).map(|(cross, home)| cross.error_rate / home.error_rate);
        let cell = cell((!values.is_empty()).then_some(values), paper, f64::INFINITY);
        Self { cell, unfinished: unfinished(Some(&pairs)), tao: None, unit: Unit::Factor }
    }

    fn write(&self, value: f64) -> String {
        match self.unit {
            Unit::Percent => percent(value),
            Unit::Factor => factor(value),
        }
    }

    /// Our mean, or the sign of what was not run.
    pub fn ours_text(&self) -> String {
        self.cell.mean().map_or_else(|| NOT_RUN.to_owned(), |mean| self.write(mean))
    }

    /// Its standard error, or nothing.
    pub fn error_text(&self) -> String {
        let error = self.cell.ours.as_ref().and_then(Values::standard_error);
        let scale = if self.unit == Unit::Percent { 100.0 } else { 1.0 };
        error.map(|error| format!("±{:.2}", scale * error)).unwrap_or_default()
    }

    /// The paper's number, or nothing.
    pub fn paper_text(&self) -> String {
        self.cell.paper.map(|paper| self.write(paper.mean)).unwrap_or_default()
    }

    /// That of Tao et al., or nothing.
    pub fn tao_text(&self) -> String {
        self.tao.map(|tao| self.write(tao)).unwrap_or_default()
    }

    /// Marks: † for networks that guess, ‡ for unfinished trainings, with numbers if that is so for some seeds only.
    pub fn mark(&self) -> String {
        let seeds = self.cell.ours.as_ref().map_or(0, |ours| ours.values.len());
        let unfinished = match self.unfinished {
            0 => String::new(),
            all if all == seeds => UNFINISHED.to_string(),
            some => format!("{UNFINISHED}{some}/{seeds}"),
        };
        self.cell.mark() + &unfinished
    }
}

fn cell(values: Option<Vec<f64>>, paper: Option<f64>, collapse: f64) -> Cell {
    let paper = paper.map(|mean| Published { mean, error: None });
    Cell { ours: values.map(|values| Values { values }), paper, collapse, is_best: false, leads: false }
}

fn unfinished(seeds: Option<&Seeds>) -> usize {
    seeds.map_or(0, |seeds| seeds.values().filter(|one| !one.complete).count())
}

/// As the paper prints it: 3.20 %.
pub fn percent(value: f64) -> String {
    format!("{:.2} %", 100.0 * value)
}

/// With three or four digits: 1.52, 10.9, 120.
fn factor(value: f64) -> String {
    let decimals = if value < 9.995 { 2 } else { usize::from(value < 99.95) };
    format!("{value:.decimals$}")
}

#[cfg(test)]
mod tests {
    use super::super::tests::measured;
    use super::*;

    fn printed(error_rate: f64) -> Option<Printed> {
        Some(Printed { error_rate, tao: None })
    }

    #[test]
    fn numbers_are_means_over_the_seeds_in_percent() {
        let all = [1, 2, 3].map(|seed| measured("nkn-r3-l2", (28, 28), seed, 0.01 * seed as f64));
        let seeds: Seeds = all.iter().map(|one| (one.seed, one)).collect();
        let entry = Entry::errors(Some(&seeds), printed(0.04));
        // The standard error of 1, 2 and 3 is 1 / sqrt(3).
        assert_eq!([entry.ours_text(), entry.error_text(), entry.mark()], ["2.00 %", "±0.58", ""]);
        assert_eq!([entry.paper_text(), entry.cell.ratio_text()], ["4.00 %", "×0.50"]);
        let single: Seeds = all.iter().take(1).map(|one| (one.seed, one)).collect();
        assert_eq!(Entry::errors(Some(&single), None).error_text(), "");
        assert_eq!(Entry::errors(None, printed(0.5)).ours_text(), "–");
    }

    #[test]
    fn unfinished_and_guessing_networks_are_marked() {
        let mut all = [0, 1].map(|seed| measured("cnn-l4", (28, 14), seed, 0.9));
        all[1].complete = false;
        let seeds: Seeds = all.iter().map(|one| (one.seed, one)).collect();
        assert_eq!(Entry::errors(Some(&seeds), None).mark(), "†‡1/2");
        let single: Seeds = all.iter().skip(1).map(|one| (one.seed, one)).collect();
        assert_eq!(Entry::errors(Some(&single), None).mark(), "†‡");
    }

    #[test]
    fn ratios_are_taken_seed_by_seed() {
        let home = [0.02, 0.04, 0.0];
        let cross = [0.04, 0.16, 0.5];
        let [home, cross] =
            [home, cross].map(|rates| [0, 1, 2].map(|seed| measured("n", (28, 28), seed, rates[seed as usize])));
        let [home, cross] = [&home, &cross].map(|all| all.iter().map(|one| (one.seed, one)).collect::<Seeds>());
        let entry = Entry::ratios((Some(&cross), Some(&home)), (printed(0.1), printed(0.02)));
        assert_eq!(entry.cell.ours.as_ref().unwrap().values, [2.0, 4.0]);
        assert_eq!([entry.ours_text(), entry.error_text(), entry.paper_text()], ["3.00", "±1.00", "5.00"]);
        assert!(Entry::ratios((Some(&cross), None), (printed(0.1), None)).cell.ours.is_none());
    }

    #[test]
    fn factors_have_few_digits() {
        assert_eq!(
            [1.0, 9.994, 9.996, 53.82, 99.96, 250.4].map(factor),
            ["1.00", "9.99", "10.0", "53.8", "100", "250"]
        );
    }
}
