//! `hotloop generate`: a model continues a text.

pub mod prompt;
mod sequences;
mod text_output;

use std::io::Write;
use std::time::Instant;

use engine::{Batch, BatchSettings, Compute, LoadOptions, Request, Sampling, StateOptions};
use record::{
    GENERATION_SCHEMA, GENERATION_VERSION, GeneratingModel, Generation, GenerationMemory, GenerationSettings,
    GenerationSpeed,
};

use super::{CommandError, CommandOutput, PERCENT, interrupt, progress, terminal, tool};
use crate::args::Generate;
use crate::subject::Subject;
use prompt::StartText;
use sequences::Sequences;
use text_output::TextOutput;

/// Generates. The text goes to `out` while it is generated, unless JSON is printed instead.
pub fn run(options: &Generate, out: &mut dyn Write) -> Result<CommandOutput, CommandError> {
    let generation = generate(options, out)?;
    if options.json {
        return Ok(CommandOutput::text(generation.to_json()));
    }
    let interrupted = generation.sequences.iter().any(|sequence| sequence.ended == "interrupted");
    let page = terminal::page(&std::io::stderr());
    let notes = format!("\n{}", report::generation(&generation).terminal(page));
    Ok(CommandOutput { interrupted, ..CommandOutput::notes(notes) })
}

fn generate(options: &Generate, out: &mut dyn Write) -> Result<Generation, CommandError> {
    terminal::warn_about_threads(options.machine.threads);
    let StartText { text, opening } = StartText::of(options)?;
    let compute = compute(options)?;
    let subject = load(options, &compute)?;
    let prompt = prompt::tokens(options, &subject.tokenizer, &text)?;
    let mut batch = batch(options, &subject, &compute, prompt.len())?;
    let mut sequences = Sequences::new(options, &subject.tokenizer, &prompt, opening);
    for number in 0..options.machine.batch {
        let sampling = sampling(options, number as u64);
        batch.join(&Request { prompt: &prompt, sampling: &sampling, limit: options.tokens })?;
    }
    let mut out = TextOutput::new((!options.json).then_some(out));
    sequences.begin(&mut out);
    interrupt::listen(|| std::process::exit(i32::from(interrupt::EXIT_CODE)));
    let speed = all_passes(&mut batch, &mut sequences, &mut out, subject.load_s)?;
    if let Some(error) = out.error() {
        let message = format!("cannot write to standard output: {error}");
        return Err(CommandError::new(message, "write the text to a file or a pipe that accepts it"));
    }
    Ok(document(options, &compute, &subject, &batch, (sequences, speed)))
}

/// Loads the model, with a progress bar.
fn load(options: &Generate, compute: &Compute) -> Result<Subject, CommandError> {
    let machine = &options.machine;
    let bar = progress(PERCENT, "reading weights");
    let mut show = |done: usize, total: usize| {
        bar.set_length(total as u64);
        bar.set_position(done as u64);
    };
    let load = LoadOptions { in_place: machine.in_place, exact: machine.exact, progress: Some(&mut show) };
    let subject = Subject::load(&options.model, compute, load);
    bar.finish_and_clear();
    subject
}

fn compute(options: &Generate) -> Result<Compute, CommandError> {
    let threads = options.machine.threads;
    if options.machine.naive { Ok(Compute::naive(threads)) } else { Ok(Compute::new(threads)?) }
}

fn sampling(options: &Generate, number: u64) -> Sampling {
    let choice = &options.sampling;
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
) -> Result<Batch<'a>, CommandError> {
    let machine = &options.machine;
    let most = subject.model.config.context;
    if let Some(context) = machine.context.filter(|context| *context > most && subject.model.config.rope.is_some()) {
        terminal::note(&format!("the model supports {most} tokens; a context of {context} may give worse text"));
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

/// Pass after pass, until all sequences have ended or Ctrl-C stops them.
fn all_passes(
    batch: &mut Batch<'_>,
    sequences: &mut Sequences<'_>,
    out: &mut TextOutput<'_>,
    load_s: f64,
) -> Result<GenerationSpeed, CommandError> {
    let start = Instant::now();
    let mut first_token_s = None;
    // When every prompt was computed, and how many tokens had been sampled until then.
    let mut prompts_done: Option<(f64, usize)> = None;
    let mut chosen = 0;
    while batch.is_busy() && !interrupt::is_requested() && !out.is_closed() {
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
    let (machine, choice, state) = (&options.machine, &options.sampling, batch.state());
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

/// The f64 with the digits of the f32: 0.8, not 0.800000011920929.
fn as_typed(number: f32) -> f64 {
    number.to_string().parse().unwrap_or_else(|_| f64::from(number))
}
