//! Totals over root scopes, so that nothing is counted twice.

use record::{Row, ScopeChange, ScopeFigures, Total, Totals};

use super::rows::RunView;
use crate::median;

/// Of the call trees, where both runs have one, else of the rows, one call of each.
pub(super) fn totals(base: &RunView<'_>, candidate: &RunView<'_>, scopes: &[ScopeChange]) -> Option<Totals> {
    if !scopes.is_empty() {
        let [base, candidate] = [|scope: &ScopeChange| scope.base, |scope: &ScopeChange| scope.candidate]
            .map(|side: fn(&ScopeChange) -> Option<ScopeFigures>| of_scopes(scopes, side));
        return Some(Totals { of: "scopes".to_owned(), base, candidate });
    }
    let (base, candidate) = (of_rows(base), of_rows(candidate));
    (base.is_some() || candidate.is_some()).then(|| Totals { of: "rows".to_owned(), base, candidate })
}

fn of_scopes(scopes: &[ScopeChange], side: fn(&ScopeChange) -> Option<ScopeFigures>) -> Option<Total> {
    let all = || scopes.iter().filter_map(|scope| Some((scope.parent.is_none(), side(scope)?)));
    let roots: Vec<ScopeFigures> = all().filter(|(is_root, _)| *is_root).map(|(_, figures)| figures).collect();
    (!roots.is_empty()).then(|| Total {
        roots: roots.len() as u64,
        seconds: roots.iter().map(|figures| figures.total_s).sum(),
        alloc_bytes: roots.iter().map(|figures| figures.alloc_bytes).sum(),
        all: all().count() as u64,
        nested_s: all().map(|(_, figures)| figures.total_s).sum(),
    })
}

fn of_rows(view: &RunView<'_>) -> Option<Total> {
    let rows = &view.run.rows;
    let is_root = |row: &Row| row.part_of.as_ref().is_none_or(|whole| rows.iter().all(|row| row.name != *whole));
    let timed: Vec<(&Row, f64)> = rows.iter().filter_map(|row| Some((row, view.call_s(row)?))).collect();
    let roots: Vec<&(&Row, f64)> = timed.iter().filter(|(row, _)| is_root(row)).collect();
    (!roots.is_empty()).then(|| Total {
        roots: roots.len() as u64,
        seconds: roots.iter().map(|(_, seconds)| seconds).sum(),
        alloc_bytes: roots.iter().map(|(row, _)| median(&view.per_call(row, "alloc_bytes"))).sum(),
        all: timed.len() as u64,
        nested_s: timed.iter().map(|(_, seconds)| seconds).sum(),
    })
}
