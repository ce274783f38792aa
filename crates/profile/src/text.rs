//! A profile as text, as the library and the C API print it.

use crate::document::{Block, Document, Page, Section};
use crate::insights::{Insight, RULES};
use crate::sections::{sections, trust};
use crate::units::{nanos, plural, share, sum_of, whole_percent};
use crate::view::{NoContext, ProfileView, is_blind, is_crowded};
use crate::{CallTree, Profile};

/// More insights are not printed.
const INSIGHTS: usize = 6;
/// Waiting for a CPU below this share of the threads' time is not worth a warning.
const NOTABLE_WAITING: f64 = 0.10;

impl Profile {
    /// The report as text, with the first `top` rows of each ranking.
    #[must_use]
    pub fn report(&self, top: usize) -> String {
        let tree = CallTree::new(self);
        let view = ProfileView { tree: &tree, top, context: &NoContext };
        let mut sections = sections(&view);
        sections.push(insights(&view));
        sections.push(trust(&view));
        let warnings = waiting(&tree).into_iter().collect();
        Document { kind: "HOTLOOP PROFILE", title: title(&tree), warnings, sections, ..Document::default() }
            .terminal(Page::default())
    }
}

fn title(tree: &CallTree<'_>) -> String {
    let calls = sum_of(tree.names.iter().map(|sum| sum.calls));
    let threads = sum_of(tree.profile.threads.iter().map(|thread| thread.count));
    format!(
        "{} of wall time, {}, {}, {}",
        nanos(tree.profile.wall_ns),
        plural(threads, "thread"),
        plural(tree.names.len() as u64, "scope"),
        plural(calls, "call")
    )
}

/// What it means that threads waited for a CPU.
fn waiting(tree: &CallTree<'_>) -> Option<String> {
    let waiting = tree.waiting_ns()?;
    let part = share(waiting, tree.threads_wall_ns()).filter(|part| *part > NOTABLE_WAITING)?;
    let result = match is_crowded(tree) && is_blind(tree) {
        true => "attribution unreliable, because interruptions were not recognised",
        false => "shares are of the time on a CPU",
    };
    Some(format!("Threads waited {} for a CPU ({} of their time): {result}", nanos(waiting), whole_percent(part)))
}

fn insights(view: &ProfileView<'_>) -> Section {
    let mut found: Vec<Insight> = RULES.iter().filter_map(|rule| rule(view)).collect();
    found.sort_by(|a, b| b.worth.total_cmp(&a.worth));
    let sentences: Vec<String> = found.into_iter().take(INSIGHTS).map(|insight| insight.sentence).collect();
    let section =
        Section::new("INSIGHTS", "what follows from the figures by arithmetic; what concerns most comes first");
    match sentences.is_empty() {
        true => section.with(Block::Text("Nothing stands out.".to_owned())),
        false => section.with(Block::List(sentences)),
    }
}
