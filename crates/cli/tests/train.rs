//! `hotloop train` as it is used: configs as LoopOS has them, what is shown and written, interrupting and going on, the profile.
#![cfg(unix)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use record::{Run, Scope, Training, TrainingEvent, TrainingPhases, TrainingStep};

/// A folder of this test's own, with a corpus of 48 lines in it and a config as LoopOS's users write them.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("train-{name}"));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("a folder can be made");
    let words = ["the", "cat", "sat", "on", "a", "mat", "and", "saw", "dog", "run", "far", "home"];
    let line =
        |line: usize| (0..12).map(|at| words[(line * 5 + at * at + at) % 12]).collect::<Vec<_>>().join(" ") + "\n";
    fs::write(folder.join("corpus.txt"), (0..48).map(line).collect::<String>()).expect("it can be written");
    fs::write(folder.join("tiny.json"), CONFIG).expect("it can be written");
    folder
}

/// LoopOS's own, but smaller; the corpus is not where it says.
const CONFIG: &str = r#"{
  "model": { "type": "transformer", "d_model": 32, "num_heads": 2, "num_layers": 2, "d_ff": 64 },
  "computation": { "mode": "pretraining", "method": "autoregressive", "description": "GPT-style" },
  "training": {
    "learning_rate": 0.001, "batch_size": 8, "prefetch_batches": 2, "num_workers": 2, "shuffle": true, "num_epochs": 1,
    "max_length": 16, "random_offset": true
  },
  "data": { "input_file": "data/pretraining/text/trump_tiny.txt", "output_dir": "outputs/autoregressive" },
  "trainnig": { "batch_size": 4 }
}"#;

/// Steps of an epoch: each line is a sequence, eight make a step.
const STEPS: u64 = 6;

fn hotloop(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hotloop"));
    command.args(arguments).current_dir(folder).env("HOTLOOP_STORE", folder.join("store")).stdin(Stdio::null());
    command
}

fn output(folder: &Path, arguments: &[&str]) -> Output {
    hotloop(folder, arguments).output().expect("the program starts")
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("it writes UTF-8")
}

const CORPUS: [&str; 2] = ["--set", "data.input_file=corpus.txt"];

/// What it prints and says, of a training that succeeds.
#[track_caller]
fn trained(folder: &Path, arguments: &[&str]) -> (String, String) {
    let output = output(folder, &[&["train", "tiny.json"], &CORPUS[..], arguments].concat());
    let (said, told) = (text(&output.stdout).to_owned(), text(&output.stderr).to_owned());
    assert_eq!(output.status.code(), Some(0), "{arguments:?}\n{said}\n{told}");
    (said, told)
}

fn events(folder: &Path) -> Vec<TrainingEvent> {
    let log = fs::read_to_string(folder.join("outputs/autoregressive/train.jsonl")).unwrap_or_default();
    let whole = log.split_inclusive('\n').filter(|line| line.ends_with('\n'));
    whole.map(|line| TrainingEvent::from_line(line).expect("every line is an event")).collect()
}

fn steps(events: &[TrainingEvent]) -> Vec<&TrainingStep> {
    events.iter().filter_map(|event| if let TrainingEvent::Step(step) = event { Some(step) } else { None }).collect()
}

#[test]
fn a_config_of_loopos_is_trained_as_it_is() {
    let folder = folder("loopos");
    let (printed, told) = trained(&folder, &[]);
    for part in [
        "trainnig.batch_size",
        "training.batch_size",
        "training.random_offset (line 6) has no effect",
        "Epoch 1 completed - Sequences: 48 | Avg loss: ",
        "Timing breakdown - Data wait ",
    ] {
        assert!(told.contains(part), "{part} is missing:\n{told}");
    }
    let out = folder.join("outputs/autoregressive");
    for file in ["model.gguf", "train.jsonl", "loss.svg"] {
        assert!(
            out.join(file).is_file() && printed.contains(&format!("outputs/autoregressive/{file}")),
            "{file}:\n{printed}"
        );
    }
    assert!(printed.starts_with("TRAINING  finished: 6 steps in "), "{printed}");
    assert!(!told.contains('\x1b') && !printed.contains('\x1b'), "no terminal, no colours");
    let events = events(&folder);
    assert_eq!(steps(&events).iter().map(|step| step.step).collect::<Vec<_>>(), (1..=STEPS).collect::<Vec<_>>());
    let curve = fs::read_to_string(out.join("loss.svg")).expect("it is there");
    roxmltree::Document::parse(&curve).expect("it is XML");
    let generated = output(
        &folder,
        &["generate", "--model", "outputs/autoregressive/model.gguf", "--prompt", "the cat", "-n", "4"],
    );
    assert_eq!(generated.status.code(), Some(0), "{}", text(&generated.stderr));
}

