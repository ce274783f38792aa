//! Collapsed stacks and CSV.

use super::{PATHS, SELF_SUM_NS, named, sample, text};

#[test]
fn collapsed_stacks_sum_to_the_self_times() {
    let folded = text(&sample::with_timeline(), named("folded"));
    let weights = folded.lines().map(|line| line.rsplit_once(' ').expect("a stack and a weight").1);
    assert_eq!(weights.map(|weight| weight.parse::<u64>().expect("a number")).sum::<u64>(), SELF_SUM_NS);
    assert_eq!(
        folded,
        "main;forward;layer 0 15310\n\
         main;forward;layer 0;qkv 24690\n\
         main;forward;layer 1 15310\n\
         main;forward;layer 1;qkv 24690\n\
         main;a,b c d 7 10000\n\
         main;a,b c d 7;gr\u{f6}\u{df}e \u{65e5}\u{672c} \u{1f525} 1\n\
         main;a,b c d 7;gr\u{f6}\u{df}e \u{65e5}\u{672c} \u{1f525};bell 9999\n\
         worker 1\n\
         worker;part 29999\n"
    );
    assert_eq!(text(&sample::empty(), named("folded")), "");
}

#[test]
fn paths_that_are_shown_alike_are_one_line() {
    let mut recorder = sample::Recorder::default();
    recorder.thread(None);
    recorder.call("a::run", None, 0, 10);
    recorder.call("b::run", None, 10, 15);
    let run = record::Run { profile: Some(recorder.finish()), ..sample::with_timeline() };
    assert_eq!(text(&run, named("folded")), "run 15\n");
}

/// Reads CSV by the rules of RFC 4180, in a way that has nothing in common with the writer.
fn parse(text: &str) -> Vec<Vec<String>> {
    let (mut lines, mut line, mut cell, mut is_quoted) = (Vec::new(), Vec::new(), String::new(), false);
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '"' if is_quoted && letters.peek() == Some(&'"') => cell.extend(letters.next()),
            '"' => is_quoted = !is_quoted,
            ',' if !is_quoted => line.push(std::mem::take(&mut cell)),
            '\r' if !is_quoted => {}
            '\n' if !is_quoted => {
                line.push(std::mem::take(&mut cell));
                lines.push(std::mem::take(&mut line));
            }
            letter => cell.push(letter),
        }
    }
    assert!(!is_quoted && line.is_empty() && cell.is_empty(), "it ends with a whole line");
    lines
}

#[test]
fn every_path_has_its_line_with_every_figure() {
    let run = sample::with_timeline();
    let table = parse(&text(&run, named("csv")));
    assert_eq!(table.len(), PATHS + 1);
    let width = table[0].len();
    assert!(table.iter().all(|line| line.len() == width));
    let column = |name: &str| table[0].iter().position(|head| head == name).unwrap_or_else(|| panic!("no {name}"));
    for (line, scope) in table[1..].iter().zip(&run.profile.as_ref().expect("there is one").scopes) {
        assert_eq!(line[column("name")], scope.name);
        assert_eq!(line[column("self_ns")], scope.self_ns.to_string());
        assert_eq!(line[column("calls")], scope.calls.to_string());
        assert_eq!(line[column("line")], scope.line.to_string());
        assert_eq!(line[column("p99_ns")], "", "what was not measured is empty");
    }
    let forward = &table[2];
    assert_eq!(forward[column("path")], "main > forward");
    assert_eq!(
        [&forward[column("flops")], &forward[column("allocs")], &forward[column("depth")]],
        ["2000000", "7", "1"]
    );
    assert_eq!(table[1][column("flops")], "");
    let odd = &table[8];
    assert_eq!(odd[column("name")], sample::ODD_NAMES[1]);
    assert_eq!(parse(&text(&sample::empty(), named("csv"))).len(), 1);
}

#[test]
fn every_value_of_a_sample_has_its_line() {
    let table = parse(&text(&sample::with_timeline(), named("csv-samples")));
    let lines: Vec<String> = table.iter().map(|line| line.join("|")).collect();
    assert_eq!(
        lines,
        [
            "row|phase|arm|launch|round|start_ns|metric|unit|position|value",
            "decode, \"short\"|warmup||0|0|0|wall|s||1.5",
            "decode, \"short\"|warmup||0|0|0|token||0|0.25",
            "decode, \"short\"|warmup||0|0|0|token||1|0.5",
            "decode, \"short\"|timed||0|0|0|wall|s||1",
            "decode, \"short\"|timed||0|0|0|token||0|0.25",
            "decode, \"short\"|timed||0|0|0|token||1|0.5",
        ]
    );
}
