//! Writes into a template that what it joins, compares and filters is weighed: `a ~ b|first` becomes
//! `a|__weigh ~ b|__pass|first|__weigh`. A filter binds closer than any operator, so that nothing else changes.

use super::budget::{PASS, WEIGH};
use super::nesting::{SET, SET_ATTRIBUTE};
use crate::{Error, Result};

/// Operators, brackets and dots of one tag. The engine reads `- - - a` and `a + b + c` into a tree as deep as there are
/// operators, and walks through it by recursion. Known templates have a few dozen.
const MOST_OPERATORS: usize = 500;
/// `elif` branches of a template, each of which nests in the one before.
const MOST_BRANCHES: usize = 500;

/// Filters that do not look at what a list holds.
const SHALLOW: [&str; 9] = ["count", "d", "default", "first", "items", "last", "length", "list", "reverse"];

/// The template with weights. Two things that templates of prompts do not need are refused:
/// products, which make much of little, and raw blocks, in which tags are no tags.
pub(super) fn guarded(source: &str) -> Result<String> {
    let mut out = String::with_capacity(source.len() * 2);
    let mut rest = source;
    let mut branches = 0;
    while let Some(at) = rest.find("{{").into_iter().chain(rest.find("{%")).chain(rest.find("{#")).min() {
        let (text, tag) = rest.split_at(at);
        out.push_str(text);
        let (open, inner) = tag.split_at(2);
        out.push_str(open);
        if open == "{#" {
            let end = inner.find("#}").map_or(inner.len(), |end| end + 2);
            out.push_str(&inner[..end]);
            rest = &inner[end..];
            continue;
        }
        let close = if open == "{{" { "}}" } else { "%}" };
        let mut tag = Tag {
            rest: inner,
            close,
            out: &mut out,
            joining: vec![false],
            after_operand: false,
            operators: 0,
            assignment: Assignment::None,
        };
        tag.control();
        branches += usize::from(tag.begins_with("elif"));
        let refused = |rest: &str, what: &str| {
            let line = source[..source.len() - rest.len()].lines().count();
            Error::unsupported(format!("chat template, line {line}: {what}"))
        };
        if branches > MOST_BRANCHES {
            return Err(refused(tag.rest, "too many `elif` branches"));
        }
        while tag.step().map_err(|what| refused(tag.rest, what))? {}
        rest = tag.rest;
    }
    out.push_str(rest);
    Ok(out)
}

/// One tag, token by token.
struct Tag<'s, 'o> {
    rest: &'s str,
    close: &'static str,
    out: &'o mut String,
    /// For each open bracket, and the tag itself: whether what stands there now follows an operator
    /// that joins or compares.
    joining: Vec<bool>,
    after_operand: bool,
    /// How many there were.
    operators: usize,
    assignment: Assignment,
}

/// Where a tag that sets something stands.
#[derive(Clone, Copy, PartialEq)]
enum Assignment {
    /// It sets nothing, or has not begun to.
    None,
    /// Before the sign `=`, with whether an attribute is among what is set. Behind a bar stand
    /// filters of a block instead.
    Target { has_dot: bool, has_bar: bool },
    /// Behind it.
    Value { has_dot: bool },
}

