//! A model generates, again and again: where the time of a token goes.

use record::Correctness;

use super::{Task, WorkloadResult, inference, model_of, model_rows, start_profiler, take_profile, tokens};
use crate::recorder::RunRecorder;
use crate::{ModelChoice, ModelUse, Models};

/// SmallMind's: 50 tokens behind 10 at random.
const TOKENS: usize = 50;
const PROMPT: usize = 10;
/// Tokens that are kept as text: some pages.
const MOST_KEPT: usize = 2048;

pub(super) fn run(task: &Task, models: &dyn Models, recorder: &mut RunRecorder<'_>) -> Result<WorkloadResult, String> {
    let which = model_of(task, ModelChoice::Given);
    let own = ScopeNames {
        create: model_rows::STANDARD,
        infer: inference::standard,
        creation: "ModelCreation",
        whole: "InferenceComplete",
    };
    let tokens = task.tokens.unwrap_or(TOKENS);
    let prompt = tokens::prompt(task, models, which, (PROMPT, tokens))?;
    start_profiler(task);
    let worked = {
        hotloop::scope!("standard");
        generate(task, models, Plan { which, prompt, tokens, names: own }, recorder)
    };
    let profile = take_profile()?;
    worked?.outcome(profile, recorder)
}

/// The names of a workload's scopes.
pub(super) struct ScopeNames {
    pub(super) create: model_rows::Create,
    pub(super) infer: inference::Infer,
    pub(super) creation: &'static str,
    pub(super) whole: &'static str,
}

/// What a model generates.
pub(super) struct Plan {
    pub(super) which: ModelChoice,
    pub(super) prompt: Vec<u32>,
    pub(super) tokens: usize,
    pub(super) names: ScopeNames,
}

/// A model that has generated.
pub(super) struct StandardRun<'a> {
    generator: Box<dyn crate::Generator + 'a>,
    generated: tokens::Generated,
    prompt: Vec<u32>,
    tokens: usize,
    scopes: [&'static str; 2],
}

/// Makes the model and lets it generate.
pub(super) fn generate<'a>(
    task: &Task,
    models: &'a dyn Models,
    plan: Plan,
    recorder: &mut RunRecorder<'_>,
) -> Result<StandardRun<'a>, String> {
    let Plan { which, prompt, tokens, names } = plan;
    recorder.tell(0.0, "making the model");
    let made = (names.create, which, ModelUse::usual(prompt.len() + tokens));
    let mut generator = model_rows::create(models, made, recorder)?;
    let kind = model_rows::InferenceKind {
        model: generator.describe().name,
        infer: names.infer,
        tokens,
        threads: models.threads(),
        timeline: task.timeline,
    };
    let time = recorder.fair(1);
    let generated = model_rows::infer(&mut *generator, &prompt, &kind, recorder, time)?;
    Ok(StandardRun { generator, generated, prompt, tokens, scopes: [names.creation, names.whole] })
}

impl StandardRun<'_> {
    /// The prompt and what came behind it, where that says something.
    fn text(&self) -> Option<String> {
        let tokens = [&self.prompt, self.generated.first()?].concat();
        self.generator.text(&tokens[..tokens.len().min(MOST_KEPT)])
    }

    /// What came out, with what the profiler saw.
    pub(super) fn outcome(
        self,
        profile: record::Profile,
        recorder: &mut RunRecorder<'_>,
    ) -> Result<WorkloadResult, String> {
        let model = self.generator.describe();
        model_rows::declare_work(recorder, &profile, &model, ["Prefill", "GenerateToken"]);
        Ok(WorkloadResult {
            memory: vec![model_rows::memory(self.generator.memory(), &profile, self.scopes)],
            models: vec![model],
            correctness: self
                .generated
                .correctness()
                .map(|correctness| Correctness { text: self.text(), ..correctness }),
            prompt_blake3: Some(tokens::hash(&self.prompt)),
            prompt_tokens: Some(self.prompt.len()),
            tokens: Some(self.tokens),
            profile: Some(profile),
            notes: Vec::new(),
        })
    }
}
