//! The arguments of `hotloop bench`.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};

use super::{MAX_THREADS, Named, generate, whole_number};

/// Measure the speed of models in tokens per second, as a table
#[derive(Debug, Clone, PartialEq, Args)]
#[command(after_help = "Examples:\n  \
    hotloop bench                                 the bundled model\n  \
    hotloop bench model.gguf -p 512 -n 128        one prompt and one generation\n  \
    hotloop bench a.gguf b.gguf -t 1,2,4          two models, three thread counts\n  \
    hotloop bench model.gguf -p 0 -n 64 -d 0,1024,4096\n  \
    hotloop bench model.gguf --format markdown -o table.md\n\n\
    Each test is a row: ppN computes a prompt of N tokens, tgN computes N tokens\n\
    one by one, ppP+tgN does both in turn. `@ dN` means that N tokens were in the\n\
    KV cache before. Tokens are random and none is sampled, so that the speed is\n\
    that of the model alone. The repeats of all rows of a model are interleaved.\n\n\
    Ctrl-C ends the measurement and prints what was measured; a second one ends\n\
    the program.\n\n\
    Environment:\n  HOTLOOP_ISA=NAME   compute with scalar, avx2, avx512 or neon instructions")]
pub struct Bench {
    /// Model files: GGUF, safetensors or llama2.c [default: the bundled model]
    #[arg(value_name = "MODEL")]
    pub models: Vec<PathBuf>,
    /// Random weights: small, medium, or sizes such as d=768,layers=12,type=q4_0;
    /// may be repeated
    #[arg(long, value_name = "SIZES")]
    pub synthetic: Vec<String>,
    #[command(flatten)]
    pub tests: Tests,
    #[command(flatten)]
    pub machine: Machine,
    #[command(flatten)]
    pub output: Output,
}

/// What is measured, and how often.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(next_help_heading = "Tests")]
pub struct Tests {
    /// Prompt lengths; 0 for none [default: 512, or what the context leaves]
    #[arg(short, long = "prompt-tokens", value_name = "N,...", value_delimiter = ',', allow_hyphen_values = true,
        value_parser = whole_number("--prompt-tokens", 0, MOST_TOKENS))]
    pub prompt_tokens: Vec<usize>,
    /// Tokens to generate; 0 for none [default: 128, or what the context leaves]
    #[arg(short = 'n', long, value_name = "N,...", value_delimiter = ',', allow_hyphen_values = true,
        value_parser = whole_number("--tokens", 0, MOST_TOKENS))]
    pub tokens: Vec<usize>,
    /// A prompt of P tokens and N generated ones in one test; may be repeated
    #[arg(long, value_name = "P,N", allow_hyphen_values = true, value_parser = prompt_and_tokens)]
    pub pg: Vec<PromptAndTokens>,
    /// Tokens in the KV cache before each test [default: 0]
    #[arg(short, long, value_name = "N,...", value_delimiter = ',', allow_hyphen_values = true,
        value_parser = whole_number("--depth", 0, MOST_TOKENS))]
    pub depth: Vec<usize>,
    /// Repeats of each test [default: 5]
    #[arg(short, long, value_name = "N", default_value_t = 5, hide_default_value = true, allow_hyphen_values = true,
        value_parser = whole_number("--repeat", 1, 100_000))]
    pub repeat: usize,
    /// Rounds before those that count, with at most 16 generated tokens
    /// [default: 1]
    #[arg(long, value_name = "N", default_value_t = 1, hide_default_value = true, allow_hyphen_values = true,
        value_parser = whole_number("--warmup", 0, 100_000))]
    pub warmup: usize,
}

/// What computes, and with what memory.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(next_help_heading = "Machine and memory")]
pub struct Machine {
    /// Thread counts [default: one thread for each CPU of this process]
    #[arg(short, long, value_name = "N,...", value_delimiter = ',', allow_hyphen_values = true,
        value_parser = whole_number("--threads", 1, MAX_THREADS))]
    pub threads: Vec<usize>,
    /// Number format of the KV cache: f32, f16 or q8_0 [default: f16]
    #[arg(long, value_name = "TYPE", default_value = "f16", hide_default_value = true,
        value_parser = generate::cache_type)]
    pub cache: engine::CacheType,
    /// Use weights as they lie in the file, without packing them first
    #[arg(long)]
    pub in_place: bool,
    /// Expand quantised weights to f32
    #[arg(long, conflicts_with = "in_place")]
    pub exact: bool,
    /// Measure with a debug build too; the table says so
    #[arg(long)]
    pub allow_debug: bool,
}

