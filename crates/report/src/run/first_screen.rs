//! The first screen of a run: what most people want to know, in the lines of one terminal.

use std::cmp::Reverse;

use profile::whole_percents;

use super::figures::{self, ModelRows, TokenSpeed, groups};
use super::lab_scopes::LabScope as _;
use super::limits::InWords as _;
use super::view::View;
use super::{RunOptions, insights, overview, summary};
use crate::document::terminal::{self, Ink};
use crate::document::width::{shortened, wrapped};
use crate::document::{WARNING, printable, quoted};
use crate::units::{count, mean_bytes, mean_count, nanos, seconds, share, tokens_per_s, whole_percent};
use profile::ScopeSum;

/// No more lines are printed.
const LINES: usize = 35;
const SCOPES: usize = 8;
/// Scopes that are shown even if insights have to go.
const FEWEST_SCOPES: usize = 4;
const INSIGHTS: usize = 3;
const WARNINGS: usize = 3;
/// Models whose speed is shown.
const MODELS: usize = 3;
/// Waiting below this share of the time is not worth a row.
const LITTLE_WAITING: f64 = 0.01;

/// The whole screen.
pub(super) fn write(view: &View<'_>, options: &RunOptions) -> String {
    let page = options.page();
    let ink = Ink { color: page.color, width: page.columns() };
    let title = title(view, &ink);
    let facts = facts(view, &ink);
    let warnings = warnings(view, &ink);
    let more = more(options.id.as_deref(), &ink);
    let mut insights = insight_blocks(view, &ink);
    let fixed = title.len() + facts.len() + warnings.len() + more.len();
    let sum = |blocks: &[Vec<String>]| blocks.iter().map(Vec::len).sum::<usize>();
    // Each block has an empty line before it; headings of scopes and insights are a line each.
    let room = |insights: &[Vec<String>]| LINES.saturating_sub(fixed + 4 + sum(insights) + 2);
    while !insights.is_empty() && room(&insights) < FEWEST_SCOPES {
        insights.pop();
    }
    let scopes = scopes(view, room(&insights).min(SCOPES), &ink);
    let insights = if insights.is_empty() { Vec::new() } else { headed("INSIGHTS", insights.concat(), &ink) };
    let blocks = [title, facts, scopes, insights, warnings, more];
    let written: Vec<String> =
        blocks.into_iter().filter(|block| !block.is_empty()).map(|block| block.join("\n")).collect();
    written.join("\n\n") + "\n"
}

fn headed(heading: &str, lines: Vec<String>, ink: &Ink) -> Vec<String> {
    [ink.heading(heading, heading.len())].into_iter().chain(lines).collect()
}

/// Lines of a writer that appends to a text.
fn lines(write: impl FnOnce(&mut String)) -> Vec<String> {
    let mut text = String::new();
    write(&mut text);
    text.lines().map(str::to_owned).collect()
}

fn title(view: &View<'_>, ink: &Ink) -> Vec<String> {
    let run = view.run;
    let mut parts = vec![format!("HOTLOOP  {}", overview::title(run))];
    if let [model] = &run.models[..] {
        parts.push(format!(
            "{}: {}, {} parameters, {}",
            quoted(&model.name),
            model.architecture,
            count(model.parameters),
            model.format
        ));
    }
    parts.extend(view.threads(None).map(|threads| format!("{threads} thread{}", if threads == 1 { "" } else { "s" })));
    let lines = wrapped(&printable(&parts.join(" · ")), ink.text_width());
    lines
        .iter()
        .enumerate()
        .map(|(at, line)| if at == 0 { ink.heading(line, "HOTLOOP".len()) } else { line.clone() })
        .collect()
}

/// TokenSpeed, limits, memory: each where it was measured.
fn facts(view: &View<'_>, ink: &Ink) -> Vec<String> {
    let mut facts: Vec<(String, String)> = Vec::new();
    let groups: Vec<ModelRows<'_>> = groups(view);
    match &groups[..] {
        [only] => facts.extend(of_model(view, only)),
        several => {
            let speeds = several.iter().take(MODELS).filter_map(|group| summary::speed(view, group));
            facts.extend(speeds.map(|speed| ("speed".to_owned(), speed)));
        }
    }
    let others = [
        ("speed", super::training::in_short(view)),
        ("time", summary::command(view)),
        ("largest difference", super::variants::furthest_apart(view)),
    ];
    facts.extend(others.into_iter().filter_map(|(label, sentence)| Some((label.to_owned(), sentence?))));
    lines(|text| terminal::facts(text, &facts, ink))
}

