//! `hotloop models` as it is used: measured in turns, kept as runs, and shown again from those.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use record::{Models, Phase, Run};

/// Two tiny models of one shape and a third of another, few turns.
const TINY: &str = "--synthetic d=32,layers=1,heads=2,vocab=64,ctx=64,type=f32/q8_0 \
                    --synthetic d=64,layers=1,heads=2,vocab=64,ctx=64";

fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("models-{name}"));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("a folder can be made");
    folder
}

fn hotloop(arguments: &str, store: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_hotloop"))
        .args(arguments.split_whitespace())
        .env("HOTLOOP_STORE", store)
        .stdin(Stdio::null())
        .output()
        .expect("the program starts")
}

#[track_caller]
fn stdout(arguments: &str, store: &Path) -> String {
    let output = hotloop(arguments, store);
    assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{arguments}");
    assert_eq!(output.status.code(), Some(0), "{arguments}");
    String::from_utf8(output.stdout).expect("it writes UTF-8")
}

#[track_caller]
fn models(arguments: &str, store: &Path) -> Models {
    Models::from_json(&stdout(&format!("models {arguments} --json"), store)).expect("it is the document")
}

/// Of the models that are measured, and what follows from the runs that were kept: the same.
#[test]
fn measured_and_from_runs() {
    let store = folder("measured");
    let turns = "--repeat 8 --tokens 8 --prompt-tokens 8 --contexts 8,16,32 --threads 1,2 --no-limits";
    let measured = models(&format!("{TINY} {turns}"), &store);
    assert!(measured.one_sitting && measured.models.len() == 3, "{measured:?}");
    for model in &measured.models {
        assert_eq!((model.threads, model.prompt_tokens, model.tokens), (Some(2), Some(8), Some(8)));
        let decode = model.decode.as_ref().expect("it was measured").tokens_per_s;
        assert!(decode.samples == 8 && decode.low.unwrap() <= decode.value && decode.value <= decode.high.unwrap());
        assert!(model.prefill.is_some() && model.first_token_s.is_some() && model.fit.pace.is_some());
        assert!(model.token_s.as_ref().unwrap().p99.is_none(), "56 tokens know no p99");
        let memory = &model.memory;
        assert_eq!(memory.cache_per_token_formula, memory.cache_per_token_measured);
        assert_eq!(memory.allocs_per_token, Some(0.0), "a token allocates nothing");
        assert!(memory.peak_rss_bytes > memory.bytes, "a process is more than its model");
        assert!(model.quality.is_none() && model.pareto.is_none(), "random weights know no text");
    }
    let ranking = measured.ranking.as_ref().expect("they were measured in one measurement");
    assert_eq!((ranking.metric.as_str(), ranking.launches, ranking.rounds), ("wall_s", 6, 8));
    assert!(ranking.placebo.is_some() && ranking.pairs.len() == 3, "{ranking:?}");
    let [trade] = &measured.trades[..] else { panic!("{:?}", measured.trades) };
    assert!(trade.model.ends_with("type=q8_0") && trade.memory.unwrap() < 1.0 && trade.speed.is_some());
    assert!(measured.scaling.iter().any(|scaling| scaling.over == "context" && scaling.slope.is_some()));
    assert_eq!(measured.threads.len(), 3);
    assert!(measured.threads.iter().all(|threads| threads.serial_share.is_some() && threads.points.len() == 2));

    let ids: Vec<String> = measured.models.iter().map(|model| model.run.clone().expect("it was kept")).collect();
    let again = models(&ids.join(" "), &store);
    assert_eq!(again, measured);
    let one = models(&ids[0], &store);
    assert!(!one.one_sitting && one.models == measured.models[..1].to_vec());
    for id in &ids {
        let run = Run::from_json(&stdout(&format!("report {id} --json"), &store)).expect("it is a run");
        let rounds = run.samples.iter().filter(|sample| sample.phase == Phase::Timed && sample.row == "decode");
        assert_eq!(rounds.count(), 8);
        assert!(run.profile.is_some() && run.models[0].weights_blake3.is_some());
    }
    for arguments in ["", "--format markdown", "--layout smallmind"] {
        let text = stdout(&format!("models {} {arguments}", ids.join(" ")), &store);
        assert!(text.contains("d=32,layers=1") && !text.contains('\x1b'), "{text}");
    }
}

