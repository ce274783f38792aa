//! Each rule with a run that has it, and one that has not.

use record::*;

use super::super::view::View;
use super::*;

#[track_caller]
fn says(rule: Rule, run: &Run, expected: &str) {
    let found = rule(&View::new(run, 12)).expect("there is something to say");
    assert_eq!(found.sentence, expected);
    assert!((0.0..=1.0).contains(&found.worth), "{found:?}");
}

#[track_caller]
fn is_silent(rule: Rule, run: &Run) {
    assert_eq!(rule(&View::new(run, 12)), None);
}

fn hottest(view: &View<'_>) -> Option<Insight> {
    profile::insights::hottest(&view.profile()?)
}

fn uneven_index(view: &View<'_>) -> Option<Insight> {
    profile::insights::uneven_index(&view.profile()?)
}

fn rate(best: f64) -> Option<Rate> {
    let (isa, how) = (String::new(), String::new());
    Some(Rate { best, median: best, spread: 0.0, windows: 1, isa, how, huge_share: None })
}

/// A machine of one thread with 100 GFLOP/s and 20 GB/s.
fn run() -> Run {
    let read =
        Level { name: "DRAM".into(), huge_pages: true, bytes_one: 1, bytes_all: 1, one: rate(20e9), all: rate(20e9) };
    let f32 = Some(Compute { one: rate(100e9), all: rate(100e9) });
    let mut run = Run::default();
    run.environment.limits = Some(Limits { threads: 1, f32, read: vec![read], ..Limits::default() });
    run.workload.parameters.insert("threads".into(), "1".into());
    run
}

fn scope(name: &str, self_ns: u64) -> Scope {
    let (calls, timed_calls, total_ns) = (100, 100, self_ns);
    Scope { name: name.into(), self_ns, total_ns, calls, timed_calls, threads: 1, ..Scope::default() }
}

/// A second of wall time on one thread.
fn profiled(scopes: Vec<Scope>) -> Run {
    let in_scopes_ns: u64 = scopes.iter().map(|scope| scope.self_ns).sum();
    let thread =
        Thread { count: 1, wall_ns: 1_000_000_000, in_scopes_ns, name: Some("main".into()), ..Thread::default() };
    let outside_ns = 1_000_000_000 - in_scopes_ns;
    let profile = Profile { wall_ns: 1_000_000_000, scopes, threads: vec![thread], outside_ns, ..Profile::default() };
    Run { profile: Some(profile), ..run() }
}

fn sample(row: &str, values: &[(&str, f64)], tokens: &[f64]) -> Sample {
    let values = values.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
    let series = if tokens.is_empty() { Default::default() } else { [("token_s".to_owned(), tokens.to_vec())].into() };
    Sample { row: row.into(), values, series, ..Sample::default() }
}

fn generation(values: &[(&str, f64)], tokens: &[f64]) -> Run {
    let row = Row { name: "inference".into(), calls: 1, ..Row::default() };
    Run { rows: vec![row], samples: vec![sample("inference", values, tokens)], ..run() }
}

#[test]
fn scopes_below_the_limit() {
    // 100 calls of 0.2 GFLOP in 0.4 s: 50 GFLOP/s of 100.
    let with = |flops: u64| profiled(vec![Scope { flops, ..scope("ffn_up", 400_000_000) }, scope("rest", 500_000_000)]);
    says(
        limits::below_limit,
        &with(20_000_000_000),
        "`ffn_up` takes 40 % of the wall time at 50 % of f32 compute (100 GFLOP/s): reaching the limit would \
         save up to 20 %.",
    );
    is_silent(limits::below_limit, &with(39_000_000_000));
    is_silent(limits::below_limit, &with(0));
    // An estimate so rough that at its lower end nothing is to be saved.
    let mut rough = with(20_000_000_000);
    estimated(&mut rough, 0, 150_000_000);
    is_silent(limits::below_limit, &rough);
    estimated(&mut rough, 0, 10_000_000);
    let found = limits::below_limit(&View::new(&rough, 12)).expect("there is something to say");
    assert!(found.sentence.contains("`ffn_up` takes 40 % \u{b1}2 of the wall time"), "{found:?}");
}

