//! Which file is where.

use std::path::{Path, PathBuf};

use crate::Id;

/// What the names of runs' files end with.
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

    /// The folder of the runs whose ids begin with these two digits.
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

    /// The index. Its version is in the name, so that programs of two versions do not make it again in turn.
    pub fn index(&self) -> PathBuf {
        self.root.join(format!("index-{}.sqlite", crate::index::VERSION))
    }

    pub fn lock(&self) -> PathBuf {
        self.root.join("index.lock")
    }
}

/// The id that a file's name has, if it is one of a run.
pub fn id_of(name: &str) -> Option<Id> {
    Id::parse(name.strip_suffix(ENDING)?)
}
