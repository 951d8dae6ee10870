//! The errors of a finished training on every test grid, kept in its folder so that none is evaluated twice.

use crate::commands::eval;
use anyhow::{Context, Result};
use nkn::io::write_atomically;
use nkn::run::RunFolder;
use std::path::{Path, PathBuf};

/// One error.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    /// L.
    pub depth: usize,
    /// "train" or "test".
    pub split: String,
    /// Points per side of the grid.
    pub tested_at: usize,
    /// Relative L² error.
    pub value: f64,
}

/// The file `cells.csv` of a training.
pub struct Cells {
    path: PathBuf,
    /// What is in it.
    pub cells: Vec<Cell>,
}

const COLUMNS: &str = "depth,split,resolution,relative_l2";

impl Cells {
    /// Reads what is there.
    pub fn read(folder: &Path) -> Result<Self> {
        let path = folder.join("cells.csv");
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(error).with_context(|| format!("{}: could not read", path.display())),
        };
        let parse = |line: &str| -> Option<Cell> {
            let [depth, split, tested_at, value] = line.split(',').collect::<Vec<_>>().try_into().ok()?;
            Some(Cell {
                depth: depth.parse().ok()?,
                split: split.to_owned(),
                tested_at: tested_at.parse().ok()?,
                value: value.parse().ok()?,
            })
        };
        let cells = (text.lines().enumerate().skip(1))
            .map(|(number, line)| {
                parse(line).with_context(|| {
                    format!(
                        "{}, line {}: expected {COLUMNS}, got {line:?}\n  hint: remove the file, it is made again",
                        path.display(),
                        number + 1
                    )
                })
            })
            .collect::<Result<_>>()?;
        Ok(Self { path, cells })
    }

    fn has(&self, depth: usize, split: &str, tested_at: usize) -> bool {
        self.cells.iter().any(|cell| cell.depth == depth && cell.split == split && cell.tested_at == tested_at)
    }

    fn write(&self) -> Result<()> {
        let rows = self.cells.iter().map(|c| format!("{},{},{},{:e}\n", c.depth, c.split, c.tested_at, c.value));
        Ok(write_atomically(&self.path, (COLUMNS.to_owned() + "\n" + &rows.collect::<String>()).as_bytes())?)
    }
}

/// Fills in what is missing for the finished depths; training and test at the training's own grid are in the results already.
pub fn evaluate(folder: &RunFolder, cells: &mut Cells, tests: &[usize]) -> Result<()> {
    let depths = folder.depths();
    if depths.is_empty() {
        return Ok(());
    }
    let config = folder.config()?;
    let own = eval::trained_at(&config)?;
    for result in folder.results()? {
        for (split, value) in [("train", Some(result.train)), ("test", result.test)] {
            if let (Some(value), false) = (value, cells.has(result.depth, split, own)) {
                cells.cells.push(Cell { depth: result.depth, split: split.into(), tested_at: own, value });
            }
        }
    }
    cells.write()?;
    for &tested_at in tests {
        let missing: Vec<usize> =
            depths.iter().copied().filter(|&depth| !cells.has(depth, "test", tested_at)).collect();
        if missing.is_empty() {
            continue;
        }
        let samples = config.data.tests_at(&[tested_at], &crate::progress::generating())?.remove(0);
        for depth in missing {
            if crate::progress::should_stop() {
                return Ok(());
            }
            eprintln!("testing {} at depth {depth} on {tested_at} points per side", eval::name(folder));
            let row = eval::evaluate(&folder.model_at(depth)?, &samples, None)?;
            cells.cells.push(Cell { depth, split: "test".into(), tested_at, value: row.relative_l2 });
            cells.write()?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_come_back_and_damage_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let mut cells = Cells::read(folder.path()).unwrap();
        assert!(cells.cells.is_empty());
        cells.cells.push(Cell { depth: 4, split: "test".into(), tested_at: 31, value: 0.1 + 0.2 });
        cells.cells.push(Cell { depth: 8, split: "train".into(), tested_at: 16, value: f64::INFINITY });
        cells.write().unwrap();
        assert_eq!(Cells::read(folder.path()).unwrap().cells, cells.cells);
        assert!(cells.has(4, "test", 31) && !cells.has(4, "test", 16));
        std::fs::write(folder.path().join("cells.csv"), "depth\n1,train\n").unwrap();
        let message = Cells::read(folder.path()).err().unwrap().to_string();
        assert!(message.contains("line 2"), "{message}");
    }
}
