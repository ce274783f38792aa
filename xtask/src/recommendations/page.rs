//! The page, from what the duels found and nothing else.

use serde_json::Value;

use super::found::{Found, Range, word};
use super::questions::{Bound, Claim, Measure, QUESTIONS, Question};

/// Metrics of the tables below each duel, in their order.
const SHOWN: &[&str] = &[
    "tokens_per_s",
    "prefill_tokens_per_s",
    "decode_tokens_per_s",
    "ttft_s",
    "token_s",
    "cpu_s",
    "peak_rss_bytes",
    "alloc_bytes",
];

/// The result of one duel, or why it was not run.
pub type Answer = Result<Found, String>;

/// The page. `answers` has those of each question in order.
pub fn page(answers: &[Vec<Answer>]) -> String {
    let mut text = String::from(
        "# Speed-up advice, tested\n\n\
         Written by `cargo xtask recommendations`; do not edit it. The reports of SmallMind (a C# language-model engine with a\n\
         built-in profiler; Hotloop's predecessor) recommend five changes. Each one is tested by duels of Hotloop's engine: both\n\
         sides in fresh processes, in turns, with a placebo of the first side, at most eight launches of six rounds. A claim is\n\
         *proved* if the whole 95 % confidence interval of the change is at least what it promises, *disproved* if none of it is,\n\
         and *not shown* otherwise, or if the machine was too busy to decide.\n\n",
    );
    text += &machine(answers);
    text += &summary(answers);
    for (question, answers) in QUESTIONS.iter().zip(answers) {
        text += &section(question, answers);
    }
    text
}

/// Where and when, from the first duel: all run one after another.
fn machine(answers: &[Vec<Answer>]) -> String {
    let Some(first) = answers.iter().flatten().find_map(|answer| answer.as_ref().ok()) else { return String::new() };
    let machine = &first.duel["environment"]["machine"];
    let git = &first.duel["arms"][0]["subject"]["git"];
    let commit: String = git["commit"].as_str().unwrap_or("unknown").chars().take(12).collect();
    let dirty = if git["dirty"] == true { ", with changes" } else { "" };
    let loads: Vec<f64> = answers.iter().flatten().flatten().flat_map(loads).collect();
    let highest = loads.iter().copied().fold(0.0, f64::max);
    let lowest = loads.iter().copied().fold(f64::INFINITY, f64::min);
    let load = if loads.is_empty() { String::new() } else { format!("; load {lowest:.1} to {highest:.1}") };
    format!(
        "- Machine: {}, {} CPUs, {}{load}\n- Started: {}\n- Commit: {commit}{dirty}\n- Mode: {}\n\n",
        machine["cpu"]["model"].as_str().unwrap_or("unknown CPU"),
        machine["threads"],
        machine["os"].as_str().unwrap_or("unknown system"),
        first.duel["created"].as_str().unwrap_or("unknown"),
        first.duel["design"]["mode"].as_str().unwrap_or("unknown"),
    )
}

/// Programs that wanted to run, behind each round.
fn loads(found: &Found) -> Vec<f64> {
    let samples = found.duel["samples"].as_array().into_iter().flatten();
    samples.filter_map(|sample| sample["values"]["env_load_1m"].as_f64()).collect()
}

fn summary(answers: &[Vec<Answer>]) -> String {
    let mut text = String::from("| Recommendation | Model | Claim | Measured | Result |\n|---|---|---|---|---|\n");
    for (question, answers) in QUESTIONS.iter().zip(answers) {
        for (fight, answer) in question.duels.iter().zip(answers) {
            for claim in fight.claims {
                let number = question.title.split(':').next().unwrap_or_default();
                let (found, word) = match answer {
                    Err(_) => ("not measured".to_owned(), "not shown"),
                    Ok(found) => {
                        let range = found.measured(claim);
                        (shown(claim, range), word(range, claim.bound).name())
                    }
                };
                let on = model_of(fight.arguments);
                text += &format!("| {number} | {on} | {} | {found} | **{word}** |\n", claim.says);
            }
        }
    }
    text + "\n"
}

/// The model of a duel, in short.
fn model_of(arguments: &str) -> &str {
    let mut words = arguments.split_whitespace();
    words.find(|word| matches!(*word, "--synthetic" | "--model"));
    let name = words.next().unwrap_or_default();
    let file = name.rsplit('/').next().unwrap_or(name);
    file.split(['-', '.']).next().unwrap_or(file)
}

