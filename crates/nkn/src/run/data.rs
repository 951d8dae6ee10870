//! The samples of a run: generated, fetched, or the user's own files.

use crate::domain::Domain;
use crate::error::ensure;
use crate::field::Samples;
use crate::field::images::{Images, Resampling};
use crate::io::{Need, read_dataset, read_first, write_dataset};
use crate::model::{ModelConfig, Space};
use crate::problem::images::{ImageSet, load};
use crate::problem::{darcy, poisson};
use crate::seed::Seed;
use crate::task::{ClassTask, FunctionTask, ImageSplits, TestSet};
use crate::train::{Task, TrainConfig};
use crate::{Device, Error, Result};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// Where the samples come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Problem {
    /// The 1D Poisson problem, generated.
    #[default]
    Poisson,
    /// 2D Darcy flow, generated on a fine grid and kept in a file.
    Darcy,
    /// The user's own files.
    Files,
    /// Handwritten digits.
    Mnist,
    /// Pieces of clothing.
    FashionMnist,
    /// Animals and vehicles.
    Cifar10,
    /// Samples that a program gave: they are not in any file.
    Memory,
}

impl Problem {
    /// The set of images, if it is one.
    pub fn set(self) -> Option<ImageSet> {
        match self {
            Problem::Mnist => Some(ImageSet::Mnist),
            Problem::FashionMnist => Some(ImageSet::FashionMnist),
            Problem::Cifar10 => Some(ImageSet::Cifar10),
            Problem::Poisson | Problem::Darcy | Problem::Files | Problem::Memory => None,
        }
    }

    /// Whether images are classified.
    pub fn is_images(self) -> bool {
        self.set().is_some()
    }

    /// The name for people.
    pub fn title(self) -> &'static str {
        match self {
            Problem::Poisson => "1D Poisson",
            Problem::Darcy => "2D Darcy flow",
            Problem::Files | Problem::Memory => "own data",
            Problem::Mnist => "MNIST",
            Problem::FashionMnist => "Fashion-MNIST",
            Problem::Cifar10 => "CIFAR-10",
        }
    }

    /// The names of the classes of images.
    pub fn classes(self) -> &'static [&'static str] {
        match self {
            Problem::Mnist => &["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"],
            Problem::FashionMnist => {
                &["T-shirt", "trouser", "pullover", "dress", "coat", "sandal", "shirt", "sneaker", "bag", "boot"]
            }
            Problem::Cifar10 => {
                &["airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"]
            }
            _ => &[],
        }
    }
}

/// The `[data]` table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct DataConfig {
    /// Which problem.
    pub problem: Problem,
    /// Poisson: nodes of the grid.
    pub points: usize,
    /// Number of training samples (not of files, which are taken whole).
    pub train_samples: usize,
    /// Number of test samples; of images, at most so many of each test set.
    pub test_samples: usize,
    /// Poisson, Darcy: which samples.
    pub seed: u64,
    /// Darcy, files: nodes along the first axis, every n-th of the data's own grid [files: all of them]. Images: pixels along a side of the
    /// training images.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resolution: Option<usize>,
    /// Images: the sides of the images that the network is tested with.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tested_at: Vec<usize>,
    /// Images: how other sizes are made of the original images.
    #[serde(skip_serializing_if = "Resampling::is_usual")]
    pub resampling: Resampling,
    /// Darcy: nodes along a side of the grid on which the equation is solved.
    pub fine: usize,
    /// Darcy: how far b_eps is smoothed, the standard deviation in cells of the fine grid [the samples' own; sqrt(5) of
    /// generated ones].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub smoothing: Option<f64>,
    /// Darcy: the folder in which generated samples are kept. Images: where the files are; `nkn data` puts them there.
    pub folder: PathBuf,
    /// Files, and Darcy with given files: the training samples.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub train: Option<PathBuf>,
    /// The test samples.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub test: Option<PathBuf>,
    /// The functions that are learned [u]: arrays of files; of Darcy the pressure u and the flux v.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub outputs: Vec<String>,
    /// Files that do not say it themselves: which axes are periodic [none].
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub periodic: Vec<bool>,
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
            tested_at: Vec::new(),
            resampling: Resampling::default(),
            fine: darcy::SIDE,
            smoothing: None,
            folder: "data".into(),
            train: None,
            test: None,
            outputs: Vec::new(),
            periodic: Vec::new(),
        }
    }
}

