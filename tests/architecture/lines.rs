//! Lines of native code and of shaders have at most 120 characters, also where clang-format leaves them as they are: in comments, in
//! strings and in Metal's files. In tests a string may be longer, and so may a kernel that stands in one. Rust has rustfmt's rule.

use crate::files::{self, Files};

const CHARACTERS: usize = 120;

const NATIVE: [&str; 8] = ["c", "cpp", "h", "hpp", "inc", "m", "metal", "mm"];

/// The numbers and lines of a text that are not in the raw strings of C++.
fn outside_raw_strings(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut end: Option<String> = None;
    (1..).zip(text.lines()).filter(move |(_, line)| {
        let mut rest = *line;
        let was_inside = end.is_some();
        loop {
            let found = match &end {
                Some(close) => rest.split_once(&**close).map(|(_, after)| (after, None)),
                None => rest.split_once("R\"").and_then(|(_, open)| {
                    let (delimiter, after) = open.split_once('(')?;
                    Some((after, Some(format!("){delimiter}\""))))
                }),
            };
            let Some((after, next)) = found else { break };
            (rest, end) = (after, next);
        }
        !was_inside && end.is_none()
    })
}

fn long_lines(files: &Files) -> Vec<String> {
    let mut found = Vec::new();
    for (path, text) in files {
        let extension = path.rsplit_once('.').map_or("", |(_, extension)| extension);
        if !NATIVE.contains(&extension) {
            continue;
        }
        let is_test = path.starts_with("tests/") || path.contains("/tests/");
        let lines: Box<dyn Iterator<Item = (usize, &str)>> = if is_test {
            Box::new(outside_raw_strings(text).filter(|(_, line)| !line.contains('"')))
        } else {
            Box::new((1..).zip(text.lines()))
        };
        for (number, line) in lines {
            let characters = line.chars().count();
            if characters > CHARACTERS {
                found.push(format!(
                    "{path}:{number}: {characters}, more than {CHARACTERS}"
                ));
            }
        }
    }
    found
}

#[test]
fn no_line_of_native_code_has_more_than_120_characters() {
    files::assert_none(&long_lines(&files::read(&[""])));
}

#[test]
fn a_long_line_is_found() {
    let long = "x".repeat(CHARACTERS);
    let text = format!("{long}\n{long}x\nf(R\"q(\n{long}x)\"x\n)q\"); g(\"{long}\");\n{long}x\n");
    let files = files::made_up(&[
        ("a.rs", &text),
        ("shaders/a.metal", &text),
        ("tests/a.c", &text),
    ]);
    let lines_found: Vec<_> = long_lines(&files)
        .iter()
        .map(|line| line.split(": ").next().unwrap().to_owned())
        .collect();
    let source = [2, 4, 5, 6].map(|line| format!("shaders/a.metal:{line}"));
    let test = [2, 6].map(|line| format!("tests/a.c:{line}"));
    assert_eq!(lines_found, [&source[..], &test[..]].concat());
}
