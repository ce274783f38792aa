//! What follows for whoever has to choose, in sentences.

use record::{Figure, LimitShare, MeasuredModel, Models, Ranking, SpeedComparison, SpeedVerdict, Trade};

use super::Names;
use super::tables::perplexity;
use crate::comparison::values::signed_percent;
use crate::document::{Block, Section, quoted};
use crate::run::limits::{doubt, operations};
use crate::units::{bytes, count, digits, plural, rate, seconds, tokens_per_s, whole_percent};

/// With more pairs only those of the fastest model are listed.
const MOST_PAIRS: usize = 10;

/// One line for each: what it can be used for.
pub(super) fn in_short(models: &Models, names: &Names<'_>) -> Section {
    let of = |(name, model): (String, &MeasuredModel)| (name, use_case(model));
    let facts = names.all().into_iter().zip(&models.models).map(of).collect();
    Section::new("SUMMARY", "by the rules below; speeds are the lower ends of their intervals")
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
        None if model.model.name.starts_with("synthetic ") => "random weights, no quality".to_owned(),
        None => "quality not measured".to_owned(),
    });
    parts.extend(bound(model));
    parts.extend((model.pareto == Some(true)).then(|| "Pareto-optimal".to_owned()));
    parts.join("; ")
}

fn pace(model: &MeasuredModel) -> String {
    let Some(decode) = &model.decode else { return "speed not measured".to_owned() };
    let slow = decode.tokens_per_s.low.unwrap_or(decode.tokens_per_s.value);
    let word = match model.fit.pace.as_deref() {
        Some("interactive") => "interactive",
        Some("reading") => "reading speed",
        _ => "batch work only",
    };
    format!("{}: {word}", tokens_per_s(slow))
}

fn answer(model: &MeasuredModel) -> Option<String> {
    let first = model.first_token_s.as_ref()?;
    let word = match model.fit.answer.as_deref()? {
        "at_once" => "first token at once",
        "short_wait" => "first token after a short wait",
        _ => "first token after a long wait",
    };
    let prompt =
        model.prompt_tokens.map_or_else(String::new, |tokens| format!(" for {}", plural(tokens, "prompt token")));
    Some(format!("{word}{prompt} ({})", seconds(first.high.unwrap_or(first.value))))
}

fn bound(model: &MeasuredModel) -> Option<String> {
    let speed = model.decode.as_ref()?;
    let used = |limit: &LimitShare, what: &str| format!("{} of the {what} limit", whole_percent(limit.share));
    let reading = speed.reading.as_ref().map(|limit| used(limit, &format!("{} bandwidth", limit.by)));
    let arithmetic = speed.arithmetic.as_ref().map(|limit| used(limit, &format!("{} compute", limit.by)));
    Some(match model.fit.bound.as_deref()? {
        "reading" => format!("decode is bandwidth-bound ({})", reading?),
        "arithmetic" => format!("decode is compute-bound ({})", arithmetic?),
        _ => format!("decode is bound by overhead or a busy machine ({})", reading.or(arithmetic)?),
    })
}

/// Which model decodes faster, where that was measured in one measurement.
pub(super) fn ranking(models: &Models, names: &Names<'_>) -> Option<Section> {
    let ranking = models.ranking.as_ref()?;
    let mut sentences: Vec<String> = Vec::new();
    for (name, model) in names.all().iter().zip(&models.models) {
        let same = model.same_as.as_ref().map(|original| {
            let original = quoted(&names.name(original));
            format!("{} is the same model as {original} (equal file contents): not ranked against it", quoted(name))
        });
        sentences.extend(same);
    }
    let fastest = models.models.iter().filter(|model| model.same_as.is_none()).max_by(|a, b| {
        let speed = |model: &MeasuredModel| model.decode.as_ref().map_or(0.0, |decode| decode.tokens_per_s.value);
        speed(a).total_cmp(&speed(b))
    });
    let is_listed = |pair: &&SpeedComparison| {
        let is_of = |name: &String| fastest.is_some_and(|fastest| fastest.model.name == *name);
        ranking.pairs.len() <= MOST_PAIRS || is_of(&pair.model) || is_of(&pair.base)
    };
    sentences.extend(ranking.pairs.iter().filter(is_listed).map(|pair| comparison(pair, ranking, names)));
    if let Some(placebo) = &ranking.placebo {
        sentences.push(format!(
            "placebo (a second copy of the same model): {} ({})",
            signed_percent(placebo.value - 1.0),
            percents(placebo)
        ));
    }
    let threshold = whole_percent(ranking.threshold);
    let by = match ranking.metric.as_str() {
        "cpu_s" => "by CPU time, which is steadier than wall time on a busy machine and complete with one thread",
        _ => "by wall time",
    };
    let explanation = format!(
        "decided {by}; threshold {threshold}; {}, {}; 95 % confidence for all pairs together",
        if ranking.launches == 1 { "1 launch".to_owned() } else { format!("{} launches", count(ranking.launches)) },
        plural(ranking.rounds, "round")
    );
    (!sentences.is_empty()).then(|| Section::new("DECODE SPEED", &explanation).with(Block::List(sentences)))
}

