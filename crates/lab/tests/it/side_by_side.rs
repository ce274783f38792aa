//! Models that count instead of computing, side by side.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::time::Duration;

use lab::duel::Launched;
use lab::machine::KernelChoice;
use lab::{
    Contender, Generator, ModelChoice, ModelOutline, ModelRounds, ModelUse, Models, QualityText, RepeatSettings,
    ReservedMemory, RoundWork, RunObserver, SideBySide, TextScore, side_by_side,
};
use record::{Memory, Model, Phase, ProcessUse, Run};

/// Who worked, in the order of time.
type Log = RefCell<Vec<String>>;

struct Fake<'a> {
    name: &'static str,
    threads: usize,
    context: usize,
    log: &'a Log,
    /// Whether what it generates differs from time to time.
    fickle: bool,
}

/// One that several may make.
struct Shared<'a>(&'a dyn Models);

impl Models for Shared<'_> {
    fn outline(&self, which: ModelChoice, text: Option<&str>) -> Result<ModelOutline, String> {
        self.0.outline(which, text)
    }

    fn create(&self, which: ModelChoice, usage: ModelUse) -> Result<Box<dyn Generator + '_>, String> {
        self.0.create(which, usage)
    }

    fn threads(&self) -> usize {
        self.0.threads()
    }
}

struct FakeGenerator<'a> {
    of: &'a Fake<'a>,
    repeats: u32,
    last: u32,
}

impl Models for Fake<'_> {
    fn outline(&self, _: ModelChoice, _: Option<&str>) -> Result<ModelOutline, String> {
        Ok(ModelOutline { vocab: 100, context: self.context, tokens: None })
    }

    fn create(&self, _: ModelChoice, _: ModelUse) -> Result<Box<dyn Generator + '_>, String> {
        Ok(Box::new(FakeGenerator { of: self, repeats: 0, last: 0 }))
    }

    fn threads(&self) -> usize {
        self.threads
    }
}

impl Generator for FakeGenerator<'_> {
    fn describe(&self) -> Model {
        Model { name: self.of.name.to_owned(), context: self.of.context as u64, ..Model::default() }
    }

    fn memory(&self) -> Memory {
        Memory { model: self.of.name.to_owned(), ..Memory::default() }
    }

    fn restart(&mut self) {
        self.repeats += 1;
        self.last = if self.of.fickle { self.repeats } else { 0 };
    }

    fn forward(&mut self, tokens: &[u32]) -> Result<(), String> {
        if tokens.len() > 1 {
            self.of.log.borrow_mut().push(format!("{} {} {}", self.of.name, self.of.threads, tokens.len()));
        }
        Ok(())
    }

    fn choose(&mut self) -> u32 {
        self.last += 1;
        self.last
    }

    fn room(&self, _: usize) -> Result<ReservedMemory, String> {
        Ok(ReservedMemory { held: Box::new(()), other_bytes: 0 })
    }

    fn score(&self, text: &str) -> Result<Option<TextScore>, String> {
        Ok((self.of.name != "random").then(|| TextScore { each: vec![1.0, 3.0], bytes: text.len() as u64, window: 2 }))
    }
}

struct Quiet {
    stop_after: u64,
    told: u64,
}

impl RunObserver for Quiet {
    fn tell(&mut self, share: f64, _: &str) {
        assert!((0.0..=1.0).contains(&share), "{share}");
        self.told += 1;
    }

    fn is_stopped(&self) -> bool {
        self.told >= self.stop_after
    }
}

fn settings(repeat: Option<u64>, contexts: &[usize]) -> SideBySide {
    SideBySide {
        work: RoundWork { prompt_tokens: 4, tokens: 3, contexts: contexts.to_vec(), seed: 42 },
        threads: 2,
        text: Some(QualityText { name: "bundled".to_owned(), words: "four".to_owned() }),
        effort: RepeatSettings { repeat, warmup: 1, time: Duration::ZERO },
        limits: false,
        chosen: KernelChoice::from_environment().expect("nothing is forced to what is not there"),
        tool: record::Tool { name: "test".to_owned(), version: "0".to_owned() },
        subject: record::Subject::default(),
        parameters: BTreeMap::new(),
    }
}

fn measure<'a>(settings: &'a SideBySide, models: &[&'a [&'a dyn Models]], stop_after: u64) -> Result<Vec<Run>, String> {
    measure_of(settings, models, stop_after, None)
}

/// The same, of models whose contents have this hash.
fn measure_of<'a>(
    settings: &'a SideBySide,
    models: &[&'a [&'a dyn Models]],
    stop_after: u64,
    hash: Option<&str>,
) -> Result<Vec<Run>, String> {
    let process = Some(ProcessUse { peak_rss_bytes: Some(7), ..ProcessUse::default() });
    let contender = |on: &&'a [&'a dyn Models]| {
        let on = *on;
        Contender {
            load: Box::new(move || Ok(on.iter().map(|models| Box::new(Shared(*models)) as Box<dyn Models>).collect())),
            launch: Box::new(move || Ok(Box::new(ModelRounds::new(&settings.work, on)?) as Box<dyn Launched>)),
            weights_blake3: hash.map(str::to_owned),
            process: process.clone(),
        }
    };
    let contenders: Vec<Contender<'_>> = models.iter().map(contender).collect();
    side_by_side(settings, &contenders, &mut Quiet { stop_after, told: 0 })
}

