use std::path::PathBuf;

use super::*;

/// The command of a line whose words are apart by blanks; an error as it is printed.
pub fn command(line: &str) -> Result<Command, String> {
    let read = parse(line.split_whitespace());
    read.map(|read| read.command).map_err(|error| error.render().to_string())
}

/// Checks that each line is refused, and that the error has each part.
#[track_caller]
pub fn assert_refused(lines: &[(&str, &[&str])]) {
    for (line, parts) in lines {
        let error = command(line).unwrap_err();
        assert!(error.starts_with("error: "), "{line}: {error}");
        parts.iter().for_each(|part| assert!(error.contains(part), "{line}: {error}"));
    }
}

fn profile(line: &str) -> Profile {
    match command(line) {
        Ok(Command::Profile(profile)) => *profile,
        other => panic!("{line}: {other:?}"),
    }
}

fn generate(line: &str) -> Generate {
    match command(line) {
        Ok(Command::Generate(generate)) => *generate,
        other => panic!("{line}: {other:?}"),
    }
}

/// All commands, below others too, with their names.
fn commands() -> Vec<clap::Command> {
    let mut whole = definition();
    whole.build();
    let above = whole.get_subcommands().filter(|command| command.get_name() != "help");
    let below = above.flat_map(|command| command.get_subcommands()).cloned();
    let below: Vec<clap::Command> = below.collect();
    let all = std::iter::once(whole.clone()).chain(whole.get_subcommands().cloned()).chain(below);
    all.filter(|command| !command.is_hide_set() && command.get_name() != "help").collect()
}

#[test]
fn the_definition_is_sound() {
    definition().debug_assert();
}

#[test]
fn help_fits_in_80_columns_and_ends_with_examples() {
    for mut command in commands() {
        let name = command.get_name().to_owned();
        let help = command.render_help().to_string();
        let longest = help.lines().max_by_key(|line| line.chars().count()).unwrap_or_default();
        assert!(longest.chars().count() <= HELP_WIDTH, "{name}: {longest}");
        let about = command.get_about().map(ToString::to_string).unwrap_or_default();
        assert!(!about.is_empty() && !about.ends_with('.') && about.len() <= 65, "{name}: {about}");
        for argument in command.get_arguments().filter(|argument| !argument.is_hide_set()) {
            assert!(argument.get_help().is_some(), "{name}: {} has no help", argument.get_id());
        }
        let is_of_history = matches!(name.as_str(), "show" | "tag" | "untag" | "remove" | "reindex" | "path");
        let last = help.rsplit("\n\n").next().unwrap_or_default();
        assert!(is_of_history || last.starts_with("Examples:\n  hotloop"), "{name}:\n{help}");
    }
}

#[test]
fn both_ways_to_ask_for_help_give_the_same() {
    for command in definition().get_subcommands() {
        let help = |flag: &str| parse([command.get_name(), flag]).unwrap_err().to_string();
        assert_eq!(help("-h"), help("--help"), "{}", command.get_name());
    }
}

#[test]
fn options_are_read() {
    assert_eq!(profile(""), profile("profile").clone());
    assert_eq!(profile("profile standard").workload(), lab::Workload::Standard);
    assert_eq!(profile("--tokens 9 --seed 3"), profile("profile --seed=3 -n 9"));
    assert_eq!(profile("profile deep").workload(), lab::Workload::Deep);
    let options = profile("--top=4 --top=3 --repeat 2 --warmup 0 --time-budget 1.5 --layout loopos").options;
    assert_eq!((options.output.shown.top, options.repeats.repeat, options.repeats.warmup), (Some(3), Some(2), 0));
    assert_eq!(options.repeats.time_budget, Some(std::time::Duration::from_millis(1_500)));
    assert_eq!(options.output.shown.layout, ReportLayout::Loopos);
    let expected = Doctor { quick: true, json: true, threads: Some(3) };
    assert_eq!(command("doctor --quick --json --threads 3"), Ok(Command::Doctor(expected)));
}

#[test]
fn a_model_may_stand_without_its_option() {
    for line in ["profile m.gguf deep", "profile deep m.gguf", "profile deep --model m.gguf"] {
        let read = profile(line);
        let model = read.options.model.model.clone();
        assert_eq!((read.workload(), model), (lab::Workload::Deep, Some(PathBuf::from("m.gguf"))), "{line}");
    }
    assert_eq!(profile("profile src").options.model.model, Some("src".into()), "a folder of safetensors");
    assert_refused(&[
        ("profile standart", &["neither a model file nor a workload", "did you mean `standard`?"]),
        ("profile xyzzy", &["(standard, deep, enhanced, memory)"]),
        ("profile deep memory", &["two workloads"]),
        ("profile a.gguf b.gguf", &["'b.gguf' and '--model a.gguf' name two models"]),
        ("profile a.gguf --synthetic small", &["name two models"]),
        ("m.gguf", &["unrecognized subcommand 'm.gguf'", "use 'hotloop profile m.gguf'"]),
    ]);
}

#[test]
fn generate_takes_a_model_and_a_prompt() {
    let of = |line: &str| {
        let read = generate(line);
        (read.model.model.map(|file| file.display().to_string()), read.prompt)
    };
    let (model, once) = (Some("m.gguf".to_owned()), Some("Once".to_owned()));
    assert_eq!(of("generate m.gguf Once"), (model.clone(), once.clone()));
    assert_eq!(of("generate m.gguf"), (model.clone(), None));
    assert_eq!(of("generate Once"), (None, once.clone()));
    assert_eq!(of("generate --model m.gguf Once"), (model.clone(), once.clone()));
    assert_eq!(of("generate m.gguf -p Once"), (model, once));
    assert_eq!(of("generate -"), (None, Some("-".to_owned())));
    assert_eq!(of("generate --prompt -x"), (None, Some("-x".to_owned())));
    assert_refused(&[
        ("generate a.gguf b c", &["unexpected value 'c'"]),
        ("generate a.gguf b --prompt c", &["'b' and '--prompt c' are two prompts"]),
        ("generate a b --model c", &["'a' and '--model c' name two models"]),
        ("generate --system x", &["--chat"]),
    ]);
}

