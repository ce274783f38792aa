//! Compares rows, metric by metric.

use std::collections::{BTreeMap, HashMap};

use record::{Judgement, Metric, Model, Phase, Presence, Row, RowChange, Run, Sample, Verdict, WorkRate};

use super::judge::{RunQuestion, judged};
use crate::rules::is_summed;
use crate::{MachineLimits, median, row_work};

/// A run, prepared for being asked about rows.
pub(super) struct RunView<'a> {
    pub(super) run: &'a Run,
    timed: HashMap<&'a str, Vec<&'a Sample>>,
    bounds: Option<MachineLimits<'a>>,
}

/// How often a row was repeated.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Counts {
    pub(super) timed: u64,
    /// Those before the first that counts too.
    pub(super) all: u64,
}

/// How often each row was repeated.
pub(super) fn sample_counts(run: &Run) -> HashMap<&str, Counts> {
    let mut counts: HashMap<&str, Counts> = HashMap::new();
    for sample in &run.samples {
        let count = counts.entry(&sample.row).or_default();
        count.all += 1;
        count.timed += u64::from(sample.phase == Phase::Timed);
    }
    counts
}

impl<'a> RunView<'a> {
    pub(super) fn new(run: &'a Run) -> Self {
        let mut timed: HashMap<&str, Vec<&Sample>> = HashMap::new();
        for sample in run.samples.iter().filter(|sample| sample.phase == Phase::Timed) {
            timed.entry(&sample.row).or_default().push(sample);
        }
        RunView { run, timed, bounds: MachineLimits::of(run) }
    }

    pub(super) fn samples(&self, row: &str) -> &[&'a Sample] {
        self.timed.get(row).map_or(&[], Vec::as_slice)
    }

    /// A metric for one call, of every sample that has it; of values that come several to a sample their median.
    pub(super) fn per_call(&self, row: &Row, metric: &str) -> Vec<f64> {
        let meaning = self.run.metrics.get(metric).cloned().unwrap_or_default();
        let calls = if is_summed(metric, &meaning) { row.calls.max(1) as f64 } else { 1.0 };
        let value = |sample: &&Sample| {
            let series = || median(sample.series.get(metric)?);
            sample.values.get(metric).map(|value| value / calls).or_else(series).filter(|value| value.is_finite())
        };
        self.samples(&row.name).iter().filter_map(value).collect()
    }

    /// The median time of one call.
    pub(super) fn call_s(&self, row: &Row) -> Option<f64> {
        median(&self.per_call(row, "wall_s")).filter(|seconds| *seconds > 0.0)
    }

    /// The model of a row; the only one, where the row does not say.
    pub(super) fn model(&self, row: &Row) -> Option<&'a Model> {
        match (&row.model, self.run.models.as_slice()) {
            (Some(name), models) => models.iter().find(|model| model.name == *name),
            (None, [only]) => Some(only),
            _ => None,
        }
    }

    /// What a call does in its time: tokens, or what limits it, or what is declared.
    pub(super) fn speed(&self, row: &Row) -> Option<WorkRate> {
        let call_s = self.call_s(row)?;
        let is_int8 = row.limited_by.as_deref() == Some("int8");
        let flops = row.flops.map(|amount| (amount, if is_int8 { "OP" } else { "FLOP" }));
        let bytes = row.bytes.map(|amount| (amount, "B"));
        let declared = match row.limited_by.as_deref() {
            Some("read") => bytes.or(flops),
            _ => flops.or(bytes),
        };
        let (amount, unit) =
            row.tokens.map(|amount| (amount, "tok")).or(declared).filter(|(amount, _)| *amount > 0.0)?;
        let threads = || self.run.workload.parameters.get("threads")?.parse().ok();
        let work = row_work(row, self.model(row), row.threads.or_else(threads));
        let roof = work.and_then(|work| self.bounds?.roof(&work));
        Some(WorkRate {
            call_s,
            per_second: amount / call_s,
            unit: unit.to_owned(),
            share: roof.as_ref().map(|roof| roof.seconds / call_s),
            limit: roof.map(|roof| roof.by),
        })
    }
}

/// Every row of both runs, in the order of the candidate, behind it what is gone.
pub(super) fn rows(base: &RunView<'_>, candidate: &RunView<'_>, question: &RunQuestion) -> Vec<RowChange> {
    let by_name = |view: &RunView<'_>| -> HashMap<String, usize> {
        view.run.rows.iter().enumerate().map(|(at, row)| (row.name.clone(), at)).rev().collect()
    };
    let (known, newer) = (by_name(base), by_name(candidate));
    let old = |name: &str| known.get(name).map(|at| &base.run.rows[*at]);
    let mut rows: Vec<RowChange> =
        candidate.run.rows.iter().map(|row| change(base, candidate, [old(&row.name), Some(row)], question)).collect();
    let gone = base.run.rows.iter().filter(|row| !newer.contains_key(&row.name));
    rows.extend(gone.map(|row| change(base, candidate, [Some(row), None], question)));
    rows.extend(process(base.run, candidate.run, question));
    rows
}

