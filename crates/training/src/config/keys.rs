//! Every key there is: what it expects and what it means; the other names of keys; and keys of LoopOS that mean nothing here.

/// A key that means something.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Key {
    /// Its place: `training.batch_size`.
    pub path: &'static str,
    /// What its value can be.
    pub expects: Expects,
    /// What it is for.
    pub meaning: &'static str,
}

/// What a value can be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Expects {
    /// A whole number, this or more.
    Whole(u64),
    /// A number of this kind.
    Number(Bounds),
    /// `true` or `false`.
    Flag,
    /// A text.
    Text,
    /// One of these texts.
    Choice(&'static [&'static str]),
    /// The place of something that is read.
    Source,
    /// The places of texts, one or several.
    Sources,
    /// The place of something that is written.
    Target,
}

/// What a number can be.
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
            Self::Whole(least) => format!("a whole number, {least} or more"),
            Self::Number(bounds) => format!("a number {}", bounds.words()),
            Self::Flag => "true or false".to_owned(),
            Self::Text => "a text".to_owned(),
            Self::Choice(choices) => choices.join(" or "),
            Self::Source => "the path of a file".to_owned(),
            Self::Sources => "a path, a pattern such as texts/*.txt, or a list of these".to_owned(),
            Self::Target => "the path of a folder".to_owned(),
        }
    }
}

