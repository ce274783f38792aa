//! Settings of the engine, as words: `kv=off`, `threads=2`.

use std::collections::BTreeMap;
use std::path::PathBuf;

use engine::{CacheType, Compute, LoadOptions};
use kernels::quant::Format;
use kernels::{Isa, Kernels, Pool};
use lab::sequences::Sizes;

use super::ModelKind;
use crate::args::{MAX_THREADS, ModelOptions};
use crate::suggest::did_you_mean;

/// Settings and their values, for errors.
const KEYS: &[(&str, &str)] = &[
    ("kv", "on or off: KV cache"),
    ("pool", "on or off: keep scratch memory between passes"),
    ("threads", "a number"),
    ("isa", "scalar, avx2, avx512 or neon"),
    ("cache", "f32, f16 or q8_0: format of the KV cache"),
    ("in_place", "on or off: use the weights as they are in the file"),
    ("exact", "on or off: convert quantised weights to f32"),
    ("type", "f32, f16, q8_0, q4_0 and so on: weight format"),
    ("batch", "a number of sequences that are computed together"),
    ("sequences", "a number of sequences in each call"),
    ("tokens", "a number of tokens of each sequence"),
    ("prompt", "a number of prompt tokens: of a story, or random with random weights"),
    ("seed", "a number: RNG seed of the prompts"),
    ("model", "a file"),
    ("synthetic", "small, medium or sizes: random weights"),
];

/// SmallMind's: 50 tokens behind 10 at random.
const TOKENS: usize = 50;
const PROMPT: usize = 10;
/// As `hotloop profile` has it.
const SEED: u64 = 42;

/// How the engine generates, and what.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    pub model: ModelOptions,
    /// How the weights are to be written; `None`: as they are.
    pub format: Option<Format>,
    pub keeps: bool,
    pub pooled: bool,
    pub threads: Option<usize>,
    pub isa: Option<Isa>,
    pub cache: CacheType,
    pub in_place: bool,
    pub exact: bool,
    /// Sequences that are computed together.
    pub batch: usize,
    /// Sequences of a call; `None`: as many as are computed together.
    pub sequences: Option<usize>,
    pub tokens: usize,
    pub prompt: usize,
    pub seed: u64,
}

impl Settings {
    /// The defaults.
    pub fn of(model: ModelOptions) -> Self {
        Self {
            model,
            format: None,
            keeps: true,
            pooled: true,
            threads: None,
            isa: None,
            cache: CacheType::default(),
            in_place: false,
            exact: false,
            batch: 1,
            sequences: None,
            tokens: TOKENS,
            prompt: PROMPT,
            seed: SEED,
        }
    }

    /// Sets all of a text: words apart by blanks or commas. A model takes all up to the next blank, as sizes have commas.
    pub fn read(&mut self, text: &str) -> Result<(), String> {
        for word in text.split_whitespace() {
            let whole = ["model=", "synthetic="].iter().any(|key| word.starts_with(key));
            let words: Vec<&str> = if whole { vec![word] } else { word.split(',').collect() };
            words.into_iter().filter(|word| !word.is_empty()).try_for_each(|word| self.set(word))?;
        }
        Ok(())
    }

    /// Sets one.
    pub fn set(&mut self, word: &str) -> Result<(), String> {
        let Some((key, value)) = word.split_once('=') else {
            return Err(format!("`{word}` is not a setting KEY=VALUE; {}", known()));
        };
        let Some((key, takes)) = KEYS.iter().find(|(known, _)| *known == key) else {
            let meant = did_you_mean(key, KEYS.iter().map(|(known, _)| *known));
            return Err(format!("there is no setting `{key}` (in `{word}`){meant}; {}", known()));
        };
        self.assign(key, value).ok_or_else(|| format!("{key}={value}: {key} takes {takes}"))
    }

