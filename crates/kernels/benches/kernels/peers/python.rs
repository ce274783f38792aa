//! PyTorch and ONNX Runtime in a Python of their own, which takes its turns as the other contenders do.

use std::cell::RefCell;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::rc::Rc;

use super::library::Places;
use crate::contest::{Contender, Lap};

/// How to get them.
pub const HOW: &str =
    "pip install torch onnxruntime onnx numpy, and HOTLOOP_PEERS or VIRTUAL_ENV names the environment";

/// The libraries, as the script knows them and as their columns are called.
const LIBRARIES: &[(&str, &str)] = &[("torch", "PyTorch"), ("onnxruntime", "ONNX Runtime")];

const SCRIPT: &str = include_str!("python.py");

/// The process.
pub struct Python {
    /// The libraries that it has, with their versions.
    pub versions: String,
    child: Child,
    commands: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Python {
    /// The first that has one of the libraries.
    pub fn find(places: &Places) -> Option<Self> {
        let candidates = [places.file("python3"), Some(Path::new("python3"))];
        candidates
            .into_iter()
            .flatten()
            .find_map(|path| Self::start(path).ok().filter(|found| !found.versions.is_empty()))
    }

    /// Starts the script.
    fn start(path: &Path) -> std::io::Result<Self> {
        let mut child = Command::new(path)
            .args(["-c", SCRIPT])
            .envs([("OMP_NUM_THREADS", "1"), ("MKL_NUM_THREADS", "1")])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let commands = child.stdin.take().expect("its input is a pipe");
        let answers = BufReader::new(child.stdout.take().expect("its output is a pipe"));
        let mut python = Self { versions: String::new(), child, commands, answers };
        python.versions = python.ask("libraries")?;
        Ok(python)
    }

    /// Sends a command and waits for the answer.
    pub fn ask(&mut self, command: &str) -> std::io::Result<String> {
        writeln!(self.commands, "{command}")?;
        let mut answer = String::new();
        match self.answers.read_line(&mut answer)? {
            0 => Err(std::io::ErrorKind::UnexpectedEof.into()),
            _ => Ok(answer.trim_end().to_owned()),
        }
    }
}

impl Drop for Python {
    fn drop(&mut self) {
        // It ends when its input does; without waiting it would stay as a zombie.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// An operation on rows.
pub struct Operation<'a> {
    /// As the script calls it.
    pub name: &'static str,
    /// The input, row by row.
    pub input: &'a [f32],
    /// How many rows.
    pub rows: usize,
}

/// What the libraries have for the operation. They exchange numbers through files of a folder that is removed at once.
pub fn contenders(python: &Rc<RefCell<Python>>, operation: &Operation) -> std::io::Result<Vec<Box<dyn Contender>>> {
    let folder = std::env::temp_dir().join(format!("hotloop-kernels-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let all = LIBRARIES.iter().filter_map(|&(library, column)| prepare(python, operation, (library, column), &folder));
    let all = all.map(|remote| Box::new(remote) as Box<dyn Contender>).collect();
    std::fs::remove_dir_all(&folder)?;
    Ok(all)
}

fn prepare(
    python: &Rc<RefCell<Python>>,
    operation: &Operation,
    (library, column): (&str, &'static str),
    folder: &Path,
) -> Option<Remote> {
    let (input, output) = (folder.join("in"), folder.join("out"));
    let bytes: Vec<u8> = operation.input.iter().flat_map(|value| value.to_ne_bytes()).collect();
    std::fs::write(&input, bytes).ok()?;
    let (name, rows, columns) = (operation.name, operation.rows, operation.input.len() / operation.rows);
    let command = format!("prepare {library} {name} {rows} {columns} {} {}", input.display(), output.display());
    let number = python.borrow_mut().ask(&command).ok()?.parse().ok()?;
    let bytes = std::fs::read(&output).ok()?;
    let result = bytes.as_chunks().0.iter().map(|bytes| f32::from_ne_bytes(*bytes)).collect();
    Some(Remote { column, number, result, python: Rc::clone(python) })
}

/// An operation of one of the libraries.
struct Remote {
    column: &'static str,
    number: usize,
    result: Vec<f32>,
    python: Rc<RefCell<Python>>,
}

impl Contender for Remote {
    fn column(&self) -> &'static str {
        self.column
    }

    fn turn(&mut self, calls: u32) -> Lap {
        let command = format!("run {} {calls}", self.number);
        let answer = self.python.borrow_mut().ask(&command).expect("Python answers");
        let mut times = answer.split(' ').map(|time| time.parse::<f64>().expect("Python answers with numbers"));
        let wall_ns = times.next().expect("the wall clock comes first");
        let own_ns = times.next().expect("the CPU clock comes second").min(wall_ns);
        Lap { wall_ns, own_ns }.divided_by(f64::from(calls))
    }

    fn result(&mut self) -> Vec<f32> {
        self.result.clone()
    }
}