/// `a is 1.92× faster than b (95 % CI 1.82–2.10)`, the faster one first.
fn comparison(pair: &SpeedComparison, ranking: &Ranking, names: &Names<'_>) -> String {
    let (own, base) = (quoted(&names.name(&pair.model)), quoted(&names.name(&pair.base)));
    match (pair.verdict, pair.ratio) {
        (SpeedVerdict::Faster, Some(ratio)) => {
            format!("{own} is {} faster than {base}{}", factor(&ratio), interval(&ratio))
        }
        (SpeedVerdict::Slower, Some(ratio)) => {
            let turned = turned(&ratio);
            format!("{base} is {} faster than {own}{}", factor(&turned), interval(&turned))
        }
        (_, Some(ratio)) => format!("{own} and {base}: {}", undecided(pair.verdict, &ratio, ranking)),
        (_, None) => format!("{own} and {base}: cannot tell (not measured in the same rounds)"),
    }
}

/// `no difference beyond 3 % (…)` or `cannot tell (−2 % to +5 %)`.
fn undecided(verdict: SpeedVerdict, ratio: &Figure, ranking: &Ranking) -> String {
    if ratio.low.is_none() {
        return "cannot tell (too few launches or rounds)".to_owned();
    }
    match verdict {
        SpeedVerdict::NoDifference => {
            format!("no difference beyond {} ({})", whole_percent(ranking.threshold), percents(ratio))
        }
        _ => format!("cannot tell ({})", percents(ratio)),
    }
}

/// `−2.0 % to +5.0 %`
fn percents(ratio: &Figure) -> String {
    match (ratio.low, ratio.high) {
        (Some(low), Some(high)) => format!("{} to {}", signed_percent(low - 1.0), signed_percent(high - 1.0)),
        _ => "too few launches or rounds for an interval".to_owned(),
    }
}

fn factor(ratio: &Figure) -> String {
    format!("{}×", digits(ratio.value))
}

/// ` (95 % CI 1.25–1.38)`
fn interval(figure: &Figure) -> String {
    match (figure.low, figure.high) {
        (Some(low), Some(high)) => format!(" (95 % CI {}–{})", digits(low), digits(high)),
        _ => String::new(),
    }
}

/// The base beside the model.
fn turned(ratio: &Figure) -> Figure {
    Figure {
        value: 1.0 / ratio.value,
        low: ratio.high.map(|high| 1.0 / high),
        high: ratio.low.map(|low| 1.0 / low),
        ..*ratio
    }
}

/// What a smaller format wins and what it costs: never one without the other.
pub(super) fn trades(models: &Models, names: &Names<'_>) -> Option<Section> {
    let ranking = models.ranking.clone().unwrap_or_default();
    let sentences: Vec<String> = models.trades.iter().map(|trade| sentence(trade, &ranking, names)).collect();
    (!sentences.is_empty()).then(|| {
        let explanation = "models of the same size, each compared with the one with the largest weights";
        Section::new("FORMATS", explanation).with(Block::List(sentences))
    })
}

