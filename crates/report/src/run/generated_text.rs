//! The text that the model generated during the measurement.

use record::Run;

use crate::document::{Block, Section};
use crate::units::{count, plural};

/// Characters that are shown; the record has more.
const SHOWN: usize = 2000;

pub(super) fn section(run: &Run) -> Option<Section> {
    let correctness = run.correctness.as_ref()?;
    let text = correctness.text.as_deref().filter(|text| !text.trim().is_empty())?;
    let tokens = correctness.tokens.map_or_else(String::new, |tokens| format!(" (of {})", plural(tokens, "token")));
    let again = match correctness.repeats_agree {
        Some(true) => "; identical in every repeat",
        Some(false) => "; different between repeats",
        None => "",
    };
    let explanation = format!("prompt and generated text{tokens}{again}");
    let shown: String = text.chars().take(SHOWN).collect();
    let cut = text.chars().count().saturating_sub(SHOWN);
    let mut section = Section::new("TEXT", &explanation);
    for paragraph in shown.lines().filter(|line| !line.trim().is_empty()) {
        section = section.with(Block::Text(paragraph.to_owned()));
    }
    if cut > 0 {
        section.text(format!("({} more characters)", count(cut as u64)));
    }
    Some(section)
}