/// Two copies of one file are one model; a third file that differs is measured beside a placebo of its own.
#[test]
fn copies_are_not_ranked() {
    let store = folder("copies");
    let original = Path::new(env!("CARGO_MANIFEST_DIR")).join("model/stories.gguf");
    let files = ["a.gguf", "b.gguf"].map(|name| store.join(name));
    for file in &files {
        std::fs::copy(&original, file).expect("it can be copied");
    }
    let [a, b] = files.map(|file| file.display().to_string());
    let work = "--threads 1 --repeat 6 --tokens 4 --no-limits --no-text --no-save";
    let document = models(&format!("{a} {b} {work}"), &store);
    assert_eq!(document.models[1].same_as.as_deref(), Some(a.as_str()));
    let ranking = document.ranking.expect("they were measured in one measurement");
    assert!(ranking.pairs.is_empty() && ranking.placebo.is_some(), "{ranking:?}");
    let text = stdout(&format!("models {a} {b} {work}"), &store);
    assert!(text.contains("`b.gguf` is the same model as `a.gguf`") && !text.contains("faster than"), "{text}");

    // A number that nothing is computed from: other contents, the same work. It lies behind its key and four bytes of its type.
    let mut bytes = std::fs::read(&b).expect("it is there");
    let key = b"general.file_type";
    let at = bytes.windows(key.len()).position(|window| window == key).expect("it has one") + key.len() + 4;
    bytes[at] = bytes[at].wrapping_add(1);
    std::fs::write(&b, bytes).expect("it can be written");
    let document = models(&format!("{a} {b} {work}"), &store);
    let ranking = document.ranking.expect("they were measured in one measurement");
    assert_eq!((ranking.metric.as_str(), ranking.pairs.len()), ("cpu_s", 1));
    assert!(document.models.iter().all(|model| model.same_as.is_none() && model.decode_cpu.is_some()));
}

/// A run that was made for something else has what it has.
#[test]
fn runs_of_other_workloads() {
    let store = folder("other");
    let profile = "profile --repeat 6 --tokens 8 --no-limits --synthetic";
    stdout(&format!("{profile} small --tag small"), &store);
    stdout(&format!("{profile} medium --tag medium"), &store);
    let document = models("small medium", &store);
    assert!(!document.one_sitting && document.notes[0].contains("not measured in turns"), "{:?}", document.notes);
    for model in &document.models {
        assert!(model.decode.is_some() && model.memory.allocs_per_token.is_some() && model.pareto.is_none());
        assert_eq!((model.memory.cache_per_token_measured, &model.quality), (None, &None));
    }
    assert!(stdout("models small medium", &store).contains("not measured"));
}

/// Trained models of all formats, where they are: smaller formats cost something, and that is told.
#[test]
fn trained_models_have_a_quality() {
    let Some(text) = testing::shared("text/golden_story.txt") else { return };
    let file = |format: &str| testing::shared(&format!("models/stories260K-{format}.gguf"));
    let [Some(f32), Some(f16), Some(q8_0)] = ["f32", "f16", "q8_0"].map(file) else { return };
    let store = folder("trained");
    let files = [f32, f16, q8_0].map(|file| file.display().to_string()).join(",");
    let work = format!("--models {files} --text {} --cache f32 --repeat 6 --no-limits", text.display());
    let document = models(&work, &store);
    let perplexity = |at: usize| document.models[at].quality.as_ref().expect("it was read").perplexity;
    // Golden is the mean of the first 256 tokens of the text, of which all but the first are scored.
    let id = document.models[0].run.as_ref().expect("it was kept");
    let run = Run::from_json(&stdout(&format!("report {id} --json"), &store)).expect("it is a run");
    let mean = run.quality[0].each[..255].iter().map(|nll| f64::from(*nll)).sum::<f64>() / 255.0;
    assert!((mean / 1.2998594914086687 - 1.0).abs() < 1e-5, "{mean}");
    assert!((perplexity(1) / perplexity(0) - 1.0).abs() < 1e-3 && (perplexity(2) / perplexity(0) - 1.0).abs() < 2e-2);
    assert!(document.models.iter().all(|model| model.pareto.is_some()));
    assert_eq!(document.trades.len(), 2);
    assert!(document.trades.iter().all(|trade| trade.perplexity_change.is_some() && trade.speed.is_some()));
}

#[test]
fn bad_input_is_refused() {
    let store = folder("bad");
    let text = store.join("empty.txt");
    std::fs::write(&text, " \n").expect("it can be written");
    let empty = format!("models --synthetic small --text {}", text.display());
    for (arguments, part) in [
        ("models --models no-such-file.gguf", "no-such-file.gguf"),
        ("models --synthetic d=7,layers=1,heads=2", "cannot be split"),
        ("models --synthetic small --tokens 60", "exceed the context length of synthetic small, 64 tokens"),
        ("models no-such-run", "no-such-run"),
        ("models no-such-run --synthetic small", "`no-such-run` is not a model file"),
        (&empty, "the file has no text"),
    ] {
        let output = hotloop(&format!("{arguments} --no-save"), &store);
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{arguments}: {error}");
        assert!(error.starts_with("error: ") && error.contains(part), "{arguments}: {error}");
    }
    models("--synthetic small --repeat 1 --no-limits --no-save", &store);
    let kept = std::fs::read_dir(&store).expect("it is there").count();
    assert_eq!(kept, 1, "--no-save keeps nothing beside the text");
}
