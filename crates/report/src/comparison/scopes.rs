//! The call trees: what takes less and more time, where the change comes from, what came and went.

use std::collections::{HashMap, HashSet};

use compare::Estimate;
use record::{Comparison, Presence, ScopeChange, ScopeFigures, Waterfall, WaterfallPart};

use super::is_comparable;
use super::values::{both, changed, signed_seconds};
use crate::document::{Block, Section, Table};
use crate::units::{count, mean_bytes, mean_count, plural, seconds, seconds_within};
use profile::short_names;
use profile::{marks, tilde};

/// The trees with indices taken together, and what their scopes are called in short.
struct Trees<'a> {
    comparison: &'a Comparison,
    scopes: Vec<ScopeChange>,
    short: HashMap<String, String>,
    top: usize,
}

pub(super) fn sections(comparison: &Comparison, top: usize) -> Vec<Section> {
    let scopes = compare::without_indices(&comparison.scopes);
    let mut names: Vec<&str> =
        scopes.iter().flat_map(|scope| scope.was.iter().chain([&scope.name])).map(String::as_str).collect();
    names.sort_unstable();
    names.dedup();
    let short =
        names.iter().zip(short_names(&names)).map(|(name, short)| ((*name).to_owned(), short.to_owned())).collect();
    let trees = Trees { comparison, scopes, short, top };
    let sections = [trees.moved(false), trees.moved(true), trees.waterfall(), trees.came_and_went(), trees.detail()];
    sections.into_iter().flatten().collect()
}

