//! `#[profile]`, the attribute of hotloop. Use it as `hotloop::profile`: the code it writes needs that crate.

mod expand;
mod held;
mod name;
mod parse;

use proc_macro::TokenStream;

/// Makes a function a scope: each call of it is counted and timed.
///
/// The scope is named after the function, with its module and type; two types with a method of the same name are
/// two scopes. It lasts from the first statement of the body until everything in the body was dropped, however
/// the function is left: at its end, by `return`, by `?` or by a panic.
///
/// ```
/// struct Layer {
///     weights: Vec<f32>,
/// }
///
/// impl Layer {
///     #[hotloop::profile]
///     fn forward(&self, input: &[f32]) -> f32 {
///         self.weights.iter().zip(input).map(|(weight, x)| weight * x).sum()
///     }
/// }
/// # Layer { weights: vec![1.0] }.forward(&[2.0]);
/// ```
///
/// # Arguments
///
/// All are optional, in this order:
///
/// - a name, as a string literal or the path of a constant; the module is put before it;
/// - `index = ..`: which one of many, such as the number of a layer; each index has its own row, but negative ones share one;
/// - `flops = ..`, `bytes = ..`, `tokens = ..`: the work of this call, from which the report makes rates.
///
/// The values are expressions over the function's parameters, of any integer type. They are evaluated when the
/// function is entered, and only while a profile is taken.
///
/// ```
/// const GEMV: &str = "gemv";
///
/// #[hotloop::profile(GEMV, index = layer, flops = 2 * rows * x.len(), bytes = size_of_val(weights))]
/// fn gemv(layer: usize, rows: usize, weights: &[f32], x: &[f32]) -> Vec<f32> {
///     let row = |r: usize| &weights[r * x.len()..][..x.len()];
///     (0..rows).map(|r| row(r).iter().zip(x).map(|(w, x)| w * x).sum()).collect()
/// }
/// # gemv(0, 1, &[1.0], &[1.0]);
/// ```
///
/// # Async functions
///
/// One call of an async function is one call of its scope, however often and on whichever thread it is polled.
/// The scope's time is the time in which it was being polled; the time from the first poll to the last stands
/// beside it. A future that is dropped before it is done counts with what it had done until then.
///
/// ```
/// #[hotloop::profile(index = request)]
/// async fn answer(request: u64) -> std::io::Result<String> {
///     let question = read(request).await?;
///     Ok(question.to_uppercase())
/// }
/// # async fn read(_: u64) -> std::io::Result<String> { Ok(String::new()) }
/// # drop(answer(3));
/// ```
///
/// An async function has no `flops`, `bytes` or `tokens`: declare them where the work is done, in a function that
/// is not async or in a scope inside a block.
///
/// A function whose whole body is `Box::pin(async move { .. })`, which is what `#[async_trait]` makes of an async
/// method, is treated like an async function. Any other function that returns a future is a plain function: what
/// is measured is the making of the future.
///
/// # A scope is not held across `.await`
///
/// While a future waits, its thread does other things, and they would be counted as part of the scope. So a
/// `scope!`, `guard!` or `function!` that is open at an `.await` of an async function under this attribute is
/// refused. End it before, with a block:
///
/// ```
/// #[hotloop::profile]
/// async fn step() {
///     {
///         hotloop::scope!("compute");
///         // ...
///     }
///     send().await;
/// }
/// # async fn send() {}
/// # drop(step());
/// ```
///
/// ```compile_fail
/// #[hotloop::profile]
/// async fn step() {
///     hotloop::scope!("compute");
///     send().await;
/// }
/// # async fn send() {}
/// ```
///
/// The attribute reads the tokens of the body: an `.await` that another macro makes is not seen. There, and in
/// functions without the attribute, the guard is still not `Send`, so an executor with several threads refuses
/// the future.
///
/// # What it cannot be put on
///
/// A `const fn` (there is no clock at compile time), a method without a body, and anything that is not a function:
/// inside a function use `hotloop::scope!`.
#[proc_macro_attribute]
pub fn profile(arguments: TokenStream, item: TokenStream) -> TokenStream {
    expand::function(arguments, item.clone()).unwrap_or_else(|problems| expand::refused(item, problems))
}

/// The name of a scope as it was written, or an error that a person understands. For the macros of hotloop.
#[doc(hidden)]
#[proc_macro]
pub fn constant_name(name: TokenStream) -> TokenStream {
    name::constant(name).unwrap_or_else(expand::compile_error)
}
