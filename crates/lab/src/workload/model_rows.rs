//! Rows of a model: how long it takes to make it, to begin, and to go on.

use std::time::Duration;

use record::{Memory, MemoryPart, Model, Phase, Profile, Row, Scope};

use super::inference::{Infer, Inference};
use super::tokens::Generated;
use crate::metrics::timed;
use crate::recorder::{Measurement, RunRecorder, WALL, bookkeeping};
use crate::{Generator, ModelChoice, ModelUse, Models};

/// Makes a model in the scope of a workload.
pub(super) type Create = for<'a> fn(&'a dyn Models, ModelChoice, ModelUse) -> Result<Box<dyn Generator + 'a>, String>;

/// A function that makes a model in a scope of this name.
macro_rules! create {
    ($name:literal) => {
        |models, which, usage| {
            hotloop::scope!($name);
            models.create(which, usage)
        }
    };
}

pub(super) const STANDARD: Create = create!("ModelCreation");
pub(super) const DEEP: Create = create!("Transformer_ModelCreation");
pub(super) const SMALL: Create = create!("Model_Small_Creation");
pub(super) const MEDIUM: Create = create!("Model_Medium_Creation");

/// What an inference is called, and how it is run.
pub(super) struct InferenceKind {
    /// The name of the model that its rows are of.
    pub(super) model: String,
    pub(super) infer: Infer,
    pub(super) tokens: usize,
    pub(super) threads: usize,
    /// As for the start of the profiler.
    pub(super) timeline: Option<usize>,
}

/// Makes it, and keeps how long that took.
pub(super) fn create<'a>(
    models: &'a dyn Models,
    (create, which, usage): (Create, ModelChoice, ModelUse),
    recorder: &mut RunRecorder<'_>,
) -> Result<Box<dyn Generator + 'a>, String> {
    let start_ns = recorder.now_ns();
    let (generator, taken) = timed(|| create(models, which, usage));
    let generator = generator?;
    bookkeeping(|| {
        let what = "loading or creating a model that is ready for its first token";
        let model = Some(generator.describe().name);
        recorder.row(Row { name: "creation".to_owned(), what: what.to_owned(), calls: 1, model, ..Row::default() });
        recorder.keep("creation", Phase::Timed, (0, start_ns), taken);
    });
    Ok(generator)
}

/// Repeats inferences, each with its parts; the profiler is off while it warms up.
pub(super) fn infer(
    generator: &mut dyn Generator,
    prompt: &[u32],
    kind: &InferenceKind,
    recorder: &mut RunRecorder<'_>,
    time: Duration,
) -> Result<Generated, String> {
    bookkeeping(|| declare(kind, prompt.len(), recorder));
    let mut generated = Generated::default();
    let phased = |phase| match phase {
        Phase::Warmup => hotloop::stop(),
        // It goes on with what it had recorded.
        Phase::Timed => super::profiler(kind.timeline).start(),
    };
    recorder.repeat("inference", time, phased, || {
        let inference = (kind.infer)(generator, prompt, kind.tokens)?;
        Ok(bookkeeping(|| {
            let parts = parts(&inference);
            generated.add(inference.tokens);
            parts
        }))
    })?;
    Ok(generated)
}

fn declare(kind: &InferenceKind, prompt: usize, recorder: &mut RunRecorder<'_>) {
    let row = |name: &str, what: String| Row {
        name: name.to_owned(),
        what,
        model: Some(kind.model.clone()),
        threads: Some(kind.threads as u64),
        calls: 1,
        ..Row::default()
    };
    let tokens = kind.tokens;
    recorder.row(Row {
        tokens: Some(tokens as f64),
        ..row("inference", format!("a prompt of {prompt} tokens, then {tokens} generated tokens"))
    });
    let part_of = Some("inference".to_owned());
    recorder.row(Row {
        tokens: Some(prompt as f64),
        part_of: part_of.clone(),
        ..row("prefill", "the prompt and the first token".to_owned())
    });
    if tokens > 1 {
        recorder.row(Row {
            tokens: Some(1.0),
            part_of,
            calls: tokens as u64 - 1,
            ..row("decode", "each token after the first".to_owned())
        });
    }
}

