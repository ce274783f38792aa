//! Command lines as a shell would need them.

/// Words with quotes where a shell would take them apart.
pub(crate) fn joined(words: &[String]) -> String {
    let quoted: Vec<String> = words.iter().map(|word| quoted(word)).collect();
    quoted.join(" ")
}

fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-_./=:,+@%".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_stay_words() {
        let words = ["sh", "-c", "echo 'a b'", "", "x=1", "a|b"].map(str::to_owned);
        assert_eq!(joined(&words), r"sh -c 'echo '\''a b'\''' '' x=1 'a|b'");
    }
}
