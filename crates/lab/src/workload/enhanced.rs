//! SmallMind's 29 rows: kernels and tensors at their sizes, two models. Each is warmed up and repeated without the profiler; a pass with
//! scopes, as many calls as SmallMind made, gives the tree.

use std::time::Duration;

use record::{Phase, Row};

use super::inference::{self, Infer, Inference};
use super::kernel_rows::{self, KernelRow};
use super::model_rows::{self, Create};
use super::tokens::{self, Generated};
use super::{Arithmetic, Task, WorkloadResult, start_profiler, take_profile};
use crate::metrics::{counted, counted_in, timed};
use crate::recorder::{Measurement, RunRecorder, WALL};
use crate::{ModelChoice, ModelUse, Models};

/// SmallMind's: 25 tokens behind 10 at random.
const TOKENS: usize = 25;
const PROMPT: usize = 10;
/// Rows that are repeated on their own: 21 of kernels and tensors, and creation and inference of two models.
const REPEATED: u32 = 25;

/// What has to be known of the tree.
const ONE_PASS: &str = "the call tree and the rankings come from one pass with the profiler on, with as many \
                        calls as in SmallMind; the rows are medians of many repeats with the profiler off";

/// One of the two models.
struct Subject {
    which: ModelChoice,
    name: &'static str,
    create: Create,
    infer: Infer,
}

const SUBJECTS: [Subject; 2] = [
    Subject { which: ModelChoice::Small, name: "Model_Small", create: model_rows::SMALL, infer: inference::small },
    Subject { which: ModelChoice::Medium, name: "Model_Medium", create: model_rows::MEDIUM, infer: inference::medium },
];

pub(super) fn run(
    task: &Task,
    models: &dyn Models,
    with: Arithmetic<'_>,
    recorder: &mut RunRecorder<'_>,
) -> Result<WorkloadResult, String> {
    let mut families = vec![kernel_rows::matmul(with, 64), kernel_rows::gelu(with), kernel_rows::softmax(with)];
    families.extend(kernel_rows::tensors(with).into_iter().map(|row| vec![row]));
    for subject in &SUBJECTS {
        // Whether all will fit, before anything is measured.
        subject.prompt(task, models)?;
    }
    let mut done = 0;
    let mut next = |recorder: &mut RunRecorder<'_>| {
        let share = |done: u32| f64::from(done) / f64::from(REPEATED);
        recorder.part(share(done), share(done + 1));
        done += 1;
        recorder.fair(REPEATED + 1 - done)
    };
    for rows in &mut families {
        for row in rows.iter_mut() {
            let time = next(recorder);
            row.measure(recorder, time)?;
        }
        let time = next(recorder);
        kernel_rows::measure_together(rows, recorder, time)?;
        if recorder.is_over() {
            return Ok(WorkloadResult::default());
        }
    }
    let mut outcome =
        WorkloadResult { prompt_tokens: Some(PROMPT), notes: vec![ONE_PASS.to_owned()], ..WorkloadResult::default() };
    let (mut generated, tokens) = (Vec::new(), task.tokens.unwrap_or(TOKENS));
    for subject in &SUBJECTS {
        let time = next(recorder);
        subject.measure_creation(models, tokens, recorder, time)?;
        let time = next(recorder);
        generated.push(subject.measure_inference(task, models, (recorder, time), &mut outcome)?);
        if recorder.is_over() {
            return Ok(outcome);
        }
    }
    outcome.correctness = Generated::together(&generated);
    outcome.tokens = Some(tokens);
    let profile = profile(task, models, &mut families)?;
    for (memory, subject) in outcome.memory.iter_mut().zip(&SUBJECTS) {
        let scopes = [subject.part("Creation"), subject.part("Inference")];
        *memory = model_rows::memory(std::mem::take(memory), &profile, [&scopes[0], &scopes[1]]);
    }
    outcome.profile = Some(profile);
    Ok(outcome)
}

