//! Tables of text: parameter counts, eigenvalues, and what the trainings took.

use super::cell::NOT_RUN;
use super::names::{RANDOM, kind_name, network};
use super::paper;
use super::problem::{Problem, Task};
use super::row::{Data, Key, Row};
use super::table::{pivot, training_name};
use crate::report::text::{compact, minus};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// A table whose cells are plain text; the first column names the rows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SimpleTable {
    /// The heading, in plain text.
    pub title: String,
    /// What to look for, in plain text.
    pub caption: String,
    /// The heads of the columns.
    pub columns: Vec<String>,
    /// The cells, row by row.
    pub rows: Vec<Vec<String>>,
}

impl SimpleTable {
    /// A table of texts with their lines and columns and how these are called; none without lines.
    fn of<L: Ord, C: Ord + Clone>(
        (title, caption): (&str, &str),
        texts: impl IntoIterator<Item = (L, C, String)>,
        (corner, head, name): (&str, impl Fn(&C) -> String, impl Fn(&L) -> String),
    ) -> Option<Self> {
        let (columns, lines) = pivot(texts);
        let columns = std::iter::once(corner.to_owned()).chain(columns.iter().map(head)).collect();
        let row = |(line, cells): (L, Vec<Option<String>>)| {
            let cells = cells.into_iter().map(|cell| cell.unwrap_or_else(|| NOT_RUN.to_owned()));
            std::iter::once(name(&line)).chain(cells).collect()
        };
        let rows: Vec<_> = lines.into_iter().map(row).collect();
        (!rows.is_empty()).then(|| Self { title: title.into(), caption: caption.into(), columns, rows })
    }
}

/// Our numbers and the paper's by model in the order of the paper, depth and metric, for the models that were run.
type Both = BTreeMap<((usize, String), Option<usize>, usize), (Vec<f64>, Option<f64>)>;

fn both<'a>(problem: &Problem, rows: impl Iterator<Item = &'a Row>, metrics: &[&str]) -> Both {
    let model = |key: &Key| (paper::rank(problem.name, &key.model), key.model.clone());
    let mut both = Both::new();
    for row in rows.filter(|row| !row.key.model.ends_with(RANDOM)) {
        if let Some(metric) = metrics.iter().position(|metric| row.key.metric == *metric) {
            both.entry((model(&row.key), row.key.depth, metric)).or_default().0.push(row.value);
        }
    }
    let models: Vec<_> = both.keys().map(|(model, ..)| model.clone()).collect();
    for (metric, name) in metrics.iter().enumerate() {
        for key in paper::keys(problem.name, name).filter(|key| models.contains(&model(key))) {
            let entry = both.entry((model(key), key.depth, metric)).or_default();
            entry.1 = paper::published(key).map(|paper| paper.mean);
        }
    }
    both
}

/// The numbers of parameters, ours beside the paper's; none without any.
pub fn parameters(problem: &Problem, rows: &[Row]) -> Option<SimpleTable> {
    let text = |ours: &[f64], paper: Option<f64>| {
        let printed = paper.map(|paper| format!(" ({})", in_thousands(paper))).unwrap_or_default();
        let mark = ours.first().zip(paper).map_or("", |(&ours, paper)| agreement(ours, paper));
        format!("{}{printed}{mark}", range(ours.iter().map(|&count| count as usize)))
    };
    let both = both(problem, rows.iter(), &["parameters"]);
    let texts: Vec<_> =
        both.into_iter().map(|((model, depth, _), (ours, paper))| (model, depth, text(&ours, paper))).collect();
    let mut caption = String::from(if paper::keys(problem.name, "parameters").next().is_some() {
        "Ours, and the paper's in parentheses; ≠ marks a difference that is not rounding."
    } else {
        "Where trainings at several resolutions differ, the smallest and the largest number."
    });
    if texts.iter().any(|(.., text)| text.ends_with('*')) {
        caption += " *: the paper's number is ours divided by ten; the widths that it states give ours.";
    }
    let head = |depth: &Option<usize>| depth.map_or_else(|| "no depth".to_owned(), |depth| format!("L = {depth}"));
    let name = |(_, model): &(usize, String)| network(model, None);
    SimpleTable::of(("Trainable parameters", &caption), texts, ("model", head, name))
}

