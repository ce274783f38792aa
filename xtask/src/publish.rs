//! Published crates: what their manifests must say, and that Cargo can package them.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::metadata;
use crate::steps::{Outcome, cargo};

/// Every published package begins with it: other names belong to strangers on the public registry.
const PREFIX: &str = "hotloop";

/// Files that each published package carries.
const FILES: [&str; 3] = ["README.md", "LICENSE-APACHE", "LICENSE-MIT"];

/// Fields of the manifest that each published package has.
const FIELDS: [&str; 4] = ["description", "readme", "license", "rust_version"];

/// Lists of the manifest that are not empty; the registry takes at most five entries of each.
const LISTS: [&str; 2] = ["keywords", "categories"];

/// Checks the manifests, then packages all published crates in one go, so that they may depend on each other. They are not
/// built: the other steps do that.
pub fn check(root: &Path) -> Outcome {
    let metadata = match metadata::ask(root) {
        Ok(metadata) => metadata,
        Err(message) => return Outcome::Failed(message),
    };
    let Some(packages) = metadata["packages"].as_array() else {
        return Outcome::Failed("`cargo metadata` lists no packages".to_owned());
    };
    let mut errors: Vec<String> = packages.iter().filter(|package| is_published(package)).flat_map(faults).collect();
    errors.extend(packages.iter().filter(|package| is_published(package)).flat_map(missing_files));
    for error in &errors {
        println!("error: {error}");
    }
    if !errors.is_empty() {
        return Outcome::Failed(format!("{} packages or files are incomplete, listed above", errors.len()));
    }
    let names = |published: bool| packages.iter().filter(move |package| is_published(package) == published).map(name);
    match package(root, names(false)) {
        Ok(()) => {
            println!("{} packages are complete: {}", names(true).count(), names(true).collect::<Vec<_>>().join(", "));
            Outcome::Passed
        }
        Err(message) => Outcome::Failed(message),
    }
}

/// Without the network first: what the other steps have built is all there, and a machine without one passes too.
fn package<'a>(root: &Path, left_out: impl Iterator<Item = &'a str>) -> Result<(), String> {
    let excluded: Vec<&str> = left_out.flat_map(|name| ["--exclude", name]).collect();
    let words = |offline: &[&'static str]| {
        let mut command = Command::new(cargo());
        command
            .args(["package", "--workspace", "--no-verify", "--allow-dirty", "--quiet"])
            .args(&excluded)
            .args(offline);
        command.current_dir(root);
        command
    };
    let output = words(&["--offline"]).output().map_err(|error| format!("`cargo package` did not start: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    println!(
        "`cargo package --offline` failed, once more with the network: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    match words(&[]).status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("`cargo package` ended with {status}")),
        Err(error) => Err(format!("`cargo package` did not start: {error}")),
    }
}

fn name(package: &Value) -> &str {
    package["name"].as_str().unwrap_or_default()
}

/// An empty list of registries is `publish = false`.
fn is_published(package: &Value) -> bool {
    !package["publish"].as_array().is_some_and(Vec::is_empty)
}

/// What the manifest of a published package lacks.
fn faults(package: &Value) -> Vec<String> {
    let name = name(package);
    let mut faults = Vec::new();
    if name != PREFIX && !name.strip_prefix(PREFIX).is_some_and(|rest| rest.starts_with('-')) {
        faults.push(format!("package `{name}`: its name does not begin with `{PREFIX}-`"));
    }
    for field in FIELDS {
        if package[field].as_str().is_none_or(str::is_empty) {
            faults.push(format!("package `{name}` has no `{field}`"));
        }
    }
    for list in LISTS {
        if !package[list].as_array().is_some_and(|list| (1..=5).contains(&list.len())) {
            faults.push(format!("package `{name}` needs one to five `{list}`"));
        }
    }
    faults
}

fn missing_files(package: &Value) -> Vec<String> {
    let folder = package["manifest_path"].as_str().and_then(|manifest| Path::new(manifest).parent());
    let is_missing = |file: &&&str| !folder.is_some_and(|folder| folder.join(file).is_file());
    FILES.iter().filter(is_missing).map(|file| format!("package `{}` has no file {file}", name(package))).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn complete() -> Value {
        json!({ "name": "hotloop-a", "publish": null, "description": "d", "readme": "README.md", "license": "MIT",
            "rust_version": "1.95", "keywords": ["k"], "categories": ["c"] })
    }

    fn with(field: &str, value: Value) -> Vec<String> {
        let mut package = complete();
        package[field] = value;
        faults(&package)
    }

    #[test]
    fn a_complete_manifest_passes() {
        assert_eq!(faults(&complete()), [""; 0]);
        assert_eq!(with("name", json!("hotloop")), [""; 0]);
    }

    #[test]
    fn what_a_manifest_lacks_is_named() {
        assert_eq!(with("name", json!("record")), ["package `record`: its name does not begin with `hotloop-`"]);
        assert_eq!(with("name", json!("hotloops")).len(), 1);
        for field in FIELDS {
            assert_eq!(with(field, Value::Null), [format!("package `hotloop-a` has no `{field}`")]);
        }
        for list in LISTS {
            let error = [format!("package `hotloop-a` needs one to five `{list}`")];
            assert_eq!(with(list, json!([])), error);
            assert_eq!(with(list, json!(["1", "2", "3", "4", "5", "6"])), error);
        }
    }

    #[test]
    fn files_that_are_not_there_are_named() {
        let package =
            json!({ "name": "hotloop-a", "manifest_path": concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml") });
        assert_eq!(missing_files(&package).len(), FILES.len());
    }

    #[test]
    fn private_packages_are_left_out() {
        assert!(is_published(&complete()));
        assert!(!is_published(&json!({ "publish": [] })) && is_published(&json!({ "publish": ["registry"] })));
    }
}
