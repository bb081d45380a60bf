//! Headers in sources: Metal's run-time compiler has no path to look for them.

mod tokens;

use std::collections::HashSet;

use tokens::{Kind, Tokens, unspliced};

/// The source `text` with each `#include "file"` of one of `headers` replaced by that header, ready for
/// [`Device::new_library_with_source`](crate::Device::new_library_with_source). `headers` are pairs of names and texts. An
/// include finds the header of its name, or else the first one with the same last part. `#line` directives keep the names and
/// lines of the files in diagnostics; `name` is the source's own.
///
/// A header stands where it is included first, as if it began with `#pragma once`: other includes of it give nothing, also if
/// `#if` leaves out the first. `#import` is the same as `#include`, and `__has_include("file")` is 1 for these headers. Names
/// that macros make are not seen.
///
/// ```
/// let headers = [("halves.h", "inline float half_of(float x) { return x / 2; }\n")];
/// let source = metal_bridge::inline_headers("k.metal", "#include \"halves.h\"\n", &headers);
/// assert!(source.contains("half_of") && !source.contains("#include"));
/// ```
pub fn inline_headers(name: &str, text: &str, headers: &[(&str, &str)]) -> String {
    let mut inlined = Inlined {
        headers,
        seen: HashSet::new(),
        source: String::with_capacity(text.len() + 8192),
    };
    inlined.append(name, text);
    inlined.source
}

struct Inlined<'a> {
    headers: &'a [(&'a str, &'a str)],
    /// Headers that are there, by their indices.
    seen: HashSet<usize>,
    source: String,
}

/// A file that is not at its end yet.
struct Open<'a> {
    /// As it stands between quotes.
    name: String,
    text: &'a str,
    tokens: Tokens<'a>,
    /// The number of the line that the next token is on.
    line: usize,
    /// Only blanks have been on this line so far.
    at_start: bool,
    /// What a `#line` says of the line after it.
    renamed: Option<(usize, Option<String>)>,
    /// Comments behind the include that has just been replaced.
    comments: Option<String>,
}

/// What a `#` begins.
enum Directive<'a> {
    Include {
        header: usize,
        after: Tokens<'a>,
    },
    PragmaOnce {
        after: Tokens<'a>,
    },
    Line {
        number: usize,
        name: Option<&'a str>,
    },
    Other,
}

impl<'a> Open<'a> {
    fn new(name: &str, text: &'a str) -> Open<'a> {
        // A mark of the byte order may only begin a source.
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        Open {
            name: name.replace('\\', "\\\\").replace('"', "\\\""),
            text,
            tokens: Tokens::of(text),
            line: 1,
            at_start: true,
            renamed: None,
            comments: None,
        }
    }

    /// Goes on behind the tokens that were read ahead.
    fn skip_to(&mut self, after: Tokens<'a>) {
        self.line += self.tokens.until(&after).matches('\n').count();
        self.tokens = after;
    }

    /// Goes on with the next line, if this one has no more tokens.
    fn end_line(&mut self) {
        if let Some((kind, newline)) = self.tokens.next() {
            self.pass(kind, newline);
        }
    }

    fn pass(&mut self, kind: Kind, token: &str) {
        match kind {
            Kind::Newline => {
                self.at_start = true;
                let (line, name) = self.renamed.take().unwrap_or((self.line + 1, None));
                self.line = line;
                self.name = name.unwrap_or_else(|| std::mem::take(&mut self.name));
            }
            _ => {
                self.at_start &= kind == Kind::Blank;
                self.line += token.matches('\n').count();
            }
        }
    }
}

impl<'a> Inlined<'a> {
    fn append(&mut self, name: &str, text: &'a str) {
        // A list and no recursion: headers may include each other deeper than the stack is.
        let mut open = vec![Open::new(name, text)];
        self.say_line(&open[0]);
        while let Some(file) = open.last_mut() {
            if let Some(comments) = file.comments.take() {
                if comments.is_empty() {
                    file.end_line();
                }
                self.say_line(file);
                self.source.push_str(&comments);
                file.line += comments.matches('\n').count();
            }
            let Some((kind, token)) = file.tokens.next() else {
                let text = file.text;
                open.pop();
                self.end(text);
                continue;
            };
            if file.at_start && token == "#" {
                match self.directive(file.tokens.clone()) {
                    Directive::Include { header, after } => {
                        file.skip_to(after);
                        file.comments = Some(comments_of_line(file));
                        if self.seen.insert(header) {
                            let (name, text) = self.headers[header];
                            open.push(Open::new(name, text));
                            self.say_line(&open[open.len() - 1]);
                        }
                        continue;
                    }
                    // A header's text is no main file, whose `#pragma once` the compiler warns of.
                    Directive::PragmaOnce { after } => {
                        file.skip_to(after);
                        continue;
                    }
                    Directive::Line { number, name } => {
                        file.renamed = Some((number, name.map(str::to_owned)));
                    }
                    Directive::Other => {}
                }
            } else if token == "__has_include" {
                if let Some(after) = self.known_header(file.tokens.clone()) {
                    file.pass(kind, token);
                    file.skip_to(after);
                    self.source.push('1');
                    continue;
                }
            }
            file.pass(kind, token);
            self.source.push_str(token);
        }
    }

