//! Reports of SmallMind: small ones of ours, and real ones where they are there.

use std::path::PathBuf;

use import::Imported;
use record::Run;

use super::{fixture, has_note, near, read, scope, try_read, values};

/// The real reports of a kind; nothing where they are not there.
fn real(folder: &str) -> Vec<(String, Imported)> {
    let Some(folder) = testing::shared(&format!("smallmind/{folder}")) else {
        return Vec::new();
    };
    let entries = std::fs::read_dir(folder).expect("the folder can be read");
    let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    files.sort();
    let read = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let text = std::fs::read_to_string(path).expect("it can be read");
        let found = try_read(&name, &text).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(found.unread, [], "{name}");
        (name, found)
    };
    files.iter().map(read).collect()
}

/// Milliseconds of all scopes that no other calls.
fn roots_ms(run: &Run) -> f64 {
    let scopes = &run.profile.as_ref().expect("it has a profile").scopes;
    scopes.iter().filter(|scope| scope.parent.is_none()).map(|scope| scope.total_ns as f64 * 1e-6).sum()
}

/// Of every tree the self times sum to the roots, and none lies outside its parent.
#[track_caller]
fn check_tree(run: &Run) {
    let profile = run.profile.as_ref().expect("it has a profile");
    let own: f64 = profile.scopes.iter().map(|scope| scope.self_ns as f64 * 1e-6).sum();
    assert!((own - roots_ms(run)).abs() < 1e-3, "{own} and {}", roots_ms(run));
    for scope in &profile.scopes {
        let above = scope.parent.map_or(u64::MAX, |parent| profile.scopes[parent].total_ns);
        assert!(scope.total_ns <= above && scope.self_ns <= scope.total_ns, "{scope:?}");
    }
}

/// GFLOP/s by what the row declares, as our reports compute it.
#[track_caller]
fn gflops(run: &Run, name: &str) -> f64 {
    let row = run.rows.iter().find(|row| row.name == name).expect("it has the row");
    row.flops.expect("it declares work") * row.calls as f64 / values(run, name, "wall_s")[0] * 1e-9
}

#[test]
fn enhanced() {
    let found = read("smallmind-enhanced.md");
    assert_eq!((found.format.name(), found.runs.len(), &found.unread[..]), ("smallmind-enhanced", 1, &[][..]));
    let run = &found.runs[0];
    assert_eq!((run.rows.len(), run.samples.len()), (7, 7));
    assert_eq!(run.created, "2026-02-04T02:02:13Z");
    check_tree(run);
    near(roots_ms(run), 905.900 + 443.939 + 112.931 + 11.239);
    // What is inside is taken out of what is around it.
    let inference = scope(run, "Model_Small_Inference", None);
    assert_eq!((inference.total_ns, inference.self_ns, inference.tokens), (443_939_000, 59_000, 25));
    let forward = scope(run, "Model_Small_Forward", Some("Model_Small_GenerateToken"));
    assert_eq!((forward.calls, forward.total_ns, forward.self_ns), (25, 441_380_000, 441_380_000));
    // One line for both sizes: divided in proportion to theirs, and an estimate.
    let large = scope(run, "MatMul_Iteration", Some("MatMul_512x512"));
    let small = scope(run, "MatMul_Iteration", Some("MatMul_256x256"));
    assert_eq!((large.calls, small.calls, large.total_ns + small.total_ns), (3, 3, 766_000_000));
    assert!(large.is_sampled && large.total_ns / small.total_ns == 8);
    // Four multiplies in the scope: the original has a quarter of this.
    assert!((gflops(run, "MatMul_512x512") - 1.1853).abs() < 1e-4);
    has_note(run, "0.30 GFLOP/s for `MatMul_512x512`, as if it had one multiplication; with all 4 it is 1.19 GFLOP/s");
    has_note(run, "total of 3125.27 ms counts nested scopes more than once");
    // Bytes by the table that has more digits.
    assert_eq!(values(run, "Model_Small_Inference", "alloc_bytes"), [19_927_347.0]);
    assert!(run.subject.build.is_none() && run.subject.git.is_none() && run.environment.machine.machine_key.is_empty());
    let origin = run.imported.as_ref().expect("it was imported");
    assert!(origin.single_shot && !origin.summarised);
}

