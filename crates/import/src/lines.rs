//! A text by lines. Who reads a line takes it; what nobody took is named.

use record::Unread;

/// Lines that are named one by one; behind them only their number is told.
const NAMED: usize = 200;
/// As much of a line as is shown.
const SHOWN: usize = 160;

/// A text whose lines are taken one by one.
pub(crate) struct Lines<'a> {
    lines: Vec<&'a str>,
    taken: Vec<bool>,
    unread: Vec<Unread>,
}

/// A row of a table.
pub(crate) struct TableRow<'a> {
    /// Its place among the lines.
    pub(crate) at: usize,
    pub(crate) cells: Vec<&'a str>,
}

impl<'a> Lines<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        let lines: Vec<&str> = text.lines().collect();
        Lines { taken: vec![false; lines.len()], lines, unread: Vec::new() }
    }

    pub(crate) fn len(&self) -> usize {
        self.lines.len()
    }

    pub(crate) fn get(&self, at: usize) -> &'a str {
        self.lines.get(at).copied().unwrap_or_default()
    }

    /// Says that a line was read.
    pub(crate) fn take(&mut self, at: usize) {
        if let Some(taken) = self.taken.get_mut(at) {
            *taken = true;
        }
    }

    /// Says why a line was not read.
    pub(crate) fn refuse(&mut self, at: usize, why: &str) {
        self.take(at);
        let line = self.get(at);
        let end = line.floor_char_boundary(SHOWN);
        self.unread.push(Unread {
            line: Some(at as u64 + 1),
            text: line[..end].trim().to_owned(),
            why: why.to_owned(),
        });
    }

    /// The place of the first line that is this one.
    pub(crate) fn find(&self, wanted: &str) -> Option<usize> {
        self.lines.iter().position(|line| line.trim() == wanted)
    }

    /// `**Key:** value`, wherever it stands, taken.
    pub(crate) fn fact(&mut self, key: &str) -> Option<&'a str> {
        self.fact_after(&format!("**{key}:**"))
    }

    /// `Key: value`, at or behind a place, taken.
    pub(crate) fn value(&mut self, from: usize, key: &str) -> Option<&'a str> {
        let found = (from..self.lines.len()).find(|at| self.lines[*at].trim().starts_with(key) && !self.taken[*at])?;
        self.take(found);
        Some(self.lines[found].trim()[key.len()..].trim())
    }

    fn fact_after(&mut self, start: &str) -> Option<&'a str> {
        let value = |line: &'a str| line.trim().trim_start_matches("- ").strip_prefix(start);
        let (at, value) = self.lines.iter().enumerate().find_map(|(at, line)| Some((at, value(line)?)))?;
        self.take(at);
        Some(value.trim())
    }

    /// The rows of every table with these headings, in order. Rows of another width are refused.
    pub(crate) fn table(&mut self, headings: &[&str]) -> Vec<TableRow<'a>> {
        let mut rows = Vec::new();
        let mut at = 0;
        while at < self.lines.len() {
            if cells(self.lines[at]).is_none_or(|found| found != headings) {
                at += 1;
                continue;
            }
            self.take(at);
            at += 1;
            while let Some(cells) = self.lines.get(at).and_then(|line| cells(line)) {
                if cells.iter().all(|cell| is_rule(cell)) {
                    self.take(at);
                } else if cells.len() != headings.len() {
                    self.refuse(at, &format!("it has {} cells, its table {} columns", cells.len(), headings.len()));
                } else {
                    self.take(at);
                    rows.push(TableRow { at, cells });
                }
                at += 1;
            }
        }
        rows
    }

    /// What was not read. Lines with one of these beginnings say nothing that was not read elsewhere; pictures before them
    /// do not count. `*` stands for any beginning.
    pub(crate) fn finish(mut self, said_elsewhere: &[&str]) -> Vec<Unread> {
        let mut more = 0;
        for at in 0..self.lines.len() {
            let bare = bare(self.lines[at]);
            let is_said = bare.is_empty() || said_elsewhere.iter().any(|known| says(bare, known));
            if self.taken[at] || is_said {
                continue;
            }
            if self.unread.len() < NAMED {
                self.refuse(at, "not a line of this format");
            } else {
                more += 1;
            }
        }
        if more > 0 {
            let why = "not lines of this format";
            self.unread.push(Unread { line: None, text: format!("{more} more lines"), why: why.to_owned() });
        }
        self.unread
    }
}

/// The cells of a row of a table.
fn cells(line: &str) -> Option<Vec<&str>> {
    let inner = line.trim().strip_prefix('|')?;
    let inner = inner.strip_suffix('|').unwrap_or(inner);
    Some(inner.split('|').map(str::trim).collect())
}

fn is_rule(cell: &str) -> bool {
    !cell.is_empty() && cell.bytes().all(|byte| matches!(byte, b'-' | b':' | b' '))
}

fn says(line: &str, known: &str) -> bool {
    known.strip_prefix('*').map_or_else(|| line.starts_with(known), |part| line.contains(part))
}

/// A line from its first letter or digit on: without marks of headings, lists and emphasis, and without pictures.
fn bare(line: &str) -> &str {
    line.trim_start_matches(|c: char| !c.is_ascii_alphanumeric())
}

/// The name in a cell, without the marks around it.
pub(crate) fn name(cell: &str) -> &str {
    cell.trim().trim_matches('`').trim_matches('*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_taken_or_named() {
        let text = "# Title\n\n**When:** now\n| a | b |\n|---|:-:|\n| 1 | 2 |\n| 3 |\nwhat is this\n## Known\n";
        let mut lines = Lines::new(text);
        assert_eq!(lines.fact("When"), Some("now"));
        let rows = lines.table(&["a", "b"]);
        assert_eq!(rows.len(), 1);
        assert_eq!((rows[0].at, &rows[0].cells[..]), (5, &["1", "2"][..]));
        let unread = lines.finish(&["Title", "Known"]);
        let found: Vec<(Option<u64>, &str)> = unread.iter().map(|part| (part.line, part.text.as_str())).collect();
        assert_eq!(found, [(Some(7), "| 3 |"), (Some(8), "what is this")]);
    }

    #[test]
    fn of_very_many_lines_the_number_is_told() {
        let text = "what\n".repeat(1_000);
        let unread = Lines::new(&text).finish(&[]);
        assert_eq!(unread.len(), NAMED + 1);
        assert_eq!(unread[NAMED].text, "800 more lines");
    }
}
