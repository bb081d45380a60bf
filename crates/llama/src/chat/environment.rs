//! What templates run in: Jinja2 as `transformers` sets it up, with limits.

use std::fmt;

use minijinja::machinery::{self, Vm};
use minijinja::value::{Kwargs, ValueKind};
use minijinja::{Environment, Error, ErrorKind, Output, State, Value};

use super::budget::{Budget, Counted};
use super::error::{ChatError, MAX_OUTPUT, Raised};
use super::{json, limits, python};

/// Instructions that a template may execute. A message takes some dozens.
const MAX_STEPS: u64 = 5_000_000;

/// `mark` is a character that is written as it is.
pub(super) fn environment(mark: char) -> Environment<'static> {
    let mut environment = Environment::new();
    environment.set_trim_blocks(true);
    environment.set_lstrip_blocks(true);
    environment.set_fuel(Some(MAX_STEPS));
    limits::limit(&mut environment);
    let budget = Budget::install(&mut environment);
    environment.set_formatter(
        move |out: &mut Output<'_>, state: &State<'_, '_>, value: &Value| {
            // What is written may be kept: `{% set x %}{{ x }}{{ x }}{% endset %}` doubles a text, too.
            if value.kind() == ValueKind::String {
                budget.count(value, 0)?;
                return minijinja::escape_formatter(out, state, value);
            }
            let mut text = Limited(String::new());
            python::write_str(&mut text, value, mark)?;
            budget.take(text.0.len())?;
            Ok(out.write_str(&text.0)?)
        },
    );
    // A name that Jinja2 leaves to templates' variables.
    environment.remove_global("debug");
    // What it prints grows with the product of a list's length and its depth, and no template of a model needs it.
    environment.remove_filter("pprint");
    environment.add_filter("tojson", to_json);
    environment.add_filter("string", move |value: &Value| -> Result<String, Error> {
        let mut text = Limited(String::new());
        python::write_str(&mut text, value, mark)?;
        Ok(text.0)
    });
    environment.add_function("raise_exception", raise_exception);
    environment.add_function("strftime_now", strftime_now);
    environment
}

/// Runs the template `source`.
pub(super) fn render(source: &str, context: Value, mark: char) -> Result<String, ChatError> {
    limits::with_room(|| {
        let environment = environment(mark);
        let template = environment.template_from_str(source)?;
        let compiled = machinery::get_compiled_template(&template);
        let Counted {
            instructions,
            blocks,
        } = Counted::new(compiled);
        let mut text = String::new();
        let mut output = machinery::make_string_output(&mut text);
        let escape = compiled.initial_auto_escape;
        Vm::new(&environment).eval(&instructions, context, &blocks, &mut output, escape)?;
        drop(output);
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
    jiff::fmt::strtime::format(format, &jiff::Zoned::now())
        .map_err(|error| Error::new(ErrorKind::InvalidOperation, error.to_string()))
}

/// Python's `json.dumps(value, ensure_ascii=False)`, with `indent`. Jinja2's own filter escapes for HTML.
fn to_json(value: &Value, indent: Option<usize>, options: Kwargs) -> Result<String, Error> {
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
