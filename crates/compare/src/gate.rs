//! Whether a change passes the gate: the worst verdict that counts decides.

mod sentences;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use record::{
    Acceptance, AcceptanceState, Budget, BudgetState, CellState, Drift, Finding, Gate, GateCell, Reason, ReasonSubject,
    Verdict,
};

use crate::{common_mode, overall};

/// The exit code for a cell that could not be measured.
const FAULT: u8 = 1;
const REGRESSED: u8 = 10;
const UNRESOLVED: u8 = 11;
/// The exit code that shells use for an interrupted program.
const INTERRUPTED: u8 = 130;
/// The codes of what does not pass, the gravest first. Another result, and sides that do not answer the question, make every
/// speed meaningless; a regression was seen twice, while a fault or an unstable machine says little about the change.
const GRAVEST: [u8; 7] = [INTERRUPTED, 14, 12, REGRESSED, FAULT, 13, UNRESOLVED];
/// A verdict or fault of a cell.
struct CellReason {
    /// `None` if it could not be measured.
    verdict: Option<Verdict>,
    /// Whether it is advisory: it never fails the gate.
    is_advisory: bool,
    about: ReasonSubject,
    metric: Option<String>,
    sentence: String,
}

/// Decides what was measured: fills in the drift, what became of acceptances, and the verdicts of the cells and of all.
///
/// `today` is the day that acceptances have to reach, such as `2026-12-31`.
#[must_use]
pub fn gate(measured: Gate, today: &str) -> Gate {
    let mut gate = Gate { reasons: Vec::new(), warnings: Vec::new(), ..measured };
    let mut drifts = drifts(&gate.cells).into_iter();
    (gate.drift, gate.other_drifts) = (drifts.next(), drifts.collect());
    for acceptance in &mut gate.accepted {
        let is_over = acceptance.until.as_str() < today;
        acceptance.state = if is_over { AcceptanceState::Expired } else { AcceptanceState::NotNeeded };
    }
    gate.warnings = gate.drift.iter().chain(&gate.other_drifts).map(warning).collect();
    let mut words: Vec<Verdict> = Vec::new();
    let mut around = GateContext { commits: &gate.commits, accepted: &mut gate.accepted };
    for cell in &mut gate.cells {
        let marks = around.marks(cell);
        let counting = marks.iter().filter(|mark| mark.counts());
        let counting: Vec<Verdict> = counting.filter_map(|mark| mark.verdict).collect();
        cell.verdict = worst(&counting);
        words.extend(counting);
        let (failed, warned) = sorted_out(marks, &cell.name, gate.fail_on_unresolved);
        cell.standing = match (failed.is_empty(), warned.is_empty()) {
            (false, _) => CellState::Failed,
            (true, false) => CellState::Warned,
            (true, true) => CellState::Passed,
        };
        gate.reasons.extend(failed);
        gate.warnings.extend(warned);
    }
    conclude(gate, words)
}

/// Sides are measured in turns, so a machine that gets slower makes no side slower: what all cells have in common is real, and is
/// only pointed out.
fn warning(drift: &Drift) -> Reason {
    let (metric, sentence) = (Some(drift.metric.clone()), sentences::drifted(drift));
    Reason { code: 0, about: ReasonSubject::All, cell: None, metric, sentence }
}

fn conclude(mut gate: Gate, mut words: Vec<Verdict>) -> Gate {
    for acceptance in gate.accepted.iter().filter(|acceptance| acceptance.state == AcceptanceState::Expired) {
        words.push(Verdict::Regressed);
        gate.reasons.push(Reason {
            code: REGRESSED,
            about: ReasonSubject::Acceptance,
            cell: Some(acceptance.cell.clone()),
            metric: Some(acceptance.metric.clone()),
            sentence: sentences::expired(acceptance),
        });
    }
    if gate.interrupted {
        let sentence = "interrupted before everything was measured".to_owned();
        gate.reasons.push(Reason { code: INTERRUPTED, sentence, ..Reason::default() });
    }
    gate.reasons.sort_by_key(|reason| GRAVEST.iter().position(|code| *code == reason.code));
    gate.exit_code = gate.reasons.first().map_or(0, |reason| reason.code);
    gate.passed = gate.exit_code == 0;
    gate.verdict = worst(&words);
    gate
}

impl CellReason {
    /// Another result is no matter of speed, of which alone a cell can be advisory.
    fn counts(&self) -> bool {
        !self.is_advisory || self.verdict == Some(Verdict::WrongOutput)
    }

    /// Its own exit code; 0 if it passes.
    fn code(&self) -> u8 {
        self.verdict.map_or(FAULT, exit_code)
    }
}

/// The exit code that a verdict leads to by itself; 0 where it passes. What is not known passes unless somebody asked otherwise.
#[must_use]
pub fn exit_code(verdict: Verdict) -> u8 {
    match verdict {
        Verdict::Regressed | Verdict::Mixed => REGRESSED,
        Verdict::Unresolved | Verdict::LeaningWorse => UNRESOLVED,
        Verdict::Incomparable => 12,
        Verdict::Unstable => 13,
        Verdict::WrongOutput => 14,
        Verdict::Same | Verdict::LeaningBetter | Verdict::Improved => 0,
    }
}

