//! A decision, and why it was taken.

use serde::{Deserialize, Serialize};

/// A decision, and why it was taken.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Choice {
    /// What was to be decided: `radius`, `augment`, …
    pub what: String,
    /// What was decided.
    pub chosen: String,
    /// Why.
    pub why: String,
}

impl Choice {
    pub(super) fn new(what: impl Into<String>, chosen: impl ToString, why: impl Into<String>) -> Self {
        Self { what: what.into(), chosen: chosen.to_string(), why: why.into() }
    }
}

impl std::fmt::Display for Choice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {} ({})", self.what, self.chosen, self.why)
    }
}
