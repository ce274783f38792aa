use super::*;

const CELL: &str = "[[cell]]\nname = \"a\"\na = \"x\"\nb = \"y\"\nmetrics = { wall_s = 3 }\n";

#[track_caller]
fn refused(text: &str, line: usize, part: &str) {
    match GateConfig::read(text) {
        Err(fault) => assert!(fault.line == line && fault.message.contains(part), "{fault}\n\n{text}"),
        Ok(config) => panic!("read as {config:?}"),
    }
}

#[track_caller]
fn read(text: &str) -> GateConfig {
    GateConfig::read(text).unwrap_or_else(|fault| panic!("{fault}\n\n{text}"))
}

#[test]
fn the_example_is_right_with_and_without_its_comments() {
    let config = read(EXAMPLE);
    assert_eq!((config.cells.len(), config.seed, config.fail_on_unresolved), (1, 1, false));
    let gates: Vec<(&str, Option<f64>, bool)> =
        config.cells[0].gates.iter().map(|gate| (gate.metric.as_str(), gate.threshold, gate.advisory)).collect();
    assert_eq!(
        gates,
        [("cpu_s", Some(0.03), false), ("peak_rss_bytes", Some(0.02), false), ("wall_s", Some(0.05), true)]
    );
    // Lines of TOML behind the mark of a comment, not sentences.
    let is_code =
        |line: &str| line.starts_with('[') || line.split_once(" = ").is_some_and(|(key, _)| !key.contains(' '));
    let whole = EXAMPLE.lines().map(|line| line.strip_prefix("# ").filter(|code| is_code(code)).unwrap_or(line));
    let config = read(&whole.collect::<Vec<_>>().join("\n"));
    assert_eq!((config.cells.len(), config.accepted.len()), (3, 1));
    assert_eq!(config.build.features, ["fast"]);
    assert_eq!(config.cells[0].budgets[0].at_most, Some(0.5));
    assert_eq!(config.accepted[0].until, "2026-12-31");
    assert!(matches!(&config.cells[2].sides, CellSides::Settings { synthetic: Some(_), a, .. } if a["kv"] == "off"));
}

#[test]
fn cells_have_what_is_said_for_all() {
    let config = read(&format!("mode = \"thorough\"\nrounds = 3\n{CELL}mode = \"quick\"\nround_s = 0.05\n"));
    let effort = config.cells[0].effort;
    assert_eq!(
        (effort.mode, effort.rounds, effort.launches, effort.round_s),
        (DuelMode::QUICK, Some(3), None, Some(0.05))
    );
    assert_eq!(read(CELL).cells[0].effort.mode, DuelMode::STANDARD);
    let cell = &read(&format!("{CELL}output = \"any\"\nexact = true\n")).cells[0];
    assert_eq!((cell.same_output, cell.exact, read(CELL).cells[0].same_output), (Some(false), true, None));
    assert_eq!(read(CELL).cells[0].sides, CellSides::Commands { a: vec!["x".to_owned()], b: vec!["y".to_owned()] });
}

#[test]
fn commands_are_texts_or_lists() {
    let of = |command: &str| {
        let text = format!("[[cell]]\nname = \"a\"\ncommand = {command}\nmetrics = {{ wall_s = 3 }}\n");
        GateConfig::read(&text).map(|config| config.cells[0].sides.clone())
    };
    let expected = CellSides::Revisions { command: ["{bin}", "--prompt", "a b"].map(str::to_owned).to_vec() };
    assert_eq!(of("\"{bin} --prompt 'a b'\""), Ok(expected.clone()));
    assert_eq!(of("[\"{bin}\", \"--prompt\", \"a b\"]"), Ok(expected));
    for (command, part) in [
        ("\"bench\"", "needs `{bin}`"),
        ("\"\"", "empty command"),
        ("\"{bin} | wc\"", "needs a shell"),
        ("\"{bin} 'x\"", "unclosed '"),
        ("[]", "is empty"),
        ("[1]", "strings only"),
        ("7", "must be a command"),
    ] {
        let fault = of(command).expect_err(command);
        assert!(fault.message.contains(part) && fault.line == 3, "{command}: {fault}");
    }
}

#[test]
fn what_is_wrong_is_named_with_its_line() {
    refused("", 1, "no `[[cell]]`");
    refused("mode = \"standard\"\nmodus = 1\n", 2, "unknown key `modus`");
    refused(&format!("{CELL}treshold = 3\n"), 6, "unknown key `treshold`");
    refused("mode = \"fast\"\n", 1, "`mode` must be \"quick\", \"standard\" or \"thorough\", not \"fast\"");
    refused("on_unresolved = \"ignore\"\n", 1, "\"pass\" or \"fail\"");
    refused(&format!("\non_unresolved = \"fail\"\n{CELL}mode = \"quick\"\n"), 2, "it could only fail");
    read(&format!("on_unresolved = \"fail\"\n{CELL}mode = \"quick\"\nadvisory = true\n"));
    let advisory = CELL.replace("wall_s = 3", "wall_s = { threshold = 3, advisory = true }");
    read(&format!("on_unresolved = \"fail\"\n{advisory}mode = \"quick\"\n"));
    refused(&format!("{CELL}output = \"other\"\n"), 6, "`output` must be \"same\" or \"any\", not \"other\"");
    refused("seed = -1\n", 1, "");
    refused("seed = 1\nseed = 2\n", 2, "duplicate key");
    refused("[build]\npackages = \"x\"\n", 2, "unknown key `packages`");
    refused("[[cell]\n", 1, "");
    refused(&format!("{CELL}\n{CELL}"), 8, "two cells are named `a`");
    refused(&format!("launches = 0\n{CELL}"), 1, "`launches` must be from 1 to 1000, not 0");
    refused(&format!("{CELL}round_s = 0\n"), 6, "`round_s` must be from 0.001");
    refused("[[cell]]\nname = \"../x\"\n", 2, "letters, digits");
    refused("[[cell]]\n\nmetrics = { wall_s = 3 }\n", 1, "missing key `name`");
    refused("\n[[cell]]\nname = \"a\"\nmetrics = { wall_s = 3 }\n", 2, "nothing to compare");
    refused("[[cell]]\nname = \"a\"\na = \"x\"\nb = \"y\"\n", 1, "nothing could fail");
    refused("[[cell]]\nname = \"a\"\na = \"x\"\nb = \"y\"\nmetrics = { }\n", 1, "nothing could fail");
}

