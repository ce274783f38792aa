//! Tables for spreadsheets, by RFC 4180. What was not measured is an empty cell.

use record::{Phase, Profile, Run};

use super::format::{Format, Writer};
use super::{figures, names};

pub(super) const SCOPES: Format = Format {
    name: "csv",
    extension: "csv",
    is_binary: false,
    about: "one line per scope path",
    opened_by: "open it in a spreadsheet; empty cells were not measured",
    write: Writer::Profile(|_, profile| scopes(profile).into_bytes()),
};

pub(super) const SAMPLES: Format = Format {
    name: "csv-samples",
    extension: "csv",
    is_binary: false,
    about: "one line per measured value",
    opened_by: "open it in a spreadsheet",
    write: Writer::Run(|run, _| samples(run).into_bytes()),
};

/// A line for each scope path, with every figure.
fn scopes(profile: &Profile) -> String {
    let mut paths: Vec<String> = Vec::with_capacity(profile.scopes.len());
    let mut depths: Vec<usize> = Vec::with_capacity(profile.scopes.len());
    let none = record::Scope::default();
    let names = figures::figures(&none).into_iter().map(|(name, _)| name.to_owned());
    let head = ["path", "name", "index", "depth", "file", "line", "is_sampled"].map(str::to_owned);
    let mut text = line(head.into_iter().chain(names));
    for scope in &profile.scopes {
        let (path, depth) = match scope.parent {
            Some(parent) => (format!("{} > {}", paths[parent], names::shown(scope)), depths[parent] + 1),
            None => (names::shown(scope), 0),
        };
        let index = if scope.is_other_index { "others".to_owned() } else { cell(scope.index) };
        let cells = [
            path.clone(),
            scope.name.clone(),
            index,
            depth.to_string(),
            scope.file.clone(),
            cell((!scope.file.is_empty()).then_some(scope.line)),
            scope.is_sampled.to_string(),
        ];
        text += &line(cells.into_iter().chain(figures::figures(scope).into_iter().map(|(_, value)| cell(value))));
        paths.push(path);
        depths.push(depth);
    }
    text
}

/// A line for each value of each sample; of values that come several to a sample, one for each of them.
fn samples(run: &Run) -> String {
    let head = ["row", "phase", "arm", "launch", "round", "start_ns", "metric", "unit", "position", "value"];
    let mut text = line(head.map(str::to_owned).into_iter());
    for sample in &run.samples {
        let phase = match sample.phase {
            Phase::Warmup => "warmup",
            Phase::Timed => "timed",
        };
        let single = sample.values.iter().map(|(metric, value)| (metric, None, *value));
        let several = sample.series.iter().flat_map(|(metric, values)| {
            values.iter().enumerate().map(move |(position, value)| (metric, Some(position), *value))
        });
        for (metric, position, value) in single.chain(several) {
            let unit = run.metrics.get(metric).map_or_else(String::new, |metric| metric.unit.clone());
            let cells = [
                sample.row.clone(),
                phase.to_owned(),
                sample.arm.clone().unwrap_or_default(),
                sample.launch.to_string(),
                sample.round.to_string(),
                sample.start_ns.to_string(),
                metric.clone(),
                unit,
                cell(position),
                value.to_string(),
            ];
            text += &line(cells.into_iter());
        }
    }
    text
}

fn cell(value: Option<impl ToString>) -> String {
    value.map_or_else(String::new, |value| value.to_string())
}

/// A line with cells quoted where they have to be.
pub(crate) fn line(cells: impl Iterator<Item = String>) -> String {
    cells.map(|cell| quoted(&cell)).collect::<Vec<_>>().join(",") + "\r\n"
}

/// A cell that a spreadsheet would evaluate gets an apostrophe before it, which shows it as text. Numbers stay numbers.
fn quoted(cell: &str) -> String {
    let is_formula = cell.starts_with(['=', '+', '-', '@', '\t', '\r']) && cell.parse::<f64>().is_err();
    let inert = format!("'{cell}");
    let cell = if is_formula { &inert } else { cell };
    let is_plain = !cell.contains([',', '"', '\r', '\n']) && cell.trim() == cell;
    if is_plain { cell.to_owned() } else { format!("\"{}\"", cell.replace('"', "\"\"")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_that_a_spreadsheet_would_evaluate_are_text() {
        let cells = ["=1+2", "+x", "-x", "@sum", "\tx", "-1.5", "+2", "a=b", "=\"q\""].map(str::to_owned);
        assert_eq!(line(cells.into_iter()), "'=1+2,'+x,'-x,'@sum,'\tx,-1.5,+2,a=b,\"'=\"\"q\"\"\"\r\n");
    }
}
