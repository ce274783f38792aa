//! What all documents have in common: a schema and a version, and how they are written and read.

use std::fmt;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::{
    BENCH_SCHEMA, BENCH_VERSION, Bench, Comparison, DOCTOR_SCHEMA, DOCTOR_VERSION, DUEL_SCHEMA, DUEL_VERSION, Doctor,
    Duel, GATE_SCHEMA, GATE_VERSION, GENERATION_SCHEMA, GENERATION_VERSION, Gate, Generation, HISTORY_SCHEMA,
    HISTORY_VERSION, History, IMPORTING_SCHEMA, IMPORTING_VERSION, Importing, MODELS_SCHEMA, MODELS_VERSION, Models,
    QUANTISATION_SCHEMA, QUANTISATION_VERSION, Quantisation, SELF_TEST_SCHEMA, SELF_TEST_VERSION, SelfTest,
    TOKENS_SCHEMA, TOKENS_VERSION, TRAINING_SCHEMA, TRAINING_VERSION, Tokens, Training,
};

/// Why a text is not a document that this program can read.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum DocumentError {
    /// A later program wrote it.
    Newer {
        /// Its schema.
        schema: String,
        /// Its version.
        version: u32,
        /// The newest version that this program reads.
        newest: u32,
    },
    /// It is a document of another kind.
    OtherSchema {
        /// The schema that it names.
        found: String,
        /// The schema that was expected.
        expected: String,
    },
    /// It has no schema or no version.
    NoSchema {
        /// The schema that was expected.
        expected: String,
    },
    /// What is wrong, and where.
    Invalid(String),
}

impl fmt::Display for DocumentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Newer { schema, version, newest } => {
                write!(f, "version {version} of `{schema}` is newer than {newest}, the newest that this program reads")
            }
            Self::OtherSchema { found, expected } => write!(f, "the schema is `{found}`, not `{expected}`"),
            Self::NoSchema { expected } => write!(f, "no `schema` and `version` of a `{expected}` document"),
            Self::Invalid(message) => f.write_str(message),
        }
    }
}

impl std::error::Error for DocumentError {}

impl From<serde_json::Error> for DocumentError {
    fn from(error: serde_json::Error) -> Self {
        Self::Invalid(error.to_string())
    }
}

/// The fields that every document begins with.
#[derive(serde::Deserialize)]
#[serde(expecting = "a document with `schema` and `version`")]
pub(crate) struct Head {
    pub(crate) schema: Option<String>,
    pub(crate) version: Option<u32>,
}

/// Whether a text is a document of this schema, in a version that is known. This is checked first,
/// because a later version may have any shape.
pub(crate) fn check_version(text: &str, schema: &str, newest: u32) -> Result<(), DocumentError> {
    let head: Head = serde_json::from_str(text)?;
    let expected = schema.to_owned();
    match (head.schema, head.version) {
        (Some(found), Some(version)) if found == schema && version <= newest => Ok(()),
        (Some(schema), Some(version)) if schema == expected => Err(DocumentError::Newer { schema, version, newest }),
        (Some(found), _) if found != schema => Err(DocumentError::OtherSchema { found, expected }),
        _ => Err(DocumentError::NoSchema { expected }),
    }
}

/// Reads a document of this schema, in a version up to this one.
pub(crate) fn read<T: DeserializeOwned>(text: &str, schema: &str, newest: u32) -> Result<T, DocumentError> {
    check_version(text, schema, newest)?;
    Ok(serde_json::from_str(text)?)
}

/// A document as indented JSON that ends with a line end.
pub(crate) fn write(document: &impl Serialize) -> String {
    serde_json::to_string_pretty(document).expect("documents are plain data") + "\n"
}

macro_rules! to_json {
    ($($document:ident)*) => {$(
        impl $document {
            /// As indented JSON that ends with a line end.
            #[must_use]
            pub fn to_json(&self) -> String {
                write(self)
            }
        }
    )*};
}

macro_rules! from_json {
    ($($document:ident: $schema:ident, $newest:ident;)*) => {$(
        impl $document {
            /// Reads it from JSON.
            ///
            /// # Errors
            /// What is wrong and where, for another document or one of a later version.
            pub fn from_json(text: &str) -> Result<Self, DocumentError> {
                read(text, $schema, $newest)
            }
        }
    )*};
}

// Methods of the types themselves, and not of a trait, so that callers need no import.
to_json! { Bench Comparison Doctor Duel Gate Generation History Importing Models Quantisation SelfTest Tokens Training }

// `Comparison` and `Run` check more than their shape, and have a `from_json` of their own.
from_json! {
    Bench: BENCH_SCHEMA, BENCH_VERSION;
    Doctor: DOCTOR_SCHEMA, DOCTOR_VERSION;
    Duel: DUEL_SCHEMA, DUEL_VERSION;
    Gate: GATE_SCHEMA, GATE_VERSION;
    Generation: GENERATION_SCHEMA, GENERATION_VERSION;
    History: HISTORY_SCHEMA, HISTORY_VERSION;
    Importing: IMPORTING_SCHEMA, IMPORTING_VERSION;
    Models: MODELS_SCHEMA, MODELS_VERSION;
    Quantisation: QUANTISATION_SCHEMA, QUANTISATION_VERSION;
    SelfTest: SELF_TEST_SCHEMA, SELF_TEST_VERSION;
    Tokens: TOKENS_SCHEMA, TOKENS_VERSION;
    Training: TRAINING_SCHEMA, TRAINING_VERSION;
}
