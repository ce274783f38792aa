//! Duels whose figures are known.

use std::collections::BTreeMap;

use record::*;

use super::machine::machine;
use super::text::duel_text;

/// Every kind of duel, by name.
pub fn all() -> Vec<(&'static str, Duel)> {
    vec![
        ("duel-regressed", regressed()),
        ("duel-gone", gone()),
        ("duel-same", same()),
        ("duel-incomparable", incomparable()),
        ("duel-wrong", wrong()),
        ("duel-empty", Duel::default()),
    ]
}

fn metric(definition: &str, unit: &str) -> Metric {
    Metric { definition: definition.to_owned(), unit: unit.to_owned(), ..Metric::default() }
}

fn arm(name: &str, label: &str, profile: &str) -> Arm {
    let build = Build {
        profile: Some(profile.to_owned()),
        binary_blake3: Some(name.to_lowercase().repeat(64)[..64].to_owned()),
        ..Build::default()
    };
    let git = Git { commit: "0123456789abcdef0123456789abcdef01234567".to_owned(), ..Git::default() };
    let subject = Subject {
        name: "train".to_owned(),
        command: vec!["./train".to_owned(), "--steps".to_owned(), "100".to_owned()],
        build: Some(build),
        git: Some(git),
        ..Subject::default()
    };
    let workload = Workload { name: "command".to_owned(), ..Workload::default() };
    Arm { name: name.to_owned(), label: label.to_owned(), subject, workload, ..Arm::default() }
}

fn judgement(metric: &str, verdict: Verdict, change: (f64, f64, f64)) -> Judgement {
    Judgement {
        metric: metric.to_owned(),
        verdict,
        sentence: format!("{metric} has its sentence."),
        gate: metric == "wall_s",
        base: Some(0.25),
        candidate: Some(0.25 * (1.0 + change.0)),
        change: Some(Change { estimate: change.0, low: change.1, high: change.2 }),
        threshold: 0.03,
        floor: Some(0.011),
        visible: Some(0.042),
        launches: 3,
        rounds: 24,
        ..Judgement::default()
    }
}

/// Three launches of six, all sides.
fn base() -> Duel {
    let samples = (0..3_u64).flat_map(|launch| {
        ["A", "A'", "B"].map(|arm| Sample {
            row: "round".to_owned(),
            arm: Some(arm.to_owned()),
            launch,
            values: BTreeMap::from([
                ("wall_s".to_owned(), 0.25),
                ("cpu_s".to_owned(), 0.24),
                ("env_cpu_pressure".to_owned(), 0.1 * launch as f64),
                ("env_load_1m".to_owned(), 1.5),
            ]),
            ..Sample::default()
        })
    });
    Duel {
        command: ["duel", "rev:main", "rev:HEAD", "--bin", "train", "--", "{}", "--steps", "100"]
            .map(str::to_owned)
            .to_vec(),
        schema: DUEL_SCHEMA.to_owned(),
        version: DUEL_VERSION,
        created: "2026-11-15T08:00:00Z".to_owned(),
        design: Design {
            mode: "standard".to_owned(),
            launches: 6,
            rounds: 8,
            looks: vec![3, 6],
            alpha: 0.05,
            seed: 7,
            calls: 12,
            round_s: 0.25,
            warmup: 1,
            gates: vec![GateMetric { metric: "wall_s".to_owned(), threshold: 0.03 }],
            gate_reason: Some("A uses a CPU for 80 % of its run time".to_owned()),
            time_budget_s: Some(60.0),
            padding_bytes: Some(4_096),
            confirmation: false,
        },
        duration_s: Some(20.6),
        arms: vec![arm("A", "rev:main", "release"), arm("A'", "rev:main", "release"), arm("B", "rev:HEAD", "release")],
        environment: Environment { machine: machine(), ..Environment::default() },
        metrics: BTreeMap::from([
            ("wall_s".to_owned(), metric("the time", "s")),
            ("cpu_s".to_owned(), metric("the CPU time", "s")),
            ("env_cpu_pressure".to_owned(), metric("waiting", "share")),
            ("env_load_1m".to_owned(), metric("load", "count")),
        ]),
        samples: samples.collect(),
        ..Duel::default()
    }
}

fn with(verdict: Verdict, sentence: &str, judgements: Vec<Judgement>) -> Duel {
    let finding =
        Finding { arm: "B".to_owned(), verdict, sentence: sentence.to_owned(), judgements, ..Finding::default() };
    Duel { findings: vec![finding], verdict, ..base() }
}

