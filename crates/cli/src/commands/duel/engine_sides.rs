//! The engine as a side of a duel: its settings, and its models.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read as _;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::Command;

use engine::{Compute, QuantiseOptions, Synthetic};
use kernels::Pool;
use kernels::quant::Format;
use lab::Folder;
use lab::duel::worker::Worker;
use lab::duel::{Conditions, Contestant, Launched};
use lab::sequences::{Rounds, agreement, blake3_of};
use record::{Arm, Metric, Model, Quality, Workload, WorkloadKind};

use super::super::{CommandError, interrupt};
use crate::args::{self, ModelOptions};
use crate::subject::{EngineSequences, Settings, Subject, prompts, this_program};

/// Settings that may change tokens. Instruction sets add in other orders, and scalar kernels of quantised weights round
/// differently: with stories15M in q8_0, tokens differed after a few.
const OTHER_OUTPUT: [&str; 5] = ["model", "type", "cache", "exact", "isa"];

/// Bytes of the text that are read: 10,000 tokens distinguish perplexities that differ by 1 %.
const MOST_TEXT: usize = 40_000;

/// A side as it was asked for.
#[derive(Debug, Clone)]
pub struct EngineSide {
    /// In the words of who asked.
    pub label: String,
    pub settings: Settings,
}

/// What holds for all sides.
#[derive(Debug, Clone, Default)]
pub struct DuelTerms {
    pub output: OutputRule,
    /// A text to tell how well their models know it.
    pub text: Option<PathBuf>,
}

/// What sides have to put out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OutputRule {
    /// The same, unless settings differ that change numbers.
    #[default]
    BySettings,
    /// The same, whatever they are.
    Same,
    /// Anything.
    Any,
}

/// The engine with its settings, ready to be started again and again.
pub struct EngineContestant {
    arm: Arm,
    command: Vec<String>,
    notes: Vec<String>,
    /// The model in another format, as long as it is needed.
    _converted: Option<Folder>,
}

impl Contestant for EngineContestant {
    fn arm(&self) -> Arm {
        self.arm.clone()
    }

    fn metrics(&self) -> BTreeMap<String, Metric> {
        lab::sequences::metrics()
    }

    fn launch(&mut self) -> Result<Box<dyn Launched>, String> {
        self.launch_under(&Conditions::default())
    }

    fn launch_under(&mut self, conditions: &Conditions) -> Result<Box<dyn Launched>, String> {
        let program =
            std::env::current_exe().map_err(|error| format!("cannot find the file of this program: {error}"))?;
        let mut command = Command::new(program);
        command.args(&self.command);
        conditions.pad(&mut command);
        Ok(Box::new(Worker::spawn(&mut command)?))
    }

    fn notes(&self) -> Vec<String> {
        self.notes.clone()
    }
}

/// Makes the sides, the base first. Every model is loaded and generates once: what cannot work is refused before anything is
/// measured, and how far tokens agree is known.
pub fn contestants(mut asked: Vec<EngineSide>, terms: &DuelTerms) -> Result<Vec<EngineContestant>, CommandError> {
    same_work(&mut asked)?;
    let text = terms.text.as_deref().map(QualityText::read).transpose()?;
    let prepare = |asked| prepare(asked, text.as_ref());
    let prepared = asked.into_iter().map(prepare).collect::<Result<Vec<_>, _>>()?;
    let base = BaseSide::of(&prepared[0]);
    Ok(prepared.into_iter().map(|side| base.contestant(side, terms.output)).collect())
}

/// All sides have as many sequences as the largest batch, or as many as were asked for. What else decides the work has to be the same.
fn same_work(asked: &mut [EngineSide]) -> Result<(), CommandError> {
    let batch = asked.iter().map(|side| side.settings.batch).max().unwrap_or(1);
    let wanted = asked.iter().filter_map(|side| side.settings.sequences).max();
    for side in asked.iter_mut() {
        side.settings.sequences.get_or_insert(wanted.unwrap_or(batch));
    }
    let work = |side: &EngineSide| (side.settings.sizes(), side.settings.seed);
    let Some(first) = asked.first().map(work) else {
        return Err(refused("there is no side to measure".to_owned()));
    };
    match asked.iter().find(|side| work(side) != first) {
        None => Ok(()),
        Some(other) => Err(refused(format!(
            "`{}` and `{}` do different work: sequences, tokens, prompt and seed must be equal on all sides",
            other.label, asked[0].label
        ))),
    }
}

fn refused(error: String) -> CommandError {
    CommandError::new(error, "`hotloop duel --help` lists the engine settings, with examples")
}

