//! The tables of a run: metrics.csv grows while it trains, results.csv is written when a depth is finished. Both have the same columns.

use crate::train::{Measure, Record};
use crate::{Error, Result};
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

/// The columns of metrics.csv and results.csv.
pub(super) const COLUMNS: &str = "run,model,depth,seed,epoch,split,resolution,metric,value\n";

/// What all lines of a run have in common.
#[derive(Clone, Debug)]
pub(super) struct Rows {
    pub run: String,
    pub model: String,
    pub seed: u64,
}

impl Rows {
    pub fn line(&self, record: &Record) -> String {
        let Self { run, model, seed } = self;
        let Record { depth, epoch, measure } = record;
        let Measure { split, resolution, metric, value, .. } = measure;
        format!("{run},{model},{depth},{seed},{epoch},{split},{resolution},{metric},{value:e}\n")
    }
}

/// Reads a line back. Residual networks once had no depth in it: `usual` takes its place.
pub(super) fn parse_row(path: &Path, number: usize, line: &str, usual: usize) -> Result<Record> {
    let wrong = |what: &str| {
        let problem = format!("line {number} has no {what}: {line:?}");
        Error::file(path, problem, "the table was changed by hand: restore it, or train the run again")
    };
    let cells: Vec<&str> = line.split(',').collect();
    let &[_, _, depth, _, epoch, split, resolution, metric, value] = cells.as_slice() else {
        return Err(wrong("nine columns"));
    };
    let depth = if depth.is_empty() { usual } else { depth.parse().map_err(|_| wrong("depth"))? };
    let epoch = epoch.parse().map_err(|_| wrong("epoch"))?;
    let resolution = resolution.parse().map_err(|_| wrong("resolution"))?;
    let value = value.parse().map_err(|_| wrong("value"))?;
    Ok(Record { depth, epoch, measure: Measure::new(split, resolution, metric, value) })
}

/// metrics.csv, cut back to what the checkpoint knows of.
pub(super) struct MetricsFile<'a> {
    rows: &'a Rows,
    path: PathBuf,
    file: File,
    length: u64,
}

impl<'a> MetricsFile<'a> {
    /// Opens the file and forgets all after the first `recorded` bytes.
    pub fn open(path: PathBuf, rows: &'a Rows, recorded: u64) -> Result<Self> {
        let file = OpenOptions::new().create(true).append(true).open(&path).map_err(Error::io(&path, "open"))?;
        file.set_len(recorded).map_err(Error::io(&path, "cut"))?;
        let mut metrics = Self { rows, path, file, length: recorded };
        if recorded == 0 {
            metrics.write(COLUMNS)?;
        }
        Ok(metrics)
    }

    fn write(&mut self, text: &str) -> Result<()> {
        self.file.write_all(text.as_bytes()).map_err(Error::io(&self.path, "write"))?;
        self.length += text.len() as u64;
        Ok(())
    }

    pub fn append(&mut self, records: &[Record]) -> Result<()> {
        let lines: String = records.iter().map(|record| self.rows.line(record)).collect();
        self.write(&lines)
    }

    /// Bytes written so far.
    pub fn length(&self) -> u64 {
        self.length
    }

    pub fn flush(&mut self) -> Result<()> {
        self.file.sync_data().map_err(Error::io(&self.path, "write"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn rows() -> Rows {
        Rows { run: "a".into(), model: "nkn".into(), seed: 3 }
    }

    proptest! {
        #[test]
        fn lines_read_back(depth in 1..99usize, epoch in 0..9999usize, side in 0..999usize, value in -1e300..1e300f64) {
            let record = Record { depth, epoch, measure: Measure::new("test", side, "loss", value) };
            let line = rows().line(&record);
            prop_assert_eq!(parse_row(Path::new("m.csv"), 2, line.trim_end(), 1).unwrap(), record);
        }
    }

    #[test]
    fn a_line_that_is_none_is_named() {
        for (line, word) in
            [("a,b", "nine"), ("a,nkn,1,0,x,test,5,loss,1", "epoch"), ("a,nkn,1,0,1,test,5,loss,", "value")]
        {
            let message = parse_row(Path::new("m.csv"), 7, line, 1).unwrap_err().to_string();
            assert!(message.contains("m.csv") && message.contains("line 7") && message.contains(word), "{message}");
        }
        assert_eq!(parse_row(Path::new("m.csv"), 7, "a,preresnet20,,0,1,test,32,error_rate,0.5", 2).unwrap().depth, 2);
    }

    #[test]
    fn a_resumed_file_forgets_what_the_checkpoint_does_not_know() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("metrics.csv");
        let rows = rows();
        let record = |epoch| Record { depth: 1, epoch, measure: Measure::new("train", 5, "loss", 0.5) };
        let mut file = MetricsFile::open(path.clone(), &rows, 0).unwrap();
        file.append(&[record(1)]).unwrap();
        let known = file.length();
        file.append(&[record(2)]).unwrap();
        drop(file);
        let mut file = MetricsFile::open(path.clone(), &rows, known).unwrap();
        file.append(&[record(3)]).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(text, format!("{COLUMNS}{}{}", rows.line(&record(1)), rows.line(&record(3))));
        assert_eq!(text.len() as u64, file.length());
    }
}
