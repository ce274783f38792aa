//! What follows for whoever has to choose, in sentences.

use record::{Figure, LimitShare, MeasuredModel, Models, Trade};

use super::Names;
use super::tables::perplexity;
use crate::comparison::words::signed_percent;
use crate::run::document::{Block, Section, quoted};
use crate::run::limits::{doubt, operations};
use crate::units::{bytes, count, digits, plural, rate, seconds, tokens_per_s, whole_percent};

/// One line for each: what it can be used for.
pub(super) fn in_short(models: &Models, names: &Names<'_>) -> Section {
    let of = |(name, model): (String, &MeasuredModel)| (name, use_case(model));
    let facts = names.all().into_iter().zip(&models.models).map(of).collect();
    Section::new("WHAT EACH IS GOOD FOR", "by the rules below; speeds at the slow end of their intervals")
        .with(Block::Facts(facts))
}

/// `Fits in 18 MiB; interactive …; answers at once …; perplexity …; limited by …`
fn use_case(model: &MeasuredModel) -> String {
    let mut parts = Vec::new();
    parts.push(
        model.memory.bytes.map_or_else(|| "memory not measured".to_owned(), |all| format!("fits in {}", bytes(all))),
    );
    parts.push(pace(model));
    parts.extend(answer(model));
    parts.push(match &model.quality {
        Some(quality) => {
            format!("perplexity {}, {:.3} bits per byte", perplexity(quality.perplexity), quality.bits_per_byte)
        }
        None if model.model.name.starts_with("synthetic ") => "random weights: its text means nothing".to_owned(),
        None => "quality not measured".to_owned(),
    });
    parts.extend(bound(model));
    parts.extend((model.pareto == Some(true)).then(|| "nobody here beats it in all three".to_owned()));
    parts.join("; ")
}

fn pace(model: &MeasuredModel) -> String {
    let Some(decode) = &model.decode else { return "speed not measured".to_owned() };
    let slow = decode.tokens_per_s.low.unwrap_or(decode.tokens_per_s.value);
    let word = match model.fit.pace.as_deref() {
        Some("interactive") => "interactive",
        Some("reading") => "as fast as people read",
        _ => "for work that nobody waits for",
    };
    format!("{}: {word}", tokens_per_s(slow))
}

fn answer(model: &MeasuredModel) -> Option<String> {
    let first = model.first_token_s.as_ref()?;
    let word = match model.fit.answer.as_deref()? {
        "at_once" => "answers at once",
        "short_wait" => "answers after a short wait",
        _ => "answers after a long wait",
    };
    let prompt = model.prompt_tokens.map_or_else(String::new, |tokens| format!(" to {}", plural(tokens, "token")));
    Some(format!("{word}{prompt} ({})", seconds(first.high.unwrap_or(first.value))))
}

fn bound(model: &MeasuredModel) -> Option<String> {
    let speed = model.decode.as_ref()?;
    let used = |limit: &LimitShare, what: &str| format!("{} of the limit of {what}", whole_percent(limit.share));
    let reading = speed.reading.as_ref().map(|limit| used(limit, &format!("reading from {}", limit.by)));
    let arithmetic = speed.arithmetic.as_ref().map(|limit| used(limit, &format!("{} arithmetic", limit.by)));
    Some(match model.fit.bound.as_deref()? {
        "reading" => format!("decode uses {}: only fewer bytes would make it twice as fast", reading?),
        "arithmetic" => format!("decode uses {}: only less of it would make it twice as fast", arithmetic?),
        _ => format!("decode uses {}: overhead or a busy machine holds it back", reading.or(arithmetic)?),
    })
}

/// What a smaller format wins and what it costs: never one without the other.
pub(super) fn trades(models: &Models, names: &Names<'_>) -> Option<Section> {
    let sentences: Vec<String> = models.trades.iter().map(|trade| sentence(trade, names)).collect();
    (!sentences.is_empty()).then(|| {
        let explanation = "the same sizes in several formats, each beside the one with the largest weights";
        Section::new("WHAT A FORMAT WINS AND COSTS", explanation).with(Block::List(sentences))
    })
}

fn sentence(trade: &Trade, names: &Names<'_>) -> String {
    let (own, base) = (quoted(&names.name(&trade.model)), quoted(&names.name(&trade.base)));
    let speed = match trade.speed {
        Some(speed) => format!("decodes {} as fast as {base}", times(&speed)),
        None => format!("beside {base}: which is faster was not measured in turns"),
    };
    let memory = trade.memory.map_or_else(
        || "memory not measured".to_owned(),
        |part| format!("it takes {} of the memory", whole_percent(part)),
    );
    format!("{own} {speed}; {memory}; {}", cost(trade))
}

