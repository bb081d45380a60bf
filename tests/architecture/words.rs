//! Words that the field has a name for: identifiers have that name.

use crate::files::{self, Files};

/// A private word, and what is said instead.
const WORDS: [(&str, &str); 7] = [
    ("carrier", "proxy stream"),
    ("chore", "task"),
    ("crossing", "bounce buffer"),
    ("fate", "completion"),
    ("home", "owner pool"),
    ("keeper", "timer"),
    ("leg", "host copy"),
];

/// The words that a line's identifiers are made of, in lower case: `mtbi_record_addLeg` has four.
fn words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut before = ' ';
    for letter in line.chars() {
        let begins = letter.is_uppercase() && before.is_lowercase();
        if !letter.is_alphabetic() || begins {
            words.push(String::new());
        }
        if letter.is_alphabetic() {
            words.last_mut().unwrap().extend(letter.to_lowercase());
        }
        before = letter;
    }
    words.retain(|word| !word.is_empty());
    words
}

/// The code of a line: without a comment and without what is in quotes.
fn code(line: &str) -> String {
    let trimmed = line.trim_start();
    if ["//", "/*", "* ", "#!"]
        .iter()
        .any(|mark| trimmed.starts_with(mark))
    {
        return String::new();
    }
    let line = line.split("//").next().unwrap_or("");
    line.split('"').step_by(2).collect::<Vec<_>>().join(" ")
}

fn private_words(files: &Files) -> Vec<String> {
    let mut found = Vec::new();
    for (path, text) in files {
        for (index, line) in text.lines().enumerate() {
            for word in words(&code(line)) {
                let one = word.strip_suffix('s').unwrap_or(&word);
                if let Some((_, instead)) = WORDS.iter().find(|(private, _)| *private == one) {
                    found.push(format!("{path}:{}: {word}: say {instead}", index + 1));
                }
            }
        }
    }
    found
}

#[test]
fn identifiers_use_the_words_of_the_field() {
    let mut files = files::read(&["benches", "build", "crates", "native", "src", "tests"]);
    // Other projects' words, and the folder that is a user's home.
    let others = ["tests/foreign/", "native/software/msl/compile/cache.cpp"];
    files.retain(|path, _| !others.iter().any(|other| path.starts_with(other)));
    files::assert_none(&private_words(&files));
}

#[test]
fn private_words_are_found() {
    let files = files::made_up(&[(
        "a.c",
        "int mtbi_record_add_leg(void);\nstruct HostLegs x;\n// a leg\nlegacy(\"a leg\"); // leg\nhomes = 1;\n#define MTBI_KEEPER_H\n",
    )]);
    let found = private_words(&files);
    let lines: Vec<_> = found.iter().map(|line| &line[..5]).collect();
    assert_eq!(lines, ["a.c:1", "a.c:2", "a.c:5", "a.c:6"]);
}
