//! The headers declare every function that the library exports, and no other.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// The names that `of` finds in the lines of a folder of this package.
fn names(folder: &str, of: impl Fn(&str) -> Option<&str>) -> BTreeSet<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let mut names = BTreeSet::new();
    for file in fs::read_dir(folder).expect("a folder") {
        let text = fs::read_to_string(file.expect("an entry").path()).expect("text");
        for list in text.lines().filter_map(&of) {
            let all = list.split([',', ';']).map(str::trim);
            names.extend(all.filter(|name| !name.is_empty()).map(str::to_owned));
        }
    }
    names
}

/// A declaration, or the second name of a function that the first is defined as.
fn declared(line: &str) -> Option<&str> {
    let results = ["cudaError_t ", "const char *"];
    if let Some(name) = results.iter().find_map(|result| line.strip_prefix(result)) {
        return Some(name.split_once('(')?.0);
    }
    let (_, second) = line.strip_prefix("#define ")?.split_once(' ')?;
    second.starts_with("cuda").then_some(second)
}

/// What a line of `calls!` lists, or a function beside it.
fn exported(line: &str) -> Option<&str> {
    if let Some((_, function)) = line.split_once("extern \"C\" fn ") {
        return Some(function.split_once('(')?.0).filter(|name| name.starts_with("cuda"));
    }
    let listed = line
        .strip_prefix("    ")
        .filter(|line| line.starts_with("cuda"))?;
    Some(listed.split_once(" = ").map_or(listed, |(names, _)| names))
}

#[test]
fn the_headers_declare_what_the_library_exports() {
    let (declared, exported) = (names("include", declared), names("src/api", exported));
    assert!(exported.len() > 80, "{} functions", exported.len());
    let differences: Vec<_> = declared.symmetric_difference(&exported).collect();
    assert!(differences.is_empty(), "on one side alone: {differences:?}");
}
