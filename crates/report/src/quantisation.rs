//! A model that was converted to another format.

use std::collections::BTreeMap;

use record::Quantisation;

use crate::document::{Document, Section};
use crate::units::{bytes, plural, seconds, whole_percent};

/// What was written, and what became of the tensors.
#[must_use]
pub fn document(quantisation: &Quantisation) -> Document {
    let time = format!("{} on {}", seconds(quantisation.duration_s), plural(quantisation.threads, "thread"));
    Document::untitled(vec![Section::of_facts([
        ("written", Some(written(quantisation))),
        ("tensors", Some(formats(quantisation))),
        ("fallbacks", fallbacks(quantisation)),
        ("time", Some(time)),
    ])])
}

fn written(quantisation: &Quantisation) -> String {
    let Quantisation { target, file_bytes, tensor_bytes, source_bytes, .. } = quantisation;
    let share = whole_percent(*tensor_bytes as f64 / (*source_bytes).max(1) as f64);
    format!("{target}, {}; tensors are {share} of their original size", bytes(*file_bytes))
}

/// How many tensors have which format.
fn formats(quantisation: &Quantisation) -> String {
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    for tensor in &quantisation.tensors {
        *counts.entry(&tensor.to).or_default() += 1;
    }
    let mut counts: Vec<(&str, u64)> = counts.into_iter().collect();
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let each: Vec<String> = counts.into_iter().map(|(format, count)| format!("{count} {format}")).collect();
    each.join(", ")
}

/// Tensors that could not have the requested format, by the lengths of their rows.
fn fallbacks(quantisation: &Quantisation) -> Option<String> {
    let mut rows: BTreeMap<(u64, &str), u64> = BTreeMap::new();
    for tensor in quantisation.tensors.iter().filter(|tensor| tensor.fallback) {
        *rows.entry((tensor.shape.first().copied().unwrap_or(0), &tensor.to)).or_default() += 1;
    }
    let each = |((row, format), count): (&(u64, &str), &u64)| {
        format!("{} with rows of {row} as {format}", plural(*count, "tensor"))
    };
    let all: Vec<String> = rows.iter().map(each).collect();
    (!all.is_empty()).then(|| format!("{} (row length is not a multiple of the block size)", all.join(", ")))
}

#[cfg(test)]
mod tests {
    use record::{QUANTISATION_SCHEMA, QUANTISATION_VERSION, QuantisedTensor, Tool};

    use super::*;
    use crate::document::Page;

    fn quantisation(fallback: bool) -> Quantisation {
        let tensor = |name: &str, row: u64, to: &str, fallback: bool| QuantisedTensor {
            name: name.to_owned(),
            shape: vec![row, 4],
            from: "f32".to_owned(),
            to: to.to_owned(),
            fallback,
        };
        Quantisation {
            schema: QUANTISATION_SCHEMA.to_owned(),
            version: QUANTISATION_VERSION,
            tool: Tool { name: "hotloop".to_owned(), version: "1".to_owned() },
            source: "in.gguf".to_owned(),
            target: "out.gguf".to_owned(),
            format: "q4_k".to_owned(),
            threads: 2,
            duration_s: 1.5,
            source_bytes: 4000,
            tensor_bytes: 1000,
            file_bytes: 2048,
            tensors: vec![
                tensor("a", 256, "q4_k", false),
                tensor("b", 288, if fallback { "q5_0" } else { "q4_k" }, fallback),
                tensor("c", 8, "f32", false),
            ],
        }
    }

    #[test]
    fn facts_are_aligned() {
        let expected = "written  out.gguf, 2 KiB; tensors are 25 % of their original size\n\
                        tensors  2 q4_k, 1 f32\n\
                        time     1.50 s on 2 threads\n";
        assert_eq!(document(&quantisation(false)).terminal(Page::default()), expected);
    }

    #[test]
    fn fallbacks_are_named() {
        let text = document(&quantisation(true)).terminal(Page::default());
        assert!(
            text.contains(
                "fallbacks  1 tensor with rows of 288 as q5_0 (row length is not a multiple of the block size)"
            ),
            "{text}"
        );
    }
}
