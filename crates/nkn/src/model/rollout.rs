//! Time steps: a network that has learned the map from a state to the next one, applied again and again to what it said last.

use super::config::ModelConfig;
use super::{Model, Predicting};
use crate::error::ensure;
use crate::field::Samples;
use crate::{Error, Result};

/// An input that gets an output's values in the next step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Feed {
    /// The input field.
    pub input: String,
    /// The output whose values it gets.
    pub output: String,
}

impl Feed {
    /// Which input gets which output: the pairs (input, output) that are asked for; for every other output the one input of the
    /// same name up to what follows the last `_`, or up to its digits (`u_0` or `u0` and `u`); or the only input. An output
    /// without such an input is not fed back; all other inputs stay as they are.
    fn all(config: &ModelConfig, asked: &[(String, String)]) -> Result<Vec<Self>> {
        let (inputs, outputs) = (&config.fields, config.output_names());
        for (input, output) in asked {
            for (name, known, kind) in [(input, inputs, "input"), (output, &outputs, "output")] {
                let hint = "write --feed input=output with the names of the network's fields";
                let expected = || format!("an {kind} of the network, one of {known:?}");
                ensure!(known.contains(name), Error::invalid("feed", expected(), format!("{name:?}"), hint));
            }
        }
        let mut feeds: Vec<Self> =
            asked.iter().map(|(input, output)| Self { input: input.clone(), output: output.clone() }).collect();
        for output in outputs.iter().filter(|output| asked.iter().all(|(_, other)| other != *output)) {
            let free: Vec<&String> =
                inputs.iter().filter(|input| asked.iter().all(|(other, _)| other != *input)).collect();
            let alike: Vec<&&String> = free.iter().filter(|input| stem(input) == stem(output)).collect();
            let found = match (alike.as_slice(), free.as_slice()) {
                ([input], _) => input,
                ([], [input]) if outputs.len() == 1 => input,
                _ => continue,
            };
            feeds.push(Self { input: found.to_string(), output: output.clone() });
        }
        if feeds.is_empty() {
            let got = format!("the inputs {inputs:?} and the outputs {outputs:?}");
            let hint = "name the pair with --feed input=output";
            return Err(Error::invalid("time steps", "an input that gets the output of the step before", got, hint));
        }
        for (place, Self { input, output }) in feeds.iter().enumerate() {
            let hint = "every input gets at most one output";
            let is_first = feeds[..place].iter().all(|other| other.input != *input);
            ensure!(is_first, Error::invalid("feed", "an input that is fed once", format!("{input:?} again"), hint));
            let (before, after) = (config.components_of(input), config.components_of(output));
            let expected = || format!("{before} components, as input {input:?} has");
            let hint = "a state has the same components in every step: train such a network, or choose another --feed";
            ensure!(before == after, Error::invalid(format!("output {output:?}"), expected(), after, hint));
        }
        Ok(feeds)
    }
}

/// A name without what tells states of different times apart.
fn stem(name: &str) -> &str {
    match name.rsplit_once('_') {
        Some((stem, _)) if !stem.is_empty() => stem,
        _ => match name.trim_end_matches(|letter: char| letter.is_ascii_digit()) {
            "" => name,
            stem => stem,
        },
    }
}

impl Model {
    /// Which input gets which output in time steps: these pairs (input, output), and what the names say of the others.
    pub fn feeds(&self, asked: &[(String, String)]) -> Result<Vec<Feed>> {
        Feed::all(&self.config, asked)
    }

    /// So many steps in time: each begins with what the one before said. The samples of every step have the inputs that it began
    /// with and the outputs that it ended with.
    ///
    /// ```
    /// # use nkn::{Grid, Nkn, Samples, model::Predicting};
    /// let now: Vec<f64> = (0..18).map(|i| 1.0 + f64::from(i % 5)).collect();
    /// let next: Vec<f64> = now.iter().map(|u| 0.9 * u).collect();
    /// let train = Samples::on(Grid::unit(&[9])?.periodic(&[true])?).input("u_0", now)?.output("u", next)?;
    /// let model = Nkn::new().kernel([4]).epochs(2).fit(&train)?;
    /// let steps = model.rollout(&train, 3, &Predicting::default())?;
    /// assert_eq!(steps[1].field("u_0")?.values, steps[0].output_values()?);
    /// # Ok::<(), nkn::Error>(())
    /// ```
    pub fn rollout(&self, samples: &Samples, steps: usize, how: &Predicting) -> Result<Vec<Samples>> {
        self.rollout_fed(samples, steps, &self.feeds(&[])?, how)
    }

    /// [`Self::rollout`] that is fed in this way.
    pub fn rollout_fed(
        &self,
        samples: &Samples,
        steps: usize,
        feeds: &[Feed],
        how: &Predicting,
    ) -> Result<Vec<Samples>> {
        let hint = "give the number of times that the output is fed back";
        ensure!(steps > 0, Error::invalid("steps", "1 or more", steps, hint));
        // The nodes stay where they are.
        let geometries = self.geometries(samples, how)?;
        let mut state = samples.clone();
        let mut result = Vec::with_capacity(steps);
        for step in 0..steps {
            let go_on = |done: usize, all: usize| (how.go_on)(step * all + done, steps * all);
            let prediction = self.predict_on(&geometries, &state, &Predicting { go_on: &go_on, ..*how })?;
            let after = self.with_predictions(&state, &prediction).map_err(|error| at_step(step + 1, error))?;
            for Feed { input, output } in feeds {
                if let Some(field) = after.outputs().iter().find(|field| field.name == *output) {
                    state = state.with_values(input, &field.values);
                }
            }
            result.push(after);
        }
        Ok(result)
    }
}

/// A state that has grown beyond all numbers, with the step at which it did.
fn at_step(step: usize, error: Error) -> Error {
    let hint = "the steps amplify errors: take fewer, or train longer or with more samples";
    match error {
        Error::NotFinite { what, got, place, .. } => {
            Error::NotFinite { what, got, place: format!("{place} at step {step}"), hint: hint.into() }
        }
        Error::Invalid { what, expected, got, .. } => {
            Error::Invalid { what, expected, got: format!("{got} at step {step}"), hint: hint.into() }
        }
        other => other,
    }
}

#[cfg(test)]
mod tests;
