//! The scopes that the lab opens around a workload.

use profile::ScopeSum;

/// What the lab calls the scopes around a whole workload.
const WORKLOAD_SCOPES: [&str; 5] = ["standard", "deep", "enhanced", "memory", "lab"];

/// Scopes of the lab's own.
pub(crate) trait LabScope {
    /// Whether it only surrounds the work that the lab asked for: nothing can be gained in it.
    fn is_of_lab(&self) -> bool;
}

impl LabScope for ScopeSum<'_> {
    fn is_of_lab(&self) -> bool {
        self.full_name.starts_with("lab::") && WORKLOAD_SCOPES.contains(&self.last_name())
    }
}

#[cfg(test)]
mod tests {
    use profile::CallTree;
    use record::{Profile, Scope};

    use super::*;

    #[test]
    fn scopes_around_a_workload_are_known() {
        let names =
            ["lab::workload::standard::standard", "lab::workload::inference::Prefill", "mine::standard", "deep"];
        let scope = |name: &&str| Scope { name: (*name).to_owned(), ..Scope::default() };
        let profile = Profile { scopes: names.iter().map(scope).collect(), ..Profile::default() };
        let tree = CallTree::new(&profile);
        let of_lab: Vec<&str> = tree.names.iter().filter(|sum| sum.is_of_lab()).map(|sum| sum.full_name).collect();
        assert_eq!(of_lab, names[..1]);
    }
}
