//! Reports of the sanitizer as diagnostics.

use metal_bridge::sanitizer::{Access, Position, Report};
use metal_bridge::software::{Diagnostic, Severity};

/// A source and what diagnostics call it.
pub struct Source<'a> {
    name: &'a str,
    lines: Vec<&'a str>,
}

impl<'a> Source<'a> {
    pub fn new(name: &'a str, text: &'a str) -> Source<'a> {
        Source {
            name,
            lines: text.lines().collect(),
        }
    }

    /// A problem without a position in the text.
    pub fn problem(&self, severity: Severity, message: String) -> Diagnostic {
        Diagnostic {
            file: self.name.to_owned(),
            line: 0,
            column: 0,
            severity,
            message,
            source: String::new(),
            caret: 0,
        }
    }

    /// A report as diagnostics: an error where it was found, and a note where the other side is.
    pub fn finding(&self, report: &Report) -> Vec<Diagnostic> {
        let times = match report.occurrences {
            1 => String::new(),
            times => format!(", {times} times"),
        };
        let message = format!(
            "{}: {} [kernel '{}', {}{times}]",
            report.kind.name(),
            report.summary,
            report.access.kernel,
            who(&report.access)
        );
        let mut all = vec![self.at(&report.access, Severity::Error, message)];
        if let Some(earlier) = &report.earlier {
            let atomic = if earlier.is_atomic { "atomic " } else { "" };
            let what = match (earlier.size, earlier.is_write) {
                (0, _) => "another barrier",
                (_, true) => "write",
                (_, false) => "read",
            };
            let message = format!(
                "earlier {atomic}{what} [kernel '{}', {}]",
                earlier.kernel,
                who(earlier)
            );
            all.push(self.at(earlier, Severity::Note, message));
        }
        all
    }

    fn at(&self, access: &Access, severity: Severity, message: String) -> Diagnostic {
        let line = if access.file == self.name {
            let index = (access.line as usize).checked_sub(1);
            index.and_then(|index| self.lines.get(index))
        } else {
            None
        };
        Diagnostic {
            file: access.file.clone(),
            line: access.line.into(),
            source: line.map(|line| (*line).to_owned()).unwrap_or_default(),
            ..self.problem(severity, message)
        }
    }
}

fn who(access: &Access) -> String {
    let whole = if access.is_whole_simdgroup {
        "the simdgroup of thread"
    } else {
        "thread"
    };
    format!(
        "{whole} {} of the grid: {} of threadgroup {}",
        in_words(access.thread_position_in_grid),
        in_words(access.thread_position_in_threadgroup),
        in_words(access.threadgroup_position_in_grid)
    )
}

fn in_words([x, y, z]: Position) -> String {
    format!("({x}, {y}, {z})")
}
