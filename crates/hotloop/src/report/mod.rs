//! The report as text: what the originals printed, with numbers that hold.

mod insights;
mod sections;
mod table;
mod units;

use crate::snapshot::Snapshot;

/// The whole report, with the first `n` of each ranking.
pub(crate) fn text(snapshot: &Snapshot, n: usize) -> String {
    if !snapshot.enabled {
        return "Hotloop: nothing was recorded, because the program was built without hotloop's feature `enabled`.\n\
                Build it with `--features hotloop/enabled`, or name the feature in the binary's Cargo.toml.\n"
            .to_owned();
    }
    if snapshot.scopes.is_empty() {
        return "Hotloop: no scope was recorded. Call hotloop::start() before the code to be measured, and open scopes \
                in it with hotloop::scope!(\"name\").\n"
            .to_owned();
    }
    let names = snapshot.by_name();
    let mut text = String::new();
    sections::head(&mut text, snapshot, &names);
    sections::hot_paths(&mut text, snapshot, &names, n);
    sections::work(&mut text, &names, n);
    sections::top_allocators(&mut text, snapshot, &names, n);
    sections::most_called(&mut text, &names, n);
    sections::call_tree(&mut text, snapshot, n);
    sections::indices(&mut text, snapshot, n);
    sections::futures(&mut text, &names, n);
    sections::threads(&mut text, snapshot, n);
    insights::write(&mut text, snapshot, &names);
    sections::profiler(&mut text, snapshot, &names);
    text
}
