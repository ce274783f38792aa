//! The option that says where runs are kept.

use std::path::PathBuf;

use clap::Args;

/// Where runs are kept; for every command that keeps or reads some.
#[derive(Debug, Clone, PartialEq, Default, Args)]
pub struct StoreOptions {
    /// The folder, unless it is the usual one.
    #[arg(
        long,
        value_name = "DIR",
        global = true,
        help = "the folder of the runs (default: $HOTLOOP_STORE, or `hotloop` where this system keeps your data)"
    )]
    pub store: Option<PathBuf>,
}

impl StoreOptions {
    /// The store that is meant. Nothing is made before something is saved.
    ///
    /// # Errors
    /// If no folder was named and the usual one is not known.
    pub fn open(&self) -> store::Result<store::Store> {
        let path = self.store.clone().map_or_else(store::default_path, Ok)?;
        Ok(store::Store::open(path))
    }
}
