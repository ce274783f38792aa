//! LoopOS, llama-bench, hyperfine, Google Benchmark.

use super::{fixture, has_note, near, read, scope, try_read, values};

#[test]
fn the_report_of_loopos_amid_a_log() {
    let found = read("loopos.txt");
    let run = &found.runs[0];
    assert_eq!((found.format.name(), run.rows.len(), &found.unread[..]), ("loopos", 11, &[][..]));
    let batch = scope(run, "train_batch_optimized", Some("train_epoch_streaming"));
    assert_eq!((batch.calls, batch.total_ns), (16, 23_617_530_000));
    assert_eq!(batch.self_ns, 23_617_530_000 - 10_344_600_000 - 8_997_310_000);
    scope(run, "read_next_batch", Some("get_next_batch"));
    let epoch = scope(run, "train_epoch_streaming", None);
    assert_eq!(epoch.self_ns, 23_629_330_000 - 23_617_530_000 - 10_320_000 - 20_000);
    // Called from everywhere: it cannot be placed, and that is said.
    assert_eq!(scope(run, "matmul", None).timed_calls, 0, "a negative time is none");
    has_note(run, "the shortest call is negative");
    has_note(
        run,
        "`matmul`, `scaled_dot_product_attention_optimized`, `forward`, `softmax` are nested in other scopes",
    );
    has_note(run, "total 89376.96 ms counts nested scopes more than once");
    has_note(run, "2 lines before or after the report");
    assert_eq!(run.profile.as_ref().map(|profile| profile.wall_ns), Some(23_629_330_000));
}

#[test]
fn two_reports_of_loopos_are_two_runs() {
    let log = fixture("loopos.txt").replace("matmul      ", "matmul stray");
    let text = format!("{}{log}", fixture("loopos.txt"));
    let found = try_read("log.txt", &text).expect("it can be read");
    assert_eq!(found.runs.len(), 2);
    let parts: Vec<Option<&str>> =
        found.runs.iter().map(|run| run.imported.as_ref().and_then(|origin| origin.part.as_deref())).collect();
    assert_eq!(parts, [Some("1"), Some("2")]);
}

#[test]
fn a_row_of_loopos_that_is_none_is_named() {
    let text = fixture("loopos.txt")
        .replace("start_epoch                                        1", "[WARN] disk is slow\nstart_epoch  1");
    let found = try_read("log.txt", &text).expect("it can be read");
    assert_eq!(found.unread.len(), 1);
    assert_eq!((found.unread[0].line, &*found.unread[0].text), (Some(19), "[WARN] disk is slow"));
    assert_eq!(found.runs[0].rows.len(), 11);
}

#[test]
fn llama_bench_keeps_its_samples() {
    for name in ["llama-bench.json", "llama-bench.jsonl"] {
        let found = read(name);
        assert_eq!((found.format.name(), found.runs.len(), &found.unread[..]), ("llama-bench", 1, &[][..]), "{name}");
        let run = &found.runs[0];
        assert_eq!((run.rows.len(), run.samples.len(), run.workload.repeat), (2, 6, Some(3)));
        assert_eq!(run.workload.parameters["threads"], "2");
        assert_eq!(run.workload.parameters["prompt_tokens"], "64");
        assert_eq!(run.models[0].name, "stories15M-q8_0.gguf");
        assert_eq!((run.models[0].parameters, &*run.models[0].format), (15_191_712, "q8_0"));
        assert!(run.subject.git.is_none(), "an unknown commit is none");
        let origin = run.imported.as_ref().expect("it was imported");
        assert!(!origin.single_shot && !origin.summarised);
    }
    let run = &read("llama-bench.json").runs[0];
    near(values(run, "prefill", "wall_s")[0], 0.322_440_485);
    near(values(run, "decode", "wall_s")[2], 0.587_582_264);
    let decode = run.rows.iter().find(|row| row.name == "decode").expect("it is there");
    assert_eq!((decode.calls, decode.tokens), (16, Some(1.0)));
}

#[test]
fn the_table_of_llama_bench_is_of_means() {
    let found = read("llama-bench.md");
    let run = &found.runs[0];
    assert_eq!((run.rows.len(), &found.unread[..]), (2, &[][..]));
    near(values(run, "prefill", "wall_s")[0], 64.0 / 35.17);
    assert_eq!((run.models[0].parameters, run.models[0].weight_bytes), (15_190_000, 16_148_070));
    assert!(run.imported.as_ref().is_some_and(|origin| origin.summarised));
}

