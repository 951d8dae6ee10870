//! The folder in which files are fetched and unpacked.

use crate::{Error, Result};
use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};

/// The name in the target folder: inside it, so that a file is moved into place by a rename on one disk.
const NAME: &str = ".nkn-fetch";

/// A folder inside the target folder that goes when this goes, with everything in it, and with the folders that were
/// made for it.
pub(super) struct Workspace {
    path: PathBuf,
    /// The folders that were made here, innermost first.
    made: Vec<PathBuf>,
    /// Held, so that two runs do not work in one folder; the system releases it even after a kill.
    _lock: Option<File>,
}

impl Workspace {
    /// Makes the target folder if it is not there, and the workspace in it; removes what a killed run has left.
    pub(super) fn new(folder: &Path) -> Result<Self> {
        let absolute = std::path::absolute(folder).map_err(Error::io(folder, "find"))?;
        let made = absolute.ancestors().take_while(|folder| !folder.exists()).map(Path::to_owned).collect();
        // From here on a failure removes what was made.
        let mut workspace = Self { path: absolute.join(NAME), made, _lock: None };
        fs::create_dir_all(&absolute).map_err(Error::io(folder, "make the folder"))?;
        workspace._lock = lock(folder)?;
        workspace.clear().map_err(Error::io(&workspace.path, "remove"))?;
        fs::create_dir(&workspace.path).map_err(Error::io(&workspace.path, "make the folder"))?;
        Ok(workspace)
    }

    /// Where it is, an absolute path.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The bytes in it by now.
    pub(super) fn bytes(&self) -> u64 {
        bytes(&self.path)
    }

    /// Lets the target folder stay.
    pub(super) fn keep_folder(mut self) {
        self.made.clear();
    }

    fn clear(&self) -> std::io::Result<()> {
        match fs::remove_dir_all(&self.path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }
}

impl Drop for Workspace {
    fn drop(&mut self) {
        // Where another run holds the folder, its workspace is not ours to remove.
        if self._lock.is_some() {
            let _ = self.clear();
        }
        for folder in &self.made {
            // Refused when something else is in it, as it should be.
            if fs::remove_dir(folder).is_err() {
                break;
            }
        }
    }
}

fn lock(folder: &Path) -> Result<Option<File>> {
    let file = File::open(folder).map_err(Error::io(folder, "open"))?;
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => {
            let problem = "another run is fetching files into this folder";
            Err(Error::file(folder, problem, "wait until it has finished, then run the same command again"))
        }
        // Some file systems cannot lock; then it is up to the user not to start two runs.
        _ => Ok(Some(file)),
    }
}

fn bytes(folder: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(folder) else { return 0 };
    let size = |entry: fs::DirEntry| match entry.metadata() {
        Ok(data) if data.is_dir() => bytes(&entry.path()),
        Ok(data) => data.len(),
        Err(_) => 0,
    };
    entries.filter_map(std::result::Result::ok).map(size).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_made_here_goes_with_it() {
        let outer = tempfile::tempdir().unwrap();
        let folder = outer.path().join("a/b");
        let workspace = Workspace::new(&folder).unwrap();
        fs::write(workspace.path().join("half"), [0; 10]).unwrap();
        fs::create_dir(workspace.path().join("cache")).unwrap();
        fs::write(workspace.path().join("cache/more"), [0; 7]).unwrap();
        assert_eq!(workspace.bytes(), 17);
        drop(workspace);
        assert_eq!(fs::read_dir(outer.path()).unwrap().count(), 0);
    }

    #[test]
    fn what_was_there_or_is_kept_stays() {
        let outer = tempfile::tempdir().unwrap();
        drop(Workspace::new(outer.path()).unwrap());
        assert!(outer.path().exists());
        let folder = outer.path().join("a/b");
        Workspace::new(&folder).unwrap().keep_folder();
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
        drop(Workspace::new(&folder.join("c")).unwrap());
        assert!(folder.exists() && !folder.join("c").exists());
    }

    #[test]
    fn a_killed_run_is_cleared_and_a_running_one_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join(NAME)).unwrap();
        fs::write(folder.path().join(NAME).join("half"), [0; 10]).unwrap();
        let first = Workspace::new(folder.path()).unwrap();
        assert_eq!(first.bytes(), 0);
        let message = Workspace::new(folder.path()).err().unwrap().to_string();
        assert!(message.contains("another run is fetching"), "{message}");
        assert!(first.path().exists());
    }

    #[test]
    fn a_file_in_the_way_is_an_error() {
        let outer = tempfile::tempdir().unwrap();
        let file = outer.path().join("file");
        fs::write(&file, b"mine").unwrap();
        for folder in [file.clone(), file.join("inside")] {
            let message = Workspace::new(&folder).err().unwrap().to_string();
            assert!(message.contains("could not make the folder"), "{message}");
        }
        assert_eq!(fs::read(&file).unwrap(), b"mine");
    }
}