/// How the table is written, and where.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(next_help_heading = "Output")]
pub struct Output {
    /// table, markdown, json, jsonl or csv [default: table]
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t = BenchFormat::Table, hide_default_value = true,
        hide_possible_values = true)]
    pub format: BenchFormat,
    /// Print JSON, the same as --format json
    #[arg(long, conflicts_with = "format")]
    pub json: bool,
    /// Write to FILE instead of standard output
    #[arg(short, long, value_name = "FILE")]
    pub out: Option<PathBuf>,
}

/// How the table is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum BenchFormat {
    /// Columns for the terminal.
    Table,
    /// A Markdown table, which `hotloop import` reads.
    Markdown,
    /// One JSON document.
    Json,
    /// A line of JSON for each row.
    Jsonl,
    /// Comma-separated values.
    Csv,
}

/// A prompt, and how many tokens are generated after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PromptAndTokens {
    pub prompt: usize,
    pub tokens: usize,
}

/// More than any model has a context for.
const MOST_TOKENS: usize = 1 << 24;

impl Bench {
    /// All models: the files first; the bundled one where none is named.
    pub fn named(&self) -> Vec<Named> {
        let files = self.models.iter().map(|file| Named::file(file.clone()));
        let named: Vec<Named> = files.chain(self.synthetic.iter().map(|sizes| Named::synthetic(sizes))).collect();
        if named.is_empty() { vec![Named::default()] } else { named }
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
    let number = |text: &str| text.trim().parse().ok().filter(|number| (1..=MOST_TOKENS).contains(number));
    let pair = value.split_once(',').and_then(|(prompt, tokens)| Some((number(prompt)?, number(tokens)?)));
    let (prompt, tokens) =
        pair.ok_or_else(|| format!("--pg takes two whole numbers such as 512,128, not `{value}`"))?;
    Ok(PromptAndTokens { prompt, tokens })
}

#[cfg(test)]
mod tests {
    use super::super::{Command, parse};
    use super::*;

    fn of(line: &str) -> Result<Bench, String> {
        match parse(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())? {
            Command::Bench(bench) => Ok(*bench),
            other => panic!("{line}: {other:?}"),
        }
    }

    #[test]
    fn lists_and_repeated_options_are_read() {
        let bench = of("bench a.gguf b.gguf -p 512,64 -p 8 -n 0 --pg 5,6 --pg 7,8 -d 0,1024 -t 1,2 -r 3").unwrap();
        let names: Vec<String> = bench.named().iter().map(Named::name).collect();
        assert_eq!(names, ["a.gguf", "b.gguf"]);
        assert_eq!((bench.tests.prompt_tokens, bench.tests.tokens), (vec![512, 64, 8], vec![0]));
        let pairs = [(5, 6), (7, 8)].map(|(prompt, tokens)| PromptAndTokens { prompt, tokens });
        assert_eq!((bench.tests.pg, bench.tests.depth), (pairs.to_vec(), vec![0, 1024]));
        assert_eq!((bench.machine.threads, bench.tests.repeat, bench.tests.warmup), (vec![1, 2], 3, 1));
        assert_eq!(of("bench").unwrap().named(), [Named::default()], "the bundled model");
        assert_eq!(of("bench --json").unwrap().format(), BenchFormat::Json);
    }

    #[test]
    fn bad_ones_are_named() {
        for (line, part) in [
            ("bench --pg 5", "--pg takes two whole numbers such as 512,128, not `5`"),
            ("bench --pg 5,0", "not `5,0`"),
            ("bench -t 0", "from 1 to 4096, not `0`"),
            ("bench -r 0", "--repeat"),
            ("bench --format yaml", "jsonl"),
            ("bench --exact --in-place", "--in-place"),
        ] {
            let error = of(line).unwrap_err().to_string();
            assert!(error.contains(part), "{line}: {error}");
        }
    }
}
