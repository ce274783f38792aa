//! `hotloop bench` as it is used: rows, formats, refusals, and speeds that others measure as well.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use record::{Bench, Generation};

/// A model that takes no time.
const TINY: &str = "--synthetic d=32,layers=1,heads=2,vocab=64,ctx=64";

fn run(arguments: &str) -> Output {
    command(arguments).output().expect("the program starts")
}

/// These tests also run where the program is built without optimisation.
fn command(arguments: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hotloop"));
    let allow = arguments.starts_with("bench").then_some("--allow-debug");
    command.args(arguments.split_whitespace()).args(allow).stdin(Stdio::null());
    command
}

#[track_caller]
fn stdout_of(arguments: &str) -> String {
    let output = run(arguments);
    assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{arguments}");
    assert_eq!(output.status.code(), Some(0), "{arguments}");
    String::from_utf8(output.stdout).expect("it writes UTF-8")
}

#[track_caller]
fn measured(arguments: &str) -> Bench {
    Bench::from_json(&stdout_of(&format!("bench {arguments} --json"))).expect("it is the document")
}

/// Checks that a run is refused, writes nothing, and says why.
#[track_caller]
fn refused(arguments: &str, why: &str) {
    let output = run(&format!("bench {arguments}"));
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{arguments}: {error}");
    assert!(output.stdout.is_empty(), "{arguments}");
    assert!(error.starts_with("error: ") && error.contains(why), "{arguments}: {why} is missing: {error}");
}

fn file(name: &str) -> PathBuf {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("bench-{name}"));
    let _ = std::fs::remove_file(&file);
    file
}

/// Every model, number of threads, depth and test has a row, in this order.
#[test]
fn a_row_for_everything_that_was_asked_for() {
    let other = "--synthetic d=64,layers=1,heads=2,vocab=64,ctx=64,type=q8_0";
    let bench = measured(&format!("{TINY} {other} -p 8,16 -n 4 --pg 3,2 -t 1,2 -d 0,32 -r 3"));
    let tests = ["pp8", "pp16", "tg4", "pp3+tg2", "pp8 @ d32", "pp16 @ d32", "tg4 @ d32", "pp3+tg2 @ d32"];
    let names: Vec<(&str, u64)> = bench.rows.iter().map(|row| (row.test.as_str(), row.threads)).collect();
    let expected = [1, 2].map(|threads| tests.map(|test| (test, threads))).concat();
    assert_eq!(names, [expected.clone(), expected].concat());
    assert_eq!((bench.settings.repeat, bench.settings.warmup, bench.interrupted), (3, 1, false));
    for row in &bench.rows {
        let tokens = (row.prompt_tokens + row.generated_tokens) as f64;
        let speeds: Vec<f64> = row.samples_s.iter().map(|seconds| tokens / seconds).collect();
        let mean = speeds.iter().sum::<f64>() / 3.0;
        assert!(row.samples_s.len() == 3 && (row.tokens_per_s / mean - 1.0).abs() < 1e-9, "{row:?}");
        let squares: f64 = speeds.iter().map(|speed| (speed - mean).powi(2)).sum();
        let deviation = row.tokens_per_s_stddev.expect("there are several");
        assert!((deviation - (squares / 2.0).sqrt()).abs() <= 1e-9 * mean, "{row:?}");
    }
    let [first, last] = [&bench.rows[0], &bench.rows[16]];
    assert_eq!((first.format.as_str(), last.format.as_str(), first.architecture.as_str()), ("f32", "q8_0", "llama"));
    assert_eq!(first.model_bytes, 4 * first.parameters, "all of it is f32");
    assert!(last.parameters > first.parameters && last.model_bytes < 4 * last.parameters);
}

/// The bundled model, whose context is too short for the usual prompt.
#[test]
fn without_a_model_it_is_the_bundled_one() {
    let bench = measured("-r 1 --warmup 0");
    let names: Vec<&str> = bench.rows.iter().map(|row| row.test.as_str()).collect();
    assert_eq!(names, ["pp256", "tg128"]);
    assert_eq!((bench.rows[0].model.as_str(), bench.rows[0].format.as_str()), ("bundled stories", "q5_1"));
    assert_eq!(bench.rows[0].tokens_per_s_stddev, None, "one measurement scatters not at all");
}

