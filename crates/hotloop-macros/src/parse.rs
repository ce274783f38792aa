//! Reads the attribute's arguments and the function, as token trees: enough of Rust's grammar to find the parts
//! that are rewritten, so that the attribute costs no dependency and no build time.

use std::iter::Peekable;

use proc_macro::{Delimiter, Group, Ident, Span, TokenStream, TokenTree, token_stream};

use crate::name;

const KEYS: &str = "`index`, `flops`, `bytes` or `tokens`";

/// What is wrong, and where.
pub struct Problem {
    pub span: Span,
    pub message: String,
}

impl Problem {
    pub fn new(span: Span, message: impl Into<String>) -> Self {
        let message = message.into();
        Self { span, message }
    }
}

type Result<T> = std::result::Result<T, Problem>;

/// `"name", index = .., flops = ..`: what stands in the attribute's parentheses.
#[derive(Default)]
pub struct Arguments {
    /// A string literal, or the path of a constant.
    pub name: Option<TokenStream>,
    pub values: Vec<Value>,
}

/// `flops = 2 * m * n * k`
pub struct Value {
    pub key: Ident,
    pub expression: TokenStream,
}

impl Arguments {
    pub fn parse(tokens: TokenStream) -> Result<Self> {
        let mut pieces = split_arguments(tokens).into_iter().peekable();
        let name = pieces.next_if(|piece| !starts_with_key(piece));
        Ok(Self { name: name.map(parse_name).transpose()?, values: pieces.map(parse_value).collect::<Result<_>>()? })
    }

    pub fn value(&self, key: &str) -> Option<&Value> {
        self.values.iter().find(|value| value.key.to_string() == key)
    }
}

/// Splits at the commas before a `key =` and at the first one, if a name may stand before it. Other commas belong
/// to an expression: `index = position::<A, B>(x)`.
fn split_arguments(tokens: TokenStream) -> Vec<Vec<TokenTree>> {
    let tokens: Vec<_> = tokens.into_iter().collect();
    let mut pieces = Vec::new();
    let mut start = 0;
    for (at, token) in tokens.iter().enumerate() {
        let rest = &tokens[at + 1..];
        let after_name = start == 0 && !starts_with_key(&tokens);
        if is_punct(token, ',') && (after_name || rest.is_empty() || starts_with_key(rest)) {
            pieces.push(tokens[start..at].to_vec());
            start = at + 1;
        }
    }
    if start < tokens.len() {
        pieces.push(tokens[start..].to_vec());
    }
    pieces
}

fn starts_with_key(tokens: &[TokenTree]) -> bool {
    let [TokenTree::Ident(_), equals, rest @ ..] = tokens else {
        return false;
    };
    is_punct(equals, '=') && !rest.first().is_some_and(|next| is_punct(next, '='))
}

fn parse_name(tokens: Vec<TokenTree>) -> Result<TokenStream> {
    let is_path = |token: &TokenTree| matches!(token, TokenTree::Ident(_)) || is_punct(token, ':');
    match tokens.as_slice() {
        [] => Err(Problem::new(Span::call_site(), "a comma without an argument before it")),
        // From a `macro_rules!` fragment the name comes in a group without delimiters.
        [TokenTree::Group(group)] if group.delimiter() == Delimiter::None => Ok(group.stream()),
        [TokenTree::Literal(literal)] if literal.to_string().contains('"') => Ok(tokens.into_iter().collect()),
        path if path.iter().all(is_path) => name::constant(tokens.into_iter().collect()),
        [first, ..] => Err(Problem::new(
            first.span(),
            format!("expected a name (a string literal or a constant), or {KEYS} and `=`"),
        )),
    }
}

