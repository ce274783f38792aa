//! Where the change of the roots comes from.

use record::{ScopeChange, ScopeFigures, TimeDifference, Waterfall, WaterfallPart};

/// Names in all paths together. A tree may be as deep as it has scopes: the smallest changes of such a one are one part.
const NAMES: usize = 200_000;

/// The changes of the own times, the largest first, which sum to the change of the roots; of scopes without indices.
pub(in crate::runs) fn why(merged: &[ScopeChange]) -> Option<Waterfall> {
    let roots = || merged.iter().filter(|scope| scope.parent.is_none());
    let sum = |side: fn(&ScopeChange) -> Option<ScopeFigures>| -> f64 {
        roots().filter_map(side).map(|figures| figures.total_s).sum()
    };
    roots().next()?;
    let (base_s, candidate_s) = (sum(|scope| scope.base), sum(|scope| scope.candidate));
    let mut changed: Vec<(usize, f64)> = merged.iter().enumerate().map(|(at, scope)| (at, own_change(scope))).collect();
    changed.retain(|(_, change)| *change != 0.0);
    changed.sort_by(|a, b| b.1.abs().total_cmp(&a.1.abs()).then(a.0.cmp(&b.0)));
    let mut parts: Vec<WaterfallPart> = Vec::new();
    let mut names = 0;
    let mut rest = changed.iter();
    for (at, change) in rest.by_ref() {
        let path = path(merged, *at);
        names += path.len();
        parts.push(part(path, &merged[*at], *change));
        if names > NAMES {
            break;
        }
    }
    let small: Vec<f64> = rest.map(|(_, change)| *change).collect();
    if !small.is_empty() {
        let path = vec![format!("({} smaller changes)", small.len())];
        parts.push(WaterfallPart { path, change: guess(small.iter().sum()), ..WaterfallPart::default() });
    }
    let total = candidate_s - base_s;
    let remainder = total - parts.iter().map(|part| part.change.estimate).sum::<f64>();
    // What adding up rounds off is no part.
    if remainder.abs() > 1e-9 * base_s.abs().max(candidate_s.abs()) {
        parts.push(WaterfallPart { change: guess(remainder), ..WaterfallPart::default() });
    }
    Some(Waterfall { base_s, candidate_s, total: guess(total), parts })
}

/// One session of each side gives no bounds.
fn guess(estimate: f64) -> TimeDifference {
    TimeDifference { estimate, low: None, high: None }
}

fn own_change(scope: &ScopeChange) -> f64 {
    let own = |figures: Option<ScopeFigures>| figures.map_or(0.0, |figures| figures.self_s);
    own(scope.candidate) - own(scope.base)
}

fn part(path: Vec<String>, scope: &ScopeChange, change: f64) -> WaterfallPart {
    WaterfallPart {
        path,
        base_s: scope.base.map(|figures| figures.self_s),
        candidate_s: scope.candidate.map(|figures| figures.self_s),
        base_se_s: scope.base.and_then(|figures| figures.self_se_s),
        candidate_se_s: scope.candidate.and_then(|figures| figures.self_se_s),
        change: guess(change),
        base_calls: scope.base.map(|figures| figures.calls),
        candidate_calls: scope.candidate.map(|figures| figures.calls),
    }
}

/// The names from the root on.
fn path(merged: &[ScopeChange], at: usize) -> Vec<String> {
    let above = std::iter::successors(Some(at), |place| merged[*place].parent);
    let mut names: Vec<String> = above.map(|place| merged[place].name.clone()).collect();
    names.reverse();
    names
}
