//! Tables of llama-bench: Markdown as it is printed, CSV and SQL. None of them holds more than means.

use record::{Model, Unread};
use serde_json::{Map, Value};

use super::{Entry, Test, entry, model};
use crate::lines::{Lines, TableRow};
use crate::numbers::{decimal, whole};
use crate::{Error, Result};

/// Columns that are numbers; the others are settings, and stay texts.
const NUMBERS: &[&str] =
    &["model_size", "model_n_params", "n_prompt", "n_gen", "n_depth", "avg_ns", "stddev_ns", "avg_ts", "stddev_ts"];
/// Columns that are 0 or 1 here and `false` or `true` in JSON.
const FLAGS: &[&str] = &[
    "cuda",
    "opencl",
    "vulkan",
    "kompute",
    "metal",
    "sycl",
    "rpc",
    "gpu_blas",
    "blas",
    "cpu_strict",
    "f16_kv",
    "no_kv_offload",
    "use_mmap",
    "embeddings",
    "no_host",
];
const COLUMN: &str = "build_commit";
const INSERT: &str = "INSERT INTO ";

pub(super) fn read(text: &str, entries: &mut Vec<Entry>, unread: &mut Vec<Unread>) -> Result<()> {
    let mut lines = Lines::new(text);
    let is_csv = |line: &str| csv(line).is_some_and(|cells| cells.iter().any(|cell| cell == COLUMN));
    if let Some(head) = (0..lines.len()).find(|at| is_csv(lines.get(*at))) {
        read_csv(&mut lines, head, entries, unread);
    } else if (0..lines.len()).any(|at| lines.get(at).starts_with(INSERT)) {
        read_sql(&mut lines, entries, unread);
    } else {
        read_markdown(&mut lines, entries)?;
    }
    unread.extend(lines.finish(&[]));
    Ok(())
}

/// The cells of a line; nothing where a quote is not closed.
fn csv(line: &str) -> Option<Vec<String>> {
    let mut cells = Vec::new();
    let mut rest = line;
    loop {
        let mut cell = String::new();
        if let Some(mut quoted) = rest.strip_prefix('"') {
            loop {
                let (part, behind) = quoted.split_once('"')?;
                cell.push_str(part);
                // Two quotes stand for one.
                let Some(more) = behind.strip_prefix('"') else {
                    rest = behind;
                    break;
                };
                cell.push('"');
                quoted = more;
            }
        } else {
            let end = rest.find(',').unwrap_or(rest.len());
            cell.push_str(&rest[..end]);
            rest = &rest[end..];
        }
        cells.push(cell);
        match rest.strip_prefix(',') {
            Some(behind) => rest = behind,
            None => return rest.trim().is_empty().then_some(cells),
        }
    }
}

/// Files that were joined have the head again before each part.
fn read_csv(lines: &mut Lines<'_>, head: usize, entries: &mut Vec<Entry>, unread: &mut Vec<Unread>) {
    let mut names: Vec<String> = Vec::new();
    for at in head..lines.len() {
        let Some(cells) = csv(lines.get(at)) else {
            lines.refuse(at, "unclosed quote: the line was cut off");
            continue;
        };
        if cells.iter().any(|cell| cell == COLUMN) {
            lines.take(at);
            names = cells;
        } else if !lines.get(at).trim().is_empty() {
            read_row(lines, at, (&names, cells), entries, unread);
        }
    }
}

fn read_sql(lines: &mut Lines<'_>, entries: &mut Vec<Entry>, unread: &mut Vec<Unread>) {
    let mut in_table = false;
    for at in 0..lines.len() {
        let line = lines.get(at).trim();
        in_table |= line.starts_with("CREATE TABLE");
        if in_table {
            lines.take(at);
            in_table = !line.ends_with(");");
        } else if line.starts_with(INSERT) {
            match insert(line) {
                Some((names, cells)) => read_row(lines, at, (&names, cells), entries, unread),
                None => lines.refuse(at, "no list of columns and values, or the line was cut off"),
            }
        }
    }
}

/// `INSERT INTO test (a, b) VALUES ('1', '2');`. Quotes in values are written as they are, so values are parted by all that
/// stands between two of them.
fn insert(line: &str) -> Option<(Vec<String>, Vec<String>)> {
    let (_, columns) = line.split_once(" (")?;
    let (columns, values) = columns.split_once(") VALUES (")?;
    let values = values.strip_suffix(");")?.strip_prefix('\'')?.strip_suffix('\'')?;
    let owned = |parts: std::str::Split<'_, &str>| parts.map(|part| part.trim().to_owned()).collect();
    Some((owned(columns.split(",")), owned(values.split("', '"))))
}

fn read_row(
    lines: &mut Lines<'_>,
    at: usize,
    (names, cells): (&[String], Vec<String>),
    entries: &mut Vec<Entry>,
    unread: &mut Vec<Unread>,
) {
    if cells.len() != names.len() {
        return lines.refuse(at, &format!("it has {} cells, its table {} columns", cells.len(), names.len()));
    }
    lines.take(at);
    let fields: Map<String, Value> = names
        .iter()
        .zip(cells)
        .map(|(name, cell)| {
            let value = match cell.as_str() {
                "0" | "1" if FLAGS.contains(&name.as_str()) => Value::Bool(cell == "1"),
                _ if NUMBERS.contains(&name.as_str()) => number(&cell).unwrap_or(Value::String(cell)),
                _ => Value::String(cell),
            };
            (name.clone(), value)
        })
        .collect();
    entries.extend(entry(Value::Object(fields), &format!("line {}", at + 1), unread));
}

