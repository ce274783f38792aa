//! Totals, models, kernels, rows.

use std::collections::HashMap;

use record::{Comparison, Judgement, KernelChange, Presence, RowChange, StoredModel, Total, Verdict, WorkRate};

use super::is_comparable;
use super::values::{both, change, changed, interval, is_withheld, signed_bytes, signed_seconds, speed, value};
use crate::document::{Block, Section, Table};
use crate::gate::word;
use crate::units::{bytes, count, mean_bytes, plural, seconds, tokens_per_s, whole_percent};
use profile::short_names;

/// What both sides took, without counting anything twice.
pub(super) fn totals(comparison: &Comparison) -> Option<Section> {
    let totals = comparison.totals.as_ref()?;
    let mut table = Table::new(&["total", "before", "after", "difference"]);
    let side = |total: &Option<Total>, written: &dyn Fn(&Total) -> Option<String>| {
        total.as_ref().and_then(written).unwrap_or_else(|| "not measured".to_owned())
    };
    let mut row = |name: &str, written: &dyn Fn(&Total) -> Option<String>, difference: Option<String>| {
        let cells = [side(&totals.base, written), side(&totals.candidate, written)];
        table.row([name.to_owned()].into_iter().chain(cells).chain(difference));
    };
    let pair = totals.base.zip(totals.candidate);
    let seconds_of = |total: &Total| Some(seconds(total.seconds));
    row("time", &seconds_of, pair.map(|(old, new)| signed_seconds(new.seconds - old.seconds)));
    if [totals.base, totals.candidate].iter().flatten().any(|total| total.alloc_bytes.is_some()) {
        let difference = pair.and_then(|(old, new)| Some(signed_bytes(new.alloc_bytes? - old.alloc_bytes?)));
        row("allocated", &|total| total.alloc_bytes.map(mean_bytes), difference);
    }
    row(&totals.of, &|total| Some(count(total.roots)), None);
    let explanation = format!("of top-level {}: nothing is counted twice", totals.of);
    let section = Section::new("TOTALS", &explanation).with(Block::Table(table));
    Some(match nested(comparison) {
        Some(sentence) => section.with(Block::Text(sentence)),
        None => section,
    })
}

/// What other tools print as a total.
fn nested(comparison: &Comparison) -> Option<String> {
    let totals = comparison.totals.as_ref()?;
    let sum = |total: &Total| (total.nested_s > 1.001 * total.seconds).then(|| seconds(total.nested_s));
    let (old, new) = (totals.base.as_ref().and_then(sum), totals.candidate.as_ref().and_then(sum));
    let all = totals.base.iter().chain(&totals.candidate).map(|total| total.all).max()?;
    let known = |value: Option<String>| value.unwrap_or_else(|| "not measured".to_owned());
    (old.is_some() || new.is_some()).then(|| {
        let (old, new) = (known(old), known(new));
        format!(
            "The sum over all {} {} ({old} before, {new} after) counts nested time more than once.",
            count(all),
            totals.of
        )
    })
}

