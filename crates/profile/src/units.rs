//! Numbers as text: times, bytes, rates, shares and counts, with three digits and a unit. Names in sentences.

/// A duration in three digits.
#[must_use]
pub fn seconds(seconds: f64) -> String {
    if seconds == 0.0 {
        return "0 s".to_owned();
    }
    let (factor, unit) = time_unit(seconds);
    format!("{} {unit}", digits(seconds * factor))
}

/// The unit of a duration, and how many of it are a second.
fn time_unit(seconds: f64) -> (f64, &'static str) {
    match seconds {
        ..1e-6 => (1e9, "ns"),
        ..1e-3 => (1e6, "us"),
        ..1.0 => (1e3, "ms"),
        _ => (1.0, "s"),
    }
}

/// A duration and half the width of its interval, in the same unit: `1.23 ms ±0.05`.
#[must_use]
pub fn seconds_within(seconds: f64, half_width: f64) -> String {
    let (factor, _) = time_unit(seconds);
    let (value, half) = (seconds * factor, half_width * factor);
    let decimals = match value {
        ..9.995 => 2,
        ..99.95 => 1,
        _ => 0,
    };
    let is_far_wider = seconds == 0.0 || half >= 1e3;
    let half = if is_far_wider { self::seconds(half_width) } else { error(half, decimals) };
    format!("{} ±{half}", self::seconds(seconds))
}

/// Half the width of an interval; one in the last place where less could be seen, so that it is not taken for none.
fn error(half: f64, decimals: usize) -> String {
    let least = 0.1_f64.powi(decimals as i32);
    format!("{:.decimals$}", if half > 0.0 { half.max(least) } else { half })
}

/// Bytes with a unit of 1024; whole numbers without a fraction.
#[must_use]
pub fn bytes(bytes: u64) -> String {
    let (value, unit) = match bytes {
        0..1024 => return format!("{bytes} B"),
        1024..1_048_576 => (bytes as f64 / 1024.0, "KiB"),
        1_048_576..1_073_741_824 => (bytes as f64 / 1_048_576.0, "MiB"),
        _ => (bytes as f64 / 1_073_741_824.0, "GiB"),
    };
    if value.fract() == 0.0 { format!("{value:.0} {unit}") } else { format!("{} {unit}", digits(value)) }
}

/// A rate with its unit prefix: 12.3 GB/s.
#[must_use]
pub fn rate(per_second: f64, unit: &str) -> String {
    let (value, prefix) = match per_second {
        ..1e3 => (per_second, ""),
        ..1e6 => (per_second / 1e3, "k"),
        ..1e9 => (per_second / 1e6, "M"),
        // Above a thousand still G, so that one thread and many can be compared at a glance.
        ..1e13 => (per_second / 1e9, "G"),
        _ => (per_second / 1e12, "T"),
    };
    format!("{} {prefix}{unit}", digits(value))
}

/// A share in percent. Nothing is `0 %`, and only nothing.
#[must_use]
pub fn percent(share: f64) -> String {
    match share {
        0.0 => "0 %".to_owned(),
        0.0..0.001 => "< 0.1 %".to_owned(),
        _ => format!("{:.1} %", share * 100.0),
    }
}

/// A share in whole percent; below one as [`percent`] has it.
#[must_use]
pub fn whole_percent(share: f64) -> String {
    if (0.0..0.0095).contains(&share) { percent(share) } else { format!("{:.0} %", share * 100.0) }
}

/// A share and half the width of its interval, in points: `32.0 % ±2.1`.
#[must_use]
pub fn percent_within(share: f64, half_width: f64) -> String {
    if share + half_width < 0.001 {
        return percent(share);
    }
    format!("{:.1} % ±{}", share * 100.0, error(half_width * 100.0, 1))
}

/// The same in whole percent: `32 % ±2`; small ones with a decimal.
#[must_use]
pub fn whole_percent_within(share: f64, half_width: f64) -> String {
    if share < 0.0095 || half_width < 0.0095 {
        return percent_within(share, half_width);
    }
    format!("{:.0} % ±{}", share * 100.0, error(half_width * 100.0, 0))
}

