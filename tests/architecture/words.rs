//! Words that the field has a name for: identifiers, comments and messages have that name.

use std::collections::BTreeSet;

use crate::files::{self, Files};

/// The folders where command buffers and transfers take slots, and their tests; and where memory is an address range.
const SLOTS: &[&str] = &[
    "native/bridge/",
    "native/include/",
    "native/software/sanitizer/",
    "src/memory/",
    "src/metal/",
    "tests/handles/",
    "tests/memory/",
    "tests/native/",
];
const EVERYWHERE: &[&str] = &[""];

/// Where work has a position in a queue's order.
const QUEUES: &[&str] = &[
    "native/bridge/command/",
    "native/bridge/memory/",
    "native/software/framework/command/",
    "native/software/framework/sync/",
    "src/memory/",
    "src/metal/access/",
    "src/metal/recording.rs",
    "src/metal/slots.rs",
    "src/metal/submission.rs",
];
/// Where results, arguments and lvalues are: only a transfer has places.
const NO_TRANSFERS: &[&str] = &[
    "crates/cudart/src/api/devices.rs",
    "crates/cudart/src/api/events.rs",
    "crates/cudart/src/api/kernels.rs",
    "crates/cudart/src/api/memory.rs",
    "crates/cudart/src/api/out.rs",
    "crates/cudart/src/api/pointers.rs",
    "crates/cudart/src/api/streams.rs",
    "crates/cudart/src/runtime/modules.rs",
    "crates/cudart/src/runtime/parameters/",
    "native/bridge/mps/",
    "native/software/msl/passes/",
    "shaders/tensor/tensor.h",
    "tests/ops/tensor/layouts.rs",
];

/// A private word, what is said instead, and where. A star stands for any word.
const WORDS: [(&str, &str, &[&str]); 16] = [
    ("carrier", "proxy stream", EVERYWHERE),
    ("chore", "task", EVERYWHERE),
    ("count dispatches", "count launches", EVERYWHERE),
    // Metal's counters are those of its counter sample buffers.
    ("counter", "count", &["crates/cli/", "crates/llama/"]),
    ("crossing", "bounce buffer", EVERYWHERE),
    ("fate", "completion", EVERYWHERE),
    ("home", "owner pool", EVERYWHERE),
    ("keeper", "timer", EVERYWHERE),
    ("leg", "host copy", EVERYWHERE),
    ("let go", "release", EVERYWHERE),
    ("let * go", "release", EVERYWHERE),
    ("lockstep", "simd sync", &["native/software/"]),
    ("on record", "recorded", EVERYWHERE),
    ("place", "result, index, offset or lvalue", NO_TRANSFERS),
    ("room", "slot or range", SLOTS),
    // Lanes run in turn.
    ("turn", "position", QUEUES),
];

/// The words of a line and of its identifiers, in lower case: `mtbi_record_addLeg` has four. Signs that end a phrase stand
/// between them.
fn words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut before = ' ';
    for letter in line.chars() {
        let continues = letter.is_alphabetic()
            && before.is_alphabetic()
            && !(letter.is_uppercase() && before.is_lowercase());
        if !continues {
            words.push(String::new());
        }
        if letter.is_ascii_alphabetic() {
            words.last_mut().unwrap().push(letter.to_ascii_lowercase());
        } else if letter.is_alphabetic() || !joins(letter) {
            words.last_mut().unwrap().extend(letter.to_lowercase());
        }
        before = letter;
    }
    words.retain(|word| !word.is_empty());
    words
}

/// Whether the words before and behind a sign can be one phrase, over the end of a line of a comment too.
fn joins(sign: char) -> bool {
    sign.is_whitespace() || "_*/".contains(sign)
}

fn private_words(files: &Files) -> Vec<String> {
    let mut found = Vec::new();
    let first = |phrase: &'static str| phrase.split(' ').next().unwrap();
    let firsts: BTreeSet<&str> = WORDS.map(|(private, ..)| first(private)).into();
    for (path, text) in files {
        let of_line = |(index, line)| words(line).into_iter().map(move |word| (index + 1, word));
        // The folder that is a user's home, and a type of Prometheus's.
        let allowed = [
            "$HOME",
            "\"HOME\"",
            "XDG_CACHE_HOME",
            "HOME=/",
            "\"counter\"",
        ];
        let text = allowed
            .iter()
            .fold(text.clone(), |text, allowed| text.replace(allowed, ""));
        let words: Vec<(usize, String)> = text.lines().enumerate().flat_map(of_line).collect();
        for (start, (line, word)) in words.iter().enumerate() {
            // Nearly all words begin nothing.
            if !firsts.contains(singular(word)) {
                continue;
            }
            let said = words[start..].iter().map(|(_, word)| word.as_str());
            for (private, instead, folders) in WORDS {
                let is_said = begins_with(said.clone(), private);
                if is_said && folders.iter().any(|folder| path.starts_with(folder)) {
                    found.push(format!("{path}:{line}: {private}: say {instead}"));
                }
            }
        }
    }
    found
}

fn singular(word: &str) -> &str {
    word.strip_suffix('s').unwrap_or(word)
}

/// Whether the first of these words are the private ones, or the first of them with an `s`.
fn begins_with<'a>(mut words: impl Iterator<Item = &'a str>, private: &str) -> bool {
    let mut rest = private.split(' ');
    let first = rest.next().zip(words.next());
    first.is_some_and(|(private, word)| singular(word) == private)
        && rest.all(|private| {
            words
                .next()
                .is_some_and(|word| private == "*" || word == private)
        })
}

#[test]
fn all_text_uses_the_words_of_the_field() {
    let mut files = files::read(&["", ".ci", ".github"]);
    // Other projects' words and names, getenv("HOME"), and the list itself.
    let others = [
        "tests/foreign/",
        "models/",
        "Cargo.lock",
        "native/software/msl/compile/cache.",
        "tests/architecture/words.rs",
    ];
    files.retain(|path, _| !others.iter().any(|other| path.starts_with(other)));
    files::assert_none(&private_words(&files));
}

#[test]
fn private_words_are_found() {
    let text = "int mtbi_record_add_leg(void);\nstruct HostLegs x;\n// a leg\nlegacy(\"homes\");\n\
                #define MTBI_KEEPER_H\nroom();\n/* It lets\n * go of it on record. Is based on records. */\nf(on, record);\n\
                // Whoever lets one\n// go. Let the kernel go. It lets the other kernel go on in $HOME.\n";
    let files = files::made_up(&[("a.c", text), ("tests/memory/a.rs", "fn no_room() {}")]);
    let found = private_words(&files);
    let lines_found: Vec<_> = found
        .iter()
        .map(|line| line.split(": ").next().unwrap())
        .collect();
    let expected = [
        "a.c:1",
        "a.c:2",
        "a.c:3",
        "a.c:4",
        "a.c:5",
        "a.c:7",
        "a.c:8",
        "a.c:10",
        "tests/memory/a.rs:1",
    ];
    assert_eq!(lines_found, expected);
}
