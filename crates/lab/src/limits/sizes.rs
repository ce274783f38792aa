//! How much memory is read to measure each level: enough that nearer levels cannot answer, little enough that it fits.

use record::{Cache, CacheKind, Machine};

use crate::machine::cgroup_free_bytes;

/// The name of memory beyond all caches.
pub(super) const DRAM: &str = "DRAM";

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

/// Sizes that suit most CPUs, where nothing is known of this one.
const USUAL: [(u32, u64); 3] = [(1, 32 * KIB), (2, 256 * KIB), (3, 8 * MIB)];
/// One thread seldom has a large last cache to itself: neighbours, or other guests of the machine.
const L3_ALONE: u64 = 16 * MIB;
/// The part of free memory that we take at most.
const FREE_PART: u64 = 4;
/// With less than this many times the caches, a good part of the reads may still come from them.
const ENOUGH: u64 = 2;

/// What is read of a level, by each thread.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct LevelPlan {
    pub(super) name: &'static str,
    pub(super) huge_pages: bool,
    pub(super) bytes_one: u64,
    pub(super) bytes_all: u64,
    /// With less than this, by one thread and by all together, nearer levels may answer in part; 0: never.
    pub(super) least: [u64; 2],
}

/// The data caches, as far as they matter here.
#[derive(Debug, Clone, Copy)]
struct Share {
    bytes: u64,
    /// Threads that share one when all run.
    threads: u64,
    /// Caches that are in use when all run.
    instances: u64,
}

/// The levels from the nearest to the farthest, and what has to be said about them.
pub(super) fn levels(machine: &Machine, threads: u32, quick: bool) -> (Vec<LevelPlan>, Vec<String>) {
    let mut notes = Vec::new();
    let caches: Vec<Option<Share>> = (1..=3).map(|level| share(machine, level, threads)).collect();
    let known = caches.iter().any(Option::is_some);
    if !known {
        notes.push("cache sizes are unknown here: typical sizes are used instead".to_owned());
    }
    let usual = USUAL.map(|(_, bytes)| Some(Share { bytes, threads: 1, instances: u64::from(threads) }));
    let [l1, l2, l3] = if known { [caches[0], caches[1], caches[2]] } else { usual };
    let mut levels = Vec::new();
    levels.extend(l1.map(|cache| private("L1", cache)));
    levels.extend(l2.map(|cache| private("L2", cache)));
    levels.extend(l3.map(|cache| last("L3", cache, l2)));
    let (dram, note) = dram(machine, [l2, l3], u64::from(threads), quick);
    notes.extend(note);
    levels.push(dram.clone());
    if !quick {
        levels.push(LevelPlan { huge_pages: false, ..dram });
    }
    (levels, notes)
}

fn share(machine: &Machine, level: u32, threads: u32) -> Option<Share> {
    let is_data = |cache: &&Cache| cache.level == level && cache.kind != CacheKind::Instruction;
    let cache = machine.caches.iter().find(is_data)?;
    // Where nobody says it, a core has the first two to itself, and all share the third.
    let usual = if level < 3 { 1 } else { threads };
    let per_cache = u64::from(cache.shared_by.unwrap_or(usual).clamp(1, threads));
    let in_use = u64::from(threads).div_ceil(per_cache);
    Some(Share {
        bytes: cache.bytes,
        threads: per_cache,
        instances: cache.instances.map_or(in_use, |count| in_use.min(u64::from(count))),
    })
}

/// Half of a cache that a core has to itself: the other half is for what else the core needs.
fn private(name: &'static str, cache: Share) -> LevelPlan {
    let half = |threads: u64| whole(cache.bytes / 2 / threads, 2 * KIB);
    LevelPlan { name, huge_pages: true, bytes_one: half(1), bytes_all: half(cache.threads), least: [0; 2] }
}

/// A quarter of the thread's share, yet twice what the cache before it holds, because a buffer of little more would
/// partly be answered there; as long as the two caches can hold it together.
fn last(name: &'static str, cache: Share, before: Option<Share>) -> LevelPlan {
    let before = before.map_or(0, |cache| cache.bytes / cache.threads);
    let bytes = |threads: u64| {
        let share = cache.bytes / threads;
        let wanted = (share / 4).min(L3_ALONE).max(2 * before);
        whole(wanted.min(before + share / 4 * 3), 256 * KIB)
    };
    LevelPlan { name, huge_pages: true, bytes_one: bytes(1), bytes_all: bytes(cache.threads), least: [0; 2] }
}

/// Several times the caches, as far as memory and time allow.
fn dram(machine: &Machine, caches: [Option<Share>; 2], threads: u64, quick: bool) -> (LevelPlan, Option<String>) {
    let (times, most_one, most_all) = if quick { (4, 128 * MIB, 512 * MIB) } else { (8, 512 * MIB, 4096 * MIB) };
    let free = free_bytes(machine);
    let bytes = |cached: u64, most: u64| {
        let wanted = (times * cached).clamp(64 * MIB, most.max((ENOUGH + 1) * cached));
        free.map_or(wanted, |free| wanted.min(free / FREE_PART))
    };
    let cached_one: u64 = caches.iter().flatten().map(|cache| cache.bytes).sum();
    let cached_all: u64 = caches.iter().flatten().map(|cache| cache.bytes * cache.instances).sum();
    let (one, all, least) = (
        bytes(cached_one, most_one),
        bytes(cached_all, most_all),
        [cached_one, cached_all].map(|cached| ENOUGH * cached),
    );
    let note = (one < least[0] || all < least[1]).then(|| {
        format!(
            "{DRAM}: only {} MiB are read because little memory is free; {} MiB of caches may serve part of the \
             reads",
            one.min(all) / MIB,
            cached_all / MIB
        )
    });
    let (bytes_one, bytes_all) = (whole(one, 256 * KIB), whole(all / threads, 256 * KIB));
    (LevelPlan { name: DRAM, huge_pages: true, bytes_one, bytes_all, least }, note)
}