/// Makes a scope's times estimates.
fn estimated(run: &mut Run, scope: usize, se_ns: u64) {
    let scope = &mut run.profile.as_mut().expect("it has one").scopes[scope];
    (scope.is_sampled, scope.timed_calls) = (true, 10);
    (scope.total_se_ns, scope.self_se_ns) = (Some(se_ns), Some(se_ns));
}

/// Other programs had so many of two CPUs, and interruptions were recognised by this.
fn crowded(run: &mut Run, others: f64, source: Option<&str>) {
    run.environment.machine.cpus = 2;
    run.environment.noise = Some(Noise { others_cpus: Some(others), ..Noise::default() });
    let profile = run.profile.as_mut().expect("it has one");
    profile.interruptions = source.map(|source| Interruptions { source: source.into(), why: "so it is".into() });
    if source == Some("rseq") {
        profile.waiting_ns = Some(1_000_000_000);
        (profile.wall_ns, profile.threads[0].wall_ns) = (2_000_000_000, 2_000_000_000);
        profile.threads[0].waiting_ns = Some(1_000_000_000);
    }
}

#[test]
fn nothing_is_ranked_where_others_had_the_cpus_and_nothing_told() {
    let layer = |index: u64, ns: u64| Scope { index: Some(index), ..scope("layer", ns) };
    let run = || profiled(vec![layer(0, 100_000_000), layer(1, 100_000_000), layer(2, 600_000_000)]);
    for source in [None, Some("none")] {
        let mut run = run();
        crowded(&mut run, 1.5, source);
        let view = View::new(&run, 12);
        let unreliable =
            "other programs used 1.50 of 2 CPUs: attribution unreliable, because interruptions were not recognised";
        assert_eq!(crowded_in_words(&view).as_deref(), Some(unreliable));
        is_silent(hottest, &run);
        is_silent(uneven_index, &run);
        is_silent(limits::below_limit, &run);
        crowded(&mut run, 0.9, source);
        assert_eq!(crowded_in_words(&View::new(&run, 12)), None);
        assert!(hottest(&View::new(&run, 12)).is_some());
    }
    let mut marked = run();
    crowded(&mut marked, 1.5, Some("rseq"));
    let waited = "other programs used 1.50 of 2 CPUs, threads waited 1.00 s for a CPU (50 % of their time): shares are of the \
                  time on a CPU";
    assert_eq!(crowded_in_words(&View::new(&marked, 12)).as_deref(), Some(waited));
    assert!(!is_attribution_unreliable(&View::new(&marked, 12)));
    says(
        hottest,
        &marked,
        "`layer` spends 80 % of the time on a CPU in its own code: making it twice as fast would save 40 %.",
    );
    // What threads waited tells it without any figures of the machine.
    marked.environment.noise = None;
    marked.profile.as_mut().expect("it has one").threads[0].cpu_ns = Some(900_000_000);
    assert!(crowded_in_words(&View::new(&marked, 12)).is_some_and(|text| text.starts_with("threads waited 1.00 s")));
    marked.profile.as_mut().expect("it has one").threads[0].cpu_ns = Some(1_100_000_000);
    assert_eq!(crowded_in_words(&View::new(&marked, 12)), None);
}

#[test]
fn decoding_below_the_limit() {
    let with = |time: f64| {
        let row = Row { name: "decode".into(), calls: 1, tokens: Some(1.0), bytes: Some(20e6), ..Row::default() };
        Run { rows: vec![row], samples: vec![sample("decode", &[("wall_s", time)], &[])], ..run() }
    };
    let expected = "Decode runs at 250 tok/s, 25 % of DRAM bandwidth (20.0 GB/s); the limit is 1,000 tok/s.";
    says(tokens::decode_below_limit, &with(4e-3), expected);
    is_silent(tokens::decode_below_limit, &with(1.1e-3));
}