/// A value with its interval, in the words of the claim.
fn shown(claim: &Claim, range: Option<Range>) -> String {
    let Some(range) = range else { return "unknown".to_owned() };
    match claim.measure {
        Measure::Change(_) => change(range, matches!(claim.bound, Bound::AtLeast(least) if least >= 0.5)),
        Measure::BytesPerToken => format!("{} bytes per token, exact", number(range.estimate)),
        Measure::Weights => format!("{:.2}× less, exact", 1.0 / range.estimate),
        Measure::Perplexity => change(range, false),
    }
}

/// A change in percent, or as a multiple where people speak of those.
fn change(range: Range, times: bool) -> String {
    let Range { estimate, low, high } = range;
    if low == high {
        return format!("{} %, exact", signed(100.0 * estimate));
    }
    if times {
        let of = |share: f64| number(1.0 + share);
        return format!("{}× [{}, {}]", of(estimate), of(low), of(high));
    }
    let of = |share: f64| signed(100.0 * share);
    format!("{} % [{}, {}]", of(estimate), of(low), of(high))
}

/// Three digits.
fn number(value: f64) -> String {
    match value.abs() {
        0.0 => "0".to_owned(),
        ..0.01 => format!("{value:.2e}"),
        ..10.0 => format!("{value:.2}"),
        ..100.0 => format!("{value:.1}"),
        _ => format!("{value:.0}"),
    }
}

fn signed(value: f64) -> String {
    let sign = if value < 0.0 { "−" } else { "+" };
    format!("{sign}{}", number(value.abs()))
}

fn section(question: &Question, answers: &[Answer]) -> String {
    let mut text = format!("## {}\n\n{}\n\n", question.title, question.asks);
    for (fight, answer) in question.duels.iter().zip(answers) {
        match answer {
            Err(reason) => text += &format!("On {}: not measured, {reason}.\n\n", model_of(fight.arguments)),
            Ok(found) => text += &outcome(found),
        }
    }
    text
}

/// One duel: its command, what was said of each candidate, its figures.
fn outcome(found: &Found) -> String {
    let mut text = format!("```sh\n{}\n```\n\n", found.command);
    for finding in found.findings() {
        let name = finding["arm"].as_str().unwrap_or_default();
        let label = found.arm(name).and_then(|arm| arm["label"].as_str()).unwrap_or_default();
        let verdict = finding["verdict"].as_str().unwrap_or_default();
        let sentence = finding["sentence"].as_str().unwrap_or_default();
        text += &match deciding_change(found, name) {
            Some(change) => format!("**{name}** (`{label}`): **{verdict}**, {change}.\n"),
            None => format!("**{name}** (`{label}`): **{verdict}**. {sentence}\n"),
        };
        if let Some(agreement) = found.arm(name).and_then(|arm| arm.get("agreement")) {
            let (equal, of) = (&agreement["equal"], &agreement["of"]);
            text += &format!(
                "Greedy decoding: {equal} of {of} tokens agree with A, counted up to the first difference of each sequence.\n"
            );
        }
        if let Some((base, candidate)) = found.prefill_flops(name).filter(|_| found.command.contains("isa=")) {
            text += &format!("Prefill: {} → {} GFLOP/s.\n", number(base / 1e9), number(candidate / 1e9));
        }
        text += "\n";
        text += &table(found, name);
    }
    let notes = found.duel["notes"].as_array().into_iter().flatten().filter_map(Value::as_str);
    notes.for_each(|note| text += &format!("- {note}\n"));
    if !text.ends_with("\n\n") {
        text.push('\n');
    }
    text
}

/// The metric that the command declares, and its change.
fn deciding_change(found: &Found, arm: &str) -> Option<String> {
    let (_, metric) = found.command.rsplit_once("--metric ")?;
    let range = change_range(found.judgement(arm, metric)?)?;
    Some(format!("{metric} {}", change(range, range.estimate >= 1.0)))
}

fn change_range(judgement: &Value) -> Option<Range> {
    let share = |name: &str| judgement["change"][name].as_f64();
    Some(Range { estimate: share("estimate")?, low: share("low")?, high: share("high")? })
}

