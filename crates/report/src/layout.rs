//! Text in lines and columns.

/// No line is longer.
pub(crate) const WIDTH: usize = 100;

/// A name, and a sentence beside it that may need several lines.
pub(crate) fn labelled(label: &str, label_width: usize, sentence: &str) -> String {
    let indent = " ".repeat(label_width + 4);
    let body = wrapped(sentence, WIDTH - indent.len());
    format!("  {label:<label_width$}  {}\n", body.join(&format!("\n{indent}")))
}

/// A sentence in lines.
pub(crate) fn wrapped(sentence: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = vec![String::new()];
    for word in sentence.split(' ') {
        let line = lines.last_mut().expect("there is one");
        if line.is_empty() {
            line.push_str(word);
        } else if line.chars().count() + 1 + word.chars().count() <= width {
            line.push(' ');
            line.push_str(word);
        } else {
            lines.push(word.to_owned());
        }
    }
    lines
}

/// Rows of cells in columns: the first and the last to the left, the others to the right.
pub(crate) fn table(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let cell = |row: &Vec<String>, column: usize| row.get(column).cloned().unwrap_or_default();
    let width = |column: usize| rows.iter().map(|row| cell(row, column).chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut text = String::new();
    for row in rows {
        let cells = widths.iter().enumerate().map(|(column, width)| match column {
            0 => format!("{:<width$}", cell(row, column)),
            _ if column + 1 == columns => cell(row, column),
            _ => format!("{:>width$}", cell(row, column)),
        });
        let line = cells.collect::<Vec<_>>().join("  ");
        text.push_str(&format!("  {}\n", line.trim_end()));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_stay_beside_their_name() {
        let text = labelled("cores", 6, &"word ".repeat(30));
        assert!(text.lines().all(|line| line.chars().count() <= WIDTH), "{text}");
        assert!(text.starts_with("  cores   word") && text.contains("\n          word"), "{text}");
    }

    #[test]
    fn columns_are_aligned() {
        let row = |cells: [&str; 3]| cells.map(str::to_owned).to_vec();
        let text = table(&[row(["what", "limit", "by"]), row(["f32", "117", "avx2"]), row(["longer", "", ""])]);
        assert_eq!(text, "  what    limit  by\n  f32       117  avx2\n  longer\n");
    }
}
