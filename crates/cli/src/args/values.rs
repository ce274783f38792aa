//! Parsers of values that several commands take.

use std::ops::RangeInclusive;
use std::time::Duration;

use clap::builder::{PossibleValuesParser, RangedU64ValueParser, TypedValueParser};

/// No machine has more CPUs.
pub const MAX_THREADS: usize = 4_096;

/// A whole number.
pub fn count(range: RangeInclusive<u64>) -> RangedU64ValueParser<usize> {
    RangedU64ValueParser::new().range(range)
}

/// A number of threads.
pub fn threads() -> RangedU64ValueParser<usize> {
    count(1..=MAX_THREADS as u64)
}

/// A number that may have a fraction.
pub fn number(range: RangeInclusive<f64>) -> impl Fn(&str) -> Result<f64, String> + Clone {
    move |value| {
        let outside = || format!("not a number from {} to {}", range.start(), range.end());
        value.parse().ok().filter(|number| range.contains(number)).ok_or_else(outside)
    }
}

/// The same in 32 bits.
pub fn number_f32(range: RangeInclusive<f32>) -> impl Fn(&str) -> Result<f32, String> + Clone {
    move |value| {
        let outside = || format!("not a number from {} to {}", range.start(), range.end());
        value.parse().ok().filter(|number| range.contains(number)).ok_or_else(outside)
    }
}

/// Seconds, from a tenth to a day.
pub fn seconds(value: &str) -> Result<Duration, String> {
    number(0.1..=86_400.0)(value).map(Duration::from_secs_f64).map_err(|error| error + " (seconds)")
}

/// One of several names, which help lists and errors suggest.
pub fn one_of<Value: Clone + Send + Sync + 'static>(
    names: impl IntoIterator<Item = &'static str>,
    find: fn(&str) -> Option<Value>,
) -> impl TypedValueParser<Value = Value> {
    let parser = PossibleValuesParser::new(names.into_iter().collect::<Vec<_>>());
    parser.try_map(move |name| find(&name).ok_or("unknown name"))
}

/// How keys and values are stored.
pub fn cache_type() -> impl TypedValueParser<Value = engine::CacheType> {
    one_of(engine::CacheType::ALL.map(engine::CacheType::name), engine::CacheType::from_name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_have_bounds() {
        assert_eq!(seconds("1.5"), Ok(Duration::from_millis(1_500)));
        for wrong in ["0", "-1", "nan", "", "soon", "86401"] {
            assert_eq!(seconds(wrong), Err("not a number from 0.1 to 86400 (seconds)".to_owned()), "{wrong}");
        }
    }
}
