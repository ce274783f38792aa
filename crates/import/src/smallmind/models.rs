//! The comparison of SmallMind's two models, made of one enhanced report.

use super::SUBJECT;
use super::methods::{self, Mode};
use crate::draft::Draft;
use crate::format::ReadRuns;
use crate::lines::{Lines, name};
use crate::numbers::{decimal, mib_as_bytes, moment, ms_as_ns, whole, with_unit};
use crate::tree::{Callers, MOST_METHODS, Method};
use crate::{Result, Source};

pub(crate) const HEADING: &str = "# Model Size Performance Comparison";

const MODELS: [&str; 2] = ["Small", "Medium"];

const SAID_ELSEWHERE: &[&str] = &[
    "Model Size Performance Comparison",
    "Model Specifications",
    "Performance Metrics",
    "Scaling Efficiency Analysis",
    "Parameter Scaling:",
    "Time Scaling:",
    "Memory Scaling:",
    "Computational Efficiency:",
    "Excellent** -",
    "Good** -",
    "Fair** -",
    "Poor** -",
    "Ideal efficiency is 1.0x",
    "Forward Pass Analysis",
];

pub(crate) fn read(text: &str, _source: &Source) -> Result<ReadRuns> {
    let mut lines = Lines::new(text);
    let mut draft = Draft::new(SUBJECT, "smallmind-enhanced");
    draft.run.created = lines.fact("Generated").and_then(moment).unwrap_or_default();
    draft.note("The date is that of the report; the date of the measurement is unknown.");
    let mut found = inferences(&mut lines);
    let mut callers = Callers::new();
    for method in forwards(&mut lines) {
        let whole = method.name.replace("_Forward", "_Inference");
        // One token for each pass.
        draft.parameter("tokens", method.calls.to_string());
        callers.insert(method.name.clone(), vec![(whole, None)]);
        found.push(method);
    }
    draft.parameter("kv_cache", "off");
    let tokens: Vec<(String, u64)> = found
        .iter()
        .filter(|method| method.name.ends_with("_Forward"))
        .map(|method| (method.name.replace("_Forward", "_Inference"), method.calls))
        .collect();
    methods::add(&mut draft, found, &callers, Mode::Enhanced, None);
    for row in &mut draft.run.rows {
        let of_this = tokens.iter().find(|(whole, _)| *whole == row.name);
        row.tokens = row.tokens.or(of_this.map(|(_, tokens)| *tokens as f64));
    }
    specifications(&mut draft, &mut lines);
    Ok(ReadRuns { drafts: vec![draft], unread: lines.finish(SAID_ELSEWHERE) })
}

/// The whole generations of both models.
fn inferences(lines: &mut Lines<'_>) -> Vec<Method> {
    let mut found =
        MODELS.map(|model| Method { name: format!("Model_{model}_Inference"), calls: 1, ..Method::default() });
    let mut is_known = [false; 2];
    for row in lines.table(&["Metric", "Small Model", "Medium Model", "Ratio (Med/Small)"]) {
        for (at, cell) in [row.cells[1], row.cells[2]].into_iter().enumerate() {
            match name(row.cells[0]) {
                "Total Inference Time" => match with_unit(cell, "ms").and_then(ms_as_ns) {
                    Some(time) => (found[at].total_ns, is_known[at]) = (time, true),
                    None => lines.refuse(row.at, "the time is not a number"),
                },
                "Memory Allocated" => match with_unit(cell, "MB").and_then(mib_as_bytes) {
                    Some(bytes) => found[at].alloc_bytes = Some(bytes),
                    None => lines.refuse(row.at, "the memory is not a number"),
                },
                // They follow from the others.
                "Avg Time per Token" | "Tokens per Second" | "Memory per Token" => {}
                _ => {
                    lines.refuse(row.at, "unknown metric");
                    break;
                }
            }
        }
    }
    found.into_iter().zip(is_known).filter(|(_, is_known)| *is_known).map(|(method, _)| method).collect()
}

fn forwards(lines: &mut Lines<'_>) -> Vec<Method> {
    let mut found: Vec<Method> = Vec::new();
    for row in lines.table(&["Model", "Avg Forward Time", "Calls", "Total Forward Time"]) {
        let time = with_unit(row.cells[3], "ms").and_then(ms_as_ns);
        match (time, whole(row.cells[2])) {
            (Some(total_ns), Some(calls)) => {
                let name = format!("Model_{}_Forward", name(row.cells[0]));
                if found.iter().any(|known| known.name == name) || found.len() == MOST_METHODS {
                    lines.refuse(row.at, "a model of that name is already listed above, or there are too many");
                } else {
                    found.push(Method { name, calls, total_ns, ..Method::default() });
                }
            }
            _ => lines.refuse(row.at, "the time or the number of calls is not a number"),
        }
    }
    found
}

/// The sizes are constants of the program that prints them; where they are others than those of the source, that is said.
fn specifications(draft: &mut Draft, lines: &mut Lines<'_>) {
    for row in lines.table(&["Model", "Dimensions", "Layers", "Heads", "Parameters", "Context"]) {
        let Some(model) = draft.run.models.iter().find(|model| model.name == name(row.cells[0])) else {
            lines.refuse(row.at, "no speed of this model");
            continue;
        };
        let known = [model.width, model.layers, model.heads, model.parameters, model.context];
        let said: Vec<Option<u64>> = row.cells[1..].iter().map(|cell| whole(cell)).collect();
        if said.iter().zip(known).any(|(said, known)| *said != Some(known)) || decimal(row.cells[1]).is_none() {
            lines.refuse(row.at, "the sizes differ from SmallMind's source, which is used");
        }
    }
}
