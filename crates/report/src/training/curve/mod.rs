//! The loss over the steps, as a picture in one file that needs no other: every step and their mean, the validations, and the
//! learning rate below.
//!
//! Colours are chosen for light pages; where the reader prefers dark ones and the viewer tells, there are others.

mod axis;
mod series;

use record::{TrainingEvent, TrainingStep, TrainingValidation};

use super::{loss, perplexity, rate};
use crate::units::{count, plural};
use axis::{Axis, Span};
use series::Series;

const WIDTH: f64 = 960.0;
const HEIGHT: f64 = 540.0;
/// The panel of the loss.
const LEFT: f64 = 66.0;
const RIGHT: f64 = WIDTH - 22.0;
const TOP: f64 = 72.0;
const BOTTOM: f64 = 400.0;
/// The panel of the learning rate.
const RATE_TOP: f64 = 428.0;
const RATE_BOTTOM: f64 = 492.0;
/// More dots would be a line.
const MOST_DOTS: usize = 40;
/// More lines between epochs would be a hatching.
const MOST_EPOCHS: usize = 30;

const STYLE: &str = "svg{background:#fcfcfa}text{font:12px system-ui,-apple-system,'Segoe UI',Roboto,sans-serif;fill:#55555c}\
    .h{font-size:16px;font-weight:600;fill:#1d1d1f}.k{fill:#1d1d1f}.e{text-anchor:end}.m{text-anchor:middle}\
    .page{fill:#fcfcfa}.grid{stroke:#e6e6e1;stroke-width:1}.epoch{stroke:#d5d5cf;stroke-width:1;stroke-dasharray:2 4}\
    .axis{stroke:#8a8a90;stroke-width:1}path{fill:none;stroke-linejoin:round;stroke-linecap:round}\
    .raw{stroke:#8db2de;stroke-width:1}.mean{stroke:#1b5fae;stroke-width:2.2}.val{stroke:#c2410c;stroke-width:1.6}\
    .dot{fill:#c2410c;stroke:#fcfcfa;stroke-width:1.2}.rate{stroke:#4d7c2f;stroke-width:1.8}\
    @media(prefers-color-scheme:dark){svg{background:#16171a}text{fill:#a3a6ad}.h,.k{fill:#f0f0f2}.page{fill:#16171a}\
    .grid{stroke:#2b2d32}.epoch{stroke:#3b3e45}.axis{stroke:#74777f}.raw{stroke:#4a77ab}.mean{stroke:#7db4f5}\
    .val{stroke:#fb923c}.dot{fill:#fb923c;stroke:#16171a}.rate{stroke:#9ac774}}";

/// What of the events is drawn.
struct Drawn<'a> {
    steps: Vec<&'a TrainingStep>,
    validations: Vec<&'a TrainingValidation>,
}

/// The whole file, of the events of a log in their order.
#[must_use]
pub fn svg(events: &[TrainingEvent]) -> String {
    let mut drawn = Drawn { steps: Vec::new(), validations: Vec::new() };
    for event in events {
        match event {
            TrainingEvent::Step(step) => drawn.steps.push(step),
            TrainingEvent::Validated(validation) => drawn.validations.push(validation),
            _ => {}
        }
    }
    let body = if drawn.steps.is_empty() { nothing() } else { drawn.panels() };
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{HEIGHT}\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" \
         role=\"img\">\n<title>Loss over {}</title>\n<style>{STYLE}</style>\n\
         <rect class=\"page\" width=\"100%\" height=\"100%\"/>\n\
         <text class=\"h\" x=\"{LEFT}\" y=\"28\">Loss</text>\n{body}</svg>\n",
        plural(drawn.steps.last().map_or(0, |step| step.step), "step"),
    )
}

fn nothing() -> String {
    format!("<text x=\"{LEFT}\" y=\"{TOP}\">no steps yet</text>\n")
}

