//! Limits of what a template's source may nest, and of what operators, filters and methods make of numbers and of short texts: one
//! step of a template could ask for more memory than there is.

use std::thread;

use minijinja::value::{Kwargs, Rest, Value, ValueKind};
use minijinja::{Environment, Error, ErrorKind, State, filters};
use minijinja_contrib::pycompat;

use super::budget::Budget;
use super::data::{self, MAX_LIST, VALUE};
use super::error::{ChatError, MAX_OUTPUT};
use super::reads::Reads;

/// Words and signs of a template. Those of models have some thousands.
const MAX_WORDS: usize = 20_000;
/// Each word may be one more call in the other (`a.b.c`, `a + b + c`), which takes some kilobytes. What is not used takes no memory.
const STACK: usize = 256 << 20;

/// The largest count, width or precision, and the most digits of one.
const MAX_COUNT: usize = 9999;
const MAX_DIGITS: usize = 4;

/// The filter `batch` with a count that keeps to the limit.
pub(super) fn batch(state: &State<'_, '_>, arguments: Rest<Value>) -> Result<Value, Error> {
    check_counts(&arguments)?;
    Value::from_function(filters::batch).call(state, &arguments)
}

/// The filter `slice` with a count that keeps to the limit.
pub(super) fn slice(state: &State<'_, '_>, arguments: Rest<Value>) -> Result<Value, Error> {
    check_counts(&arguments)?;
    Value::from_function(filters::slice).call(state, &arguments)
}

/// The filter `indent` with a width that keeps to the limit.
pub(super) fn indent(state: &State<'_, '_>, arguments: Rest<Value>) -> Result<Value, Error> {
    check_counts(&arguments)?;
    let text = arguments.first().and_then(Value::as_str);
    let lines = text.map_or(0, |text| text.matches('\n').count());
    check_pieces(lines, arguments.get(1).map_or(0, largest_count))?;
    Value::from_function(filters::indent).call(state, &arguments)
}

/// The filter `format` with widths and fields that keep to the limits.
pub(super) fn format(state: &State<'_, '_>, arguments: Rest<Value>) -> Result<Value, Error> {
    let text = arguments.first().and_then(Value::as_str);
    check_fields(text, '%', arguments.get(1..).unwrap_or_default())?;
    Value::from_function(filters::format).call(state, &arguments)
}

/// The filter `join` for no more text than the limit.
pub(super) fn join(state: &State<'_, '_>, arguments: Rest<Value>) -> Result<Value, Error> {
    if let Some(values) = arguments.first() {
        check_joined(values, arguments.get(1).and_then(Value::as_str))?;
    }
    Value::from_function(filters::join).call(state, &arguments)
}

/// The filter `replace` for no more text than the limit.
pub(super) fn replace(state: &State<'_, '_>, arguments: Rest<Value>) -> Result<Value, Error> {
    if let Some((text, pair)) = arguments.split_first() {
        check_replaced(text.as_str(), pair)?;
    }
    Value::from_function(filters::replace).call(state, &arguments)
}

/// Gives values Python's methods, which keep to the limits and count what they read.
pub(super) fn add_methods(environment: &mut Environment<'static>, budget: &Budget) {
    let budget = budget.clone();
    environment.set_unknown_method_callback(move |state, value, method, arguments| {
        let with_value = [std::slice::from_ref(value), arguments].concat();
        match (value.as_str().is_some(), method) {
            (true, "strip" | "lstrip" | "rstrip") => budget.read(Reads::Pairs, &with_value)?,
            (true, _) => budget.read(Reads::All, &with_value)?,
            (false, "count") => budget.read(Reads::All, &with_value)?,
            (false, _) => budget.read(Reads::Elements, &with_value)?,
        }
        match (method, arguments) {
            ("format", _) => check_fields(value.as_str(), '{', arguments)?,
            ("join", [values]) if value.as_str().is_some() => check_joined(values, value.as_str())?,
            ("replace", pair) => check_replaced(value.as_str(), pair)?,
            // The engine looks for it without end.
            ("count", [what]) if what.as_str() == Some("") => {
                if let Some(text) = value.as_str() {
                    return Ok((text.chars().count() + 1).into());
                }
            }
            _ => {}
        }
        pycompat::unknown_method_callback(state, value, method, arguments)
    });
}

/// Checks the product of a text or a list and a number.
pub(super) fn check_product(left: &Value, right: &Value) -> Result<(), Error> {
    for (value, count) in [(left, right), (right, left)] {
        let Ok(count) = usize::try_from(count.clone()) else {
            continue;
        };
        let is_too_large = match value.as_str() {
            Some(text) => count.saturating_mul(text.len()) > MAX_OUTPUT,
            // The engine looks for the elements of an empty list so often.
            None if data::is_list(value) => {
                let elements = value.len().unwrap_or(0).max(1);
                count.saturating_mul(elements) > MAX_LIST / VALUE
            }
            None => false,
        };
        if is_too_large {
            return Err(Error::from(ErrorKind::WriteFailure));
        }
    }
    Ok(())
}

