//! Texts that are always one token, found in a text from left to right, the longest first.

use super::vocabulary::{Kind, Vocabulary};

/// The texts in the order of their bytes, so that those with the same beginning are neighbours.
#[derive(Debug)]
pub(super) struct Special {
    ids: Vec<u32>,
    /// Which bytes begin one.
    begins: Box<[bool; 256]>,
}

/// A part of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TextPart<'t> {
    Text(&'t str),
    Token(u32),
}

impl Special {
    /// The tokens of these kinds. Of several with the same text the first counts; those without text never do.
    pub(super) fn new(vocabulary: &Vocabulary, kinds: &[Kind]) -> Self {
        let bytes = |id: &u32| vocabulary.get(*id).unwrap_or_default();
        let mut ids: Vec<u32> = kinds.iter().flat_map(|kind| vocabulary.of_kind(*kind)).collect();
        // Tokens that are no whole characters would cut a text inside of one.
        ids.retain(|id| !bytes(id).is_empty() && std::str::from_utf8(bytes(id)).is_ok());
        ids.sort_unstable_by(|a, b| bytes(a).cmp(bytes(b)).then(a.cmp(b)));
        ids.dedup_by(|later, earlier| bytes(later) == bytes(earlier));
        let mut begins = Box::new([false; 256]);
        for id in &ids {
            begins[usize::from(bytes(id)[0])] = true;
        }
        Self { ids, begins }
    }

    /// The tokens.
    pub(super) fn ids(&self) -> &[u32] {
        &self.ids
    }

    /// Cuts a text at the special ones in it.
    pub(super) fn parts<'t>(&self, vocabulary: &Vocabulary, text: &'t str, mut part: impl FnMut(TextPart<'t>)) {
        let (mut start, mut at) = (0, 0);
        while at < text.len() {
            let rest = &text.as_bytes()[at..];
            if !self.begins[usize::from(rest[0])] {
                at += 1;
                continue;
            }
            let Some((id, length)) = self.longest(vocabulary, rest) else {
                at += 1;
                continue;
            };
            if start < at {
                part(TextPart::Text(&text[start..at]));
            }
            part(TextPart::Token(id));
            at += length;
            start = at;
        }
        if start < text.len() {
            part(TextPart::Text(&text[start..]));
        }
    }

    /// The longest one that `text` begins with. With every byte the neighbours that still fit become fewer.
    fn longest(&self, vocabulary: &Vocabulary, text: &[u8]) -> Option<(u32, usize)> {
        let byte = |id: &u32, depth: usize| vocabulary.get(*id).and_then(|bytes| bytes.get(depth)).copied();
        let (mut fitting, mut best) = (self.ids.as_slice(), None);
        for (depth, next) in text.iter().enumerate() {
            // None, a text that ends here, comes before all bytes.
            let from = fitting.partition_point(|id| byte(id, depth) < Some(*next));
            let to = fitting.partition_point(|id| byte(id, depth) <= Some(*next));
            fitting = &fitting[from..to];
            let Some(&first) = fitting.first() else { break };
            if vocabulary.get(first).map(<[u8]>::len) == Some(depth + 1) {
                best = Some((first, depth + 1));
            }
            if fitting.len() == 1 && best.is_some_and(|(id, _)| id == first) {
                break;
            }
        }
        best
    }
}
