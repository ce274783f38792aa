//! Several models in one measurement: launches of fresh processes, in each of them rounds in which every model generates once, in a balanced
//! order, so that whatever disturbs disturbs all. There is a run for each model; they share the beginning, the machine and its noise.
//!
//! How memory happens to lie differs from process to process, and so does speed: several launches have that in their interval. A second
//! copy of the first model, the placebo, shows what the machine adds to models that are the same.

mod cells;
mod rounds;
mod worker;

use std::collections::BTreeMap;
use std::time::Duration;

use record::{
    Correctness, Environment, Memory, Model, Phase, ProcessUse, Profile, Quality, RUN_SCHEMA, RUN_VERSION, Row, Run,
    Sample, Subject, Tool,
};

use super::memory::{ONE_PASS, cache_per_token};
use super::tokens;
use crate::doctor::now;
use crate::duel::Launched;
use crate::machine::{self, KernelChoice, NoiseWatch, System};
use crate::recorder::{RepeatSettings, RunObserver};
use crate::run::{LIMITS, PartialProgress, measure_limits, variables};
use crate::{Generator, Models, metrics};
use cells::Profiled;
use rounds::{ModelArms, RoundResults};

pub use worker::ModelRounds;

/// Makes a model with some numbers of threads; figures are those of the first.
pub type Load<'a> = dyn Fn() -> Result<Vec<Box<dyn Models + 'a>>, String> + 'a;
/// Starts a fresh process that answers as [`ModelRounds`] does.
pub type Launch<'a> = dyn Fn() -> Result<Box<dyn Launched + 'a>, String> + 'a;

/// One of the models.
pub struct Contender<'a> {
    /// Makes it in this process, to see what it is, needs and knows.
    pub load: Box<Load<'a>>,
    /// Starts it in a process of its own, to measure its speed.
    pub launch: Box<Launch<'a>>,
    /// The hash of its contents: models with the same one are the same.
    pub weights_blake3: Option<String>,
    /// What a process took that worked with this model alone.
    pub process: Option<ProcessUse>,
}

/// A text that models are to read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QualityText {
    /// What it is called.
    pub name: String,
    /// The text.
    pub words: String,
}

/// What each model is asked to do in a round.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RoundWork {
    /// Random tokens of the prompt; the same number for all.
    pub prompt_tokens: usize,
    /// Tokens that are generated behind it, whatever they are: the end of a text ends nothing.
    pub tokens: usize,
    /// Prompts of other lengths, to see what longer texts cost.
    pub contexts: Vec<usize>,
    /// The RNG seed of the prompts and of the order of rounds.
    pub seed: u64,
}

/// What to measure and how.
#[derive(Debug, Clone)]
pub struct SideBySide {
    /// What a round does.
    pub work: RoundWork,
    /// The most threads that a model computes on.
    pub threads: usize,
    /// What tells how well a model knows a text.
    pub text: Option<QualityText>,
    /// How often: a repeat is a round of all models.
    pub effort: RepeatSettings,
    /// Whether to measure the limits of the machine first.
    pub limits: bool,
    /// The kernels.
    pub chosen: KernelChoice,
    /// The program that measures.
    pub tool: Tool,
    /// What is measured.
    pub subject: Subject,
    /// Other settings of the work, by name.
    pub parameters: BTreeMap<String, String>,
}

/// What is known of one model beside its rounds.
struct ModelFacts {
    model: Model,
    threads: usize,
    prompt_blake3: String,
    cells: Vec<CellFacts>,
    /// Of the first cell.
    profile: Profile,
    /// The hash of what the first cell generates, and of its tokens.
    generated: (String, u64),
    /// What every round has to put out.
    output: String,
    /// Whether cells with the same prompt generate the same: other numbers of threads compute nothing else.
    agrees: bool,
    memory: Memory,
    quality: Option<Quality>,
    notes: Vec<String>,
}

struct CellFacts {
    rows: Vec<Row>,
    allocated: Option<[(String, f64); 2]>,
}

