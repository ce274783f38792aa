//! What is wrong with a story, whoever wrote it: the grammar never, a model now and then.

use std::collections::BTreeSet;

use super::Story;
use super::words::{BOYS, ELDERS, GIRLS, PETS};

/// Stories whose words are all that there are.
const READ: u64 = 4_000;
/// What may follow spoken words without a capital.
const SPEAKING: &[&str] = &["said", "asked", "cried", "thought", "called", "laughed", "it", "he", "she"];
/// Who else is a he or a she: the big dog, the man with the hat, mothers of small animals.
const MEN: &[&str] = &["man", "dog"];
const WOMEN: &[&str] = &["woman", "Mother"];

/// Knows all words.
pub struct Critic {
    words: BTreeSet<String>,
}

impl Critic {
    /// Reads what the grammar writes.
    pub fn new() -> Self {
        let texts: Vec<String> = (0..READ).map(|seed| Story::new(seed).text).collect();
        Self { words: texts.iter().flat_map(|text| words(text)).map(str::to_owned).collect() }
    }

    /// Everything that is wrong, in words.
    pub fn faults(&self, text: &str) -> Vec<String> {
        let mut faults = Vec::new();
        let all = words(text);
        let unknown = all.iter().filter(|word| !self.words.contains(**word));
        faults.extend(unknown.map(|word| format!("`{word}` is no word")));
        faults.extend(all.windows(2).filter(|pair| is_wrong_article(pair[0], pair[1])).map(|pair| pair.join(" ")));
        if !text.matches('"').count().is_multiple_of(2) {
            faults.push("a quotation has no end".to_owned());
        }
        match sentences(text) {
            Err(rest) => faults.push(format!("no mark ends `{rest}`")),
            Ok(sentences) => {
                let before = std::iter::once("").chain(sentences.iter().map(String::as_str));
                let wrong = before.zip(&sentences).filter(|(before, sentence)| !begins_well(sentence, before));
                faults.extend(wrong.map(|(_, sentence)| sentence.clone()));
            }
        }
        faults.extend(people(&all));
        faults
    }
}

/// People who are too many, words that fit nobody.
fn people(words: &[&str]) -> Vec<String> {
    let told: BTreeSet<&str> = words.iter().copied().collect();
    let any = |names: &[&str]| names.iter().any(|name| told.contains(name));
    let elders = |women: bool| ELDERS.iter().any(|(name, woman)| *woman == women && told.contains(name));
    let mut faults = Vec::new();
    let children: Vec<&str> = told.iter().copied().filter(|word| GIRLS.contains(word) || BOYS.contains(word)).collect();
    if children.len() > 2 {
        faults.push(format!("{} are too many", children.join(", ")));
    }
    let small: Vec<&str> = told.iter().copied().filter(|word| PETS.contains(word)).collect();
    if small.len() > 1 {
        faults.push(format!("{} are too many", small.join(", ")));
    }
    let grown: BTreeSet<&str> =
        words.windows(2).filter(|pair| is_elder(pair[0], pair[1])).map(|pair| pair[1]).collect();
    if grown.len() > 1 {
        faults.push(format!("{} take turns", Vec::from_iter(grown).join(", ")));
    }
    let bravest = words.windows(2).find(|pair| pair[0] == "bravest").map(|pair| pair[1]);
    if (bravest == Some("girl") && !any(GIRLS)) || (bravest == Some("boy") && !any(BOYS)) {
        faults.push("`bravest` is nobody".to_owned());
    }
    if any(&["he", "He", "him"]) && !(any(BOYS) || any(MEN) || elders(false)) {
        faults.push("`he` is nobody".to_owned());
    }
    if any(&["she", "She"]) && !(any(GIRLS) || any(WOMEN) || elders(true)) {
        faults.push("`she` is nobody".to_owned());
    }
    faults
}

/// Somebody's, of a family.
fn is_elder(whose: &str, who: &str) -> bool {
    ["his", "her", "His", "Her"].contains(&whose) && ELDERS.iter().any(|(name, _)| *name == who)
}

fn is_wrong_article(article: &str, next: &str) -> bool {
    let vowel = next.starts_with(['a', 'e', 'i', 'o', 'u']);
    match article {
        "a" | "A" => vowel,
        "an" | "An" => !vowel,
        _ => false,
    }
}

/// With a capital, unless spoken words stand before it and it says whose they are.
fn begins_well(sentence: &str, before: &str) -> bool {
    let first = sentence.trim_start_matches('"').chars().next();
    let speaks = words(sentence).first().is_some_and(|word| SPEAKING.contains(word));
    first.is_some_and(char::is_uppercase) || (speaks && before.ends_with('"'))
}

/// What is told or said aloud, cut after the mark that ends it, and after the quotation mark where one follows. What has no mark behind it
/// is the error.
pub fn sentences(text: &str) -> Result<Vec<String>, String> {
    let (mut sentences, mut current) = (Vec::new(), String::new());
    let mut letters = text.chars().peekable();
    let mut last = ' ';
    while let Some(letter) = letters.next() {
        current.push(letter);
        let is_mark = |letter: char| matches!(letter, '.' | '!' | '?');
        let quoted = letters.peek() == Some(&'"');
        if (is_mark(letter) && !quoted) || (letter == '"' && is_mark(last)) {
            sentences.push(std::mem::take(&mut current).trim().to_owned());
        }
        last = letter;
    }
    if current.trim().is_empty() { Ok(sentences) } else { Err(current) }
}

/// Words in the order of the text, without marks.
pub fn words(text: &str) -> Vec<&str> {
    text.split(|letter: char| !letter.is_alphabetic()).filter(|word| !word.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_grammar_writes_without_faults() {
        let critic = Critic::new();
        for seed in 0..READ {
            let text = Story::new(seed).text;
            assert_eq!(critic.faults(&text), Vec::<String>::new(), "{text}");
        }
    }

    #[test]
    fn faults_are_named() {
        let critic = Critic::new();
        let faults = |text: &str| critic.faults(text).join("; ");
        assert_eq!(faults("Mia had a ball."), "");
        assert_eq!(faults("Mia had an ball. She wanted a apple."), "an ball; a apple");
        assert_eq!(faults("Mia had a blorp."), "`blorp` is no word");
        assert_eq!(faults("Mia said, \"It is my ball."), "a quotation has no end");
        assert_eq!(faults("Mia had a ball"), "no mark ends `Mia had a ball`");
        assert_eq!(faults("Mia had a ball. it was red."), "it was red.");
        assert_eq!(faults("\"Where is my ball?\" asked Mia. He was sad."), "`he` is nobody");
        assert_eq!(faults("Tom and Ben and Max had a ball."), "Ben, Max, Tom are too many");
        assert_eq!(faults("Pip and Dot had a ball."), "Dot, Pip are too many");
        assert_eq!(faults("Mia asked her mother. Her father smiled."), "father, mother take turns");
        assert_eq!(faults("Mia was the bravest boy."), "`bravest` is nobody");
    }
}
