//! The libraries we compare with, and where they are found.

pub mod blas;
pub mod ggml;
mod library;
pub mod onednn;
pub mod python;
pub mod rust;

use std::cell::RefCell;
use std::rc::Rc;

use blas::Blas;
use ggml::Ggml;
use library::Places;
use onednn::OneDnn;
use python::Python;

/// Those that this machine has.
pub struct Peers {
    /// OpenBLAS, BLIS and MKL.
    pub blas: Vec<Blas>,
    /// oneDNN.
    pub onednn: Option<OneDnn>,
    /// ggml, the library of llama.cpp.
    pub ggml: Option<Ggml>,
    /// A Python that has PyTorch, ONNX Runtime or both.
    pub python: Option<Rc<RefCell<Python>>>,
    /// A line per peer: what was found, or how to get it.
    pub notes: Vec<String>,
}

impl Peers {
    /// Looks for all of them and loads what it finds.
    pub fn find() -> Self {
        keep_idle_threads_quiet();
        let places = Places::search();
        // MKL comes last: it makes its OpenMP visible to all that are loaded after it, and oneDNN
        // and ggml would take it for theirs.
        let ggml = Ggml::load(&places);
        let onednn = OneDnn::load(&places);
        let blas: Vec<Option<Blas>> = blas::KINDS.iter().map(|kind| (kind.load)(&places)).collect();
        let python = Python::find(&places);
        let mut notes = vec![rust::note()];
        for (kind, found) in blas::KINDS.iter().zip(&blas) {
            notes.push(note(kind.column, kind.how, found.as_ref().map(|found| &found.version)));
        }
        notes.push(note("oneDNN", onednn::HOW, onednn.as_ref().map(|found| &found.version)));
        notes.push(note("ggml", ggml::HOW, ggml.as_ref().map(|found| &found.version)));
        notes.push(note("PyTorch, ONNX Runtime", python::HOW, python.as_ref().map(|found| &found.versions)));
        let python = python.map(|python| Rc::new(RefCell::new(python)));
        Self { blas: blas.into_iter().flatten().collect(), onednn, ggml, python, notes }
    }

    /// How many threads the libraries that keep this to themselves shall use.
    pub fn set_threads(&self, threads: usize) {
        for blas in &self.blas {
            blas.set_threads(threads);
        }
        if let Some(onednn) = &self.onednn {
            onednn.set_threads(threads);
        }
    }
}

fn note(name: &str, how: &str, version: Option<&String>) -> String {
    match version {
        Some(version) => format!("{name}: {version}"),
        None => format!("{name}: absent; {how}"),
    }
}

/// Threads of these libraries spin after their work for up to 200 ms, in the turns of others. This
/// lets them sleep after about a millisecond; within a batch the next call comes sooner than that.
fn keep_idle_threads_quiet() {
    for (variable, value) in [("KMP_BLOCKTIME", "1"), ("OPENBLAS_THREAD_TIMEOUT", "21"), ("GOMP_SPINCOUNT", "60000")] {
        if std::env::var_os(variable).is_none() {
            // SAFETY: the program has only this thread so far.
            unsafe { std::env::set_var(variable, value) };
        }
    }
}
