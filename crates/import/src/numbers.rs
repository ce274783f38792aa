//! Numbers as other programs write them.

/// More than a century; what is longer is no time of a program.
const LONGEST_MS: f64 = 4e12;
/// More than any machine has.
const MOST_BYTES: f64 = 1e18;
/// What a count may be at most, so that sums of counts fit.
const MOST: u64 = 1 << 53;

const MIB: f64 = 1024.0 * 1024.0;

/// A number with decimals, not less than zero. A comma is the decimal sign of a system that has it so: .NET groups no digits
/// in this format.
pub(crate) fn decimal(text: &str) -> Option<f64> {
    let text = text.trim();
    let is_number = text.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b',' | b'-' | b'+'));
    let number: f64 = text.replace(',', ".").parse().ok().filter(|_| is_number)?;
    (number.is_finite() && number >= 0.0).then_some(number)
}

/// A whole number whose digits may be grouped, by whatever sign the system has for it.
pub(crate) fn whole(text: &str) -> Option<u64> {
    let digits: String = text.trim().chars().filter(|c| !is_group(*c)).collect();
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    digits.parse().ok().filter(|number| is_number && *number <= MOST)
}

fn is_group(c: char) -> bool {
    matches!(c, ',' | '.' | '\'' | '\u{2019}' | '\u{a0}' | '\u{202f}' | ' ')
}

/// `12.5 ms` without its unit.
pub(crate) fn with_unit(text: &str, unit: &str) -> Option<f64> {
    decimal(text.trim().strip_suffix(unit)?)
}

/// Milliseconds as nanoseconds.
pub(crate) fn ms_as_ns(ms: f64) -> Option<u64> {
    (0.0..LONGEST_MS).contains(&ms).then(|| (ms * 1e6).round() as u64)
}

/// Mebibytes, which SmallMind calls MB, as bytes.
pub(crate) fn mib_as_bytes(mib: f64) -> Option<u64> {
    let bytes = mib * MIB;
    (0.0..MOST_BYTES).contains(&bytes).then(|| bytes.round() as u64)
}

/// Nanoseconds as seconds.
pub(crate) fn seconds(ns: u64) -> f64 {
    ns as f64 * 1e-9
}

/// `2026-02-04 02:02:13` as a moment by RFC 3339. Whose clock it was is not told; it is taken for UTC.
pub(crate) fn moment(text: &str) -> Option<String> {
    let text = text.trim();
    let is_moment = text.len() == 19
        && text.bytes().enumerate().all(|(at, byte)| match at {
            4 | 7 => byte == b'-',
            10 => byte == b' ' || byte == b'T',
            13 | 16 => byte == b':',
            _ => byte.is_ascii_digit(),
        });
    is_moment.then(|| format!("{}T{}Z", &text[..10], &text[11..]))
}

/// Seconds since 1970 as a date and time in UTC, up to the year 9999.
pub(crate) fn rfc3339(seconds: u64) -> Option<String> {
    let timestamp = jiff::Timestamp::from_second(seconds.try_into().ok()?).ok()?;
    Some(timestamp.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_several_countries() {
        assert_eq!(decimal("1863.27"), Some(1863.27));
        assert_eq!(decimal("1863,27"), Some(1863.27));
        assert_eq!(whole("3,454,464"), Some(3_454_464));
        assert_eq!(whole("3\u{202f}454\u{a0}464"), Some(3_454_464));
        assert_eq!(with_unit("443.94 ms", "ms"), Some(443.94));
        for none in ["NaN", "inf", "-1", "1e9", "", "1,234,567.8", "0x10", "∞"] {
            assert_eq!(decimal(none), None, "{none}");
        }
        for none in ["", ",", "12a", "-1", "99999999999999999999"] {
            assert_eq!(whole(none), None, "{none}");
        }
        assert_eq!(decimal("-0.00"), Some(-0.0));
    }

    #[test]
    fn what_no_program_takes_is_refused() {
        assert_eq!(ms_as_ns(905.9), Some(905_900_000));
        assert_eq!(ms_as_ns(1e300), None);
        assert_eq!(mib_as_bytes(1e300), None);
    }

    #[test]
    fn moments() {
        assert_eq!(moment("2026-02-04 02:02:13").as_deref(), Some("2026-02-04T02:02:13Z"));
        assert_eq!(moment("2026-02-04 2:02:13"), None);
        assert_eq!(moment("ä026-02-04 02:02:1"), None);
        assert_eq!(rfc3339(951_782_400).as_deref(), Some("2000-02-29T00:00:00Z"));
        assert_eq!(rfc3339(1_761_794_000).as_deref(), Some("2025-10-30T03:13:20Z"));
        assert_eq!(rfc3339(u64::MAX), None);
    }
}
