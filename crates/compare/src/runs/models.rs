//! Compares the speed and memory of the models of both runs.

use record::{ModelChange, Row, Sample, StoredModel};

use super::rows::RunView;
use crate::median;

/// Every model of both runs, in the order in which they come.
pub(super) fn models(base: &RunView<'_>, candidate: &RunView<'_>) -> Vec<ModelChange> {
    let mut names: Vec<&str> = Vec::new();
    for view in [base, candidate] {
        let told = view.run.models.iter().map(|model| model.name.as_str());
        let of_rows = view.run.rows.iter().filter_map(|row| row.model.as_deref());
        for name in told.chain(of_rows) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
    }
    let change = |name: &str| ModelChange {
        name: name.to_owned(),
        base: figures(base, name),
        candidate: figures(candidate, name),
    };
    names.into_iter().map(change).filter(|change| change.base.is_some() || change.candidate.is_some()).collect()
}

fn figures(view: &RunView<'_>, name: &str) -> Option<StoredModel> {
    let rows: Vec<&Row> = view.run.rows.iter().filter(|row| is_of(view, row, name)).collect();
    let model = view.run.models.iter().find(|model| model.name == name);
    if rows.is_empty() && model.is_none() {
        return None;
    }
    let ends = |end: &str| rows.iter().copied().find(|row| row.name.to_lowercase().ends_with(end));
    let is_generation =
        |sample: &&Sample| sample.values.contains_key("ttft_s") || sample.series.contains_key("token_s");
    let told = |row: &&&Row| view.samples(&row.name).iter().any(is_generation);
    let generation = rows.iter().find(told).copied().or_else(|| ends("inference"));
    let per_second = |row: Option<&Row>| row.and_then(|row| Some(row.tokens? / view.call_s(row)?));
    let of_generation = |metric: &str| median(&view.per_call(generation?, metric));
    let memory = view.run.memory.iter().find(|memory| memory.model == name);
    Some(StoredModel {
        format: model.map(|model| model.format.clone()).filter(|format| !format.is_empty()),
        samples: generation.map_or(0, |row| view.samples(&row.name).len() as u64),
        tokens_per_s: per_second(ends("decode")).or_else(|| per_second(generation)),
        first_token_s: of_generation("ttft_s"),
        prefill_tokens_per_s: per_second(ends("prefill")),
        alloc_bytes_per_token: of_generation("alloc_bytes")
            .zip(generation.and_then(|row| row.tokens))
            .map(|(b, t)| b / t),
        cache_bytes_per_token: memory
            .and_then(|memory| memory.cache_per_token_measured.or(memory.cache_per_token_formula)),
        weight_bytes: model.map(|model| model.weight_bytes).filter(|bytes| *bytes > 0),
        peak_live_bytes: memory.and_then(|memory| memory.peak_live_bytes),
    })
}

fn is_of(view: &RunView<'_>, row: &Row, name: &str) -> bool {
    row.model.as_deref().map_or_else(|| view.model(row).is_some_and(|model| model.name == name), |own| own == name)
}
