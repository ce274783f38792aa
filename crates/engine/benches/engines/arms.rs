//! The contenders: where they are found, how they are asked, how they answer.

use std::path::{Path, PathBuf};
use std::process::Command;

use kernels::quant::Format;
use serde_json::Value;

use crate::models::{Row, Work};
use crate::ours;
use crate::store::Files;

/// The column of our own engine, with weights packed when it starts.
pub const OURS: &str = "ours";
/// The same with weights as they lie in the file, which is there at once.
const OURS_IN_PLACE: &str = "ours in place";
/// llama2.c, which reads files of its own.
pub const LLAMA2C: &str = "llama2.c";

/// How a contender takes its work and answers.
#[derive(Debug, Clone, Copy)]
enum Kind {
    Ours {
        options: &'static [&'static str],
    },
    /// `llama-bench`, with the options of this variant and the one that leaves out the warming up.
    LlamaBench {
        options: &'static [&'static str],
        cold: &'static [&'static str],
    },
    Llama2c,
    Candle,
    OnnxRuntime,
}

/// One contender.
pub struct Arm {
    /// Its column.
    pub name: &'static str,
    /// Its program, or how to get it. For llama2.c the one for f32; the other lies beside it.
    pub program: Result<PathBuf, String>,
    kind: Kind,
}

/// Tokens per second of every repeat. Empty where the contender has no such thing.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Speeds {
    /// Of the prompt, read at once.
    pub prefill: Vec<f64>,
    /// Of the tokens after it.
    pub decode: Vec<f64>,
}

/// Where the peers may be, as `HOTLOOP_PEERS` says.
pub fn folders() -> Vec<PathBuf> {
    let named = std::env::var_os("HOTLOOP_PEERS").unwrap_or_default();
    std::env::split_paths(&named).filter(|folder| !folder.as_os_str().is_empty()).collect()
}

const LLAMA_CPP: Kind = Kind::LlamaBench { options: &[], cold: &["--no-warmup"] };
// Its flash attention is made for heads of 64 and more: prompts of 15M were read 4 times as fast
// without it, and tokens of small models computed 1.6 times as fast; for heads of 64 there was no
// difference beyond noise.
const IK_LLAMA: Kind = Kind::LlamaBench { options: &["-fa", "0"], cold: &["-w", "0"] };
const IK_LLAMA_REPACKED: Kind = Kind::LlamaBench { options: &["-fa", "0", "-rtr", "1"], cold: &["-w", "0"] };

/// Columns, kinds, and where below the folders of the peers the programs are, the first that is there.
const PEERS: &[(&str, Kind, &[&str])] = &[
    ("llama.cpp", LLAMA_CPP, &["llama.cpp/build/bin/llama-bench", "llama.cpp-full/build/bin/llama-bench"]),
    ("ik_llama", IK_LLAMA, &["ik_llama.cpp/build/bin/llama-bench"]),
    ("ik_llama -rtr", IK_LLAMA_REPACKED, &["ik_llama.cpp/build/bin/llama-bench"]),
    ("ONNX Runtime", Kind::OnnxRuntime, &["venv/bin/python3"]),
    ("candle", Kind::Candle, &["candle/release/engines-candle"]),
    (LLAMA2C, Kind::Llama2c, &["llama2.c/forward-f32"]),
];

const ONNX_PROGRAM: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/peers/onnx_llama.py");

/// Whether this Python has what the program needs.
fn has_onnx(python: &Path) -> bool {
    let output = Command::new(python).args(["-c", "import gguf, numpy, onnx, onnxruntime"]).output();
    output.is_ok_and(|output| output.status.success())
}

/// Ours and all peers, whether they are there or not.
pub fn all(folders: &[PathBuf]) -> Vec<Arm> {
    let program = std::env::current_exe().map_err(|error| error.to_string());
    let ours = [(OURS, &[][..]), (OURS_IN_PLACE, &[ours::IN_PLACE])];
    let ours = ours.map(|(name, options)| Arm { name, program: program.clone(), kind: Kind::Ours { options } });
    let mut arms = Vec::from(ours);
    arms.extend(PEERS.iter().map(|&(name, kind, places)| {
        let files = || folders.iter().flat_map(|folder| places.iter().map(|place| folder.join(place)));
        let program = files().find(|file| file.is_file() && (!matches!(kind, Kind::OnnxRuntime) || has_onnx(file)));
        let how = || format!("no folder of HOTLOOP_PEERS has its {}; benches/README.md tells how to get it", places[0]);
        Arm { name, program: program.ok_or_else(how), kind }
    }));
    arms
}

impl Arm {
    /// Whether it is not one of ours.
    pub fn is_peer(&self) -> bool {
        !matches!(self.kind, Kind::Ours { .. })
    }

