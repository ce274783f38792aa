//! A training whose figures are known: its lines, its summary, its curve.

use record::*;
use report::{TrainingFiles, TrainingProgress, training_curve, training_event_text};

use super::machine::{build, machine};
use super::snapshots::check;
use super::text::{training_plan_text, training_summary_text};

/// Two epochs of 120 steps, as LoopOS's tiny config has them.
pub fn start() -> TrainingStart {
    let sizes =
        [("architecture", "gpt2".into()), ("d_model", 256.into()), ("num_layers", 2.into()), ("num_heads", 8.into())];
    TrainingStart {
        time: "2026-11-15T08:00:00Z".into(),
        model: sizes.into_iter().map(|(name, size): (&str, serde_json::Value)| (name.to_owned(), size)).collect(),
        parameters: 2_224_128,
        vocabulary: 1_006,
        tokens: 121_920,
        sequences: 960,
        validation_tokens: 4_064,
        steps_per_epoch: 120,
        steps: 240,
        tokens_per_step: 1_016,
        threads: 2,
        flops_per_step: 13_562_000_000,
        epochs: Some(2),
        bytes_per_step: Some(160_000_000),
        memory: [
            ("weights", 8_896_512),
            ("gradients", 8_896_512),
            ("optimiser", 17_793_024),
            ("activations", 41_000_000),
        ]
        .map(|(name, size)| (name.to_owned(), size))
        .into(),
        corpus: vec!["corpus.txt (words)".into()],
        seed: Some(7),
        resumed_at: None,
        notes: vec!["`training.adaptive_lr` means nothing here and was not used".into()],
        ..TrainingStart::default()
    }
}

/// A loss that falls, and jumps a little, the same on every machine.
fn step(step: u64) -> TrainingStep {
    let jump = ((step * 7_919) % 101) as f64 / 101.0 - 0.5;
    let progress = step as f64 / 240.0;
    TrainingStep {
        step,
        epoch: (step - 1) / 120 + 1,
        loss: 2.1 + 4.8 / (1.0 + 9.0 * progress) + 0.35 * jump,
        gradient_norm: 0.9 + 0.3 * jump,
        learning_rate: if step < 24 { step as f64 / 24.0 * 3e-4 } else { 3e-4 * (1.05 - progress) },
        tokens: 1_016,
        sequences: 8,
        seconds: 0.125,
    }
}

fn phases(scale: f64) -> TrainingPhases {
    TrainingPhases {
        data_wait: 0.02 * scale,
        forward: 4.4 * scale,
        backward: 9.1 * scale,
        optimizer: 1.3 * scale,
        validation: 0.31 * scale,
        checkpoint: 0.05 * scale,
        sample: 0.02 * scale,
        overhead: 0.1 * scale,
    }
}

fn epoch(epoch: u64) -> TrainingEpoch {
    let seconds = 15.3;
    TrainingEpoch {
        epoch,
        steps: 120,
        sequences: 960,
        tokens: 121_920,
        loss: 4.2 / epoch as f64,
        seconds,
        cpu_seconds: Some(1.92 * seconds),
        phases: phases(1.0),
        ..TrainingEpoch::default()
    }
}

/// All of it.
pub fn events() -> Vec<TrainingEvent> {
    let mut events = vec![TrainingEvent::Started(start())];
    for number in 1..=240 {
        events.push(TrainingEvent::Step(step(number)));
        if number % 40 == 0 {
            let loss = 2.3 + 4.4 / (1.0 + 9.0 * number as f64 / 240.0);
            let (tokens, seconds, best) = (4_064, 0.103, number != 200);
            let perplexity = loss.exp();
            events.push(TrainingEvent::Validated(TrainingValidation {
                step: number,
                loss,
                perplexity,
                tokens,
                seconds,
                best,
            }));
        }
        if number % 120 == 0 {
            events.push(TrainingEvent::Sampled(TrainingSample {
                step: number,
                prompt: "Once".into(),
                text: " upon a time\nthere was \x1b[31ma small boat and a very long sentence that goes on until the end of the line is \
                       reached and then some more.\n"
                    .into(),
            }));
            let path = format!("outputs/autoregressive/checkpoints/step-{number:08}");
            let saved = TrainingCheckpoint { step: number, path, seconds: 0.024, bytes: 26_689_536 };
            events.push(TrainingEvent::Saved(saved));
            events.push(TrainingEvent::Epoch(epoch(number / 120)));
        }
    }
    events.push(TrainingEvent::Ended(TrainingEnd {
        time: "2026-11-15T08:00:31Z".into(),
        why: "finished".into(),
        steps: 240,
        tokens: 243_840,
        seconds: 30.6,
        loss: Some(2.1),
        best_validation: Some(2.74),
        model: Some("outputs/autoregressive/model.gguf".into()),
        ..TrainingEnd::default()
    }));
    events
}

