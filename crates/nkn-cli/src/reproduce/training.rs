//! One training of the tables, and what is asked of the library for it. Nothing else here knows its run folders.

use super::names::RANDOM;
use super::problem::{Job, Request};
use super::row::{Row, from_csv, to_csv};
use crate::Global;
use crate::progress::{Progress, generating, preparing, should_stop};
use crate::report::compare::comparisons;
use crate::report::curves::Line;
use crate::report::samples::Comparison;
use anyhow::{Context, Result, bail};
use nkn::analysis::{Elliptic, Stability};
use nkn::io::write_atomically;
use nkn::model::{Model, Parameters, Predicting};
use nkn::run::{Data, Existing, Problem, RunConfig, RunFolder, estimate};
use nkn::train::Outcome;
use std::path::PathBuf;

/// Memory that a test may take, in GiB.
const MEMORY: f64 = 8.0;

/// A job with its settings and the place of its run.
pub struct Training {
    /// What is trained.
    pub job: Job,
    /// The folder of its run.
    pub folder: PathBuf,
    /// Its settings.
    pub config: RunConfig,
}

impl Training {
    /// The training of a job.
    pub fn new(job: Job, request: &Request) -> Result<Self> {
        Ok(Self { folder: job.folder(request), config: (request.problem.config)(&job, request)?, job })
    }

    /// What decides which samples are loaded: trainings for which it is the same share them.
    pub fn samples(&self) -> String {
        format!("{:?}", self.config.data)
    }

    /// Its depths and steps, as in "depths 1 to 16, 1900 epochs".
    pub fn size_in_words(&self) -> String {
        let train = &self.config.train;
        let epochs: usize = (0..train.depths.len()).map(|rung| train.epochs.at(rung)).sum();
        match train.depths.as_slice() {
            [first, .., last] => format!("depths {first} to {last}, {epochs} epochs"),
            _ if self.job.depths.is_empty() => format!("{epochs} epochs"),
            depths => format!("depth {}, {epochs} epochs", depths[0]),
        }
    }

    /// The weights that it begins with, if they are those of a coarser grid.
    fn initial(&self, request: &Request) -> Result<Option<Parameters>> {
        let (Some(coarse), &[depth]) = (self.job.coarse(), self.job.depths.as_slice()) else { return Ok(None) };
        let folder = coarse.folder(request);
        let model = RunFolder::open(&folder).and_then(|run| run.model_at(depth)).with_context(|| {
            let (coarse, fine) = (coarse.trained_at, self.job.trained_at);
            let hint = format!("train on the coarse grid first: --trained-at {coarse},{fine}");
            format!(
                "{}: {} begins with its weights at depth {depth}\n  hint: {hint}",
                folder.display(),
                self.job.name()
            )
        })?;
        Ok(Some(model.parameters().clone()))
    }

    /// What a training may take, in words; nothing where it differs between the models.
    pub fn settings_in_words(&self) -> String {
        let RunConfig { data, train, .. } = &self.config;
        if !data.problem.is_images() {
            return String::new();
        }
        let pixels = if train.subpixel { "pixels, fractions too" } else { "pixels" };
        let moved = match (train.flip, train.shift) {
            (true, shift) => format!(", images mirrored and moved by up to {shift} {pixels}"),
            (false, _) => String::new(),
        };
        let (epochs, images, rate) = (train.epochs.at(0), data.train_samples, train.learning_rate.at(0));
        let batch = train.batch.unwrap_or(images);
        format!(
            "{epochs} epochs each over {images} images, batches of {batch}, Adam from {rate:e} down along a cosine{moved}"
        )
    }

    /// Generates the samples, or finds them.
    pub fn find(&self) -> Result<Data> {
        Ok(self.config.data.load_with(&generating())?)
    }

    /// Generates the samples, or finds or fetches them.
    pub fn load(&self) -> Result<Data> {
        let (data, found) = (&self.config.data, self.find());
        let (Err(_), Some(set)) = (&found, data.problem.set()) else { return found };
        // Something is missing or unreadable: fetch it, or say what is wrong with what is there.
        nkn::problem::images::prepare(set, &data.folder, None, &mut preparing(set.name()))?;
        Ok(data.load()?)
    }

    /// Whether anything of it is there.
    pub fn is_begun(&self) -> bool {
        self.folder.join("config.toml").is_file()
    }

    /// Whether all of it is there, or it has diverged; a run with other settings is an error.
    pub fn is_finished(&self) -> Result<bool> {
        if !self.is_begun() {
            return Ok(false);
        }
        let run = RunFolder::open(&self.folder)?;
        let (old, done) = (run.config()?, run.depths());
        if !old.extends(&self.config) && !self.config.extends(&old) {
            let hint = "choose another folder with --out, or remove it to train it again";
            bail!("{}: was trained with other settings\n  hint: {hint}", self.folder.join("config.toml").display());
        }
        let is_complete = self.config.train.depths.iter().all(|depth| done.contains(depth));
        Ok(is_complete || self.diverged_at().is_some())
    }

