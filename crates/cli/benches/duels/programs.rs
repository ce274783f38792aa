//! The programs that fight, compiled from the C files of this folder into a temporary one.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The sources. They lie beside this file.
const SOURCES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/duels/programs");

/// How the second of two files with the same code differs from the first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Disguise {
    /// The same name in another folder, and a byte behind the end that no one reads.
    Appended,
    /// The same bytes by another name.
    Renamed,
}

impl Disguise {
    /// In turns.
    pub fn of_duel(number: usize) -> Self {
        if number.is_multiple_of(2) { Self::Appended } else { Self::Renamed }
    }
}

/// A folder of programs, removed at the end. Programs are named by their paths in it, which is where duels run.
pub struct Programs {
    folder: PathBuf,
    compiler: String,
}

impl Programs {
    /// A new folder.
    pub fn new() -> Result<Self, String> {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("duels-{}", std::process::id()));
        fs::create_dir_all(&folder).map_err(|error| format!("cannot make {}: {error}", folder.display()))?;
        let compiler = std::env::var("CC").ok().filter(|compiler| !compiler.is_empty());
        Ok(Self { folder, compiler: compiler.unwrap_or_else(|| "cc".to_owned()) })
    }

    /// Where they lie.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Compiles `NAME.c` to `a/NAME`, with its two disguised copies; returns that path.
    pub fn compile(&self, name: &str) -> Result<String, String> {
        let program = format!("a/{name}");
        if !self.path(&program)?.exists() {
            self.run_compiler(&["-o", &program, &source(&format!("{name}.c"))])?;
            self.copy(&program)?;
        }
        Ok(program)
    }

    /// Copies a file of the system to `a/NAME`, with its two disguised copies; returns that path.
    pub fn adopt(&self, file: &Path) -> Result<String, String> {
        let name = file.file_name().and_then(|name| name.to_str()).unwrap_or("program");
        let program = format!("a/{name}");
        fs::copy(file, self.path(&program)?).map_err(|error| format!("cannot copy {}: {error}", file.display()))?;
        self.copy(&program)?;
        Ok(program)
    }

    /// The disguised copy of `a/NAME`.
    pub fn disguised(program: &str, disguise: Disguise) -> String {
        match disguise {
            Disguise::Appended => program.replacen("a/", "b/", 1),
            Disguise::Renamed => format!("{program}2"),
        }
    }

    fn copy(&self, program: &str) -> Result<(), String> {
        for disguise in [Disguise::Appended, Disguise::Renamed] {
            let copy = self.path(&Self::disguised(program, disguise))?;
            let copied = fs::copy(self.folder.join(program), &copy).and_then(|_| match disguise {
                // What comes behind the last section of an ELF file is not loaded.
                Disguise::Appended => {
                    use std::io::Write as _;
                    fs::OpenOptions::new().append(true).open(&copy)?.write_all(b"\n")
                }
                Disguise::Renamed => Ok(()),
            });
            copied.map_err(|error| format!("cannot write {}: {error}", copy.display()))?;
        }
        Ok(())
    }

    /// Compiles one of the `linked` sources to an object file; returns its path.
    pub fn compile_object(&self, name: &str, definitions: &[String], object: &str) -> Result<String, String> {
        let object = format!("objects/{object}.o");
        self.path(&object)?;
        let source = source(&format!("linked/{name}.c"));
        let definitions = definitions.iter().map(String::as_str);
        let arguments: Vec<&str> = definitions.chain(["-c", "-o", &object, &source]).collect();
        self.run_compiler(&arguments)?;
        Ok(object)
    }

    /// Links objects in this order.
    pub fn link(&self, objects: &[String], program: &str) -> Result<(), String> {
        self.path(program)?;
        let objects = objects.iter().map(String::as_str);
        self.run_compiler(&["-o", program].into_iter().chain(objects).collect::<Vec<_>>())
    }

    /// Writes a file that programs use, or a configuration; returns its path.
    pub fn write(&self, name: &str, text: &str) -> Result<String, String> {
        let path = self.path(name)?;
        fs::write(&path, text).map_err(|error| format!("cannot write {}: {error}", path.display()))?;
        Ok(name.to_owned())
    }

    /// The absolute path, in a folder that exists.
    pub fn path(&self, name: &str) -> Result<PathBuf, String> {
        let path = self.folder.join(name);
        let parent = path.parent().unwrap_or(&self.folder);
        fs::create_dir_all(parent).map_err(|error| format!("cannot make {}: {error}", parent.display()))?;
        Ok(path)
    }

    fn run_compiler(&self, arguments: &[&str]) -> Result<(), String> {
        let compiler = &self.compiler;
        let mut command = Command::new(compiler);
        command.args(["-O2", "-Wall", "-Wextra", "-Werror"]).args(arguments);
        let output = command.current_dir(&self.folder).stdin(Stdio::null()).output();
        let output = output.map_err(|error| {
            format!("cannot run the C compiler `{compiler}`: {error}; install one, or name it by the variable CC")
        })?;
        if output.status.success() {
            return Ok(());
        }
        Err(format!("`{compiler} {}` failed:\n{}", arguments.join(" "), String::from_utf8_lossy(&output.stderr)))
    }
}

impl Drop for Programs {
    fn drop(&mut self) {
        // A leftover in the build folder does no harm.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

fn source(name: &str) -> String {
    format!("{SOURCES}/{name}")
}
