//! What a report says, apart from how it is written: the terminal and Markdown show the same.

pub mod markdown;
pub mod terminal;
pub mod width;

/// A whole report. It is written by [`Document::terminal`] or [`Document::markdown`].
#[derive(Debug, Default)]
pub struct Document {
    /// The answer, before everything else.
    pub answers: Vec<String>,
    /// What it is a report of: `HOTLOOP RUN`. Without it there is no title.
    pub kind: &'static str,
    /// What it is about.
    pub title: String,
    /// What makes the figures doubtful.
    pub warnings: Vec<String>,
    /// Below the title.
    pub sections: Vec<Section>,
    /// The last line, for programs that read it.
    pub verdict_line: Option<String>,
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
    #[must_use]
    pub fn untitled(sections: Vec<Section>) -> Self {
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
    /// The columns that there are.
    #[must_use]
    pub fn columns(self) -> usize {
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
pub struct Section {
    /// Its heading.
    pub title: String,
    /// What is shown, and how it is to be read.
    pub explanation: String,
    /// Below the heading.
    pub blocks: Vec<Block>,
}

/// A piece of a section.
#[derive(Debug)]
pub enum Block {
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
    /// Rows of cells.
    Table(Table),
}

/// What to do, and the command that does it.
#[derive(Debug, PartialEq)]
pub struct Step {
    /// What to do.
    pub sentence: String,
    /// The command, in a line that is never broken.
    pub command: Option<String>,
}

/// Rows of cells below headings.
#[derive(Debug)]
pub struct Table {
    /// Headings and sides.
    pub columns: Vec<Column>,
    /// Each with a cell for every column.
    pub rows: Vec<TableRow>,
    /// Headings of columns that are left out where there is no room for all, the first of them first.
    pub least_important: Vec<&'static str>,
}

/// A heading, and the side on which its cells stand.
#[derive(Debug)]
pub struct Column {
    /// What stands above its cells.
    pub heading: String,
    /// Whether its cells are words, on the left; numbers are on the right.
    pub is_text: bool,
}

/// One row; cells that are missing are empty.
#[derive(Debug)]
pub struct TableRow {
    /// How far its name stands to the right: a part of the row above.
    pub depth: usize,
    /// One for each column.
    pub cells: Vec<String>,
}

impl Section {
    /// One without blocks.
    #[must_use]
    pub fn new(title: &str, explanation: &str) -> Self {
        Section { title: title.to_owned(), explanation: explanation.to_owned(), blocks: Vec::new() }
    }

    /// With one more block.
    #[must_use]
    pub fn with(mut self, block: Block) -> Self {
        self.blocks.push(block);
        self
    }

    /// With facts, of which those without a sentence are left out.
    #[must_use]
    pub fn with_facts<const N: usize>(self, facts: [(&str, Option<String>); N]) -> Self {
        let known = facts.into_iter().filter_map(|(label, sentence)| Some((label.to_owned(), sentence?)));
        self.with(Block::Facts(known.collect()))
    }

    /// Only facts, below no heading.
    #[must_use]
    pub fn of_facts<const N: usize>(facts: [(&str, Option<String>); N]) -> Self {
        Section::new("", "").with_facts(facts)
    }

    /// Adds a sentence.
    pub fn text(&mut self, sentence: String) {
        self.blocks.push(Block::Text(sentence));
    }
}

impl Table {
    /// The first column is a name to the left; numbers follow, to the right.
    #[must_use]
    pub fn new(headings: &[&str]) -> Self {
        let column = |(at, heading): (usize, &&str)| Column { heading: printable(heading), is_text: at == 0 };
        Table {
            columns: headings.iter().enumerate().map(column).collect(),
            rows: Vec::new(),
            least_important: Vec::new(),
        }
    }

    /// All columns hold words.
    #[must_use]
    pub fn of_words(headings: &[&str]) -> Self {
        let mut table = Table::new(headings);
        table.columns.iter_mut().for_each(|column| column.is_text = true);
        table
    }

    /// Columns that can be done without, the least important first.
    #[must_use]
    pub fn least_important(mut self, headings: &[&'static str]) -> Self {
        self.least_important = headings.to_vec();
        self
    }

    /// The last column holds words.
    #[must_use]
    pub fn with_words_last(mut self) -> Self {
        if let Some(column) = self.columns.last_mut() {
            column.is_text = true;
        }
        self
    }

    /// Adds a row.
    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.row_at(0, cells);
    }

    /// Adds a row that is a part of the row above.
    pub fn row_at(&mut self, depth: usize, cells: impl IntoIterator<Item = String>) {
        let mut cells: Vec<String> = cells.into_iter().map(|cell| printable(&cell)).collect();
        cells.resize(self.columns.len(), String::new());
        self.rows.push(TableRow { depth, cells });
    }

    /// Whether it has no rows.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The columns in which some row has something; names always.
    #[must_use]
    pub fn used_columns(&self) -> Vec<usize> {
        let used = |column: &usize| *column == 0 || self.rows.iter().any(|row| !row.cells[*column].is_empty());
        (0..self.columns.len()).filter(used).collect()
    }
}

pub use crate::units::{printable, quoted};

/// The label of what makes figures doubtful.
pub const WARNING: &str = "WARNING";

/// What stands where there is no value.
#[must_use]
pub fn not_measured() -> String {
    "not measured".to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_that_nobody_uses_are_known() {
        let mut table = Table::new(&["name", "a", "b"]);
        table.row(["x".to_owned(), String::new(), "1".to_owned()]);
        assert_eq!(table.used_columns(), [0, 2]);
    }
}