/// What is free for us, where that is known.
fn free_bytes(machine: &Machine) -> Option<u64> {
    [machine.mem_available_bytes, cgroup_free_bytes(&machine.cgroup)].into_iter().flatten().min()
}

/// A whole number of granules, and at least one.
fn whole(bytes: u64, granule: u64) -> u64 {
    (bytes / granule * granule).max(granule)
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::Cgroup;

    fn cache(level: u32, bytes: u64, shared_by: u32, instances: u32) -> Cache {
        let kind = if level == 1 { CacheKind::Data } else { CacheKind::Unified };
        Cache { level, kind, bytes, shared_by: Some(shared_by), instances: Some(instances), line_bytes: Some(64) }
    }

    fn machine(caches: Vec<Cache>, free: u64) -> Machine {
        Machine { caches, mem_available_bytes: Some(free), ..Machine::default() }
    }

    fn plan(machine: &Machine, threads: u32, quick: bool) -> Vec<(&'static str, u64, u64)> {
        let (levels, _) = levels(machine, threads, quick);
        levels.iter().map(|level| (level.name, level.bytes_one / KIB, level.bytes_all / KIB)).collect()
    }

    #[test]
    fn a_small_guest() {
        let caches = vec![cache(1, 32 * KIB, 1, 2), cache(2, MIB, 1, 2), cache(3, 32 * MIB, 2, 1)];
        let guest = machine(caches, 20 << 30);
        let kib = |mib: u64| mib * 1024;
        assert_eq!(
            plan(&guest, 2, false),
            [
                ("L1", 16, 16),
                ("L2", 512, 512),
                ("L3", kib(8), kib(4)),
                ("DRAM", kib(264), kib(136)),
                ("DRAM", kib(264), kib(136)),
            ]
        );
        assert_eq!(plan(&guest, 2, true)[3..], [("DRAM", kib(128), kib(68))]);
        assert!(levels(&guest, 2, false).1.is_empty());
    }

    #[test]
    fn siblings_share_and_a_last_cache_may_be_smaller_than_the_one_before() {
        let caches = vec![cache(1, 48 * KIB, 2, 32), cache(2, 2 * MIB, 2, 32), cache(3, 60 * MIB, 64, 1)];
        let server = machine(caches, 200 << 30);
        let plan = plan(&server, 64, false);
        assert_eq!(plan[0], ("L1", 24, 12));
        assert_eq!(plan[1], ("L2", 1024, 512));
        // 960 KiB of the last cache and 1 MiB of the one before for each thread.
        assert_eq!(plan[2], ("L3", 15 * 1024, 1536));
        let total = plan[3].2 * 64;
        assert!((8 * 120 * 1024..=4096 * 1024).contains(&total), "{total} KiB");
    }

    #[test]
    fn a_huge_last_cache_does_not_make_it_endless() {
        let caches = vec![cache(2, MIB, 1, 96), cache(3, 1152 * MIB, 96, 1)];
        let (huge, notes) = levels(&machine(caches, 700 << 30), 96, false);
        let dram = huge.last().expect("there is DRAM");
        assert_eq!(huge[1].bytes_one, 16 * MIB);
        assert!(dram.bytes_one >= 2 * 1153 * MIB && dram.bytes_one <= 4 << 30, "{dram:?}");
        assert!(notes.is_empty(), "{notes:?}");
    }

    #[test]
    fn little_memory_is_respected_and_told() {
        let caches = vec![cache(2, MIB, 1, 2), cache(3, 32 * MIB, 2, 1)];
        let mut small = machine(caches, 20 << 30);
        small.cgroup = Cgroup { mem_max_bytes: Some(128 * MIB), mem_used_bytes: Some(28 * MIB), ..Cgroup::default() };
        let (levels, notes) = levels(&small, 2, false);
        let dram = levels.last().expect("there is DRAM");
        assert_eq!((dram.bytes_one, dram.bytes_all), (25 * MIB, 25 * MIB / 2));
        assert!(notes.len() == 1 && notes[0].contains("only 25 MiB"), "{notes:?}");
    }

    #[test]
    fn a_third_cache_of_which_only_the_size_is_known_is_everybodys() {
        let unknown = |level, bytes| Cache { shared_by: None, instances: None, ..cache(level, bytes, 1, 1) };
        let silent = machine(vec![unknown(2, MIB), unknown(3, 32 * MIB)], 20 << 30);
        assert_eq!(plan(&silent, 8, true)[..2], [("L2", 512, 512), ("L3", 8 * 1024, 2 * 1024)]);
    }

    #[test]
    fn without_caches_usual_sizes_are_read() {
        let (levels, notes) = levels(&Machine::default(), 4, true);
        assert_eq!(levels.iter().map(|level| level.name).collect::<Vec<_>>(), ["L1", "L2", "L3", "DRAM"]);
        assert!(notes[0].contains("unknown"), "{notes:?}");
        let levels = super::levels(&machine(vec![cache(1, 32 * KIB, 1, 4)], 1 << 30), 4, true).0;
        assert_eq!(levels.iter().map(|level| level.name).collect::<Vec<_>>(), ["L1", "DRAM"]);
    }
}
