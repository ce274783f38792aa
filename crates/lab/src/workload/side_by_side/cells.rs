//! What takes turns: a model with so many threads and a prompt of such a length.

use record::{Profile, Row, Scope};

use super::{Contender, SideBySide};
use crate::course::Taken;
use crate::workload::inference::{self, Inference};
use crate::workload::{model_rows, take_profile, tokens};
use crate::{Generator, Models, Use, Which};

pub(super) struct Cell<'a> {
    /// Which model.
    pub(super) model: usize,
    /// What the names of its rows begin with.
    prefix: String,
    pub(super) threads: usize,
    pub(super) prompt: Vec<u32>,
    tokens: usize,
    pub(super) generator: Box<dyn Generator + 'a>,
    /// One inference with the profiler on.
    pub(super) profile: Option<Profile>,
    /// Of the first repeat, and of those that differ from it.
    pub(super) generated: Vec<Vec<u32>>,
}

/// The cells of one model, and which could not be. The first one has to be.
pub(super) fn of<'a>(
    settings: &SideBySide,
    model: usize,
    contender: &Contender<'a>,
) -> Result<(Vec<Cell<'a>>, Vec<String>), String> {
    let (first, others) = contender.on.split_first().ok_or("a model without threads to compute on")?;
    let outline = first.outline(Which::Given, None)?;
    let make = |models: &'a dyn Models, prefix: String, prompt: usize| -> Result<Cell<'a>, String> {
        let generator = models.create(Which::Given, Use::usual(prompt + settings.tokens))?;
        let prompt = tokens::at_random(settings.seed, outline.vocab as u64, prompt);
        let (threads, tokens) = (models.threads(), settings.tokens);
        Ok(Cell { model, prefix, threads, prompt, tokens, generator, profile: None, generated: Vec::new() })
    };
    let own = settings.prompt_tokens;
    let mut cells = vec![make(*first, String::new(), own)?];
    let (name, context) = (cells[0].generator.describe().name, outline.context);
    if own + settings.tokens > context {
        return Err(format!(
            "a prompt of {own} tokens and {} behind it do not fit into the context of {name}, {context} tokens: \
             choose fewer with --prompt-tokens and --tokens",
            settings.tokens
        ));
    }
    for models in others {
        cells.push(make(*models, format!("threads={}/", models.threads()), own)?);
    }
    let mut notes = Vec::new();
    for prompt in settings.contexts.iter().copied().filter(|prompt| *prompt != own) {
        if prompt + settings.tokens > context {
            notes.push(format!(
                "{name}: not measured with a context of {prompt} tokens and {} behind it, because it has room for {context}",
                settings.tokens
            ));
            continue;
        }
        cells.push(make(*first, format!("context={prompt}/"), prompt)?);
    }
    Ok((cells, notes))
}

impl Cell<'_> {
    /// One inference, for the rows of the whole and of its parts.
    pub(super) fn take(&mut self) -> Result<Vec<(String, Taken)>, String> {
        let inference = inference::standard(&mut *self.generator, &self.prompt, self.tokens)?;
        let parts = model_rows::parts(&inference);
        self.keep(inference);
        let mut parts: Vec<(String, Taken)> =
            parts.into_iter().map(|(name, taken)| (format!("{}{name}", self.prefix), taken)).collect();
        if let Some(allocated) = self.profile.as_ref().and_then(allocated) {
            let whole = parts.first_mut().map(|(_, taken)| &mut taken.values);
            whole.into_iter().for_each(|values| values.extend(allocated.clone()));
        }
        Ok(parts)
    }

    /// What was generated, unless it is known.
    fn keep(&mut self, inference: Inference) {
        if self.generated.len() < 2 || self.generated[0] != inference.tokens {
            self.generated.push(inference.tokens);
        }
        self.generated.truncate(3);
    }

    /// One inference with the profiler on: what it allocates, and what its passes have to do.
    pub(super) fn look(&mut self) -> Result<(), String> {
        crate::workload::profiler(None).start();
        hotloop::reset();
        let worked = inference::standard(&mut *self.generator, &self.prompt, self.tokens);
        self.profile = Some(take_profile()?);
        worked.map(|inference| self.keep(inference))
    }

    /// What is repeated in each turn.
    pub(super) fn rows(&self) -> Vec<Row> {
        let model = self.generator.describe();
        let (prompt, tokens) = (self.prompt.len(), self.tokens);
        let work = |scope: &str| self.profile.as_ref().and_then(|profile| model_rows::work_below(profile, scope));
        let row = |name: &str, what: String| Row {
            name: format!("{}{name}", self.prefix),
            what,
            model: Some(model.name.clone()),
            threads: Some(self.threads as u64),
            calls: 1,
            ..Row::default()
        };
        let whole = row("inference", format!("a prompt of {prompt} tokens and {tokens} tokens behind it"));
        let part_of = Some(whole.name.clone());
        let [flops, bytes] = work("Prefill").unwrap_or_default();
        let prefill = Row {
            tokens: Some(prompt as f64),
            part_of: part_of.clone(),
            limited_by: Some(model_rows::arithmetic_of(&model.format).to_owned()),
            flops,
            bytes,
            ..row("prefill", "the prompt, and the choice of the first token".to_owned())
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

/// What an inference allocated, where allocations are counted.
fn allocated(profile: &Profile) -> Option<[(String, f64); 2]> {
    let is_whole = |scope: &&Scope| scope.name.rsplit("::").next() == Some("InferenceComplete");
    let all = profile.scopes.iter().find(is_whole)?.allocs_total?;
    Some([("allocs".to_owned(), all.allocs as f64), ("alloc_bytes".to_owned(), all.alloc_bytes as f64)])
}
