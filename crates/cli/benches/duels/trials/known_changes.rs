//! Two sides of which one has more to do.

use record::Verdict;

use crate::bench::{Bench, Request};
use crate::outcome::Outcome;
use crate::programs::{Disguise, Programs};
use crate::table::{Criterion, Row, Wanted};

const DUELS: usize = 20;
/// Of a program that takes 5 to 10 ms: the start of a process, half a millisecond, is the same on both sides.
const STEPS: u64 = 8_000_000;
/// Where the other side has ten times the work.
const QUICK_STEPS: u64 = 2_000_000;

/// The most that a duel by default settings may take, in seconds, at the median.
const WAIT_S: f64 = 45.0;
/// The most that a quick duel may take.
const QUICK_WAIT_S: f64 = 15.0;

/// Changes of a few percent, measured by default settings: nothing but the two sides is given.
pub fn planted(bench: &mut Bench) -> Result<(), String> {
    let program = bench.programs.compile("cpu")?;
    let mut criteria = Vec::new();
    let mut rows = Vec::new();
    for (percent, wanted) in [(5, 0.9), (10, 0.95), (-5, 0.9)] {
        let row = bench.duels(&format!("planted: {percent:+} %"), DUELS, |_, number| {
            let steps = STEPS.saturating_add_signed(STEPS as i64 / 100 * percent);
            Ok(request(&program, number, [STEPS, steps]))
        })?;
        let found = |outcome: &Outcome| outcome.is(right(percent > 0));
        criteria.push(Criterion::share(format!("{} found", row.name), &row.outcomes, found, Wanted::AtLeast(wanted)));
        let is_wrong = |outcome: &Outcome| has_wrong_sign(outcome, percent > 0);
        criteria.push(Criterion::share(format!("{} wrong sign", row.name), &row.outcomes, is_wrong, Wanted::None));
        rows.push(row);
    }
    criteria.push(Criterion::wait("planted: median wait", &rows, WAIT_S));
    bench.keep(criteria)
}

/// Large differences, by `--quick`.
pub fn quick(bench: &mut Bench) -> Result<(), String> {
    let program = bench.programs.compile("cpu")?;
    let (once, twice, tenfold) = (QUICK_STEPS, 2 * QUICK_STEPS, 10 * QUICK_STEPS);
    let pairs = [("2 times", [once, twice]), ("one half", [twice, once]), ("10 times", [once, tenfold])];
    for (name, steps) in pairs {
        let row = bench.duels(&format!("quick: {name} the work"), DUELS, |_, number| {
            Ok(Request { is_quick: true, ..request(&program, number, steps) })
        })?;
        keep_quick(bench, &row, steps[1] > steps[0])?;
    }
    let synthetic = if bench.options.is_smoke { "small" } else { "medium" };
    let row = bench.duels("quick: engine, KV cache", DUELS, |_, _| {
        let sides = ["--synthetic", synthetic, "--a", "kv=off", "--b", "kv=on"].map(str::to_owned);
        Ok(Request { sides: sides.into(), is_quick: true, ..Request::default() })
    })?;
    keep_quick(bench, &row, false)
}

fn keep_quick(bench: &mut Bench, row: &Row, is_slower: bool) -> Result<(), String> {
    let in_time = |outcome: &Outcome| outcome.is(right(is_slower)) && outcome.seconds <= QUICK_WAIT_S;
    let name = format!("{} in {QUICK_WAIT_S:.0} s", row.name);
    bench.keep(vec![
        Criterion::share(name, &row.outcomes, in_time, Wanted::AtLeast(0.95)),
        Criterion::share(
            format!("{} wrong sign", row.name),
            &row.outcomes,
            |outcome| has_wrong_sign(outcome, is_slower),
            Wanted::None,
        ),
    ])
}

/// The candidate is a copy under another name or with another byte.
fn request(program: &str, number: usize, [base, candidate]: [u64; 2]) -> Request {
    let copy = Programs::disguised(program, Disguise::of_duel(number));
    Request::new(format!("{program} {base}"), format!("{copy} {candidate}"))
}

fn right(is_slower: bool) -> Verdict {
    if is_slower { Verdict::Regressed } else { Verdict::Improved }
}

/// Leaning the wrong way counts too.
fn has_wrong_sign(outcome: &Outcome, is_slower: bool) -> bool {
    let wrong = if is_slower {
        [Verdict::Improved, Verdict::LeaningBetter]
    } else {
        [Verdict::Regressed, Verdict::LeaningWorse]
    };
    wrong.into_iter().any(|verdict| outcome.is(verdict))
}