/// The mark of a count that is not the printed one, to a unit of its last digit: the paper rounds or cuts off after two decimals.
fn agreement(count: f64, printed: f64) -> &'static str {
    let unit = if printed < 1e6 { 10.0 } else { 1e4 };
    let is_near = |count: f64| (count - printed).abs() < unit;
    match count {
        count if is_near(count) => "",
        count if is_near(count / 10.0) => "*",
        _ => " ≠",
    }
}

/// As the paper prints it: 66.82k or 1.12M.
fn in_thousands(count: f64) -> String {
    if count < 1e6 { format!("{:.2}k", count / 1e3) } else { format!("{:.2}M", count / 1e6) }
}

/// A number with commas, as in 4,731,969.
fn thousands(number: usize) -> String {
    let digits = number.to_string();
    let groups: Vec<&str> = digits.as_bytes().rchunks(3).rev().filter_map(|group| str::from_utf8(group).ok()).collect();
    groups.join(",")
}

/// One number, or the smallest and the largest if they differ.
fn range(numbers: impl Iterator<Item = usize> + Clone) -> String {
    match (numbers.clone().min(), numbers.max()) {
        (Some(low), Some(high)) if low < high => format!("{} to {}", thousands(low), thousands(high)),
        (Some(low), _) => thousands(low),
        _ => NOT_RUN.to_owned(),
    }
}

/// Metrics of a spectrum and their heads.
const SPECTRUM: [&str; 4] = ["eigenvalue_smallest", "eigenvalue_largest", "amplification", "eigenvalue_symmetric"];
const SPECTRUM_HEADS: [&str; 4] = ["smallest", "largest", "amplification", "symmetric part"];

/// The ranges of the eigenvalues with the first seed, ours beside the paper's; none without any.
pub fn eigenvalues(problem: &Problem, rows: &[Row], data: Data) -> Option<SimpleTable> {
    let of_data =
        || rows.iter().filter(|row| row.key.data == Some(data) && SPECTRUM.contains(&row.key.metric.as_str()));
    let first = of_data().map(|row| row.seed).min()?;
    let text = |ours: &[f64], paper: Option<f64>| {
        let paper = paper.map(|paper| format!(" ({})", eigenvalue(paper))).unwrap_or_default();
        format!("{}{paper}", ours.first().map_or_else(|| NOT_RUN.to_owned(), |&ours| eigenvalue(ours)))
    };
    let both = both(problem, of_data().filter(|row| row.seed == first), &SPECTRUM);
    let texts =
        both.into_iter().map(|((model, depth, metric), (ours, paper))| (depth, (model, metric), text(&ours, paper)));
    let title = format!("Eigenvalues of the learned operator R − L_k, trained on {data} data");
    let caption = "Real parts, ours, and the paper's in parentheses. The paper takes a positive smallest eigenvalue as the sign of \
                   stability: look at whether NKN's stay positive, and whether GKN's change their sign. But a layer is a stable \
                   step only if it amplifies no direction: amplification is the largest |1 − dt λ| (dt = 1/L, GKN 1 without its \
                   activation), symmetric part the smallest eigenvalue of the symmetric part.";
    let head =
        |((_, model), metric): &((usize, String), usize)| format!("{} {}", kind_name(model), SPECTRUM_HEADS[*metric]);
    let name = |depth: &Option<usize>| depth.map(|depth| depth.to_string()).unwrap_or_default();
    SimpleTable::of((&title, caption), texts, ("depth L", head, name))
}