/// The reasons to fail, and the warnings.
fn sorted_out(marks: Vec<CellReason>, cell: &str, fail_on_unresolved: bool) -> (Vec<Reason>, Vec<Reason>) {
    let (mut failed, mut warned) = (Vec::new(), Vec::new());
    for mark in marks.into_iter().filter(|mark| mark.code() != 0) {
        let fails = mark.counts() && (mark.code() != UNRESOLVED || fail_on_unresolved);
        let code = mark.code();
        let CellReason { about, metric, sentence, .. } = mark;
        let reason = Reason { code, about, cell: Some(cell.to_owned()), metric, sentence };
        if fails { failed.push(reason) } else { warned.push(reason) }
    }
    (failed, warned)
}

/// The worst of several verdicts; `None` if there are none.
fn worst(words: &[Verdict]) -> Option<Verdict> {
    (!words.is_empty()).then(|| overall(words.iter().copied()))
}

/// Of metrics that something is judged by and that are not exact, in cells that could be compared.
fn drifts(cells: &[GateCell]) -> Vec<Drift> {
    let is_exact = |cell: &GateCell, name: &str| cell.metrics.get(name).is_some_and(|metric| metric.exact);
    let noisy = |cell: &GateCell| -> Vec<String> {
        let names = cell.gates.iter().map(|gate| gate.metric.clone());
        names.filter(|name| !is_exact(cell, name)).collect()
    };
    let metrics: BTreeSet<String> = cells.iter().flat_map(noisy).collect();
    let comparable = |finding: &&Finding| is_compared(finding) && finding.verdict != Verdict::Unstable;
    let findings: Vec<&Finding> = cells.iter().filter_map(|cell| cell.findings.first()).filter(comparable).collect();
    common_mode(&metrics.iter().map(String::as_str).collect::<Vec<_>>(), &findings)
}

/// Whether two sides answer the same question, so that their speeds mean something.
fn is_compared(finding: &Finding) -> bool {
    !matches!(finding.verdict, Verdict::WrongOutput | Verdict::Incomparable)
}

/// The context for deciding about a cell.
struct GateContext<'a> {
    commits: &'a [String],
    accepted: &'a mut [Acceptance],
}

impl GateContext<'_> {
    /// All verdicts and faults of a cell, except accepted regressions.
    fn marks(&mut self, cell: &GateCell) -> Vec<CellReason> {
        let about = |verdict, sentence: &str| CellReason {
            verdict,
            is_advisory: cell.advisory,
            about: ReasonSubject::Cell,
            metric: None,
            sentence: sentence.to_owned(),
        };
        if let Some(failure) = &cell.failure {
            return vec![about(None, failure)];
        }
        let mut marks = Vec::new();
        for finding in &cell.findings {
            match finding.verdict {
                verdict @ (Verdict::WrongOutput | Verdict::Incomparable) => {
                    marks.push(about(Some(verdict), &finding.sentence));
                }
                _ => marks.extend(cell.gates.iter().filter_map(|gate| self.judged(cell, finding, &gate.metric))),
            }
        }
        // What was not measured, or is something else, has no values to keep a limit by.
        if cell.findings.iter().all(is_compared) {
            marks.extend(cell.budgets.iter().filter_map(|budget| spent(cell, budget)));
        }
        marks
    }

    /// What was found out about a metric; nothing where it is worse and somebody accepted that.
    fn judged(&mut self, cell: &GateCell, finding: &Finding, metric: &str) -> Option<CellReason> {
        let is_advisory = cell.advisory || cell.advisory_metrics.iter().any(|name| name == metric);
        let about = ReasonSubject::Metric;
        let mark =
            |verdict, sentence| CellReason { verdict, is_advisory, about, metric: Some(metric.to_owned()), sentence };
        let Some(judgement) = finding.judgements.iter().find(|judgement| judgement.metric == metric) else {
            return Some(mark(None, sentences::not_measured(cell)));
        };
        let (verdict, sentence) = (judgement.verdict, judgement.sentence.clone());
        let is_worse = matches!(verdict, Verdict::Regressed | Verdict::LeaningWorse);
        if is_worse && !is_advisory && self.accept(cell, metric) {
            return None;
        }
        Some(mark(Some(verdict), sentence))
    }

    /// Whether somebody accepted that a metric is worse here; one whose day is over accepts nothing.
    fn accept(&mut self, cell: &GateCell, metric: &str) -> bool {
        let is_meant = |acceptance: &&mut Acceptance| {
            let is_here = |commit: &String| self.commits.iter().any(|ours| ours.starts_with(commit.as_str()));
            acceptance.state != AcceptanceState::Expired
                && acceptance.cell == cell.name
                && acceptance.metric == metric
                && acceptance.commit.as_ref().is_none_or(is_here)
        };
        let meant = self.accepted.iter_mut().find(is_meant);
        meant.map(|acceptance| acceptance.state = AcceptanceState::Used).is_some()
    }
}

/// The reason from a budget; `None` if it is kept.
fn spent(cell: &GateCell, budget: &Budget) -> Option<CellReason> {
    let verdict = match budget.state {
        BudgetState::Kept => return None,
        BudgetState::Broken => Some(Verdict::Regressed),
        BudgetState::Unresolved => Some(Verdict::Unresolved),
        BudgetState::NotMeasured => None,
    };
    let sentence = sentences::budget(cell, budget);
    let metric = Some(budget.metric.clone());
    Some(CellReason { verdict, is_advisory: cell.advisory, about: ReasonSubject::Budget, metric, sentence })
}
