//! A report for the terminal: no line is longer than the terminal is wide; readable without colour.

use super::width::{shortened, wrapped};
use super::{Block, Document, Page, Section, Step, Table, WARNING, printable};

/// Sentences in longer lines are hard to read; tables may use all columns.
const WIDEST_TEXT: usize = 120;
/// Names are cut to this before columns that count are left out,
const NARROW_NAME: usize = 24;
/// and to this before the least important ones are.
const GOOD_NAME: usize = 40;
/// Deeper rows stand no further to the right.
const DEEPEST: usize = 24;

const BOLD: &str = "\x1b[1m";
const YELLOW: &str = "\x1b[33m";
const PLAIN: &str = "\x1b[0m";

/// A whole report.
#[must_use]
pub fn write(document: &Document, page: Page) -> String {
    let has_headings = document.sections.iter().any(|section| !section.title.is_empty());
    if document.kind.is_empty() && !has_headings {
        let text = written(document, &Ink { color: page.color, width: page.columns() + MARGIN.len() });
        return text.lines().map(|line| line.strip_prefix(MARGIN).unwrap_or(line).to_owned() + "\n").collect();
    }
    written(document, &Ink { color: page.color, width: page.columns() })
}

/// What stands below a heading begins here.
const MARGIN: &str = "  ";

fn written(document: &Document, ink: &Ink) -> String {
    let mut blocks: Vec<String> = Vec::new();
    let answers = document.answers.iter().map(|answer| wrapped(&printable(answer), ink.width).join("\n") + "\n");
    blocks.push(answers.collect());
    let mut sections = document.sections.iter().peekable();
    let below_title = sections.next_if(|section| section.title.is_empty());
    blocks.push(title(document, ink) + &below_title.map_or_else(String::new, |part| section(part, ink)));
    blocks.extend(sections.map(|part| section(part, ink)));
    blocks.extend(document.verdict_line.iter().map(|line| format!("{line}\n")));
    blocks.retain(|block| !block.is_empty());
    blocks.join("\n")
}

/// The title and the warnings below it.
fn title(document: &Document, ink: &Ink) -> String {
    let mut text = String::new();
    if !document.kind.is_empty() {
        let title = format!("{}  {}", document.kind, printable(&document.title));
        for (number, line) in wrapped(title.trim_end(), ink.text_width()).iter().enumerate() {
            text.push_str(&if number == 0 { ink.heading(line, document.kind.len()) } else { line.clone() });
            text.push('\n');
        }
    }
    for warning in &document.warnings {
        let body = wrapped(&printable(warning), ink.text_width() - 11);
        for (number, line) in body.iter().enumerate() {
            let mark = if number == 0 { WARNING } else { "" };
            text.push_str(&ink.warning(&format!("  {mark:<7}  {line}")));
            text.push('\n');
        }
    }
    text
}

/// How lines are written.
pub struct Ink {
    /// Whether headings and warnings stand out by colour.
    pub color: bool,
    /// Columns.
    pub width: usize,
}

impl Ink {
    /// Columns of a sentence.
    #[must_use]
    pub fn text_width(&self) -> usize {
        self.width.min(WIDEST_TEXT)
    }

    /// The first characters of a line in bold.
    #[must_use]
    pub fn heading(&self, line: &str, length: usize) -> String {
        match line.get(..length) {
            Some(start) if self.color => format!("{BOLD}{start}{PLAIN}{}", &line[length..]),
            _ => line.to_owned(),
        }
    }

    /// A line that warns.
    #[must_use]
    pub fn warning(&self, line: &str) -> String {
        if self.color { format!("{YELLOW}{line}{PLAIN}") } else { line.to_owned() }
    }
}

fn section(section: &Section, ink: &Ink) -> String {
    let mut text = String::new();
    let heading = format!("{}  {}", section.title, printable(&section.explanation));
    if !section.title.is_empty() {
        for (number, line) in wrapped(heading.trim_end(), ink.text_width() - 2).iter().enumerate() {
            let line = if number == 0 { ink.heading(line, section.title.len()) } else { format!("  {line}") };
            text.push_str(&line);
            text.push('\n');
        }
    }
    for (number, block) in section.blocks.iter().enumerate() {
        if number > 0 {
            text.push('\n');
        }
        match block {
            Block::Text(sentence) => paragraph(&mut text, "  ", sentence, ink),
            Block::Facts(facts) => self::facts(&mut text, facts, ink),
            Block::List(sentences) => list(&mut text, sentences, ink),
            Block::Steps(steps) => self::steps(&mut text, steps, ink),
            Block::Copied(lines) => copied(&mut text, lines),
            Block::Table(table) => self::table(&mut text, table, ink),
        }
    }
    text
}

fn steps(text: &mut String, steps: &[Step], ink: &Ink) {
    for (number, step) in (1..).zip(steps) {
        paragraph(text, &format!("  {number}. "), &step.sentence, ink);
        text.extend(step.command.iter().map(|command| format!("       {}\n", printable(command))));
    }
}

fn copied(text: &mut String, lines: &[(String, String)]) {
    let width = lines.iter().map(|(label, _)| label.chars().count()).max().unwrap_or(0);
    for (label, line) in lines {
        text.push_str(&format!("  {label:<width$}  {}\n", printable(line)));
    }
}

/// A sentence behind a mark, its later lines below its first word.
pub fn paragraph(text: &mut String, mark: &str, sentence: &str, ink: &Ink) {
    let indent = " ".repeat(mark.chars().count());
    let lines = wrapped(&printable(sentence), ink.text_width() - indent.len());
    text.push_str(&format!("{mark}{}\n", lines.join(&format!("\n{indent}"))));
}

