//! The paper's experiments: its numbers, ours, and a page that shows them side by side.
//!
//! A number is a [`row`], and [`paper`] holds the paper's under the same keys. [`problem`] says what is trained for each
//! example, [`runner`] trains it, [`training`] is what it asks of the library. [`table`] arranges rows as the paper does, cell by
//! cell ([`cell`]), [`contest`] says who wins; [`markdown`], [`latex`] and [`html`] write the tables, [`figures`] draws, [`page`]
//! shows all of it, and [`output`] writes the files.

mod cell;
mod contest;
mod figures;
mod html;
mod latex;
mod markdown;
mod names;
pub mod output;
mod page;
mod paper;
pub mod problem;
pub mod row;
pub mod runner;
mod simple;
mod table;
pub mod training;
