//! `hotloop worker`: the engine as one side of a duel, in a process of its own.

use lab::duel::worker::serve;
use lab::sequences::Rounds;

use super::{CommandError, CommandOutput};
use crate::args::{ModelOptions, Worker};
use crate::subject::{EngineSequences, Settings, Subject};

/// Loads the model, then answers requests on standard input.
pub fn run(options: &Worker) -> Result<CommandOutput, CommandError> {
    let hint = "`hotloop duel --help` lists the settings and shows examples";
    let refused = |error: String| CommandError::new(error, hint);
    let mut settings = Settings::of(ModelOptions::default());
    options.settings.iter().try_for_each(|word| settings.set(word)).map_err(refused)?;
    settings.check().map_err(refused)?;
    let compute = settings.compute().map_err(refused)?;
    let subject = Subject::load(&settings.model, &compute, settings.load_options())?;
    let sequences = EngineSequences::new(&subject, &compute, &settings).map_err(refused)?;
    let mut rounds = Rounds::new(sequences, settings.sizes());
    let (input, output) = (std::io::stdin().lock(), std::io::stdout().lock());
    let served = serve(input, output, |calls, profiled| rounds.round(calls, profiled));
    served.map_err(|error| refused(format!("cannot read a request or answer it: {error}")))?;
    Ok(CommandOutput::default())
}
