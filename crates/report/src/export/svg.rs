//! A flame graph of the merged call tree, in one file that needs no other: widths are times, callers lie below their callees.
//!
//! The script in it only moves what is drawn already; without it the picture is whole and cannot be zoomed.

use record::{Profile, Run, Scope};

use super::format::{Format, Writer};
use super::picture::title;
use super::tree::Tree;
use super::{figures, names};
use crate::units;
use profile::{TimeEstimate, longest_text, percentile_text, rests_on_few};

const WIDTH: f64 = 1200.0;
const MARGIN: f64 = 10.0;
const ROW: f64 = 18.0;
const HEAD: f64 = 64.0;
const FOOT: f64 = 28.0;
/// Narrower parts could not be seen, and there may be many.
const NARROWEST: f64 = 0.1;
/// The usual width of a letter of the font, in pixels.
const LETTER: f64 = 6.7;

const STYLE: &str = "text{font:11px ui-monospace,Menlo,Consolas,monospace;fill:#1a1a1a}.h{font-size:15px}.n{fill:#666}\
                     rect{stroke:#fff;stroke-width:.6}g.f{cursor:pointer}g.f:hover rect{stroke:#000}";

/// Shows one part in the whole width, with what lies below it; those beside it go. `s` and `l` are start and length.
const SCRIPT: &str = r#"
(() => {
  const frames = [...document.querySelectorAll("g.f")].map((g) => ({
    g, rect: g.querySelector("rect"), text: g.querySelector("text"), name: g.dataset.n,
    s: +g.dataset.s, l: +g.dataset.l,
  }));
  const show = (to) => frames.forEach((frame) => {
    const from = Math.max(frame.s, to.s), end = Math.min(frame.s + frame.l, to.s + to.l);
    const scale = WIDTH / to.l, x = MARGIN + (from - to.s) * scale, width = (end - from) * scale;
    frame.g.style.display = width > 0.1 ? "" : "none";
    if (!(width > 0.1)) return;
    frame.rect.setAttribute("x", x);
    frame.rect.setAttribute("width", width);
    frame.text.setAttribute("x", x + 3);
    const letters = Math.floor((width - 6) / LETTER), name = [...frame.name];
    frame.text.textContent =
      name.length <= letters ? frame.name : letters < 3 ? "" : name.slice(0, letters - 1).join("") + "\u2026";
  });
  frames.forEach((frame) => frame.g.addEventListener("click", () => show(frame)));
})();
"#;

pub(super) const FORMAT: Format = Format {
    name: "svg",
    extension: "svg",
    is_binary: false,
    about: "flame graph",
    opened_by: "open it in a web browser; click a scope to zoom in, the bottom row to zoom out",
    write: Writer::Profile(|run, profile| write(run, profile).into_bytes()),
};

/// The whole file.
fn write(run: &Run, profile: &Profile) -> String {
    let tree = Tree::new(profile);
    let starts = tree.starts_ns(profile);
    let sum = starts.iter().map(|(at, start)| start.saturating_add(tree.length_ns[*at])).max().unwrap_or(0);
    let deepest = tree.depth.iter().max().map_or(0, |depth| depth + 1);
    let height = HEAD + ROW * (deepest + 1) as f64 + FOOT;
    let floor = height - FOOT - ROW;
    let canvas = Canvas { sum, floor };
    let mut parts = vec![canvas.frame(0, (0, sum), ("all scopes", &whole_title(profile, sum)), "#d9d9d9")];
    let mut hidden = 0_u64;
    for &(at, start) in &starts {
        let scope = &profile.scopes[at];
        if canvas.width(tree.length_ns[at]) < NARROWEST {
            hidden += 1;
            continue;
        }
        let label = (names::shown(scope), tooltip(scope, sum));
        let span = (start, tree.length_ns[at]);
        parts.push(canvas.frame(tree.depth[at] + 1, span, (&label.0, &label.1), &colour(&scope.name)));
    }
    let note = note(sum, hidden);
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" viewBox=\"0 0 {WIDTH} {height}\">\n\
         <title>{title}</title>\n<style>{STYLE}</style>\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#fdfdfb\"/>\n\
         <text class=\"h\" x=\"{MARGIN}\" y=\"24\">{title}</text>\n\
         <text class=\"n\" x=\"{MARGIN}\" y=\"44\">{note}</text>\n{frames}\n\
         <script><![CDATA[{script}]]></script>\n</svg>\n",
        title = escape(&title(run)),
        note = escape(&note),
        frames = parts.join("\n"),
        script = script(),
    )
}

fn script() -> String {
    let numbers = [("WIDTH", WIDTH - 2.0 * MARGIN), ("MARGIN", MARGIN), ("LETTER", LETTER)];
    numbers.iter().fold(SCRIPT.to_owned(), |text, (name, number)| text.replace(name, &number.to_string()))
}

/// Where things are drawn.
struct Canvas {
    /// All that is drawn side by side.
    sum: u64,
    /// The upper edge of the lowest row.
    floor: f64,
}