/// Measures all of them, and gives a run for each. Where somebody ended it, they have what was measured until then.
///
/// # Errors
/// Why it could not be measured.
pub fn side_by_side(
    settings: &SideBySide,
    contenders: &[Contender<'_>],
    watch: &mut dyn RunObserver,
) -> Result<Vec<Run>, String> {
    let created = now();
    if contenders.is_empty() {
        return Err("no model to measure".to_owned());
    }
    let limits = if settings.limits { Some(measure_limits(settings.chosen, settings.threads, watch)?) } else { None };
    let noise = NoiseWatch::start(&System);
    let machine = machine::machine(&System, settings.chosen);
    let from = if limits.is_some() { LIMITS } else { 0.0 };
    let mut part = PartialProgress { watch, from };
    let mut known = Vec::new();
    for (at, contender) in contenders.iter().enumerate() {
        part.tell(0.2 * at as f64 / contenders.len() as f64, "loading models");
        known.push(look_at(settings, contender)?);
    }
    let arms = ModelArms { contenders, known: &known, placebo: needs_placebo(contenders) };
    let results = rounds::measure(settings, &arms, &mut part)?;
    if results.interrupted && !results.samples.iter().any(|(_, sample)| sample.phase == Phase::Timed) {
        return Err("stopped before anything was measured; nothing was saved".to_owned());
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
        metrics: metrics::metrics().collect(),
        interrupted: results.interrupted,
        ..Run::default()
    };
    let has_placebo = arms.placebo;
    let of = |(at, known)| {
        let placebo = (has_placebo && at == 0).then_some(contenders.len());
        run(settings, &head, (&contenders[at], known), [Some(at), placebo], &results)
    };
    Ok(known.into_iter().enumerate().map(of).collect())
}

/// Two files with equal contents are placebos of each other; where all models differ, the first one gets a second copy.
fn needs_placebo(contenders: &[Contender<'_>]) -> bool {
    let is_copy = |at: usize| {
        let hash = &contenders[at].weights_blake3;
        hash.is_some() && contenders[..at].iter().any(|other| other.weights_blake3 == *hash)
    };
    contenders.len() > 1 && !(0..contenders.len()).any(is_copy)
}

/// Makes it in this process for a while: what it is, what it generates, its memory, and what the text costs it.
fn look_at(settings: &SideBySide, contender: &Contender<'_>) -> Result<ModelFacts, String> {
    let loaded = (contender.load)()?;
    let on: Vec<&dyn Models> = loaded.iter().map(|models| &**models).collect();
    let (mut cells, notes) = cells::of(&settings.work, &on)?;
    // The first inference allocates what later ones keep.
    let firsts: Vec<Vec<u32>> = cells.iter_mut().map(|cell| Ok(cell.take()?.tokens)).collect::<Result<_, String>>()?;
    let mut looks: Vec<Profiled> = cells.iter_mut().map(cells::Cell::profiled).collect::<Result<_, _>>()?;
    let outputs: Vec<String> = looks.iter().map(|look| tokens::hash(&look.tokens)).collect();
    let first = &cells[0];
    let agrees = cells.iter().zip(&looks).zip(&firsts).all(|((cell, look), once)| {
        look.tokens == *once && (cell.prompt != first.prompt || look.tokens == looks[0].tokens)
    });
    let (memory, quality) = memory_and_quality(settings, &*first.generator)?;
    let known_cell =
        |look: &mut Profiled| CellFacts { rows: std::mem::take(&mut look.rows), allocated: look.allocated.take() };
    Ok(ModelFacts {
        model: Model { weights_blake3: contender.weights_blake3.clone(), ..first.generator.describe() },
        threads: first.threads,
        prompt_blake3: tokens::hash(&first.prompt),
        cells: looks.iter_mut().map(known_cell).collect(),
        generated: (outputs[0].clone(), looks[0].tokens.len() as u64),
        profile: looks.swap_remove(0).profile,
        output: outputs.join(","),
        agrees,
        memory,
        quality,
        notes,
    })
}

fn memory_and_quality(settings: &SideBySide, generator: &dyn Generator) -> Result<(Memory, Option<Quality>), String> {
    let memory = Memory { cache_per_token_measured: cache_per_token(generator)?, ..generator.memory() };
    let read = |text: &QualityText| {
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
    Ok((memory, quality))
}

/// The run of one model: of its own arm, and of its second copy where it has one.
fn run(
    settings: &SideBySide,
    head: &Run,
    (contender, known): (&Contender<'_>, ModelFacts),
    arms: [Option<usize>; 2],
    results: &RoundResults,
) -> Run {
    let is_differing = !known.agrees || arms.iter().flatten().any(|arm| results.differing[*arm]);
    let mut notes = known.notes;
    notes.push(ONE_PASS.to_owned());
    if contender.process.is_some() {
        notes.push("the peak memory is that of a process with this model alone".to_owned());
    }
    let own = |arm: usize| results.samples.iter().filter(move |(other, _)| *other == arm).map(|(_, sample)| sample);
    let workload = workload(settings, known.threads, known.prompt_blake3);
    let first = known.cells[0].rows.len();
    let mut rows: Vec<Row> = known.cells.into_iter().flat_map(|cell| cell.rows).collect();
    let mut samples: Vec<Sample> = arms[0].into_iter().flat_map(own).cloned().collect();
    if let Some(arm) = arms[1] {
        let copied: Vec<Row> = rows.iter().take(first).map(placebo_row).collect();
        let is_first = |sample: &&Sample| rows.iter().take(first).any(|row| row.name == sample.row);
        let second = own(arm).filter(is_first);
        samples.extend(second.map(|sample| Sample { row: placebo(&sample.row), ..sample.clone() }));
        rows.extend(copied);
    }
    Run {
        models: vec![known.model],
        workload,
        rows,
        samples,
        profile: Some(known.profile),
        memory: vec![known.memory],
        process: contender.process.clone(),
        correctness: Some(Correctness {
            tokens_blake3: Some(known.generated.0),
            tokens: Some(known.generated.1),
            repeats_agree: (results.inferences > 0).then_some(!is_differing),
            ..Correctness::default()
        }),
        quality: known.quality.into_iter().collect(),
        failures: is_differing
            .then(|| "repeats of the same inference generated different tokens".to_owned())
            .into_iter()
            .collect(),
        notes,
        ..head.clone()
    }
}

/// The name of a row of the second copy.
fn placebo(row: &str) -> String {
    format!("placebo/{row}")
}

fn placebo_row(row: &Row) -> Row {
    Row {
        name: placebo(&row.name),
        what: format!("{}; with a second copy of the model, the placebo", row.what),
        part_of: row.part_of.as_deref().map(placebo),
        ..row.clone()
    }
}

fn workload(settings: &SideBySide, threads: usize, prompt_blake3: String) -> record::Workload {
    let (mut parameters, work) = (settings.parameters.clone(), &settings.work);
    let contexts: Vec<String> = work.contexts.iter().map(usize::to_string).collect();
    let mut add = |name: &str, value: String| drop(parameters.insert(name.to_owned(), value));
    add("threads", threads.to_string());
    add("seed", work.seed.to_string());
    add("tokens", work.tokens.to_string());
    add("prompt_tokens", work.prompt_tokens.to_string());
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
        prompt_blake3: Some(prompt_blake3),
    }
}
