//! Tables of text: parameter counts, eigenvalues, and what the trainings took.

use super::cell::NOT_RUN;
use super::names::{RANDOM, kind_name, network};
use super::paper;
use super::problem::{Problem, Task};
use super::row::{Data, Key, Row};
use super::table::{SimpleTable, training_name};
use crate::report::text::{compact, minus};
use std::collections::{BTreeMap, BTreeSet};

/// The models of some rows in the order of the paper.
fn models<'a>(problem: &Problem, rows: impl Iterator<Item = &'a Row>) -> Vec<&'a str> {
    let ranked = rows.map(|row| row.key.model.as_str()).filter(|model| !model.ends_with(RANDOM));
    let ranked: BTreeSet<_> = ranked.map(|model| (paper::rank(problem.name, model), model)).collect();
    ranked.into_iter().map(|(_, model)| model).collect()
}

fn heads(first: &str, others: impl Iterator<Item = String>) -> Vec<String> {
    std::iter::once(first.to_owned()).chain(others).collect()
}

/// The numbers of parameters, ours beside the paper's; none without any.
pub fn parameters(problem: &Problem, rows: &[Row]) -> Option<SimpleTable> {
    let counts = || rows.iter().filter(|row| row.key.metric == "parameters");
    let printed = paper::keys(problem.name, "parameters").map(|key| key.depth);
    let depths: BTreeSet<Option<usize>> = printed.chain(counts().map(|row| row.key.depth)).collect();
    let mut is_tenfold = false;
    let mut cell = |model: &str, depth: Option<usize>| {
        let ours = || counts().filter(|row| row.key.model == model && row.key.depth == depth);
        let same = |key: &&Key| key.model == model && key.depth == depth;
        let printed = paper::keys(problem.name, "parameters").find(same).and_then(paper::published);
        let paper = printed.map(|printed| format!(" ({})", in_thousands(printed.mean))).unwrap_or_default();
        let agreement = ours().next().zip(printed).map(|(ours, printed)| agreement(ours.value, printed.mean));
        let mark = match agreement {
            Some(Agreement::Tenfold) => "*",
            Some(Agreement::None) => " ≠",
            _ => "",
        };
        is_tenfold |= mark == "*";
        format!("{}{paper}{mark}", range(ours().map(|row| row.value as usize)))
    };
    let row = |model: &str| heads(&network(model, None), depths.iter().map(|&depth| cell(model, depth)));
    let rows: Vec<_> = models(problem, counts()).into_iter().map(row).collect();
    let paper = if paper::keys(problem.name, "parameters").next().is_some() {
        "Ours, and the paper's in parentheses; ≠ marks a difference that is not rounding."
    } else {
        "Where trainings at several resolutions differ, the smallest and the largest number."
    };
    let star = " *: the paper's number is ours divided by ten; the widths that it states give ours.";
    let head = |depth: &Option<usize>| depth.map_or_else(|| "no depth".to_owned(), |depth| format!("L = {depth}"));
    Some(SimpleTable {
        title: "Trainable parameters".into(),
        caption: paper.to_owned() + if is_tenfold { star } else { "" },
        columns: heads("model", depths.iter().map(head)),
        rows,
    })
    .filter(|table| !table.rows.is_empty())
}

#[derive(Debug, PartialEq, Eq)]
enum Agreement {
    Same,
    Tenfold,
    None,
}