#[test]
fn a_table_for_people() {
    let text = stdout_of(&format!("bench {TINY} -p 8 -n 4 -r 2"));
    let lines: Vec<&str> = text.lines().collect();
    let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(words(lines[0]), ["model", "size", "params", "quant", "threads", "test", "tok/s"]);
    assert!(
        lines[1].starts_with("synthetic d=32") && lines[1].contains(" f32 ") && lines[1].contains(" pp8 "),
        "{text}"
    );
    assert!(lines[2].contains(" tg4 ") && lines[2].contains(" ± "), "{text}");
    assert!(lines[4].starts_with("build: hotloop 0.1.0") && text.contains("deviation of 2 repeats"), "{text}");
    let narrow = command(&format!("bench {TINY} -p 8 -n 4 -r 1")).env("COLUMNS", "80").output().expect("it starts");
    let narrow = String::from_utf8(narrow.stdout).expect("it writes UTF-8");
    assert!(narrow.lines().all(|line| line.chars().count() <= 80), "{narrow}");
}

/// What is pasted into a pull request can be read again.
#[test]
fn markdown_is_read_by_import() {
    let target = file("table.md");
    let wrote = run(&format!("bench {TINY} -p 8 -n 4 -d 0,16 -r 2 --format markdown -o {}", target.display()));
    assert_eq!((wrote.status.code(), &*String::from_utf8_lossy(&wrote.stdout)), (Some(0), ""));
    assert!(String::from_utf8_lossy(&wrote.stderr).contains(&format!("wrote {}", target.display())));
    let text = stdout_of(&format!("import --strict --no-save --json {}", target.display()));
    let importing: record::Importing = serde_json::from_str(&text).expect("it is the document");
    let runs: Vec<&record::Run> = importing.files.iter().flat_map(|file| &file.runs).map(|run| &run.run).collect();
    assert_eq!((importing.files[0].format.as_str(), runs.len()), ("llama-bench", 2), "a run for each depth");
    for run in runs {
        assert_eq!((run.subject.name.as_str(), run.models[0].format.as_str()), ("hotloop", "f32"));
        let rows: Vec<&str> = run.rows.iter().map(|row| row.name.as_str()).collect();
        assert_eq!(rows, ["prefill", "decode"]);
        assert!(run.samples.iter().all(|sample| sample.values["wall_s"] > 0.0));
    }
}

#[test]
fn lines_for_programs() {
    let lines = stdout_of(&format!("bench {TINY} -p 8 -n 4 -r 2 --format jsonl"));
    let rows: Vec<serde_json::Value> = lines.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let field = |name: &str| rows.iter().map(|row| row[name].clone()).collect::<Vec<_>>();
    assert_eq!(field("schema"), ["hotloop-bench-row", "hotloop-bench-row"]);
    assert_eq!(field("test"), ["pp8", "tg4"]);
    assert!(rows.iter().all(|row| row["samples_s"].as_array().is_some_and(|samples| samples.len() == 2)));
    assert!(rows.iter().all(|row| row["isa"].is_string() && row["tokens_per_s"].as_f64() > Some(0.0)));
    let csv = stdout_of(&format!("bench {TINY} -p 8 -n 4 -r 2 --format csv"));
    let columns: Vec<usize> = csv.lines().map(|line| line.split(',').count()).collect();
    // The name of this model has commas, and so has its cell.
    assert!(columns.len() == 3 && columns[0] == 22 && columns[1] == columns[2], "{csv}");
    assert!(csv.contains("\"synthetic d=32,layers=1,heads=2,vocab=64,ctx=64\",llama,f32,"), "{csv}");
}