fn too_long() -> Error {
    let reason = format!("a text is longer than {} MiB", MAX_OUTPUT >> 20);
    Error::new(ErrorKind::InvalidOperation, reason)
}

/// Refuses `count` pieces of `length` bytes each.
fn check_pieces(count: usize, length: usize) -> Result<(), Error> {
    match count.saturating_mul(length) > MAX_OUTPUT {
        true => Err(too_long()),
        false => Ok(()),
    }
}

/// Checks the length of a text that `join` makes of strings.
fn check_joined(values: &Value, joiner: Option<&str>) -> Result<(), Error> {
    let between = joiner.map_or(0, str::len);
    if let Some(text) = values.as_str() {
        return check_pieces(text.len(), between);
    }
    if !matches!(values.kind(), ValueKind::Seq | ValueKind::Iterable) {
        return Ok(());
    }
    let mut length = 0;
    for value in values.try_iter()? {
        length += between + value.as_str().map_or(1, str::len);
        check_pieces(length, 1)?;
    }
    Ok(())
}

/// Checks the length of a text in which each `pair[0]` becomes `pair[1]`.
fn check_replaced(text: Option<&str>, pair: &[Value]) -> Result<(), Error> {
    let [old, new, ..] = pair else { return Ok(()) };
    let (Some(text), Some(old), Some(new)) = (text, old.as_str(), new.as_str()) else {
        return Ok(());
    };
    // An empty text is found between all characters.
    check_pieces(text.matches(old).count(), new.len())
}

fn too_large() -> Error {
    let reason = format!("a count, a width or a precision exceeds {MAX_COUNT}");
    Error::new(ErrorKind::InvalidOperation, reason)
}

/// The largest count that an argument has, or the arguments that have names.
fn largest_count(argument: &Value) -> usize {
    let count = |value: &Value| usize::try_from(value.clone()).unwrap_or(0);
    let named = Kwargs::try_from(argument.clone());
    let names = named.iter().flat_map(|named| {
        named
            .args()
            .filter_map(|name| named.peek::<Value>(name).ok())
    });
    names
        .map(|value| count(&value))
        .fold(count(argument), usize::max)
}

/// Checks the arguments that may be a count, or have names: all but the first one, which the filter is for.
fn check_counts(arguments: &[Value]) -> Result<(), Error> {
    let counts = arguments.iter().skip(1).map(largest_count);
    match counts.max() > Some(MAX_COUNT) {
        true => Err(too_large()),
        false => Ok(()),
    }
}

/// Checks the numbers of a format behind its first field's beginning: literal ones too, since keys of fields may have any text.
/// Then what its fields may make of the arguments, be they named or in a dictionary.
fn check_fields(format: Option<&str>, begin: char, arguments: &[Value]) -> Result<(), Error> {
    let Some((_, fields)) = format.and_then(|format| format.split_once(begin)) else {
        return Ok(());
    };
    let mut widths = 0;
    for number in fields.split(|c: char| !c.is_ascii_digit()) {
        if number.len() > MAX_DIGITS {
            return Err(too_large());
        }
        widths += number.parse().unwrap_or(0);
    }
    check_pieces(widths, 1)?;
    let mut longest = 1;
    for argument in arguments {
        // A list, or a dictionary of those that have names, for the longest one that is in it.
        longest = longest.max(data::weight(argument, 0)?.bytes);
    }
    check_pieces(1 + fields.matches(begin).count(), longest)
}

/// Refuses a template whose expressions could be nested too deep.
pub(super) fn check_words(source: &str) -> Result<(), ChatError> {
    let mut words = 0;
    let mut is_in_word = false;
    for (index, line) in source.lines().enumerate() {
        for character in line.chars() {
            let is_of_word = character.is_alphanumeric() || character == '_';
            let is_first = !is_of_word || !is_in_word;
            words += usize::from(is_first && !character.is_whitespace());
            is_in_word = is_of_word;
        }
        is_in_word = false;
        if words > MAX_WORDS {
            return Err(ChatError::Syntax {
                line: index + 1,
                message: format!("more than {MAX_WORDS} words and signs"),
            });
        }
    }
    Ok(())
}

/// What `work` gives on a stack with room for expressions of so many words. A panic of the template engine is an error too.
pub(super) fn with_room<T: Send>(
    work: impl FnOnce() -> Result<T, ChatError> + Send,
) -> Result<T, ChatError> {
    thread::scope(|scope| {
        let builder = thread::Builder::new()
            .name("chat template".into())
            .stack_size(STACK);
        let worker = builder.spawn_scoped(scope, work).map_err(ChatError::data)?;
        worker.join().unwrap_or_else(|_| {
            Err(ChatError::Failed {
                line: 1,
                message: "the template engine panicked".into(),
            })
        })
    })
}
