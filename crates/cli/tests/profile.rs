//! `hotloop profile` as it is used: every workload, what adds up, what is kept.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use record::{Phase, Run, Scope};

/// A folder of this test's own, empty.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("profile-{name}"));
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
fn run(arguments: &str) -> Run {
    let store = folder(&arguments.replace(|c: char| !c.is_ascii_alphanumeric(), "_"));
    let text = stdout(&format!("profile {arguments} --json --no-save --no-limits"), &store);
    assert!(std::fs::read_dir(&store).expect("it is there").next().is_none(), "--no-save keeps nothing");
    Run::from_json(&text).expect("it is a run")
}

/// Children and self sum to the whole, no part is longer than its whole, and the roots are the wall time.
#[track_caller]
fn assert_adds_up(run: &Run) {
    let profile = run.profile.as_ref().expect("there is a profile");
    let mut children = vec![0; profile.scopes.len()];
    for scope in &profile.scopes {
        if let Some(parent) = scope.parent {
            children[parent] += scope.total_ns;
            let whole = &profile.scopes[parent];
            assert!(scope.total_ns <= whole.total_ns, "{} in {}", scope.name, whole.name);
        }
    }
    for (scope, children) in profile.scopes.iter().zip(&children) {
        assert!(scope.self_ns + children <= scope.total_ns + 1, "{}: {scope:?}", scope.name);
        let off = scope.total_ns - (scope.self_ns + children).min(scope.total_ns);
        assert!(off as f64 <= 0.01 * scope.total_ns as f64 + 1_000.0, "{}: {off} ns nowhere", scope.name);
        assert!(scope.max_ns >= scope.min_ns, "{}", scope.name);
    }
    let roots: u64 = profile.scopes.iter().filter(|scope| scope.parent.is_none()).map(|scope| scope.total_ns).sum();
    let wall = profile.wall_ns as f64;
    let rest = profile.outside_ns + profile.own_cost.total_ns + profile.waiting_ns.unwrap_or(0);
    assert!(((roots + rest) as f64 - wall).abs() <= 0.01 * wall, "roots {roots}, wall {wall}, rest {rest}");
}

/// Samples of rows that are parts of another take no longer than it.
#[track_caller]
fn assert_rows_add_up(run: &Run) {
    let mut walls: BTreeMap<(&str, u64), f64> = BTreeMap::new();
    for sample in run.samples.iter().filter(|sample| sample.phase == Phase::Timed) {
        *walls.entry((&sample.row, sample.round)).or_default() += sample.values["wall_s"];
    }
    for row in &run.rows {
        assert!(walls.keys().any(|(name, _)| *name == row.name), "{} has samples", row.name);
        let Some(whole) = &row.part_of else { continue };
        for ((name, round), wall) in &walls {
            if *name == row.name {
                assert!(*wall <= walls[&(whole.as_str(), *round)] * 1.000_001, "{name} in {whole}");
            }
        }
    }
}

fn named<'a>(run: &'a Run, name: &str) -> Vec<&'a Scope> {
    let scopes = &run.profile.as_ref().expect("there is a profile").scopes;
    scopes.iter().filter(|scope| scope.name.rsplit("::").next() == Some(name)).collect()
}

fn calls(run: &Run, name: &str) -> u64 {
    named(run, name).iter().map(|scope| scope.calls).sum()
}

