//! Lines of the user: edited on a terminal, otherwise as they come.

use std::io::{self, IsTerminal};

use rustyline::DefaultEditor;
use rustyline::error::ReadlineError;

use super::output::is_watched;
use crate::failure::Failure;

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
                let mut line = String::new();
                match io::stdin().read_line(&mut line) {
                    Ok(0) => Ok(Line::End),
                    Ok(_) => Ok(Line::Text(line.trim_end_matches(['\r', '\n']).to_owned())),
                    Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                        Err(Failure::new("standard input is not UTF-8 text"))
                    }
                    Err(error) => Err(error.into()),
                }
            }
        }
    }
}
