//! Configs: LoopOS's as they are, keys that are not known, values that cannot be, and where paths begin.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use training::config::{
    self, ALIASES, Expects, KEYS, ModelFamily, OptimizerKind, Read, ScheduleKind, Settings, read, read_from,
};

use crate::folder::{Folder, shared};

/// Reads a text as a config.
fn parse(name: &str, text: &str, sets: &[&str]) -> training::Result<Read> {
    let folder = Folder::new();
    let sets: Vec<String> = sets.iter().map(ToString::to_string).collect();
    read(&folder.write(name, text), &sets)
}

/// What is said of a text that is refused, with its hint.
#[track_caller]
fn refused(name: &str, text: &str, sets: &[&str]) -> String {
    let error = parse(name, text, sets).expect_err("it is refused");
    assert!(!error.hint().is_empty());
    error.to_string()
}

#[track_caller]
fn settings(text: &str) -> Settings {
    parse("a.json", text, &[]).expect("it is a config").settings
}

#[test]
fn configs_of_loopos_are_read_as_they_are() {
    let Some(tiny) = shared("loopos/autoregressive_tiny.json") else { return };
    let Read { settings, unknown, notes } = read(&tiny, &[]).expect("it is a config");
    assert_eq!((unknown, notes), (vec![], vec![]));
    assert_eq!((settings.model.d_model, settings.model.num_heads, settings.model.num_layers), (256, 8, 2));
    assert_eq!((settings.ffn(), settings.model.architecture), (1024, ModelFamily::Gpt2));
    let training = &settings.training;
    assert_eq!((training.batch_size, training.max_length, training.num_epochs), (8, 128, 1));
    assert_eq!((training.learning_rate, training.prefetch_batches, training.num_workers), (1e-4, 2, 2));
    assert_eq!((settings.shuffles(), training.weight_decay, training.optimizer), (true, 0.01, OptimizerKind::Adamw));
    let folder = tiny.parent().expect("it is in a folder");
    assert_eq!(settings.output(), folder.join("outputs/autoregressive"));
    assert_eq!(settings.checkpoints(), folder.join("outputs/autoregressive/checkpoints"));

    let Some(seed) = shared("loopos/autoregressive_training.json") else { return };
    let Read { settings, unknown, .. } = read(&seed, &[]).expect("it is a config");
    assert_eq!(unknown, vec![]);
    let training = &settings.training;
    assert_eq!((training.learning_rate, training.dropout, training.weight_decay), (1e-3, 0.1, 0.01));
    let schedule = &training.schedule;
    assert_eq!((schedule.kind, schedule.min_learning_rate), (ScheduleKind::CosineWarmRestarts, 1e-6));
    assert_eq!((schedule.period, schedule.period_factor, training.num_epochs), (5, 2.0, 50));

    let Some(fast) = shared("loopos/autoregressive_fast.json") else { return };
    let Read { settings, unknown, .. } = read(&fast, &[]).expect("it is a config");
    assert_eq!(unknown, vec![]);
    assert_eq!((settings.tokenizer.vocab_size, settings.data.validation_split), (Some(16000), 0.05));
    assert_eq!((settings.sample.length, settings.sample.temperature, settings.sample.top_k), (200, 0.7, 40));
    assert_eq!((settings.checkpointing.save_every_n_batches, settings.checkpointing.keep_last_n), (500, 5));
    assert_eq!((settings.profiling.enabled, settings.profiling.report_top_n), (true, Some(20)));
    assert!(settings.checkpoints().ends_with("outputs/wiki_pretrained_fast/checkpoints"));
}

/// Every key of the list is a field of the settings, and the other way round.
#[test]
fn the_list_of_keys_is_that_of_the_settings() {
    let mut fields = BTreeSet::new();
    let all = serde_json::to_value(Settings::default()).expect("they are plain data");
    collect(&all, String::new(), &mut fields);
    let keys: BTreeSet<String> = KEYS.iter().map(|key| key.path.to_owned()).collect();
    assert_eq!(fields, keys);
    assert_eq!(keys.len(), KEYS.len(), "none is there twice");
    for (from, to) in ALIASES {
        assert!(keys.contains(*to) && !keys.contains(*from), "{from} and {to}");
    }
    assert!(KEYS.iter().all(|key| !key.meaning.is_empty() && !key.expects.words().is_empty()));
}