    /// The depth at which it has diverged.
    fn diverged_at(&self) -> Option<usize> {
        let text = std::fs::read_to_string(self.folder.join("diverged.json")).ok()?;
        let value: serde_json::Value = serde_json::from_str(&text).ok()?;
        value["depth"].as_u64().map(|depth| depth as usize)
    }

    /// About how many seconds the rest takes, from its operations and the machine's peak.
    pub fn seconds_left(&self, data: &Data, peak: f64) -> Result<f64> {
        let done = RunFolder::open(&self.folder).map_or(Vec::new(), |run| run.depths());
        let expected = estimate(&self.config.clone().resolve(data)?, data, peak)?;
        Ok(expected.iter().filter(|one| !done.contains(&one.depth)).map(|one| one.seconds).sum::<f64>() + 0.0)
    }

    /// Trains, from the start or from the checkpoint.
    pub fn run(&self, global: &Global, request: &Request, data: &Data, is_over: &dyn Fn() -> bool) -> Result<Outcome> {
        let initial = self.initial(request)?;
        let config = self.config.clone().resolve(data)?;
        let run = match RunFolder::open(&self.folder).and_then(|run| run.config()) {
            Ok(old) => {
                let longer = if old.extends(&config) { old } else { config };
                RunFolder::create(&self.folder, &longer, Existing::Resume)?
            }
            Err(_) => RunFolder::create(&self.folder, &config, Existing::Refuse)?,
        };
        let mut progress = Progress::new(global);
        let outcome = run.train(data, initial, global.device, is_over, &mut |event| progress.show(event));
        progress.finish();
        match outcome {
            Err(error @ nkn::Error::NotFinite { .. }) => self.diverged(&run.depths(), &error.to_string()),
            outcome => Ok(outcome?),
        }
    }

    /// A training that has diverged is a result too: the paper prints INF.
    fn diverged(&self, done: &[usize], message: &str) -> Result<Outcome> {
        let depth = self.job.depths.iter().find(|depth| !done.contains(depth)).copied().unwrap_or_default();
        let value = serde_json::json!({ "depth": depth, "message": message });
        write_atomically(&self.folder.join("diverged.json"), value.to_string().as_bytes())?;
        eprintln!("{}: diverged at depth {depth}: {message}", self.job.name());
        Ok(Outcome::Complete)
    }

    /// The tests on other grids than the training's, kept in the folder so that none is evaluated twice.
    fn tested(&self) -> Result<Vec<Row>> {
        let path = self.folder.join("cells.csv");
        let common = self.job.row(None, ("test", self.job.trained_at), ("relative_l2", f64::NAN));
        match std::fs::read_to_string(&path) {
            Ok(text) => from_csv(&text, &path, &common),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(error) => Err(error).with_context(|| format!("{}: could not read", path.display())),
        }
    }

    /// Tests the finished depths on functions where that is missing. Images are tested at the end of their training.
    pub fn test(&self, tests: &[usize]) -> Result<()> {
        let job = &self.job;
        if job.data.is_none() || job.model.ends_with(RANDOM) || !self.is_begun() {
            return Ok(());
        }
        let (run, mut known) = (RunFolder::open(&self.folder)?, self.tested()?);
        let config = run.config()?;
        if config.data.problem == Problem::Darcy && config.model.uses_kernel() {
            self.find_spectra(&run, &mut known)?;
        }
        for &tested_at in tests.iter().filter(|&&tested_at| tested_at != job.trained_at) {
            let row = |depth, error| job.row(Some(depth), ("test", tested_at), ("relative_l2", error));
            let is_known = |depth: &usize| known.iter().any(|known| known.key == row(*depth, 0.0).key);
            let missing: Vec<usize> = run.depths().into_iter().filter(|depth| !is_known(depth)).collect();
            if missing.is_empty() {
                continue;
            }
            let samples = config.data.tests_at(&[tested_at], &generating())?.remove(0);
            for depth in missing {
                if should_stop() {
                    return Ok(());
                }
                eprintln!("testing {} at depth {depth} on {tested_at} points per side", job.name());
                let how = Predicting { memory_gib: MEMORY, ..Predicting::default() };
                let measures = run.model_at(depth)?.measures(&samples, "test", None, &how)?;
                known.push(row(depth, measures[0].value));
                write_atomically(&self.folder.join("cells.csv"), to_csv(&known).as_bytes())?;
            }
        }
        Ok(())
    }

