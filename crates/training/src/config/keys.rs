//! Every key of a config with its type and description; aliases; and LoopOS keys without effect.

/// A key of a config.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Key {
    /// Such as `training.batch_size`.
    pub path: &'static str,
    /// The valid values.
    pub expects: Expects,
    /// A short description.
    pub meaning: &'static str,
}

/// The valid values of a key.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Expects {
    /// A whole number, at least this.
    Whole(u64),
    /// A number in this range.
    Number(Bounds),
    /// `true` or `false`.
    Flag,
    /// Any text.
    Text,
    /// One of these texts.
    Choice(&'static [&'static str]),
    /// The path of a file that is read.
    Source,
    /// One or several paths of texts.
    Sources,
    /// The path of a folder that is written.
    Target,
}

/// The range of a number.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Bounds {
    /// More than zero.
    Positive,
    /// Zero or more.
    NotNegative,
    /// From zero to, but not, one.
    Share,
    /// More than zero, at most one.
    Fraction,
    /// One or more.
    AtLeastOne,
}

impl Expects {
    /// In words.
    #[must_use]
    pub fn words(self) -> String {
        match self {
            Self::Whole(0) => "a whole number".to_owned(),
            Self::Whole(least) => format!("a whole number of at least {least}"),
            Self::Number(bounds) => format!("a number {}", bounds.words()),
            Self::Flag => "true or false".to_owned(),
            Self::Text => "text".to_owned(),
            Self::Choice(choices) => choices.join(" or "),
            Self::Source => "the path of a file".to_owned(),
            Self::Sources => "a path, a pattern such as texts/*.txt, or a list of them".to_owned(),
            Self::Target => "the path of a folder".to_owned(),
        }
    }
}

impl Bounds {
    /// In words.
    fn words(self) -> &'static str {
        match self {
            Self::Positive => "above 0",
            Self::NotNegative => "of at least 0",
            Self::Share => "from 0 up to, but not including, 1",
            Self::Fraction => "above 0 and at most 1",
            Self::AtLeastOne => "of at least 1",
        }
    }

    /// Whether a number is in the range.
    pub(super) fn has(self, number: f64) -> bool {
        number.is_finite()
            && match self {
                Self::Positive => number > 0.0,
                Self::NotNegative => number >= 0.0,
                Self::Share => (0.0..1.0).contains(&number),
                Self::Fraction => number > 0.0 && number <= 1.0,
                Self::AtLeastOne => number >= 1.0,
            }
    }
}

const fn key(path: &'static str, expects: Expects, meaning: &'static str) -> Key {
    Key { path, expects, meaning }
}

const WHOLE: Expects = Expects::Whole(0);
const COUNT: Expects = Expects::Whole(1);
const POSITIVE: Expects = Expects::Number(Bounds::Positive);
const NOT_NEGATIVE: Expects = Expects::Number(Bounds::NotNegative);
const SHARE: Expects = Expects::Number(Bounds::Share);
const FRACTION: Expects = Expects::Number(Bounds::Fraction);
const SCHEDULES: &[&str] = &["constant", "linear", "cosine", "cosine_warm_restarts", "step", "plateau"];