fn of_model(view: &View<'_>, group: &ModelRows<'_>) -> Vec<(String, String)> {
    let generation =
        |metric: &str| group.generation.map_or(Vec::new(), |row| compare::sorted(&view.values(&row.name, metric)));
    let first = compare::quantile(&generation("ttft_s"), 0.5).map(seconds);
    let per_token = |metric: &str| compare::quantile(&figures::per_token(view, group, metric), 0.5);
    let allocations = per_token("allocs")
        .zip(per_token("alloc_bytes"))
        .map(|(calls, bytes)| format!("{} per token, {} per token", mean_count(calls), mean_bytes(bytes)));
    let facts = [
        ("decode", group.decode(view).map(|speed| of_limit(&speed))),
        ("prefill", group.prefill(view).map(|speed| of_limit(&speed))),
        ("first token", first),
        ("allocations", allocations),
    ];
    facts.into_iter().filter_map(|(label, sentence)| Some((label.to_owned(), sentence?))).collect()
}

fn of_limit(speed: &TokenSpeed) -> String {
    let limit = speed.share().zip(speed.roof.as_ref());
    let limit = limit.map(|(share, roof)| format!(", {} of {}", whole_percent(share), roof.in_words()));
    tokens_per_s(speed.median) + &limit.unwrap_or_default()
}

/// The hottest scopes with bars.
fn scopes(view: &View<'_>, most: usize, ink: &Ink) -> Vec<String> {
    let Some(tree) = &view.tree else { return Vec::new() };
    let whole = view.on_cpu_ns();
    let mut by_self: Vec<&ScopeSum<'_>> = tree.names.iter().filter(|sum| !sum.is_of_lab() && sum.self_ns > 0).collect();
    by_self.sort_by_key(|sum| Reverse(sum.self_ns));
    if by_self.is_empty() || whole == 0 {
        return Vec::new();
    }
    let heading = format!("HOT SCOPES  self time, share of {}", view.whole());
    if insights::is_attribution_unreliable(view) {
        let sentence = "not ranked: attribution unreliable, other programs used most of the CPU".to_owned();
        return vec![ink.heading(&heading, "HOT SCOPES".len()), format!("  {sentence}")];
    }
    let waiting = tree.waiting_ns().zip(tree.waiting_ns().and_then(|ns| share(ns, tree.threads_wall_ns())));
    let waiting = waiting.filter(|(_, share)| *share >= LITTLE_WAITING);
    let shown = &by_self[..by_self.len().min(most.saturating_sub(usize::from(waiting.is_some())).max(1))];
    let names = shown.iter().map(|sum| sum.name.chars().count()).max().unwrap_or(0).min(ink.width / 3).max(20);
    let largest = shown.first().and_then(|sum| sum.own().share_of(whole)).map_or(1.0, |share| share.value);
    let mut lines = vec![ink.heading(&heading, "HOT SCOPES".len())];
    for sum in shown {
        let Some(part) = sum.own().share_of(whole) else { continue };
        let percent = whole_percents(part, sum.is_self_estimated);
        let name = shortened(&printable(sum.name), names);
        let before = format!("  {name:<names$}  {:>9}  {percent:>9}  ", nanos(sum.self_ns));
        let room = ink.width.saturating_sub(before.chars().count()).min(40);
        let bar = "█".repeat(((part.value / largest) * room as f64).round() as usize);
        lines.push(format!("{before}{bar}").trim_end().to_owned());
    }
    lines.extend(waiting.map(|(ns, share)| {
        let name = "(waiting for a CPU)";
        format!("  {name:<names$}  {:>9}  {:>9}  of all time", nanos(ns), whole_percent(share))
    }));
    lines
}

/// Each insight as its lines.
fn insight_blocks(view: &View<'_>, ink: &Ink) -> Vec<Vec<String>> {
    let found = insights::found(view).into_iter().take(INSIGHTS);
    let block = |(number, sentence): (usize, String)| {
        lines(|text| terminal::paragraph(text, &format!("  {number}. "), &sentence, ink))
    };
    (1..).zip(found).map(block).collect()
}

fn warnings(view: &View<'_>, ink: &Ink) -> Vec<String> {
    let all = overview::warnings(view.run).into_iter().chain(summary::warnings(view));
    let facts: Vec<(String, String)> = all.take(WARNINGS).map(|warning| (WARNING.to_owned(), warning)).collect();
    lines(|text| terminal::facts(text, &facts, ink))
}

/// How to see more.
fn more(id: Option<&str>, ink: &Ink) -> Vec<String> {
    let sentence = match id {
        Some(id) => format!("More: `hotloop report {id}` (all tables), `hotloop export {id} --to svg` (flame graph)"),
        None => "More: `hotloop profile --full` prints all tables.".to_owned(),
    };
    wrapped(&sentence, ink.text_width())
}
