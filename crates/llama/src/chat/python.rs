//! Values as Python writes them: lists and dictionaries print as its `repr`.

use std::fmt::{self, Write};
use std::sync::LazyLock;

use minijinja::value::ValueKind;
use minijinja::{Error, ErrorKind, Value};
use regex::Regex;

/// Lists in lists that a template may be given or print: each takes some of the program's stack.
pub(super) const MAX_DEPTH: usize = 256;

/// Characters beyond ASCII that Python's `repr` does not print.
static HIDDEN: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"[\p{C}\p{Z}]").ok());

/// Python's `str(value)`. The characters `mark` stay as they are: [`Marks`](super::marks::Marks) removes them.
pub(super) fn write_str(out: &mut impl Write, value: &Value, mark: char) -> Result<(), Error> {
    match value.kind() {
        ValueKind::String | ValueKind::Undefined => Ok(write!(out, "{value}")?),
        _ => write_repr(out, value, mark, 0),
    }
}

fn write_repr(out: &mut impl Write, value: &Value, mark: char, depth: usize) -> Result<(), Error> {
    if depth > MAX_DEPTH {
        let reason = format!("a list with more than {MAX_DEPTH} lists in each other is printed");
        return Err(Error::new(ErrorKind::InvalidOperation, reason));
    }
    match value.kind() {
        ValueKind::None => out.write_str("None")?,
        ValueKind::Bool if value.is_true() => out.write_str("True")?,
        ValueKind::Bool => out.write_str("False")?,
        ValueKind::Undefined => out.write_str("Undefined")?,
        ValueKind::String => write_quoted(out, value.as_str().unwrap_or_default(), mark)?,
        ValueKind::Number if !value.is_integer() => write_float(out, value)?,
        ValueKind::Seq | ValueKind::Iterable => {
            out.write_char('[')?;
            for (index, item) in value.try_iter()?.enumerate() {
                separate(out, index)?;
                write_repr(out, &item, mark, depth + 1)?;
            }
            out.write_char(']')?;
        }
        ValueKind::Map => {
            out.write_char('{')?;
            for (index, key) in value.try_iter()?.enumerate() {
                separate(out, index)?;
                write_repr(out, &key, mark, depth + 1)?;
                out.write_str(": ")?;
                write_repr(out, &value.get_item(&key)?, mark, depth + 1)?;
            }
            out.write_char('}')?;
        }
        _ => write!(out, "{value}")?,
    }
    Ok(())
}

fn separate(out: &mut impl Write, index: usize) -> fmt::Result {
    out.write_str(if index > 0 { ", " } else { "" })
}

/// A string between quotes: single ones, unless only double ones need no escape.
fn write_quoted(out: &mut impl Write, text: &str, mark: char) -> fmt::Result {
    let quote = match text.contains('\'') && !text.contains('"') {
        true => '"',
        false => '\'',
    };
    out.write_char(quote)?;
    for character in text.chars() {
        match character {
            '\\' => out.write_str("\\\\")?,
            '\n' => out.write_str("\\n")?,
            '\r' => out.write_str("\\r")?,
            '\t' => out.write_str("\\t")?,
            _ if character == quote => write!(out, "\\{character}")?,
            _ if character == mark || !is_hidden(character) => out.write_char(character)?,
            _ => match u32::from(character) {
                code @ ..=0xff => write!(out, "\\x{code:02x}")?,
                code @ ..=0xffff => write!(out, "\\u{code:04x}")?,
                code => write!(out, "\\U{code:08x}")?,
            },
        }
    }
    out.write_char(quote)
}

fn is_hidden(character: char) -> bool {
    if character.is_ascii() {
        return character.is_ascii_control();
    }
    let mut bytes = [0; 4];
    let text = character.encode_utf8(&mut bytes);
    HIDDEN.as_ref().is_some_and(|hidden| hidden.is_match(text))
}

/// The fewest digits that name the number, with an exponent where it is below -4 or above 15.
fn write_float(out: &mut impl Write, value: &Value) -> fmt::Result {
    let Ok(number) = f64::try_from(value.clone()) else {
        return write!(out, "{value}");
    };
    if number.is_nan() {
        return out.write_str("nan");
    }
    let scientific = format!("{number:e}");
    let Some((digits, exponent)) = scientific.split_once('e') else {
        return out.write_str(&scientific);
    };
    match exponent.parse::<i32>() {
        Ok(exponent) if !(-4..16).contains(&exponent) => {
            let sign = if exponent < 0 { '-' } else { '+' };
            write!(out, "{digits}e{sign}{:02}", exponent.unsigned_abs())
        }
        _ => write!(out, "{number:?}"),
    }
}