    /// Where it was found, or how to get it.
    pub fn note(&self) -> String {
        match &self.program {
            Ok(_) if !self.is_peer() => format!("{}: {}", self.name, kernels::Kernels::best().isa()),
            Ok(path) => format!("{}: {}", self.name, path.display()),
            Err(how) => format!("{}: absent: {how}", self.name),
        }
    }

    /// The command that does the work; nothing where the contender cannot: such weights, or such a file, it has not.
    pub fn command(&self, row: &Row, files: &Files, work: Work) -> Option<Command> {
        let program = self.program.as_ref().ok()?;
        match self.kind {
            Kind::Ours { options } => {
                let mut command = ours_command(program, &files.gguf, work);
                command.args(options);
                Some(command)
            }
            Kind::LlamaBench { options, cold } => {
                let mut command = llama_bench(program, &files.gguf, work);
                command.args(options).args(if work.repeats == 0 { cold } else { &[] });
                Some(command)
            }
            Kind::Llama2c => llama2c(program, row.format, files.llama2c.as_deref()?, work),
            Kind::Candle => Some(candle(program, &files.gguf, work)),
            // Its graphs keep f32 tables beside the weights: of a model of a billion f32 there would be three copies.
            Kind::OnnxRuntime if row.shape.is_large() && row.format == Format::F32 => None,
            Kind::OnnxRuntime => {
                let numbers = [work.threads, work.prompt, work.tokens, work.repeats].map(|number| number.to_string());
                let mut command = Command::new(program);
                command.arg(ONNX_PROGRAM).arg(&files.gguf).args(numbers);
                Some(command)
            }
        }
    }

    /// What it printed, as figures.
    pub fn read(&self, printed: &str) -> Result<Speeds, String> {
        let read = match self.kind {
            Kind::LlamaBench { .. } => read_llama_bench(printed),
            _ => read_own(printed),
        };
        read.ok_or_else(|| format!("it printed what was not expected: {}", printed.lines().last().unwrap_or("nothing")))
    }
}

fn ours_command(program: &Path, model: &Path, work: Work) -> Command {
    let mut command = Command::new(program);
    command.args([crate::CHILD, OURS, "--model"]).arg(model);
    let numbers = [
        ("--threads", work.threads),
        ("--prompt", work.prompt),
        ("--tokens", work.tokens),
        ("--repeats", work.repeats),
    ];
    for (option, number) in numbers {
        command.arg(option).arg(number.to_string());
    }
    command
}

fn llama_bench(program: &Path, model: &Path, work: Work) -> Command {
    let mut command = Command::new(program);
    command.arg("-m").arg(model).args(["-o", "json"]);
    let numbers = [("-p", work.prompt), ("-n", work.tokens), ("-t", work.threads), ("-r", work.repeats.max(1))];
    for (option, number) in numbers {
        command.arg(option).arg(number.to_string());
    }
    command
}

fn candle(program: &Path, model: &Path, work: Work) -> Command {
    let mut command = Command::new(program);
    command.arg(model).args([work.prompt, work.tokens, work.repeats].map(|number| number.to_string()));
    command.env("RAYON_NUM_THREADS", work.threads.to_string());
    command
}

/// It has a program for f32 and one for q8_0.
fn llama2c(program: &Path, format: Format, model: &Path, work: Work) -> Option<Command> {
    let program = program.with_file_name(format!("forward-{format}"));
    let mut command = program.is_file().then(|| Command::new(program))?;
    command.arg(model).args([work.tokens.to_string(), work.repeats.to_string()]);
    command.env("OMP_NUM_THREADS", work.threads.to_string());
    Some(command)
}

/// A test per entry; nanoseconds of each repeat.
fn read_llama_bench(printed: &str) -> Option<Speeds> {
    // The fork says a word before the document.
    let tests: Value = serde_json::from_str(&printed[printed.find('[')?..]).ok()?;
    let mut speeds = Speeds::default();
    for test in tests.as_array()? {
        let (prompt, tokens) = (test["n_prompt"].as_f64()?, test["n_gen"].as_f64()?);
        let seconds = test["samples_ns"].as_array()?.iter().map(|sample| Some(sample.as_f64()? / 1e9));
        let rates = seconds.map(|seconds| Some((prompt + tokens) / seconds?)).collect::<Option<Vec<f64>>>()?;
        if prompt > 0.0 { speeds.prefill = rates } else { speeds.decode = rates }
    }
    Some(speeds)
}

/// One line, `{"load_s":S,"prefill_tps":[...],"decode_tps":[...]}`.
fn read_own(printed: &str) -> Option<Speeds> {
    let line: Value = serde_json::from_str(printed.trim()).ok()?;
    let list = |key: &str| line[key].as_array()?.iter().map(Value::as_f64).collect::<Option<Vec<f64>>>();
    Some(Speeds { prefill: list("prefill_tps")?, decode: list("decode_tps")? })
}