/// With four decimals, as in the paper.
fn eigenvalue(value: f64) -> String {
    if value.abs() < 1e4 { minus(&format!("{value:.4}")) } else { compact(value) }
}

/// Epochs and seconds of each training by network and seed, over all its depths: the epochs of depths add up, the seconds are
/// counted on.
fn trainings(problem: &Problem, rows: &[Row]) -> BTreeMap<(usize, Key), BTreeMap<u64, [f64; 2]>> {
    let mut found: BTreeMap<_, BTreeMap<_, [f64; 2]>> = BTreeMap::new();
    for row in rows.iter().filter(|row| row.key.metric == "epochs" || row.key.metric == "seconds") {
        let depth = row.key.depth.filter(|_| problem.task == Task::Images);
        let key = Key { depth, metric: String::new(), ..row.key.clone() };
        let rank = paper::rank(problem.name, &row.key.model);
        let [epochs, seconds] = found.entry((rank, key)).or_default().entry(row.seed).or_default();
        if row.key.metric == "epochs" {
            *epochs += row.value;
        } else {
            *seconds = seconds.max(row.value);
        }
    }
    found
}

/// How many trainings there are, and their seconds.
pub fn spent(problem: &Problem, rows: &[Row]) -> (usize, f64) {
    let trainings = trainings(problem, rows);
    let all = trainings.values().flat_map(|seeds| seeds.values());
    all.fold((0, 0.0), |(count, sum), [_, seconds]| (count + 1, sum + seconds))
}

/// A row per network, two columns per resolution of the training; none without trainings.
pub fn cost(problem: &Problem, rows: &[Row]) -> Option<SimpleTable> {
    let trainings = trainings(problem, rows);
    let is_single = trainings.keys().map(|(_, key)| key.trained_at).collect::<BTreeSet<_>>().len() == 1;
    let texts = trainings.iter().flat_map(|((rank, key), seeds)| {
        let line = (*rank, Key { trained_at: 0, tested_at: 0, ..key.clone() });
        let epochs = range(seeds.values().map(|[epochs, _]| *epochs as usize).filter(|&epochs| epochs > 0));
        let mean = seeds.values().map(|[_, seconds]| seconds).sum::<f64>() / seeds.len() as f64;
        let texts = [("epochs", epochs), ("seconds", thousands(mean.round() as usize))];
        texts.map(|(name, text)| (line.clone(), (Reverse(key.trained_at), name), text))
    });
    let head = |(Reverse(side), name): &(Reverse<usize>, &str)| {
        let at = if is_single { String::new() } else { format!(", trained at {}", problem.resolution_name(*side)) };
        format!("{name}{at}")
    };
    let caption = "Epochs and seconds of a training (all its depths together, the mean over the seeds).";
    let name = |(_, key): &(usize, Key)| training_name(key);
    SimpleTable::of(("What the trainings took", caption), texts, ("training", head, name))
}

#[cfg(test)]
mod tests {
    use super::super::problem::tests::request;
    use super::super::row::tests::{function, image, seeds};
    use super::*;
    use Data::{Normalised, Original};

    fn of(key: &Key, metric: &str, values: &[f64]) -> Vec<Row> {
        seeds(&Key { metric: metric.into(), ..key.clone() }, values)
    }

    #[test]
    fn counts_agree_to_the_last_digit_that_is_printed() {
        assert_eq!(agreement(67_016.0, 67_020.0), "");
        // Cut off instead of rounded.
        assert_eq!(agreement(78_337.0, 78_330.0), "");
        assert_eq!(agreement(1_123_777.0, 1.12e6), "");
        assert_eq!(agreement(4_731_969.0, 473_200.0), "*");
        assert_eq!(agreement(67_100.0, 67_020.0), " ≠");
        assert_eq!([66_820.0, 2_240_000.0].map(in_thousands), ["66.82k", "2.24M"]);
    }

