//! Limits of what makes memory of a number: one step of a template could ask for more than there is.

use minijinja::value::{Kwargs, Rest, Value};
use minijinja::{Environment, Error, ErrorKind, State, filters};
use minijinja_contrib::pycompat;

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