/// Names with a sentence each, in two columns.
pub fn facts(text: &mut String, facts: &[(String, String)], ink: &Ink) {
    let labels: Vec<String> = facts.iter().map(|(label, _)| shortened(&printable(label), 32)).collect();
    let width = labels.iter().map(|label| label.chars().count()).max().unwrap_or(0);
    for (label, (_, sentence)) in labels.iter().zip(facts) {
        let mut lines = String::new();
        paragraph(&mut lines, &format!("  {label:<width$}  "), sentence, ink);
        text.push_str(&if label == WARNING { ink.warning(lines.trim_end()) + "\n" } else { lines });
    }
}

/// Sentences by number.
pub fn list(text: &mut String, sentences: &[String], ink: &Ink) {
    for (number, sentence) in (1..).zip(sentences) {
        paragraph(text, &format!("  {number}. "), sentence, ink);
    }
}

/// Columns that do not fit beside the others are left out, the least important first, and named below.
fn table(text: &mut String, table: &Table, ink: &Ink) {
    let widths: Vec<usize> = (0..table.columns.len()).map(|column| column_width(table, column)).collect();
    let mut columns: Vec<usize> = table.used_columns()[1..].to_vec();
    let mut left_out: Vec<&str> = Vec::new();
    let is_too_wide = |columns: &[usize], names: usize| {
        let others: usize = columns.iter().map(|column| widths[*column] + 2).sum();
        2 + widths[0].min(names) + others > ink.width
    };
    for heading in &table.least_important {
        let place = columns.iter().position(|column| table.columns[*column].heading == *heading);
        if let Some(place) = place.filter(|_| is_too_wide(&columns, GOOD_NAME)) {
            left_out.push(&table.columns[columns.remove(place)].heading);
        }
    }
    while columns.len() > 1 && is_too_wide(&columns, NARROW_NAME) {
        left_out.extend(columns.pop().map(|column| &*table.columns[column].heading));
    }
    let layout = TableLayout { columns, widths, page: ink.width };
    rows(text, table, &layout);
    if !left_out.is_empty() {
        paragraph(text, "  ", &format!("(not shown at this width: {})", left_out.join(", ")), ink);
    }
}

fn column_width(table: &Table, column: usize) -> usize {
    let indent = |depth: usize| if column == 0 { 2 * depth.min(DEEPEST) } else { 0 };
    let cells = table.rows.iter().map(|row| row.cells[column].chars().count() + indent(row.depth));
    cells.chain([table.columns[column].heading.chars().count()]).max().unwrap_or(0)
}

/// The columns of a table that fit the page beside its names.
struct TableLayout {
    columns: Vec<usize>,
    /// Of all columns of the table.
    widths: Vec<usize>,
    page: usize,
}

/// The heading and the rows.
fn rows(text: &mut String, table: &Table, layout: &TableLayout) {
    let TableLayout { columns, widths, page } = layout;
    let others: usize = columns.iter().map(|column| widths[*column] + 2).sum();
    let names = widths[0].min((page - 2).saturating_sub(others).max(1));
    let mut line = |depth: usize, cell: &dyn Fn(usize) -> String| {
        // Deep rows are indented as far as leaves room for a good part of the name.
        let room = names.saturating_sub(cell(0).chars().count().min(names / 2));
        let indent = " ".repeat((2 * depth.min(DEEPEST)).min(room));
        let name = format!("{indent}{}", shortened(&cell(0), names - indent.len()));
        let mut line = format!("  {name:<names$}");
        for column in columns {
            let (cell, width) = (shortened(&cell(*column), page.saturating_sub(names + 4)), widths[*column]);
            let cell =
                if table.columns[*column].is_text { format!("{cell:<width$}") } else { format!("{cell:>width$}") };
            line.push_str("  ");
            line.push_str(&cell);
        }
        text.push_str(line.trim_end());
        text.push('\n');
    };
    line(0, &|column| table.columns[column].heading.clone());
    for row in &table.rows {
        line(row.depth, &|column| row.cells[column].clone());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WIDTH: usize = 120;
    const INK: Ink = Ink { color: false, width: WIDTH };

    fn wide() -> Table {
        let headings: Vec<String> = (0..20).map(|column| format!("column {column:02}")).collect();
        let headings: Vec<&str> = headings.iter().map(String::as_str).collect();
        let mut table = Table::new(&headings);
        table.row((0..20).map(|column| "n".repeat(if column == 0 { 200 } else { 5 + column })));
        table.row_at(40, (0..20).map(|column| format!("cell {column}")));
        table
    }

    #[test]
    fn wide_tables_leave_out_what_matters_least() {
        let mut text = String::new();
        table(&mut text, &wide().least_important(&["column 03", "column 01"]), &INK);
        assert!(text.lines().all(|line| line.chars().count() <= WIDTH), "{text}");
        assert_eq!(text.matches("column 00").count(), 1, "{text}");
        let note = text.split("(not shown at this width: ").nth(1).expect("it says so");
        assert!(note.starts_with("column 03, column 01, column 19,"), "{text}");
        assert!((2..20).all(|column| text.contains(&format!("column {column:02}"))), "{text}");
    }

    #[test]
    fn a_cell_longer_than_a_line_is_cut() {
        let mut table = Table::new(&["name", "what"]).with_words_last();
        table.row(["x".to_owned(), "y".repeat(500)]);
        let mut text = String::new();
        super::table(&mut text, &table, &INK);
        assert!(text.lines().all(|line| line.chars().count() <= WIDTH), "{text}");
    }
}
