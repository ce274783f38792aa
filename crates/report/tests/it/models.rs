//! Models beside each other, made by hand: measured in turns, from stored runs, and with a rate that cannot be.

use record::*;
use report::models_smallmind;

use super::text::{models_markdown, models_text};

use super::machine::{build, limits, machine};
use super::snapshots::check;

fn figure(value: f64, part: f64, samples: u64) -> Figure {
    Figure { value, low: Some(value * (1.0 - part)), high: Some(value * (1.0 + part)), samples }
}

fn share(by: &str, per_second: f64, per_token: f64, tokens_per_s: f64) -> Option<LimitShare> {
    let share = tokens_per_s * per_token / per_second;
    Some(LimitShare { by: by.to_owned(), per_second, per_token, share, impossible: share > 1.0 })
}

/// A model of stories, in a format.
fn model(format: &str, bytes: u64, decode: f64, perplexity: f64) -> MeasuredModel {
    let arithmetic = if format.starts_with('q') { "int8" } else { "f32" };
    MeasuredModel {
        model: Model {
            name: format!("models/stories15M-{format}.gguf"),
            architecture: "llama".to_owned(),
            parameters: 15_191_712,
            active_parameters: 15_191_424,
            format: format.to_owned(),
            weight_bytes: bytes,
            layers: 6,
            width: 288,
            heads: 6,
            kv_heads: 6,
            head_dim: 48,
            vocab: 32_000,
            context: 256,
            ..Model::default()
        },
        run: Some("7f3a12".to_owned()),
        created: "2026-11-15T08:00:00Z".to_owned(),
        threads: Some(2),
        prompt_tokens: Some(32),
        tokens: Some(33),
        prefill: Some(ModelSpeed {
            tokens_per_s: figure(4_000.0, 0.02, 48),
            arithmetic: share(arithmetic, 200e9, 30.4e6, 4_000.0),
            reading: share("L3", 150e9, bytes as f64 / 32.0, 4_000.0),
        }),
        decode: Some(ModelSpeed {
            tokens_per_s: figure(decode, 0.01, 48),
            arithmetic: share(arithmetic, 200e9, 30.4e6, decode),
            reading: share("DRAM", 40e9, bytes as f64, decode),
        }),
        first_token_s: Some(figure(8.1e-3, 0.02, 48)),
        token_s: Some(TokenTimes {
            p50: figure(1.0 / decode, 0.01, 1_536),
            p90: Some(figure(1.1 / decode, 0.01, 1_536)),
            p99: Some(figure(1.4 / decode, 0.05, 1_536)),
            slowest: 3.0 / decode,
        }),
        memory: ModelMemory {
            bytes: Some(bytes + (2 << 20)),
            weight_bytes: Some(bytes),
            weights_mapped: false,
            cache_per_token_formula: Some(6_912.0),
            cache_per_token_measured: Some(6_912.0),
            peak_rss_bytes: Some(bytes + (30 << 20)),
            allocs_per_token: Some(0.0),
            alloc_bytes_per_token: Some(0.0),
        },
        quality: Some(ModelQuality {
            perplexity,
            perplexity_interval: Some([0.9 * perplexity, 1.1 * perplexity]),
            bits_per_byte: perplexity.log2() / 3.9,
            tokens: 701,
            bytes: 2_784,
            text: "bundled".to_owned(),
            text_blake3: "c0ffee".repeat(10),
            window: 256,
        }),
        decode_cpu: None,
        same_as: None,
        pareto: Some(true),
        beaten_by: None,
        fit: Fitness {
            pace: Some("interactive".to_owned()),
            answer: Some("at_once".to_owned()),
            bound: Some("reading".to_owned()),
        },
    }
}

fn scaling(over: &str, of: &str, points: &[(f64, &str, f64, f64)], slope: f64) -> Scaling {
    let point = |(at, model, seconds, ideal): &(f64, &str, f64, f64)| ScalingPoint {
        at: *at,
        model: (*model).to_owned(),
        seconds: *seconds,
        ideal_s: Some(*ideal),
    };
    Scaling {
        over: over.to_owned(),
        of: of.to_owned(),
        points: points.iter().map(point).collect(),
        slope: Some(Figure { samples: points.len() as u64, ..figure(slope, 0.1, 0) }),
        ideal_slope: Some(1.0),
        missing: None,
    }
}

