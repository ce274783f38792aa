//! Dependencies between the crates point down only.

use std::collections::BTreeSet;
use std::path::Path;

use crate::metadata::{self, Crate, Dependency};
use crate::steps::Outcome;

/// From the bottom to the top; a crate may use what stands in a line above its own, by the folder's name.
const LAYERS: &[&[&str]] = &[
    &["hotloop-macros", "profile"],
    &["hotloop", "kernels", "record"],
    &["import"],
    &["engine"],
    &["compare", "training"],
    &["store"],
    &["report"],
    &["lab"],
    &["cli"],
];

/// Pairs that must not know each other, so that the lab can measure any engine.
const STRANGERS: &[[&str; 2]] = &[["engine", "lab"], ["training", "lab"]];

/// Beside the layers: the crate, and all it may use of ours. Nobody uses it.
const FACES: &[(&str, &[&str])] = &[("hotloop-capi", &["hotloop"])];

/// For tests alone: every crate may use it there.
const FOR_TESTS: &str = "testing";

/// May use everything; nobody may use them.
const OUTSIDE: &[&str] = &["xtask", "benches"];

/// What a program gets when it adds `hotloop` and asks for no feature: nothing from elsewhere.
const ALONE: &str = "hotloop";

/// Checks the workspace as it is.
pub fn check(root: &Path) -> Outcome {
    let crates = match metadata::read(root) {
        Ok(crates) => crates,
        Err(message) => return Outcome::Failed(message),
    };
    let mut errors = check_layers(&crates);
    errors.extend(check_alone(&crates, ALONE));
    for error in &errors {
        println!("error: {error}");
    }
    if errors.is_empty() {
        println!("{} crates keep their layers", crates.len());
        Outcome::Passed
    } else {
        Outcome::Failed(format!("{} broken rules, listed above", errors.len()))
    }
}

fn check_layers(crates: &[Crate]) -> Vec<String> {
    let mut errors = Vec::new();
    for member in crates {
        if !is_known(&member.name) {
            errors.push(format!("crate `{}` stands in no layer: add it to LAYERS in xtask/src/layers.rs", member.name));
            continue;
        }
        let ours = member.dependencies.iter().filter(|used| used.inside);
        errors.extend(ours.filter_map(|used| {
            let reason = refusal(&member.name, used)?;
            Some(format!("crate `{}` depends on `{}`, but {reason}", member.name, used.name))
        }));
    }
    errors
}

/// Why `user` may not depend on `used`.
fn refusal(user: &str, used: &Dependency) -> Option<String> {
    let name = used.name.as_str();
    if name == FOR_TESTS {
        return (!used.dev && !OUTSIDE.contains(&user)).then(|| "only tests may use it".to_owned());
    }
    if OUTSIDE.contains(&name) || face(name).is_some() {
        return Some(format!("nothing may depend on `{name}`"));
    }
    if user == FOR_TESTS {
        return Some("it may use only what is from elsewhere".to_owned());
    }
    if STRANGERS.contains(&[user, name]) || STRANGERS.contains(&[name, user]) {
        return Some("the two must not know each other".to_owned());
    }
    // Tests may look up: a macro is tested through the library that exports it.
    if OUTSIDE.contains(&user) || used.dev {
        return None;
    }
    if let Some(allowed) = face(user) {
        return (!allowed.contains(&name)).then(|| format!("it may use only {allowed:?}"));
    }
    // An unknown crate has its own error.
    let (above, below) = (layer(user)?, layer(name)?);
    (below >= above).then(|| "dependencies point down only".to_owned())
}

/// `hotloop` itself and the crates it uses always, looked at together: one of them could bring others in.
fn check_alone(crates: &[Crate], start: &str) -> Vec<String> {
    let mut errors = Vec::new();
    let mut seen = BTreeSet::new();
    let mut waiting = vec![start];
    while let Some(name) = waiting.pop() {
        let member = crates.iter().find(|member| member.name == name);
        let Some(member) = member.filter(|_| seen.insert(name)) else {
            continue;
        };
        for used in &member.dependencies {
            if used.dev || used.optional {
                continue;
            }
            if used.inside {
                waiting.push(&used.name);
            } else {
                errors.push(format!(
                    "`{start}` must need nothing from elsewhere, but `{name}` depends on `{}`",
                    used.name
                ));
            }
        }
    }
    errors
}

