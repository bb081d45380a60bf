//! A source as the preprocessor reads it: just so far that directives are told from comments and strings.

use std::borrow::Cow;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    Newline,
    /// Spaces, comments, and ends of lines after a backslash.
    Blank,
    /// A name or a number.
    Word,
    /// A string or a character, with its quotes.
    Quoted,
    /// A single character.
    Other,
}

/// What is left of a text.
#[derive(Clone)]
pub(super) struct Tokens<'a> {
    rest: &'a str,
}

impl<'a> Tokens<'a> {
    pub fn of(text: &'a str) -> Tokens<'a> {
        Tokens { rest: text }
    }

    /// The text from here to where `later` is.
    pub fn until(&self, later: &Tokens<'_>) -> &'a str {
        &self.rest[..self.rest.len() - later.rest.len()]
    }

    /// The next token of the line that is not blank.
    pub fn next_of_line(&mut self) -> Option<(Kind, &'a str)> {
        let token = self.find(|(kind, _)| *kind != Kind::Blank)?;
        (token.0 != Kind::Newline).then_some(token)
    }
}

impl<'a> Iterator for Tokens<'a> {
    type Item = (Kind, &'a str);

    fn next(&mut self) -> Option<(Kind, &'a str)> {
        let (kind, length) = token(self.rest)?;
        let (token, rest) = self.rest.split_at(length);
        self.rest = rest;
        Some((kind, token))
    }
}

fn token(text: &str) -> Option<(Kind, usize)> {
    let first = text.chars().next()?;
    let spliced = splice(text);
    Some(match first {
        '\n' => (Kind::Newline, 1),
        _ if spliced > 0 => (Kind::Blank, spliced),
        '/' if text.starts_with("/*") => (Kind::Blank, through(text, 2, "*/")),
        '/' if text.starts_with("//") => (Kind::Blank, line_comment(text)),
        '"' | '\'' => (Kind::Quoted, quoted(text, first)),
        _ if first.is_whitespace() => (Kind::Blank, first.len_utf8()),
        _ if is_of_word(first) => {
            let length = word(text);
            match raw_string(&text[length..]) {
                Some(raw)
                    if ["R", "LR", "uR", "UR", "u8R"].contains(&&*unspliced(&text[..length])) =>
                {
                    (Kind::Quoted, length + raw)
                }
                _ => (Kind::Word, length),
            }
        }
        _ => (Kind::Other, first.len_utf8()),
    })
}

/// The text without the ends of lines after a backslash.
pub(super) fn unspliced(text: &str) -> Cow<'_, str> {
    match text.contains('\\') {
        true => text.replace("\\\r\n", "").replace("\\\n", "").into(),
        false => text.into(),
    }
}

/// The length of a backslash at the end of a line, with that end; 0 if the text does not begin so.
fn splice(text: &str) -> usize {
    let ends = ["\\\n", "\\\r\n"];
    let end = ends.iter().find(|end| text.starts_with(**end));
    end.map_or(0, |end| end.len())
}

fn is_of_word(character: char) -> bool {
    character == '_' || character == '$' || character.is_alphanumeric()
}

fn word(text: &str) -> usize {
    let is_number = text.starts_with(|first: char| first.is_ascii_digit());
    let mut length = 0;
    loop {
        // A number may have single quotes between its digits.
        let quote = usize::from(is_number && length > 0 && text[length..].starts_with('\''));
        let skipped = length + quote + splice(&text[length + quote..]);
        match text[skipped..].chars().next() {
            Some(next) if is_of_word(next) => length = skipped + next.len_utf8(),
            _ => return length,
        }
    }
}

/// The length up to and with `end`, which is looked for from `start` on.
fn through(text: &str, start: usize, end: &str) -> usize {
    let found = text[start..].find(end);
    found.map_or(text.len(), |at| start + at + end.len())
}

fn line_comment(text: &str) -> usize {
    let mut length = 0;
    loop {
        length += text[length..].find('\n').unwrap_or(text.len() - length);
        let line = text[..length].strip_suffix('\r').unwrap_or(&text[..length]);
        if length == text.len() || !line.ends_with('\\') {
            return length;
        }
        length += 1;
    }
}

/// A string ends at its quote, or with the line if it has none.
fn quoted(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, character) in text.char_indices().skip(1) {
        match character {
            '\n' if !escaped => return at,
            _ if escaped => escaped = character == '\r',
            '\\' => escaped = true,
            _ if character == quote => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// The length of a raw string's quotes and what is in them.
fn raw_string(text: &str) -> Option<usize> {
    let (delimiter, _) = text.strip_prefix('"')?.split_once('(')?;
    let is_delimiter = delimiter.len() <= 16 && !delimiter.contains([' ', ')', '\\', '\n', '"']);
    is_delimiter.then(|| through(text, delimiter.len() + 2, &format!("){delimiter}\"")))
}
