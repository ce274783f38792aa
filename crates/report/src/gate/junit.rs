//! The gate as a test report that build servers read: a case for each metric and each budget.
//!
//! Elements and attributes are those that the schema of Jenkins' xUnit plugin knows.

use record::{Budget, BudgetState, Gate, GateCell, Judgement, Reason, ReasonSubject, Verdict};

use super::figures::{self, change_with_interval, percent};
use super::{is_compared, word};
use crate::document::printable;

/// A case of the report.
struct Case {
    name: String,
    result: CaseResult,
    /// What was measured, whatever the result.
    output: String,
}

enum CaseResult {
    Passed,
    Failed(&'static str, String),
    /// The tool could not do it.
    Errored(String),
    /// It was looked at and decides nothing, or cannot be told.
    Skipped(String),
}

/// The whole file.
pub fn write(gate: &Gate) -> String {
    let suites: Vec<(&GateCell, Vec<Case>)> = gate.cells.iter().map(|cell| (cell, cases(gate, cell))).collect();
    let mut others = acceptances(gate);
    others.extend(interruption(gate));
    let all = || suites.iter().flat_map(|(_, cases)| cases).chain(&others);
    let mut text = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"hotloop gate\" {} time=\"{:.3}\">\n",
        counts(all().collect::<Vec<_>>().as_slice(), false),
        gate.cells.iter().filter_map(|cell| cell.seconds).sum::<f64>()
    );
    for (cell, cases) in &suites {
        text.push_str(&suite(gate, &cell.name, cell.seconds.unwrap_or(0.0), cases));
    }
    if !others.is_empty() {
        text.push_str(&suite(gate, "gate", 0.0, &others));
    }
    text + "</testsuites>\n"
}

fn suite(gate: &Gate, name: &str, seconds: f64, cases: &[Case]) -> String {
    let stamp = gate.created.get(..19).unwrap_or("1970-01-01T00:00:00");
    let mut text = format!(
        "  <testsuite name=\"{}\" {} time=\"{seconds:.3}\" timestamp=\"{}\">\n",
        escaped(name),
        counts(&cases.iter().collect::<Vec<_>>(), true),
        escaped(stamp)
    );
    text.extend(cases.iter().map(|case| self::case(name, case)));
    text + "  </testsuite>\n"
}

fn counts(cases: &[&Case], with_skipped: bool) -> String {
    let count = |is: fn(&CaseResult) -> bool| cases.iter().filter(|case| is(&case.result)).count();
    let skipped = count(|result| matches!(result, CaseResult::Skipped(_)));
    let skipped = if with_skipped { format!(" skipped=\"{skipped}\"") } else { String::new() };
    format!(
        "tests=\"{}\" failures=\"{}\" errors=\"{}\"{skipped}",
        cases.len(),
        count(|result| matches!(result, CaseResult::Failed(..))),
        count(|result| matches!(result, CaseResult::Errored(_))),
    )
}

fn case(suite: &str, case: &Case) -> String {
    let inner = match &case.result {
        CaseResult::Passed => String::new(),
        CaseResult::Failed(kind, sentence) => {
            format!("      <failure type=\"{kind}\" message=\"{}\"/>\n", escaped(sentence))
        }
        CaseResult::Errored(sentence) => format!("      <error type=\"fault\" message=\"{}\"/>\n", escaped(sentence)),
        CaseResult::Skipped(sentence) => format!("      <skipped message=\"{}\"/>\n", escaped(sentence)),
    };
    let output = if case.output.is_empty() {
        String::new()
    } else {
        format!("      <system-out>{}</system-out>\n", escaped(&case.output))
    };
    format!(
        "    <testcase classname=\"hotloop.{}\" name=\"{}\">\n{inner}{output}    </testcase>\n",
        escaped(suite),
        escaped(&case.name)
    )
}

