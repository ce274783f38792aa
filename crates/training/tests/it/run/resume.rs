//! A training that was stopped goes on as if it had not been, bit for bit.

use std::fs;
use std::path::{Path, PathBuf};

use engine::Compute;
use record::TrainingEvent;
use training::checkpoint::{Checkpoint, State, list};
use training::config::Settings;
use training::{TrainingObserver, train};

use super::{Listener, run, settings, steps};
use crate::folder::Folder;

/// What was computed, without what the clock and paths say.
fn computed(events: &[TrainingEvent]) -> Vec<String> {
    let without_time = |event: &TrainingEvent| match event {
        TrainingEvent::Step(step) => {
            let (loss, norm, rate) = (step.loss.to_bits(), step.gradient_norm.to_bits(), step.learning_rate.to_bits());
            Some(format!(
                "step {} {} {loss:x} {norm:x} {rate:x} {} {}",
                step.step, step.epoch, step.tokens, step.sequences
            ))
        }
        TrainingEvent::Validated(validated) => {
            Some(format!("validated {} {:x} {}", validated.step, validated.loss.to_bits(), validated.best))
        }
        TrainingEvent::Sampled(sample) => Some(format!("sampled {} {}", sample.step, sample.text)),
        _ => None,
    };
    events.iter().filter_map(without_time).collect()
}

/// The same training with another folder to write to.
fn elsewhere(settings: &Settings, folder: &Folder, name: &str) -> Settings {
    let mut settings = settings.clone();
    settings.data.output_dir = Some(folder.path(name));
    settings
}

/// The last checkpoint of a training: its state without the settings, and all bytes of its tensors.
fn last(folder: &Folder, name: &str) -> (State, Vec<u8>) {
    let (_, path) = list(&folder.path(name).join("checkpoints")).pop().expect("there is a checkpoint");
    let state =
        State { settings: Settings::default(), ..Checkpoint::open(&path).expect("it is whole").state().clone() };
    (state, tensors(&path))
}

/// What stands behind the header, without the checksum of all.
fn tensors(path: &Path) -> Vec<u8> {
    let bytes = fs::read(path).expect("it can be read");
    let header = u64::from_le_bytes(bytes[..8].try_into().expect("eight bytes")) as usize;
    bytes[8 + header..bytes.len() - 32].to_vec()
}

/// Stops after every step, goes on with another number of threads, and compares with a training that never stopped.
fn check(name: &str, sets: &[&str]) {
    let folder = Folder::new();
    let settings = settings(&folder, sets);
    let whole = elsewhere(&settings, &folder, "whole");
    let never_stopped = run(&whole, None, &mut Listener::default()).expect("it can be trained");
    let expected = computed(&never_stopped.events);
    let steps = expected.iter().filter(|line| line.starts_with("step")).count() as u64;
    assert!(steps >= 5, "{name}: {steps} steps");
    for k in 1..steps {
        let out = format!("stopped-{k}");
        let stopped = elsewhere(&settings, &folder, &out);
        let mut first = Listener::stopping_after(k);
        run(&stopped, None, &mut first).expect("it can be stopped");
        let compute = Compute::new(Some(1 + k as usize % 3)).expect("so many threads are there");
        let second = train(&stopped, Some(Path::new("latest")), &compute, &mut Listener::default());
        let second = second.unwrap_or_else(|error| panic!("{name}: it goes on after {k}: {error}"));
        let mut both = computed(&first.events);
        both.extend(computed(&second.events));
        assert_eq!(both, expected, "{name}: stopped after {k}");
        assert!(
            last(&folder, &out) == last(&folder, "whole"),
            "{name}: stopped after {k}: the last checkpoint differs"
        );
        let model = |out: &str| fs::read(folder.path(out).join("model.gguf")).expect("there is a model");
        assert!(model(&out) == model("whole"), "{name}: stopped after {k}: the model differs");
    }
}

#[test]
fn with_adamw_over_epochs() {
    check("adamw", &["training.num_epochs=3", "training.schedule.kind=cosine", "training.schedule.warmup_steps=3"]);
}

