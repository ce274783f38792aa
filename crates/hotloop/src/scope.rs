//! Scopes: the macros that open them and the guard that closes them.

use std::marker::PhantomData;

use crate::site::Site;
use crate::tree::{self, Entered, Frame, NO_INDEX, OTHER_INDEX, Token, mode};
use crate::{ENABLED, clock};

/// Opens a scope until the end of the block.
///
/// ```
/// fn layer(number: usize, width: usize) {
///     hotloop::scope!("layer", index = number);
///     {
///         hotloop::scope!("matmul", flops = 2 * width * width, bytes = 4 * width * width);
///     }
/// }
/// ```
///
/// The name (a literal or a constant) is qualified by the module. After it, in any order:
/// `index` tells activations apart that share the name (layer 7), `flops`, `bytes` and `tokens` declare the work of this
/// call, from which rates are made. Values are numbers of any type, taken `as u64`: fractions are cut off. They are
/// computed only when the profiler is started. What varies at run time is an index, not a name.
///
/// An index from 0 to [`i64::MAX`] has a row of its own, as long as a parent has not too many. Negative integers share one
/// row per parent, "other index", and are counted in
/// [`Losses::calls_with_other_index`](crate::Losses::calls_with_other_index).
///
/// The guard behind it belongs to one thread, so a future that holds it across `.await` cannot be spawned on a
/// multi-threaded executor; put the scope into a block, or use [`#[profile]`](macro@crate::profile) on the `async fn`:
///
/// ```compile_fail
/// fn spawn(future: impl Future<Output = ()> + Send) {}
/// spawn(async {
///     hotloop::scope!("across");
///     std::future::ready(()).await;
/// });
/// ```
#[macro_export]
macro_rules! scope {
    ($name:expr $(, $key:ident = $value:expr)* $(,)?) => {
        let _scope = $crate::guard!($name $(, $key = $value)*);
    };
}

/// Opens a scope and returns its guard, to end it by hand or to add work that is known only later.
///
/// ```
/// let mut read = hotloop::guard!("read");
/// let bytes = std::fs::read("Cargo.toml").map_or(0, |text| text.len());
/// read.add_bytes(bytes as u64);
/// drop(read);
/// ```
#[macro_export]
macro_rules! guard {
    ($name:expr $(, $key:ident = $value:expr)* $(,)?) => {{
        static SITE: $crate::__private::Site = $crate::__private::Site::new(
            ::core::module_path!(),
            $crate::__private::constant_name!($name),
            ::core::file!(),
            ::core::line!(),
        );
        $crate::__entry!($crate::__private::Entry::new(&SITE) $(, $key = $value)*).enter()
    }};
}

/// Opens a scope named after the enclosing function, qualified by module and type.
///
/// ```
/// struct Model;
/// impl Model {
///     fn forward(&self) {
///         hotloop::function!(); // rust_out::Model::forward
///     }
/// }
/// ```
#[macro_export]
macro_rules! function {
    ($($key:ident = $value:expr),* $(,)?) => {
        let _scope =
            $crate::__entry!($crate::__private::Entry::new($crate::__function_site!()) $(, $key = $value)*).enter();
    };
}

/// An entry with its values, one key after the other, so that an unknown key has an error of its own.
#[doc(hidden)]
#[macro_export]
macro_rules! __entry {
    ($entry:expr) => {
        $entry
    };
    ($entry:expr, index = $value:expr $(, $($rest:tt)+)?) => {
        $crate::__entry!($entry.index(|| ($value) as u64) $(, $($rest)+)?)
    };
    ($entry:expr, flops = $value:expr $(, $($rest:tt)+)?) => {
        $crate::__entry!($entry.flops(|| ($value) as u64) $(, $($rest)+)?)
    };
    ($entry:expr, bytes = $value:expr $(, $($rest:tt)+)?) => {
        $crate::__entry!($entry.bytes(|| ($value) as u64) $(, $($rest)+)?)
    };
    ($entry:expr, tokens = $value:expr $(, $($rest:tt)+)?) => {
        $crate::__entry!($entry.tokens(|| ($value) as u64) $(, $($rest)+)?)
    };
    ($entry:expr, $key:ident = $value:expr $(, $($rest:tt)+)?) => {
        ::core::compile_error!(::core::concat!(
            "unknown key `",
            ::core::stringify!($key),
            "`: expected `index`, `flops`, `bytes` or `tokens`; a number that tells calls apart, such as a layer, is \
             `index = ..`"
        ))
    };
}

