//! How the learning rate changes while a depth is trained.

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
}

impl Default for ScheduleConfig {
    fn default() -> Self {
        Self { kind: ScheduleKind::Cosine, warm_up: 0, every: 50, factor: 0.8, patience: 50, floor: 0.0 }
    }
}

impl ScheduleConfig {
    pub(super) fn check(&self) -> Result<()> {
        let share = |name: &str, value: f64, low_ok: bool| {
            if value.is_finite() && value <= 1.0 && (value > 0.0 || (low_ok && value == 0.0)) {
                return Ok(());
            }
            Err(Error::invalid(format!("train.schedule.{name}"), "a share from 0 to 1", value, "for example 0.8"))
        };
        share("factor", self.factor, false)?;
        share("floor", self.floor, true)?;
        for (name, value) in [("every", self.every), ("patience", self.patience)] {
            if value == 0 {
                return Err(Error::invalid(format!("train.schedule.{name}"), "1 or more", value, "for example 50"));
            }
        }
        Ok(())
    }

    /// The share of the peak rate in an epoch (counted from 0) of `epochs`; `reductions` is what a plateau has made.
    pub fn share(&self, epoch: usize, epochs: usize, reductions: u32) -> f64 {
        if epoch < self.warm_up {
            return (epoch + 1) as f64 / (self.warm_up + 1) as f64;
        }
        let since = epoch - self.warm_up;
        match self.kind {
            ScheduleKind::Constant => 1.0,
            ScheduleKind::Step => self.factor.powi((epoch / self.every) as i32),
            ScheduleKind::Cosine => {
                let length = epochs.saturating_sub(self.warm_up).max(1);
                let progress = since as f64 / length as f64;
                self.floor + (1.0 - self.floor) * 0.5 * (1.0 + (std::f64::consts::PI * progress).cos())
            }
            ScheduleKind::Plateau => self.factor.powi(reductions as i32),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes() {
        let schedule = |kind| ScheduleConfig { kind, warm_up: 4, every: 50, factor: 0.5, ..Default::default() };
        let cosine = schedule(ScheduleKind::Cosine);
        assert!((cosine.share(0, 104, 0) - 0.2).abs() < 1e-12);
        assert!((cosine.share(4, 104, 0) - 1.0).abs() < 1e-12);
        assert!((cosine.share(54, 104, 0) - 0.5).abs() < 1e-12);
        assert!(cosine.share(103, 104, 0) < 1e-3);
        let step = schedule(ScheduleKind::Step);
        assert_eq!(step.share(49, 200, 0), 1.0);
        assert_eq!(step.share(50, 200, 0), 0.5);
        assert_eq!(step.share(100, 200, 0), 0.25);
        assert_eq!(schedule(ScheduleKind::Plateau).share(60, 200, 3), 0.125);
    }
}
