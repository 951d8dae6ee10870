//! The figure of the first look: a bar per network, from its error at the resolution of the training to that at another.

use super::Column;
use super::entry::percent;
use super::table::{Grid, Line};
use crate::report::scale::{Axis, Ticks, extent};
use crate::report::svg::{self, Entry, Frame, WIDTH, label, pixel};
use crate::report::text::{escape, fixed};

const LEFT: f64 = 204.0;
const GAP: f64 = 28.0;
/// The height of a network: ours above, the paper's below.
const STEP: f64 = 23.0;
/// How far from the middle of its row a bar lies.
const SHIFT: f64 = 4.5;
/// Two panels fill the width.
const PANELS: usize = 2;
/// An error that is smaller, zero for example, is drawn here: the axis is logarithmic.
const SMALLEST: f64 = 1e-3;

/// Errors at home and elsewhere: as numbers, and as pixels.
type Pair = (f64, f64);

/// A panel per column of another resolution; nothing without numbers.
pub fn penalties(grid: &Grid) -> String {
    let columns: Vec<Column> = grid.columns.iter().copied().filter(|column| column.is_cross()).collect();
    let all = columns.iter().flat_map(|&column| grid.lines.iter().map(move |line| (line, column)));
    let rates = all.flat_map(|(line, column)| [ours(grid, line, column), paper(grid, line, column)]).flatten();
    let Some(range) = extent(rates.flat_map(|(home, cross)| [home, cross]).map(|rate| rate.max(SMALLEST))) else {
        return String::new();
    };
    let (mut content, top) = legend();
    let height = STEP * grid.lines.len() as f64;
    let width = (WIDTH - LEFT - GAP - 18.0) / PANELS as f64;
    let bands = columns.chunks(PANELS);
    let count = bands.len();
    for (band, columns) in bands.enumerate() {
        let top = top + 44.0 + band as f64 * (height + 90.0);
        content += &names(grid, top);
        for (k, &column) in columns.iter().enumerate() {
            let left = LEFT + k as f64 * (width + GAP);
            let (x, y) = (Axis::logarithmic(range), Axis::linear((0.0, 1.0)));
            content += &panel(&Frame { left, top, width, height, x, y }, grid, column);
        }
    }
    let title = format!("{}: errors at the resolution of the training and at another", grid.task.title());
    let description = "A bar per network from its error at the resolution of its training to that at another, ours and \
                       the paper's, on a logarithmic axis.";
    let caption = "<strong>Who minds another resolution?</strong> Left is better; a short bar is a network that does not mind. \
                   Bars of equal length are equal ratios: the axis is logarithmic. Thick: ours (broken if a training is \
                   unfinished), thin: the paper's.";
    let height = top + 44.0 + count as f64 * (height + 90.0) - 40.0;
    svg::figure(&svg::drawing(height, &title, description, &content), caption)
}

/// Our errors of a network at home and elsewhere, if both are there.
fn ours(grid: &Grid, line: &Line, column: Column) -> Option<Pair> {
    let mean = |column| grid.entry(line, column)?.cell.mean();
    Some((mean(column.at_home())?, mean(column)?))
}

/// The paper's.
fn paper(grid: &Grid, line: &Line, column: Column) -> Option<Pair> {
    let mean = |column| Some(grid.entry(line, column)?.cell.paper?.mean);
    Some((mean(column.at_home())?, mean(column)?))
}

/// The names of the networks, left of the first panel, with a rule between the kinds.
fn names(grid: &Grid, top: f64) -> String {
    let mut content = String::new();
    for (k, line) in grid.lines.iter().enumerate() {
        let y = top + STEP * (k as f64 + 0.5);
        let text =
            line.row.name().replace(" (Haber et al.)", ", Haber et al.").replace("Baseline (PreResNet-20)", "Baseline");
        content += &label(LEFT - 10.0, y + 4.0, "end", &text);
    }
    content
}

fn panel(frame: &Frame, grid: &Grid, column: Column) -> String {
    let size = |side| grid.task.size_name(side);
    let (trained, tested) = (size(column.trained_at), size(column.tested_at));
    let heading = format!("trained on {trained}, tested on {tested} images");
    let axis = format!("error, ○ on {trained}, ● on {tested} images");
    let mut content = frame.axes_at((&ticks(&frame.x), &axis), (&Ticks::default(), ""));
    content += &label(frame.left + frame.width / 2.0, frame.top - 10.0, "strong middle", &heading);
    let kinds = grid.lines.windows(2).enumerate().filter(|(_, pair)| pair[0].group() != pair[1].group());
    let rules = kinds.map(|(k, _)| {
        format!("M{} {}h{}", pixel(frame.left), pixel(frame.top + STEP * (k + 1) as f64), pixel(frame.width))
    });
    content += &format!("<path class=\"frame\" d=\"{}\"/>\n", rules.collect::<String>());
    for (k, line) in grid.lines.iter().enumerate() {
        let y = frame.top + STEP * (k as f64 + 0.5);
        let class = line.row.class();
        let unfinished =
            [column, column.at_home()].iter().any(|&c| grid.entry(line, c).is_some_and(|e| e.unfinished > 0));
        let dashed = if unfinished { " dashed" } else { "" };
        let bars = bar(frame, paper(grid, line, column), y + SHIFT, (2.3, &format!("{class} printed"), ""))
            + &bar(frame, ours(grid, line, column), y - SHIFT, (3.6, &format!("{class} measured"), dashed));
        content += &format!("<g><title>{}</title>\n{bars}</g>\n", escape(&details(grid, line, column)));
    }
    content
}