fn number(cell: &str) -> Option<Value> {
    let whole = cell.parse::<u64>().ok().map(Value::from);
    whole.or_else(|| cell.parse::<f64>().ok().filter(|number| number.is_finite()).map(Value::from))
}

/// The tables that are printed, each with its own columns.
fn read_markdown(lines: &mut Lines<'_>, entries: &mut Vec<Entry>) -> Result<()> {
    let mut tables: Vec<Vec<&str>> = Vec::new();
    for at in 0..lines.len() {
        let cells: Vec<&str> = lines.get(at).trim().trim_matches('|').split('|').map(str::trim).collect();
        let is_head = |speed: &str| ["model", "test", speed].iter().all(|wanted| cells.contains(wanted));
        if (is_head("t/s") || is_head(OUR_SPEED)) && !tables.contains(&cells) {
            tables.push(cells);
        }
    }
    if tables.is_empty() {
        return Err(Error::new("no table with the columns model, test and t/s"));
    }
    let build = lines.value(0, "build:").and_then(|text| match text.strip_prefix("hotloop ") {
        Some(ours) => ours.split_once('(')?.1.split(')').next(),
        None => text.split_whitespace().next(),
    });
    let commit = build.filter(|commit| *commit != "unknown").map(str::to_owned);
    for headings in tables.iter().take(MOST_TABLES) {
        for row in lines.table(headings) {
            match markdown_row(headings, &row, commit.as_ref()) {
                Some(entry) => entries.push(entry),
                None => lines.refuse(row.at, "invalid test or speed"),
            }
        }
    }
    Ok(())
}

/// The heading of speeds in the table of `hotloop bench`.
const OUR_SPEED: &str = "tok/s";
/// Columns that are no settings. The last two are those of `hotloop bench`.
const NO_SETTINGS: &[&str] = &["model", "size", "params", "test", "t/s", OUR_SPEED, "quant", "repeats"];

/// Tables with other columns than those before, each of which is looked for in all lines.
const MOST_TABLES: usize = 32;

fn markdown_row(headings: &[&str], row: &TableRow<'_>, commit: Option<&String>) -> Option<Entry> {
    let cell = |name: &str| headings.iter().position(|heading| *heading == name).map(|at| row.cells[at]);
    let test = cell("test").and_then(Test::parse)?;
    let is_ours = headings.contains(&OUR_SPEED);
    let speed = cell(if is_ours { OUR_SPEED } else { "t/s" })?;
    let (mean, spread) = speed.split_once('\u{b1}').unwrap_or((speed, ""));
    // Ours has commas between thousands.
    let rate = if is_ours { decimal(&mean.replace(',', "")) } else { decimal(mean) }.filter(|rate| *rate > 0.0)?;
    let sizes = (cell("params").and_then(scaled).unwrap_or(0), cell("size").and_then(scaled).unwrap_or(0));
    let settings = headings.iter().copied().filter(|name| !NO_SETTINGS.contains(name));
    let renamed = |name: &str| if name == "threads" { "n_threads".to_owned() } else { name.to_owned() };
    Some(Entry {
        place: format!("line {}", row.at + 1),
        test,
        times: vec![test.tokens() as f64 / rate],
        is_mean: true,
        spread: Some(spread.trim().to_owned()),
        model: match (cell("model").unwrap_or_default(), is_ours) {
            (kind, false) => model("", kind, sizes),
            (file, true) => {
                let format = cell("quant").unwrap_or_default().to_owned();
                Model { format, ..model(&unescaped(file), "", sizes) }
            }
        },
        is_ours,
        commit: commit.cloned(),
        cpu: None,
        created: String::new(),
        settings: settings.filter_map(|name| Some((renamed(name), cell(name)?.to_owned()))).collect(),
    })
}

/// A text of Markdown without the marks that take the meaning from others.
fn unescaped(text: &str) -> String {
    let mut characters = text.chars().peekable();
    let mut plain = String::new();
    while let Some(character) = characters.next() {
        if character != '\\' || !characters.peek().is_some_and(char::is_ascii_punctuation) {
            plain.push(character);
        } else {
            plain.extend(characters.next());
        }
    }
    plain
}

/// `15.40 MiB`, `15.19 M`: rounded, as the table has them.
fn scaled(text: &str) -> Option<u64> {
    let (number, unit) = text.split_once(' ')?;
    let scale = match unit {
        "K" => 1e3,
        "M" => 1e6,
        "B" => 1e9,
        "T" => 1e12,
        "KiB" => 1024.0,
        "MiB" => f64::from(1 << 20),
        "GiB" => f64::from(1 << 30),
        _ => return whole(text),
    };
    Some((decimal(number)? * scale).round() as u64)
}
