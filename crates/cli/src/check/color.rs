//! When to colour what a terminal shows, and how.

use std::env;
use std::io::{self, IsTerminal};

/// `--color`.
#[derive(Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub enum ColorChoice {
    /// On a terminal, unless NO_COLOR is set
    #[default]
    Auto,
    Always,
    Never,
}

/// How diagnostics look; every part is empty if there is no colour.
#[derive(Clone, Copy)]
pub struct Style {
    pub bold: &'static str,
    pub error: &'static str,
    pub warning: &'static str,
    pub note: &'static str,
    pub caret: &'static str,
    pub reset: &'static str,
}

impl Style {
    const PLAIN: Style = Style {
        bold: "",
        error: "",
        warning: "",
        note: "",
        caret: "",
        reset: "",
    };
    /// As clang colours them.
    const COLORED: Style = Style {
        bold: "\x1b[1m",
        error: "\x1b[1;31m",
        warning: "\x1b[1;35m",
        note: "\x1b[1;36m",
        caret: "\x1b[1;32m",
        reset: "\x1b[0m",
    };

    pub fn for_stderr(choice: ColorChoice) -> Style {
        let colored = match choice {
            ColorChoice::Always => true,
            ColorChoice::Never => false,
            ColorChoice::Auto => {
                let set = |name| env::var_os(name).filter(|value| !value.is_empty());
                io::stderr().is_terminal()
                    && set("NO_COLOR").is_none()
                    && set("TERM").is_none_or(|terminal| terminal != "dumb")
            }
        };
        if colored {
            Style::COLORED
        } else {
            Style::PLAIN
        }
    }
}