/// Three formats of one model, measured in turns; one of them beaten.
fn turns() -> Models {
    let mut models = vec![
        model("f32", 60 << 20, 380.0, 4.35),
        model("q8_0", 16 << 20, 1_450.0, 4.36),
        model("q4_1", 17 << 20, 1_300.0, 4.51),
    ];
    (models[2].pareto, models[2].beaten_by) = (Some(false), Some(models[1].model.name.clone()));
    models[2].token_s.as_mut().expect("it is there").p99 = None;
    let name = |at: usize| models[at].model.name.clone();
    let trade = |at: usize, speed: f64, change: f64, part: f64| Trade {
        model: name(at),
        base: name(0),
        speed: Some(figure(speed, 0.02, 48)),
        verdict: Some(SpeedVerdict::Faster),
        memory: Some(models[at].memory.bytes.unwrap() as f64 / models[0].memory.bytes.unwrap() as f64),
        perplexity: Some([4.35, 4.35 * (1.0 + change)]),
        perplexity_change: Some(Figure {
            value: change,
            low: Some(change - part),
            high: Some(change + part),
            samples: 701,
        }),
    };
    let pair = |own: usize, base: usize, ratio: f64, part: f64, verdict: SpeedVerdict| SpeedComparison {
        model: name(own),
        base: name(base),
        ratio: Some(figure(ratio, part, 48)),
        verdict,
    };
    let ranking = Ranking {
        metric: "wall_s".to_owned(),
        threshold: 0.03,
        launches: 6,
        rounds: 48,
        placebo: Some(figure(1.002, 0.01, 48)),
        disturbed: false,
        pairs: vec![
            pair(1, 0, 3.82, 0.02, SpeedVerdict::Faster),
            pair(2, 0, 1.0, 0.02, SpeedVerdict::NoDifference),
            pair(2, 1, 0.89, 0.02, SpeedVerdict::Slower),
        ],
    };
    let point = |threads: u64, speed: f64| ThreadPoint {
        threads,
        tokens_per_s: figure(speed, 0.01, 48),
        speedup: (threads > 1).then(|| figure(speed / 800.0, 0.02, 48)),
        efficiency: (threads > 1).then(|| figure(speed / 800.0 / threads as f64, 0.02, 48)),
        ideal_speedup: (threads > 1).then_some(1.95),
    };
    let contexts =
        [(32.5, "", 2.6e-3, 1.6e-3), (80.5, "", 2.7e-3, 1.62e-3), (144.5, "", 2.8e-3, 1.64e-3)].map(|point| point);
    Models {
        schema: MODELS_SCHEMA.to_owned(),
        version: MODELS_VERSION,
        created: "2026-11-15T08:00:00Z".to_owned(),
        one_sitting: true,
        ranking: Some(ranking),
        subject: Some(Subject { name: "hotloop".to_owned(), build: Some(build()), ..Subject::default() }),
        environment: Some(Environment { machine: machine(), limits: Some(limits()), ..Environment::default() }),
        trades: vec![trade(1, 3.82, 0.0023, 0.004), trade(2, 3.42, 0.037, 0.01)],
        scaling: vec![
            Scaling {
                over: "parameters".to_owned(),
                missing: Some("needs three sizes of one format".to_owned()),
                ..Scaling::default()
            },
            scaling("context", &name(0), &contexts, 0.08),
        ],
        threads: vec![ThreadScaling {
            model: name(1),
            points: vec![point(1, 800.0), point(2, 1_450.0)],
            serial_share: Some(figure(0.103, 0.2, 48)),
            missing: None,
        }],
        notes: vec!["the call tree is of one inference".to_owned()],
        models,
        ..Models::default()
    }
}

/// Runs that were kept, of other sessions, which have next to nothing; the same model twice.
fn stored() -> Models {
    let bare = |name: &str, created: &str| MeasuredModel {
        model: Model { name: name.to_owned(), ..Model::default() },
        created: created.to_owned(),
        ..MeasuredModel::default()
    };
    let mut half = bare("synthetic small", "2026-11-14T08:00:00Z");
    half.decode = Some(ModelSpeed {
        tokens_per_s: Figure { value: 4.2, low: None, high: None, samples: 3 },
        ..ModelSpeed::default()
    });
    half.fit.pace = Some("batch".to_owned());
    Models {
        models: vec![bare("a.gguf", "2026-11-14T08:00:00Z"), bare("a.gguf", "2026-11-15T08:00:00Z"), half],
        trades: vec![Trade { model: "a.gguf".to_owned(), base: "b|c.gguf".to_owned(), ..Trade::default() }],
        notes: vec!["the runs of a and b differ in machine (x and y)".to_owned()],
        interrupted: true,
        ..Models::default()
    }
}

