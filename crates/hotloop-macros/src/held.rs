//! Finds scopes that an async function would hold across an `.await`.
//!
//! While a future waits, its thread runs other things, and they would be counted as part of the scope. The guard
//! is not `Send`, so an executor with several threads refuses such a future anyway; here it is refused for every
//! executor, and the message points to the scope.
//!
//! The check reads tokens, in order: a scope is held from its statement to the end of its block. Closures, async
//! blocks and functions inside have a life of their own. An `.await` made by another macro is not seen.

use proc_macro::{Delimiter, Group, Ident, TokenStream, TokenTree};

use crate::parse::{Problem, is_ident, is_punct};

const MESSAGE: &str = "a scope cannot be held across .await: what runs on this thread meanwhile would be counted as \
     part of it; end it before, by a block around it and its work, or put #[profile] on an async function with the \
     part that awaits";

/// One problem for each scope that is held across an `.await`.
pub fn across_await(statements: TokenStream) -> Vec<Problem> {
    let mut scan = Scan::default();
    scan.block(statements);
    scan.problems
}

#[derive(Default)]
struct Scan {
    /// The scopes open at this point, outermost first.
    open: Vec<Open>,
    problems: Vec<Problem>,
}

struct Open {
    /// `scope`, `guard` or `function`.
    opener: Ident,
    /// The variable of a `guard!`, which `drop` can end early.
    variable: Option<String>,
    reported: bool,
}

impl Scan {
    fn block(&mut self, statements: TokenStream) {
        let outside = self.open.len();
        let tokens: Vec<_> = statements.into_iter().collect();
        self.sequence(&tokens);
        self.open.truncate(outside);
    }

    /// A block whose code does not run where it stands.
    fn separate(&mut self, tokens: &[TokenTree]) {
        let around = std::mem::take(&mut self.open);
        self.sequence(tokens);
        self.open = around;
    }

    fn sequence(&mut self, tokens: &[TokenTree]) {
        let mut at = 0;
        while at < tokens.len() {
            let length = separate_code(&tokens[at..]);
            if length > 0 {
                match &tokens[at + length - 1] {
                    TokenTree::Group(body) if body.delimiter() == Delimiter::Brace => {
                        self.separate(&body.stream().into_iter().collect::<Vec<_>>());
                    }
                    _ => self.separate(&tokens[at + 1..at + length]),
                }
                at += length;
            } else if let Some(opener) = opener(tokens, at) {
                self.open(opener, &tokens[..at]);
                at += 3;
            } else {
                self.token(tokens, at);
                at += 1;
            }
        }
    }

    fn token(&mut self, tokens: &[TokenTree], at: usize) {
        match &tokens[at] {
            TokenTree::Group(group) => {
                if at > 0 && is_ident(&tokens[at - 1], "drop") {
                    self.dropped(group);
                }
                self.block(group.stream());
            }
            token if is_ident(token, "await") && at > 0 && is_punct(&tokens[at - 1], '.') => self.awaited(),
            _ => {}
        }
    }

    fn open(&mut self, opener: &Ident, before: &[TokenTree]) {
        let statement = before.rsplit(|token| is_punct(token, ';')).next().unwrap_or(before);
        let variable = bound_variable(statement);
        // A guard that no variable keeps ends with its statement.
        let is_kept = opener.to_string() != "guard" || variable.as_ref().is_some_and(|name| name != "_");
        if is_kept {
            self.open.push(Open { opener: opener.clone(), variable, reported: false });
        }
    }

    fn dropped(&mut self, arguments: &Group) {
        let name = arguments.stream().to_string();
        self.open.retain(|open| open.variable.as_ref() != Some(&name));
    }

    fn awaited(&mut self) {
        for open in self.open.iter_mut().filter(|open| !open.reported) {
            open.reported = true;
            self.problems.push(Problem::new(open.opener.span(), MESSAGE));
        }
    }
}

/// `scope!(..)`, `guard!(..)` or `function!(..)` of hotloop at this place: as `hotloop::scope!`, or imported.
fn opener(tokens: &[TokenTree], at: usize) -> Option<&Ident> {
    let [TokenTree::Ident(word), bang, TokenTree::Group(_), ..] = &tokens[at..] else {
        return None;
    };
    let is_opener = matches!(word.to_string().as_str(), "scope" | "guard" | "function") && is_punct(bang, '!');
    let is_ours = match &tokens[..at] {
        [.., owner, first, second] if is_punct(first, ':') && is_punct(second, ':') => is_ident(owner, "hotloop"),
        _ => true,
    };
    (is_opener && is_ours).then_some(word)
}

/// `name` of a statement that begins `let mut name`; the tokens may begin with earlier statements' blocks.
fn bound_variable(statement: &[TokenTree]) -> Option<String> {
    let keyword = statement.iter().rposition(|token| is_ident(token, "let"))?;
    let mut pattern = statement[keyword + 1..].iter().filter(|token| !is_ident(token, "mut"));
    pattern.next().map(TokenTree::to_string)
}

/// How many tokens from here on are an async block, an async closure or a function: code that runs elsewhere, or
/// later. Zero where none begins here. A plain closure needs no care: it cannot await.
fn separate_code(tokens: &[TokenTree]) -> usize {
    let is_function = matches!(tokens, [word, TokenTree::Ident(_), ..] if is_ident(word, "fn"));
    if is_function {
        return tokens.iter().position(is_braces).map_or(0, |at| at + 1);
    }
    if !is_ident(&tokens[0], "async") {
        return 0;
    }
    let keywords = if tokens.get(1).is_some_and(|token| is_ident(token, "move")) { 2 } else { 1 };
    match tokens.get(keywords) {
        Some(token) if is_braces(token) => keywords + 1,
        Some(token) if is_punct(token, '|') => closure(tokens, keywords),
        _ => 0,
    }
}

/// The length of an async closure whose parameters begin at `bar`.
fn closure(tokens: &[TokenTree], bar: usize) -> usize {
    let Some(parameters) = tokens[bar + 1..].iter().position(|token| is_punct(token, '|')) else {
        return 0;
    };
    let body = bar + parameters + 2;
    let is_end = |token: &TokenTree| is_punct(token, ',') || is_punct(token, ';');
    let rest = &tokens[body..];
    match rest.first() {
        Some(token) if is_braces(token) => body + 1,
        _ => body + rest.iter().position(is_end).unwrap_or(rest.len()),
    }
}

fn is_braces(token: &TokenTree) -> bool {
    matches!(token, TokenTree::Group(group) if group.delimiter() == Delimiter::Brace)
}