#[test]
fn with_dropout_momentum_accumulation_and_clipping() {
    let sets = [
        "training.optimizer=sgd",
        "training.momentum=0.9",
        "training.dropout=0.2",
        "training.batch_size=2",
        "training.gradient_accumulation=4",
        "training.gradient_clip=0.5",
        "training.clip_value=0.01",
        "training.num_epochs=3",
    ];
    check("sgd", &sets);
}

#[test]
fn with_a_plateau_validation_and_texts() {
    let sets = [
        "training.num_epochs=4",
        "data.validation_split=0.25",
        "training.validate_every=1",
        "training.schedule.kind=plateau",
        "training.schedule.patience=2",
        "training.schedule.threshold=0.05",
        "training.early_stopping.patience=5",
        "training.early_stopping.min_delta=0.04",
        "sample.every=2",
        "sample.length=6",
    ];
    check("plateau", &sets);
}

#[test]
fn with_llama_windows_recomputation_and_restarts() {
    let sets = [
        "model.architecture=llama",
        "model.kv_heads=2",
        "model.tied=true",
        "data.sequences=windows",
        "training.recompute=true",
        "training.dropout=0.1",
        "training.max_batches_per_epoch=2",
        "training.num_epochs=4",
        "training.schedule.kind=cosine_warm_restarts",
        "training.schedule.period=2",
    ];
    check("llama", &sets);
}

/// Who was killed goes on from the last checkpoint, and does again what came after it.
#[test]
fn from_any_checkpoint_that_was_kept() {
    let folder = Folder::new();
    let sets = ["training.num_epochs=3", "checkpointing.save_every_n_batches=2", "checkpointing.keep_last_n=0"];
    let settings = settings(&folder, &sets);
    let done = run(&settings, None, &mut Listener::default()).expect("it can be trained");
    let model = fs::read(folder.path("out/model.gguf")).expect("there is a model");
    let all = list(&settings.checkpoints());
    assert_eq!(all.iter().map(|(step, _)| *step).collect::<Vec<_>>(), [2, 4, 6, 8, 9]);
    for (step, path) in all {
        let again = elsewhere(&settings, &folder, "again");
        let rest = run(&again, path.to_str(), &mut Listener::default()).expect("it goes on");
        let after =
            |line: &&String| line.split(' ').nth(1).is_some_and(|at| at.parse::<u64>().is_ok_and(|at| at > step));
        let expected: Vec<String> = computed(&done.events).iter().filter(after).cloned().collect();
        assert_eq!(computed(&rest.events), expected, "from step {step}");
        assert!(fs::read(folder.path("again/model.gguf")).expect("there is a model") == model, "from step {step}");
    }
}

#[test]
fn a_longer_training_goes_on_where_a_shorter_one_ended() {
    let folder = Folder::new();
    let long = settings(&folder, &["training.num_epochs=4"]);
    let whole = run(&elsewhere(&long, &folder, "whole"), None, &mut Listener::default()).expect("it can be trained");
    let short = settings(&folder, &["training.num_epochs=2"]);
    run(&short, None, &mut Listener::default()).expect("it can be trained");
    let rest = run(&long, Some("latest"), &mut Listener::default()).expect("it goes on");
    assert_eq!(computed(&rest.events), computed(&whole.events)[6..]);
    // At its end there is nothing left to do, and that is no fault.
    let none = run(&long, Some("latest"), &mut Listener::default()).expect("it is at its end");
    assert_eq!(computed(&none.events), [""; 0]);
}

