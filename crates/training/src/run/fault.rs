//! What is said where a number is none.

use std::path::PathBuf;

use engine::train::NonFinitePlace;

use crate::Error;
use crate::data::Batch;
use crate::vocabulary::Vocabulary;

/// So many letters of the text at fault are shown.
const SHOWN: usize = 60;
/// So many numbers of sequences are named.
const NAMED: usize = 16;

/// CorpusRole step and batch it was.
pub(super) struct Where<'a> {
    pub(super) step: u64,
    pub(super) batch: &'a Batch,
    /// Tokens of a sequence.
    pub(super) length: usize,
    pub(super) vocabulary: &'a Vocabulary,
}

/// Step, layer and batch, and where it can go on from.
pub(super) fn error(
    what: &str,
    value: f64,
    first: Option<NonFinitePlace>,
    place: &Where<'_>,
    saved: Option<&(u64, PathBuf)>,
) -> Error {
    let Where { step, batch, .. } = place;
    let culprit = culprit(first.as_ref(), place);
    let first = first.map_or_else(|| "and nothing before it was".to_owned(), |first| format!("first in {first}"));
    let position = batch.position;
    let numbers: Vec<String> = batch.numbers.iter().take(NAMED).map(ToString::to_string).collect();
    let more = batch.numbers.len().saturating_sub(NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let (saved, hint) = match saved {
        Some((step, path)) => (
            format!("the last checkpoint, of step {step}, is {}", path.display()),
            "lower training.learning_rate, add training.schedule.warmup_steps or training.gradient_clip, and continue with --resume",
        ),
        None => (
            "there is no checkpoint yet".to_owned(),
            "lower training.learning_rate, add training.schedule.warmup_steps or training.gradient_clip, and start again",
        ),
    };
    let message = format!(
        "step {step}: {what} is {value}, {first}{culprit}; batch {} of epoch {} has the sequences {}{more} of the corpus; {saved}",
        position.batch + 1,
        position.epoch + 1,
        numbers.join(", "),
    );
    Error::new(message, hint)
}

/// The number and the text of the sequence at fault, where one is.
fn culprit(first: Option<&NonFinitePlace>, place: &Where<'_>) -> String {
    let Some(NonFinitePlace::Activation { sequence, .. }) = first else { return String::new() };
    let Where { batch, length, .. } = place;
    let Some(number) = batch.numbers.get(*sequence) else { return String::new() };
    let tokens = batch.tokens.get(sequence * length..(sequence + 1) * length).unwrap_or_default();
    let text = place.vocabulary.tokenizer().decode(tokens);
    let shown: String = text.chars().take(SHOWN).collect();
    format!(" (sequence {number} of the corpus: {shown:?})")
}

/// The same where the weights are none before they are saved.
pub(super) fn weights(step: u64, first: Option<NonFinitePlace>, saved: Option<&(u64, PathBuf)>) -> Error {
    let first = first.map_or_else(|| "the weights".to_owned(), |first| first.to_string());
    let saved = saved.map_or_else(
        || "there is no earlier checkpoint".to_owned(),
        |(step, path)| format!("the last checkpoint, of step {step}, is {}", path.display()),
    );
    let message = format!("step {step}: {first} became NaN or infinite; nothing was saved; {saved}");
    Error::new(message, "lower training.learning_rate, and continue with --resume")
}
