//! Existing `tracing` spans as scopes: programs and libraries that are instrumented already need no second
//! instrumentation.
//!
//! A span's call site becomes a [`Site`], made once and kept for the life of the program. Entering a span opens a
//! scope and exiting closes it. `tracing` hands us only the span's id, so what is known of a live span stands in a
//! table by id, and the open scopes of a thread stand on a stack of that thread.

use std::cell::RefCell;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tracing_core::field::{Field, Visit};
use tracing_core::span::{Attributes, Id, Record};
use tracing_core::{Metadata, Subscriber};
use tracing_subscriber::layer::{Context, Layer};
use tracing_subscriber::registry::LookupSpan;

use crate::ENABLED;
use crate::control::is_started;
use crate::scope::{Scope, enter, now_ticks, reenter};
use crate::site::Site;
use crate::tree::flags_now;

/// "No index", as [`enter`] takes it.
const NO_INDEX: u64 = u64::MAX;

/// The fields that become a scope's index, the first that a span has.
const INDEX_FIELDS: [&str; 3] = ["layer", "index", "i"];

/// Parts of the table of live spans. Two threads wait for each other only if both touch the same part in the same
/// nanoseconds; this many make that rare on any machine.
const SHARDS: usize = 64;

/// A layer for `tracing_subscriber` that makes a scope of every span.
///
/// ```
/// use tracing_subscriber::layer::SubscriberExt;
/// use tracing_subscriber::util::SubscriberInitExt;
///
/// tracing_subscriber::registry().with(hotloop::tracing_layer()).init();
/// hotloop::start();
/// ```
///
/// The layer takes spans of every level that the rest of the subscriber lets through. Install it before the spans
/// are made: a span that was made earlier is not seen.
#[must_use]
pub fn tracing_layer() -> TracingLayer {
    TracingLayer { spans: std::array::from_fn(|_| Mutex::default()), entry: Entry::Poll }
}

/// Makes scopes of spans; see [`tracing_layer`].
///
/// A scope is named like the span, qualified by the span's module. A numeric field `layer`, `index` or `i` becomes
/// the scope's index. A span is one call: where it is entered again, as the span of a future is at every poll, that
/// counts as a further poll of the same call, and the time from the first entry to the last exit is kept beside the
/// time spent inside.
#[derive(Debug)]
pub struct TracingLayer {
    spans: [Mutex<ById<Span>>; SHARDS],
    entry: Entry,
}

/// What entering a span again means.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Entry {
    Poll,
    Call,
}

impl TracingLayer {
    /// Counts each entry of a span as a call.
    ///
    /// For libraries that make a span once and enter it at every call, as candle's models do.
    #[must_use]
    pub fn each_entry_is_a_call(self) -> Self {
        let entry = Entry::Call;
        Self { entry, ..self }
    }

    fn shard(&self, id: u64) -> MutexGuard<'_, ById<Span>> {
        let shard = IdHasher::mix(id) as usize % SHARDS;
        self.spans[shard].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Enters a span that the table knows; `None` for any other.
    fn enter(&self, id: u64) -> Option<(Span, Scope)> {
        let span = {
            let mut spans = self.shard(id);
            let known = spans.get_mut(&id)?;
            let span = *known;
            let flags = flags_now();
            let is_same_run = span.counted_until.is_some_and(|(_, then)| then >> 32 == flags >> 32);
            if self.entry == Entry::Poll && span.counted_until.is_none_or(|(_, then)| then != flags) {
                // The first entry, or recording was stopped or reset since the last: the time between does not count.
                known.counted_until = Some((now_ticks(), flags));
            }
            Span { counted_until: span.counted_until.filter(|_| is_same_run), ..span }
        };
        let open = if span.counted_until.is_some() { reenter } else { enter };
        Some((span, open(span.site, span.index)))
    }

    /// Adds the time since the first entry, or since the last exit, up to which it was added then. The first entry
    /// adds none: whether there will be another is not known, and most spans are entered once.
    fn add_elapsed(&self, open: &mut OpenSpan) {
        let is_first = open.span.is_none_or(|span| span.counted_until.is_none());
        let Some(scope) = open.scope.as_mut().filter(|_| !is_first) else {
            return;
        };
        let (now, flags) = (now_ticks(), flags_now());
        if let Some(span) = self.shard(open.id).get_mut(&open.id).filter(|_| now != 0) {
            let since = span.counted_until.replace((now, flags)).filter(|(_, then)| *then == flags);
            scope.add_elapsed_ticks(since.map_or(0, |(since, _)| now.saturating_sub(since)));
        }
    }
}

impl<S> Layer<S> for TracingLayer
where
    S: Subscriber + for<'a> LookupSpan<'a>,
{
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, _context: Context<'_, S>) {
        if !ENABLED {
            return;
        }
        let Some(callsite) = SITES.try_with(|sites| sites.borrow_mut().of(attributes.metadata())).ok() else {
            return;
        };
        let mut index = Index::default();
        if callsite.has_index {
            attributes.record(&mut index);
        }
        let id = id.into_u64();
        self.shard(id).insert(id, Span::new(callsite.site, index.value));
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, _context: Context<'_, S>) {
        if !ENABLED {
            return;
        }
        let mut index = Index::default();
        values.record(&mut index);
        let id = id.into_u64();
        if index.value != NO_INDEX
            && let Some(span) = self.shard(id).get_mut(&id)
        {
            span.index = index.value;
        }
    }

    fn on_enter(&self, id: &Id, _context: Context<'_, S>) {
        if !ENABLED {
            return;
        }
        let id = id.into_u64();
        // Also without a profile, so that every exit finds its entry.
        let (span, scope) = if is_started() { self.enter(id) } else { None }.unzip();
        // While the thread ends its stack is gone already, and the scope closes at once.
        let _ = OPEN.try_with(|stack| stack.borrow_mut().push(OpenSpan { id, span, scope }));
    }

    fn on_exit(&self, id: &Id, _context: Context<'_, S>) {
        if !ENABLED {
            return;
        }
        let _ = OPEN.try_with(|stack| close(&mut stack.borrow_mut(), id.into_u64(), self));
    }

    fn on_close(&self, id: Id, _context: Context<'_, S>) {
        if !ENABLED {
            return;
        }
        let id = id.into_u64();
        self.shard(id).remove(&id);
    }
}

