//! How the learning rate changes while a depth is trained.

use crate::error::ensure;
use crate::{Error, Result};
use serde::{Deserialize, Serialize};

/// The shape of the schedule.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ScheduleKind {
    /// Always the same.
    Constant,
    /// Multiplied by `factor` every `every` epochs.
    Step,
    /// From the peak to `floor` times the peak along half a cosine.
    #[default]
    Cosine,
    /// Multiplied by `factor` after `patience` epochs without a better training error.
    Plateau,
    /// Divided by 10 at 40 %, 60 % and 80 % of the epochs, by 2 at 90 %: the published residual networks.
    Milestones,
}

/// The `[train.schedule]` table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ScheduleConfig {
    /// The shape.
    pub kind: ScheduleKind,
    /// Epochs during which the rate first rises from near zero to its peak.
    pub warm_up: usize,
    /// Step: epochs between two reductions.
    pub every: usize,
    /// Step and plateau: the reduction.
    pub factor: f64,
    /// Plateau: epochs to wait.
    pub patience: usize,
    /// Cosine: the last rate as a share of the peak.
    pub floor: f64,
    /// Whether the rate changes with every step, not only from epoch to epoch.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub by_step: bool,
}

impl Default for ScheduleConfig {
    fn default() -> Self {
        Self {
            kind: ScheduleKind::Cosine,
            warm_up: 0,
            every: 50,
            factor: 0.8,
            patience: 50,
            floor: 0.0,
            by_step: false,
        }
    }
}

impl ScheduleConfig {
    pub(super) fn check(&self) -> Result<()> {
        let name = |key: &str| format!("train.schedule.{key}");
        let share = |key, value| Error::invalid(name(key), "a share from 0 to 1", value, "for example 0.8");
        ensure!(self.factor > 0.0 && self.factor <= 1.0, share("factor", self.factor));
        ensure!((0.0..=1.0).contains(&self.floor), share("floor", self.floor));
        for (key, value) in [("every", self.every), ("patience", self.patience)] {
            ensure!(value > 0, Error::invalid(name(key), "1 or more", value, "for example 50"));
        }
        Ok(())
    }

    /// The share of the peak rate, `step` of `steps` into an epoch (counted from 0) of `epochs`; `reductions` is what a plateau has made.
    pub fn share(&self, (epoch, epochs): (usize, usize), (step, steps): (usize, usize), reductions: u32) -> f64 {
        // In units of steps or of epochs.
        let unit = if self.by_step { steps } else { 1 };
        let done = if self.by_step { epoch * steps + step } else { epoch };
        let warm_up = self.warm_up * unit;
        if done < warm_up {
            return (done + 1) as f64 / (warm_up + 1) as f64;
        }
        let length = (epochs * unit).saturating_sub(warm_up).max(1);
        let progress = (done - warm_up) as f64 / length as f64;
        match self.kind {
            ScheduleKind::Constant => 1.0,
            ScheduleKind::Step => self.factor.powi((epoch / self.every) as i32),
            ScheduleKind::Cosine => {
                self.floor + (1.0 - self.floor) * 0.5 * (1.0 + (std::f64::consts::PI * progress).cos())
            }
            ScheduleKind::Plateau => self.factor.powi(reductions as i32),
            ScheduleKind::Milestones => match progress {
                p if p < 0.4 => 1.0,
                p if p < 0.6 => 0.1,
                p if p < 0.8 => 0.01,
                p if p < 0.9 => 0.001,
                _ => 0.0005,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes() {
        let schedule = |kind| ScheduleConfig { kind, warm_up: 4, every: 50, factor: 0.5, ..Default::default() };
        let share = |kind, epoch, epochs| schedule(kind).share((epoch, epochs), (7, 10), 3);
        for (epoch, expected) in [(0, 0.2), (4, 1.0), (54, 0.5)] {
            assert!((share(ScheduleKind::Cosine, epoch, 104) - expected).abs() < 1e-12);
        }
        assert!(share(ScheduleKind::Cosine, 103, 104) < 1e-3);
        assert_eq!([49, 50, 100].map(|epoch| share(ScheduleKind::Step, epoch, 200)), [1.0, 0.5, 0.25]);
        assert_eq!(share(ScheduleKind::Plateau, 60, 200), 0.125);
    }

    #[test]
    fn by_steps() {
        let schedule = |kind| ScheduleConfig { kind, by_step: true, ..Default::default() };
        let share = |kind, epoch, step| schedule(kind).share((epoch, 10), (step, 100), 0);
        assert_eq!(share(ScheduleKind::Cosine, 0, 0), 1.0);
        assert!(share(ScheduleKind::Cosine, 9, 99) < 1e-5);
        assert!(share(ScheduleKind::Cosine, 3, 50) < share(ScheduleKind::Cosine, 3, 49));
        assert_eq!([(3, 99), (4, 0), (9, 50)].map(|(e, s)| share(ScheduleKind::Milestones, e, s)), [1.0, 0.1, 0.0005]);
    }

    #[test]
    fn impossible_schedules_are_named() {
        let usual = ScheduleConfig::default;
        let wrong = |name: &str, schedule: ScheduleConfig| {
            let message = schedule.check().unwrap_err().to_string();
            assert!(message.contains(&format!("train.schedule.{name}:")), "{message}");
        };
        for share in [-0.1, 1.1, f64::NAN, f64::INFINITY] {
            wrong("factor", ScheduleConfig { factor: share, ..usual() });
            wrong("floor", ScheduleConfig { floor: share, ..usual() });
        }
        wrong("factor", ScheduleConfig { factor: 0.0, ..usual() });
        wrong("every", ScheduleConfig { every: 0, ..usual() });
        wrong("patience", ScheduleConfig { patience: 0, ..usual() });
        ScheduleConfig { floor: 0.0, factor: 1.0, ..usual() }.check().unwrap();
    }
}
