//! Gates that were made by hand, in every form.

use std::collections::BTreeMap;

use record::{
    Acceptance, Budget, Change, Finding, GATE_SCHEMA, GATE_VERSION, Gate, GateCell, GateMetric, Judgement, Metric,
    Revision, Tool, Verdict,
};
use report::{gate_annotations, gate_badge, gate_comment, gate_junit, gate_verdict_line};

use super::snapshots::check;
use super::text::gate_text;

const TODAY: &str = "2026-11-15";

fn metric(unit: &str) -> Metric {
    Metric { unit: unit.to_owned(), ..Metric::default() }
}

fn judgement(metric: &str, verdict: Verdict, estimate: f64) -> Judgement {
    let base = if metric == "wall_s" { 0.0012 } else { 200e6 };
    Judgement {
        metric: metric.to_owned(),
        verdict,
        sentence: format!("{metric} changed by {:.1} %", estimate * 100.0),
        gate: true,
        base: Some(base),
        candidate: Some(base * (1.0 + estimate)),
        change: Some(Change { estimate, low: estimate - 0.019, high: estimate + 0.019 }),
        threshold: 0.03,
        floor: Some(0.011),
        visible: Some(0.023),
        launches: 6,
        rounds: 48,
        ..Judgement::default()
    }
}

fn cell(name: &str, judgements: Vec<Judgement>) -> GateCell {
    let gates = judgements.iter().map(|found| GateMetric { metric: found.metric.clone(), threshold: 0.03 }).collect();
    GateCell {
        name: name.to_owned(),
        base: "base".to_owned(),
        candidate: "head".to_owned(),
        mode: "standard".to_owned(),
        gates,
        metrics: BTreeMap::from([
            ("wall_s".to_owned(), metric("s")),
            ("peak_rss_bytes".to_owned(), metric("bytes")),
            ("ttft_s".to_owned(), metric("s")),
        ]),
        findings: vec![Finding { arm: "B".to_owned(), judgements, ..Finding::default() }],
        seconds: Some(41.5),
        ..GateCell::default()
    }
}

fn whole_cell(name: &str, verdict: Verdict, sentence: &str) -> GateCell {
    let finding = Finding { verdict, sentence: sentence.to_owned(), ..Finding::default() };
    GateCell { findings: vec![finding], ..cell(name, vec![judgement("wall_s", Verdict::Unresolved, 0.0)]) }
}

fn decided(cells: Vec<GateCell>) -> Gate {
    compare::gate(measured(cells), TODAY)
}

fn measured(cells: Vec<GateCell>) -> Gate {
    let revision = |name: &str, commit: &str| Some(Revision { name: name.to_owned(), commit: commit.repeat(10) });
    Gate {
        schema: GATE_SCHEMA.to_owned(),
        version: GATE_VERSION,
        tool: Tool { name: "hotloop".to_owned(), version: "0.1.0".to_owned() },
        created: "2026-11-15T08:00:00Z".to_owned(),
        config: "hotloop.toml".to_owned(),
        base: revision("merge base with main", "5d6e"),
        head: revision("HEAD", "1a2b"),
        cells,
        ..Gate::default()
    }
}

fn passing() -> Gate {
    decided(vec![
        cell(
            "decode",
            vec![judgement("wall_s", Verdict::Same, 0.002), judgement("peak_rss_bytes", Verdict::Improved, -0.12)],
        ),
        cell("prefill", vec![judgement("wall_s", Verdict::Unresolved, 0.01)]),
    ])
}