#[test]
fn standard_shows_steps_and_layers() {
    let run = run("standard --synthetic small --repeat 4 --warmup 1 --tokens 20 --threads 1");
    assert_adds_up(&run);
    assert_rows_add_up(&run);
    assert_eq!((calls(&run, "InferenceComplete"), calls(&run, "GenerateToken")), (4, 4 * 19), "warm-ups are not in it");
    assert_eq!((calls(&run, "Prefill"), calls(&run, "ModelCreation")), (4, 1));
    assert_eq!(calls(&run, "forward"), 4 * 20);
    let layers: Vec<_> = named(&run, "layer").iter().filter_map(|scope| scope.index).collect();
    assert!(layers.contains(&0) && layers.contains(&1) && !layers.contains(&2), "{layers:?}");
    let tokens = named(&run, "GenerateToken")[0].allocs_total.expect("allocations are counted");
    assert_eq!((tokens.allocs, tokens.alloc_bytes), (0, 0), "a token allocates nothing");
    let (root, lab) = (named(&run, "standard")[0], named(&run, "lab"));
    assert!(root.allocs.unwrap().allocs < 20, "what the lab does for each inference is not the workload's: {root:?}");
    assert!(lab.len() == 1 && lab[0].allocs.unwrap().allocs > 4 * 10, "{lab:?}");
    let sample = run.samples.iter().find(|sample| sample.row == "inference" && sample.phase == Phase::Timed).unwrap();
    assert_eq!(sample.series["token_s"].len(), 19);
    assert!(sample.values["ttft_s"] <= sample.values["wall_s"]);
    let decode = run.rows.iter().find(|row| row.name == "decode").unwrap();
    assert!(decode.flops.unwrap() >= 2.0 * 400_000.0, "{decode:?}");
    assert_eq!(run.correctness.as_ref().unwrap().repeats_agree, Some(true));
    assert_eq!(run.models[0].parameters, 470_528);
    assert_eq!((run.workload.repeat, run.workload.parameters["threads"].as_str()), (Some(4), "1"));
    let build = run.subject.build.as_ref().unwrap();
    assert!(build.debug_assertions == Some(false) && build.binary_blake3.as_ref().unwrap().len() == 64, "{build:?}");
    let weights = run.memory[0].parts.iter().find(|part| part.purpose == "weights").unwrap();
    assert!(weights.bytes >= 4 * 400_000, "{weights:?}");
    assert!(run.memory[0].peak_live_bytes.unwrap() >= weights.bytes);
    assert!(["making the model", "generating"].contains(&run.memory[0].peak_during.as_deref().unwrap()));
}

/// What it writes is kept and shown, under a heading that says what it is.
#[test]
fn the_bundled_model_writes_while_it_is_measured() {
    let run = run("standard --repeat 2 --warmup 0");
    assert_adds_up(&run);
    assert_eq!(run.models[0].name, "bundled stories");
    assert!(run.models[0].weights_blake3.is_some());
    let correctness = run.correctness.as_ref().unwrap();
    assert_eq!((correctness.tokens, correctness.repeats_agree), (Some(160), Some(true)));
    let text = correctness.text.as_deref().unwrap();
    assert!(text.starts_with("Once upon a time") && text.split_whitespace().count() > 60, "{text}");
    let store = folder("text");
    let report = stdout("profile --repeat 1 --warmup 0 --no-limits --no-save --tokens 10 --prompt One --full", &store);
    assert!(report.contains("TEXT  prompt and generated text") && report.contains("\n  One"), "{report}");
    let random = stdout("profile --synthetic small --repeat 1 --no-limits --no-save", &store);
    assert!(!random.contains("TEXT  "), "random weights write nothing that says anything");
}

#[test]
fn the_same_seed_gives_the_same_tokens_on_any_number_of_threads() {
    let hash = |arguments: &str| run(arguments).correctness.unwrap().tokens_blake3.unwrap();
    let one = hash("standard --repeat 1 --threads 1");
    assert_eq!(one, hash("standard --repeat 2 --threads 2"));
    assert_ne!(one, hash("standard --repeat 1 --threads 1 --seed 7"));
}

#[test]
fn deep_has_a_larger_model_and_kernels() {
    let run = run("deep --repeat 2 --warmup 0 --tokens 8");
    assert_adds_up(&run);
    assert_rows_add_up(&run);
    assert_eq!(run.models[0].parameters, 3_454_464);
    let rows: Vec<&str> = run.rows.iter().map(|row| row.name.as_str()).collect();
    for name in ["MatMul_128x128", "MatMul_256x256", "MatMul_512x512", "MatMul_Iteration", "inference", "decode"] {
        assert!(rows.contains(&name), "{name}: {rows:?}");
    }
    assert_eq!((calls(&run, "Transformer_Forward"), calls(&run, "MatMul_Iteration")), (16, 9));
}

