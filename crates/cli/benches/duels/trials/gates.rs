//! Budgets and common changes in `hotloop gate`.

use record::{BudgetState, Gate, Verdict};

use crate::bench::{self, Bench, SMOKE_ROUNDS};
use crate::outcome::Outcome;
use crate::programs::{Disguise, Programs};
use crate::table::{Criterion, Wanted};

const GATES: usize = 5;
const TAIL_BROKEN: &str = "p95 broken";
const MEDIAN_KEPT: &str = "median kept";

/// A program of which one call in ten takes 100 ms and the others 5, and five programs that are 10 % slower.
pub fn gate(bench: &mut Bench) -> Result<(), String> {
    let budgets = budgets(bench)?;
    let budgets = bench.row("gate: budgets", GATES, |bench, _| run(bench, &budgets, budget_words))?;
    let drift = drift(bench)?;
    let drift = bench.row("gate: 5 cells, +10 %", GATES, |bench, _| run(bench, &drift, |_| Vec::new()))?;
    let called = |word: &'static str| move |outcome: &Outcome| outcome.has(word);
    let has_regressed = |outcome: &Outcome| outcome.is(Verdict::Regressed);
    bench.keep(vec![
        Criterion::share("gate: p95 broken", &budgets.outcomes, called(TAIL_BROKEN), Wanted::AtLeast(1.0)),
        Criterion::share("gate: p95 kept (false)", &budgets.outcomes, called("p95 kept"), Wanted::None),
        Criterion::share("gate: median kept", &budgets.outcomes, called(MEDIAN_KEPT), Wanted::AtLeast(1.0)),
        Criterion::share("gate: median broken (false)", &budgets.outcomes, called("median broken"), Wanted::None),
        Criterion::share("gate: five cells regressed", &drift.outcomes, has_regressed, Wanted::AtLeast(1.0)),
    ])
}

/// The limits lie between a usual call and the mean of all, and between that and a slow call: a mean breaks the first and keeps
/// the second.
fn budgets(bench: &Bench) -> Result<String, String> {
    let program = bench.programs.compile("sleep")?;
    let copy = Programs::disguised(&program, Disguise::Appended);
    let (head, round_s) = effort(bench, 0.25, "launches = 6\nrounds = 10");
    let text = format!(
        "{head}round_s = {round_s}

[[cell]]
name = \"tail\"
a = \"{program} 5000 100000 10\"
b = \"{copy} 5000 100000 10\"
output = \"any\"
metrics = {{ wall_s = {{ threshold = 50, advisory = true }} }}

[[cell.budgets]]
metric = \"wall_s\"
quantile = 0.95
at_most = 0.05

[[cell.budgets]]
metric = \"wall_s\"
quantile = 0.5
at_most = 0.01
"
    );
    bench.programs.write("budgets.toml", &text)
}

fn drift(bench: &Bench) -> Result<String, String> {
    let program = bench.programs.compile("cpu")?;
    let copy = Programs::disguised(&program, Disguise::Appended);
    let (mut text, round_s) = effort(bench, 0.02, "");
    for cell in 1..=5 {
        let steps = 4_000_000 + 100_000 * cell;
        text += &format!(
            "
[[cell]]
name = \"cell{cell}\"
a = \"{program} {steps}\"
b = \"{copy} {}\"
round_s = {round_s}
output = \"any\"
metrics = {{ cpu_s = 3 }}
",
            steps + steps / 10
        );
    }
    bench.programs.write("drift.toml", &text)
}

/// The first lines of a configuration, and seconds of a round.
fn effort(bench: &Bench, usual_s: f64, usual: &str) -> (String, f64) {
    let seed = bench.options.seed;
    let asked_s = bench.options.round_ms.map(|ms| ms / 1e3);
    if bench.options.is_smoke {
        return (format!("seed = {seed}\nmode = \"quick\"\nrounds = {SMOKE_ROUNDS}\n"), asked_s.unwrap_or(0.002));
    }
    (format!("seed = {seed}\n{usual}\n"), asked_s.unwrap_or(usual_s))
}

fn run(bench: &mut Bench, config: &str, words: fn(&Gate) -> Vec<String>) -> Result<Outcome, String> {
    let command = ["gate", "--config", config, "--json"].map(str::to_owned);
    let (output, seconds) = bench.run(&command)?;
    if let Some(failure) = bench::failure(&command, &output) {
        return Ok(Outcome::failed(failure, seconds));
    }
    Ok(match Gate::from_json(&String::from_utf8_lossy(&output.stdout)) {
        Ok(gate) => Outcome { verdict: gate.verdict, words: words(&gate), seconds, ..Outcome::default() },
        Err(error) => Outcome::failed(format!("hotloop gate --json: {error}"), seconds),
    })
}

fn budget_words(gate: &Gate) -> Vec<String> {
    let budgets = gate.cells.iter().flat_map(|cell| &cell.budgets);
    let word = |budget: &record::Budget| {
        let quantile = if budget.quantile > 0.5 { "p95" } else { "median" };
        let state = match budget.state {
            BudgetState::Kept => "kept",
            BudgetState::Broken => "broken",
            BudgetState::Unresolved => "unresolved",
            BudgetState::NotMeasured => "not measured",
        };
        format!("{quantile} {state}")
    };
    budgets.map(word).collect()
}