/// Training and test samples.
#[derive(Clone, Debug)]
pub enum Data {
    /// A function from a function.
    Functions {
        /// What to learn from.
        train: Samples,
        /// What to test with.
        test: Option<Samples>,
    },
    /// The class of an image.
    Images(ImageSplits),
}

impl Data {
    /// The number of training samples.
    pub fn count(&self) -> usize {
        match self {
            Data::Functions { train, .. } => train.count(),
            Data::Images(splits) => splits.train.count,
        }
    }

    /// A training with these samples.
    pub(crate) fn task<'a>(
        &'a self,
        model: &'a ModelConfig,
        train: &'a TrainConfig,
        device: Device,
    ) -> Result<Box<dyn Task + 'a>> {
        Ok(match self {
            Data::Functions { train: samples, test } => {
                Box::new(FunctionTask::new(model, train, samples, test.as_ref(), device)?)
            }
            Data::Images(splits) => Box::new(ClassTask::new(model, train, splits, device)?),
        })
    }

    /// What a network on them acts on.
    pub fn space(&self) -> Space {
        match self {
            Data::Functions { train, .. } => Space::Functions { dim: train.domain().dim() },
            Data::Images(splits) => Space::Images(splits.shape()),
        }
    }

    /// Nodes of a training sample.
    pub fn nodes(&self) -> usize {
        match self {
            Data::Functions { train, .. } => train.nodes(),
            Data::Images(splits) => splits.side * splits.side,
        }
    }

    /// Nodes along a side of the training samples, or the number of points.
    pub fn resolution(&self) -> usize {
        match self {
            Data::Functions { train, .. } => train.domain().resolution(),
            Data::Images(splits) => splits.side,
        }
    }

    /// The functions, or an error that says that these are images; `what` is what they are needed for.
    pub fn functions(&self, what: &str) -> Result<(&Samples, Option<&Samples>)> {
        match self {
            Data::Functions { train, test } => Ok((train, test.as_ref())),
            Data::Images(_) => Err(Error::invalid(what, "samples of functions", "images", "use a run on functions")),
        }
    }
}

/// Told how many of how many samples are generated.
pub type Progress<'a> = &'a (dyn Fn(usize, usize) + Sync);

/// The folder in which `nkn data` puts a set of images unless told otherwise.
pub fn usual_folder(set: ImageSet) -> PathBuf {
    Path::new("data").join(set.name())
}

impl DataConfig {
    /// What a problem's data are unless something else is said.
    pub fn of(problem: Problem) -> Self {
        let usual = Self { problem, ..Self::default() };
        let Some(set) = problem.set() else { return usual };
        let side = if problem == Problem::Cifar10 { 32 } else { 28 };
        Self {
            train_samples: 50_000,
            test_samples: 10_000,
            resolution: Some(side),
            tested_at: vec![side],
            folder: usual_folder(set),
            ..usual
        }
    }

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

    /// Loads or generates the samples and checks that they are finite.
    pub fn load(&self) -> Result<Data> {
        self.load_with(&|_, _| {})
    }

    /// [`Self::load`], telling how generation goes on.
    pub fn load_with(&self, progress: Progress) -> Result<Data> {
        self.check()?;
        if self.problem.is_images() {
            return self.images().map(Data::Images);
        }
        let read = |part: Part| -> Result<Samples> {
            let samples = self.functions(part, self.points, progress)?;
            match self.resolution {
                Some(resolution) => samples.coarsen(resolution),
                None => Ok(samples),
            }
        };
        let has_test = self.problem != Problem::Files || self.test.is_some();
        let (train, test) = (read(self.training())?, has_test.then(|| read(self.testing())).transpose()?);
        Ok(Data::Functions { train, test })
    }