#[test]
fn rows_that_cannot_be_read_are_named() {
    let text = fixture("smallmind-enhanced.md")
        .replace("| 905.90 | 1 | 905.900 |", "| NaN | 1 | NaN |")
        .replace("| 1 | `Model_Small_Inference` | 19.00 | 1 | 19460.30 |", "| 1 | `Gone` | 19.00 | 1 | 19460.30 |")
        + "\n| 8 | a row without a table |\nwhat is this\n";
    let found = try_read("enhanced.md", &text).expect("the rest can be read");
    let unread: Vec<(Option<u64>, &str)> = found.unread.iter().map(|part| (part.line, part.why.as_str())).collect();
    assert_eq!(
        unread,
        [
            (Some(15), "the time is not a number"),
            (Some(27), "this method has no time"),
            (Some(36), "not a line of this format"),
            (Some(37), "not a line of this format"),
        ]
    );
    assert_eq!(found.runs[0].rows.len(), 6);
    assert_eq!(found.runs[0].imported.as_ref().map(|origin| origin.unread.len()), Some(4));
}

#[test]
fn standard_and_deep() {
    let found = read("smallmind-standard.md");
    let run = &found.runs[0];
    assert_eq!((&*run.workload.name, run.rows.len(), &found.unread[..]), ("smallmind-deep", 7, &[][..]));
    check_tree(run);
    let profile = run.profile.as_ref().expect("it has a profile");
    assert_eq!((profile.wall_ns, profile.outside_ns), (500_000_000, 39_000_000));
    // As often as the report says, and in proportion to the time.
    let large = scope(run, "MatMul_Iteration", Some("MatMul_512x512"));
    assert_eq!((large.calls, large.total_ns / 1_000), (2, 49_166));
    assert_eq!(scope(run, "MatMul_Iteration", Some("MatMul_256x256")).calls, 4);
    let token = scope(run, "GenerateToken", Some("Inference"));
    assert_eq!((token.min_ns, token.max_ns, token.self_ns), (3_000_000, 9_000_000, 9_000_000));
    assert_eq!(token.allocs.map(|own| own.alloc_bytes), Some(524_288));
    // Bytes are told, the number of allocations is not: a total would show it as 0.
    assert!(run.profile.iter().flat_map(|profile| &profile.scopes).all(|scope| scope.allocs_total.is_none()));
    assert!(values(run, "GenerateToken", "allocs").is_empty());
    has_note(run, "the number of allocations is unknown");
    let text = report::run(run, &report::RunOptions::default()).terminal(report::Page::default());
    let line = text.lines().find(|line| line.contains("allocations per token")).expect("it is there");
    assert!(line.contains("not measured"), "{line}");
    // Only in the table of calls; what calls it is not there.
    assert_eq!(scope(run, "Softmax", None).calls, 1_000);
    assert_eq!(run.environment.machine.os, "Ubuntu 24.04.3 LTS");
    assert_eq!(run.subject.build.as_ref().and_then(|build| build.compiler.as_deref()), Some(".NET 10.0.2"));
    assert_eq!(run.subject.build.as_ref().and_then(|build| build.profile.as_ref()), None);
    has_note(run, "`MatMul_256x256`: the shortest call is longer than the longest");
    assert!((gflops(run, "MatMul_512x512") - 16.1061).abs() < 1e-3);
}

#[test]
fn extremes_of_a_shared_method_are_kept() {
    let found = read("smallmind-standard.md");
    let run = &found.runs[0];
    // The tree divides its time between callers, of which no extremes are known; the row has those of all calls.
    assert_eq!(scope(run, "MatMul_Iteration", Some("MatMul_512x512")).timed_calls, 0);
    near(values(run, "MatMul_Iteration", "wall_min_s")[0], 0.001);
    near(values(run, "MatMul_Iteration", "wall_max_s")[0], 0.019);
}

#[test]
fn a_comparison_is_two_runs() {
    let found = read("smallmind-comparison.md");
    assert_eq!((found.runs.len(), &found.unread[..]), (2, &[][..]));
    let [previous, current] = &found.runs[..] else { panic!("two runs") };
    assert_eq!(values(previous, "MatMul_512x512", "wall_s"), [0.17211]);
    assert_eq!(values(current, "MatMul_512x512", "wall_s"), [0.9059]);
    has_note(previous, "counts 4 methods and compares 3");
    has_note(previous, "Its date is doubtful");
    has_note(current, "Its date is that of the comparison");
    assert_eq!(scope(previous, "MatMul_Iteration", Some("MatMul_512x512")).calls, 12);
}

