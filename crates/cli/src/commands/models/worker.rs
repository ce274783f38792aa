//! A model in a process of its own: how it is started, and what it does there.

use std::ffi::OsString;
use std::process::Command;

use lab::ModelRounds;
use lab::duel::Launched;
use lab::duel::worker::Worker;

use super::super::{CommandError, interrupt};
use super::{boxed, computes, load, work};
use crate::args;
use crate::args::ModelOptions;
use crate::subject::ModelKind;

/// Starts a process with this model alone.
pub(super) fn start(model: &ModelOptions, options: &args::Models) -> Result<Box<dyn Launched>, String> {
    let program = std::env::current_exe().map_err(|error| format!("cannot find the file of this program: {error}"))?;
    let mut command = Command::new(program);
    command.args(arguments(model, options)?);
    Ok(Box::new(Worker::spawn(&mut command)?))
}

/// What such a process is started with.
fn arguments(model: &ModelOptions, options: &args::Models) -> Result<Vec<OsString>, String> {
    let (work, machine) = (work(options), &options.machine);
    let list = |numbers: &[usize]| numbers.iter().map(usize::to_string).collect::<Vec<_>>().join(",");
    let mut words: Vec<OsString> = vec!["models".into(), "--serve".into()];
    match model.kind() {
        // Paths may have commas, which lists do not: after the last option a path is taken as it is.
        ModelKind::File(_) => {}
        ModelKind::Synthetic(sizes) => words.extend(["--synthetic".into(), sizes.into()]),
        ModelKind::Bundled => return Err("the bundled model is not one to compare".to_owned()),
    }
    let mut add = |option: &str, value: String| words.extend([option.into(), OsString::from(value)]);
    add("--prompt-tokens", work.prompt_tokens.to_string());
    add("--tokens", work.tokens.to_string());
    add("--seed", work.seed.to_string());
    add("--cache", machine.cache.name().to_owned());
    let lists = [("--threads", &machine.threads), ("--contexts", &work.contexts)];
    lists.into_iter().filter(|(_, list)| !list.is_empty()).for_each(|(option, numbers)| add(option, list(numbers)));
    let switches = [("--in-place", machine.in_place), ("--exact", machine.exact)];
    words.extend(switches.iter().filter(|(_, on)| *on).map(|(name, _)| OsString::from(name)));
    if let ModelKind::File(file) = model.kind() {
        words.extend(["--".into(), file.into()]);
    }
    Ok(words)
}

/// Works whenever a line on standard input asks for a round.
pub(super) fn serve(options: &args::Models) -> Result<(), CommandError> {
    // Ctrl-C reaches all processes of a terminal. This one ends with its input.
    interrupt::listen_to_each(|| ());
    let refused = CommandError::without_hint;
    let file = options.runs.first().map(|file| ModelOptions::file(file.into()));
    let named = file.into_iter().chain(options.named().map_err(refused)?).next();
    let named = named.ok_or_else(|| refused("no model to serve".to_owned()))?;
    let computes = computes(&options.machine.threads)?;
    let loaded = boxed(load(&named, &computes, options)?);
    let on: Vec<&dyn lab::Models> = loaded.iter().map(|models| &**models).collect();
    let mut rounds = ModelRounds::new(&work(options), &on).map_err(refused)?;
    let (input, output) = (std::io::stdin().lock(), std::io::stdout().lock());
    let served = lab::duel::worker::serve(input, output, |calls, profiled| rounds.round(calls, profiled));
    served.map_err(|error| refused(format!("cannot read a request or answer it: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::{Command, Invocation, parse};

    fn models(words: &[OsString]) -> args::Models {
        match parse(words) {
            Ok(Invocation { command: Command::Models(models), .. }) => *models,
            other => panic!("{words:?}: {other:?}"),
        }
    }

    #[test]
    fn a_process_is_asked_for_the_same_work() {
        for line in [
            "models --synthetic d=64,layers=2 --threads 1,2 --contexts 8,4 --tokens 7 --prompt-tokens 3 --seed 9",
            "models --synthetic small --cache q8_0 --exact",
            "models --models a.gguf --in-place",
        ] {
            let asked = models(&line.split(' ').map(OsString::from).collect::<Vec<_>>());
            let named = asked.named().unwrap().remove(0);
            let served = models(&arguments(&named, &asked).unwrap());
            assert!(served.serve, "{line}");
            assert_eq!((work(&served), &served.machine), (work(&asked), &asked.machine), "{line}");
        }
        let asked = models(&["models", "--models", "x"].map(OsString::from));
        let served = models(&arguments(&ModelOptions::file("-a,b.gguf".into()), &asked).unwrap());
        assert_eq!(served.runs, ["-a,b.gguf"]);
    }
}