#[test]
fn what_belongs_to_another_training_is_refused() {
    let folder = Folder::new();
    let first = settings(&folder, &[]);
    run(&first, None, &mut Listener::stopping_after(2)).expect("it can be stopped");
    let refused = |sets: &[&str]| {
        let error = run(&settings(&folder, sets), Some("latest"), &mut Listener::default());
        error.expect_err("it does not fit").to_string()
    };
    for (set, expected) in [
        ("model.d_model=64", "saved with model.d_model = 32, now 64"),
        ("training.batch_size=2", "training.batch_size = 4, now 2"),
        ("training.random_seed=1", "training.random_seed = 42, now 1"),
        ("training.optimizer=sgd", "training.optimizer = \"adamw\", now \"sgd\""),
        ("data.validation_split=0.5", "data.validation_split = 0.0, now 0.5"),
    ] {
        assert!(refused(&[set]).contains(expected), "{set}: {}", refused(&[set]));
    }
    let changed = settings(&folder, &["training.learning_rate=0.001"]);
    let rest = run(&changed, Some("latest"), &mut Listener::default()).expect("a rate may change");
    let Some(TrainingEvent::Started(start)) = rest.events.first() else { panic!("it has a beginning") };
    assert!(
        start.notes.iter().any(|note| note.contains("training.learning_rate changed from 0.003")),
        "{:?}",
        start.notes
    );
    assert_eq!(start.resumed_at, Some(2));
    // The same text elsewhere is the same.
    folder.write("moved/text.txt", super::LINES);
    let mut moved = first.clone();
    moved.data.input_file = folder.path("moved/text.txt").to_str().expect("it is text").into();
    run(&moved, Some("latest"), &mut Listener::stopping_after(1)).expect("it is the same corpus");
    folder.write("other.txt", "another text\nwith other lines\n".repeat(10));
    let mut other = first.clone();
    other.data.input_file = folder.path("other.txt").to_str().expect("it is text").into();
    let error = run(&other, Some("latest"), &mut Listener::default()).expect_err("it is another corpus");
    assert!(error.to_string().contains("the corpus or its cut"), "{error}");
}

#[test]
fn there_may_be_nothing_to_go_on_from() {
    let folder = Folder::new();
    let settings = settings(&folder, &[]);
    for resume in ["latest", "no/such/place"] {
        let error = run(&settings, Some(resume), &mut Listener::default()).expect_err("there is nothing");
        assert!(error.to_string().contains("no checkpoint found"), "{error}");
    }
}

/// A second training does not take the first one's checkpoints for its own, and loses none.
#[test]
fn what_was_there_before_is_set_aside() {
    let folder = Folder::new();
    let settings = settings(&folder, &["training.num_epochs=1"]);
    let names = |at: PathBuf| list(&at).into_iter().map(|(step, _)| step).collect::<Vec<_>>();
    for earlier in 1..=2 {
        let done = run(&settings, None, &mut Listener::stopping_after(earlier)).expect("it can be trained");
        let Some(TrainingEvent::Started(start)) = done.events.first() else { panic!("it has a beginning") };
        assert_eq!(start.notes.iter().filter(|note| note.contains("earlier-")).count() as u64, earlier - 1);
        assert_eq!(names(settings.checkpoints()), [earlier]);
    }
    assert_eq!(names(settings.checkpoints().join("earlier-1")), [1]);
}

/// A start that fails, or is stopped before its first checkpoint, leaves all as it was: the last training can go on.
#[test]
fn a_start_that_fails_leaves_the_last_checkpoint() {
    let folder = Folder::new();
    let good = settings(&folder, &["training.num_epochs=2"]);
    run(&good, None, &mut Listener::stopping_after(2)).expect("it can be stopped");
    let mut mistyped = good.clone();
    mistyped.data.input_file = folder.path("no-such-text.txt").to_str().expect("it is text").into();
    run(&mistyped, None, &mut Listener::default()).expect_err("there is no text");
    run(&good, None, &mut Listener::stopping_after(0)).expect("it is stopped before the first step");
    let overflowing = settings(&folder, &["training.num_epochs=2", "training.learning_rate=1e38"]);
    run(&overflowing, None, &mut Listener::default()).expect_err("its numbers overflow");
    assert!(!folder.path("out/checkpoints/earlier-1").exists());
    let rest = run(&good, Some("latest"), &mut Listener::default()).expect("it goes on");
    assert_eq!(steps(&rest.events).first().map(|step| step.step), Some(3));
}

#[test]
fn checkpoints_that_were_set_aside_are_named() {
    let folder = Folder::new();
    let settings = settings(&folder, &["training.num_epochs=1"]);
    run(&settings, None, &mut Listener::stopping_after(1)).expect("it can be stopped");
    run(&settings, None, &mut Listener::stopping_after(2)).expect("it can be stopped");
    for (_, path) in list(&settings.checkpoints()) {
        fs::remove_file(path).expect("it can be removed");
    }
    let error = run(&settings, Some("latest"), &mut Listener::default()).expect_err("there is none");
    assert!(error.to_string().contains("checkpoints/earlier-1"), "{error}");
}

