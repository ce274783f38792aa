//! The arguments of `hotloop generate`.

use std::path::PathBuf;

use clap::Args;

use super::{MAX_THREADS, Named, whole_number};

/// What to generate, and how.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(
    about = "Let a model go on from a text: the text as it comes, then how fast it came and what memory it took",
    after_help = "Examples:\n  \
        hotloop generate                                                      the bundled model tells a story\n  \
        hotloop generate --seed 7 --prompt \"One windy day Mia\"                and another one\n  \
        hotloop generate --model stories15M-q8_0.gguf --prompt \"Once upon a time\" --tokens 100\n  \
        hotloop generate --model SmolLM2-135M-Instruct.gguf --chat --prompt \"What is the capital of France?\"\n  \
        hotloop generate --synthetic d=768,layers=12,type=q4_0 --prompt x --tokens 64 --json\n\n\
        The text goes to standard output, the figures to standard error. Without --model and --synthetic it is the bundled\n\
        model, which tells little stories and knows nothing else. Random weights write what means nothing.\n\n\
        Sizes of --synthetic: small and medium (the models of SmallMind's profiler), or d=WIDTH,layers=N and of arch=llama|gpt2|qwen2,\n\
        heads=N, kv_heads=N, ffn=N, vocab=N, ctx=N, tied=true, type=q4_0 (any type of `quantize`), seed=N.\n\n\
        Environment:\n  HOTLOOP_ISA=NAME   compute with these instructions: scalar, avx2, avx512, neon"
)]
pub struct Generate {
    #[command(flatten)]
    pub named: Named,
    /// The text to go on from.
    #[arg(
        long,
        value_name = "TEXT",
        conflicts_with = "prompt_file",
        allow_hyphen_values = true,
        help = "the text to go on from"
    )]
    pub prompt: Option<String>,
    /// Where it is.
    #[arg(long, value_name = "FILE", help = "a file with that text")]
    pub prompt_file: Option<PathBuf>,
    /// Whether it is a question.
    #[arg(
        long,
        help = "the text is what a user says in a chat: put it into the model's chat template; special tokens in it count"
    )]
    pub chat: bool,
    /// What the chat begins with.
    #[arg(
        long,
        value_name = "TEXT",
        requires = "chat",
        allow_hyphen_values = true,
        help = "what the system says before the user, in a chat"
    )]
    pub system: Option<String>,
    /// How many tokens.
    #[arg(long, short = 'n', value_name = "N", default_value_t = 128, hide_default_value = true, allow_hyphen_values = true,
        value_parser = whole_number("--tokens", 1, 1 << 24), help = "tokens to generate at most (default 128)")]
    pub tokens: usize,
    #[command(flatten)]
    pub choice: Choice,
    /// Texts to end at.
    #[arg(
        long,
        value_name = "TEXT",
        allow_hyphen_values = true,
        help = "end where this text comes; may be given several times"
    )]
    pub stop: Vec<String>,
    #[command(flatten)]
    pub machine: Machine,
    /// Whether to print for programs.
    #[arg(long, help = "print JSON: the text, its tokens, the settings and the figures")]
    pub json: bool,
}

/// How tokens are chosen.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(next_help_heading = "Choosing tokens")]
pub struct Choice {
    /// How bold.
    #[arg(long, value_name = "T", default_value_t = 0.8, hide_default_value = true, allow_hyphen_values = true,
        value_parser = number("--temperature", 0.0, 100.0),
        help = "how bold; 0 always takes the likeliest token (default 0.8)")]
    pub temperature: f32,
    /// Of how many.
    #[arg(long, value_name = "N", default_value_t = 40, hide_default_value = true, allow_hyphen_values = true,
        value_parser = whole_number("--top-k", 0, 1 << 24), help = "only of the N likeliest; 0 of all (default 40)")]
    pub top_k: usize,
    /// Of which share.
    #[arg(long, value_name = "P", default_value_t = 0.95, hide_default_value = true, allow_hyphen_values = true,
        value_parser = number("--top-p", 0.001, 1.0),
        help = "only of the likeliest that have the share P together; 1 of all (default 0.95)")]
    pub top_p: f32,
    /// How likely at least.
    #[arg(long, value_name = "P", default_value_t = 0.05, hide_default_value = true, allow_hyphen_values = true,
        value_parser = number("--min-p", 0.0, 1.0),
        help = "only those at least P times as likely as the likeliest (default 0.05)")]
    pub min_p: f32,
    /// Against repetition.
    #[arg(long, value_name = "F", default_value_t = 1.0, hide_default_value = true, allow_hyphen_values = true,
        value_parser = number("--repetition-penalty", 0.01, 100.0),
        help = "above 1: makes the last 64 tokens less likely (default 1)")]
    pub repetition_penalty: f32,
    /// What chance follows from.
    #[arg(
        long,
        value_name = "N",
        default_value_t = 0,
        hide_default_value = true,
        help = "the same seed gives the same text (default 0)"
    )]
    pub seed: u64,
    /// Whether to go on.
    #[arg(long, help = "go on where the model would end")]
    pub ignore_end: bool,
}