/// Whether a count is the printed one, to a unit of its last digit: the paper rounds or cuts off after two decimals.
fn agreement(count: f64, printed: f64) -> Agreement {
    let unit = if printed < 1e6 { 10.0 } else { 1e4 };
    let is_near = |count: f64| (count - printed).abs() < unit;
    match count {
        count if is_near(count) => Agreement::Same,
        count if is_near(count / 10.0) => Agreement::Tenfold,
        _ => Agreement::None,
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
const SPECTRUM: [(&str, &str); 4] = [
    ("eigenvalue_smallest", "smallest"),
    ("eigenvalue_largest", "largest"),
    ("amplification", "amplification"),
    ("eigenvalue_symmetric", "symmetric part"),
];

/// The ranges of the eigenvalues with the first seed, ours beside the paper's; none without any.
pub fn eigenvalues(problem: &Problem, rows: &[Row], data: Data) -> Option<SimpleTable> {
    let ours =
        || rows.iter().filter(|row| row.key.data == Some(data) && SPECTRUM.iter().any(|(m, _)| *m == row.key.metric));
    let first = ours().map(|row| row.seed).min()?;
    let models = models(problem, ours());
    let printed = paper::keys(problem.name, SPECTRUM[0].0).map(|key| key.depth);
    let depths: BTreeSet<usize> = printed.chain(ours().map(|row| row.key.depth)).flatten().collect();
    let cell = |model: &str, depth: usize, metric: &str| {
        let is_it = |key: &Key| key.model == model && key.depth == Some(depth) && key.metric == metric;
        let ours = ours().find(|row| is_it(&row.key) && row.seed == first).map(|row| eigenvalue(row.value));
        let paper = paper::keys(problem.name, metric).find(|key| is_it(key)).and_then(paper::published);
        let paper = paper.map(|paper| format!(" ({})", eigenvalue(paper.mean))).unwrap_or_default();
        format!("{}{paper}", ours.unwrap_or_else(|| NOT_RUN.to_owned()))
    };
    let row = |&depth: &usize| {
        let cells = models.iter().flat_map(|model| SPECTRUM.map(|(metric, _)| cell(model, depth, metric)));
        heads(&depth.to_string(), cells)
    };
    let names = models.iter().flat_map(|model| SPECTRUM.map(|(_, name)| format!("{} {name}", kind_name(model))));
    Some(SimpleTable {
        title: format!("Eigenvalues of the learned operator R − L_k, trained on {data} data"),
        caption: "Real parts, ours, and the paper's in parentheses. The paper takes a positive smallest eigenvalue as \
                  the sign of stability: look at whether NKN's stay positive, and whether GKN's change their sign. But a \
                  layer is a stable step only if it amplifies no direction: amplification is the largest |1 − dt λ| (dt = 1/L, \
                  GKN 1 without its activation), symmetric part the smallest eigenvalue of the symmetric part."
            .into(),
        columns: heads("depth L", names),
        rows: depths.iter().map(row).collect(),
    })
}

/// With four decimals, as in the paper.
fn eigenvalue(value: f64) -> String {
    if value.abs() < 1e4 { minus(&format!("{value:.4}")) } else { compact(value) }
}

/// One training: its network and its resolution, by seed.
type Trainings = BTreeMap<(usize, Key), BTreeMap<u64, [f64; 2]>>;

/// Epochs and seconds of each training, over all its depths: the epochs of depths add up, the seconds are counted on.
fn trainings(problem: &Problem, rows: &[Row]) -> Trainings {
    let mut found: Trainings = BTreeMap::new();
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
    let sides: BTreeSet<usize> = trainings.keys().map(|(_, key)| key.trained_at).collect();
    let mut lines: Vec<(String, Vec<String>)> = Vec::new();
    for (_, key) in trainings.keys() {
        let name = training_name(key);
        if lines.iter().any(|(known, _)| *known == name) {
            continue;
        }
        let cells = sides.iter().rev().flat_map(|&side| {
            let own = trainings.iter().find(|((_, at), _)| at.trained_at == side && training_name(at) == name);
            let seeds = own.map(|(_, seeds)| seeds.values().collect::<Vec<_>>()).unwrap_or_default();
            let epochs = range(seeds.iter().map(|[epochs, _]| *epochs as usize).filter(|&epochs| epochs > 0));
            let mean = seeds.iter().map(|[_, seconds]| seconds).sum::<f64>() / seeds.len() as f64;
            [epochs, if seeds.is_empty() { NOT_RUN.to_owned() } else { thousands(mean.round() as usize) }]
        });
        let cells = cells.collect();
        lines.push((name, cells));
    }
    let names = sides.iter().rev().flat_map(|&side| {
        let resolution = problem.resolution_name(side);
        let at = if sides.len() > 1 { format!(", trained at {resolution}") } else { String::new() };
        ["epochs", "seconds"].map(|name| format!("{name}{at}"))
    });
    Some(SimpleTable {
        title: "What the trainings took".into(),
        caption: "Epochs and seconds of a training on this machine (all its depths together, the mean over the seeds)."
            .into(),
        columns: heads("training", names),
        rows: lines.into_iter().map(|(name, cells)| heads(&name, cells.into_iter())).collect(),
    })
    .filter(|table| !table.rows.is_empty())
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
        assert_eq!(agreement(67_016.0, 67_020.0), Agreement::Same);
        // Cut off instead of rounded.
        assert_eq!(agreement(78_337.0, 78_330.0), Agreement::Same);
        assert_eq!(agreement(1_123_777.0, 1.12e6), Agreement::Same);
        assert_eq!(agreement(4_731_969.0, 473_200.0), Agreement::Tenfold);
        assert_eq!(agreement(67_100.0, 67_020.0), Agreement::None);
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