/// The pass with scopes: one root, below it all of the 29.
fn profile(task: &Task, models: &dyn Models, families: &mut [Vec<KernelRow<'_>>]) -> Result<record::Profile, String> {
    let tokens = task.tokens.unwrap_or(TOKENS);
    let prompts = [SUBJECTS[0].prompt(task, models)?, SUBJECTS[1].prompt(task, models)?];
    start_profiler(task);
    let worked = (|| -> Result<(), String> {
        hotloop::scope!("enhanced");
        families.iter_mut().flatten().for_each(KernelRow::profile);
        for (subject, prompt) in SUBJECTS.iter().zip(&prompts) {
            let mut generator = (subject.create)(models, subject.which, ModelUse::usual(PROMPT + tokens))?;
            (subject.infer)(&mut *generator, prompt, tokens)?;
        }
        Ok(())
    })();
    let profile = take_profile();
    worked.and(profile)
}

impl Subject {
    fn prompt(&self, task: &Task, models: &dyn Models) -> Result<Vec<u32>, String> {
        let tokens = task.tokens.unwrap_or(TOKENS);
        tokens::prompt(&Task { prompt: None, ..task.clone() }, models, self.which, (PROMPT, tokens))
    }

    fn part(&self, part: &str) -> String {
        format!("{}_{part}", self.name)
    }

    fn measure_creation(
        &self,
        models: &dyn Models,
        tokens: usize,
        recorder: &mut RunRecorder<'_>,
        time: Duration,
    ) -> Result<(), String> {
        let name = self.part("Creation");
        let usage = ModelUse::usual(PROMPT + tokens);
        let model = Some(models.create(self.which, usage)?.describe().name);
        let what = "creating a model that is ready for its first token".to_owned();
        recorder.row(Row { name: name.clone(), what, model, calls: 1, ..Row::default() });
        let allocated = counted(|| drop(models.create(self.which, usage)));
        recorder.repeat(
            &name.clone(),
            time,
            |_: Phase| (),
            || {
                let (generator, mut taken) = timed(|| models.create(self.which, usage));
                generator?;
                if let Some(allocated) = allocated {
                    allocated.add_to(&mut taken);
                }
                Ok(vec![(name.clone(), taken)])
            },
        )
    }

    /// The whole inference, its tokens, its passes; what it generated.
    fn measure_inference(
        &self,
        task: &Task,
        models: &dyn Models,
        (recorder, time): (&mut RunRecorder<'_>, Duration),
        outcome: &mut WorkloadResult,
    ) -> Result<Generated, String> {
        let tokens = task.tokens.unwrap_or(TOKENS);
        let prompt = self.prompt(task, models)?;
        let mut generator = models.create(self.which, ModelUse::usual(PROMPT + tokens))?;
        self.declare(&generator.describe().name, tokens, models.threads(), recorder);
        outcome.models.push(generator.describe());
        outcome.memory.push(generator.memory());
        outcome.prompt_blake3.get_or_insert_with(|| tokens::hash(&prompt));
        let mut generated = Generated::default();
        generated.add((self.infer)(&mut *generator, &prompt, tokens)?.tokens);
        // What the tokens allocate, not what the lab keeps of them.
        let allocated =
            counted_in(&self.part("GenerateToken"), || drop((self.infer)(&mut *generator, &prompt, tokens)));
        recorder.repeat(
            &self.part("Inference"),
            time,
            |_: Phase| (),
            || {
                let inference = (self.infer)(&mut *generator, &prompt, tokens)?;
                let mut parts = self.parts(&inference);
                if let Some(allocated) = allocated {
                    allocated.add_to(&mut parts[0].1);
                }
                generated.add(inference.tokens);
                Ok(parts)
            },
        )?;
        Ok(generated)
    }

    fn declare(&self, model: &str, tokens: usize, threads: usize, recorder: &mut RunRecorder<'_>) {
        let (inference, token) = (self.part("Inference"), self.part("GenerateToken"));
        let row = |name: &str, what: String, part_of: Option<&str>, calls: usize, tokens: usize| Row {
            name: name.to_owned(),
            what,
            part_of: part_of.map(str::to_owned),
            model: Some(model.to_owned()),
            threads: Some(threads as u64),
            calls: calls as u64,
            tokens: Some(tokens as f64),
            ..Row::default()
        };
        let whole = format!("a prompt of {PROMPT} tokens, then {tokens} generated tokens");
        recorder.row(row(&inference, whole, None, 1, tokens));
        recorder.row(row(
            &token,
            "one token; the first one includes the prompt".to_owned(),
            Some(&inference),
            tokens,
            1,
        ));
        recorder.row(row(&self.part("Forward"), "one pass over the weights".to_owned(), Some(&token), tokens, 1));
    }

    fn parts(&self, inference: &Inference) -> Vec<(String, Measurement)> {
        let tokens = inference.first_s + inference.token_s.iter().sum::<f64>();
        vec![
            (self.part("Inference"), inference.whole.clone()),
            (self.part("GenerateToken"), Measurement::of(&[(WALL, tokens)])),
            (self.part("Forward"), Measurement::of(&[(WALL, inference.forward_s)])),
        ]
    }
}