/// The log, the model and the corpus are of one training, wherever the checkpoints are.
#[test]
fn two_trainings_in_one_folder_are_refused() {
    struct Second(Settings, Option<String>);
    impl TrainingObserver for Second {
        fn event(&mut self, event: &TrainingEvent) {
            if matches!(event, TrainingEvent::Step(_)) && self.1.is_none() {
                let error = run(&self.0, None, &mut Listener::default()).expect_err("the first is not at its end");
                self.1 = Some(error.to_string());
            }
        }
    }
    let folder = Folder::new();
    let first = settings(&folder, &["training.num_epochs=1"]);
    let save_path = format!("checkpointing.save_path={}", folder.path("elsewhere").display());
    let mut second = Second(settings(&folder, &["training.num_epochs=1", &save_path]), None);
    let compute = Compute::new(Some(1)).expect("one thread is there");
    train(&first, None, &compute, &mut second).expect("it can be trained");
    let message = second.1.expect("there were steps");
    assert!(message.contains("in use by another training for its log and model"), "{message}");
    // One behind the other is fine, and so is one folder for all.
    run(&second.0, None, &mut Listener::default()).expect("the first is over");
    let together = format!("checkpointing.save_path={}", folder.path("out").display());
    run(&settings(&folder, &[&together]), None, &mut Listener::default()).expect("it locks its folder once");
}

#[test]
fn tokens_of_other_texts_are_removed() {
    let folder = Folder::new();
    let tokens =
        || folder.names("out/corpus").into_iter().filter(|name| name.starts_with("tokens-")).collect::<Vec<_>>();
    let mut seen = Vec::new();
    for length in ["training.max_length=64", "training.max_length=32", "training.max_length=64"] {
        run(&settings(&folder, &[length]), None, &mut Listener::default()).expect("it can be trained");
        assert_eq!(tokens().len(), 1, "{length}");
        seen.extend(tokens());
    }
    assert!(seen[0] == seen[2] && seen[0] != seen[1]);
}

/// What stands in the way of a checkpoint may go away while the training goes on.
#[test]
fn a_checkpoint_that_cannot_be_written_is_tried_again() {
    struct Blocking {
        listener: Listener,
        place: PathBuf,
        warnings: Vec<String>,
    }
    impl TrainingObserver for Blocking {
        fn event(&mut self, event: &TrainingEvent) {
            self.listener.event(event);
            // A folder where a file should come cannot be replaced by one.
            match event {
                TrainingEvent::Step(step) if step.step == 2 => {
                    fs::create_dir_all(self.place.join("in-the-way")).unwrap()
                }
                TrainingEvent::Step(step) if step.step == 3 => fs::remove_dir_all(&self.place).unwrap(),
                _ => {}
            }
        }
        fn warning(&mut self, message: &str) {
            self.warnings.push(message.to_owned());
        }
    }
    let folder = Folder::new();
    let sets = ["training.num_epochs=3", "checkpointing.save_every_n_batches=2", "checkpointing.keep_last_n=0"];
    let settings = settings(&folder, &sets);
    let place = settings.checkpoints().join("step-00000002.safetensors");
    let mut watch = Blocking { listener: Listener::default(), place, warnings: Vec::new() };
    let compute = Compute::new(Some(1)).expect("one thread is there");
    let done = train(&settings, None, &compute, &mut watch).expect("it goes on");
    assert_eq!(steps(&done.events).len(), 9);
    assert_eq!(watch.warnings.len(), 2, "{:?}", watch.warnings);
    assert!(
        watch.warnings[0].contains("step 2: cannot save a checkpoint: ")
            && watch.warnings[0].contains("retries after step 3")
    );
    assert!(watch.warnings[1].contains("step 3: checkpoint saved on retry"));
    let written: Vec<u64> = list(&settings.checkpoints()).into_iter().map(|(step, _)| step).collect();
    assert_eq!(written, [3, 4, 6, 8, 9]);
    let model = fs::read(folder.path("out/model.gguf")).expect("there is a model");
    let undisturbed = elsewhere(&settings, &folder, "undisturbed");
    run(&undisturbed, None, &mut Listener::default()).expect("it can be trained");
    assert!(fs::read(folder.path("undisturbed/model.gguf")).expect("there is a model") == model);
}
