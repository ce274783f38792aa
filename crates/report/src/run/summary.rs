//! The summary of a run in a few lines.

use std::cmp::Reverse;

use profile::{in_words, tied_groups, whole_percents};

use super::figures::{ModelRows, groups};
use super::insights;
use super::lab_scopes::LabScope as _;
use super::limits::InWords as _;
use super::process::Repeats;
use super::view::{Timing, View, is_command};
use crate::document::{Block, Section, WARNING, not_measured};
use crate::units::{bytes, count, seconds, tokens_per_s, whole_percent};

/// Models whose speed is named, scopes, and insights.
const MODELS: usize = 2;
const SCOPES: usize = 3;
const INSIGHTS: usize = 2;
/// More would not be short.
const LINES: usize = 6;

/// Nothing where there is nothing to say.
pub(super) fn section(view: &View<'_>) -> Option<Section> {
    let mut facts: Vec<(&str, String)> = warnings(view).into_iter().map(|warning| (WARNING, warning)).collect();
    facts.extend(groups(view).iter().take(MODELS).filter_map(|group| Some(("speed", speed(view, group)?))));
    facts.extend(super::training::in_short(view).map(|sentence| ("speed", sentence)));
    facts.extend(command(view).map(|sentence| ("time", sentence)));
    facts.extend(super::variants::furthest_apart(view).map(|sentence| ("largest difference", sentence)));
    facts.extend(hottest(view).map(|sentence| ("hottest", sentence)));
    let found = insights::found(view);
    let room = LINES.saturating_sub(facts.len()).min(INSIGHTS);
    facts.extend(found.into_iter().take(room).map(|sentence| ("insight", sentence)));
    let facts: Vec<(String, String)> =
        facts.into_iter().map(|(label, sentence)| (label.to_owned(), sentence)).collect();
    (!facts.is_empty()).then(|| Section::new("SUMMARY", "").with(Block::Facts(facts)))
}

/// What moved the figures, or the limits that they are measured by.
pub(super) fn warnings(view: &View<'_>) -> Vec<String> {
    let crowded = insights::crowded_in_words(view);
    let others =
        || insights::others_in_words(view).map(|others| format!("Machine busy: {others}; treat timings as rough"));
    let others = crowded.or_else(others);
    let limits = view.run.environment.limits.as_ref().and_then(super::limits::doubt);
    [others, limits].into_iter().flatten().collect()
}

pub(super) fn speed(view: &View<'_>, group: &ModelRows<'_>) -> Option<String> {
    let first = group.generation.map_or(Vec::new(), |row| compare::sorted(&view.values(&row.name, "ttft_s")));
    let (first, decode) = (compare::quantile(&first, 0.5), group.decode(view));
    if first.is_none() && decode.is_none() {
        return None;
    }
    let first = first.map_or_else(not_measured, seconds);
    let decode = decode.map_or_else(not_measured, |speed| {
        let limit = speed.share().zip(speed.roof.as_ref());
        let limit = limit.map(|(share, roof)| format!(", {} of the limit ({})", whole_percent(share), roof.cell()));
        tokens_per_s(speed.median) + &limit.unwrap_or_default()
    });
    let is_alone = view.run.models.len() <= 1;
    let name = group.model.filter(|_| !is_alone).map(|model| format!("{}: ", crate::document::quoted(&model.name)));
    Some(format!("{}first token {first}, decode {decode}", name.unwrap_or_default()))
}

/// How long a program took that was run as it is.
pub(super) fn command(view: &View<'_>) -> Option<String> {
    let row = view.run.rows.first().filter(|_| is_command(view.run))?;
    if let Some(repeats) = Repeats::of(view) {
        return repeats.in_short();
    }
    let time = Timing::of(&view.per_call(row, "wall_s"))?;
    let peak = view.run.process.as_ref().and_then(|process| process.peak_rss_bytes);
    let peak = peak.map_or_else(String::new, |peak| format!(", peak memory {}", bytes(peak)));
    Some(format!("{}, 1 run{peak}", seconds(time.median)))
}

/// Names in it at the most, where the last of them are tied with others.
const TIED: usize = 5;

/// The scopes that spend most in their own code; those whose order is not certain are named together.
fn hottest(view: &View<'_>) -> Option<String> {
    let tree = view.tree.as_ref()?;
    let mut by_self: Vec<_> = tree.names.iter().filter(|sum| !sum.is_of_lab() && sum.self_ns > 0).collect();
    by_self.sort_by_key(|sum| Reverse(sum.self_ns));
    let whole = view.on_cpu_ns();
    if by_self.is_empty() || whole == 0 {
        return None;
    }
    if insights::is_attribution_unreliable(view) {
        return Some("not ranked: attribution unreliable".to_owned());
    }
    let (mut named, mut parts) = (0, Vec::new());
    for group in tied_groups(by_self, |sum| sum.own().estimate()) {
        // Alone, each of a group is one more name; tied ones cannot be parted.
        let most = if group.len() == 1 { 1 } else { (TIED - named).max(1) };
        let words = group.iter().take(most).filter_map(|sum| {
            let share = sum.own().share_of(whole)?;
            Some((sum.name, whole_percents(share, sum.is_self_estimated)))
        });
        let words: Vec<(&str, String)> = words.collect();
        named += words.len();
        parts.push(in_words(&words, group.len() - words.len()));
        if named >= SCOPES {
            break;
        }
    }
    let of = if tree.waiting_ns().is_some() { ", of the time on a CPU" } else { "" };
    let threads = match tree.thread_count() {
        0 | 1 => String::new(),
        several => format!(", summed over {} threads", count(several)),
    };
    Some(format!("{} (self time{of}{threads})", parts.join(", ")))
}
