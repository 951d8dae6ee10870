//! Figures: errors against depth, what another resolution costs, and training losses.

pub mod depth;
pub mod losses;
pub mod resolution;

use super::row::Data;

/// Errors above this are failures, by whatever factor: they are drawn at the edge, so that the others keep their room.
const TOP: f64 = 3.0;

/// What networks were trained on, with a comma before it; nothing for images.
pub fn on(data: Option<Data>) -> String {
    data.map(|data| format!(", {data} data")).unwrap_or_default()
}
