//! CPUs, cores, caches and nodes of memory.

use std::collections::BTreeSet;

use record::{Cache, CacheKind, CoreKind, NumaNode};

use super::{Files, cpu, cpu_list, memory};

const CPUS: &str = "/sys/devices/system/cpu";
const NODES: &str = "/sys/devices/system/node";

/// How the machine is built.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Topology {
    pub(super) cpus: Option<u32>,
    pub(super) cores: Option<u32>,
    pub(super) smt: Option<u32>,
    pub(super) sockets: Option<u32>,
    pub(super) core_kinds: Vec<CoreKind>,
    pub(super) caches: Vec<Cache>,
    pub(super) numa: Vec<NumaNode>,
}

pub(super) fn read(files: &impl Files, cpuinfo: &str) -> Topology {
    let online = files.word(&format!("{CPUS}/online")).and_then(|text| cpu_list::parse(&text));
    let online = online.unwrap_or_else(|| listed(cpuinfo));
    let siblings = distinct(files, &online, "topology/thread_siblings_list");
    let sizes = siblings.iter().filter_map(|list| cpu_list::parse(list)).map(|cpus| cpus.len() as u32);
    let sockets = distinct(files, &online, "topology/physical_package_id");
    Topology {
        cpus: count(online.len()),
        cores: count(siblings.len()).or_else(|| cores_by_cpuinfo(cpuinfo)),
        smt: sizes.max(),
        sockets: count(sockets.len()),
        core_kinds: core_kinds(files, &online),
        caches: caches(files, &online),
        numa: numa(files),
    }
}

fn count(number: usize) -> Option<u32> {
    (number > 0).then_some(number as u32)
}

/// The CPUs that `/proc/cpuinfo` lists.
fn listed(cpuinfo: &str) -> Vec<u32> {
    let lines = cpuinfo.lines().filter_map(|line| line.split_once(':'));
    lines.filter(|(key, _)| key.trim() == "processor").filter_map(|(_, number)| number.trim().parse().ok()).collect()
}

/// Pairs of socket and core.
fn cores_by_cpuinfo(cpuinfo: &str) -> Option<u32> {
    let pairs =
        cpuinfo.split("\n\n").filter_map(|cpu| Some((cpu::field(cpu, "physical id")?, cpu::field(cpu, "core id")?)));
    count(pairs.collect::<BTreeSet<_>>().len())
}

/// What a file of all CPUs says, each answer once.
fn distinct(files: &impl Files, cpus: &[u32], file: &str) -> BTreeSet<String> {
    cpus.iter().filter_map(|cpu| files.word(&format!("{CPUS}/cpu{cpu}/{file}"))).collect()
}

/// Intel tells the kinds by name, Arm by capacity. One kind alone is not worth telling.
fn core_kinds(files: &impl Files, online: &[u32]) -> Vec<CoreKind> {
    let by_name = ["cpu_core", "cpu_atom"].map(|name| files.word(&format!("/sys/devices/{name}/cpus")));
    let mut groups: Vec<Vec<u32>> = by_name.iter().flatten().filter_map(|list| cpu_list::parse(list)).collect();
    if groups.is_empty() {
        let capacity = |cpu: &u32| files.number::<u32>(&format!("{CPUS}/cpu{cpu}/cpu_capacity"));
        let all: BTreeSet<u32> = online.iter().filter_map(capacity).collect();
        let of = |wanted: u32| online.iter().copied().filter(|cpu| capacity(cpu) == Some(wanted)).collect();
        groups = all.into_iter().rev().map(of).collect();
    }
    let max_hz = |cpu: u32| files.number::<u64>(&format!("{CPUS}/cpu{cpu}/cpufreq/cpuinfo_max_freq"));
    let kind = |cpus: &Vec<u32>| CoreKind {
        cpus: cpu_list::text(cpus),
        count: cpus.len() as u32,
        max_hz: cpus.first().and_then(|cpu| max_hz(*cpu)).map(|kilohertz| kilohertz * 1000),
    };
    if groups.len() > 1 { groups.iter().map(kind).collect() } else { Vec::new() }
}