fn change(base: &RunView<'_>, candidate: &RunView<'_>, pair: [Option<&Row>; 2], question: &RunQuestion) -> RowChange {
    let [old, new] = pair;
    let shown = new.or(old).cloned().unwrap_or_default();
    let samples = |view: &RunView<'_>, row: Option<&Row>| row.map_or(0, |row| view.samples(&row.name).len() as u64);
    let judgements = match (old, new) {
        (Some(old), Some(new)) => judgements(base, candidate, [old, new], question),
        _ => Vec::new(),
    };
    RowChange {
        name: shown.name,
        part_of: shown.part_of,
        model: shown.model,
        presence: presence(old.is_some(), new.is_some()),
        base_samples: samples(base, old),
        candidate_samples: samples(candidate, new),
        base: old.and_then(|row| base.speed(row)),
        candidate: new.and_then(|row| candidate.speed(row)),
        judgements,
    }
}

fn presence(before: bool, after: bool) -> Presence {
    match (before, after) {
        (true, false) => Presence::Removed,
        (false, true) => Presence::Added,
        _ => Presence::Kept,
    }
}

/// The metrics that come first; the others follow by their names.
const FIRST: [&str; 4] = ["wall_s", "cpu_s", "ttft_s", "token_s"];

fn judgements(
    base: &RunView<'_>,
    candidate: &RunView<'_>,
    [old, new]: [&Row; 2],
    question: &RunQuestion,
) -> Vec<Judgement> {
    let mut names: Vec<&str> = Vec::new();
    for (view, row) in [(base, old), (candidate, new)] {
        for sample in view.samples(&row.name) {
            names.extend(sample.values.keys().chain(sample.series.keys()).map(String::as_str));
        }
    }
    names.sort_unstable();
    names.dedup();
    names.sort_by_key(|name| FIRST.iter().position(|first| first == name).unwrap_or(FIRST.len()));
    let other_work = other_work(old, new);
    let is_root = new.part_of.as_ref().is_none_or(|whole| candidate.run.rows.iter().all(|row| row.name != *whole));
    let judgement = |name: &&str| {
        let metrics = [base, candidate].map(|view| view.run.metrics.get(*name));
        let other = other_definition(metrics).or_else(|| other_work.clone());
        let values = [base.per_call(old, name), candidate.per_call(new, name)];
        let metric = metrics[1].or(metrics[0]).cloned().unwrap_or_default();
        let mut found = judged((name, &metric), [&values[0], &values[1]], question);
        found.gate = *name == "wall_s" && is_root;
        if let Some(other) = other {
            (found.verdict, found.sentence, found.change, found.estimate) = (Verdict::Incomparable, other, None, None);
        }
        found
    };
    names.iter().map(judgement).collect()
}

/// Whether a call does other work than before, as far as both say.
fn other_work(old: &Row, new: &Row) -> Option<String> {
    let amounts = [("FLOP", old.flops, new.flops), ("bytes", old.bytes, new.bytes), ("tokens", old.tokens, new.tokens)];
    amounts.into_iter().find_map(|(unit, before, after)| {
        let (before, after) = before.zip(after).filter(|(before, after)| before != after)?;
        Some(format!("a call does different work: {before} {unit} before, {after} after"))
    })
}

fn other_definition(metrics: [Option<&Metric>; 2]) -> Option<String> {
    let [old, new] = [metrics[0]?, metrics[1]?];
    let same = old.definition == new.definition && old.unit == new.unit && old.better == new.better;
    (!same).then(|| format!("the definition changed: `{}` before, `{}` after", old.definition, new.definition))
}

/// What the names of both runs mean.
pub(super) fn metrics(base: &Run, candidate: &Run) -> BTreeMap<String, Metric> {
    let told = base.metrics.iter().chain(&candidate.metrics).map(|(name, metric)| (name.clone(), metric.clone()));
    process_metrics().chain(told).collect()
}

/// What is told of a process.
fn process_metrics() -> impl Iterator<Item = (String, Metric)> {
    let about = [
        ("cpu_s", "CPU time of all threads", "s"),
        ("peak_rss_bytes", "the most memory that the process had at a time", "bytes"),
    ];
    about.into_iter().map(|(name, definition, unit)| {
        let metric = Metric { definition: definition.to_owned(), unit: unit.to_owned(), ..Metric::default() };
        (name.to_owned(), metric)
    })
}

/// The name of the row that is the whole process.
const PROCESS: &str = "(the process)";

/// What each process took as a whole: one value of each.
fn process(base: &Run, candidate: &Run, question: &RunQuestion) -> Option<RowChange> {
    let (old, new) = (base.process.as_ref()?, candidate.process.as_ref()?);
    let used = |process: &record::ProcessUse| {
        let cpu = process.user_s.zip(process.system_s).map(|(user, system)| user + system);
        let rss = process.peak_rss_bytes.map(|bytes| bytes as f64);
        let values = [("cpu_s", cpu), ("peak_rss_bytes", rss)];
        values.into_iter().filter_map(|(name, value)| Some((name, value?))).collect::<BTreeMap<&str, f64>>()
    };
    let (old, new) = (used(old), used(new));
    let judgement = |(name, before): (&&str, &f64)| {
        let after = new.get(name)?;
        Some(judged((name, &Metric::default()), [&[*before], &[*after]], question))
    };
    let judgements: Vec<Judgement> = old.iter().filter_map(judgement).collect();
    (!judgements.is_empty()).then(|| RowChange {
        name: PROCESS.to_owned(),
        base_samples: 1,
        candidate_samples: 1,
        judgements,
        ..RowChange::default()
    })
}
