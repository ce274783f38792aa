use record::{BENCH_SCHEMA, BENCH_VERSION, SkippedTest, Tool};

use super::*;
use crate::document::Page;

fn row(model: &str, test: &str, speed: (f64, Option<f64>), repeats: usize) -> BenchRow {
    BenchRow {
        model: model.to_owned(),
        architecture: "llama".to_owned(),
        format: "q8_0".to_owned(),
        parameters: 15_191_712,
        model_bytes: 16_152_192,
        threads: 2,
        test: test.to_owned(),
        prompt_tokens: 512,
        generated_tokens: 0,
        depth: 0,
        tokens_per_s: speed.0,
        tokens_per_s_stddev: speed.1,
        samples_s: vec![0.5; repeats],
    }
}

fn bench(rows: Vec<BenchRow>) -> Bench {
    Bench {
        schema: BENCH_SCHEMA.to_owned(),
        version: BENCH_VERSION,
        settings: BenchSettings {
            tool: Tool { name: "hotloop".to_owned(), version: "0.1.0".to_owned() },
            commit: Some("0123456789abcdef".to_owned()),
            debug_build: false,
            created: "2026-11-19T04:00:00Z".to_owned(),
            cpu: Some("AMD EPYC".to_owned()),
            isa: "avx512".to_owned(),
            cache: "f16".to_owned(),
            in_place: false,
            exact: false,
            warmup: 1,
            repeat: 5,
        },
        interrupted: false,
        rows,
        skipped: Vec::new(),
    }
}

fn usual() -> Bench {
    let rows = vec![
        row("models/stories15M-q8_0.gguf", "pp512", (18_788.4, Some(320.2)), 5),
        row("models/stories15M-q8_0.gguf", "tg128 @ d1024", (97.52, Some(0.354)), 5),
    ];
    bench(rows)
}

fn text(bench: &Bench, width: usize) -> String {
    document(bench).terminal(Page { color: false, width })
}

fn markdown(bench: &Bench) -> String {
    document(bench).markdown()
}

#[test]
fn the_table_reads_as_that_of_llama_bench() {
    let expected = "\
model                      size  params  quant  threads           test         tok/s
stories15M-q8_0.gguf  15.4 MiB  15.2 M   q8_0        2          pp512  18,788 ± 320
stories15M-q8_0.gguf  15.4 MiB  15.2 M   q8_0        2  tg128 @ d1024  97.5 ± 0.4

build: hotloop 0.1.0 (0123456); AMD EPYC, avx512, KV cache f16; mean ± standard deviation of 5 repeats
";
    let text = text(&usual(), 120);
    let same =
        |text: &str| text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect::<Vec<_>>();
    assert_eq!(same(&text), same(expected), "{text}");
    let ends: Vec<usize> = text.lines().take(3).filter_map(|line| line.find(['±', '/'])).collect();
    assert_eq!(ends[1], ends[2], "deviations stand below each other:\n{text}");
}

#[test]
fn the_table_fits_the_terminal() {
    for width in [200, 120, 80] {
        let text = text(&usual(), width);
        assert!(text.lines().all(|line| line.chars().count() <= width), "{width}:\n{text}");
        for part in ["pp512", "tg128 @ d1024", "18,788 ± 320", ".gguf"] {
            assert!(text.contains(part), "{width}: {part} is missing:\n{text}");
        }
    }
    let mut long = usual();
    long.rows[0].model = format!("{}.gguf", "long-name-".repeat(8));
    let text = text(&long, 80);
    assert!(!text.contains("15.2 M") && text.contains("(not shown at this width: params"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
}

#[test]
fn other_numbers_of_repeats_have_a_column() {
    let mut bench = usual();
    bench.rows[1] = row("b.gguf", "tg128", (4.5, None), 1);
    bench.interrupted = true;
    let text = text(&bench, 120);
    assert!(text.contains("tok/s  repeats\n") && text.contains("4.50"), "{text}");
    assert!(text.contains("; mean ± standard deviation\n") && text.contains("\ninterrupted: "), "{text}");
    bench.rows.remove(0);
    assert!(self::text(&bench, 120).contains("; one measurement each\n"));
}

#[test]
fn models_are_told_apart_and_control_characters_stay_away() {
    let rows = ["a/m.gguf", "b/m.gguf", "c/e\u{1b}[31m|.gguf"].map(|model| row(model, "pp8", (100.0, Some(1.0)), 5));
    let mut bench = bench(rows.to_vec());
    bench.skipped = vec![SkippedTest {
        model: "c/e\u{1b}[31m|.gguf".to_owned(),
        test: Some("pp512".to_owned()),
        reason: "too long".to_owned(),
    }];
    for text in [text(&bench, 120), markdown(&bench)] {
        assert!(text.contains("a/m.gguf ") && text.contains("b/m.gguf ") && !text.contains('\u{1b}'), "{text}");
        assert!(text.contains("skipped pp512 of e?"), "{text}");
    }
    assert!(markdown(&bench).contains("| e?\\[31m\\|.gguf |"), "{}", markdown(&bench));
}

#[test]
fn markdown_is_a_table_with_its_build() {
    let expected = "\
| model | size | params | quant | threads | test | tok/s |
|---|---:|---:|---:|---:|---:|---:|
| stories15M-q8_0.gguf | 15.4 MiB | 15.2 M | q8_0 | 2 | pp512 | 18,788 ± 320 |
| stories15M-q8_0.gguf | 15.4 MiB | 15.2 M | q8_0 | 2 | tg128 @ d1024 | 97.5 ± 0.4 |

build: hotloop 0.1.0 (0123456); AMD EPYC, avx512, KV cache f16; mean ± standard deviation of 5 repeats
";
    assert_eq!(markdown(&usual()), expected);
}

#[test]
fn csv_has_a_line_for_each_row() {
    let mut bench = usual();
    bench.rows[1].model = "with,comma".to_owned();
    bench.rows[1].tokens_per_s_stddev = None;
    let csv = csv(&bench);
    let lines: Vec<&str> = csv.lines().collect();
    assert_eq!(lines.len(), 3);
    assert!(lines[0].starts_with("created,hotloop_version,commit,cpu,") && lines[0].ends_with(",tokens_per_s_stddev"));
    assert!(lines[1].ends_with(",pp512,512,0,0,5,18788.4,320.2"), "{csv}");
    assert!(lines[2].contains(",\"with,comma\",") && lines[2].ends_with(",5,97.52,"), "{csv}");
}

#[test]
fn nothing_measured_is_said() {
    let text = text(&bench(Vec::new()), 80);
    assert_eq!(text, "nothing was measured\n");
}