/// A side that works.
struct PreparedSide {
    label: String,
    settings: Settings,
    /// As it was asked for, before it was converted.
    named: ModelOptions,
    converted: Option<Folder>,
    model: Model,
    parameters: BTreeMap<String, String>,
    prompt: String,
    ids: Vec<Vec<u32>>,
    quality: Option<Quality>,
}

fn prepare(asked: EngineSide, text: Option<&QualityText>) -> Result<PreparedSide, CommandError> {
    let EngineSide { label, mut settings } = asked;
    settings.check().map_err(refused)?;
    let named = settings.model.clone();
    let converted = convert(&mut settings)?;
    let compute = settings.compute().map_err(refused)?;
    let subject = Subject::load(&settings.model, &compute, settings.load_options())?;
    let sizes = settings.sizes();
    let sequences = EngineSequences::new(&subject, &compute, &settings).map_err(refused)?;
    let ids = Rounds::new(sequences, sizes).ids().map_err(refused)?;
    let mut model = Model { weights_blake3: settings.model.blake3(), ..subject.describe() };
    if converted.is_some() {
        model.name = format!("{} as {}", named.name(), model.format);
    }
    let prompt = blake3_of(&prompts(&subject, &settings));
    let parameters = settings.parameters(&compute);
    let quality = text.map(|text| text.cost(&subject, &compute, (&settings, &model.name))).transpose()?.flatten();
    Ok(PreparedSide { quality, label, settings, named, converted, model, parameters, prompt, ids })
}

/// A text that models are to read.
struct QualityText {
    name: String,
    text: String,
}

impl QualityText {
    fn read(file: &Path) -> Result<Self, CommandError> {
        let (name, hint) = (file.display().to_string(), "--text takes a UTF-8 text file");
        let mut bytes = Vec::new();
        let read = File::open(file).and_then(|file| file.take(MOST_TEXT as u64).read_to_end(&mut bytes));
        read.map_err(|error| CommandError::new(format!("cannot read {name}: {error}"), hint))?;
        // What was cut may end within a character.
        let whole = bytes.utf8_chunks().next().map_or("", |chunk| chunk.valid());
        if whole.trim().is_empty() {
            return Err(CommandError::new(format!("{name} has no text"), hint));
        }
        Ok(Self { name, text: whole.to_owned() })
    }

    /// What it costs a model; nothing where its weights are random.
    fn cost(
        &self,
        subject: &Subject,
        compute: &Compute,
        (settings, model): (&Settings, &str),
    ) -> Result<Option<Quality>, CommandError> {
        let scored = subject.score(compute, &self.text, settings.cache)?;
        Ok(scored.filter(|scored| !scored.each.is_empty()).map(|scored| Quality {
            model: model.to_owned(),
            text: self.name.clone(),
            text_blake3: blake3::hash(self.text.as_bytes()).to_hex().to_string(),
            tokens: scored.each.len() as u64,
            bytes: scored.bytes,
            nll: scored.each.iter().map(|nll| f64::from(*nll)).sum::<f64>() / scored.each.len() as f64,
            window: scored.window,
            each: scored.each,
        }))
    }
}

/// Where weights are to be written in another way: random ones are made so; of all others there will be a file, for a while.
fn convert(settings: &mut Settings) -> Result<Option<Folder>, CommandError> {
    let Some(format) = settings.format else { return Ok(None) };
    if let Some(random) = settings.model.sizes_as(format) {
        settings.model = random;
        return Ok(None);
    }
    if settings.model.written()? == format.name() {
        return Ok(None);
    }
    let hint = "set TMPDIR to a writable folder";
    let folder = Folder::new().map_err(|error| {
        CommandError::new(format!("cannot create a folder for {} weights: {error}", format.name()), hint)
    })?;
    let target = folder.path().join("model.gguf");
    quantise(&settings.model, &target, format)?;
    settings.model = ModelOptions::file(target);
    Ok(Some(folder))
}

fn quantise(named: &ModelOptions, target: &Path, format: Format) -> Result<(), CommandError> {
    let source = named.open()?;
    let options = QuantiseOptions { format, pool: &Pool::best(), overwrite: false };
    let go_on = |_, _| if interrupt::is_requested() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) };
    engine::quantise(&*source, target, &options, &mut { go_on })?;
    Ok(())
}

/// What sides are compared with.
struct BaseSide {
    named: ModelOptions,
    format: Option<Format>,
    parameters: BTreeMap<String, String>,
    ids: Vec<Vec<u32>>,
}

impl BaseSide {
    fn of(side: &PreparedSide) -> Self {
        let (named, format) = (side.named.clone(), side.settings.format);
        Self { named, format, parameters: side.parameters.clone(), ids: side.ids.clone() }
    }