/// Every key, in the order of the sections.
#[rustfmt::skip]
pub const KEYS: &[Key] = &[
    key("model.type", Expects::Choice(&["transformer"]), "the word LoopOS uses for all its models"),
    key("model.architecture", Expects::Choice(&["gpt2", "llama"]), "gpt2: learned positions, layer norm, GELU; llama: rotary positions, RMS norm, SwiGLU"),
    key("model.d_model", COUNT, "width of the residual stream"),
    key("model.num_heads", COUNT, "query heads"),
    key("model.kv_heads", COUNT, "key/value heads; default: num_heads"),
    key("model.num_layers", COUNT, "layers"),
    key("model.d_ff", COUNT, "width of the feed-forward network; default: 4 × d_model, for llama 8/3 × d_model rounded up to a multiple of 32"),
    key("model.context", COUNT, "context length; default: training.max_length (LoopOS: 512)"),
    key("model.tied", Expects::Flag, "use the embedding as the output head"),
    key("model.norm_epsilon", POSITIVE, "epsilon of the norms"),
    key("model.rope_base", POSITIVE, "base frequency of RoPE, for llama"),
    key("computation.mode", Expects::Text, "only pretraining is supported"),
    key("computation.method", Expects::Text, "only autoregressive is supported"),
    key("computation.description", Expects::Text, "free text"),
    key("training.learning_rate", POSITIVE, "learning rate at the start of the schedule, after the warm-up"),
    key("training.batch_size", COUNT, "sequences per batch"),
    key("training.gradient_accumulation", COUNT, "batches per optimizer step: equals one larger batch, in the memory of one"),
    key("training.max_length", Expects::Whole(2), "tokens per sequence"),
    key("training.num_epochs", COUNT, "passes over the corpus"),
    key("training.max_steps", WHOLE, "stop after this many optimizer steps; 0: after the last epoch"),
    key("training.max_batches_per_epoch", WHOLE, "end an epoch after this many batches; 0: at the end of the corpus"),
    key("training.prefetch_batches", COUNT, "batches prepared in advance"),
    key("training.num_workers", COUNT, "threads that prepare batches"),
    key("training.shuffle", Expects::Flag, "shuffle the sequences in every epoch"),
    key("training.random_seed", WHOLE, "RNG seed for weights, order and dropout"),
    key("training.optimizer", Expects::Choice(&["adamw", "sgd"]), "optimizer (LoopOS: sgd)"),
    key("training.beta1", SHARE, "AdamW: decay rate of the mean of the gradients"),
    key("training.beta2", SHARE, "AdamW: decay rate of the mean of their squares"),
    key("training.eps", POSITIVE, "AdamW: epsilon"),
    key("training.momentum", SHARE, "SGD: momentum"),
    key("training.weight_decay", NOT_NEGATIVE, "weight decay of matrices; multiplied by the learning rate"),
    key("training.gradient_clip", NOT_NEGATIVE, "largest norm of the gradient; 0: no clipping"),
    key("training.clip_value", NOT_NEGATIVE, "largest magnitude of each gradient value; 0: no clipping (LoopOS: 5)"),
    key("training.dropout", SHARE, "dropout rate"),
    key("training.recompute", Expects::Flag, "recompute activations in the backward pass instead of storing them"),
    key("training.schedule.kind", Expects::Choice(SCHEDULES), "learning rate schedule"),
    key("training.schedule.warmup_steps", WHOLE, "steps of linear warm-up from zero"),
    key("training.schedule.min_learning_rate", NOT_NEGATIVE, "lowest learning rate"),
    key("training.schedule.period", COUNT, "epochs: first period of cosine_warm_restarts, interval of step"),
    key("training.schedule.period_factor", Expects::Number(Bounds::AtLeastOne), "cosine_warm_restarts: each period is this much longer than the previous one"),
    key("training.schedule.factor", FRACTION, "step and plateau: factor applied to the learning rate"),
    key("training.schedule.patience", COUNT, "plateau: validations without improvement before the rate drops"),
    key("training.schedule.threshold", NOT_NEGATIVE, "plateau: smallest decrease of the loss that counts as an improvement"),
    key("training.early_stopping.patience", WHOLE, "stop after this many validations without improvement; 0: never"),
    key("training.early_stopping.min_delta", NOT_NEGATIVE, "smallest decrease of the loss that counts as an improvement"),
    key("training.validate_every", WHOLE, "validate every this many steps; 0: after each epoch"),
    key("training.validation_batches", WHOLE, "largest number of validation batches; 0: all"),
    key("training.threads", WHOLE, "compute threads; 0: one per CPU"),
    key("data.input_file", Expects::Sources, "training texts: files, patterns, folders, or - for standard input"),
    key("data.validation_file", Expects::Sources, "validation texts"),
    key("data.output_dir", Expects::Target, "output folder"),
    key("data.file_pattern", Expects::Text, "pattern of the files read from a folder"),
    key("data.max_files", WHOLE, "largest number of files read; 0: all"),
    key("data.shuffle", Expects::Flag, "same as training.shuffle, which wins if both are given"),
    key("data.validation_split", SHARE, "share of the corpus held out for validation"),
    key("data.sequences", Expects::Choice(&["lines", "chunks", "windows"]), "how sequences are cut: one per line (LoopOS), one after another, or at random positions (nanoGPT)"),
    key("data.end_lines", Expects::Flag, "append the end token to each line, with sequences = lines"),
    key("data.separator", Expects::Text, "a line with exactly this text separates documents"),
    key("data.tokenizer_vocab", Expects::Source, "a LoopOS vocabulary; if the file does not exist, a vocabulary is learned"),
    key("tokenizer.kind", Expects::Choice(&["words", "characters", "bpe"]), "kind of tokens"),
    key("tokenizer.vocab_size", COUNT, "largest vocabulary size"),
    key("tokenizer.min_frequency", COUNT, "minimum frequency of a token"),
    key("tokenizer.sample_bytes", COUNT, "bytes of a larger corpus used to learn the vocabulary"),
    key("tokenizer.file", Expects::Source, "an existing vocabulary: GGUF, tokenizer.json, or LoopOS"),
    key("sample.every", WHOLE, "generate a sample every this many steps; 0: only at the end"),
    key("sample.prompt", Expects::Text, "prompt of the sample"),
    key("sample.length", WHOLE, "tokens per sample; 0: no samples"),
    key("sample.temperature", NOT_NEGATIVE, "sampling temperature"),
    key("sample.top_k", WHOLE, "sample from this many most likely tokens; 0: all"),
    key("sample.top_p", FRACTION, "sample from the most likely tokens with this share of the probability"),
    key("sample.seed", WHOLE, "RNG seed of the samples"),
    key("checkpointing.save_every_n_batches", WHOLE, "save a checkpoint every this many batches; 0: only at the end"),
    key("checkpointing.keep_last_n", WHOLE, "number of checkpoints kept; 0: all"),
    key("checkpointing.keep_best", Expects::Flag, "also keep the checkpoint with the best validation loss"),
    key("checkpointing.save_path", Expects::Target, "checkpoint folder; default: `checkpoints` in data.output_dir"),
    key("profiling.enabled", Expects::Flag, "profile the training"),
    key("profiling.report_top_n", COUNT, "rows per ranking in the report, unless --top is given; default: 12, or 15 in LoopOS's layout"),
];