impl Trees<'_> {
    fn name<'n>(&'n self, name: &'n str) -> &'n str {
        self.short.get(name).map_or(name, String::as_str)
    }

    /// The end of a path, which says most, stands last.
    fn path(&self, names: &[String]) -> String {
        let names: Vec<&str> = names.iter().map(|name| self.name(name)).collect();
        names.join(" > ")
    }

    fn why(&self) -> Option<&Waterfall> {
        self.comparison.why.as_ref()
    }

    /// Where less time was spent, or more: own times, so that nothing is counted again in what called it.
    fn moved(&self, more: bool) -> Option<Section> {
        let is_it = |part: &&WaterfallPart| !part.path.is_empty() && (part.change.estimate > 0.0) == more;
        let parts: Vec<&WaterfallPart> = self.why()?.parts.iter().filter(is_it).collect();
        let mut table = Table::new(&["path", "calls", "before", "after", "difference", "change"]);
        for part in parts.iter().take(self.top) {
            let change = part.base_s.zip(part.candidate_s).filter(|_| is_comparable(self.comparison));
            table.row([
                self.path(&part.path),
                both(&calls(part.base_calls), &calls(part.candidate_calls)),
                side(part.base_s, part.base_se_s),
                side(part.candidate_s, part.candidate_se_s),
                signed_seconds(part.change.estimate),
                match is_within_error(part) {
                    true => "within \u{b1}".to_owned(),
                    false => change.and_then(|(old, new)| changed(old, new)).unwrap_or_default(),
                },
            ]);
        }
        let title = match (is_comparable(self.comparison), more) {
            (true, false) => "IMPROVEMENTS",
            (true, true) => "REGRESSIONS",
            (false, false) => "LESS TIME",
            (false, true) => "MORE TIME",
        };
        let which = if more { "longer" } else { "less time" };
        let explanation = format!(
            "self time of {} that took {which}, largest difference first; one profile per side, so not proven{}",
            plural(parts.len() as u64, "path"),
            marks(&table)
        );
        (!table.is_empty()).then(|| Section::new(title, &explanation).with(Block::Table(table)))
    }

    /// From the time before to the time after.
    fn waterfall(&self) -> Option<Section> {
        let why = self.why()?;
        let mut table = Table::new(&["part", "difference", "running total"]);
        table.row(["before".to_owned(), String::new(), seconds(why.base_s)]);
        let mut sum = why.base_s;
        let mut step = |table: &mut Table, name: String, change: f64| {
            sum += change;
            table.row([name, signed_seconds(change), seconds(sum.max(0.0))]);
        };
        let (named, unnamed): (Vec<&WaterfallPart>, Vec<&WaterfallPart>) =
            why.parts.iter().partition(|part| !part.path.is_empty());
        for part in named.iter().take(self.top) {
            step(&mut table, self.path(&part.path), part.change.estimate);
        }
        let rest: Vec<f64> = named.iter().skip(self.top).map(|part| part.change.estimate).collect();
        if !rest.is_empty() {
            let name = format!("{} with smaller differences", plural(rest.len() as u64, "other path"));
            step(&mut table, name, rest.iter().sum());
        }
        for part in unnamed {
            step(&mut table, "(no scope)".to_owned(), part.change.estimate);
        }
        table.row(["after".to_owned(), signed_seconds(why.total.estimate), seconds(why.candidate_s)]);
        let explanation = "self times; the differences sum to the total";
        Some(Section::new("WHY", explanation).with(Block::Table(table)))
    }

    fn path_of(&self, at: usize) -> String {
        let above = std::iter::successors(Some(at), |place| self.scopes[*place].parent);
        // Deep ones are cut where no column has room for them.
        let mut names: Vec<&str> = above.take(24).map(|place| self.name(&self.scopes[place].name)).collect();
        names.reverse();
        names.join(" > ")
    }

    fn came_and_went(&self) -> Option<Section> {
        let mut table = Table::new(&["path", "change", "calls", "total", "evidence"]).with_words_last();
        table.columns[1].is_text = true;
        let mut hidden = 0;
        for (presence, what) in
            [(Presence::Added, "added"), (Presence::Removed, "removed"), (Presence::Renamed, "renamed")]
        {
            let mut found: Vec<usize> = (0..self.scopes.len()).filter(|at| self.stands_out(*at, presence)).collect();
            found.sort_by(|a, b| time(&self.scopes[*b]).total_cmp(&time(&self.scopes[*a])));
            hidden += found.len().saturating_sub(self.top);
            for at in found.into_iter().take(self.top) {
                table.row(self.arrival(at, what));
            }
        }
        let explanation = "scopes on one side only, and renamed ones; their callees moved with them";
        let section = Section::new("ADDED, REMOVED, RENAMED", explanation);
        let rest = format!("{} more.", count(hidden as u64));
        (!table.is_empty()).then(|| {
            let section = section.with(Block::Table(table));
            if hidden > 0 { section.with(Block::Text(rest)) } else { section }
        })
    }

    /// Of this kind, and not only because its parent is.
    fn stands_out(&self, at: usize, presence: Presence) -> bool {
        let scope = &self.scopes[at];
        let parent = scope.parent.map(|parent| self.scopes[parent].presence);
        scope.presence == presence && (presence == Presence::Renamed || parent != Some(presence))
    }

    fn arrival(&self, at: usize, what: &str) -> Vec<String> {
        let scope = &self.scopes[at];
        let sides = [scope.base, scope.candidate];
        let pair = |of: fn(&ScopeFigures) -> f64, written: fn(f64) -> String| {
            let mut cells = sides.iter().flatten().map(|figures| written(of(figures)));
            match (cells.next(), cells.next()) {
                (Some(old), Some(new)) => both(&old, &new),
                (old, _) => old.unwrap_or_default(),
            }
        };
        let was = scope.was.as_ref().map_or(String::new(), |was| format!("was `{}`: ", self.name(was)));
        vec![
            self.path_of(at),
            what.to_owned(),
            pair(|figures| figures.calls, |calls| mean_count(calls.round())),
            pair(|figures| figures.total_s, seconds),
            was + scope.evidence.as_deref().unwrap_or_default(),
        ]
    }

    /// The scopes with most time, in the order of the tree.
    fn detail(&self) -> Option<Section> {
        let mut order: Vec<usize> = (0..self.scopes.len()).collect();
        order.sort_by(|a, b| time(&self.scopes[*b]).total_cmp(&time(&self.scopes[*a])));
        let mut shown: HashSet<usize> = HashSet::new();
        for at in order.into_iter().take(3 * self.top) {
            // Who is shown without what called it stands at the wrong place.
            shown.extend(std::iter::successors(Some(at), |place| self.scopes[*place].parent).take(64));
        }
        let headings =
            ["scope", "calls", "total before", "after", "difference", "self before", "after", "allocated", ""];
        let mut table = Table::new(&headings).with_words_last().least_important(&["allocated", "calls"]);
        let mut depths: Vec<usize> = Vec::with_capacity(self.scopes.len());
        for (at, scope) in self.scopes.iter().enumerate() {
            depths.push(scope.parent.map_or(0, |parent| depths[parent] + 1));
            if shown.contains(&at) {
                table.row_at(depths[at], self.cells(scope));
            }
        }
        let hidden = self.scopes.len() - shown.len();
        let explanation = format!(
            "total: with callees; self: without; indices combined{}{}",
            if hidden > 0 {
                format!("; {} with less time not shown", plural(hidden as u64, "scope"))
            } else {
                String::new()
            },
            marks(&table)
        );
        (!table.is_empty()).then(|| Section::new("CALL TREE", &explanation).with(Block::Table(table)))
    }

    fn cells(&self, scope: &ScopeChange) -> Vec<String> {
        let sides = [scope.base, scope.candidate];
        let total = |figures: ScopeFigures| estimated(figures.total_s, figures.total_se_s, figures.is_estimate);
        // A self time beside sampled parts is an estimate too, and has an error then.
        let own = |figures: ScopeFigures| estimated(figures.self_s, figures.self_se_s, figures.is_estimate);
        let [old, new] = sides.map(|side| side.map_or_else(String::new, total));
        let [old_self, new_self] = sides.map(|side| side.map_or_else(String::new, own));
        let difference = scope.base.zip(scope.candidate).map(|(old, new)| signed_seconds(new.total_s - old.total_s));
        let [old_calls, new_calls] = sides.map(|side| calls(side.map(|figures| figures.calls)));
        let [old_bytes, new_bytes] = sides.map(|side| side.and_then(|figures| figures.alloc_bytes).map(mean_bytes));
        let word = match scope.presence {
            Presence::Kept => String::new(),
            Presence::Added => "added".to_owned(),
            Presence::Removed => "removed".to_owned(),
            Presence::Renamed => format!("was `{}`", self.name(scope.was.as_deref().unwrap_or_default())),
        };
        let allocated = match (old_bytes, new_bytes) {
            (Some(old), Some(new)) => both(&old, &new),
            (old, new) => old.or(new).unwrap_or_default(),
        };
        let name = self.name(&scope.name).to_owned();
        vec![
            name,
            both(&old_calls, &new_calls),
            old,
            new,
            difference.unwrap_or_default(),
            old_self,
            new_self,
            allocated,
            word,
        ]
    }
}

/// A time, with its error where it was estimated and that is known.
fn estimated(value: f64, se: Option<f64>, is_estimate: bool) -> String {
    match (Estimate { value, se }).half_width() {
        Some(half) => seconds_within(value, half),
        None => tilde(is_estimate, seconds(value)),
    }
}

fn side(time: Option<f64>, se: Option<f64>) -> String {
    time.map_or_else(|| "absent".to_owned(), |time| estimated(time, se, false))
}

/// Whether the difference lies within what sampling leaves uncertain: then nothing says that it is one.
fn is_within_error(part: &WaterfallPart) -> bool {
    let se = compare::error_of_sum(part.base_se_s, part.candidate_se_s);
    let change = Estimate { value: part.change.estimate.abs(), se };
    change.se.is_some() && change.low() == 0.0
}

/// Where what is scaled need not be whole.
fn calls(calls: Option<f64>) -> String {
    calls.map_or_else(|| "0".to_owned(), |calls| mean_count(calls.round()))
}

/// The longer of both sides.
fn time(scope: &ScopeChange) -> f64 {
    [scope.base, scope.candidate].iter().flatten().map(|figures| figures.total_s).fold(0.0, f64::max)
}