    /// Reads images. MNIST's 60,000 are split at random, always in the same way; of CIFAR-10 all 50,000 are for training, and the paper tests
    /// with the official test images.
    fn images(&self) -> Result<ImageSplits> {
        let set = self.problem.set().expect("a set of images");
        let data = load(set, &self.folder)?;
        let count = data.training.count;
        let (order, first) = match self.problem {
            Problem::Cifar10 => ((0..count).collect(), count),
            _ => (Seed::new(0).derive("split", 0).permutation(count), 50_000.min(count * 5 / 6)),
        };
        let (train, validation) = (data.training.select(&order[..first]), data.training.select(&order[first..]));
        if self.train_samples > train.count {
            let expected = format!("at most {}", train.count);
            return Err(Error::invalid("data.train_samples", expected, self.train_samples, "there are no more"));
        }
        let some = |images: Images, count: usize| {
            if count < images.count { images.select(&(0..count).collect::<Vec<_>>()) } else { images }
        };
        let mut tests = Vec::new();
        if validation.count > 0 {
            tests.push(TestSet { name: "validation", images: some(validation, self.test_samples) });
        }
        tests.push(TestSet { name: "official", images: some(data.testing, self.test_samples) });
        let side = self.resolution.unwrap_or(train.side);
        let (train, tested_at) = (some(train, self.train_samples), self.tested_at.clone());
        Ok(ImageSplits { train, tests, side, tested_at, resampling: self.resampling })
    }

    /// The test samples at other resolutions (nodes along the first axis): generated where the problem allows it, else every
    /// n-th node of the data.
    pub fn tests_at(&self, resolutions: &[usize], progress: Progress) -> Result<Vec<Samples>> {
        self.check()?;
        // There may be no test samples to ask for.
        if resolutions.is_empty() {
            return Ok(Vec::new());
        }
        if self.problem == Problem::Poisson {
            return resolutions.iter().map(|&points| self.functions(self.testing(), points, progress)).collect();
        }
        let fine = self.functions(self.testing(), self.points, progress)?;
        resolutions.iter().map(|&resolution| fine.coarsen(resolution)).collect()
    }

    /// Refuses what no samples can be made from.
    pub fn check(&self) -> Result<()> {
        let is_poisson = self.problem == Problem::Poisson;
        let expected = |what: &str| format!("{what} with problem = \"poisson\"");
        let has_files = self.train.is_some() || self.test.is_some();
        let hint = "set problem = \"files\"";
        ensure!(
            !(is_poisson && has_files),
            Error::invalid("data.train and data.test", expected("no files"), "a file", hint)
        );
        ensure!(
            !(is_poisson && self.resolution.is_some()),
            Error::invalid("data.resolution", expected("nothing"), "a number", "set data.points")
        );
        ensure!(
            self.periodic.is_empty() || self.problem == Problem::Files,
            Error::invalid("data.periodic", "nothing unless problem = \"files\"", "some axes", "leave it out")
        );
        ensure!(
            self.resampling.is_usual() || self.problem.is_images() || self.problem == Problem::Memory,
            Error::invalid("data.resampling", "nothing unless these are images", "a rule", "leave it out")
        );
        let darcy = ["u", "v"];
        if let Some(name) = self.outputs.iter().find(|name| !darcy.contains(&name.as_str()))
            && self.problem == Problem::Darcy
        {
            let hint = "u is the pressure, v the flux -b grad u";
            return Err(Error::invalid(
                "data.outputs",
                "\"u\", \"v\" or both for Darcy flow",
                format!("{name:?}"),
                hint,
            ));
        }
        for side in self.tested_at.iter().chain(&self.resolution).filter(|_| self.problem.is_images()) {
            let what = "data.resolution, data.tested_at";
            ensure!((2..=512).contains(side), Error::invalid(what, "2 to 512 pixels", side, "for example 28"));
        }
        let is_given = matches!(self.problem, Problem::Files | Problem::Memory);
        for (name, count) in [("train_samples", self.train_samples), ("test_samples", self.test_samples)] {
            let hint = "the paper takes 500 and 100 for Poisson, 100 and 40 for Darcy";
            ensure!(is_given || count > 0, Error::invalid(format!("data.{name}"), "1 or more", count, hint));
        }
        Ok(())
    }