/// Faster than the machine.
fn impossible() -> Models {
    let mut fast = model("f16", 30 << 20, 2_000.0, 4.35);
    fast.fit.bound = Some("arithmetic".to_owned());
    let sizes = [("a", 1e5), ("b", 1e6), ("c", 1e7)].map(|(name, size)| (size, name, 2e-9 * size, 1e-9 * size));
    let threads = ThreadScaling {
        model: fast.model.name.clone(),
        points: Vec::new(),
        serial_share: Some(Figure { value: -0.05, low: Some(-0.08), high: Some(-0.02), samples: 9 }),
        missing: None,
    };
    Models {
        models: vec![fast],
        scaling: vec![scaling("parameters", "f16", &sizes, 1.0)],
        threads: vec![threads],
        ..Models::default()
    }
}

#[test]
fn every_layout() {
    for (name, models) in [("turns", turns()), ("stored", stored()), ("impossible", impossible())] {
        let text = models_text(&models);
        assert!(text.lines().all(|line| line.chars().count() <= 120), "{text}");
        check(&format!("models-{name}.txt"), &text);
        check(&format!("models-{name}.md"), &models_markdown(&models));
        check(&format!("models-{name}.smallmind.md"), &models_smallmind(&models));
    }
}

/// A speed is never shown without what it costs.
#[test]
fn speed_is_never_alone() {
    let text = models_markdown(&turns());
    let lines: Vec<&str> = text.lines().filter(|line| line.contains("of its memory")).collect();
    assert_eq!(lines.len(), 2, "{text}");
    assert!(lines.iter().all(|line| line.contains("× faster than") && line.contains("perplexity ")), "{lines:?}");
    assert!(lines[0].contains("no significant difference") && lines[1].ends_with("worse"), "{lines:?}");
    let mut unread = turns();
    unread.trades[0].perplexity = None;
    assert!(models_markdown(&unread).contains("quality not measured on the same text"));
}

/// Each verdict has its sentence, with the faster model first.
#[test]
fn verdicts_are_told_with_their_intervals() {
    let told = |models: &Models| models_markdown(models).replace('\u{a0}', " ");
    let mut models = turns();
    let text = told(&models);
    for part in [
        "`stories15M-q8_0.gguf` is 3.82× faster than `stories15M-f32.gguf` (95 % CI 3.74–3.90)",
        "`stories15M-q4_1.gguf` and `stories15M-f32.gguf`: no difference beyond 3 % (−2.0 % to +2.0 %)",
        "`stories15M-q8_0.gguf` is 1.12× faster than `stories15M-q4_1.gguf`",
        "placebo (a second copy of the same model): +0.2 %",
        "by wall time; threshold 3 %; 6 launches, 48 rounds",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let ranking = models.ranking.as_mut().expect("it is there");
    (ranking.disturbed, ranking.metric) = (true, "cpu_s".to_owned());
    ranking.pairs[0].verdict = SpeedVerdict::CannotTell;
    ranking.pairs[1] = SpeedComparison { ratio: None, ..ranking.pairs[1].clone() };
    models.models[2].same_as = Some(models.models[1].model.name.clone());
    let text = told(&models);
    for part in [
        "`stories15M-q8_0.gguf` and `stories15M-f32.gguf`: cannot tell (3.74× to 3.90×)",
        "cannot tell (not measured in the same rounds)",
        "`stories15M-q4_1.gguf` is the same model as `stories15M-q8_0.gguf` (equal file contents)",
        "by CPU time, which is steadier",
        "Two copies of one model differ in speed",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn what_cannot_be_is_said_first() {
    let text = models_text(&impossible());
    let warning = text.lines().nth(1).expect("there is one");
    assert!(
        warning.contains("WARNING") && warning.contains("Impossible decode speed of `stories15M-f16.gguf`"),
        "{text}"
    );
}

#[test]
fn nothing_at_all_is_no_trouble() {
    for text in
        [models_text(&Models::default()), models_markdown(&Models::default()), models_smallmind(&Models::default())]
    {
        assert!(!text.contains("NaN") && !text.contains("inf"), "{text}");
    }
}
