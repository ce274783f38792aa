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

/// What the machine and the process's control groups have left.
fn available() -> Option<u64> {
    let machine = std::fs::read_to_string("/proc/meminfo").ok().as_deref().and_then(mem_available);
    [machine, kernels::memory_left_in_groups()].into_iter().flatten().min()
}

fn mem_available(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_system_says_is_read() {
        assert_eq!(mem_available("MemTotal:  8 kB\nMemAvailable:   2048 kB\n"), Some(2 << 20));
        assert_eq!(mem_available("MemTotal:  8 kB\n"), None);
        assert_eq!(mem_available("MemAvailable: 99999999999999999999 kB"), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn more_than_there_can_be_is_refused() {
        let error = check(usize::MAX, "the weights", "choose a smaller model").unwrap_err().to_string();
        assert!(error.contains("the weights would take") && error.contains("choose a smaller model"), "{error}");
        assert_eq!(check(1, "a byte", ""), Ok(()));
    }
}
