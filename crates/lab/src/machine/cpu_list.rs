//! Lists of CPUs as the kernel writes them: `0-3,8`.

/// The numbers of a list; `None` where it is none.
pub(super) fn parse(text: &str) -> Option<Vec<u32>> {
    let mut cpus = Vec::new();
    for part in text.trim().split(',').filter(|part| !part.is_empty()) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
        if last < first || last - first > 1 << 16 {
            return None;
        }
        cpus.extend(first..=last);
    }
    Some(cpus)
}

/// Numbers in rising order as a list.
pub(super) fn text(cpus: &[u32]) -> String {
    let mut parts: Vec<(u32, u32)> = Vec::new();
    for cpu in cpus {
        match parts.last_mut() {
            Some((_, last)) if *last + 1 == *cpu => *last = *cpu,
            _ => parts.push((*cpu, *cpu)),
        }
    }
    let written =
        parts.iter().map(|(first, last)| if first == last { first.to_string() } else { format!("{first}-{last}") });
    written.collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_read_and_written() {
        for (list, cpus) in
            [("0", vec![0]), ("0-3,8", vec![0, 1, 2, 3, 8]), ("1,3,5-6\n", vec![1, 3, 5, 6]), ("", vec![])]
        {
            assert_eq!(parse(list), Some(cpus.clone()), "{list}");
            assert_eq!(text(&cpus), list.trim());
        }
        for wrong in ["a", "3-1", "0-", "0-4294967295", "1;2"] {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
    }
}
