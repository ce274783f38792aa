//! The nearest of the words that would have been right.

/// Below this similarity a suggestion puzzles more than it helps; clap has the same bound for options.
const LEAST_SIMILAR: f64 = 0.7;

/// The known word that is most like the one that was typed.
pub fn nearest<Word: AsRef<str>>(typed: &str, known: impl IntoIterator<Item = Word>) -> Option<String> {
    let similar = known.into_iter().map(|word| (strsim::jaro(typed, word.as_ref()), word));
    let best = similar.filter(|(similarity, _)| *similarity > LEAST_SIMILAR).max_by(|(a, _), (b, _)| a.total_cmp(b));
    best.map(|(_, word)| word.as_ref().to_owned())
}

/// The end of an error message: a question where something is near, else nothing.
pub fn did_you_mean<Word: AsRef<str>>(typed: &str, known: impl IntoIterator<Item = Word>) -> String {
    nearest(typed, known).map_or_else(String::new, |word| format!("; did you mean `{word}`?"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_near_words_are_suggested() {
        let known = ["standard", "deep", "enhanced", "memory"];
        assert_eq!(nearest("standart", known).as_deref(), Some("standard"));
        assert_eq!(nearest("dep", known).as_deref(), Some("deep"));
        assert_eq!(nearest("xyzzy", known), None);
        assert_eq!(did_you_mean("memroy", known), "; did you mean `memory`?");
        assert_eq!(did_you_mean("", known), "");
    }
}