/// `1.31 times (1.25-1.38)`
fn times(figure: &Figure) -> String {
    let interval = match (figure.low, figure.high) {
        (Some(low), Some(high)) => format!(" ({}-{})", digits(low), digits(high)),
        _ => " (too few turns to say how surely)".to_owned(),
    };
    format!("{} times{interval}", digits(figure.value))
}

/// What it costs in quality, and whether that is more than chance.
fn cost(trade: &Trade) -> String {
    let Some([base, own]) = trade.perplexity else {
        return "what that costs in quality was not measured".to_owned();
    };
    let told = format!("its perplexity is {} instead of {}", perplexity(own), perplexity(base));
    let Some(change) = trade.perplexity_change else { return told };
    let (Some(low), Some(high)) = (change.low, change.high) else { return told };
    let interval =
        format!("{} to {} over {}", signed_percent(low), signed_percent(high), plural(change.samples, "token"));
    let word = match (low > 0.0, high < 0.0) {
        (true, _) => "worse",
        (_, true) => "better",
        _ => "no difference is shown",
    };
    format!("{told}, {} ({interval}): {word}", signed_percent(change.value))
}

/// Every rule that the words above follow.
pub(super) fn rules() -> Section {
    use compare::fitness::{AT_ONCE_S, INTERACTIVE_TOKENS_PER_S, NEAR_LIMIT, READING_TOKENS_PER_S, SHORT_WAIT_S};
    Section::new("RULES", "what the words mean").with_facts([
        (
            "interactive",
            Some(format!("at least {}: several times faster than people read", tokens_per_s(INTERACTIVE_TOKENS_PER_S))),
        ),
        ("as fast as people read", Some(format!("at least {}", tokens_per_s(READING_TOKENS_PER_S)))),
        (
            "at once, short wait",
            Some(format!("the first token within {} and {}", seconds(AT_ONCE_S), seconds(SHORT_WAIT_S))),
        ),
        ("limited by", Some(format!("at least {} of a limit is used", whole_percent(NEAR_LIMIT)))),
    ])
}

/// What makes the figures doubtful.
pub(super) fn warnings(models: &Models, names: &Names<'_>) -> Vec<String> {
    let mut warnings = Vec::new();
    if models.interrupted {
        warnings.push("It was interrupted: less was measured than asked for.".to_owned());
    }
    let subject = models.subject.as_ref().and_then(|subject| subject.build.as_ref());
    if subject.and_then(|build| build.debug_assertions) == Some(true) {
        warnings
            .push("This is a debug build: its speed says nothing about the engine. Build with --release.".to_owned());
    }
    if !models.one_sitting && models.models.len() > 1 {
        warnings.push("These were not measured in turns: nobody is called faster.".to_owned());
    }
    for (name, model) in names.all().iter().zip(&models.models) {
        let speeds = [("prefill", &model.prefill), ("decode", &model.decode)];
        let limits =
            speeds.iter().filter_map(|(what, speed)| Some((what, speed.as_ref()?))).flat_map(|(what, speed)| {
                [&speed.arithmetic, &speed.reading].into_iter().flatten().map(move |limit| (what, limit))
            });
        for (what, limit) in limits.filter(|(_, limit)| limit.impossible) {
            warnings.push(impossible(name, what, limit));
        }
    }
    let limits = models.environment.as_ref().and_then(|environment| environment.limits.as_ref());
    warnings.extend(limits.and_then(doubt).map(|doubt| format!("{doubt}.")));
    warnings
}

/// A rate above the limit: something is wrong, and nobody knows yet what.
fn impossible(name: &str, what: &str, limit: &LimitShare) -> String {
    let is_arithmetic = ["f32", "int8"].contains(&limit.by.as_str());
    let unit = if is_arithmetic { operations(&limit.by) } else { "B/s" };
    let used = rate(limit.share * limit.per_second, unit);
    let most = rate(limit.per_second, unit);
    format!(
        "The {what} of {} cannot be: it would need {used} of {}, and {most} were measured as the limit. Either that was \
         disturbed, or work or tokens are counted wrongly.",
        quoted(name),
        limit.by
    )
}

/// A slope, and where it lies.
pub(super) fn slope(figure: &Figure) -> String {
    match (figure.low, figure.high) {
        (Some(low), Some(high)) => {
            let points = count(figure.samples);
            format!(
                "{} ({} to {}, {points} points)",
                signed_digits(figure.value),
                signed_digits(low),
                signed_digits(high)
            )
        }
        _ => signed_digits(figure.value),
    }
}

/// Three digits of a number that may be below nothing.
pub(super) fn signed_digits(value: f64) -> String {
    if value < 0.0 { format!("\u{2212}{}", digits(-value)) } else { digits(value) }
}
