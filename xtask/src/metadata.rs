//! The crates of the workspace and what they depend on, as `cargo metadata` tells it.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::steps::cargo;

/// A crate of the workspace.
#[derive(Debug, PartialEq)]
pub struct Crate {
    /// The name of its folder, which is how the architecture names it.
    pub name: String,
    /// What its manifest lists.
    pub dependencies: Vec<Dependency>,
}

/// One line of a manifest's dependencies.
#[derive(Debug, PartialEq)]
pub struct Dependency {
    /// The folder of a crate of the workspace, otherwise the package.
    pub name: String,
    /// Whether it is a crate of the workspace.
    pub inside: bool,
    /// Whether only tests, examples and benchmarks use it.
    pub dev: bool,
    /// Whether a feature has to ask for it.
    pub optional: bool,
}

/// The crates and their dependencies.
pub fn read(root: &Path) -> Result<Vec<Crate>, String> {
    parse(&ask(root)?).ok_or_else(|| "`cargo metadata` has another form than known".to_owned())
}

/// All that cargo tells about the packages of the workspace.
pub fn ask(root: &Path) -> Result<Value, String> {
    let output = Command::new(cargo())
        .args(["metadata", "--no-deps", "--format-version", "1"])
        .current_dir(root)
        .output()
        .map_err(|error| format!("`cargo metadata` did not start: {error}"))?;
    if !output.status.success() {
        let message = String::from_utf8_lossy(&output.stderr);
        return Err(format!("`cargo metadata` failed: {message}"));
    }
    serde_json::from_slice(&output.stdout).map_err(|error| format!("`cargo metadata` is not JSON: {error}"))
}

fn parse(metadata: &Value) -> Option<Vec<Crate>> {
    let packages = metadata["packages"].as_array()?;
    let folders: Option<Vec<&Path>> =
        packages.iter().map(|package| Path::new(package["manifest_path"].as_str()?).parent()).collect();
    let folders = folders?;
    let parse_crate = |(package, folder): (&Value, &&Path)| {
        let dependencies = package["dependencies"].as_array()?.iter();
        Some(Crate {
            name: last_part(folder)?,
            dependencies: dependencies
                .map(|dependency| parse_dependency(dependency, &folders))
                .collect::<Option<_>>()?,
        })
    };
    packages.iter().zip(&folders).map(parse_crate).collect()
}

fn parse_dependency(dependency: &Value, folders: &[&Path]) -> Option<Dependency> {
    let folder = dependency["path"].as_str().map(Path::new);
    let inside = folder.is_some_and(|folder| folders.contains(&folder));
    Some(Dependency {
        name: match folder {
            Some(folder) if inside => last_part(folder)?,
            _ => dependency["name"].as_str()?.to_owned(),
        },
        inside,
        dev: dependency["kind"] == "dev",
        optional: dependency["optional"].as_bool()?,
    })
}

fn last_part(folder: &Path) -> Option<String> {
    Some(folder.file_name()?.to_str()?.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crates_are_named_by_their_folders() {
        let metadata = serde_json::json!({ "packages": [
            { "manifest_path": "/w/crates/cli/Cargo.toml", "dependencies": [
                { "name": "lib", "path": "/w/crates/base", "kind": null, "optional": false },
                { "name": "serde", "kind": "dev", "optional": true },
            ] },
            { "manifest_path": "/w/crates/base/Cargo.toml", "dependencies": [] },
        ] });
        let crates = parse(&metadata).unwrap();
        assert_eq!(crates[0].name, "cli");
        let [lib, serde] = crates[0].dependencies.as_slice() else {
            panic!("two dependencies");
        };
        assert!(lib.name == "base" && lib.inside && !lib.dev && !lib.optional);
        assert!(serde.name == "serde" && !serde.inside && serde.dev && serde.optional);
        assert_eq!(crates[1].dependencies, []);
    }

    #[test]
    fn another_form_is_noticed() {
        assert_eq!(parse(&serde_json::json!({ "crates": [] })), None);
    }
}