/// A whole number with its thousands apart.
#[must_use]
pub fn count(number: u64) -> String {
    let plain = number.to_string();
    let mut text = String::new();
    for (place, digit) in plain.chars().enumerate() {
        if place > 0 && (plain.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A count that may be a fraction, such as one per call.
#[must_use]
pub fn mean_count(value: f64) -> String {
    let is_whole = value >= 100.0 || value.fract() == 0.0;
    if is_whole && (0.0..1e15).contains(&value) { count(value.round() as u64) } else { fine_digits(value) }
}

/// Three digits, of a number that may be very small.
#[must_use]
pub fn fine_digits(value: f64) -> String {
    let is_small = value > 0.0 && value < 0.01;
    if is_small { format!("{value:.0$}", (1.0 - value.log10()).ceil().clamp(0.0, 9.0) as usize) } else { digits(value) }
}

/// A speed in tokens, without a prefix: people compare them.
#[must_use]
pub fn tokens_per_s(value: f64) -> String {
    let number = if value >= 100.0 { mean_count(value) } else { fine_digits(value) };
    format!("{number} tok/s")
}

/// A mean number of bytes.
#[must_use]
pub fn mean_bytes(value: f64) -> String {
    if value > 0.0 && value < 100.0 { format!("{} B", mean_count(value)) } else { bytes(value.round() as u64) }
}

/// A value of a metric, by the unit's name in the record.
#[must_use]
pub fn in_unit(unit: &str, value: Option<f64>) -> String {
    let Some(value) = value else { return "not measured".to_owned() };
    match unit {
        "s" => seconds(value),
        "bytes" => mean_bytes(value),
        "count" => mean_count(value),
        "share" => percent(value),
        unit => format!("{} {unit}", digits(value)).trim_end().to_owned(),
    }
}

/// A whole number of nanoseconds as a duration.
#[must_use]
pub fn nanos(ns: u64) -> String {
    seconds(ns as f64 * 1e-9)
}

/// The sum of counts that a file claims: absurd ones end at the largest number there is.
#[must_use]
pub fn sum_of(counts: impl Iterator<Item = u64>) -> u64 {
    counts.fold(0, u64::saturating_add)
}

/// Adds to such a sum.
pub fn raise(sum: &mut u64, more: u64) {
    *sum = sum.saturating_add(more);
}

/// A part of a whole; nothing where there is no whole.
#[must_use]
pub fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

/// A frequency.
#[must_use]
pub fn hertz(hertz: u64) -> String {
    format!("{:.2} GHz", hertz as f64 / 1e9)
}

/// A count and what is counted, in the singular or plural.
#[must_use]
pub fn plural(number: u64, word: &str) -> String {
    format!("{} {word}{}", count(number), if number == 1 { "" } else { "s" })
}

/// Three digits, and never fewer than are whole.
#[must_use]
pub fn digits(value: f64) -> String {
    match value {
        _ if !value.is_finite() => "not a number".to_owned(),
        1e15.. => format!("{value:.2e}"),
        ..9.995 => format!("{value:.2}"),
        ..99.95 => format!("{value:.1}"),
        _ => format!("{value:.0}"),
    }
}

/// A text without what would break a line or control the terminal.
#[must_use]
pub fn printable(text: &str) -> String {
    let turns = |c: char| matches!(c, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let breaks = |c: char| c.is_control() || turns(c);
    text.replace(breaks, "?")
}

/// A name within a sentence.
#[must_use]
pub fn quoted(name: &str) -> String {
    format!("`{}`", name.replace('`', "'"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_as_people_write_them() {
        assert_eq!([seconds(25e-9), seconds(4.1e-3), seconds(12.0)], ["25.0 ns", "4.10 ms", "12.0 s"]);
        assert_eq!(
            [bytes(512), bytes(32 << 10), bytes(25 << 19), bytes(3 << 30)],
            ["512 B", "32 KiB", "12.5 MiB", "3 GiB"]
        );
        assert_eq!(
            [rate(117.2e9, "FLOP/s"), rate(2.3e12, "OP/s"), rate(4.5e6, "B/s")],
            ["117 GFLOP/s", "2300 GOP/s", "4.50 MB/s"]
        );
        assert_eq!(
            [percent(0.0), percent(0.000_3), percent(0.125), whole_percent(0.98)],
            ["0 %", "< 0.1 %", "12.5 %", "98 %"]
        );
        assert_eq!(
            [whole_percent(0.0), whole_percent(0.000_3), whole_percent(0.004), whole_percent(0.0099)],
            ["0 %", "< 0.1 %", "0.4 %", "1 %"]
        );
        assert_eq!([count(0), count(999), count(1_000), count(12_345_678)], ["0", "999", "1,000", "12,345,678"]);
        assert_eq!([mean_count(3.0), mean_count(0.25), mean_count(1234.5)], ["3", "0.25", "1,235"]);
        assert_eq!([mean_bytes(0.5), mean_bytes(2048.0), nanos(0), nanos(1500)], ["0.50 B", "2 KiB", "0 s", "1.50 us"]);
        assert_eq!(
            [seconds_within(1.23e-3, 0.05e-3), seconds_within(36e-3, 1.24e-3), seconds_within(0.104, 0.2e-3)],
            ["1.23 ms ±0.05", "36.0 ms ±1.2", "104 ms ±1"]
        );
        assert_eq!([seconds_within(0.0, 2e-6), seconds_within(3e-9, 5e-3)], ["0 s ±2.00 us", "3.00 ns ±5.00 ms"]);
        assert_eq!(
            [percent_within(0.32, 0.021), percent_within(0.000_2, 0.000_1), percent_within(0.000_2, 0.003)],
            ["32.0 % ±2.1", "< 0.1 %", "0.0 % ±0.3"]
        );
        assert_eq!(
            [whole_percent_within(0.32, 0.021), whole_percent_within(0.32, 0.004), whole_percent_within(0.004, 0.001)],
            ["32 % ±2", "32.0 % ±0.4", "0.4 % ±0.1"]
        );
        assert_eq!([digits(f64::INFINITY), digits(1e300)], ["not a number", "1.00e300"]);
        assert_eq!([fine_digits(0.001), fine_digits(0.0), fine_digits(0.25)], ["0.0010", "0.00", "0.25"]);
        assert_eq!([tokens_per_s(10_870.2), tokens_per_s(4.5)], ["10,870 tok/s", "4.50 tok/s"]);
        assert_eq!([share(1, 4), share(1, 0)], [Some(0.25), None]);
        assert_eq!(
            [hertz(3_640_000_000), plural(1, "core"), plural(2000, "core")],
            ["3.64 GHz", "1 core", "2,000 cores"]
        );
    }

    #[test]
    fn names_cannot_control_the_terminal() {
        assert_eq!(printable("a\x1b[31m\nb\u{202e} – “…”"), "a?[31m?b? – “…”");
        assert_eq!(quoted("a`b"), "`a'b`");
    }
}
