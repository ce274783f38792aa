//! The run of a training whose figures are known.

use record::*;

use super::runs::{Spec, base, metric, model, process, profile, row, sample, scopes};

/// The call tree of ten steps: three of them in this order, forward, backward and the optimiser.
fn training_profile() -> Profile {
    let mut specs: Vec<Spec> = vec![
        ("training::epoch::train_epoch", None, None, 300_000, 1),
        ("training::epoch::batch", None, Some(0), 200_000, 10),
        ("training::epoch::data_wait", None, Some(1), 100_000, 10),
        ("engine::train::forward", None, Some(1), 500_000, 10),
        ("engine::train::backward", None, Some(1), 900_000, 10),
        ("engine::train::optimizer", None, Some(1), 12_000_000, 10),
        ("training::epoch::checkpoint", None, Some(0), 4_000_000, 1),
    ];
    for (parent, time) in [(3, 1), (4, 2)] {
        for layer in 0..2 {
            let at = specs.len();
            specs.push(("engine::train::layer", Some(layer), Some(parent), 100_000, 10));
            specs.push(("engine::train::qkv", None, Some(at), 20_000_000 * time, 10));
            specs.push(("engine::train::ffn_up", None, Some(at), 30_000_000 * time, 10));
        }
    }
    let mut scopes = scopes(&specs);
    for scope in &mut scopes {
        let per_call = match scope.name.rsplit("::").next() {
            Some("qkv") => 400_000_000,
            Some("ffn_up") => 530_000_000,
            _ => 0,
        };
        let times = if scope.parent.is_some_and(|parent| parent > 10) { 2 } else { 1 };
        (scope.flops, scope.bytes) = (times * per_call * scope.calls, per_call * scope.calls / 40);
    }
    (scopes[1].tokens, scopes[5].bytes) = (10 * 1_016, 10 * 35_586_048);
    profile(scopes, 1_000_000)
}

/// Steps of a training, the phases of its epoch, and its profile.
pub fn training() -> Run {
    let mut run = base("training");
    run.models = vec![model("model.gguf", 2, 256, 2_224_128)];
    (run.workload.repeat, run.workload.warmup) = (None, None);
    let parameters = [("steps", "10"), ("sequences_per_step", "8"), ("tokens_per_step", "1016")];
    run.workload.parameters.extend(parameters.map(|(name, value)| (name.into(), value.into())));
    run.metrics.insert("wall_s".into(), metric("from the beginning to the end", "s", false));
    run.metrics.insert("loss".into(), metric("the mean loss of the tokens, in nats", "", false));
    run.rows = vec![
        Row {
            what: "a step of the optimiser".into(),
            flops: Some(5.58e9),
            bytes: Some(160e6),
            tokens: Some(1_016.0),
            limited_by: Some("f32".into()),
            ..row("step", 1)
        },
        Row { what: "the corpus once".into(), tokens: Some(10_160.0), ..row("epoch", 1) },
    ];
    let phases =
        [("data_wait", 1e-3), ("forward", 0.103), ("backward", 0.2), ("optimizer", 0.012), ("overhead", 0.009)];
    for (name, _) in phases {
        run.rows.push(Row { part_of: Some("epoch".into()), ..row(name, 1) });
    }
    for step in 0..10 {
        let phase = if step < 2 { Phase::Warmup } else { Phase::Timed };
        let slow = if step == 0 { 2.0 } else { 1.0 + 0.01 * f64::from(step) };
        let values =
            [("wall_s", 0.0316 * slow), ("loss", 6.9 - 0.3 * f64::from(step)), ("allocs", 0.0), ("alloc_bytes", 0.0)];
        run.samples.push(Sample { phase, round: step as u64, ..sample("step", &values) });
    }
    run.samples.push(sample("epoch", &[("wall_s", 0.325), ("loss", 5.55)]));
    run.samples.extend(phases.map(|(name, seconds)| sample(name, &[("wall_s", seconds)])));
    run.rows.push(Row { tokens: Some(4_064.0), ..row("validation_pass", 1) });
    run.samples.push(sample("validation_pass", &[("wall_s", 0.04), ("loss", 4.4), ("perplexity", 81.45)]));
    let part = |purpose: &str, bytes: u64| MemoryPart { purpose: purpose.into(), bytes, ..MemoryPart::default() };
    let parts = vec![
        part("weights", 8_896_512),
        part("gradients", 8_896_512),
        part("optimiser", 17_793_024),
        part("activations", 41_000_000),
    ];
    run.memory = vec![Memory { model: "model.gguf".into(), parts, ..Memory::default() }];
    (run.profile, run.process) = (Some(training_profile()), Some(process()));
    run
}