#[test]
fn all_work_in_every_round() {
    let log = Log::default();
    let fake = |name, threads| Fake { name, threads, context: 16, log: &log, fickle: false };
    let (a, a1, random) = (fake("a", 2), fake("a", 1), fake("random", 2));
    let runs = measure(&settings(Some(8), &[4, 8, 14]), &[&[&a as &dyn Models, &a1], &[&random]], u64::MAX).unwrap();
    let log = log.into_inner();
    // Two inferences of five cells to look at them; six launches with a round to warm up, and eight rounds: of five cells and three
    // of the second copy.
    assert_eq!(log.len(), 2 * 5 + 14 * 8);
    let rounds: Vec<&[String]> = log[10..].chunks(8).collect();
    let sorted = |round: &[String]| {
        let mut round = round.to_vec();
        round.sort();
        round
    };
    let all = ["a 1 4", "a 1 4", "a 2 4", "a 2 4", "a 2 8", "a 2 8", "random 2 4", "random 2 8"];
    assert!(rounds.iter().all(|round| sorted(round) == all), "{log:?}");
    let orders: std::collections::BTreeSet<&[String]> = rounds.iter().copied().collect();
    assert!(orders.len() > 5, "rounds have orders of their own: {orders:?}");
    let rows = |run: &Run| run.rows.iter().map(|row| row.name.clone()).collect::<Vec<_>>();
    let parts = |prefix: &str| ["inference", "prefill", "decode"].map(|name| format!("{prefix}{name}"));
    assert_eq!(rows(&runs[0]), [parts(""), parts("threads=1/"), parts("context=8/"), parts("placebo/")].concat());
    assert_eq!(rows(&runs[1]), [parts(""), parts("context=8/")].concat());
    for run in &runs {
        for row in &run.rows {
            let timed = run.samples.iter().filter(|sample| sample.row == row.name && sample.phase == Phase::Timed);
            let places: Vec<(u64, u64)> = timed.map(|sample| (sample.launch, sample.round)).collect();
            let launches = [0, 0, 1, 1, 2, 3, 4, 5];
            assert_eq!(places, launches.into_iter().zip(0..8).collect::<Vec<_>>(), "{}", row.name);
        }
        assert!(
            run.notes.iter().any(|note| note.contains("not measured with a prompt of 14 tokens")),
            "{:?}",
            run.notes
        );
        assert_eq!(run.correctness.as_ref().unwrap().repeats_agree, Some(true));
        assert_eq!(run.process.as_ref().unwrap().peak_rss_bytes, Some(7));
        assert_eq!((run.created.as_str(), &run.environment), (runs[0].created.as_str(), &runs[0].environment));
    }
    let quality = &runs[0].quality[0];
    assert_eq!((quality.nll, quality.tokens, quality.bytes, quality.text.as_str()), (2.0, 2, 4, "bundled"));
    assert!(runs[1].quality.is_empty(), "random weights know no text");
}

#[test]
fn copies_are_the_placebo_of_each_other() {
    let log = Log::default();
    let fake = |name| Fake { name, threads: 1, context: 16, log: &log, fickle: false };
    let (a, b) = (fake("a"), fake("b"));
    for (hash, rows) in [(None, 6), (Some("same"), 3)] {
        let runs = measure_of(&settings(Some(6), &[]), &[&[&a], &[&b]], u64::MAX, hash).unwrap();
        assert_eq!(runs.iter().map(|run| run.rows.len()).collect::<Vec<_>>(), [rows, 3], "{hash:?}");
        assert_eq!(runs[1].models[0].weights_blake3.as_deref(), hash);
    }
}

#[test]
fn at_least_six_rounds_without_a_number() {
    let log = Log::default();
    let fake = Fake { name: "a", threads: 1, context: 16, log: &log, fickle: false };
    let runs = measure(&settings(None, &[]), &[&[&fake]], u64::MAX).unwrap();
    let timed = runs[0].samples.iter().filter(|sample| sample.phase == Phase::Timed && sample.row == "decode");
    assert_eq!(timed.count(), 6, "the time was up at once");
}

#[test]
fn what_differs_from_time_to_time_is_a_failure() {
    let log = Log::default();
    let fake = Fake { name: "a", threads: 1, context: 16, log: &log, fickle: true };
    let runs = measure(&settings(Some(2), &[]), &[&[&fake]], u64::MAX).unwrap();
    assert_eq!(runs[0].correctness.as_ref().unwrap().repeats_agree, Some(false));
    assert!(runs[0].failures[0].contains("generated different tokens"));
}

#[test]
fn it_can_be_ended() {
    let log = Log::default();
    let fake = Fake { name: "a", threads: 1, context: 16, log: &log, fickle: false };
    let runs = measure(&settings(Some(100), &[]), &[&[&fake]], 5).unwrap();
    assert!(runs[0].interrupted);
    assert!(runs[0].samples.len() < 200, "{}", runs[0].samples.len());
    let error = measure(&settings(Some(100), &[]), &[&[&fake]], 1).unwrap_err();
    assert!(error.contains("nothing was saved"), "{error}");
}

#[test]
fn what_does_not_fit_is_refused() {
    let log = Log::default();
    let fake = Fake { name: "a", threads: 1, context: 6, log: &log, fickle: false };
    let error = measure(&settings(Some(1), &[]), &[&[&fake]], u64::MAX).unwrap_err();
    assert!(error.contains("exceed the context length of a, 6 tokens"), "{error}");
    assert!(measure(&settings(Some(1), &[]), &[], u64::MAX).is_err());
}
