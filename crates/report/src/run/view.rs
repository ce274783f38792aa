//! A run, prepared for being looked at from several sides: its samples by row, its tree summed up.

use std::collections::HashMap;

use record::{Model, Phase, Row, Run, Sample, WorkloadKind};

use super::limits::MachineLimits;
use profile::{CallTree, ScopeSum};

/// A run and what is computed from it once.
pub(super) struct View<'a> {
    pub(super) run: &'a Run,
    /// The first so many of every ranking.
    pub(super) top: usize,
    pub(super) bounds: Option<MachineLimits<'a>>,
    pub(super) tree: Option<CallTree<'a>>,
    timed: HashMap<&'a str, Vec<&'a Sample>>,
    models: HashMap<&'a str, &'a Model>,
    /// Of each scope the nearest row at it or above it, by name.
    scope_rows: Vec<Option<&'a Row>>,
}

impl<'a> View<'a> {
    pub(super) fn new(run: &'a Run, top: usize) -> Self {
        let mut timed: HashMap<&str, Vec<&Sample>> = HashMap::new();
        for sample in run.samples.iter().filter(|sample| sample.phase == Phase::Timed) {
            timed.entry(&sample.row).or_default().push(sample);
        }
        let tree = run.profile.as_ref().map(CallTree::new);
        let models = run.models.iter().map(|model| (model.name.as_str(), model)).collect();
        View { run, top, bounds: MachineLimits::of(run), tree, timed, models, scope_rows: scope_rows(run) }
    }

    /// The row of these scopes, of which all that matters for their limit is the same; nothing where it is not.
    pub(super) fn row_of(&self, sum: &ScopeSum<'_>) -> Option<&'a Row> {
        let mut rows = sum.places.iter().map(|place| self.scope_rows.get(*place).copied().flatten());
        let first = rows.next()??;
        let kind = |row: &'a Row| (row.threads, &row.model);
        rows.all(|row| row.is_some_and(|row| kind(row) == kind(first))).then_some(first)
    }

    /// The samples of a row that count.
    pub(super) fn samples(&self, row: &str) -> &[&'a Sample] {
        self.timed.get(row).map_or(&[], Vec::as_slice)
    }

    /// A value of every sample that has it.
    pub(super) fn values(&self, row: &str, metric: &str) -> Vec<f64> {
        let samples = self.samples(row).iter();
        samples.filter_map(|sample| sample.values.get(metric).copied()).filter(|value| value.is_finite()).collect()
    }

    /// The same for one call, from the smallest to the largest.
    pub(super) fn per_call(&self, row: &Row, metric: &str) -> Vec<f64> {
        let calls = row.calls.max(1) as f64;
        let values: Vec<f64> = self.values(&row.name, metric).iter().map(|value| value / calls).collect();
        compare::sorted(&values)
    }

    /// The values of a series of all samples, from the smallest to the largest.
    pub(super) fn series(&self, row: &str, metric: &str) -> Vec<f64> {
        let all = self.samples(row).iter().filter_map(|sample| sample.series.get(metric)).flatten();
        compare::sorted(&all.copied().filter(|value| value.is_finite()).collect::<Vec<_>>())
    }

    /// The threads that the work could use: the row's, or the run's.
    pub(super) fn threads(&self, row: Option<&Row>) -> Option<u64> {
        let asked = || self.run.workload.parameters.get("threads")?.parse().ok();
        row.and_then(|row| row.threads).or_else(asked)
    }

    /// The model of a row; the only one, where the row does not say.
    pub(super) fn model(&self, row: &Row) -> Option<&'a Model> {
        match (&row.model, &self.run.models[..]) {
            (Some(name), _) => self.models.get(name.as_str()).copied(),
            (None, [only]) => Some(only),
            _ => None,
        }
    }

    /// Whether it is a program that was measured from outside only: it has no scopes, and PROCESS says all of it.
    pub(super) fn is_foreign(&self) -> bool {
        is_foreign(self.run)
    }

    /// The time of which scopes have their shares: wall time without waiting for a CPU.
    pub(super) fn on_cpu_ns(&self) -> u64 {
        self.tree.as_ref().map_or(0, CallTree::on_cpu_ns)
    }

    /// The same in words.
    pub(super) fn whole(&self) -> &'static str {
        self.tree.as_ref().map_or("the wall time", CallTree::whole)
    }
}

/// Whether a run is of any program, run as it is.
pub(super) fn is_command(run: &Run) -> bool {
    compare::workload_kind(&run.workload) == WorkloadKind::Command
}

/// Whether a run is of a program without scopes, measured from outside.
pub(super) fn is_foreign(run: &Run) -> bool {
    is_command(run) && run.process.is_some() && run.profile.is_none()
}

/// Rows that have a scope of their name say with how many threads it and all below it work.
fn scope_rows(run: &Run) -> Vec<Option<&Row>> {
    let known = run.rows.iter().filter(|row| row.threads.is_some());
    let rows: HashMap<&str, &Row> = known.map(|row| (row.name.as_str(), row)).collect();
    let scopes = run.profile.as_ref().map_or(&[][..], |profile| &profile.scopes);
    let mut found: Vec<Option<&Row>> = Vec::with_capacity(scopes.len());
    for (at, scope) in scopes.iter().enumerate() {
        let own = scope.name.rsplit("::").next().and_then(|name| rows.get(name).copied());
        let above = || scope.parent.filter(|parent| *parent < at).and_then(|parent| found[parent]);
        found.push(own.or_else(above));
    }
    found
}

/// A duration with the interval that its true value lies in.
pub(super) struct Timing {
    pub(super) median: f64,
    pub(super) interval: Option<compare::Interval>,
    pub(super) fastest: f64,
    pub(super) samples: usize,
}

/// How sure intervals are.
pub(super) const CONFIDENCE: f64 = 0.95;

impl Timing {
    /// Of sorted values; nothing where there are none.
    pub(super) fn of(sorted: &[f64]) -> Option<Self> {
        Some(Timing {
            median: compare::quantile(sorted, 0.5)?,
            interval: compare::quantile_interval(sorted, 0.5, CONFIDENCE),
            fastest: *sorted.first()?,
            samples: sorted.len(),
        })
    }
}
