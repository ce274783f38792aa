//! The plan of a dry run.

use lab::gate::{CellConfig, CellEffort, CellSides, GateConfig};

use super::revisions::Revisions;

/// The minimum duration of a round, unless the cell has one.
const ROUND_S: f64 = compare::rules::ROUND_S;

/// A paragraph for each cell.
pub fn text(config: &GateConfig, cells: &[&CellConfig], revisions: Option<&Revisions>) -> String {
    let mut text = String::new();
    if let Some(Revisions { base, head, commits, is_dirty }) = revisions {
        text.push_str(&format!("base  {} ({})\nhead  {} ({})\n", base.commit, base.name, head.commit, head.name));
        let word = if commits.len() == 1 { "commit" } else { "commits" };
        text.push_str(&format!("      {} {word} between them\n", commits.len()));
        if *is_dirty {
            text.push_str("      uncommitted changes are not measured\n");
        }
    }
    for cell in cells {
        text.push_str(&self::cell(cell));
    }
    for one in &config.accepted {
        // A line break could start a line that a build server takes for a command.
        let reason = one.reason.replace(char::is_control, " ");
        text.push_str(&format!("\naccepted until {}: {}/{} ({reason})\n", one.until, one.cell, one.metric));
    }
    let strict = if config.fail_on_unresolved { "fails" } else { "passes with a warning" };
    let least: f64 = cells.iter().map(|cell| seconds(&cell.effort)).sum();
    text + &format!(
        "\nAn undecided cell {strict}. All cells take at least {least:.0} s, plus builds, process starts and warm-up.\n"
    )
}

fn cell(cell: &CellConfig) -> String {
    let advisory = if cell.advisory { ", advisory" } else { "" };
    let (launches, rounds) = size(&cell.effort);
    let mut text =
        format!("\n{} ({}: {launches} launches of {rounds} rounds{advisory})\n", cell.name, cell.effort.mode.name);
    let (base, candidate) = sides(&cell.sides);
    text.push_str(&format!("  a  {base}\n  b  {candidate}\n"));
    for gate in &cell.gates {
        // Without the digits that come from writing percent as shares.
        let percent = |share: f64| format!("{} %", (share * 1e8).round() / 1e6);
        let threshold = gate.threshold.map_or_else(|| "its default threshold".to_owned(), percent);
        let advisory = if gate.advisory { ", advisory" } else { "" };
        text.push_str(&format!("  judged by {} at {threshold}{advisory}\n", gate.metric));
    }
    for budget in &cell.budgets {
        let (bound, limit) = match (budget.at_most, budget.at_least) {
            (Some(limit), _) => ("at most", limit),
            (None, limit) => ("at least", limit.unwrap_or_default()),
        };
        text.push_str(&format!("  budget of {}: {bound} {limit} at quantile {}\n", budget.metric, budget.quantile));
    }
    text
}

/// What each side is, as it was asked for.
pub fn sides(sides: &CellSides) -> (String, String) {
    let settings =
        |model: &Option<String>, synthetic: &Option<String>, words: &std::collections::BTreeMap<String, String>| {
            let words: Vec<String> = words.iter().map(|(name, value)| format!("{name}={value}")).collect();
            let model = model.as_ref().or(synthetic.as_ref()).map_or("", String::as_str);
            format!("{model} {}", words.join(" ")).trim_end().to_owned()
        };
    match sides {
        CellSides::Revisions { command } => {
            let line = |side: &str| command.join(" ").replace(lab::gate::BIN, side);
            (line("BASE"), line("HEAD"))
        }
        CellSides::Commands { a, b } => (a.join(" "), b.join(" ")),
        CellSides::Settings { model, synthetic, a, b } => {
            (settings(model, synthetic, a), settings(model, synthetic, b))
        }
    }
}

/// Launches and rounds.
fn size(effort: &CellEffort) -> (u64, u64) {
    (effort.launches.unwrap_or(effort.mode.launches), effort.rounds.unwrap_or(effort.mode.rounds))
}

/// What all rounds take at least.
fn seconds(effort: &CellEffort) -> f64 {
    let (launches, rounds) = size(effort);
    let arms = if effort.mode.placebo { 3 } else { 2 };
    (launches * rounds * arms) as f64 * effort.round_s.unwrap_or(ROUND_S)
}