#[test]
fn sides_have_to_go_together() {
    let cell = |keys: &str| format!("[[cell]]\nname = \"a\"\nmetrics = {{ wall_s = 3 }}\n{keys}\n");
    refused(&cell("a = \"x\""), 4, "`b` is missing");
    refused(&cell("b = \"x\""), 4, "`a` is missing");
    refused(&cell("command = \"{bin}\"\nb = \"x\""), 5, "use one or the other");
    refused(&cell("command = \"{bin}\"\nmodel = \"x\""), 5, "not with `command`");
    refused(&cell("a = \"{bin}\"\nb = \"x\""), 4, "only in `command`");
    refused(&cell("a = { kv = \"on\" }\nb = \"x\""), 4, "settings need `model");
    refused(&cell("model = \"m\"\na = { kv = \"on\" }\nb = \"x\""), 6, "must be a table of settings");
    refused(&cell("model = \"m\"\nsynthetic = \"s\"\na = {}\nb = {}"), 5, "either `model` or `synthetic`");
    refused(&cell("model = \"m\"\na = { kv = 1.5 }\nb = {}"), 5, "`kv` in `a` must be a string or a whole number");
}

#[test]
fn metrics_and_budgets_are_checked() {
    let cell = |keys: &str| format!("[[cell]]\nname = \"a\"\na = \"x\"\nb = \"y\"\n{keys}\n");
    refused(&cell("metrics = { wall_s = -1 }"), 5, "from 0 to 1000 percent, not -1");
    refused(&cell("metrics = { wall_s = nan }"), 5, "from 0 to 1000 percent");
    refused(&cell("metrics = { wall_s = \"3\" }"), 5, "a threshold in percent");
    refused(&cell("metrics = { a = 1, b = 1, c = 1, d = 1, e = 1, f = 1 }"), 5, "at most 5 metrics");
    let budget = |keys: &str| cell(&format!("budgets = [{{ metric = \"ttft_s\", {keys} }}]"));
    refused(&budget("quantile = 0.5"), 5, "needs either `at_most` or `at_least`");
    refused(&budget("at_most = 1, at_least = 1"), 5, "needs either `at_most` or `at_least`");
    refused(&budget("at_most = inf"), 5, "not finite");
    refused(&budget("at_most = 1, quantile = 1"), 5, "from 0.001 to 0.999");
    refused(&budget("at_most = 1, quantil = 0.5"), 5, "unknown key `quantil`");
    let config = read(&budget("at_most = 1"));
    assert_eq!((config.cells[0].gates.len(), config.cells[0].budgets[0].quantile), (0, 0.5));
    assert_eq!(read(&cell("metrics = { wall_s = {} }")).cells[0].gates[0].threshold, None);
}

#[test]
fn acceptances_need_a_reason_and_a_day() {
    let accept = |keys: &str| format!("{CELL}[[accept]]\ncell = \"a\"\nmetric = \"wall_s\"\n{keys}\n");
    let config = read(&accept("reason = \"r\"\nuntil = 2026-12-31\ncommit = \"C0FFEE\""));
    assert_eq!(
        (config.accepted[0].until.as_str(), config.accepted[0].commit.as_deref()),
        ("2026-12-31", Some("c0ffee"))
    );
    assert_eq!(read(&accept("reason = \"r\"\nuntil = \"2026-12-31\"")).accepted[0].until, "2026-12-31");
    refused(&accept("until = 2026-12-31"), 6, "needs a `reason`");
    refused(&accept("reason = \"  \"\nuntil = 2026-12-31"), 9, "is empty");
    refused(&accept("reason = \"r\""), 6, "needs a last day");
    refused(&accept("reason = \"r\"\nuntil = 2026-02-30"), 10, "");
    refused(&accept("reason = \"r\"\nuntil = 2026-12-31T10:00:00Z"), 10, "must be a day such as");
    refused(&accept("reason = \"r\"\nuntil = \"soon\""), 10, "must be a day such as");
    refused(&accept("reason = \"r\"\nuntil = 2026-12-31\ncommit = \"HEAD\""), 11, "digits of a commit");
    refused(&accept("reasons = \"r\"").replace("\"a\"\nmetric", "\"b\"\nmetric"), 9, "unknown key `reasons`");
    refused(&accept("reason = \"r\"").replace("cell = \"a\"", "cell = \"b\""), 7, "no cell `b`");
    refused(&accept("reason = \"r\"").replace("\"wall_s\"", "\"cpu_s\""), 8, "has no metric `cpu_s`");
}

#[test]
fn any_text_is_read_or_refused() {
    // Every beginning of the example, and every one with a byte that is not there.
    for end in (0..EXAMPLE.len()).filter(|end| EXAMPLE.is_char_boundary(*end)) {
        let _ = GateConfig::read(&EXAMPLE[..end]);
        let _ = GateConfig::read(&format!("{}]{}", &EXAMPLE[..end], &EXAMPLE[end..]));
    }
    let deep = format!("a = {}1{}", "[".repeat(10_000), "]".repeat(10_000));
    assert!(GateConfig::read(&deep).is_err());
}
