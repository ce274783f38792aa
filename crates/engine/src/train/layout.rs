//! Where each tensor of a model lies in one flat list of f32.

use std::ops::Range;

use kernels::quant::Format;

use crate::model::{Role, TensorSpec, tensors};
use crate::{Config, Error, Result, TensorInfo};

/// Tensors begin at a cache line: at a multiple of so many values.
const LINE: usize = 16;

/// The tensors of a model in one flat list of f32, by their names and shapes in GGUF.
///
/// Matrices that are multiplied with the same rows lie one directly behind the other (queries, keys
/// and values; gate and up), and their biases too, so that each such group is one matrix. Every
/// group begins at a multiple of 16 values; what lies between is zero and stays so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    entries: Vec<Entry>,
    roles: Vec<Role>,
    len: usize,
}

/// One tensor of a [`Layout`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Its name and shape; its format is f32.
    pub info: TensorInfo,
    /// Its values in the list.
    pub range: Range<usize>,
    /// Whether weight decay makes it smaller: matrices yes, biases and norms no.
    pub decays: bool,
}

impl Layout {
    /// The tensors of a model. Where `tied`, the head is the embedding.
    ///
    /// # Errors
    /// Where the sizes make no sense together, or more numbers than any memory has.
    pub fn new(config: &Config, tied: bool) -> Result<Self> {
        config.check()?;
        let (mut entries, mut roles, mut len) = (Vec::new(), Vec::new(), 0usize);
        for TensorSpec { name, shape, role, joined } in tensors(config, tied) {
            let info = TensorInfo { name, format: Format::F32, shape };
            let values = info.bytes().map_err(|error| error.about(info.shown()))? / size_of::<f32>();
            let start = if joined { Some(len) } else { len.checked_next_multiple_of(LINE) };
            let range = start.and_then(|start| Some(start..start.checked_add(values)?));
            let range = range.ok_or_else(|| Error::refused("the model exceeds any memory"))?;
            len = range.end;
            entries.push(Entry { decays: info.shape.len() > 1, info, range });
            roles.push(role);
        }
        Ok(Self { entries, roles, len: len.next_multiple_of(LINE) })
    }

    /// All tensors, in the order in which they lie in the list and in which a pass meets them.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// How many values the list has, with those between the tensors.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is no tensor: never so.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// How many numbers are learned.
    pub fn parameters(&self) -> usize {
        self.entries.iter().map(|entry| entry.range.len()).sum()
    }

    /// Where a tensor lies; nothing where there is none of that name.
    pub fn range(&self, name: &str) -> Option<Range<usize>> {
        self.entry(name).map(|entry| entry.range.clone())
    }

    /// A tensor by its name.
    pub fn entry(&self, name: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.info.name == name)
    }

    /// Tensors with what they do.
    pub(crate) fn roles(&self) -> impl Iterator<Item = (&Entry, Role)> {
        self.entries.iter().zip(self.roles.iter().copied())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Architecture, Synthetic, SyntheticSource, TensorSource};

    fn config(architecture: Architecture) -> (Config, SyntheticSource) {
        let spec = Synthetic { architecture, width: 6, heads: 3, kv_heads: 3, ffn: 5, vocab: 7, ..Synthetic::SMALL };
        let source = SyntheticSource::new(spec);
        (Config::read(&source).unwrap(), source)
    }

    #[test]
    fn groups_are_one_matrix_and_begin_at_cache_lines() {
        for architecture in Architecture::ALL {
            let (config, source) = config(architecture);
            let layout = Layout::new(&config, false).unwrap();
            let names: Vec<_> = layout.entries().iter().map(|entry| entry.info.name.as_str()).collect();
            assert_eq!(names, source.names());
            let mut end = 0usize;
            for entry in layout.entries() {
                let gated: &[&str] = if architecture.features().is_gated() { &["ffn_up."] } else { &[] };
                let mut behind = ["attn_k.", "attn_v."].iter().chain(gated);
                let joined = behind.any(|part| entry.info.name.contains(part));
                assert_eq!(entry.range.start, if joined { end } else { end.next_multiple_of(16) }, "{entry:?}");
                assert_eq!(entry.range.len(), entry.info.shape.iter().product::<usize>());
                assert_eq!(entry.decays, entry.info.shape.len() == 2);
                assert_eq!(layout.range(&entry.info.name), Some(entry.range.clone()));
                end = entry.range.end;
            }
            assert_eq!(layout.len(), end.next_multiple_of(16));
            assert_eq!(Layout::new(&config, true).unwrap().range("output.weight"), None);
        }
    }

    #[test]
    fn what_no_memory_has_is_refused() {
        let (config, _) = config(Architecture::Llama);
        let huge = Config { vocab: usize::MAX / 8, ..config };
        assert!(Layout::new(&huge, true).is_err());
    }
}
