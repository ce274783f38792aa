//! The figures of a training, and the phases of its epochs.

use record::{Row, Run, Sample, TrainingPhases, WorkloadKind};

use super::limits::InWords as _;
use super::rows::{Measured, between, interval};
use super::view::View;
use crate::document::{Block, Section, Table, not_measured};
use crate::training::{shares, tenths};
use crate::units::{count, digits, mean_bytes, mean_count, rate, seconds, tokens_per_s, whole_percent};

fn is_training(run: &Run) -> bool {
    compare::workload_kind(&run.workload) == WorkloadKind::Training
}

/// The rows of a training.
struct Trained<'a> {
    view: &'a View<'a>,
    step: &'a Row,
    measured: Measured<'a>,
}

impl<'a> Trained<'a> {
    fn of(view: &'a View<'a>) -> Option<Self> {
        let step = view.run.rows.iter().find(|row| is_training(view.run) && row.name == "step")?;
        Some(Trained { view, step, measured: view.measured(step)? })
    }

    /// Something of each step, per second of its median time, with the interval of that.
    fn per_second(&self, amount: f64, written: fn(f64) -> String) -> (String, String) {
        let time = &self.measured.time;
        let interval = time.interval.map_or_else(
            || "too few".to_owned(),
            |found| between(&written(amount / found.high), &written(amount / found.low)),
        );
        (written(amount / time.median), interval)
    }

    /// Sequences of a step.
    fn sequences(&self) -> Option<f64> {
        parameter(self.view, "sequences_per_step")
    }

    /// How near the median step is to what the machine can do.
    fn limit(&self) -> String {
        match (self.measured.share(), &self.measured.roof) {
            (Some(share), Some(roof)) => format!("{} of {}", whole_percent(share), roof.in_words()),
            _ => not_measured(),
        }
    }

    /// The losses of all steps that are kept, in the order of time.
    fn losses(&self) -> Vec<f64> {
        let of_steps = self.view.run.samples.iter().filter(|sample| sample.row == self.step.name);
        of_steps.filter_map(loss_of).collect()
    }

    /// Of each validation its loss and its perplexity.
    fn validations(&self) -> Vec<(f64, Option<f64>)> {
        let samples = self.view.samples("validation_pass").iter();
        samples.filter_map(|sample| Some((loss_of(sample)?, sample.values.get("perplexity").copied()))).collect()
    }

    fn median(&self, metric: &str, written: fn(f64) -> String) -> String {
        compare::quantile(&self.view.per_call(self.step, metric), 0.5).map_or_else(not_measured, written)
    }
}

fn loss_of(sample: &Sample) -> Option<f64> {
    sample.values.get("loss").copied().filter(|loss| loss.is_finite())
}

fn parameter(view: &View<'_>, name: &str) -> Option<f64> {
    view.run.workload.parameters.get(name)?.parse().ok().filter(|value: &f64| *value > 0.0 && value.is_finite())
}

fn samples_per_s(value: f64) -> String {
    format!("{} samples/s", digits(value))
}

fn loss(value: f64) -> String {
    format!("{value:.4}")
}

/// Nothing where nothing was trained.
pub(super) fn sections(view: &View<'_>) -> Vec<Section> {
    let figures = Trained::of(view).map(|trained| figures(&trained));
    figures.into_iter().chain(phases(view)).collect()
}

/// Speed and loss in one sentence.
pub(super) fn in_short(view: &View<'_>) -> Option<String> {
    let trained = Trained::of(view)?;
    let tokens = trained.step.tokens.map(|tokens| trained.per_second(tokens, tokens_per_s).0);
    let sequences = trained.sequences().map(|sequences| trained.per_second(sequences, samples_per_s).0);
    let mut parts: Vec<String> = tokens.into_iter().chain(sequences).collect();
    if let (Some(share), Some(roof)) = (trained.measured.share(), &trained.measured.roof) {
        parts.push(format!("{} of the limit ({})", whole_percent(share), roof.cell()));
    }
    let losses = trained.losses();
    if let (Some(first), Some(last)) = (losses.first(), losses.last()) {
        parts.push(format!("loss from {} to {}", loss(*first), loss(*last)));
    }
    (!parts.is_empty()).then(|| parts.join(", "))
}

fn figures(trained: &Trained<'_>) -> Section {
    let (time, step) = (&trained.measured.time, trained.step);
    let mut table = Table::new(&["figure", "value", "95 % CI", "n", "% of limit"]).with_words_last();
    let n = count(time.samples as u64);
    table.row(["time per step".to_owned(), seconds(time.median), interval(time), n.clone()]);
    if let Some(tokens) = step.tokens {
        let (value, interval) = trained.per_second(tokens, tokens_per_s);
        table.row(["tokens".to_owned(), value, interval, n.clone(), trained.limit()]);
    }
    if let Some(sequences) = trained.sequences() {
        let (value, interval) = trained.per_second(sequences, samples_per_s);
        table.row(["samples".to_owned(), value, interval, n]);
    }
    let mut fact = |name: &str, value: Option<String>| {
        table.row([name.to_owned(), value.unwrap_or_else(not_measured)]);
    };
    fact("arithmetic per step", step.flops.map(|flops| rate(flops, "FLOP")));
    fact("bytes moved per step", step.bytes.map(mean_bytes));
    fact("allocations per step", Some(trained.median("allocs", mean_count)));
    fact("bytes allocated per step", Some(trained.median("alloc_bytes", mean_bytes)));
    let losses = trained.losses();
    fact("first loss", losses.first().copied().map(loss));
    fact("last loss", losses.last().copied().map(loss));
    if let Some((best, perplexity)) = trained.validations().into_iter().min_by(|a, b| a.0.total_cmp(&b.0)) {
        fact("best validation loss", Some(loss(best)));
        fact("best validation perplexity", perplexity.map(digits));
    }
    let explanation = "medians; speeds include waiting for data; sample: one sequence; n: timed steps";
    Section::new("TRAINING", explanation).with(Block::Table(table))
}

/// The parts of the epochs, which sum to them.
fn phases(view: &View<'_>) -> Option<Section> {
    let whole: f64 = view.values("epoch", "wall_s").iter().sum();
    if !is_training(view.run) || whole <= 0.0 {
        return None;
    }
    let of = |name: &str| -> f64 { view.values(name, "wall_s").iter().sum() };
    let phases = TrainingPhases {
        data_wait: of("data_wait"),
        forward: of("forward"),
        backward: of("backward"),
        optimizer: of("optimizer"),
        validation: of("validation"),
        checkpoint: of("checkpoint"),
        sample: of("sample"),
        overhead: of("overhead"),
    };
    let steps = parameter(view, "steps");
    let each = |time: f64| steps.map_or_else(String::new, |steps| seconds(time / steps));
    let mut table = Table::new(&["phase", "time", "share", "per step"]);
    let (mut sum, mut all) = (0.0, 0);
    for (name, time, share) in shares(&phases).into_iter().filter(|(_, time, _)| *time > 0.0) {
        (sum, all) = (sum + time, all + share);
        table.row([name.to_owned(), seconds(time), tenths(share), each(time)]);
    }
    table.row(["= all epochs".to_owned(), seconds(sum), tenths(all), each(sum)]);
    let explanation = "timed by the trainer; overhead: time in no phase";
    Some(Section::new("PHASES", explanation).with(Block::Table(table)))
}
