//! Lines of the user: edited on a terminal, otherwise as they come.

use std::io::{self, BufRead, IsTerminal, Read};

use rustyline::DefaultEditor;
use rustyline::error::ReadlineError;

use crate::failure::Failure;
use crate::terminal::is_watched;

/// The most bytes of a line, with its end: as many as a request to the server may have.
const MAX_LINE: u64 = 4 << 20;

pub enum Input {
    Terminal(Box<DefaultEditor>),
    Stream,
}

pub enum Line {
    Text(String),
    /// Ctrl-C while the line was edited.
    Interrupted,
    End,
}

impl Input {
    pub fn open() -> Result<Self, Failure> {
        if io::stdin().is_terminal() && is_watched() {
            let editor = DefaultEditor::new().map_err(Failure::new)?;
            return Ok(Self::Terminal(Box::new(editor)));
        }
        Ok(Self::Stream)
    }

    pub fn is_terminal(&self) -> bool {
        matches!(self, Self::Terminal(_))
    }

    pub fn next(&mut self) -> Result<Line, Failure> {
        match self {
            Self::Terminal(editor) => match editor.readline("> ") {
                Ok(line) => {
                    // A line that is not remembered can still be answered.
                    let _ = editor.add_history_entry(&line);
                    Ok(Line::Text(line))
                }
                Err(ReadlineError::Interrupted) => Ok(Line::Interrupted),
                Err(ReadlineError::Eof) => Ok(Line::End),
                Err(error) => Err(Failure::new(error)),
            },
            Self::Stream => {
                let mut line = Vec::new();
                // A stream without line ends is not read until memory ends.
                let mut stream = io::stdin().lock().take(MAX_LINE + 1);
                match stream.read_until(b'\n', &mut line)? as u64 {
                    0 => Ok(Line::End),
                    1..=MAX_LINE => {
                        let line = String::from_utf8(line);
                        let line =
                            line.map_err(|_| Failure::new("standard input is not UTF-8 text"))?;
                        Ok(Line::Text(line.trim_end_matches(['\r', '\n']).to_owned()))
                    }
                    _ => Err(Failure::new(format!(
                        "a line of standard input has more than {} MiB",
                        MAX_LINE >> 20
                    ))),
                }
            }
        }
    }
}
