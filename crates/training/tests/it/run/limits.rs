//! Accumulation, early stopping, numbers that are none.

use std::fs;

use record::TrainingEvent;
use training::checkpoint::{Checkpoint, Folder as Checkpoints, list};

use super::{Listener, run, settings, steps};
use crate::folder::Folder;

/// Twelve lines as one batch, or as several that are summed: also where their lengths differ.
#[test]
fn several_batches_are_one_large_one() {
    let folder = Folder::new();
    let train = |batch: usize, accumulation: usize| {
        let sets = [
            format!("training.batch_size={batch}"),
            format!("training.gradient_accumulation={accumulation}"),
            "training.num_epochs=8".to_owned(),
        ];
        let sets: Vec<&str> = sets.iter().map(String::as_str).collect();
        steps(&run(&settings(&folder, &sets), None, &mut Listener::default()).expect("it can be trained").events)
    };
    let large = train(12, 1);
    assert_eq!(large.len(), 8);
    for (batch, accumulation) in [(6, 2), (4, 3), (1, 12), (5, 3)] {
        let small = train(batch, accumulation);
        assert_eq!(small.len(), large.len());
        for (small, large) in small.iter().zip(&large) {
            let near = |a: f64, b: f64| (a - b).abs() <= 2e-5 * b.abs();
            assert_eq!((small.tokens, small.sequences), (large.tokens, large.sequences));
            assert!(near(small.loss, large.loss), "{batch} x {accumulation}: {small:?}\n{large:?}");
            assert!(near(small.gradient_norm, large.gradient_norm), "{batch} x {accumulation}: {small:?}\n{large:?}");
        }
    }
}

#[test]
fn it_ends_when_validation_gets_no_better() {
    let folder = Folder::new();
    let sets = [
        "data.validation_split=0.25",
        "training.num_epochs=100",
        "training.learning_rate=1e-9",
        "training.early_stopping.patience=3",
        "training.early_stopping.min_delta=0.01",
    ];
    let done = run(&settings(&folder, &sets), None, &mut Listener::default()).expect("it can be trained");
    let Some(TrainingEvent::Ended(end)) = done.events.last() else { panic!("it has an end") };
    // One validation sets the bar, three do not reach it; three steps are an epoch.
    assert_eq!((end.why.as_str(), end.steps), ("early stop", 12));
    assert!(folder.path("out/model.gguf").exists() && folder.path("out/checkpoints/best.safetensors").exists());
}

#[test]
fn a_step_that_is_too_large_is_named_and_nothing_is_overwritten() {
    // So large that weights overflow, or only what is computed from them.
    for (rate, place) in [("1e38", "token_embd.weight"), ("1e20", " of layer 0, sequence ")] {
        let folder = Folder::new();
        let sets = ["checkpointing.save_every_n_batches=1", "training.num_epochs=3", "training.gradient_clip=0"];
        let good = settings(&folder, &sets);
        run(&good, None, &mut Listener::stopping_after(2)).expect("it can be stopped");
        let before: Vec<_> = list(&good.checkpoints());
        let bytes: Vec<Vec<u8>> = before.iter().map(|(_, path)| fs::read(path).expect("it can be read")).collect();
        let rate = format!("training.learning_rate={rate}");
        let bad = settings(&folder, &[sets[0], sets[1], sets[2], &rate]);
        let error = run(&bad, Some("latest"), &mut Listener::default()).expect_err("numbers overflow");
        let message = error.to_string();
        assert!(message.starts_with("step ") && message.contains(place), "{message}");
        assert!(message.contains("the last checkpoint, of step"), "{message}");
        assert!(error.hint().contains("learning_rate"), "{}", error.hint());
        for ((_, path), bytes) in before.iter().zip(bytes) {
            assert!(fs::read(path).expect("it is there still") == bytes, "{} was changed", path.display());
        }
        for (_, path) in list(&good.checkpoints()) {
            let whole = Checkpoint::open(&path).and_then(|checkpoint| checkpoint.parameters());
            assert!(whole.is_ok(), "{}: {:?}", path.display(), whole.err());
        }
    }
}

#[test]
fn one_folder_has_one_training() {
    let folder = Folder::new();
    let settings = settings(&folder, &[]);
    let held = Checkpoints::open(&settings.checkpoints()).expect("it can be made");
    let error = run(&settings, None, &mut Listener::default()).expect_err("it is taken");
    assert!(error.to_string().contains("another training"), "{error}");
    drop(held);
    run(&settings, None, &mut Listener::stopping_after(1)).expect("it is free");
}

#[test]
fn a_model_is_written_that_says_the_same() {
    use engine::{
        Batch, BatchSettings, Compute, Encode, LoadOptions, Model, Request, Sampling, StateOptions, Tokenizer,
    };
    let folder = Folder::new();
    let sets = ["training.num_epochs=20", "sample.prompt=the ", "sample.length=16", "sample.temperature=0"];
    let settings = settings(&folder, &sets);
    let done = run(&settings, None, &mut Listener::default()).expect("it can be trained");
    let written = done.events.iter().find_map(|event| match event {
        TrainingEvent::Sampled(sample) => Some(sample.text.clone()),
        _ => None,
    });
    let written = written.expect("it has written something");
    let compute = Compute::new(Some(1)).expect("one thread is there");
    let (_, last) = list(&settings.checkpoints()).pop().expect("there is a checkpoint");
    let quantised = folder.path("model-q8_0.gguf");
    let checkpoint = Checkpoint::open(&last).expect("it is whole");
    let format = kernels::quant::Format::Q8_0;
    let summary = training::export_checkpoint(&checkpoint, &quantised, format, &compute).expect("it can be written");
    assert!(summary.tensor_bytes * 2 < summary.source_bytes, "{summary:?}");
    for path in [folder.path("out/model.gguf"), quantised] {
        let source = engine::open(&path).expect("it is a model");
        let model = Model::load(&*source, &compute, &mut LoadOptions::default()).expect("it can be loaded");
        let tokenizer = Tokenizer::from_metadata(source.metadata()).expect("it has a vocabulary");
        let options = StateOptions::default();
        let mut batch = Batch::new(&model, &compute, &options, BatchSettings::default()).expect("there is room");
        let prompt = tokenizer.encode("the ", Encode { add_special: true, parse_special: false });
        let sampling = Sampling::greedy();
        batch.join(&Request { prompt: &prompt, sampling: &sampling, limit: 16 }).expect("it can join");
        while batch.is_busy() {
            batch.step().expect("it can be computed");
        }
        let tokens = batch.leave(0).expect("it was there");
        let text = tokenizer.decode(&tokens[prompt.len()..]);
        if path.ends_with("model.gguf") {
            assert_eq!(text, written);
        } else {
            assert!(!text.is_empty());
        }
    }
}