    fn assign(&mut self, key: &str, value: &str) -> Option<()> {
        let switch = || ["off", "on"].iter().position(|word| *word == value).map(|place| place == 1);
        let number = |most: usize| value.parse().ok().filter(|number| (1..=most).contains(number));
        match key {
            "kv" => self.keeps = switch()?,
            "pool" => self.pooled = switch()?,
            "threads" => self.threads = Some(number(MAX_THREADS)?),
            "isa" => self.isa = Some(value.parse().ok()?),
            "cache" => self.cache = CacheType::from_name(value)?,
            "in_place" => self.in_place = switch()?,
            "exact" => self.exact = switch()?,
            "type" => self.format = Some(Format::from_name(value)?),
            "batch" => self.batch = number(engine::MOST_SEQUENCES)?,
            "sequences" => self.sequences = Some(number(1 << 12)?),
            "tokens" => self.tokens = number(1 << 20)?,
            "prompt" => self.prompt = number(1 << 20)?,
            "seed" => self.seed = value.parse().ok()?,
            "model" => self.model = ModelOptions::file(PathBuf::from(value)),
            _ => self.model = ModelOptions::synthetic(value),
        }
        Some(())
    }

    /// Words that give the same again, one setting each.
    pub fn words(&self) -> Vec<String> {
        let on = |yes: bool| if yes { "on" } else { "off" };
        let model = match self.model.kind() {
            ModelKind::File(file) => Some(format!("model={}", file.display())),
            ModelKind::Synthetic(sizes) => Some(format!("synthetic={sizes}")),
            // That of whoever names none.
            ModelKind::Bundled => None,
        };
        let mut words = vec![
            format!("kv={}", on(self.keeps)),
            format!("pool={}", on(self.pooled)),
            format!("cache={}", self.cache.name()),
            format!("in_place={}", on(self.in_place)),
            format!("exact={}", on(self.exact)),
            format!("batch={}", self.batch),
            format!("tokens={}", self.tokens),
            format!("prompt={}", self.prompt),
            format!("seed={}", self.seed),
        ];
        words.extend(model);
        words.extend(self.threads.map(|threads| format!("threads={threads}")));
        words.extend(self.isa.map(|isa| format!("isa={isa}")));
        words.extend(self.format.map(|format| format!("type={}", format.name())));
        words.extend(self.sequences.map(|sequences| format!("sequences={sequences}")));
        words
    }

    /// How much a call generates.
    pub fn sizes(&self) -> Sizes {
        let sequences = self.sequences.unwrap_or(self.batch);
        Sizes { sequences, prompt: self.prompt, tokens: self.tokens }
    }

    pub fn load_options(&self) -> LoadOptions<'static> {
        LoadOptions { in_place: self.in_place, exact: self.exact, progress: None }
    }

    /// What computes.
    pub fn compute(&self) -> Result<Compute, String> {
        let kernels = match self.isa {
            None => Kernels::chosen()?,
            Some(isa) => Kernels::with(isa).ok_or_else(|| {
                let names: Vec<_> = Kernels::available().iter().map(|kernels| kernels.isa().name()).collect();
                format!("isa={isa}: not supported by this CPU, which has {}", names.join(", "))
            })?,
        };
        Ok(Compute { kernels, pool: self.threads.map_or_else(Pool::best, Pool::new) })
    }

    /// Refuses settings that contradict each other.
    pub fn check(&self) -> Result<(), String> {
        let (random, exact) = (matches!(self.model.kind(), ModelKind::Synthetic(_)), self.exact);
        match () {
            () if self.in_place && exact => Err("in_place=on cannot be used with exact=on".to_owned()),
            () if self.in_place && random => Err("in_place=on needs a model file; random weights have none".to_owned()),
            () if self.in_place && self.format.is_some() => {
                Err("in_place=on cannot be used with type=: converted weights are not those of the file".to_owned())
            }
            () => Ok(()),
        }
    }

    /// What decides the work and the way it is done, by the names of settings.
    pub fn parameters(&self, compute: &Compute) -> BTreeMap<String, String> {
        let mut parameters: BTreeMap<String, String> = self
            .words()
            .iter()
            .filter_map(|word| word.split_once('='))
            .filter(|(key, _)| !["model", "synthetic", "type"].contains(key))
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .collect();
        parameters.insert("threads".to_owned(), compute.pool.threads().to_string());
        parameters.insert("isa".to_owned(), compute.kernels.isa().name().to_owned());
        parameters.insert("sequences".to_owned(), self.sizes().sequences.to_string());
        parameters
    }
}

