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
    ("M", "metadata of a process or thread other than its name"),
    ("i", "an instant event, which has no duration"),
    ("I", "an instant event, which has no duration"),
    ("n", "an asynchronous instant event"),
    ("b", "the start of an asynchronous event, which may overlap nested calls"),
    ("e", "the end of an asynchronous event"),
    ("s", "a flow event between calls"),
    ("t", "a flow event between calls"),
    ("f", "a flow event between calls"),
    ("C", "a counter"),
    ("P", "a stack sample"),
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
        draft.note("The event list has no closing bracket: later events may be missing.");
    }
    let nested = nest::nest(&trace);
    let others: BTreeMap<(&str, &str), u64> = nested.others.iter().fold(BTreeMap::new(), |mut sums, (phase, why)| {
        *sums.entry((phase, why)).or_default() += 1;
        sums
    });
    for ((phase, why), count) in others {
        let known = OTHERS.iter().find(|(known, _)| *known == phase).map_or("unknown kind of event", |it| it.1);
        let why = if why.is_empty() { known } else { why };
        unread.push(Unread {
            line: None,
            text: format!("{count} event{} of the kind `{phase}`", if count == 1 { "" } else { "s" }),
            why: why.to_owned(),
        });
    }
    if nested.overlaps > 0 {
        draft.note(format!(
            "{} calls partly overlap the previous call on their thread. They are shown next to it, so some time \
             counts twice.",
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
