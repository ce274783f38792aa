//! What the control group of this process allows, by version 1 or 2.
//!
//! A group is bound by all that are above it, so the tightest limit on the way up counts. Inside of a container the path
//! that `/proc/self/cgroup` tells may not exist below the mount: then only the mount itself is there, and it is ours.

use record::Cgroup;

use super::Files;

const ROOT: &str = "/sys/fs/cgroup";
/// Version 1 writes "no limit" as the largest number of whole pages.
const NO_LIMIT: u64 = 1 << 60;

/// Where one kind of resource is limited.
struct Place {
    version: u32,
    /// The folders from the group up to the root of its tree.
    folders: Vec<String>,
}

pub(super) fn read(files: &impl Files) -> Cgroup {
    let own = files.read("/proc/self/cgroup").unwrap_or_default();
    let (cpu, memory) = (place(files, &own, "cpu"), place(files, &own, "memory"));
    let (max, used) = memory.map_or((None, None), |place| memory_limit(files, &place));
    let cpu_max = cpu.as_ref().and_then(|place| {
        let limits = place.folders.iter().filter_map(|folder| cpu_limit(files, place.version, folder));
        limits.min_by(f64::total_cmp)
    });
    Cgroup {
        version: cpu.map(|place| place.version),
        cgroup_cpu_max: cpu_max,
        mem_max_bytes: max,
        mem_used_bytes: used,
    }
}

/// Memory that the group may still take; `None`: as much as there is.
pub fn free_bytes(cgroup: &Cgroup) -> Option<u64> {
    Some(cgroup.mem_max_bytes?.saturating_sub(cgroup.mem_used_bytes.unwrap_or(0)))
}

/// Seconds for which the group or one above it was held back, since it exists.
pub(super) fn throttled_s(files: &impl Files) -> Option<f64> {
    let own = files.read("/proc/self/cgroup")?;
    let place = place(files, &own, "cpu")?;
    let held_back = place.folders.iter().filter_map(|folder| throttled(&files.read(&format!("{folder}/cpu.stat"))?));
    held_back.max_by(f64::total_cmp)
}

fn throttled(stat: &str) -> Option<f64> {
    stat.lines().find_map(|line| match line.split_once(' ')? {
        ("throttled_usec", value) => value.trim().parse::<f64>().ok().map(|us| us / 1e6),
        ("throttled_time", value) => value.trim().parse::<f64>().ok().map(|ns| ns / 1e9),
        _ => None,
    })
}

/// The group's folders for a controller: those of version 1 where it has one there, else those of version 2.
fn place(files: &impl Files, own: &str, controller: &str) -> Option<Place> {
    let mut lines = own.lines().map(|line| line.splitn(3, ':')).filter_map(|mut parts| {
        parts.next()?;
        Some((parts.next()?, parts.next()?))
    });
    let has_it = |names: &str| names.split(',').any(|name| name == controller);
    let (version, mount, path) = match lines.clone().find(|(names, _)| has_it(names)) {
        // Several controllers on one mount are joined in its name, and usually linked by their single ones.
        Some((names, path)) => {
            let joined = [names, controller].map(|name| format!("{ROOT}/{name}"));
            (1, joined.into_iter().find(|mount| !files.list(mount).is_empty())?, path)
        }
        None => (2, ROOT.to_owned(), lines.find(|(names, _)| names.is_empty())?.1),
    };
    let mut folders = Vec::new();
    let mut path = path.trim_end_matches('/');
    while !path.is_empty() {
        folders.push(format!("{mount}{path}"));
        path = path.rsplit_once('/').map_or("", |(above, _)| above);
    }
    folders.push(mount);
    Some(Place { version, folders })
}

/// How many CPUs' time a folder's limit is.
fn cpu_limit(files: &impl Files, version: u32, folder: &str) -> Option<f64> {
    let (quota, period) = if version == 2 {
        let text = files.read(&format!("{folder}/cpu.max"))?;
        let mut words = text.split_whitespace().map(str::parse::<f64>);
        (words.next()?.ok()?, words.next()?.ok()?)
    } else {
        (files.number(&format!("{folder}/cpu.cfs_quota_us"))?, files.number(&format!("{folder}/cpu.cfs_period_us"))?)
    };
    (quota > 0.0 && period > 0.0).then_some(quota / period)
}