#[test]
fn the_table_of_hotloop_bench_is_read_as_well() {
    let found = read("llama-bench-of-hotloop.md");
    assert_eq!((found.format.name(), found.runs.len(), &found.unread[..]), ("llama-bench", 2, &[][..]));
    let run = &found.runs[0];
    assert_eq!((&*run.subject.name, &*run.workload.name), ("hotloop", "bench"));
    assert_eq!(run.subject.git.as_ref().map(|git| git.commit.as_str()), Some("0123456"));
    let model = &run.models[0];
    assert_eq!((&*model.name, &*model.format, model.parameters), ("stories15M_-q8_0.gguf", "q8_0", 15_200_000));
    near(values(run, "prefill", "wall_s")[0], 512.0 / 18_788.0);
    near(values(run, "decode", "wall_s")[0], 128.0 / 97.5);
    let parameters = [("prompt_tokens", "512"), ("threads", "2"), ("tokens", "128")];
    let found_there: Vec<(&str, &str)> =
        run.workload.parameters.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    assert_eq!(found_there, parameters, "quant and repeats are no settings");
    assert_eq!(found.runs[1].workload.parameters["depth"], "1024");
    near(values(&found.runs[1], "decode", "wall_s")[0], 128.0 / 4.5);
}

#[test]
fn tables_of_llama_bench_for_programs() {
    for (name, file, format) in
        [("llama-bench.csv", "tiny \"a\".gguf", "q4_k_m"), ("llama-bench.sql", "it's tiny.gguf", "iq2_xxs")]
    {
        let found = read(name);
        assert_eq!((found.format.name(), found.runs.len(), &found.unread[..]), ("llama-bench", 1, &[][..]), "{name}");
        let run = &found.runs[0];
        let model = &run.models[0];
        assert_eq!((&*model.name, &*model.format, model.parameters), (file, format, 15_191_712));
        near(values(run, "prefill", "wall_s")[0], 0.265_489_895);
        assert_eq!((run.rows.len(), &*run.created), (2, "2026-11-15T16:45:59Z"));
        assert!(run.imported.as_ref().is_some_and(|origin| origin.summarised), "they have means alone");
        // As JSON has them, but for what the tables do not tell.
        assert_eq!(run.workload.parameters, read("llama-bench.json").runs[0].workload.parameters, "{name}");
    }
}

#[test]
fn tables_of_llama_bench_that_were_cut() {
    for name in ["llama-bench.csv", "llama-bench.sql"] {
        let text = fixture(name);
        let found = try_read(name, &text[..text.len() - 20]).expect("the first line can be read");
        assert_eq!((found.runs[0].rows.len(), found.unread.len()), (1, 1), "{name}");
        assert_eq!(found.unread[0].line, Some(text.lines().count() as u64));
    }
}

#[test]
fn older_tables_of_llama_bench() {
    let found = read("llama-bench-old.md");
    let run = &found.runs[0];
    assert_eq!((found.runs.len(), &found.unread[..]), (1, &[][..]));
    let names: Vec<&str> = run.rows.iter().map(|row| row.name.as_str()).collect();
    assert_eq!(names, ["prefill", "decode", "pp512+tg128"]);
    near(values(run, "decode", "wall_s")[0], 128.0 / 97.52);
    assert_eq!((&*run.models[0].format, run.models[0].parameters), ("q4_k_m", 6_740_000_000));
    assert_eq!(run.subject.git.as_ref().map(|git| git.commit.as_str()), Some("3b1a6d2"));
}

#[test]
fn a_measurement_that_stands_there_twice_counts_once() {
    let text = fixture("llama-bench.jsonl");
    let found = try_read("twice.jsonl", &format!("{text}{text}")).expect("it can be read");
    assert_eq!((found.runs.len(), found.runs[0].samples.len()), (1, 6));
    let unread: Vec<&str> = found.unread.iter().map(|part| part.text.as_str()).collect();
    assert_eq!(unread, ["line 3", "line 4"]);
    // Measured again it is another measurement.
    let again = text.replace("16:46:04Z", "16:56:04Z").replace("1763863979", "1763863980");
    let found = try_read("again.jsonl", &format!("{text}{}", again.lines().next().unwrap_or_default())).expect("both");
    assert_eq!((found.runs[0].samples.len(), &found.unread[..]), (9, &[][..]));
}