/// Aliases of keys: names from LoopOS and from other common programs.
pub const ALIASES: &[(&str, &str)] = &[
    ("model.vocab_size", "tokenizer.vocab_size"),
    ("model.max_length", "model.context"),
    ("model.max_seq_length", "model.context"),
    ("training.adaptive_lr.strategy", "training.schedule.kind"),
    ("training.adaptive_lr.initial_lr", "training.learning_rate"),
    ("training.adaptive_lr.min_lr", "training.schedule.min_learning_rate"),
    ("training.adaptive_lr.eta_min", "training.schedule.min_learning_rate"),
    ("training.adaptive_lr.T_0", "training.schedule.period"),
    ("training.adaptive_lr.T_mult", "training.schedule.period_factor"),
    ("training.adaptive_lr.patience", "training.schedule.patience"),
    ("training.adaptive_lr.reduction_factor", "training.schedule.factor"),
    ("training.adaptive_lr.factor", "training.schedule.factor"),
    ("training.adaptive_lr.gamma", "training.schedule.factor"),
    ("training.adaptive_lr.threshold", "training.schedule.threshold"),
    ("training.regularization.dropout", "training.dropout"),
    ("training.regularization.weight_decay", "training.weight_decay"),
    ("training.early_stopping_patience", "training.early_stopping.patience"),
    ("training.checkpoint_interval", "checkpointing.save_every_n_batches"),
    ("training.max_epochs", "training.num_epochs"),
    ("training.seed", "training.random_seed"),
    ("training.validation_split", "data.validation_split"),
    ("generation.max_length", "sample.length"),
    ("generation.temperature", "sample.temperature"),
    ("generation.top_k", "sample.top_k"),
    ("generation.top_p", "sample.top_p"),
    ("generation.seed", "sample.seed"),
    ("generation.prompt", "sample.prompt"),
];

