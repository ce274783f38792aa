//! Insights: sentences that follow from the figures by arithmetic, each with its evidence. No verdicts.

mod limits;
mod machine;
mod tokens;

use profile::insights::Insight;

use super::view::View;
use crate::document::{Block, Section};

/// More would not be read.
const MOST: usize = 6;

type Rule = fn(&View<'_>) -> Option<Insight>;

/// Beside those on the profile alone.
const RULES: &[Rule] = &[
    limits::below_limit,
    tokens::prompt,
    tokens::slow_token,
    tokens::row_below_limit,
    tokens::cache_beside_formula,
    machine::idle,
    machine::disk,
];

pub(super) use machine::{crowded_in_words, is_attribution_unreliable, others_in_words};

/// What the short account says with the figures: how near decoding is to its limit, and what disturbed.
const SAID_BEFORE: &[Rule] = &[tokens::decode_below_limit, machine::disturbed];

/// What else there is to say, what concerns most first.
pub(super) fn found(view: &View<'_>) -> Vec<String> {
    sentences(RULES.iter().filter_map(|rule| rule(view)).chain(of_profile(view)))
}

/// What the profile says by itself.
fn of_profile(view: &View<'_>) -> Vec<Insight> {
    let profile = view.profile();
    profile::insights::RULES.iter().filter_map(|rule| rule(profile.as_ref()?)).collect()
}

fn sentences(insights: impl Iterator<Item = Insight>) -> Vec<String> {
    let mut found: Vec<Insight> = insights.collect();
    found.sort_by(|a, b| b.worth.total_cmp(&a.worth));
    found.into_iter().map(|insight| insight.sentence).collect()
}

pub(super) fn section(view: &View<'_>) -> Section {
    let of_run = SAID_BEFORE.iter().chain(RULES).filter_map(|rule| rule(view));
    let mut sentences = sentences(of_run.chain(of_profile(view)));
    sentences.truncate(MOST);
    let section = Section::new("INSIGHTS", "derived from the figures, largest effect first");
    match sentences.is_empty() {
        true => section.with(Block::Text("Nothing stands out.".to_owned())),
        false => section.with(Block::List(sentences)),
    }
}

#[cfg(test)]
mod tests;