#[test]
fn no_test_takes_no_time() {
    let text = fixture("llama-bench.jsonl").replace("[ 1763863979,", "[ 0,");
    let found = try_read("zero.jsonl", &text).expect("the rest can be read");
    assert_eq!(
        (values(&found.runs[0], "prefill", "wall_s").len(), &*found.unread[0].text),
        (2, "line 1.samples_ns[0]: 0")
    );
    let none = fixture("llama-bench.csv").replace("\"265489895\"", "\"0\"");
    let found = try_read("zero.csv", &none).expect("the rest can be read");
    assert_eq!((found.runs[0].rows.len(), &*found.unread[0].text), (1, "line 2"));
}

#[test]
fn settings_of_llama_bench_are_runs_of_their_own() {
    let text = fixture("llama-bench.jsonl");
    let other = text.replace("\"n_threads\": 2", "\"n_threads\": 1").replace("\"n_prompt\": 64", "\"n_prompt\": 128");
    let more = text.lines().next().unwrap_or_default().replace("\"n_prompt\": 64", "\"n_prompt\": 256");
    let found = try_read("sweep.jsonl", &format!("{text}{other}{more}\n{{\"cut")).expect("it can be read");
    assert_eq!(found.runs.len(), 2);
    let names: Vec<&str> = found.runs[0].rows.iter().map(|row| row.name.as_str()).collect();
    assert_eq!(names, ["pp64 prefill", "decode", "pp256 prefill"]);
    assert_eq!(found.runs[1].workload.parameters["threads"], "1");
    assert_eq!((found.unread.len(), found.unread[0].line), (1, Some(6)));
}

#[test]
fn hyperfine_of_both_versions() {
    let found = read("hyperfine-1.json");
    assert_eq!((found.format.name(), found.runs.len(), &found.unread[..]), ("hyperfine", 2, &[][..]));
    let run = &found.runs[0];
    assert_eq!(values(run, "command", "wall_s"), [0.0124, 0.012, 0.0131]);
    assert_eq!(values(run, "command", "peak_rss_bytes").len(), 3);
    assert_eq!((&*run.subject.name, &run.subject.command[..]), ("sum", &["./sum".to_owned(), "1000".to_owned()][..]));
    assert_eq!(run.workload.parameters["size"], "1000");
    assert_eq!(run.failures, ["1 repeats had a non-zero exit code, the first 1"]);
    assert!(found.runs[1].imported.as_ref().is_some_and(|origin| origin.single_shot));
    has_note(run, "the file's date is used");
    let found = read("hyperfine-2.json");
    let run = &found.runs[0];
    assert_eq!((found.format.name(), &found.unread[..]), ("hyperfine", &[][..]));
    assert_eq!(values(run, "command", "wall_s"), [1.001, 1.002]);
    assert_eq!(values(run, "command", "user_s"), [0.001, 0.001]);
    assert_eq!((&*run.created, &*run.rows[0].what), ("2026-11-15T08:00:00Z", "one second"));
}

#[test]
fn google_benchmark_repetitions() {
    let found = read("google-benchmark.json");
    let run = &found.runs[0];
    assert_eq!((found.format.name(), run.rows.len()), ("google-benchmark", 1));
    let walls = values(run, "BM_Gemm/512/repeats:2", "wall_s");
    near(walls[0], 0.0025);
    near(walls[1], 0.0026);
    assert_eq!(values(run, "BM_Gemm/512/repeats:2", "items_per_second"), [400.0, 390.0]);
    let why: Vec<&str> = found.unread.iter().map(|part| part.why.as_str()).collect();
    assert_eq!(why, ["an aggregate of repetitions", "the benchmark failed or was skipped"]);
    assert_eq!(run.failures, ["BM_Broken: no input"]);
    assert_eq!((&*run.subject.name, run.environment.machine.caches.len()), ("gemm_bench", 2));
    assert!(run.subject.build.is_none(), "the build of the library is not that of the program");
    has_note(run, "how the program was built is unknown");
}
