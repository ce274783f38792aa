//! The paths of a store.

use std::path::{Path, PathBuf};

use crate::Id;

/// The extension of runs' files.
pub const ENDING: &str = ".json.zst";

/// The folder of a store.
#[derive(Debug, Clone)]
pub struct Files {
    root: PathBuf,
}

impl Files {
    pub fn new(root: PathBuf) -> Self {
        Self { root }
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    pub fn runs(&self) -> PathBuf {
        self.root.join("runs")
    }

    /// The folder of the runs whose ids start with these two digits.
    pub fn folder(&self, digits: &str) -> PathBuf {
        self.runs().join(digits)
    }

    pub fn run(&self, id: &Id) -> PathBuf {
        self.folder(id.folder()).join(format!("{id}{ENDING}"))
    }

    pub fn tags(&self) -> PathBuf {
        self.root.join("tags")
    }

    pub fn temporaries(&self) -> PathBuf {
        self.root.join("tmp")
    }

    /// The index. Its version is in the name, so that two versions of the program do not keep rebuilding it.
    pub fn index(&self) -> PathBuf {
        self.root.join(format!("index-{}.sqlite", crate::index::VERSION))
    }

    pub fn lock(&self) -> PathBuf {
        self.root.join("index.lock")
    }
}

/// The id in the name of a run's file.
pub fn id_of(name: &str) -> Option<Id> {
    Id::parse(name.strip_suffix(ENDING)?)
}
