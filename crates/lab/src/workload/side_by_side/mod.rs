//! Several models in one sitting: each turn all of them generate, in an order that chance decides anew every time, so that whatever
//! disturbs disturbs all. There is a run for each model; they share the beginning, the machine and its noise.

mod cells;
mod rounds;

use std::collections::BTreeMap;
use std::time::Duration;

use record::{Environment, Memory, Phase, ProcessUse, Quality, RUN_SCHEMA, RUN_VERSION, Run, Subject, Tool};

use super::memory::{ONE_PASS, cache_per_token};
use super::tokens::{self, Generated};
use crate::course::{Effort, Watch};
use crate::doctor::now;
use crate::machine::{self, Chosen, NoiseWatch, System};
use crate::run::{LIMITS, Part, measure_limits, variables};
use crate::{Generator, Models, meter};
use cells::Cell;
use rounds::Turns;

/// One of the models.
pub struct Contender<'a> {
    /// With some numbers of threads: figures are those of the first.
    pub on: Vec<&'a dyn Models>,
    /// What a process took that worked with this model alone.
    pub process: Option<ProcessUse>,
}

/// A text that models are to read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Text {
    /// What it is called.
    pub name: String,
    /// The text.
    pub words: String,
}

/// What is measured, and how.
#[derive(Debug, Clone)]
pub struct SideBySide {
    /// Random tokens of the prompt; the same number for all.
    pub prompt_tokens: usize,
    /// Tokens that are generated behind it, whatever they are: the end of a text ends nothing.
    pub tokens: usize,
    /// Prompts of other lengths, to see what longer texts cost.
    pub contexts: Vec<usize>,
    /// What tells how well a model knows a text.
    pub text: Option<Text>,
    /// What prompts and the order of turns follow from.
    pub seed: u64,
    /// How often: a repeat is a turn of all models.
    pub effort: Effort,
    /// Whether to measure the limits of the machine first.
    pub limits: bool,
    /// The kernels.
    pub chosen: Chosen,
    /// Who measures.
    pub tool: Tool,
    /// What is measured.
    pub subject: Subject,
    /// What else decides the work, by name.
    pub parameters: BTreeMap<String, String>,
}

/// What is known of one model beside its turns.
struct Known {
    memory: Memory,
    quality: Option<Quality>,
    notes: Vec<String>,
}

