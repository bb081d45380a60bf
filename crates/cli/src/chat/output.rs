//! An answer as it is printed, piece by piece.

use std::io::{self, Write};

use crate::terminal::{is_watched, shown};

const COLOR: &str = "\x1b[36m";
const PLAIN: &str = "\x1b[0m";

/// Prints an answer, and keeps its text.
pub struct Answer<W: Write> {
    out: W,
    is_colored: bool,
    text: String,
    written: io::Result<()>,
}

impl<W: Write> Answer<W> {
    /// Colours are for terminals whose user has not set `NO_COLOR`.
    pub fn new(out: W) -> Self {
        let is_refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        Self {
            out,
            is_colored: is_watched() && !is_refused,
            text: String::new(),
            written: Ok(()),
        }
    }

    /// Prints `text`; after an error nothing more.
    pub fn write(&mut self, text: &str) {
        if self.written.is_ok() {
            self.written = self.print(text);
        }
        self.text.push_str(text);
    }

    fn print(&mut self, text: &str) -> io::Result<()> {
        let shown = shown(text);
        match self.is_colored {
            // Each piece takes its colour back: a signal can end the program between any two.
            true => write!(self.out, "{COLOR}{shown}{PLAIN}")?,
            false => self.out.write_all(shown.as_bytes())?,
        }
        self.out.flush()
    }

    /// Whether what is written can still be printed.
    pub fn is_read(&self) -> bool {
        self.written.is_ok()
    }

    /// Ends the line, and gives the text. An answer that failed before its first word has no line.
    pub fn finish(mut self, has_failed: bool) -> io::Result<String> {
        self.written?;
        if has_failed && self.text.is_empty() {
            return Ok(self.text);
        }
        self.out.write_all(b"\n")?;
        self.out.flush()?;
        Ok(self.text)
    }
}
