//! How much CPU time and memory the control groups of Linux allow. Pure: the text of the files is passed in.
//!
//! A process sits in one group per hierarchy (`/proc/self/cgroup`); hierarchies are mounted somewhere
//! (`/proc/self/mountinfo`), in a container often from one of their groups downwards. Every group from the process's
//! own up to what is mounted may have a limit, and the smallest one counts.

use std::path::{Component, Path, PathBuf};

/// The two generations of control groups; a machine may have both mounted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Version {
    V1,
    V2,
}

/// The CPUs that the tightest quota allows: rounded up, at least 1; `None` where there is none. `groups` is the text of
/// `/proc/self/cgroup`, `mounts` that of `/proc/self/mountinfo`; `read` gives the text of any other file.
pub(super) fn quota(groups: &str, mounts: &str, read: impl Fn(&Path) -> Option<String>) -> Option<usize> {
    own_folders(groups, mounts, "cpu").filter_map(|(version, folder)| limit(version, &folder, &read)).min()
}

/// The bytes that the tightest memory limit leaves; `None` where there is none. The arguments are those of [`quota`].
pub(super) fn memory_left(groups: &str, mounts: &str, read: impl Fn(&Path) -> Option<String>) -> Option<u64> {
    own_folders(groups, mounts, "memory").filter_map(|(version, folder)| left(version, &folder, &read)).min()
}

/// The folders of the process's groups and of all above them that have this controller.
fn own_folders<'a>(
    groups: &'a str,
    mounts: &'a str,
    controller: &'a str,
) -> impl Iterator<Item = (Version, PathBuf)> + 'a {
    groups.lines().filter_map(move |line| own_group(line, controller)).flat_map(move |(version, group)| {
        let points = mounts.lines().filter_map(move |line| mounted(line, version, controller));
        points.flat_map(move |(point, root)| folders(&point, &root, group)).map(move |folder| (version, folder))
    })
}

/// From a line `id:controllers:path`: the path, where the line is about this controller.
fn own_group<'a>(line: &'a str, controller: &str) -> Option<(Version, &'a Path)> {
    let mut fields = line.splitn(3, ':');
    let (id, controllers, path) = (fields.next()?, fields.next()?, fields.next()?);
    let version = match (id, controllers) {
        ("0", "") => Version::V2,
        _ if controllers.split(',').any(|name| name == controller) => Version::V1,
        _ => return None,
    };
    Some((version, Path::new(path)))
}

/// From a line of the mounts: where the hierarchy of `version` is mounted, and which of its groups is found there.
fn mounted(line: &str, version: Version, controller: &str) -> Option<(PathBuf, PathBuf)> {
    // Any number of optional fields stands before the lone dash.
    let (place, kind) = line.split_once(" - ")?;
    let mut place = place.split(' ').skip(3);
    let (root, point) = (place.next()?, place.next()?);
    let mut kind = kind.split(' ');
    let (name, options) = (kind.next()?, kind.nth(1).unwrap_or(""));
    let fits = match version {
        Version::V1 => name == "cgroup" && options.split(',').any(|option| option == controller),
        Version::V2 => name == "cgroup2",
    };
    fits.then(|| (unescaped(point).into(), unescaped(root).into()))
}

/// Spaces and the like are written as a backslash and three octal digits.
fn unescaped(field: &str) -> String {
    let mut pieces = field.split('\\');
    let mut text = pieces.next().unwrap_or("").to_owned();
    for piece in pieces {
        match piece.get(..3).and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            Some(code) => {
                text.push(char::from(code));
                text.push_str(&piece[3..]);
            }
            None => {
                text.push('\\');
                text.push_str(piece);
            }
        }
    }
    text
}

/// The folders of the group and of all above it that can be seen, innermost first. A group outside what is mounted is
/// not visible by its name; then what is mounted is the best that is known.
fn folders(point: &Path, root: &Path, group: &Path) -> Vec<PathBuf> {
    let plain = group.components().all(|component| !matches!(component, Component::ParentDir));
    let below = group.strip_prefix(root).ok().filter(|_| plain).unwrap_or(Path::new(""));
    below.ancestors().map(|part| point.join(part)).collect()
}

