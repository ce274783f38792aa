//! Text tables in Markdown, aligned so that they read well unrendered.

use std::fmt;

/// Rows of cells under a head; the first and the last column are text, those between are figures.
pub struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table without rows.
    pub fn new(head: &[&str]) -> Self {
        Self { rows: vec![head.iter().map(|cell| cell.to_string()).collect()] }
    }

    /// Adds a row; it has as many cells as the head.
    pub fn push(&mut self, row: Vec<String>) {
        assert_eq!(row.len(), self.rows[0].len(), "a row has as many cells as the head");
        self.rows.push(row);
    }

    fn widths(&self) -> Vec<usize> {
        let width = |column: usize| self.rows.iter().map(|row| row[column].chars().count()).max();
        (0..self.rows[0].len()).map(|column| width(column).unwrap_or(0).max(3)).collect()
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let widths = self.widths();
        let last = widths.len() - 1;
        let is_text = |column: usize| column == 0 || column == last;
        for (number, row) in self.rows.iter().enumerate() {
            for (column, (cell, &width)) in row.iter().zip(&widths).enumerate() {
                if is_text(column) {
                    write!(f, "| {cell:<width$} ")?;
                } else {
                    write!(f, "| {cell:>width$} ")?;
                }
            }
            writeln!(f, "|")?;
            if number == 0 {
                for (column, &width) in widths.iter().enumerate() {
                    let end = if is_text(column) { '-' } else { ':' };
                    write!(f, "|{}{end}", "-".repeat(width + 1))?;
                }
                writeln!(f, "|")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_align() {
        let mut table = Table::new(&["row", "ns", "note"]);
        table.push(vec!["empty loop".into(), "0.31".into(), "–".into()]);
        let text = "\
| row        |   ns | note |
|------------|-----:|------|
| empty loop | 0.31 | –    |
";
        assert_eq!(table.to_string(), text);
    }
}