#[test]
fn what_cannot_be_is_refused_with_its_place() {
    let folder = folder("refused");
    fs::write(folder.join("empty.txt"), "").expect("it can be written");
    fs::write(folder.join("file"), "").expect("it can be written");
    for (arguments, code, part) in [
        ("train nothing.json", 2, "nothing.json"),
        ("train tiny.json", 2, "data/pretraining/text/trump_tiny.txt"),
        ("train tiny.json --set data.input_file=empty.txt", 2, "empty.txt"),
        ("train tiny.json --set training.batchsize=3", 2, "did you mean training.batch_size?"),
        ("train tiny.json --set data.input_file=corpus.txt --set model.num_heads=5", 2, "num_heads"),
        ("train tiny.json --set data.input_file=corpus.txt --set training.learning_rate=-1", 2, "learning_rate"),
        ("train tiny.json --set data.input_file=corpus.txt --resume=nowhere", 2, "nowhere"),
        ("train tiny.json --set data.input_file=corpus.txt --resume", 2, "checkpoint"),
        ("train tiny.json --set data.input_file=corpus.txt --out file/below", 1, "file/below"),
    ] {
        let output = output(&folder, &arguments.split(' ').collect::<Vec<_>>());
        let told = text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{arguments}\n{told}");
        assert!(told.contains("error: ") && told.contains(part) && told.contains("hint: "), "{arguments}\n{told}");
    }
}

#[test]
fn documents_for_programs() {
    let folder = folder("json");
    let (printed, told) = trained(&folder, &["--json", "--quiet"]);
    // What has to be known is said even so.
    assert!(told.lines().all(|line| line.starts_with("note: ")), "quiet: {told}");
    assert!(told.contains("did you mean training.batch_size?"), "{told}");
    let training = Training::from_json(&printed).expect("it is a training");
    assert_eq!(steps(&training.events).len() as u64, STEPS);
    assert_eq!(training.events, events(&folder), "the log says the same");
    let sum = |phases: &TrainingPhases| phases.named().iter().map(|(_, seconds)| seconds).sum::<f64>();
    let (mut epochs, mut ended) = (0.0, 0.0);
    for event in &training.events {
        match event {
            TrainingEvent::Epoch(epoch) => {
                assert!((sum(&epoch.phases) - epoch.seconds).abs() < 1e-9, "{epoch:?}");
                epochs += epoch.seconds;
            }
            TrainingEvent::Ended(end) => ended = end.seconds,
            _ => {}
        }
    }
    // What lies between the epochs is in the whole alone.
    assert!((sum(&training.phases) - ended).abs() < 1e-9 && epochs <= ended, "{epochs} in {ended}");
}

#[test]
fn a_look_before_the_first_step_changes_nothing() {
    let folder = folder("check");
    let (printed, _) = trained(&folder, &["--check"]);
    for part in ["parameters", "vocabulary", "6 steps", "memory"] {
        assert!(printed.contains(part), "{part} is missing:\n{printed}");
    }
    assert!(
        !folder.join("outputs/autoregressive/train.jsonl").exists()
            && !folder.join("outputs/autoregressive/model.gguf").exists()
    );
    let keys = output(&folder, &["train", "--keys"]);
    let keys = text(&keys.stdout);
    assert!(
        keys.contains("training.batch_size = 8\n    sequences per batch (a whole number of at least 1)\n"),
        "{keys}"
    );
}

