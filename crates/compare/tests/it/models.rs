//! Models beside each other, from runs that were made by hand.

use std::collections::BTreeMap;

use compare::{ModelRun, models};
use record::{
    Compute, Environment, Level, Limits, Memory, MemoryPart, Model, Models, Quality, Rate, Row, Run, Sample, Workload,
};

/// A model that takes so long for a token, in each of nine rounds, in three launches.
struct Made {
    name: &'static str,
    format: &'static str,
    parameters: u64,
    bytes: u64,
    token_s: f64,
    /// What each token of the text costs.
    nll: Option<Vec<f32>>,
}

impl Default for Made {
    fn default() -> Self {
        Made { name: "a", format: "f32", parameters: 1_000, bytes: 4_000, token_s: 1e-3, nll: Some(vec![1.0; 40]) }
    }
}

/// A cell: its rows begin with this, so many threads, such a prompt.
#[derive(Clone, Copy)]
struct Cell {
    prefix: &'static str,
    threads: u64,
    prompt: u64,
    /// Times the time of a token.
    factor: f64,
}

const BASE: Cell = Cell { prefix: "", threads: 2, prompt: 32, factor: 1.0 };
const TOKENS: u64 = 33;

fn rate(best: f64) -> Option<Rate> {
    let (isa, how) = (String::new(), String::new());
    Some(Rate { best, median: best, spread: 0.0, windows: 1, isa, how, huge_share: None })
}

/// 1 GFLOP/s and 1 GB/s with one thread; with two twice the arithmetic and no more bytes.
fn environment() -> Environment {
    let level =
        Level { name: "DRAM".to_owned(), huge_pages: true, bytes_one: 1, bytes_all: 1, one: rate(1e9), all: rate(1e9) };
    let f32 = Some(Compute { one: rate(1e9), all: rate(2e9) });
    let limits = Limits { threads: 2, f32, int8: None, read: vec![level], notes: Vec::new() };
    Environment { limits: Some(limits), ..Environment::default() }
}

/// Samples scatter by a percent about the time; so do all models in the same turn.
fn scatter(round: u64) -> f64 {
    1.0 + 0.01 * ((round * 5 % 9) as f64 - 4.0) / 4.0
}

fn add_cell(run: &mut Run, made: &Made, cell: Cell) {
    let row = |name: &str, tokens: u64, calls: u64| Row {
        name: format!("{}{name}", cell.prefix),
        model: Some(made.name.to_owned()),
        calls,
        tokens: Some(tokens as f64),
        threads: Some(cell.threads),
        ..Row::default()
    };
    let mut decode = row("decode", 1, TOKENS - 1);
    (decode.flops, decode.bytes) = (Some(2.0 * made.parameters as f64), Some(made.bytes as f64));
    let mut prefill = row("prefill", cell.prompt, 1);
    prefill.flops = Some(2.0 * (made.parameters * cell.prompt) as f64);
    let placebo = Row { name: "placebo/decode".to_owned(), ..decode.clone() };
    run.rows.extend([row("inference", TOKENS, 1), prefill, decode]);
    run.rows.extend(cell.prefix.is_empty().then_some(placebo));
    for round in 0..9 {
        let token_s = made.token_s * cell.factor * scatter(round);
        let mut sample = |name: &str, values: &[(&str, f64)], series: Vec<f64>| {
            run.samples.push(Sample {
                row: format!("{}{name}", cell.prefix),
                launch: round / 3,
                round,
                values: values.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect(),
                series: BTreeMap::from([("token_s".to_owned(), series)]),
                ..Sample::default()
            });
        };
        let all = [("wall_s", 40.0 * token_s), ("ttft_s", 8.0 * token_s), ("allocs", 66.0), ("alloc_bytes", 3_300.0)];
        sample("inference", &all, vec![token_s; 32]);
        sample("prefill", &[("wall_s", 8.0 * token_s)], Vec::new());
        sample("decode", &[("wall_s", 32.0 * token_s)], Vec::new());
        if cell.prefix.is_empty() {
            sample("placebo/decode", &[("wall_s", 32.0 * token_s)], Vec::new());
        }
    }
}

