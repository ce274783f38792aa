//! Moments as texts and as numbers.

/// Nanoseconds since 1970 of a moment by RFC 3339, or of the beginning of a day (`2026-03-01`) in UTC.
pub fn moment(text: &str) -> Option<i64> {
    let date = text.get(..10)?;
    let [year, month, day] = numbers(date, '-', [4, 2, 2])?;
    let days = days_since_1970(year, month, day)?;
    let (seconds, nanos) = if text.len() == 10 { (0, 0) } else { time_of_day(text.get(10..)?)? };
    (days * 86_400 + seconds).checked_mul(1_000_000_000)?.checked_add(nanos)
}

/// Seconds since midnight in UTC and nanoseconds, of `T12:34:56.789+01:00`.
fn time_of_day(text: &str) -> Option<(i64, i64)> {
    let text = text.strip_prefix(['T', 't', ' '])?;
    let [hour, minute, second] = numbers(text.get(..8)?, ':', [2, 2, 2])?;
    if hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let rest = text.get(8..)?;
    let (nanos, zone) = match rest.strip_prefix('.') {
        None => (0, rest),
        Some(fraction) => {
            let digits = fraction.bytes().take_while(u8::is_ascii_digit).count();
            // What is finer than nanoseconds is left out.
            let padded = format!("{:0<9}", &fraction[..digits]);
            ((digits > 0).then(|| padded[..9].parse().ok())??, &fraction[digits..])
        }
    };
    Some((hour * 3600 + minute * 60 + second - offset(zone)?, nanos))
}

/// Seconds that a zone is ahead of UTC.
fn offset(zone: &str) -> Option<i64> {
    if matches!(zone, "Z" | "z") {
        return Some(0);
    }
    let sign = match zone.as_bytes().first()? {
        b'+' => 1,
        b'-' => -1,
        _ => return None,
    };
    let [hours, minutes] = numbers(zone.get(1..)?, ':', [2, 2])?;
    (hours < 24 && minutes < 60).then_some(sign * (hours * 3600 + minutes * 60))
}

/// Numbers of just so many digits, and what stands between them.
fn numbers<const N: usize>(text: &str, between: char, digits: [usize; N]) -> Option<[i64; N]> {
    let mut parts = text.split(between);
    let mut values = [0; N];
    for (value, digits) in values.iter_mut().zip(digits) {
        let part =
            parts.next().filter(|part| part.len() == digits && part.bytes().all(|byte| byte.is_ascii_digit()))?;
        *value = part.parse().ok()?;
    }
    parts.next().is_none().then_some(values)
}

/// By counting 400 years of 146,097 days, which begin in March so that the leap day is the last.
fn days_since_1970(year: i64, month: i64, day: i64) -> Option<i64> {
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let longest = match month {
        2 => 28 + i64::from(is_leap),
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return None,
    };
    if !(1..=longest).contains(&day) {
        return None;
    }
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let (era, year) = (year.div_euclid(400), year.rem_euclid(400));
    let day_of_year = (153 * month + 2) / 5 + day - 1;
    // 1970-01-01 is day 719,468 of this count.
    Some(era * 146_097 + year * 365 + year / 4 - year / 100 + day_of_year - 719_468)
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