/// Asks it to end when it has taken some steps, and gives how it ended.
fn interrupted(folder: &Path, arguments: &[&str], after: usize) -> Output {
    let mut command = hotloop(folder, &[&["train", "tiny.json"], &CORPUS[..], arguments].concat());
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program starts");
    let start = Instant::now();
    while steps(&events(folder)).len() < after && start.elapsed() < Duration::from_secs(60) {
        std::thread::sleep(Duration::from_millis(5));
    }
    let asked = Command::new("kill").args(["-INT", &child.id().to_string()]).status().expect("there is kill");
    assert!(asked.success());
    child.wait_with_output().expect("it ends")
}

#[test]
fn what_is_interrupted_goes_on_as_if_nothing_had_been() {
    let folder = folder("interrupted");
    let long = ["--set", "training.num_epochs=400"];
    let ended = interrupted(&folder, &long, 20);
    let (printed, told) = (text(&ended.stdout), text(&ended.stderr));
    assert_eq!(ended.status.code(), Some(130), "{printed}\n{told}");
    assert!(printed.starts_with("TRAINING  interrupted"), "{printed}");
    let resume = "hotloop train tiny.json --set data.input_file=corpus.txt --set training.num_epochs=400 --resume";
    assert!(printed.contains(resume), "{printed}");
    let first = steps(&events(&folder)).len();
    assert!((20..2_300).contains(&first), "{first}");
    assert!(folder.join("outputs/autoregressive/loss.svg").is_file());
    let more = first as u64 + 30;
    let until = format!("training.max_steps={more}");
    trained(&folder, &[&long[..], &["--set", &until, "--resume"]].concat());
    let whole = events(&folder);
    let losses = |events: &[TrainingEvent]| {
        steps(events).iter().map(|step| (step.step, step.loss.to_bits())).collect::<Vec<_>>()
    };
    assert_eq!(steps(&whole).iter().map(|step| step.step).collect::<Vec<_>>(), (1..=more).collect::<Vec<_>>());
    let other = self::folder("not-interrupted");
    trained(&other, &[&long[..], &["--set", &until]].concat());
    assert_eq!(losses(&whole), losses(&events(&other)), "the same, bit for bit");
}

fn named<'a>(run: &'a Run, name: &str) -> Vec<&'a Scope> {
    let scopes = &run.profile.as_ref().expect("there is a profile").scopes;
    scopes.iter().filter(|scope| scope.name.rsplit("::").next() == Some(name)).collect()
}

/// Calls of a scope that has one of another name above it.
fn calls_below(run: &Run, name: &str, above: &str) -> u64 {
    let scopes = &run.profile.as_ref().expect("there is a profile").scopes;
    let last = |scope: &Scope| scope.name.rsplit("::").next().unwrap_or_default().to_owned();
    let is_below = |scope: &&Scope| {
        let mut parent = scope.parent;
        while let Some(at) = parent {
            if last(&scopes[at]) == above {
                return true;
            }
            parent = scopes[at].parent;
        }
        false
    };
    scopes.iter().filter(|scope| last(scope) == name).filter(is_below).map(|scope| scope.calls).sum()
}

/// Whether the roots are the wall time, within 1 %. Batches are made ready on another thread, at the same time.
fn in_scopes(run: &Run) -> bool {
    let profile = run.profile.as_ref().expect("there is a profile");
    let roots = profile.scopes.iter().filter(|scope| scope.parent.is_none() && !scope.name.ends_with("::make_batch"));
    let roots: u64 = roots.map(|scope| scope.total_ns).sum();
    let main = &profile.threads[0];
    let rest = main.own_cost_ns + main.waiting_ns.unwrap_or(0);
    (roots + rest).abs_diff(profile.wall_ns) <= profile.wall_ns / 100
}

