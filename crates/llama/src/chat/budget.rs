//! [`Budget`]: how much text and how many lists the steps of a template may make, and how much they may read.
//!
//! One step can double a text (`x ~ x`), and one step can read all of a text (`x == y`), so a limit of steps limits neither memory nor
//! time, and the template engine has no other. So [`steps`](super::steps) of their own count beside the instructions that make or
//! read something, and so do all [`functions`](super::functions).

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use minijinja::value::{Value, ValueKind};
use minijinja::{Error, ErrorKind};

use super::data::{self, Data, MAX_LIST, Measured, VALUE};
use super::error::{MAX_MADE, MAX_OUTPUT, MAX_READ};
use super::reads::Reads;

/// What is left of the bytes that the steps may make, be they kept or not, and of those that they may read.
#[derive(Clone)]
pub(super) struct Budget {
    made: Arc<AtomicUsize>,
    read: Arc<AtomicUsize>,
    mark: char,
}

impl Budget {
    /// `mark` is a character that is written as it is.
    pub fn new(mark: char) -> Self {
        Self {
            made: Arc::new(AtomicUsize::new(MAX_MADE)),
            read: Arc::new(AtomicUsize::new(MAX_READ)),
            mark,
        }
    }

    /// Takes what `value` counts for that a step has made. A list comes back as one that knows what it holds, and that makes its
    /// elements no more: a sum of lists would look for each one in all lists that it is of.
    pub fn made(&self, value: Value) -> Result<Value, Error> {
        if let Some(text) = value.as_str() {
            if text.len() > MAX_OUTPUT {
                return Err(Error::from(ErrorKind::WriteFailure));
            }
            self.take(text.len())?;
            return Ok(value);
        }
        if !data::is_list(&value) || data::is_data(&value) {
            return Ok(value);
        }
        let value = match value.kind() {
            ValueKind::Iterable => collected(&value)?,
            _ => value,
        };
        let mut measured = Measured::default();
        let weight = measured.weight(&value, 0)?;
        self.take(measured.values * VALUE)?;
        self.take_read(measured.keys)?;
        match data::is_namespace(&value) {
            true => Ok(value),
            false => Ok(Data::of(&value, weight, self.mark)),
        }
    }

    /// Takes what is read of the arguments of a step.
    pub fn read(&self, reads: Reads, arguments: &[Value]) -> Result<(), Error> {
        self.take_read(reads.bytes(arguments)?)
    }

    /// Takes bytes that are made.
    pub fn take(&self, bytes: usize) -> Result<(), Error> {
        take(&self.made, bytes).ok_or_else(|| Error::from(ErrorKind::WriteFailure))
    }

    fn take_read(&self, bytes: usize) -> Result<(), Error> {
        take(&self.read, bytes).ok_or_else(|| Error::from(ErrorKind::OutOfFuel))
    }
}

fn take(from: &AtomicUsize, bytes: usize) -> Option<()> {
    // The template is the only one to take, so nothing is lost between these calls.
    let left = from.load(Ordering::Relaxed).checked_sub(bytes)?;
    from.store(left, Ordering::Relaxed);
    Some(())
}

/// The elements of `value` in a list.
fn collected(value: &Value) -> Result<Value, Error> {
    let mut elements = Vec::new();
    for element in value.try_iter()? {
        if elements.len() > MAX_LIST / VALUE {
            return Err(Error::from(ErrorKind::WriteFailure));
        }
        elements.push(element);
    }
    Ok(elements.into())
}