pub fn regressed() -> Duel {
    let judgements = vec![
        judgement("wall_s", Verdict::Regressed, (0.071, 0.052, 0.09)),
        judgement("cpu_s", Verdict::LeaningWorse, (0.06, 0.01, 0.11)),
    ];
    let mut duel =
        with(Verdict::Regressed, "Time grew by 7.1 % (+5.2 % to +9.0 %), more than the 3 % that count.", judgements);
    let part = |path: &[&str], base_s: f64, candidate_s: f64| WaterfallPart {
        path: path.iter().map(|name| (*name).to_owned()).collect(),
        base_s: Some(base_s),
        candidate_s: Some(candidate_s),
        change: TimeDifference {
            estimate: candidate_s - base_s,
            low: Some(candidate_s - base_s - 1e-3),
            high: Some(candidate_s - base_s + 1e-3),
        },
        base_calls: Some(100.0),
        candidate_calls: Some(if path.is_empty() { 100.0 } else { 120.0 }),
        ..WaterfallPart::default()
    };
    let added = WaterfallPart { base_s: None, base_calls: None, ..part(&["step", "check"], 0.0, 0.004) };
    duel.findings[0].why = Some(Waterfall {
        base_s: 0.25,
        candidate_s: 0.26775,
        total: TimeDifference { estimate: 0.01775, low: Some(0.013), high: Some(0.022) },
        parts: vec![part(&["step", "forward"], 0.2, 0.214), added, part(&[], 0.05, 0.04975)],
    });
    duel.profiles.push(LaunchProfile { arm: "A".to_owned(), ..LaunchProfile::default() });
    duel.findings[0].confirmed = Some(true);
    let second = Duel {
        design: Design { confirmation: true, ..base().design },
        ..with(Verdict::Regressed, "Again.", vec![judgement("wall_s", Verdict::Regressed, (0.068, 0.05, 0.088))])
    };
    duel.confirmation = Some(Box::new(second));
    for arm in &mut duel.arms {
        (arm.output, arm.output_varies) = (Some("done".to_owned()), Some(false));
    }
    duel.name = Some("training".to_owned());
    duel
}

/// Regressed once, and not again.
fn gone() -> Duel {
    let mut duel = regressed();
    duel.verdict = Verdict::Unresolved;
    duel.findings[0].verdict = Verdict::Unresolved;
    duel.findings[0].judgements[0].verdict = Verdict::Unresolved;
    duel.findings[0].confirmed = Some(false);
    duel.findings[0].sentence = "Time grew by 7.1 %. Measured a second time, it did not come again.".to_owned();
    duel.findings[0].why = None;
    duel.interrupted = true;
    duel
}

fn same() -> Duel {
    let mut duel = with(
        Verdict::Same,
        "Time is the same within 3 % (-0.4 % to +0.9 %).",
        vec![
            judgement("wall_s", Verdict::Same, (0.002, -0.004, 0.009)),
            judgement("cpu_s", Verdict::Unresolved, (0.0, -0.04, 0.05)),
        ],
    );
    duel.notes.push("A: peak memory is below 9.1 MB, what hotloop itself has, and not measured".to_owned());
    let other = Finding { arm: "C".to_owned(), ..duel.findings[0].clone() };
    duel.findings.push(other);
    duel.arms.push(arm("C", "sh -c 'make | tail'", "release"));
    duel
}

fn incomparable() -> Duel {
    let mut duel = with(
        Verdict::Incomparable,
        "The two do not answer the same question: they differ in build profile.",
        Vec::new(),
    );
    duel.samples.clear();
    duel.arms[2] = arm("B", "target/debug/train", "debug");
    duel.findings[0].differences.push(Difference {
        field: "build profile".to_owned(),
        base: Some("release".to_owned()),
        candidate: Some("debug".to_owned()),
    });
    duel
}

fn wrong() -> Duel {
    let mut duel = with(
        Verdict::WrongOutput,
        "The outputs differ: it is not the same computation, so its speed is not judged.",
        vec![judgement("wall_s", Verdict::WrongOutput, (-0.4, -0.5, -0.3))],
    );
    for (arm, output) in duel.arms.iter_mut().zip(["a", "a", "b"]) {
        (arm.output, arm.output_varies) = (Some(output.repeat(64)), Some(false));
    }
    duel
}

/// The first line of a duel of which one metric changed.
fn headline(metric: Metric, found: Judgement, verdict: Verdict) -> String {
    let mut duel = with(verdict, "", vec![found.clone()]);
    duel.metrics.insert(found.metric, metric);
    duel_text(&duel, &report::RunOptions::default()).lines().next().unwrap_or_default().to_owned()
}

