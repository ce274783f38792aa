//! Scopes beside the limits of the machine.

use profile::insights::{Insight, NOTABLE, share_of_run};
use profile::whole_percents;

use super::super::limits::InWords as _;
use super::super::view::View;
use super::machine::is_attribution_unreliable;
use crate::document::quoted;
use crate::units::whole_percent;

/// The scope by whose distance from the machine's limit most time could be saved.
pub(super) fn below_limit(view: &View<'_>) -> Option<Insight> {
    let profile = view.profile().filter(|_| !is_attribution_unreliable(view))?;
    let tree = profile.tree;
    let savings = tree.names.iter().filter_map(|sum| {
        let (reached, roof) = view.scope_share(sum)?;
        let part = share_of_run(&profile, sum.total())?;
        // At the lower end of its time it is nearer to the limit, and less can be saved.
        let reached_at = |end: f64| (reached * part.value / end).min(1.0);
        let saved_at = |end: f64| if end > 0.0 { end * (1.0 - reached_at(end)) } else { 0.0 };
        Some((saved_at(part.value), saved_at(part.low()), part, reached, roof, sum))
    });
    let (saved, least, part, reached, roof, sum) = savings.max_by(|a, b| a.0.total_cmp(&b.0))?;
    let sentence = format!(
        "{} takes {} of {} at {} of {}: reaching the limit would save up to {}.",
        quoted(sum.name),
        whole_percents(part, sum.is_sampled),
        view.whole(),
        whole_percent(reached),
        roof.in_words(),
        whole_percent(saved)
    );
    (least >= NOTABLE).then_some(Insight { worth: saved, sentence })
}
