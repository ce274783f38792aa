//! The table for the terminal.

use record::Bench;

use super::columns::{Column, MODEL, columns};
use super::{conditions, skipped, statistic};
use crate::layout::wrapped;
use crate::run::printable;

/// Between two columns.
const GAP: usize = 2;
/// A shorter name tells nothing.
const SHORTEST_NAME: usize = 12;

/// The table, as wide as the terminal at most; then what the figures are of.
pub fn text(bench: &Bench, width: usize) -> String {
    let mut text = String::new();
    if !bench.rows.is_empty() {
        text.push_str(&table(fitted(columns(bench), width)));
        text.push('\n');
    }
    let mut sentences = vec![format!("{}; {}", statistic(bench), conditions(&bench.settings))];
    if bench.rows.is_empty() {
        sentences = vec!["nothing was measured".to_owned()];
    }
    sentences.extend(skipped(bench));
    sentences.extend(bench.interrupted.then(|| "interrupted: the table has what was measured until then".to_owned()));
    for sentence in sentences {
        text.push_str(&(wrapped(&printable(&sentence), width.max(20)).join("\n") + "\n"));
    }
    text
}

/// Shortens names, then leaves columns out, until the table fits.
fn fitted(mut columns: Vec<Column>, width: usize) -> Vec<Column> {
    for column in &mut columns {
        for cell in &mut column.cells {
            *cell = printable(cell);
        }
    }
    loop {
        let others: usize = columns.iter().filter(|column| column.heading != MODEL).map(|column| column.width() + GAP).sum();
        let room = width.saturating_sub(others);
        if let Some(names) = columns.iter_mut().find(|column| column.heading == MODEL)
            && (names.width() <= room || room >= SHORTEST_NAME)
        {
            names.cells.iter_mut().for_each(|name| *name = shortened(name, room));
            return columns;
        }
        let last = columns.iter().enumerate().max_by_key(|(_, column)| column.rank).filter(|(_, column)| column.rank > 0);
        let Some((place, _)) = last else {
            // Nothing else can go.
            let room = room.max(SHORTEST_NAME);
            let names = columns.iter_mut().filter(|column| column.heading == MODEL);
            names.flat_map(|column| &mut column.cells).for_each(|name| *name = shortened(name, room));
            return columns;
        };
        columns.remove(place);
    }
}

/// A name without its middle: the beginning tells the model, the end its format.
fn shortened(name: &str, width: usize) -> String {
    let characters: Vec<char> = name.chars().collect();
    if characters.len() <= width {
        return name.to_owned();
    }
    let kept = width.saturating_sub(1);
    let (first, last) = (&characters[..kept - kept / 2], &characters[characters.len() - kept / 2..]);
    first.iter().chain(&['…']).chain(last).collect()
}

impl Column {
    fn width(&self) -> usize {
        let cells = self.cells.iter().map(|cell| cell.chars().count());
        cells.chain([self.heading.len()]).max().unwrap_or(0)
    }
}

fn table(columns: Vec<Column>) -> String {
    let rows = columns.first().map_or(0, |column| column.cells.len());
    let line = |cell: &dyn Fn(&Column) -> &str| {
        let cells = columns.iter().map(|column| {
            let width = column.width();
            if column.heading == MODEL { format!("{:<width$}", cell(column)) } else { format!("{:>width$}", cell(column)) }
        });
        cells.collect::<Vec<_>>().join(&" ".repeat(GAP)).trim_end().to_owned() + "\n"
    };
    let head = line(&|column| column.heading);
    head + &(0..rows).map(|row| line(&|column| &column.cells[row])).collect::<String>()
}
