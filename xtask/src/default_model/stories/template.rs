//! Sentences with gaps: `{slot}` is what the story has bound to that name, `[this|that|]` is one of these. Both may lie inside each
//! other, and what is bound may have gaps of its own.

use std::collections::BTreeMap;

use super::chance::Chance;

/// What a story has bound to the names of slots.
pub type Bindings = BTreeMap<String, String>;

/// The sentence without gaps, its articles right.
///
/// # Panics
/// When a slot has no binding, or a bracket no end: the tables are wrong then, and a test says so before anybody else can.
pub fn fill(template: &str, bindings: &Bindings, chance: &mut Chance) -> String {
    articles(&expand(template, bindings, chance))
}

fn expand(template: &str, bindings: &Bindings, chance: &mut Chance) -> String {
    let mut text = String::new();
    let mut rest = template;
    while let Some(at) = rest.find(['{', '[']) {
        text.push_str(&rest[..at]);
        let (inside, after) = enclosed(&rest[at..]);
        let chosen = if rest[at..].starts_with('{') {
            bindings.get(inside).unwrap_or_else(|| panic!("nothing is bound to `{inside}` in `{template}`"))
        } else {
            chance.pick(&choices(inside))
        };
        text.push_str(&expand(chosen, bindings, chance));
        rest = after;
    }
    text.push_str(rest);
    text
}

/// What the bracket at the beginning encloses, and what follows it.
fn enclosed(text: &str) -> (&str, &str) {
    let mut depth = 0;
    for (at, letter) in text.char_indices() {
        match letter {
            '{' | '[' => depth += 1,
            '}' | ']' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return (&text[1..at], &text[at + 1..]);
        }
    }
    panic!("a bracket has no end in `{text}`")
}

/// The alternatives, divided at the bars that lie in no bracket.
fn choices(inside: &str) -> Vec<&str> {
    let (mut parts, mut depth, mut start) = (Vec::new(), 0, 0);
    for (at, letter) in inside.char_indices() {
        match letter {
            '{' | '[' => depth += 1,
            '}' | ']' => depth -= 1,
            '|' if depth == 0 => {
                parts.push(&inside[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&inside[start..]);
    parts
}

/// `a` becomes `an` before a vowel. No word of the tables begins with a vowel that is spoken as a consonant, or the other way round.
fn articles(text: &str) -> String {
    let words: Vec<&str> = text.split(' ').collect();
    let right = |at: usize| {
        let (word, next) = (words[at], words.get(at + 1).copied().unwrap_or_default());
        let is_article = matches!(word.trim_start_matches('"'), "a" | "A");
        let before_vowel = next.starts_with(['a', 'e', 'i', 'o', 'u']);
        if is_article && before_vowel { format!("{word}n") } else { word.to_owned() }
    };
    (0..words.len()).map(right).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(template: &str) -> String {
        let bindings = [("thing", "egg"), ("hero", "Mia"), ("told", "{hero} had a {thing}")];
        let bindings = bindings.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        fill(template, &bindings, &mut Chance::new(1))
    }

    #[test]
    fn gaps_are_filled_inside_each_other() {
        assert_eq!(filled("{told}, [a|a] {thing}."), "Mia had an egg, an egg.");
        assert_eq!(filled("[[{hero}|{hero}] has|Mia has] a[] ball."), "Mia has a ball.");
        assert_eq!(filled("\"A {thing}!\" said {hero}. A"), "\"An egg!\" said Mia. A");
    }

    #[test]
    fn every_choice_comes() {
        let bindings = Bindings::new();
        let mut chance = Chance::new(7);
        let texts: std::collections::BTreeSet<String> =
            (0..100).map(|_| fill("[a|b[c|d]|]", &bindings, &mut chance)).collect();
        assert_eq!(texts.into_iter().collect::<Vec<_>>(), ["", "a", "bc", "bd"]);
    }

    #[test]
    #[should_panic(expected = "nothing is bound to `nobody`")]
    fn a_slot_without_a_binding_is_named() {
        filled("{nobody} came.");
    }
}