#[test]
fn prompts_that_take_long() {
    let with = |prefill: f64| generation(&[("prefill_s", prefill), ("wall_s", 1.0), ("ttft_s", prefill)], &[]);
    says(tokens::prompt, &with(0.4), "Prefill takes 40 % of a generation: 400 ms of 1.00 s.");
    is_silent(tokens::prompt, &with(0.1));
}

#[test]
fn tokens_that_take_long() {
    let with = |slowest: f64| generation(&[("wall_s", 1.0)], &[1e-3, 1e-3, slowest]);
    says(tokens::slow_token, &with(5e-3), "The slowest of 3 tokens took 5.00 ms, 5.00× the median (1.00 ms).");
    is_silent(tokens::slow_token, &with(2e-3));
}

#[test]
fn rows_below_the_limit() {
    let with = |time: f64| {
        let (flops, limited_by) = (Some(1e9), Some("f32".to_owned()));
        let row = Row { name: "MatMul".into(), calls: 2, flops, limited_by, ..Row::default() };
        Run { rows: vec![row], samples: vec![sample("MatMul", &[("wall_s", 2.0 * time)], &[])], ..run() }
    };
    let expected =
        "`MatMul` takes 20.0 ms per call, 50 % of f32 compute (100 GFLOP/s); at the limit it would take 10.0 ms.";
    says(tokens::row_below_limit, &with(20e-3), expected);
    is_silent(tokens::row_below_limit, &with(11e-3));
}

#[test]
fn a_cache_that_is_larger_than_its_formula() {
    let with = |measured: f64| {
        let memory = Memory {
            cache_per_token_formula: Some(1024.0),
            cache_per_token_measured: Some(measured),
            ..Memory::default()
        };
        Run { memory: vec![memory], ..run() }
    };
    says(
        tokens::cache_beside_formula,
        &with(2048.0),
        "The KV cache takes 2 KiB per token; its dimensions imply 1 KiB.",
    );
    is_silent(tokens::cache_beside_formula, &with(1024.0));
}

#[test]
fn threads_that_were_idle() {
    let with = |user: f64| {
        let process = ProcessUse { wall_s: 2.0, user_s: Some(user), system_s: Some(0.0), ..ProcessUse::default() };
        let mut run = Run { process: Some(process), ..run() };
        run.workload.parameters.insert("threads".into(), "2".into());
        run
    };
    says(machine::idle, &with(2.0), "Average CPU use: 1.00 of 2 threads (50 %).");
    is_silent(machine::idle, &with(3.6));
}

#[test]
fn a_machine_that_was_disturbed() {
    let with = |steal: f64, others: f64| {
        let mut run = run();
        run.environment.machine.cpus = 2;
        run.environment.noise = Some(Noise { steal_share: Some(steal), others_cpus: Some(others), ..Noise::default() });
        run
    };
    let expected = "During the run, steal time was 5.0 % and other programs used 1.00 of 2 CPUs; the intervals include this noise.";
    says(machine::disturbed, &with(0.05, 1.0), expected);
    is_silent(machine::disturbed, &with(0.0, 0.1));
}

#[test]
fn pages_from_a_disk() {
    let with = |faults: u64| {
        let process = ProcessUse { wall_s: 1.0, major_faults: Some(faults), ..ProcessUse::default() };
        Run { process: Some(process), ..run() }
    };
    says(machine::disk, &with(1), "1 page came from a disk during the run: a second run may find it in memory.");
    is_silent(machine::disk, &with(0));
}

#[test]
fn no_more_than_can_be_read_and_the_largest_first() {
    let mut run = profiled(vec![scope("busy", 500_000_000)]);
    run.process = Some(ProcessUse {
        wall_s: 2.0,
        user_s: Some(0.1),
        system_s: Some(0.0),
        major_faults: Some(3),
        ..ProcessUse::default()
    });
    let section = section(&View::new(&run, 12));
    let Block::List(sentences) = &section.blocks[0] else { panic!("a list") };
    assert!(sentences.len() <= MOST && sentences[0].contains("is outside all scopes"), "{sentences:?}");
    assert!(sentences.last().is_some_and(|last| last.contains("from a disk")), "{sentences:?}");
}