fn collect(value: &serde_json::Value, path: String, fields: &mut BTreeSet<String>) {
    match value {
        serde_json::Value::Object(table) => {
            for (name, value) in table {
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                collect(value, path, fields);
            }
        }
        _ => drop(fields.insert(path)),
    }
}

#[test]
fn every_key_takes_what_it_expects_and_nothing_else() {
    for key in KEYS {
        let (good, bad): (&str, &[&str]) = match key.expects {
            Expects::Whole(least) if key.path == "model.d_model" => ("64", if least > 0 { &["0", "1.5"] } else { &[] }),
            Expects::Whole(0) => ("7", &["-1", "1.5", "\"x\"", "true", "[]", "1e30"]),
            Expects::Whole(_) if key.path == "model.context" => ("512", &["0", "16", "-8"]),
            Expects::Whole(_) if key.path == "training.max_length" => ("8", &["1", "0", "\"x\""]),
            Expects::Whole(_) if key.path.starts_with("model.") => ("8", &["0", "-8", "8.5", "{}", "\"x\""]),
            Expects::Whole(_) => ("9", &["0", "-9", "9.5", "\"x\"", "[1]"]),
            Expects::Number(_) if key.path == "training.schedule.period_factor" => ("1.5", &["0.5", "-1", "\"x\""]),
            Expects::Number(_) if key.path == "training.schedule.min_learning_rate" => ("0", &["-1", "1", "true"]),
            Expects::Number(_) => ("0.5", &["-0.5", "\"x\"", "true", "[]", "null0"]),
            Expects::Flag => ("true", &["1", "\"x\"", "[]"]),
            Expects::Choice(choices) => (choices[0], &["\"other\""]),
            Expects::Text if key.path == "computation.mode" => ("pretraining", &["posttraining"]),
            Expects::Text if key.path == "computation.method" => ("autoregressive", &["masked_lm", "rlhf"]),
            Expects::Text | Expects::Source | Expects::Target => ("some", &[]),
            Expects::Sources => ("[\"a\", \"b\"]", &["[1]", "{}"]),
        };
        let set = |value: &str| vec![format!("{}={value}", key.path)];
        let read = config::defaults(&set(good));
        assert!(read.is_ok(), "{} = {good}: {:?}", key.path, read.err());
        for bad in bad {
            let error = config::defaults(&set(bad)).expect_err(key.path).to_string();
            assert!(error.contains(key.path), "{} = {bad}: {error}", key.path);
        }
    }
}

#[test]
fn keys_that_are_not_known_are_named() {
    let text = "{\n \"model\": {\"d_modle\": 64, \"num_classes\": 3},\n \"training\": {\n  \"batchsize\": 4,\n  \
                \"random_offset\": true,\n  \"zzz\": {\"y\": [1, {\"x\": 2}]}},\n \"colour\": \"red\"}";
    let Read { settings, unknown, .. } = parse("a.json", text, &[]).expect("unknown keys stop nothing");
    assert_eq!(settings.model, Settings::default().model);
    let told: Vec<(&str, usize, bool)> =
        unknown.iter().map(|key| (key.path.as_str(), key.line, key.why.contains("did you mean"))).collect();
    let expected = [
        ("model.d_modle", 2, true),
        ("model.num_classes", 2, false),
        ("training.batchsize", 4, true),
        ("training.random_offset", 5, false),
        ("training.zzz.y", 6, false),
        ("colour", 7, false),
    ];
    assert_eq!(told, expected);
    assert!(unknown[0].why.contains("model.d_model") && unknown[2].why.contains("training.batch_size"));
    assert!(unknown[3].to_string().contains("training.shuffle"), "{}", unknown[3]);
}