impl Tag<'_, '_> {
    /// Copies one token, and says whether the tag goes on.
    fn step(&mut self) -> std::result::Result<bool, &'static str> {
        let Some(first) = self.rest.chars().next() else { return Ok(false) };
        if self.at_end() {
            self.end_operand();
            self.end_assignment();
            self.copy(self.rest.find(self.close).map_or(0, |at| at + 2));
            return Ok(false);
        }
        self.count(first)?;
        match first {
            '\'' | '"' => self.text(first),
            '_' | 'a'..='z' | 'A'..='Z' | '0'..='9' => self.word()?,
            '(' | '[' | '{' => {
                self.copy(1);
                self.joining.push(false);
                self.after_operand = false;
            }
            ')' | ']' | '}' => {
                // What stands in square brackets may be a key, which is compared.
                if first == ']' && self.after_operand {
                    self.set_joining(true);
                }
                self.end_operand();
                if self.joining.len() > 1 {
                    self.joining.pop();
                }
                self.copy(1);
                self.after_operand = true;
            }
            '|' => self.filter(),
            '*' => return Err("products are not supported"),
            '~' | '+' => self.operator(1, true),
            '=' | '!' if self.rest[1..].starts_with('=') => self.operator(2, true),
            '<' | '>' | ':' => self.operator(1, true),
            '=' if self.joining.len() == 1 => {
                self.operator(1, false);
                self.begin_value();
            }
            '-' | '/' | '%' | '=' | ',' => self.operator(1, false),
            other => self.copy(other.len_utf8()),
        }
        Ok(true)
    }

    /// Whether the tag ends here, with or without a sign for the space behind it.
    fn at_end(&self) -> bool {
        let rest = self.rest.strip_prefix(['-', '+']).unwrap_or(self.rest);
        // Two brackets that close belong to what they close.
        rest.starts_with(self.close) && (self.close != "}}" || self.joining.len() == 1)
    }

    /// The sign for the space before the tag.
    fn control(&mut self) {
        if self.rest.starts_with(['-', '+']) {
            self.copy(1);
        }
    }

    /// Whether the tag begins with a word, which says what kind of tag it is.
    fn begins_with(&self, word: &str) -> bool {
        let rest = self.rest.trim_start().strip_prefix(word);
        self.close == "%}"
            && rest.is_some_and(|rest| !rest.starts_with(|next: char| next == '_' || next.is_alphanumeric()))
    }

    /// Counts what the engine nests, and notes what is set.
    fn count(&mut self, first: char) -> std::result::Result<(), &'static str> {
        let is_operator = !first.is_whitespace() && !first.is_ascii_alphanumeric() && !"_'\",".contains(first);
        let words = ["not", "if", "and", "or", "in", "is"];
        self.operators += usize::from(is_operator || words.iter().any(|word| self.rest.starts_with(word)));
        if self.operators > MOST_OPERATORS {
            return Err("an expression with too many operators");
        }
        if let Assignment::Target { has_dot, has_bar } = &mut self.assignment {
            *has_dot |= first == '.';
            *has_bar |= first == '|';
        }
        Ok(())
    }

    /// What follows is what something is set to.
    fn begin_value(&mut self) {
        if let Assignment::Target { has_dot, has_bar: false } = self.assignment {
            self.assignment = Assignment::Value { has_dot };
            self.out.push('(');
        }
    }

    fn end_assignment(&mut self) {
        let (has_dot, bracket) = match self.assignment {
            Assignment::Value { has_dot } => (has_dot, ")"),
            Assignment::Target { has_dot, has_bar: true } => (has_dot, ""),
            _ => return,
        };
        self.out.push_str(bracket);
        self.insert(if has_dot { SET_ATTRIBUTE } else { SET });
    }

    fn copy(&mut self, length: usize) {
        let (token, rest) = self.rest.split_at(length);
        self.out.push_str(token);
        self.rest = rest;
    }

    fn insert(&mut self, filter: &str) {
        self.out.push('|');
        self.out.push_str(filter);
        // A word may follow.
        self.out.push(' ');
    }

    /// A text in quotes, in which a backslash protects the next character.
    fn text(&mut self, quote: char) {
        let mut protected = false;
        let end = self.rest.char_indices().skip(1).find(|(_, character)| {
            let ends = *character == quote && !protected;
            protected = *character == '\\' && !protected;
            ends
        });
        self.copy(end.map_or(self.rest.len(), |(at, _)| at + 1));
        self.after_operand = true;
    }

    fn word(&mut self) -> std::result::Result<(), &'static str> {
        let end = self.rest.find(|other: char| other != '_' && !other.is_ascii_alphanumeric());
        let word = &self.rest[..end.unwrap_or(self.rest.len())];
        let is_first = self.operators == 0 && !self.after_operand;
        match word {
            "set" if self.close == "%}" && is_first => {
                self.assignment = Assignment::Target { has_dot: false, has_bar: false };
                self.copy(word.len());
            }
            "and" | "or" | "not" | "in" | "is" | "if" | "else" | "recursive" => {
                // Of the words, `is` compares with what follows, and `in` looks into it.
                self.set_joining(self.joining.last() == Some(&true) || word == "is");
                self.end_operand();
                self.copy(word.len());
                self.set_joining(word == "in");
                self.after_operand = false;
            }
            "changed" => return Err("loop.changed is not supported"),
            "raw" if self.close == "%}" => return Err("raw blocks are not supported"),
            // Marks what is learnt in training, and changes no prompt.
            "generation" | "endgeneration" if self.close == "%}" => {
                self.out.push_str(if word == "generation" { "if true" } else { "endif" });
                self.rest = &self.rest[word.len()..];
            }
            _ => {
                self.copy(word.len());
                self.after_operand = true;
            }
        }
        Ok(())
    }

    /// A filter: those that look at what a list holds are given what was weighed wholly.
    fn filter(&mut self) {
        let name = self.rest[1..].trim_start();
        let name = name.split(|other: char| other != '_' && !other.is_ascii_alphanumeric()).next().unwrap_or_default();
        self.insert(if SHALLOW.contains(&name) { PASS } else { WEIGH });
        self.copy(1);
        self.after_operand = false;
    }

    fn operator(&mut self, length: usize, joins: bool) {
        let binary = self.after_operand;
        if joins && binary {
            self.insert(WEIGH);
        } else {
            self.end_operand();
        }
        self.copy(length);
        self.set_joining(joins && binary);
        self.after_operand = false;
    }

    /// What stands here is over. If it followed an operator that joins, it is weighed.
    fn end_operand(&mut self) {
        if self.after_operand && self.joining.last() == Some(&true) {
            self.insert(WEIGH);
        }
        self.set_joining(false);
    }

    fn set_joining(&mut self, joining: bool) {
        if let Some(last) = self.joining.last_mut() {
            *last = joining;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `W`, `P` and `S` stand for the filters.
    #[track_caller]
    fn check(source: &str, expected: &str) {
        let expected = expected.replace("|W", "|__weigh ").replace("|P", "|__pass ").replace("|S", "|__set ");
        assert_eq!(guarded(source).expect("it is read"), expected);
    }

    #[test]
    fn what_is_joined_is_weighed() {
        check("a + b", "a + b");
        check("{{ a~b|first|trim }}", "{{ a|W~b|P|first|W|trim |W}}");
        check("{{ 'a+b\\'~' +x['y'] -}} +", "{{ 'a+b\\'~' |W+x['y'|W] |W-}} +");
        check("{%- set x = (a~b)+1 +%}", "{%- set x =( (a|W~b|W)|W+1 |W)|S+%}");
        check("{# a ~ b #}{{ c }}", "{# a ~ b #}{{ c }}");
    }

    #[test]
    fn what_is_compared_is_weighed() {
        check("{% if a.b=='c' and not d!=e %}", "{% if a.b|W=='c' |Wand not d|W!=e |W%}");
        check("{% set a = [b, {'c': d+e}] %}", "{% set a =( [b, {'c'|W: d|W+e|W}|W] )|S%}");
        check("{{ f(x=-1, y=a[-1:]) }}", "{{ f(x=-1, y=a[-1|W:]) }}");
        check("{{ {'a': {'b': c}} }}", "{{ {'a'|W: {'b'|W: c|W}|W} }}");
        check("{% for a in b recursive %}", "{% for a in b |Wrecursive %}");
        check("{% if a is string and b not in c %}", "{% if a |Wis string and b not in c |W%}");
    }

    #[test]
    fn what_is_set_is_looked_at() {
        check("{% set a, b = c, d == e %}", "{% set a, b =( c, d |W== e |W)|S%}");
        check("{% set a.b = f(c=1) -%}", "{% set a.b =( f(c=1) )|__set_attribute -%}");
        check("{% set a %}b{% endset %}{% set a|trim %}", "{% set a %}b{% endset %}{% set a|W|trim |S%}");
        check("{% for set in b %}{{ set }}{% if set == 1 %}", "{% for set in b |W%}{{ set }}{% if set |W== 1 |W%}");
    }

    #[test]
    fn what_no_prompt_needs_is_refused() {
        assert!(guarded("\n{{ 'a' * 9 }}").is_err_and(|error| error.to_string().contains("line 2")));
        assert!(guarded("{% raw %}").is_err());
        for open in ["{{", "{% if '", "{{ a ~", "{# x", "{{ (", "{{ )))) + }}", "{{ a|", "{%"] {
            guarded(open).expect("what is not closed is left to the engine");
        }
    }
}
