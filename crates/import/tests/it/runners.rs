//! Benchmark runners of other languages: pytest-benchmark and `go test -bench`.

use super::{fixture, has_note, near, read, try_read, values};

#[test]
fn pytest_benchmark_keeps_its_rounds() {
    let found = read("pytest-benchmark.json");
    assert_eq!((found.format.name(), found.runs.len(), &found.unread[..]), ("pytest-benchmark", 1, &[][..]));
    let run = &found.runs[0];
    let names: Vec<&str> = run.rows.iter().map(|row| row.name.as_str()).collect();
    assert_eq!(
        names,
        ["tests/test_speed.py::test_sum[10]", "tests/test_speed.py::test_sum[100]", "tests/test_speed.py::test_sort"]
    );
    // Rounds are means of their iterations already.
    let walls = values(run, names[0], "wall_s");
    assert_eq!(walls.len(), 3);
    near(walls[2], 2.004_002_453_759_312_6e-7);
    assert_eq!(values(run, names[0], "iterations"), [5.0; 3]);
    assert_eq!((&*run.rows[0].what, &*run.rows[2].what), ("rows 10", "sorting"));
    assert_eq!((&*run.subject.name, &*run.created), ("tiny", "2026-11-18T08:00:00.250000+00:00"));
    let git = run.subject.git.as_ref().expect("it has a commit");
    assert!(git.commit.starts_with("5f2c1d7e") && git.dirty && git.branch.as_deref() == Some("main"));
    let machine = &run.environment.machine;
    assert_eq!((machine.cpus, machine.cpu.model.as_deref(), &*machine.arch), (2, Some("AMD EPYC"), "x86_64"));
    assert_eq!(run.subject.build.as_ref().and_then(|build| build.compiler.as_deref()), Some("CPython 3.11.7"));
    assert_eq!(run.workload.parameters["timer"], "perf_counter");
    let origin = run.imported.as_ref().expect("it was imported");
    assert!(!origin.single_shot && !origin.summarised);
}

#[test]
fn pytest_benchmark_without_rounds() {
    // `--benchmark-save` leaves the rounds out unless it is asked for them.
    let mut document: serde_json::Value = serde_json::from_str(&fixture("pytest-benchmark.json")).expect("JSON");
    for benchmark in document["benchmarks"].as_array_mut().expect("a list") {
        benchmark["stats"].as_object_mut().expect("an object").remove("data");
    }
    document["benchmarks"][1]["options"]["timer"] = "process_time".into();
    document["benchmarks"][2]["extra_info"]["tree"] = serde_json::json!({"depth": 1});
    document["benchmarks"][2]["stats"]["mood"] = "good".into();
    document["datetime"] = "2016-12-01T12:34:56.789".into();
    let found = try_read("saved.json", &document.to_string()).expect("it can be read");
    let run = &found.runs[0];
    assert!(run.imported.as_ref().is_some_and(|origin| origin.summarised && !origin.single_shot));
    near(values(run, "tests/test_speed.py::test_sum[10]", "wall_s")[0], 4.967_994_755_133_987e-7);
    near(values(run, "tests/test_speed.py::test_sum[10]", "wall_max_s")[0], 5.428_002_623_375_505e-7);
    // Another timer measures something else.
    assert!(values(run, "tests/test_speed.py::test_sum[100]", "wall_s").is_empty());
    assert_eq!(values(run, "tests/test_speed.py::test_sum[100]", "cpu_s").len(), 1);
    assert_eq!((&*run.workload.parameters["timer"], &*run.created), ("differs", "2016-12-01T12:34:56Z"));
    let unread: Vec<&str> = found.unread.iter().map(|part| part.text.as_str()).collect();
    assert_eq!(unread, ["benchmarks[2].stats.mood: \"good\"", "benchmarks[2].extra_info.tree: an object of 1 fields"]);
}

#[test]
fn go_benchmarks_of_two_packages() {
    let found = read("go-bench.txt");
    assert_eq!((found.format.name(), found.runs.len()), ("go-bench", 2));
    let (tensor, sampler) = (&found.runs[0], &found.runs[1]);
    let names: Vec<&str> = tensor.rows.iter().map(|row| row.name.as_str()).collect();
    assert_eq!(names, ["BenchmarkMatMul/256", "BenchmarkSoftmax", "BenchmarkDecode"]);
    // `-count 2`.
    let walls = values(tensor, "BenchmarkMatMul/256", "wall_s");
    near(walls[0], 0.011_263_045);
    near(walls[1], 0.011_301_871);
    near(values(tensor, "BenchmarkSoftmax", "wall_s")[1], 2.3515e-6);
    // `-benchmem`: a count of 0 that is told is one.
    assert_eq!(values(tensor, "BenchmarkSoftmax", "allocs"), [0.0, 0.0]);
    assert_eq!(values(tensor, "BenchmarkMatMul/256", "alloc_bytes"), [262_248.0; 2]);
    assert_eq!(values(sampler, "BenchmarkTopK", "allocs"), [0.0; 0], "not told is not zero");
    // `b.SetBytes` and `b.ReportMetric`.
    assert_eq!(values(tensor, "BenchmarkMatMul/256", "MB/s"), [69.82, 69.58]);
    assert_eq!(values(tensor, "BenchmarkDecode", "tok/s"), [35.58, 35.21]);
    assert_eq!(tensor.metrics["tok/s"].better, record::Better::Higher);
    assert_eq!((tensor.rows[0].threads, &*tensor.workload.parameters["gomaxprocs"]), (Some(8), "8"));
    assert_eq!((&*tensor.subject.name, &*tensor.environment.machine.arch), ("example.com/tiny/tensor", "x86_64"));
    let parts: Vec<&str> =
        found.runs.iter().filter_map(|run| run.imported.as_ref().and_then(|origin| origin.part.as_deref())).collect();
    assert_eq!(parts, ["example.com/tiny/tensor", "example.com/tiny/sampler"]);
    assert_eq!(sampler.failures, ["--- FAIL: BenchmarkBroken"]);
    assert_eq!(found.unread.len(), 1, "{:?}", found.unread);
    assert_eq!((found.unread[0].line, &*found.unread[0].text), (Some(16), "sampler_test.go:31: no vocabulary"));
    has_note(tensor, "how the package was built");
}

#[test]
fn go_benchmarks_with_several_numbers_of_threads() {
    let text = "BenchmarkSum\t100\t20 ns/op\nBenchmarkSum-4\t100\t5 ns/op\nBenchmarkSum-4\t100\t0 ns/op\n";
    let found = try_read("cpu.txt", text).expect("it can be read");
    let names: Vec<&str> = found.runs[0].rows.iter().map(|row| row.name.as_str()).collect();
    assert_eq!(names, ["BenchmarkSum", "BenchmarkSum-4"]);
    assert_eq!((found.unread.len(), found.unread[0].line), (1, Some(3)));
    assert!(found.runs[0].imported.as_ref().is_some_and(|origin| origin.single_shot && origin.part.is_none()));
}
