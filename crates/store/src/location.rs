//! The default folder of the store.

use std::ffi::OsString;
use std::path::PathBuf;

use crate::{Error, ErrorKind, Result};

/// `$HOTLOOP_STORE`, else `hotloop` in `$XDG_DATA_HOME`, else in the system's folder for user data.
///
/// # Errors
/// If none of these variables is set.
pub fn default_path() -> Result<PathBuf> {
    path_by(|name| std::env::var_os(name)).ok_or_else(|| {
        let why = "no folder for runs: neither HOTLOOP_STORE nor the home folder's variable is set";
        Error::new(ErrorKind::NoPlace, why)
    })
}

fn path_by(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let set = |name: &str| variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    if let Some(path) = set("HOTLOOP_STORE") {
        return Some(path);
    }
    // The specification says to ignore a relative path.
    let data = set("XDG_DATA_HOME").filter(|path| path.is_absolute()).or_else(|| {
        if cfg!(windows) {
            set("LOCALAPPDATA").or_else(|| Some(set("USERPROFILE")?.join("AppData").join("Local")))
        } else if cfg!(target_os = "macos") {
            Some(set("HOME")?.join("Library").join("Application Support"))
        } else {
            Some(set("HOME")?.join(".local").join("share"))
        }
    });
    data.map(|data| data.join("hotloop"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(variables: &[(&str, &str)], expected: Option<&str>) {
        let variable = |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| value.into());
        assert_eq!(path_by(variable), expected.map(PathBuf::from));
    }

    #[test]
    #[cfg(all(unix, not(target_os = "macos")))]
    fn the_nearest_variable_counts() {
        check(&[("HOTLOOP_STORE", "here"), ("XDG_DATA_HOME", "/data"), ("HOME", "/me")], Some("here"));
        check(&[("HOTLOOP_STORE", ""), ("XDG_DATA_HOME", "/data"), ("HOME", "/me")], Some("/data/hotloop"));
        check(&[("XDG_DATA_HOME", "data"), ("HOME", "/me")], Some("/me/.local/share/hotloop"));
        check(&[("HOME", "")], None);
    }
}
