//! Two sides with the same code, which the files do not show: whatever is called regressed or improved is false.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::SystemTime;

use record::Verdict;

use crate::bench::{Bench, Request};
use crate::outcome::Outcome;
use crate::programs::{Disguise, Programs};
use crate::table::{Criterion, Row, Wanted};

/// Duels of all kinds of program together.
const DUELS: usize = 200;
const ROUND_MS: f64 = 20.0;

/// Less than a call takes, so that a round is one call: then what depends on the position hits one side of each round.
const ONE_CALL_MS: f64 = 2.0;

/// Judged by the CPU time, in which the noise of [`position`] and [`sticky`] lies.
const CPU_METRIC: &str = "cpu_s=3%";

/// Steps of the chain in `work.h`, about 1 ns each.
const STEPS: u64 = 4_000_000;

/// A kind of program: its commands for a duel, base and candidate.
struct Kind {
    name: &'static str,
    sides: Box<dyn Fn(Disguise) -> [String; 2]>,
}

/// Six kinds of program.
pub fn same(bench: &mut Bench) -> Result<(), String> {
    let kinds = kinds(&bench.programs)?;
    let mut rows = Vec::new();
    for (place, kind) in kinds.iter().enumerate() {
        let usual = DUELS / kinds.len() + usize::from(place < DUELS % kinds.len());
        rows.push(bench.duels(&format!("same: {}", kind.name), usual, |_, number| {
            Ok(same_code_request((kind.sides)(Disguise::of_duel(number)), number, ROUND_MS))
        })?);
    }
    bench.keep(false_verdicts("same", &rows))
}

fn kinds(programs: &Programs) -> Result<Vec<Kind>, String> {
    let of = |name: &'static str, program: &str, arguments: String| {
        let program = programs.compile(program)?;
        let sides = move |disguise| disguised_sides(&program, &arguments, disguise);
        Ok::<_, String>(Kind { name, sides: Box::new(sides) })
    };
    let mut kinds = vec![
        of("CPU", "cpu", STEPS.to_string())?,
        of("memory", "memory", "32 1".to_owned())?,
        of("bimodal", "bimodal", STEPS.to_string())?,
        of("sleep", "sleep", "5000 5000 0".to_owned())?,
    ];
    let drift = programs.compile("drift")?;
    kinds.push(Kind {
        name: "drift",
        sides: Box::new(move |disguise| {
            let since_1970 = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
            disguised_sides(&drift, &format!("{STEPS} {} 3", since_1970.as_secs()), disguise)
        }),
    });
    kinds.push(interpreter(programs)?);
    Ok(kinds)
}

fn disguised_sides(program: &str, arguments: &str, disguise: Disguise) -> [String; 2] {
    [program.to_owned(), Programs::disguised(program, disguise)].map(|program| format!("{program} {arguments}"))
}

/// The start of Python, or of a shell where there is no Python.
fn interpreter(programs: &Programs) -> Result<Kind, String> {
    if let Some(python) = python() {
        // Its file finds its library by its place, so that it is not copied: the program that it runs differs by a comment.
        let sides = ["pass", "pass # other"].map(|program| format!("'{}' -c '{program}'", python.display()));
        return Ok(Kind { name: "Python start", sides: Box::new(move |_| sides.clone()) });
    }
    let shell = std::fs::canonicalize("/bin/sh").map_err(|error| format!("cannot find /bin/sh: {error}"))?;
    let shell = programs.adopt(&shell)?;
    Ok(Kind { name: "shell start", sides: Box::new(move |disguise| disguised_sides(&shell, "-c :", disguise)) })
}

/// The interpreter itself: what the path finds may be a script that looks for it.
fn python() -> Option<PathBuf> {
    let mut command = Command::new("python3");
    let output = command.args(["-c", "import sys; print(sys.executable)"]).stdin(Stdio::null()).output().ok()?;
    let path = PathBuf::from(String::from_utf8(output.stdout).ok()?.trim());
    (output.status.success() && path.is_file()).then_some(path)
}

/// A third of all processes, of whichever side, has 30 % more to do.
pub fn position(bench: &mut Bench) -> Result<(), String> {
    let program = bench.programs.compile("position")?;
    let same = bench.duels("position: same", 40, |bench, number| {
        let file = bench.programs.write("position.txt", "")?;
        let sides = disguised_sides(&program, &format!("{STEPS} {file}"), Disguise::of_duel(number));
        Ok(same_code_request(sides, number, ONE_CALL_MS))
    })?;
    let slowed = bench.duels("position: +10 % work", 20, |bench, number| {
        let file = bench.programs.write("position.txt", "")?;
        let [base, _] = disguised_sides(&program, &format!("{STEPS} {file}"), Disguise::of_duel(number));
        let more = STEPS + STEPS / 10;
        let [_, candidate] = disguised_sides(&program, &format!("{more} {file}"), Disguise::of_duel(number));
        Ok(Request {
            metric: Some(CPU_METRIC),
            is_seeded: true,
            round_ms: Some(ONE_CALL_MS),
            ..Request::new(base, candidate)
        })
    })?;
    expect_text(bench, "position.txt")?;
    let found = |outcome: &Outcome| outcome.is(Verdict::Regressed);
    let mut criteria = false_verdicts("position", &[same]);
    criteria.push(Criterion::share("position: +10 % found", &slowed.outcomes, found, Wanted::AtLeast(0.8)));
    bench.keep(criteria)
}

/// A process has less to do where the one before was of the same file.
pub fn sticky(bench: &mut Bench) -> Result<(), String> {
    let program = bench.programs.compile("sticky")?;
    let same = bench.duels("sticky: same", 40, |bench, number| {
        let file = bench.programs.write("sticky.txt", "")?;
        let sides = disguised_sides(&program, &format!("{STEPS} {file}"), Disguise::of_duel(number));
        Ok(same_code_request(sides, number, ONE_CALL_MS))
    })?;
    expect_text(bench, "sticky.txt")?;
    bench.keep(false_verdicts("sticky", &[same]))
}

/// Every second pair of duels has the disguised file as its base.
fn same_code_request(sides: [String; 2], number: usize, round_ms: f64) -> Request {
    let [first, second] = sides;
    let (base, candidate) = if (number / 2).is_multiple_of(2) { (first, second) } else { (second, first) };
    let metric = (round_ms == ONE_CALL_MS).then_some(CPU_METRIC);
    Request { metric, is_seeded: true, round_ms: Some(round_ms), ..Request::new(base, candidate) }
}

/// The noise of these programs is in a file: where that stays empty, there was none.
fn expect_text(bench: &Bench, file: &str) -> Result<(), String> {
    let path = bench.programs.path(file)?;
    let text = std::fs::read_to_string(&path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    if text.is_empty() { Err(format!("no program wrote {}: its noise is missing", path.display())) } else { Ok(()) }
}

fn false_verdicts(trial: &str, rows: &[Row]) -> Vec<Criterion> {
    let outcomes = || rows.iter().flat_map(|row| &row.outcomes);
    vec![
        Criterion::share(format!("{trial}: false verdicts"), outcomes(), Outcome::is_false, Wanted::None),
        Criterion::share(format!("{trial}: intervals without 0"), outcomes(), Outcome::excludes_zero, Wanted::Anything),
    ]
}