fn run(made: &Made, cells: &[Cell]) -> Run {
    let name = made.name.to_owned();
    let part = |purpose: &str, bytes| MemoryPart { purpose: purpose.to_owned(), bytes, ..MemoryPart::default() };
    let mut run = Run {
        created: "2026-11-15T08:00:00Z".to_owned(),
        models: vec![Model {
            name: name.clone(),
            format: made.format.to_owned(),
            parameters: 1_000,
            active_parameters: made.parameters,
            weight_bytes: made.bytes,
            ..Model::default()
        }],
        workload: Workload { name: "models".to_owned(), ..Workload::default() },
        environment: environment(),
        memory: vec![Memory {
            model: name.clone(),
            parts: vec![part("weights", made.bytes), part("kv_cache", 512), part("other", 9_999)],
            ..Memory::default()
        }],
        ..Run::default()
    };
    if let Some(each) = &made.nll {
        let nll = each.iter().map(|nll| f64::from(*nll)).sum::<f64>() / each.len() as f64;
        let (tokens, bytes) = (each.len() as u64, 4 * each.len() as u64);
        let (text, text_blake3) = ("bundled".to_owned(), "ab".to_owned());
        run.quality =
            vec![Quality { model: name, text, text_blake3, tokens, bytes, nll, window: 64, each: each.clone() }];
    }
    cells.iter().for_each(|cell| add_cell(&mut run, made, *cell));
    run
}

fn beside(runs: &[Run]) -> Models {
    models(&runs.iter().map(|run| ModelRun { run, id: None }).collect::<Vec<_>>())
}

#[track_caller]
fn near(got: f64, wanted: f64) {
    assert!((got / wanted - 1.0).abs() < 1e-6, "{got} instead of {wanted}");
}

#[test]
fn figures_of_one_model() {
    let document = beside(&[run(&Made::default(), &[BASE])]);
    let model = &document.models[0];
    assert_eq!((model.threads, model.prompt_tokens, model.tokens), (Some(2), Some(32), Some(33)));
    let decode = model.decode.as_ref().expect("it was measured");
    near(decode.tokens_per_s.value, 1_000.0);
    let (low, high) = (decode.tokens_per_s.low.unwrap(), decode.tokens_per_s.high.unwrap());
    // Medians of three launches know less than nine rounds seem to.
    assert!((980.0..990.0).contains(&low) && (1_011.0..1_020.0).contains(&high), "{low} {high}");
    // 4,000 bytes a thousand times per second, of 1 GB/s; 2,000 operations of 2 GFLOP/s.
    near(decode.reading.as_ref().unwrap().share, 4e-3);
    near(decode.arithmetic.as_ref().unwrap().share, 1e-3);
    // 32 tokens in 8 ms.
    near(model.prefill.as_ref().unwrap().tokens_per_s.value, 4_000.0);
    near(model.prefill.as_ref().unwrap().arithmetic.as_ref().unwrap().share, 4e-3);
    near(model.first_token_s.unwrap().value, 8e-3);
    let times = model.token_s.as_ref().unwrap();
    assert!(times.p90.is_some() && times.p99.is_none(), "288 tokens know a p90 and no p99");
    assert_eq!((model.memory.bytes, model.memory.allocs_per_token), (Some(4_512), Some(2.0)));
    let quality = model.quality.as_ref().unwrap();
    near(quality.perplexity, 1f64.exp());
    near(quality.bits_per_byte, 0.25 / std::f64::consts::LN_2);
    assert_eq!(model.fit.pace.as_deref(), Some("interactive"));
    assert_eq!((model.fit.answer.as_deref(), model.fit.bound.as_deref()), (Some("at_once"), Some("overhead")));
    assert_eq!(Models::from_json(&document.to_json()), Ok(document));
}

#[test]
fn paces_and_bounds_follow_from_the_figures() {
    let fit = |token_s: f64, bytes: u64| {
        let made = Made { token_s, bytes, ..Made::default() };
        beside(&[run(&made, &[BASE])]).models[0].fit.clone()
    };
    let fits = [fit(0.049, 4), fit(0.06, 4), fit(0.3, 4)];
    assert_eq!(fits.each_ref().map(|fit| fit.pace.clone().unwrap()), ["interactive", "reading", "batch"]);
    assert_eq!(fits.map(|fit| fit.answer.unwrap()), ["short_wait", "short_wait", "long_wait"]);
    assert_eq!(fit(1e-3, 600_000).bound.as_deref(), Some("reading"), "60 % of 1 GB/s");
}

