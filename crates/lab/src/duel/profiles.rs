//! Where the time of profiled rounds went, path by path.

use std::collections::BTreeMap;

use record::{LaunchProfile, PathTime, Profile};

/// The paths of one launch of one arm, summed over its profiled rounds.
#[derive(Debug, Default)]
pub(super) struct Paths {
    rounds: u64,
    wall_ns: u64,
    /// Calls and own time, by the names from the root on.
    times: BTreeMap<Vec<String>, (u64, u64)>,
}

impl Paths {
    /// Adds a round. Scopes that only an index tells apart are one path.
    pub(super) fn add(&mut self, profile: &Profile, wall_s: f64) {
        self.rounds += 1;
        self.wall_ns += (wall_s * 1e9) as u64;
        let mut paths: Vec<Vec<String>> = Vec::with_capacity(profile.scopes.len());
        for scope in &profile.scopes {
            let above = scope.parent.and_then(|parent| paths.get(parent)).cloned().unwrap_or_default();
            let path = [above, vec![scope.name.clone()]].concat();
            let (calls, self_ns) = self.times.entry(path.clone()).or_default();
            *calls += scope.calls;
            *self_ns += scope.self_ns;
            paths.push(path);
        }
    }

    /// Whether no round was added.
    pub(super) fn is_empty(&self) -> bool {
        self.rounds == 0
    }

    /// As the record has it.
    pub(super) fn finish(self, arm: &str, launch: u64) -> LaunchProfile {
        let path = |(path, (calls, self_ns))| PathTime { path, calls, self_ns };
        let paths = self.times.into_iter().map(path).collect();
        LaunchProfile { arm: arm.to_owned(), launch, rounds: self.rounds, wall_ns: self.wall_ns, paths }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::Scope;

    #[test]
    fn layers_and_rounds_are_summed() {
        let scope = |name: &str, parent, index, self_ns| Scope {
            name: name.to_owned(),
            parent,
            index,
            calls: 1,
            self_ns,
            ..Scope::default()
        };
        let scopes = vec![
            scope("pass", None, None, 5),
            scope("layer", Some(0), Some(0), 10),
            scope("layer", Some(0), Some(1), 20),
            scope("layer", None, None, 40),
        ];
        let profile = Profile { scopes, ..Profile::default() };
        let mut paths = Paths::default();
        paths.add(&profile, 0.5);
        paths.add(&profile, 0.25);
        let found = paths.finish("B", 3);
        assert_eq!((found.arm.as_str(), found.launch, found.rounds, found.wall_ns), ("B", 3, 2, 750_000_000));
        let times: Vec<_> = found.paths.iter().map(|path| (path.path.join("/"), path.calls, path.self_ns)).collect();
        assert_eq!(times, [("layer".into(), 2, 80), ("pass".into(), 2, 10), ("pass/layer".into(), 4, 60)]);
    }
}