/// A line from the error at home, a ring, to that elsewhere, a dot; nothing without numbers.
fn bar(frame: &Frame, pair: Option<Pair>, y: f64, (radius, class, dashed): (f64, &str, &str)) -> String {
    let place = |rate: f64| frame.across(rate.max(SMALLEST));
    let Some((home, cross)) = pair.and_then(|(home, cross)| Some((place(home)?, place(cross)?))) else {
        return String::new();
    };
    format!(
        "<path class=\"line penalty {class}{dashed}\" d=\"M{} {}H{}\"/>\n<path class=\"ring {class}\" d=\"{}\"/>\n\
         <path class=\"dot {class}\" d=\"{}\"/>\n",
        pixel(home),
        pixel(y),
        pixel(cross),
        circle(home, y, radius),
        circle(cross, y, radius)
    )
}

fn circle(x: f64, y: f64, radius: f64) -> String {
    let (left, y, across) = (pixel(x - radius), pixel(y), 2.0 * radius);
    format!("M{left} {y}a{radius} {radius} 0 1 0 {across} 0a{radius} {radius} 0 1 0-{across} 0z")
}

/// What a reader sees who points at a network.
fn details(grid: &Grid, line: &Line, column: Column) -> String {
    let text = |pair: Option<Pair>| {
        pair.map_or_else(|| "–".to_owned(), |(home, cross)| format!("{} → {}", percent(home), percent(cross)))
    };
    format!(
        "{}: ours {}, the paper's {}",
        line.row.name(),
        text(ours(grid, line, column)),
        text(paper(grid, line, column))
    )
}

/// 1, 2, 5, 10 … percent.
fn ticks(axis: &Axis) -> Ticks {
    let rates = [0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0];
    let inside = |rate: &f64| axis.position(rate / 100.0).is_some_and(|place| (0.0..=1.0).contains(&place));
    let labelled = rates.into_iter().filter(inside).map(|rate| (rate / 100.0, format!("{} %", fixed(rate, 1))));
    Ticks { labelled: labelled.collect(), ..Ticks::default() }
}

/// What rings and dots are, with the height.
fn legend() -> (String, f64) {
    let symbol = |class: &str, radius: f64, ends: [bool; 2]| {
        let mut paths = vec![(format!("line penalty {class}"), "M4 0H20".to_owned())];
        paths.extend(ends[0].then(|| (format!("ring {class}"), circle(4.0, 0.0, radius))));
        paths.extend(ends[1].then(|| (format!("dot {class}"), circle(20.0, 0.0, radius))));
        paths
    };
    let entries = [
        Entry {
            text: "error at the resolution of the training".into(),
            symbol: symbol("measured", 3.6, [true, false]),
        },
        Entry { text: "at another".into(), symbol: symbol("measured", 3.6, [false, true]) },
        Entry { text: "ours".into(), symbol: symbol("measured", 3.6, [true, true]) },
        Entry { text: "the paper's".into(), symbol: symbol("printed", 2.3, [true, true]) },
    ];
    svg::legend(LEFT, 12.0, &entries)
}

#[cfg(test)]
mod tests {
    use super::super::table::tests::grids;
    use super::super::tests::{example, measured};
    use super::*;

    #[test]
    fn there_is_a_bar_per_network_with_both_numbers() {
        let text = penalties(&grids(&example()).0[0]);
        let bars = |class: &str| text.matches(&format!("class=\"dot {class}\"")).count();
        assert_eq!((bars("cnn measured"), bars("nkn measured")), (1, 1));
        assert_eq!((bars("cnn printed"), bars("multiscale printed"), bars("nkn printed")), (6, 8, 18));
        assert!(text.contains("<title>CNN, L = 1: ours 2.00 % → 90.00 %, the paper&#39;s 2.55 % → 27.88 %</title>"));
        assert!(!text.contains("NaN"));
    }

    #[test]
    fn unfinished_trainings_are_dashed() {
        let mut all = [measured("cnn-l1", (28, 28), 0, 0.02), measured("cnn-l1", (28, 14), 0, 0.0)];
        assert!(!penalties(&grids(&all).0[0]).contains("dashed"));
        all[1].complete = false;
        assert!(penalties(&grids(&all).0[0]).contains("class=\"line penalty cnn measured dashed\""));
    }

    #[test]
    fn circles_are_closed_around_their_point() {
        assert_eq!(circle(10.0, 7.0, 3.0), "M7 7a3 3 0 1 0 6 0a3 3 0 1 0-6 0z");
    }
}
