//! What templates run in: Jinja2 as `transformers` sets it up, with limits.

use std::fmt;

use minijinja::machinery::{self, Vm};
use minijinja::value::{Kwargs, ValueKind};
use minijinja::{AutoEscape, Environment, Error, ErrorKind, Output, State, Value};

use super::budget::Budget;
use super::error::{ChatError, MAX_OUTPUT, Raised};
use super::reads::Reads;
use super::steps::{self, Counted};
use super::{functions, json, limits, python};

/// Instructions that a template may execute. A message takes some dozens.
const MAX_STEPS: u64 = 5_000_000;

/// The longest format of a date. Each of its fields may have hundreds of digits.
const MAX_DATE_FORMAT: usize = 256;

/// `mark` is a character that is written as it is.
fn environment(budget: &Budget, mark: char) -> Environment<'static> {
    let mut environment = Environment::empty();
    environment.set_fuel(Some(MAX_STEPS));
    functions::add(&mut environment, budget);
    limits::add_methods(&mut environment, budget);
    steps::add(&mut environment, budget);
    let string = move |value: &Value| -> Result<String, Error> {
        let mut text = Limited(String::new());
        python::write_str(&mut text, value, mark)?;
        Ok(text.0)
    };
    let string = Value::from_function(string);
    functions::add_filter(&mut environment, budget, "string", Reads::All, string);
    let budget = budget.clone();
    environment.set_formatter(
        move |out: &mut Output<'_>, state: &State<'_, '_>, value: &Value| {
            // What is written may be kept: `{% set x %}{{ x }}{{ x }}{% endset %}` doubles a text, too.
            if value.kind() == ValueKind::String {
                budget.made(value.clone())?;
                return minijinja::escape_formatter(out, state, value);
            }
            let mut text = Limited(String::new());
            python::write_str(&mut text, value, mark)?;
            budget.take(text.0.len())?;
            Ok(out.write_str(&text.0)?)
        },
    );
    environment.add_function("raise_exception", raise_exception);
    environment.add_function("strftime_now", strftime_now);
    environment
}

/// Compiles the template `source`, and runs it with a context.
pub(super) fn render(
    source: &str,
    context: Option<Value>,
    mark: char,
) -> Result<String, ChatError> {
    limits::with_room(|| {
        let budget = Budget::new(mark);
        let counted = Counted::compile(source, &budget)?;
        let mut text = String::new();
        if let Some(context) = context {
            let environment = environment(&budget, mark);
            let mut output = machinery::make_string_output(&mut text);
            let (instructions, blocks) = (&counted.instructions, &counted.blocks);
            let vm = Vm::new(&environment);
            vm.eval(instructions, context, blocks, &mut output, AutoEscape::None)?;
        }
        match text.len() > MAX_OUTPUT {
            true => Err(ChatError::TooLong),
            false => Ok(text),
        }
    })
}

/// A text that fails where it gets too long: a list may hold another one many times.
struct Limited(String);

impl fmt::Write for Limited {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if text.len() > MAX_OUTPUT - self.0.len() {
            return Err(fmt::Error);
        }
        self.0.push_str(text);
        Ok(())
    }
}

fn raise_exception(message: String) -> Result<Value, Error> {
    let error = Error::new(
        ErrorKind::InvalidOperation,
        "the template raised an exception",
    );
    Err(error.with_source(Raised(message)))
}

/// The local time, in the format of C's `strftime`.
fn strftime_now(format: &str) -> Result<String, Error> {
    if format.len() > MAX_DATE_FORMAT {
        let reason = format!("the format of a date has more than {MAX_DATE_FORMAT} bytes");
        return Err(Error::new(ErrorKind::InvalidOperation, reason));
    }
    jiff::fmt::strtime::format(format, &jiff::Zoned::now())
        .map_err(|error| Error::new(ErrorKind::InvalidOperation, error.to_string()))
}

/// Python's `json.dumps(value, ensure_ascii=False)`, with `indent`. Jinja2's own filter escapes for HTML.
pub(super) fn to_json(
    value: &Value,
    indent: Option<usize>,
    options: Kwargs,
) -> Result<String, Error> {
    let indent = match indent {
        None => options.get::<Option<usize>>("indent")?,
        given => given,
    };
    if options.get::<Option<bool>>("ensure_ascii")? == Some(true) {
        let reason = "tojson with ensure_ascii is not supported";
        return Err(Error::new(ErrorKind::InvalidOperation, reason));
    }
    options.assert_all_used()?;
    json::to_string(value, indent)
        .map_err(|error| Error::new(ErrorKind::InvalidOperation, error.to_string()))
}
