//! Whether there is memory for what was asked: better to say no than to be killed halfway.

use crate::{Error, Result};

/// Refuses what is larger than the memory that is left, where the system tells that.
pub(crate) fn check(bytes: usize, what: &str, advice: &str) -> Result<()> {
    match available() {
        Some(left) if bytes as u64 > left => Err(Error::refused(format!(
            "{what} would take {} MiB of memory, but only {} MiB are free; {advice}",
            bytes >> 20,
            left >> 20
        ))),
        _ => Ok(()),
    }
}

/// What the machine and the process's group have left.
fn available() -> Option<u64> {
    let machine = std::fs::read_to_string("/proc/meminfo").ok().as_deref().and_then(mem_available);
    [machine, left_in_group()].into_iter().flatten().min()
}

fn mem_available(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// The limit of the process's control group less what it uses; pages of files that it holds can go.
fn left_in_group() -> Option<u64> {
    let groups = std::fs::read_to_string("/proc/self/cgroup").ok()?;
    let folder = format!("/sys/fs/cgroup{}", groups.lines().find_map(|line| line.strip_prefix("0::"))?);
    let read = |name: &str| std::fs::read_to_string(format!("{folder}/{name}")).ok();
    let limit: u64 = read("memory.max")?.trim().parse().ok()?;
    let used: u64 = read("memory.current")?.trim().parse().ok()?;
    let files = read("memory.stat").as_deref().and_then(file_pages).unwrap_or(0);
    Some(limit.saturating_sub(used.saturating_sub(files)))
}

fn file_pages(stat: &str) -> Option<u64> {
    stat.lines().find_map(|line| line.strip_prefix("file "))?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_system_says_is_read() {
        assert_eq!(mem_available("MemTotal:  8 kB\nMemAvailable:   2048 kB\n"), Some(2 << 20));
        assert_eq!(mem_available("MemTotal:  8 kB\n"), None);
        assert_eq!(mem_available("MemAvailable: 99999999999999999999 kB"), None);
        assert_eq!(file_pages("anon 1\nfile 4096\nkernel 2\n"), Some(4096));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn more_than_there_can_be_is_refused() {
        let error = check(usize::MAX, "the weights", "choose a smaller model").unwrap_err().to_string();
        assert!(error.contains("the weights would take") && error.contains("choose a smaller model"), "{error}");
        assert_eq!(check(1, "a byte", ""), Ok(()));
    }
}
