//! What networks learn from and answer about: functions or images.

use super::builder::{Builder, kinds};
use crate::analysis::spectrum::{DENSE_LIMIT, WANTED, spectrum};
use crate::analysis::{Elliptic, Spectrum};
use crate::field::{Images, Samples};
use crate::model::{Feed, Model, Predicting};
use crate::run::{Data, DataConfig, Problem, RunConfig, RunFolder};
use crate::task::{Answer, FunctionTask, ImageSplits, TestSet, answers, function_measures, image_measure};
use crate::train::{Event, Measure, Task, TrainConfig, Trainer};
use crate::{Error, Result};

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::Samples {}
    impl Sealed for super::Images {}
}

/// [`Samples`] of functions, or [`Images`] with their classes.
pub trait Examples: sealed::Sealed + Sized {
    /// What a network says about them.
    type Prediction;

    /// The settings of a training with them.
    #[doc(hidden)]
    fn configuration<K: kinds::Named>(builder: &Builder<K>, train: &Self) -> Result<RunConfig>;

    /// Trains.
    #[doc(hidden)]
    fn fit<K: kinds::Named>(builder: Builder<K>, train: &Self, test: Option<&Self>) -> Result<Model>;

    /// Predicts.
    #[doc(hidden)]
    fn predict(&self, model: &Model, how: &Predicting) -> Result<Self::Prediction>;

    /// How good the predictions are; images are first brought to the resolution, if one is given.
    #[doc(hidden)]
    fn measures(&self, model: &Model, split: &str, resolution: Option<usize>, how: &Predicting)
    -> Result<Vec<Measure>>;

    /// The operator behind the layers.
    #[doc(hidden)]
    fn elliptic(&self, model: &Model) -> Result<Elliptic>;
}

impl Model {
    /// The outputs of functions in physical units, samples x nodes (x the components of all outputs), at any resolution and on any
    /// points; or the classes of images.
    ///
    /// ```
    /// # use nkn::{Nkn, problem::poisson, seed::Seed};
    /// let model = Nkn::new().kernel([8]).epochs(2).fit(&poisson::generate(Seed::new(0), 0, 4, 9)?)?;
    /// let finer = poisson::generate(Seed::new(0), 4, 3, 17)?;
    /// assert_eq!(model.predict(&finer)?.len(), 3 * 17);
    /// # Ok::<(), nkn::Error>(())
    /// ```
    pub fn predict<E: Examples>(&self, examples: &E) -> Result<E::Prediction> {
        examples.predict(self, &Predicting::default())
    }

    /// [`Self::predict`] with other settings than the usual ones.
    pub fn predict_with<E: Examples>(&self, examples: &E, how: &Predicting) -> Result<E::Prediction> {
        examples.predict(self, how)
    }

    /// The samples with the outputs that the network predicts; those that were there under the same names are replaced.
    pub fn predicted(&self, samples: &Samples, how: &Predicting) -> Result<Samples> {
        self.with_predictions(samples, &self.predict_functions(samples, how)?)
    }

    /// The measures of every step of a [`Self::rollout`] that is fed in this way: `truth` has the samples of every step, as
    /// [`crate::io::read_trajectories`] gives them, the first of them with the state to begin with.
    pub fn rollout_measures(
        &self,
        truth: &[Samples],
        feeds: &[Feed],
        split: &str,
        how: &Predicting,
    ) -> Result<Vec<Vec<Measure>>> {
        let Some(first) = truth.first() else { return Ok(Vec::new()) };
        let predicted = self.rollout_fed(first, truth.len(), feeds, how)?;
        let names = self.config.output_names();
        let measures = |(truth, predicted): (&Samples, &Samples)| {
            function_measures(split, &self.config, truth, &predicted.truth(&names)?)
        };
        truth.iter().zip(&predicted).map(measures).collect()
    }

    /// Of functions the mean over samples of ||û - u|| / ||u||, of images the share of wrong answers.
    ///
    /// ```
    /// # use nkn::{Nkn, problem::poisson, seed::Seed};
    /// let train = poisson::generate(Seed::new(0), 0, 8, 9)?;
    /// let network = || Nkn::new().kernel([8]).learning_rate(1e-2);
    /// let (short, long) = (network().epochs(1).fit(&train)?, network().epochs(100).fit(&train)?);
    /// assert!(long.error(&train)? < short.error(&train)?);
    /// # Ok::<(), nkn::Error>(())
    /// ```
    pub fn error<E: Examples>(&self, examples: &E) -> Result<f64> {
        let measures = examples.measures(self, "test", None, &Predicting::default())?;
        Ok(measures[0].value)
    }

    /// All measures of examples, which are called `split` in tables; the first is [`Self::error`]. Images are first brought to the resolution, if one is given.
    pub fn measures<E: Examples>(
        &self,
        examples: &E,
        split: &str,
        resolution: Option<usize>,
        how: &Predicting,
    ) -> Result<Vec<Measure>> {
        examples.measures(self, split, resolution, how)
    }

    /// The probability of every class for images at a resolution, images x classes.
    pub fn probabilities(&self, images: &Images, side: usize, how: &Predicting) -> Result<Vec<f32>> {
        self.predict_images(images, side, how)
    }

