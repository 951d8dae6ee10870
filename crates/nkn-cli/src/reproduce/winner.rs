//! Which method wins: ours and the paper's.

use super::model::display_name;
use super::table::{Half, Samples};

/// The outcome at one depth on one set of samples.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Winner {
    /// No model was run.
    NotRun,
    /// Only this model was run.
    Alone(String),
    /// All that were run have collapsed or blown up.
    Nobody,
    /// The model with the smallest error.
    Model(String),
}

impl Half {
    /// Our winner.
    pub fn winner(&self, samples: Samples, column: usize) -> Winner {
        let run: Vec<_> = self.rows_on(samples).filter(|row| row.cells[column].ours.is_some()).collect();
        match run[..] {
            [] => return Winner::NotRun,
            [only] => return Winner::Alone(only.model.clone()),
            _ => {}
        }
        let leader = run.iter().find(|row| row.cells[column].leads);
        leader.map_or(Winner::Nobody, |row| Winner::Model(row.model.clone()))
    }

    /// The paper's winner among the models that we have run: the others could not have won here.
    pub fn paper_winner(&self, samples: Samples, column: usize) -> Option<&str> {
        let rows = self.rows_on(samples).map(|row| (row, &row.cells[column])).filter(|(_, cell)| cell.ours.is_some());
        let printed: Vec<_> = rows.filter_map(|(row, cell)| Some((cell.paper?.mean, row.model.as_str()))).collect();
        let best = printed.iter().filter(|(mean, _)| mean.is_finite()).min_by(|a, b| a.0.total_cmp(&b.0));
        best.filter(|_| printed.len() > 1).map(|&(_, model)| model)
    }

    /// The errors at one depth in words, ours and the paper's.
    pub fn details(&self, samples: Samples, column: usize) -> String {
        let rows = self.rows_on(samples).map(|row| (display_name(&row.model), &row.cells[column]));
        let text = |(name, cell): (String, &super::cell::Cell)| {
            let paper = if cell.paper.is_some() { cell.paper_mean_text() } else { "none".to_owned() };
            format!("{name} {}{}{} (paper {paper})", cell.mean_text(), cell.error_text(1), cell.mark())
        };
        rows.map(text).collect::<Vec<_>>().join("\n")
    }
}

#[cfg(test)]
mod tests {
    use super::super::table::tests::example;
    use super::*;

    #[test]
    fn winners_are_those_that_have_learned_most() {
        let table = &example()[0];
        let samples = table.samples()[1];
        let winner = |column| table.halves[0].winner(samples, column);
        assert_eq!(winner(0), Winner::NotRun);
        assert_eq!(winner(1), Winner::Model("fno".into()));
        assert_eq!(winner(2), Winner::Nobody);
        assert_eq!(winner(6), Winner::Alone("nkn".into()));
        assert_eq!(table.halves[1].winner(samples, 1), Winner::Alone("nkn".into()));
    }

    #[test]
    fn the_papers_winner_is_among_the_models_that_were_run() {
        let table = &example()[0];
        let samples = table.samples()[1];
        assert_eq!(table.halves[0].paper_winner(samples, 1), Some("fno"));
        // NKN wins at L = 4 in the paper, but was not run here.
        assert_eq!(table.halves[0].paper_winner(samples, 2), Some("fno"));
        assert_eq!(table.halves[0].paper_winner(samples, 6), None);
        assert_eq!(table.halves[1].paper_winner(samples, 1), None);
        assert!(table.halves[0].details(samples, 1).starts_with("GKN 4.00e-2±1.0e-2 (paper 3.05e-2)\nFNO"));
    }
}