    /// Ends a file's last line.
    fn end(&mut self, text: &str) {
        if !self.source.ends_with('\n') {
            self.source.push('\n');
        }
        // The last line goes on with the next one, which has to be empty.
        let last = text.strip_suffix('\n').unwrap_or(text);
        if last.strip_suffix('\r').unwrap_or(last).ends_with('\\') {
            self.source.push('\n');
        }
    }

    /// Says which line of which file the next one is.
    fn say_line(&mut self, file: &Open<'_>) {
        if !self.source.is_empty() && !self.source.ends_with('\n') {
            self.source.push('\n');
        }
        self.source
            .push_str(&format!("#line {} \"{}\"\n", file.line, file.name));
    }

    fn directive(&self, mut tokens: Tokens<'a>) -> Directive<'a> {
        let Some((Kind::Word, word)) = tokens.next_of_line() else {
            return Directive::Other;
        };
        let operand = tokens.next_of_line();
        match (&*unspliced(word), operand) {
            ("include" | "import", Some((Kind::Quoted, operand))) => match self.header(operand) {
                Some(header) => Directive::Include {
                    header,
                    after: tokens,
                },
                None => Directive::Other,
            },
            ("pragma", Some((Kind::Word, operand))) if unspliced(operand) == "once" => {
                Directive::PragmaOnce { after: tokens }
            }
            // The compiler refuses larger numbers.
            ("line", Some((Kind::Word, number))) => match unspliced(number).parse::<u32>() {
                Ok(number) => Directive::Line {
                    number: number as usize,
                    name: match tokens.next_of_line() {
                        Some((Kind::Quoted, name)) => between_quotes(name),
                        _ => None,
                    },
                },
                Err(_) => Directive::Other,
            },
            _ => Directive::Other,
        }
    }

    /// What follows `("file")`, if the file is one of the headers.
    fn known_header(&self, mut tokens: Tokens<'a>) -> Option<Tokens<'a>> {
        let (_, bracket) = tokens.next_of_line()?;
        let (_, operand) = tokens.next_of_line()?;
        let (_, end) = tokens.next_of_line()?;
        let is_known = bracket == "(" && end == ")" && self.header(operand).is_some();
        is_known.then_some(tokens)
    }

    /// The index of the header that is named in quotes.
    fn header(&self, operand: &str) -> Option<usize> {
        let name = between_quotes(operand)?;
        let position = |is_it: &dyn Fn(&str) -> bool| {
            self.headers.iter().position(|(header, _)| is_it(header))
        };
        position(&|header| header == name)
            .or_else(|| position(&|header| last_part(header) == last_part(name)))
    }
}

/// The comments up to the end of the line: the last one may go on in the next. The compiler ignores anything else there.
fn comments_of_line(file: &mut Open<'_>) -> String {
    let mut comments = String::new();
    loop {
        let before = file.tokens.clone();
        match file.tokens.next() {
            Some((Kind::Newline, _)) | None => {
                file.tokens = before;
                return comments;
            }
            Some((Kind::Blank, comment)) if comment.starts_with('/') => comments.push_str(comment),
            Some((_, ignored)) => file.line += ignored.matches('\n').count(),
        }
    }
}

fn between_quotes(text: &str) -> Option<&str> {
    text.strip_prefix('"')?.strip_suffix('"')
}

fn last_part(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or(name)
}

#[cfg(test)]
mod tests;
