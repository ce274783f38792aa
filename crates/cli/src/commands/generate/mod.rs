//! `hotloop generate`: a model goes on from a text.

mod output;
pub mod prompt;
mod sequences;

use std::io::Write;
use std::time::Instant;

use engine::{Batch, BatchSettings, Compute, LoadOptions, Request, Sampling, StateOptions};
use record::{
    GENERATION_SCHEMA, GENERATION_VERSION, GeneratingModel, Generation, GenerationMemory, GenerationSettings,
    GenerationSpeed,
};

use super::{PERCENT, Refusal, interrupt, progress, tool};
use crate::args::Generate;
use crate::subject::Subject;
use output::Output;
use sequences::Sequences;

/// Generates: the text goes to `out` as it comes, unless JSON was asked for. The figures, or the JSON.
pub fn run(options: &Generate, out: &mut dyn Write) -> Result<Generation, Refusal> {
    let prompt::Text { text, opening } = prompt::text(options)?;
    let compute = compute(options)?;
    let subject = load(options, &compute)?;
    let prompt = prompt::tokens(options, &subject.tokenizer, &text)?;
    let mut batch = batch(options, &subject, &compute, prompt.len())?;
    let mut sequences = Sequences::new(options, &subject.tokenizer, &prompt, opening);
    for number in 0..options.machine.batch {
        let sampling = sampling(options, number as u64);
        batch.join(&Request { prompt: &prompt, sampling: &sampling, limit: options.tokens })?;
    }
    let mut out = Output::new((!options.json).then_some(out));
    sequences.begin(&mut out);
    interrupt::listen(|| std::process::exit(i32::from(interrupt::EXIT_CODE)));
    let speed = generate(&mut batch, &mut sequences, &mut out, subject.load_s)?;
    if let Some(error) = out.lost() {
        let error = format!("cannot write to standard output: {error}");
        return Err(Refusal { error, hint: "the text is lost; send it somewhere else" });
    }
    Ok(document(options, &compute, &subject, &batch, (sequences, speed)))
}

/// Reads the model, and shows how far it is.
fn load(options: &Generate, compute: &Compute) -> Result<Subject, Refusal> {
    let machine = &options.machine;
    let bar = progress(PERCENT, "reading weights");
    let mut show = |done: usize, total: usize| {
        bar.set_length(total as u64);
        bar.set_position(done as u64);
    };
    let load = LoadOptions { in_place: machine.in_place, exact: machine.exact, progress: Some(&mut show) };
    let subject = Subject::load(&options.named, compute, load);
    bar.finish_and_clear();
    subject
}

fn compute(options: &Generate) -> Result<Compute, Refusal> {
    let threads = options.machine.threads;
    if options.machine.naive { Ok(Compute::naive(threads)) } else { Ok(Compute::new(threads)?) }
}

fn sampling(options: &Generate, number: u64) -> Sampling {
    let choice = &options.choice;
    Sampling {
        temperature: choice.temperature,
        top_k: choice.top_k,
        top_p: choice.top_p,
        min_p: choice.min_p,
        repetition_penalty: choice.repetition_penalty,
        seed: choice.seed.wrapping_add(number),
        ..Sampling::default()
    }
}

fn batch<'a>(
    options: &Generate,
    subject: &'a Subject,
    compute: &'a Compute,
    prompt: usize,
) -> Result<Batch<'a>, Refusal> {
    let machine = &options.machine;
    let most = subject.model.config.context;
    if let Some(context) = machine.context.filter(|context| *context > most && subject.model.config.rope.is_some()) {
        // A note that nobody can be shown is no failure.
        let note = format!("note: the model was made for {most} tokens; a context of {context} may lead to worse text");
        let _ = writeln!(std::io::stderr().lock(), "{note}");
    }
    let state = StateOptions {
        sequences: machine.batch,
        context: Some(machine.context.unwrap_or_else(|| prompt.saturating_add(options.tokens).min(most))),
        cache: machine.cache,
        cache_budget: machine.cache_budget.map(|mebibytes| mebibytes << 20),
        pooled: !machine.no_pooling,
        ..StateOptions::default()
    };
    let settings = BatchSettings { keep: !machine.no_kv_cache, shift: machine.context_shift };
    Ok(Batch::new(&subject.model, compute, &state, settings)?)
}

