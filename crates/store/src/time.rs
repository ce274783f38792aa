//! Times as texts and as numbers.

use jiff::civil::Date;
use jiff::fmt::temporal::Pieces;
use jiff::tz::Offset;

/// Digits of a second's fraction that count: nanoseconds.
const FRACTION_DIGITS: usize = 9;
const SECONDS_OF_A_DAY: i32 = 86_400;

/// Nanoseconds since 1970 of a time by RFC 3339, or of the start of a day (`2026-03-01`) in UTC.
pub fn moment(text: &str) -> Option<i64> {
    let timestamp = if text.len() == "2026-03-01".len() {
        let day: Date = text.parse().ok()?;
        Offset::UTC.to_timestamp(day.at(0, 0, 0, 0)).ok()?
    } else {
        let text = to_nanoseconds(text);
        let pieces = Pieces::parse(&text).ok()?;
        // The parser takes offsets of more than a day, which RFC 3339 does not have.
        let offset = pieces.to_numeric_offset().filter(|offset| offset.seconds().abs() < SECONDS_OF_A_DAY)?;
        offset.to_timestamp(pieces.date().to_datetime(pieces.time()?)).ok()?
    };
    timestamp.as_nanosecond().try_into().ok()
}

/// The text without digits that are finer than nanoseconds: the parser refuses them.
fn to_nanoseconds(text: &str) -> String {
    let Some((before, fraction)) = text.split_once('.') else { return text.to_owned() };
    let digits = fraction.bytes().take_while(u8::is_ascii_digit).count();
    format!("{before}.{}{}", &fraction[..digits.min(FRACTION_DIGITS)], &fraction[digits..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_counted() {
        let second = 1_000_000_000;
        for (text, expected) in [
            ("1970-01-01", 0),
            ("1970-01-01T00:00:01Z", second),
            ("1969-12-31T23:59:59.5Z", -second / 2),
            ("2000-02-29T12:00:00+01:30", 951_820_200 * second),
            ("2026-11-15T13:23:12Z", 1_794_748_992 * second),
            ("2026-11-15 13:23:12.000000001999-00:00", 1_794_748_992 * second + 1),
            ("2100-03-01", 4_107_542_400 * second),
        ] {
            assert_eq!(moment(text), Some(expected), "{text}");
        }
    }

    #[test]
    fn what_is_no_moment_is_none() {
        for text in [
            "",
            "2026",
            "2026-13-01",
            "2026-02-29",
            "2100-02-29",
            "2026-00-10",
            "2026-01-00",
            "26-01-01",
            "2026-1-1",
            "2026-01-01T",
            "2026-01-01T12:00:00",
            "2026-01-01T24:00:00Z",
            "2026-01-01T12:00:00.Z",
            "2026-01-01T12:00:00+1",
            "2026-01-01x",
            "+026-01-01",
            "2026-01-01T12:00:00+24:00",
            "9999-12-31",
            "äöüäöüäöü",
            "2026-01-0ä",
        ] {
            assert_eq!(moment(text), None, "{text}");
        }
    }
}