#[test]
fn what_is_shown_may_be_said_anywhere() {
    let of = |line: &str| parse(line.split_whitespace()).unwrap().terminal;
    assert_eq!(of("report"), TerminalOptions::default());
    let asked = TerminalOptions { color: ColorChoice::Never, no_pager: true, quiet: true };
    assert_eq!(of("report --color never --no-pager -q"), asked);
    assert_eq!(of("history path --quiet --no-pager --color=never"), asked);
    assert_eq!(of("-q --color always").color, ColorChoice::Always);
}

#[test]
fn help_is_found_wherever_it_is_asked_for() {
    for (line, part) in [
        ("--tokens 5 --help", "Usage: hotloop"),
        ("-h", "--top <N>"),
        ("doctor --help", "Usage: hotloop doctor"),
        ("-V", env!("CARGO_PKG_VERSION")),
    ] {
        let error = parse(line.split_whitespace()).unwrap_err();
        assert!(!error.use_stderr() && error.to_string().contains(part), "{line}: {error}");
    }
}

#[test]
fn near_words_are_suggested() {
    assert_refused(&[
        ("docter", &["unrecognized subcommand 'docter'", "'doctor'"]),
        ("profile --modle x", &["unexpected argument '--modle'", "'--model'"]),
        ("profile --no-kv", &["'--no-kv-cache'"]),
        ("export --to svgg", &["invalid value 'svgg' for '--to <FORMAT>'", "'svg'"]),
        ("history lsit", &["unrecognized subcommand 'lsit'"]),
        ("history remvoe a", &["'remove'"]),
        ("quantize a b --type q8", &["[possible values: f32, f16", "'q8_0'"]),
        ("report --layout smalmind", &["'smallmind'"]),
        ("report --color alway", &["'always'"]),
        ("generate --cache f8", &["[possible values: f32, f16, q8_0]"]),
        ("duel a b --mode quik", &["'quick'"]),
        ("gate --on-unresolved fial", &["'fail'"]),
        ("import --format gooogle-benchmark x", &["invalid value 'gooogle-benchmark'", "tip: "]),
        ("completions bsh", &["'bash'"]),
    ]);
}

#[test]
fn every_out_has_a_short_form() {
    let taking: Vec<String> = commands()
        .iter()
        .filter_map(|command| {
            let out = command.get_arguments().find(|argument| argument.get_long() == Some("out"))?;
            assert_eq!(out.get_short(), Some('o'), "{}", command.get_name());
            Some(command.get_name().to_owned())
        })
        .collect();
    assert_eq!(taking, ["bench", "train", "duel", "export", "gate"]);
}

#[test]
fn what_stands_behind_a_program_is_its_own() {
    let run = |line: &str| match command(line) {
        Ok(Command::Run(run)) => *run,
        other => panic!("{line}: {other:?}"),
    };
    for line in ["run --repeat 3 -- prog --repeat 4 -- -q", "run --repeat=3 prog --repeat 4 -- -q"] {
        let run = run(line);
        assert_eq!(
            (run.repeat, run.command),
            (3, ["prog", "--repeat", "4", "--", "-q"].map(Into::into).into()),
            "{line}"
        );
    }
    assert_eq!(run("run -- -strange-name").command, ["-strange-name"]);
    assert!(!run("run --repeat 2 -- prog --show-output").show_output);
    assert!(run("run --repeat 2 --show-output -- prog").show_output);
    let run = run("run --budget 0 --timeline --warmup 2 --tag a --store b prog");
    assert_eq!((run.budget, run.timeline, run.warmup), (Some(0.0), true, 2));
    assert_eq!((run.tag.as_deref(), run.store.store.as_deref()), (Some("a"), Some("b".as_ref())));
}

#[test]
fn bad_values_are_named() {
    assert_refused(&[
        ("--top", &["a value is required for '--top <N>'"]),
        ("--top x", &["invalid value 'x' for '--top <N>'"]),
        ("--tokens 0", &["0 is not in 1..=16777216"]),
        ("--time-budget 0", &["not a number from 0.1 to 86400"]),
        ("--trace=yes", &["unexpected value 'yes' for '--trace'"]),
        ("profile --layout x", &["[possible values: hotloop, smallmind, loopos]"]),
        ("--no-save --tag x", &["cannot be used with"]),
        ("--top-n=3", &["unexpected argument '--top-n'"]),
        ("doctor --top 3", &["unexpected argument '--top'"]),
        ("doctor --threads=0", &["0 is not in 1..=4096"]),
        ("quantize", &["required", "--type <TYPE>", "<IN>", "<OUT>"]),
        ("quantize a b c --type q8_0", &["unexpected argument 'c'"]),
        ("--top 3 doctor", &["doctor"]),
        ("run", &["<COMMAND>..."]),
        ("run --budget 200 -- x", &["not a number from 0 to 100"]),
        ("run --budget nan -- x", &["not a number from 0 to 100"]),
        ("history --since yesterday", &["not a time such as 30m, 2h, 3d, 1w, 2026-03-01"]),
        ("history --json show x", &["'--json' before a subcommand has no effect"]),
        ("generate x --temperature 101", &["not a number from 0 to 100"]),
        ("generate x --batch 0", &["0 is not in 1..=256"]),
        ("compare --threshold x", &["not a number from 0 to 1000 (percent)"]),
    ]);
}
