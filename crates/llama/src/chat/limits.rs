//! Limits of what a template's source may nest, and of what makes memory of a number: one step of a template could ask for more than
//! there is.

use std::thread;

use minijinja::value::{Kwargs, Rest, Value};
use minijinja::{Environment, Error, ErrorKind, State, filters};
use minijinja_contrib::pycompat;

use super::error::ChatError;

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
                filter.call(state, &arguments)
            },
        );
    }
    let format = Value::from_function(filters::format);
    environment.add_filter(
        "format",
        move |state: &State<'_, '_>, arguments: Rest<Value>| {
            let text = arguments.first().and_then(Value::as_str);
            check_fields(text, '%')?;
            format.call(state, &arguments)
        },
    );
    environment.set_unknown_method_callback(|state, value, method, arguments| {
        if method == "format" {
            check_fields(value.as_str(), '{')?;
        }
        pycompat::unknown_method_callback(state, value, method, arguments)
    });
}

fn too_large() -> Error {
    let reason = format!("a count, a width or a precision exceeds {MAX_COUNT}");
    Error::new(ErrorKind::InvalidOperation, reason)
}

/// Checks an argument that may be a count, or the arguments that have names.
fn check_count(argument: &Value) -> Result<(), Error> {
    let is_too_large =
        |value: &Value| usize::try_from(value.clone()).is_ok_and(|count| count > MAX_COUNT);
    if let Ok(named) = Kwargs::try_from(argument.clone()) {
        for name in named.args() {
            if is_too_large(&named.peek(name)?) {
                return Err(too_large());
            }
        }
    }
    match is_too_large(argument) {
        true => Err(too_large()),
        false => Ok(()),
    }
}

/// Checks the numbers of a format behind its first field's beginning: literal ones too, since keys of fields may have any text.
fn check_fields(format: Option<&str>, begin: char) -> Result<(), Error> {
    let fields = format.and_then(|format| format.split_once(begin));
    let mut numbers = fields
        .map_or("", |(_, fields)| fields)
        .split(|c: char| !c.is_ascii_digit());
    match numbers.any(|number| number.len() > MAX_DIGITS) {
        true => Err(too_large()),
        false => Ok(()),
    }
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
