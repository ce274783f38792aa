//! Numbers as people read them.

/// A duration in three digits.
pub(crate) fn seconds(seconds: f64) -> String {
    match seconds {
        0.0 => "0 s".to_owned(),
        ..1e-6 => format!("{} ns", digits(seconds * 1e9)),
        ..1e-3 => format!("{} us", digits(seconds * 1e6)),
        ..1.0 => format!("{} ms", digits(seconds * 1e3)),
        _ => format!("{} s", digits(seconds)),
    }
}

/// Bytes with a unit of 1024; whole numbers without a fraction.
pub(crate) fn bytes(bytes: u64) -> String {
    let (value, unit) = match bytes {
        0..1024 => return format!("{bytes} B"),
        1024..1_048_576 => (bytes as f64 / 1024.0, "KiB"),
        1_048_576..1_073_741_824 => (bytes as f64 / 1_048_576.0, "MiB"),
        _ => (bytes as f64 / 1_073_741_824.0, "GiB"),
    };
    if value.fract() == 0.0 { format!("{value:.0} {unit}") } else { format!("{} {unit}", digits(value)) }
}

/// A rate with its unit prefix: 12.3 GB/s.
pub(crate) fn rate(per_second: f64, unit: &str) -> String {
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
pub(crate) fn percent(share: f64) -> String {
    match share {
        0.0 => "0 %".to_owned(),
        0.0..0.001 => "< 0.1 %".to_owned(),
        _ => format!("{:.1} %", share * 100.0),
    }
}

/// A share in whole percent; below one as [`percent`] has it.
pub(crate) fn whole_percent(share: f64) -> String {
    if (0.0..0.0095).contains(&share) { percent(share) } else { format!("{:.0} %", share * 100.0) }
}

/// A whole number with its thousands apart.
pub(crate) fn count(number: u64) -> String {
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
pub(crate) fn mean_count(value: f64) -> String {
    let is_whole = value >= 100.0 || value.fract() == 0.0;
    if is_whole && (0.0..1e15).contains(&value) { count(value.round() as u64) } else { fine_digits(value) }
}

/// Three digits, of a number that may be very small.
pub(crate) fn fine_digits(value: f64) -> String {
    let is_small = value > 0.0 && value < 0.01;
    if is_small { format!("{value:.0$}", (1.0 - value.log10()).ceil().clamp(0.0, 9.0) as usize) } else { digits(value) }
}

/// A speed in tokens, without a prefix: people compare them.
pub(crate) fn tokens_per_s(value: f64) -> String {
    let number = if value >= 100.0 { mean_count(value) } else { fine_digits(value) };
    format!("{number} tok/s")
}

/// A mean number of bytes.
pub(crate) fn mean_bytes(value: f64) -> String {
    if value > 0.0 && value < 100.0 { format!("{} B", mean_count(value)) } else { bytes(value.round() as u64) }
}

/// A value of a metric, by the unit's name in the record.
pub(crate) fn in_unit(unit: &str, value: Option<f64>) -> String {
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
pub(crate) fn nanos(ns: u64) -> String {
    seconds(ns as f64 * 1e-9)
}

/// The sum of counts that a file claims: absurd ones end at the largest number there is.
pub(crate) fn sum_of(counts: impl Iterator<Item = u64>) -> u64 {
    counts.fold(0, u64::saturating_add)
}

/// Adds to such a sum.
pub(crate) fn raise(sum: &mut u64, more: u64) {
    *sum = sum.saturating_add(more);
}

/// A part of a whole; nothing where there is no whole.
pub(crate) fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

/// A frequency.
pub(crate) fn hertz(hertz: u64) -> String {
    format!("{:.2} GHz", hertz as f64 / 1e9)
}

/// A count and what is counted, in the singular or plural.
pub(crate) fn plural(number: u64, word: &str) -> String {
    format!("{} {word}{}", count(number), if number == 1 { "" } else { "s" })
}

/// Three digits, and never fewer than are whole.
pub(crate) fn digits(value: f64) -> String {
    match value {
        _ if !value.is_finite() => "not a number".to_owned(),
        1e15.. => format!("{value:.2e}"),
        ..9.995 => format!("{value:.2}"),
        ..99.95 => format!("{value:.1}"),
        _ => format!("{value:.0}"),
    }
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
        assert_eq!([digits(f64::INFINITY), digits(1e300)], ["not a number", "1.00e300"]);
        assert_eq!([fine_digits(0.001), fine_digits(0.0), fine_digits(0.25)], ["0.0010", "0.00", "0.25"]);
        assert_eq!([tokens_per_s(10_870.2), tokens_per_s(4.5)], ["10,870 tok/s", "4.50 tok/s"]);
        assert_eq!([share(1, 4), share(1, 0)], [Some(0.25), None]);
        assert_eq!(
            [hertz(3_640_000_000), plural(1, "core"), plural(2000, "core")],
            ["3.64 GHz", "1 core", "2,000 cores"]
        );
    }
}
