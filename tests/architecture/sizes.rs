//! Files of 400 lines at most, folders of 30 files at most.

use std::collections::BTreeMap;

use crate::files::{self, Files, folder};

const LINES: usize = 400;
const FILES: usize = 30;

const FOLDERS: [&str; 8] = [
    "benches", "build", "crates", "examples", "native", "shaders", "src", "tests",
];

/// Files that may be longer, and why.
const LONG_FILES: [(&str, &str); 5] = [
    (
        "native/include/metal_bridge.h",
        "the C ABI, read from the top to the bottom",
    ),
    (
        "native/software/tests/engine/divergence_programs_test.cpp",
        "a generator and its model",
    ),
    (
        "native/software/tests/msl/language_test.cpp",
        "one list of cases",
    ),
    (
        "native/software/tests/msl/vector_test.cpp",
        "one list of cases",
    ),
    ("src/sys/mod.rs", "metal_bridge.h in the same order"),
];

/// Folders that may hold more, and why.
const LARGE_FOLDERS: [(&str, &str); 4] = [
    (
        "native/software/framework/command",
        "a class is a header and a file",
    ),
    (
        "native/software/include/Metal",
        "Apple's names for its headers",
    ),
    (
        "native/software/msl/include/preprocess",
        "Apple's names for its headers",
    ),
    (
        "tests/compile_fail/cases",
        "a case is a source and what the compiler says",
    ),
];

/// Data, prose and what programs write.
const NOT_CODE: [&str; 6] = ["json", "lock", "md", "stderr", "txt", "jinja"];

fn too_long(files: &Files, exceptions: &[(&str, &str)]) -> Vec<String> {
    let is_code = |path: &str| {
        let extension = path.rsplit_once('.').map_or("", |(_, extension)| extension);
        !NOT_CODE.contains(&extension)
    };
    let lengths = files
        .iter()
        .filter(|(path, _)| is_code(path))
        .map(|(path, text)| (path.clone(), text.lines().count()));
    beyond(lengths, LINES, exceptions)
}

fn too_large(files: &Files, exceptions: &[(&str, &str)]) -> Vec<String> {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for path in files.keys() {
        *counts.entry(folder(path).to_owned()).or_default() += 1;
    }
    beyond(counts.into_iter(), FILES, exceptions)
}

/// What is beyond the limit and no exception; and exceptions that are not needed any more.
fn beyond(
    sizes: impl Iterator<Item = (String, usize)>,
    limit: usize,
    exceptions: &[(&str, &str)],
) -> Vec<String> {
    let mut needed = BTreeMap::from_iter(exceptions.iter().copied());
    let mut wrong = Vec::new();
    for (path, size) in sizes {
        if size > limit && needed.remove(path.as_str()).is_none() {
            wrong.push(format!("{path}: {size}, more than {limit}"));
        }
    }
    let idle = needed
        .keys()
        .map(|path| format!("{path} needs no exception"));
    wrong.into_iter().chain(idle).collect()
}

#[test]
fn no_file_is_longer_than_400_lines() {
    files::assert_none(&too_long(&files::read(&FOLDERS), &LONG_FILES));
}

#[test]
fn no_folder_holds_more_than_30_files() {
    files::assert_none(&too_large(&files::read(&FOLDERS), &LARGE_FOLDERS));
}

#[test]
fn what_is_too_large_is_found() {
    let long = "x\n".repeat(LINES + 1);
    let files = files::made_up(&[("a/a.rs", &long), ("a/b.rs", &long[2..]), ("a/c.rs", &long)]);
    let exceptions = [("a/c.rs", "a reason"), ("a/b.rs", "not needed")];
    assert_eq!(
        too_long(&files, &exceptions),
        ["a/a.rs: 401, more than 400", "a/b.rs needs no exception"]
    );
    let many: Vec<_> = (0..=FILES).map(|n| format!("b/{n}.rs")).collect();
    let many: Vec<_> = many.iter().map(|path| (path.as_str(), "")).collect();
    let mut files = files::made_up(&many);
    assert_eq!(too_large(&files, &[]), ["b: 31, more than 30"]);
    files.pop_first();
    files::assert_none(&too_large(&files, &[]));
}