/// The site of the enclosing function.
#[doc(hidden)]
#[macro_export]
macro_rules! __function_site {
    () => {{
        fn here() {}
        fn name() -> &'static str {
            ::core::any::type_name_of_val(&here)
        }
        static SITE: $crate::__private::Site =
            $crate::__private::Site::function(name, ::core::file!(), ::core::line!());
        &SITE
    }};
}

/// A scope about to be entered: what the macros build from their arguments.
#[derive(Debug)]
pub struct Entry {
    site: &'static Site,
    index: u64,
    /// Read once for the whole entry; 0 while the profiler is not started.
    flags: u64,
    flops: u64,
    bytes: u64,
    tokens: u64,
}

impl Entry {
    /// An entry at `site`, if the profiler is started.
    #[inline(always)]
    #[must_use]
    pub fn new(site: &'static Site) -> Entry {
        Entry { site, index: NO_INDEX, flags: started_flags(), flops: 0, bytes: 0, tokens: 0 }
    }

    #[inline(always)]
    fn value(&self, value: impl FnOnce() -> u64) -> u64 {
        if self.flags != 0 { value() } else { 0 }
    }

    /// Tells this activation from others of the same site.
    #[inline(always)]
    #[must_use]
    pub fn index(mut self, value: impl FnOnce() -> u64) -> Entry {
        self.index = index(self.value(value));
        self
    }

    /// Declares floating-point operations.
    #[inline(always)]
    #[must_use]
    pub fn flops(mut self, value: impl FnOnce() -> u64) -> Entry {
        self.flops = self.value(value);
        self
    }

    /// Declares bytes moved.
    #[inline(always)]
    #[must_use]
    pub fn bytes(mut self, value: impl FnOnce() -> u64) -> Entry {
        self.bytes = self.value(value);
        self
    }

    /// Declares tokens processed.
    #[inline(always)]
    #[must_use]
    pub fn tokens(mut self, value: impl FnOnce() -> u64) -> Entry {
        self.tokens = self.value(value);
        self
    }

    /// Enters, if the profiler is started.
    #[inline(always)]
    pub fn enter(self) -> Scope {
        if self.flags == 0 {
            return Scope::new(Entered::NOTHING);
        }
        if self.index == OTHER_INDEX {
            return enter_other(self.site, self.flops, self.bytes, self.tokens);
        }
        // All in one call, because the code at each scope has to come from far among other work.
        Scope::new(tree::enter(self.site, self.index, self.flops, self.bytes, self.tokens))
    }
}

/// A scope that is open; dropping it closes it.
///
/// It belongs to the thread that opened it: it can neither be sent to another nor be shared.
#[derive(Debug)]
#[must_use = "the scope ends where this is dropped: bind it to a name, `let _guard = …`; `let _ =` ends it at once"]
pub struct Scope {
    entered: Entered,
    /// What the compiler names when a scope is sent to another thread.
    _one_thread: PhantomData<*const ThreadThatOpenedIt>,
}

struct ThreadThatOpenedIt;

impl Scope {
    #[inline(always)]
    pub(crate) fn new(entered: Entered) -> Scope {
        Scope { entered, _one_thread: PhantomData }
    }

    /// Whether this scope is being recorded.
    #[inline(always)]
    #[must_use]
    pub fn is_active(&self) -> bool {
        ENABLED && self.entered.token != Token::NONE
    }

    /// Declares floating-point operations done in this scope, on top of those declared before.
    #[inline]
    pub fn add_flops(&mut self, flops: u64) {
        self.add_work(flops, 0, 0);
    }

