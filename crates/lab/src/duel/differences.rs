//! In what two sides differ that nobody asked to compare.

use record::{Arm, Build, Difference};

/// The profile whose programs are slow on purpose.
const DEBUG: &str = "debug";

/// In what a candidate was built otherwise than the base. How a program was built is not always known; where it is known of one
/// side alone, that is a difference if that side was built for debugging.
pub(super) fn differences(base: &Arm, candidate: &Arm) -> Vec<Difference> {
    let (base, candidate) = (built(base), built(candidate));
    let yes_or_no = |build: &Build| build.debug_assertions.map(|on| if on { "on" } else { "off" }.to_owned());
    let fields = [
        ("build profile", base.profile.clone(), candidate.profile.clone()),
        ("optimisation level", base.opt_level.clone(), candidate.opt_level.clone()),
        ("debug assertions", yes_or_no(&base), yes_or_no(&candidate)),
    ];
    fields.into_iter().filter_map(|(field, base, candidate)| difference(field, base, candidate)).collect()
}

/// What has to be said where a candidate is another program than the base, and it is not known whether both were built alike.
pub(super) fn unknown_builds(base: &Arm, candidate: &Arm) -> Option<String> {
    let hash = |arm: &Arm| built(arm).binary_blake3;
    let is_unknown = |arm: &Arm| built(arm).profile.is_none();
    let unknown: Vec<&str> =
        [base, candidate].into_iter().filter(|arm| is_unknown(arm)).map(|arm| arm.label.as_str()).collect();
    if unknown.is_empty() || hash(base) == hash(candidate) {
        return None;
    }
    let verb = if unknown.len() == 1 { "was" } else { "were" };
    Some(format!(
        "WARNING: it is unknown how `{}` {verb} built. A debug build is several times slower than a release build \
         of the same source; check that both sides were built with the same profile and flags, or compare \
         revisions (`rev:`), which are built alike",
        unknown.join("` and `")
    ))
}

fn built(arm: &Arm) -> Build {
    arm.subject.build.clone().unwrap_or_default()
}

fn difference(field: &str, base: Option<String>, candidate: Option<String>) -> Option<Difference> {
    let differs = match (&base, &candidate) {
        (Some(base), Some(candidate)) => base != candidate,
        (Some(known), None) | (None, Some(known)) => known == DEBUG || (field == "debug assertions" && known == "on"),
        (None, None) => false,
    };
    differs.then(|| Difference { field: field.to_owned(), base, candidate })
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::Subject;

    fn arm(profile: Option<&str>) -> Arm {
        let build = Build { profile: profile.map(str::to_owned), ..Build::default() };
        Arm { subject: Subject { build: Some(build), ..Subject::default() }, ..Arm::default() }
    }

    #[test]
    fn unknown_builds_of_different_files_are_pointed_out() {
        let file = |label: &str, hash: &str, profile: Option<&str>| {
            let mut arm = Arm { label: label.to_owned(), ..arm(profile) };
            arm.subject.build.as_mut().expect("it has one").binary_blake3 = Some(hash.to_owned());
            arm
        };
        let found = |one, other| unknown_builds(&one, &other);
        let both = found(file("old", "1", None), file("new", "2", None)).expect("neither is known");
        assert!(both.contains("how `old` and `new` were built") && both.contains("release build"), "{both}");
        let one = found(file("old", "1", Some("release")), file("new", "2", None)).expect("one is not known");
        assert!(one.contains("how `new` was built"), "{one}");
        assert_eq!(found(file("old", "1", None), file("new", "1", None)), None, "one file was built one way");
        assert_eq!(found(file("old", "1", Some("release")), file("new", "2", Some("release"))), None);
    }

    #[test]
    fn a_debug_build_is_compared_with_its_like_alone() {
        let found = |base, candidate| differences(&arm(base), &arm(candidate));
        let named = found(Some("release"), Some("debug"));
        assert_eq!((named.len(), named[0].field.as_str()), (1, "build profile"));
        assert_eq!((named[0].base.as_deref(), named[0].candidate.as_deref()), (Some("release"), Some("debug")));
        assert_eq!(found(Some("bench"), Some("release")).len(), 1);
        assert_eq!(found(None, Some("debug")).len(), 1);
        assert!(found(Some("debug"), Some("debug")).is_empty());
        assert!(found(None, None).is_empty() && found(Some("release"), None).is_empty());
        assert!(differences(&Arm::default(), &Arm::default()).is_empty());
    }
}
