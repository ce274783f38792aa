//! What holds for every report.

use std::collections::BTreeSet;

use record::{Allocations, Row, Run, Sample, Thread};
use report::{RunOptions, run_loopos, run_smallmind};

use super::text::{run_markdown, run_text};

use super::runs;

/// Numbers that are the same every time and look like chance.
struct Chance(u64);

impl Chance {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

/// A run with a tree of chance: recursion, indices, deep chains, odd names.
fn random_run(seed: u64) -> Run {
    let mut chance = Chance(seed);
    let names = [
        "a::b",
        "a::c",
        "a::recursive",
        "a::layer",
        "a::a_name_of_sixty_characters_that_goes_on_and_on_until_it_ends",
        "a::\x1b[31m|`<x>",
    ];
    let count = 1 + chance.below(300) as usize;
    let mut specs: Vec<runs::Spec> = Vec::new();
    for at in 0..count {
        let parent = (at > 0 && chance.below(8) > 0).then(|| at - 1 - chance.below(at.min(5) as u64) as usize);
        let name = names[chance.below(names.len() as u64) as usize];
        let index = (name == "a::layer").then(|| chance.below(40));
        let self_ns = chance.below(10) * 10u64.pow(chance.below(9) as u32);
        specs.push((name, index, parent, self_ns, 1 + chance.below(1_000_000)));
    }
    let mut run = if seed.is_multiple_of(2) { runs::standard() } else { runs::enhanced() };
    run.profile = Some(runs::profile(runs::scopes(&specs), chance.below(1_000_000_000)));
    run.rows.push(Row {
        name: "x".repeat(150),
        calls: 0,
        flops: Some(1e300),
        bytes: Some(0.0),
        limited_by: Some("f32".into()),
        ..Row::default()
    });
    let values = [("wall_s".to_owned(), 0.0), ("allocs".to_owned(), f64::NAN)].into();
    run.samples.push(Sample { row: "x".repeat(150), values, ..Sample::default() });
    run.failures.push(format!("a word without end: {}", "y".repeat(400)));
    run
}

/// Everything as large as a file can claim.
fn absurd_run() -> Run {
    let mut run = runs::standard();
    let profile = run.profile.as_mut().expect("it has one");
    (profile.wall_ns, profile.outside_ns, profile.own_cost.total_ns) = (u64::MAX, u64::MAX, u64::MAX);
    for scope in &mut profile.scopes {
        (scope.calls, scope.timed_calls, scope.polls, scope.elapsed_ns) = (u64::MAX, u64::MAX, u64::MAX, u64::MAX);
        (scope.self_ns, scope.total_ns, scope.max_ns, scope.flops) = (u64::MAX, u64::MAX, u64::MAX, u64::MAX);
        let most = u64::MAX;
        let all = Allocations { allocs: most, alloc_bytes: most, frees: most, free_bytes: most, reallocs: most };
        (scope.allocs, scope.allocs_total, scope.tokens, scope.bytes) = (Some(all), Some(all), most, most);
    }
    profile.waiting_ns = Some(u64::MAX);
    for scope in profile.scopes.iter_mut().step_by(2) {
        scope.is_sampled = true;
        (scope.total_se_ns, scope.self_se_ns, scope.waiting_ns) = (Some(u64::MAX), Some(u64::MAX), u64::MAX);
        scope.durations = Some(record::DurationCounts { ns: vec![u64::MAX; 2], calls: vec![u64::MAX; 2] });
    }
    let mut thread = profile.threads[0].clone();
    (thread.waiting_ns, thread.cpu_ns) = (Some(u64::MAX), Some(u64::MAX));
    profile.threads.push(Thread { count: u64::MAX, wall_ns: u64::MAX, in_scopes_ns: u64::MAX, ..thread });
    for part in &mut run.memory[0].parts {
        (part.bytes, part.at_peak_bytes) = (u64::MAX, Some(u64::MAX));
    }
    run.rows.iter_mut().for_each(|row| row.calls = u64::MAX);
    run
}

fn every_run() -> Vec<Run> {
    runs::all().into_iter().map(|(_, run)| run).chain([absurd_run()]).chain((0..40).map(random_run)).collect()
}

#[test]
fn no_line_is_too_long_and_nothing_escapes() {
    for run in every_run() {
        for top in [1, 12, 1000] {
            let text = run_text(&run, &RunOptions { top, ..RunOptions::default() });
            let longest = text.lines().max_by_key(|line| line.chars().count()).unwrap_or("");
            assert!(longest.chars().count() <= 120, "{}: {longest}", longest.chars().count());
            assert!(!text.contains('\x1b') && !run_markdown(&run, &RunOptions::default()).contains('\x1b'));
            assert!(text.lines().all(|line| line.trim_end() == line), "spaces at the end of a line");
        }
    }
}

#[test]
fn colour_adds_nothing_but_colour() {
    for run in every_run() {
        let plain = run_text(&run, &RunOptions::default());
        let colored = run_text(&run, &RunOptions { color: true, ..RunOptions::default() });
        let stripped =
            ["\x1b[1m", "\x1b[33m", "\x1b[0m"].iter().fold(colored.clone(), |text, code| text.replace(code, ""));
        assert!(colored.contains('\x1b') && stripped == plain);
    }
}

#[test]
fn nothing_is_not_a_number() {
    for run in every_run() {
        let options = RunOptions::default();
        for text in [run_text(&run, &options), run_markdown(&run, &options), run_smallmind(&run), run_loopos(&run, 15)]
        {
            let words = || text.split(|c: char| !c.is_alphanumeric());
            assert!(!words().any(|word| ["NaN", "inf", "not_a_number"].contains(&word)), "{text}");
        }
    }
}

#[test]
fn what_is_said_on_the_terminal_is_said_in_markdown() {
    for (_, run) in runs::all() {
        let options = RunOptions::default();
        let words = |text: &str| -> BTreeSet<String> {
            text.split(|c: char| !c.is_alphanumeric())
                .filter(|word| word.parse::<u64>().is_ok())
                .map(str::to_owned)
                .collect()
        };
        let (text, markdown) = (run_text(&run, &options), run_markdown(&run, &options));
        assert!(words(&text).is_subset(&words(&markdown)));
        // Of a wide table the terminal leaves columns out, and says so.
        if !text.contains("(no room for the column") {
            assert_eq!(words(&text), words(&markdown));
        }
    }
}

/// The rows of a section of the Markdown report, cell by cell; the first with its depth.
fn table(markdown: &str, title: &str) -> Vec<(usize, Vec<String>)> {
    let section = markdown.split(&format!("\n## {title}\n")).nth(1).expect("the section is there");
    let section = section.split("\n## ").next().unwrap_or("");
    let rows = section.lines().filter(|line| line.starts_with('|')).skip(2);
    rows.map(|line| {
        // A bar within a name is escaped.
        let line = line.replace("\\|", "/");
        let cells: Vec<String> = line.trim_matches('|').split(" | ").map(|cell| cell.trim().to_owned()).collect();
        (cells[0].matches("&emsp;").count(), cells)
    })
    .collect()
}

fn nanoseconds(cell: &str) -> f64 {
    let measured = cell.split(" \u{b1}").next().unwrap_or(cell);
    let (number, unit) = measured.trim_start_matches("\\~").split_once(' ').expect("a number and its unit");
    let unit = match unit {
        "ns" => 1.0,
        "us" => 1e3,
        "ms" => 1e6,
        "s" => 1e9,
        other => panic!("no unit of time: {other}"),
    };
    number.parse::<f64>().expect("a number") * unit
}

/// Three digits are printed: each number may be off by a half of the last one.
fn error(ns: f64) -> f64 {
    (ns * 0.006).max(0.6)
}

fn is_subtotal(cells: &[String]) -> bool {
    cells[0] == "= on a CPU"
}

#[test]
fn in_the_call_tree_parts_sum_to_wholes() {
    for run in every_run().iter().filter(|run| run.profile.as_ref().is_some_and(|profile| profile.wall_ns < u64::MAX)) {
        let markdown = run_markdown(run, &RunOptions { top: 5, ..RunOptions::default() });
        let rows = table(&markdown, "Call tree");
        for (at, (depth, cells)) in rows.iter().enumerate() {
            let below =
                rows[at + 1..].iter().take_while(|(other, _)| other > depth).filter(|(other, _)| *other == depth + 1);
            let parts: Vec<f64> = below.map(|(_, cells)| nanoseconds(&cells[1])).collect();
            let has_self = cells.get(4).is_some_and(|cell| !cell.is_empty());
            // Rows for the rest, and those below the tree, have none.
            if !has_self {
                assert!(parts.is_empty());
                continue;
            }
            let (total, own) = (nanoseconds(&cells[1]), nanoseconds(&cells[4]));
            let sum = own + parts.iter().sum::<f64>();
            let allowed = error(total) + error(own) + parts.iter().map(|part| error(*part)).sum::<f64>();
            assert!((sum - total).abs() <= allowed, "{cells:?}: {sum} {total}\n{markdown}");
        }
        let (roots, last) = rows.split_at(rows.len() - 1);
        let roots = roots.iter().filter(|(_, cells)| !is_subtotal(cells));
        let sum: f64 = roots.filter(|(depth, _)| *depth == 0).map(|(_, cells)| nanoseconds(&cells[1])).sum();
        let whole = nanoseconds(&last[0].1[1]);
        assert!((sum - whole).abs() <= 0.006 * whole + 0.006 * sum + 10.0, "{sum} {whole}\n{markdown}");
    }
}

#[test]
fn self_times_sum_to_the_run() {
    for run in every_run().iter().filter(|run| run.profile.as_ref().is_some_and(|profile| profile.wall_ns < u64::MAX)) {
        let rows = table(&run_markdown(run, &RunOptions { top: 4, ..RunOptions::default() }), "Hot paths");
        let (parts, last) = rows.split_at(rows.len() - 1);
        let parts = parts.iter().filter(|(_, cells)| !is_subtotal(cells));
        let sum: f64 = parts.map(|(_, cells)| nanoseconds(&cells[1])).sum();
        let whole = nanoseconds(&last[0].1[1]);
        assert!((sum - whole).abs() <= 0.006 * whole + 0.006 * sum + 10.0, "{sum} {whole}");
    }
}

#[test]
fn recursion_counts_once() {
    let specs: Vec<runs::Spec> =
        vec![("f", None, None, 1_000, 1), ("f", None, Some(0), 2_000, 1), ("g", None, Some(1), 3_000, 1)];
    let mut run = runs::standard();
    run.profile = Some(runs::profile(runs::scopes(&specs), 0));
    let rows = table(&run_markdown(&run, &RunOptions::default()), "Hot paths");
    let f = rows.iter().find(|(_, cells)| cells[0] == "f").expect("it is there");
    assert_eq!((&*f.1[1], &*f.1[3], &*f.1[5]), ("3.00 us", "6.00 us", "2"));
}

#[test]
fn a_kernel_is_measured_by_the_same_limit_in_both_tables() {
    let mut run = runs::enhanced();
    let row = run.rows.iter_mut().find(|row| row.name == "GELU_1000000").expect("it is there");
    row.threads = Some(1);
    let names = ["lab::workload::enhanced::enhanced", "lab::kernels::GELU_1000000", "lab::kernels::GELU_Iteration"];
    let specs: Vec<runs::Spec> = vec![
        (names[0], None, None, 1_000, 1),
        (names[1], None, Some(0), 1_000, 1),
        (names[2], None, Some(1), 3_400_000, 5),
    ];
    let mut scopes = runs::scopes(&specs);
    (scopes[2].flops, scopes[2].bytes) = (5 * 15_000_000, 5 * 8_000_000);
    run.profile = Some(runs::profile(scopes, 0));
    let markdown = run_markdown(&run, &RunOptions::default());
    let limit = |title: &str, name: &str| {
        let rows = table(&markdown, title);
        let (_, cells) = rows.into_iter().find(|(_, cells)| cells[0] == name).expect("the row is there");
        cells.into_iter().find(|cell| cell.contains("thread")).expect("it says of how many threads")
    };
    assert_eq!(limit("Rates", "GELU_Iteration"), "f32, 1 thread");
    assert_eq!(limit("Rows", "GELU_1000000"), "f32, 1 thread");
}

#[test]
fn the_summary_comes_first_and_definitions_last() {
    let text = run_text(&runs::standard(), &RunOptions::default());
    let heading = |line: &&str| line.starts_with(|c: char| c.is_ascii_uppercase());
    let titles: Vec<&str> = text.lines().filter(heading).map(|line| line.split("  ").next().unwrap_or("")).collect();
    let first = ["HOTLOOP RUN", "RUN", "SUMMARY", "FIGURES", "INSIGHTS", "SYSTEM AND BUILD", "ROWS"];
    assert_eq!(titles[..first.len()], first);
    assert_eq!(titles.last(), Some(&"DEFINITIONS"));
    assert!(
        text.contains("\n  WARNING  Machine busy: other programs used 0.30 of 2 CPUs; treat timings as rough\n"),
        "{text}"
    );
}

/// What a model wrote is shown, whatever it wrote; where there is none, nothing is said of it.
#[test]
fn what_a_model_wrote_is_shown() {
    let mut run = runs::standard();
    let options = RunOptions::default();
    assert!(!run_text(&run, &options).contains("\nTEXT  "));
    let mut wrote = |text: String| {
        run.correctness.as_mut().expect("it has").text = Some(text);
        (run_text(&run, &options), run_markdown(&run, &options))
    };
    let (text, markdown) = wrote("Once upon a time.\n\nThe\x1b[31m end.".to_owned());
    assert!(text.contains("\nTEXT  prompt and generated text"), "{text}");
    assert!(text.contains("\n  Once upon a time.\n\n  The?[31m end.\n"), "{text}");
    assert!(markdown.contains("Once upon a time."), "{markdown}");
    let (text, _) = wrote("word ".repeat(1000));
    assert!(text.contains("(3,000 more characters)") && text.lines().all(|line| line.chars().count() <= 120), "{text}");
    let (text, _) = wrote(" \n".to_owned());
    assert!(!text.contains("\nTEXT  "), "{text}");
}
