//! What the machine is.

use record::{Cache, CacheKind, Counters, Machine};

use crate::document::Section;
use crate::units::{bytes, digits, hertz, plural};

const UNKNOWN: &str = "unknown";

pub(super) fn section(machine: &Machine, counters: &Counters) -> Section {
    let rows = [
        ("cpu", cpu(machine)),
        ("instructions", instructions(machine)),
        ("cores", cores(machine)),
        ("usable", usable(machine)),
        ("caches", caches(machine)),
        ("memory", memory(machine)),
        ("huge pages", huge_pages(machine)),
        ("frequency", frequency(machine)),
        ("system", host(machine)),
        ("clock", clock(machine)),
        ("counters", counted(counters)),
    ];
    Section::new("MACHINE", "").with_facts(rows.map(|(label, sentence)| (label, Some(sentence))))
}

fn cpu(machine: &Machine) -> String {
    let model = machine.cpu.model.as_deref().unwrap_or(UNKNOWN);
    let details =
        [machine.cpu.vendor.as_deref().filter(|vendor| !model.contains(vendor)), machine.cpu.revision.as_deref()];
    let details = details.into_iter().flatten().chain([machine.arch.as_str()]).collect::<Vec<_>>().join(", ");
    format!("{model} ({details})")
}

fn instructions(machine: &Machine) -> String {
    let isa = &machine.isa;
    let why = if isa.forced { "set by HOTLOOP_ISA; " } else { "" };
    let has =
        if isa.features.is_empty() { String::new() } else { format!("; CPU features: {}", isa.features.join(" ")) };
    format!("{} ({why}available: {}){has}", isa.chosen, isa.available.join(", "))
}

fn cores(machine: &Machine) -> String {
    let mut parts = vec![plural(u64::from(machine.cpus), "CPU")];
    parts.extend(machine.cores.map(|cores| plural(u64::from(cores), "core")));
    parts.extend(machine.smt.map(|smt| if smt > 1 { format!("SMT of {smt}") } else { "no SMT".to_owned() }));
    parts.extend(machine.sockets.map(|sockets| plural(u64::from(sockets), "socket")));
    let nodes = machine.numa.len() as u64;
    parts.push(if nodes == 0 { "NUMA unknown".to_owned() } else { plural(nodes, "NUMA node") });
    let kinds = machine.core_kinds.iter().map(|kind| {
        let clock = kind.max_hz.map_or(String::new(), |max| format!(" up to {}", hertz(max)));
        format!("{} of one type (CPUs {}){clock}", kind.count, kind.cpus)
    });
    parts.extend(kinds);
    parts.join(", ")
}

fn usable(machine: &Machine) -> String {
    let mut parts = vec![plural(u64::from(machine.threads), "thread")];
    let several = |cpus: &str| if cpus.contains(['-', ',']) { "s" } else { "" };
    parts.extend(machine.cpuset.as_ref().map(|cpus| format!("on CPU{} {cpus}", several(cpus))));
    let group = &machine.cgroup;
    let limit = match (group.cgroup_cpu_max, group.mem_max_bytes) {
        (None, None) if group.version.is_none() => "no cgroup".to_owned(),
        (None, None) => "no cgroup limit".to_owned(),
        (cpus, memory) => {
            let limits = [
                cpus.map(|cpus| format!("{} CPUs", digits(cpus))),
                memory.map(|max| format!("{} of memory", bytes(max))),
            ];
            format!("cgroup limit: {}", limits.into_iter().flatten().collect::<Vec<_>>().join(" and "))
        }
    };
    parts.push(format!("({limit})"));
    parts.join(" ")
}

fn caches(machine: &Machine) -> String {
    let name = |cache: &Cache| match cache.kind {
        CacheKind::Data => format!("L{}d", cache.level),
        CacheKind::Instruction => format!("L{}i", cache.level),
        CacheKind::Unified => format!("L{}", cache.level),
    };
    let written = machine.caches.iter().map(|cache| {
        let shared = match cache.shared_by {
            Some(cpus) if cpus > 1 => format!(" shared by {cpus} CPUs"),
            _ => String::new(),
        };
        let times = cache.instances.filter(|count| *count > 1).map_or(String::new(), |count| format!("{count} × "));
        format!("{} {times}{}{shared}", name(cache), bytes(cache.bytes))
    });
    let all = written.collect::<Vec<_>>().join(", ");
    if all.is_empty() { UNKNOWN.to_owned() } else { all }
}

fn memory(machine: &Machine) -> String {
    let Some(total) = machine.mem_bytes else {
        return UNKNOWN.to_owned();
    };
    let free = machine.mem_available_bytes.map_or(String::new(), |free| format!(", {} available", bytes(free)));
    format!("{}{free}", bytes(total))
}

fn huge_pages(machine: &Machine) -> String {
    let pages = &machine.huge_pages;
    let Some(transparent) = &pages.transparent else {
        return UNKNOWN.to_owned();
    };
    let size = pages.bytes.map_or(String::new(), |size| format!("{} ", bytes(size)));
    let meaning = match transparent.as_str() {
        "always" => "for all programs",
        "madvise" => "for programs that request them",
        _ => "disabled",
    };
    let reserved =
        pages.reserved.filter(|count| *count > 0).map_or(String::new(), |count| format!(", {count} reserved"));
    format!("{transparent}: {size}pages {meaning}{reserved}")
}

fn frequency(machine: &Machine) -> String {
    let frequency = &machine.frequency;
    let mut parts = Vec::new();
    parts.extend(frequency.governor.as_ref().map(|governor| format!("governor {governor}")));
    parts.extend(frequency.driver.as_ref().map(|driver| format!("driver {driver}")));
    parts.extend(frequency.boost.map(|boost| if boost { "boost on".to_owned() } else { "boost off".to_owned() }));
    parts.extend(frequency.max_hz.map(|max| format!("up to {}", hertz(max))));
    if parts.is_empty() { "governor and boost not exposed".to_owned() } else { parts.join(", ") }
}

fn host(machine: &Machine) -> String {
    let kernel = machine.kernel.as_ref().map_or(String::new(), |kernel| format!(" {kernel}"));
    let under = match (&machine.container, &machine.hypervisor) {
        (Some(container), Some(hypervisor)) => format!("{container} container, {hypervisor} virtual machine"),
        (Some(container), None) => format!("{container} container"),
        (None, Some(hypervisor)) => format!("{hypervisor} virtual machine"),
        (None, None) => "no hypervisor detected".to_owned(),
    };
    format!("{}{kernel}, {under}", machine.os)
}

fn clock(machine: &Machine) -> String {
    let clock = &machine.clock;
    let source = clock.source.as_deref().unwrap_or("unknown source");
    let nanos = |value: f64| format!("{} ns", digits(value));
    let scopes = clock.profiler.as_ref().map_or(String::new(), |profiler| {
        let which = if profiler.source == "counter" { "the CPU's time-stamp counter" } else { "the system clock" };
        format!("; scopes use {which}, resolution {}", nanos(profiler.timer_res_ns))
    });
    format!("{source}, resolution {}, {} per read{scopes}", nanos(clock.timer_res_ns), nanos(clock.read_ns))
}

fn counted(counters: &Counters) -> String {
    let names = counters.counters_available.join(", ");
    match (&counters.reason, names.is_empty()) {
        (None, false) => names,
        (Some(reason), false) => format!("{names}; others unavailable: {reason}"),
        (Some(reason), true) => format!("none: {reason}"),
        (None, true) => UNKNOWN.to_owned(),
    }
}