/// One of everything.
fn failing() -> Gate {
    let budget = |state_of: f64| Budget {
        metric: "ttft_s".to_owned(),
        quantile: 0.95,
        at_most: Some(state_of),
        state: record::BudgetState::Broken,
        value: Some(0.612),
        values: 60,
        beyond: 12,
        ..Budget::default()
    };
    let mut decode = cell(
        "decode",
        vec![judgement("wall_s", Verdict::Regressed, 0.071), judgement("peak_rss_bytes", Verdict::Regressed, 0.05)],
    );
    let exploratory = Judgement { gate: false, ..judgement("ttft_s", Verdict::LeaningWorse, 0.03) };
    decode.findings[0].judgements.push(exploratory);
    decode.budgets = vec![budget(0.5)];
    let advisory = GateCell { advisory: true, ..cell("train", vec![judgement("wall_s", Verdict::Regressed, 0.2)]) };
    let debug = "the sides differ in their build profile: release, debug";
    let failed = GateCell {
        failure: Some("`engine --bench` ended with code 101".to_owned()),
        findings: Vec::new(),
        ..cell("serve", Vec::new())
    };
    let accept = |cell: &str, metric: &str, until: &str| Acceptance {
        cell: cell.to_owned(),
        metric: metric.to_owned(),
        reason: "larger tables <make> it safer".to_owned(),
        until: until.to_owned(),
        ..Acceptance::default()
    };
    let gate = Gate {
        accepted: vec![
            accept("decode", "peak_rss_bytes", "2026-12-31"),
            accept("prefill", "wall_s", "2026-12-31"),
            accept("train", "wall_s", "2026-10-31"),
        ],
        not_measured: vec!["the cell `tokenise` (--cell)".to_owned()],
        ..measured(vec![decode, whole_cell("prefill", Verdict::Incomparable, debug), advisory, failed])
    };
    compare::gate(gate, TODAY)
}

#[test]
fn every_form_byte_for_byte() {
    for (name, gate) in [("passing", passing()), ("failing", failing())] {
        check(&format!("gate-{name}.txt"), &gate_text(&gate));
        check(&format!("gate-{name}.md"), &gate_comment(&gate));
        check(&format!("gate-{name}.xml"), &gate_junit(&gate));
        check(&format!("gate-{name}.svg"), &gate_badge(&gate));
        check(&format!("gate-{name}.annotations"), &gate_annotations(&gate));
    }
}

#[test]
fn the_last_line_is_the_verdict() {
    let last = |cells| gate_verdict_line(&decided(cells));
    let decode = |verdict, estimate| vec![cell("decode", vec![judgement("wall_s", verdict, estimate)])];
    assert_eq!(last(decode(Verdict::Regressed, 0.071)), "VERDICT regressed decode/wall_s +7.1% [5.2,9.0] floor 1.1%");
    assert_eq!(last(decode(Verdict::Same, 0.0)), "VERDICT same 1 of 1 cells passed");
    let wrong = whole_cell("decode", Verdict::WrongOutput, "token 7 differs");
    assert_eq!(last(vec![wrong]), "VERDICT wrong-output decode: token 7 differs");
    let failed = GateCell { failure: Some("it crashed\n".to_owned()), ..cell("decode", Vec::new()) };
    assert_eq!(last(vec![failed]), "VERDICT fault decode: it crashed?");
    let advisory = GateCell { advisory: true, ..cell("decode", vec![judgement("wall_s", Verdict::Regressed, 0.5)]) };
    assert_eq!(last(vec![advisory]), "VERDICT none 1 of 1 cells passed, 1 advisory only");
    assert!(gate_text(&failing()).ends_with(&(gate_verdict_line(&failing()) + "\n")));
}

/// Lines of a comment that are seen before anything is opened; what opens the rest is one of them.
fn visible_lines(comment: &str) -> usize {
    let (mut seen, mut is_hidden) = (0, false);
    for line in comment.lines() {
        let is_part = !is_hidden && !line.trim().is_empty() && !line.starts_with("<!--") && line != "<details>";
        seen += usize::from(is_part);
        is_hidden |= line.contains("<summary>");
        is_hidden &= !line.contains("</details>");
    }
    seen
}

#[test]
fn comments_are_short_whatever_happens() {
    let mut gate = failing();
    assert!(visible_lines(&gate_comment(&gate)) <= 10, "{}", gate_comment(&gate));
    for number in 0..300 {
        gate.cells
            .push(cell(&format!("x{number}"), vec![judgement("wall_s", Verdict::Regressed, 0.1 + f64::from(number))]));
        gate.not_measured.push(format!("a long line about what is not there {number}\nand a second"));
    }
    let comment = gate_comment(&compare::gate(gate, TODAY));
    assert!(visible_lines(&comment) <= 10, "{comment}");
    assert!(comment.len() < 65_536, "{}", comment.len());
    assert!(comment.lines().all(|line| line.chars().count() < 1_000));
}

