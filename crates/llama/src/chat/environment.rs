//! What templates run in: Jinja2 as `transformers` sets it up, with limits.

use std::io;

use minijinja::value::{Kwargs, ValueKind};
use minijinja::{Environment, Error, ErrorKind, Output, State, Value};

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
    environment.set_formatter(
        move |out: &mut Output<'_>, state: &State<'_, '_>, value: &Value| match value.kind() {
            ValueKind::String => minijinja::escape_formatter(out, state, value),
            _ => python::write_str(out, value, mark),
        },
    );
    // A name that Jinja2 leaves to templates' variables.
    environment.remove_global("debug");
    environment.add_filter("tojson", to_json);
    environment.add_filter("string", move |value: &Value| -> Result<String, Error> {
        let mut text = String::new();
        python::write_str(&mut text, value, mark)?;
        Ok(text)
    });
    environment.add_function("raise_exception", raise_exception);
    environment.add_function("strftime_now", strftime_now);
    environment
}

/// Runs the template `source`.
pub(super) fn render(source: &str, context: Value, mark: char) -> Result<String, ChatError> {
    limits::with_room(|| {
        let environment = environment(mark);
        let mut output = Limited(Vec::new());
        environment
            .template_from_str(source)?
            .render_captured_to(context, &mut output)?;
        String::from_utf8(output.0).map_err(ChatError::data)
    })
}

/// Output that fails where it gets too long.
struct Limited(Vec<u8>);

impl io::Write for Limited {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if bytes.len() > MAX_OUTPUT - self.0.len() {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
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
