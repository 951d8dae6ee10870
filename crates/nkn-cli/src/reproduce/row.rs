//! What is compared: a measured number under the key of the paper's.

use anyhow::{Context, Result, anyhow, ensure};
use std::collections::BTreeMap;
use std::fmt::{Display, Formatter};
use std::path::Path;
use std::str::FromStr;

/// What a network on functions was trained on: the two halves of the paper's tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Data {
    /// Trained on normalised data
    Normalised,
    /// Trained on the original data
    Original,
}

impl Display for Data {
    fn fmt(&self, f: &mut Formatter) -> std::fmt::Result {
        f.write_str(if *self == Self::Normalised { "normalised" } else { "original" })
    }
}

impl FromStr for Data {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Self> {
        match text {
            // Files of version 0.1 have a column `normalised`.
            "normalised" | "true" => Ok(Self::Normalised),
            "original" | "false" => Ok(Self::Original),
            _ => Err(anyhow!("expected normalised or original, got {text:?}")),
        }
    }
}

/// Where a number belongs.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    /// "poisson", "darcy", "mnist" or "cifar".
    pub problem: String,
    /// "nkn", "gkn", "cnn" …, with the radius in pixels for images, as in "nkn-r3".
    pub model: String,
    /// Functions: what it was trained on; none if it does not matter for the number.
    pub data: Option<Data>,
    /// L; none for a network without one.
    pub depth: Option<usize>,
    /// "train", and "test" for functions, "validation" (held out of the training images) or "official" for images.
    pub split: String,
    /// Points or pixels per side in training.
    pub trained_at: usize,
    /// Points or pixels per side of the samples that were measured on.
    pub tested_at: usize,
    /// "relative_l2", "error_rate", "parameters", "seconds" …
    pub metric: String,
}

impl Key {
    /// Whether it is about other samples than those of the training.
    pub fn is_test(&self) -> bool {
        self.split != "train"
    }

    /// Whether the network was tested at another resolution than that of its training.
    pub fn is_cross(&self) -> bool {
        self.is_test() && self.trained_at != self.tested_at
    }

    /// The same, tested at the resolution of the training.
    pub fn at_home(&self) -> Self {
        Self { tested_at: self.trained_at, ..self.clone() }
    }
}

/// A measured number: a line of results.csv.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// What it is.
    pub key: Key,
    /// The seed of the training.
    pub seed: u64,
    /// The number.
    pub value: f64,
}

const COLUMNS: &str = "problem,model,data,depth,seed,split,trained_at,tested_at,metric,value\n";

/// Rows as CSV; names have no commas.
pub fn to_csv(rows: &[Row]) -> String {
    let mut csv = COLUMNS.to_owned();
    for Row { key, seed, value } in rows {
        let Key { problem, model, data, depth, split, trained_at, tested_at, metric } = key;
        let (data, depth) = (text(data), text(depth));
        csv +=
            &format!("{problem},{model},{data},{depth},{seed},{split},{trained_at},{tested_at},{metric},{value:e}\n");
    }
    csv
}

fn text<T: Display>(value: &Option<T>) -> String {
    value.as_ref().map(T::to_string).unwrap_or_default()
}

/// Reads rows in any order of columns. Columns that the file does not have are taken from `common`, and those of version 0.1 are
/// known: `experiment`, `normalised`, `resolution`, and `relative_l2` for a metric and its value.
pub fn from_csv(csv: &str, origin: &Path, common: &Row) -> Result<Vec<Row>> {
    let row = |line: &Line| -> Result<Row> {
        Ok(Row {
            key: line.key(&common.key)?,
            seed: line.number(&["seed"])?.unwrap_or(common.seed),
            value: line.number(&["value", "relative_l2"])?.unwrap_or(common.value),
        })
    };
    lines(csv, origin)?
        .iter()
        .enumerate()
        .map(|(k, line)| row(line).with_context(|| format!("{}, line {}", origin.display(), k + 2)))
        .collect()
}

/// Reads the numbers of another run of an example: what [`to_csv`] wrote, or version 0.1, where the example may be left to the reader.
pub fn from_results(csv: &str, origin: &Path, problem: &str) -> Result<Vec<Row>> {
    let heads: Vec<&str> = csv.lines().next().unwrap_or_default().split(',').collect();
    for needed in ["model", "seed", "split", "trained_at", "metric", "value"] {
        ensure!(heads.contains(&needed), "{}, line 1: expected a column {needed}, got {heads:?}", origin.display());
    }
    let key = Key { problem: problem.into(), ..Key::default() };
    from_csv(csv, origin, &Row { key, seed: 0, value: f64::NAN })
}

/// A line of a CSV file by the names of its columns.
pub struct Line<'a>(BTreeMap<&'a str, &'a str>);

/// The lines after the heading.
pub fn lines<'a>(csv: &'a str, origin: &Path) -> Result<Vec<Line<'a>>> {
    let mut lines = csv.lines();
    let heads: Vec<&str> = lines.next().unwrap_or_default().split(',').collect();
    let line = |(k, line): (usize, &'a str)| {
        let fields: Vec<&str> = line.split(',').collect();
        ensure!(
            fields.len() == heads.len(),
            "{}, line {}: expected {} fields ({}), got {line:?}\n  hint: remove the file, it is made again",
            origin.display(),
            k + 2,
            heads.len(),
            heads.join(",")
        );
        Ok(Line(heads.iter().copied().zip(fields).collect()))
    };
    lines.enumerate().map(line).collect()
}