#[test]
fn what_does_not_fit_is_refused_or_skipped() {
    refused(
        &format!("{TINY} -p 65 -n 0"),
        "pp65 of synthetic d=32,layers=1,heads=2,vocab=64,ctx=64 needs a context of 65 tokens; the model has 64",
    );
    refused(&format!("{TINY} -d 64"), "tokens; the model has 64");
    refused(&format!("{TINY} -p 0 -n 0"), "nothing to measure");
    refused(&format!("{TINY} {TINY}"), "is named twice");
    refused("/no/such/model.gguf", "/no/such/model.gguf");
    let unwritten = run(&format!("bench {TINY} -o /no/such/folder/x.md"));
    assert_eq!(unwritten.status.code(), Some(1));
    let error = String::from_utf8_lossy(&unwritten.stderr);
    assert!(error.starts_with("error: cannot write /no/such/folder/x.md: "), "{error}");
    refused("--format tabel", "table");
    let bench = measured(&format!("{TINY} -p 65 -n 4 -r 1"));
    assert_eq!(bench.rows.iter().map(|row| row.test.as_str()).collect::<Vec<_>>(), ["tg4"]);
    assert_eq!(bench.skipped[0].test.as_deref(), Some("pp65"));
    let text = stdout_of(&format!("bench {TINY} -p 65 -n 4 -r 1"));
    assert!(text.contains("skipped pp65 of synthetic") && text.contains("needs a context of 65 tokens"), "{text}");
}

/// The same work in another command, where more is done around it.
#[test]
fn speeds_are_those_of_generate() {
    let sizes = "d=128,layers=4,vocab=512,ctx=512";
    let generated = || {
        let arguments =
            format!("generate --synthetic {sizes} --prompt x --tokens 256 --temperature 0 --threads 1 --json");
        let generation = Generation::from_json(&stdout_of(&arguments)).expect("it is the document");
        generation.speed.tokens_per_s.expect("tokens were generated")
    };
    // Others use this machine too: the best of some tries counts on both sides.
    let best = |speeds: &mut dyn Iterator<Item = f64>| speeds.fold(0.0, f64::max);
    let bench = measured(&format!("--synthetic {sizes} -p 0 -n 256 -t 1 -r 5"));
    let benched = best(&mut bench.rows[0].samples_s.iter().map(|seconds| 256.0 / seconds));
    let generated = best(&mut (0..5).map(|_| generated()));
    assert!((0.5..2.0).contains(&(benched / generated)), "{benched} and {generated} tok/s");
}

/// More tokens in the KV cache are more work.
#[test]
fn depth_costs_time() {
    let sizes = "--synthetic d=32,layers=2,heads=2,vocab=64,ctx=2048";
    let bench = measured(&format!("{sizes} -p 0 -n 32 -d 0,2000 -t 1 -r 5"));
    let best = |row: usize| bench.rows[row].samples_s.iter().copied().fold(f64::INFINITY, f64::min);
    assert!(best(1) > 1.5 * best(0), "{} s from an empty cache, {} s after 2000 tokens", best(0), best(1));
}

/// Ctrl-C: the rows that were measured, and the code of an interrupted program.
#[cfg(unix)]
#[test]
fn an_interrupted_measurement_is_reported() {
    for wait in [300, 1_000, 3_000, 10_000] {
        let mut child = command(&format!("bench {TINY} -p 8 -n 4 -r 100000 --json"))
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the program starts");
        std::thread::sleep(std::time::Duration::from_millis(wait));
        let asked = Command::new("kill").args(["-INT", &child.id().to_string()]).status().expect("there is kill");
        assert!(asked.success());
        let mut text = String::new();
        std::io::Read::read_to_string(child.stdout.as_mut().expect("it is piped"), &mut text).expect("it writes UTF-8");
        let code = child.wait().expect("it ends").code();
        // On a busy machine the signal may come before the program listens, or before it has measured anything.
        let bench = Bench::from_json(&text).ok().filter(|bench| !bench.rows.is_empty());
        if let Some(bench) = bench {
            assert_eq!((code, bench.interrupted), (Some(130), true));
            let repeats = bench.rows.iter().map(|row| row.samples_s.len());
            assert!(repeats.clone().all(|repeats| repeats < 100_000) && repeats.sum::<usize>() > 0);
            return;
        }
    }
    panic!("nothing was measured in ten seconds");
}
