//! Memory and its pages.

use record::HugePages;

use super::Files;

/// What there is.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Memory {
    pub(super) total: Option<u64>,
    pub(super) available: Option<u64>,
    pub(super) huge_pages: HugePages,
}

pub(super) fn read(files: &impl Files) -> Memory {
    let meminfo = files.read("/proc/meminfo").unwrap_or_default();
    let chosen = |name: &str| selected(&files.read(&format!("/sys/kernel/mm/transparent_hugepage/{name}"))?);
    Memory {
        total: kilobytes(&meminfo, "MemTotal"),
        available: kilobytes(&meminfo, "MemAvailable"),
        huge_pages: HugePages {
            transparent: chosen("enabled"),
            defrag: chosen("defrag"),
            bytes: kilobytes(&meminfo, "Hugepagesize"),
            reserved: value(&meminfo, "HugePages_Total").and_then(|count| count.parse().ok()),
        },
    }
}

fn value<'a>(meminfo: &'a str, name: &str) -> Option<&'a str> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    line.split_whitespace().next()
}

/// A line in kB, which are 1024 bytes there, as bytes.
pub(super) fn kilobytes(meminfo: &str, name: &str) -> Option<u64> {
    value(meminfo, name)?.parse::<u64>().ok().map(|count| count * 1024)
}

/// The word in brackets.
fn selected(text: &str) -> Option<String> {
    let (_, rest) = text.split_once('[')?;
    rest.split_once(']').map(|(word, _)| word.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn sizes_and_settings_are_read() {
        let files = BTreeMap::from([
            (
                "/proc/meminfo",
                "MemTotal:       16316412 kB\nMemAvailable:   12000000 kB\nHugePages_Total:       4\nHugepagesize:       2048 kB\n",
            ),
            ("/sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n"),
        ]);
        let memory = read(&files);
        assert_eq!((memory.total, memory.available), (Some(16_316_412 * 1024), Some(12_000_000 * 1024)));
        assert_eq!(memory.huge_pages.transparent.as_deref(), Some("madvise"));
        assert_eq!(
            (memory.huge_pages.defrag, memory.huge_pages.bytes, memory.huge_pages.reserved),
            (None, Some(2 << 20), Some(4))
        );
    }

    #[test]
    fn nothing_is_made_up() {
        assert_eq!(read(&BTreeMap::new()), Memory::default());
        assert_eq!(selected("always madvise never"), None);
        assert_eq!(kilobytes("MemTotal: lots kB", "MemTotal"), None);
    }
}
