//! The search: look at the samples, choose, try what cannot be told by looking, and plan.

use super::choice::Choice;
use super::design::{self, Design, augment, design, own_rows};
use super::facts::Facts;
use super::ladder::{Price, Rung, ladder};
use super::record::{Candidate, Wanted};
use super::session::Session;
use super::trial::{price, steps_per_epoch, trial};
use crate::model::Kind;
use crate::run::RunConfig;
use crate::train::{PerDepth, can_deepen};
use crate::{Error, Result};
use std::time::Instant;

/// One sample in so many is split off for validation, but no more than the second number.
const SHARE: usize = 6;
const MOST: usize = 200;
/// Fewer samples cannot be split.
const LEAST: usize = 6;
/// What a trial may take, as a share of the time; with fewer steps it says nothing.
const TRIAL: f64 = 0.03;
const TRIAL_STEPS: usize = 20;
/// Turned samples are worth more in a long training than a short trial shows.
const PATIENCE: f64 = 1.1;
/// A size is small enough when the ladder reaches so far.
const WANTED_DEPTH: usize = 4;

/// How many samples are split off for validation.
pub(super) fn validation_samples(count: usize) -> Result<usize> {
    if count < LEAST {
        let expected = format!("at least {LEAST}, of which one is kept for validation");
        let hint = "a map between functions cannot be learned from so few: generate more";
        return Err(Error::invalid("samples", expected, count, hint));
    }
    Ok((count / SHARE).clamp(1, MOST))
}

/// The kinds of networks that are trained, with the reason.
pub(super) fn kinds(wanted: Wanted, facts: &Facts) -> Result<(Vec<Kind>, Choice)> {
    let is_grid = facts.shape.is_some();
    let (kinds, why) = match wanted {
        Wanted::Nkn => (vec![Kind::Nkn], "as asked"),
        Wanted::Gkn => (vec![Kind::Gkn], "as asked"),
        Wanted::Fno if !is_grid => {
            let hint = "take --kind nkn, gkn or auto";
            return Err(Error::invalid("kind", "nkn or gkn on scattered points", "fno, which needs a grid", hint));
        }
        Wanted::Fno => (vec![Kind::Fno], "as asked"),
        Wanted::Auto if facts.shape.as_ref().is_some_and(|shape| shape.len() <= 2) => {
            (vec![Kind::Fno, Kind::Nkn], "on a grid both are possible; the validation samples decide")
        }
        Wanted::Auto => {
            let why = "on scattered points and in space both are possible; the validation samples decide";
            (vec![Kind::Nkn, Kind::Gkn], why)
        }
    };
    let names: Vec<String> = kinds.iter().map(Kind::to_string).collect();
    let choice = Choice::new("kind", names.join(" and "), why);
    Ok((kinds, choice))
}

/// What was found, in words.
pub(super) fn description(facts: &Facts) -> Choice {
    let input = |input: &super::facts::InputFacts| {
        let values = match input.distinct {
            Some(1) => "one value".to_string(),
            Some(count) => format!("{count} values"),
            None => "continuous".to_string(),
        };
        let jumps = if input.jumps() { ", jumps" } else { "" };
        format!("{} from {:.3e} to {:.3e}, {values}{jumps}", input.name, input.low, input.high)
    };
    let inputs: Vec<String> = facts.inputs.iter().map(input).collect();
    Choice::new("data", format!("{} samples on {}", facts.samples, facts.place()), inputs.join("; "))
}

