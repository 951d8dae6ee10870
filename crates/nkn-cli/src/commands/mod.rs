//! One file per command.

pub mod bench;
pub mod data;
pub mod deepen;
pub mod eval;
pub mod predict;
pub mod quickstart;
pub mod report;
pub mod spectrum;
pub mod train;
