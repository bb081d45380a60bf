//! JSON with Python's spaces.

use std::io;

use serde::Serialize;
use serde_json::ser::{Formatter, PrettyFormatter, Serializer};

use super::error::MAX_OUTPUT;

/// The most spaces of a level of indentation.
const MAX_INDENT: usize = 64;

/// `value` on one line, or on lines of their own with `indent`.
pub(super) fn to_string(value: &impl Serialize, indent: Option<usize>) -> io::Result<String> {
    let mut bytes = Limited(Vec::new());
    match indent {
        None => value.serialize(&mut Serializer::with_formatter(&mut bytes, Spaced))?,
        Some(indent) => {
            let spaces = [b' '; MAX_INDENT];
            let indent = PrettyFormatter::with_indent(&spaces[..indent.min(MAX_INDENT)]);
            value.serialize(&mut Serializer::with_formatter(&mut bytes, indent))?;
        }
    }
    String::from_utf8(bytes.0).map_err(io::Error::other)
}

/// Output that fails where it gets too long: indentation is many times as long as what it indents.
struct Limited(Vec<u8>);

impl io::Write for Limited {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if bytes.len() > MAX_OUTPUT - self.0.len() {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A space after each comma and each colon.
struct Spaced;

impl Spaced {
    fn separate<W: ?Sized + io::Write>(out: &mut W, is_first: bool) -> io::Result<()> {
        match is_first {
            true => Ok(()),
            false => out.write_all(b", "),
        }
    }
}

impl Formatter for Spaced {
    fn begin_array_value<W: ?Sized + io::Write>(
        &mut self,
        out: &mut W,
        is_first: bool,
    ) -> io::Result<()> {
        Self::separate(out, is_first)
    }

    fn begin_object_key<W: ?Sized + io::Write>(
        &mut self,
        out: &mut W,
        is_first: bool,
    ) -> io::Result<()> {
        Self::separate(out, is_first)
    }

    fn begin_object_value<W: ?Sized + io::Write>(&mut self, out: &mut W) -> io::Result<()> {
        out.write_all(b": ")
    }
}