/// A case for each metric that is judged and each budget; one for the cell where it was not measured or cannot be compared.
fn cases(gate: &Gate, cell: &GateCell) -> Vec<Case> {
    let mut cases = Vec::new();
    if cell.failure.is_some() || cell.findings.iter().any(|finding| !is_compared(finding)) {
        let result = result(gate, cell, ReasonSubject::Cell, None);
        cases.push(Case { name: "measurement".to_owned(), result, output: String::new() });
    }
    for finding in cell.findings.iter().filter(|finding| is_compared(finding)) {
        cases.extend(cell.gates.iter().map(|declared| {
            let metric = &declared.metric;
            let judgement = finding.judgements.iter().find(|judgement| judgement.metric == *metric);
            let result = result(gate, cell, ReasonSubject::Metric, Some(metric));
            Case { name: metric.clone(), result, output: judgement.map_or_else(String::new, measured) }
        }));
    }
    if cell.failure.is_none() && cell.findings.iter().all(is_compared) {
        cases.extend(cell.budgets.iter().map(|budget| self::budget(gate, cell, budget)));
    }
    cases
}

/// What the reasons say of a metric or of a whole cell. What is warned of is skipped: there is no word for a warning.
fn result(gate: &Gate, cell: &GateCell, about: ReasonSubject, metric: Option<&String>) -> CaseResult {
    let is_meant = |reason: &&Reason| {
        reason.about == about && reason.cell.as_ref() == Some(&cell.name) && reason.metric.as_ref() == metric
    };
    if let Some(reason) = gate.reasons.iter().find(is_meant) {
        return match reason.code {
            1 => CaseResult::Errored(reason.sentence.clone()),
            code => CaseResult::Failed(kind(code), reason.sentence.clone()),
        };
    }
    gate.warnings
        .iter()
        .find(is_meant)
        .map_or(CaseResult::Passed, |reason| CaseResult::Skipped(reason.sentence.clone()))
}

fn budget(gate: &Gate, cell: &GateCell, budget: &Budget) -> Case {
    let output = budget.refused.clone().unwrap_or_else(|| figures::budget(cell, budget));
    let result = match budget.state {
        BudgetState::Kept => CaseResult::Passed,
        _ if cell.advisory => CaseResult::Skipped(output.clone()),
        BudgetState::Broken => CaseResult::Failed("budget", output.clone()),
        BudgetState::Unresolved if gate.fail_on_unresolved => {
            CaseResult::Failed(word(Verdict::Unresolved), output.clone())
        }
        BudgetState::Unresolved => CaseResult::Skipped(output.clone()),
        BudgetState::NotMeasured => CaseResult::Errored(output.clone()),
    };
    Case { name: format!("budget of {}: {}", budget.metric, figures::bound(cell, budget)), result, output }
}

fn kind(code: u8) -> &'static str {
    match code {
        11 => word(Verdict::Unresolved),
        12 => word(Verdict::Incomparable),
        13 => word(Verdict::Unstable),
        14 => word(Verdict::WrongOutput),
        _ => word(Verdict::Regressed),
    }
}

fn measured(judgement: &Judgement) -> String {
    let floor = judgement.floor.map_or_else(String::new, |floor| format!(", noise floor {}", percent(floor)));
    let visible = judgement.visible.map_or_else(String::new, |visible| format!(", detectable {}", percent(visible)));
    format!("{} {}{floor}{visible}. {}", word(judgement.verdict), change_with_interval(judgement), judgement.sentence)
}

/// Expired acceptances have a case each.
fn acceptances(gate: &Gate) -> Vec<Case> {
    let over = gate.accepted.iter().filter(|one| one.state == record::AcceptanceState::Expired);
    over.map(|one| Case {
        name: format!("acceptance of {}/{}", one.cell, one.metric),
        result: CaseResult::Failed("expired", format!("accepted until {}: {}", one.until, one.reason)),
        output: String::new(),
    })
    .collect()
}

fn interruption(gate: &Gate) -> Option<Case> {
    let sentence = "interrupted before everything was measured".to_owned();
    gate.interrupted.then(|| Case {
        name: "measurement".to_owned(),
        result: CaseResult::Errored(sentence),
        output: String::new(),
    })
}

/// As XML has text and attributes.
fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for letter in printable(text).chars() {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            // No characters of XML, however they are written.
            '\u{fffe}' | '\u{ffff}' => escaped.push('?'),
            other => escaped.push(other),
        }
    }
    escaped
}