/// The whole, the prompt and the rest.
pub(super) fn parts(inference: &Inference) -> Vec<(String, Measurement)> {
    let mut parts = vec![
        ("inference".to_owned(), inference.whole.clone()),
        ("prefill".to_owned(), Measurement::of(&[(WALL, inference.first_s)])),
    ];
    if !inference.token_s.is_empty() {
        parts.push(("decode".to_owned(), Measurement::of(&[(WALL, inference.token_s.iter().sum())])));
    }
    parts
}

/// What the passes below these scopes declared they would do, for the rows of prompt and tokens.
pub(super) fn declare_work(recorder: &mut RunRecorder<'_>, profile: &Profile, model: &Model, scopes: [&str; 2]) {
    for (row, scope) in ["prefill", "decode"].into_iter().zip(scopes) {
        let Some([flops, bytes]) = work_below(profile, scope) else { continue };
        let is_prompt = row == "prefill";
        for row in recorder.rows.iter_mut().filter(|known| known.name == row) {
            (row.flops, row.bytes) = (flops, bytes);
            row.limited_by = Some(if is_prompt { arithmetic_of(&model.format) } else { "read" }.to_owned());
        }
    }
}

/// What multiplies weights of this format.
pub(super) fn arithmetic_of(format: &str) -> &'static str {
    // Quantised weights that were made f32 say so behind it.
    if ["f32", "f16", "bf16"].iter().any(|float| format.starts_with(float)) { "f32" } else { "int8" }
}

/// Operations and bytes of one call, declared below all scopes of a name.
pub(super) fn work_below(profile: &Profile, name: &str) -> Option<[Option<f64>; 2]> {
    let is_named = |scope: &Scope| scope.name.rsplit("::").next() == Some(name);
    let mut inside = vec![false; profile.scopes.len()];
    let (mut calls, mut work) = (0, [0u64; 2]);
    for (at, scope) in profile.scopes.iter().enumerate() {
        let above = scope.parent.is_some_and(|parent| inside[parent]);
        inside[at] = above || is_named(scope);
        calls += if is_named(scope) { scope.calls } else { 0 };
        if above {
            work[0] += scope.flops;
            work[1] += scope.bytes;
        }
    }
    (calls > 0).then(|| work.map(|work| (work > 0).then(|| work as f64 / calls as f64)))
}

/// The memory of a model, with what the profiler saw: what else was kept, and what was live at the most, while it was made or while it
/// worked.
pub(super) fn memory(mut memory: Memory, profile: &Profile, scopes: [&str; 2]) -> Memory {
    let peak = |name: &str| {
        let of = profile.scopes.iter().filter(|scope| scope.name.rsplit("::").next() == Some(name));
        of.filter(|scope| scope.allocs_total.is_some()).map(|scope| (scope.peak_live_bytes, kept(scope))).next()
    };
    let (Some((making, made)), Some((working, _))) = (peak(scopes[0]), peak(scopes[1])) else { return memory };
    let known: u64 = memory.parts.iter().filter(|part| !part.mapped).map(|part| part.bytes).sum();
    let other = MemoryPart { purpose: "other".to_owned(), bytes: made.saturating_sub(known), ..MemoryPart::default() };
    memory.parts.push(other);
    let peak = making.max(made + working);
    memory.peak_live_bytes = Some(peak);
    if making >= made + working {
        // Which of them were there at that moment is not known.
        memory.peak_during = Some("making the model".to_owned());
        return memory;
    }
    memory.peak_during = Some("generating".to_owned());
    for part in memory.parts.iter_mut().filter(|part| !part.mapped) {
        let is_other = part.purpose == "other";
        part.at_peak_bytes = Some(if is_other { peak.saturating_sub(known) } else { part.bytes });
    }
    memory
}

/// What a scope allocated and did not free.
fn kept(scope: &Scope) -> u64 {
    scope.allocs_total.map_or(0, |allocs| allocs.alloc_bytes.saturating_sub(allocs.free_bytes))
}
