//! What the library promises of its fast operations as a whole: derivatives against central differences, fused operations against portable
//! ones, one thread against many.

mod agreement;
mod case;
mod clouds;
mod exact;
mod fourier;
mod gradients;
mod images;
mod operations;
mod training;
