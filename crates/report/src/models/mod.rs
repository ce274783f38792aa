//! Models side by side.

mod scaling;
mod sentences;
mod smallmind;
mod tables;

use record::Models;

use crate::document::{Block, Document, Section};
use crate::run;
use crate::units::plural;

pub use smallmind::text as smallmind;

/// The whole report.
#[must_use]
pub fn document(models: &Models) -> Document {
    let names = Names::of(models);
    let mut sections = vec![sentences::in_short(models, &names)];
    sections.extend(sentences::ranking(models, &names));
    sections.extend(sentences::trades(models, &names));
    sections.push(tables::speed(models, &names));
    sections.extend(tables::tokens(models, &names));
    sections.push(tables::memory(models, &names));
    sections.push(tables::quality(models, &names));
    sections.push(tables::limits(models, &names));
    sections.extend(scaling::sections(models, &names));
    sections.push(tables::models(models, &names));
    sections.push(sentences::rules());
    sections.extend(system(models));
    if !models.notes.is_empty() {
        let notes = Block::List(models.notes.clone());
        sections.push(Section::new("NOTES", "").with(notes));
    }
    let how = if models.one_sitting { ", interleaved" } else { "" };
    let title = format!("{}{how}", plural(models.models.len() as u64, "model"));
    let warnings = sentences::warnings(models, &names);
    Document { kind: "HOTLOOP MODELS", title, warnings, sections, ..Document::default() }
}

/// Where they were measured, where that is one place.
fn system(models: &Models) -> Option<Section> {
    let environment = models.environment.clone()?;
    let subject = models.subject.clone().unwrap_or_default();
    Some(run::system::section(&record::Run { environment, subject, ..record::Run::default() }))
}

/// What models are called: by their file, where that tells them apart.
struct Names<'a> {
    are_files_enough: bool,
    models: &'a Models,
}

impl<'a> Names<'a> {
    fn of(models: &'a Models) -> Self {
        let mut files: Vec<&str> = models.models.iter().map(|model| file(&model.model.name)).collect();
        files.sort_unstable();
        let are_files_enough = files.windows(2).all(|pair| pair[0] != pair[1]);
        Names { are_files_enough, models }
    }

    /// By the model's own name.
    fn name(&self, name: &str) -> String {
        if self.are_files_enough { file(name).to_owned() } else { name.to_owned() }
    }

    /// All of them, in their order; runs of the same model are told apart by when they began.
    fn all(&self) -> Vec<String> {
        let of = |model: &record::MeasuredModel| {
            let name = &model.model.name;
            let is_once = self.models.models.iter().filter(|other| other.model.name == *name).count() == 1;
            if is_once { self.name(name) } else { format!("{}, {}", self.name(name), model.created) }
        };
        self.models.models.iter().map(of).collect()
    }
}

/// The file of a path.
fn file(path: &str) -> &str {
    path.rsplit(['/', '\\']).find(|part| !part.is_empty()).unwrap_or(path)
}