    /// The ends of the spectra of the finished depths where they are missing: on a plane they take a Krylov method and some
    /// minutes, so they are kept with the tests.
    fn find_spectra(&self, run: &RunFolder, known: &mut Vec<Row>) -> Result<()> {
        let is_known = |known: &[Row], depth| {
            known.iter().any(|row| row.key.depth == Some(depth) && row.key.metric == "amplification")
        };
        for depth in run.depths().into_iter().filter(|&depth| !is_known(known, depth)).collect::<Vec<_>>() {
            if should_stop() {
                return Ok(());
            }
            eprintln!("eigenvalues of {} at depth {depth}", self.job.name());
            let numbers = self.spectrum(&run.model_at(depth)?)?;
            known.extend(numbers.map(|number| self.job.row(Some(depth), ("train", self.job.trained_at), number)));
            write_atomically(&self.folder.join("cells.csv"), to_csv(known).as_bytes())?;
        }
        Ok(())
    }

    /// What a spectrum is summed up with, on the first training sample.
    fn spectrum(&self, model: &Model) -> Result<[(&'static str, f64); 4]> {
        let data = self.config.data.load()?;
        let found = Stability::of(model, &Elliptic::new(model, data.functions("a spectrum")?.0)?)?;
        Ok([
            ("eigenvalue_smallest", found.spectrum.smallest_real),
            ("eigenvalue_largest", found.spectrum.largest_real),
            ("amplification", found.amplification()),
            ("eigenvalue_symmetric", found.spectrum.smallest_symmetric),
        ])
    }

    /// All its numbers: errors, sizes, times, eigenvalues. Depths at which it has diverged have infinite errors.
    pub fn rows(&self, tests: &[usize]) -> Result<Vec<Row>> {
        let (job, config, home) = (&self.job, &self.config, self.job.trained_at);
        let mut rows = Vec::new();
        let run = RunFolder::open(&self.folder)?;
        for result in run.results()?.map_or(Vec::new(), |results| results.depths) {
            // The baseline has no depth.
            let depth = (!job.depths.is_empty()).then_some(result.depth);
            let kept = result.measures.iter().filter(|m| m.metric != "relative_l2_squared");
            // Functions are tested at the training's resolution; files of earlier versions did not name it.
            let side = |resolution: usize| if job.data.is_some() { home } else { resolution };
            rows.extend(kept.map(|m| job.row(depth, (&m.split, side(m.resolution)), (&m.metric, m.value))));
            let model = run.model_at(result.depth)?;
            let mut numbers = vec![
                ("epochs", result.epochs as f64),
                ("seconds", result.seconds),
                ("parameters", model.parameters().count() as f64),
            ];
            if config.data.problem == Problem::Poisson && config.model.uses_kernel() {
                numbers.extend(self.spectrum(&model)?);
            }
            rows.extend(numbers.into_iter().map(|number| job.row(depth, ("train", home), number)));
        }
        let first = self.diverged_at().unwrap_or(usize::MAX);
        for &depth in job.depths.iter().filter(|&&depth| depth >= first) {
            let sets = std::iter::once(("train", home)).chain(tests.iter().map(|&tested_at| ("test", tested_at)));
            rows.extend(sets.map(|set| job.row(Some(depth), set, ("relative_l2", f64::INFINITY))));
        }
        for row in self.tested()? {
            if rows.iter().all(|known| known.key != row.key) {
                rows.push(row);
            }
        }
        Ok(rows)
    }

    /// The training losses of a ladder: its depths, and a line of this name for each.
    pub fn losses(&self, name: &str) -> Result<Vec<(usize, Line)>> {
        let run = RunFolder::open(&self.folder)?;
        let records = if run.depths().is_empty() { Vec::new() } else { run.metrics()? };
        let line = |depth: usize| {
            let own = records.iter().filter(|record| record.depth == depth && record.measure.metric == "loss");
            let points = own.map(|record| (record.epoch as f64, record.measure.value)).collect();
            (depth, Line { metric: "training loss".into(), split: name.into(), points })
        };
        Ok(run.depths().into_iter().map(line).collect())
    }

    /// The first test samples beside the predictions of the deepest network at every resolution, and its depth; none for
    /// images and for functions on a line.
    pub fn fields(&self, tests: &[usize]) -> Result<Option<(usize, Vec<Comparison>)>> {
        let run = RunFolder::open(&self.folder)?;
        if self.config.data.problem != Problem::Darcy || run.depths().is_empty() {
            return Ok(None);
        }
        let model = run.model()?;
        let mut shown = Vec::new();
        for set in self.config.data.tests_at(tests, &generating())? {
            let picks: Vec<usize> = (0..set.count().min(3)).collect();
            shown.extend(comparisons(&model, &set, &picks)?);
        }
        shown.sort_by_key(|comparison| comparison.index);
        Ok(Some((model.depth(), shown)))
    }
}
