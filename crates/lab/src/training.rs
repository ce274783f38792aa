//! Turns the events of a training into rows and samples: steps, and epochs with their phases as parts.
//!
//! The lab does not depend on a trainer: the caller passes the events.

use std::collections::BTreeMap;

use record::{
    Metric, Per, Phase, Row, Sample, TrainingEpoch, TrainingEvent, TrainingStart, TrainingStep, TrainingValidation,
};

use crate::metrics::{MetricRow, described};
use crate::recorder::{MOST, WALL};

/// The name of the workload.
pub const TRAINING: &str = "training";
/// Steps at the beginning of a process that do not count: memory is touched for the first time, caches are cold.
pub const WARM_UP_STEPS: u64 = 2;

/// Metrics of samples.
const METRICS: &[MetricRow] = &[
    (WALL, "from the beginning to the end, by the clock; of a step with waiting for its data", "s", Per::Sample, false),
    ("cpu_s", "CPU time of all threads of the process", "s", Per::Sample, false),
    ("loss", "the mean loss of the tokens, in nats", "", Per::Call, false),
    ("perplexity", "e to the loss of the text that was kept back", "", Per::Call, false),
    ("allocs", "allocations in a step, the mean of all behind the first two", "count", Per::Call, false),
    ("alloc_bytes", "bytes allocated in a step, the mean of all behind the first two", "bytes", Per::Call, false),
];

/// What the phases are.
const PHASES: &[(&str, &str)] = &[
    ("data_wait", "waiting for the next batch"),
    ("forward", "from tokens to the loss"),
    ("backward", "from the loss to all gradients"),
    ("optimizer", "gradient norm, clipping and the optimiser step"),
    ("validation", "the loss on the validation text"),
    ("checkpoint", "writing checkpoints"),
    ("sample", "sampling text from the model"),
    ("overhead", "everything else"),
];

/// The rows and samples of a training.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TrainingRows {
    /// Definitions of the metrics.
    pub metrics: BTreeMap<String, Metric>,
    /// `step`, `epoch`, its phases, `validation_pass`.
    pub rows: Vec<Row>,
    /// In the order of time.
    pub samples: Vec<Sample>,
    /// Remarks that help to understand the figures.
    pub notes: Vec<String>,
}

/// Facts about a training that are not in its events.
#[derive(Debug, Clone, Copy, Default)]
pub struct TrainingContext<'a> {
    /// The name of the model in the run.
    pub model: Option<&'a str>,
    /// Average allocations of a warm step, and their bytes.
    pub allocated: Option<(f64, f64)>,
    /// Average bytes that a step moves, as declared by its scopes.
    pub bytes_per_step: Option<f64>,
}

/// Makes rows and samples of the events of one process.
#[must_use]
pub fn training_rows(events: &[TrainingEvent], context: &TrainingContext<'_>) -> TrainingRows {
    let mut events_by_kind = EventsByKind::default();
    events.iter().for_each(|event| events_by_kind.take(event));
    let mut learned = TrainingRows { metrics: described(METRICS).collect(), ..TrainingRows::default() };
    events_by_kind.rows(context, &mut learned.rows);
    events_by_kind.steps_into(context, &mut learned);
    events_by_kind.epochs_into(&mut learned.samples);
    events_by_kind.validations_into(&mut learned.samples);
    learned.samples.sort_by_key(|sample| sample.start_ns);
    learned
}