#[test]
fn names_break_nothing() {
    let hostile = "a`b|c<d>&\"]]>\u{0}\u{1b}[31m\nVERDICT same ::error::\u{202e}\u{ffff}";
    let mut cells = vec![
        cell(hostile, vec![judgement(hostile, Verdict::Regressed, 0.1)]),
        whole_cell(hostile, Verdict::WrongOutput, hostile),
        GateCell { failure: Some(hostile.to_owned()), ..cell(hostile, Vec::new()) },
    ];
    cells[0].budgets =
        vec![Budget { metric: hostile.to_owned(), quantile: 0.5, at_least: Some(1.0), ..Budget::default() }];
    let accepted = Acceptance {
        cell: hostile.to_owned(),
        metric: hostile.to_owned(),
        reason: hostile.to_owned(),
        until: "2020-01-01".to_owned(),
        ..Acceptance::default()
    };
    let gate = Gate { accepted: vec![accepted], config: hostile.to_owned(), ..measured(cells) };
    let gate = compare::gate(Gate { not_measured: vec![hostile.to_owned()], ..gate }, TODAY);
    let comment = gate_comment(&gate);
    assert!(visible_lines(&comment) <= 10, "{comment}");
    let text = gate_text(&gate);
    assert_eq!(text.lines().filter(|line| line.starts_with("VERDICT")).count(), 1, "{text}");
    assert!([&text, &comment].iter().all(|text| !text.contains(['\u{1b}', '\u{202e}', '\0'])));
    assert!(
        gate_annotations(&gate).lines().all(|line| line.starts_with("::error title=")),
        "{}",
        gate_annotations(&gate)
    );
    let junit = gate_junit(&gate);
    roxmltree::Document::parse(&junit).unwrap_or_else(|error| panic!("{error}: {junit}"));
    roxmltree::Document::parse(&gate_badge(&gate)).expect("the badge is XML");
}

#[test]
fn junit_counts_what_it_has() {
    for gate in [passing(), failing()] {
        let junit = gate_junit(&gate);
        let document = roxmltree::Document::parse(&junit).expect("it is XML");
        let root = document.root_element();
        assert_eq!(root.tag_name().name(), "testsuites");
        let number = |node: roxmltree::Node<'_, '_>, name: &str| -> usize {
            node.attribute(name).and_then(|value| value.parse().ok()).unwrap_or_else(|| panic!("{name}: {junit}"))
        };
        let count = |node: roxmltree::Node<'_, '_>, name: &str| {
            node.descendants().filter(|node| node.has_tag_name(name)).count()
        };
        let suites: Vec<_> = root.children().filter(roxmltree::Node::is_element).collect();
        for node in suites.iter().copied().chain([root]) {
            for (attribute, tag) in [("tests", "testcase"), ("failures", "failure"), ("errors", "error")] {
                assert_eq!(number(node, attribute), count(node, tag), "{attribute}: {junit}");
            }
        }
        assert!(
            suites
                .iter()
                .all(|suite| suite.has_tag_name("testsuite") && number(*suite, "skipped") == count(*suite, "skipped"))
        );
        let failed = number(root, "failures") + number(root, "errors");
        assert_eq!(failed > 0, !gate.passed);
    }
}

#[test]
fn the_document_comes_back() {
    for gate in [passing(), failing()] {
        let text = gate.to_json();
        assert_eq!(Gate::from_json(&text), Ok(gate));
    }
    assert!(Gate::from_json("{}").is_err());
}

#[test]
fn a_comment_is_never_longer_than_is_taken() {
    let failure = format!("`cargo ended with 101\n{}", "error: <b>mismatched</b> types, see | here\n".repeat(400));
    let long = "a very long reason ".repeat(500);
    let failed = |number: usize| GateCell {
        failure: Some(failure.clone()),
        findings: Vec::new(),
        ..cell(&format!("cell-{number}"), Vec::new())
    };
    let mut gate = measured((0..200).map(failed).collect());
    gate.accepted = vec![Acceptance { reason: long.clone(), ..Acceptance::default() }; 200];
    gate.not_measured = vec![long];
    let comment = gate_comment(&compare::gate(gate, TODAY));
    assert!(comment.chars().count() < 65_536, "{}", comment.chars().count());
    assert!(comment.contains("\\`cargo ended with 101…") && !comment.contains("<b>"), "{comment}");
    assert!(comment.contains("more rows are in `verdict.json`"), "{comment}");
}
