//! The figure of training losses: initialisations against each other.

use crate::report::color::{Palette, STYLES};
use crate::report::curves::{Curve, ladder_step, starts};
use crate::report::measure;
use crate::report::scale::Axis;
use crate::report::svg::{self, Entry, Frame};
use crate::report::tables::unique;
use crate::report::text::{escape, scientific};

/// Training losses, the depths side by side and the lines of one depth, named by their initialisation, on top of each other.
/// Nothing without losses.
pub fn loss_curves(curves: &[Curve]) -> String {
    let lines = || curves.iter().flat_map(|curve| &curve.lines).filter(|line| !line.points.is_empty());
    let losses = lines().flat_map(|line| &line.points).map(|point| point.1);
    let Some(y) = measure::axis("loss", losses) else { return String::new() };
    let names = unique(lines().map(|line| line.split.as_str()));
    let palette = Palette::new(0..names.len());
    let style = |name: &str| {
        let k = names.iter().position(|&known| known == name).unwrap_or_default();
        format!("{} {}", STYLES[k % STYLES.len()], palette.class(k))
    };
    let (starts, total) = starts(curves);
    let frame = Frame::wide(62.0, 300.0, Axis::linear((0.0, total)), y);
    let mut content = frame.axes("epoch, counted through all depths", "training loss");
    for (curve, range) in curves.iter().zip(starts.windows(2)) {
        content.push_str(&ladder_step(&frame, curve.depth, (range[0], range[1]), "c6"));
        for line in &curve.lines {
            let points = line.points.iter().map(|(epoch, loss)| (range[0] + epoch, *loss));
            content.push_str(&frame.line(points, &style(&line.split)));
        }
    }
    let entries: Vec<_> = names.iter().map(|&name| Entry::line(name, style(name))).collect();
    content.push_str(&svg::legend(frame.left, 14.0, &entries).0);
    let description =
        "Training losses over epochs on a logarithmic axis, one depth after the other, a line per initialisation.";
    let caption = format!(
        "<strong>Does it pay to start from the shallower network?</strong> Look at where the lines of a depth begin, \
         how fast they fall, and which ends lower.{}",
        curves.last().map(|deepest| last_losses(deepest, &names)).unwrap_or_default()
    );
    svg::figure(&frame.drawing("Training losses by initialisation", description, &content), &caption)
}

/// What the deepest networks have reached, in a sentence.
fn last_losses(deepest: &Curve, names: &[&str]) -> String {
    let last = |name: &&str| {
        let line = deepest.lines.iter().find(|line| line.split == **name)?;
        let loss = line.points.iter().map(|point| point.1).filter(|loss| loss.is_finite()).reduce(f64::min)?;
        Some(format!("{} {}", escape(name), scientific(loss)))
    };
    let reached: Vec<_> = names.iter().filter_map(last).collect();
    if reached.len() < 2 {
        return String::new();
    }
    format!(" Lowest losses at <i>L = {}</i>: {}.", deepest.depth, reached.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::curves::Line;

    #[test]
    fn losses_of_one_name_share_their_style() {
        let curve = |depth, lines: &[(&str, &[f64])]| {
            let line = |(name, losses): &(&str, &[f64])| Line {
                metric: "loss".into(),
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