/// The quota of one group in CPUs.
fn limit(version: Version, folder: &Path, read: impl Fn(&Path) -> Option<String>) -> Option<usize> {
    let number = |text: &str| text.trim().parse::<u64>().ok();
    let (quota, period) = match version {
        Version::V1 => (
            // Without a quota this is -1, which is no `u64`.
            number(&read(&folder.join("cpu.cfs_quota_us"))?)?,
            number(&read(&folder.join("cpu.cfs_period_us"))?)?,
        ),
        Version::V2 => {
            let text = read(&folder.join("cpu.max"))?;
            // Without a quota the first word is `max`.
            let (quota, period) = text.trim().split_once(' ')?;
            (number(quota)?, number(period)?)
        }
    };
    (period > 0).then(|| usize::try_from(quota.div_ceil(period)).unwrap_or(usize::MAX).max(1))
}

/// What the memory limit of one group leaves; pages of files that it holds can be dropped.
fn left(version: Version, folder: &Path, read: impl Fn(&Path) -> Option<String>) -> Option<u64> {
    let number = |name: &str| read(&folder.join(name))?.trim().parse::<u64>().ok();
    let (limit, used, files) = match version {
        // Without a limit this is the largest multiple of a page.
        Version::V1 => ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_cache "),
        // Without a limit this is `max`, which is not a number.
        Version::V2 => ("memory.max", "memory.current", "file "),
    };
    let limit = number(limit)?;
    let stat = read(&folder.join("memory.stat")).unwrap_or_default();
    let files = stat.lines().find_map(|line| line.strip_prefix(files)?.trim().parse::<u64>().ok()).unwrap_or(0);
    Some(limit.saturating_sub(number(used)?.saturating_sub(files)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const V2_MOUNT: &str = "25 1 0:22 / /sys rw - sysfs sysfs rw\n\
                            31 23 0:28 / /sys/fs/cgroup rw,nosuid shared:9 master:2 - cgroup2 cgroup2 rw,nsdelegate\n";
    const V1_MOUNT: &str = "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755\n\
                            32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw shared:4 - cgroup cgroup rw,cpu,cpuacct\n\
                            33 31 0:31 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n";

    #[track_caller]
    fn check(groups: &str, mounts: &str, files: &[(&str, &str)], expected: Option<usize>) {
        let read = |path: &Path| {
            let found = files.iter().find(|(name, _)| Path::new(name) == path)?;
            Some(found.1.to_owned())
        };
        assert_eq!(quota(groups, mounts, read), expected, "{groups:?} {files:?}");
    }

    #[test]
    fn version_2_is_rounded_up_and_at_least_one() {
        for (text, expected) in [
            ("max 100000\n", None),
            ("50000 100000\n", Some(1)),
            ("1000 100000\n", Some(1)),
            ("0 100000", Some(1)),
            ("100000 100000\n", Some(1)),
            ("100001 100000\n", Some(2)),
            ("150000 100000\n", Some(2)),
            ("1600000 100000\n", Some(16)),
            ("18446744073709551615 1", Some(usize::MAX)),
        ] {
            check("0::/a\n", V2_MOUNT, &[("/sys/fs/cgroup/a/cpu.max", text)], expected);
        }
    }

    #[test]
    fn the_tightest_group_up_to_the_root_rules() {
        let files = [
            ("/sys/fs/cgroup/cpu.max", "800000 100000"),
            ("/sys/fs/cgroup/user/cpu.max", "250000 100000"),
            ("/sys/fs/cgroup/user/one/cpu.max", "max 100000"),
            ("/sys/fs/cgroup/user/one/deep/cpu.max", "400000 100000"),
        ];
        check("0::/user/one/deep\n", V2_MOUNT, &files, Some(3));
        check("0::/user/one\n", V2_MOUNT, &files, Some(3));
        check("0::/\n", V2_MOUNT, &files, Some(8));
        check("0::/elsewhere/group\n", V2_MOUNT, &files, Some(8));
    }

    #[test]
    fn version_1_has_its_own_files() {
        let groups = "9:name=systemd:/\n3:cpuset:/job\n2:cpu,cpuacct:/job\n0::/\n";
        let quota = "/sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_quota_us";
        let period = "/sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_period_us";
        check(groups, V1_MOUNT, &[(quota, "-1\n"), (period, "100000\n")], None);
        check(groups, V1_MOUNT, &[(quota, "250000\n"), (period, "100000\n")], Some(3));
        check(groups, V1_MOUNT, &[(quota, "250000\n"), (period, "0\n")], None);
        check(groups, V1_MOUNT, &[(quota, "250000\n")], None);
        let above = "/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us";
        let above_period = "/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us";
        check(groups, V1_MOUNT, &[(quota, "-1"), (period, "100000"), (above, "90"), (above_period, "50")], Some(2));
    }

    #[test]
    fn both_versions_may_be_mounted() {
        let mounts = format!("{V1_MOUNT}41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n");
        let files = [
            ("/sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_quota_us", "500000"),
            ("/sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_period_us", "100000"),
            ("/sys/fs/cgroup/unified/b/cpu.max", "300000 100000"),
        ];
        check("2:cpu,cpuacct:/a\n0::/b\n", &mounts, &files, Some(3));
        check("2:cpu,cpuacct:/a\n0::/\n", &mounts, &files, Some(5));
    }

    #[test]
    fn a_container_sees_its_group_at_the_mount() {
        let mounts = "32 31 0:29 /docker/one /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";
        let files = [("/sys/fs/cgroup/cpu.max", "200000 100000"), ("/sys/fs/cgroup/in/cpu.max", "100000 100000")];
        check("0::/docker/one\n", mounts, &files, Some(2));
        check("0::/docker/one/in\n", mounts, &files, Some(1));
        // Another group, or one above: only what is mounted is known.
        check("0::/docker/other/in\n", mounts, &files, Some(2));
        check("0::/../in\n", V2_MOUNT, &files, Some(2));
    }

    #[test]
    fn strange_texts_give_no_quota() {
        check("", "", &[], None);
        check("0::/a\n", "", &[], None);
        check("", V2_MOUNT, &[("/sys/fs/cgroup/cpu.max", "100000 100000")], None);
        check("0::/a\n", V2_MOUNT, &[], None);
        check("nonsense\n:\n::\n0:cpu\n", "a - b\n1 2 3 / /x\n - cgroup2\n", &[], None);
        for text in ["", "max", "100000", "x 100000", "100000 x", "-1 100000", "100000 0"] {
            check("0::/\n", V2_MOUNT, &[("/sys/fs/cgroup/cpu.max", text)], None);
        }
    }

    #[test]
    fn the_tightest_memory_limit_up_to_the_root_counts() {
        let left = |groups: &str, mounts: &str, files: &[(&str, &str)]| {
            memory_left(groups, mounts, |path| {
                Some(files.iter().find(|(name, _)| Path::new(name) == path)?.1.to_owned())
            })
        };
        let version_2 = [
            ("/sys/fs/cgroup/user/memory.max", "1000\n"),
            ("/sys/fs/cgroup/user/memory.current", "700\n"),
            ("/sys/fs/cgroup/user/memory.stat", "anon 400\nfile 300\nkernel 0\n"),
            ("/sys/fs/cgroup/user/job/memory.max", "max\n"),
            ("/sys/fs/cgroup/user/job/memory.current", "500\n"),
        ];
        assert_eq!(left("0::/user/job\n", V2_MOUNT, &version_2), Some(600));
        assert_eq!(left("0::/\n", V2_MOUNT, &version_2), None);
        let mounts = "34 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n";
        let version_1 = [
            ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712"),
            ("/sys/fs/cgroup/memory/memory.usage_in_bytes", "5000"),
            ("/sys/fs/cgroup/memory/job/memory.limit_in_bytes", "2000"),
            ("/sys/fs/cgroup/memory/job/memory.usage_in_bytes", "1500"),
            ("/sys/fs/cgroup/memory/job/memory.stat", "cache 7\ntotal_cache 100\n"),
        ];
        assert_eq!(left("4:memory:/job\n2:cpu:/other\n0::/\n", mounts, &version_1), Some(600));
    }

    #[test]
    fn names_with_spaces_are_unescaped() {
        let mounts = r"32 31 0:29 /a\040b /mnt/c\134d\011e rw - cgroup2 cgroup2 rw";
        check("0::/a b/in\n", mounts, &[("/mnt/c\\d\te/in/cpu.max", "100000 100000")], Some(1));
        assert_eq!(unescaped(r"a\9b\04"), r"a\9b\04");
    }
}