/// The models, figure by figure.
pub(super) fn models(comparison: &Comparison) -> Option<Section> {
    let mut table = Table::new(&["model", "figure", "before", "after", "change"]);
    table.columns[1].is_text = true;
    type Figure = (&'static str, fn(&StoredModel) -> Option<f64>, fn(f64) -> String);
    let figures: [Figure; 8] = [
        ("decode", |model| model.tokens_per_s, tokens_per_s),
        ("time per token", |model| Some(1.0 / model.tokens_per_s?), seconds),
        ("first token", |model| model.first_token_s, seconds),
        ("prefill", |model| model.prefill_tokens_per_s, tokens_per_s),
        ("allocated per token", |model| model.alloc_bytes_per_token, mean_bytes),
        ("KV cache per token", |model| model.cache_bytes_per_token, mean_bytes),
        ("weights", |model| model.weight_bytes.map(|bytes| bytes as f64), |value| bytes(value as u64)),
        ("peak live bytes", |model| model.peak_live_bytes.map(|bytes| bytes as f64), |value| bytes(value as u64)),
    ];
    for model in &comparison.models {
        let mut name = model.name.clone();
        for (figure, of, written) in figures {
            let (old, new) = (model.base.as_ref().and_then(of), model.candidate.as_ref().and_then(of));
            if old.is_none() && new.is_none() {
                continue;
            }
            let cell = |value: Option<f64>| value.map_or_else(|| "not measured".to_owned(), written);
            let change = old.zip(new).filter(|_| is_comparable(comparison)).and_then(|(old, new)| changed(old, new));
            table.row([std::mem::take(&mut name), figure.to_owned(), cell(old), cell(new), change.unwrap_or_default()]);
        }
    }
    let explanation = "medians; ROWS has the confidence intervals";
    (!table.is_empty()).then(|| Section::new("MODELS", explanation).with(Block::Table(table)))
}

/// What declares its work, by its rate.
pub(super) fn kernels(comparison: &Comparison, top: usize) -> Option<Section> {
    let mut table = Table::new(&["kernel", "time before", "after", "rate before", "after", "change", "% of limit"])
        .least_important(&["time before"]);
    let names: Vec<&str> = comparison.kernels.iter().map(|kernel| kernel.name.as_str()).collect();
    let short: HashMap<&str, &str> = names.iter().copied().zip(short_names(&names)).collect();
    // Rows are few and were chosen; scopes are as many as there are.
    let of_rows = comparison.kernels.iter().filter(|kernel| kernel.of == "row");
    let of_scopes = comparison.kernels.iter().filter(|kernel| kernel.of != "row").take(top);
    for kernel in of_rows.chain(of_scopes) {
        let mut cells = kernel_cells(kernel, is_comparable(comparison));
        cells[0] = short.get(kernel.name.as_str()).map_or(&*kernel.name, |short| short).to_owned();
        table.row(cells);
    }
    let explanation = "declared work per time; % of limit: share of machine peak, before and after";
    (!table.is_empty()).then(|| Section::new("KERNELS", explanation).with(Block::Table(table)))
}

fn kernel_cells(kernel: &KernelChange, comparable: bool) -> Vec<String> {
    let sides = [&kernel.base, &kernel.candidate];
    let cell = |side: &Option<WorkRate>, written: &dyn Fn(&WorkRate) -> String| {
        side.as_ref().map_or_else(String::new, written)
    };
    let [old_call, new_call] = sides.map(|side| cell(side, &|speed| seconds(speed.call_s)));
    let [old, new] = sides.map(|side| cell(side, &speed));
    let pair = kernel.base.as_ref().zip(kernel.candidate.as_ref()).filter(|_| comparable);
    let change = pair.and_then(|(old, new)| changed(old.per_second, new.per_second)).unwrap_or_default();
    vec![kernel.name.clone(), old_call, new_call, old, new, change, shares(sides)]
}

fn shares(sides: [&Option<WorkRate>; 2]) -> String {
    let [old, new] = sides.map(|side| side.as_ref().and_then(|speed| speed.share).map(whole_percent));
    match (old, new) {
        (Some(old), Some(new)) => both(&old, &new),
        (old, new) => old.or(new).unwrap_or_default(),
    }
}

/// The times of all rows.
pub(super) fn times(comparison: &Comparison) -> Option<Section> {
    let headings =
        ["row", "n", "before", "after", "change", "95 % CI", "rate before", "rate after", "% of limit", "verdict"];
    let mut table =
        Table::new(&headings).with_words_last().least_important(&["% of limit", "rate before", "rate after"]);
    let depths = depths(&comparison.rows);
    for (row, depth) in comparison.rows.iter().zip(depths) {
        if let Some(cells) = time_cells(comparison, row) {
            table.row_at(depth, cells);
        }
    }
    let explanation = "medians per call; n: samples before and after";
    (!table.is_empty()).then(|| Section::new("ROWS", explanation).with(Block::Table(table)))
}

/// How deep each row is inside others. Rows that are parts of each other in a circle end somewhere.
fn depths(rows: &[RowChange]) -> Vec<usize> {
    const DEEPEST: usize = 16;
    let wholes: HashMap<&str, Option<&str>> =
        rows.iter().map(|row| (row.name.as_str(), row.part_of.as_deref())).collect();
    let depth = |row: &RowChange| {
        let first = row.part_of.as_deref().filter(|whole| wholes.contains_key(whole));
        let above = std::iter::successors(first, |whole| {
            wholes.get(whole).copied().flatten().filter(|next| wholes.contains_key(next))
        });
        above.take(DEEPEST).count()
    };
    rows.iter().map(depth).collect()
}

fn time_cells(comparison: &Comparison, row: &RowChange) -> Option<Vec<String>> {
    let samples = both(&count(row.base_samples), &count(row.candidate_samples));
    let rates = [&row.base, &row.candidate].map(|side| side.as_ref().map_or_else(String::new, speed));
    let [old, new] = rates;
    let time = row.judgements.iter().find(|judgement| judgement.metric == "wall_s");
    match (row.presence, time) {
        (Presence::Kept | Presence::Renamed, Some(time)) => {
            let cell = |side: Option<f64>| side.map_or_else(String::new, |side| value(comparison, "wall_s", side));
            Some(vec![
                row.name.clone(),
                samples,
                cell(time.base),
                cell(time.candidate),
                change(time),
                interval(time),
                old,
                new,
                shares([&row.base, &row.candidate]),
                said(time),
            ])
        }
        (Presence::Added, _) => Some(vec![
            row.name.clone(),
            samples,
            String::new(),
            once(&row.candidate),
            String::new(),
            String::new(),
            old,
            new,
            String::new(),
            "added".to_owned(),
        ]),
        (Presence::Removed, _) => Some(vec![
            row.name.clone(),
            samples,
            once(&row.base),
            String::new(),
            String::new(),
            String::new(),
            old,
            new,
            String::new(),
            "removed".to_owned(),
        ]),
        _ => None,
    }
}

fn once(speed: &Option<WorkRate>) -> String {
    speed.as_ref().map_or_else(String::new, |speed| seconds(speed.call_s))
}

fn said(judgement: &Judgement) -> String {
    if is_withheld(judgement) { String::new() } else { word(judgement.verdict).to_owned() }
}

/// All other metrics. Where the runs can be compared, those that say something.
pub(super) fn others(comparison: &Comparison, top: usize) -> Option<Section> {
    let all = comparison.rows.iter().flat_map(|row| row.judgements.iter().map(move |judgement| (row, judgement)));
    let others: Vec<(&RowChange, &Judgement)> = all.filter(|(_, judgement)| judgement.metric != "wall_s").collect();
    let speaks = |judgement: &Judgement| {
        let is_silent = matches!(judgement.verdict, Verdict::Unresolved | Verdict::Same);
        judgement.base != judgement.candidate && !is_silent
    };
    let shown: Vec<&(&RowChange, &Judgement)> =
        others.iter().filter(|(_, judgement)| speaks(judgement)).take(3 * top).collect();
    if others.is_empty() {
        return None;
    }
    let mut table = Table::new(&["row", "metric", "before", "after", "change", "95 % CI", "verdict"]).with_words_last();
    table.columns[1].is_text = true;
    for (row, judgement) in &shown {
        let cell = |side: Option<f64>| side.map_or_else(String::new, |side| value(comparison, &judgement.metric, side));
        let (old, new) = (cell(judgement.base), cell(judgement.candidate));
        table.row([
            row.name.clone(),
            judgement.metric.clone(),
            old,
            new,
            change(judgement),
            interval(judgement),
            said(judgement),
        ]);
    }
    let hidden = (others.len() - shown.len()) as u64;
    let why = if is_comparable(comparison) { "without a certain change" } else { "not shown" };
    let rest = format!("{} {why}.", plural(hidden, "other metric"));
    let section = Section::new("OTHER METRICS", "per call");
    let section = if table.is_empty() { section } else { section.with(Block::Table(table)) };
    Some(if hidden > 0 { section.with(Block::Text(rest)) } else { section })
}
