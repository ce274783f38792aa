//! Where the system tells about itself.

/// Something that has the files of `/proc` and `/sys`, or what a test puts there.
pub trait Files {
    /// A file's text; `None` where there is none or it may not be read.
    fn read(&self, path: &str) -> Option<String>;

    /// The names in a folder, sorted; none where there is no such folder.
    fn list(&self, folder: &str) -> Vec<String>;

    /// A file's text without what surrounds it; `None` where nothing is left.
    fn word(&self, path: &str) -> Option<String> {
        let text = self.read(path)?;
        let word = text.trim_matches(|c: char| c.is_whitespace() || c == '\0');
        (!word.is_empty()).then(|| word.to_owned())
    }

    /// A file that holds a number.
    fn number<T: std::str::FromStr>(&self, path: &str) -> Option<T> {
        self.word(path)?.parse().ok()
    }

    /// What the CPU itself answers, which only the machine at hand can: four words for a question of two.
    fn cpuid(&self, _leaf: u32, _subleaf: u32) -> Option<[u32; 4]> {
        None
    }
}

/// The system that we run on.
#[derive(Debug, Clone, Copy)]
pub struct System;

impl Files for System {
    fn read(&self, path: &str) -> Option<String> {
        let bytes = std::fs::read(path).ok()?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }

    fn list(&self, folder: &str) -> Vec<String> {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        let mut names: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.sort_unstable();
        names
    }

    #[cfg(target_arch = "x86_64")]
    fn cpuid(&self, leaf: u32, subleaf: u32) -> Option<[u32; 4]> {
        use core::arch::x86_64::{__cpuid, __cpuid_count};
        const HYPERVISOR: u32 = 0x4000_0000;
        let highest = __cpuid(leaf & 0xf000_0000).eax;
        // Hypervisors answer beside the CPU's own range, and only where a bit says that there is one.
        let is_known = if leaf == HYPERVISOR { __cpuid(1).ecx >> 31 == 1 } else { leaf <= highest };
        let answer = __cpuid_count(leaf, subleaf);
        is_known.then_some([answer.eax, answer.ebx, answer.ecx, answer.edx])
    }
}

/// A machine that a test describes: path and text.
#[cfg(test)]
impl Files for std::collections::BTreeMap<&str, &str> {
    fn read(&self, path: &str) -> Option<String> {
        self.get(path).map(|text| (*text).to_owned())
    }

    fn list(&self, folder: &str) -> Vec<String> {
        let inside = |path: &&str| path.strip_prefix(folder)?.strip_prefix('/')?.split('/').next().map(str::to_owned);
        let mut names: Vec<String> = self.keys().filter_map(inside).collect();
        names.dedup();
        names
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_of_the_system_is_listed() {
        let here = env!("CARGO_MANIFEST_DIR");
        assert!(System.list(here).contains(&"Cargo.toml".to_owned()));
        assert!(System.read(&format!("{here}/Cargo.toml")).is_some_and(|text| text.contains("[package]")));
        assert_eq!(System.list("/no/such/folder"), [""; 0]);
        assert_eq!(System.word("/no/such/file"), None);
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn the_cpu_tells_its_vendor() {
        let [_, ebx, ecx, edx] = System.cpuid(0, 0).expect("every CPU answers that");
        let vendor: Vec<u8> = [ebx, edx, ecx].iter().flat_map(|word| word.to_le_bytes()).collect();
        assert!(vendor.iter().all(u8::is_ascii_graphic), "{vendor:?}");
    }
}