/// Events by kind. Where each began follows from how long those before it took.
#[derive(Default)]
struct EventsByKind<'a> {
    start: Option<&'a TrainingStart>,
    steps: Vec<(f64, &'a TrainingStep)>,
    epochs: Vec<(f64, &'a TrainingEpoch)>,
    validations: Vec<(f64, &'a TrainingValidation)>,
    /// Seconds since the first step began, as far as they are told.
    now: f64,
}

impl<'a> EventsByKind<'a> {
    fn take(&mut self, event: &'a TrainingEvent) {
        let began = self.now;
        match event {
            TrainingEvent::Started(start) => self.start = Some(start),
            TrainingEvent::Step(step) => {
                self.steps.push((began, step));
                self.now += step.seconds;
            }
            TrainingEvent::Validated(validation) => {
                self.validations.push((began, validation));
                self.now += validation.seconds;
            }
            TrainingEvent::Saved(saved) => self.now += saved.seconds,
            TrainingEvent::Epoch(epoch) => {
                // It ends now, or a little later than the parts of it that were told one by one.
                let before = self.epochs.last().map_or(0.0, |(began, last)| began + last.seconds);
                self.epochs.push((before, epoch));
                self.now = self.now.max(before + epoch.seconds);
            }
            TrainingEvent::Sampled(_) | TrainingEvent::Ended(_) => {}
        }
    }

    fn rows(&self, context: &TrainingContext<'_>, rows: &mut Vec<Row>) {
        let row = |name: &str, what: &str| Row {
            name: name.to_owned(),
            what: what.to_owned(),
            model: context.model.map(str::to_owned),
            calls: 1,
            threads: self.start.map(|start| start.threads),
            ..Row::default()
        };
        let start = self.start.cloned().unwrap_or_default();
        let known = |amount: u64| (amount > 0).then_some(amount as f64);
        // The usual step: the last of an epoch may be smaller, and lines are not all as long as they may be.
        let predicted: Vec<f64> = self.steps.iter().map(|(_, step)| step.tokens as f64).collect();
        rows.push(Row {
            tokens: compare::median(&predicted).or_else(|| known(start.tokens_per_step)),
            flops: known(start.flops_per_step),
            bytes: context.bytes_per_step.or_else(|| start.bytes_per_step.and_then(known)),
            limited_by: Some("f32".to_owned()),
            ..row("step", "one optimiser step: data, forward, backward, update")
        });
        if !self.epochs.is_empty() {
            let tokens = self.epochs.iter().map(|(_, epoch)| epoch.tokens).max().and_then(known);
            rows.push(Row { tokens, ..row("epoch", "one pass over the corpus, or as far as the training got") });
            let took = |name: &str| self.epochs.iter().any(|(_, epoch)| phase(epoch, name) > 0.0);
            rows.extend(
                PHASES
                    .iter()
                    .filter(|(name, _)| took(name))
                    .map(|(name, what)| Row { part_of: Some("epoch".to_owned()), ..row(name, what) }),
            );
        }
        if let Some((_, validation)) = self.validations.first() {
            let whole = rows.iter().any(|row| row.name == "validation").then(|| "validation".to_owned());
            let what = "one pass over the validation text";
            rows.push(Row { part_of: whole, tokens: known(validation.tokens), ..row("validation_pass", what) });
        }
    }

    /// As many as a run keeps of any row; evenly, where there are more.
    fn steps_into(&self, context: &TrainingContext<'_>, learned: &mut TrainingRows) {
        let every = self.steps.len().div_ceil(MOST as usize).max(1);
        let warm_up = if self.steps.len() as u64 > 2 * WARM_UP_STEPS { WARM_UP_STEPS } else { 0 };
        for (round, (began, step)) in self.steps.iter().enumerate() {
            let phase = if (round as u64) < warm_up { Phase::Warmup } else { Phase::Timed };
            if phase == Phase::Timed && !round.is_multiple_of(every) {
                continue;
            }
            let mut values = vec![(WALL, step.seconds), ("loss", step.loss)];
            if let Some((allocs, bytes)) = context.allocated.filter(|_| phase == Phase::Timed) {
                values.extend([("allocs", allocs), ("alloc_bytes", bytes)]);
            }
            learned.samples.push(sample("step", phase, (round as u64, *began), &values));
        }
        if every > 1 {
            let (steps, kept) = (self.steps.len(), self.steps.len().div_ceil(every));
            learned.notes.push(format!("{kept} of {steps} steps are kept as samples; the training log has all"));
        }
    }

    fn epochs_into(&self, samples: &mut Vec<Sample>) {
        for (round, (began, epoch)) in self.epochs.iter().enumerate() {
            let place = (round as u64, *began);
            let mut values = vec![(WALL, epoch.seconds), ("loss", epoch.loss)];
            values.extend(epoch.cpu_seconds.map(|seconds| ("cpu_s", seconds)));
            samples.push(sample("epoch", Phase::Timed, place, &values));
            for (name, _) in PHASES.iter().filter(|(name, _)| self.epochs.iter().any(|(_, one)| phase(one, name) > 0.0))
            {
                samples.push(sample(name, Phase::Timed, place, &[(WALL, phase(epoch, name))]));
            }
        }
    }

    fn validations_into(&self, samples: &mut Vec<Sample>) {
        for (round, (began, validation)) in self.validations.iter().enumerate() {
            let values = [(WALL, validation.seconds), ("loss", validation.loss), ("perplexity", validation.perplexity)];
            samples.push(sample("validation_pass", Phase::Timed, (round as u64, *began), &values));
        }
    }
}

fn phase(epoch: &TrainingEpoch, name: &str) -> f64 {
    epoch.phases.named().into_iter().find(|(one, _)| *one == name).map_or(0.0, |(_, seconds)| seconds)
}

fn sample(row: &str, phase: Phase, (round, began): (u64, f64), values: &[(&str, f64)]) -> Sample {
    // JSON has no infinities; what is no number was not measured.
    let values = values.iter().filter(|(_, value)| value.is_finite());
    Sample {
        row: row.to_owned(),
        phase,
        round,
        start_ns: (began * 1e9) as u64,
        values: values.map(|(name, value)| ((*name).to_owned(), *value)).collect(),
        ..Sample::default()
    }
}

#[cfg(test)]
mod tests {
    use record::TrainingPhases;

    use super::*;

    fn step(step: u64) -> TrainingEvent {
        let (tokens, sequences, seconds) = (100, 4, 0.5);
        TrainingEvent::Step(TrainingStep {
            step,
            epoch: 1,
            loss: 1.0,
            tokens,
            sequences,
            seconds,
            ..TrainingStep::default()
        })
    }

    fn epoch(epoch: u64) -> TrainingEvent {
        let phases = TrainingPhases { forward: 1.0, backward: 3.0, overhead: 1.0, ..TrainingPhases::default() };
        TrainingEvent::Epoch(TrainingEpoch { epoch, seconds: 5.0, tokens: 1_000, phases, ..TrainingEpoch::default() })
    }

    fn events(steps: u64) -> Vec<TrainingEvent> {
        let start = TrainingStart { threads: 2, tokens_per_step: 100, flops_per_step: 7, ..TrainingStart::default() };
        let mut events = vec![TrainingEvent::Started(start)];
        events.extend((1..=steps).map(step));
        events.extend([epoch(1), epoch(2)]);
        events
    }

    #[test]
    fn phases_are_the_parts_of_epochs_and_sum_to_them() {
        let learned =
            training_rows(&events(10), &TrainingContext { allocated: Some((0.0, 0.0)), ..TrainingContext::default() });
        let names: Vec<&str> = learned.rows.iter().map(|row| row.name.as_str()).collect();
        assert_eq!(names, ["step", "epoch", "forward", "backward", "overhead"]);
        let sum = |wanted: &dyn Fn(&Row) -> bool| -> f64 {
            let rows: Vec<&str> = learned.rows.iter().filter(|row| wanted(row)).map(|row| row.name.as_str()).collect();
            learned.samples.iter().filter(|one| rows.contains(&one.row.as_str())).map(|one| one.values[WALL]).sum()
        };
        let (whole, parts) = (sum(&|row| row.name == "epoch"), sum(&|row| row.part_of.as_deref() == Some("epoch")));
        assert!((whole - 10.0).abs() < 1e-9 && (whole - parts).abs() < 1e-9, "{whole} {parts}");
    }

    #[test]
    fn the_first_steps_do_not_count_where_there_are_more() {
        let timed = |steps: u64| {
            let learned = training_rows(&events(steps), &TrainingContext::default());
            let of_steps = learned.samples.iter().filter(|sample| sample.row == "step");
            of_steps.filter(|sample| sample.phase == Phase::Timed).count()
        };
        assert_eq!([timed(10), timed(4), timed(1)], [8, 4, 1]);
    }

    #[test]
    fn long_trainings_are_thinned_out_and_say_so() {
        let learned = training_rows(&events(2_500), &TrainingContext::default());
        let steps = learned.samples.iter().filter(|sample| sample.row == "step").count();
        assert!((800..=1_001).contains(&steps), "{steps}");
        assert!(learned.notes[0].starts_with("834 of 2500 steps are"), "{:?}", learned.notes);
    }

    #[test]
    fn what_is_no_number_is_no_value() {
        let lost = TrainingEvent::Step(TrainingStep { loss: f64::NAN, seconds: 1.0, ..TrainingStep::default() });
        let learned = training_rows(&[lost], &TrainingContext::default());
        assert_eq!(learned.samples[0].values.keys().collect::<Vec<_>>(), [WALL]);
    }
}
