//! What a report says, apart from how it is written: the terminal and Markdown show the same.

pub(crate) mod markdown;
pub(crate) mod terminal;
pub(crate) mod width;

/// A whole report. It is written by [`Document::terminal`] or [`Document::markdown`].
#[derive(Debug, Default)]
pub struct Document {
    /// The answer, before everything else.
    pub(crate) answers: Vec<String>,
    /// What it is a report of: `HOTLOOP RUN`. Without it there is no title.
    pub(crate) kind: &'static str,
    pub(crate) title: String,
    /// What makes the figures doubtful.
    pub(crate) warnings: Vec<String>,
    pub(crate) sections: Vec<Section>,
    /// The last line, for programs that read it.
    pub(crate) verdict_line: Option<String>,
}

impl Document {
    /// As text for a terminal, in lines no longer than the page is wide.
    #[must_use]
    pub fn terminal(&self, page: Page) -> String {
        terminal::write(self, page)
    }

    /// As GitHub shows it.
    #[must_use]
    pub fn markdown(&self) -> String {
        markdown::write(self)
    }

    /// Sections without a title above them.
    pub(crate) fn untitled(sections: Vec<Section>) -> Self {
        Document { sections, ..Document::default() }
    }
}

/// Tables need this many columns.
const NARROWEST_PAGE: usize = 80;
/// The width of the page where there is no terminal.
const DEFAULT_WIDTH: usize = 120;

/// The page that text is written on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Page {
    /// Whether headings and warnings stand out by colour; without it there is no escape in the text.
    pub color: bool,
    /// Columns; fewer than 80 count as 80.
    pub width: usize,
}

impl Page {
    pub(crate) fn columns(self) -> usize {
        self.width.max(NARROWEST_PAGE)
    }
}

impl Default for Page {
    fn default() -> Self {
        Page { color: false, width: DEFAULT_WIDTH }
    }
}

/// A part with a heading. Without a title it has none.
#[derive(Debug)]
pub(crate) struct Section {
    pub(crate) title: String,
    /// What is shown, and how it is to be read.
    pub(crate) explanation: String,
    pub(crate) blocks: Vec<Block>,
}

/// A piece of a section.
#[derive(Debug)]
pub(crate) enum Block {
    /// A sentence or two.
    Text(String),
    /// Names with a sentence each.
    Facts(Vec<(String, String)>),
    /// Sentences by number.
    List(Vec<String>),
    /// Sentences by number, each with the command that does it.
    Steps(Vec<Step>),
    /// Names with a path or command each, in lines that are copied and therefore never broken.
    Copied(Vec<(String, String)>),
    Table(Table),
}

/// What to do, and the command that does it.
#[derive(Debug, PartialEq)]
pub(crate) struct Step {
    pub(crate) sentence: String,
    pub(crate) command: Option<String>,
}

/// Rows of cells below headings.
#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) columns: Vec<Column>,
    pub(crate) rows: Vec<TableRow>,
    /// Headings of columns that are left out where there is no room for all, the first of them first.
    pub(crate) least_important: Vec<&'static str>,
}

/// A heading, and the side on which its cells stand.
#[derive(Debug)]
pub(crate) struct Column {
    pub(crate) heading: String,
    pub(crate) is_text: bool,
}

/// One row; cells that are missing are empty.
#[derive(Debug)]
pub(crate) struct TableRow {
    /// How far its name stands to the right: a part of the row above.
    pub(crate) depth: usize,
    pub(crate) cells: Vec<String>,
}

impl Section {
    pub(crate) fn new(title: &str, explanation: &str) -> Self {
        Section { title: title.to_owned(), explanation: explanation.to_owned(), blocks: Vec::new() }
    }

    pub(crate) fn with(mut self, block: Block) -> Self {
        self.blocks.push(block);
        self
    }

    /// With facts, of which those without a sentence are left out.
    pub(crate) fn with_facts<const N: usize>(self, facts: [(&str, Option<String>); N]) -> Self {
        let known = facts.into_iter().filter_map(|(label, sentence)| Some((label.to_owned(), sentence?)));
        self.with(Block::Facts(known.collect()))
    }

    /// Only facts, below no heading.
    pub(crate) fn of_facts<const N: usize>(facts: [(&str, Option<String>); N]) -> Self {
        Section::new("", "").with_facts(facts)
    }

    pub(crate) fn text(&mut self, sentence: String) {
        self.blocks.push(Block::Text(sentence));
    }
}

impl Table {
    /// The first column is a name to the left; numbers follow, to the right.
    pub(crate) fn new(headings: &[&str]) -> Self {
        let column = |(at, heading): (usize, &&str)| Column { heading: printable(heading), is_text: at == 0 };
        Table {
            columns: headings.iter().enumerate().map(column).collect(),
            rows: Vec::new(),
            least_important: Vec::new(),
        }
    }

    /// All columns hold words.
    pub(crate) fn of_words(headings: &[&str]) -> Self {
        let mut table = Table::new(headings);
        table.columns.iter_mut().for_each(|column| column.is_text = true);
        table
    }

    /// Columns that can be done without, the least important first.
    pub(crate) fn least_important(mut self, headings: &[&'static str]) -> Self {
        self.least_important = headings.to_vec();
        self
    }

    /// The last column holds words.
    pub(crate) fn with_words_last(mut self) -> Self {
        if let Some(column) = self.columns.last_mut() {
            column.is_text = true;
        }
        self
    }

    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.row_at(0, cells);
    }

    pub(crate) fn row_at(&mut self, depth: usize, cells: impl IntoIterator<Item = String>) {
        let mut cells: Vec<String> = cells.into_iter().map(|cell| printable(&cell)).collect();
        cells.resize(self.columns.len(), String::new());
        self.rows.push(TableRow { depth, cells });
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The columns in which some row has something; names always.
    pub(crate) fn used_columns(&self) -> Vec<usize> {
        let used = |column: &usize| *column == 0 || self.rows.iter().any(|row| !row.cells[*column].is_empty());
        (0..self.columns.len()).filter(used).collect()
    }
}

/// A text without what would break a line or speak to the terminal.
pub(crate) fn printable(text: &str) -> String {
    let turns = |c: char| matches!(c, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let breaks = |c: char| c.is_control() || turns(c);
    text.replace(breaks, "?")
}

/// A name within a sentence.
pub(crate) fn quoted(name: &str) -> String {
    format!("`{}`", name.replace('`', "'"))
}

/// The label of what makes figures doubtful.
pub(crate) const WARNING: &str = "WARNING";

/// What stands where there is no value.
pub(crate) fn not_measured() -> String {
    "not measured".to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_speaks_to_the_terminal() {
        assert_eq!(printable("a\x1b[31m\nb\u{202e} – “…”"), "a?[31m?b? – “…”");
        assert_eq!(quoted("a`b"), "`a'b`");
    }

    #[test]
    fn columns_that_nobody_uses_are_known() {
        let mut table = Table::new(&["name", "a", "b"]);
        table.row(["x".to_owned(), String::new(), "1".to_owned()]);
        assert_eq!(table.used_columns(), [0, 2]);
    }
}
