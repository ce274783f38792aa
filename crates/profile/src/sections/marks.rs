//! What the marks beside estimates mean.

use crate::document::Table;

/// What the marks in a table mean, as far as it has any.
#[must_use]
pub fn marks(table: &Table) -> String {
    let is_number = |cell: &&String| cell.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '~' | '\u{2265}'));
    let numbers = || table.rows.iter().flat_map(|row| row.cells.iter().skip(1)).filter(is_number);
    let meanings = [
        ('\u{b1}', "95 % interval, where only some calls were timed"),
        ('~', "estimated"),
        ('?', "rests on few timed calls"),
        ('\u{2265}', "not all calls were timed"),
    ];
    let used = meanings.iter().filter(|(mark, _)| numbers().any(|cell| cell.contains(*mark)));
    used.map(|(mark, meaning)| format!("; {mark}: {meaning}")).collect()
}
