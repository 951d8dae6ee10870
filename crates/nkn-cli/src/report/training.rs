//! A training as a report sees it, from a run's folder or from memory.

use super::errors::{ErrorRow, Errors};
use super::source::{curves, depths, is_square, name, of, row, summary};
use super::{Report, depths, render, steps};
use anyhow::{Context, Result};
use nkn::auto::Choice;
use nkn::io::write_atomically;
use nkn::model::Model;
use nkn::run::{Data, RunConfig, RunFolder};
use nkn::train::{DepthResult, Keep, Record};
use std::path::Path;

/// A training that has come to an end: what a page is made of.
pub struct Training {
    /// The name of the run; empty if it has none.
    pub name: String,
    /// The whole configuration.
    pub config: RunConfig,
    /// What was learned from, and tested with.
    pub data: Data,
    /// The best network of each finished depth, shallow first.
    pub models: Vec<Model>,
    /// Their errors, in this order.
    pub results: Vec<DepthResult>,
    /// Losses and errors on the way.
    pub records: Vec<Record>,
    /// What was chosen where nothing was given, and why.
    pub choices: Vec<Choice>,
    /// Errors of steps in time.
    pub(super) steps: Vec<steps::StepError>,
    /// Errors at depths that were not trained.
    pub(super) other_depths: Vec<depths::DepthError>,
}

impl Training {
    /// A training in memory.
    pub fn new(config: RunConfig, data: Data) -> Self {
        let (name, models, results, records) = Default::default();
        let (choices, steps, other_depths) = Default::default();
        Self { name, config, data, models, results, records, choices, steps, other_depths }
    }

    /// What the folder of a run holds, besides its samples.
    pub fn read(folder: &RunFolder, data: Data) -> Result<Self> {
        let depths = depths(folder, None)?;
        let choices = nkn::auto::Record::read(folder.path())?.map(|record| record.choices);
        Ok(Self {
            name: name(folder.path()),
            models: depths.into_iter().map(|depth| folder.model_at(depth)).collect::<nkn::Result<_>>()?,
            results: folder.results()?.context("a finished depth has results")?.depths,
            records: folder.metrics()?,
            choices: choices.unwrap_or_default(),
            steps: steps::read(folder.path()),
            other_depths: depths::read(folder.path()),
            ..Self::new(folder.config()?, data)
        })
    }

    /// Writes the whole report as one page.
    pub fn write(&self, path: &Path) -> Result<()> {
        Ok(write_atomically(path, render(&of(self)?).as_bytes())?)
    }

    /// A small page: what was trained, its errors and how they came about.
    pub fn card(&self) -> String {
        let own = |result: &DepthResult| -> Vec<ErrorRow> {
            result.measures.iter().map(|measure| row(result.depth, measure.clone())).collect()
        };
        let is_square = match &self.data {
            Data::Functions { train, .. } => is_square(train.domain()),
            Data::Images(_) => true,
        };
        let rows = self.results.iter().flat_map(own).collect();
        render(&Report {
            title: self.title(),
            summary: summary(self).unwrap_or_default(),
            errors: Errors { trained_at: self.resolution(), is_square, rows },
            curves: curves(self),
            ..Report::default()
        })
    }

    /// The network of the run, the last one or with validation samples the best, and its errors.
    pub(super) fn chosen(&self) -> Result<(&Model, &DepthResult)> {
        let error = |result: &&DepthResult| result.get("validation", "relative_l2").unwrap_or(f64::INFINITY);
        let result = match self.config.train.keep {
            Keep::Validation => self.results.iter().min_by(|a, b| error(a).total_cmp(&error(b))),
            _ => self.results.last(),
        };
        let result = result.context("no depth is finished")?;
        let model = self.models.iter().find(|model| model.depth() == result.depth);
        Ok((model.context("a finished depth has its network")?, result))
    }

    /// Nodes along a side of the training samples.
    pub(super) fn resolution(&self) -> usize {
        self.data.resolution()
    }

    pub(super) fn title(&self) -> String {
        let config = &self.config;
        let network = match self.models.as_slice() {
            [only] => config.model.title(only.depth()),
            [first, .., last] => {
                let kind = config.model.kind.to_string().to_uppercase();
                format!("{kind}, depths {} to {}", first.depth(), last.depth())
            }
            _ => String::new(),
        };
        format!("{}: {network}", config.data.problem.title())
    }
}
