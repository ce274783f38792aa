//! A model in several files: `model-00001-of-00003.gguf` and so on. The first has the metadata, each has its tensors.

use std::path::{Path, PathBuf};

use super::Shard;
use super::read::Header;
use crate::{Error, Metadata, Result};

const NUMBER: &str = "split.no";
const COUNT: &str = "split.count";
const TENSORS: &str = "split.tensors.count";

/// All files of one model.
pub(super) struct Shards {
    folder: PathBuf,
    /// What stands before `-00001-of-00003.gguf`.
    stem: String,
    count: usize,
}

/// The shards that this file is one of, by its metadata and its name; nothing where it is whole.
pub(super) fn of(path: &Path, metadata: &Metadata) -> Result<Option<Shards>> {
    let Some(count) = metadata.count(COUNT)?.filter(|count| *count > 1) else { return Ok(None) };
    let number = metadata.count(NUMBER)?.unwrap_or(0);
    if number >= count || u16::try_from(count).is_err() {
        return Err(Error::malformed(format!("keys {NUMBER}, {COUNT}: no shard {number} of {count}")));
    }
    let ending = ending(number, count);
    let stem = path.file_name().and_then(|name| name.to_str()).and_then(|name| name.strip_suffix(&ending));
    let stem = stem.ok_or_else(|| {
        let message = format!("one of {count} shards; to find the others, its name must end with `{ending}`");
        Error::refused(message)
    })?;
    Ok(Some(Shards { folder: path.parent().unwrap_or(Path::new("")).to_owned(), stem: stem.to_owned(), count }))
}

fn ending(number: usize, count: usize) -> String {
    format!("-{:05}-of-{count:05}.gguf", number + 1)
}

impl Shards {
    /// Opens all, and checks that they belong together.
    pub(super) fn open(&self) -> Result<Vec<(Shard, Header)>> {
        let mut parts: Vec<(Shard, Header)> = Vec::new();
        for number in 0..self.count {
            let path = self.folder.join(format!("{}{}", self.stem, ending(number, self.count)));
            let missing = |error: Error| error.about(format!("shard {} of {}", number + 1, self.count));
            let (part, header) = Shard::open(&path).map_err(missing)?;
            self.check(number, &header.metadata).map_err(|error| error.in_file(&path))?;
            parts.push((part, header));
        }
        if let Some((part, header)) = parts.first_mut() {
            let path = part.path.clone().unwrap_or_default();
            let told = header.metadata.count(TENSORS).map_err(|error| error.in_file(&path))?;
            for key in [NUMBER, COUNT, TENSORS] {
                header.metadata.remove(key);
            }
            let found = parts.iter().map(|(_, header)| header.tensors.len()).sum::<usize>();
            if told.is_some_and(|told| told != found) {
                let message =
                    format!("key {TENSORS}: {} tensors, but all shards together have {found}", told.unwrap_or(0));
                return Err(Error::malformed(message).in_file(&path));
            }
        }
        Ok(parts)
    }

    fn check(&self, number: usize, metadata: &Metadata) -> Result<()> {
        let (told, count) = (metadata.count(NUMBER)?, metadata.count(COUNT)?);
        if told == Some(number) && count == Some(self.count) {
            return Ok(());
        }
        let show = |value: Option<usize>| value.map_or("none".to_owned(), |value| value.to_string());
        Err(Error::malformed(format!(
            "keys {NUMBER}, {COUNT}: {} and {}, expected {number} and {}; the file belongs to another model",
            show(told),
            show(count),
            self.count
        )))
    }
}