fn is_known(name: &str) -> bool {
    layer(name).is_some() || face(name).is_some() || OUTSIDE.contains(&name) || name == FOR_TESTS
}

fn layer(name: &str) -> Option<usize> {
    LAYERS.iter().position(|layer| layer.contains(&name))
}

fn face(name: &str) -> Option<&'static [&'static str]> {
    FACES.iter().find(|(face, _)| *face == name).map(|(_, allowed)| *allowed)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `name` is a crate of ours, `+name` one from elsewhere, `?name` optional, `*name` for tests alone.
    fn dependency(text: &str) -> Dependency {
        let name = text.trim_start_matches(['+', '?', '*']);
        Dependency {
            name: name.to_owned(),
            inside: !text.contains('+'),
            dev: text.contains('*'),
            optional: text.contains('?'),
        }
    }

    fn member(name: &str, dependencies: &[&str]) -> Crate {
        Crate { name: name.to_owned(), dependencies: dependencies.iter().map(|text| dependency(text)).collect() }
    }

    #[track_caller]
    fn allowed(name: &str, used: &str) {
        let errors = check_layers(&[member(name, &[used])]);
        assert!(errors.is_empty(), "{errors:?}");
    }

    #[track_caller]
    fn refused(name: &str, used: &str, reason: &str) {
        let errors = check_layers(&[member(name, &[used])]);
        assert_eq!(errors.len(), 1, "{name} -> {used}: {errors:?}");
        assert!(errors[0].contains(reason), "{errors:?}");
    }

    #[test]
    fn down_is_allowed_up_is_not() {
        allowed("cli", "hotloop");
        allowed("hotloop", "hotloop-macros");
        allowed("hotloop", "profile");
        allowed("record", "profile");
        allowed("lab", "+serde");
        refused("hotloop", "cli", "point down only");
        refused("record", "kernels", "point down only");
        refused("compare", "?store", "point down only");
    }

    #[test]
    fn tests_may_look_up() {
        allowed("hotloop-macros", "*hotloop");
    }

    #[test]
    fn only_tests_use_what_is_for_them() {
        allowed("hotloop", "*testing");
        refused("hotloop", "testing", "only tests may use it");
        refused("testing", "record", "only what is from elsewhere");
    }

    #[test]
    fn engine_and_lab_are_strangers() {
        refused("lab", "engine", "must not know each other");
        refused("engine", "*lab", "must not know each other");
        allowed("cli", "engine");
        allowed("cli", "lab");
    }

    #[test]
    fn faces_use_the_library_only() {
        allowed("hotloop-capi", "hotloop");
        refused("hotloop-capi", "record", "may use only");
        refused("cli", "hotloop-capi", "nothing may depend on");
    }

    #[test]
    fn nobody_uses_what_is_outside() {
        allowed("benches", "cli");
        refused("cli", "xtask", "nothing may depend on");
        refused("cli", "*benches", "nothing may depend on");
    }

    #[test]
    fn a_new_crate_has_to_be_given_its_layer() {
        refused("attic", "hotloop", "add it to LAYERS");
    }

    #[test]
    fn the_library_stands_alone() {
        let alone = [member("hotloop", &["hotloop-macros", "?+tracing", "*+serde"]), member("hotloop-macros", &[])];
        assert_eq!(check_alone(&alone, "hotloop"), [""; 0]);
        let direct = [member("hotloop", &["+libc"])];
        assert_eq!(check_alone(&direct, "hotloop").len(), 1);
        let through = [member("hotloop", &["hotloop-macros"]), member("hotloop-macros", &["+syn"])];
        assert_eq!(check_alone(&through, "hotloop").len(), 1);
    }
}
