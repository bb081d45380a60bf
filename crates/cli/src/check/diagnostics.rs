//! Diagnostics as a compiler prints them: position, kind, message, the line and a caret below it.

use std::io::{self, Write};

use metal_bridge::software::{Diagnostic, Severity, SourceCheck};

use super::color::Style;

/// How many errors and warnings there were.
#[derive(Default)]
pub struct Totals {
    errors: usize,
    warnings: usize,
    failures: usize,
}

impl Totals {
    pub fn add(&mut self, diagnostics: &[Diagnostic], succeeded: bool) {
        let count = |severity| {
            let all = diagnostics.iter();
            all.filter(|diagnostic| diagnostic.severity == severity)
                .count()
        };
        self.errors += count(Severity::Error);
        self.warnings += count(Severity::Warning);
        self.failures += usize::from(!succeeded);
    }

    pub fn failed(&self) -> bool {
        self.failures > 0
    }

    /// Prints the numbers of warnings and errors in the form of a compiler's last line; nothing if there are none.
    pub fn print(&self, out: &mut impl Write) -> io::Result<()> {
        let counted = |count: usize, what: &str| {
            let plural = if count == 1 { "" } else { "s" };
            (count > 0).then(|| format!("{count} {what}{plural}"))
        };
        let parts = [
            counted(self.warnings, "warning"),
            counted(self.errors, "error"),
        ];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        if parts.is_empty() {
            return Ok(());
        }
        writeln!(out, "{} generated.", parts.join(" and "))
    }
}

/// The result for a file that cannot be read.
pub fn unreadable(error: &io::Error) -> SourceCheck {
    SourceCheck {
        succeeded: false,
        kernels: Vec::new(),
        function_constants: Vec::new(),
        diagnostics: vec![self::error(format!("cannot be read: {error}"))],
    }
}

/// An error without a position in the source.
pub fn error(message: String) -> Diagnostic {
    Diagnostic {
        file: String::new(),
        line: 0,
        column: 0,
        severity: Severity::Error,
        message,
        source: String::new(),
        caret: 0,
    }
}

/// Prints the diagnostics of a file; one that names no file is about `name`.
pub fn print(
    out: &mut impl Write,
    name: &str,
    diagnostics: &[Diagnostic],
    style: Style,
) -> io::Result<()> {
    diagnostics
        .iter()
        .try_for_each(|diagnostic| print_one(out, name, diagnostic, style))
}

/// File, line and column, as far as the diagnostic has them; without a file it is about `name`.
pub fn position(name: &str, diagnostic: &Diagnostic) -> String {
    let file = Some(diagnostic.file.as_str()).filter(|file| !file.is_empty());
    let mut position = file.unwrap_or(name).to_owned();
    for number in [diagnostic.line, diagnostic.column] {
        if number > 0 {
            position += &format!(":{number}");
        }
    }
    position
}

fn print_one(
    out: &mut impl Write,
    name: &str,
    diagnostic: &Diagnostic,
    style: Style,
) -> io::Result<()> {
    let Style { bold, reset, .. } = style;
    let (color, kind) = match diagnostic.severity {
        Severity::Error => (style.error, "error"),
        Severity::Warning => (style.warning, "warning"),
        Severity::Note => (style.note, "note"),
    };
    let position = position(name, diagnostic);
    let message = &diagnostic.message;
    writeln!(
        out,
        "{bold}{position}: {reset}{color}{kind}: {reset}{bold}{message}{reset}"
    )?;
    if diagnostic.source.is_empty() {
        return Ok(());
    }
    writeln!(out, "{}", visible(&diagnostic.source))?;
    let Some(before) = usize::try_from(diagnostic.caret)
        .ok()
        .and_then(|caret| caret.checked_sub(1))
    else {
        return Ok(());
    };
    writeln!(
        out,
        "{}{}^{reset}",
        indent(&diagnostic.source, before),
        style.caret
    )
}

/// The line without what would move a terminal's cursor.
fn visible(line: &str) -> String {
    let shown = |c: char| {
        if c.is_control() && c != '\t' {
            '\u{fffd}'
        } else {
            c
        }
    };
    line.chars().map(shown).collect()
}

/// As wide as the first `bytes` bytes of a line: tabs stay tabs.
fn indent(line: &str, bytes: usize) -> String {
    let before = line.char_indices().take_while(|&(at, _)| at < bytes);
    before
        .map(|(_, c)| if c == '\t' { '\t' } else { ' ' })
        .collect()
}