#[test]
fn enhanced_has_the_29_rows() {
    let run = run("enhanced --repeat 3 --warmup 1");
    assert_adds_up(&run);
    assert_rows_add_up(&run);
    let mut rows: Vec<&str> = run.rows.iter().map(|row| row.name.as_str()).collect();
    rows.sort_unstable();
    let mut expected: Vec<String> =
        ["Iteration", "64x64", "128x128", "256x256", "512x512"].map(|s| format!("MatMul_{s}")).into();
    expected.extend(["Iteration", "1000", "10000", "100000", "1000000"].map(|s| format!("GELU_{s}")));
    expected.extend(["Iteration", "256", "512", "1024", "2048"].map(|s| format!("Softmax_{s}")));
    for tensor in ["TensorAdd_10000", "TensorMul_10000", "BroadcastAdd_100x100"] {
        expected.extend([tensor.to_owned(), format!("{}_Iteration", tensor.split('_').next().unwrap())]);
    }
    for model in ["Small", "Medium"] {
        expected.extend(["Creation", "Inference", "GenerateToken", "Forward"].map(|s| format!("Model_{model}_{s}")));
    }
    expected.sort_unstable();
    assert_eq!(rows, expected);
    assert_eq!(rows.len(), 29);
    // The pass with scopes makes as many calls as SmallMind's, without its warm-ups.
    let of_rows = |name: &str| calls(&run, name);
    assert_eq!([of_rows("MatMul_Iteration"), of_rows("GELU_Iteration"), of_rows("Softmax_Iteration")], [12, 20, 20]);
    assert_eq!([of_rows("Model_Small_GenerateToken"), of_rows("Model_Medium_Forward")], [25, 25]);
    assert!(rows.iter().all(|row| calls(&run, row) > 0), "every row has its scope");
    assert_eq!(run.memory.len(), 2);
}

#[test]
fn memory_measures_with_and_without() {
    let run = run("memory --repeat 2 --warmup 0");
    assert_adds_up(&run);
    let allocs = |row: &str| {
        let sample = run.samples.iter().find(|sample| sample.row == row).unwrap_or_else(|| panic!("{row} is there"));
        (sample.values["allocs"], sample.values["alloc_bytes"])
    };
    for (without, with) in [
        ("MatMulBackward/fresh", "MatMulBackward/pooled"),
        ("TrainingStep/fresh", "TrainingStep/pooled"),
        ("TensorPool/fresh", "TensorPool/pooled"),
        ("Add/allocating", "Add/in_place"),
        ("LayerNorm/separate", "LayerNorm/fused"),
    ] {
        assert_eq!(allocs(with), (0.0, 0.0), "{with}");
        assert!(allocs(without).0 > 0.0, "{without}");
    }
    // 100 times the result of 128 × 128 and the gradients of both factors, as f32.
    assert_eq!(allocs("MatMulBackward/fresh"), (300.0, 100.0 * 4.0 * (128.0 * 128.0 + 2.0 * 128.0 * 256.0)));
    assert!(allocs("Inference/fresh").1 > allocs("Inference/pooled").1);
    let memory = &run.memory[0];
    assert_eq!(memory.cache_per_token_measured, memory.cache_per_token_formula, "2 layers × 2 × 128 × 2 bytes");
    assert_eq!(memory.cache_per_token_formula, Some(1024.0));
    assert_eq!(run.correctness.unwrap().repeats_agree, Some(true), "with and without, the same comes out");
}

#[test]
fn a_timeline_is_kept_where_one_is_asked_for() {
    let without = run("standard --repeat 1 --warmup 0 --tokens 3");
    assert!(without.profile.unwrap().timeline.is_empty());
    let with = run("standard --repeat 1 --warmup 0 --tokens 3 --trace");
    let profile = with.profile.unwrap();
    assert_eq!(profile.own_cost.budget, None, "a timeline has every call");
    let (events, calls): (u64, u64) =
        (profile.timeline[0].scopes.len() as u64, profile.scopes.iter().map(|scope| scope.calls).sum());
    assert_eq!(events, calls);
}

