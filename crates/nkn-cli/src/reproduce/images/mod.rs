//! The paper's two tables of image classification, MNIST and CIFAR-10, beside ours.
//!
//! [`paper`] holds what the paper prints, [`row`] what a row is called, [`lookup`] what was measured. [`table`] puts
//! ours beside the paper's, cell by cell ([`entry`]), [`cost`] says what it took; [`text`] and [`html`] draw the
//! tables, [`overview`] and [`chart`] the first look, [`page`] all of it, and [`output`] writes the files.

mod chart;
mod cost;
mod entry;
mod html;
pub mod jobs;
mod lookup;
mod output;
mod overview;
mod page;
mod paper;
mod row;
pub mod runner;
mod table;
mod text;

/// A table of the paper.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Task {
    /// Digits, 28 × 28 (fine) and 14 × 14 (coarse); trained on each, tested on both.
    Mnist,
    /// CIFAR-10, trained at 32 × 32 (original), tested there, at 64 × 64 (fine) and at 16 × 16 (coarse).
    Cifar,
}

/// The error of one training on one set of images at one resolution.
#[derive(Debug, Clone, PartialEq)]
pub struct Measured {
    /// The key of the table's row, as in "cnn-l1", "multiscale-cnn-l2", "nnn-l4", "nkn-r3-l2" or "preresnet20".
    pub row: String,
    /// Pixels per side of the images it was trained on.
    pub trained_at: usize,
    /// Pixels per side of the images it was tested on.
    pub tested_at: usize,
    /// The seed of the training.
    pub seed: u64,
    /// The images: "validation" (held out of the training images) or "official" (the data set's own test images).
    pub set: String,
    /// The share of images that it takes for another class, from 0 to 1.
    pub error_rate: f64,
    /// Epochs of the training.
    pub epochs: usize,
    /// Seconds of the training.
    pub seconds: f64,
    /// Trainable numbers.
    pub parameters: usize,
    /// Whether the training has reached its last epoch.
    pub complete: bool,
}

/// What was spent on each training.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Budget {
    /// In words, as in "15 epochs each, batches of 128, Adam with 1e-3".
    pub words: String,
    /// Whether it is that of a trial.
    pub is_quick: bool,
}

/// A column of a table: where a network was trained and where it was tested, in pixels per side.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Column {
    /// Where it was trained.
    pub trained_at: usize,
    /// Where it was tested.
    pub tested_at: usize,
}

impl Column {
    /// Whether the network was tested at another resolution than that of its training.
    pub fn is_cross(self) -> bool {
        self.trained_at != self.tested_at
    }

    /// The column of the same training, tested at its own resolution.
    pub fn at_home(self) -> Self {
        Self { tested_at: self.trained_at, ..self }
    }
}

impl Task {
    /// Its name in files.
    pub fn key(self) -> &'static str {
        match self {
            Self::Mnist => "mnist",
            Self::Cifar => "cifar",
        }
    }

    /// Its name for readers.
    pub fn title(self) -> &'static str {
        match self {
            Self::Mnist => "MNIST",
            Self::Cifar => "CIFAR-10",
        }
    }

    /// The set of images that the paper tests on.
    pub fn paper_set(self) -> &'static str {
        match self {
            Self::Mnist => "validation",
            Self::Cifar => "official",
        }
    }

    /// What the paper calls images of this size; none if it has none.
    pub fn size(self, side: usize) -> Option<&'static str> {
        match (self, side) {
            (Self::Mnist, 28) | (Self::Cifar, 64) => Some("fine"),
            (Self::Mnist, 14) | (Self::Cifar, 16) => Some("coarse"),
            (Self::Cifar, 32) => Some("original"),
            _ => None,
        }
    }

    /// The same in short text, as in "fine" or "56 × 56".
    pub fn size_name(self, side: usize) -> String {
        self.size(side).map_or_else(|| format!("{side} × {side}"), str::to_owned)
    }
}

/// Numbers that look like those of a run that has not finished.
#[cfg(test)]
mod tests {
    use super::*;

    /// One measurement; 10 epochs, finished.
    pub fn measured(row: &str, (trained_at, tested_at): (usize, usize), seed: u64, error_rate: f64) -> Measured {
        Measured {
            row: row.into(),
            trained_at,
            tested_at,
            seed,
            set: "validation".into(),
            error_rate,
            epochs: 10,
            seconds: 60.0,
            parameters: 12_345,
            complete: true,
        }
    }

    /// MNIST: a CNN that wins at its own resolution and guesses at the other, an NKN with two seeds that wins there, an NKN
    /// that was stopped, official images, and a row that the paper does not have.
    pub fn example() -> Vec<Measured> {
        vec![
            measured("nkn-r9-l7", (28, 28), 0, 0.05),
            measured("nkn-r3-l2", (28, 28), 0, 0.03),
            measured("nkn-r3-l2", (28, 28), 1, 0.04),
            measured("nkn-r3-l2", (28, 14), 0, 0.045),
            measured("nkn-r3-l2", (28, 14), 1, 0.08),
            measured("cnn-l1", (28, 28), 0, 0.02),
            measured("cnn-l1", (28, 14), 0, 0.9),
            Measured { complete: false, epochs: 4, ..measured("nkn-r4-l1", (14, 14), 0, 0.06) },
            Measured { set: "official".into(), ..measured("nkn-r3-l2", (28, 28), 0, 0.031) },
        ]
    }

    #[test]
    fn sizes_have_the_papers_names() {
        assert_eq!(Task::Mnist.size_name(28), "fine");
        assert_eq!([16, 32, 64].map(|side| Task::Cifar.size_name(side)), ["coarse", "original", "fine"]);
        assert_eq!(Task::Mnist.size_name(56), "56 × 56");
        let cross = Column { trained_at: 28, tested_at: 14 };
        assert!(cross.is_cross() && !cross.at_home().is_cross());
    }
}
