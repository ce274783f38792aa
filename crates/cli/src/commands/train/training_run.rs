//! A training as a run: its steps and phases as rows, its call tree, its memory.

use std::collections::BTreeMap;

use engine::Compute;
use record::{
    Arithmetic, Memory, MemoryPart, Model, Profile, Run, Training, TrainingEvent, TrainingStart, Workload, WorkloadKind,
};
use training::config::{ModelFamily, Settings};

use crate::commands::tool;
use crate::subject::this_program;

/// A training and its profile.
pub struct ProfiledTraining<'a> {
    pub settings: &'a Settings,
    /// What the model is called.
    pub name: String,
    pub compute: &'a Compute,
    pub training: &'a Training,
    pub profile: Profile,
    /// Allocations of a step once it is warm, and their bytes.
    pub allocated: Option<(f64, f64)>,
}

impl ProfiledTraining<'_> {
    /// The record of the training.
    pub fn into_run(self, environment: lab::EnvironmentRecorder) -> Run {
        let events = &self.training.events;
        let started = events.iter().find_map(|event| match event {
            TrainingEvent::Started(start) => Some(start.clone()),
            _ => None,
        });
        let start = started.unwrap_or_default();
        let context = lab::training::TrainingContext {
            model: Some(&self.name),
            allocated: self.allocated,
            bytes_per_step: self.bytes_per_step(),
        };
        let learned = lab::training::training_rows(events, &context);
        let ended =
            events.iter().rev().find_map(|event| if let TrainingEvent::Ended(end) = event { Some(end) } else { None });
        let mut notes = start.notes.clone();
        notes.extend(learned.notes);
        Run {
            tool: tool(),
            subject: this_program(),
            models: vec![self.model(&start)],
            workload: self.workload(&start),
            metrics: learned.metrics,
            rows: learned.rows,
            samples: learned.samples,
            memory: vec![self.memory(&start)],
            interrupted: ended.is_none_or(|end| end.why == "interrupted"),
            notes,
            profile: Some(self.profile),
            ..environment.end()
        }
    }

    /// What the scopes of batches declare, whose steps are whole even where their times are estimates.
    fn bytes_per_step(&self) -> Option<f64> {
        let scopes = &self.profile.scopes;
        let mut inside = Vec::with_capacity(scopes.len());
        let (mut bytes, mut steps) = (0_u64, 0_u64);
        for scope in scopes {
            let is_batch = scope.name.rsplit("::").next() == Some("batch");
            steps += if is_batch { scope.calls } else { 0 };
            inside.push(is_batch || scope.parent.is_some_and(|parent| inside[parent]));
            bytes += if inside[inside.len() - 1] { scope.bytes } else { 0 };
        }
        (steps > 0 && bytes > 0).then(|| bytes as f64 / steps as f64)
    }

    fn model(&self, start: &TrainingStart) -> Model {
        let asked = &self.settings.model;
        let (width, vocab) = (asked.d_model as u64, start.vocabulary);
        let context = asked.context.unwrap_or(self.settings.training.max_length) as u64;
        // Rows of embeddings are looked up, not multiplied; a head that is the embedding is both.
        let positions = if asked.architecture == ModelFamily::Gpt2 { context * width } else { 0 };
        let looked_up = positions + if asked.tied { 0 } else { vocab * width };
        Model {
            name: self.name.clone(),
            architecture: if asked.architecture == ModelFamily::Gpt2 { "gpt2" } else { "llama" }.to_owned(),
            parameters: start.parameters,
            active_parameters: start.parameters.saturating_sub(looked_up),
            format: "f32".to_owned(),
            arithmetic: Some(Arithmetic::F32),
            weight_bytes: 4 * start.parameters,
            layers: asked.num_layers as u64,
            width,
            heads: asked.num_heads as u64,
            kv_heads: asked.kv_heads.unwrap_or(asked.num_heads) as u64,
            head_dim: width / (asked.num_heads as u64).max(1),
            vocab,
            context,
            weights_blake3: start.weights_blake3.clone(),
        }
    }

    /// What decides the work: trainings that differ here are not comparable.
    fn workload(&self, start: &TrainingStart) -> Workload {
        let steps = self.training.events.iter().filter_map(|event| match event {
            TrainingEvent::Step(step) => Some(step),
            _ => None,
        });
        let sequences = steps.clone().map(|step| step.sequences).max().unwrap_or(0);
        let training = &self.settings.training;
        let parameters = [
            ("threads", start.threads.to_string()),
            ("isa", self.compute.kernels.isa().name().to_owned()),
            ("steps", steps.count().to_string()),
            ("tokens_per_step", start.tokens_per_step.to_string()),
            ("sequences_per_step", sequences.to_string()),
            ("max_length", training.max_length.to_string()),
            ("optimizer", format!("{:?}", training.optimizer).to_lowercase()),
            ("dropout", training.dropout.to_string()),
            ("recompute", if training.recompute { "yes" } else { "no" }.to_owned()),
            ("seed", training.random_seed.to_string()),
        ];
        let corpus = start.corpus_blake3.iter().map(|hash| ("corpus_blake3", hash.clone()));
        let parameters: BTreeMap<String, String> =
            parameters.into_iter().chain(corpus).map(|(name, value)| (name.to_owned(), value)).collect();
        Workload {
            name: lab::training::TRAINING.to_owned(),
            kind: Some(WorkloadKind::Training),
            parameters,
            ..Workload::default()
        }
    }

    fn memory(&self, start: &TrainingStart) -> Memory {
        let part = |purpose: &str| MemoryPart {
            purpose: purpose.to_owned(),
            bytes: start.memory.get(purpose).copied().unwrap_or(0),
            ..MemoryPart::default()
        };
        let parts = ["weights", "gradients", "optimiser", "activations"].into_iter().map(part).collect();
        let roots = self.profile.scopes.iter().filter(|scope| scope.parent.is_none());
        let peak_live_bytes = roots.map(|scope| scope.peak_live_bytes).max();
        Memory {
            model: self.name.clone(),
            parts,
            peak_live_bytes,
            peak_during: Some("training".to_owned()),
            ..Memory::default()
        }
    }
}
