//! Keys that are known and say something, and change nothing beside the others.

use super::document::ConfigValue;
use super::{ModelFamily, OptimizerKind, ScheduleKind, Settings};
use crate::data::SequenceForm;

/// What is said of each key that was written and has no effect.
pub(super) fn notes(settings: &Settings, leaves: &[ConfigValue]) -> Vec<String> {
    let is_said = |path: &str| leaves.iter().any(|leaf| leaf.path == path);
    let mut notes: Vec<String> = reasons(settings)
        .into_iter()
        .filter(|(_, is_idle, _)| *is_idle)
        .flat_map(|(paths, _, why)| paths.iter().map(move |path| (*path, why)))
        .filter(|(path, _)| is_said(path))
        .map(|(path, why)| format!("{path} has no effect: {why}"))
        .collect();
    let training = &settings.training;
    let (warmup, steps) = (training.schedule.warmup_steps, training.max_steps);
    if steps > 0 && warmup >= steps {
        notes.push(format!(
            "training.schedule.warmup_steps = {warmup} covers all {steps} steps (training.max_steps): the learning rate never leaves the warm-up"
        ));
    }
    let (length, context) = (settings.sample.length, settings.model.context.unwrap_or(training.max_length));
    if is_said("sample.length") && length > context {
        notes.push(format!("sample.length = {length} exceeds the context length {context}; samples end there"));
    }
    notes
}

type Reason = (&'static [&'static str], bool, &'static str);

/// Keys, whether they are idle, and why.
fn reasons(settings: &Settings) -> [Reason; 14] {
    let (model, training, data) = (&settings.model, &settings.training, &settings.data);
    let (schedule, kind) = (&training.schedule, training.schedule.kind);
    let validates = data.validation_split > 0.0 || !data.validation_file.is_empty();
    let lines = data.sequences == SequenceForm::Lines;
    [
        (&["training.momentum"], training.optimizer == OptimizerKind::Adamw, "AdamW uses beta1 and beta2"),
        (
            &["training.beta1", "training.beta2", "training.eps"],
            training.optimizer == OptimizerKind::Sgd,
            "only for AdamW; training.optimizer is sgd",
        ),
        (&["model.rope_base"], model.architecture == ModelFamily::Gpt2, "gpt2 uses learned positions"),
        (&["data.end_lines"], !lines, "only for sequences = lines (data.sequences)"),
        (&["data.separator"], lines, "not for sequences = lines (data.sequences)"),
        (
            &["training.validate_every", "training.validation_batches", "checkpointing.keep_best"],
            !validates,
            "there is no validation (data.validation_split or data.validation_file)",
        ),
        (
            &["data.validation_split"],
            !data.validation_file.is_empty() && data.validation_split > 0.0,
            "data.validation_file is used",
        ),
        (&["training.num_epochs"], training.max_steps > 0, "training.max_steps ends the training"),
        (&["training.early_stopping.min_delta"], training.early_stopping.patience == 0, "early stopping is off"),
        (
            &["training.schedule.min_learning_rate"],
            kind == ScheduleKind::Constant && schedule.min_learning_rate > 0.0,
            "the learning rate is constant (training.schedule.kind)",
        ),
        (
            &["training.schedule.period"],
            !matches!(kind, ScheduleKind::CosineWarmRestarts | ScheduleKind::Step),
            "only for cosine_warm_restarts and step (training.schedule.kind)",
        ),
        (
            &["training.schedule.period_factor"],
            kind != ScheduleKind::CosineWarmRestarts,
            "only for cosine_warm_restarts (training.schedule.kind)",
        ),
        (
            &["training.schedule.factor"],
            !matches!(kind, ScheduleKind::Step | ScheduleKind::Plateau),
            "only for step and plateau (training.schedule.kind)",
        ),
        (
            &["training.schedule.patience", "training.schedule.threshold"],
            kind != ScheduleKind::Plateau,
            "only for plateau (training.schedule.kind)",
        ),
    ]
}