#[test]
fn allocation() {
    let found = read("smallmind-allocation.txt");
    let run = &found.runs[0];
    assert_eq!((run.rows.len(), &found.unread[..]), (2, &[][..]));
    near(values(run, "matmul_backward", "wall_s")[0], 0.4433);
    assert_eq!(values(run, "matmul_backward", "gen0"), [1.0]);
    assert_eq!(values(run, "training", "gen0"), [0.0]);
    assert_eq!(values(run, "training", "gen1"), [0.0; 0], "not told is not zero");
    near(values(run, "training", "samples_per_s")[0], 46_703.0);
}

#[test]
fn benchmarks() {
    let found = read("smallmind-benchmarks.json");
    let run = &found.runs[0];
    assert_eq!(run.rows.len(), 2);
    assert_eq!(run.subject.build.as_ref().and_then(|build| build.profile.as_deref()), Some("debug"));
    assert_eq!(run.subject.build.as_ref().and_then(|build| build.debug_assertions), Some(true));
    assert_eq!(run.environment.machine.isa.features, ["AVX2", "FMA"]);
    near(gflops(run, "MatMul 256\u{d7}256"), 13.421_772_8);
    assert_eq!(run.rows[1].bytes, Some(120e6));
    near(values(run, "Element-wise Add", "wall_s")[0], 0.353_495);
    let unread: Vec<&str> = found.unread.iter().map(|part| part.text.as_str()).collect();
    assert_eq!(unread, ["results[1].metrics.Mood: \"good\"", "results[2] (Nothing)"]);
}

#[test]
fn the_comparison_of_models() {
    let found = read("smallmind-models.md");
    let run = &found.runs[0];
    assert_eq!((found.format.name(), run.rows.len(), &found.unread[..]), ("smallmind-models", 4, &[][..]));
    check_tree(run);
    let small = scope(run, "Model_Small_Forward", Some("Model_Small_Inference"));
    assert_eq!((small.calls, small.total_ns), (25, 445_850_000));
    let sizes: Vec<(&str, u64)> = run.models.iter().map(|model| (&*model.name, model.parameters)).collect();
    assert_eq!(sizes, [("Small", 470_528), ("Medium", 3_454_464)]);
    let row = run.rows.iter().find(|row| row.name == "Model_Medium_Inference").expect("it is there");
    near(row.tokens.expect("it has tokens") / values(run, &row.name, "wall_s")[0], 25.0 / 2.55397);
}

#[test]
fn zeros_that_stand_for_nothing() {
    let found = read("smallmind-consolidated.md");
    let run = &found.runs[0];
    assert_eq!(values(run, "summary", "ttft_s"), [0.0; 0], "0.00 is what was not measured");
    assert_eq!(values(run, "summary", "tokens_per_s"), [620.5]);
    has_note(run, "the report shows 0.00 for what was not measured");
    let unread: Vec<&str> = found.unread.iter().map(|part| part.why.as_str()).collect();
    assert_eq!(unread, ["a constant of the program that wrote the report, not a measurement"]);
}

#[test]
fn real_enhanced_reports() {
    for (name, found) in real("enhanced") {
        let run = &found.runs[0];
        assert_eq!((found.format.name(), run.rows.len(), run.samples.len()), ("smallmind-enhanced", 29, 29), "{name}");
        check_tree(run);
        let scopes = &run.profile.as_ref().expect("it has a profile").scopes;
        // 29 methods, of which three are divided between four sizes each.
        assert_eq!(scopes.len(), 29 + 3 * 3, "{name}");
        assert_eq!(run.models.len(), 2);
        if name == "20260204-020213.md" {
            assert!((roots_ms(run) - 3_657.0).abs() < 0.5, "{}", roots_ms(run));
            has_note(run, "total of 9237.19 ms counts nested scopes more than once");
            has_note(run, "338.62 MiB counts nested scopes more than once; counted once it is 133.28 MiB");
            assert!((gflops(run, "MatMul_512x512") - 1.1853).abs() < 1e-4);
            let waste = scope(run, "MatMul_512x512", None);
            assert!(waste.self_ns > 200_000_000, "the warm-up is in no iteration: {}", waste.self_ns);
        }
    }
}