impl Drawn<'_> {
    fn panels(&self) -> String {
        let (first, last) = (self.steps[0].step, self.steps[self.steps.len() - 1].step);
        let x = Axis::of_steps(Span { low: first as f64, high: last as f64 }, (LEFT, RIGHT), 8);
        let losses = Series::new(self.steps.iter().map(|step| (step.step as f64, step.loss)));
        let mean = losses.smoothed();
        let validations = Series::new(self.validations.iter().map(|one| (one.step as f64, one.loss)));
        let y = Axis::new(self.span(&losses, &mean, &validations), (BOTTOM, TOP), 6);
        let rates = Series::new(self.steps.iter().map(|step| (step.step as f64, step.learning_rate)));
        let highest = rates.most().filter(|most| *most > 0.0).unwrap_or(1.0);
        let rate_axis = Axis::exactly(Span { low: 0.0, high: highest }, (RATE_BOTTOM, RATE_TOP));
        [
            self.legend(&losses, !validations.is_empty()),
            grid(&x, &y),
            self.epochs(&x),
            format!(
                "<clipPath id=\"c\"><rect x=\"{LEFT}\" y=\"{TOP}\" width=\"{}\" height=\"{}\"/></clipPath>\n",
                RIGHT - LEFT,
                BOTTOM - TOP
            ),
            format!("<path class=\"raw\" clip-path=\"url(#c)\" d=\"{}\"/>\n", losses.band(&x, &y)),
            format!("<path class=\"mean\" clip-path=\"url(#c)\" d=\"{}\"/>\n", mean.line(&x, &y)),
            self.validated(&validations, &x, &y),
            rate_panel(&x, &rate_axis, highest),
            format!("<path class=\"rate\" d=\"{}\"/>\n", rates.line(&x, &rate_axis)),
        ]
        .concat()
    }

    /// All of the mean and the validations, and of single steps all but the highest of two hundred: one that explodes would leave the
    /// rest flat.
    fn span(&self, losses: &Series, mean: &Series, validations: &Series) -> Span {
        let lows = [losses.least(), validations.least()];
        let highs = [losses.quantile(0.995), mean.most(), validations.most()];
        let low = lows.into_iter().flatten().fold(f64::INFINITY, f64::min);
        let high = highs.into_iter().flatten().fold(f64::NEG_INFINITY, f64::max);
        if low.is_finite() && high.is_finite() { Span { low, high } } else { Span { low: 0.0, high: 1.0 } }
    }

    fn legend(&self, losses: &Series, has_validation: bool) -> String {
        let best = self.validations.iter().min_by(|a, b| a.loss.total_cmp(&b.loss));
        let mut entries = vec![
            ("raw", "each step".to_owned()),
            ("mean", format!("average, {} at the end", losses.end().map_or_else(|| "not a number".to_owned(), loss))),
        ];
        if let Some(best) = best.filter(|_| has_validation) {
            let told = format!("validation, best {} (perplexity {})", loss(best.loss), perplexity(best.perplexity));
            entries.push(("val", told));
        }
        let mut at = LEFT;
        let mut text = String::new();
        for (class, words) in entries {
            text.push_str(&format!(
                "<path class=\"{class}\" d=\"M{at:.1} 48h22\"/><text class=\"k\" x=\"{:.1}\" y=\"52\">{words}</text>\n",
                at + 28.0
            ));
            // The font's letters are about this wide; what follows stands a little to the right.
            at += 28.0 + 6.4 * words.chars().count() as f64 + 26.0;
        }
        text
    }

    /// A line where an epoch begins, unless there are too many.
    fn epochs(&self, x: &Axis) -> String {
        let begins: Vec<&[&TrainingStep]> =
            self.steps.windows(2).filter(|pair| pair[0].epoch != pair[1].epoch).collect();
        if begins.len() >= MOST_EPOCHS {
            return String::new();
        }
        let line = |pair: &&[&TrainingStep]| {
            let at = x.place(pair[0].step as f64);
            format!("<path class=\"epoch\" d=\"M{at:.1} {TOP}V{BOTTOM}\"/>\n")
        };
        begins.iter().map(line).collect()
    }

    fn validated(&self, validations: &Series, x: &Axis, y: &Axis) -> String {
        if validations.is_empty() {
            return String::new();
        }
        let finite = || self.validations.iter().filter(|one| one.loss.is_finite());
        let best = finite().map(|one| one.loss).fold(f64::INFINITY, f64::min);
        // Many would hide what lies below them: then the best alone has one.
        let are_few = finite().count() <= MOST_DOTS;
        let is_dotted = |one: &&&TrainingValidation| are_few || one.loss <= best;
        let dots = finite().filter(is_dotted).map(|one| {
            format!(
                "<circle class=\"dot\" cx=\"{:.1}\" cy=\"{:.1}\" r=\"3.4\"><title>step {}: validation loss {}, perplexity {}</title>\
                 </circle>\n",
                x.place(one.step as f64),
                y.place(one.loss),
                count(one.step),
                loss(one.loss),
                perplexity(one.perplexity)
            )
        });
        format!("<path class=\"val\" d=\"{}\"/>\n{}", validations.line(x, y), dots.collect::<String>())
    }
}

fn grid(x: &Axis, y: &Axis) -> String {
    let mut text = String::new();
    for tick in y.ticks() {
        let at = y.place(tick);
        text.push_str(&format!(
            "<path class=\"grid\" d=\"M{LEFT} {at:.1}H{RIGHT}\"/><text class=\"e\" x=\"{:.1}\" y=\"{:.1}\">{}</text>\n",
            LEFT - 8.0,
            at + 4.0,
            y.written(tick)
        ));
    }
    for tick in x.ticks() {
        let at = x.place(tick);
        text.push_str(&format!(
            "<path class=\"grid\" d=\"M{at:.1} {TOP}V{BOTTOM}M{at:.1} {RATE_TOP}V{RATE_BOTTOM}\"/>\
             <text class=\"m\" x=\"{at:.1}\" y=\"{:.1}\">{}</text>\n",
            RATE_BOTTOM + 18.0,
            count(tick as u64)
        ));
    }
    text.push_str(&format!(
        "<path class=\"axis\" d=\"M{LEFT} {TOP}V{BOTTOM}H{RIGHT}\"/>\n\
         <text class=\"e\" x=\"{RIGHT}\" y=\"{:.1}\">steps</text>\n",
        RATE_BOTTOM + 38.0
    ));
    text
}

fn rate_panel(x: &Axis, axis: &Axis, highest: f64) -> String {
    let (left, _) = x.ends();
    format!(
        "<path class=\"axis\" d=\"M{left} {RATE_TOP}V{RATE_BOTTOM}H{RIGHT}\"/>\n\
         <text class=\"k\" x=\"{LEFT}\" y=\"{:.1}\">learning rate</text>\n\
         <text class=\"e\" x=\"{:.1}\" y=\"{:.1}\">{}</text><text class=\"e\" x=\"{:.1}\" y=\"{:.1}\">0</text>\n",
        RATE_TOP - 8.0,
        LEFT - 8.0,
        axis.place(highest) + 4.0,
        rate(highest),
        LEFT - 8.0,
        axis.place(0.0) + 4.0
    )
}
