//! What takes turns: a model with so many threads and a prompt of such a length.

use record::{Profile, Row, Scope};

use super::RoundWork;
use crate::recorder::Measurement;
use crate::workload::inference::{self, Inference};
use crate::workload::{model_rows, take_profile, tokens};
use crate::{Generator, ModelChoice, ModelUse, Models};

pub(super) struct Cell<'a> {
    /// What the names of its rows begin with.
    pub(super) prefix: String,
    pub(super) threads: usize,
    pub(super) prompt: Vec<u32>,
    tokens: usize,
    pub(super) generator: Box<dyn Generator + 'a>,
}

/// The cells of one model, and which could not be. The first one has to be.
pub(super) fn of<'a>(work: &RoundWork, on: &[&'a dyn Models]) -> Result<(Vec<Cell<'a>>, Vec<String>), String> {
    let (first, others) = on.split_first().ok_or("a model without threads")?;
    let outline = first.outline(ModelChoice::Given, None)?;
    let make = |models: &'a dyn Models, prefix: String, prompt: usize| -> Result<Cell<'a>, String> {
        let generator = models.create(ModelChoice::Given, ModelUse::usual(prompt + work.tokens))?;
        let prompt = tokens::at_random(work.seed, outline.vocab as u64, prompt);
        Ok(Cell { prefix, threads: models.threads(), prompt, tokens: work.tokens, generator })
    };
    let own = work.prompt_tokens;
    let mut cells = vec![make(*first, String::new(), own)?];
    let (name, context) = (cells[0].generator.describe().name, outline.context);
    if own + work.tokens > context {
        return Err(format!(
            "a prompt of {own} tokens and {} generated ones exceed the context length of {name}, {context} \
             tokens: choose fewer with --prompt-tokens and --tokens",
            work.tokens
        ));
    }
    for models in others {
        cells.push(make(*models, format!("threads={}/", models.threads()), own)?);
    }
    let mut notes = Vec::new();
    for prompt in work.contexts.iter().copied().filter(|prompt| *prompt != own) {
        if prompt + work.tokens > context {
            notes.push(format!(
                "{name}: not measured with a prompt of {prompt} tokens and {} generated ones, because its context \
                 length is {context}",
                work.tokens
            ));
            continue;
        }
        cells.push(make(*first, format!("context={prompt}/"), prompt)?);
    }
    Ok((cells, notes))
}

/// What one inference of a cell gave.
pub(super) struct Generated {
    /// By the names of rows.
    pub(super) parts: Vec<(String, Measurement)>,
    pub(super) tokens: Vec<u32>,
}

impl Cell<'_> {
    /// One inference, for the rows of the whole and of its parts.
    pub(super) fn take(&mut self) -> Result<Generated, String> {
        let inference = inference::standard(&mut *self.generator, &self.prompt, self.tokens)?;
        let mut parts = model_rows::parts(&inference);
        for (at, (_, part)) in parts.iter_mut().skip(1).enumerate() {
            part.values.extend(inference.cpu_s.map(|cpu_s| ("cpu_s".to_owned(), cpu_s[at])));
        }
        let parts = parts.into_iter().map(|(name, taken)| (format!("{}{name}", self.prefix), taken)).collect();
        Ok(Generated { parts, tokens: inference.tokens })
    }

    /// One inference with the profiler on: what it allocates, and what its passes have to do.
    pub(super) fn profiled(&mut self) -> Result<Profiled, String> {
        crate::workload::profiler(None).start();
        hotloop::reset();
        let worked = inference::standard(&mut *self.generator, &self.prompt, self.tokens);
        let profile = take_profile()?;
        let Inference { tokens, .. } = worked?;
        Ok(Profiled { rows: self.rows(&profile), allocated: allocated(&profile), profile, tokens })
    }

    /// What is repeated in each round.
    fn rows(&self, profile: &Profile) -> Vec<Row> {
        let model = self.generator.describe();
        let (prompt, tokens) = (self.prompt.len(), self.tokens);
        let work = |scope: &str| model_rows::work_below(profile, scope);
        let row = |name: &str, what: String| Row {
            name: format!("{}{name}", self.prefix),
            what,
            model: Some(model.name.clone()),
            threads: Some(self.threads as u64),
            calls: 1,
            ..Row::default()
        };
        let whole = row("inference", format!("a prompt of {prompt} tokens, then {tokens} generated tokens"));
        let part_of = Some(whole.name.clone());
        let [flops, bytes] = work("Prefill").unwrap_or_default();
        let prefill = Row {
            tokens: Some(prompt as f64),
            part_of: part_of.clone(),
            limited_by: Some(model_rows::arithmetic_of(&model.format).to_owned()),
            flops,
            bytes,
            ..row("prefill", "the prompt and the first token".to_owned())
        };
        let [flops, bytes] = work("GenerateToken").unwrap_or_default();
        let decode = Row {
            tokens: Some(1.0),
            part_of,
            calls: tokens as u64 - 1,
            limited_by: Some("read".to_owned()),
            flops,
            bytes,
            ..row("decode", "each token after the first".to_owned())
        };
        vec![Row { tokens: Some(tokens as f64), ..whole }, prefill, decode]
    }
}

/// What an inference with the profiler on tells of a cell.
pub(super) struct Profiled {
    pub(super) rows: Vec<Row>,
    /// What an inference allocates, where allocations are counted.
    pub(super) allocated: Option<[(String, f64); 2]>,
    pub(super) profile: Profile,
    pub(super) tokens: Vec<u32>,
}

fn allocated(profile: &Profile) -> Option<[(String, f64); 2]> {
    let is_whole = |scope: &&Scope| scope.name.rsplit("::").next() == Some("InferenceComplete");
    let all = profile.scopes.iter().find(is_whole)?.allocs_total?;
    Some([("allocs".to_owned(), all.allocs as f64), ("alloc_bytes".to_owned(), all.alloc_bytes as f64)])
}
