//! What is learned: a function from a function, or the class of an image. A task knows the batch, the loss and the measures; all else is the
//! trainer's, and the same for both.

mod class;
mod function;
mod start;

pub use class::{Answer, ImageSplits, Mistake, TestSet, image_measure, mistakes};
pub(crate) use class::{ClassTask, answers};
pub(crate) use function::{FunctionTask, function_measures};
#[cfg(test)]
pub(crate) use function::{Outputs, loss};