const OTHER_METHOD: &str = "it belongs to an unsupported method; only autoregressive pretraining is supported";
const NOT_READ: &str = "LoopOS ignores it too";

/// LoopOS keys without effect, and why.
pub(super) const MEANINGLESS: &[(&str, &str)] = &[
    ("model.num_classes", OTHER_METHOD),
    ("training.random_offset", "a corpus of any size is shuffled as a whole: use training.shuffle"),
    ("training.max_tokens", "LoopOS ignores it too; use training.max_steps"),
    ("training.mask_probability", OTHER_METHOD),
    ("training.temperature", OTHER_METHOD),
    ("training.clip_epsilon", OTHER_METHOD),
    ("training.kl_coefficient", OTHER_METHOD),
    ("training.target_char_accuracy", OTHER_METHOD),
    ("data.pretrained_weights", OTHER_METHOD),
    ("data.training_data", OTHER_METHOD),
    ("data.reasoning_examples", OTHER_METHOD),
    ("data.preference_data", OTHER_METHOD),
    ("data.random_offset", "a corpus of any size is shuffled as a whole: use training.shuffle"),
    ("data.comment", "it is a comment"),
    ("data.max_training_time_minutes", NOT_READ),
    ("data.sample_size_mb", NOT_READ),
    ("data.sample_strategy", NOT_READ),
    ("data.source_directory", "data.input_file may name a folder"),
    ("generation.batch_size", "samples are generated one at a time"),
    ("generation.num_beams", "beam search is not supported"),
    ("generation.use_kv_cache", "the KV cache is always used"),
];

/// The key of that name or alias.
pub(super) fn find(path: &str) -> Option<&'static Key> {
    let path = ALIASES.iter().find(|(from, _)| *from == path).map_or(path, |(_, to)| to);
    KEYS.iter().find(|key| key.path == path)
}

/// Why a LoopOS key has no effect.
pub(super) fn meaningless(path: &str) -> Option<&'static str> {
    MEANINGLESS.iter().find(|(known, _)| *known == path).map(|(_, why)| *why)
}

/// Whether it is a section with keys.
pub(super) fn is_section(path: &str) -> bool {
    let below = |known: &str| known.strip_prefix(path).is_some_and(|rest| rest.starts_with('.'));
    let others = ALIASES.iter().map(|(from, _)| *from).chain(MEANINGLESS.iter().map(|(known, _)| *known));
    KEYS.iter().map(|key| key.path).chain(others).any(below)
}

/// The key that was probably meant.
pub(super) fn nearest(path: &str) -> Option<&'static str> {
    let names = KEYS.iter().map(|key| key.path).chain(ALIASES.iter().map(|(from, _)| *from));
    let last = |path: &str| path.rsplit('.').next().unwrap_or_default().to_owned();
    let by_distance = names.clone().map(|name| (distance(path, name), name)).min();
    match by_distance {
        // Up to a third of the letters may be wrong.
        Some((wrong, name)) if wrong * 3 <= last(path).len().max(3) => Some(name),
        // The same name in another section.
        _ => names.clone().find(|name| last(name) == last(path)),
    }
}

/// The edit distance.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (number, letter) in a.chars().enumerate() {
        let mut diagonal = number;
        row[0] = number + 1;
        for (at, other) in b.iter().enumerate() {
            let changed = diagonal + usize::from(letter != *other);
            diagonal = row[at + 1];
            row[at + 1] = changed.min(row[at] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}
