//! Our output in the originals' layouts, read by the rules of their readers, beside their own files.

use std::path::PathBuf;

use report::{run_loopos, run_smallmind};

use super::runs;

/// A row as SmallMind's comparison reads it.
#[derive(Debug, PartialEq)]
struct Method {
    name: String,
    time_ms: f64,
    calls: u64,
    mean_ms: f64,
    alloc_mb: f64,
}

/// The lines between the heading of the hot paths and that of the allocators.
fn hot_path_rows(text: &str) -> Vec<Vec<String>> {
    let lines = text.lines().skip_while(|line| !line.contains("\u{1f525} Hot Paths")).skip(1);
    let lines = lines.take_while(|line| !line.contains("\u{1f4be} Top Allocators"));
    let rows = lines.filter(|line| line.starts_with("| ") && !line.contains("Rank") && !line.contains("---"));
    rows.map(|line| line.split('|').map(|cell| cell.trim().to_owned()).filter(|cell| !cell.is_empty()).collect())
        .collect()
}

/// Cells by their places; a row that cannot be read is none.
fn enhanced(text: &str) -> Vec<Method> {
    let number = |cell: &String| cell.replace(',', "").parse::<f64>().ok();
    let read = |cells: &Vec<String>| {
        Some(Method {
            name: cells.get(1)?.trim_matches('`').to_owned(),
            time_ms: number(cells.get(2)?)?,
            calls: cells.get(3)?.replace(',', "").parse().ok()?,
            mean_ms: number(cells.get(4)?)?,
            alloc_mb: cells.get(5).map_or(Some(0.0), number)?,
        })
    };
    hot_path_rows(text).iter().filter_map(read).collect()
}

/// The standard report has the share before the calls, with its sign.
fn standard(text: &str) -> Vec<Method> {
    let number = |cell: &String| cell.replace(',', "").parse::<f64>().ok();
    let read = |cells: &Vec<String>| {
        let share = cells.get(3)?.strip_suffix('%')?.parse::<f64>().ok()?;
        let [least, most] = [number(cells.get(6)?)?, number(cells.get(7)?)?];
        assert!(share >= 0.0 && least >= 0.0 && most >= 0.0);
        Some(Method {
            name: cells.get(1)?.trim_matches('`').to_owned(),
            time_ms: number(cells.get(2)?)?,
            calls: cells.get(4)?.replace(',', "").parse().ok()?,
            mean_ms: number(cells.get(5)?)?,
            alloc_mb: 0.0,
        })
    };
    hot_path_rows(text).iter().filter_map(read).collect()
}

/// The lines that are the same in every report: headings, names of fields, heads of tables.
fn skeleton(text: &str) -> Vec<String> {
    let keeps = |line: &&str| {
        line.starts_with('#') && !line.contains('`') || line.starts_with("| Rank") || line.starts_with("|--")
    };
    let field = |line: &str| line.find(":**").map(|end| line[..end].to_owned());
    let kept = text.lines().filter_map(|line| {
        field(line).filter(|field| !field.contains("Called by")).or_else(|| Some(line).filter(keeps).map(str::to_owned))
    });
    kept.collect()
}

/// The originals' own files of a kind; none where they are not at hand.
fn real(kind: &str) -> Vec<String> {
    let Some(folder) = testing::shared(&format!("smallmind/{kind}")) else {
        return Vec::new();
    };
    let files = std::fs::read_dir(folder).expect("the folder can be read");
    let mut paths: Vec<PathBuf> = files.filter_map(|file| Some(file.ok()?.path())).collect();
    paths.sort();
    paths.iter().map(|path| std::fs::read_to_string(path).expect("the file can be read")).collect()
}

fn methods_profiled(text: &str) -> usize {
    let line = text.lines().find_map(|line| line.split_once("**Methods Profiled:** ")).expect("the field is there");
    line.1.parse().expect("a number")
}

#[track_caller]
fn check(text: &str, parse: fn(&str) -> Vec<Method>, most: usize) {
    let methods = parse(text);
    assert_eq!(methods.len(), methods_profiled(text).min(most), "every row is read:\n{text}");
    for method in &methods {
        let product = method.mean_ms * method.calls as f64;
        assert!(
            (product - method.time_ms).abs() <= 0.01 * method.time_ms + 0.006 * method.calls as f64 + 0.01,
            "{method:?}"
        );
    }
    assert!(methods.windows(2).all(|pair| pair[0].time_ms >= pair[1].time_ms), "longest first");
}

#[test]
fn enhanced_reports_are_read_by_their_rules() {
    let ours = run_smallmind(&runs::enhanced());
    check(&ours, enhanced, 30);
    assert!(enhanced(&ours).iter().any(|method| method.alloc_mb > 0.0));
    for text in real("enhanced") {
        check(&text, enhanced, 30);
        assert_eq!(skeleton(&text), skeleton(&ours));
    }
}