/// Closes the innermost entry of this span. Entries above it, which `tracing` allows to stay, are opened again:
/// a scope ends before the one that it stands in.
fn close(stack: &mut Vec<OpenSpan>, id: u64, layer: &TracingLayer) {
    let Some(at) = stack.iter().rposition(|open| open.id == id) else {
        return;
    };
    for above in stack[at + 1..].iter_mut().rev() {
        above.scope = None;
    }
    let mut closed = stack.remove(at);
    layer.add_elapsed(&mut closed);
    drop(closed);
    for above in &mut stack[at..] {
        above.scope = above.span.map(|span| reenter(span.site, span.index));
    }
}

/// A span that is not closed yet.
#[derive(Clone, Copy, Debug)]
struct Span {
    site: &'static Site,
    index: u64,
    /// In ticks: the end of the time that was added as elapsed, at first the start of the first entry; and what was
    /// recorded then. `None` before that entry, and always where each entry is a call.
    counted_until: Option<(u64, u64)>,
}

impl Span {
    fn new(site: &'static Site, index: u64) -> Self {
        Self { site, index, counted_until: None }
    }
}

/// An entry of a span by this thread.
struct OpenSpan {
    id: u64,
    /// As it was before this entry. `None` for what is not recorded: no profile was being taken, or the span is older
    /// than the layer.
    span: Option<Span>,
    /// `None` also while a scope below is being closed.
    scope: Option<Scope>,
}

thread_local! {
    /// The entries of this thread that were not exited, outermost first.
    static OPEN: RefCell<Vec<OpenSpan>> = const { RefCell::new(Vec::new()) };

    /// The call sites that this thread has met, so that it asks [`ALL_SITES`] once for each.
    static SITES: RefCell<Sites> = RefCell::default();
}

/// The call sites that any thread has met.
static ALL_SITES: Mutex<Option<Sites>> = Mutex::new(None);

/// What is known of a call site of `tracing`.
#[derive(Clone, Copy)]
struct SpanSite {
    site: &'static Site,
    has_index: bool,
}

#[derive(Default)]
struct Sites(ById<SpanSite>);

impl Sites {
    fn of(&mut self, metadata: &'static Metadata<'static>) -> SpanSite {
        // A call site has one `static` of metadata.
        let id = std::ptr::from_ref(metadata).addr() as u64;
        *self.0.entry(id).or_insert_with(|| {
            let mut all = ALL_SITES.lock().unwrap_or_else(PoisonError::into_inner);
            let all = &mut all.get_or_insert_default().0;
            *all.entry(id).or_insert_with(|| SpanSite::new(metadata))
        })
    }
}

impl SpanSite {
    /// Leaks a site: there are as many as call sites in the source.
    fn new(metadata: &'static Metadata<'static>) -> Self {
        let site = Site::new(
            metadata.module_path().unwrap_or(metadata.target()),
            metadata.name(),
            metadata.file().unwrap_or(""),
            metadata.line().unwrap_or(0),
        );
        Self {
            site: Box::leak(Box::new(site)),
            has_index: metadata.fields().iter().any(|field| Index::rank(&field).is_some()),
        }
    }
}

/// Picks the index out of a span's fields.
struct Index {
    value: u64,
    /// The place of the field that it came from in [`INDEX_FIELDS`].
    rank: usize,
}

impl Default for Index {
    fn default() -> Self {
        Self { value: NO_INDEX, rank: INDEX_FIELDS.len() }
    }
}

impl Index {
    fn rank(field: &Field) -> Option<usize> {
        INDEX_FIELDS.iter().position(|name| *name == field.name())
    }
}

impl Visit for Index {
    fn record_u64(&mut self, field: &Field, value: u64) {
        if let Some(rank) = Self::rank(field).filter(|rank| *rank < self.rank) {
            *self = Self { value, rank };
        }
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        if let Ok(value) = u64::try_from(value) {
            self.record_u64(field, value);
        }
    }

    fn record_debug(&mut self, _field: &Field, _value: &dyn std::fmt::Debug) {}
}

type ById<T> = HashMap<u64, T, BuildHasherDefault<IdHasher>>;

/// Mixes one number, an id or an address: nobody chooses them to collide, so more than a multiplication would only
/// cost time.
#[derive(Default)]
struct IdHasher(u64);

impl IdHasher {
    fn mix(number: u64) -> u64 {
        // 2^64 divided by the golden ratio: neighbours end up far apart. The upper half is the well mixed one.
        number.wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(32)
    }
}

impl Hasher for IdHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(u64::from(*byte));
        }
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = Self::mix(self.0 ^ number);
    }

    fn write_usize(&mut self, number: usize) {
        self.write_u64(number as u64);
    }
}
