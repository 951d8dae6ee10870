//! The paper's experiments: its numbers, ours, and a page that shows them side by side.
//!
//! [`jobs`] says what is trained, [`runner`] trains it, [`cells`] tests it, [`output`] writes what has come out.
//! [`model`] says what is compared, [`paper`] holds what the paper prints, [`table`] puts ours beside it, and the
//! others draw: [`markdown`], [`latex`] and [`html`] the tables, [`overview`] the first look, [`figures`] and
//! [`losses`] the curves, [`page`] all of it.

mod cell;
pub mod cells;
pub mod figures;
mod html;
pub mod images;
pub mod jobs;
pub mod latex;
pub mod losses;
pub mod markdown;
pub mod model;
pub mod output;
mod overview;
pub mod page;
pub mod paper;
pub mod runner;
pub mod simple;
pub mod table;
mod winner;
