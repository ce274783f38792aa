//! The folder for built revisions.

use std::ffi::OsString;
use std::path::PathBuf;

use super::CommandError;

/// `$HOTLOOP_CACHE`, else `hotloop` in `$XDG_CACHE_HOME`, else in the folder where this system keeps such things of a user.
pub fn folder() -> Result<PathBuf, CommandError> {
    path_by(|name| std::env::var_os(name)).ok_or_else(|| {
        CommandError::new(
            "no folder for builds: neither HOTLOOP_CACHE nor a cache folder of the user is set",
            "set HOTLOOP_CACHE to a folder",
        )
    })
}

fn path_by(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let set = |name: &str| variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    if let Some(path) = set("HOTLOOP_CACHE") {
        // Cargo and Git are started in other folders.
        return std::path::absolute(path).ok();
    }
    // By its specification a relative path there counts as none.
    let cache = set("XDG_CACHE_HOME").filter(|path| path.is_absolute()).or_else(|| {
        if cfg!(windows) {
            set("LOCALAPPDATA").or_else(|| Some(set("USERPROFILE")?.join("AppData").join("Local")))
        } else if cfg!(target_os = "macos") {
            Some(set("HOME")?.join("Library").join("Caches"))
        } else {
            Some(set("HOME")?.join(".cache"))
        }
    });
    cache.map(|cache| cache.join("hotloop"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(all(unix, not(target_os = "macos")))]
    fn the_nearest_variable_counts() {
        for (variables, expected) in [
            (vec![("HOTLOOP_CACHE", "/here"), ("HOME", "/me")], Some("/here")),
            (vec![("HOTLOOP_CACHE", ""), ("XDG_CACHE_HOME", "/cache"), ("HOME", "/me")], Some("/cache/hotloop")),
            (vec![("XDG_CACHE_HOME", "cache"), ("HOME", "/me")], Some("/me/.cache/hotloop")),
            (vec![("HOME", "")], None),
        ] {
            let variable =
                |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| value.into());
            assert_eq!(path_by(variable), expected.map(PathBuf::from));
        }
        let relative = path_by(|name| (name == "HOTLOOP_CACHE").then(|| "here".into()));
        assert_eq!(relative, std::env::current_dir().ok().map(|folder| folder.join("here")));
    }
}
