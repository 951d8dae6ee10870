//! The samples of a run: generated, or the user's own files.

use crate::domain::Domain;
use crate::field::Samples;
use crate::io::{Need, read_dataset, read_first, write_dataset};
use crate::problem::{darcy, poisson};
use crate::seed::Seed;
use crate::{Error, Result};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Where the samples come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Problem {
    /// The 1D Poisson problem, generated.
    #[default]
    Poisson,
    /// 2D Darcy flow, generated on a fine grid and kept in a file.
    Darcy,
    /// The user's own files.
    Files,
}

/// The `[data]` table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct DataConfig {
    /// Which problem.
    pub problem: Problem,
    /// Poisson: nodes of the grid.
    pub points: usize,
    /// Poisson, Darcy: number of training samples.
    pub train_samples: usize,
    /// Poisson, Darcy: number of test samples.
    pub test_samples: usize,
    /// Poisson, Darcy: which samples.
    pub seed: u64,
    /// Darcy, files: nodes along the first axis, every n-th of the data's own grid [files: all of them].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resolution: Option<usize>,
    /// Darcy: nodes along a side of the grid on which the equation is solved.
    pub fine: usize,
    /// Darcy: the folder in which generated samples are kept.
    pub folder: PathBuf,
    /// Files, and Darcy with given files: the training samples.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub train: Option<PathBuf>,
    /// The test samples.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub test: Option<PathBuf>,
}

impl Default for DataConfig {
    fn default() -> Self {
        Self {
            problem: Problem::Poisson,
            points: 101,
            train_samples: 500,
            test_samples: 100,
            seed: 0,
            resolution: None,
            fine: darcy::SIDE,
            folder: "data".into(),
            train: None,
            test: None,
        }
    }
}

/// Training and test samples.
pub struct Data {
    /// What to learn from.
    pub train: Samples,
    /// What to test with.
    pub test: Option<Samples>,
}

/// Told how many of how many samples are generated.
pub type Progress<'a> = &'a (dyn Fn(usize, usize) + Sync);

impl DataConfig {
    /// The paper's Darcy data: 100 samples to train, 40 to test.
    pub fn darcy(resolution: usize) -> Self {
        Self {
            problem: Problem::Darcy,
            train_samples: 100,
            test_samples: 40,
            resolution: Some(resolution),
            ..Self::default()
        }
    }

    /// Loads or generates the samples.
    pub fn load(&self) -> Result<Data> {
        self.load_with(&|_, _| {})
    }

    /// [`Self::load`], telling how generation goes on.
    pub fn load_with(&self, progress: Progress) -> Result<Data> {
        self.check()?;
        let coarse = |samples: Samples| match self.resolution {
            Some(resolution) => samples.coarsen(resolution),
            None => Ok(samples),
        };
        match self.problem {
            Problem::Poisson => self.poisson(self.points),
            Problem::Darcy => Ok(Data {
                train: coarse(self.darcy_samples(Split::Train, progress)?)?,
                test: Some(coarse(self.darcy_samples(Split::Test, progress)?)?),
            }),
            Problem::Files => Ok(Data {
                train: coarse(read_dataset(self.train_file()?, Need::Output)?)?,
                test: self.test.as_ref().map(|path| coarse(read_dataset(path, Need::Output)?)).transpose()?,
            }),
        }
    }

    /// The test samples at other resolutions (nodes along the first axis): generated where the problem allows it, else every
    /// n-th node of the data.
    pub fn tests_at(&self, resolutions: &[usize], progress: Progress) -> Result<Vec<Samples>> {
        self.check()?;
        let fine = match self.problem {
            Problem::Poisson => {
                let test = |&points: &usize| Ok(self.poisson(points)?.test.expect("generated data have test samples"));
                return resolutions.iter().map(test).collect();
            }
            Problem::Darcy => self.darcy_samples(Split::Test, progress)?,
            Problem::Files => {
                let path = self.test.as_ref().ok_or_else(|| {
                    Error::invalid("data.test", "a file with test samples", "nothing", "give some with --data")
                })?;
                read_dataset(path, Need::Output)?
            }
        };
        resolutions.iter().map(|&resolution| fine.coarsen(resolution)).collect()
    }

    fn check(&self) -> Result<()> {
        if self.problem == Problem::Poisson && (self.train.is_some() || self.test.is_some()) {
            return Err(Error::invalid(
                "data.train and data.test",
                "no files with problem = \"poisson\"",
                "a file",
                "set problem = \"files\"",
            ));
        }
        if self.problem == Problem::Poisson && self.resolution.is_some() {
            return Err(Error::invalid(
                "data.resolution",
                "nothing with problem = \"poisson\"",
                "a number",
                "set data.points",
            ));
        }
        if self.problem != Problem::Files {
            for (name, count) in [("train_samples", self.train_samples), ("test_samples", self.test_samples)] {
                if count == 0 {
                    let hint = "the paper takes 500 and 100 for Poisson, 100 and 40 for Darcy";
                    return Err(Error::invalid(format!("data.{name}"), "1 or more", count, hint));
                }
            }
        }
        Ok(())
    }