/// A rate that cannot be is said to be one.
#[test]
fn rates_above_the_limit_are_flagged() {
    let of = |bytes: u64| {
        let made = Made { bytes, ..Made::default() };
        beside(&[run(&made, &[BASE])]).models[0].decode.clone().unwrap().reading.unwrap()
    };
    assert!(!of(999_000).impossible && of(999_000).share < 1.0);
    let above = of(1_005_000);
    assert!(above.share > 1.0 && !above.impossible, "the slow end is below it: {above:?}");
    assert!(of(1_100_000).impossible);
}

fn quantised(name: &'static str, format: &'static str, bytes: u64, token_s: f64, nll: f32) -> Made {
    // Half of the tokens are as easy as before.
    let each = (0..40).map(|at| if at % 2 == 0 { 1.0 } else { nll + 0.01 * (at % 3) as f32 });
    Made { name, format, bytes, token_s, nll: Some(each.collect()), ..Made::default() }
}

#[test]
fn the_front_is_who_nobody_beats_in_all_three() {
    let made = [
        quantised("f32", "f32", 4_000, 1e-3, 1.0),
        // Faster, smaller, a little worse: a trade.
        quantised("q8", "q8_0", 1_000, 5e-4, 1.1),
        // Slower than q8, larger and worse: beaten.
        quantised("bad", "q5_0", 1_200, 8e-4, 1.3),
        // As fast as q8 as far as can be told, larger, worse: nobody is shown to be faster.
        quantised("tie", "q4_1", 1_100, 5e-4, 1.2),
    ];
    let runs: Vec<Run> = made.iter().map(|made| run(made, &[BASE])).collect();
    let document = beside(&runs);
    assert!(document.one_sitting);
    let front: Vec<Option<bool>> = document.models.iter().map(|model| model.pareto).collect();
    assert_eq!(front, [Some(true), Some(true), Some(false), Some(true)]);
    assert_eq!(document.models[2].beaten_by.as_deref(), Some("q8"));
}

#[test]
fn without_all_three_there_is_no_front() {
    let runs = [run(&Made::default(), &[BASE]), run(&Made { name: "b", nll: None, ..Made::default() }, &[BASE])];
    assert!(beside(&runs).models.iter().all(|model| model.pareto.is_none() && model.beaten_by.is_none()));
    let mut runs = [run(&Made::default(), &[BASE]), run(&Made { name: "b", ..Made::default() }, &[BASE])];
    runs[1].created = "2026-11-15T09:00:00Z".to_owned();
    let document = beside(&runs);
    assert!(!document.one_sitting && document.environment.is_none());
    assert!(document.models.iter().all(|model| model.pareto.is_none()), "of other measurements");
    assert!(document.notes[0].contains("no speeds are compared") && document.ranking.is_none(), "{:?}", document.notes);
    assert_eq!(document.trades[0].speed, None, "nor by how much");
}

/// What is won stands beside what it costs.
#[test]
fn a_smaller_format_is_a_trade() {
    let made = [quantised("f32", "f32", 4_000, 1e-3, 1.0), quantised("q8", "q8_0", 1_000, 5e-4, 1.1)];
    let document = beside(&made.map(|made| run(&made, &[BASE])));
    let [trade] = &document.trades[..] else { panic!("{:?}", document.trades) };
    assert_eq!((trade.model.as_str(), trade.base.as_str()), ("q8", "f32"));
    near(trade.speed.unwrap().value, 2.0);
    near(trade.memory.unwrap(), 1_512.0 / 4_512.0);
    let change = trade.perplexity_change.unwrap();
    near(change.value, 0.05f64.exp_m1());
    assert!(change.low.unwrap() > 0.03 && change.high.unwrap() < 0.07 && change.samples == 40, "{change:?}");
}

