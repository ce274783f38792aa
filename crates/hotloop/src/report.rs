//! The report as text.

use profile::Profile;

use crate::snapshot::Snapshot;

/// The whole report, with the first `n` rows of each ranking.
pub(crate) fn text(snapshot: &Snapshot, n: usize) -> String {
    if !snapshot.enabled {
        return "Hotloop: nothing was recorded, because the program was built without hotloop's feature `enabled`.\n\
                Build it with `--features hotloop/enabled`, or name the feature in the binary's Cargo.toml.\n"
            .to_owned();
    }
    if snapshot.scopes.is_empty() {
        return "Hotloop: no scope was recorded. Call hotloop::start() before the code to be measured, and open scopes \
                in it: scope!(\"name\") in Rust, PROFILE_SCOPE(\"name\") in C++, HOTLOOP_SCOPE(\"name\") in C.\n"
            .to_owned();
    }
    Profile::from(snapshot).report(n)
}