#[test]
fn keys_may_have_two_names_and_one_decides() {
    let text = "{\"training\": {\"dropout\": 0.2,\n \"regularization\": {\"dropout\": 0.1}}}";
    let read = parse("a.json", text, &[]).expect("it is a config");
    assert_eq!((read.settings.training.dropout, read.unknown.len()), (0.2, 1));
    assert!(read.unknown[0].to_string().contains("training.dropout decides"), "{}", read.unknown[0]);
    let text = "{\"training\": {\"learning_rate\": 0.5, \"adaptive_lr\": {\"initial_lr\": 0.25, \"strategy\": \"exponential\", \
                \"gamma\": 0.9}}}";
    let training = settings(text).training;
    assert_eq!(
        (training.learning_rate, training.schedule.kind, training.schedule.factor),
        (0.25, ScheduleKind::Step, 0.9)
    );
    let told = parse("a.json", text, &[]).expect("it is a config").unknown;
    assert!(told.len() == 1 && told[0].why == "training.adaptive_lr.initial_lr decides", "{told:?}");
    let off = text.replace("\"initial_lr\"", "\"enabled\": false, \"initial_lr\"");
    assert_eq!(settings(&off).training.learning_rate, 0.5);
    let set = parse("a.json", text, &["training.learning_rate=0.75"]).expect("it is a config");
    assert_eq!(set.settings.training.learning_rate, 0.75);
    let cycle = "{\"training\": {\n\"adaptive_lr\": {\"strategy\": \"one_cycle\"}}}";
    assert!(refused("a.json", cycle, &[]).contains("a.json:2: training.adaptive_lr.strategy = one_cycle"));
}

#[test]
fn what_cannot_be_is_refused_with_its_place() {
    for (text, expected) in [
        ("{\"model\":\n {\"num_heads\": 0}}", "a.json:2: model.num_heads = 0: expected a whole number of at least 1"),
        (
            "{\"model\": {\"d_model\": 10,\n\"num_heads\": 4}}",
            "a.json:2: model.num_heads: d_model 10 is not divisible by 4 heads",
        ),
        ("{\"training\": {\"learning_rate\": -1}}", "a.json:1: training.learning_rate = -1: expected a number above 0"),
        (
            "{\"training\":\n\n{\"batch_size\": \"8\"}}",
            "a.json:3: training.batch_size = \"8\": expected a whole number",
        ),
        ("{\"training\": {\"dropout\": 1}}", "expected a number from 0 up to, but not including, 1"),
        ("{\"model\": 5}", "a.json:1: model = 5: expected a table of keys"),
        ("{\"model\": {\"context\": 16}, \"training\": {\"max_length\": 32}}", "model.context: 16 positions"),
        ("{\"model\": {\"kv_heads\": 4}}", "gpt2 needs as many key/value heads"),
        ("{\"model\": {\"kv_heads\": 3, \"architecture\": \"llama\"}}", "not divisible by 3 key/value heads"),
        ("{\"computation\": {\"mode\": \"posttraining\",\n\"method\": \"rlhf\"}}", "posttraining is not supported"),
        ("{\"computation\": {\"method\": \"masked_lm\"}}", "a.json:1: computation.method: masked_lm is not supported"),
        (
            "{\"training\": {\"batch_size\": 1,\n\"batch_size\": 2}}",
            "a.json:2: duplicate key training.batch_size, first on line 1",
        ),
        ("{\"training\": {\n\"batch_size\": }", "a.json:2: expected value"),
        ("[1]", "expected an object with sections"),
        ("", "a.json:1: EOF"),
    ] {
        let error = refused("a.json", text, &[]);
        assert!(error.contains(expected), "{error}\n{expected}");
    }
    for (text, expected) in [
        ("[model]\nnum_heads = 0\n", "a.toml:2: model.num_heads = 0: expected a whole number of at least 1"),
        ("[model\n", "a.toml:1: "),
        ("[training]\nlearning_rate = inf\n", "a.toml:2: training.learning_rate = \"inf\": expected a number above 0"),
        ("model = 3\n", "a.toml:1: model = 3: expected a table"),
    ] {
        let error = refused("a.toml", text, &[]);
        assert!(error.contains(expected), "{error}\n{expected}");
    }
    let folder = Folder::new();
    let missing = read(&folder.path("none.json"), &[]).expect_err("there is no such file").to_string();
    assert!(missing.contains("none.json"), "{missing}");
    let binary = read(&folder.write("b.json", [0xff, 0xfe, 0]), &[]).expect_err("invalid UTF-8 at byte").to_string();
    assert!(binary.contains("byte 0"), "{binary}");
    let large = read(&folder.write("c.json", vec![b' '; 2 << 20]), &[]).expect_err("it is too large").to_string();
    assert!(large.contains("not a config"), "{large}");
}

