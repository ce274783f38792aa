//! The arguments of `hotloop bench`.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};

use super::ModelOptions;
use super::values::{cache_type, count, threads};

/// Measure the speed of models, as a table like llama-bench's
#[derive(Debug, Clone, PartialEq, Args)]
#[command(after_help = "\
Each test is a row: ppN computes a prompt of N tokens, tgN computes N tokens one
by one, ppP+tgN does one after the other. `@ dN` means that N tokens were in the
KV cache before. Tokens are random and none is sampled: the speed is that of the
model alone. The repeats of all rows of a model are interleaved. Tests that
exceed the context of a model are skipped.

`hotloop import` reads the Markdown table.

Ctrl-C ends the measurement: what was measured is printed. A second Ctrl-C ends
the program.

Environment:
  HOTLOOP_ISA=NAME   compute with these instructions: scalar, avx2, avx512, neon

Examples:
  hotloop bench                                    the bundled model
  hotloop bench model.gguf -p 512 -n 128
  hotloop bench a.gguf b.gguf --threads 1,2,4      two models, three numbers
  hotloop bench model.gguf -p 0 -n 64 --depth 0,1024,4096
  hotloop bench model.gguf --format markdown -o table.md")]
pub struct Bench {
    /// Model files: GGUF, safetensors or llama2.c [default: the bundled model]
    #[arg(value_name = "MODEL")]
    pub models: Vec<PathBuf>,
    /// The same as MODEL; repeat for several
    #[arg(long, short, value_name = "FILE")]
    pub model: Vec<PathBuf>,
    /// Random weights: small, medium, or sizes such as d=768,layers=12,type=q4_0;
    /// repeat for several
    #[arg(long, value_name = "SIZES")]
    pub synthetic: Vec<String>,
    #[command(flatten)]
    pub tests: BenchTests,
    #[command(flatten)]
    pub machine: BenchMachine,
    #[command(flatten)]
    pub output: BenchOutput,
}

/// What is measured, and how often.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(next_help_heading = "Tests")]
pub struct BenchTests {
    /// Prompt lengths; 0 for none [default: 512, or what the context leaves]
    #[arg(short, long = "prompt-tokens", value_name = "N,...", value_delimiter = ',',
        value_parser = count(0..=MOST_TOKENS))]
    pub prompt_tokens: Vec<usize>,
    /// Tokens to generate; 0 for none [default: 128, or what the context leaves]
    #[arg(short = 'n', long, value_name = "N,...", value_delimiter = ',',
        value_parser = count(0..=MOST_TOKENS))]
    pub tokens: Vec<usize>,
    /// A prompt of P tokens and N generated ones in one test; repeat for several
    #[arg(long, value_name = "P,N", value_parser = prompt_and_tokens)]
    pub pg: Vec<PromptAndTokens>,
    /// Tokens in the KV cache before each test [default: 0]
    #[arg(short, long, value_name = "N,...", value_delimiter = ',',
        value_parser = count(0..=MOST_TOKENS))]
    pub depth: Vec<usize>,
    /// Repeats of each test
    #[arg(short, long, value_name = "N", default_value_t = 5,
        value_parser = count(1..=100_000))]
    pub repeat: usize,
    /// Untimed rounds at the beginning, with at most 16 generated tokens
    #[arg(long, value_name = "N", default_value_t = 1,
        value_parser = count(0..=100_000))]
    pub warmup: usize,
}

/// What computes, and with what memory.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(next_help_heading = "Machine and memory")]
pub struct BenchMachine {
    /// Numbers of threads [default: one per available CPU]
    #[arg(short, long, value_name = "N,...", value_delimiter = ',',
        value_parser = threads())]
    pub threads: Vec<usize>,
    /// Format of the KV cache
    #[arg(long, value_name = "TYPE", default_value = "f16", value_parser = cache_type())]
    pub cache: engine::CacheType,
    /// Use the weights as they are in the file: starts at once, computes slower
    #[arg(long)]
    pub in_place: bool,
    /// Convert quantised weights to f32
    #[arg(long, conflicts_with = "in_place")]
    pub exact: bool,
    /// Measure even though this program is a debug build; the table says so
    #[arg(long)]
    pub allow_debug: bool,
}

