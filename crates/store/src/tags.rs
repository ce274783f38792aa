//! Tags: one file each, which contains an id.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read};

use record::StoreFault;

use crate::files::Files;
use crate::id::is_digit;
use crate::write;
use crate::{Error, ErrorKind, Id, Result};

/// The maximum length of a tag.
const MOST_LETTERS: usize = 100;
/// The maximum size of a tag's file; an id and a line end have 65 bytes.
const MOST_BYTES: u64 = 1 << 10;
/// The minimum number of digits in the start of an id.
pub const LEAST_DIGITS: usize = 4;

/// Checks a tag's name.
///
/// # Errors
/// Why it is invalid.
pub fn check(name: &str) -> Result<()> {
    let why = if name.is_empty() || name.len() > MOST_LETTERS {
        format!("a tag has 1 to {MOST_LETTERS} characters")
    } else if !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte)) {
        "a tag consists of the letters a to z, digits, `.`, `_` and `-`".to_owned()
    } else if name.starts_with(['.', '-']) || name.ends_with('.') {
        "a tag starts with a letter, a digit or `_` and does not end with `.`".to_owned()
    } else if name.ends_with(".json") || name.ends_with(".zst") {
        "it looks like a file name".to_owned()
    } else if is_beginning(&name.to_ascii_lowercase()) {
        "it looks like the start of an id".to_owned()
    } else {
        return Ok(());
    };
    Err(Error::new(ErrorKind::BadName, format!("invalid tag `{name}`: {why}")))
}

/// Whether a word may be the start of an id.
pub fn is_beginning(word: &str) -> bool {
    word.len() >= LEAST_DIGITS && word.bytes().all(is_digit)
}

/// The run of a tag; `None` if there is no such tag.
pub fn get(files: &Files, name: &str) -> Result<Option<Id>> {
    if check(name).is_err() {
        return Ok(None);
    }
    let path = files.tags().join(name);
    let failed = |error: io::Error| Error::io("cannot read", &path, &error);
    // Opening a pipe would block until somebody writes to it.
    match fs::metadata(&path) {
        Ok(about) if about.is_file() => {}
        Ok(_) => return Err(Error::corrupt(&path, "the tag is not a regular file")),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed(error)),
    }
    let mut text = Vec::new();
    fs::File::open(&path).and_then(|file| file.take(MOST_BYTES).read_to_end(&mut text)).map_err(failed)?;
    let id = std::str::from_utf8(&text).ok().and_then(|text| Id::parse(text.trim_ascii()));
    id.map(Some).ok_or_else(|| Error::corrupt(&path, "the tag does not contain an id"))
}

/// All tags, and other files in their folder.
pub fn all(files: &Files) -> Result<(BTreeMap<String, Id>, Vec<StoreFault>)> {
    let folder = files.tags();
    let (mut tags, mut faults) = (BTreeMap::new(), Vec::new());
    let names = match fs::read_dir(&folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok((tags, faults)),
        names => names.map_err(|error| Error::io("cannot read", &folder, &error))?,
    };
    for file in names {
        let file = file.map_err(|error| Error::io("cannot read", &folder, &error))?;
        let name = file.file_name().to_string_lossy().into_owned();
        if name.starts_with('.') {
            continue;
        }
        match check(&name).and_then(|()| get(files, &name)) {
            Ok(Some(id)) => drop(tags.insert(name, id)),
            Ok(None) => {}
            Err(error) => {
                faults.push(StoreFault { path: file.path().display().to_string(), message: error.to_string() });
            }
        }
    }
    Ok((tags, faults))
}

/// Sets a tag.
pub fn set(files: &Files, name: &str, id: &Id) -> Result<()> {
    check(name)?;
    write::put(files, &files.tags().join(name), format!("{id}\n").as_bytes())
}

/// Removes a tag.
pub fn unset(files: &Files, name: &str) -> Result<()> {
    let missing = || Error::new(ErrorKind::NotFound, format!("no tag `{name}`"));
    check(name).map_err(|_| missing())?;
    match write::remove(&files.tags().join(name)) {
        Err(error) if error.kind() == ErrorKind::NotFound => Err(missing()),
        done => done,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_could_mean_something_else_are_refused() {
        for good in ["baseline", "v1.2", "a", "abc", "before_fix-2", "cafe-1", "0.1"] {
            assert_eq!(check(good), Ok(()), "{good}");
        }
        let long = "x".repeat(MOST_LETTERS + 1);
        for bad in [
            "",
            "cafe",
            "CAFE",
            "1234",
            ".hidden",
            "-x",
            "a/b",
            "a\\b",
            "..",
            "a.json",
            "a.json.zst",
            "ä",
            "a b",
            &long,
        ] {
            assert!(check(bad).is_err(), "{bad}");
        }
    }
}
