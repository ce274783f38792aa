//! Which files make up a model.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde_json::Value as Json;

use super::SideFiles;
use crate::error::Escaped;
use crate::mapping::Mapping;
use crate::{Error, Result};

const WEIGHTS: &str = "model.safetensors";
const INDEX: &str = "model.safetensors.index.json";
const CONFIG: &str = "config.json";

/// The files of a model.
pub(super) struct Files {
    pub(super) weights: Vec<PathBuf>,
    pub(super) config: PathBuf,
}

/// Whether a folder looks like a model of Hugging Face.
pub(crate) fn is_model_folder(folder: &Path) -> bool {
    folder.join(CONFIG).is_file() && [WEIGHTS, INDEX].iter().any(|name| folder.join(name).is_file())
}

/// Finds the others from one: the folder, the list of shards, or a file of weights.
pub(super) fn find(path: &Path) -> Result<Files> {
    let folder = if path.is_dir() { path } else { path.parent().unwrap_or(Path::new("")) };
    let config = folder.join(CONFIG);
    if !config.is_file() {
        let message = format!("no {CONFIG} next to it, which describes the model");
        return Err(Error::refused(message).in_file(path));
    }
    let is_list = path.is_file() && Mapping::open(path)?.first() == Some(&b'{');
    let index = if is_list { path.to_owned() } else { folder.join(INDEX) };
    let one = if path.is_dir() { folder.join(WEIGHTS) } else { path.to_owned() };
    let shards = if index.is_file() { shards(&index)? } else { BTreeSet::new() };
    // A file that the list does not know is whole by itself.
    let named = one.file_name().and_then(|name| name.to_str()).is_some_and(|name| shards.contains(name));
    let whole = shards.is_empty() || (one != index && !named && one.is_file());
    let weights = if whole { vec![one] } else { shards.iter().map(|name| folder.join(name)).collect() };
    Ok(Files { weights, config })
}

/// The names of the files in a list of shards.
fn shards(index: &Path) -> Result<BTreeSet<String>> {
    let wrong = |message: String| Error::malformed(message).in_file(index);
    let json: Json =
        serde_json::from_slice(&Mapping::open(index)?).map_err(|error| wrong(format!("not JSON: {error}")))?;
    let map = json.get("weight_map").and_then(Json::as_object);
    let map = map.ok_or_else(|| wrong("no `weight_map`, which assigns tensors to files".to_owned()))?;
    let mut names = BTreeSet::new();
    for (tensor, name) in map {
        let name = name.as_str().filter(|name| !name.contains(['/', '\\', '\0']) && !["", ".", ".."].contains(name));
        let name = name.ok_or_else(|| wrong(format!("tensor {}: not in any file of this folder", Escaped(tensor))))?;
        names.insert(name.to_owned());
    }
    if names.is_empty() { Err(wrong("no tensors listed".to_owned())) } else { Ok(names) }
}

impl Files {
    /// Reads the texts beside the weights.
    pub(super) fn beside(&self) -> Result<SideFiles> {
        let optional = |name: &str| {
            let path = self.config.with_file_name(name);
            if path.is_file() { read(&path).map(Some) } else { Ok(None) }
        };
        Ok(SideFiles {
            config: read(&self.config)?,
            tokenizer: optional("tokenizer.json")?,
            tokenizer_config: optional("tokenizer_config.json")?,
        })
    }
}

fn read(path: &Path) -> Result<Vec<u8>> {
    std::fs::read(path).map_err(|error| Error::io(path, &error))
}