impl Session<'_> {
    /// Chooses everything and plans the candidates.
    pub(super) fn search(&mut self) -> Result<()> {
        let begun = Instant::now();
        let validation = validation_samples(self.train.count())?;
        let facts = Facts::of(self.train, self.record.seed)?;
        self.decide(description(&facts));
        let why = "by the seed; they decide which weights are kept, and test samples decide nothing";
        self.decide(Choice::new("validation", format!("{validation} samples"), why));
        let (kinds, choice) = kinds(self.record.kind, &facts)?;
        self.decide(choice);
        let mut symmetry = None;
        let mut found = Vec::new();
        for &kind in &kinds {
            let mut design = design(kind, &facts, validation, self.record.seed);
            // What is tried must already know the outputs and their components.
            design.model.resolve(self.train)?;
            self.try_fields(&facts, &mut design)?;
            let (wanted, why) = match &symmetry {
                Some(decided) => Clone::clone(decided),
                None => self.try_symmetry(&facts, &design)?,
            };
            symmetry = Some((wanted, why.clone()));
            augment(&mut design, wanted, why);
            let left = (self.seconds() - begun.elapsed().as_secs_f64()).max(0.0);
            let (design, price) = self.choose_size(design, left / kinds.len() as f64)?;
            for mut choice in design.choices.clone() {
                choice.what = format!("{kind} {}", choice.what);
                self.decide(choice);
            }
            found.push((design, price));
        }
        self.record.searched = begun.elapsed().as_secs_f64();
        let share = (self.seconds() - self.record.searched).max(0.0) / kinds.len() as f64;
        for (design, price) in found {
            let steps_per_epoch = steps_per_epoch(self.train, &design.train);
            let config = RunConfig { data: self.record.data.clone(), model: design.model, train: design.train };
            let mut candidate = Candidate {
                kind: config.model.kind,
                config,
                price,
                rates: design.rates,
                deepest: design.deepest,
                least: design.least,
                steps_per_epoch,
                is_done: false,
                validation: None,
                seconds: 0.0,
            };
            candidate.plan(0, share, 1.0);
            self.record.candidates.push(candidate);
        }
        Ok(())
    }

    fn price_of(&self, design: &Design) -> Result<Price> {
        let mut train = design.train.clone();
        train.learning_rate = PerDepth::Same(design.rates.0);
        price(&design.model, &train, self.train, design.deepest, self.seconds(), self.device)
    }

    /// The validation error of a short training; nothing where the time is too short to say.
    fn try_out(&self, design: &Design) -> Result<Option<super::trial::Trial>> {
        let depth = if can_deepen(&design.model) { 1 } else { design.deepest };
        let price = self.price_of(design)?;
        let steps = (TRIAL * self.seconds() / price.at(depth)) as usize;
        if steps < TRIAL_STEPS {
            return Ok(None);
        }
        let rung = (Rung { depth, steps }, design.rates);
        trial(&design.model, &design.train, self.train, rung, self.device, self.should_stop).map(Some)
    }

    /// Does the kernel get better when it sees continuous fields? Then every sample has kernel rows of its own.
    fn try_fields(&self, facts: &Facts, design: &mut Design) -> Result<()> {
        if design.dear_fields.is_empty() {
            return Ok(());
        }
        let mut seeing = design.clone();
        seeing.model.kernel_fields.clone_from(&design.dear_fields);
        own_rows(facts, &mut seeing);
        // The middle size: rows that are not shared are dear.
        let mut seeing = seeing.sized(&design.sizes[design.sizes.len() / 2]);
        seeing.sizes.remove(0);
        let names = design.dear_fields.join(", ");
        let (blind, sighted) = (self.try_out(design)?, self.try_out(&seeing)?);
        let choice = match (blind, sighted) {
            (Some(blind), Some(sighted)) => {
                let why = format!(
                    "in trials of the same time {:.2e} in {} steps with k(x, y), {:.2e} in {} when it sees {names}",
                    blind.error, blind.steps, sighted.error, sighted.steps
                );
                if sighted.error < blind.error {
                    *design = seeing;
                    Choice::new("kernel", format!("sees {names}"), why)
                } else {
                    Choice::new("kernel", "k(x, y)", why)
                }
            }
            _ => Choice::new("kernel", "k(x, y)", "no time to try one that sees the inputs, which are continuous"),
        };
        design.choices.push(choice);
        Ok(())
    }

    /// Are turned and mirrored samples worth having?
    fn try_symmetry(&self, facts: &Facts, design: &Design) -> Result<(bool, String)> {
        match facts.symmetric {
            None => return Ok((false, "no square grid, or too few samples to see a symmetry".into())),
            Some(false) => return Ok((false, "turned and mirrored samples do not look like the samples".into())),
            Some(true) => {}
        }
        let variant = |wanted: bool| {
            let mut variant = design.clone();
            augment(&mut variant, wanted, String::new());
            variant
        };
        let looks = "turned and mirrored samples look like the samples";
        let (without, with) = (self.try_out(&variant(false))?, self.try_out(&variant(true))?);
        Ok(match (without, with) {
            (Some(without), Some(with)) => {
                let (a, b, steps) = (with.error, without.error, with.steps);
                (a <= PATIENCE * b, format!("{looks}; in trials of {steps} steps {a:.2e} with them, {b:.2e} without"))
            }
            _ => (true, format!("{looks}; no time to try")),
        })
    }

    /// The largest network that gets enough steps in the time.
    fn choose_size(&self, design: Design, seconds: f64) -> Result<(Design, Price)> {
        let last = design.sizes.len() - 1;
        for (index, size) in design.sizes.iter().enumerate() {
            let mut sized = design.sized(size);
            let price = self.price_of(&sized)?;
            let rungs = match can_deepen(&sized.model) {
                true => ladder(price, seconds, 0, (design.deepest, design.least)),
                false => super::ladder::single(price, seconds, design.deepest),
            };
            let is_enough = match can_deepen(&sized.model) {
                true => rungs.last().is_some_and(|rung| rung.depth >= WANTED_DEPTH.min(design.deepest)),
                false => rungs[0].steps >= 40 * steps_per_epoch(self.train, &sized.train),
            };
            if is_enough || index == last {
                sized.choices.push(design::size_choice(&sized.model, size, price, is_enough));
                return Ok((sized, price));
            }
        }
        unreachable!("there is a last size")
    }
}
