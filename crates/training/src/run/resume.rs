//! Going on from a checkpoint: what has to be as it was, and what may change.

use serde_json::Value;

use super::build::refused;
use crate::Result;
use crate::checkpoint::{Checkpoint, State};
use crate::config::{KEYS, Settings};

/// What weights, the optimiser's memory and the order of batches belong to: with another value nothing would fit.
const FIXED: &[&str] = &[
    "model.architecture",
    "model.d_model",
    "model.num_heads",
    "model.kv_heads",
    "model.num_layers",
    "model.d_ff",
    "model.context",
    "model.tied",
    "model.norm_epsilon",
    "model.rope_base",
    "training.batch_size",
    "training.gradient_accumulation",
    "training.max_length",
    "training.max_batches_per_epoch",
    "training.random_seed",
    "training.optimizer",
    "training.shuffle",
    "data.shuffle",
    "data.sequences",
    "data.validation_split",
    "tokenizer.kind",
    "tokenizer.vocab_size",
    "tokenizer.min_frequency",
];

/// What changes nothing that is computed: where things are, how often something is told or kept, who computes.
const FREE: &[&str] = &[
    "model.type",
    "computation.",
    "training.num_epochs",
    "training.max_steps",
    "training.prefetch_batches",
    "training.num_workers",
    "training.recompute",
    "training.threads",
    // What the texts are is compared as tokens.
    "data.",
    // Where a vocabulary is found; the one of the checkpoint is taken.
    "tokenizer.file",
    "sample.",
    "checkpointing.",
    "profiling.",
];

/// What has changed since the checkpoint and is worth a word.
///
/// # Errors
/// Where something has changed that the checkpoint depends on.
pub(super) fn compare(checkpoint: &Checkpoint, settings: &Settings) -> Result<Vec<String>> {
    let value = |settings: &Settings| serde_json::to_value(settings).unwrap_or_default();
    let (before, now) = (value(&checkpoint.state().settings), value(settings));
    let mut notes = Vec::new();
    for key in KEYS {
        let (before, now) = (at(&before, key.path), at(&now, key.path));
        if before == now {
            continue;
        }
        let path = checkpoint.path().display();
        if FIXED.contains(&key.path) {
            return Err(refused(format!("{path}: saved with {} = {before}, now {now}", key.path)));
        }
        if FREE.iter().any(|free| key.path.starts_with(free)) {
            continue;
        }
        notes.push(format!(
            "{} changed from {before} to {now} since the checkpoint: training continues, but not as it would have",
            key.path
        ));
    }
    Ok(notes)
}

/// How far it was, with the settings of now.
///
/// # Errors
/// Where the corpus is another.
pub(super) fn state(checkpoint: &Checkpoint, now: State) -> Result<State> {
    let before = checkpoint.state();
    if before.corpus != now.corpus {
        let path = checkpoint.path().display();
        return Err(refused(format!(
            "{path}: the corpus or its cut into sequences differs from that of this checkpoint"
        )));
    }
    Ok(State { settings: now.settings, ..before.clone() })
}

fn at(settings: &Value, path: &str) -> Value {
    settings.pointer(&format!("/{}", path.replace('.', "/"))).cloned().unwrap_or_default()
}
