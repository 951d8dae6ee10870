//! From measurements to results.csv, results.md, results.tex and index.html.

use super::lookup::Lookup;
use super::page::{Tables, render};
use super::row::Row;
use super::{Budget, Column, Measured, Task, cost, paper, table, text};
use crate::reproduce::{latex, markdown};
use anyhow::Result;
use nkn::io::write_atomically;
use std::path::{Path, PathBuf};

const COLUMNS: &str = "run,model,depth,seed,epoch,split,resolution,metric,value,trained_at,paper\n";

/// Writes results.csv, results.md, results.tex and index.html into a folder that exists; returns their paths in this order.
///
/// What was not measured is left open in the tables. A second measurement of the same cell and seed, or an error rate that
/// is not between 0 and 1, is an error.
pub fn write(out: &Path, task: Task, budget: &Budget, measured: &[Measured]) -> Result<Vec<PathBuf>> {
    let lookup = Lookup::new(measured)?;
    let tables = Tables {
        errors: table::errors(task, measured, &lookup),
        ratios: table::ratios(task, measured, &lookup),
        cost: cost::table(task, measured),
    };
    let grids = || tables.errors.iter().take(1).chain([&tables.ratios]).chain(tables.errors.iter().skip(1));
    let cost = || Some(&tables.cost).filter(|cost| !cost.rows.is_empty()).into_iter();
    let markdown: Vec<String> =
        grids().map(|grid| text::markdown(grid, budget)).chain(cost().map(markdown::simple)).collect();
    let latex: Vec<String> = grids().map(|grid| text::latex(grid, budget)).chain(cost().map(latex::simple)).collect();
    let files = [
        ("results.csv", csv(task, measured)),
        ("results.md", markdown.join("\n")),
        ("results.tex", latex.join("\n")),
        ("index.html", render(task, budget, measured, &tables)),
    ];
    let mut paths = Vec::new();
    for (name, content) in files {
        let path = out.join(name);
        write_atomically(&path, content.as_bytes())?;
        paths.push(path);
    }
    Ok(paths)
}

/// A line per error, and three per training: its seconds, its parameters and whether it is complete.
fn csv(task: Task, measured: &[Measured]) -> String {
    let mut csv = COLUMNS.to_owned();
    for one in measured {
        let printed = paper::printed(task, &one.row, Column::of(one)).filter(|_| one.set == task.paper_set());
        let paper = printed.map(|printed| format!("{:e}", printed.error_rate)).unwrap_or_default();
        csv += &line(one, (&one.set, one.tested_at), ("error_rate", one.error_rate), &paper);
    }
    for one in cost::trainings(measured) {
        let complete = f64::from(u8::from(one.complete));
        for metric in [("seconds", one.seconds), ("parameters", one.parameters as f64), ("complete", complete)] {
            csv += &line(one, ("train", one.trained_at), metric, "");
        }
    }
    csv
}

fn line(one: &Measured, (split, resolution): (&str, usize), (metric, value): (&str, f64), paper: &str) -> String {
    let Measured { row, trained_at, seed, epochs, .. } = one;
    let Row { model, depth, .. } = Row::new(row);
    let depth = depth.map(|depth| depth.to_string()).unwrap_or_default();
    let run = field(&format!("{row}-at{trained_at}-seed{seed}"));
    let (model, split) = (field(&model), field(split));
    format!("{run},{model},{depth},{seed},{epochs},{split},{resolution},{metric},{value:e},{trained_at},{paper}\n")
}

/// Text as a field: quoted if it has to be.
fn field(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{example, measured};
    use super::*;
    use std::collections::BTreeMap;

    /// The fields of a line with quotes.
    fn fields(line: &str) -> Vec<String> {
        let (mut fields, mut quoted) = (vec![String::new()], false);
        let mut characters = line.chars().peekable();
        while let Some(character) = characters.next() {
            let last = fields.last_mut().unwrap();
            match character {
                '"' if quoted && characters.peek() == Some(&'"') => last.extend(characters.next()),
                '"' => quoted = !quoted,
                ',' if !quoted => fields.push(String::new()),
                _ => last.push(character),
            }
        }
        fields
    }

    /// The measurements, from the file alone.
    fn parse(csv: &str) -> Vec<Measured> {
        let mut lines = csv.lines().map(fields);
        let heads = lines.next().unwrap();
        let lines: Vec<BTreeMap<String, String>> = lines
            .map(|line| {
                assert_eq!(line.len(), heads.len());
                heads.iter().cloned().zip(line).collect()
            })
            .collect();
        let of_training = |run: &str, metric: &str| -> f64 {
            let mut found = lines.iter().filter(|line| line["run"] == run && line["metric"] == metric);
            let value = found.next().unwrap()["value"].parse().unwrap();
            assert!(found.next().is_none());
            value
        };
        let errors = lines.iter().filter(|line| line["metric"] == "error_rate");
        errors
            .map(|line| Measured {
                row: line["run"].rsplit_once("-at").unwrap().0.to_owned(),
                trained_at: line["trained_at"].parse().unwrap(),
                tested_at: line["resolution"].parse().unwrap(),
                seed: line["seed"].parse().unwrap(),
                set: line["split"].clone(),
                error_rate: line["value"].parse().unwrap(),
                epochs: line["epoch"].parse().unwrap(),
                seconds: of_training(&line["run"], "seconds"),
                parameters: of_training(&line["run"], "parameters") as usize,
                complete: of_training(&line["run"], "complete") == 1.0,
            })
            .collect()
    }

    #[test]
    fn the_csv_gives_the_measurements_back() {
        let odd = Measured { set: "a, \"b\"".into(), ..measured("odd, \"row\"", (28, 28), 7, 0.1 + 0.2) };
        let all = [example(), vec![odd]].concat();
        assert_eq!(parse(&csv(Task::Mnist, &all)), all);
    }

    #[test]
    fn lines_have_the_papers_number_where_it_has_one() {
        let text = csv(Task::Mnist, &example());
        assert!(text.starts_with("run,model,depth,seed,epoch,split,resolution,metric,value,trained_at,paper\n"));
        let line = "nkn-r3-l2-at28-seed1,nkn-r3,2,1,10,validation,14,error_rate,8e-2,28,4.85e-2\n";
        assert!(text.contains(line), "{text}");
        assert!(text.contains(",official,28,error_rate,3.1e-2,28,\n"));
        assert!(text.contains("nkn-r4-l1-at14-seed0,nkn-r4,1,0,4,train,14,complete,0e0,14,\n"));
    }

    #[test]
    fn four_files_are_written() {
        let folder = tempfile::tempdir().unwrap();
        let budget = Budget { words: "2 epochs".into(), is_quick: true };
        let paths = write(folder.path(), Task::Mnist, &budget, &example()).unwrap();
        let names: Vec<_> = paths.iter().map(|path| path.file_name().unwrap().to_str().unwrap()).collect();
        assert_eq!(names, ["results.csv", "results.md", "results.tex", "index.html"]);
        let read = |k: usize| std::fs::read_to_string(&paths[k]).unwrap();
        assert!(read(1).contains("what another resolution costs") && read(1).contains("what the networks took"));
        assert_eq!(read(2).matches("\\begin{table}").count(), 4);
        assert!(read(3).contains("MNIST: the paper&#39;s table beside ours"));
        assert!(write(folder.path(), Task::Mnist, &budget, &[example(), example()].concat()).is_err());
        // Nothing measured yet: errors and ratios of the paper, no table without rows.
        write(folder.path(), Task::Cifar, &budget, &[]).unwrap();
        assert_eq!(read(2).matches("\\begin{table}").count(), 2);
    }
}
