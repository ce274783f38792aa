//! The figures of one model.

use std::f64::consts::LN_2;

use record::{
    Figure, LimitShare, MeasuredModel, Memory, ModelMemory, ModelQuality, ModelSpeed, Quality, Scope, TokenTimes,
};

use super::cells::{Cell, ModelEntry};
use super::launches::{self, RoundTimes};
use super::{CONFIDENCE, fitness};
use crate::stats::batch_mean_interval;
use crate::{MachineLimits, RowWork, quantile, quantile_interval};

pub(super) fn of(entry: &ModelEntry<'_>) -> MeasuredModel {
    let nothing = Cell::default();
    let cell = entry.cells.first().unwrap_or(&nothing);
    let (bounds, model) = (entry.bounds.as_ref(), entry.model);
    let decode = speed(1.0, &cell.decode_s, bounds, Some(cell.decode_work(model)));
    let prompt = cell.prompt.filter(|tokens| *tokens > 0).map(|tokens| tokens as f64);
    let prefill = prompt.and_then(|tokens| speed(tokens, &cell.prefill_s, bounds, cell.prefill_work(model)));
    let first_token_s = launches::factor(&cell.first_s);
    let fit = fitness::of(decode.as_ref(), first_token_s.as_ref());
    MeasuredModel {
        model: model.clone(),
        run: entry.id.map(str::to_owned),
        created: entry.run.created.clone(),
        threads: cell.threads,
        prompt_tokens: cell.prompt,
        tokens: cell.tokens,
        prefill,
        decode,
        first_token_s,
        token_s: token_times(&cell.token_s),
        memory: memory(entry, cell),
        quality: quality_of(entry).and_then(quality),
        fit,
        ..MeasuredModel::default()
    }
}

/// A quantile and where it lies; nothing where there are no values.
fn figure(sorted: &[f64], q: f64) -> Option<Figure> {
    let interval = quantile_interval(sorted, q, CONFIDENCE);
    let [low, high] = [interval.map(|found| found.low), interval.map(|found| found.high)];
    Some(Figure { value: quantile(sorted, q)?, low, high, samples: sorted.len() as u64 })
}

/// So many tokens in each of these times.
pub(super) fn rate(tokens: f64, times: &RoundTimes) -> Option<Figure> {
    let time = launches::factor(times)?;
    let turned = |seconds: f64| tokens / seconds;
    Some(Figure { value: turned(time.value), low: time.high.map(turned), high: time.low.map(turned), ..time })
}

fn speed(
    tokens: f64,
    times: &RoundTimes,
    bounds: Option<&MachineLimits<'_>>,
    work: Option<RowWork>,
) -> Option<ModelSpeed> {
    let tokens_per_s = rate(tokens, times)?;
    let part = |work: RowWork| bounds.and_then(|bounds| share(&tokens_per_s, bounds, &work));
    let arithmetic = work.clone().and_then(|work| part(RowWork { bytes: None, ..work }));
    let reading = work.and_then(|work| part(RowWork { flops: None, ..work }));
    Some(ModelSpeed { tokens_per_s, arithmetic, reading })
}

/// What of one limit is used. A rate whose slow end lies above it cannot be.
fn share(tokens_per_s: &Figure, bounds: &MachineLimits<'_>, work: &RowWork) -> Option<LimitShare> {
    let roof = bounds.roof(work)?;
    let per_token = work.flops.or(work.bytes)?;
    let of = |speed: f64| speed * per_token / roof.per_second;
    Some(LimitShare {
        by: roof.by,
        per_second: roof.per_second,
        per_token,
        share: of(tokens_per_s.value),
        impossible: of(tokens_per_s.low.unwrap_or(tokens_per_s.value)) > 1.0,
    })
}

/// Quantiles only where there are enough values to know them.
fn token_times(sorted: &[f64]) -> Option<TokenTimes> {
    let known = |q: f64| figure(sorted, q).filter(|figure| figure.low.is_some());
    Some(TokenTimes { p50: figure(sorted, 0.5)?, p90: known(0.9), p99: known(0.99), slowest: *sorted.last()? })
}

/// What a generation needs; what else a program has beside it is no matter of the model.
const PURPOSES: [&str; 4] = ["weights", "kv_cache", "activations", "scratch"];

fn memory(entry: &ModelEntry<'_>, cell: &Cell<'_>) -> ModelMemory {
    let known = entry.run.memory.iter().find(|memory| memory.model == entry.model.name);
    let is_alone = entry.run.models.len() == 1;
    let process = entry.run.process.as_ref().filter(|_| is_alone);
    let counted = cell.allocated.zip(cell.tokens.filter(|tokens| *tokens > 0));
    let counted = counted.map(|((allocs, bytes), tokens)| (allocs / tokens as f64, bytes / tokens as f64));
    let allocated = counted.or_else(|| profiled(entry).filter(|_| is_alone));
    let part = |memory: &Memory, purpose: &str| {
        memory.parts.iter().find(|part| part.purpose == purpose).map(|part| (part.bytes, part.mapped))
    };
    let weights = known.and_then(|memory| part(memory, "weights"));
    let all = known.filter(|memory| part(memory, "weights").is_some()).map(|memory| {
        let bytes = PURPOSES.iter().filter_map(|purpose| part(memory, purpose)).map(|(bytes, _)| bytes);
        bytes.fold(0, u64::saturating_add)
    });
    ModelMemory {
        bytes: all,
        weight_bytes: weights.map(|(bytes, _)| bytes),
        weights_mapped: weights.is_some_and(|(_, mapped)| mapped),
        cache_per_token_formula: known.and_then(|memory| memory.cache_per_token_formula),
        cache_per_token_measured: known.and_then(|memory| memory.cache_per_token_measured),
        peak_rss_bytes: process.and_then(|process| process.peak_rss_bytes),
        allocs_per_token: allocated.map(|(allocs, _)| allocs),
        alloc_bytes_per_token: allocated.map(|(_, bytes)| bytes),
    }
}

/// Allocations of each token by the profile: of its first scope that declares tokens, which is the one around all others.
fn profiled(entry: &ModelEntry<'_>) -> Option<(f64, f64)> {
    let is_such = |scope: &&Scope| scope.tokens > 0 && scope.allocs_total.is_some();
    let scope = entry.run.profile.as_ref()?.scopes.iter().find(is_such)?;
    let (all, tokens) = (scope.allocs_total?, scope.tokens as f64);
    Some((all.allocs as f64 / tokens, all.alloc_bytes as f64 / tokens))
}

/// What the run says of how well the model knows a text.
pub(super) fn quality_of<'a>(entry: &ModelEntry<'a>) -> Option<&'a Quality> {
    entry.run.quality.iter().find(|quality| quality.model == entry.model.name)
}

fn quality(quality: &Quality) -> Option<ModelQuality> {
    let bits_per_byte = quality.nll * quality.tokens as f64 / LN_2 / quality.bytes as f64;
    let each: Vec<f64> = quality.each.iter().map(|nll| f64::from(*nll)).collect();
    let interval = batch_mean_interval(&each, 1.0 - CONFIDENCE);
    bits_per_byte.is_finite().then(|| ModelQuality {
        perplexity: quality.nll.exp(),
        perplexity_interval: interval.map(|interval| [interval.low.exp(), interval.high.exp()]),
        bits_per_byte,
        tokens: quality.tokens,
        bytes: quality.bytes,
        text: quality.text.clone(),
        text_blake3: quality.text_blake3.clone(),
        window: quality.window,
    })
}