/// Time ∝ parameters^1.2, by construction; bytes ∝ parameters.
#[test]
fn slopes_over_sizes() {
    let sizes = [1_000u64, 4_000, 16_000, 64_000];
    let names = ["a", "b", "c", "d"];
    let made = |at: usize| Made {
        name: names[at],
        parameters: sizes[at],
        bytes: 4 * sizes[at],
        token_s: 1e-6 * (sizes[at] as f64).powf(1.2) * [1.01, 0.99, 1.0, 1.005][at],
        ..Made::default()
    };
    let runs: Vec<Run> = (0..4).map(|at| run(&made(at), &[BASE])).collect();
    let document = beside(&runs);
    let scaling = document.scaling.iter().find(|scaling| scaling.over == "parameters").unwrap();
    let slope = scaling.slope.unwrap();
    assert!((slope.value - 1.2).abs() < 0.01, "{slope:?}");
    assert!(slope.low.unwrap() < 1.2 && slope.high.unwrap() > 1.2, "{slope:?}");
    near(scaling.ideal_slope.unwrap(), 1.0);
    assert_eq!((scaling.of.as_str(), scaling.points.len()), ("f32", 4));
    let two = beside(&runs[..2]);
    let scaling = two.scaling.iter().find(|scaling| scaling.over == "parameters").unwrap();
    assert_eq!((scaling.slope, scaling.missing.as_deref()), (None, Some("needs three sizes in one format")));
}

/// A quarter of the time of one thread does not get faster: Amdahl says 1.6 with two, 2.29 with four.
#[test]
fn threads_by_amdahl() {
    let of = |prefix, threads: u64| Cell { prefix, threads, factor: 0.25 + 0.75 / threads as f64, ..BASE };
    let cells = [of("", 4), of("threads=1/", 1), of("threads=2/", 2)];
    let document = beside(&[run(&Made::default(), &cells)]);
    let [scaling] = &document.threads[..] else { panic!("{:?}", document.threads) };
    near(scaling.serial_share.unwrap().value, 0.25);
    let points: Vec<(u64, Option<f64>)> =
        scaling.points.iter().map(|point| (point.threads, point.speedup.map(|figure| figure.value))).collect();
    assert_eq!(points.iter().map(|(threads, _)| *threads).collect::<Vec<_>>(), [1, 2, 4]);
    assert_eq!(points[0].1, None);
    near(points[1].1.unwrap(), 1.6);
    near(points[2].1.unwrap(), 1.0 / 0.4375);
    near(scaling.points[1].efficiency.unwrap().value, 0.8);
    // Reading binds, and two threads read no faster than one.
    near(scaling.points[1].ideal_speedup.unwrap(), 1.0);
    let alone = beside(&[run(&Made::default(), &[BASE])]);
    assert_eq!(alone.threads[0].missing.as_deref(), Some("needs several thread counts"));
}

#[test]
fn slopes_over_contexts() {
    let of = |prefix, prompt: u64| Cell { prefix, prompt, factor: (prompt as f64 + 16.5).sqrt(), ..BASE };
    let cells = [of("", 32), of("context=64/", 64), of("context=128/", 128)];
    let document = beside(&[run(&Made::default(), &cells)]);
    let scaling = document.scaling.iter().find(|scaling| scaling.over == "context").unwrap();
    near(scaling.slope.unwrap().value, 0.5);
    assert_eq!(scaling.points.iter().map(|point| point.at).collect::<Vec<_>>(), [48.5, 80.5, 144.5]);
    let two = beside(&[run(&Made::default(), &cells[..2])]);
    let scaling = two.scaling.iter().find(|scaling| scaling.over == "context").unwrap();
    assert_eq!((scaling.missing.as_deref(), scaling.points.len()), (Some("needs three context lengths"), 2));
}

/// A run without rows, limits, memory and quality says nothing, and that is no zero.
#[test]
fn what_was_not_measured_is_absent() {
    let bare = Run { models: vec![Model { name: "a".to_owned(), ..Model::default() }], ..Run::default() };
    let model = beside(&[bare]).models.remove(0);
    assert_eq!((model.decode, model.prefill, model.first_token_s), (None, None, None));
    assert_eq!((model.memory, model.quality, model.pareto), (record::ModelMemory::default(), None, None));
    assert_eq!(model.fit, record::Fitness::default());
    assert!(beside(&[]).models.is_empty());
}
