//! Chrome's Trace Event JSON: calls with their times (`X`, or `B` and `E`), nested by time on each thread into a call tree.

mod events;
mod nest;

use std::collections::BTreeMap;

use record::Unread;

use crate::draft::Draft;
use crate::format::ReadRuns;
use crate::numbers::rfc3339;
use crate::{Result, Source};

/// The kinds of events that are no calls, and what they are.
const OTHERS: &[(&str, &str)] = &[
    ("M", "a word about a process or a thread that is no name"),
    ("i", "an instant, which takes no time"),
    ("I", "an instant, which takes no time"),
    ("n", "an instant of something asynchronous"),
    ("b", "the beginning of something asynchronous: it may overlap what is nested"),
    ("e", "the end of something asynchronous"),
    ("s", "an arrow between calls"),
    ("t", "an arrow between calls"),
    ("f", "an arrow between calls"),
    ("C", "a counter"),
    ("P", "a sample of a stack"),
    ("N", "an object"),
    ("O", "an object"),
    ("D", "an object"),
];

/// The moment of the first event: so many microseconds after another one.
fn moment_of(base_ns: u64, first_us: f64) -> Option<String> {
    let since = (0.0..1e16).contains(&first_us).then_some((first_us / 1e6) as u64)?;
    rfc3339((base_ns / 1_000_000_000).checked_add(since)?)
}

pub(crate) fn read(text: &str, _source: &Source) -> Result<ReadRuns> {
    let mut trace = events::parse(text)?;
    let mut unread: Vec<Unread> = std::mem::take(&mut trace.unread);
    let mut draft = Draft::new("a traced program", "trace");
    draft.single_shot = true;
    if trace.is_open {
        draft.note("The list of events has no closing bracket: later events may be missing.");
    }
    let nested = nest::nest(&trace);
    let others: BTreeMap<(&str, &str), u64> = nested.others.iter().fold(BTreeMap::new(), |mut sums, (phase, why)| {
        *sums.entry((phase, why)).or_default() += 1;
        sums
    });
    for ((phase, why), count) in others {
        let known =
            OTHERS.iter().find(|(known, _)| *known == phase).map_or("this kind of event is not known here", |it| it.1);
        let why = if why.is_empty() { known } else { why };
        unread.push(Unread {
            line: None,
            text: format!("{count} event{} of the kind `{phase}`", if count == 1 { "" } else { "s" }),
            why: why.to_owned(),
        });
    }
    if nested.overlaps > 0 {
        draft.note(format!(
            "{} calls overlap the one before on their thread without lying in it: they stand beside it, and some time counts twice.",
            nested.overlaps
        ));
    }
    if let Some(device) = &trace.device {
        draft.parameter("device", device.clone());
    }
    if let Some(base_ns) = trace.base_ns {
        draft.run.created = moment_of(base_ns, nested.first_us).unwrap_or_default();
    }
    draft.profile(nested.profile);
    Ok(ReadRuns { drafts: vec![draft], unread })
}