    /// The most probable classes of images at a resolution, which may be another than their own.
    ///
    /// ```
    /// use nkn::{Cnn, Images, model::Predicting};
    /// let images = Images::new(8, 1, (0..4 * 64).map(|i| (i % 251) as u8).collect(), vec![0, 1, 2, 3])?;
    /// let model = Cnn::new().width(2).head(4).epochs(1).fit(&images)?;
    /// let answers = model.classify(&images, 16, &Predicting::default())?;
    /// assert!(answers.iter().all(|answer| answer.class < 10 && answer.probability > 0.0));
    /// # Ok::<(), nkn::Error>(())
    /// ```
    pub fn classify(&self, images: &Images, side: usize, how: &Predicting) -> Result<Vec<Answer>> {
        let probabilities = self.predict_images(images, side, how)?;
        Ok(answers(&probabilities, self.image_network()?.shape.classes))
    }

    /// The eigenvalues of the operator behind the layers, on the first of the examples.
    ///
    /// ```
    /// # use nkn::{Nkn, problem::poisson, seed::Seed};
    /// let train = poisson::generate(Seed::new(0), 0, 4, 9)?;
    /// let spectrum = Nkn::new().kernel([8]).epochs(2).fit(&train)?.spectrum(&train)?;
    /// assert_eq!(spectrum.eigenvalues.len(), 9);
    /// # Ok::<(), nkn::Error>(())
    /// ```
    pub fn spectrum<E: Examples>(&self, examples: &E) -> Result<Spectrum> {
        spectrum(&examples.elliptic(self)?, DENSE_LIMIT, WANTED)
    }
}

impl Examples for Samples {
    type Prediction = Vec<f64>;

    fn configuration<K: kinds::Named>(builder: &Builder<K>, train: &Self) -> Result<RunConfig> {
        let data = DataConfig { problem: Problem::Memory, ..DataConfig::default() };
        let mut config = builder.config(RunConfig { data, ..RunConfig::default() })?;
        config.model.resolve(train)?;
        Ok(config)
    }

    fn fit<K: kinds::Named>(builder: Builder<K>, train: &Self, test: Option<&Self>) -> Result<Model> {
        let config = Self::configuration(&builder, train)?;
        if builder.folder.is_some() {
            let data = Data::Functions { train: train.clone(), test: test.cloned() };
            return in_folder(builder, &config, &data);
        }
        let task = FunctionTask::new(&config.model, &config.train, train, test, builder.device)?;
        in_memory(Box::new(task), &config.train, builder)
    }

    fn predict(&self, model: &Model, how: &Predicting) -> Result<Vec<f64>> {
        model.predict_functions(self, how)
    }

    fn measures(
        &self,
        model: &Model,
        split: &str,
        resolution: Option<usize>,
        how: &Predicting,
    ) -> Result<Vec<Measure>> {
        if let Some(resolution) = resolution {
            return self.coarsen(resolution)?.measures(model, split, None, how);
        }
        function_measures(split, &model.config, self, &model.predict_functions(self, how)?)
    }

    fn elliptic(&self, model: &Model) -> Result<Elliptic> {
        Elliptic::new(model, self)
    }
}

impl Examples for Images {
    type Prediction = Vec<Answer>;

    fn configuration<K: kinds::Named>(builder: &Builder<K>, train: &Self) -> Result<RunConfig> {
        let usual = RunConfig::of(Problem::Mnist);
        let data = DataConfig { problem: Problem::Memory, resolution: Some(train.side), ..usual.data };
        builder.config(RunConfig { data, ..usual })
    }

    fn fit<K: kinds::Named>(builder: Builder<K>, train: &Self, test: Option<&Self>) -> Result<Model> {
        let config = Self::configuration(&builder, train)?;
        let side = config.data.resolution.unwrap_or(train.side);
        let tests = test.map(|images| TestSet { name: "test", images: images.clone() }).into_iter().collect();
        let (train, resampling) = (train.clone(), config.data.resampling);
        let data = Data::Images(ImageSplits { train, tests, side, tested_at: vec![side], resampling });
        if builder.folder.is_some() {
            return in_folder(builder, &config, &data);
        }
        in_memory(data.task(&config.model, &config.train, builder.device)?, &config.train, builder)
    }

    fn predict(&self, model: &Model, how: &Predicting) -> Result<Vec<Answer>> {
        model.classify(self, self.side, how)
    }

    fn measures(
        &self,
        model: &Model,
        split: &str,
        resolution: Option<usize>,
        how: &Predicting,
    ) -> Result<Vec<Measure>> {
        let side = resolution.unwrap_or(self.side);
        Ok(vec![image_measure(split, side, &model.classify(self, side, how)?, self)])
    }

    fn elliptic(&self, model: &Model) -> Result<Elliptic> {
        Elliptic::of_images(model, self.side, 0)
    }
}

/// Trains without a folder. A training that was asked to stop gives the best network so far.
fn in_memory<K>(task: Box<dyn Task + '_>, config: &TrainConfig, builder: Builder<K>) -> Result<Model> {
    let Builder { initial, should_stop, mut observer, .. } = builder;
    let mut tell = |event: Event| -> Result<()> {
        observer(&event);
        Ok(())
    };
    let mut trainer = Trainer { task, config, should_stop: &*should_stop, observer: &mut tell };
    let mut state = trainer.start(initial)?;
    trainer.run(&mut state)?;
    Ok(trainer.model(&state))
}

/// Trains in a run's folder.
fn in_folder<K>(builder: Builder<K>, config: &RunConfig, data: &Data) -> Result<Model> {
    let Builder { device, folder, initial, should_stop, mut observer, .. } = builder;
    let (path, existing) = folder.expect("asked before");
    let folder = RunFolder::create(&path, config, existing)?;
    match folder.train(data, initial, device, &*should_stop, &mut |event| observer(event))? {
        crate::train::Outcome::Complete => folder.model(),
        crate::train::Outcome::Interrupted => Err(Error::Stopped),
    }
}
