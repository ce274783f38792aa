//! The name of a scope: a constant, because it belongs to the place in the source and is recorded once for it.

use proc_macro::{Delimiter, TokenStream, TokenTree};

use crate::parse::{Problem, is_punct};

/// Words that begin an expression which may well be constant.
const KEYWORDS: &[&str] = &["const", "false", "if", "loop", "match", "true", "unsafe"];

/// The name as it is, or what is wrong with it. Only by its looks: a macro does not know what a word stands for, but
/// constants are written in capitals, and the compiler's own error for a variable speaks of code that nobody wrote.
pub fn constant(name: TokenStream) -> Result<TokenStream, Problem> {
    let tokens = flat(name.clone());
    let expression = &tokens[tokens.iter().take_while(|token| is_punct(token, '&')).count()..];
    match expression {
        [TokenTree::Ident(word), rest @ ..] if is_run_time_value(&word.to_string(), rest) => {
            let mut message = format!(
                "a scope's name must be a string literal or a constant, but `{word}` is known only at run time: for a \
                 number that varies use `index = ..`, otherwise open a scope with its own name in each branch"
            );
            if rest.is_empty() {
                message.push_str(&format!("; if it is a constant, write its path, as in `self::{word}`"));
            }
            Err(Problem::new(word.span(), message))
        }
        _ => Ok(name),
    }
}

/// Whether an expression that begins with this word is a variable, a field or method of one, or a formatted text.
fn is_run_time_value(word: &str, rest: &[TokenTree]) -> bool {
    let is_macro = rest.first().is_some_and(|next| is_punct(next, '!'));
    let is_path = rest.first().is_some_and(|next| is_punct(next, ':'));
    let is_call = matches!(rest.first(), Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Parenthesis);
    if is_macro {
        return word == "format";
    }
    let is_lower_case = word.trim_start_matches("r#").starts_with(|first: char| first.is_lowercase() || first == '_');
    is_lower_case && !is_path && !is_call && !KEYWORDS.contains(&word)
}

/// Without the invisible groups that `macro_rules!` fragments come in.
fn flat(tokens: TokenStream) -> Vec<TokenTree> {
    let open = |token| match token {
        TokenTree::Group(group) if group.delimiter() == Delimiter::None => flat(group.stream()),
        token => vec![token],
    };
    tokens.into_iter().flat_map(open).collect()
}