#[test]
fn toml_says_the_same_as_json() {
    let toml = "[model]\nd_model = 64\nnum_heads = 4\narchitecture = \"llama\"\n[training]\nlearning_rate = 3e-4\nbatch_size = 0x10\n\
                schedule = { kind = \"cosine\", warmup_steps = 100 }\nshuffle = false\n[data]\ninput_file = [\"/a\", \"/b\"]\n";
    let json = "{\"model\": {\"d_model\": 64, \"num_heads\": 4, \"architecture\": \"llama\"}, \"training\": {\"learning_rate\": 3e-4, \
                \"batch_size\": 16, \"schedule\": {\"kind\": \"cosine\", \"warmup_steps\": 100}, \"shuffle\": false}, \
                \"data\": {\"input_file\": [\"/a\", \"/b\"], \"output_dir\": \"/out\"}}";
    let toml = parse("a.toml", &format!("{toml}output_dir = \"/out\"\n"), &[]).expect("it is a config");
    assert_eq!(toml.settings, settings(json));
    // Without a name that says so, the text tells.
    assert_eq!(parse("a.conf", json, &[]).expect("it is a config").settings, toml.settings);
}

#[test]
fn what_is_set_is_checked() {
    let text = "{\"training\": {\"batch_size\": 8}}";
    let ok = |set: &str| parse("a.json", text, &[set]).expect(set).settings;
    assert_eq!(ok("training.batch_size=16").training.batch_size, 16);
    assert_eq!(ok("training.batch_size = 16 ").training.batch_size, 16);
    assert_eq!(ok("training.batch_size=null").training.batch_size, Settings::default().training.batch_size);
    assert_eq!(ok("sample.prompt=12").sample.prompt, "12");
    assert_eq!(ok("sample.prompt= a ").sample.prompt, " a ");
    assert_eq!(ok("sample.prompt=\"a = b\"").sample.prompt, "a = b");
    assert_eq!(ok("training.optimizer=sgd").training.optimizer, OptimizerKind::Sgd);
    assert_eq!(ok("model.vocab_size=100").tokenizer.vocab_size, Some(100));
    for (set, expected) in [
        ("training.batchsize=16", "--set training.batchsize: unknown key; did you mean training.batch_size?"),
        ("batch_size=16", "did you mean training.batch_size?"),
        ("training=16", "this is a section"),
        ("training.random_offset=true", "no effect: "),
        ("qqq=1", "--set qqq: unknown key"),
        ("training.batch_size", "no = found"),
        ("training.batch_size=many", "--set training.batch_size = \"many\": expected a whole number of at least 1"),
        ("training.optimizer=adam", "--set training.optimizer = \"adam\": expected adamw or sgd"),
        ("model.num_heads=7", "--set model.num_heads: d_model 256"),
    ] {
        let error = refused("a.json", text, &[set]);
        assert!(error.contains(expected), "{error}\n{expected}");
    }
}

