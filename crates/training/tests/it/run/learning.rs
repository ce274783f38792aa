//! It learns, and tells what it does.

use std::path::Path;

use record::TrainingEvent;
use training::config::read_from;

use super::{Listener, run, settings, steps};
use crate::folder::{Folder, shared};

#[test]
fn a_few_lines_are_learned_by_heart() {
    let folder = Folder::new();
    for family in ["gpt2", "llama"] {
        let settings = settings(
            &folder,
            &[
                &format!("model.architecture={family}"),
                "training.batch_size=12",
                "training.max_steps=300",
                "training.weight_decay=0",
                "training.learning_rate=0.01",
                "training.schedule.kind=cosine",
            ],
        );
        let done = run(&settings, None, &mut Listener::default()).expect("it can be trained");
        let all = steps(&done.events);
        let (first, last) = (all[0].loss, all[all.len() - 1].loss);
        assert!(first > 2.5 && last < 0.6, "{family}: from {first} to {last}");
        assert!(folder.path("out/model.gguf").exists());
    }
}

#[test]
fn phases_are_the_whole_and_all_is_told() {
    let folder = Folder::new();
    let sets = ["data.validation_split=0.25", "sample.length=8", "checkpointing.save_every_n_batches=2"];
    let settings = settings(&folder, &sets);
    let mut listener = Listener::default();
    let done = run(&settings, None, &mut listener).expect("it can be trained");
    assert_eq!(done.events, listener.events);
    let epochs = done.events.iter().filter_map(|event| match event {
        TrainingEvent::Epoch(epoch) => Some(epoch),
        _ => None,
    });
    let mut whole = 0.0;
    for epoch in epochs {
        let sum: f64 = epoch.phases.named().iter().map(|(_, seconds)| seconds).sum();
        assert!((sum - epoch.seconds).abs() < 1e-9, "{epoch:?}");
        assert!(epoch.phases.forward > 0.0 && epoch.phases.backward > 0.0 && epoch.phases.validation > 0.0);
        assert!(epoch.phases.overhead < 0.5 * epoch.seconds, "{epoch:?}");
        whole += sum;
    }
    let kinds: Vec<u8> = done
        .events
        .iter()
        .map(|event| match event {
            TrainingEvent::Started(_) => b'a',
            TrainingEvent::Step(_) => b's',
            TrainingEvent::Validated(_) => b'v',
            TrainingEvent::Sampled(_) => b't',
            TrainingEvent::Saved(_) => b'c',
            TrainingEvent::Epoch(_) => b'e',
            TrainingEvent::Ended(_) => b'z',
        })
        .collect();
    // Nine lines are three batches of four: steps 2, 4 and 6 are saved, both validations are better than any before.
    assert_eq!(String::from_utf8_lossy(&kinds), "asscsvcescssvcctez");
    let Some(TrainingEvent::Ended(end)) = done.events.last() else { panic!("it has an end") };
    assert!((end.seconds - whole).abs() < 0.02 * whole, "{end:?} and {whole}");
    assert_eq!((end.steps, end.why.as_str()), (6, "finished"));
}

/// As a LoopOS user would type it.
#[test]
fn a_config_of_loopos_is_trained_on_its_corpus() {
    let (Some(config), Some(corpus)) = (shared("loopos/autoregressive_tiny.json"), shared("loopos/corpus32x128.txt"))
    else {
        return;
    };
    let folder = Folder::new();
    let sets = [
        format!("data.input_file={}", corpus.display()),
        format!("data.output_dir={}", folder.path("out").display()),
        "training.max_steps=2".to_owned(),
        "sample.length=4".to_owned(),
    ];
    let settings = training::config::read(&config, &sets).expect("it is a config").settings;
    let done = run(&settings, None, &mut Listener::default()).expect("it can be trained");
    let Some(TrainingEvent::Started(start)) = done.events.first() else { panic!("it has a beginning") };
    // LoopOS counts 4,064 tokens: 32 lines of 128, of which the first of each is not predicted.
    assert_eq!((start.tokens, start.sequences, start.steps_per_epoch), (4064, 32, 4));
    assert_eq!((start.threads, start.epochs), (1, None));
    let all = steps(&done.events);
    assert_eq!((all.len(), all[0].tokens, all[0].learning_rate), (2, 8 * 127, 1e-4));
    let by_chance = (start.vocabulary as f64).ln();
    assert!((all[0].loss - by_chance).abs() < 0.2, "{} and {by_chance}", all[0].loss);
}

/// The three configs of LoopOS, untouched, in a folder laid out as its own and started where its users start it.
#[test]
fn configs_of_loopos_run_where_loopos_runs() {
    let configs = ["autoregressive_tiny", "autoregressive_fast", "autoregressive_training"];
    let texts = [
        ("text/trump_tiny.txt", "corpus32x128.txt"),
        ("wiki/wiki_fast_corpus.txt", "corpus128x128.txt"),
        ("text/trump_3.6.txt", "corpus128x128.txt"),
    ];
    let root = Folder::new();
    for (config, (place, text)) in configs.iter().zip(texts) {
        let Some(from) = shared(&format!("loopos/{config}.json")) else { return };
        let Some(text) = shared(&format!("loopos/{text}")) else { return };
        let bytes = |path: &Path| std::fs::read(path).expect("it can be read");
        let config = root.write(&format!("configs/{config}.json"), bytes(&from));
        root.write(&format!("data/pretraining/{place}"), bytes(&text));
        // Only the number of steps is not LoopOS's.
        let few = ["training.max_steps=2".to_owned(), "sample.length=4".to_owned()];
        let read = read_from(&config, &few, root.root()).expect("it is a config");
        assert_eq!(read.unknown, vec![]);
        let output = read.settings.output();
        assert!(output.starts_with(root.path("outputs")), "{}", output.display());
        let done = run(&read.settings, None, &mut Listener::default()).expect("it can be trained");
        assert_eq!(steps(&done.events).len(), 2);
        assert!(output.join("model.gguf").exists());
    }
}
