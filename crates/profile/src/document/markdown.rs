//! A report as GitHub shows it.

use super::{Block, Document, Section, Step, Table, printable};

/// A whole report.
#[must_use]
pub fn write(document: &Document) -> String {
    let mut blocks: Vec<String> = Vec::new();
    if !document.kind.is_empty() {
        let title = format!("# {}: {}", sentence_case(document.kind), escaped(&document.title));
        blocks.push(title.trim_end_matches([':', ' ']).to_owned() + "\n");
    }
    blocks.extend(document.answers.iter().map(|answer| format!("**{}**\n", escaped(answer))));
    blocks.extend(document.warnings.iter().map(|warning| format!("> **Warning:** {}\n", escaped(warning))));
    document.sections.iter().for_each(|part| section(&mut blocks, part));
    blocks.extend(document.verdict_line.iter().map(|line| format!("{line}\n")));
    blocks.join("\n")
}

fn section(blocks: &mut Vec<String>, section: &Section) {
    if !section.title.is_empty() {
        blocks.push(format!("## {}\n", sentence_case(&section.title)));
    }
    if !section.explanation.is_empty() {
        blocks.push(format!("{}\n", escaped(&as_sentence(&section.explanation))));
    }
    blocks.extend(section.blocks.iter().map(block));
}

fn block(block: &Block) -> String {
    let mut text = String::new();
    match block {
        Block::Text(sentence) => text.push_str(&format!("{}\n", escaped(sentence))),
        Block::Facts(facts) => self::facts(&mut text, facts),
        Block::List(sentences) => {
            let lines = (1..).zip(sentences).map(|(number, sentence)| format!("{number}. {}\n", escaped(sentence)));
            text.extend(lines);
        }
        Block::Steps(steps) => text.extend((1..).zip(steps).map(step)),
        Block::Copied(lines) => self::facts(&mut text, lines),
        Block::Table(table) => self::table(&mut text, table),
    }
    text
}

/// The command stands in a code block of its own, which a reader can copy.
fn step((number, step): (usize, &Step)) -> String {
    let command = step.command.as_ref();
    let command = command.map_or_else(String::new, |command| format!("\n   ```\n   {}\n   ```\n", printable(command)));
    format!("{number}. {}\n{command}", escaped(&step.sentence))
}

fn facts(text: &mut String, facts: &[(String, String)]) {
    text.push_str("| | |\n|---|---|\n");
    text.extend(facts.iter().map(|(label, sentence)| format!("| {} | {} |\n", cell(label), cell(sentence))));
}

fn table(text: &mut String, table: &Table) {
    let columns = table.used_columns();
    let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    text.push_str(&line(columns.iter().map(|column| cell(&table.columns[*column].heading)).collect()));
    let rule = |column: &usize| if table.columns[*column].is_text { "---" } else { "---:" };
    text.push_str(&format!("|{}|\n", columns.iter().map(rule).collect::<Vec<_>>().join("|")));
    for row in &table.rows {
        let mut cells: Vec<String> = columns.iter().map(|column| cell(&row.cells[*column])).collect();
        cells[0].insert_str(0, &"&emsp;".repeat(row.depth));
        text.push_str(&line(cells));
    }
}

/// `HOT PATHS` as `Hot paths`.
fn sentence_case(title: &str) -> String {
    title[..1].to_owned() + &title[1..].to_lowercase()
}

/// Behind a heading it is a half sentence, below one a whole one.
fn as_sentence(text: &str) -> String {
    let mut characters = text.chars();
    let first = characters.next().map_or_else(String::new, |first| first.to_uppercase().to_string());
    format!("{first}{}.", characters.as_str())
}

/// In a table a bar ends the cell, also within code.
fn cell(text: &str) -> String {
    escaped(text).replace('|', "\\|")
}

/// The characters that Markdown takes for its own, outside of code. Code stands between two single marks: one that nothing closes, and
/// several in a row, would let all behind them through if they were taken for its start.
#[must_use]
pub fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    let mut in_code = false;
    let characters: Vec<char> = printable(text).chars().collect();
    for (at, character) in characters.iter().enumerate() {
        let is_edge = is_single_mark(&characters, at)
            && (in_code || (at + 1..characters.len()).any(|at| is_single_mark(&characters, at)));
        in_code ^= is_edge;
        let is_word =
            |place: Option<usize>| place.and_then(|at| characters.get(at)).is_some_and(|c| c.is_alphanumeric());
        let is_special = match character {
            '\\' | '<' | '>' | '*' | '[' | ']' | '~' => true,
            '`' => !is_edge,
            '_' => !(is_word(at.checked_sub(1)) && is_word(Some(at + 1))),
            _ => false,
        };
        if is_special && !in_code {
            escaped.push('\\');
        }
        escaped.push(*character);
    }
    escaped
}

fn is_single_mark(characters: &[char], at: usize) -> bool {
    let is_mark = |place: usize| characters.get(place) == Some(&'`');
    is_mark(at) && !is_mark(at + 1) && !at.checked_sub(1).is_some_and(is_mark)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_escaped_outside_of_code() {
        assert_eq!(escaped("<A as B>::c_d _e ~1"), "\\<A as B\\>::c_d \\_e \\~1");
        assert_eq!(escaped("`<A>` *b*"), "`<A>` \\*b\\*");
        assert_eq!(escaped("`<A>` `<b>"), "`<A>` \\`\\<b\\>", "nothing closes the last one");
        assert_eq!(escaped("```<b>` c"), "\\`\\`\\`\\<b\\>\\` c", "three are not closed by one");
        assert_eq!(escaped("`a``<b>` <c>"), "`a``<b>` \\<c\\>", "two close nothing");
        assert_eq!(cell("a|b `c|d`"), "a\\|b `c\\|d`");
        assert_eq!(sentence_case("HOT PATHS"), "Hot paths");
    }
}