fn sentence(trade: &Trade, ranking: &Ranking, names: &Names<'_>) -> String {
    let (own, base) = (quoted(&names.name(&trade.model)), quoted(&names.name(&trade.base)));
    let speed = match (trade.verdict.unwrap_or_default(), trade.speed) {
        (SpeedVerdict::Faster, Some(speed)) => format!("{} faster than {base}{}", factor(&speed), interval(&speed)),
        (SpeedVerdict::Slower, Some(speed)) => {
            let turned = turned(&speed);
            format!("{} slower than {base}{}", factor(&turned), interval(&turned))
        }
        (verdict, Some(speed)) => format!("decode speed vs. {base}: {}", undecided(verdict, &speed, ranking)),
        (_, None) => format!("decode speed not measured interleaved with {base}"),
    };
    let memory = trade
        .memory
        .map_or_else(|| "memory not measured".to_owned(), |part| format!("{} of its memory", whole_percent(part)));
    format!("{own}: {speed}; {memory}; {}", cost(trade))
}

/// What it costs in quality, and whether that is more than chance.
fn cost(trade: &Trade) -> String {
    let Some([base, own]) = trade.perplexity else {
        return "quality not measured on the same text".to_owned();
    };
    let told = format!("perplexity {} instead of {}", perplexity(own), perplexity(base));
    let Some(change) = trade.perplexity_change else { return told };
    let (Some(low), Some(high)) = (change.low, change.high) else { return told };
    let interval =
        format!("{} to {} over {}", signed_percent(low), signed_percent(high), plural(change.samples, "token"));
    let word = match (low > 0.0, high < 0.0) {
        (true, _) => "worse",
        (_, true) => "better",
        _ => "no significant difference",
    };
    format!("{told}, {} ({interval}): {word}", signed_percent(change.value))
}

/// Every rule that the words above follow.
pub(super) fn rules() -> Section {
    use compare::fitness::{AT_ONCE_S, INTERACTIVE_TOKENS_PER_S, NEAR_LIMIT, READING_TOKENS_PER_S, SHORT_WAIT_S};
    use compare::{CPU_THRESHOLD, WALL_THRESHOLD};
    Section::new("RULES", "").with_facts([
        ("interactive", Some(format!("at least {}", tokens_per_s(INTERACTIVE_TOKENS_PER_S)))),
        ("reading speed", Some(format!("at least {}", tokens_per_s(READING_TOKENS_PER_S)))),
        (
            "at once, short wait",
            Some(format!("first token within {} and {}", seconds(AT_ONCE_S), seconds(SHORT_WAIT_S))),
        ),
        ("bound", Some(format!("at least {} of a limit is used", whole_percent(NEAR_LIMIT)))),
        (
            "faster",
            Some(format!(
                "the confidence interval lies beyond {} (wall time) or {} (CPU time), and beyond the placebo",
                whole_percent(WALL_THRESHOLD),
                whole_percent(CPU_THRESHOLD)
            )),
        ),
        ("Pareto-optimal", Some("no model is faster with no more memory and no more bits per byte".to_owned())),
    ])
}

/// What makes the figures doubtful.
pub(super) fn warnings(models: &Models, names: &Names<'_>) -> Vec<String> {
    let mut warnings = Vec::new();
    if models.interrupted {
        warnings.push("Interrupted: less was measured than requested.".to_owned());
    }
    let subject = models.subject.as_ref().and_then(|subject| subject.build.as_ref());
    if subject.and_then(|build| build.debug_assertions) == Some(true) {
        warnings.push("Debug build: its timings are not representative. Build with --release.".to_owned());
    }
    if !models.one_sitting && models.models.len() > 1 {
        warnings.push("These models were not measured interleaved: speeds are not compared.".to_owned());
    }
    if models.ranking.as_ref().is_some_and(|ranking| ranking.disturbed) {
        warnings.push(
            "Two copies of one model differ in speed: the measurement was noisy. Only larger differences count."
                .to_owned(),
        );
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

/// A rate above the limit: something is wrong, and it is not known what.
fn impossible(name: &str, what: &str, limit: &LimitShare) -> String {
    let is_arithmetic = ["f32", "int8"].contains(&limit.by.as_str());
    let unit = if is_arithmetic { operations(&limit.by) } else { "B/s" };
    let used = rate(limit.share * limit.per_second, unit);
    let most = rate(limit.per_second, unit);
    format!(
        "Impossible {what} speed of {}: it needs {used} of {}, above the measured limit of {most}. The limit was disturbed, \
         or work or tokens are counted wrongly.",
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