#[test]
fn real_standard_and_deep_reports() {
    for (name, found) in real("standard") {
        let run = &found.runs[0];
        check_tree(run);
        let profile = run.profile.as_ref().expect("it has a profile");
        assert_eq!(profile.wall_ns, profile.outside_ns + (roots_ms(run) * 1e6).round() as u64, "{name}");
        assert_eq!(run.environment.machine.cpus, 4);
        assert_eq!(run.workload.parameters["tokens"], "50");
        match run.workload.name.as_str() {
            "smallmind-standard" => {
                assert_eq!(run.rows.len(), 10, "{name}");
                let roots = profile.scopes.iter().filter(|scope| scope.parent.is_none());
                let mut roots: Vec<&str> = roots.map(|scope| scope.name.as_str()).collect();
                roots.sort_unstable();
                assert_eq!(roots, ["InferenceComplete", "ModelCreation"]);
                scope(run, "Softmax", Some("SampleToken"));
                has_note(run, "`BuilderSetup`");
            }
            "smallmind-deep" => {
                assert_eq!((run.rows.len(), profile.scopes.len()), (8, 10), "{name}");
                assert_eq!(scope(run, "MatMul_Iteration", Some("MatMul_128x128")).calls, 3);
                scope(run, "Transformer_Forward", Some("GenerateToken"));
                let row = run.rows.iter().find(|row| row.name == "MatMul_512x512").expect("it is there");
                assert_eq!(row.calls, 3, "three multiplies and no warm-up");
            }
            other => panic!("{name}: {other}"),
        }
    }
}

#[test]
fn real_comparisons_are_two_runs() {
    for (name, found) in real("comparison") {
        assert_eq!(found.runs.len(), 2, "{name}");
        for (run, part) in found.runs.iter().zip(["previous", "current"]) {
            let listed = run.rows.len();
            assert!((26..=29).contains(&listed), "{name}: {listed}");
            check_tree(run);
            assert_eq!(run.imported.as_ref().and_then(|origin| origin.part.as_deref()), Some(part));
        }
        has_note(&found.runs[0], "prints a constant for the previous run");
        if name.starts_with("20260204-020249") {
            assert_eq!(found.runs[0].created, "2026-02-03T02:36:36Z");
            assert!((roots_ms(&found.runs[1]) - 3_657.0).abs() < 0.5);
            assert!((gflops(&found.runs[0], "MatMul_512x512") - 6.2387).abs() < 1e-3);
        }
    }
}

#[test]
fn real_allocation_profiles() {
    for (name, found) in real("allocation") {
        let run = &found.runs[0];
        assert_eq!((run.rows.len(), run.samples.len()), (2, 2), "{name}");
        assert_eq!((run.rows[0].calls, run.rows[1].calls), (100, 50));
        assert_eq!(values(run, "matmul_backward", "gen2"), [0.0]);
        assert_eq!(values(run, "training", "samples_per_s").len(), 1);
        if name == "20260204-011935.txt" {
            near(values(run, "matmul_backward", "wall_s")[0], 0.4433);
            near(values(run, "training", "wall_s")[0], 0.03425);
            near(values(run, "training", "samples_per_s")[0], 46_703.0);
            has_note(run, "were not measured");
        }
    }
}

#[test]
fn real_benchmarks() {
    for (name, found) in real("profiler-bench") {
        let run = &found.runs[0];
        assert_eq!((run.rows.len(), run.samples.len()), (13, 13), "{name}");
        assert_eq!(run.subject.build.as_ref().and_then(|build| build.profile.as_deref()), Some("release"));
        let origin = run.imported.as_ref().expect("it was imported");
        assert!(origin.summarised && !origin.single_shot);
        if name == "20260211-030304.5.json" {
            assert!((gflops(run, "MatMul 256\u{d7}256") - 13.4234).abs() < 1e-3);
            assert_eq!(values(run, "MatMul 256\u{d7}256", "alloc_bytes"), [1_792.0]);
        }
    }
    for (name, found) in real("simd-bench") {
        let run = &found.runs[0];
        assert_eq!(run.rows.len(), 6, "{name}");
        let add = run.rows.iter().find(|row| row.name == "Element-wise Add").expect("it is there");
        assert_eq!((add.calls, add.bytes), (100, Some(120e6)), "three vectors of ten million f32");
        let product = run.rows.iter().find(|row| row.name == "Matrix Multiplication").expect("it is there");
        assert_eq!(product.flops, Some(2.0 * 512.0 * 512.0 * 512.0));
    }
}