/// The names of all settings.
fn known() -> String {
    let names: Vec<_> = KEYS.iter().map(|(key, _)| *key).collect();
    format!("known settings: {}", names.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Settings, String> {
        let mut settings = Settings::of(ModelOptions::default());
        settings.read(text)?;
        settings.check()?;
        Ok(settings)
    }

    #[test]
    fn words_are_read() {
        let plain = Settings::of(ModelOptions::default());
        assert_eq!(read(""), Ok(plain.clone()));
        let settings = read("kv=off,pool=off threads=3  cache=q8_0,isa=scalar,exact=on").unwrap();
        assert!(!settings.keeps && !settings.pooled && settings.exact);
        assert_eq!((settings.threads, settings.cache.name(), settings.isa), (Some(3), "q8_0", Some(Isa::Scalar)));
        let settings = read("type=q4_0,batch=4,tokens=7,prompt=9,seed=0,sequences=8").unwrap();
        assert_eq!(settings.format, Some(Format::Q4_0));
        assert_eq!(settings.sizes(), Sizes { sequences: 8, prompt: 9, tokens: 7 });
        assert_eq!((settings.batch, settings.seed), (4, 0));
        assert_eq!(read("kv=off,kv=on"), Ok(plain), "the last one counts");
    }

    #[test]
    fn a_model_takes_all_up_to_the_next_blank() {
        let settings = read("synthetic=d=64,layers=2 threads=1").unwrap();
        assert_eq!(settings.model, ModelOptions::synthetic("d=64,layers=2"));
        assert_eq!(settings.threads, Some(1));
        assert_eq!(read("model=a,b.gguf").unwrap().model.model, Some(PathBuf::from("a,b.gguf")));
    }

    #[test]
    fn bad_ones_are_named() {
        for (text, part) in [
            ("kv", "`kv` is not a setting KEY=VALUE; known settings: kv, pool, threads"),
            ("colour=red", "there is no setting `colour` (in `colour=red`); known settings: kv"),
            ("kv=yes", "kv=yes: kv takes on or off"),
            ("thread=2", "there is no setting `thread` (in `thread=2`); did you mean `threads`?"),
            ("threads=0", "threads=0: threads takes a number"),
            ("threads=5000", "threads=5000"),
            ("cache=q4", "cache=q4: cache takes f32, f16 or q8_0"),
            ("isa=sse", "isa=sse: isa takes scalar"),
            ("type=q9", "type=q9: type takes f32"),
            ("tokens=-1", "tokens takes a number"),
            ("synthetic=small in_place=on", "in_place=on needs a model file"),
            ("model=x in_place=on,exact=on", "in_place=on cannot be used with exact=on"),
            ("model=x in_place=on,type=q8_0", "in_place=on cannot be used with type="),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
        }
    }

    #[test]
    fn words_give_the_same_again() {
        for text in
            ["", "kv=off,threads=2,isa=scalar,type=q8_0,batch=3,sequences=9,prompt=5", "synthetic=d=64,layers=2"]
        {
            let settings = read(text).unwrap();
            let mut again = Settings::of(ModelOptions::default());
            settings.words().iter().try_for_each(|word| again.set(word)).unwrap();
            assert_eq!(again, settings, "{text}");
        }
    }
}
