//! A model that was written in another format, as lines for people.

use std::collections::BTreeMap;

use record::Quantisation;

use crate::layout::labelled;
use crate::units::{bytes, plural, seconds, whole_percent};

const LABELS: usize = 9;

/// What was written, and what became of the tensors.
pub fn text(quantisation: &Quantisation) -> String {
    let line = |label: &str, sentence: String| labelled(label, LABELS, &sentence);
    let mut text = line("written", written(quantisation)) + &line("tensors", formats(quantisation));
    if let Some(sentence) = fallbacks(quantisation) {
        text.push_str(&line("fallbacks", sentence));
    }
    text + &line("time", format!("{} on {}", seconds(quantisation.duration_s), plural(quantisation.threads, "thread")))
}

fn written(quantisation: &Quantisation) -> String {
    let Quantisation { target, file_bytes, tensor_bytes, source_bytes, .. } = quantisation;
    let share = whole_percent(*tensor_bytes as f64 / (*source_bytes).max(1) as f64);
    format!("{target}, {}; the tensors have {share} of their former size", bytes(*file_bytes))
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

/// What has another format than was meant for it, by the lengths of rows.
fn fallbacks(quantisation: &Quantisation) -> Option<String> {
    let mut rows: BTreeMap<(u64, &str), u64> = BTreeMap::new();
    for tensor in quantisation.tensors.iter().filter(|tensor| tensor.fallback) {
        *rows.entry((tensor.shape.first().copied().unwrap_or(0), &tensor.to)).or_default() += 1;
    }
    let each = |((row, format), count): (&(u64, &str), &u64)| {
        format!("{} with rows of {row} as {format}", plural(*count, "tensor"))
    };
    let all: Vec<String> = rows.iter().map(each).collect();
    (!all.is_empty()).then(|| format!("{}, since they are no whole blocks of the format asked for", all.join(", ")))
}

#[cfg(test)]
mod tests {
    use record::{QUANTISATION_SCHEMA, QUANTISATION_VERSION, QuantisedTensor, Tool};

    use super::*;

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
    fn it_reads_well() {
        let expected = "  written    out.gguf, 2 KiB; the tensors have 25 % of their former size\n  \
                          tensors    2 q4_k, 1 f32\n  \
                          time       1.50 s on 2 threads\n";
        assert_eq!(text(&quantisation(false)), expected);
    }

    #[test]
    fn fallbacks_are_told() {
        let text = text(&quantisation(true));
        assert!(
            text.contains("fallbacks  1 tensor with rows of 288 as q5_0, since they are no whole blocks"),
            "{text}"
        );
    }
}
