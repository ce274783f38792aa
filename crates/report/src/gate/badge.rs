//! A small picture of the verdict, for a page.

use record::Gate;

use super::headline;

/// The usual width of a letter of the font, in pixels.
const LETTER: usize = 7;
const PADDING: usize = 6;
const LABEL: &str = "performance";
/// Colours that people tell apart who see no red or green; the word says it all the same.
const PASSED: &str = "#0b6e99";
const WARNED: &str = "#8a6d00";
const FAILED: &str = "#a8201a";

/// The whole file.
pub fn write(gate: &Gate) -> String {
    let word = headline(gate);
    let colour = match (gate.passed, gate.warnings.is_empty()) {
        (false, _) => FAILED,
        (true, false) => WARNED,
        (true, true) => PASSED,
    };
    let width = |text: &str| text.len() * LETTER + 2 * PADDING;
    let (left, right) = (width(LABEL), width(word));
    let whole = left + right;
    let letters = |text: &str, x: usize| format!("<text x=\"{x}\" y=\"14\">{text}</text>");
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{whole}\" height=\"20\" role=\"img\" aria-label=\"{LABEL}: {word}\">\n\
         <title>{LABEL}: {word}</title>\n\
         <rect width=\"{left}\" height=\"20\" fill=\"#444\"/>\n\
         <rect x=\"{left}\" width=\"{right}\" height=\"20\" fill=\"{colour}\"/>\n\
         <g fill=\"#fff\" font-family=\"Verdana,DejaVu Sans,sans-serif\" font-size=\"11\" text-anchor=\"middle\">{}{}</g>\n\
         </svg>\n",
        letters(LABEL, left / 2),
        letters(word, left + right / 2),
    )
}