/// Two epochs of six steps of two batches, on all cores, validated after each epoch: what the config implies, exactly.
#[test]
fn no_call_is_lost_and_all_parts_sum_to_their_wholes() {
    let folder = folder("accounting");
    let settings = [
        "--profile",
        "--json",
        "--no-save",
        "--no-limits",
        "--quiet",
        "--set",
        "training.num_epochs=2",
        "--set",
        "training.batch_size=4",
        "--set",
        "training.gradient_accumulation=2",
        "--set",
        "data.validation_split=0.25",
        "--set",
        "sample.length=0",
    ];
    let (printed, _) = trained(&folder, &settings);
    let run = Run::from_json(&printed).expect("it is a run");
    let profile = run.profile.as_ref().expect("there is a profile");
    let sum = |name: &str| named(&run, name).iter().map(|scope| scope.calls).sum::<u64>();
    let events = events(&folder);
    let steps = steps(&events);
    let sequences: u64 = steps.iter().map(|step| step.sequences).sum();
    assert_eq!((sequences, sum("train_epoch")), (72, 2), "36 of 48 lines, twice");
    assert_eq!((steps.len() as u64, sum("batch")), (10, 10), "five steps of each epoch, the last of one batch");
    assert_eq!((sum("optimizer"), sum("clip"), sum("data_wait"), sum("validation")), (10, 10, 18, 2));
    for (name, above, calls) in [
        ("forward", "batch", 18),
        ("backward", "batch", 18),
        ("layer", "forward", 2 * (18 + 2 * 3)),
        ("layer", "backward", 36),
        ("qkv", "backward", 36),
        ("attention", "backward", 36),
        ("ffn_down", "backward", 36),
        ("head_gradient", "batch", 18),
    ] {
        assert_eq!(calls_below(&run, name, above), calls, "{name} below {above}");
    }
    assert_eq!(profile.lost, record::Losses::default(), "nothing is lost");
    // On a busy machine a training of some milliseconds may be interrupted just outside its scopes; not every time.
    let again = || Run::from_json(&trained(&folder, &settings).0).expect("it is a run");
    let all_in_scopes = in_scopes(&run) || (0..9).any(|_| in_scopes(&again()));
    assert!(all_in_scopes, "roots that are the wall time within 1 %, once in ten trainings");
    let walls = |wanted: &dyn Fn(&record::Row) -> bool| -> f64 {
        let rows: Vec<&str> = run.rows.iter().filter(|row| wanted(row)).map(|row| row.name.as_str()).collect();
        run.samples.iter().filter(|one| rows.contains(&one.row.as_str())).map(|one| one.values["wall_s"]).sum()
    };
    let (epochs, phases) = (walls(&|row| row.name == "epoch"), walls(&|row| row.part_of.as_deref() == Some("epoch")));
    assert!((epochs - phases).abs() <= 0.01 * epochs, "{phases} of {epochs}");
    let allocs: Vec<f64> = run.samples.iter().filter_map(|sample| sample.values.get("allocs").copied()).collect();
    assert!(
        !allocs.is_empty() && allocs.iter().all(|allocs| *allocs == 0.0),
        "a step allocates nothing once warm: {allocs:?}"
    );
}

#[test]
fn a_profile_is_kept_and_shown_again() {
    let folder = folder("profile");
    let (printed, _) = trained(&folder, &["--profile", "--no-limits", "--tag", "first"]);
    for part in [
        "TRAINING  finished",
        "HOTLOOP RUN  training on hotloop",
        "PHASES",
        "= all epochs",
        "100.0 %",
        "train_epoch",
        "samples/s",
        "allocations per step",
        "CALL TREE",
        "MEMORY",
    ] {
        assert!(printed.contains(part), "{part} is missing:\n{printed}");
    }
    let again = output(&folder, &["report", "first"]);
    assert!(printed.ends_with(text(&again.stdout)), "the report is made from the record alone");
    let loopos = output(&folder, &["report", "@latest", "--layout", "loopos"]);
    assert!(
        text(&loopos.stdout).starts_with("=== Profiling Report ===") && text(&loopos.stdout).contains("train_epoch ")
    );
    let history = output(&folder, &["history"]);
    assert!(text(&history.stdout).contains("training") && text(&history.stdout).contains("tiny.json"), "{history:?}");
    let exported = output(&folder, &["export", "first", "--to", "chrome", "--out", "trace.json"]);
    assert_eq!(exported.status.code(), Some(0), "{exported:?}");
    trained(&folder, &["-p", "--no-limits", "--quiet"]);
    let compared = output(&folder, &["compare", "@previous", "@latest"]);
    assert!(text(&compared.stdout).contains("backward"), "{compared:?}");
    let (printed, _) = trained(&folder, &["--profile", "--no-store", "--no-limits", "--layout", "loopos"]);
    assert!(printed.contains("Total profiled time: ") && printed.contains("Showing top 15 "), "{printed}");
}