    fn train_file(&self) -> Result<&PathBuf> {
        self.train.as_ref().ok_or_else(|| {
            Error::invalid("data.train", "a file with training samples", "nothing", "set data.train = \"train.npz\"")
        })
    }

    /// The Poisson samples on a grid of another resolution: the same functions.
    fn poisson(&self, points: usize) -> Result<Data> {
        let seed = Seed::new(self.seed);
        let train = poisson::generate(seed, 0, self.train_samples, points)?;
        let test = poisson::generate(seed, self.train_samples, self.test_samples, points)?;
        Ok(Data { train, test: Some(test) })
    }

    /// Darcy samples on their fine grid: the user's file, the file of an earlier run, or generated and kept in such a file.
    fn darcy_samples(&self, split: Split, progress: Progress) -> Result<Samples> {
        let (given, first, count) = match split {
            Split::Train => (&self.train, 0, self.train_samples),
            Split::Test => (&self.test, self.train_samples, self.test_samples),
        };
        if let Some(path) = given {
            let samples = read_first(path, Need::Output, Some(count))?;
            if samples.count() < count {
                let have = format!("has {} samples, {count} are asked for", samples.count());
                return Err(Error::file(path, have, "lower data.train_samples or data.test_samples"));
            }
            return Ok(samples);
        }
        let name = format!("darcy-{}-seed{}-{first}-{}.npz", self.fine, self.seed, first + count);
        let path = self.folder.join(name);
        if path.exists() {
            let samples = read_dataset(&path, Need::Output)?;
            let is_own = matches!(samples.domain(), Domain::Grid(grid) if grid.shape() == [self.fine; 2]);
            if !is_own || samples.count() != count {
                let problem = format!("does not hold {count} samples on {0} x {0} nodes", self.fine);
                return Err(Error::file(&path, problem, "remove the file; it will be generated again"));
            }
            return Ok(samples);
        }
        let report = |done: usize| progress(done, count);
        let samples = darcy::generate(Seed::new(self.seed), first, count, self.fine, &report)?;
        std::fs::create_dir_all(&self.folder).map_err(Error::io(&self.folder, "create"))?;
        write_dataset(&path, &samples)?;
        Ok(samples)
    }
}

#[derive(Clone, Copy)]
enum Split {
    Train,
    Test,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(folder: &std::path::Path) -> DataConfig {
        DataConfig { train_samples: 2, test_samples: 1, fine: 17, folder: folder.to_owned(), ..DataConfig::darcy(5) }
    }

    #[test]
    fn darcy_samples_are_generated_once_and_seen_at_every_stride() {
        let folder = tempfile::tempdir().unwrap();
        let config = config(folder.path());
        let told = std::sync::Mutex::new(Vec::new());
        let data = config.load_with(&|done, count| told.lock().unwrap().push((done, count))).unwrap();
        assert_eq!(told.lock().unwrap().len(), 3);
        assert_eq!((data.train.nodes(), data.train.count()), (25, 2));
        // From the files: the same, and nothing is generated.
        let again = config.load_with(&|_, _| panic!("generated twice")).unwrap();
        assert_eq!(again.train, data.train);
        let tests = config.tests_at(&[3, 5, 9, 17], &|_, _| panic!("generated twice")).unwrap();
        let nodes: Vec<usize> = tests.iter().map(Samples::nodes).collect();
        assert_eq!(nodes, [9, 25, 81, 289]);
        assert_eq!(tests[1], data.test.unwrap());
        let message = config.tests_at(&[4], &|_, _| {}).unwrap_err().to_string();
        assert!(message.contains("resolution") && message.contains('4'), "{message}");
    }

    #[test]
    fn a_foreign_or_cut_file_in_the_folder_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let config = config(folder.path());
        config.load().unwrap();
        let path = folder.path().join("darcy-17-seed0-0-2.npz");
        let bytes = std::fs::read(&path).unwrap();
        std::fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
        let message = config.load().err().unwrap().to_string();
        assert!(message.contains("darcy-17-seed0-0-2.npz"), "{message}");
        write_dataset(&path, &poisson::generate(Seed::new(0), 0, 2, 9).unwrap()).unwrap();
        let message = config.load().err().unwrap().to_string();
        assert!(message.contains("remove the file"), "{message}");
    }
}
