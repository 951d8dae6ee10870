//! Fitting without settings: samples in, the best network that the time allows out, and every choice with its reason.
//!
//! `facts` looks at the samples, `design` makes a network and a training of what it finds, `search` tries what cannot
//! be told by looking,
//! `ladder` plans the steps, `session` trains the candidates depth by depth, and `record` keeps all of it in the run's
//! folder, so that a search can be interrupted anywhere.

mod builder;
mod choice;
mod design;
mod facts;
mod ladder;
mod linear;
mod record;
mod search;
mod session;
mod symmetric;
#[cfg(test)]
mod tests;
mod trial;

pub use builder::{Auto, Fitted};
pub use choice::Choice;
pub use facts::{Facts, InputFacts};
pub use record::{Candidate, Record, Wanted};
