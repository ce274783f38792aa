//! What lies under us: a hypervisor, a container.

use super::Files;
use super::cpu::field;

/// Names of hypervisors by what they answer to `cpuid`.
const HYPERVISORS: &[(&str, &str)] = &[
    ("KVMKVMKVM", "KVM"),
    ("Microsoft Hv", "Hyper-V"),
    ("VMwareVMware", "VMware"),
    ("XenVMMXenVMM", "Xen"),
    ("TCGTCGTCGTCG", "QEMU without KVM"),
    ("VBoxVBoxVBox", "VirtualBox"),
    ("bhyve bhyve", "bhyve"),
    ("ACRNACRNACRN", "ACRN"),
    ("prl hyperv", "Parallels"),
];

/// Names of makers of virtual machines, as the firmware tells them.
const FIRMWARES: &[(&str, &str)] = &[
    ("Amazon EC2", "Amazon EC2"),
    ("Google", "Google Compute Engine"),
    ("QEMU", "QEMU"),
    ("VMware", "VMware"),
    ("innotek", "VirtualBox"),
    ("Xen", "Xen"),
    ("Parallels", "Parallels"),
];

/// Marks of containers in the path of the control group.
const GROUPS: &[(&str, &str)] =
    &[("docker", "docker"), ("kubepods", "kubernetes"), ("libpod", "podman"), ("lxc", "lxc")];

/// The hypervisor; `None`: the machine says that there is none, or does not say.
pub(super) fn hypervisor(files: &impl Files, cpuinfo: &str) -> Option<String> {
    if let Some([_, ebx, ecx, edx]) = files.cpuid(0x4000_0000, 0) {
        let bytes: Vec<u8> = [ebx, ecx, edx].iter().flat_map(|word| word.to_le_bytes()).collect();
        return Some(named(&String::from_utf8_lossy(&bytes)));
    }
    let flagged =
        field(cpuinfo, "flags").is_some_and(|flags| flags.split_whitespace().any(|flag| flag == "hypervisor"));
    // Bare machines have a maker too: its name alone says nothing where the CPU could have raised a flag and did not.
    let may_be_virtual = flagged || field(cpuinfo, "flags").is_none();
    files
        .word("/sys/hypervisor/type")
        .or_else(|| may_be_virtual.then(|| firmware(files)).flatten())
        .or_else(|| flagged.then(|| "unnamed hypervisor".to_owned()))
}

fn named(signature: &str) -> String {
    let signature = signature.trim_matches(|c: char| c == '\0' || c.is_whitespace());
    let known = HYPERVISORS.iter().find(|(key, _)| *key == signature);
    known.map_or_else(|| format!("unknown hypervisor `{signature}`"), |(_, name)| (*name).to_owned())
}

fn firmware(files: &impl Files) -> Option<String> {
    let words = ["sys_vendor", "product_name"].map(|name| files.word(&format!("/sys/class/dmi/id/{name}")));
    let all = words.into_iter().flatten().collect::<Vec<_>>().join(" ");
    FIRMWARES.iter().find(|(key, _)| all.contains(key)).map(|(_, name)| (*name).to_owned())
}

/// The kind of container, as far as it can be seen from inside.
pub(super) fn container(files: &impl Files) -> Option<String> {
    if files.read("/.dockerenv").is_some() {
        return Some("docker".to_owned());
    }
    if files.read("/run/.containerenv").is_some() {
        return Some("podman".to_owned());
    }
    if let Some(kind) = files.word("/run/systemd/container") {
        return Some(kind);
    }
    if files.word("/proc/sys/kernel/osrelease").is_some_and(|release| release.to_lowercase().contains("microsoft")) {
        return Some("wsl".to_owned());
    }
    let own = files.read("/proc/self/cgroup")?;
    GROUPS.iter().find(|(mark, _)| own.contains(mark)).map(|(_, name)| (*name).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn signatures_have_names() {
        assert_eq!(named("KVMKVMKVM\0\0\0"), "KVM");
        assert_eq!(named("Microsoft Hv"), "Hyper-V");
        assert_eq!(named("SomethingNew"), "unknown hypervisor `SomethingNew`");
    }

    #[test]
    fn the_makers_name_counts_only_where_the_cpu_does_not_deny_it() {
        let google = BTreeMap::from([("/sys/class/dmi/id/sys_vendor", "Google\n")]);
        assert_eq!(hypervisor(&google, "flags : fpu hypervisor\n").as_deref(), Some("Google Compute Engine"));
        assert_eq!(hypervisor(&google, "flags : fpu\n"), None);
        assert_eq!(hypervisor(&google, "Features : asimd\n").as_deref(), Some("Google Compute Engine"));
        let silent = BTreeMap::new();
        assert_eq!(hypervisor(&silent, "flags : hypervisor\n").as_deref(), Some("unnamed hypervisor"));
        assert_eq!(hypervisor(&silent, ""), None);
        let xen = BTreeMap::from([("/sys/hypervisor/type", "xen\n")]);
        assert_eq!(hypervisor(&xen, "").as_deref(), Some("xen"));
    }

    #[test]
    fn containers_are_known_by_their_marks() {
        for (path, text, kind) in [
            ("/.dockerenv", "", Some("docker")),
            ("/run/.containerenv", "", Some("podman")),
            ("/run/systemd/container", "systemd-nspawn\n", Some("systemd-nspawn")),
            ("/proc/self/cgroup", "0::/kubepods/pod1/abc\n", Some("kubernetes")),
            ("/proc/sys/kernel/osrelease", "5.15.0-microsoft-standard-WSL2\n", Some("wsl")),
            ("/proc/self/cgroup", "0::/user.slice\n", None),
        ] {
            assert_eq!(container(&BTreeMap::from([(path, text)])).as_deref(), kind, "{path} {text}");
        }
    }
}
