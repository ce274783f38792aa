//! Writes the new body: the scope first, then the old body as it was.

use proc_macro::{Delimiter, Group, Ident, Literal, Span, TokenStream, TokenTree};

use crate::held;
use crate::parse::{Arguments, Body, BoxedFuture, Function, Problem, is_ident, is_punct};

/// The function with its scope, or the problems that it has.
pub fn function(arguments: TokenStream, item: TokenStream) -> Result<TokenStream, Vec<Problem>> {
    let arguments = Arguments::parse(arguments).map_err(|problem| vec![problem])?;
    let function = Function::parse(item).map_err(|problem| vec![problem])?;
    let new_statements = match function.body.boxed_future() {
        _ if function.is_async => async_body(&arguments, &function)?,
        Some(boxed) => boxed_body(&arguments, &function, boxed)?,
        None => sync_body(&arguments, &function),
    };
    Ok(with_body(function.signature, function.body, new_statements))
}

/// The item as it was, so that its users find it, and an error for each problem.
pub fn refused(item: TokenStream, problems: Vec<Problem>) -> TokenStream {
    let errors = problems.into_iter().map(compile_error);
    std::iter::once(item).chain(errors).collect()
}

/// An error in place of what cannot be written.
pub fn compile_error(problem: Problem) -> TokenStream {
    let message = TokenTree::from(Literal::string(&problem.message));
    let mut error = tokens("::core::compile_error!", problem.span);
    error.extend([braces(message.into(), problem.span)]);
    // The compiler points to the literal's span, too.
    error.into_iter().map(|token| respan(token, problem.span)).collect()
}

fn with_body(signature: Vec<TokenTree>, body: Body, statements: TokenStream) -> TokenStream {
    let content: TokenStream = [body.inner_attributes, statements].into_iter().collect();
    signature.into_iter().chain([braces(content, body.span)]).collect()
}

/// `::hotloop::function!(flops = ..); ..` or `::hotloop::scope!("name", flops = ..); ..`
fn sync_body(arguments: &Arguments, function: &Function) -> TokenStream {
    // The place of a scope is the place of its macro: give it that of the function's name.
    let span = function.name.span();
    let mut inside = TokenStream::new();
    let path = match &arguments.name {
        Some(name) => {
            inside.extend(name.clone());
            "::hotloop::scope!"
        }
        None => "::hotloop::function!",
    };
    for value in &arguments.values {
        if !inside.is_empty() {
            inside.extend(tokens(",", span));
        }
        inside.extend([TokenTree::from(value.key.clone())]);
        inside.extend(tokens("=", span));
        inside.extend(value.expression.clone());
    }
    let mut statements = tokens(path, span);
    statements.extend([parentheses(inside, span)]);
    statements.extend(tokens(";", span));
    statements.extend(function.body.statements.clone());
    statements
}

/// `Profiled::new(site, index, async move { .. }).await`
fn async_body(arguments: &Arguments, function: &Function) -> Result<TokenStream, Vec<Problem>> {
    check_async(arguments, function.body.statements.clone())?;
    let mut block = return_type_hint(&function.return_type);
    block.extend(function.body.statements.clone());
    let mut future = tokens("async move", Span::mixed_site());
    future.extend([braces(block, function.body.span)]);
    let mut statements = profiled(arguments, &function.name, future);
    statements.extend(tokens(".await", Span::mixed_site()));
    Ok(statements)
}

/// `Box::pin(Profiled::new(site, index, async move { .. }))`
fn boxed_body(arguments: &Arguments, function: &Function, boxed: BoxedFuture) -> Result<TokenStream, Vec<Problem>> {
    check_async(arguments, boxed.block)?;
    let future = profiled(arguments, &function.name, boxed.future);
    let mut statements = boxed.constructor;
    statements.extend([parentheses(future, function.body.span)]);
    Ok(statements)
}

fn check_async(arguments: &Arguments, statements: TokenStream) -> Result<(), Vec<Problem>> {
    let mut problems = held::across_await(statements);
    let work = arguments.values.iter().filter(|value| value.key.to_string() != "index");
    problems.extend(work.map(|value| {
        let message = format!(
            "an async function cannot declare `{}`: declare it where the work is done, with `hotloop::scope!` in a \
             block without .await, or with #[profile] on a function that is not async",
            value.key
        );
        Problem::new(value.key.span(), message)
    }));
    if problems.is_empty() { Ok(()) } else { Err(problems) }
}

