//! Comparisons of runs whose figures are known.

use compare::{NamedRun, RunsSettings};
use record::{Comparison, Metric, Run, Tool};
use report::{RunOptions, comparison_smallmind, comparison_verdict_line};

use super::text::{comparison_markdown, comparison_text};

use super::runs;
use super::snapshots::check;

pub fn compared(base: &Run, candidate: &Run) -> Comparison {
    let tool = Tool { name: "hotloop".into(), version: "0.1.0".into() };
    compare::runs(
        NamedRun { run: base, name: "@previous", id: Some("1f3a") },
        NamedRun { run: candidate, name: "@latest", id: Some("20c4") },
        &RunsSettings { tool, threshold: None },
    )
}

/// A run that tells all that has to be known.
fn told(mut run: Run, commit: &str, binary: char) -> Run {
    run.environment.machine.machine_key = "zen3-2x-24g".into();
    run.environment.machine.isa.chosen = "avx2".into();
    run.workload.prompt_blake3 = Some("ab".repeat(32));
    for model in &mut run.models {
        model.weights_blake3 = Some("cd".repeat(32));
    }
    if let Some(git) = &mut run.subject.git {
        (git.commit, git.dirty) = (commit.into(), false);
    }
    if let Some(build) = &mut run.subject.build {
        build.binary_blake3 = Some(binary.to_string().repeat(64));
    }
    run
}

/// Rows that took so much longer.
fn slower(mut run: Run, factor: impl Fn(&str) -> f64) -> Run {
    for sample in &mut run.samples {
        let factor = factor(&sample.row);
        if let Some(wall) = sample.values.get_mut("wall_s") {
            *wall *= factor;
        }
    }
    run
}

/// One row much slower, one faster, one that allocates, one gone, one new.
fn rows() -> Comparison {
    let mut base = told(runs::enhanced(), "1111111", '1');
    let mut candidate = slower(told(runs::enhanced(), "2222222", '2'), |row| match row {
        "MatMul_512x512" => 1.5,
        "GELU_1000000" => 0.6,
        _ => 1.0,
    });
    for sample in candidate.samples.iter_mut().filter(|sample| sample.row == "Softmax_2048") {
        sample.values.insert("allocs".into(), 50.0);
    }
    candidate.rows[4].name = "TensorSub_10000".into();
    for run in [&mut base, &mut candidate] {
        let exact = Metric { unit: "count".into(), exact: true, ..Metric::default() };
        run.metrics.insert("allocs".into(), exact);
    }
    compared(&base, &candidate)
}

/// A scope that takes longer, one with another name, one that is gone and one that is new.
fn scopes() -> Comparison {
    let base = told(runs::standard(), "1111111", '1');
    let mut candidate = told(runs::standard(), "2222222", '2');
    let profile = candidate.profile.as_mut().expect("it has one");
    for scope in &mut profile.scopes {
        match scope.name.as_str() {
            "engine::layers::head" => {
                scope.self_ns += 2_000_000;
                scope.name = "engine::layers::logits".into();
            }
            "engine::sample::sampling" => scope.self_ns -= 500_000,
            "lab::creation" => (scope.name, scope.calls) = ("lab::loading".into(), 2),
            _ => {}
        }
    }
    totals_again(&mut profile.scopes);
    compared(&base, &candidate)
}

/// Totals from own times.
fn totals_again(scopes: &mut [record::Scope]) {
    for scope in scopes.iter_mut() {
        scope.total_ns = scope.self_ns;
    }
    for at in (0..scopes.len()).rev() {
        if let Some(parent) = scopes[at].parent {
            scopes[parent].total_ns += scopes[at].total_ns;
        }
    }
}

/// A debug build beside a release build.
fn debug() -> Comparison {
    compared(&told(runs::standard(), "1111111", '1'), &told(runs::interrupted(), "1111111", '2'))
}

/// Other tokens.
fn wrong() -> Comparison {
    let mut candidate = slower(told(runs::standard(), "2222222", '2'), |_| 0.5);
    candidate.correctness.as_mut().expect("it has some").tokens_blake3 = Some("0badcafe".into());
    compared(&told(runs::standard(), "1111111", '1'), &candidate)
}

fn all() -> [(&'static str, Comparison); 5] {
    [
        ("comparison-rows", rows()),
        ("comparison-scopes", scopes()),
        ("comparison-debug", debug()),
        ("comparison-wrong", wrong()),
        ("comparison-empty", compared(&runs::empty(), &runs::empty())),
    ]
}

/// The last line is for programs, and as long as it must be.
#[track_caller]
fn check_width(text: &str) {
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[..lines.len() - 1].iter().all(|line| line.chars().count() <= 120), "{text}");
}

#[test]
fn terminal_and_markdown() {
    let options = RunOptions { top: 8, ..RunOptions::default() };
    for (name, comparison) in all() {
        let text = comparison_text(&comparison, &options);
        check_width(&text);
        assert_eq!(text.lines().last(), Some(comparison_verdict_line(&comparison).as_str()));
        check(&format!("{name}.txt"), &text);
        check(&format!("{name}.md"), &comparison_markdown(&comparison, &options));
    }
    check("comparison-scopes.smallmind.md", &comparison_smallmind(&scopes()));
}

#[test]
fn the_last_line_is_for_programs() {
    for (comparison, line) in all().iter().zip([
        "VERDICT mixed MatMul_512x512 wall_s +50.0% [40.4,60.3]",
        "VERDICT unresolved",
        "VERDICT incomparable build profile, optimisation level, debug assertions",
        "VERDICT wrong-output tokens",
        "VERDICT incomparable build profile, workload, setting threads, machine, operating system, instruction set, \
         usable CPUs",
    ]) {
        assert_eq!(comparison_verdict_line(&comparison.1), line, "{}", comparison.0);
    }
}

#[test]
fn a_run_beside_any_other_is_written() {
    let options = RunOptions::default();
    for (_, base) in runs::all() {
        for (_, candidate) in runs::all() {
            let comparison = compared(&base, &candidate);
            let text = comparison_text(&comparison, &options);
            check_width(&text);
            assert!(!comparison_markdown(&comparison, &options).is_empty());
            assert!(comparison_smallmind(&comparison).starts_with("# Profile Comparison Report"));
            assert_eq!(Comparison::from_json(&comparison.to_json()), Ok(comparison));
        }
    }
}
