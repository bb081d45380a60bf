//! Values as Python writes them: lists and dictionaries print as its `repr`.

use std::fmt::{self, Write};
use std::sync::{Arc, LazyLock};

use minijinja::value::{DynObject, Enumerator, Object, ObjectRepr, ValueKind};
use minijinja::{Error, ErrorKind, Value};
use regex::Regex;
use serde_json::Value as Json;

use super::error::ChatError;

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

/// What a template is given, as lists and dictionaries whose text is Python's wherever the template asks for it.
pub(super) fn data(json: Json, mark: char) -> Result<Value, ChatError> {
    data_at(json, mark, 0)
}

fn data_at(json: Json, mark: char, depth: usize) -> Result<Value, ChatError> {
    if depth > MAX_DEPTH {
        let reason = format!("it has more than {MAX_DEPTH} lists in each other");
        return Err(ChatError::data(reason));
    }
    let inner = |item| data_at(item, mark, depth + 1);
    let value: Value = match json {
        Json::Array(items) => {
            let items: Result<Vec<Value>, _> = items.into_iter().map(inner).collect();
            items?.into()
        }
        Json::Object(entries) => {
            let entries = entries
                .into_iter()
                .map(|(key, item)| Ok((key, inner(item)?)));
            entries.collect::<Result<Value, ChatError>>()?
        }
        scalar => return Ok(Value::from_serialize(scalar)),
    };
    let object = value.as_object().cloned();
    Ok(object.map_or(value, |object| Value::from_object(Data { object, mark })))
}

/// A list or a dictionary.
#[derive(Debug)]
struct Data {
    object: DynObject,
    mark: char,
}

impl Object for Data {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        self.object.repr()
    }

    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        self.object.get_value(key)
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        self.object.enumerate()
    }

    fn render(self: &Arc<Self>, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = Value::from_dyn_object(Arc::clone(self));
        write_str(out, &value, self.mark).map_err(|_| fmt::Error)
    }
}