/// The tightest limit, and what is used of it. Files that could be dropped from memory do not count as used.
fn memory_limit(files: &impl Files, place: &Place) -> (Option<u64>, Option<u64>) {
    let (max, used) = if place.version == 2 {
        ("memory.max", "memory.current")
    } else {
        ("memory.limit_in_bytes", "memory.usage_in_bytes")
    };
    let limits = place.folders.iter().filter_map(|folder| {
        let limit: u64 = files.number(&format!("{folder}/{max}"))?;
        (limit < NO_LIMIT).then_some((limit, folder))
    });
    let Some((limit, folder)) = limits.min_by_key(|(limit, _)| *limit) else {
        return (None, None);
    };
    let droppable = files.read(&format!("{folder}/memory.stat")).and_then(|stat| {
        let keys = ["total_inactive_file", "inactive_file"];
        let value = |key: &str| stat.lines().find_map(|line| line.strip_prefix(key)?.trim().parse::<u64>().ok());
        keys.into_iter().find_map(value)
    });
    let used: Option<u64> = files.number(&format!("{folder}/{used}"));
    (Some(limit), used.map(|used| used.saturating_sub(droppable.unwrap_or(0))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn version_2_inside_of_a_container() {
        let files = BTreeMap::from([
            ("/proc/self/cgroup", "0::/\n"),
            ("/sys/fs/cgroup/cpu.max", "150000 100000\n"),
            ("/sys/fs/cgroup/memory.max", "1073741824\n"),
            ("/sys/fs/cgroup/memory.current", "536870912\n"),
            ("/sys/fs/cgroup/memory.stat", "anon 100\ninactive_file 268435456\n"),
            ("/sys/fs/cgroup/cpu.stat", "usage_usec 5\nthrottled_usec 2500000\n"),
        ]);
        let cgroup = read(&files);
        assert_eq!(cgroup.version, Some(2));
        assert_eq!(cgroup.cgroup_cpu_max, Some(1.5));
        assert_eq!((cgroup.mem_max_bytes, cgroup.mem_used_bytes), (Some(1 << 30), Some(1 << 28)));
        assert_eq!(free_bytes(&cgroup), Some(3 << 28));
        assert_eq!(throttled_s(&files), Some(2.5));
    }

    #[test]
    fn the_tightest_limit_above_counts() {
        let files = BTreeMap::from([
            ("/proc/self/cgroup", "0::/user.slice/job\n"),
            ("/sys/fs/cgroup/user.slice/job/cpu.max", "max 100000\n"),
            ("/sys/fs/cgroup/user.slice/cpu.max", "400000 100000\n"),
            ("/sys/fs/cgroup/user.slice/job/memory.max", "max\n"),
        ]);
        let cgroup = read(&files);
        assert_eq!(cgroup.cgroup_cpu_max, Some(4.0));
        assert_eq!((cgroup.mem_max_bytes, cgroup.mem_used_bytes), (None, None));
        assert_eq!(free_bytes(&cgroup), None);
    }

    #[test]
    fn version_1_with_joined_controllers_and_a_path_that_is_not_there() {
        let files = BTreeMap::from([
            ("/proc/self/cgroup", "5:cpu,cpuacct:/docker/abc\n4:memory:/docker/abc\n0::/\n"),
            ("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "50000\n"),
            ("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n"),
            ("/sys/fs/cgroup/cpu,cpuacct/cpu.stat", "nr_throttled 1\nthrottled_time 3000000000\n"),
            ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n"),
        ]);
        let cgroup = read(&files);
        assert_eq!((cgroup.version, cgroup.cgroup_cpu_max, cgroup.mem_max_bytes), (Some(1), Some(0.5), None));
        assert_eq!(throttled_s(&files), Some(3.0));
    }

    #[test]
    fn no_limit_and_no_groups_are_told_apart() {
        let free =
            BTreeMap::from([("/proc/self/cgroup", "1:cpu:/\n0::/\n"), ("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n")]);
        assert_eq!((read(&free).version, read(&free).cgroup_cpu_max), (Some(1), None));
        assert_eq!(read(&BTreeMap::new()), Cgroup::default());
        assert_eq!(throttled_s(&BTreeMap::new()), None);
    }
}
