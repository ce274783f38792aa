//! Numbers as people read them.

/// A duration with its unit, in four digits.
pub(super) fn time(ns: u64) -> String {
    let ns = ns as f64;
    match ns {
        ..1e3 => format!("{ns:.0} ns"),
        ..1e6 => format!("{} us", digits(ns / 1e3)),
        ..1e9 => format!("{} ms", digits(ns / 1e6)),
        _ => format!("{} s", digits(ns / 1e9)),
    }
}

/// A duration that may be a fraction of a nanosecond.
pub(super) fn short_time(ns: f64) -> String {
    if ns < 100.0 { format!("{ns:.1} ns") } else { time(ns as u64) }
}

/// A duration and half the width of its interval, in the same unit: `1.23 ms \u{b1}0.05`.
pub(super) fn time_within(ns: f64, half: f64) -> String {
    let value = if ns < 100.0 { short_time(ns) } else { time(ns as u64) };
    let unit = match ns {
        ..1e3 => 1.0,
        ..1e6 => 1e3,
        ..1e9 => 1e6,
        _ => 1e9,
    };
    if half >= 1e3 * unit {
        return format!("{value} \u{b1}{}", time(half as u64));
    }
    let decimals = match ns / unit {
        ..100.0 if unit == 1.0 => 1,
        _ if unit == 1.0 => 0,
        ..9.995 => 2,
        ..99.95 => 1,
        _ => 0,
    };
    format!("{value} \u{b1}{}", error(half / unit, decimals))
}

/// Half the width of an interval; one in the last place where less could be seen, so that it is not taken for none.
fn error(half: f64, decimals: usize) -> String {
    let least = if decimals == 0 { 1.0 } else { 0.1_f64.powi(decimals as i32) };
    format!("{:.decimals$}", if half > 0.0 { half.max(least) } else { half })
}

/// Bytes with a unit of 1024.
pub(super) fn bytes(bytes: u64) -> String {
    let value = bytes as f64;
    match value {
        ..1024.0 => format!("{bytes} B"),
        ..1_048_576.0 => format!("{} KiB", digits(value / 1024.0)),
        ..1_073_741_824.0 => format!("{} MiB", digits(value / 1_048_576.0)),
        _ => format!("{} GiB", digits(value / 1_073_741_824.0)),
    }
}

