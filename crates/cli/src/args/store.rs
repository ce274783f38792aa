//! The option that says where runs are stored.

use std::path::PathBuf;

use clap::Args;

/// Where runs are stored, for every command that saves or reads some.
#[derive(Debug, Clone, PartialEq, Default, Args)]
pub struct StoreOptions {
    /// Folder of the runs [default: $HOTLOOP_STORE, else the user's data folder]
    #[arg(long, value_name = "DIR")]
    pub store: Option<PathBuf>,
}

impl StoreOptions {
    /// Opens the store. No folder is created before something is saved.
    ///
    /// # Errors
    /// If no folder was given and the default one is unknown.
    pub fn open(&self) -> store::Result<store::Store> {
        let path = self.store.clone().map_or_else(store::default_path, Ok)?;
        Ok(store::Store::open(path))
    }
}
