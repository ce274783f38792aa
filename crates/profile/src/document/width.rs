//! Text in lines of a width.

/// A sentence in lines. A number is not parted from its unit; a word that is longer than a line is cut.
#[must_use]
pub fn wrapped(sentence: &str, width: usize) -> Vec<String> {
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

/// A name in so many characters: its end says most.
#[must_use]
pub fn shortened(name: &str, width: usize) -> String {
    let length = name.chars().count();
    if length <= width {
        return name.to_owned();
    }
    let end: String = name.chars().skip(length - width.saturating_sub(2)).collect();
    if width < 3 { end } else { format!("..{end}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_their_units_and_long_words_are_cut() {
        assert_eq!(wrapped("ten words 12 ms", 12), ["ten words", "12 ms"]);
        assert_eq!(wrapped(&"x".repeat(25), 10).iter().map(String::len).collect::<Vec<_>>(), [10, 10, 5]);
    }

    #[test]
    fn long_names_keep_their_end() {
        assert_eq!(shortened("engine::model::qkv", 10), "..del::qkv");
        assert_eq!(shortened("qkv", 10), "qkv");
    }
}
