//! What the process and the machine say.

use profile::CROWDED;

use super::super::view::View;
use super::Insight;
use crate::units::{count, digits, nanos, percent, plural, share, whole_percent};

/// CPUs in use beside threads asked for, from where on it stands out.
const IDLE: f64 = 0.7;
/// A share of CPU time taken away that moves figures.
const TAKEN: f64 = 0.01;
/// A part of a CPU that others used that moves figures.
const OTHERS: f64 = 0.25;

/// Threads that did not run for much of the time.
pub(super) fn idle(view: &View<'_>) -> Option<Insight> {
    let process = view.run.process.as_ref()?;
    let threads = view.threads(None).filter(|threads| *threads > 0)?;
    let busy = (process.user_s? + process.system_s?) / process.wall_s;
    let share = busy / threads as f64;
    let sentence =
        format!("Average CPU use: {} of {} ({}).", digits(busy), plural(threads, "thread"), whole_percent(share));
    (share.is_finite() && share < IDLE).then_some(Insight { worth: (1.0 - share) / 2.0, sentence })
}

/// CPUs that other programs used, where that is enough to move figures.
fn others(view: &View<'_>) -> Option<f64> {
    view.run.environment.noise.as_ref()?.others_cpus.filter(|used| *used >= OTHERS)
}

/// The same as a half sentence.
pub(in super::super) fn others_in_words(view: &View<'_>) -> Option<String> {
    let cpus = u64::from(view.run.environment.machine.cpus.max(1));
    others(view).map(|used| format!("other programs used {} of {}", digits(used), plural(cpus, "CPU")))
}

/// Whether other programs had most of the CPUs while the profile was made.
fn is_crowded(view: &View<'_>) -> bool {
    let cpus = f64::from(view.run.environment.machine.cpus.max(1));
    let by_noise = others(view).is_some_and(|used| used > CROWDED * cpus);
    by_noise || view.tree.as_ref().is_some_and(profile::is_crowded)
}

/// Whether nothing told of interruptions. Earlier versions knew of none; of other programs' profiles it is not known.
fn is_blind(view: &View<'_>) -> bool {
    view.run.imported.is_none() && view.tree.as_ref().is_some_and(profile::is_blind)
}

/// Whether time of others may stand in any scope: a ranking would be one of chance.
pub(in super::super) fn is_attribution_unreliable(view: &View<'_>) -> bool {
    is_crowded(view) && is_blind(view)
}

/// What a crowded machine means for the profile; nothing where it was not crowded, or nothing was profiled.
pub(in super::super) fn crowded_in_words(view: &View<'_>) -> Option<String> {
    let tree = view.tree.as_ref().filter(|_| is_crowded(view))?;
    let waited = tree.waiting_ns().map(|ns| {
        let part = share(ns, tree.threads_wall_ns()).unwrap_or(0.0);
        format!("threads waited {} for a CPU ({} of their time)", nanos(ns), whole_percent(part))
    });
    let shares = waited.as_ref().map(|_| "shares are of the time on a CPU".to_owned());
    let facts: Vec<String> = others_in_words(view).into_iter().chain(waited).collect();
    let result = match is_blind(view) {
        true => Some("attribution unreliable, because interruptions were not recognised".to_owned()),
        false => shares,
    };
    Some(match result {
        Some(result) => format!("{}: {result}", facts.join(", ")),
        None => format!("Machine busy ({}): treat timings as rough", facts.join(", ")),
    })
}

/// What others took from the machine meanwhile.
pub(super) fn disturbed(view: &View<'_>) -> Option<Insight> {
    let noise = view.run.environment.noise.as_ref()?;
    let cpus = f64::from(view.run.environment.machine.cpus.max(1));
    let stolen = noise.steal_share.filter(|share| *share >= TAKEN);
    let others = others(view).unwrap_or(0.0);
    let mut parts = Vec::new();
    parts.extend(stolen.map(|share| format!("steal time was {}", percent(share))));
    parts.extend(others_in_words(view));
    let worth = stolen.unwrap_or(0.0).max(others / cpus);
    let sentence = format!("During the run, {}; the intervals include this noise.", parts.join(" and "));
    (!parts.is_empty()).then_some(Insight { worth, sentence })
}

/// Pages that had to be read.
pub(super) fn disk(view: &View<'_>) -> Option<Insight> {
    let faults = view.run.process.as_ref()?.major_faults.filter(|faults| *faults > 0)?;
    let (pages, them) = if faults == 1 { ("page", "it") } else { ("pages", "them") };
    let sentence =
        format!("{} {pages} came from a disk during the run: a second run may find {them} in memory.", count(faults));
    Some(Insight { worth: 0.0, sentence })
}
