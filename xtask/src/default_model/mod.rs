//! The bundled model: a corpus of stories that are made here, and a model that `hotloop train` makes from it.

mod corpus;
mod stories;

use std::path::Path;

/// Where everything goes that is not committed.
const FOLDER: &str = "target/default-model";

/// Writes the corpus alone.
pub fn write_corpus(root: &Path) -> Result<(), String> {
    corpus::write(&root.join(FOLDER))
}
