//! `Auto`: a network that finds its own settings.

use super::choice::Choice;
use super::record::{Record, Wanted};
use super::session::Session;
use crate::field::Samples;
use crate::model::{Model, ModelConfig, Space, check_samples};
use crate::run::{DataConfig, Problem};
use crate::train::Event;
use crate::{Device, Error, Result};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Fits the best network that the time allows, without settings: see the guide's page on `nkn fit`.
///
/// ```
/// use nkn::{Auto, problem::poisson, seed::Seed};
/// let train = poisson::generate(Seed::new(0), 0, 40, 17)?;
/// let fitted = Auto::new().minutes(0.02).fit(&train)?;
/// assert_eq!(fitted.model.predict(&train)?.len(), 40 * 17);
/// for choice in &fitted.choices {
///     println!("{choice}");       // nkn radius: none (17 nodes: every node may see every other) …
/// }
/// # Ok::<(), nkn::Error>(())
/// ```
pub struct Auto {
    minutes: f64,
    kind: Wanted,
    seed: u64,
    device: Device,
    data: DataConfig,
    folder: Option<(PathBuf, bool)>,
    should_stop: Box<dyn Fn() -> bool + Send>,
    observer: Box<dyn FnMut(&Event) + Send>,
    teller: Box<dyn FnMut(&Choice) + Send>,
}

/// What a search has found.
#[derive(Debug)]
pub struct Fitted {
    /// The network.
    pub model: Model,
    /// Every decision, with its reason.
    pub choices: Vec<Choice>,
    /// The network's error on the samples that were split off for validation.
    pub validation: f64,
    /// Its error on the test samples, if there are some.
    pub test: Option<f64>,
}

impl Default for Auto {
    fn default() -> Self {
        Self {
            minutes: 10.0,
            kind: Wanted::Auto,
            seed: 0,
            device: Device::default(),
            data: DataConfig { problem: Problem::Memory, ..DataConfig::default() },
            folder: None,
            should_stop: Box::new(|| false),
            observer: Box::new(|_| {}),
            teller: Box::new(|_| {}),
        }
    }
}

impl Auto {
    /// Ten minutes, any kind of network.
    pub fn new() -> Self {
        Self::default()
    }

    /// The time for everything: looking, trying, training.
    pub fn minutes(mut self, minutes: f64) -> Self {
        self.minutes = minutes;
        self
    }

    /// The kind of network, or what fits better.
    pub fn kind(mut self, kind: Wanted) -> Self {
        self.kind = kind;
        self
    }

    /// Where all randomness comes from: the split, the weights, the order of samples.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Where to compute.
    pub fn device(mut self, device: Device) -> Self {
        self.device = device;
        self
    }

    /// What the run's configuration says of where the samples are, so that `nkn train` can repeat it.
    pub fn data(mut self, data: DataConfig) -> Self {
        self.data = data;
        self
    }

    /// Writes a run's folder, which must be new.
    pub fn run(mut self, folder: impl Into<PathBuf>) -> Self {
        self.folder = Some((folder.into(), false));
        self
    }

    /// Continues in a run's folder with what was chosen there; begins if there is none. Minutes, kind and seed are
    /// those of the beginning.
    pub fn resume(mut self, folder: impl Into<PathBuf>) -> Self {
        self.folder = Some((folder.into(), true));
        self
    }

    /// Is told what happens while training.
    pub fn observe(mut self, observer: impl FnMut(&Event) + Send + 'static) -> Self {
        self.observer = Box::new(observer);
        self
    }

    /// Is told every decision when it is taken.
    pub fn tell(mut self, teller: impl FnMut(&Choice) + Send + 'static) -> Self {
        self.teller = Box::new(teller);
        self
    }

    /// Asked before every step: true ends the search with [`Error::Stopped`]; in a folder it can be continued.
    pub fn stop_when(mut self, should_stop: impl Fn() -> bool + Send + 'static) -> Self {
        self.should_stop = Box::new(should_stop);
        self
    }

    /// Learns from samples.
    pub fn fit(self, train: &Samples) -> Result<Fitted> {
        self.search(train, None)
    }

    /// Learns from samples and tests with others, which decide nothing.
    pub fn fit_tested(self, train: &Samples, test: &Samples) -> Result<Fitted> {
        self.search(train, Some(test))
    }

    fn search(self, train: &Samples, test: Option<&Samples>) -> Result<Fitted> {
        let Self { minutes, kind, seed, device, data, folder, should_stop, mut observer, mut teller } = self;
        if !(minutes.is_finite() && minutes > 0.0) {
            return Err(Error::invalid("minutes", "a positive number", minutes, "for example 10"));
        }
        train.outputs_named(&[])?;
        super::search::validation_samples(train.count())?;
        if let Some(test) = test {
            let mut usual = ModelConfig::default();
            usual.resolve(train)?;
            let space = Space::Functions { dim: train.domain().dim() };
            check_samples(&usual, &space, test).map_err(|error| error.of("the test samples"))?;
        }
        let temporary = Temporary::new();
        let root = folder.as_ref().map_or(temporary.0.as_path(), |(path, _)| path);
        let old = match &folder {
            Some((path, true)) => Record::read(path)?,
            _ => None,
        };
        let record = match old {
            Some(old) if old.data != data => {
                let hint = "resume with the files of the beginning, or choose another folder";
                return Err(Error::file(root, "was fitted to other samples", hint));
            }
            Some(old) => old,
            None => {
                refuse_occupied(root)?;
                Record { data, minutes, kind, seed, choices: vec![], searched: 0.0, candidates: vec![], winner: None }
            }
        };
        record.choices.iter().for_each(&mut teller);
        std::fs::create_dir_all(root).map_err(Error::io(root, "create"))?;
        let mut session = Session {
            train,
            test,
            root,
            record,
            device,
            should_stop: &*should_stop,
            watch: &mut |event| observer(event),
            say: &mut |choice| teller(choice),
        };
        let model = session.run()?;
        let winner = session.record.candidates.iter().find(|candidate| Some(candidate.kind) == session.record.winner);
        let validation = winner.and_then(|winner| winner.validation).unwrap_or(f64::NAN);
        let test = test.map(|test| model.error(test)).transpose()?;
        Ok(Fitted { model, choices: session.record.choices, validation, test })
    }
}

fn refuse_occupied(root: &Path) -> Result<()> {
    let is_own = |entry: &std::fs::DirEntry| entry.file_name() != "fit.json.tmp";
    if root.exists() && std::fs::read_dir(root).map_err(Error::io(root, "read"))?.flatten().any(|entry| is_own(&entry))
    {
        let hint = "continue it with --resume (from Python resume=True), replace it with --force, or choose another place with --out";
        return Err(Error::file(root, "exists already", hint));
    }
    Ok(())
}

/// A folder for a search that was given none; removed at the end.
struct Temporary(PathBuf);

impl Temporary {
    fn new() -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        Self(std::env::temp_dir().join(format!("nkn-fit-{}-{number}", std::process::id())))
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        // There is none if a folder was given.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