fn parse_value(tokens: Vec<TokenTree>) -> Result<Value> {
    let mut tokens = tokens.into_iter();
    let (key, equals) = match (tokens.next(), tokens.next()) {
        (Some(TokenTree::Ident(key)), Some(equals)) if is_punct(&equals, '=') => (key, equals),
        (Some(other), _) => {
            return Err(Problem::new(other.span(), format!("expected {KEYS} and `=`")));
        }
        (None, _) => {
            return Err(Problem::new(Span::call_site(), format!("expected {KEYS} and `=`")));
        }
    };
    if !matches!(key.to_string().as_str(), "index" | "flops" | "bytes" | "tokens") {
        return Err(unknown_argument(&key));
    }
    let expression: TokenStream = tokens.collect();
    if expression.is_empty() {
        return Err(Problem::new(equals.span(), format!("`{key} =` needs a value")));
    }
    Ok(Value { key, expression })
}

fn unknown_argument(key: &Ident) -> Problem {
    let mut message = format!("unknown argument `{key}`: expected {KEYS}");
    if key.to_string() == "name" {
        message.push_str("; a name comes first, as a literal or constant: `#[profile(\"x\", ..)]`");
    }
    Problem::new(key.span(), message)
}

/// The parts of a function that are rewritten, and what stands before the body, untouched.
pub struct Function {
    /// Attributes, visibility, qualifiers, name, generics, arguments, return type, `where`.
    pub signature: Vec<TokenTree>,
    pub name: Ident,
    pub is_async: bool,
    /// Empty for `()`.
    pub return_type: TokenStream,
    pub body: Body,
}

impl Function {
    pub fn parse(item: TokenStream) -> Result<Self> {
        let mut signature: Vec<_> = without_invisible_group(item).into_iter().collect();
        let head = Head::parse(&signature)?;
        let body = match signature.pop().and_then(into_braces) {
            Some(braces) => Body::parse(&braces),
            None => {
                return Err(Problem::new(head.name.span(), "#[profile] needs a function with a body"));
            }
        };
        Ok(Self {
            return_type: return_type(&signature[head.length..]),
            signature,
            name: head.name,
            is_async: head.is_async,
            body,
        })
    }
}

/// A function up to its name.
struct Head {
    /// In tokens.
    length: usize,
    name: Ident,
    is_async: bool,
}

impl Head {
    fn parse(item: &[TokenTree]) -> Result<Self> {
        let mut is_async = false;
        let mut refused_const = None;
        for (at, token) in item.iter().enumerate() {
            // Attributes, `pub(..)`, `extern ".."`.
            let TokenTree::Ident(word) = token else {
                continue;
            };
            match word.to_string().as_str() {
                "pub" | "default" | "unsafe" | "safe" | "extern" => {}
                "async" => is_async = true,
                "const" => refused_const = Some(word),
                "fn" => {
                    return match (refused_const, item.get(at + 1)) {
                        (Some(word), _) => Err(const_fn(word)),
                        (None, Some(TokenTree::Ident(name))) => {
                            Ok(Self { length: at + 2, name: name.clone(), is_async })
                        }
                        (None, _) => Err(not_a_function(word.span())),
                    };
                }
                _ => return Err(not_a_function(refused_const.unwrap_or(word).span())),
            }
        }
        Err(not_a_function(Span::call_site()))
    }
}

fn const_fn(word: &Ident) -> Problem {
    Problem::new(
        word.span(),
        "#[profile] cannot be put on a `const fn`: there is no clock at compile time; \
         profile the caller, or a function that is not const",
    )
}

fn not_a_function(span: Span) -> Problem {
    Problem::new(
        span,
        "#[profile] goes on a function, a method or an async function; put it on each method of an `impl`, \
         and inside a function use `hotloop::scope!`",
    )
}

/// What stands between `->` and `where` or the body.
fn return_type(after_name: &[TokenTree]) -> TokenStream {
    // A `->` in the generics (`<F: Fn() -> T>`) is not the function's; its own comes after the arguments, and they
    // are the first parentheses outside of the angle brackets.
    let mut depth = 0_usize;
    let mut tokens = after_name.iter().peekable();
    let mut previous_dash = false;
    for token in tokens.by_ref() {
        match token {
            TokenTree::Punct(punct) if punct.as_char() == '<' => depth += 1,
            TokenTree::Punct(punct) if punct.as_char() == '>' && !previous_dash => {
                depth = depth.saturating_sub(1);
            }
            TokenTree::Group(group) if depth == 0 && group.delimiter() == Delimiter::Parenthesis => {
                break;
            }
            _ => {}
        }
        previous_dash = is_punct(token, '-');
    }
    let has_arrow = tokens.next().is_some_and(|token| is_punct(token, '-'))
        && tokens.next().is_some_and(|token| is_punct(token, '>'));
    if !has_arrow {
        return TokenStream::new();
    }
    tokens.take_while(|token| !is_ident(token, "where")).cloned().collect()
}

