//! The figure of training losses: initialisations against each other.

use crate::report::curves::{Curve, Line, drawing};
use crate::report::svg;
use crate::report::text::{escape, scientific};

/// Training losses, the depths side by side and the lines of one depth, named by their initialisation, on top of each other.
/// Nothing without losses.
pub fn loss_curves(curves: &[Curve]) -> String {
    let Some(drawing) = drawing("Training losses by initialisation", curves, None) else { return String::new() };
    let caption = format!(
        "<strong>Does it pay to start from the shallower network?</strong> Look at where the lines of a depth begin, \
         how fast they fall, and which ends lower.{}",
        curves.last().map(last_losses).unwrap_or_default()
    );
    svg::figure(&drawing, &caption)
}

/// What the deepest networks have reached, in a sentence.
fn last_losses(deepest: &Curve) -> String {
    let last = |line: &Line| {
        let loss = line.points.iter().map(|point| point.1).filter(|loss| loss.is_finite()).reduce(f64::min)?;
        Some(format!("{} {}", escape(&line.split), scientific(loss)))
    };
    let reached: Vec<_> = deepest.lines.iter().filter_map(last).collect();
    if reached.len() < 2 {
        return String::new();
    }
    format!(" Lowest losses at <i>L = {}</i>: {}.", deepest.depth, reached.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losses_of_one_name_share_their_style() {
        let curve = |depth, lines: &[(&str, &[f64])]| {
            let line = |(name, losses): &(&str, &[f64])| Line {
                metric: "training loss".into(),
                split: (*name).into(),
                points: (1..).map(f64::from).zip(losses.iter().copied()).collect(),
            };
            Curve { depth, lines: lines.iter().map(line).collect() }
        };
        let html = loss_curves(&[
            curve(2, &[("shallow-to-deep", &[0.5, 0.1]), ("random", &[0.9, 0.2])]),
            curve(4, &[("shallow-to-deep", &[0.1, f64::NAN, 0.05]), ("random", &[0.9, 0.3])]),
        ]);
        // Two lines and the entry in the legend each.
        assert_eq!(html.matches("class=\"line c0\"").count(), 3);
        assert_eq!(html.matches("class=\"line dashed c1\"").count(), 3);
        assert!(html.contains("Lowest losses at <i>L = 4</i>: shallow-to-deep 5.00e-2, random 3.00e-1."));
        assert!(html.contains(">L = 2<") && html.contains(">L = 4<"));
        assert_eq!(loss_curves(&[]), "");
        assert_eq!(loss_curves(&[curve(1, &[("random", &[f64::NAN])])]), "");
    }
}
