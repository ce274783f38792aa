//! From calls in the order in which they ended to calls inside calls.
//!
//! A call that ends takes in those that ended before it, as long as they lie below it in the tree and began no earlier. The
//! tree decides where times alone cannot: a call without length may stand before, behind or inside another that begins at
//! the same nanosecond. Scopes that ended in another order than they began overlap in part; viewers cannot draw that in one
//! track, so they get further ones.

use std::collections::BTreeSet;

use record::Timeline;

use super::picture::Slice;
use super::tree::Tree;

/// Starts and lengths are rounded each for itself, so that an end may be this much too late.
const ROUNDING_NS: u64 = 2;

struct Call {
    scope: usize,
    start_ns: u64,
    end_ns: u64,
    /// The calls in it, in the order of time.
    inside: Vec<usize>,
}

/// The calls of a thread, in as many tracks as it takes; the first has all that a thread without overlaps has.
pub(super) fn lanes(timeline: &Timeline, tree: &Tree) -> Vec<Vec<Slice>> {
    let (calls, mut outermost) = nested(timeline, tree);
    outermost.sort_by_key(|call| calls[*call].start_ns);
    let mut lanes: Vec<Vec<Slice>> = vec![Vec::new()];
    let mut ends = vec![0_u64];
    // The further lanes by their ends, so that many of them are searched as quickly as few.
    let mut further: BTreeSet<(u64, usize)> = BTreeSet::new();
    for call in outermost {
        let latest = calls[call].start_ns.saturating_add(ROUNDING_NS);
        let lane = if ends[0] <= latest {
            0
        } else if let Some(free) = further.range(..=(latest, usize::MAX)).next_back().copied() {
            further.remove(&free);
            free.1
        } else {
            lanes.push(Vec::new());
            ends.push(0);
            lanes.len() - 1
        };
        lay(&calls, call, ends[lane], &mut lanes[lane]);
        ends[lane] = ends[lane].max(calls[call].end_ns);
        if lane > 0 {
            further.insert((ends[lane], lane));
        }
    }
    lanes
}

/// The calls, and which of them are in no other.
fn nested(timeline: &Timeline, tree: &Tree) -> (Vec<Call>, Vec<usize>) {
    let mut calls: Vec<Call> = Vec::with_capacity(timeline.scopes.len());
    let mut ended: Vec<usize> = Vec::new();
    let times = timeline.starts_ns.iter().zip(&timeline.durations_ns);
    for (&scope, (&start_ns, &duration_ns)) in timeline.scopes.iter().zip(times) {
        let end_ns = start_ns.saturating_add(duration_ns);
        let mut inside = Vec::new();
        let mut latest = end_ns.saturating_add(ROUNDING_NS);
        while let Some(&last) = ended.last() {
            let call = &calls[last];
            let fits = call.start_ns.saturating_add(ROUNDING_NS) >= start_ns && call.end_ns <= latest;
            if !fits || !tree.is_below(call.scope, scope) {
                break;
            }
            latest = call.start_ns.saturating_add(ROUNDING_NS);
            inside.push(last);
            ended.pop();
        }
        inside.reverse();
        ended.push(calls.len());
        calls.push(Call { scope, start_ns, end_ns, inside });
    }
    (calls, ended)
}

/// Puts a call and all in it on a lane, which is free from `from_ns` on. What rounding has pushed over an edge is cut there.
fn lay(calls: &[Call], call: usize, from_ns: u64, lane: &mut Vec<Slice>) {
    let slice_in = |call: usize, depth: usize, from_ns: u64, to_ns: u64| {
        let start_ns = calls[call].start_ns.clamp(from_ns, to_ns.max(from_ns));
        let end_ns = calls[call].end_ns.clamp(start_ns, to_ns.max(start_ns));
        Slice { scope: calls[call].scope, start_ns, end_ns, depth }
    };
    let outer = slice_in(call, 0, from_ns, u64::MAX);
    lane.push(outer);
    // The calls that are open: each one's slice, how far it is filled, and what is left to put into it.
    let mut open = vec![(outer, outer.start_ns, calls[call].inside.iter())];
    while let Some((around, filled_ns, rest)) = open.last_mut() {
        let Some(&next) = rest.next() else {
            open.pop();
            continue;
        };
        let slice = slice_in(next, around.depth + 1, *filled_ns, around.end_ns);
        *filled_ns = slice.end_ns;
        lane.push(slice);
        open.push((slice, slice.start_ns, calls[next].inside.iter()));
    }
}