/// What computes, and with what memory.
#[derive(Debug, Clone, PartialEq, Args)]
#[command(next_help_heading = "Machine and memory")]
pub struct Machine {
    /// Threads.
    #[arg(long, value_name = "N", allow_hyphen_values = true, value_parser = whole_number("--threads", 1, MAX_THREADS),
        help = "threads (default: one for each CPU that this process may use)")]
    pub threads: Option<usize>,
    /// Sequences.
    #[arg(long, value_name = "N", default_value_t = 1, hide_default_value = true, allow_hyphen_values = true,
        value_parser = whole_number("--batch", 1, engine::MOST_SEQUENCES),
        help = "so many texts at the same time, each with a seed of its own (default 1)")]
    pub batch: usize,
    /// Positions.
    #[arg(long, value_name = "N", allow_hyphen_values = true, value_parser = whole_number("--context", 1, 1 << 24),
        help = "tokens that a text may have, the prompt's among them (default: as many as are needed, up to the model's)")]
    pub context: Option<usize>,
    /// Whether to go on at the end of the context.
    #[arg(long, help = "where the context is full, go on with its later half instead of ending")]
    pub context_shift: bool,
    /// Cells.
    #[arg(long, value_name = "TYPE", default_value = "f16", hide_default_value = true, value_parser = cache_type,
        help = "how keys and values are kept: f32, f16 or q8_0 (default f16)")]
    pub cache: engine::CacheType,
    /// Bytes.
    #[arg(long, value_name = "MIB", allow_hyphen_values = true, value_parser = whole_number("--cache-budget", 1, 1 << 24),
        help = "refuse a cache of keys and values that would take more than so many MiB")]
    pub cache_budget: Option<usize>,
    /// Whether to leave weights where they are.
    #[arg(long, help = "use the weights as they lie in the file: starts at once, computes more slowly")]
    pub in_place: bool,
    /// What bytes are worth.
    #[arg(
        long,
        conflicts_with = "in_place",
        help = "make f32 of quantised weights: exact, larger and slower, to see what bytes are worth"
    )]
    pub exact: bool,
    /// What keeping keys and values is worth.
    #[arg(
        long,
        help = "keep no keys and values: every token computes all before it again, to see what keeping is worth"
    )]
    pub no_kv_cache: bool,
    /// What keeping memory is worth.
    #[arg(long, help = "keep no scratch memory between tokens, to see what keeping is worth")]
    pub no_pooling: bool,
    /// What vectors are worth.
    #[arg(long, help = "plain loops instead of vector instructions, to see what those are worth")]
    pub naive: bool,
}

fn number(option: &'static str, least: f32, most: f32) -> impl Fn(&str) -> Result<f32, String> + Clone {
    move |value| {
        let wrong = || format!("{option} takes a number from {least} to {most}, not `{value}`");
        value.parse().ok().filter(|number| (least..=most).contains(number)).ok_or_else(wrong)
    }
}

pub(super) fn cache_type(value: &str) -> Result<engine::CacheType, String> {
    let names = || engine::CacheType::ALL.map(engine::CacheType::name).join(", ");
    engine::CacheType::from_name(value).ok_or_else(|| format!("--cache takes one of {}, not `{value}`", names()))
}
