//! Writing a file so that a reader, or a power cut, finds either the old content or the new.

use crate::{Error, Result};
use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

/// Replaces a file's content by the given bytes; see [`replace_atomically`].
pub fn write_atomically(path: &Path, content: &[u8]) -> Result<()> {
    replace_atomically(path, |mut file| file.write_all(content).map(|()| file))
}

/// Replaces a file's content by what `write` puts into the file it is given (and returns): written beside it, flushed to the
/// disk, renamed over it, and the folder flushed.
///
/// Killed before the rename: the old file is untouched and a `.tmp` file remains, which the next write
/// replaces. Killed after it: the new file is complete. On an error (a full disk, say) the `.tmp` is removed.
pub fn replace_atomically(path: &Path, write: impl FnOnce(File) -> std::io::Result<File>) -> Result<()> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".tmp");
    let beside = path.with_file_name(name);
    let run = || -> std::io::Result<()> {
        write(File::create(&beside)?)?.sync_all()?;
        fs::rename(&beside, path)?;
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        // Some file systems cannot open a folder for flushing; the rename has happened all the same.
        if let Ok(folder) = File::open(folder) {
            let _ = folder.sync_all();
        }
        Ok(())
    };
    run().map_err(|error| {
        let _ = fs::remove_file(&beside);
        Error::io(path, "write")(error)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replaces_and_leaves_nothing_behind() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        write_atomically(&path, b"one").unwrap();
        write_atomically(&path, b"two").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"two");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_full_disk_keeps_the_old_content() {
        // The kernel's own full device stands for a full disk: writing to it fails with "no space left".
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("model");
        fs::write(&path, b"old").unwrap();
        std::os::unix::fs::symlink("/dev/full", folder.path().join("model.tmp")).unwrap();
        let message = write_atomically(&path, &[0; 1 << 16]).unwrap_err().to_string();
        assert!(message.contains("model") && message.contains("disk is full"), "{message}");
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert!(!folder.path().join("model.tmp").exists());
    }
}
