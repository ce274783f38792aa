//! Cutting a text into words before pairs are joined: no token crosses the end of a word.
//!
//! The models' authors wrote the rules as regular expressions. Here they are written out, because a
//! loop over characters is an order of magnitude faster than an engine that can look ahead. Each
//! function tells its expression.

use unicode_properties::{GeneralCategoryGroup, UnicodeGeneralCategory};

/// How a model cuts texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Split {
    /// GPT-2.
    Gpt2,
    /// LLaMA 3: numbers in groups of three.
    Llama3,
    /// Qwen 2: like LLaMA 3, every digit alone.
    Qwen2,
    /// SmolLM and others: every digit alone, the rest like GPT-2.
    Digits,
    /// What llama.cpp does with files that name no rule.
    Default,
}

impl Split {
    /// Hands every word of the text to `word`, in order; together they are the text.
    pub(super) fn words<'t>(self, text: &'t str, mut word: impl FnMut(&'t str)) {
        match self {
            Self::Gpt2 => each(text, gpt2, &mut word),
            Self::Llama3 => each(text, |text| llama3(text, 3), &mut word),
            Self::Qwen2 => each(text, |text| llama3(text, 1), &mut word),
            Self::Digits => isolate(text, char::is_numeric, |part, is_number| {
                if is_number { each(part, first, &mut word) } else { each(part, gpt2, &mut word) }
            }),
            Self::Default => isolate(text, is_mark, |part, _| {
                each(part, gpt2, &mut |part| {
                    isolate(part, char::is_numeric, |part, _| each(part, three_digits, &mut word));
                });
            }),
        }
    }
}

/// What a character is to the rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Class {
    /// `\p{L}`
    Letter,
    /// `\p{N}`
    Number,
    /// `\s`
    Space,
    /// All others.
    Other,
}

impl Class {
    fn of(character: char) -> Self {
        if character.is_ascii() {
            return match character {
                'a'..='z' | 'A'..='Z' => Self::Letter,
                '0'..='9' => Self::Number,
                '\t'..='\r' | ' ' => Self::Space,
                _ => Self::Other,
            };
        }
        if character.is_whitespace() {
            return Self::Space;
        }
        // The standard library's `is_alphabetic` is a larger class than `\p{L}`: it has marks and number letters too.
        match character.general_category_group() {
            GeneralCategoryGroup::Letter => Self::Letter,
            GeneralCategoryGroup::Number => Self::Number,
            _ => Self::Other,
        }
    }
}

/// A letter or a digit, to all rules.
pub(super) fn is_word_character(character: char) -> bool {
    matches!(Class::of(character), Class::Letter | Class::Number)
}

/// Hands every word of a text to `word`, cut as GPT-2 cuts it: what files call `gpt-2`.
pub fn gpt2_words<'t>(text: &'t str, word: impl FnMut(&'t str)) {
    Split::Gpt2.words(text, word);
}

/// `[\p{P}\$\+<=>\^~\|]`
fn is_mark(character: char) -> bool {
    matches!(character, '$' | '+' | '<' | '=' | '>' | '^' | '~' | '|')
        || character.general_category_group() == GeneralCategoryGroup::Punctuation
}

/// Cuts `text` by a rule that tells how long its first word is.
fn each<'t>(mut text: &'t str, rule: impl Fn(&str) -> usize, word: &mut impl FnMut(&'t str)) {
    while !text.is_empty() {
        let (first, rest) = text.split_at(rule(text));
        word(first);
        text = rest;
    }
}

/// Cuts `text` into the longest parts that are wholly in a class, and those between them.
fn isolate<'t>(mut text: &'t str, class: impl Fn(char) -> bool, mut part: impl FnMut(&'t str, bool)) {
    while let Some(first) = text.chars().next() {
        let inside = class(first);
        let end = text.find(|other| class(other) != inside).unwrap_or(text.len());
        let (first, rest) = text.split_at(end);
        part(first, inside);
        text = rest;
    }
}

/// One character.
fn first(text: &str) -> usize {
    text.chars().next().map_or(0, char::len_utf8)
}

/// `[0-9][0-9][0-9]`, and what is between.
fn three_digits(text: &str) -> usize {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    if digits >= 3 {
        return 3;
    }
    // The next three digits in a row end this word.
    let bytes = text.as_bytes();
    bytes.windows(3).position(|three| three.iter().all(u8::is_ascii_digit)).unwrap_or(text.len())
}

/// How many bytes at the start are of a class.
fn run(text: &str, class: Class) -> usize {
    text.char_indices().find(|(_, other)| Class::of(*other) != class).map_or(text.len(), |(at, _)| at)
}

/// `'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`
fn gpt2(text: &str) -> usize {
    if let Some(length) = contraction(text, |letter| letter) {
        return length;
    }
    let body = text.strip_prefix(' ').unwrap_or(text);
    match body.chars().next().map(Class::of) {
        None => text.len(),
        Some(Class::Space) => spaces(text),
        Some(class) => text.len() - body.len() + run(body, class),
    }
}

/// `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|
/// ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`, with the number of digits that may be
/// together.
fn llama3(text: &str, digits: usize) -> usize {
    // The long s is an s to engines that fold all of Unicode; llama.cpp, whose ids are the reference here, folds ASCII.
    if let Some(length) = contraction(text, |letter| letter.to_ascii_lowercase()) {
        return length;
    }
    let mut characters = text.chars();
    let Some(first) = characters.next() else { return 0 };
    let rest = characters.as_str();
    let class = Class::of(first);
    match class {
        Class::Letter => return run(text, class),
        Class::Number => {
            let numbers = text.char_indices().take_while(|(_, other)| Class::of(*other) == class);
            return numbers.take(digits).last().map_or(0, |(at, last)| at + last.len_utf8());
        }
        Class::Space | Class::Other => {}
    }
    let second = rest.chars().next().map(Class::of);
    if second == Some(Class::Letter) && !matches!(first, '\r' | '\n') {
        return text.len() - rest.len() + run(rest, Class::Letter);
    }
    let body = if first == ' ' && second == Some(Class::Other) { rest } else { text };
    let others = run(body, Class::Other);
    if others > 0 {
        let end = text.len() - body.len() + others;
        return end + text[end..].bytes().take_while(|byte| matches!(byte, b'\r' | b'\n')).count();
    }
    let space = &text[..run(text, Class::Space)];
    // `\s*` gives back what the ends of lines need: the match goes to the last of them.
    space.rfind(['\r', '\n']).map_or_else(|| spaces(text), |last| last + 1)
}

/// `\s+(?!\S)|\s+`: all the space at the end of the text; before something else, all but its last character.
fn spaces(text: &str) -> usize {
    let end = run(text, Class::Space);
    let last = text[..end].chars().next_back().map_or(0, char::len_utf8);
    if end == text.len() || end == last { end } else { end - last }
}

/// `'s|'t|'re|'ve|'m|'ll|'d`, its letters folded.
fn contraction(text: &str, fold: impl Fn(char) -> char) -> Option<usize> {
    let mut characters = text.strip_prefix('\'')?.chars();
    let first = characters.next()?;
    let after_first = 1 + first.len_utf8();
    match (fold(first), characters.next().map(&fold)) {
        ('s' | 't' | 'm' | 'd', _) => Some(after_first),
        ('r' | 'v', Some('e')) | ('l', Some('l')) => Some(after_first + 1),
        _ => None,
    }
}