/// Their readers take the time of a model for that of one inference.
#[test]
fn enhanced_reports_have_the_calls_of_one_pass() {
    let mut run = runs::enhanced();
    let specs: Vec<runs::Spec> = vec![
        ("lab::enhanced", None, None, 1_000, 1),
        ("lab::MatMul_512x512", None, Some(0), 7_000_000, 1),
        ("lab::Model_Small_Inference", None, Some(0), 2_500_000, 1),
        ("engine::forward", None, Some(2), 500_000, 25),
    ];
    run.profile = Some(runs::profile(runs::scopes(&specs), 0));
    let text = run_smallmind(&run);
    check(&text, enhanced, 30);
    let found: Vec<(String, f64, u64)> =
        enhanced(&text).into_iter().map(|method| (method.name, method.time_ms, method.calls)).collect();
    assert_eq!(found, [("MatMul_512x512".to_owned(), 7.0, 1), ("Model_Small_Inference".to_owned(), 3.0, 1)]);
}

#[test]
fn standard_reports_are_read_by_their_rules() {
    let ours = run_smallmind(&runs::standard());
    check(&ours, standard, 20);
    for text in real("standard") {
        check(&text, standard, 20);
        assert_eq!(skeleton(&text), skeleton(&ours));
    }
}

#[test]
fn totals_count_nothing_twice() {
    let number = |text: &str, field: &str| -> f64 {
        let line = text.lines().find_map(|line| line.split_once(field)).expect("the field is there");
        line.1.split_whitespace().next().and_then(|word| word.parse().ok()).expect("a number")
    };
    let run = runs::standard();
    let profile = run.profile.as_ref().expect("it has one");
    let wall = profile.wall_ns as f64 / 1e6;
    let profiled = profile.scopes.iter().map(|scope| scope.self_ns).sum::<u64>() as f64 / 1e6;
    assert!((number(&run_smallmind(&run), "**Total Runtime:** ") - wall).abs() < 0.01);
    assert!((number(&run_loopos(&run, 15), "Total profiled time: ") - profiled).abs() < 0.01);
    let enhanced_run = runs::enhanced();
    let parts: Vec<&str> =
        enhanced_run.rows.iter().filter(|row| row.part_of.is_some()).map(|row| row.name.as_str()).collect();
    let text = run_smallmind(&enhanced_run);
    let roots: f64 =
        enhanced(&text).iter().filter(|method| !parts.contains(&&*method.name)).map(|method| method.time_ms).sum();
    assert!(!parts.is_empty() && (number(&text, "**Total Runtime:** ") - roots).abs() < 0.1);
}

#[test]
fn loopos_has_its_columns() {
    assert!(run_loopos(&runs::standard(), 2).contains("Showing top 2 by total time"));
    let text = run_loopos(&runs::standard(), 15);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(
        lines[5],
        "Name                                           Calls    Total (ms)    Avg (ms)    Min (ms)    Max (ms)    % Time"
    );
    assert!(lines[6].len() == 112 && lines[6].bytes().all(|byte| byte == b'-') && lines[6] == lines[lines.len() - 1]);
    let rows = &lines[7..lines.len() - 1];
    assert!(!rows.is_empty() && rows.len() <= 15);
    for row in rows {
        assert_eq!(row.len(), 112, "{row}");
        let numbers: Vec<&str> = row[40..].split_whitespace().collect();
        assert_eq!(numbers.len(), 6);
        assert!(numbers[..5].iter().all(|number| number.parse::<f64>().is_ok()) && numbers[5].ends_with('%'), "{row}");
    }
}

#[test]
fn what_only_stands_around_the_work_is_no_method() {
    let mut run = runs::standard();
    let root = "lab::workload::standard::standard";
    let specs: Vec<runs::Spec> =
        vec![(root, None, None, 9_000_000, 1), ("lab::InferenceComplete", None, Some(0), 7_000_000, 1)];
    run.profile = Some(runs::profile(runs::scopes(&specs), 0));
    let (smallmind, loopos) = (run_smallmind(&run), run_loopos(&run, 15));
    let names: Vec<String> = standard(&smallmind).into_iter().map(|method| method.name).collect();
    assert!(!names.is_empty() && names.iter().all(|name| name == "InferenceComplete"), "{names:?}");
    assert!(loopos.contains("Total entries: 1\n") && !loopos.contains("\nstandard"), "{loopos}");
    assert!(!smallmind.contains("| 0.000 | 0.00% |"), "what allocates nothing is no allocator:\n{smallmind}");
}
