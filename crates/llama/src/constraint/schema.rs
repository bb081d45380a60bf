//! [`check`]: what a JSON schema may ask for, so that it is compiled in bounded time and memory.

use serde_json::{Number, Value};

use super::error::ConstraintError;

/// The most items that all arrays of a schema have to be told apart by their number.
const MAX_ITEMS: u64 = 10_000;
/// The largest divisor, without the zeros at its ends. The lexer has a state for each remainder.
const MAX_DIVISOR: u64 = 10_000;
/// The longest regular expression, in bytes.
const MAX_PATTERN: usize = 4 << 10;

/// Refuses numbers and patterns that would make a grammar too large. The compiler has limits for all other parts.
pub(super) fn check(schema: &Value) -> Result<(), ConstraintError> {
    match count_items(schema)? {
        0..=MAX_ITEMS => Ok(()),
        _ => Err(refused(format!(
            "\"minItems\" and \"maxItems\" of a schema are {MAX_ITEMS} together at most"
        ))),
    }
}

/// Those of the schema and of its parts. A field of another kind of object may have the name of a keyword: then it counts as one.
fn count_items(schema: &Value) -> Result<u64, ConstraintError> {
    let mut items = 0u64;
    match schema {
        Value::Object(fields) => {
            for (name, value) in fields {
                match (&name[..], value) {
                    ("minItems" | "maxItems", Value::Number(count)) => {
                        items = items.saturating_add(count.as_u64().unwrap_or(u64::MAX));
                    }
                    ("multipleOf", Value::Number(divisor)) => check_divisor(divisor)?,
                    ("pattern", Value::String(pattern)) => check_pattern(pattern)?,
                    ("patternProperties", Value::Object(patterns)) => {
                        let mut patterns = patterns.keys();
                        patterns.try_for_each(|pattern| check_pattern(pattern))?;
                    }
                    _ => {}
                }
                items = items.saturating_add(count_items(value)?);
            }
        }
        Value::Array(values) => {
            for value in values {
                items = items.saturating_add(count_items(value)?);
            }
        }
        _ => {}
    }
    Ok(items)
}

fn check_divisor(divisor: &Number) -> Result<(), ConstraintError> {
    let text = divisor.to_string();
    let mantissa = text.split(['e', 'E']).next().unwrap_or_default();
    let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
    let digits = digits.trim_matches('0');
    let is_small = digits.is_empty()
        || digits
            .parse()
            .is_ok_and(|digits: u64| digits <= MAX_DIVISOR);
    match is_small {
        true => Ok(()),
        false => Err(refused(format!(
            "\"multipleOf\" is {divisor}: without the zeros at its ends it may be {MAX_DIVISOR} at most"
        ))),
    }
}

pub(super) fn check_pattern(pattern: &str) -> Result<(), ConstraintError> {
    check_length(pattern, MAX_PATTERN)
}

pub(super) fn check_length(text: &str, limit: usize) -> Result<(), ConstraintError> {
    let bytes = text.len();
    match bytes <= limit {
        true => Ok(()),
        false => Err(ConstraintError::TooLong { bytes, limit }),
    }
}

fn refused(reason: String) -> ConstraintError {
    ConstraintError::Refused(reason)
}
