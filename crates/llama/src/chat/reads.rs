//! [`Reads`]: how much a step reads of its arguments.

use minijinja::Error;
use minijinja::value::Value;

use super::data::{self, VALUE};

/// What a byte counts for where the engine looks for the places of characters: it may make a list of them.
const CHARACTER: usize = 4;

/// What a step, a filter, a test or a method looks at.
#[derive(Clone, Copy)]
pub(super) enum Reads {
    /// Not at what its arguments hold.
    Nothing,
    /// The characters of a text, and nothing of a list, whose length and ends are known.
    Characters,
    /// The characters of a text, or the elements of a list, but not what they hold; further arguments with each of the elements.
    Elements,
    /// All that the arguments hold.
    All,
    /// All, as often as a sort compares an element.
    Sorted,
    /// Each character of the first argument with each one of the second.
    Pairs,
    /// Two values, until they differ.
    Both,
    /// The first value in the second one.
    In,
    /// Two values until they differ, or the first one in the second one.
    Chained,
    /// A key in a list or a dictionary, or a place in a text.
    Item,
}

impl Reads {
    /// The bytes that are read of `arguments`.
    pub fn bytes(self, arguments: &[Value]) -> Result<usize, Error> {
        let Some((first, others)) = arguments.split_first() else {
            return Ok(0);
        };
        let second = others.first().unwrap_or(first);
        let length = |value: &Value| value.as_str().map_or(0, str::len);
        Ok(match self {
            Self::Nothing => 0,
            Self::Characters => length(first).saturating_mul(CHARACTER),
            Self::Elements => {
                let bytes = sum(others)?;
                elements(first).saturating_add(bytes.saturating_mul(count(first)))
            }
            Self::All => sum(arguments)?,
            Self::Sorted => {
                let bytes = weight(first)?.saturating_add(Self::Elements.bytes(arguments)?);
                bytes.saturating_mul(1 + count(first).ilog2() as usize)
            }
            Self::Pairs => length(first).saturating_mul(others.first().map_or(1, length).max(1)),
            Self::Both => weight(first)?.min(weight(second)?),
            Self::In if data::is_list(second) => {
                let compared = (VALUE + weight(first)?).saturating_mul(count(second));
                compared.min(weight(second)?)
            }
            Self::In => length(second),
            Self::Chained => Self::Both
                .bytes(arguments)?
                .saturating_add(Self::In.bytes(arguments)?),
            Self::Item => (length(first).saturating_mul(CHARACTER)).saturating_add(length(second)),
        })
    }
}

/// The bytes of a text, or of the elements of a list without what they hold.
fn elements(value: &Value) -> usize {
    match value.as_str() {
        Some(text) => text.len(),
        None if data::is_list(value) => value.len().unwrap_or(0) * VALUE,
        None => 0,
    }
}

/// The bytes of all that some values hold.
fn sum(values: &[Value]) -> Result<usize, Error> {
    let mut bytes = 0_usize;
    for value in values {
        bytes = bytes.saturating_add(weight(value)?);
    }
    Ok(bytes)
}

fn weight(value: &Value) -> Result<usize, Error> {
    Ok(data::weight(value, 0)?.bytes)
}

/// How many elements a list has; at least 1.
fn count(value: &Value) -> usize {
    match data::is_list(value) {
        true => value.len().unwrap_or(0).max(1),
        false => 1,
    }
}
