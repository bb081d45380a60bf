//! Limits of what a template's source may nest, and of what filters and methods make of numbers and of short texts: one step of a
//! template could ask for more memory than there is.

use std::thread;

use minijinja::value::{Kwargs, Rest, Value, ValueKind};
use minijinja::{Environment, Error, ErrorKind, State, filters};
use minijinja_contrib::pycompat;

use super::error::{ChatError, MAX_OUTPUT};

/// Words and signs of a template. Those of models have some thousands.
const MAX_WORDS: usize = 20_000;
/// Each word may be one more call in the other (`a.b.c`, `a + b + c`), which takes some kilobytes. What is not used takes no memory.
const STACK: usize = 256 << 20;

/// The largest count, width or precision, and the most digits of one.
const MAX_COUNT: usize = 9999;
const MAX_DIGITS: usize = 4;

/// Puts filters and methods that keep to the limits in the place of those that do not.
pub(super) fn limit(environment: &mut Environment<'static>) {
    for (name, filter) in [
        ("batch", Value::from_function(filters::batch)),
        ("indent", Value::from_function(filters::indent)),
        ("slice", Value::from_function(filters::slice)),
    ] {
        environment.add_filter(
            name,
            move |state: &State<'_, '_>, arguments: Rest<Value>| {
                // The first one is what the filter is for.
                for argument in arguments.iter().skip(1) {
                    check_count(argument)?;
                }
                if name == "indent" {
                    let text = arguments.first().and_then(Value::as_str);
                    let lines = text.map_or(0, |text| text.matches('\n').count());
                    check_pieces(lines, arguments.get(1).map_or(0, largest_count))?;
                }
                filter.call(state, &arguments)
            },
        );
    }
    let format = Value::from_function(filters::format);
    environment.add_filter(
        "format",
        move |state: &State<'_, '_>, arguments: Rest<Value>| {
            let text = arguments.first().and_then(Value::as_str);
            check_fields(text, '%', arguments.get(1..).unwrap_or_default())?;
            format.call(state, &arguments)
        },
    );
    let join = Value::from_function(filters::join);
    environment.add_filter(
        "join",
        move |state: &State<'_, '_>, arguments: Rest<Value>| {
            if let Some(values) = arguments.first() {
                check_joined(values, arguments.get(1).and_then(Value::as_str))?;
            }
            join.call(state, &arguments)
        },
    );
    let replace = Value::from_function(filters::replace);
    environment.add_filter(
        "replace",
        move |state: &State<'_, '_>, arguments: Rest<Value>| {
            if let Some((text, pair)) = arguments.split_first() {
                check_replaced(text.as_str(), pair)?;
            }
            replace.call(state, &arguments)
        },
    );
    environment.set_unknown_method_callback(|state, value, method, arguments| {
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

/// Checks an argument that may be a count, or the arguments that have names.
fn check_count(argument: &Value) -> Result<(), Error> {
    match largest_count(argument) > MAX_COUNT {
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
    let length = |value: &Value| value.as_str().map_or(1, str::len);
    let mut longest = 1;
    for argument in arguments {
        longest = longest.max(length(argument));
        if argument.kind() == ValueKind::Map {
            for key in argument.try_iter()? {
                longest = longest.max(length(&argument.get_item(&key)?));
            }
        }
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
