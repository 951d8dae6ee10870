//! The figure of what another resolution costs: a bar per network, from its error at the resolution of the training to that at
//! another.

use super::super::cell::{Cell, NOT_RUN};
use super::super::names::{class, network};
use super::super::paper;
use super::super::problem::Problem;
use super::super::row::{Data, Key};
use super::super::table::Cells;
use super::{TOP, on};
use crate::report::measure;
use crate::report::scale::{Axis, Ticks, extent};
use crate::report::svg::{self, Entry, Frame, WIDTH, label, path, pixel};
use crate::report::text::escape;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

const LEFT: f64 = 204.0;
const GAP: f64 = 28.0;
/// The height of a network: ours above, the paper's below.
const STEP: f64 = 23.0;
/// How far from the middle of its row a bar lies.
const SHIFT: f64 = 4.5;
/// Two panels fill the width.
const PANELS: usize = 2;
/// A share that is smaller, zero for example, is drawn here: the axis is logarithmic.
const SMALLEST: f64 = 1e-4;

/// Errors at home and elsewhere: as numbers, and as pixels.
type Pair = (f64, f64);

/// A network, in the order of the paper.
type Network<'a> = (usize, &'a str, Option<usize>);

/// The cells at home and elsewhere of the networks of a panel.
type Bars<'a> = BTreeMap<Network<'a>, (&'a Cell, &'a Cell)>;

/// A figure per kind of data, with a panel per pair of resolutions; none if nothing was tested elsewhere.
pub fn costs(problem: &Problem, cells: &Cells) -> Vec<String> {
    let is_tested = |key: &Key| key.split == problem.split && key.is_cross();
    let run = cells.iter().filter(|(key, cell)| is_tested(key) && cell.is_run());
    let run: BTreeSet<_> = run.map(|(key, _)| (key.data, key.trained_at)).collect();
    let mut figures: BTreeMap<Option<Data>, BTreeMap<(usize, usize), Bars>> = BTreeMap::new();
    for (key, cross) in cells.iter().filter(|(key, _)| is_tested(key) && run.contains(&(key.data, key.trained_at))) {
        let Some(home) = cells.get(&key.at_home()) else { continue };
        let bars = figures.entry(key.data).or_default().entry((key.trained_at, key.tested_at)).or_default();
        bars.insert((paper::rank(problem.name, &key.model), &key.model, key.depth), (home, cross));
    }
    figures.iter().map(|(data, panels)| figure(problem, *data, panels)).collect()
}

fn figure(problem: &Problem, data: Option<Data>, panels: &BTreeMap<(usize, usize), Bars>) -> String {
    let networks: Vec<Network> =
        panels.values().flat_map(|bars| bars.keys().copied()).collect::<BTreeSet<_>>().into_iter().collect();
    let all = || panels.values().flat_map(|bars| bars.values());
    let rates = all().flat_map(|bar| [ours(bar), printed(bar)]).flatten();
    let range = extent(rates.flat_map(|(home, cross)| [home, cross]).map(within)).unwrap_or((0.1, 1.0));
    let (mut content, top) = legend();
    let height = STEP * networks.len() as f64;
    let width = (WIDTH - LEFT - GAP - 18.0) / PANELS as f64;
    // Trained on fine grids first, as in the paper.
    let mut order: Vec<_> = panels.iter().collect();
    order.sort_by_key(|((trained_at, tested_at), _)| (Reverse(*trained_at), *tested_at));
    let bands = order.chunks(PANELS);
    let count = bands.len();
    for (band, panels) in bands.enumerate() {
        let top = top + 44.0 + band as f64 * (height + 90.0);
        for (k, (_, model, depth)) in networks.iter().enumerate() {
            let name =
                network(model, *depth).replace(" (Haber et al.)", ", Haber et al.").replace(" (PreResNet-20)", "");
            content += &label(LEFT - 10.0, top + STEP * (k as f64 + 0.5) + 4.0, "end", &name);
        }
        for (k, (sides, bars)) in panels.iter().enumerate() {
            let left = LEFT + k as f64 * (width + GAP);
            let (x, y) = (Axis::logarithmic(range), Axis::linear((0.0, 1.0)));
            content += &panel(&Frame { left, top, width, height, x, y }, problem, **sides, &networks, bars);
        }
    }
    let title = format!("{}{}: errors at the resolution of the training and at another", problem.title, on(data));
    let description = "A bar per network from its error at the resolution of its training to that at another, ours and \
                       the paper's, on a logarithmic axis.";
    let caption = format!(
        "<strong>Who minds another resolution{}?</strong> Left is better; a short bar is a network that does not mind. Bars of \
         equal length are equal ratios: the axis is logarithmic. Thick: ours, thin: the paper's.",
        escape(&on(data))
    );
    let height = top + 44.0 + count as f64 * (height + 90.0) - 40.0;
    svg::figure(&svg::drawing(height, &title, description, &content), &caption)
}

/// What can be drawn: infinite errors stand at the edge.
fn within(rate: f64) -> f64 {
    rate.clamp(SMALLEST, TOP)
}

/// Our errors at home and elsewhere, if both are there.
fn ours((home, cross): &(&Cell, &Cell)) -> Option<Pair> {
    Some((home.mean()?, cross.mean()?))
}

/// The paper's.
fn printed((home, cross): &(&Cell, &Cell)) -> Option<Pair> {
    Some((home.paper?.mean, cross.paper?.mean))
}

