//! The figure of training losses: initialisations against each other.

use crate::report::color::Palette;
use crate::report::curves::ladder_step;
use crate::report::scale::{Axis, drawable, extent};
use crate::report::svg::{self, Entry, Frame, WIDTH};
use crate::report::text::{escape, scientific};

/// A training loss over epochs.
#[derive(Debug, Clone, Default)]
pub struct LossCurve {
    /// How the network was initialised, for example "shallow-to-deep"; curves of one name share their style.
    pub name: String,
    /// The number of layers.
    pub depth: usize,
    /// Epochs, counted from the start of this depth.
    pub epochs: Vec<f64>,
    /// The loss at each of them.
    pub losses: Vec<f64>,
}

/// Training losses, the depths side by side and the curves of one depth on top of each other. Nothing without curves.
pub fn loss_curves(curves: &[LossCurve]) -> String {
    let Some(range) = extent(curves.iter().flat_map(|curve| &curve.losses).copied().filter(|&loss| loss > 0.0)) else {
        return String::new();
    };
    let mut names: Vec<&str> = Vec::new();
    for curve in curves.iter().filter(|curve| !curve.losses.is_empty()) {
        if !names.contains(&curve.name.as_str()) {
            names.push(&curve.name);
        }
    }
    let palette = Palette::new(0..names.len());
    let styles = ["line", "line dashed", "line dash-dotted", "line dotted"];
    let style = |k: usize| format!("{} {}", styles[k % styles.len()], palette.class(k));
    let mut depths: Vec<usize> = curves.iter().map(|curve| curve.depth).collect();
    depths.sort_unstable();
    depths.dedup();
    let mut ends = vec![0.0];
    for &depth in &depths {
        let epochs = curves.iter().filter(|curve| curve.depth == depth).flat_map(|curve| curve.epochs.iter().copied());
        let length = extent(epochs).map_or(0.0, |(_, last)| last.max(0.0));
        ends.push(ends.last().copied().unwrap_or(0.0) + length);
    }
    let total = ends.last().copied().filter(|&total| drawable(total) && total > 0.0).unwrap_or(1.0);
    let (x, y) = (Axis::linear((0.0, total)), Axis::logarithmic(range));
    let frame = Frame { left: 84.0, top: 62.0, width: WIDTH - 108.0, height: 300.0, x, y };
    let mut content = frame.axes("epoch, counted through all depths", "training loss");
    for (k, &depth) in depths.iter().enumerate() {
        content.push_str(&ladder_step(&frame, depth, (ends[k], ends[k + 1]), "c6"));
        for curve in curves.iter().filter(|curve| curve.depth == depth) {
            let points = curve.epochs.iter().zip(&curve.losses).map(|(epoch, &loss)| (ends[k] + epoch, loss));
            let place = names.iter().position(|&name| name == curve.name).unwrap_or_default();
            content.push_str(&frame.line(points, &style(place)));
        }
    }
    let entry =
        |(k, name): (usize, &&str)| Entry { text: name.to_string(), symbol: vec![(style(k), svg::dash(0.0, 0.0))] };
    content.push_str(&svg::legend(frame.left, 14.0, &names.iter().enumerate().map(entry).collect::<Vec<_>>()).0);
    let description =
        "Training losses over epochs on a logarithmic axis, one depth after the other, a line per initialisation.";
    let caption = format!(
        "<strong>Does it pay to start from the shallower network?</strong> Look at where the lines of a depth begin, \
         how fast they fall, and which ends lower.{}",
        last_losses(curves, &names, depths.last().copied())
    );
    let drawing =
        svg::drawing(frame.top + frame.height + 46.0, "Training losses by initialisation", description, &content);
    svg::figure(&drawing, &caption)
}

/// What the deepest networks have reached, in a sentence.
fn last_losses(curves: &[LossCurve], names: &[&str], depth: Option<usize>) -> String {
    let last = |name: &&str| {
        let curve = curves.iter().find(|curve| curve.name == **name && Some(curve.depth) == depth)?;
        let loss = curve.losses.iter().copied().filter(|loss| loss.is_finite()).reduce(f64::min)?;
        Some(format!("{} {}", escape(name), scientific(loss)))
    };
    let reached: Vec<_> = names.iter().filter_map(last).collect();
    match depth {
        Some(depth) if reached.len() > 1 => format!(" Lowest losses at <i>L = {depth}</i>: {}.", reached.join(", ")),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losses_of_one_name_share_their_style() {
        let curve = |name: &str, depth, losses: &[f64]| LossCurve {
            name: name.into(),
            depth,
            epochs: (1..=losses.len()).map(|epoch| epoch as f64).collect(),
            losses: losses.to_vec(),
        };
        let html = loss_curves(&[
            curve("shallow-to-deep", 2, &[0.5, 0.1]),
            curve("random", 2, &[0.9, 0.2]),
            curve("shallow-to-deep", 4, &[0.1, f64::NAN, 0.05]),
            curve("random", 4, &[0.9, 0.3]),
        ]);
        // Two lines and the entry in the legend each.
        assert_eq!(html.matches("class=\"line c0\"").count(), 3);
        assert_eq!(html.matches("class=\"line dashed c1\"").count(), 3);
        assert!(html.contains("Lowest losses at <i>L = 4</i>: shallow-to-deep 5.00e-2, random 3.00e-1."));
        assert!(html.contains(">L = 2<") && html.contains(">L = 4<"));
        assert_eq!(loss_curves(&[]), "");
        assert_eq!(loss_curves(&[curve("random", 1, &[f64::NAN])]), "");
    }
}
