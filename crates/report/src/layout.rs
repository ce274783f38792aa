//! Text in lines and columns.

/// No line is longer.
pub(crate) const WIDTH: usize = 100;

/// A name, and a sentence beside it that may need several lines.
pub(crate) fn labelled(label: &str, label_width: usize, sentence: &str) -> String {
    let indent = " ".repeat(label_width + 4);
    let body = wrapped(sentence, WIDTH - indent.len());
    format!("  {label:<label_width$}  {}\n", body.join(&format!("\n{indent}")))
}

/// A sentence in lines. A number is not parted from its unit; a word that is longer than a line is cut.
pub(crate) fn wrapped(sentence: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = vec![String::new()];
    for word in pieces(sentence, width) {
        let line = lines.last_mut().expect("there is one");
        if line.is_empty() {
            line.push_str(&word);
        } else if line.chars().count() + 1 + word.chars().count() <= width {
            line.push(' ');
            line.push_str(&word);
        } else {
            lines.push(word);
        }
    }
    lines
}

/// What must not be parted, or has to be.
fn pieces(sentence: &str, width: usize) -> Vec<String> {
    let mut pieces: Vec<String> = Vec::new();
    for word in sentence.split(' ') {
        let is_unit = UNITS.contains(&word.trim_end_matches([';', ',', '.', ':', ')']));
        match pieces.last_mut() {
            Some(number) if is_unit && number.chars().count() + 1 + word.chars().count() <= width => {
                number.push(' ');
                number.push_str(word);
            }
            _ => pieces.extend(cut(word, width)),
        }
    }
    pieces
}

/// Units that follow a number.
const UNITS: &[&str] = &["%", "ns", "us", "ms", "s", "B", "KiB", "MiB", "GiB", "GB/s", "GFLOP/s", "GOP/s"];

fn cut(word: &str, width: usize) -> Vec<String> {
    let characters: Vec<char> = word.chars().collect();
    if characters.is_empty() {
        return vec![String::new()];
    }
    characters.chunks(width.max(1)).map(|part| part.iter().collect()).collect()
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
    fn numbers_keep_their_units_and_long_words_are_cut() {
        assert_eq!(wrapped("ten words 12 ms", 12), ["ten words", "12 ms"]);
        assert_eq!(wrapped(&"x".repeat(25), 10).iter().map(String::len).collect::<Vec<_>>(), [10, 10, 5]);
    }

    #[test]
    fn columns_are_aligned() {
        let row = |cells: [&str; 3]| cells.map(str::to_owned).to_vec();
        let text = table(&[row(["what", "limit", "by"]), row(["f32", "117", "avx2"]), row(["longer", "", ""])]);
        assert_eq!(text, "  what    limit  by\n  f32       117  avx2\n  longer\n");
    }
}