fn panel(
    frame: &Frame,
    problem: &Problem,
    (trained_at, tested_at): (usize, usize),
    networks: &[Network],
    bars: &Bars,
) -> String {
    let [trained, tested] = [trained_at, tested_at].map(|side| problem.resolution_name(side));
    let (heading, axis) =
        (format!("trained at {trained}, tested at {tested}"), format!("error, ○ at {trained}, ● at {tested}"));
    let mut content =
        frame.axes_at((&measure::ticks(problem.task.metric(), frame.x, frame.width), &axis), (&Ticks::default(), ""));
    content += &label(frame.left + frame.width / 2.0, frame.top - 10.0, "strong middle", &heading);
    let kinds = networks.windows(2).enumerate().filter(|(_, pair)| class(pair[0].1) != class(pair[1].1));
    let rules = kinds.map(|(k, _)| {
        format!("M{} {}h{}", pixel(frame.left), pixel(frame.top + STEP * (k + 1) as f64), pixel(frame.width))
    });
    content += &path("frame", &rules.collect::<String>());
    for (k, name) in networks.iter().enumerate() {
        let Some(cells) = bars.get(name) else { continue };
        let (y, class) = (frame.top + STEP * (k as f64 + 0.5), class(name.1));
        let drawn = bar(frame, printed(cells), y + SHIFT, (2.3, &format!("{class} printed")))
            + &bar(frame, ours(cells), y - SHIFT, (3.6, &format!("{class} measured")));
        content += &format!("<g><title>{}</title>\n{drawn}</g>\n", escape(&details(*name, cells)));
    }
    content
}

/// A line from the error at home, a ring, to that elsewhere, a dot; nothing without numbers.
fn bar(frame: &Frame, pair: Option<Pair>, y: f64, (radius, class): (f64, &str)) -> String {
    let place = |rate: f64| frame.across(within(rate));
    let Some((home, cross)) = pair.and_then(|(home, cross)| Some((place(home)?, place(cross)?))) else {
        return String::new();
    };
    let line = format!("M{} {}H{}", pixel(home), pixel(y), pixel(cross));
    let parts = [("line penalty", line), ("ring", circle(home, y, radius)), ("dot", circle(cross, y, radius))];
    parts.map(|(kind, data)| path(&format!("{kind} {class}"), &data)).concat()
}

fn circle(x: f64, y: f64, radius: f64) -> String {
    let (left, y, across) = (pixel(x - radius), pixel(y), 2.0 * radius);
    format!("M{left} {y}a{radius} {radius} 0 1 0 {across} 0a{radius} {radius} 0 1 0-{across} 0z")
}

/// What a reader sees who points at a network.
fn details((_, model, depth): Network, cells: &(&Cell, &Cell)) -> String {
    let text = |pair: Option<Pair>| match pair {
        Some((home, cross)) => format!("{} → {}", cells.0.write(home), cells.0.write(cross)),
        None => NOT_RUN.to_owned(),
    };
    format!("{}: ours {}, the paper's {}", network(model, depth), text(ours(cells)), text(printed(cells)))
}

/// What rings and dots are, with the height.
fn legend() -> (String, f64) {
    let entry = |text: &str, class: &str, radius: f64, ends: [bool; 2]| {
        let mut symbol = vec![(format!("line penalty {class}"), "M4 0H20".to_owned())];
        symbol.extend(ends[0].then(|| (format!("ring {class}"), circle(4.0, 0.0, radius))));
        symbol.extend(ends[1].then(|| (format!("dot {class}"), circle(20.0, 0.0, radius))));
        Entry { text: text.into(), symbol }
    };
    let entries = [
        entry("error at the resolution of the training", "measured", 3.6, [true, false]),
        entry("at another", "measured", 3.6, [false, true]),
        entry("ours", "measured", 3.6, [true, true]),
        entry("the paper's", "printed", 2.3, [true, true]),
    ];
    svg::legend(LEFT, 12.0, &entries)
}

#[cfg(test)]
mod tests {
    use super::super::super::problem::tests::request;
    use super::super::super::table::errors;
    use super::super::super::table::tests::{digit_rows, function_rows};
    use super::*;

    #[test]
    fn there_is_a_bar_per_network_with_both_numbers() {
        let mnist = request("mnist").problem;
        let figures = costs(mnist, &errors(mnist, &digit_rows()));
        assert_eq!(figures.len(), 1);
        let bars = |class: &str| figures[0].matches(&format!("class=\"dot {class}\"")).count();
        assert_eq!((bars("cnn measured"), bars("nkn measured")), (1, 1));
        // Nothing was tested elsewhere of what was trained on coarse images: one panel.
        assert_eq!((bars("cnn printed"), bars("multiscale printed"), bars("nkn printed")), (3, 4, 9));
        assert!(
            figures[0].contains("<title>CNN, L = 1: ours 2.00 % → 90.00 %, the paper&#39;s 2.55 % → 27.88 %</title>")
        );
        assert!(!figures[0].contains("NaN"));
    }

    /// Functions have the same figure, with infinite errors at the edge; one dimension is tested at home only.
    #[test]
    fn functions_are_drawn_too() {
        let [poisson, darcy] = ["poisson", "darcy"].map(|name| {
            let problem = request(name).problem;
            let rows: Vec<_> = function_rows().into_iter().filter(|row| row.key.problem == name).collect();
            costs(problem, &errors(problem, &rows))
        });
        assert!(poisson.is_empty());
        assert_eq!((darcy.len(), darcy[0].matches("class=\"strong middle\"").count()), (1, 2));
        assert!(darcy[0].contains("Who minds another resolution, normalised data?") && !darcy[0].contains("NaN"));
    }

    #[test]
    fn circles_are_closed_around_their_point() {
        assert_eq!(circle(10.0, 7.0, 3.0), "M7 7a3 3 0 1 0 6 0a3 3 0 1 0-6 0z");
    }
}