impl Line<'_> {
    /// The field under the first of these names that the file has.
    fn field(&self, names: &[&str]) -> Option<&str> {
        names.iter().find_map(|name| self.0.get(name).copied())
    }

    /// A number or another value; none if the file does not have it, or if it is empty.
    pub fn number<T: FromStr>(&self, names: &[&str]) -> Result<Option<T>> {
        let parse = |text: &str| text.parse().map_err(|_| anyhow!("{}: cannot be {text:?}", names[0]));
        self.field(names).filter(|text| !text.is_empty()).map(parse).transpose()
    }

    /// The key, completed from another one.
    pub fn key(&self, common: &Key) -> Result<Key> {
        let text = |names: &[&str], usual: &str| self.field(names).unwrap_or(usual).to_owned();
        let has = |names: &[&str]| self.field(names).is_some();
        Ok(Key {
            problem: text(&["problem", "experiment"], &common.problem),
            model: text(&["model"], &common.model),
            data: if has(&["data", "normalised"]) { self.number(&["data", "normalised"])? } else { common.data },
            depth: if has(&["depth"]) { self.number(&["depth"])? } else { common.depth },
            split: text(&["split"], &common.split),
            trained_at: self.number(&["trained_at"])?.unwrap_or(common.trained_at),
            tested_at: self.number(&["tested_at", "resolution"])?.unwrap_or(common.tested_at),
            metric: text(&["metric"], &common.metric),
        })
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A number on Poisson or Darcy, trained on the coarse grid; a training error without a test grid.
    pub fn function(problem: &str, model: &str, data: Data, depth: usize, test: Option<usize>) -> Key {
        let trained_at = if problem == "poisson" { 101 } else { 16 };
        Key {
            problem: problem.into(),
            model: model.into(),
            data: Some(data),
            depth: Some(depth),
            split: if test.is_some() { "test" } else { "train" }.into(),
            trained_at,
            tested_at: test.unwrap_or(trained_at),
            metric: "relative_l2".into(),
        }
    }

    /// A number on MNIST's validation images.
    pub fn image(model: &str, depth: Option<usize>, trained_at: usize, tested_at: usize) -> Key {
        let (problem, model, metric) = ("mnist".into(), model.into(), "error_rate".into());
        Key { problem, model, data: None, depth, split: "validation".into(), trained_at, tested_at, metric }
    }

    /// A row per value, with seeds from 0.
    pub fn seeds(key: &Key, values: &[f64]) -> Vec<Row> {
        let row = |(seed, &value): (usize, &f64)| Row { key: key.clone(), seed: seed as u64, value };
        values.iter().enumerate().map(row).collect()
    }

    fn any_row() -> impl Strategy<Value = Row> {
        let name = "[a-z][a-z0-9_-]{0,11}";
        let data = prop_oneof![Just(None), Just(Some(Data::Normalised)), Just(Some(Data::Original))];
        let value = prop_oneof![
            any::<f64>().prop_filter("equal to itself", |value| !value.is_nan()),
            Just(f64::INFINITY),
            Just(0.1 + 0.2)
        ];
        let names = (name, name, name, name);
        let numbers = (prop::option::of(any::<usize>()), any::<usize>(), any::<usize>(), any::<u64>());
        (names, numbers, data, value).prop_map(|(names, numbers, data, value)| {
            let (problem, model, split, metric) = names;
            let (depth, trained_at, tested_at, seed) = numbers;
            Row { key: Key { problem, model, data, depth, split, trained_at, tested_at, metric }, seed, value }
        })
    }

    proptest! {
        #[test]
        fn rows_come_back_from_csv(rows in prop::collection::vec(any_row(), 0..20), common in any_row()) {
            prop_assert_eq!(from_csv(&to_csv(&rows), Path::new("results.csv"), &common).unwrap(), rows);
        }
    }

    /// The files of version 0.1: the tables of functions and of images, and the tests of one training.
    #[test]
    fn older_files_are_read() {
        let common = Row { key: function("darcy", "nkn", Data::Normalised, 1, Some(16)), seed: 3, value: 0.0 };
        let read = |csv: &str| from_csv(csv, Path::new("x.csv"), &common).unwrap().remove(0);
        let row = read("depth,split,resolution,relative_l2\n4,test,31,5e-2\n");
        assert_eq!(row.key, function("darcy", "nkn", Data::Normalised, 4, Some(31)));
        assert_eq!((row.seed, row.value), (3, 0.05));
        let head = "experiment,model,depth,seed,split,trained_at,tested_at,normalised,metric,value";
        let row = read(&format!("{head}\npoisson,gkn,2,1,train,101,101,false,relative_l2,inf\n"));
        assert_eq!(row.key, function("poisson", "gkn", Data::Original, 2, None));
        assert_eq!((row.seed, row.value), (1, f64::INFINITY));
        let head = "run,model,depth,seed,epoch,split,resolution,metric,value,trained_at,paper";
        let row =
            read(&format!("{head}\npreresnet20-at32-seed0,preresnet20,,0,3,official,64,error_rate,0.8,32,5e-1\n"));
        assert_eq!((row.key.depth, row.key.trained_at, row.key.tested_at), (None, 32, 64));
    }

    #[test]
    fn damage_is_named_with_its_line() {
        let common = Row { key: image("cnn", None, 28, 28), seed: 0, value: 0.0 };
        for (csv, words) in
            [("depth,value\n1,2\n1\n", "line 3"), ("depth,value\nmany,2\n", "depth: cannot be \"many\"")]
        {
            let message = format!("{:#}", from_csv(csv, Path::new("cells.csv"), &common).unwrap_err());
            assert!(message.contains("cells.csv") && message.contains(words), "{message}");
        }
    }
}
