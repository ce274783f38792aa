//! Estimates, waiting and ties, wherever a profile is shown.

use record::{Interruptions, Run};
use report::{RunOptions, export};

use super::export::named;
use super::text::{comparison_text, run_markdown, run_text};

use super::comparisons::compared;
use super::runs;

fn section<'a>(text: &'a str, title: &str) -> &'a str {
    let from = text.find(&format!("\n{title}  ")).unwrap_or_else(|| panic!("no {title} in\n{text}")) + 1;
    let end = text[from..].find("\n\n").map_or(text.len(), |end| from + end);
    &text[from..end]
}

fn row<'a>(section: &'a str, name: &str) -> &'a str {
    let found = section.lines().skip(1).find(|line| line.trim_start().starts_with(&format!("{name}  ")));
    found.unwrap_or_else(|| panic!("no row {name} in\n{section}"))
}

#[test]
fn tables_show_errors_marks_and_what_threads_waited() {
    let text = run_text(&runs::sampled(), &RunOptions::default());
    let hot = section(&text, "HOT PATHS");
    let ffn_up = row(hot, "ffn_up");
    for cell in ["36.0 ms ±2.7", "32.0 % ±2.4", "~60.0 us", "120 us?", "≥180 us"] {
        assert!(ffn_up.contains(cell), "no {cell}: {ffn_up}");
    }
    for legend in ["±: 95 % interval", "?: rests on few timed calls", "%: of the time on a CPU"] {
        assert!(hot.replace("\n  ", " ").contains(legend), "no {legend}:\n{hot}");
    }
    // Every call of these was timed.
    assert!(!row(hot, "sampling").contains(['±', '~', '?', '≥']), "{hot}");
    for title in ["HOT PATHS", "CALL TREE"] {
        let table = section(&text, title);
        assert!(row(table, "= on a CPU").ends_with("112 ms       100.0 %"), "{table}");
        assert!(row(table, "(waiting for a CPU)").ends_with("122 ms  52 % of wall"), "{table}");
        assert!(row(table, "= the run").ends_with("235 ms"), "{table}");
    }
    assert!(section(&text, "RATES").contains("36.0 ms ±2.7") && section(&text, "MOST CALLED").contains("36.0 ms ±2.7"));
    assert!(row(section(&text, "BY INDEX"), "[0]").contains("9.00 ms ±1.37"), "{text}");
    assert!(row(section(&text, "THREADS"), "main").contains("122 ms (52 %)"), "{text}");
    let markdown = run_markdown(&runs::sampled(), &RunOptions::default());
    assert!(markdown.contains("| 36.0 ms ±2.7 | 32.0 % ±2.4 |"), "{markdown}");
}

#[test]
fn the_profiler_tells_of_interruptions_and_its_budget() {
    let trust = |run: &Run| {
        let text = run_text(run, &RunOptions::default());
        section(&text, "THE PROFILER").lines().map(str::trim_start).collect::<Vec<_>>().join(" ")
    };
    let mut run = runs::sampled();
    let text = trust(&run);
    assert!(text.contains("own cost 1.3 % of CPU time (budget 2 %): kept"), "{text}");
    assert!(
        text.contains("rseq: the kernel marks each one") && text.contains("threads waited 122 ms for a CPU"),
        "{text}"
    );
    let profile = run.profile.as_mut().expect("it has one");
    profile.own_cost.share_of_cpu = Some(0.021);
    profile.interruptions = Some(Interruptions { source: "none".into(), why: "the kernel is too old".into() });
    profile.waiting_ns = None;
    let text = trust(&run);
    assert!(text.contains("own cost 2.1 % of CPU time (budget 2 %): exceeded"), "{text}");
    assert!(
        text.contains("not recognised (the kernel is too old): time without a CPU is part of the scopes'"),
        "{text}"
    );
    let old = trust(&runs::standard());
    assert!(old.contains("own cost 0.5 % of wall time (budget 1 %): kept") && !old.contains("interruptions"), "{old}");
}

#[test]
fn the_hottest_scopes_are_ranked_only_where_that_is_certain() {
    let gist = |run: &Run| -> String {
        let text = run_text(run, &RunOptions::default());
        let from = text.find("\nSUMMARY\n").expect("it has one");
        let lines = text[from + 9..].lines().take_while(|line| !line.is_empty());
        lines.map(str::trim_start).collect::<Vec<_>>().join(" ")
    };
    let mut run = runs::sampled();
    let text = gist(&run);
    assert!(
        text.contains("hottest  `ffn_up` and `ffn_down`, 32 % ±2 and 28 % ±2 (cannot tell which is hotter), `qkv`"),
        "{text}"
    );
    assert!(text.contains("shares are of the time on a CPU") && !text.contains("unreliable"), "{text}");
    let profile = run.profile.as_mut().expect("it has one");
    profile.interruptions = Some(Interruptions { source: "none".into(), why: String::new() });
    let text = gist(&run);
    assert!(text.contains("attribution unreliable, because interruptions were not recognised"), "{text}");
    assert!(text.contains("hottest  not ranked: attribution unreliable") && !text.contains("32 %"), "{text}");
}

#[test]
fn exports_carry_errors() {
    let run = runs::sampled();
    let written = |format| String::from_utf8(export(&run, "", format).expect("it has a profile")).expect("it is text");
    let csv = written(named("csv"));
    let head: Vec<&str> = csv.lines().next().expect("a head").split(',').collect();
    let line: Vec<&str> = csv.lines().find(|line| line.contains("ffn_up")).expect("it is there").split(',').collect();
    let cell = |name: &str| line[head.iter().position(|head| *head == name).expect("a column")];
    assert_eq!(["total_se_ns", "self_se_ns", "waiting_ns"].map(cell), ["700000", "700000", "9000000"]);
    let svg = written(named("svg"));
    assert!(svg.contains("total 9.00 ms ±1.37 (8.3 % ±1.3)"), "{svg}");
    assert!(svg.contains("p99 120 us?") && svg.contains("max ≥180 us"), "{svg}");
    assert!(svg.contains("waiting for a CPU (not drawn): 122 ms"), "{svg}");
}

#[test]
fn comparisons_show_errors_and_what_lies_within_them() {
    let (base, mut candidate) = (runs::sampled(), runs::sampled());
    for scope in &mut candidate.profile.as_mut().expect("it has one").scopes {
        match scope.name.rsplit("::").next() {
            Some("ffn_up") => scope.self_ns += 500_000,
            Some("qkv") => scope.self_ns += 2_000_000,
            _ => {}
        }
    }
    let text = comparison_text(&compared(&base, &candidate), &RunOptions::default());
    let slower = ["LESS TIME", "MORE TIME", "REGRESSIONS"].iter().find(|title| text.contains(&format!("\n{title}  ")));
    let table = section(&text, slower.expect("something took longer"));
    let line = |name: &str| table.lines().find(|line| line.contains(name)).unwrap_or_else(|| panic!("{table}"));
    assert!(line("ffn_up").contains("36.0 ms ±2.7") && line("ffn_up").ends_with("within ±"), "{table}");
    assert!(line("qkv").contains("24.0 ms ±0.2") && !line("qkv").contains("within"), "{table}");
    assert!(section(&text, "CALL TREE").contains("36.0 ms ±2.7"), "{text}");
}