    fn training(&self) -> Part<'_> {
        Part { first: 0, count: self.train_samples, file: self.train.as_deref(), key: "data.train" }
    }

    fn testing(&self) -> Part<'_> {
        Part { first: self.train_samples, count: self.test_samples, file: self.test.as_deref(), key: "data.test" }
    }

    /// The functions of a part on the grid on which they are made or kept; those of Poisson on as many points as are asked for.
    fn functions(&self, part: Part, points: usize, progress: Progress) -> Result<Samples> {
        let other = |expected: &str, got: &str, hint: &str| Error::invalid("data.problem", expected, got, hint);
        match self.problem {
            Problem::Poisson => poisson::generate(Seed::new(self.seed), part.first, part.count, points),
            Problem::Darcy => {
                let samples = self.darcy_samples(part, progress)?;
                let samples = match self.smoothing {
                    Some(cells) => darcy::with_smoothing(samples, cells)?,
                    None => samples,
                };
                // On the fine grid, where the solver's differences are good.
                let samples =
                    if self.outputs.iter().any(|name| name == "v") { darcy::with_flux(samples)? } else { samples };
                samples.with_outputs(&self.outputs)
            }
            Problem::Files => {
                let hint = format!("set {} = \"file.npz\" in the configuration, or --set {0}=file.npz", part.key);
                let missing = || Error::invalid(part.key, "a file with samples", "nothing", hint);
                let samples = read_dataset(part.file.ok_or_else(missing)?, Need::Output, &self.outputs)?;
                let says_nothing = !samples.domain().is_periodic();
                if says_nothing && !self.periodic.is_empty() { samples.periodic(&self.periodic) } else { Ok(samples) }
            }
            Problem::Memory => {
                let hint = "give them again, or save them as a file and use it with --data";
                Err(other("samples that can be read or generated", "samples that a program gave", hint))
            }
            Problem::Mnist | Problem::FashionMnist | Problem::Cifar10 => {
                Err(other("functions", self.problem.title(), "images have tested_at"))
            }
        }
    }

    /// Darcy samples on their fine grid: the user's file, the file of an earlier run, or generated and kept in such a file.
    fn darcy_samples(&self, Part { first, count, file, .. }: Part, progress: Progress) -> Result<Samples> {
        if let Some(path) = file {
            let samples = read_first(path, Need::Output, &[], Some(count))?;
            let have = format!("has {} samples, {count} are asked for", samples.count());
            ensure!(samples.count() >= count, Error::file(path, have, "lower data.train_samples or data.test_samples"));
            return Ok(samples);
        }
        let name = format!("darcy-{}-seed{}-{first}-{}.npz", self.fine, self.seed, first + count);
        let path = self.folder.join(name);
        if path.exists() {
            let samples = read_dataset(&path, Need::Output, &[])?;
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

/// A part of the samples.
#[derive(Clone, Copy)]
struct Part<'a> {
    /// The number of the first sample, and how many there are.
    first: usize,
    count: usize,
    /// The user's file, and the setting that names it.
    file: Option<&'a Path>,
    key: &'static str,
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
        let functions = |data: Data| match data {
            Data::Functions { train, test } => (train, test.unwrap()),
            Data::Images(_) => panic!("functions"),
        };
        let data = config.load_with(&|done, count| told.lock().unwrap().push((done, count))).unwrap();
        let (train, test) = functions(data);
        assert_eq!(told.lock().unwrap().len(), 3);
        assert_eq!((train.nodes(), train.count()), (25, 2));
        // From the files: the same, and nothing is generated.
        let again = config.load_with(&|_, _| panic!("generated twice")).unwrap();
        assert_eq!(functions(again).0.output_values().unwrap(), train.output_values().unwrap());
        let tests = config.tests_at(&[3, 5, 9, 17], &|_, _| panic!("generated twice")).unwrap();
        let nodes: Vec<usize> = tests.iter().map(Samples::nodes).collect();
        assert_eq!(nodes, [9, 25, 81, 289]);
        assert_eq!(tests[1].output_values().unwrap(), test.output_values().unwrap());
        let message = config.tests_at(&[4], &|_, _| {}).unwrap_err().to_string();
        assert!(message.contains("resolution") && message.contains('4'), "{message}");
    }

    #[test]
    fn the_width_of_b_eps_is_a_setting_of_the_data() {
        let folder = tempfile::tempdir().unwrap();
        let b_eps = |smoothing: Option<f64>| {
            let config = DataConfig { smoothing, ..config(folder.path()) };
            let Data::Functions { train, .. } = config.load()? else { panic!("functions") };
            Ok::<_, Error>(train.field("b_eps")?.values.clone())
        };
        // The files are those of the usual width, and the same for all.
        assert_eq!(b_eps(Some(5.0f64.sqrt())).unwrap().len(), b_eps(None).unwrap().len());
        let (narrow, wide) = (b_eps(None).unwrap(), b_eps(Some(4.0)).unwrap());
        let spread = |values: &[f64]| values.iter().map(|b| (b - 7.5).powi(2)).sum::<f64>();
        assert!(spread(&wide) < 0.9 * spread(&narrow));
        let message = b_eps(Some(0.0)).unwrap_err().to_string();
        assert!(message.contains("smoothing: expected a positive number of cells"), "{message}");
    }

    /// The flux is that of the fine grid, whatever the resolution.
    #[test]
    fn darcy_has_a_flux_to_learn() {
        let folder = tempfile::tempdir().unwrap();
        let with = |outputs: &[&str]| DataConfig {
            outputs: outputs.iter().map(|name| name.to_string()).collect(),
            ..config(folder.path())
        };
        let train = |outputs: &[&str]| match with(outputs).load().unwrap() {
            Data::Functions { train, .. } => train,
            Data::Images(_) => panic!("functions"),
        };
        let (plain, v, both) = (train(&[]), train(&["v"]), train(&["u", "v"]));
        assert_eq!((plain.outputs().len(), v.outputs().len(), both.outputs().len()), (1, 1, 2));
        assert_eq!((&both.outputs()[0], &both.outputs()[1]), (&plain.outputs()[0], &v.outputs()[0]));
        assert_eq!((v.outputs()[0].components, v.outputs()[0].values.len()), (2, 2 * 25 * 2));
        let fine = darcy::with_flux(darcy::generate(Seed::new(0), 0, 2, 17, &|_| {}).unwrap()).unwrap();
        assert_eq!(fine.coarsen(5).unwrap().outputs()[1], v.outputs()[0]);
        let message = with(&["w"]).load().unwrap_err().to_string();
        assert!(message.contains("data.outputs") && message.contains("flux"), "{message}");
    }

    #[test]
    fn files_may_leave_their_periodic_axes_to_the_configuration() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ring.npz");
        write_dataset(&path, &poisson::generate(Seed::new(0), 0, 2, 8).unwrap()).unwrap();
        let files = DataConfig { problem: Problem::Files, train: Some(path), ..DataConfig::default() };
        let ring = DataConfig { periodic: vec![true], ..files };
        let Data::Functions { train, .. } = ring.load().unwrap() else { panic!("functions") };
        assert!(train.domain().is_periodic());
        assert_eq!(train.coarsen(4).unwrap().nodes(), 4);
        let wrong = DataConfig { periodic: vec![true, false], ..ring };
        assert!(wrong.load().unwrap_err().to_string().contains("periodic: expected 1 entries"));
        let poisson = DataConfig { problem: Problem::Poisson, train: None, ..wrong };
        assert!(poisson.load().unwrap_err().to_string().contains("data.periodic"));
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