/// Pass after pass, until all sequences have ended or somebody interrupts.
fn generate(
    batch: &mut Batch<'_>,
    sequences: &mut Sequences<'_>,
    out: &mut Output<'_>,
    load_s: f64,
) -> Result<GenerationSpeed, Refusal> {
    let start = Instant::now();
    let mut first_token_s = None;
    // When every prompt was computed, and how many tokens had been chosen until then.
    let mut prompts_done: Option<(f64, usize)> = None;
    let mut chosen = 0;
    while batch.is_busy() && !interrupt::asked() && !out.is_gone() {
        let tokens = batch.step()?;
        let seconds = start.elapsed().as_secs_f64();
        if !tokens.is_empty() {
            first_token_s.get_or_insert(seconds);
        }
        chosen += tokens.len();
        let ended = sequences.take(tokens, out);
        if prompts_done.is_none() && sequences.all_begun() {
            prompts_done = Some((seconds, chosen));
        }
        for sequence in ended {
            batch.leave(sequence);
        }
    }
    sequences.finish(out);
    let rest = prompts_done.map(|(seconds, before)| (start.elapsed().as_secs_f64() - seconds, chosen - before));
    Ok(GenerationSpeed {
        load_s,
        first_token_s,
        prompt_tokens_per_s: prompts_done.map(|(seconds, _)| sequences.prompt_tokens() as f64 / seconds),
        tokens_per_s: rest.filter(|(_, tokens)| *tokens > 0).map(|(seconds, tokens)| tokens as f64 / seconds),
    })
}

fn document(
    options: &Generate,
    compute: &Compute,
    subject: &Subject,
    batch: &Batch<'_>,
    (sequences, speed): (Sequences<'_>, GenerationSpeed),
) -> Generation {
    let (machine, choice, state) = (&options.machine, &options.choice, batch.state());
    let memory = state.memory();
    Generation {
        schema: GENERATION_SCHEMA.to_owned(),
        version: GENERATION_VERSION,
        tool: tool(),
        model: describe(subject),
        settings: GenerationSettings {
            threads: compute.pool.threads() as u64,
            isa: compute.kernels.isa().name().to_owned(),
            context: state.context() as u64,
            cache: machine.cache.name().to_owned(),
            in_place: machine.in_place,
            exact: machine.exact,
            kv_cache: !machine.no_kv_cache,
            pooling: !machine.no_pooling,
            temperature: as_typed(choice.temperature),
            top_k: choice.top_k as u64,
            top_p: as_typed(choice.top_p),
            min_p: as_typed(choice.min_p),
            repetition_penalty: as_typed(choice.repetition_penalty),
            seed: choice.seed,
        },
        sequences: sequences.into_texts(),
        speed,
        memory: GenerationMemory {
            weights: subject.weight_bytes() as u64,
            cache: memory.cache as u64,
            cache_per_token: state.cache_bytes_per_token() as u64,
            scratch: (memory.activations + memory.scratch) as u64,
            positions: memory.positions as u64,
            peak_rss: lab::peak_rss(),
        },
    }
}

fn describe(subject: &Subject) -> GeneratingModel {
    let model = subject.describe();
    GeneratingModel {
        name: model.name,
        architecture: model.architecture,
        active_parameters: model.active_parameters,
        format: model.format,
        layers: model.layers,
        width: model.width,
        vocab: model.vocab,
    }
}

/// The number that is written as the f32 is: 0.8, not what its bits are in f64.
fn as_typed(number: f32) -> f64 {
    number.to_string().parse().unwrap_or_else(|_| f64::from(number))
}