impl Canvas {
    fn width(&self, length: u64) -> f64 {
        (WIDTH - 2.0 * MARGIN) * length as f64 / self.sum.max(1) as f64
    }

    /// One part: its row from below, its start and length, its name and what is told when it is pointed at.
    fn frame(&self, row: usize, (start, length): (u64, u64), (name, told): (&str, &str), colour: &str) -> String {
        let (x, width) = (MARGIN + self.width(start), self.width(length));
        let y = self.floor - ROW * row as f64;
        format!(
            "<g class=\"f\" data-n=\"{}\" data-s=\"{start}\" data-l=\"{length}\"><title>{}</title>\
             <rect x=\"{x:.2}\" y=\"{y}\" width=\"{width:.2}\" height=\"{}\" rx=\"2\" fill=\"{colour}\"/>\
             <text x=\"{:.2}\" y=\"{}\">{}</text></g>",
            escape(name),
            escape(told),
            ROW - 1.0,
            x + 3.0,
            y + 12.5,
            escape(&fitted(name, width)),
        )
    }
}

fn whole_title(profile: &Profile, sum: u64) -> String {
    let mut text = format!(
        "all scopes of all threads\n{}\noutside any scope (not drawn): {}\nprofiler's own cost (not drawn): {}",
        time(sum),
        time(profile.outside_ns),
        time(profile.own_cost.total_ns)
    );
    if let Some(waiting) = profile.waiting_ns {
        text.push_str(&format!("\nwaiting for a CPU (not drawn): {}", time(waiting)));
    }
    text
}

fn note(sum: u64, hidden: u64) -> String {
    if sum == 0 {
        return "no time was recorded in any scope".to_owned();
    }
    let mut note = format!("{} in scopes; widths are times of all threads, order has no meaning", time(sum));
    if hidden > 0 {
        note.push_str(&format!("; {} too narrow to draw", units::plural(hidden, "scope")));
    }
    note
}

fn tooltip(scope: &Scope, sum: u64) -> String {
    let mut lines = vec![names::whole(scope)];
    lines.extend(names::place(scope));
    for (name, ns, se) in [("total", scope.total_ns, scope.total_se_ns), ("self", scope.self_ns, scope.self_se_ns)] {
        let time = TimeEstimate { ns, se: se.map(|se| se as f64), is_estimate: scope.is_sampled };
        lines.push(format!("{name} {} ({})", time.text(), time.percent_of(sum.max(1))));
    }
    let is_said = |name: &str| matches!(name, "total_ns" | "total_se_ns" | "self_ns" | "self_se_ns");
    let rest = figures::known(scope).filter(|(name, _)| !is_said(name));
    lines.extend(rest.map(|(name, value)| match name.strip_suffix("_ns") {
        Some(name) => format!("{name} {}", marked(scope, name, time(value))),
        None => format!("{name} {value}"),
    }));
    lines.extend(legend(scope));
    lines.join("\n")
}

/// A time of single calls, marked where the scope was sampled.
fn marked(scope: &Scope, name: &str, text: String) -> String {
    let is_thin = |q: f64| rests_on_few(q, scope.timed_calls, scope.is_sampled);
    match name {
        "p90" => percentile_text(text, is_thin(0.9)),
        "p99" => percentile_text(text, is_thin(0.99)),
        "max" => longest_text(text, scope.is_sampled),
        _ => text,
    }
}

/// What the marks mean, where there are any.
fn legend(scope: &Scope) -> Option<String> {
    let has_errors = scope.total_se_ns.is_some() || scope.self_se_ns.is_some();
    let is_thin = scope.p99_ns.is_some() && rests_on_few(0.99, scope.timed_calls, scope.is_sampled);
    let parts = [(has_errors, "\u{b1}: 95 % interval"), (is_thin, "?: rests on few timed calls")];
    let used: Vec<&str> = parts.iter().filter(|(is_used, _)| *is_used).map(|(_, meaning)| *meaning).collect();
    (!used.is_empty()).then(|| used.join("; "))
}

fn time(ns: u64) -> String {
    units::seconds(ns as f64 / 1e9)
}

/// As much of a name as there is room for.
fn fitted(name: &str, width: f64) -> String {
    let letters = ((width - 6.0) / LETTER).max(0.0) as usize;
    match name.chars().count() {
        count if count <= letters => name.to_owned(),
        _ if letters < 3 => String::new(),
        _ => name.chars().take(letters - 1).chain(['\u{2026}']).collect(),
    }
}

/// A warm colour that a name always has, whatever its index.
fn colour(name: &str) -> String {
    let hash = name
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3));
    let (hue, light) = (8 + hash % 44, 60 + hash / 44 % 12);
    format!("hsl({hue},85%,{light}%)")
}

/// Text for XML, which has no way to write some characters at all.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\n' => escaped.push('\n'),
            '\t' => escaped.push(' '),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => escaped.push('\u{fffd}'),
            c => escaped.push(c),
        }
    }
    escaped
}