    /// Declares bytes moved in this scope, on top of those declared before.
    #[inline]
    pub fn add_bytes(&mut self, bytes: u64) {
        self.add_work(0, bytes, 0);
    }

    /// Declares tokens processed in this scope, on top of those declared before.
    #[inline]
    pub fn add_tokens(&mut self, tokens: u64) {
        self.add_work(0, 0, tokens);
    }

    #[inline(always)]
    fn add_work(&self, flops: u64, bytes: u64, tokens: u64) {
        if self.is_active() {
            self.entered.token.add_work(flops, bytes, tokens);
        }
    }

    /// Adds to the time between the first poll and the last.
    #[doc(hidden)]
    #[inline]
    pub fn add_elapsed_ticks(&mut self, ticks: u64) {
        if self.is_active() {
            self.entered.token.add_elapsed(ticks);
        }
    }

    pub(crate) fn token(&self) -> Token {
        self.entered.token
    }
}

impl Drop for Scope {
    #[inline(always)]
    fn drop(&mut self) {
        if self.is_active() {
            tree::exit(self.entered);
        }
    }
}

/// Enters a scope; [`u64::MAX`] for no index.
#[inline(always)]
pub fn enter(site: &'static Site, index: u64) -> Scope {
    match started_flags() {
        0 => Scope::new(Entered::NOTHING),
        _ if shares_a_row(index) => enter_other(site, 0, 0, 0),
        _ => Scope::new(tree::enter(site, index, 0, 0, 0)),
    }
}

/// Enters a scope that ends with the function whose frame is at this address and which returns to `caller`: so that one
/// that is left by `longjmp` is found.
#[inline(always)]
pub fn enter_from(site: &'static Site, index: u64, frame: usize, caller: usize) -> Scope {
    match started_flags() {
        0 => Scope::new(Entered::NOTHING),
        _ if shares_a_row(index) => enter_other(site, 0, 0, 0),
        _ => Scope::new(tree::enter_from(site, index, Frame::of_function(frame, caller))),
    }
}

/// Enters with an index that has no row of its own.
#[cold]
#[inline(never)]
fn enter_other(site: &'static Site, flops: u64, bytes: u64, tokens: u64) -> Scope {
    let scope = Scope::new(tree::enter(site, OTHER_INDEX, flops, bytes, tokens));
    if scope.is_active() {
        tree::count_other_index();
    }
    scope
}

/// Above are the negative numbers, once they are taken `as u64`.
const MAX_INDEX: u64 = i64::MAX.cast_unsigned();

/// The index for a number that a program gave: one of its own, or the one that all others share.
#[inline(always)]
#[must_use]
pub fn index(number: u64) -> u64 {
    if number > MAX_INDEX { OTHER_INDEX } else { number }
}

/// Whether this is a number that the program gave, and too large for a row of its own.
#[inline(always)]
fn shares_a_row(index: u64) -> bool {
    index > MAX_INDEX && index != NO_INDEX
}

/// What is recorded now; 0 when nothing is.
#[inline(always)]
fn started_flags() -> u64 {
    let flags = if ENABLED { tree::flags_now() } else { 0 };
    if flags & mode::STARTED != 0 { flags } else { 0 }
}

/// Enters a scope without counting a call: a later poll of the same future.
#[inline]
pub fn reenter(site: &'static Site, index: u64) -> Scope {
    if started_flags() == 0 {
        return Scope::new(Entered::NOTHING);
    }
    let index = if shares_a_row(index) { OTHER_INDEX } else { index };
    let scope = Scope::new(tree::enter(site, index, 0, 0, 0));
    if scope.is_active() {
        scope.entered.token.mark_reentry();
    }
    scope
}

/// The profiler's clock, in its own ticks; 0 when nothing is recorded.
#[inline]
#[must_use]
pub fn now_ticks() -> u64 {
    if started_flags() != 0 { clock::now() } else { 0 }
}