#[test]
fn a_run_is_kept_and_found_again() {
    let store = folder("kept");
    let first = stdout("profile --repeat 2 --tokens 4 --no-limits --tag mine --full", &store);
    assert!(first.contains("hot paths") || first.to_lowercase().contains("hot paths"), "{first}");
    let again = stdout("report @latest", &store);
    assert_eq!(first, again, "the report comes from what was kept");
    assert_eq!(again, stdout("report mine", &store));
    let text = stdout("report mine --json", &store);
    assert_eq!(Run::from_json(&text).unwrap().workload.name, "standard");
    assert!(stdout("history", &store).contains("mine"));
    assert!(stdout("report mine --layout smallmind", &store).starts_with("# Performance Profile Report"));
    assert!(stdout("report mine --layout loopos", &store).contains("=== Profiling Report ==="));
    assert!(stdout("report mine --format markdown", &store).starts_with("# "));
}

#[test]
fn what_cannot_be_measured_is_refused() {
    let store = folder("refused");
    for (arguments, part) in [
        ("profile --model no-such.gguf", "no-such.gguf"),
        ("profile --prompt-file no-such.txt", "no-such.txt"),
        ("profile --synthetic small --tokens 100 --no-limits", "exceed the model's context length of 64 tokens"),
        ("profile memory --tokens 60", "exceed the model's context length"),
        ("profile enhanced --tokens 60", "exceed the model's context length"),
        ("profile enhanced --synthetic small", "`--synthetic` cannot be used with the workload `enhanced`"),
        ("profile memory --no-pooling", "`--no-pooling` cannot be used with the workload `memory`"),
        ("profile --tag a/b", "a tag consists of"),
        ("profile --seed x", "invalid value 'x' for '--seed <N>'"),
        ("profile standart", "did you mean `standard`?"),
        ("report @lates", "did you mean `@latest`?"),
        ("profile --synthetic d=3", "layers"),
        ("report @latest", "no run"),
        ("report nothing", "nothing"),
    ] {
        let output = hotloop(arguments, &store);
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments}: {error}");
        assert!(error.starts_with("error: ") && error.contains(part), "{arguments}: {error}");
        assert!(output.stdout.is_empty(), "{arguments}");
    }
}

/// Ctrl-C ends the measuring: what was measured is reported and kept.
#[cfg(unix)]
#[test]
fn an_interrupted_run_is_reported_and_kept() {
    let store = folder("interrupted");
    // A busy machine may not have begun to measure after a moment.
    let runs = [700, 3_000, 10_000].into_iter().find_map(|wait| interrupted_after(wait, &store));
    let run = runs.expect("it measures something within seconds");
    assert!(run.interrupted && !run.samples.is_empty());
    assert_adds_up(&run);
    let kept = Run::from_json(&stdout("report @latest --json", &store)).expect("it is kept");
    assert_eq!(kept, run);
    let report = stdout("report @latest", &store);
    assert!(report.to_lowercase().contains("interrupted") || report.contains("broken off"), "{report}");
}

/// What a run prints that somebody ends after so many milliseconds; nothing where it had nothing.
#[cfg(unix)]
fn interrupted_after(wait: u64, store: &Path) -> Option<Run> {
    let mut child = Command::new(env!("CARGO_BIN_EXE_hotloop"))
        .args(["profile", "--repeat", "1000000", "--no-limits", "--json"])
        .env("HOTLOOP_STORE", store)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("the program starts");
    std::thread::sleep(std::time::Duration::from_millis(wait));
    let asked = Command::new("kill").args(["-INT", &child.id().to_string()]).status().expect("there is kill");
    assert!(asked.success());
    let mut text = String::new();
    std::io::Read::read_to_string(child.stdout.as_mut().unwrap(), &mut text).expect("it writes UTF-8");
    let code = child.wait().expect("it ends").code();
    if text.is_empty() {
        return None;
    }
    assert_eq!(code, Some(130));
    Some(Run::from_json(&text).expect("it is a run"))
}

/// What is wrong with the store is said before anything is measured.
#[test]
fn a_store_that_cannot_be_written_is_noticed_first() {
    let store = folder("no-store");
    std::fs::write(store.join("file"), "in the way").expect("it can be written");
    let output = hotloop("profile --repeat 1 --no-limits --tokens 4", &store.join("file"));
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(error.starts_with("error: ") && error.contains("hint:"), "{error}");
    assert!(matches!(output.status.code(), Some(1 | 2)), "{error}");
    assert!(output.stdout.is_empty(), "it is said before anything is measured");
}
