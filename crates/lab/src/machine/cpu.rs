//! The CPU's name and features, as `/proc/cpuinfo` tells them.

use record::Cpu;

use super::Files;
use super::cpu_list;

/// What matters to arithmetic, by the kernel's names on x86 and Arm, weakest first.
const FEATURES: &[&str] = &[
    "sse4_2",
    "avx",
    "f16c",
    "fma",
    "avx2",
    "avx_vnni",
    "avx512f",
    "avx512bw",
    "avx512dq",
    "avx512vl",
    "avx512_vnni",
    "avx512_bf16",
    "avx512_fp16",
    "amx_tile",
    "amx_int8",
    "amx_bf16",
    "asimd",
    "asimdhp",
    "asimddp",
    "i8mm",
    "bf16",
    "sve",
    "sve2",
    "svei8mm",
    "sme",
];

pub(super) fn read(files: &impl Files, cpuinfo: &str) -> Cpu {
    Cpu {
        model: field(cpuinfo, "model name").map(str::to_owned).or_else(|| arm_model(cpuinfo)).or_else(|| brand(files)),
        vendor: vendor(cpuinfo),
        revision: revision(cpuinfo),
    }
}

/// The first line of that name: all CPUs are alike in what we ask for.
pub(super) fn field<'a>(cpuinfo: &'a str, name: &str) -> Option<&'a str> {
    let values = cpuinfo.lines().filter_map(|line| line.split_once(':'));
    values
        .into_iter()
        .find(|(key, _)| key.trim() == name)
        .map(|(_, value)| value.trim())
        .filter(|value| !value.is_empty())
}

pub(super) fn features(cpuinfo: &str) -> Vec<String> {
    let all = field(cpuinfo, "flags").or_else(|| field(cpuinfo, "Features")).unwrap_or_default();
    let has = |name: &&&str| all.split_whitespace().any(|word| word == **name);
    FEATURES.iter().filter(has).map(|name| (*name).to_owned()).collect()
}

/// `Cpus_allowed_list` of `/proc/self/status`.
pub(super) fn allowed_cpus(status: &str) -> Option<Vec<u32>> {
    cpu_list::parse(field(status, "Cpus_allowed_list")?).filter(|cpus| !cpus.is_empty())
}

fn vendor(cpuinfo: &str) -> Option<String> {
    let named = field(cpuinfo, "vendor_id").map(|vendor| match vendor {
        "AuthenticAMD" => "AMD",
        "GenuineIntel" => "Intel",
        other => other,
    });
    named.or_else(|| arm_vendor(field(cpuinfo, "CPU implementer")?)).map(str::to_owned)
}

fn arm_vendor(implementer: &str) -> Option<&'static str> {
    Some(match implementer {
        "0x41" => "Arm",
        "0x43" => "Cavium",
        "0x46" => "Fujitsu",
        "0x48" => "HiSilicon",
        "0x4e" => "NVIDIA",
        "0x50" => "Applied Micro",
        "0x51" => "Qualcomm",
        "0x61" => "Apple",
        "0xc0" => "Ampere",
        _ => return None,
    })
}

fn revision(cpuinfo: &str) -> Option<String> {
    if let Some(family) = field(cpuinfo, "cpu family") {
        let number = |name| field(cpuinfo, name).map_or(String::new(), |value| format!(", {name} {value}"));
        return Some(format!("family {family}{}{}", number("model"), number("stepping")));
    }
    let part = field(cpuinfo, "CPU part")?;
    let number = |name| field(cpuinfo, name).unwrap_or("?");
    Some(format!("part {part}, variant {}, revision {}", number("CPU variant"), number("CPU revision")))
}

/// Arm kernels tell numbers, not names. Where kinds of cores are mixed, the last one listed is the largest.
fn arm_model(cpuinfo: &str) -> Option<String> {
    let mut parts = cpuinfo.lines().filter_map(|line| line.split_once(':')).filter(|(key, _)| key.trim() == "CPU part");
    let part = parts.next_back()?.1.trim();
    let vendor = arm_vendor(field(cpuinfo, "CPU implementer")?)?;
    let name = match (vendor, part) {
        ("Arm", "0xd03") => "Cortex-A53",
        ("Arm", "0xd05") => "Cortex-A55",
        ("Arm", "0xd08") => "Cortex-A72",
        ("Arm", "0xd0b") => "Cortex-A76",
        ("Arm", "0xd0c") => "Neoverse N1",
        ("Arm", "0xd40") => "Neoverse V1",
        ("Arm", "0xd49") => "Neoverse N2",
        ("Arm", "0xd4f") => "Neoverse V2",
        ("Arm", "0xd84") => "Neoverse V3",
        ("Arm", "0xd8e") => "Neoverse N3",
        ("Ampere", "0xac3" | "0xac4") => "One",
        _ => return Some(format!("{vendor} part {part}")),
    };
    Some(format!("{vendor} {name}"))
}

/// The name that the CPU itself tells, in three answers.
fn brand(files: &impl Files) -> Option<String> {
    let answers = (0x8000_0002..=0x8000_0004).map(|leaf| files.cpuid(leaf, 0)).collect::<Option<Vec<_>>>()?;
    let bytes: Vec<u8> = answers.iter().flatten().flat_map(|word| word.to_le_bytes()).collect();
    let name = String::from_utf8_lossy(&bytes).trim_matches(|c: char| c == '\0' || c.is_whitespace()).to_owned();
    (!name.is_empty()).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn nothing() -> BTreeMap<&'static str, &'static str> {
        BTreeMap::new()
    }

    #[test]
    fn x86_names_itself() {
        let text = "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 151\n\
                    model name\t: 12th Gen Intel(R) Core(TM) i9-12900K\nstepping\t: 2\nflags\t\t: fpu sse4_2 fma avx2 avx_vnni\n";
        let cpu = read(&nothing(), text);
        assert_eq!(cpu.model.as_deref(), Some("12th Gen Intel(R) Core(TM) i9-12900K"));
        assert_eq!(cpu.vendor.as_deref(), Some("Intel"));
        assert_eq!(cpu.revision.as_deref(), Some("family 6, model 151, stepping 2"));
        assert_eq!(features(text), ["sse4_2", "fma", "avx2", "avx_vnni"]);
    }

    #[test]
    fn arm_is_named_by_its_numbers() {
        let text = "processor\t: 0\nFeatures\t: fp asimd asimddp sve i8mm\nCPU implementer\t: 0x41\nCPU variant\t: 0x1\n\
                    CPU part\t: 0xd40\nCPU revision\t: 1\n";
        let cpu = read(&nothing(), text);
        assert_eq!(cpu.model.as_deref(), Some("Arm Neoverse V1"));
        assert_eq!(cpu.revision.as_deref(), Some("part 0xd40, variant 0x1, revision 1"));
        assert_eq!(features(text), ["asimd", "asimddp", "i8mm", "sve"]);
        let unknown = text.replace("0xd40", "0xfff");
        assert_eq!(read(&nothing(), &unknown).model.as_deref(), Some("Arm part 0xfff"));
    }

    #[test]
    fn without_the_file_nothing_is_known() {
        assert_eq!(read(&nothing(), ""), Cpu::default());
        assert_eq!(features(""), [""; 0]);
        assert_eq!(allowed_cpus("Name:\tx\n"), None);
        assert_eq!(allowed_cpus("Name:\tx\nCpus_allowed_list:\t0-1,4\n"), Some(vec![0, 1, 4]));
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn the_cpu_itself_is_asked_where_the_file_is_silent() {
        assert!(read(&super::super::System, "").model.is_some());
    }
}