impl Bounds {
    /// In words.
    fn words(self) -> &'static str {
        match self {
            Self::Positive => "above 0",
            Self::NotNegative => "that is not negative",
            Self::Share => "from 0 to less than 1",
            Self::Fraction => "above 0, at most 1",
            Self::AtLeastOne => "of 1 or more",
        }
    }

    /// Whether it is one of them.
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
    key("model.type", Expects::Choice(&["transformer"]), "LoopOS's word for all its models"),
    key("model.architecture", Expects::Choice(&["gpt2", "llama"]), "learned positions, layer norm and GELU; or rotary positions, RMS norm and SwiGLU"),
    key("model.d_model", COUNT, "the width of the residual stream"),
    key("model.num_heads", COUNT, "heads of queries"),
    key("model.kv_heads", COUNT, "heads of keys and values; as many as of queries without it"),
    key("model.num_layers", COUNT, "layers"),
    key("model.d_ff", COUNT, "the width inside the feed-forward network; without it 4 d_model, for llama 8/3 d_model up to a multiple of 32"),
    key("model.context", COUNT, "positions that the model knows; training.max_length without it (LoopOS has 512)"),
    key("model.tied", Expects::Flag, "whether the head is the embedding"),
    key("model.norm_epsilon", POSITIVE, "what keeps the norms' roots from zero"),
    key("model.rope_base", POSITIVE, "the base of the rotary frequencies, for llama"),
    key("computation.mode", Expects::Text, "pretraining; nothing else is there"),
    key("computation.method", Expects::Text, "autoregressive; nothing else is there"),
    key("computation.description", Expects::Text, "for people"),
    key("training.learning_rate", POSITIVE, "the learning rate, where the schedule begins after its warm-up"),
    key("training.batch_size", COUNT, "sequences of a batch"),
    key("training.gradient_accumulation", COUNT, "batches of a step of the optimiser: the same as one larger batch, in the memory of one"),
    key("training.max_length", Expects::Whole(2), "tokens of a sequence"),
    key("training.num_epochs", COUNT, "how often the corpus is read"),
    key("training.max_steps", WHOLE, "it ends after so many steps of the optimiser; 0: with the last epoch"),
    key("training.max_batches_per_epoch", WHOLE, "an epoch ends after so many batches; 0: with the corpus"),
    key("training.prefetch_batches", COUNT, "batches that are made ready beforehand"),
    key("training.num_workers", COUNT, "threads that make batches ready"),
    key("training.shuffle", Expects::Flag, "whether the order of sequences differs in every epoch"),
    key("training.random_seed", WHOLE, "what weights, order and dropout follow from"),
    key("training.optimizer", Expects::Choice(&["adamw", "sgd"]), "what takes the steps (LoopOS: sgd)"),
    key("training.beta1", SHARE, "AdamW: how slowly the mean of gradients changes"),
    key("training.beta2", SHARE, "AdamW: how slowly the mean of their squares changes"),
    key("training.eps", POSITIVE, "AdamW: what keeps its root from zero"),
    key("training.momentum", SHARE, "SGD: how much of the last step is taken again"),
    key("training.weight_decay", NOT_NEGATIVE, "how much matrices shrink in each step, times the learning rate"),
    key("training.gradient_clip", NOT_NEGATIVE, "a longer gradient is shortened to this; 0: never"),
    key("training.clip_value", NOT_NEGATIVE, "each number of the gradient is kept within plus and minus this; 0: it is not (LoopOS: 5)"),
    key("training.dropout", SHARE, "the share of values that is set to zero while learning"),
    key("training.recompute", Expects::Flag, "computes activations again on the way back instead of keeping them"),
    key("training.schedule.kind", Expects::Choice(SCHEDULES), "how the learning rate changes"),
    key("training.schedule.warmup_steps", WHOLE, "steps over which the rate rises from zero before that"),
    key("training.schedule.min_learning_rate", NOT_NEGATIVE, "the rate never falls below this"),
    key("training.schedule.period", COUNT, "epochs: of the first period with warm restarts, between two steps of `step`"),
    key("training.schedule.period_factor", Expects::Number(Bounds::AtLeastOne), "warm restarts: each period is so much longer than the one before"),
    key("training.schedule.factor", FRACTION, "step and plateau: what the rate is multiplied with"),
    key("training.schedule.patience", COUNT, "plateau: validations without improvement before the rate falls"),
    key("training.schedule.threshold", NOT_NEGATIVE, "plateau: what counts as an improvement"),
    key("training.early_stopping.patience", WHOLE, "it ends after so many validations that were no better; 0: it does not"),
    key("training.early_stopping.min_delta", NOT_NEGATIVE, "how much better a loss has to be to count"),
    key("training.validate_every", WHOLE, "validation after so many steps; 0: after each epoch"),
    key("training.validation_batches", WHOLE, "so many batches of validation at most; 0: all"),
    key("training.threads", WHOLE, "threads that compute; 0: one for each CPU"),
    key("data.input_file", Expects::Sources, "the texts: files, patterns, folders, or - for the standard input"),
    key("data.validation_file", Expects::Sources, "texts to validate on"),
    key("data.output_dir", Expects::Target, "where everything goes that training writes"),
    key("data.file_pattern", Expects::Text, "which files of a folder are read"),
    key("data.max_files", WHOLE, "so many files are read at most; 0: all"),
    key("data.shuffle", Expects::Flag, "as training.shuffle, which decides where both are given"),
    key("data.validation_split", SHARE, "the share of the corpus that is kept back to validate"),
    key("data.sequences", Expects::Choice(&["lines", "chunks", "windows"]), "how sequences are cut: each line is one (LoopOS), one after another, or anywhere (nanoGPT)"),
    key("data.end_lines", Expects::Flag, "whether each line ends with the end token, where sequences are lines"),
    key("data.separator", Expects::Text, "a line with just this text parts documents"),
    key("data.tokenizer_vocab", Expects::Source, "a vocabulary of LoopOS; where there is no such file, one is learned"),
    key("tokenizer.kind", Expects::Choice(&["words", "characters", "bpe"]), "what tokens are"),
    key("tokenizer.vocab_size", COUNT, "tokens at most"),
    key("tokenizer.min_frequency", COUNT, "what comes less often is no token"),
    key("tokenizer.sample_bytes", COUNT, "so many bytes of a larger corpus are looked at to learn the vocabulary"),
    key("tokenizer.file", Expects::Source, "a vocabulary that is there: GGUF, tokenizer.json, or LoopOS's"),
    key("sample.every", WHOLE, "a text of the model after so many steps; 0: only at the end"),
    key("sample.prompt", Expects::Text, "what it begins with"),
    key("sample.length", WHOLE, "its tokens; 0: none is written"),
    key("sample.temperature", NOT_NEGATIVE, "how much chance there is"),
    key("sample.top_k", WHOLE, "so many of the likeliest tokens may be chosen; 0: all"),
    key("sample.top_p", FRACTION, "the likeliest tokens with this share of the probability may be chosen"),
    key("sample.seed", WHOLE, "where chance begins"),
    key("checkpointing.save_every_n_batches", WHOLE, "a checkpoint after so many batches; 0: at the end alone"),
    key("checkpointing.keep_last_n", WHOLE, "so many are kept; 0: all"),
    key("checkpointing.keep_best", Expects::Flag, "whether the one with the best validation is kept as well"),
    key("checkpointing.save_path", Expects::Target, "their folder; `checkpoints` in data.output_dir without it"),
    key("profiling.enabled", Expects::Flag, "whether the training is profiled"),
    key("profiling.report_top_n", COUNT, "rows of each ranking of the report, unless --top says otherwise; 12 without either, 15 in LoopOS's layout"),
];

