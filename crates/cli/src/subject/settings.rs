//! Settings of the engine, as words: `kv=off`, `threads=2`.

use std::collections::BTreeMap;
use std::path::PathBuf;

use engine::{CacheType, Compute, LoadOptions};
use kernels::quant::Format;
use kernels::{Isa, Kernels, Pool};
use lab::sequences::Sizes;

use super::Kind;
use crate::args::{MAX_THREADS, Named};

/// What can be set, with what it takes: help and errors show it.
const KEYS: &[(&str, &str)] = &[
    ("kv", "on or off: keep keys and values from token to token"),
    ("pool", "on or off: keep scratch memory from pass to pass"),
    ("threads", "a number"),
    ("isa", "scalar, avx2, avx512 or neon"),
    ("cache", "f32, f16 or q8_0: how keys and values are kept"),
    ("in_place", "on or off: use the weights as they lie in the file"),
    ("exact", "on or off: make f32 of quantised weights"),
    ("type", "f32, f16, q8_0, q4_0 and so on: how the weights are written"),
    ("batch", "a number: so many sequences are computed together"),
    ("sequences", "a number: so many sequences are generated in each call"),
    ("tokens", "a number: so many tokens of each sequence"),
    ("prompt", "a number: so many tokens that each begins with, of a story; random ones with random weights"),
    ("seed", "a number that those follow from"),
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
    pub named: Named,
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
    /// Those of whoever sets none.
    pub fn of(named: Named) -> Self {
        Self {
            named,
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
            return Err(format!("`{word}` is no setting: write KEY=VALUE; {}", known()));
        };
        let Some((key, takes)) = KEYS.iter().find(|(known, _)| *known == key) else {
            return Err(format!("there is no setting `{key}` (in `{word}`); {}", known()));
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
            "model" => self.named = Named::file(PathBuf::from(value)),
            _ => self.named = Named::synthetic(value),
        }
        Some(())
    }

    /// Words that give the same again, one setting each.
    pub fn words(&self) -> Vec<String> {
        let on = |yes: bool| if yes { "on" } else { "off" };
        let model = match self.named.kind() {
            Kind::File(file) => Some(format!("model={}", file.display())),
            Kind::Synthetic(sizes) => Some(format!("synthetic={sizes}")),
            // That of whoever names none.
            Kind::Bundled => None,
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
                format!("isa={isa}: this CPU has none; it has {}", names.join(", "))
            })?,
        };
        Ok(Compute { kernels, pool: self.threads.map_or_else(Pool::best, Pool::new) })
    }

    /// What cannot be together.
    pub fn check(&self) -> Result<(), String> {
        let (random, exact) = (matches!(self.named.kind(), Kind::Synthetic(_)), self.exact);
        match () {
            () if self.in_place && exact => Err("in_place=on and exact=on do not go together".to_owned()),
            () if self.in_place && random => {
                Err("in_place=on needs a model file: random weights are in none".to_owned())
            }
            () if self.in_place && self.format.is_some() => {
                Err("in_place=on and type= do not go together: what is converted does not stay in its file".to_owned())
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
    format!("these are: {}", names.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Settings, String> {
        let mut settings = Settings::of(Named::default());
        settings.read(text)?;
        settings.check()?;
        Ok(settings)
    }

    #[test]
    fn words_are_read() {
        let plain = Settings::of(Named::default());
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
        assert_eq!(settings.named, Named::synthetic("d=64,layers=2"));
        assert_eq!(settings.threads, Some(1));
        assert_eq!(read("model=a,b.gguf").unwrap().named.model, Some(PathBuf::from("a,b.gguf")));
    }

    #[test]
    fn bad_ones_are_named() {
        for (text, part) in [
            ("kv", "`kv` is no setting: write KEY=VALUE; these are: kv, pool, threads"),
            ("colour=red", "there is no setting `colour` (in `colour=red`); these are: kv"),
            ("kv=yes", "kv=yes: kv takes on or off"),
            ("threads=0", "threads=0: threads takes a number"),
            ("threads=5000", "threads=5000"),
            ("cache=q4", "cache=q4: cache takes f32, f16 or q8_0"),
            ("isa=sse", "isa=sse: isa takes scalar"),
            ("type=q9", "type=q9: type takes f32"),
            ("tokens=-1", "tokens takes a number"),
            ("synthetic=small in_place=on", "in_place=on needs a model file"),
            ("model=x in_place=on,exact=on", "in_place=on and exact=on do not go together"),
            ("model=x in_place=on,type=q8_0", "in_place=on and type= do not go together"),
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
            let mut again = Settings::of(Named::default());
            settings.words().iter().try_for_each(|word| again.set(word)).unwrap();
            assert_eq!(again, settings, "{text}");
        }
    }
}
