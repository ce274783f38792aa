//! Who decides on the CPU's clock.

use std::collections::BTreeSet;

use record::Frequency;

use super::Files;

const CPUS: &str = "/sys/devices/system/cpu";

pub(super) fn read(files: &impl Files) -> Frequency {
    let policies = format!("{CPUS}/cpufreq");
    let of_all = |name: &str| -> Option<String> {
        let folders = files.list(&policies).into_iter().filter(|folder| folder.starts_with("policy"));
        let values: BTreeSet<String> =
            folders.filter_map(|folder| files.word(&format!("{policies}/{folder}/{name}"))).collect();
        (!values.is_empty()).then(|| values.into_iter().collect::<Vec<_>>().join(", "))
    };
    let kilohertz: Option<u64> = files.number(&format!("{policies}/policy0/cpuinfo_max_freq"));
    Frequency {
        governor: of_all("scaling_governor"),
        driver: of_all("scaling_driver"),
        boost: boost(files),
        max_hz: kilohertz.map(|kilohertz| kilohertz * 1000),
    }
}

fn boost(files: &impl Files) -> Option<bool> {
    let off: Option<u8> = files.number(&format!("{CPUS}/intel_pstate/no_turbo"));
    let on: Option<u8> = files.number(&format!("{CPUS}/cpufreq/boost"));
    off.map(|off| off == 0).or_else(|| on.map(|on| on != 0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn governors_of_all_cpus_are_told() {
        let files = BTreeMap::from([
            ("/sys/devices/system/cpu/cpufreq/policy0/scaling_governor", "powersave\n"),
            ("/sys/devices/system/cpu/cpufreq/policy0/scaling_driver", "intel_pstate\n"),
            ("/sys/devices/system/cpu/cpufreq/policy0/cpuinfo_max_freq", "5200000\n"),
            ("/sys/devices/system/cpu/cpufreq/policy1/scaling_governor", "performance\n"),
            ("/sys/devices/system/cpu/intel_pstate/no_turbo", "0\n"),
        ]);
        let frequency = read(&files);
        assert_eq!(frequency.governor.as_deref(), Some("performance, powersave"));
        assert_eq!(frequency.driver.as_deref(), Some("intel_pstate"));
        assert_eq!((frequency.boost, frequency.max_hz), (Some(true), Some(5_200_000_000)));
    }

    #[test]
    fn amd_has_another_switch_and_guests_have_none() {
        let amd = BTreeMap::from([("/sys/devices/system/cpu/cpufreq/boost", "0\n")]);
        assert_eq!(read(&amd).boost, Some(false));
        assert_eq!(read(&BTreeMap::new()), Frequency::default());
    }
}