/// `::hotloop::__private::Profiled::new(site, index, future)`
fn profiled(arguments: &Arguments, function: &Ident, future: TokenStream) -> TokenStream {
    let hygienic = Span::mixed_site();
    let mut inside = site(arguments, function.span());
    inside.extend(tokens(",", hygienic));
    inside.extend(index(arguments));
    inside.extend(tokens(",", hygienic));
    inside.extend(future);
    let mut call = tokens("::hotloop::__private::Profiled::new", hygienic);
    call.extend([parentheses(inside, hygienic)]);
    call
}

/// An expression: the `&'static Site` of an async function.
fn site(arguments: &Arguments, span: Span) -> TokenStream {
    let Some(name) = &arguments.name else {
        return tokens("::hotloop::__function_site!()", span);
    };
    let mut parts = tokens("::core::module_path!(),", span);
    parts.extend(name.clone());
    parts.extend(tokens(", ::core::file!(), ::core::line!()", span));
    let mut block =
        tokens("static SITE: ::hotloop::__private::Site = ::hotloop::__private::Site::new", Span::mixed_site());
    block.extend([parentheses(parts, span)]);
    block.extend(tokens("; &SITE", Span::mixed_site()));
    TokenStream::from(braces(block, Span::mixed_site()))
}

/// An expression: the index, evaluated only while a profile is taken; `u64::MAX` stands for none.
fn index(arguments: &Arguments) -> TokenStream {
    let hygienic = Span::mixed_site();
    let none = tokens("::core::primitive::u64::MAX", hygienic);
    let Some(value) = arguments.value("index") else {
        return none;
    };
    let mut number = TokenStream::from(parentheses(value.expression.clone(), hygienic));
    number.extend(tokens("as ::core::primitive::u64", hygienic));
    let mut index = tokens("::hotloop::__private::index", hygienic);
    index.extend([parentheses(number, hygienic)]);
    let mut choice = tokens("if ::hotloop::is_started()", hygienic);
    choice.extend([braces(index, hygienic)]);
    choice.extend(tokens("else", hygienic));
    choice.extend([braces(none, hygienic)]);
    choice
}

/// Dead code that tells the compiler what the async block returns: without it, `?` and `.into()` in the block could
/// not be inferred, as nothing ties the block to the function's return type early enough.
fn return_type_hint(return_type: &TokenStream) -> TokenStream {
    let mut written = return_type.clone().into_iter();
    let is_never = matches!((written.next(), written.next()), (Some(token), None) if is_punct(&token, '!'));
    // Neither `impl Trait` nor `!` may be the type of a variable.
    if is_never || mentions_impl(return_type.clone()) {
        return TokenStream::new();
    }
    let hygienic = Span::mixed_site();
    let mut block = tokens("let __ret:", hygienic);
    if return_type.is_empty() {
        block.extend(tokens("()", hygienic));
    } else {
        block.extend(return_type.clone());
    }
    block.extend(tokens("= loop {}; return __ret;", hygienic));
    let mut hint = tokens(
        "#[allow(unreachable_code, unused_variables, clippy::all, clippy::pedantic, clippy::nursery)] if false",
        hygienic,
    );
    hint.extend([braces(block, hygienic)]);
    hint
}

fn mentions_impl(tokens: TokenStream) -> bool {
    tokens.into_iter().any(|token| match token {
        TokenTree::Group(group) => mentions_impl(group.stream()),
        token => is_ident(&token, "impl"),
    })
}

/// Parses the source text of generated code and gives every token this span.
fn tokens(source: &str, span: Span) -> TokenStream {
    let parsed: TokenStream = source.parse().unwrap_or_default();
    parsed.into_iter().map(|token| respan(token, span)).collect()
}

fn respan(token: TokenTree, span: Span) -> TokenTree {
    let mut token = match token {
        TokenTree::Group(group) => {
            let content = group.stream().into_iter();
            TokenTree::from(Group::new(group.delimiter(), content.map(|token| respan(token, span)).collect()))
        }
        token => token,
    };
    token.set_span(span);
    token
}

fn braces(content: TokenStream, span: Span) -> TokenTree {
    group(Delimiter::Brace, content, span)
}

fn parentheses(content: TokenStream, span: Span) -> TokenTree {
    group(Delimiter::Parenthesis, content, span)
}

fn group(delimiter: Delimiter, content: TokenStream, span: Span) -> TokenTree {
    let mut group = Group::new(delimiter, content);
    group.set_span(span);
    TokenTree::from(group)
}
