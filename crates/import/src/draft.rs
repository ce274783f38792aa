//! A run that is being made of what was read.

use std::collections::BTreeMap;

use record::{Better, Metric, Phase, Profile, RUN_SCHEMA, RUN_VERSION, Row, Run, Sample, Unread, WorkloadKind};

use crate::Source;
use crate::numbers::rfc3339;

/// What is usual to measure: name, definition, unit. Who measured decides on the rest.
const METRICS: &[(&str, &str, &str)] = &[
    ("wall_s", "time of the sample by the clock, as the program told it", "s"),
    ("cpu_s", "CPU time of the sample, as the program told it", "s"),
    ("user_s", "CPU time in the program", "s"),
    ("system_s", "CPU time in the system on its behalf", "s"),
    ("alloc_bytes", "bytes allocated by the whole process during the sample, as the program told it", "bytes"),
    ("peak_rss_bytes", "the most resident memory of the process", "bytes"),
    ("wall_min_s", "the shortest of the calls, where each was timed and all but a few figures were thrown away", "s"),
    ("wall_max_s", "the longest of them", "s"),
];

/// A run, and what decides whether there is one.
#[derive(Debug, Default)]
pub(crate) struct Draft {
    pub(crate) run: Run,
    /// Which of several in the text.
    pub(crate) part: Option<String>,
    pub(crate) single_shot: bool,
    pub(crate) summarised: bool,
}

impl Draft {
    /// One of a workload that another program did.
    pub(crate) fn new(subject: &str, workload: &str) -> Self {
        let mut draft = Draft::default();
        draft.run.subject.name = subject.to_owned();
        draft.run.workload.name = workload.to_owned();
        draft.run.workload.kind = Some(WorkloadKind::Import);
        draft
    }

    pub(crate) fn note(&mut self, note: impl Into<String>) {
        self.run.notes.push(note.into());
    }

    pub(crate) fn parameter(&mut self, name: &str, value: impl Into<String>) {
        self.run.workload.parameters.insert(name.to_owned(), value.into());
    }

    /// Says what a name of values means, unless that was said before.
    pub(crate) fn metric(&mut self, name: &str, definition: &str, unit: &str, better: Better) {
        self.run.metrics.entry(name.to_owned()).or_insert_with(|| Metric {
            definition: definition.to_owned(),
            unit: unit.to_owned(),
            better,
            per: None,
            exact: false,
        });
    }

    /// Adds a repeat of a row. Values that are no numbers are absent.
    pub(crate) fn sample(&mut self, row: &str, round: u64, values: impl IntoIterator<Item = (String, Option<f64>)>) {
        let known = values.into_iter().filter_map(|(name, value)| Some((name, value.filter(|it| it.is_finite())?)));
        let values: BTreeMap<String, f64> = known.collect();
        for name in values.keys() {
            if let Some((_, definition, unit)) = METRICS.iter().find(|(known, ..)| known == name) {
                self.metric(name, definition, unit, Better::Lower);
            }
        }
        if !values.is_empty() {
            self.run.samples.push(Sample {
                row: row.to_owned(),
                phase: Phase::Timed,
                round,
                values,
                ..Sample::default()
            });
        }
    }

    /// Adds a row, and its one value of time.
    pub(crate) fn row(&mut self, row: Row) {
        self.run.rows.push(row);
    }

    pub(crate) fn profile(&mut self, profile: Profile) {
        self.run.profile = Some(profile);
    }

    /// The run; nothing where nothing was measured.
    pub(crate) fn finish(self, format: &str, source: &Source, unread: &[Unread]) -> Option<Run> {
        let Draft { mut run, part, single_shot, summarised } = self;
        let has_profile = run.profile.as_ref().is_some_and(|profile| !profile.scopes.is_empty());
        if run.samples.is_empty() && !has_profile {
            return None;
        }
        run.schema = RUN_SCHEMA.to_owned();
        run.version = RUN_VERSION;
        run.tool = source.tool.clone();
        if run.created.is_empty()
            && let Some(modified) = source.modified_s.and_then(rfc3339)
        {
            run.created = modified;
            run.notes.push("The measurement has no date; the file's date is used.".to_owned());
        }
        run.imported = Some(record::Imported {
            format: format.to_owned(),
            source: source.name.clone(),
            source_blake3: None,
            part,
            single_shot,
            summarised,
            unread: unread.to_vec(),
        });
        Some(run)
    }
}

/// A value by its name.
pub(crate) fn value(name: &str, value: f64) -> (String, Option<f64>) {
    (name.to_owned(), Some(value))
}
