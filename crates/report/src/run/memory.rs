//! Where the memory went, by purpose.

use record::{Memory, MemoryPart};

use super::view::View;
use crate::document::{Block, Section, Table, not_measured, quoted};
use crate::units::{bytes, mean_bytes, percent, share, sum_of};

pub(super) fn sections(view: &View<'_>) -> Vec<Section> {
    view.run.memory.iter().map(|memory| section(view, memory)).collect()
}

fn section(view: &View<'_>, memory: &Memory) -> Section {
    let mut table = Table::new(&["purpose", "bytes", "share", "live at peak", "where"]).with_words_last();
    let total = sum_of(memory.parts.iter().map(|part| part.bytes));
    let is_known = memory.parts.iter().any(|part| part.at_peak_bytes.is_some());
    for part in &memory.parts {
        table.row(cells(part, total, is_known));
    }
    let at_peak: Option<Vec<u64>> = memory.parts.iter().map(|part| part.at_peak_bytes).collect();
    let peak =
        at_peak.filter(|parts| !parts.is_empty()).map_or_else(String::new, |parts| bytes(sum_of(parts.into_iter())));
    table.row(["= all".to_owned(), bytes(total), String::new(), peak]);
    let mapped = match memory.parts.iter().any(|part| part.mapped) {
        true => "; mapped memory can be reclaimed by the system",
        false => "",
    };
    let of = if memory.model.is_empty() { String::new() } else { format!("of {}, ", quoted(&memory.model)) };
    Section::new("MEMORY", &format!("{of}by purpose{mapped}")).with(Block::Table(table)).with_facts([
        ("KV cache per token", cache(memory)),
        ("peak live bytes", Some(peak_live(memory))),
        ("peak memory (RSS)", Some(peak_rss(view))),
    ])
}

/// The column of the peak is left out where nobody knows it.
fn cells(part: &MemoryPart, total: u64, is_peak_known: bool) -> Vec<String> {
    let purpose = match part.purpose.as_str() {
        "other" => "tokenizer, metadata, other".to_owned(),
        "kv_cache" => "KV cache".to_owned(),
        purpose => purpose.replace('_', " "),
    };
    if part.bytes == 0 {
        // Only training has them; a zero alone would look like a gap.
        let is_of_training = ["gradients", "optimiser"].contains(&part.purpose.as_str());
        return vec![purpose, if is_of_training { "none (training only)" } else { "none" }.to_owned()];
    }
    vec![
        purpose,
        bytes(part.bytes),
        share(part.bytes, total).map_or_else(String::new, percent),
        part.at_peak_bytes.map_or_else(|| if is_peak_known { not_measured() } else { String::new() }, bytes),
        if part.mapped { "mapped from a file" } else { "" }.to_owned(),
    ]
}

/// As it follows from the model's sizes, and as it was found; nothing where the work has no cache.
fn cache(memory: &Memory) -> Option<String> {
    let is_known = memory.cache_per_token_formula.or(memory.cache_per_token_measured).is_some();
    if !is_known && memory.parts.iter().all(|part| part.purpose != "kv_cache") {
        return None;
    }
    let formula = memory.cache_per_token_formula.map_or_else(|| "unknown".to_owned(), mean_bytes);
    let measured = memory.cache_per_token_measured.map_or_else(not_measured, mean_bytes);
    Some(format!("expected {formula}, measured {measured}"))
}

fn peak_live(memory: &Memory) -> String {
    let Some(peak) = memory.peak_live_bytes else { return not_measured() };
    format!("{}{}", bytes(peak), memory.peak_during.as_deref().map_or(String::new(), during))
}

/// When that was, behind a comma. Some runs have a clause where later ones have a noun.
fn during(what: &str) -> String {
    let first = what.split(' ').next().unwrap_or_default();
    match first {
        "" => String::new(),
        "while" => format!(", {what}"),
        doing if doing.ends_with("ing") => format!(", while {what}"),
        _ => format!(", during {what}"),
    }
}

fn peak_rss(view: &View<'_>) -> String {
    view.run.process.as_ref().and_then(|process| process.peak_rss_bytes).map_or_else(not_measured, bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn when_the_peak_was_is_a_sentence() {
        let cases = [
            ("making the model", ", while making the model"),
            ("generating", ", while generating"),
            ("decode", ", during decode"),
            ("while the model was made", ", while the model was made"),
            ("", ""),
        ];
        for (what, sentence) in cases {
            assert_eq!(during(what), sentence);
        }
    }
}
