//! Criterion: one file, and a folder.

use import::{CriterionFile, criterion_folder};

use super::{fixture, near, source, try_read, values};

fn files(paths: &[&str]) -> Vec<CriterionFile> {
    let file = |path: &&str| CriterionFile { path: (*path).to_owned(), text: fixture(&format!("criterion/{path}")) };
    paths.iter().map(file).collect()
}

#[test]
fn a_folder_has_a_run_for_each_sitting() {
    let files = files(&[
        "gemm/512/base/benchmark.json",
        "gemm/512/base/sample.json",
        "gemm/512/change/estimates.json",
        "gemm/512/new/benchmark.json",
        "gemm/512/new/estimates.json",
        "gemm/512/new/sample.json",
    ]);
    let found = criterion_folder(&files, &source("criterion")).expect("it can be read");
    assert_eq!(found.runs.len(), 2);
    let (base, new) = (&found.runs[0], &found.runs[1]);
    assert_eq!(new.imported.as_ref().and_then(|origin| origin.part.as_deref()), Some("new"));
    let walls = values(new, "gemm/512", "wall_s");
    near(walls[0], 2.5e-6);
    near(walls[1], 2.6e-6);
    assert_eq!(values(new, "gemm/512", "iterations"), [10.0, 20.0, 30.0]);
    assert_eq!(new.rows[0].bytes, Some(3_145_728.0));
    assert_eq!(values(base, "gemm/512", "wall_s").len(), 2);
    assert_eq!(found.unread.len(), 1, "{:?}", found.unread);
    assert!(found.unread[0].text.contains("change/estimates.json"));
}

#[test]
fn a_copy_of_a_sitting_is_none() {
    let mut files = files(&["gemm/512/new/benchmark.json", "gemm/512/new/sample.json"]);
    let copies: Vec<CriterionFile> =
        files.iter().map(|file| CriterionFile { path: file.path.replace("/new/", "/base/"), ..file.clone() }).collect();
    files.extend(copies);
    let found = criterion_folder(&files, &source("criterion")).expect("it can be read");
    assert_eq!((found.runs.len(), &*found.unread[0].why), (1, "a copy of `new`"));
    assert!(criterion_folder(&[], &source("criterion")).is_err());
    files.truncate(2);
    files[1].text = "{".to_owned();
    let error = criterion_folder(&files, &source("criterion")).expect_err("there is nothing left");
    assert!(error.to_string().contains("gemm/512/new"), "{error}");
}

#[test]
fn one_file_alone() {
    let found = try_read("sample.json", &fixture("criterion/gemm/512/new/sample.json")).expect("it can be read");
    assert_eq!((found.format.name(), found.runs[0].samples.len()), ("criterion", 3));
    let found = try_read("estimates.json", &fixture("criterion/gemm/512/new/estimates.json")).expect("it can be read");
    near(values(&found.runs[0], "estimates.json", "wall_s")[0], 2.5e-6);
    assert!(found.runs[0].imported.as_ref().is_some_and(|origin| origin.summarised));
}

#[test]
fn a_change_is_no_time() {
    let error = try_read("estimates.json", &fixture("criterion/gemm/512/change/estimates.json")).expect_err("a ratio");
    assert_eq!(
        error.to_string(),
        "these are Criterion's estimates of a relative change (-14.0 %, CI -21.0 to -9.0 %), not of a time"
    );
    assert!(error.hint().is_some_and(|hint| hint.contains("new/estimates.json")));
}