    /// The settings in which a side differs: that is what is asked.
    fn asked(&self, side: &PreparedSide) -> Vec<String> {
        let differs = |(name, value): &(&String, &String)| self.parameters.get(*name) != Some(value);
        let parameters = side.parameters.iter().filter(differs).map(|(name, _)| name.clone());
        let model = (self.named != side.named).then(|| "model".to_owned());
        let format = (self.format != side.settings.format).then(|| "type".to_owned());
        model.into_iter().chain(format).chain(parameters).collect()
    }

    fn contestant(&self, side: PreparedSide, output: OutputRule) -> EngineContestant {
        let asked = self.asked(&side);
        let changes: Vec<&str> =
            OTHER_OUTPUT.into_iter().filter(|name| asked.iter().any(|asked| asked == name)).collect();
        let other_output = match output {
            OutputRule::BySettings => !changes.is_empty(),
            OutputRule::Same => false,
            OutputRule::Any => true,
        };
        let because =
            if changes.is_empty() { "as requested".to_owned() } else { format!("by design ({})", changes.join(", ")) };
        let agreement = agreement(&self.ids, &side.ids);
        let note = format!(
            "`{}` may generate other tokens than the base, {because}: {} of {} greedy tokens agree, counted up to the first \
             difference of each sequence",
            side.label, agreement.equal, agreement.of
        );
        let arm = Arm {
            label: side.label,
            subject: this_program(),
            models: vec![side.model],
            workload: Workload {
                name: "generate".to_owned(),
                kind: Some(WorkloadKind::Generate),
                parameters: side.parameters,
                prompt_blake3: Some(side.prompt),
                ..Workload::default()
            },
            other_output,
            agreement: (!asked.is_empty()).then_some(agreement),
            asked,
            quality: side.quality,
            ..Arm::default()
        };
        let mut settings = side.settings;
        // It is written so already.
        settings.format = None;
        let command = std::iter::once("worker".to_owned()).chain(settings.words()).collect();
        let notes = (other_output && !arm.asked.is_empty()).then_some(note).into_iter().collect();
        EngineContestant { arm, command, notes, _converted: side.converted }
    }
}

/// Sides of one model whose settings are told by name.
pub fn of_settings(
    named: &ModelOptions,
    sides: &[&BTreeMap<String, String>],
    terms: &DuelTerms,
) -> Result<Vec<EngineContestant>, CommandError> {
    let side = |words: &&BTreeMap<String, String>| {
        let words: Vec<String> = words.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let mut settings = Settings::of(named.clone());
        words.iter().try_for_each(|word| settings.set(word))?;
        Ok(EngineSide { label: words.join(","), settings })
    };
    contestants(sides.iter().map(side).collect::<Result<_, String>>().map_err(refused)?, terms)
}

/// The sides that are the engine; `None` where they are something else.
pub fn asked(options: &args::Duel) -> Result<Option<Vec<EngineSide>>, CommandError> {
    let (engine, words) = (&options.engine, &options.sides);
    let are_models = options.command.is_empty() && !words.is_empty() && words.iter().all(|word| is_model(word));
    let sides: Vec<(&str, ModelOptions, &str)> = if are_models {
        words.iter().map(|word| (word.as_str(), named(word), "")).collect()
    } else {
        engine.sides().into_iter().map(|words| (words, engine.model.clone(), words)).collect()
    };
    if sides.is_empty() {
        engine.only_for_engines().map_err(refused)?;
        return Ok(None);
    }
    if options.judged.exact {
        return Err(refused(
            "--exact counts instructions of programs; the engine cannot be measured with it".to_owned(),
        ));
    }
    let side = |(label, named, words): (&str, ModelOptions, &str)| {
        let mut settings = Settings::of(named);
        settings.read(engine.with.as_deref().unwrap_or_default())?;
        settings.read(words)?;
        Ok(EngineSide { label: label.to_owned(), settings })
    };
    sides.into_iter().map(side).collect::<Result<_, String>>().map(Some).map_err(refused)
}

/// What holds for all sides of a command line.
pub fn terms(options: &args::Duel) -> DuelTerms {
    let output = match (options.engine.same_output, options.engine.any_output) {
        (true, _) => OutputRule::Same,
        (_, true) => OutputRule::Any,
        _ => OutputRule::BySettings,
    };
    DuelTerms { output, text: options.engine.text.clone() }
}

/// Whether a word names a model: a file of one, or a recipe of random weights.
fn is_model(word: &str) -> bool {
    Synthetic::parse(word).is_ok() || engine::open(Path::new(word)).is_ok()
}

/// The model that a word names.
fn named(word: &str) -> ModelOptions {
    if Synthetic::parse(word).is_ok() {
        return ModelOptions::synthetic(word);
    }
    ModelOptions::file(word.into())
}