fn table(found: &Found, arm: &str) -> String {
    let mut text = String::from("| Metric | A | ") + arm + " | Change | Floor | Verdict |\n|---|---|---|---|---|---|\n";
    for metric in SHOWN {
        let Some(judgement) = found.judgement(arm, metric) else { continue };
        let value = |name: &str| judgement[name].as_f64().map_or_else(|| "–".to_owned(), number);
        let floor =
            judgement["floor"].as_f64().map_or_else(|| "–".to_owned(), |floor| format!("{} %", number(100.0 * floor)));
        text += &format!(
            "| {metric} | {} | {} | {} | {floor} | {} |\n",
            value("base"),
            value("candidate"),
            change_range(judgement).map_or_else(|| "–".to_owned(), |range| change(range, range.estimate >= 1.0)),
            judgement["verdict"].as_str().unwrap_or_default(),
        );
    }
    text + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A duel whose candidate is so much faster.
    fn faster(low: f64, high: f64) -> Answer {
        let judgement = serde_json::json!({
            "metric": "tokens_per_s", "verdict": "improved", "base": 100.0, "candidate": 250.0, "floor": 0.02,
            "change": { "estimate": f64::midpoint(low, high), "low": low, "high": high },
        });
        let duel = serde_json::json!({
            "created": "2026-01-02T03:04:05Z",
            "design": { "mode": "standard", "calls": 2 },
            "arms": [
                { "name": "A", "label": "kv=off", "subject": { "git": { "commit": "0123456789abcdef", "dirty": false } } },
                { "name": "B", "label": "kv=on", "agreement": { "equal": 49, "of": 50 } },
            ],
            "environment": { "machine": { "cpu": { "model": "A CPU" }, "threads": 2, "os": "Linux" } },
            "samples": [{ "values": { "env_load_1m": 3.25 } }],
            "findings": [{ "arm": "B", "verdict": "improved", "sentence": "It is faster.", "judgements": [judgement] }],
        });
        Ok(Found { command: "hotloop duel --metric tokens_per_s".to_owned(), duel })
    }

    /// The page where every question but the second is unanswered.
    fn with_second(answer: fn() -> Answer) -> String {
        let unanswered = || Err("`file` is missing".to_owned());
        let answers: Vec<Vec<Answer>> = QUESTIONS
            .iter()
            .enumerate()
            .map(|(at, question)| {
                question.duels.iter().map(|_| if at == 1 { answer() } else { unanswered() }).collect()
            })
            .collect();
        page(&answers)
    }

    #[test]
    fn the_page_has_the_machine_the_claims_and_the_words() {
        let page = with_second(|| faster(0.5, 2.5));
        for part in [
            "- Machine: A CPU, 2 CPUs, Linux; load 3.2 to 3.2\n",
            "- Commit: 0123456789ab\n",
            "| R2 | medium | +40–60 % for more than 32 tokens | +150 % [+50.0, +250] | **proved** |\n",
            "| R2 | stories15M |",
            "| R4 | medium | 2–3× throughput (4 at a time) | not measured | **not shown** |\n",
            "**B** (`kv=on`): **improved**, tokens_per_s 2.50× [1.50, 3.50].\nGreedy decoding: 49 of 50 tokens agree with A",
            "| tokens_per_s | 100 | 250 | 2.50× [1.50, 3.50] | 2.00 % | improved |\n",
            "On medium: not measured, `file` is missing.\n",
        ] {
            assert!(page.contains(part), "{part}\nis missing in\n{page}");
        }
        assert!(with_second(|| faster(0.1, 0.3)).contains("| **disproved** |"));
        assert!(with_second(|| faster(0.1, 0.9)).contains("+50.0 % [+10.0, +90.0] | **not shown** |"));
    }

    #[test]
    fn figures_are_short() {
        let range = |estimate, low, high| Range { estimate, low, high };
        assert_eq!(change(range(-0.5, -0.6, -0.4), false), "−50.0 % [−60.0, −40.0]");
        assert_eq!(change(range(1.5, 0.9, 2.0), true), "2.50× [1.90, 3.00]");
        assert_eq!(change(range(0.0, 0.0, 0.0), false), "+0 %, exact");
        assert_eq!(number(0.001_234), "1.23e-3");
        assert_eq!(model_of("--a x --model ../shared/data/models/stories15M-q8_0.gguf"), "stories15M");
    }
}