/// A function's body.
pub struct Body {
    /// `#![..]`, which have to stay first.
    pub inner_attributes: TokenStream,
    pub statements: TokenStream,
    /// Of the whole body, so that messages about it point to its braces.
    pub span: Span,
}

impl Body {
    fn parse(braces: &Group) -> Self {
        let mut tokens = braces.stream().into_iter().peekable();
        let mut inner_attributes = TokenStream::new();
        while let Some(attribute) = next_inner_attribute(&mut tokens) {
            inner_attributes.extend(attribute);
        }
        Self { inner_attributes, statements: tokens.collect(), span: braces.span() }
    }

    /// The block of a body that only boxes a future: `{ Box::pin(async move { .. }) }`. That is what an
    /// `#[async_trait]` which was expanded before leaves of an async method.
    pub fn boxed_future(&self) -> Option<BoxedFuture> {
        let tokens: Vec<_> = self.statements.clone().into_iter().collect();
        let (TokenTree::Group(call), constructor) = tokens.split_last()? else {
            return None;
        };
        let words: String = constructor.iter().map(TokenTree::to_string).collect();
        let inside: Vec<_> = call.stream().into_iter().collect();
        let (block, keywords) = inside.split_last()?;
        let is_async_block = match keywords {
            [word] => is_ident(word, "async"),
            [word, capture] => is_ident(word, "async") && is_ident(capture, "move"),
            _ => false,
        };
        let boxes = matches!(words.trim_start_matches("::"), "Box::pin" | "std::boxed::Box::pin");
        (boxes && is_async_block).then_some(BoxedFuture {
            constructor: constructor.iter().cloned().collect(),
            block: into_braces(block.clone())?.stream(),
            future: call.stream(),
        })
    }
}

/// The parts of `Box::pin(async move { .. })`.
pub struct BoxedFuture {
    /// `Box::pin`
    pub constructor: TokenStream,
    /// What stands in the block.
    pub block: TokenStream,
    /// `async move { .. }`
    pub future: TokenStream,
}

fn next_inner_attribute(tokens: &mut Peekable<token_stream::IntoIter>) -> Option<[TokenTree; 3]> {
    // A statement may begin with an outer attribute, so two tokens have to be seen before the first is taken.
    let mut ahead = tokens.clone();
    let hash = ahead.next().filter(|token| is_punct(token, '#'))?;
    let bang = ahead.next().filter(|token| is_punct(token, '!'))?;
    let content = ahead.next()?;
    *tokens = ahead;
    Some([hash, bang, content])
}

/// An item that went through a `$item:item` of `macro_rules!` arrives inside a group without delimiters.
fn without_invisible_group(item: TokenStream) -> TokenStream {
    let mut tokens = item.clone().into_iter();
    match (tokens.next(), tokens.next()) {
        (Some(TokenTree::Group(group)), None) if group.delimiter() == Delimiter::None => group.stream(),
        _ => item,
    }
}

/// A `{}`, also if it went through a `$body:block` of `macro_rules!`.
fn into_braces(token: TokenTree) -> Option<Group> {
    match token {
        TokenTree::Group(group) => match group.delimiter() {
            Delimiter::Brace => Some(group),
            Delimiter::None => into_braces(group.stream().into_iter().next()?),
            _ => None,
        },
        _ => None,
    }
}

pub fn is_punct(token: &TokenTree, character: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == character)
}

pub fn is_ident(token: &TokenTree, word: &str) -> bool {
    matches!(token, TokenTree::Ident(ident) if ident.to_string() == word)
}