/// Other names of keys: LoopOS's, and those that other programs taught people.
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

const OTHER_METHOD: &str = "it belongs to a method that is not here; pretraining is autoregressive";
const NOT_READ: &str = "LoopOS does not read it either";

/// Keys of LoopOS that mean nothing here, and why.
pub(super) const MEANINGLESS: &[(&str, &str)] = &[
    ("model.num_classes", OTHER_METHOD),
    ("training.random_offset", "sequences are shuffled wherever they lie, however large the corpus: training.shuffle"),
    ("training.max_tokens", "LoopOS does not read it either; training.max_steps ends a training"),
    ("training.mask_probability", OTHER_METHOD),
    ("training.temperature", OTHER_METHOD),
    ("training.clip_epsilon", OTHER_METHOD),
    ("training.kl_coefficient", OTHER_METHOD),
    ("training.target_char_accuracy", OTHER_METHOD),
    ("data.pretrained_weights", OTHER_METHOD),
    ("data.training_data", OTHER_METHOD),
    ("data.reasoning_examples", OTHER_METHOD),
    ("data.preference_data", OTHER_METHOD),
    ("data.random_offset", "sequences are shuffled wherever they lie, however large the corpus: training.shuffle"),
    ("data.comment", "it is for people"),
    ("data.max_training_time_minutes", NOT_READ),
    ("data.sample_size_mb", NOT_READ),
    ("data.sample_strategy", NOT_READ),
    ("data.source_directory", "data.input_file may name a folder"),
    ("generation.batch_size", "one text is written at a time"),
    ("generation.num_beams", "tokens are chosen one by one"),
    ("generation.use_kv_cache", "the cache is always used"),
];

/// The key of that name, or of that other name.
pub(super) fn find(path: &str) -> Option<&'static Key> {
    let path = ALIASES.iter().find(|(from, _)| *from == path).map_or(path, |(_, to)| to);
    KEYS.iter().find(|key| key.path == path)
}

/// Why a key of LoopOS means nothing here.
pub(super) fn meaningless(path: &str) -> Option<&'static str> {
    MEANINGLESS.iter().find(|(known, _)| *known == path).map(|(_, why)| *why)
}

/// Whether keys lie below it.
pub(super) fn is_section(path: &str) -> bool {
    let below = |known: &str| known.strip_prefix(path).is_some_and(|rest| rest.starts_with('.'));
    let others = ALIASES.iter().map(|(from, _)| *from).chain(MEANINGLESS.iter().map(|(known, _)| *known));
    KEYS.iter().map(|key| key.path).chain(others).any(below)
}

/// The key that was perhaps meant.
pub(super) fn nearest(path: &str) -> Option<&'static str> {
    let names = KEYS.iter().map(|key| key.path).chain(ALIASES.iter().map(|(from, _)| *from));
    let last = |path: &str| path.rsplit('.').next().unwrap_or_default().to_owned();
    let by_distance = names.clone().map(|name| (distance(path, name), name)).min();
    match by_distance {
        // A third of it may be wrong.
        Some((wrong, name)) if wrong * 3 <= last(path).len().max(3) => Some(name),
        // The right name in another section.
        _ => names.clone().find(|name| last(name) == last(path)),
    }
}

/// How many letters have to be changed, added or taken away.
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
