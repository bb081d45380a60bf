//! What a person sees: text of models and files, without the characters that would do something to the terminal.

use std::borrow::Cow;
use std::io::{self, IsTerminal};

/// Whether a person sees what is printed.
pub fn is_watched() -> bool {
    io::stdout().is_terminal()
}

/// `text` as it is printed: a person does not get a model's escape sequences, which would move the cursor and change colours.
pub fn shown(text: &str) -> Cow<'_, str> {
    match is_watched() {
        true => harmless(text),
        false => text.into(),
    }
}

/// `text` without control characters but for ends of lines and tabs.
pub fn harmless(text: &str) -> Cow<'_, str> {
    let is_harmful = |c: char| c.is_control() && c != '\n' && c != '\t';
    match text.contains(is_harmful) {
        true => text.replace(is_harmful, "").into(),
        false => text.into(),
    }
}