/// The key acts where nothing is typed, in both layouts.
#[test]
fn as_many_rows_as_are_asked_for() {
    let folder = folder("rows");
    let quick = ["--profile", "--no-store", "--no-limits", "--set", "profiling.report_top_n=3"];
    let with = |more: &[&str]| trained(&folder, &[&quick[..], more].concat()).0;
    assert!(with(&["--layout", "loopos"]).contains("Showing top 3 by total time"));
    assert!(with(&["--layout", "loopos", "--top", "5"]).contains("Showing top 5 by total time"));
    let hidden = |printed: &str| {
        let at = printed.find(" more scopes)").expect("some scopes have no room");
        let number = printed[..at].rsplit('(').next().and_then(|number| number.parse::<usize>().ok());
        number.expect("it says how many")
    };
    assert_eq!(hidden(&with(&[])), hidden(&with(&["--top", "5"])) + 2);
}

#[test]
fn loopos_as_its_users_type_it() {
    let Some(shared) = testing::shared("loopos") else { return };
    let folder = folder("as-typed");
    let input = format!("data.input_file={}", shared.join("corpus32x128.txt").display());
    let config = shared.join("autoregressive_tiny.json");
    let config = config.to_str().expect("a UTF-8 path");
    let arguments = ["train", "-c", config, "--set", &input, "--out", "out", "--profile", "--no-limits"];
    let output = output(&folder, &arguments);
    let (printed, told) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(0), "{printed}\n{told}");
    assert!(told.contains("Epoch 1 completed - Sequences: 32 "), "{told}");
    assert!(printed.contains("TRAINING  finished: 4 steps in ") && printed.contains("CALL TREE"), "{printed}");
}

/// The keys that LoopOS reads, by the same names.
const OF_LOOPOS: [&str; 19] = [
    "model.type",
    "model.d_model",
    "model.num_heads",
    "model.num_layers",
    "model.d_ff",
    "computation.mode",
    "computation.method",
    "computation.description",
    "training.learning_rate",
    "training.batch_size",
    "training.num_epochs",
    "training.max_length",
    "training.prefetch_batches",
    "training.shuffle",
    "training.max_batches_per_epoch",
    "data.input_file",
    "data.output_dir",
    "data.tokenizer_vocab",
    "training.num_workers",
];

/// The table of keys in the documentation is made from those of the program; `HOTLOOP_UPDATE=1` writes it anew.
#[test]
fn the_documentation_has_every_key() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/training.md");
    let page = fs::read_to_string(&path).expect("it is there");
    let (before, rest) = page.split_once("-->\n").expect("the beginning of the table is marked");
    let after = &rest[rest.find("<!-- /keys -->").expect("its end is marked")..];
    // By way of text: numbers of 32 bits have fewer digits there.
    let defaults = serde_json::to_string(&training::config::Settings::default()).expect("plain data");
    let defaults: serde_json::Value = serde_json::from_str(&defaults).expect("it is JSON");
    let mut table = "\n| key | takes | default | meaning |\n|---|---|---|---|\n".to_owned();
    for key in training::config::KEYS {
        let default = key.path.split('.').try_fold(&defaults, |value, name| value.get(name));
        let default = default.filter(|value| !value.is_null() && *value != "" && **value != serde_json::json!([]));
        let default = default.map_or_else(String::new, |value| format!("`{value}`"));
        let mark = if OF_LOOPOS.contains(&key.path) { " †" } else { "" };
        table += &format!("| `{}`{mark} | {} | {default} | {} |\n", key.path, key.expects.words(), key.meaning);
    }
    let expected = format!("{before}-->\n{table}\n{after}");
    if std::env::var_os("HOTLOOP_UPDATE").is_some() {
        return fs::write(&path, expected).expect("it can be written");
    }
    assert!(page == expected, "docs/training.md differs from the keys; HOTLOOP_UPDATE=1 writes them anew");
}