/// A whole number with its thousands apart.
pub(super) fn count(n: u64) -> String {
    let plain = n.to_string();
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
pub(super) fn mean_count(value: f64) -> String {
    if value >= 100.0 || value.fract() == 0.0 { count(value.round() as u64) } else { digits(value) }
}

/// A share in percent.
pub(super) fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

/// A share and half the width of its interval, in points: `32.0 % \u{b1}2.1`.
pub(super) fn percent_within(share: f64, half: f64) -> String {
    format!("{} \u{b1}{}", percent(share), error(half * 100.0, 1))
}

/// A share in percent that may be very small.
pub(super) fn fine_percent(share: f64) -> String {
    match share {
        ..=0.0 | 0.000_95.. => percent(share),
        _ => format!("{:.1$} %", share * 100.0, (1.0 - share.log10()).ceil().clamp(2.0, 9.0) as usize - 2),
    }
}

/// A share in percent, without a fraction where it has none: `2 %`, `0.5 %`.
pub(super) fn short_percent(share: f64) -> String {
    let text = fine_percent(share);
    text.replace(".0 %", " %")
}

/// A count and what is counted, in the singular or plural.
pub(super) fn plural(n: u64, word: &str) -> String {
    format!("{} {word}{}", count(n), if n == 1 { "" } else { "s" })
}

/// A rate with its unit prefix: 12.3 G, 4.56 k.
pub(super) fn rate(per_second: f64, unit: &str) -> String {
    let (value, prefix) = match per_second {
        ..1e3 => (per_second, ""),
        ..1e6 => (per_second / 1e3, "k"),
        ..1e9 => (per_second / 1e6, "M"),
        ..1e12 => (per_second / 1e9, "G"),
        _ => (per_second / 1e12, "T"),
    };
    format!("{} {prefix}{unit}", digits(value))
}

/// Four digits at the most.
fn digits(value: f64) -> String {
    match value {
        ..9.995 => format!("{value:.2}"),
        ..99.95 => format!("{value:.1}"),
        _ => format!("{value:.0}"),
    }
}

/// A name without what would break the line.
pub(super) fn printable(name: &str) -> String {
    let turns = |c: char| matches!(c, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let breaks = |c: char| c.is_control() || turns(c);
    if name.is_empty() { "(no name)".to_owned() } else { name.replace(breaks, "?") }
}

/// A qualified name in so many characters: its end says most.
pub(super) fn name(qualified: &str, width: usize) -> String {
    let length = qualified.chars().count();
    if length <= width {
        return qualified.to_owned();
    }
    let end: String = qualified.chars().skip(length - width.saturating_sub(2)).collect();
    format!("..{end}")
}

/// The longest line of a sentence.
const WIDTH: usize = 112;

/// A sentence in lines, with `line_end` between them.
pub(super) fn wrapped(sentence: &str, line_end: &str) -> String {
    let (mut text, mut column) = (String::new(), 0);
    for word in sentence.split(' ') {
        let length = word.chars().count();
        // A number is not parted from its unit.
        let is_unit = ["%", "ns", "us", "ms", "s"].contains(&word.trim_end_matches([';', ',', '.', ':']));
        if column > 0 && column + 1 + length > WIDTH && !is_unit {
            text.push_str(line_end);
            column = 0;
        } else if column > 0 {
            text.push(' ');
            column += 1;
        }
        text.push_str(word);
        column += length;
    }
    text
}

/// Below this a share is not worth a row of its own.
pub(super) const SMALL: f64 = 0.001;

pub(super) fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_as_people_write_them() {
        assert_eq!(
            [time(0), time(999), time(1_000), time(9_999), time(61_234)],
            ["0 ns", "999 ns", "1.00 us", "10.0 us", "61.2 us"]
        );
        assert_eq!([time(12_345_678), time(2_500_000_000)], ["12.3 ms", "2.50 s"]);
        assert_eq!(
            [bytes(1023), bytes(1024), bytes(5 << 20), bytes(3 << 30)],
            ["1023 B", "1.00 KiB", "5.00 MiB", "3.00 GiB"]
        );
        assert_eq!([count(0), count(999), count(1_000), count(12_345_678)], ["0", "999", "1,000", "12,345,678"]);
        assert_eq!([percent(0.5), percent(1.0)], ["50.0 %", "100.0 %"]);
        assert_eq!(
            [time_within(1.23e6, 5e4), time_within(36e6, 1.24e6), time_within(104e6, 2e5), time_within(25.0, 0.31)],
            ["1.23 ms \u{b1}0.05", "36.0 ms \u{b1}1.2", "104 ms \u{b1}1", "25.0 ns \u{b1}0.3"]
        );
        assert_eq!(
            [time_within(250.0, 3e6), percent_within(0.32, 0.021)],
            ["250 ns \u{b1}3.00 ms", "32.0 % \u{b1}2.1"]
        );
        assert_eq!(
            [fine_percent(0.01), fine_percent(0.000_5), fine_percent(0.000_01)],
            ["1.0 %", "0.050 %", "0.0010 %"]
        );
        assert_eq!([plural(1, "scope"), plural(1000, "scope")], ["1 scope", "1,000 scopes"]);
        assert_eq!([rate(12.5e9, "FLOP/s"), rate(950.0, "tok/s")], ["12.5 GFLOP/s", "950 tok/s"]);
    }

    #[test]
    fn long_names_keep_their_end() {
        assert_eq!(name("engine::model::qkv", 10), "..del::qkv");
        assert_eq!(name("qkv", 10), "qkv");
        assert_eq!([printable("a\nb\u{202e}c"), printable("")], ["a?b?c", "(no name)"]);
    }

    #[test]
    fn sentences_break_between_words() {
        let sentence = "word ".repeat(60);
        let text = wrapped(sentence.trim_end(), "\n");
        assert!(text.lines().count() == 3 && text.lines().all(|line| line.len() <= WIDTH));
        assert_eq!(text.replace('\n', " "), sentence.trim_end());
        let number = format!("{} 0.2 % of it", "word ".repeat(21).trim_end());
        assert!(wrapped(&number, "\n").contains("0.2 %"));
    }
}