#[test]
fn paths_begin_at_the_config_or_where_the_program_was_started() {
    let folder = Folder::new();
    let config = folder
        .write("configs/a.json", "{\"data\": {\"input_file\": \"data/text.txt\", \"output_dir\": \"outputs/a\"}}");
    let here = folder.root();
    let input = |read: &Read| PathBuf::from(read.settings.data.input_file.iter().next().expect("there is one"));
    let read = |sets: &[&str]| {
        let sets: Vec<String> = sets.iter().map(ToString::to_string).collect();
        read_from(&config, &sets, here).expect("it is a config")
    };
    // Nowhere: the error that comes later names the config's folder.
    assert_eq!(input(&read(&[])), folder.path("configs/data/text.txt"));
    // As LoopOS is started, in the folder above.
    folder.write("data/text.txt", "here");
    let found = read(&[]);
    assert_eq!((input(&found), found.settings.output()), (here.join("data/text.txt"), here.join("outputs/a")));
    assert!(found.notes.len() == 1 && found.notes[0].contains("data/text.txt not found next to the config"));
    // Beside the config.
    folder.write("configs/data/text.txt", "there");
    let found = read(&[]);
    assert_eq!((input(&found), found.notes.len()), (folder.path("configs/data/text.txt"), 0));
    assert_eq!(found.settings.output(), folder.path("configs/outputs/a"));
    // Typed: from where it is typed, and what is written too.
    let found = read(&["data.input_file=other.txt"]);
    assert_eq!((input(&found), found.settings.output()), (PathBuf::from("other.txt"), here.join("outputs/a")));
    let found = read(&["data.output_dir=elsewhere"]);
    assert_eq!(found.settings.output(), here.join("elsewhere"));
    // Patterns are looked for by what stands before them; absolute paths stay.
    assert_eq!(input(&read(&["data.input_file=\"-\""])), Path::new("-"));
}

/// Keys that are known and change nothing beside the others.
#[test]
fn keys_without_effect_are_named() {
    let notes = |sets: &[&str]| {
        let sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
        config::defaults(&sets).expect("they can be").notes
    };
    for (sets, key) in [
        (&["training.momentum=0.9"][..], "training.momentum"),
        (&["training.optimizer=sgd", "training.beta1=0.8"], "training.beta1"),
        (&["model.rope_base=50000"], "model.rope_base"),
        (&["data.sequences=windows", "data.end_lines=true"], "data.end_lines"),
        (&["data.separator=###"], "data.separator"),
        (&["training.validate_every=10"], "training.validate_every"),
        (&["checkpointing.keep_best=true"], "checkpointing.keep_best"),
        (&["training.max_steps=10", "training.num_epochs=3"], "training.num_epochs"),
        (&["training.early_stopping.min_delta=0.1"], "training.early_stopping.min_delta"),
        (&["training.schedule.patience=3"], "training.schedule.patience"),
        (&["training.schedule.kind=step", "training.schedule.period_factor=2"], "training.schedule.period_factor"),
    ] {
        let found = notes(sets);
        let expected = format!("{key} has no effect: ");
        assert!(found.len() == 1 && found[0].starts_with(&expected), "{sets:?}: {found:?}");
    }
    let warmup = notes(&["training.max_steps=10", "training.schedule.warmup_steps=10"]);
    assert!(warmup.len() == 1 && warmup[0].contains("the learning rate never leaves the warm-up"), "{warmup:?}");
    let long = notes(&["sample.length=200", "training.max_length=64"]);
    assert!(long.len() == 1 && long[0].contains("exceeds the context length 64"), "{long:?}");
    for sets in [
        &["training.optimizer=sgd", "training.momentum=0.9"][..],
        &["model.architecture=llama", "model.rope_base=50000"],
        &["data.validation_split=0.1", "training.validate_every=10", "checkpointing.keep_best=true"],
        &["training.schedule.kind=plateau", "training.schedule.patience=3", "training.schedule.factor=0.5"],
        &["training.max_steps=10", "training.schedule.warmup_steps=2"],
    ] {
        assert_eq!(notes(sets), Vec::<String>::new(), "{sets:?}");
    }
}
