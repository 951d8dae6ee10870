//! What a training leaves behind besides its network: its history, its errors, and what a report is made of.

use crate::errors::of_command;
use crate::images::Images;
use crate::model::{Examples, Model};
use crate::samples::Samples;
use crate::threads::quietly;
use nkn::auto::Choice;
use nkn::run::{Data, RunConfig, RunFolder};
use nkn::task::{ImageSplits, TestSet};
use nkn::train::{DepthResult, Event, Record};
use pyo3::prelude::*;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What was learned from, held together with Python.
#[derive(Clone)]
pub enum Given {
    /// Functions to train and to test with.
    Functions(Arc<nkn::Samples>, Option<Arc<nkn::Samples>>),
    /// Images to train and to test with.
    Images(Arc<nkn::Images>, Option<Arc<nkn::Images>>),
}

impl Given {
    /// Their own copy for a report.
    fn data(&self, config: &RunConfig) -> Data {
        match self {
            Given::Functions(train, test) => {
                Data::Functions { train: (**train).clone(), test: test.as_ref().map(|test| (**test).clone()) }
            }
            Given::Images(train, test) => {
                let side = train.side;
                let tests = test.iter().map(|images| TestSet { name: "test", images: (**images).clone() }).collect();
                let resampling = config.data.resampling;
                Data::Images(ImageSplits { train: (**train).clone(), tests, side, tested_at: vec![side], resampling })
            }
        }
    }
}

/// A training that has come to an end.
#[pyclass(frozen, module = "nkn._nkn")]
pub struct Training {
    given: Given,
    config: RunConfig,
    story: Story,
    choices: Vec<Choice>,
}

/// What a training has told.
#[derive(Clone, Default)]
pub struct Story {
    models: Vec<nkn::Model>,
    results: Vec<DepthResult>,
    records: Vec<Record>,
}

impl Story {
    /// Takes an event.
    pub fn hear(&mut self, event: &Event) {
        match event {
            Event::Records(records) => self.records.extend_from_slice(records),
            Event::Finished { result, model } => {
                self.results.push((*result).clone());
                self.models.push((*model).clone());
            }
            _ => {}
        }
    }
}

impl Training {
    /// Of what was told in memory.
    pub fn told(given: Given, config: RunConfig, story: Story) -> Self {
        Self { given, config, story, choices: Vec::new() }
    }

    /// Of the folder of a run, which may have been resumed.
    pub fn read(given: Given, folder: &Path) -> PyResult<Self> {
        let read = || {
            let folder = RunFolder::open(folder)?;
            let data = given.data(&folder.config()?);
            nkn_cli::Training::read(&folder, data)
        };
        let nkn_cli::Training { config, models, results, records, choices, .. } = read().map_err(of_command)?;
        Ok(Self { given, config, story: Story { models, results, records }, choices })
    }

    fn page(&self) -> nkn_cli::Training {
        let mut page = nkn_cli::Training::new(self.config.clone(), self.given.data(&self.config));
        Story { models: page.models, results: page.results, records: page.records } = self.story.clone();
        page.choices.clone_from(&self.choices);
        page
    }
}

#[pymethods]
impl Training {
    /// Losses and errors on the way: depth, epoch, split, resolution, metric, value.
    #[getter]
    fn records(&self) -> Vec<(usize, usize, String, usize, String, f64)> {
        let row = |r: &Record| {
            let m = &r.measure;
            (r.depth, r.epoch, m.split.clone(), m.resolution, m.metric.clone(), m.value)
        };
        self.story.records.iter().map(row).collect()
    }

    /// The errors of each depth: depth, split, resolution, metric, value.
    #[getter]
    fn errors(&self) -> Vec<(usize, String, usize, String, f64)> {
        let rows = |result: &DepthResult| {
            let row =
                |m: &nkn::train::Measure| (result.depth, m.split.clone(), m.resolution, m.metric.clone(), m.value);
            result.measures.iter().map(row).collect::<Vec<_>>()
        };
        self.story.results.iter().flat_map(rows).collect()
    }

    /// What was learned from.
    #[getter]
    fn examples(&self) -> Examples {
        match &self.given {
            Given::Functions(train, _) => Examples::Samples(Samples(train.clone())),
            Given::Images(train, _) => Examples::Images(Images(train.clone())),
        }
    }

    /// The network of each depth, in the order in which they were trained.
    #[getter]
    fn models(&self) -> Vec<Model> {
        self.story.models.iter().cloned().map(Model::from).collect()
    }

    /// What was chosen where nothing was given: what, chosen, why.
    #[getter]
    fn choices(&self) -> Vec<(String, String, String)> {
        self.choices.iter().map(|c| (c.what.clone(), c.chosen.clone(), c.why.clone())).collect()
    }

    /// The whole configuration, as a file has it.
    #[getter]
    fn config(&self) -> String {
        self.config.to_toml()
    }

    /// Writes the report that the command writes.
    fn report(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        quietly(py, || Ok(self.page().write(&path)))?.map_err(of_command)
    }

    /// A small page: what was trained, its errors, how they came about.
    fn card(&self, py: Python<'_>) -> PyResult<String> {
        quietly(py, || Ok(self.page().card()))
    }
}