/// Those of the first CPU; the kernel tells them, else the CPU itself.
fn caches(files: &impl Files, online: &[u32]) -> Vec<Cache> {
    let first = online.first().copied().unwrap_or(0);
    let folder = format!("{CPUS}/cpu{first}/cache");
    let indices: Vec<String> = files.list(&folder).into_iter().filter(|name| name.starts_with("index")).collect();
    let mut caches: Vec<Cache> =
        indices.iter().filter_map(|index| cache(files, online, &format!("cpu{first}/cache/{index}"))).collect();
    if caches.is_empty() {
        caches = caches_by_cpuid(files);
    }
    caches.sort_by_key(|cache| (cache.level, cache.kind == CacheKind::Instruction));
    caches
}

fn cache(files: &impl Files, online: &[u32], folder: &str) -> Option<Cache> {
    let word = |name: &str| files.word(&format!("{CPUS}/{folder}/{name}"));
    let kind = match word("type")?.as_str() {
        "Data" => CacheKind::Data,
        "Instruction" => CacheKind::Instruction,
        "Unified" => CacheKind::Unified,
        _ => return None,
    };
    let index = folder.rsplit('/').next()?;
    let groups = distinct(files, online, &format!("cache/{index}/shared_cpu_list"));
    Some(Cache {
        level: word("level")?.parse().ok()?,
        kind,
        bytes: size(&word("size")?)?,
        shared_by: word("shared_cpu_list").and_then(|list| cpu_list::parse(&list)).and_then(|cpus| count(cpus.len())),
        instances: count(groups.len()),
        line_bytes: word("coherency_line_size").and_then(|size| size.parse().ok()),
    })
}

/// `32K`, `1M` or bytes; no cache is empty.
fn size(text: &str) -> Option<u64> {
    let (number, unit) = match text.trim_end_matches(['K', 'M', 'G']) {
        number if text.ends_with('K') => (number, 1 << 10),
        number if text.ends_with('M') => (number, 1 << 20),
        number if text.ends_with('G') => (number, 1 << 30),
        number => (number, 1),
    };
    number.parse::<u64>().ok().map(|number| number * unit).filter(|bytes| *bytes > 0)
}

/// Intel answers at one leaf, AMD at another, both in the same form.
fn caches_by_cpuid(files: &impl Files) -> Vec<Cache> {
    const LEAVES: [u32; 2] = [4, 0x8000_001d];
    let of_leaf = |leaf: u32| -> Vec<Cache> {
        (0..8).map_while(|subleaf| files.cpuid(leaf, subleaf)).map_while(cache_by_cpuid).collect()
    };
    LEAVES.into_iter().map(of_leaf).find(|caches| !caches.is_empty()).unwrap_or_default()
}

fn cache_by_cpuid([eax, ebx, ecx, _]: [u32; 4]) -> Option<Cache> {
    let kind = match eax & 31 {
        1 => CacheKind::Data,
        2 => CacheKind::Instruction,
        3 => CacheKind::Unified,
        _ => return None,
    };
    let field = |shift: u32, bits: u32| u64::from(ebx >> shift & ((1 << bits) - 1)) + 1;
    let (line, partitions, ways) = (field(0, 12), field(12, 10), field(22, 10));
    Some(Cache {
        level: eax >> 5 & 7,
        kind,
        bytes: line * partitions * ways * (u64::from(ecx) + 1),
        // The CPU tells how many could share it, not how many there are.
        shared_by: None,
        instances: None,
        line_bytes: Some(line as u32),
    })
}

