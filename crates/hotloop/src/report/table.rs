//! Text in columns.

use std::fmt::Write;

/// A table: the first column to the left, the others to the right, each as wide as it needs.
pub(super) struct Table {
    headings: Vec<&'static str>,
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(super) fn new(headings: &[&'static str]) -> Self {
        Table { headings: headings.to_vec(), rows: Vec::new() }
    }

    pub(super) fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        let mut cells: Vec<String> = cells.into_iter().collect();
        cells.resize(self.headings.len(), String::new());
        self.rows.push(cells);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Columns in which no row has anything are left out.
    pub(super) fn write_to(&self, text: &mut String) {
        let used = |column: &usize| column == &0 || self.rows.iter().any(|row| !row[*column].is_empty());
        let columns: Vec<usize> = (0..self.headings.len()).filter(used).collect();
        let headings: Vec<String> = self.headings.iter().map(|heading| (*heading).to_owned()).collect();
        let width = |column: usize| {
            let cells = self.rows.iter().chain([&headings]);
            cells.map(|row| row[column].chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = columns.iter().map(|column| width(*column)).collect();
        for row in [&headings].into_iter().chain(&self.rows) {
            let mut line = String::from(" ");
            for (column, width) in columns.iter().zip(&widths) {
                let cell = &row[*column];
                // Writing to a string cannot fail.
                let _ = if *column == 0 { write!(line, " {cell:<width$}") } else { write!(line, "  {cell:>width$}") };
            }
            text.push_str(line.trim_end());
            text.push('\n');
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn aligns_and_drops_empty_columns() {
        let mut table = Table::new(&["scope", "self", "unused", "calls"]);
        table.row(["a".into(), "1 ms".into(), String::new(), "1,000".into()]);
        table.row(["longer".into(), "12 ms".into()]);
        let mut text = String::new();
        table.write_to(&mut text);
        assert_eq!(text, "  scope    self  calls\n  a        1 ms  1,000\n  longer  12 ms\n");
    }
}
