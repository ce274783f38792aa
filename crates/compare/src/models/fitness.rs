//! What a model can be used for: every threshold with its reason.

use record::{Figure, Fitness, LimitShare, ModelSpeed};

/// From so many tokens per second on, text comes several times faster than anybody reads, and tools that wait for it are not held up.
pub const INTERACTIVE_TOKENS_PER_S: f64 = 20.0;
/// People read four to five words, which are five to seven tokens, per second: slower text is waited for.
pub const READING_TOKENS_PER_S: f64 = 5.0;
/// Up to this, an answer seems to begin at once.
pub const AT_ONCE_S: f64 = 0.2;
/// Up to this, people wait without turning to something else.
pub const SHORT_WAIT_S: f64 = 2.0;
/// From this share of a limit on, better code could not make it twice as fast: only less work can.
pub const NEAR_LIMIT: f64 = 0.5;

/// By the slow ends of intervals: what is promised should hold.
pub(super) fn of(decode: Option<&ModelSpeed>, first: Option<&Figure>) -> Fitness {
    let slow = |figure: &Figure| figure.low.unwrap_or(figure.value);
    let pace = decode.map(|speed| match slow(&speed.tokens_per_s) {
        INTERACTIVE_TOKENS_PER_S.. => "interactive",
        READING_TOKENS_PER_S.. => "reading",
        _ => "batch",
    });
    let answer = first.map(|figure| match figure.high.unwrap_or(figure.value) {
        ..=AT_ONCE_S => "at_once",
        ..=SHORT_WAIT_S => "short_wait",
        _ => "long_wait",
    });
    let share = |limit: &Option<LimitShare>| limit.as_ref().map(|limit| limit.share);
    let bound = decode.and_then(|speed| match (share(&speed.arithmetic), share(&speed.reading)) {
        (None, None) => None,
        (arithmetic, Some(reading)) if reading >= NEAR_LIMIT && arithmetic.is_none_or(|other| reading >= other) => {
            Some("reading")
        }
        (Some(arithmetic), _) if arithmetic >= NEAR_LIMIT => Some("arithmetic"),
        _ => Some("overhead"),
    });
    let word = |word: Option<&str>| word.map(str::to_owned);
    Fitness { pace: word(pace), answer: word(answer), bound: word(bound) }
}