fn numa(files: &impl Files) -> Vec<NumaNode> {
    let node = |name: &String| -> Option<NumaNode> {
        let id = name.strip_prefix("node")?.parse().ok()?;
        let cpus = files.word(&format!("{NODES}/{name}/cpulist")).unwrap_or_default();
        // Each line begins with the node.
        let meminfo = files.read(&format!("{NODES}/{name}/meminfo")).unwrap_or_default();
        let plain = meminfo.replace(&format!("Node {id} "), "");
        Some(NumaNode { id, cpus, mem_bytes: memory::kilobytes(&plain, "MemTotal") })
    };
    let mut nodes: Vec<NumaNode> = files.list(NODES).iter().filter_map(node).collect();
    nodes.sort_by_key(|node| node.id);
    nodes
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn sizes_have_units() {
        assert_eq!([size("32K"), size("1M"), size("100")], [Some(32 << 10), Some(1 << 20), Some(100)]);
        assert_eq!([size("0K"), size("many"), size("")], [None; 3]);
    }

    #[test]
    fn the_cpu_tells_its_caches() {
        // Zen 4, level 3: 32 MiB of 16 ways and 32,768 sets; then the end of the list.
        let cache = cache_by_cpuid([0x0003_c163, 0x03c0_003f, 0x7fff, 1]).expect("there is one");
        assert_eq!(
            (cache.level, cache.kind, cache.bytes, cache.line_bytes),
            (3, CacheKind::Unified, 32 << 20, Some(64))
        );
        assert_eq!(cache_by_cpuid([0; 4]), None);
    }

    #[test]
    fn without_sys_the_processes_list_counts() {
        let cpuinfo = "processor : 0\nphysical id : 0\ncore id : 0\n\nprocessor : 1\nphysical id : 0\ncore id : 0\n\n\
                       processor : 2\nphysical id : 0\ncore id : 1\n\nprocessor : 3\nphysical id : 0\ncore id : 1\n";
        let topology = read(&BTreeMap::new(), cpuinfo);
        assert_eq!((topology.cpus, topology.cores), (Some(4), Some(2)));
        assert_eq!(read(&BTreeMap::new(), ""), Topology::default());
    }

    #[test]
    fn kinds_of_cores_are_told_apart() {
        let arm = BTreeMap::from([
            ("/sys/devices/system/cpu/online", "0-3"),
            ("/sys/devices/system/cpu/cpu0/cpu_capacity", "400"),
            ("/sys/devices/system/cpu/cpu1/cpu_capacity", "400"),
            ("/sys/devices/system/cpu/cpu2/cpu_capacity", "1024"),
            ("/sys/devices/system/cpu/cpu3/cpu_capacity", "1024"),
            ("/sys/devices/system/cpu/cpu2/cpufreq/cpuinfo_max_freq", "2400000"),
        ]);
        let kinds = read(&arm, "").core_kinds;
        assert_eq!(kinds.len(), 2);
        assert_eq!((kinds[0].cpus.as_str(), kinds[0].count, kinds[0].max_hz), ("2-3", 2, Some(2_400_000_000)));
        assert_eq!((kinds[1].cpus.as_str(), kinds[1].max_hz), ("0-1", None));
    }

    #[test]
    fn nodes_have_cpus_and_memory() {
        let files = BTreeMap::from([
            ("/sys/devices/system/node/node1/cpulist", "64-127\n"),
            ("/sys/devices/system/node/node0/cpulist", "0-63\n"),
            ("/sys/devices/system/node/node0/meminfo", "Node 0 MemTotal:       1024 kB\nNode 0 MemFree: 1 kB\n"),
            ("/sys/devices/system/node/possible", "0-1\n"),
        ]);
        let nodes = read(&files, "").numa;
        assert_eq!(nodes.len(), 2);
        assert_eq!((nodes[0].id, nodes[0].cpus.as_str(), nodes[0].mem_bytes), (0, "0-63", Some(1 << 20)));
        assert_eq!((nodes[1].cpus.as_str(), nodes[1].mem_bytes), ("64-127", None));
    }
}