    #[test]
    fn the_parameter_table_has_ours_beside_the_papers() {
        let nkn = of(&function("darcy", "nkn", Normalised, 1, None), "parameters", &[9_453_121.0; 2]);
        let fno = of(&function("darcy", "fno", Normalised, 64, None), "parameters", &[10_688_897.0]);
        let table = parameters(request("darcy").problem, &[nkn, fno].concat()).unwrap();
        assert_eq!(table.columns.len(), 8);
        assert_eq!([&table.rows[0][0], &table.rows[0][7], &table.rows[0][6]], ["FNO", "10,688,897", "– (5.35M)"]);
        assert_eq!(table.rows[1][1], "9,453,121 (945.31k)*");
        assert!(table.caption.contains("divided by ten"));
        assert!(table.rows.iter().all(|row| row.len() == table.columns.len()));
        let fine = of(&image("cnn", Some(1), 28, 28), "parameters", &[300.0]);
        let coarse = of(&image("cnn", Some(1), 14, 14), "parameters", &[200.0]);
        let table = parameters(request("mnist").problem, &[fine, coarse].concat()).unwrap();
        assert_eq!(table.rows, [["CNN", "200 to 300"]]);
        assert_eq!(parameters(request("mnist").problem, &[]), None);
    }

    #[test]
    fn the_eigenvalue_table_has_four_columns_per_model() {
        let key = function("poisson", "nkn", Original, 3, None);
        let values = [("eigenvalue_smallest", -0.5), ("eigenvalue_largest", 12.0), ("amplification", 3.0)];
        let values = values.into_iter().chain([("eigenvalue_symmetric", -0.75)]);
        let rows: Vec<Row> = values.flat_map(|(metric, value)| of(&key, metric, &[value, 7.0])).collect();
        let table = eigenvalues(request("poisson").problem, &rows, Original).unwrap();
        assert_eq!(table.columns[..3], ["depth L", "NKN smallest", "NKN largest"]);
        assert_eq!((table.columns.len(), table.rows.len()), (5, 7));
        assert_eq!(table.rows[0], ["1", "– (−0.1183)", "– (1.6012)", "–", "–"]);
        assert_eq!(table.rows[2], ["3", "−0.5000", "12.0000", "3.0000", "−0.7500"]);
        assert_eq!(eigenvalues(request("poisson").problem, &rows, Normalised), None);
    }

    #[test]
    fn a_ladder_is_one_training_and_images_have_one_per_depth() {
        let rung = |depth, epochs, seconds| {
            let key = function("poisson", "nkn", Original, depth, None);
            [of(&key, "epochs", &[epochs; 2]), of(&key, "seconds", &[seconds, 2.0 + seconds])].concat()
        };
        let ladder = [rung(1, 10.0, 100.0), rung(2, 5.0, 1300.0)].concat();
        let poisson = request("poisson").problem;
        assert_eq!(spent(poisson, &ladder), (2, 1300.0 + 1302.0));
        let table = cost(poisson, &ladder).unwrap();
        assert_eq!(table.columns, ["training", "epochs", "seconds"]);
        assert_eq!(table.rows, [["NKN, original data", "15", "1,301"]]);
        let images = |side, depth| {
            let key = image("cnn", Some(depth), side, side);
            [of(&key, "epochs", &[8.0, 12.0]), of(&key, "seconds", &[1000.0, 3000.0])].concat()
        };
        let table = cost(request("mnist").problem, &[images(28, 1), images(28, 2), images(14, 2)].concat()).unwrap();
        assert_eq!(table.columns[1..3], ["epochs, trained at fine", "seconds, trained at fine"]);
        assert_eq!(table.rows[0], ["CNN, L = 1", "8 to 12", "2,000", "–", "–"]);
        assert_eq!(table.rows[1], ["CNN, L = 2", "8 to 12", "2,000", "8 to 12", "2,000"]);
        assert_eq!(cost(poisson, &[]), None);
    }
}
