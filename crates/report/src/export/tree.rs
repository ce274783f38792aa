//! The merged call tree: who is below whom, and how long each part is drawn.

use record::Profile;

/// The tree of a profile's scopes.
pub(super) struct Tree {
    /// The scopes, each before those below it, siblings in the order of the record.
    pub(super) order: Vec<usize>,
    /// For each scope: its place in `order`.
    place: Vec<usize>,
    /// For each scope: the place behind the last one below it.
    end: Vec<usize>,
    /// For each scope: how many stand above it.
    pub(super) depth: Vec<usize>,
    /// For each scope: its self time and the lengths of those below it. Where the record is sound it is the total time; taken
    /// from the parts, so that they fill the whole in any case.
    pub(super) length_ns: Vec<u64>,
}

impl Tree {
    pub(super) fn new(profile: &Profile) -> Self {
        let scopes = &profile.scopes;
        let mut depth = vec![0; scopes.len()];
        let mut children: Vec<Vec<usize>> = vec![Vec::new(); scopes.len()];
        let mut waiting = Vec::new();
        for (at, scope) in scopes.iter().enumerate() {
            match scope.parent {
                Some(parent) => {
                    depth[at] = depth[parent] + 1;
                    children[parent].push(at);
                }
                None => waiting.push(at),
            }
        }
        waiting.reverse();
        let mut order = Vec::with_capacity(scopes.len());
        let mut place = vec![0; scopes.len()];
        while let Some(at) = waiting.pop() {
            place[at] = order.len();
            order.push(at);
            waiting.extend(children[at].iter().rev());
        }
        let mut length_ns: Vec<u64> = scopes.iter().map(|scope| scope.self_ns).collect();
        let mut end: Vec<usize> = place.iter().map(|place| place + 1).collect();
        for at in (0..scopes.len()).rev() {
            if let Some(parent) = scopes[at].parent {
                length_ns[parent] = length_ns[parent].saturating_add(length_ns[at]);
                end[parent] = end[parent].max(end[at]);
            }
        }
        Self { order, place, end, depth, length_ns }
    }

    /// Whether one scope lies below another.
    pub(super) fn is_below(&self, scope: usize, other: usize) -> bool {
        self.place[other] < self.place[scope] && self.place[scope] < self.end[other]
    }

    /// For each scope, in the order of the tree: where it begins when everything is laid one behind the other, each part
    /// from the beginning of its whole on.
    pub(super) fn starts_ns(&self, profile: &Profile) -> Vec<(usize, u64)> {
        let mut roots_end = 0_u64;
        // For each scope: where the next one below it begins.
        let mut next = vec![0_u64; self.order.len()];
        let mut starts = Vec::with_capacity(self.order.len());
        for &at in &self.order {
            let length = self.length_ns[at];
            let cursor = match profile.scopes[at].parent {
                Some(parent) => &mut next[parent],
                None => &mut roots_end,
            };
            let start = *cursor;
            *cursor = start.saturating_add(length);
            next[at] = start;
            starts.push((at, start));
        }
        starts
    }
}