fn training(events: Vec<TrainingEvent>) -> Training {
    let (schema, version) = (TRAINING_SCHEMA.to_owned(), TRAINING_VERSION);
    let tool = Tool { name: "hotloop".into(), version: "0.1.0".into() };
    Training { schema, version, tool, events, phases: phases(2.0) }
}

fn files() -> TrainingFiles {
    TrainingFiles {
        log: Some("outputs/autoregressive/train.jsonl".into()),
        curve: Some("outputs/autoregressive/loss.svg".into()),
        resume: Vec::new(),
    }
}

#[test]
fn the_beginning() {
    check("training_head.txt", &training_plan_text(&start(), Some(&machine()), Some(&build())));
    let bare = training_plan_text(&TrainingStart { resumed_at: Some(9), ..TrainingStart::default() }, None, None);
    assert!(bare.contains("at step 9") && !bare.contains("cpu"), "{bare}");
}

#[test]
fn every_event_in_words() {
    let shown = events().into_iter().filter(|event| event.step().is_none_or(|step| step % 40 == 0));
    let text: String = shown.map(|event| training_event_text(&event)).collect();
    assert!(!text.contains('\x1b'), "nothing speaks to the terminal");
    check("training_events.txt", &text);
}

#[test]
fn the_breakdown_of_an_epoch_sums_to_a_hundred() {
    let text = training_event_text(&TrainingEvent::Epoch(epoch(1)));
    let shares = text.split('(').skip(1).filter_map(|part| part.split_once(" %")?.0.parse::<f64>().ok());
    let (count, sum) = shares.fold((0, 0.0), |(count, sum), share| (count + 1, sum + share));
    assert!(count == 8 && (sum - 100.0_f64).abs() < 1e-9, "{count} {sum}: {text}");
}

#[test]
fn the_end() {
    check("training_summary.txt", &training_summary_text(&training(events()), &files()));
    let mut interrupted = events();
    interrupted.truncate(60);
    interrupted.push(TrainingEvent::Ended(TrainingEnd {
        why: "interrupted".into(),
        steps: 57,
        seconds: 7.9,
        ..TrainingEnd::default()
    }));
    let resume = ["hotloop", "train", "my configs/tiny.json", "--resume"].map(str::to_owned).to_vec();
    let files = TrainingFiles { resume, ..files() };
    check("training_interrupted.txt", &training_summary_text(&training(interrupted), &files));
    let nothing = training_summary_text(&training(Vec::new()), &TrainingFiles::default());
    assert!(nothing.starts_with("TRAINING  interrupted after step 0"), "{nothing}");
}

#[test]
fn progress_goes_from_the_first_to_the_last_step() {
    let mut progress = TrainingProgress::new();
    events().iter().for_each(|event| progress.event(event));
    assert_eq!(progress.steps(), (240, 240));
    let line = progress.line();
    assert!(line.starts_with("step 240/240, epoch 2/2  loss 2.") && line.contains("8,128 tok/s"), "{line}");
}

#[test]
fn the_curve() {
    let curve = training_curve(&events());
    roxmltree::Document::parse(&curve).expect("it is XML");
    check("training_curve.svg", &curve);
}

#[test]
fn curves_of_little_or_nonsense_are_pictures_too() {
    let odd = |loss: f64| TrainingEvent::Step(TrainingStep { step: 1, loss, ..TrainingStep::default() });
    let validated =
        TrainingEvent::Validated(TrainingValidation { step: 1, loss: f64::NAN, ..TrainingValidation::default() });
    let many: Vec<TrainingEvent> = (1..=100_000).map(|number| TrainingEvent::Step(step(number % 240 + 1))).collect();
    for events in [vec![], vec![odd(1.0)], vec![odd(f64::NAN), validated], vec![odd(f64::INFINITY)], many] {
        let curve = training_curve(&events);
        roxmltree::Document::parse(&curve).expect("it is XML");
        assert!(!curve.contains("NaN") && !curve.contains("inf") && curve.len() < 100_000, "{}", curve.len());
    }
}
