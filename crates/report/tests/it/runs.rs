//! Runs whose figures are known.

use std::collections::BTreeMap;

use record::*;

use super::machine::{build, limits, machine};

/// A scope: name, index, parent, self time, calls.
pub type Spec = (&'static str, Option<u64>, Option<usize>, u64, u64);

/// A call tree from the self times of its scopes; totals follow.
pub fn scopes(specs: &[Spec]) -> Vec<Scope> {
    let mut scopes: Vec<Scope> = specs.iter().map(scope).collect();
    for at in (0..scopes.len()).rev() {
        if let Some(parent) = scopes[at].parent {
            scopes[parent].total_ns += scopes[at].total_ns;
            let below = scopes[at].allocs_total.unwrap_or_default();
            let total = scopes[parent].allocs_total.get_or_insert_default();
            total.allocs += below.allocs;
            total.alloc_bytes += below.alloc_bytes;
        }
    }
    for scope in &mut scopes {
        let mean = scope.total_ns / scope.calls.max(1);
        (scope.min_ns, scope.max_ns) = (mean / 2, mean * 3);
        (scope.p50_ns, scope.p90_ns, scope.p99_ns) = (Some(mean), Some(mean * 3 / 2), Some(mean * 2));
    }
    scopes
}

fn scope((name, index, parent, self_ns, calls): &Spec) -> Scope {
    Scope {
        name: (*name).to_owned(),
        index: *index,
        parent: *parent,
        file: "src/lib.rs".to_owned(),
        line: 1,
        calls: *calls,
        timed_calls: *calls,
        self_ns: *self_ns,
        total_ns: *self_ns,
        allocs: Some(Allocations::default()),
        allocs_total: Some(Allocations::default()),
        threads: 1,
        ..Scope::default()
    }
}

/// A profile of one thread in which everything adds up.
pub fn profile(scopes: Vec<Scope>, outside_ns: u64) -> Profile {
    let in_scopes_ns: u64 = scopes.iter().map(|scope| scope.self_ns).sum();
    let own_cost_ns = in_scopes_ns / 200;
    let wall_ns = in_scopes_ns + outside_ns + own_cost_ns;
    let thread = Thread {
        id: 0,
        name: Some("main".into()),
        is_alive: true,
        count: 1,
        calls: scopes.iter().map(|scope| scope.calls).sum(),
        wall_ns,
        in_scopes_ns,
        own_cost_ns,
        allocs: 4242,
        alloc_bytes: 3 << 20,
        ..Thread::default()
    };
    Profile {
        wall_ns,
        clock: ProfileClock { source: "counter".into(), why: "it is constant".into(), resolution_ns: 8.5 },
        own_cost: OwnCost {
            per_scope_ns: 24.5,
            inside_scope_ns: 12.0,
            per_sampled_scope_ns: 4.2,
            per_alloc_ns: 3.1,
            total_ns: own_cost_ns,
            share_of_wall: own_cost_ns as f64 / wall_ns as f64,
            share_of_cpu: None,
            budget: Some(0.01),
        },
        scopes,
        threads: vec![thread],
        outside_ns,
        outside_allocs: Some(Allocations { allocs: 12, alloc_bytes: 5000, frees: 3, free_bytes: 300, reallocs: 1 }),
        ..Profile::default()
    }
}

fn model_profile() -> Profile {
    let mut specs: Vec<Spec> = vec![
        ("lab::generate", None, None, 400_000, 3),
        ("engine::model::forward", None, Some(0), 900_000, 150),
        ("engine::layers::embedding", None, Some(1), 300_000, 150),
        ("engine::layers::head", None, Some(1), 9_000_000, 150),
        ("engine::sample::sampling", None, Some(0), 2_000_000, 150),
        ("lab::creation", None, None, 5_000_000, 1),
    ];
    for layer in 0..4 {
        let at = specs.len();
        specs.push(("engine::model::layer", Some(layer), Some(1), 100_000, 150));
        specs.push(("engine::layers::qkv", None, Some(at), 4_000_000, 150));
        specs.push(("engine::layers::attention", None, Some(at), 1_500_000 + 900_000 * (layer / 3), 150));
        specs.push(("engine::layers::ffn_up", None, Some(at), 9_000_000, 150));
        specs.push(("engine::layers::ffn_down", None, Some(at), 8_000_000, 150));
    }
    let mut scopes = scopes(&specs);
    for scope in &mut scopes {
        let per_call = match scope.name.rsplit("::").next() {
            Some("qkv") => 1_000_000,
            Some("ffn_up") => 2_400_000,
            Some("ffn_down") => 2_000_000,
            Some("head") => 2_000_000,
            _ => 0,
        };
        (scope.flops, scope.bytes, scope.tokens) = (2 * per_call * scope.calls, per_call * scope.calls, scope.calls);
    }
    let sampling = Allocations { allocs: 300, alloc_bytes: 307_200, frees: 300, free_bytes: 307_200, reallocs: 0 };
    for at in [4, 0] {
        scopes[at].allocs_total = Some(sampling);
    }
    (scopes[4].allocs, scopes[4].peak_live_bytes) = (Some(sampling), 2048);
    (scopes[2].is_sampled, scopes[2].timed_calls) = (true, 20);
    profile(scopes, 3_000_000)
}

pub fn model(name: &str, layers: u64, width: u64, parameters: u64) -> Model {
    Model {
        name: name.into(),
        architecture: "gpt2".into(),
        parameters,
        active_parameters: parameters - 8192,
        format: "f32".into(),
        weight_bytes: 4 * parameters,
        layers,
        width,
        heads: 8,
        kv_heads: 8,
        head_dim: width / 8,
        vocab: 512,
        context: 128,
        ..Model::default()
    }
}

pub fn metric(definition: &str, unit: &str, exact: bool) -> Metric {
    Metric { definition: definition.into(), unit: unit.into(), better: Better::Lower, per: None, exact }
}

pub fn row(name: &str, calls: u64) -> Row {
    Row { name: name.into(), calls, threads: Some(2), ..Row::default() }
}

pub fn sample(row: &str, values: &[(&str, f64)]) -> Sample {
    let values = values.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
    Sample { row: row.into(), values, ..Sample::default() }
}

pub fn base(workload: &str) -> Run {
    Run {
        schema: RUN_SCHEMA.into(),
        version: RUN_VERSION,
        tool: Tool { name: "hotloop".into(), version: "0.1.0".into() },
        created: "2026-11-15T08:00:00Z".into(),
        subject: Subject {
            name: "hotloop".into(),
            version: Some("0.1.0".into()),
            git: Some(Git {
                commit: "d0ee2207c0ffee".into(),
                dirty: true,
                branch: Some("main".into()),
                commit_time: None,
            }),
            build: Some(build()),
            ..Subject::default()
        },
        workload: Workload {
            name: workload.into(),
            parameters: [("threads", "2"), ("seed", "42")].map(|(name, value)| (name.into(), value.into())).into(),
            repeat: Some(3),
            warmup: Some(1),
            ..Workload::default()
        },
        environment: Environment {
            machine: machine(),
            limits: Some(limits()),
            noise: Some(Noise {
                load_1m: Some(0.4),
                others_cpus: Some(0.3),
                steal_share: Some(0.012),
                jitter: Jitter { window_s: 0.1, gaps: 2, longest_s: Some(1.2e-3), lost_share: 0.01 },
                ..Noise::default()
            }),
            variables: BTreeMap::new(),
        },
        ..Run::default()
    }
}

pub fn process() -> ProcessUse {
    ProcessUse {
        wall_s: 0.35,
        user_s: Some(0.31),
        system_s: Some(0.04),
        peak_rss_bytes: Some(61 << 20),
        minor_faults: Some(12_345),
        major_faults: Some(0),
        voluntary_switches: Some(410),
        involuntary_switches: Some(17),
        exit_code: Some(0),
        signal: None,
    }
}

fn memory() -> Memory {
    let part = |purpose: &str, bytes: u64, at_peak: u64, mapped: bool| MemoryPart {
        purpose: purpose.into(),
        bytes,
        at_peak_bytes: Some(at_peak),
        mapped,
    };
    Memory {
        model: "medium".into(),
        parts: vec![
            part("weights", 13_817_856, 13_817_856, true),
            part("kv_cache", 1 << 20, 1 << 20, false),
            part("activations", 96 << 10, 96 << 10, false),
            part("scratch", 40 << 10, 0, false),
            part("gradients", 0, 0, false),
            part("optimiser", 0, 0, false),
            MemoryPart { at_peak_bytes: None, ..part("other", 12 << 10, 0, false) },
        ],
        cache_per_token_formula: Some(8192.0),
        cache_per_token_measured: Some(8192.0),
        peak_live_bytes: Some(14_964_736),
        peak_during: Some("decode".into()),
    }
}

fn standard_rows() -> Vec<Row> {
    vec![
        Row { what: "a whole generation".into(), tokens: Some(50.0), ..row("inference", 1) },
        Row {
            what: "the prompt in one pass".into(),
            part_of: Some("inference".into()),
            tokens: Some(10.0),
            flops: Some(69e6),
            bytes: Some(13.8e6),
            limited_by: Some("f32".into()),
            ..row("prefill", 1)
        },
        Row {
            what: "one token".into(),
            part_of: Some("inference".into()),
            tokens: Some(1.0),
            flops: Some(6.9e6),
            bytes: Some(13.8e6),
            limited_by: Some("read".into()),
            ..row("decode", 49)
        },
        Row { what: "making the model".into(), ..row("creation", 1) },
    ]
}

/// A model that generates text, with its profile.
pub fn standard() -> Run {
    let mut run = base("standard");
    run.models = vec![model("medium", 4, 256, 3_454_464)];
    run.workload.parameters.extend([("tokens".into(), "50".into()), ("prompt_tokens".into(), "10".into())]);
    for (name, definition, unit) in [
        ("wall_s", "from the call to its return", "s"),
        ("ttft_s", "from the call to the first token", "s"),
        ("token_s", "between one token and the next", "s"),
        ("prefill_s", "computing the tokens of the prompt", "s"),
    ] {
        run.metrics.insert(name.into(), metric(definition, unit, false));
    }
    run.metrics.insert("allocs".into(), metric("calls of the allocator", "count", true));
    run.rows = standard_rows();
    for repeat in 0..4 {
        let (slow, phase) = (f64::from(repeat), if repeat == 0 { Phase::Warmup } else { Phase::Timed });
        let tokens: Vec<f64> = (0..49).map(|token| 310e-6 + 2e-6 * slow + 1e-6 * f64::from(token)).collect();
        let tokens = if repeat == 3 { [tokens, vec![1.9e-3]].concat() } else { tokens };
        let decode: f64 = tokens.iter().sum();
        let values = [
            ("wall_s", decode + 1.1e-3),
            ("cpu_s", 2.0 * decode),
            ("ttft_s", 1.0e-3 + 1e-5 * slow),
            ("prefill_s", 0.9e-3),
            ("allocs", 100.0),
            ("alloc_bytes", 102_400.0),
        ];
        let series = [("token_s".to_owned(), tokens)].into();
        run.samples.push(Sample { phase, series, ..sample("inference", &values) });
        run.samples.push(Sample { phase, ..sample("prefill", &[("wall_s", 0.9e-3 + 1e-5 * slow)]) });
        run.samples.push(Sample { phase, ..sample("decode", &[("wall_s", decode)]) });
    }
    run.samples.push(sample("creation", &[("wall_s", 5.2e-3)]));
    run.profile = Some(model_profile());
    run.memory = vec![memory()];
    run.process = Some(process());
    run.correctness = Some(Correctness {
        tokens_blake3: Some("feedfacecafebeef00".into()),
        tokens: Some(150),
        repeats_agree: Some(true),
        ..Correctness::default()
    });
    run
}

/// Kernels and two models, without a profile.
pub fn enhanced() -> Run {
    let mut run = base("enhanced");
    run.models = vec![model("small", 2, 128, 470_528), model("medium", 4, 256, 3_454_464)];
    run.workload.repeat = Some(12);
    let work = |name: &str, calls: u64, flops: f64, bytes: f64, by: &str| Row {
        flops: Some(flops),
        bytes: Some(bytes),
        limited_by: Some(by.into()),
        ..row(name, calls)
    };
    run.rows = vec![
        work("MatMul_64x64", 100, 2.0 * 64f64.powi(3), 49_152.0, "f32"),
        work("MatMul_512x512", 3, 2.0 * 512f64.powi(3), 3_145_728.0, "f32"),
        work("GELU_1000000", 5, 15e6, 8e6, "read"),
        work("Softmax_2048", 50, 20_480.0, 16_384.0, "read"),
        work("TensorAdd_10000", 10, 10_000.0, 120_000.0, "read"),
    ];
    for (name, tokens) in [("small", 25.0), ("medium", 25.0)] {
        let title = if name == "small" { "Model_Small" } else { "Model_Medium" };
        let whole = format!("{title}_Inference");
        run.rows.push(Row { model: Some(name.into()), tokens: Some(tokens), ..row(&whole, 1) });
        run.rows.push(Row {
            part_of: Some(whole),
            model: Some(name.into()),
            tokens: Some(1.0),
            ..row(&format!("{title}_Decode"), 24)
        });
        run.rows.push(Row { model: Some(name.into()), ..row(&format!("{title}_Creation"), 1) });
    }
    let times = [4.1e-3, 6.4e-3, 3.4e-3, 0.12e-3, 0.09e-3, 2.4e-3, 2.0e-3, 0.8e-3, 9.8e-3, 8.9e-3, 4.9e-3];
    for repeat in 0..12 {
        for (row, time) in run.rows.iter().zip(times) {
            let allocs = if row.name.starts_with("Tensor") { 10.0 } else { 0.0 };
            let wall = time * (1.0 + 0.01 * f64::from(repeat));
            run.samples
                .push(sample(&row.name, &[("wall_s", wall), ("allocs", allocs), ("alloc_bytes", 40_000.0 * allocs)]));
        }
    }
    for sample in run.samples.iter_mut().filter(|sample| sample.row.ends_with("Inference")) {
        let wall = sample.values["wall_s"];
        sample.values.extend([("ttft_s".into(), wall / 8.0), ("prefill_s".into(), wall / 9.0)]);
        sample
            .series
            .insert("token_s".into(), (0..24).map(|token| wall / 28.0 * (1.0 + f64::from(token) / 240.0)).collect());
    }
    run
}

/// The same work in several ways.
pub fn memory_run() -> Run {
    let mut run = base("memory");
    let variants = [
        ("TensorPool/fresh", 1000.0, 2_048_000.0, 2048.0, 310e-6),
        ("TensorPool/pooled", 1.0, 2048.0, 2048.0, 55e-6),
        ("Add/allocating", 1000.0, 2_048_000.0, 4096.0, 280e-6),
        ("Add/in_place", 0.0, 0.0, 0.0, 70e-6),
    ];
    for (name, allocs, bytes, peak, wall) in variants {
        run.rows.push(Row { what: "a tensor of 512 numbers".into(), ..row(name, 1000) });
        for repeat in 0..7 {
            let wall = wall * (1.0 + 0.02 * f64::from(repeat));
            let values = [("wall_s", wall), ("allocs", allocs), ("alloc_bytes", bytes), ("peak_live_bytes", peak)];
            run.samples.push(sample(name, &values));
        }
    }
    run
}

/// A program that was run as it is.
pub fn command() -> Run {
    let mut run = base("command");
    run.subject = Subject {
        name: "python3".into(),
        command: ["python3", "train.py", "--epochs", "3", "a|b"].map(str::to_owned).to_vec(),
        ..Subject::default()
    };
    (run.workload.repeat, run.workload.warmup, run.environment.limits) = (Some(1), None, None);
    run.workload.parameters.clear();
    run.rows = vec![row("process", 1)];
    run.samples = vec![sample("process", &[("wall_s", 4.2)])];
    run.process = Some(ProcessUse {
        wall_s: 4.2,
        user_s: Some(3.1),
        system_s: Some(0.2),
        exit_code: Some(3),
        major_faults: Some(12),
        peak_rss_bytes: None,
        ..process()
    });
    run.failures = vec!["the program ended with exit code 3".into()];
    run
}

/// A program that was run as it is, several times.
pub fn repeated() -> Run {
    let mut run = command();
    run.failures.clear();
    (run.workload.repeat, run.workload.warmup) = (Some(4), Some(1));
    run.samples.clear();
    for (wall, user, peak) in [(5.0, 3.0, 30_u32), (4.1, 3.0, 28), (4.3, 3.2, 31), (4.2, 3.1, 28), (4.6, 3.5, 28)] {
        let peak = f64::from(peak << 20);
        let values =
            [("wall_s", wall), ("user_s", user), ("system_s", 0.2), ("peak_rss_bytes", peak), ("minor_faults", 1e4)];
        run.samples.push(sample("process", &values));
    }
    run.samples[0].phase = Phase::Warmup;
    run.process = Some(ProcessUse { wall_s: 4.6, exit_code: Some(0), peak_rss_bytes: Some(28 << 20), ..process() });
    run
}

/// A sampled profile on a crowded machine: every short scope estimated, half of the time without a CPU.
pub fn sampled() -> Run {
    let mut run = standard();
    run.environment.noise.as_mut().expect("it has some").others_cpus = Some(1.5);
    let profile = run.profile.as_mut().expect("it has one");
    for scope in profile.scopes.iter_mut() {
        let name = scope.name.rsplit("::").next().unwrap_or_default();
        // Own times of two scopes that nobody can tell apart, and a wide interval of a layer.
        let se_ns = match name {
            "ffn_up" | "ffn_down" => 700_000,
            "qkv" | "attention" => 60_000,
            "head" => 200_000,
            "layer" => 900_000,
            "embedding" => 20_000,
            _ => continue,
        };
        scope.self_se_ns = Some(se_ns);
        if name != "layer" {
            (scope.is_sampled, scope.timed_calls, scope.total_se_ns) = (true, scope.calls / 5, Some(se_ns));
        }
        let (half, slow) = (scope.p50_ns.unwrap_or(0), scope.p99_ns.unwrap_or(0));
        scope.durations = Some(DurationCounts { ns: vec![half, slow], calls: vec![scope.calls - 2, 2] });
        scope.waiting_ns = scope.total_ns;
    }
    waited(profile);
    run
}

/// As long as it was on a CPU, the only thread waited for one.
fn waited(profile: &mut Profile) {
    let waiting_ns = profile.wall_ns + 10_000_000;
    let thread = &mut profile.threads[0];
    (thread.waiting_ns, thread.cpu_ns) = (Some(waiting_ns), Some(thread.wall_ns - 2_000_000));
    thread.wall_ns += waiting_ns;
    (profile.waiting_ns, profile.wall_ns) = (Some(waiting_ns), thread.wall_ns);
    profile.interruptions = Some(Interruptions { source: "rseq".into(), why: "the kernel supports it".into() });
    (profile.own_cost.share_of_cpu, profile.own_cost.budget) = (Some(0.013), Some(0.02));
    (profile.lost.calls_with_folded_index, profile.lost.leaked_scopes) = (3, 1);
}

/// Nothing but what every run has.
pub fn empty() -> Run {
    Run { schema: RUN_SCHEMA.into(), version: RUN_VERSION, ..Run::default() }
}

/// A debug build that was broken off before much was measured.
pub fn interrupted() -> Run {
    let mut run = standard();
    run.interrupted = true;
    run.failures = vec!["inference: the context is full after 12 tokens".into()];
    run.notes = vec!["The limits are those of an earlier measurement.".into()];
    if let Some(build) = &mut run.subject.build {
        (build.profile, build.opt_level, build.debug_assertions) = (Some("dev".into()), Some("0".into()), Some(true));
    }
    run.samples.truncate(6);
    run.samples.retain(|sample| sample.row != "decode");
    (run.environment.limits, run.environment.noise, run.process) = (None, None, None);
    let profile = run.profile.as_mut().expect("it has one");
    profile.outside_allocs = None;
    for scope in &mut profile.scopes {
        (scope.allocs, scope.allocs_total, scope.peak_live_bytes) = (None, None, 0);
    }
    profile.lost.calls_without_room = 17;
    run
}

/// All of them, by name.
pub fn all() -> Vec<(&'static str, Run)> {
    vec![
        ("standard", standard()),
        ("sampled", sampled()),
        ("enhanced", enhanced()),
        ("memory", memory_run()),
        ("training", super::training_run::training()),
        ("command", command()),
        ("repeated", repeated()),
        ("empty", empty()),
        ("interrupted", interrupted()),
    ]
}