#[test]
fn the_first_line_is_the_answer() {
    let time = || metric("", "s");
    let of = |verdict, change| headline(time(), judgement("wall_s", verdict, change), verdict);
    let pairs = [
        (
            of(Verdict::Regressed, (0.1, 0.09, 0.11)),
            "rev:HEAD is 1.10× slower than rev:main (95 % CI 1.09–1.11), decided by wall time, 21 s",
        ),
        (
            of(Verdict::Improved, (-0.5, -0.6, -0.2)),
            "rev:HEAD is 2.00× faster than rev:main (95 % CI 1.25–2.50), decided by wall time, 21 s",
        ),
        (
            of(Verdict::LeaningWorse, (0.03, 0.001, 0.06)),
            "rev:HEAD is probably 1.03× slower than rev:main (95 % CI 1.001–1.06), judged by wall time, 21 s",
        ),
        (
            of(Verdict::Same, (0.002, -0.004, 0.009)),
            "no difference beyond 3 % between rev:main and rev:HEAD (95 % CI −0.4 % to +0.9 %), decided by wall time, 21 s",
        ),
        (
            of(Verdict::Unresolved, (0.01, -0.03, 0.05)),
            "cannot tell: rev:HEAD is between 3 % faster and 5 % slower than rev:main, judged by wall time, 21 s",
        ),
        (
            of(Verdict::Unstable, (0.01, -0.03, 0.05)),
            "no verdict: rev:main differed from itself, so the machine changed, judged by wall time, 21 s",
        ),
    ];
    pairs.iter().for_each(|(found, expected)| assert_eq!(found, expected));
    // More tokens in a second are less time for each.
    let rate = Metric { better: Better::Higher, ..metric("", "tokens/s") };
    let found = Judgement { gate: true, ..judgement("tokens_per_s", Verdict::Improved, (0.25, 0.2, 0.3)) };
    let line = headline(rate, found, Verdict::Improved);
    assert_eq!(line, "rev:HEAD is 1.25× faster than rev:main (95 % CI 1.20–1.30), decided by tokens per second, 21 s");
    let found = Judgement { gate: true, ..judgement("peak_rss_bytes", Verdict::Regressed, (0.25, 0.2, 0.3)) };
    let line = headline(metric("", "bytes"), found, Verdict::Regressed);
    assert_eq!(
        line,
        "peak memory of rev:HEAD is 1.25× that of rev:main (95 % CI 1.20–1.30), decided by peak memory, 21 s"
    );
}

#[test]
fn the_first_line_says_what_stands_in_the_way() {
    let line = |duel: &Duel| {
        let text = duel_text(duel, &report::RunOptions::default());
        text.split("\n\n").next().unwrap_or_default().replace('\n', " ")
    };
    assert_eq!(line(&incomparable()), "not comparable: rev:main and target/debug/train differ in build profile, 21 s");
    assert!(line(&wrong()).starts_with("wrong output: rev:HEAD does not put out what rev:main does"));
    let expected = "interrupted, so far: cannot tell: rev:HEAD is 1.07× slower than rev:main (95 % CI 1.05–1.09) at first, and a second \
                    measurement did not confirm it, judged by wall time, 41 s";
    assert_eq!(line(&gone()), expected);
    let mut long = regressed();
    long.arms[2].label = "x".repeat(100);
    assert!(line(&long).starts_with("B is 1.07× slower than A (95 % CI 1.05–1.09), decided by wall time"));
    assert!(
        line(&same()).lines().count() == 1 && line(&same()).contains("make | tail"),
        "a line for each: {}",
        line(&same())
    );
}

#[test]
fn times_are_those_of_one_call_and_contradictions_are_marked() {
    let row = |duel: &Duel, name: &str| {
        let text = duel_text(duel, &report::RunOptions::default());
        let row = text.lines().find(|line| line.trim_start().starts_with(name)).unwrap_or_default().to_owned();
        (row.split_whitespace().collect::<Vec<_>>().join(" "), text.contains("*: pairs of the same round"))
    };
    // A quarter of a second of twelve calls.
    let (wall, _) = row(&regressed(), "wall_s");
    assert!(wall.starts_with("wall_s 20.8 ms 22.3 ms +7.1 % +5.2 % to +9.0 %"), "{wall}");
    let mut duel = regressed();
    duel.findings[0].judgements[1].candidate = Some(0.1);
    let (cpu, is_explained) = row(&duel, "cpu_s");
    assert!(cpu.starts_with("cpu_s 20.8 ms 8.33 ms +6.0 %* ") && is_explained, "{cpu}");
    assert!(!row(&regressed(), "cpu_s").1);
    // The peak of a round is that of each call.
    duel.findings[0].judgements[1].metric = "peak_rss_bytes".to_owned();
    duel.findings[0].judgements[1].base = Some(1_048_576.0);
    duel.metrics.insert("peak_rss_bytes".to_owned(), metric("", "bytes"));
    assert!(row(&duel, "peak_rss_bytes").0.starts_with("peak_rss_bytes 1 MiB "), "{duel:?}");
}
