//! A set of images from a folder.

use super::table::{Layout, Table};
use super::{ImageSet, Images, read_cifar, read_idx};
use crate::{Error, Result};
use std::path::{Path, PathBuf};

/// A set in its official parts.
#[derive(Clone, Debug)]
pub struct ImageData {
    /// The official training images: 60,000, of CIFAR-10 50,000.
    pub training: Images,
    /// The official 10,000 test images.
    pub testing: Images,
}

/// Reads a set from a folder that holds its official files: idx, plain or as .gz; of CIFAR-10 the binary version, in
/// the folder cifar-10-batches-bin or without it.
///
/// Sizes and labels are checked here, SHA-256 in [`prepare`](super::prepare).
pub fn load(set: ImageSet, folder: &Path) -> Result<ImageData> {
    let table = set.table();
    let paths = find_all(set, table, folder)?;
    match (table.layout, paths.as_slice()) {
        (Layout::Idx, [training_images, training_labels, test_images, test_labels]) => Ok(ImageData {
            training: read_idx(training_images, training_labels)?,
            testing: read_idx(test_images, test_labels)?,
        }),
        (_, paths) => {
            let (training, testing) = paths.split_at(paths.len().saturating_sub(1));
            Ok(ImageData { training: read_cifar(training)?, testing: read_cifar(testing)? })
        }
    }
}

fn find_all(set: ImageSet, table: &Table, folder: &Path) -> Result<Vec<PathBuf>> {
    let (found, missing) = table.look(folder);
    if missing.is_empty() {
        return Ok(found.into_iter().map(|(_, path)| path).collect());
    }
    let missing: Vec<&str> = missing.iter().map(|entry| entry.name).collect();
    let problem = format!("holds no {} ({})", missing.join(", no "), table.title);
    let hint = format!("`nkn data {} --dir {}` fetches what is missing", set.name(), folder.display());
    Err(Error::file(folder, problem, hint))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn write_idx(folder: &Path, part: &str, count: u8) {
        let sizes = [2051, u32::from(count), 1, 1].map(u32::to_be_bytes).concat();
        let images = [sizes, (0..count).collect()].concat();
        let labels = [vec![0, 0, 8, 1, 0, 0, 0, count], vec![3; count.into()]].concat();
        fs::write(folder.join(format!("{part}-images-idx3-ubyte")), images).unwrap();
        fs::write(folder.join(format!("{part}-labels-idx1-ubyte")), labels).unwrap();
    }

    #[test]
    fn idx_files_are_found_under_their_usual_names() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        write_idx(folder.path(), "train", 5);
        write_idx(folder.path(), "t10k", 2);
        fs::rename(path("train-images-idx3-ubyte"), path("train-images.idx3-ubyte")).unwrap();
        fs::rename(path("t10k-labels-idx1-ubyte"), path("t10k-labels-idx1-ubyte.gz")).unwrap();
        for set in [ImageSet::Mnist, ImageSet::FashionMnist] {
            let data = load(set, folder.path()).unwrap();
            assert_eq!((data.training.count, data.testing.count), (5, 2));
        }
    }

    #[test]
    fn cifar_is_found_in_its_folder() {
        let folder = tempfile::tempdir().unwrap();
        let inside = folder.path().join("cifar-10-batches-bin");
        fs::create_dir(&inside).unwrap();
        for entry in ImageSet::Cifar10.table().files {
            let file = fs::File::create(inside.join(entry.name)).unwrap();
            file.set_len(entry.bytes).unwrap();
        }
        let data = load(ImageSet::Cifar10, folder.path()).unwrap();
        assert_eq!((data.training.count, data.testing.count), (50_000, 10_000));
        let table = ImageSet::Cifar10.table();
        let paths = [folder.path(), &inside].map(|path| find_all(ImageSet::Cifar10, table, path).unwrap());
        assert_eq!(paths[0], paths[1]);
    }

    #[test]
    fn missing_files_are_named_with_the_command_that_fetches_them() {
        let folder = tempfile::tempdir().unwrap();
        write_idx(folder.path(), "train", 5);
        let message = load(ImageSet::Mnist, folder.path()).unwrap_err().to_string();
        let expected = "holds no t10k-images-idx3-ubyte, no t10k-labels-idx1-ubyte (MNIST)";
        assert!(message.contains(expected) && message.contains("nkn data mnist --dir"), "{message}");
        let message = load(ImageSet::Cifar10, &folder.path().join("absent")).unwrap_err().to_string();
        assert!(message.contains("data_batch_1.bin") && message.contains("nkn data cifar10"), "{message}");
    }
}
