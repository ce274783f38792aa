//! Shared libraries that are loaded while the benchmark runs.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// Where to look, as `PATH` has it.
const VARIABLE: &str = "HOTLOOP_PEERS";
/// How far below such a folder: `lib/python3.x/site-packages/package/lib`, and a build folder's parts.
const DEPTH: usize = 7;

/// The files that may be of use in the folders that were named.
pub struct Places {
    files: HashMap<String, PathBuf>,
}

impl Places {
    /// Searches the folders of `HOTLOOP_PEERS` and the active virtual environment.
    pub fn search() -> Self {
        let mut files = HashMap::new();
        let named = std::env::var_os(VARIABLE).unwrap_or_default();
        for folder in std::env::split_paths(&named).filter(|folder| !folder.as_os_str().is_empty()) {
            collect(&folder, DEPTH, &mut files);
        }
        if let Some(folder) = std::env::var_os("VIRTUAL_ENV") {
            collect(Path::new(&folder), DEPTH, &mut files);
        }
        Self { files }
    }

    /// The file of that name, where a named folder has it.
    pub fn file(&self, name: &str) -> Option<&Path> {
        self.files.get(name).map(PathBuf::as_path)
    }

    /// The first of these libraries that can be loaded, from the folders or from where the system keeps libraries.
    pub fn load(&self, names: &[&str]) -> Option<Library> {
        let inside = names.iter().filter_map(|name| Library::open(self.file(name)?));
        inside.chain(names.iter().filter_map(|name| Library::open(Path::new(name)))).next()
    }
}

/// The first file of each name stays.
fn collect(folder: &Path, depth: usize, files: &mut HashMap<String, PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return;
    };
    for entry in entries.flatten() {
        let (path, name) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if is_folder && depth > 0 {
            collect(&path, depth - 1, files);
        } else if name == "python3" || name.contains(".so") {
            files.entry(name).or_insert(path);
        }
    }
}

/// A library that stays loaded until the process ends: its threads may outlive any handle.
#[derive(Debug, Clone, Copy)]
pub struct Library {
    #[cfg(unix)]
    handle: std::ptr::NonNull<libc::c_void>,
}

#[cfg(unix)]
impl Library {
    fn open(path: &Path) -> Option<Self> {
        use std::os::unix::ffi::OsStrExt;
        let path = std::ffi::CString::new(path.as_os_str().as_bytes()).ok()?;
        // SAFETY: the text ends with a zero. The initialisers of a library that was named by the user run here.
        let handle = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        Some(Self { handle: std::ptr::NonNull::new(handle)? })
    }

    fn address(self, name: &str) -> Option<std::ptr::NonNull<libc::c_void>> {
        let name = std::ffi::CString::new(name).ok()?;
        // SAFETY: the handle is never closed, the text ends with a zero.
        std::ptr::NonNull::new(unsafe { libc::dlsym(self.handle.as_ptr(), name.as_ptr()) })
    }
}

#[cfg(not(unix))]
impl Library {
    fn open(_: &Path) -> Option<Self> {
        None
    }

    fn address(self, _: &str) -> Option<std::ptr::NonNull<std::ffi::c_void>> {
        None
    }
}

impl Library {
    /// The function of that name, in it or in what it depends on.
    ///
    /// # Safety
    /// `F` is the type that the function has in C.
    pub unsafe fn function<F: Copy>(self, name: &str) -> Option<F> {
        assert_eq!(size_of::<F>(), size_of::<*const ()>(), "a function is asked for by its pointer");
        let address = self.address(name)?;
        // SAFETY: a pointer to the function, of the type that the caller vouches for.
        Some(unsafe { std::mem::transmute_copy(&address) })
    }
}
