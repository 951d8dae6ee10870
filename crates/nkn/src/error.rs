//! The library's one error type: every variant says what is wrong, where, what was expected and what to do.

use std::path::{Path, PathBuf};

/// The result of everything in this library that can fail.
pub type Result<T> = std::result::Result<T, Error>;

/// What went wrong.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A setting or an argument that cannot be used.
    #[error("{what}: expected {expected}, got {got}\n  hint: {hint}")]
    Invalid {
        /// The setting, by the name under which the user knows it.
        what: String,
        /// What would have been right.
        expected: String,
        /// What was there.
        got: String,
        /// What to do.
        hint: String,
    },
    /// A file whose content is not what it should be.
    #[error("{}: {problem}\n  hint: {hint}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What is wrong in it, and where.
        problem: String,
        /// What to do.
        hint: String,
    },
    /// The operating system refused something.
    #[error("{}: could not {action}: {answer}\n  hint: {}", path.display(), io_hint(answer))]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What was tried.
        action: &'static str,
        /// The system's answer; part of the message, and so not its `source`, which would be printed a second time.
        answer: std::io::Error,
    },
    /// A NaN or an infinity.
    #[error("{what} is not finite ({got}) {place}\n  hint: {hint}")]
    NotFinite {
        /// The quantity: data, loss, gradient.
        what: String,
        /// The value.
        got: f64,
        /// Where it appeared: file and index, or depth and epoch.
        place: String,
        /// What to do.
        hint: String,
    },
    /// It was asked to stop before it was done.
    #[error("stopped before the end, as was asked")]
    Stopped,
    /// Something that a caller's own function answered.
    #[error(transparent)]
    Foreign(Box<dyn std::error::Error + Send + Sync>),
}

/// Returns an error from the function around it unless a condition holds. The error is made only then.
macro_rules! ensure {
    ($condition:expr, $error:expr) => {
        let holds: bool = $condition;
        if !holds {
            return Err($error);
        }
    };
}
pub(crate) use ensure;

impl Error {
    /// A setting that cannot be used.
    pub fn invalid(
        what: impl Into<String>,
        expected: impl Into<String>,
        got: impl ToString,
        hint: impl Into<String>,
    ) -> Self {
        Self::Invalid { what: what.into(), expected: expected.into(), got: got.to_string(), hint: hint.into() }
    }

    /// A number that is a NaN or an infinity.
    pub fn not_finite(what: impl Into<String>, got: f64, place: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::NotFinite { what: what.into(), got, place: place.into(), hint: hint.into() }
    }

    /// The same, and whose setting it is where that would not be clear: "the test samples: components of …".
    pub(crate) fn of(mut self, whose: &str) -> Self {
        if let Self::Invalid { what, .. } = &mut self {
            *what = format!("{whose}: {what}");
        }
        self
    }

    /// A file with the wrong content.
    pub fn file(path: &Path, problem: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::File { path: path.to_owned(), problem: problem.into(), hint: hint.into() }
    }

    /// Wraps an error of the operating system; use as `.map_err(Error::io(path, "read"))`.
    pub fn io(path: &Path, action: &'static str) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.to_owned();
        move |answer| Self::Io { path, action, answer }
    }
}

/// What to do about an operating system's error.
fn io_hint(answer: &std::io::Error) -> &'static str {
    use std::io::ErrorKind;
    match answer.kind() {
        ErrorKind::NotFound => "check the spelling of the path",
        ErrorKind::PermissionDenied => "check the permissions, or choose another place",
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
            "the disk is full: free some space and run the same command again; what was written before is untouched"
        }
        ErrorKind::AlreadyExists => "choose another name",
        ErrorKind::IsADirectory => "give a file, not a folder",
        _ => "check the disk and the path, then run the same command again",
    }
}