/// Measures all of them, and gives a run for each. Where somebody ended it, they have what was measured until then.
///
/// # Errors
/// Why it could not be measured.
pub fn side_by_side(
    settings: &SideBySide,
    contenders: &[Contender<'_>],
    watch: &mut dyn Watch,
) -> Result<Vec<Run>, String> {
    let created = now();
    let most = contenders.iter().flat_map(|contender| &contender.on).map(|models| models.threads()).max();
    let most = most.ok_or("there is no model to measure")?;
    let limits = if settings.limits { Some(measure_limits(settings.chosen, most, watch)?) } else { None };
    let noise = NoiseWatch::start(&System);
    let machine = machine::machine(&System, settings.chosen);
    let from = if limits.is_some() { LIMITS } else { 0.0 };
    let mut part = Part { watch, from };
    let (mut cells, mut known) = (Vec::new(), Vec::new());
    for (at, contender) in contenders.iter().enumerate() {
        part.tell(0.2 * at as f64 / contenders.len() as f64, "making and reading");
        let (own, notes) = cells::of(settings, at, contender)?;
        known.push(look_at(settings, &*own[0].generator, notes)?);
        cells.extend(own);
    }
    let turns = rounds::measure(settings, &mut cells, &mut part)?;
    if turns.interrupted && !turns.samples.iter().any(|(_, sample)| sample.phase == Phase::Timed) {
        return Err("it was ended before anything was measured; nothing was kept".to_owned());
    }
    let noise = noise.finish(&System, machine.cpus, Duration::from_millis(20));
    let environment = Environment { machine, limits, noise: Some(noise), variables: variables() };
    let head = Run {
        schema: RUN_SCHEMA.to_owned(),
        version: RUN_VERSION,
        tool: settings.tool.clone(),
        created,
        subject: settings.subject.clone(),
        environment,
        metrics: meter::metrics().collect(),
        interrupted: turns.interrupted,
        ..Run::default()
    };
    let of = |(at, known)| run(settings, &head, (at, &contenders[at], known), &cells, &turns);
    Ok(known.into_iter().enumerate().map(of).collect())
}

/// Its memory, and what the text costs it.
fn look_at(settings: &SideBySide, generator: &dyn Generator, notes: Vec<String>) -> Result<Known, String> {
    let memory = Memory { cache_per_token_measured: cache_per_token(generator)?, ..generator.memory() };
    let read = |text: &Text| {
        let scored = generator.score(&text.words)?;
        Ok::<_, String>(scored.filter(|scored| !scored.each.is_empty()).map(|scored| Quality {
            model: memory.model.clone(),
            text: text.name.clone(),
            text_blake3: blake3::hash(text.words.as_bytes()).to_hex().to_string(),
            tokens: scored.each.len() as u64,
            bytes: scored.bytes,
            nll: scored.each.iter().map(|nll| f64::from(*nll)).sum::<f64>() / scored.each.len() as f64,
            window: scored.window,
            each: scored.each,
        }))
    };
    let quality = settings.text.as_ref().map(read).transpose()?.flatten();
    Ok(Known { memory, quality, notes })
}

/// The run of one model.
fn run(
    settings: &SideBySide,
    head: &Run,
    (at, contender, known): (usize, &Contender<'_>, Known),
    cells: &[Cell<'_>],
    turns: &Turns,
) -> Run {
    let own: Vec<&Cell<'_>> = cells.iter().filter(|cell| cell.model == at).collect();
    let first = own[0];
    let mut generated = Generated::default();
    // Other numbers of threads compute the same, prompts of other lengths do not.
    let same = own.iter().filter(|cell| cell.prompt == first.prompt);
    same.flat_map(|cell| &cell.generated).for_each(|tokens| generated.add(tokens.clone()));
    let correctness = generated.correctness();
    let differ = correctness.as_ref().is_some_and(|correctness| correctness.repeats_agree == Some(false));
    let mut notes = known.notes;
    notes.push(ONE_PASS.to_owned());
    if contender.process.is_some() {
        notes.push("the peak of the process is that of one which worked with this model alone".to_owned());
    }
    let samples = turns.samples.iter().filter(|(model, _)| *model == at);
    Run {
        models: vec![first.generator.describe()],
        workload: workload(settings, first),
        rows: own.iter().flat_map(|cell| cell.rows()).collect(),
        samples: samples.map(|(_, sample)| sample.clone()).collect(),
        profile: first.profile.clone(),
        memory: vec![known.memory],
        process: contender.process.clone(),
        correctness,
        quality: known.quality.into_iter().collect(),
        failures: differ
            .then(|| "repeats of the same inference did not generate the same tokens".to_owned())
            .into_iter()
            .collect(),
        notes,
        ..head.clone()
    }
}

fn workload(settings: &SideBySide, first: &Cell<'_>) -> record::Workload {
    let mut parameters = settings.parameters.clone();
    let contexts: Vec<String> = settings.contexts.iter().map(usize::to_string).collect();
    let mut add = |name: &str, value: String| drop(parameters.insert(name.to_owned(), value));
    add("threads", first.threads.to_string());
    add("seed", settings.seed.to_string());
    add("tokens", settings.tokens.to_string());
    add("prompt_tokens", settings.prompt_tokens.to_string());
    if !contexts.is_empty() {
        add("contexts", contexts.join(","));
    }
    record::Workload {
        name: "models".to_owned(),
        kind: Some(record::WorkloadKind::Models),
        parameters,
        repeat: settings.effort.repeat,
        warmup: Some(settings.effort.warmup),
        time_budget_s: Some(settings.effort.time.as_secs_f64()),
        prompt_blake3: Some(tokens::hash(&first.prompt)),
    }
}