/// How the table is written, and where.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(next_help_heading = "Output")]
pub struct BenchOutput {
    /// Format of the table
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t = BenchFormat::Table)]
    pub format: BenchFormat,
    /// Print JSON, the same as --format json
    #[arg(long, conflicts_with = "format")]
    pub json: bool,
    /// File to write, replaced if it exists; `-` is standard output (the default)
    #[arg(short, long, value_name = "FILE")]
    pub out: Option<PathBuf>,
}

/// How the table is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum BenchFormat {
    Table,
    Markdown,
    Json,
    Jsonl,
    Csv,
}

/// A prompt, and how many tokens are generated after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PromptAndTokens {
    pub prompt: usize,
    pub tokens: usize,
}

/// More than any model has a context for.
const MOST_TOKENS: u64 = 1 << 24;

impl Bench {
    /// All models: the files first; the bundled one where none is named.
    pub fn named(&self) -> Vec<ModelOptions> {
        let files = self.models.iter().chain(&self.model).map(|file| ModelOptions::file(file.clone()));
        let named: Vec<ModelOptions> =
            files.chain(self.synthetic.iter().map(|sizes| ModelOptions::synthetic(sizes))).collect();
        if named.is_empty() { vec![ModelOptions::default()] } else { named }
    }

    /// The file to write; nothing for standard output.
    pub fn target(&self) -> Option<&Path> {
        self.output.out.as_deref().filter(|out| *out != Path::new("-"))
    }

    /// The format that was asked for.
    pub fn format(&self) -> BenchFormat {
        if self.output.json { BenchFormat::Json } else { self.output.format }
    }
}

fn prompt_and_tokens(value: &str) -> Result<PromptAndTokens, String> {
    let number = |text: &str| text.trim().parse().ok().filter(|number| (1..=MOST_TOKENS as usize).contains(number));
    let pair = value.split_once(',').and_then(|(prompt, tokens)| Some((number(prompt)?, number(tokens)?)));
    let (prompt, tokens) = pair.ok_or_else(|| "not two whole numbers such as 512,128".to_owned())?;
    Ok(PromptAndTokens { prompt, tokens })
}

#[cfg(test)]
mod tests {
    use super::super::Command;
    use super::super::tests::{assert_refused, command};
    use super::*;

    fn bench(line: &str) -> Bench {
        match command(line) {
            Ok(Command::Bench(bench)) => *bench,
            other => panic!("{line}: {other:?}"),
        }
    }

    #[test]
    fn lists_and_repeated_options_are_read() {
        let bench_of = bench("bench a.gguf b.gguf -m c -p 512,64 -p 8 -n 0 --pg 5,6 --pg 7,8 -d 0,1024 -t 1,2 -r 3");
        let names: Vec<String> = bench_of.named().iter().map(ModelOptions::name).collect();
        assert_eq!(names, ["a.gguf", "b.gguf", "c"]);
        let tests = bench_of.tests;
        assert_eq!((tests.prompt_tokens, tests.tokens, tests.depth), (vec![512, 64, 8], vec![0], vec![0, 1024]));
        let pairs = [(5, 6), (7, 8)].map(|(prompt, tokens)| PromptAndTokens { prompt, tokens });
        assert_eq!((tests.pg, tests.repeat, tests.warmup), (pairs.to_vec(), 3, 1));
        assert_eq!(bench_of.machine.threads, [1, 2]);
        assert_eq!(bench("bench").named(), [ModelOptions::default()], "the bundled model");
        assert_eq!(bench("bench --json").format(), BenchFormat::Json);
        assert_eq!((bench("bench -o -").target(), bench("bench -o x").target()), (None, Some(Path::new("x"))));
    }

    #[test]
    fn bad_ones_are_named() {
        assert_refused(&[
            ("bench --pg 5", &["invalid value '5' for '--pg <P,N>': not two whole numbers such as 512,128"]),
            ("bench --pg 5,0", &["'5,0'"]),
            ("bench -t 0", &["'--threads <N,...>'", "0 is not in 1..=4096"]),
            ("bench -r 0", &["'--repeat <N>'"]),
            ("bench --format tabel", &["'table'"]),
            ("bench --exact --in-place", &["'--exact' cannot be used with '--in-place'"]),
            ("bench --json --format csv", &["cannot be used with"]),
        ]);
    }
}
